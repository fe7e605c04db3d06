//! How pages write numbers, sizes and names.

/// A number with two decimals below `two`, with one below `one`, and with none from there on.
fn decimals(number: f64, two: f64, one: f64) -> String {
    match number {
        small if small < two => format!("{small:.2}"),
        medium if medium < one => format!("{medium:.1}"),
        large => count(large),
    }
}

/// Microseconds.
pub fn us(us: f64) -> String {
    decimals(us, 100.0, 10_000.0)
}

/// A ratio.
pub fn times(ratio: f64) -> String {
    decimals(ratio, 10.0, 100.0)
}

/// An error, in units of the last place.
pub fn ulps(error: f64) -> String {
    decimals(error, 100.0, 100.0)
}

/// GB/s, in a column of them.
pub fn speed(speed: f64) -> String {
    decimals(speed, 0.0, 100.0)
}

/// A whole number, its digits grouped.
pub fn count(number: f64) -> String {
    let digits = format!("{number:.0}");
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

/// A number in as few digits as say it to about one in a thousand.
pub fn short(value: f64) -> String {
    let trimmed = |text: String| text.trim_end_matches('0').trim_end_matches('.').to_owned();
    match value.abs() {
        0.0 => "0".to_owned(),
        size if !(0.01..1e6).contains(&size) => format!("{value:.1e}").replace(".0e", "e"),
        size if size < 10.0 => trimmed(format!("{value:.2}")),
        size if size < 100.0 => trimmed(format!("{value:.1}")),
        _ => count(value),
    }
}

/// A share, in per cent.
pub fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// Digits of exponents.
const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];

/// A text in two parts: what stands before the exponent at its end, and that exponent in plain digits.
pub fn exponent(text: &str) -> (&str, String) {
    let plain = |c: char| match RAISED.iter().position(|raised| *raised == c) {
        Some(digit) => char::from_digit(digit as u32, 10),
        None => (c == '⁻').then_some('−'),
    };
    let base = text.trim_end_matches(|c| plain(c).is_some());
    (base, text[base.len()..].chars().filter_map(plain).collect())
}

fn power(base: u32, exponent: f64) -> String {
    let raised = |digit: char| digit.to_digit(10).map_or('⁻', |digit| RAISED[digit as usize]);
    let exponent = format!("{exponent:.0}");
    format!("{base}{}", exponent.chars().map(raised).collect::<String>())
}

/// A power of two, as 2¹⁰.
pub fn power_of_two(value: f64) -> String {
    power(2, value.log2())
}

/// What a tick of a log scale says: a power of ten as such, where it has many digits.
pub fn power_of_ten(value: f64) -> String {
    match value {
        value if value == 0.0 || (0.01..1e4).contains(&value) => short(value),
        value => power(10, value.log10()),
    }
}

/// A case's name, a power of two in front as such: `2^20 uniform` is 2²⁰ uniform.
pub fn case(name: &str) -> String {
    let (first, rest) = name.split_at(name.find(' ').unwrap_or(name.len()));
    let log = first.strip_prefix("2^").and_then(|log| log.parse::<u32>().ok());
    log.map_or_else(|| name.to_owned(), |log| power(2, f64::from(log)) + rest)
}

/// A shape or a kind of segments, as people write it: `8x8 causal` is 8 × 8 causal, `1..16` is 1 to 16.
pub fn shape(name: &str) -> String {
    let word = |word: &str| match word.starts_with(|c: char| c.is_ascii_digit()) {
        true => word.replace('x', " × ").replace("..", " to "),
        false => word.to_owned(),
    };
    case(name).split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// A case in a table: sizes with their digits grouped, `32768x256` as 32,768 × 256.
pub fn sizes(name: &str) -> String {
    let sizes: Option<Vec<f64>> = name.split('x').map(|size| size.parse().ok()).collect();
    sizes.map_or_else(
        || case(name),
        |sizes| sizes.into_iter().map(count).collect::<Vec<_>>().join(" × "),
    )
}

/// A name at the beginning of a title.
pub fn capital(name: &str) -> String {
    let first = name.chars().next().map_or(0, char::len_utf8);
    name[..first].to_uppercase() + &name[first..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_mean_something() {
        assert_eq!([1.234, 123.45, 471_451.3].map(us), ["1.23", "123.5", "471,451"]);
        assert_eq!([1.234, 12.34, 1982.6].map(times), ["1.23", "12.3", "1,983"]);
        assert_eq!([0.0, 999.0, 268_435_456.0].map(count), ["0", "999", "268,435,456"]);
        let of = [0.0, 0.001, 0.5, 1.25, 3.0, 12.04, 1234.5, 2e6].map(short);
        assert_eq!(of, ["0", "1e-3", "0.5", "1.25", "3", "12", "1,234", "2e6"]);
        assert_eq!(power_of_two(f64::from(1 << 28)), "2²⁸");
        let of = [0.0, 0.01, 1000.0, 1e6, 1e-3].map(power_of_ten);
        assert_eq!(of, ["0", "0.01", "1,000", "10⁶", "10⁻³"]);
        assert_eq!(
            ["2²⁸", "10⁻³", "8 × 8"].map(exponent),
            [("2", "28".into()), ("10", "−3".into()), ("8 × 8", String::new())]
        );
    }

    #[test]
    fn names_read_as_people_write_them() {
        let of = ["2^20 uniform", "2^10", "8x8", "2^x"].map(case);
        assert_eq!(of, ["2²⁰ uniform", "2¹⁰", "8x8", "2^x"]);
        assert_eq!(
            ["2^4", "8x8 causal", "1..16"].map(shape),
            ["2⁴", "8 × 8 causal", "1 to 16"]
        );
        let of = ["2^28", "32768x256", "1000", "1..2047", "12 layers of 768"].map(sizes);
        assert_eq!(of, ["2²⁸", "32,768 × 256", "1,000", "1..2047", "12 layers of 768"]);
        assert_eq!(["sum", "é", ""].map(capital), ["Sum", "É", ""]);
    }
}
