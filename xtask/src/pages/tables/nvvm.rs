//! What both code generators made of the kernels, side by side, of what is recorded of each; and what has become of the kernels since.

use anyhow::{Result, ensure};

use crate::{
    generator::nvvm::{self, Run, Time},
    pages::{
        numbers::{count, times, us},
        table::Items,
    },
    record::{self, Record},
    wanted::DEFAULT_ARCHS,
};

/// The columns of a recorded line.
const BYTES: usize = 0;
const INSTRUCTIONS: usize = 1;
const TOGETHER: [usize; 3] = [4, 5, 6];
const REGISTERS: usize = 8;

/// An architecture, as each of them has it.
struct Both {
    arch: &'static str,
    llvm: Record,
    nvvm: Record,
}

impl Both {
    /// None where nvvm has not built it.
    fn load(arch: &'static str) -> Option<Self> {
        let (llvm, nvvm) = (
            Record::load(&record::folder(), arch),
            Record::load(&nvvm::facts(), arch),
        );
        nvvm.entries().next()?;
        Some(Self { arch, llvm, nvvm })
    }

    /// The numbers of each entry that both have, llvm's first.
    fn pairs(&self) -> Vec<[&[u64]; 2]> {
        let entries = self.nvvm.entries();
        entries
            .filter_map(|(name, nvvm)| Some([self.llvm.of_entry(name)?, nvvm]))
            .collect()
    }

    /// How many kernels it has, of how many.
    fn kernels(&self) -> String {
        let all = self.llvm.entries().count();
        format!("{} of {}", count(self.pairs().len() as f64), count(all as f64))
    }

    /// In how many of them a column compares so.
    fn how_many(&self, column: usize, is: fn(&u64, &u64) -> bool) -> String {
        let pairs = self.pairs();
        let such = pairs.iter().filter(|[llvm, nvvm]| is(&nvvm[column], &llvm[column]));
        count(such.count() as f64)
    }

    /// In how many what threads do together stands as often.
    fn alike(&self) -> String {
        let is_alike = |[llvm, nvvm]: &[&[u64]; 2]| TOGETHER.iter().all(|column| llvm[*column] == nvvm[*column]);
        count(self.pairs().iter().filter(|pair| is_alike(pair)).count() as f64)
    }

    /// All of a column, as nvvm's share of llvm's.
    fn share(&self, column: usize) -> String {
        let sum = |of: usize| self.pairs().iter().map(|pair| pair[of][column]).sum::<u64>() as f64;
        times(sum(1) / sum(0))
    }

    /// What nvvm lacks.
    fn missing(&self) -> impl Iterator<Item = &str> {
        let entries = self.llvm.entries();
        entries
            .map(|(name, _)| name)
            .filter(|name| self.nvvm.of_entry(name).is_none())
    }
}

/// The table, with a line on when it was and whether that is what the kernels are now.
pub fn make() -> Result<String> {
    let run = Run::load()?;
    let all: Vec<Both> = DEFAULT_ARCHS.into_iter().filter_map(Both::load).collect();
    ensure!(!all.is_empty(), "nothing is recorded");
    let now = if run.is_of_now()? {
        ""
    } else {
        " The kernels changed since."
    };
    let ran = match &run.ran[..] {
        [] => "It has not run on a GPU.".to_owned(),
        ran => ran.join(" "),
    };
    let says = format!(
        "Built on {} at commit {}, by {}.{now} {ran}",
        run.date,
        run.commit,
        all[0].nvvm.made_by()
    );
    let both: Vec<&Both> = all.iter().collect();
    let table = Items(&both).columns(&[
        ("", &|both| both.arch.to_owned()),
        ("kernels", &Both::kernels),
        ("shuffles, barriers and atomics as often", &Both::alike),
        ("instructions ÷ llvm's", &|both| both.share(INSTRUCTIONS)),
        ("bytes ÷ llvm's", &|both| both.share(BYTES)),
        ("fewer registers", &|both| both.how_many(REGISTERS, u64::lt)),
        ("as many", &|both| both.how_many(REGISTERS, u64::eq)),
        ("more", &|both| both.how_many(REGISTERS, u64::gt)),
    ]);
    let lacks = |both: &Both| {
        let missing: Vec<String> = both.missing().map(|name| format!("`{name}`")).collect();
        (!missing.is_empty()).then(|| format!("\nNot built for {}: {}.\n", both.arch, missing.join(", ")))
    };
    let is_there = |arch: &str| all.iter().any(|both| both.arch == arch);
    let none = DEFAULT_ARCHS.into_iter().filter(|arch| !is_there(arch));
    let none: String = none.map(|arch| format!("\nNothing is recorded of {arch}.\n")).collect();
    let built = table.markdown(&says) + &all.iter().filter_map(lacks).collect::<String>() + &none;
    Ok(built + &ran_in(&run.times))
}

/// The table of times, where there are any.
fn ran_in(all: &[Time]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let rows: Vec<&Time> = all.iter().collect();
    let table = Items(&rows).columns(&[
        ("", &|time| format!("{} of {}", time.op, time.case)),
        ("llvm, µs", &|time| us(time.llvm)),
        ("nvvm, µs", &|time| us(time.nvvm)),
        ("nvvm ÷ llvm", &|time| times(time.nvvm / time.llvm)),
    ]);
    table.markdown("\nMedians of one run, in which both took turns:")
}
