//! Tests on records that nobody measured.

use super::*;
use crate::bench::records::{
    Failed, Figure,
    tests::{figure, record},
};
use chart::{OWN, Of, peers};
use warpfold_kernels::ladder::{LAYER_NORMS, SOFTMAXES, SUMS, sum::stages::STAGES};

/// A number in [0, 1), the same in every run.
fn wobble(seed: usize) -> f64 {
    let hash = (seed as u32).wrapping_mul(2_654_435_761) ^ 0x5bd1;
    f64::from((hash ^ (hash >> 15)).wrapping_mul(2_246_822_519) >> 8) / f64::from(1 << 24)
}

fn of([group, op, dtype, case, who, metric]: [&str; 6], value: f64, bytes: Option<u64>) -> Figure {
    Figure {
        group: group.into(),
        op: op.into(),
        dtype: dtype.into(),
        metric: metric.into(),
        bytes,
        ..figure(who, case, value)
    }
}

/// About what a memory of 4,500 GB/s needs for so many bytes.
fn time(bytes: u64, seed: usize) -> f64 {
    (1.4 + bytes as f64 / 4.5e6) * (0.9 + 0.4 * wobble(seed))
}

fn beside(figures: &mut Vec<Figure>, [group, op, dtype, case]: [&str; 4], bytes: u64) {
    for who in [OWN].iter().chain(peers(group)) {
        if *who != "CuPy" && (*who != "Triton" || op == "sum" || op == "softmax") {
            let us = time(bytes, figures.len());
            figures.push(of([group, op, dtype, case, who, "us"], us, Some(bytes)));
        }
    }
}

fn of_peers() -> Vec<Figure> {
    let mut figures = vec![];
    for op in ["sum", "max", "argmax"] {
        for log in (10..=30).step_by(2) {
            beside(&mut figures, ["whole", op, "f32", &format!("2^{log}")], 4 << log);
        }
        for (dtype, size) in [("f32", 4), ("bf16", 2)] {
            for (rows, columns) in [(32_768, 256), (16_384, 4096), (2048, 65_536)] {
                let case = format!("{rows}x{columns}");
                beside(&mut figures, ["rows", op, dtype, &case], rows * columns * size);
            }
        }
        beside(&mut figures, ["columns", op, "f32", "4096x16384"], 4 << 26);
    }
    for op in ["softmax", "log_softmax", "layer_norm", "rms_norm", "cross_entropy"] {
        for (dtype, size) in [("f32", 8), ("bf16", 4)] {
            for columns in [256, 768, 1024, 4096, 16_384, 65_536] {
                let case = format!("32768x{columns}");
                beside(&mut figures, ["maps", op, dtype, &case], 32_768 * columns * size);
            }
        }
    }
    beside(&mut figures, ["gpt2", "layer_norm", "f32", "4096x768"], 8 * 4096 * 768);
    beside(
        &mut figures,
        ["gpt2", "causal_softmax", "f32", "48x1024x1024"],
        (8 * 48) << 20,
    );
    figures
}

/// Kinds of segments.
const KINDS: [&str; 9] = [
    "2^4",
    "2^8",
    "2^12",
    "2^18",
    "2^24",
    "1..2047",
    "1..16",
    "power law",
    "one huge among a million of 3",
];

/// Segments, in f32 of four operations, in bf16 of one; the peers do not have all.
fn of_segments() -> Vec<Figure> {
    let mut figures = vec![];
    for (i, kind) in KINDS.into_iter().enumerate() {
        for op in ["sum", "max", "argmax", "logsumexp"] {
            let key = |who| ["segments", op, "f32", kind, who, "us"];
            let (bytes, us) = (4 << 26, 60.0 + 500.0 * wobble(figures.len()) / (1.0 + i as f64));
            figures.push(of(key(OWN), us, Some(bytes)));
            if op != "logsumexp" {
                figures.push(of(key("CUB"), 80.0 + 100.0 * wobble(figures.len()), Some(bytes)));
            }
        }
        figures.push(of(["segments", "sum", "bf16", kind, OWN, "us"], 100.0, Some(2 << 26)));
    }
    figures
}

/// Our own whole sums of other types: a line of bf16, and one point of f64, which is no line.
fn of_other_types() -> Vec<Figure> {
    let sizes = [("bf16", 20), ("bf16", 24), ("bf16", 28), ("f64", 28)];
    let figure = |(dtype, log): (&str, u32)| {
        let bytes = 2_u64 << log;
        of(
            ["whole", "sum", dtype, &format!("2^{log}"), OWN, "us"],
            2.0 + bytes as f64 / 4e6,
            Some(bytes),
        )
    };
    sizes.map(figure).into()
}

