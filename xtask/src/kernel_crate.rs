//! A crate that has kernels: ours, or a user's own.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use warpfold_kernels::kernels::{Facts, Note};

use crate::{
    compiled::Compiled,
    facts::{Expected, Violation},
    ours::{self, OurKernel},
    process::write_if_changed,
    ptx::{Bounds, Item, Module},
    stamp,
    wanted::Wanted,
};

/// The largest block of an entry that was not made by `operators!`, and does not say.
const MAX_THREADS: u32 = 1024;

/// The file beside the PTX that says what it was made from.
const STAMP: &str = "stamp";

/// A crate that has kernels, and those that are built with it.
pub struct KernelCrate {
    /// The crate.
    pub own: Compiled,
    /// Those of ours that are a part of its build each.
    pub beside: Vec<Compiled>,
    /// Files and folders that its PTX depends on.
    pub sources: Vec<PathBuf>,
    /// Where the PTX goes.
    pub ptx: PathBuf,
    /// Where what is needed on the way goes, a folder for each architecture.
    pub cache: PathBuf,
    /// Whether it is `warpfold-kernels`.
    pub ours: bool,
}

/// What is built from one entry point.
pub struct BuildPart<'a> {
    /// Its text.
    pub item: &'a Item,
    /// The module it goes to: its own; of a user's entry that is no operator's, the crate's.
    pub module: String,
    /// Its launch bounds.
    pub bounds: Bounds,
    /// What must hold of it.
    pub expected: Expected,
    /// The line by which the host knows it.
    pub note: Option<Note<'a>>,
}

/// What a user's crate states of an entry.
struct Stated<'a> {
    name: &'a str,
    facts: Facts,
}

impl<'a> BuildPart<'a> {
    /// An entry of which the facts are known.
    fn of(item: &'a Item, facts: Facts) -> Self {
        let [max_threads, min_blocks, _, _, fuses, barriers, _] = facts;
        Self {
            item,
            module: item.name.clone(),
            bounds: Bounds {
                max_threads,
                min_blocks: (min_blocks > 0).then_some(min_blocks),
            },
            expected: Expected::AsWritten {
                barriers: barriers as usize,
                fuses: fuses > 0,
            },
            note: Some(Note {
                name: &item.name,
                facts,
            }),
        }
    }
}

impl KernelCrate {
    /// The same, to be compiled with lines of the source in a cache of its own.
    #[must_use]
    pub fn with_lines(self) -> Self {
        Self {
            cache: self.cache.join("lines"),
            ..self
        }
    }

    /// The crate that has a part of the build.
    pub fn having(&self, part: &str) -> &Compiled {
        self.beside.iter().find(|of| of.part == Some(part)).unwrap_or(&self.own)
    }

