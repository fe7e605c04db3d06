//! What a build makes for an architecture: which of our kernels, and in which parts.

use crate::{
    arch,
    ours::{self, OurKernel},
    selection::Selection,
};

/// What is built unless said otherwise: a base, and what is better on an architecture with instructions that the base has not. The
/// driver compiles the newest that a device can take.
pub const DEFAULT_ARCHS: [&str; 2] = ["sm_75", "sm_90"];

/// An architecture that is asked for, and what of our kernels is wanted for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// As `sm_NN`.
    pub arch: String,
    /// Kernels of ours, each with its code; a user's crate has its own.
    pub entries: Vec<OurKernel>,
}

/// A part of the build, as one run of the compiler makes it.
#[derive(Debug, PartialEq, Eq)]
pub struct PartOfBuild {
    /// Its name in the list of entries.
    pub name: &'static str,
    /// The names of the entries that are wanted of it, if not all are.
    pub only: Option<String>,
}

impl Wanted {
    /// All that is selected.
    pub fn all(arch: &str, selection: &Selection) -> Self {
        Self::of(arch, |entry| selection.has(entry.name()))
    }

    /// What is selected and better there than what older architectures have.
    pub fn newer(arch: &str, selection: &Selection) -> Self {
        Self::of(arch, |entry| entry.is_better_on_newer() && selection.has(entry.name()))
    }

    fn of(arch: &str, is_wanted: impl Fn(&OurKernel) -> bool) -> Self {
        let has_clusters = arch::number(arch) >= Some(90);
        let wanted = ours::kernels().filter(|entry| is_wanted(entry) && (has_clusters || !entry.needs_clusters()));
        Self {
            arch: arch.to_owned(),
            entries: wanted.collect(),
        }
    }

    /// The same, but for entries of these names.
    pub fn without(&self, names: &[&str]) -> Self {
        let left = self.entries.iter().filter(|entry| !names.contains(&entry.name()));
        Self {
            arch: self.arch.clone(),
            entries: left.copied().collect(),
        }
    }

    /// All that the default build has for an architecture; none for one that is no default.
    pub fn default(arch: &str) -> Option<Self> {
        let [base, newer @ ..] = DEFAULT_ARCHS;
        match arch {
            arch if arch == base => Some(Self::all(arch, &Selection::all())),
            arch if newer.contains(&arch) => Some(Self::newer(arch, &Selection::all())),
            _ => None,
        }
    }

    /// Whether it wants the entry of that name.
    pub fn has(&self, name: &str) -> bool {
        self.entries.iter().any(|entry| entry.name() == name)
    }

    /// The parts that have what is wanted, the dearest first.
    pub fn parts(&self) -> Vec<PartOfBuild> {
        let of_part = |part: &'static str| {
            let is_of = |entry: &OurKernel| entry.part() == part;
            let of_part = self.entries.iter().filter(|entry| is_of(entry));
            let wanted: Vec<&str> = of_part.map(|entry| entry.name()).collect();
            let all = ours::kernels().filter(is_of).count();
            (!wanted.is_empty()).then(|| PartOfBuild {
                name: part,
                only: (wanted.len() < all).then(|| wanted.join(" ")),
            })
        };
        ours::parts().filter_map(of_part).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_compiled_whole_or_for_what_is_wanted_of_them() {
        let of = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            Wanted::all("sm_75", &Selection::parse(&names, &[]).unwrap())
        };
        let whole = Wanted::all("sm_75", &Selection::all());
        assert_eq!(Wanted::default("sm_75").as_ref(), Some(&whole));
        assert_eq!(
            Wanted::default("sm_90"),
            Some(Wanted::newer("sm_90", &Selection::all()))
        );
        assert_eq!(Wanted::default("sm_80"), None);
        assert_eq!(whole.parts().len(), ours::parts().count());
        // Rows alone have kernels that need clusters.
        let of_some: Vec<&str> = whole
            .parts()
            .iter()
            .filter(|part| part.only.is_some())
            .map(|part| part.name)
            .collect();
        assert_eq!(of_some, ["rows"]);
        assert!(!whole.has("softmax_long_f32") && Wanted::default("sm_90").unwrap().has("softmax_long_f32"));
        let some = of(&["log_sum_exp_f32", "sum_f32", "sum_small_f32"]);
        let distinct = PartOfBuild {
            name: ours::DISTINCT,
            only: None,
        };
        assert_eq!(of(&["distinct"]).parts(), [distinct]);
        let part = |name, only: &str| PartOfBuild {
            name,
            only: Some(only.to_owned()),
        };
        let both = [
            part("sums", "sum_f32 sum_small_f32"),
            part("exponentials", "log_sum_exp_f32"),
        ];
        assert_eq!(some.parts(), both);
        assert_eq!(
            some.without(&["sum_f32", "log_sum_exp_f32"]).parts(),
            [part("sums", "sum_small_f32")]
        );
        assert!(
            Wanted::newer("sm_90", &Selection::parse(&["product".to_owned()], &[]).unwrap())
                .entries
                .is_empty()
        );
    }
}
