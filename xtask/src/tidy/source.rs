//! Rust's text without what is not code.

/// Blanks out comments and the insides of literals, and keeps every line where it is.
pub fn blank(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = match chars[at] {
            '/' if chars.get(at + 1) == Some(&'/') => line_end(&chars, at),
            '/' if chars.get(at + 1) == Some(&'*') => comment_end(&chars, at),
            '"' => string_end(&chars, at),
            '\'' => character_end(&chars, at),
            'r' if !follows_word(&chars, at) || is_prefix(&chars, at) => raw_end(&chars, at),
            _ => at,
        };
        if end == at {
            out.push(chars[at]);
            at += 1;
        } else {
            out.extend(chars[at..end].iter().map(|c| if *c == '\n' { '\n' } else { ' ' }));
            at = end;
        }
    }
    out
}

fn follows_word(chars: &[char], at: usize) -> bool {
    at > 0 && (chars[at - 1].is_alphanumeric() || chars[at - 1] == '_')
}

/// Whether the `r` at `at` is the second letter of `br"…"` or `cr"…"`.
fn is_prefix(chars: &[char], at: usize) -> bool {
    matches!(chars[at - 1], 'b' | 'c') && !follows_word(chars, at - 1)
}

fn line_end(chars: &[char], at: usize) -> usize {
    let length = chars[at..].iter().position(|c| *c == '\n');
    length.map_or(chars.len(), |length| at + length)
}

fn comment_end(chars: &[char], at: usize) -> usize {
    let (mut depth, mut at) = (0, at);
    while at < chars.len() {
        match (chars[at], chars.get(at + 1)) {
            ('/', Some('*')) => (depth, at) = (depth + 1, at + 2),
            ('*', Some('/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    at
}

fn string_end(chars: &[char], at: usize) -> usize {
    let mut at = at + 1;
    while at < chars.len() {
        match chars[at] {
            '"' => return at + 1,
            '\\' => at += 2,
            _ => at += 1,
        }
    }
    chars.len()
}

/// The end of a character literal at `at`; `at` itself for a lifetime.
fn character_end(chars: &[char], at: usize) -> usize {
    match (chars.get(at + 1), chars.get(at + 2)) {
        (Some('\\'), _) => {
            let close = chars[(at + 3).min(chars.len())..].iter().position(|c| *c == '\'');
            close.map_or(chars.len(), |length| at + 3 + length + 1)
        }
        (Some(_), Some('\'')) => at + 3,
        _ => at,
    }
}

/// The end of a raw string at `at`; `at` itself for an ordinary word.
fn raw_end(chars: &[char], at: usize) -> usize {
    let hashes = chars[at + 1..].iter().take_while(|c| **c == '#').count();
    let open = at + 1 + hashes;
    if chars.get(open) != Some(&'"') {
        return at;
    }
    let mut at = open + 1;
    while at < chars.len() {
        let closes = chars[at] == '"' && chars[at + 1..].iter().take(hashes).filter(|c| **c == '#').count() == hashes;
        if closes {
            return at + 1 + hashes;
        }
        at += 1;
    }
    chars.len()
}

/// The words of a line of code.
pub fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blanked_and_code_is_kept() {
        for (text, kept) in [
            ("a // b\nc", "a\nc"),
            ("a /* b /* c */ d */ e", "a e"),
            (r#"a("b \" c") d"#, "a( ) d"),
            ("a(r#\"b \" c\"#) d", "a( ) d"),
            ("a(br\"b\") d", "a(b ) d"),
            ("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}"),
            ("['\"', '\\'', '\\\\'] b", "[ , , ] b"),
            ("attr rust", "attr rust"),
        ] {
            let blanked = blank(text);
            let squeezed: Vec<String> = blanked
                .lines()
                .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
                .collect();
            let squeezed = squeezed.join("\n");
            assert_eq!(
                squeezed.replace(" )", ")").replace(" ,", ","),
                kept.replace(" )", ")").replace(" ,", ","),
                "{text}"
            );
            assert_eq!(blanked.chars().count(), text.chars().count());
        }
    }
}
