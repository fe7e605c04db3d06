//! Running other programs: quietly, and without ever hanging.

use std::{
    collections::HashMap,
    env, fs,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

/// A download that neither says nor writes anything for this long has failed.
const NO_PROGRESS: Duration = Duration::from_secs(60);

/// The cargo that runs this task.
pub fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Whether a variable that `cargo xtask` was started with must not reach a cargo of another toolchain: what cargo and
/// rustup set for their own children, and flags meant for the host's code.
fn misleads(variable: &str) -> bool {
    const KEPT: [&str; 5] = [
        "CARGO_HOME",
        "CARGO_HTTP_",
        "CARGO_NET_",
        "CARGO_REGISTR",
        "CARGO_SOURCE_",
    ];
    const DROPPED: [&str; 7] = [
        "CARGO",
        "RUSTC",
        "RUSTDOC",
        "RUSTFLAGS",
        "RUSTUP_TOOLCHAIN",
        "RUST_RECURSION_COUNT",
        "LD_LIBRARY_PATH",
    ];
    DROPPED.iter().any(|prefix| variable.starts_with(prefix)) && !KEPT.iter().any(|kept| variable.starts_with(kept))
}

/// A command that does not inherit what belongs to the toolchain that runs this task.
pub fn untangled(program: impl AsRef<Path>) -> Command {
    let mut command = Command::new(program.as_ref());
    for (variable, _) in env::vars_os() {
        if variable.to_str().is_some_and(misleads) {
            command.env_remove(variable);
        }
    }
    command.stdin(Stdio::null());
    command
}

/// Runs a quick command and gives its standard output, or its error output as the error.
pub fn capture(command: &mut Command) -> Result<String> {
    let shown = format!("{:?}", command.get_program());
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start {shown}"))?;
    if !output.status.success() {
        bail!(
            "{shown}: {}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a command that shows its own progress.
pub fn succeed(command: &mut Command) -> Result<()> {
    let shown = shown(command);
    println!("  $ {shown}");
    let status = command
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("cannot start {shown}"))?;
    if !status.success() {
        bail!("{status}: {shown}");
    }
    Ok(())
}

/// Runs `command` with no input, showing what it prints, and ends it when it makes no progress for a minute.
pub fn watched(command: &mut Command) -> Result<()> {
    let shown = shown(command);
    println!("  $ {shown}");
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {shown}"))?;
    let lines = lines_of(&mut child);
    let mut progress = Progress::new(NO_PROGRESS);
    loop {
        match lines.recv_timeout(Duration::from_secs(1)) {
            Ok(line) => {
                println!("    {line}");
                progress.seen();
            }
            Err(RecvTimeoutError::Timeout) => {
                let tree = descendants(child.id());
                if progress.is_over(bytes_written(&tree)) {
                    end(&mut child, &tree);
                    bail!(
                        "no progress for {} seconds, so it was ended: {shown}",
                        NO_PROGRESS.as_secs()
                    );
                }
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("{status}: {shown}");
    }
    Ok(())
}

/// A command as one would type it.
fn shown(command: &Command) -> String {
    let words = [command.get_program()].into_iter().chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Those output streams that are piped, line by line.
pub fn lines_of(child: &mut Child) -> Receiver<String> {
    fn forward(stream: impl Read + Send + 'static, to: Sender<String>) {
        thread::spawn(move || {
            for line in BufReader::new(stream).split(b'\n').map_while(Result::ok) {
                let _ = to.send(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
        });
    }
    let (sender, receiver) = channel();
    if let Some(stdout) = child.stdout.take() {
        forward(stdout, sender.clone());
    }
    if let Some(stderr) = child.stderr.take() {
        forward(stderr, sender);
    }
    receiver
}

/// When a program last showed a sign of life.
struct Progress {
    patience: Duration,
    last: Instant,
    bytes: u64,
}

impl Progress {
    fn new(patience: Duration) -> Self {
        Self {
            patience,
            last: Instant::now(),
            bytes: 0,
        }
    }
    fn seen(&mut self) {
        self.last = Instant::now();
    }
    /// Whether patience is over, the program having written `bytes` so far: a silent download still writes its file.
    fn is_over(&mut self, bytes: u64) -> bool {
        if bytes != self.bytes {
            self.bytes = bytes;
            self.seen();
        }
        self.last.elapsed() >= self.patience
    }
}

/// A process and all its children's children, from /proc.
fn descendants(root: u32) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        if let Some(parent) = parent_in(&stat) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut tree = vec![root];
    let mut at = 0;
    while at < tree.len() {
        tree.extend(children.remove(&tree[at]).unwrap_or_default());
        at += 1;
    }
    tree
}

/// The parent in a line of /proc/PID/stat: `PID (NAME) STATE PARENT …`, where NAME may hold anything.
fn parent_in(stat: &str) -> Option<u32> {
    let after_name = &stat[stat.rfind(')')? + 1..];
    after_name.split_whitespace().nth(1)?.parse().ok()
}

/// Bytes that these processes have written, to files and pipes.
fn bytes_written(pids: &[u32]) -> u64 {
    let of = |pid: &u32| {
        let io = fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
        io.lines()
            .find_map(|line| line.strip_prefix("wchar: "))?
            .parse::<u64>()
            .ok()
    };
    pids.iter().filter_map(of).sum()
}

/// Ends a process and its descendants.
fn end(child: &mut Child, tree: &[u32]) {
    let pids = tree.iter().map(u32::to_string);
    let _ = Command::new("kill").args(pids).stderr(Stdio::null()).status();
    thread::sleep(Duration::from_secs(1));
    let _ = child.kill();
    let _ = child.wait();
}

/// Where a program lies, by the search path.
pub fn on_path(program: &str) -> Option<std::path::PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

/// Writes a file unless it says so already: a build that watches it then has nothing to do.
pub fn write_if_changed(file: &Path, text: &str) -> Result<()> {
    if fs::read_to_string(file).is_ok_and(|old| old == text) {
        return Ok(());
    }
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

/// A duration, to a tenth of a second.
pub fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_running_toolchain_does_not_leak_into_another() {
        for dropped in [
            "CARGO_MANIFEST_DIR",
            "CARGO_BUILD_RUSTFLAGS",
            "CARGO_TARGET_DIR",
            "RUSTC",
            "RUSTUP_TOOLCHAIN",
            "RUSTFLAGS",
        ] {
            assert!(misleads(dropped), "{dropped}");
        }
        for kept in [
            "CARGO_HOME",
            "CARGO_HTTP_CAINFO",
            "CARGO_REGISTRIES_X_INDEX",
            "RUSTUP_HOME",
            "PATH",
            "HOME",
        ] {
            assert!(!misleads(kept), "{kept}");
        }
    }

    #[test]
    fn the_parent_is_found_whatever_the_name() {
        assert_eq!(parent_in("12 (cc) S 7 12 12 0"), Some(7));
        assert_eq!(parent_in("12 (a) b (c) R 9 1"), Some(9));
        assert_eq!(parent_in(""), None);
    }

    #[test]
    fn writing_counts_as_progress_and_silence_does_not() {
        let mut progress = Progress::new(Duration::from_millis(20));
        thread::sleep(Duration::from_millis(30));
        assert!(!progress.is_over(1));
        thread::sleep(Duration::from_millis(30));
        assert!(progress.is_over(1));
    }

    #[test]
    fn this_process_is_among_its_own_descendants_and_writes() {
        let mut child = Command::new("sleep").arg("5").spawn().unwrap();
        let tree = descendants(std::process::id());
        assert!(tree.contains(&child.id()));
        assert!(bytes_written(&tree) > 0);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
