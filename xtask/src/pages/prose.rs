//! Measured figures stand in tables that are made from records, and nowhere else.

use super::TABLE;

/// What makes a number one that was measured, where it stands behind it.
const UNITS: &str = "µs|us|ms|ns|s|seconds|milliseconds|microseconds|nanoseconds|GB/s|MB/s|TB/s|GiB/s|%|per cent|ulp|\
                     times as fast|times as slow|times as long|times faster|times slower|times the speed|times the time|\
                     as fast|as slow|as long|the speed";

/// Numbers that are words.
const NUMBERS: &str = "half|one|two|three|four|five|six|seven|eight|nine|ten|twice|dozen|hundred|thousand";

/// What the head of a table of measurements has.
const HEADS: [&str; 8] = ["µs", "us", "ms", "GB/s", "MB/s", "÷", "%", "seconds"];

/// The lines of a page that have a figure outside of code and of the tables that are made, each with its number.
pub fn figures(text: &str) -> Vec<(usize, String)> {
    let [_, before, behind] = TABLE;
    let (mut is_made, mut is_code) = (false, false);
    let mut found = vec![];
    for (number, line) in (1..).zip(text.lines()) {
        is_made |= line.starts_with(before);
        is_code ^= line.trim_start().starts_with("```");
        if !is_made && !is_code && (has_figure(line) || is_head(line)) {
            found.push((number, line.trim().to_owned()));
        }
        is_made &= !line.starts_with(behind);
    }
    found
}

/// Whether a number has a unit.
fn has_figure(line: &str) -> bool {
    let is_first = |at: usize| !line[..at].ends_with(|c: char| c.is_alphanumeric() || "-_.".contains(c));
    let starts = line.char_indices().map(|(at, _)| at).filter(|at| is_first(*at));
    starts.filter_map(|at| behind_number(&line[at..])).any(|rest| {
        // `32 × 8` is a size, and `32×` a speed-up.
        let unit = rest.trim_start_matches([' ', '\u{a0}', '\u{202f}', '-']);
        rest.strip_prefix('×').is_some_and(ends)
            || UNITS.split('|').any(|name| unit.strip_prefix(name).is_some_and(ends))
    })
}

/// What comes behind a number at the beginning of a text.
fn behind_number(text: &str) -> Option<&str> {
    let is_of_number = |c: char| c.is_ascii_digit() || ".,⁰¹²³⁴⁵⁶⁷⁸⁹".contains(c);
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        let end = text.find(|c: char| !is_of_number(c)).unwrap_or(text.len());
        // A stop behind it is the sentence's.
        return Some(&text[text[..end].trim_end_matches(['.', ',']).len()..]);
    }
    let is_of = |word: &&str| {
        text.get(..word.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(word))
    };
    let word = NUMBERS.split('|').find(is_of)?;
    Some(&text[word.len()..]).filter(|rest| rest.starts_with(' '))
}

/// Whether nothing follows that makes another word of it.
fn ends(rest: &str) -> bool {
    !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// Whether it looks like the head of a table of measurements.
fn is_head(line: &str) -> bool {
    let words = || line.split(|c: char| c.is_whitespace() || "|,()".contains(c));
    line.starts_with('|') && words().any(|word| HEADS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages;

    #[test]
    fn no_page_has_a_figure_that_no_record_has() {
        let mut found = vec![];
        for (page, text) in pages::there().unwrap() {
            found.extend(
                figures(&text)
                    .into_iter()
                    .map(|(number, line)| format!("{}:{number}: {line}", page.display())),
            );
        }
        let says = "figures that `cargo xtask report` does not make, by a table between markers, from a record";
        assert!(found.is_empty(), "{says}:\n{}", found.join("\n"));
    }

    #[test]
    fn what_was_measured_is_found() {
        let is_found = |text: &str| !figures(text).is_empty();
        for text in [
            "It took 3.5 µs.",
            "3,980 GB/s of bf16",
            "a launch of 12ms",
            "It is 12.5× the first.",
            "It is 3 times as fast.",
            "Twice as fast as before",
            "about two nanoseconds",
            "98 % of the peak",
            "| rows | GB/s |",
            "| | µs, sum |\n|---|---|",
            "<!-- table: whole -->\n| GB/s |\n<!-- end of table -->\nand 5 ms",
        ] {
            assert!(is_found(text), "{text}");
        }
        for text in [
            "a matrix of 32 × 8 elements, or N × 8 of them",
            "```console\n3 µs\n```",
            "<!-- table: whole -->\n| GB/s |\n| 5 GB/s |\n<!-- end of table -->",
            "version 3 says so",
            "| operators | elements |",
            "f32 is 4 bytes",
            "two launches",
            "one among a million of 3. GB/s of elements",
        ] {
            assert!(!is_found(text), "{text}");
        }
    }
}
