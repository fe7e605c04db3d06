//! What became slower since the last record of the same card or processor.

use std::collections::BTreeMap;

use super::records::{Figure, Key, Record};

/// How much longer something must take: less is what two runs differ by.
const SLOWER: f64 = 1.05;

/// And by how many microseconds.
const LEAST_US: f64 = 0.3;

/// Lines to print: each of our times that is longer than in the last record of this machine that has it.
pub fn regressions(earlier: &[Record], new: &Record) -> Vec<String> {
    let mut last: BTreeMap<Key<'_>, (&Figure, &Record)> = BTreeMap::new();
    let of_machine: Vec<&Record> = earlier.iter().filter(|record| record.is_of_machine_of(new)).collect();
    if of_machine.is_empty() {
        return vec![format!("nothing to compare with: no record of {}", new.card())];
    }
    for record in of_machine {
        last.extend(record.figures.iter().map(|figure| (figure.key(), (figure, record))));
    }
    let is_ours = |figure: &&Figure| is_ours(figure) && figure.metric == "us";
    let slower = new.figures.iter().filter(is_ours).filter_map(|figure| {
        let (was, record) = last.get(&figure.key())?;
        let is_slower = figure.value > SLOWER * was.value && figure.value > was.value + LEAST_US;
        is_slower.then(|| {
            let Figure {
                group, op, dtype, case, ..
            } = figure;
            format!(
                "slower: {group}, {op} of {case} {dtype}: {:.2} us, and {:.2} at {} on {}",
                figure.value,
                was.value,
                record.commit,
                record.day()
            )
        })
    });
    slower.collect()
}

/// Whether a figure is of the library's own.
fn is_ours(figure: &Figure) -> bool {
    figure.who == "warpfold"
}

#[cfg(test)]
mod tests {
    use super::{
        super::records::tests::{figure, record},
        *,
    };

    #[test]
    fn what_became_slower_is_named_with_the_last_record_of_the_card() {
        let of = |date: &str, gpu: &str, us: f64| {
            record(
                date,
                gpu,
                vec![figure("warpfold", "2^20", us), figure("CUB", "2^20", us)],
            )
        };
        let earlier = [
            of("2026-11-01T00:00:00Z", "NVIDIA H200", 1.0),
            of("2026-11-02T00:00:00Z", "NVIDIA H200", 4.0),
            of("2026-11-03T00:00:00Z", "NVIDIA H100", 1.0),
        ];
        let new = |us| of("2026-11-04T00:00:00Z", "NVIDIA H200", us);
        assert!(regressions(&earlier, &new(4.2)).is_empty());
        let slower = regressions(&earlier, &new(5.0));
        assert_eq!(
            slower,
            ["slower: whole, sum of 2^20 f32: 5.00 us, and 4.00 at abc1234 on 2026-11-02"]
        );
        let other = of("2026-11-04T00:00:00Z", "NVIDIA B200", 5.0);
        assert_eq!(
            regressions(&earlier, &other),
            ["nothing to compare with: no record of NVIDIA B200"]
        );
    }
}
