//! Tests on the repository's records, and on small ones that nobody measured.

use super::*;
use crate::{
    bench::records::{self, Failed, tests::record},
    pages::{
        draw::NOBODY,
        measured::{MANY, OWN, PLAIN_READ, series, series_of, tests::figure_of},
    },
};

/// Sections of the repository's records, once each has been changed.
fn changed(change: impl Fn(&mut Record)) -> Result<Vec<Section>> {
    let mut all = records::all(&records::folder()).unwrap();
    all.iter_mut().for_each(change);
    sections(&all)
}

/// Sections of a record of an H100 with some times, each of so many bytes.
fn of_times(times: &[([&str; 5], f64, u64)]) -> Vec<Section> {
    let figure = |&([group, op, dtype, case, who], us, bytes): &([&str; 5], f64, u64)| {
        let bytes = Some(bytes);
        let figure = figure_of([group, op, dtype, case, who, "us"], us);
        Figure { bytes, ..figure }
    };
    let figures = times.iter().map(figure).collect();
    sections(&[record("2026-11-27T01:02:03Z", "NVIDIA H100", figures)]).unwrap()
}

fn find<'a>(sections: &'a [Section], name: &str) -> Option<&'a Chart> {
    let mut charts = sections.iter().flat_map(|section| &section.charts);
    charts.find(|chart| chart.name == name)
}

fn drawn(sections: &[Section], name: &str) -> String {
    find(sections, name).unwrap().drawn.2.inline("chart", "")
}

#[test]
fn the_records_have_every_chart_and_picture() {
    let sections = changed(|_| ()).unwrap();
    let pictures = pictures(&sections);
    let all = subjects().unwrap().into_iter().flat_map(|(_, _, names)| names);
    let all = all.map(|name| name.replace(", ", "-") + ".svg");
    let absent = ["segments-f64.svg", "cpu-share.svg"];
    let all: Vec<String> = all.filter(|name| !absent.contains(&&**name)).collect();
    assert_eq!(pictures.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>(), all);
    for (name, text) in &pictures {
        for part in ["<svg xmlns=", "role=\"img\"", "<title>", "NVIDIA", ", commit "] {
            assert!(text.contains(part), "{name}: {part}");
        }
        assert!(!text.contains("NaN") && !text.contains("inf"), "{name}");
        assert_eq!(text.matches("<text").count(), text.matches("</text>").count(), "{name}");
    }
    // The same of the same.
    assert_eq!(pictures, super::pictures(&changed(|_| ()).unwrap()));
}

#[test]
fn the_page_says_who_was_not_there_and_what_failed() {
    let sections = changed(|record| {
        record.figures.retain(|f| f.who != "CuPy");
        record.absent.insert("CuPy".into(), "No module named 'cupy'".into());
        let is_lost = |f: &Figure| f.group == "maps" && f.who == "Liger";
        if let Some(lost) = record.figures.iter().position(is_lost) {
            let Figure {
                group,
                op,
                dtype,
                case,
                who,
                ..
            } = record.figures.remove(lost);
            let failed = "ValueError: <too wide>".to_owned();
            record.failed.push(Failed {
                who,
                group,
                op,
                dtype,
                case,
                failed,
            });
        }
    });
    let page = page(&sections.unwrap(), "");
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
    assert!(pictures(&sections).is_empty());
    let page = page(&sections, "");
    for what in ["whole, sum", "rows, bf16", "ladder, stages", "first-calls"] {
        assert!(page.contains(what), "{what}");
    }
}

#[test]
fn a_chart_is_of_the_newest_record_that_has_its_figures() {
    let mut all = records::all(&records::folder()).unwrap();
    let error = figure_of(["accuracy", "sum", "f32", "2^20 uniform", OWN, "ulp"], 0.5);
    all.push(record("2100-01-01T01:02:03Z", "NVIDIA H100", vec![error]));
    let sections = sections(&all).unwrap();
    let source = |name: &str| &*find(&sections, name).unwrap().source;
    assert_eq!(source("accuracy"), "NVIDIA H100, 2100-01-01, commit abc1234");
    assert!(!source("whole-sum").contains("2100"));
}

#[test]
fn what_is_wrong_with_a_record_is_named() {
    let is_lost = |f: &Figure| f.op == "stages" && f.who == "block" && f.case == "2^12";
    let error = changed(|record| record.figures.retain(|f| !is_lost(f))).err().unwrap();
    assert!(format!("{error:#}").contains("stages of 2^12: no block"), "{error:#}");
    let no_bytes = |record: &mut Record| record.figures.iter_mut().for_each(|f| f.bytes = None);
    let error = changed(no_bytes).err().unwrap();
    let error = format!("{error:#}");
    assert!(
        error.contains("whole, sum") && error.contains("has no bytes"),
        "{error}"
    );
}