/// Of a machine without a GPU.
pub fn of_a_cpu() -> Record {
    let shares = [("sum", 0.97), ("argmax", 0.91), ("mean", 0.84), ("logsumexp", 0.31)];
    let shares = shares.map(|(op, share)| of(["cpu", op, "f32", "2^26", OWN, "share"], share, None));
    let time = of(["whole", "sum", "f32", "2^20", OWN, "us"], 99.0, Some(4 << 20));
    let mut record = record("2026-11-29T01:02:03Z", "", shares.into_iter().chain([time]).collect());
    record.machine.gpu = None;
    record
}

fn of_ladder() -> Vec<Figure> {
    let mut figures = vec![of(
        ["ladder", "sum", "f32", "2^28", "a plain read", "us"],
        235.0,
        Some(1 << 30),
    )];
    let sums = SUMS.iter().map(|rung| rung.name).chain([OWN]).enumerate();
    for (i, who) in sums {
        let us = if i == 0 {
            471_451.3
        } else {
            238.0 + 4000.0 / (1.0 + i as f64).powi(2)
        };
        if !(1..4).contains(&i) {
            figures.push(of(["ladder", "sum", "f32", "2^28", who, "us"], us, Some(1 << 30)));
        }
        let (name, distinct) = if who == OWN {
            (who.to_owned(), 1.0)
        } else {
            (format!("rung {who}"), (1000.0 * wobble(i)).ceil())
        };
        figures.push(of(
            ["determinism", "sum", "f32", "2^24", &name, "distinct"],
            distinct,
            None,
        ));
    }
    for who in ["CUB", "PyTorch", "Triton atomic", "PyTorch index_add"] {
        figures.push(of(
            ["determinism", "sum", "f32", "2^24", who, "distinct"],
            1.0 + who.len() as f64,
            None,
        ));
    }
    let softmax = SOFTMAXES.iter().map(|rung| rung.name);
    let norms = LAYER_NORMS.iter().map(|rung| rung.name);
    for case in ["32768x1024", "16384x4096", "49152x1024 causal", "12288x1024 causal"] {
        for (i, who) in softmax.clone().chain([OWN]).enumerate() {
            let us = 2000.0 / (1.0 + (i * i) as f64) + 60.0;
            figures.push(of(["ladder", "softmax", "f32", case, who, "us"], us, Some(1 << 27)));
        }
    }
    for case in ["32768x1024", "16384x4096", "4096x768", "1024x768"] {
        for (i, who) in norms.clone().chain([OWN]).enumerate() {
            let us = 2000.0 / (1.0 + (i * i) as f64 * 9.0) + 60.0;
            figures.push(of(["ladder", "layer-norm", "f32", case, who, "us"], us, Some(1 << 27)));
        }
    }
    figures
}

fn of_stages() -> Vec<Figure> {
    let mut figures = vec![];
    for log in (10..=30).step_by(2) {
        let bytes = 4 << log;
        for (i, stage) in STAGES.iter().enumerate() {
            // Shuffles hide behind loads: a difference below 0.
            let us = [1.1, 1.4, 1.38, 1.5, 2.2][i] + if i == 0 { 0.0 } else { bytes as f64 / 4.5e6 };
            figures.push(of(
                ["ladder", "stages", "f32", &format!("2^{log}"), stage, "us"],
                us,
                Some(bytes),
            ));
        }
    }
    figures
}

fn of_accuracy() -> Vec<Figure> {
    let mut figures = vec![];
    let sums = [
        "a loop",
        OWN,
        "warpfold, compensated",
        "warpfold, wide",
        "warpfold, exact",
        "CUB",
        "PyTorch",
        "f64 accumulation",
    ];
    for (i, who) in sums.into_iter().enumerate() {
        for (case, scale) in [("2^20 uniform", 1.0), ("2^20 ill-conditioned", 1e6)] {
            let error = if who.ends_with("exact") {
                0.0
            } else {
                scale * (0.2 + wobble(i)) / (1.0 + i as f64)
            };
            figures.push(of(["accuracy", "sum", "f32", case, who, "ulp"], error, None));
        }
    }
    for (i, op) in ["sum f32", "describe f32", "softmax masked bf16", "cross_entropy bf16"]
        .into_iter()
        .enumerate()
    {
        figures.push(of(
            ["first-calls", op, "", "cold cache", OWN, "ms"],
            30.0 + 100.0 * wobble(i),
            None,
        ));
    }
    figures
}

