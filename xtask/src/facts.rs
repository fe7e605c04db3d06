//! What must hold of every entry point's code, whatever the compiler: pure functions of the PTX and of what ptxas says.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ptx;

/// What ptxas says of one function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of registers stored to memory for want of room, by each thread.
    pub spill_stores: u32,
    /// The same, loaded.
    pub spill_loads: u32,
    /// Bytes of stack of a thread, in local memory.
    pub stack: u32,
    /// Bytes of shared memory of a block.
    pub shared: u32,
}

/// What is expected of an entry's instructions.
#[derive(Clone, Copy, Debug)]
pub enum Expected {
    /// One of an operator: the barriers that its source has, and arithmetic as written.
    AsWritten {
        /// How many barriers.
        barriers: usize,
        /// Whether it has fused multiply-adds.
        fuses: bool,
    },
    /// A user's own.
    Anything,
}

/// What an entry's text is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Bytes of text.
    pub bytes: usize,
    /// Instructions.
    pub instructions: usize,
    /// Loads of the input of more than an element's word.
    pub wide_loads: usize,
    /// Other loads of the input.
    pub scalar_loads: usize,
    /// Shuffles.
    pub shuffles: usize,
    /// Barriers.
    pub barriers: usize,
    /// Atomic operations.
    pub atomics: usize,
    /// Fused multiply-adds.
    pub fused: usize,
}

impl Counts {
    /// In the order that they are shown in.
    pub fn columns(self) -> [usize; 8] {
        [
            self.bytes,
            self.instructions,
            self.wide_loads,
            self.scalar_loads,
            self.shuffles,
            self.barriers,
            self.atomics,
            self.fused,
        ]
    }
}

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The entry point.
    pub entry: String,
    /// What is wrong with it.
    pub what: String,
    /// How much, where that differs from device to device.
    pub extent: Option<String>,
}

/// Counts what an entry's text is made of.
pub fn count(entry: &str) -> Counts {
    counted(entry, &operations_of(entry))
}

/// An entry's operations. They are looked at a dozen times, and taking them out of the text is what takes long.
fn operations_of(entry: &str) -> Vec<&str> {
    ptx::operations(entry).collect()
}

fn counted(entry: &str, operations: &[&str]) -> Counts {
    // Of code that may be launched early the wide ones are plain.
    let input = |operation: &str| operation.starts_with("ld.global.nc.") || operation.starts_with("ld.global.L1::");
    let wide = |operation: &str| operation.contains(".v4.") || operation.contains(".v2.");
    let mut counts = Counts {
        bytes: entry.len(),
        ..Counts::default()
    };
    for operation in operations {
        let is = usize::from;
        counts.instructions += 1;
        counts.wide_loads += is(input(operation) && wide(operation));
        counts.scalar_loads += is(input(operation) && !wide(operation));
        counts.shuffles += is(operation.starts_with("shfl."));
        counts.barriers += is(is_barrier(operation));
        counts.atomics += is(operation.starts_with("atom.") || operation.starts_with("red."));
        counts.fused += is(operation.starts_with("fma."));
    }
    counts
}

/// Whether all threads of a block meet here. `bar.warp.sync` is a warp's affair.
fn is_barrier(operation: &str) -> bool {
    let of_block = operation.starts_with("bar.") || operation.starts_with("barrier.");
    of_block && !operation.starts_with("bar.warp.") && !operation.starts_with("barrier.cluster.")
}

/// What is wrong with the text of entry `name`.
pub fn in_text(name: &str, entry: &str, expected: Expected) -> Vec<Violation> {
    let operations = operations_of(entry);
    let find = |is: &dyn Fn(&str) -> bool| operations.iter().find(|operation| is(operation));
    let mut wrong = vec![];
    if let Some(call) = find(&|o| o == "call" || o.starts_with("call.")) {
        wrong.push(format!("`{call}`: a function was not inlined"));
    }
    let local = |operation: &str| operation.split('.').skip(1).any(|part| part == "local");
    if let Some(local) = find(&local) {
        wrong.push(format!("`{local}`: local memory"));
    } else if entry.split_whitespace().any(|word| word == ".local") {
        wrong.push("`.local`: local memory".to_owned());
    }
    // Slow, and under rustc_codegen_nvvm wrong: it hands out addresses of shared memory that are not generic.
    let generic = |operation: &str| operation.starts_with("cvta.") && operation.contains("shared");
    if let Some(generic) = find(&generic) {
        wrong.push(format!("`{generic}`: shared memory by a generic address"));
    }
    if let Expected::AsWritten { barriers, fuses } = expected {
        wrong.extend(lost_or_duplicated(counted(entry, &operations).barriers, barriers));
        wrong.extend(halves_of_cluster_barrier(&operations));
        if let Some(access) = find(&names_no_space) {
            wrong.push(format!("`{access}`: memory by a generic address"));
        }
        if let Some(flushed) = find(&|o| o.split('.').any(|part| part == "ftz")) {
            wrong.push(format!("`{flushed}` flushes subnormal numbers to zero"));
        }
        if let Some(narrow) = find(&is_narrow_choice) {
            wrong.push(format!(
                "`{narrow}`: a comparison of what it gives may be always true on sm_90, by a fault of ptxas"
            ));
        }
        if let Some(fused) = find(&|o| !fuses && o.starts_with("fma.")) {
            wrong.push(format!("`{fused}`: a multiplication and an addition were contracted"));
        }
    }
    named(name, wrong)
}