#[test]
fn a_ratio_is_the_best_peers_time_by_ours() {
    let times = [(OWN, 10.0), ("PyTorch", 30.0), ("Triton", 20.0)];
    let sections = of_times(&times.map(|(who, us)| (["rows", "sum", "f32", "8x8", who], us, 256)));
    let drawn = drawn(&sections, "rows-f32");
    assert!(drawn.contains(">2.00<"), "{drawn}");
    assert!(
        drawn.contains("sum of 8 × 8: warpfold 10.00 µs, Triton 20.00 µs, 2.00 times"),
        "{drawn}"
    );
    assert!(find(&sections, "rows-bf16").is_none());
}

#[test]
fn segments_have_maps_of_peers_and_of_a_plain_read() {
    let kinds = ["2^4", "1..2047", "1..16", "power law", "one huge among a million of 3"];
    let mut times = vec![(["ladder", "sum", "f32", MANY, PLAIN_READ], 235.0, 1 << 30)];
    for kind in kinds {
        let of = |op, dtype, who| (["segments", op, dtype, kind, who], 100.0, 1 << 27);
        times.extend([of("sum", "f32", OWN), of("sum", "f32", "CUB")]);
        times.extend([of("logsumexp", "f32", OWN), of("sum", "bf16", OWN)]);
    }
    let sections = of_times(&times);
    let map = drawn(&sections, "segments-f32");
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
    assert!(!map.contains(">logsumexp<") && drawn(&sections, "segments-f32-share").contains(">logsumexp<"));
    assert!(find(&sections, "segments-bf16").is_none() && find(&sections, "segments-f64-share").is_none());
    // 2²⁷ bytes in 100 µs, where a plain read of 2³⁰ takes 235.
    assert!(drawn(&sections, "segments-bf16-share").contains(">29 %<"));
    let title = &find(&sections, "segments-bf16-share").unwrap().drawn.0;
    assert!(title.ends_with("share of a plain read"));
}

#[test]
fn what_few_records_have_is_passed_over() {
    let sections = changed(|record| record.figures.retain(|f| f.group != "segments")).unwrap();
    let is_absent = |section: &Section| section.title != "Segments" && section.title != "On the CPU";
    assert!(sections.iter().all(is_absent));
    assert!(!page(&sections, "").to_lowercase().contains("segments, "));
}

#[test]
fn a_record_without_a_gpu_has_a_chart_of_its_own() {
    let share = figure_of(["cpu", "logsumexp", "f32", "2^26", OWN, "share"], 0.31);
    let time = figure_of(["whole", "sum", "f32", "2^20", OWN, "us"], 99.0);
    let mut of_cpu = record("2026-11-29T01:02:03Z", "", vec![share, time]);
    of_cpu.machine.gpu = None;
    let sections = sections(&[of_cpu]).unwrap();
    let source = &*find(&sections, "cpu-share").unwrap().source;
    assert_eq!(source, "CPU, 2 threads of AVX2, 2026-11-29, commit abc1234");
    assert!(drawn(&sections, "cpu-share").contains(">31 %<"));
    // Its times are not drawn as a GPU's.
    assert!(find(&sections, "whole-sum").is_none());
}

#[test]
fn another_type_is_a_line_where_it_has_two_lengths() {
    let lengths = [
        ("f32", "2^20"),
        ("f32", "2^24"),
        ("bf16", "2^20"),
        ("bf16", "2^24"),
        ("f64", "2^24"),
    ];
    let sections = of_times(&lengths.map(|(dtype, case)| (["whole", "sum", dtype, case, OWN], 9.0, 1 << 20)));
    let sum = drawn(&sections, "whole-sum");
    assert!(sum.contains(">warpfold, bf16<") && !sum.contains(">warpfold, f64<"));
}

#[test]
fn somebody_has_one_colour_in_all_charts() {
    assert_eq!(series_of("PyTorch index_add"), series("PyTorch"));
    assert_eq!(series_of("warpfold, exact"), series(OWN));
    assert_eq!(series_of("rung wide"), NOBODY);
    let sections = changed(|_| ()).unwrap();
    let pytorch = format!("s{}", series("PyTorch"));
    for name in ["whole-sum", "gpt2", "determinism", "accuracy"] {
        assert!(drawn(&sections, name).contains(&pytorch), "{name}");
    }
    // Stages are nobody.
    let stages = drawn(&sections, "ladder-stages");
    assert!((0..=NOBODY).all(|series| !stages.contains(&format!("fill s{series}"))));
}
