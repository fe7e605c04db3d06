//! A file that is being written: it appears, or replaces another, once it is complete. If it is never completed it goes, whether the
//! program fails, panics or is interrupted.

use std::{
    fs::{self, Metadata},
    io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, Once, PoisonError},
};

use tempfile::{Builder, NamedTempFile};

/// A file beside the one that it becomes, under a name of its own.
pub struct File(NamedTempFile);

/// The names of the files that are being written, for an interrupt to remove. Whoever makes or renames such a file holds the lock.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    // A list is whole whatever panicked.
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl File {
    /// A new file in a folder. If it is to replace another, nobody else may read it meanwhile.
    pub fn create(folder: &Path, before: Option<&Metadata>) -> io::Result<Self> {
        LISTENING.call_once(remove_when_interrupted);
        let mut builder = Builder::new();
        builder.prefix(".warpfold-").suffix(".tmp");
        if before.is_none() {
            permit_all(&mut builder);
        }
        let mut unfinished = unfinished();
        let file = builder.tempfile_in(folder)?;
        unfinished.push(file.path().to_path_buf());
        Ok(Self(file))
    }

    pub fn file(&self) -> &fs::File {
        self.0.as_file()
    }

    /// Gives it its name, and the owner and the mode of the file that it replaces.
    pub fn finish(self, file: &Path, before: Option<&Metadata>) -> io::Result<()> {
        if let Some(before) = before {
            #[cfg(unix)]
            own(self.file(), before);
            self.file().set_permissions(before.permissions())?;
        }
        let mut unfinished = unfinished();
        let path = self.0.path().to_path_buf();
        self.0.persist(file)?;
        unfinished.retain(|other| *other != path);
        Ok(())
    }
}

/// The owner and the group of another file, as far as we may give them.
#[cfg(unix)]
fn own(file: &fs::File, before: &Metadata) {
    use std::os::unix::fs::{MetadataExt, fchown};

    let is_owned = fchown(file, Some(before.uid()), Some(before.gid())).is_ok();
    if !is_owned {
        // Only the system's administrator gives files away, but anyone to a group of their own. That it fails is no fault: the
        // file then has the owner that a new one has.
        let _ = fchown(file, None, Some(before.gid()));
    }
}

/// The mode of any new file: all that the umask leaves.
#[cfg(unix)]
fn permit_all(builder: &mut Builder<'_, '_>) {
    use std::os::unix::fs::PermissionsExt;

    builder.permissions(fs::Permissions::from_mode(0o666));
}

#[cfg(not(unix))]
fn permit_all(_: &mut Builder<'_, '_>) {}

/// Whether somebody listens for interrupts.
static LISTENING: Once = Once::new();

/// From now on unfinished files are removed before a signal ends the program. A limit of a file's size is an error of the write, and
/// no signal that ends the program.
#[cfg(unix)]
fn remove_when_interrupted() {
    use std::{
        sync::{Arc, atomic::AtomicBool, mpsc::channel},
        thread,
    };

    use signal_hook::{
        consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ},
        flag,
        iterator::Signals,
        low_level::emulate_default_handler,
    };

    // Where it cannot be handled, it ends the program as ever.
    let _ = flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
    let mut ends = vec![SIGINT, SIGTERM, SIGQUIT];
    if !is_ignored(SIGHUP) {
        ends.push(SIGHUP);
    }
    let (ready, is_ready) = channel();
    let listen = move || {
        // Where nothing can listen an interrupt ends the program as ever, and the file is left.
        let Ok(mut signals) = Signals::new(ends) else {
            return;
        };
        drop(ready);
        for signal in signals.forever() {
            // Held until the program ends, so that no file is made meanwhile.
            let unfinished = unfinished();
            for file in &*unfinished {
                // What cannot be removed is left: the program ends.
                let _ = fs::remove_file(file);
            }
            let _ = emulate_default_handler(signal);
        }
    };
    let listener = thread::Builder::new().name("warpfold interrupts".into()).spawn(listen);
    if listener.is_ok() {
        // Nothing is sent: the other end goes once somebody listens, or never will.
        let _ = is_ready.recv() as Result<(), _>;
    }
}

/// Whether a signal was ignored when the program started, as `nohup` has it: that stays so. Where the system does not say, it counts as
/// ignored, and is left as it is.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_none_or(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(not(unix))]
fn remove_when_interrupted() {}