/// Whether an operation goes to memory by a generic address, which is slow.
fn names_no_space(operation: &str) -> bool {
    const SPACES: [&str; 5] = ["global", "shared", "local", "param", "const"];
    let mut parts = operation.split('.');
    let memory = parts
        .next()
        .is_some_and(|first| ["ld", "st", "atom", "red"].contains(&first));
    memory && !parts.any(|part| part.split("::").next().is_some_and(|part| SPACES.contains(&part)))
}

/// Whether an operation chooses one of two integers of 16 bits. For `min.u16 %a,%b,3; setp.eq.b16 %p,%a,3` ptxas 13.0 has one
/// `VIMNMX.U16x2` for sm_90, whose predicate is then that of the upper, empty half: always true.
fn is_narrow_choice(operation: &str) -> bool {
    ["min.u16", "min.s16", "max.u16", "max.s16"].contains(&operation)
}

/// Whether each barrier of the source stands in the code once.
fn lost_or_duplicated(found: usize, expected: usize) -> Option<String> {
    let became = if found > expected { "was duplicated" } else { "was lost" };
    (found != expected).then(|| format!("{found} barriers, and {expected} in the source: one {became}"))
}

/// Whether the barrier of a cluster stands in the code once, arrival and wait, or not at all: no kernel of the source has a second.
fn halves_of_cluster_barrier(operations: &[&str]) -> Option<String> {
    let count = |half: &str| operations.iter().filter(|o| o.starts_with(half)).count();
    let [arrivals, waits] = ["barrier.cluster.arrive", "barrier.cluster.wait"].map(count);
    let is_whole = arrivals == waits && arrivals <= 1;
    (!is_whole).then(|| {
        format!("{arrivals} arrivals at the barrier of a cluster, and {waits} waits: one was lost or duplicated")
    })
}

/// What is wrong with the figures of entry `name`.
pub fn in_figures(name: &str, figures: Option<&Figures>) -> Vec<Violation> {
    let Some(figures) = figures else {
        return named(name, vec!["ptxas says nothing of it".to_owned()]);
    };
    let measured = |what: &str, bytes: u32| {
        (bytes > 0).then(|| Violation {
            entry: name.to_owned(),
            what: what.to_owned(),
            extent: Some(format!("{bytes} bytes")),
        })
    };
    let spills = measured("registers spill to memory", figures.spill_stores + figures.spill_loads);
    let stack = measured("a stack in local memory", figures.stack);
    spills.into_iter().chain(stack).collect()
}

fn named(entry: &str, wrong: Vec<String>) -> Vec<Violation> {
    let entry = entry.to_owned();
    wrong
        .into_iter()
        .map(|what| Violation {
            entry: entry.clone(),
            what,
            extent: None,
        })
        .collect()
}

/// The figures in what `ptxas -v` prints, by entry point.
pub fn figures(said: &str) -> BTreeMap<String, Figures> {
    let mut all = BTreeMap::new();
    let mut name = String::new();
    for line in said.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            name = rest.split('\'').next().unwrap_or_default().to_owned();
            all.insert(name.clone(), Figures::default());
        }
        let Some(figures) = all.get_mut(&name) else { continue };
        if line.contains("bytes stack frame") {
            figures.stack = before(line, "bytes stack frame");
            figures.spill_stores = before(line, "bytes spill stores");
            figures.spill_loads = before(line, "bytes spill loads");
        } else if line.contains("Used ") {
            figures.registers = before(line, "registers");
            figures.shared = before(line, "bytes smem");
        }
    }
    all
}

