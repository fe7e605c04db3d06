//! What two code generators made of the same source, entry by entry.

use crate::report::{Build, ReportRow, columns};

/// A table for each architecture that both have built.
pub fn tables(one: &[Build], other: &[Build]) -> String {
    let mut text = String::new();
    for other in other {
        let Some(one) = one.iter().find(|one| one.arch == other.arch) else {
            continue;
        };
        text += &format!(
            "{}: {}\n{}  {}\n",
            other.arch,
            one.generator,
            " ".repeat(other.arch.len()),
            other.generator
        );
        text += &table(one, other);
    }
    text
}

fn table(one: &Build, other: &Build) -> String {
    let heads = [
        "entry", "loads", "shuffles", "barriers", "atomics", "regs", "shared", "spills",
    ];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    let mut names: Vec<&str> = one.entries.iter().chain(&other.entries).map(|row| &*row.name).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let of = |build: &Build| build.entries.iter().find(|row| row.name == name).map(values);
        rows.push(cells(name, of(one), of(other)));
    }
    columns(rows, 1)
}

/// What is compared of an entry, as it is shown.
fn values(row: &ReportRow) -> [String; 7] {
    let figure = |of: Option<u32>| of.map_or("-".to_owned(), |figure| figure.to_string());
    [
        format!("{}+{}", row.counts.wide_loads, row.counts.scalar_loads),
        row.counts.shuffles.to_string(),
        row.counts.barriers.to_string(),
        row.counts.atomics.to_string(),
        figure(row.figures.map(|figures| figures.registers)),
        figure(row.figures.map(|figures| figures.shared)),
        figure(row.figures.map(|figures| figures.spill_stores + figures.spill_loads)),
    ]
}

/// A row: one value where both agree, both where they do not.
fn cells(name: &str, one: Option<[String; 7]>, other: Option<[String; 7]>) -> Vec<String> {
    let absent = || [const { String::new() }; 7].map(|_| "absent".to_owned());
    let (one, other) = (one.unwrap_or_else(absent), other.unwrap_or_else(absent));
    let both = one.into_iter().zip(other).map(
        |(one, other)| {
            if one == other { one } else { format!("{one} | {other}") }
        },
    );
    std::iter::once(name.to_owned()).chain(both).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{Counts, Figures};

    fn build(generator: &str, entry: &str, barriers: usize, registers: u32) -> Build {
        let counts = Counts {
            wide_loads: 8,
            scalar_loads: 32,
            shuffles: 5,
            barriers,
            atomics: 1,
            ..Counts::default()
        };
        let figures = Figures {
            registers,
            ..Figures::default()
        };
        Build {
            arch: "sm_90".to_owned(),
            generator: generator.to_owned(),
            ptxas: None,
            devices: vec![],
            entries: vec![ReportRow {
                name: entry.to_owned(),
                counts,
                figures: Some(figures),
            }],
        }
    }

    /// The cells of the line that begins with `entry`.
    fn line(text: &str, entry: &str) -> String {
        let line = text.lines().find(|line| line.trim_start().starts_with(entry)).unwrap();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_differs_is_shown_twice_and_the_rest_once() {
        let text = tables(
            &[build("llvm: a", "sum_f32", 4, 40)],
            &[build("nvvm: b", "sum_f32", 4, 42)],
        );
        assert!(text.contains("llvm: a") && text.contains("nvvm: b"));
        assert_eq!(line(&text, "sum_f32"), "sum_f32 8+32 5 4 1 40 | 42 0 0");
    }

    #[test]
    fn an_entry_that_one_lacks_is_seen() {
        let text = tables(&[build("a", "sum_f32", 4, 40)], &[build("b", "max_f32", 4, 40)]);
        assert!(line(&text, "sum_f32").ends_with("0 | absent"));
        assert!(line(&text, "max_f32").starts_with("max_f32 absent | 8+32"));
    }

    #[test]
    fn an_architecture_that_one_lacks_is_left_out() {
        let other = Build {
            arch: "sm_80".to_owned(),
            ..build("b", "sum_f32", 4, 40)
        };
        assert!(tables(&[build("a", "sum_f32", 4, 40)], &[other]).is_empty());
    }
}
