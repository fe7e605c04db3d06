//! What a build is asked for: of which architectures, which of our kernels.

use std::collections::BTreeSet;

use anyhow::{Result, bail};

use crate::{
    arch,
    selection::Selection,
    wanted::{DEFAULT_ARCHS, Wanted},
};

/// What is to be built: what is selected for architectures that are asked for; else for the base, and for the other defaults what is
/// better there. Of a part of the kernels, only what the GPU with that compute capability loads.
pub fn wanted(archs: &[String], selection: &Selection, gpu: Option<u32>) -> Result<Vec<Wanted>> {
    if !archs.is_empty() {
        let asked: BTreeSet<&str> = archs.iter().map(|arch| arch.trim()).collect();
        return Ok(asked.into_iter().map(|arch| Wanted::all(arch, selection)).collect());
    }
    let [base, newer @ ..] = DEFAULT_ARCHS;
    let newer = newer.iter().map(|arch| Wanted::newer(arch, selection));
    let mut all: Vec<Wanted> = [Wanted::all(base, selection)].into_iter().chain(newer).collect();
    if let Some(gpu) = gpu.filter(|_| !selection.is_all()) {
        all.retain(|wanted| arch::number(&wanted.arch) <= Some(gpu));
        // It loads the newest that it can take.
        for older in 1..all.len() {
            let (olds, news) = all.split_at_mut(older);
            let names: Vec<&str> = news[0].entries.iter().map(|entry| entry.name()).collect();
            olds.iter_mut().for_each(|old| *old = old.without(&names));
        }
        if all.is_empty() {
            bail!(
                "the GPU is of compute capability {}.{}, older than {base}: name an architecture by --arch",
                gpu / 10,
                gpu % 10
            );
        }
    }
    all.retain(|wanted| !wanted.entries.is_empty());
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    /// How many entries of each architecture are wanted.
    fn counts(names: &[&str], archs: &[&str], gpu: Option<u32>) -> Result<Vec<(String, usize)>> {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let selection = Selection::parse(&words(names), &words(&["f32"][..names.len().min(1)])).unwrap();
        let all = wanted(&words(archs), &selection, gpu)?;
        Ok(all
            .into_iter()
            .map(|wanted| (wanted.arch, wanted.entries.len()))
            .collect())
    }

    #[test]
    fn a_part_is_built_for_the_gpu_that_is_there_and_all_for_every_one() {
        let of = |archs: &[(&str, usize)]| -> Vec<(String, usize)> {
            archs.iter().map(|(arch, count)| ((*arch).to_owned(), *count)).collect()
        };
        let softmax = counts(&["softmax"], &["sm_90"], None).unwrap()[0].1;
        for (names, archs, gpu, is) in [
            (&["product"][..], &[][..], None, of(&[("sm_75", 5)])),
            (&["product"], &[], Some(90), of(&[("sm_75", 5)])),
            (&["sum"], &[], None, of(&[("sm_75", 5), ("sm_90", 4)])),
            (&["sum"], &[], Some(90), of(&[("sm_75", 1), ("sm_90", 4)])),
            (&["sum"], &["sm_90"], Some(75), of(&[("sm_90", 5)])),
            // One of them needs clusters.
            (
                &["softmax"],
                &[],
                None,
                of(&[("sm_75", softmax - 1), ("sm_90", softmax)]),
            ),
            (&["softmax"], &[], Some(86), of(&[("sm_75", softmax - 1)])),
            (&["softmax"], &[], Some(120), of(&[("sm_90", softmax)])),
            (
                &["softmax", "product"],
                &[],
                Some(90),
                of(&[("sm_75", 5), ("sm_90", softmax)]),
            ),
        ] {
            assert_eq!(
                counts(names, archs, gpu).unwrap(),
                is,
                "{names:?} for {archs:?}, {gpu:?}"
            );
        }
        assert_eq!(counts(&[], &[], Some(90)).unwrap(), counts(&[], &[], None).unwrap());
        let error = counts(&["sum"], &[], Some(70)).unwrap_err().to_string();
        assert!(error.contains("7.0") && error.contains("--arch"), "{error}");
    }
}