/// A record of everything on GPUs, in which CuPy is absent and a case of a peer failed.
pub fn records() -> Vec<Record> {
    let figures = [
        of_peers(),
        of_segments(),
        of_other_types(),
        of_ladder(),
        of_stages(),
        of_accuracy(),
    ]
    .concat();
    let mut record = record("2026-11-27T01:02:03Z", "NVIDIA H200", figures);
    record.absent.insert("CuPy".into(), "No module named 'cupy'".into());
    record.figures.retain(|f| f.who != "Liger" || f.case != "32768x65536");
    record.failed.push(Failed {
        who: "Liger".into(),
        group: "maps".into(),
        op: "softmax".into(),
        dtype: "f32".into(),
        case: "32768x65536".into(),
        failed: "ValueError: <too wide>".into(),
    });
    vec![record]
}

fn charts(sections: &[Section]) -> impl Iterator<Item = &Chart> {
    sections.iter().flat_map(|section| &section.charts)
}

fn names(sections: &[Section]) -> Vec<&str> {
    sections
        .iter()
        .flat_map(|section| &section.charts)
        .map(|chart| &*chart.name)
        .collect()
}

#[test]
fn a_whole_record_has_every_chart_and_picture() {
    let sections = sections(&records()).unwrap();
    let names = names(&sections);
    for name in [
        "whole-argmax",
        "rows-bf16",
        "columns-f32",
        "maps-f32",
        "gpt2",
        "ladder-stages",
        "determinism",
        "first-calls",
    ] {
        assert!(names.contains(&name), "{name} of {names:?}");
    }
    let pictures = pictures(&sections);
    assert_eq!(pictures.len(), names.len());
    for (name, text) in &pictures {
        assert!(
            text.starts_with("<svg xmlns=") && text.contains("role=\"img\"") && text.contains("<title>"),
            "{name}"
        );
        assert!(
            text.contains("NVIDIA H200, 2026-11-27, commit abc1234") && !text.contains("NaN") && !text.contains("inf"),
            "{name}"
        );
        assert_eq!(text.matches("<text").count(), text.matches("</text>").count(), "{name}");
    }
    // The same of the same.
    assert_eq!(pictures, super::pictures(&super::sections(&records()).unwrap()));
}