    /// What is to be made of each entry point of a module: of ours, of those that are wanted; nothing of ours in a user's crate.
    pub fn parts<'a>(&self, wanted: &Wanted, module: &'a Module) -> Result<Vec<BuildPart<'a>>> {
        let stated = self.stated(module)?;
        let part = |item| self.part(wanted, item, &stated);
        Ok(module.entries().filter_map(part).collect())
    }

    fn part<'a>(&self, wanted: &Wanted, item: &'a Item, stated: &[Stated]) -> Option<BuildPart<'a>> {
        let stated = stated.iter().find(|stated| stated.name == item.name);
        if self.ours {
            let entry = wanted.entries.iter().find(|entry| entry.name() == item.name)?;
            return Some(BuildPart::of(
                item,
                stated.map_or_else(|| entry.facts(), |stated| stated.facts),
            ));
        }
        let known = ours::kernels().find(|kernel| kernel.name() == item.name);
        if let Some(stated) = stated {
            return Some(BuildPart::of(item, stated.facts));
        }
        known.is_none().then(|| BuildPart {
            item,
            module: self.own.library.clone(),
            bounds: Bounds {
                max_threads: MAX_THREADS,
                // Without it the assembler may save registers and keep fewer loads in flight.
                min_blocks: Some(1),
            },
            expected: Expected::Anything,
            note: None,
        })
    }

    /// What a user's crate states of its entries, as `operators!` has it written into the PTX, and one of ours that is built as those are:
    /// variables named `CRATE$ENTRY`.
    fn stated<'a>(&self, module: &'a Module) -> Result<Vec<Stated<'a>>> {
        let states = |library: &str| match self.ours {
            true => self.beside.iter().any(|of| of.library == library),
            false => self.own.library == library,
        };
        let mut all = vec![];
        for item in module.variables() {
            let Some((library, name)) = item.name.split_once('$') else {
                continue;
            };
            if states(library) {
                let words: Vec<u32> = item.words();
                let facts = words.try_into().ok();
                let facts = facts.with_context(|| format!("{} is none that this xtask can read", item.name))?;
                all.push(Stated { name, facts });
            }
        }
        Ok(all)
    }

    /// Whether what `folder` has of an architecture was made from what is there now and found good.
    pub fn is_current(&self, folder: &Path, stamp: &str) -> bool {
        self.ours && fs::read_to_string(folder.join(STAMP)).is_ok_and(|old| old == stamp)
    }

    /// Of what is wanted, the names that `folder` has the modules of, made from what is there now and found good.
    pub fn fresh(&self, folder: &Path, wanted: &Wanted, stamp: &str) -> Vec<&'static str> {
        if !self.is_current(folder, stamp) {
            return vec![];
        }
        let names = wanted.entries.iter().map(|entry| entry.name());
        names
            .filter(|name| folder.join(format!("{name}.ptx")).is_file())
            .collect()
    }

    /// What the PTX and the checks depend on, as a short text: sources, compiler, assembler, and what of this program makes and checks it.
    pub fn stamp(&self, [generator, assembler]: &[String; 2]) -> Result<String> {
        stamp::of(&self.sources, &[generator, assembler])
    }

    /// Two builds at once would mix their files. The lock goes with the file's handle.
    pub fn lock(&self) -> Result<fs::File> {
        fs::create_dir_all(&self.cache).with_context(|| format!("cannot make {}", self.cache.display()))?;
        let lock = fs::File::create(self.cache.with_file_name("lock"))?;
        lock.lock()?;
        Ok(lock)
    }

    /// Entry points that are wanted and that the PTX has not.
    pub fn missing(&self, wanted: &Wanted, found: &[&str]) -> Vec<Violation> {
        let absent = |entry: &OurKernel| !found.contains(&entry.name());
        let violation = |entry: OurKernel| Violation {
            entry: entry.name().to_owned(),
            what: "is not in the PTX".to_owned(),
            extent: None,
        };
        if !self.ours {
            return vec![];
        }
        wanted.entries.iter().copied().filter(absent).map(violation).collect()
    }

    /// Where an architecture's files wait until they are found good.
    pub fn staged(&self, arch: &str) -> PathBuf {
        self.cache.join(arch).join("staged")
    }

    /// Takes back that an architecture's PTX was found good: some of it is about to change.
    pub fn mark_stale(&self, arch: &str) {
        let _ = fs::remove_file(self.staged(arch).join(STAMP));
    }

    /// Notes what an architecture's PTX was made from, now that it was found good.
    pub fn mark_current(&self, arch: &str, stamp: &str) -> Result<()> {
        write_if_changed(&self.staged(arch).join(STAMP), stamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ptx::Module, selection::Selection};

    #[test]
    fn what_is_fresh_is_known_by_stamp_and_file() {
        let folder = std::env::temp_dir().join(format!("warpfold-fresh-{}", std::process::id()));
        let mut kernels = bare(true);
        kernels.cache = folder.clone();
        let wanted = Wanted::all(
            "sm_75",
            &Selection::parse(&["sum".to_owned()], &["f32".to_owned()]).unwrap(),
        );
        let staged = kernels.staged("sm_75");
        fs::create_dir_all(&staged).unwrap();
        fs::write(staged.join("sum_f32.ptx"), "").unwrap();
        let fresh = |stamp| kernels.fresh(&staged, &wanted, stamp);
        assert_eq!(fresh("1"), Vec::<&str>::new());
        kernels.mark_current("sm_75", "1").unwrap();
        assert_eq!((fresh("1"), fresh("2")), (vec!["sum_f32"], vec![]));
        kernels.mark_stale("sm_75");
        assert_eq!(fresh("1"), Vec::<&str>::new());
        fs::remove_dir_all(&folder).unwrap();
    }

    /// A crate with no files.
    fn bare(ours: bool) -> KernelCrate {
        KernelCrate {
            own: Compiled {
                library: "my_ops".to_owned(),
                ..Compiled::default()
            },
            beside: vec![],
            sources: vec![],
            ptx: PathBuf::new(),
            cache: PathBuf::new(),
            ours,
        }
    }

    #[test]
    fn a_part_that_is_a_crate_is_compiled_as_that() {
        let of = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            Wanted::all("sm_75", &Selection::parse(&names, &[]).unwrap())
        };
        let mut kernels = bare(true);
        kernels.beside = vec![Compiled::distinct(PathBuf::new())];
        assert_eq!(kernels.having("sums").library, "my_ops");
        assert_eq!(kernels.having("distinct").library, "warpfold_distinct");
        // What its PTX states comes first; what the list has is for a code generator that leaves that out.
        let entry = ".visible .entry distinct_u8()\n{\nret;\n}\n";
        let stated = ".visible .global .align 4 .b32 warpfold_distinct$distinct_u8[7] = {128, 4, 1, 2, 0, 1, 92};\n";
        for (text, threads) in [(format!("{entry}{stated}"), 128), (entry.to_owned(), 256)] {
            let module = Module::parse(&text);
            let parts = kernels.parts(&of(&["distinct"]), &module).unwrap();
            assert_eq!(parts[0].bounds.max_threads, threads);
        }
    }

    #[test]
    fn a_users_crate_leaves_our_entries_out() {
        let module = Module::parse(
            ".visible .entry sum_f32()\n{\nret;\n}\n.visible .entry theirs()\n{\nret;\n}\n\
             .visible .entry mine_rows_f32()\n{\nret;\n}\n\
             .visible .global .align 4 .b8 my_ops$mine_rows_f32[28] = {0, 2, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, \
             0, 0, 0, 0, 4, 0, 0, 0, 192, 0, 0, 0};\n\
             .visible .global .align 4 .b8 warpfold_kernels$sum_f32[28] = {0};\n",
        );
        let wanted = Wanted::all("sm_75", &Selection::all());
        let of = |kernels: &KernelCrate| -> Vec<(String, String)> {
            let parts = kernels.parts(&wanted, &module).unwrap().into_iter();
            parts.map(|part| (part.item.name.clone(), part.module)).collect()
        };
        let named = |entry: &str, module: &str| (entry.to_owned(), module.to_owned());
        assert_eq!(
            of(&bare(false)),
            [named("theirs", "my_ops"), named("mine_rows_f32", "mine_rows_f32")]
        );
        assert_eq!(of(&bare(true)), [named("sum_f32", "sum_f32")]);

        // What the crate states of an entry is known of it.
        let theirs = bare(false);
        let parts = theirs.parts(&wanted, &module).unwrap();
        assert_eq!(
            parts[1].note.unwrap().to_string(),
            "// mine_rows_f32 [512, 2, 1, 1, 0, 4, 192]"
        );
        assert_eq!(
            (parts[1].bounds.max_threads, parts[1].bounds.min_blocks),
            (512, Some(2))
        );
        assert!(matches!(
            parts[1].expected,
            Expected::AsWritten {
                barriers: 4,
                fuses: false
            }
        ));
    }
}