/// The number that stands before `unit`; 0 where there is none.
fn before(line: &str, unit: &str) -> u32 {
    let number = line.split(unit).next().filter(|head| head.len() < line.len());
    number
        .and_then(|head| head.split_whitespace().last()?.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An entry with one of each, and `planted` in it.
    fn entry(planted: &str) -> String {
        format!(
            ".visible .entry fold(\n.param .u64 fold_param_0\n)\n{{\n.reg .b32 %r<9>;\n\
             ld.global.nc.v4.u32 {{%r1, %r2, %r3, %r4}}, [%rd1];\n@%p1 ld.global.nc.u32 %r1, [%rd1];\n\
             shfl.sync.bfly.b32 %r1|%p1, %r2, 1, 31, -1;\nbar.sync 0;\nbar.warp.sync -1;\nadd.rn.f32 %r1, %r1, %r2;\n\
             ld.relaxed.gpu.global.u32 %r1, [%rd2];\n\
             atom.acq_rel.gpu.global.inc.u32 %r5, [%rd2], %r6;\n{planted}\nret;\n}}\n"
        )
    }

    const AS_WRITTEN: Expected = Expected::AsWritten {
        barriers: 1,
        fuses: false,
    };

    fn wrong(planted: &str) -> Vec<String> {
        in_text("fold", &entry(planted), AS_WRITTEN)
            .into_iter()
            .map(|violation| violation.what)
            .collect()
    }

    #[test]
    fn a_clean_entry_has_no_violations() {
        let counts = Counts {
            bytes: entry("").len(),
            instructions: 9,
            wide_loads: 1,
            scalar_loads: 1,
            shuffles: 1,
            barriers: 1,
            atomics: 1,
            fused: 0,
        };
        assert_eq!(count(&entry("")), counts);
        assert!(wrong("").is_empty());
        assert!(wrong("barrier.cluster.arrive.relaxed;\n@%p1 bra $L__BB0_1;\nbarrier.cluster.wait;").is_empty());
    }

    #[test]
    fn each_planted_fault_is_found() {
        for (planted, says) in [
            ("call.uni (retval0), helper, (param0);", "not inlined"),
            (".local .align 16 .b8 __local_depot0[64];", "local memory"),
            ("st.local.u32 [%rd1], %r1;", "local memory"),
            ("@%p2 bar.sync 0;", "was duplicated"),
            ("barrier.sync 1;", "was duplicated"),
            ("cvta.shared.u64 %rd1, %rd2;", "generic address"),
            ("ld.u32 %r1, [%rd1];", "generic address"),
            ("st.relaxed.gpu.v2.b32 [%rd1], {%r1, %r2};", "generic address"),
            ("add.rn.ftz.f32 %r1, %r1, %r2;", "subnormal"),
            ("fma.rn.f32 %r1, %r1, %r2, %r3;", "contracted"),
            ("min.u16 %rs2,%rs4,3;", "always true"),
            (
                "barrier.cluster.arrive.relaxed;",
                "1 arrivals at the barrier of a cluster, and 0 waits",
            ),
            (
                "barrier.cluster.wait;",
                "0 arrivals at the barrier of a cluster, and 1 waits",
            ),
            (
                "barrier.cluster.arrive.relaxed;\nbarrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;\nbarrier.cluster.wait;",
                "2 arrivals",
            ),
        ] {
            let wrong = wrong(planted);
            assert_eq!(wrong.len(), 1, "{planted}: {wrong:?}");
            assert!(wrong[0].contains(says), "{planted}: {wrong:?}");
        }
    }

    #[test]
    fn a_lost_barrier_is_found() {
        let expected = Expected::AsWritten {
            barriers: 2,
            fuses: false,
        };
        let wrong = in_text("fold", &entry(""), expected);
        assert!(wrong.len() == 1 && wrong[0].what.contains("was lost"), "{wrong:?}");
    }

    #[test]
    fn a_users_entry_may_do_other_things_but_not_call_or_spill() {
        let of = |planted| in_text("theirs", &entry(planted), Expected::Anything);
        assert!(of("ex2.approx.ftz.f32 %r1, %r1;\nfma.rn.f32 %r1, %r1, %r2, %r3;\nbar.sync 1;").is_empty());
        assert_eq!(of("call helper;").len(), 1);
    }

    const SAID: &str = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'sum_f32' for 'sm_90'
ptxas info    : Function properties for sum_f32
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 54 registers, used 1 barriers, 4096 bytes smem, 384 bytes cmem[0]
ptxas info    : Compile time = 36.144 ms
ptxas info    : Compiling entry function 'bad' for 'sm_90'
ptxas info    : Function properties for bad
    32 bytes stack frame, 8 bytes spill stores, 16 bytes spill loads
ptxas info    : Used 64 registers, used 1 barriers, 32 bytes cumulative stack size
";

    #[test]
    fn figures_are_read_and_judged() {
        let all = figures(SAID);
        assert_eq!(
            all["sum_f32"],
            Figures {
                registers: 54,
                shared: 4096,
                ..Figures::default()
            }
        );
        assert_eq!(all["bad"].registers, 64);
        assert!(in_figures("sum_f32", all.get("sum_f32")).is_empty());
        let wrong = in_figures("bad", all.get("bad"));
        let extents: Vec<_> = wrong.iter().map(|v| v.extent.as_deref().unwrap()).collect();
        assert_eq!(extents, ["24 bytes", "32 bytes"]);
        assert_eq!(in_figures("absent", all.get("absent")).len(), 1);
    }
}