#[test]
fn the_page_says_who_was_not_there_and_what_failed() {
    let page = page(&sections(&records()).unwrap(), "");
    assert!(page.contains("title=\"No module named &#39;cupy&#39;\">not present<"));
    assert!(page.contains("title=\"ValueError: &lt;too wide&gt;\">failed<"));
    for outside in ["http:", "https:", "<script", "src=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert_eq!(page.matches("<figure>").count(), page.matches("<details>").count());
}

#[test]
fn without_records_every_chart_is_left_out_and_named() {
    let sections = sections(&[]).unwrap();
    assert!(names(&sections).is_empty() && pictures(&sections).is_empty());
    let page = page(&sections, "");
    for what in ["whole, sum", "rows, bf16", "ladder, stages", "first-calls"] {
        assert!(page.contains(what), "{what}");
    }
}

#[test]
fn a_chart_is_of_the_newest_record_that_has_its_figures() {
    let mut all = records();
    let mut newer = record("2026-11-28T01:02:03Z", "NVIDIA H100", of_accuracy());
    newer.commit = "def5678".into();
    all.push(newer);
    let sections = sections(&all).unwrap();
    let source = |name: &str| {
        let found = sections
            .iter()
            .flat_map(|section| &section.charts)
            .find(|chart| chart.name == name);
        found.unwrap().source.clone()
    };
    assert_eq!(source("accuracy"), "NVIDIA H100, 2026-11-28, commit def5678");
    assert_eq!(source("whole-sum"), "NVIDIA H200, 2026-11-27, commit abc1234");
}

#[test]
fn what_is_wrong_with_a_record_is_named() {
    let mut all = records();
    all[0]
        .figures
        .retain(|f| !(f.op == "stages" && f.who == "block" && f.case == "2^12"));
    let error = format!("{:#}", sections(&all).err().unwrap());
    assert!(
        error.contains("2026-11-27") && error.contains("stages of 2^12: no block"),
        "{error}"
    );
}

#[test]
fn a_ratio_is_the_best_peers_time_by_ours() {
    let figures = [("warpfold", 10.0), ("PyTorch", 30.0), ("Triton", 20.0)];
    let figures = figures.map(|(who, us)| of(["rows", "sum", "f32", "8x8", who, "us"], us, Some(256)));
    let record = record("2026-11-27T01:02:03Z", "GPU", figures.into());
    let chart = versus::ratios(Of(&record), "rows", "f32").unwrap().unwrap();
    let drawn = chart.drawing.inline("");
    assert!(
        drawn.contains(">2.00<") && drawn.contains("sum of 8 × 8: warpfold 10.00 µs, Triton 20.00 µs, 2.00 times"),
        "{drawn}"
    );
    assert!(versus::ratios(Of(&record), "rows", "bf16").unwrap().is_none());
}

#[test]
fn segments_have_maps_of_peers_and_of_a_plain_read() {
    let sections = sections(&records()).unwrap();
    let found = |name: &str| charts(&sections).find(|chart| chart.name == name);
    let map = found("segments-f32").unwrap().drawing.inline("");
    // In the order of the record, a power of two as such, a long name in two lines.
    let order = [
        ">2<",
        ">1 to 2047<",
        ">1 to 16<",
        ">power law<",
        ">one huge among<",
        ">a million of 3<",
    ];
    let places: Vec<usize> = order.iter().map(|name| map.find(name).unwrap()).collect();
    assert!(places.is_sorted(), "{places:?}");
    // No peer has logsumexp, so it is in the map of shares alone; no peer has bf16.
    let shares = found("segments-f32-share").unwrap();
    assert!(!map.contains(">logsumexp<") && shares.drawing.inline("").contains(">logsumexp<"));
    assert!(found("segments-bf16").is_none() && found("segments-f64-share").is_none());
    let shares = found("segments-bf16-share").unwrap();
    // 2²⁷ bytes in 100 µs, where a plain read of 2³⁰ takes 235.
    assert!(shares.drawing.inline("").contains(">29 %<") && shares.title.ends_with("share of a plain read"));
}

#[test]
fn what_few_records_have_is_passed_over() {
    let mut all = records();
    all[0].figures.retain(|f| f.group != "segments");
    let sections = sections(&all).unwrap();
    assert!(
        sections
            .iter()
            .all(|section| section.title != "Segments" && section.title != "On the CPU")
    );
    assert!(!page(&sections, "").to_lowercase().contains("segments, "));
}

#[test]
fn a_record_without_a_gpu_has_a_chart_of_its_own() {
    let mut all = records();
    all.push(of_a_cpu());
    let sections = sections(&all).unwrap();
    let found = |name: &str| charts(&sections).find(|chart| chart.name == name).unwrap();
    assert_eq!(
        found("cpu-share").source,
        "CPU, 2 threads of AVX2, 2026-11-29, commit abc1234"
    );
    assert!(found("cpu-share").drawing.inline("").contains(">31 %<"));
    // Its times are not drawn as a GPU's.
    assert!(found("whole-sum").source.starts_with("NVIDIA H200"));
    assert!(
        super::sections(&[of_a_cpu()])
            .unwrap()
            .iter()
            .any(|section| section.title == "On the CPU")
    );
}

#[test]
fn another_type_is_a_line_where_it_has_two_lengths() {
    let sections = sections(&records()).unwrap();
    let sum = charts(&sections)
        .find(|chart| chart.name == "whole-sum")
        .unwrap()
        .drawing
        .inline("");
    assert!(sum.contains(">warpfold, bf16<") && !sum.contains(">warpfold, f64<"));
}

#[test]
fn somebody_has_one_colour_in_all_charts() {
    assert_eq!(chart::series_of("PyTorch index_add"), chart::series("PyTorch"));
    assert_eq!(chart::series_of("warpfold, exact"), chart::series(OWN));
    assert_eq!(chart::series_of("rung wide"), chart::NOBODY);
    let sections = sections(&records()).unwrap();
    let drawn = |name: &str| {
        charts(&sections)
            .find(|chart| chart.name == name)
            .unwrap()
            .drawing
            .inline("")
    };
    let pytorch = format!("s{}", chart::series("PyTorch"));
    for name in ["whole-sum", "gpt2", "determinism", "accuracy"] {
        assert!(drawn(name).contains(&pytorch), "{name}");
    }
    // Stages are nobody.
    let stages = drawn("ladder-stages");
    assert!((0..=chart::NOBODY).all(|series| !stages.contains(&format!("fill s{series}"))));
}
