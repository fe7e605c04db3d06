//! Literals of Python, which the headers of `.npy` files are: strings, whole numbers, truths, `None`, tuples, lists and
//! dictionaries, with whitespace and comments wherever Python has them.
//!
//! What `ast.literal_eval` reads of these is read, and Python 2's `3L` besides. Time and memory are linear in the text's
//! length: nothing is read twice. Brackets are nested at most [`MOST_DEPTH`] deep.

/// Brackets that may be open at once: as many as in Python itself.
pub(super) const MOST_DEPTH: usize = 200;

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Literal<'a> {
    /// Between quotes, of any prefix but those of bytes and of format strings.
    Text(String),
    /// A whole number: as it is written, and what it is if that is at least 0 and fits.
    Number(&'a str, Option<u64>),
    /// `True` or `False`.
    Truth(bool),
    /// `None`.
    None,
    /// In parentheses.
    Tuple(Vec<Literal<'a>>),
    /// In brackets.
    List(Vec<Literal<'a>>),
    /// In braces.
    Dictionary(Vec<DictEntry<'a>>),
}

/// A key of a dictionary and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DictEntry<'a> {
    pub key: Literal<'a>,
    pub value: Literal<'a>,
    /// The value as it is written.
    pub written: &'a str,
}

/// The value that all of `text` is, or why it is none.
pub(super) fn literal(text: &str) -> Result<Literal<'_>, String> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    let value = parser.value()?;
    parser.skip_space();
    match parser.peek() {
        None => Ok(value),
        Some(_) => parser.unexpected("the end"),
    }
}

/// As much of `text` as an error should say.
pub(super) fn beginning(text: &str) -> String {
    const MOST: usize = 60;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

struct Parser<'a> {
    text: &'a str,
    /// Bytes that were read.
    at: usize,
    /// Brackets that are open.
    depth: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// Reads `wanted`, if it is what follows.
    fn take(&mut self, wanted: char) -> bool {
        let follows = self.peek() == Some(wanted);
        if follows {
            self.at += wanted.len_utf8();
        }
        follows
    }

    /// Reads all that follows of `kind`.
    fn take_while(&mut self, kind: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !kind(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn skip_space(&mut self) {
        loop {
            self.take_while(|c| matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0c'));
            if self.take('#') {
                self.take_while(|c| c != '\n');
            } else if self.rest().starts_with("\\\n") {
                self.at += 2;
            } else {
                return;
            }
        }
    }

    fn unexpected<T>(&self, wanted: &str) -> Result<T, String> {
        Err(match self.peek() {
            Some(found) => format!("{found:?} at byte {}, and not {wanted}", self.at),
            None => format!("it ends at byte {}, before {wanted}", self.at),
        })
    }

    fn value(&mut self) -> Result<Literal<'a>, String> {
        self.skip_space();
        match self.peek() {
            Some('(') => {
                let (mut values, comma) = self.values(')')?;
                // Parentheses around one value are no tuple.
                Ok(match values.pop() {
                    Some(only) if values.is_empty() && !comma => only,
                    last => {
                        values.extend(last);
                        Literal::Tuple(values)
                    }
                })
            }
            Some('[') => Ok(Literal::List(self.values(']')?.0)),
            Some('{') => self.dictionary(),
            Some('0'..='9' | '+' | '-') => self.number(),
            Some('\'' | '"' | 'A'..='Z' | 'a'..='z' | '_') => self.word(),
            _ => self.unexpected("a value"),
        }
    }

    /// What is between brackets, of which the next character opens one; and whether there is a comma behind the last.
    fn values(&mut self, close: char) -> Result<(Vec<Literal<'a>>, bool), String> {
        let mut values = Vec::new();
        let comma = self.each(close, |parser| {
            values.push(parser.value()?);
            Ok(())
        })?;
        Ok((values, comma))
    }

    fn dictionary(&mut self) -> Result<Literal<'a>, String> {
        let mut entries = Vec::new();
        self.each('}', |parser| {
            let key = parser.value()?;
            parser.skip_space();
            if !parser.take(':') {
                return parser.unexpected("a colon");
            }
            parser.skip_space();
            let start = parser.at;
            let value = parser.value()?;
            let written = &parser.text[start..parser.at];
            entries.push(DictEntry { key, value, written });
            Ok(())
        })?;
        Ok(Literal::Dictionary(entries))
    }

    /// Reads items with commas between them up to `close`: whether there is a comma behind the last.
    fn each(&mut self, close: char, mut item: impl FnMut(&mut Self) -> Result<(), String>) -> Result<bool, String> {
        if self.depth == MOST_DEPTH {
            return Err(format!("at byte {} more than {MOST_DEPTH} brackets are open", self.at));
        }
        self.depth += 1;
        self.next();
        let mut comma = false;
        loop {
            self.skip_space();
            if self.take(close) {
                self.depth -= 1;
                return Ok(comma);
            }
            item(self)?;
            self.skip_space();
            comma = self.take(',');
            if !comma && self.peek() != Some(close) {
                return self.unexpected("a comma");
            }
        }
    }

    /// A string or a name: which, a quote behind the first letters tells.
    fn word(&mut self) -> Result<Literal<'a>, String> {
        let start = self.at;
        let letters = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
        match (letters, self.peek()) {
            ("" | "u" | "U" | "r" | "R", Some('\'' | '"')) => {
                self.at = start;
                self.strings()
            }
            (_, Some('\'' | '"')) => Err(format!("a string of kind {} at byte {start}", beginning(letters))),
            ("True", _) => Ok(Literal::Truth(true)),
            ("False", _) => Ok(Literal::Truth(false)),
            ("None", _) => Ok(Literal::None),
            _ => Err(format!("{} at byte {start} is no value", beginning(letters))),
        }
    }

    /// Strings that follow one another, which are one. So `'''three'''` is read as well.
    fn strings(&mut self) -> Result<Literal<'a>, String> {
        let mut text = String::new();
        loop {
            let prefix = self.take_while(|c| matches!(c, 'u' | 'U' | 'r' | 'R'));
            match self.peek() {
                Some('\'' | '"') if prefix.len() < 2 => self.string(&mut text, prefix.eq_ignore_ascii_case("r"))?,
                _ if prefix.is_empty() => return Ok(Literal::Text(text)),
                _ => return self.unexpected("a string"),
            }
            self.skip_space();
        }
    }

    fn string(&mut self, text: &mut String, raw: bool) -> Result<(), String> {
        let start = self.at;
        let quote = self.next();
        loop {
            match self.next() {
                None | Some('\n') => return Err(format!("the string at byte {start} has no end")),
                end if end == quote => return Ok(()),
                Some('\\') if raw => {
                    text.push('\\');
                    text.extend(self.next());
                }
                Some('\\') => self.escaped(text)?,
                Some(c) => text.push(c),
            }
        }
    }

    /// What a backslash stands for, with what is behind it.
    fn escaped(&mut self, text: &mut String) -> Result<(), String> {
        let start = self.at;
        let digits = |parser: &mut Self, most: usize, radix: u32| {
            let end = parser
                .rest()
                .chars()
                .take(most)
                .take_while(|c| c.is_digit(radix))
                .count();
            let code = &parser.rest()[..end];
            parser.at += end;
            let code = u32::from_str_radix(code, radix).ok().and_then(char::from_u32);
            code.ok_or_else(|| format!("an escape at byte {start} that is no character"))
        };
        let meant = match self.next() {
            Some('\n') => return Ok(()),
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some('a') => '\x07',
            Some('b') => '\x08',
            Some('f') => '\x0c',
            Some('v') => '\x0b',
            Some('x') => digits(self, 2, 16)?,
            Some('u') => digits(self, 4, 16)?,
            Some('U') => digits(self, 8, 16)?,
            Some('0'..='7') => {
                self.at = start;
                digits(self, 3, 8)?
            }
            Some(same @ ('\\' | '\'' | '"')) => same,
            // No escape: the backslash stays.
            other => {
                text.push('\\');
                match other {
                    Some(other) => other,
                    None => return Ok(()),
                }
            }
        };
        text.push(meant);
        Ok(())
    }

    fn number(&mut self) -> Result<Literal<'a>, String> {
        let start = self.at;
        let negative = self.peek() == Some('-');
        if negative || self.peek() == Some('+') {
            self.next();
            self.skip_space();
        }
        let digits = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
        let written = &self.text[start..self.at];
        let bad = || Err(format!("{} at byte {start} is no whole number", beginning(written)));
        let (radix, digits) = match digits.get(..2) {
            Some("0x" | "0X") => (16, &digits[2..]),
            Some("0o" | "0O") => (8, &digits[2..]),
            Some("0b" | "0B") => (2, &digits[2..]),
            _ => (10, digits),
        };
        let digits = digits.strip_suffix('L').unwrap_or(digits);
        // Behind a radix, one underscore may come first.
        let parts = match digits.strip_prefix('_') {
            Some(behind) if radix != 10 => behind,
            _ => digits,
        };
        let whole = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_digit(radix));
        let leads = radix == 10 && digits.starts_with('0') && digits.contains(|c: char| !matches!(c, '0' | '_'));
        if leads || !parts.split('_').all(whole) {
            return bad();
        }
        let value = parts
            .chars()
            .filter_map(|c| c.to_digit(radix))
            .try_fold(0, |value: u64, digit| {
                value.checked_mul(radix.into())?.checked_add(digit.into())
            });
        // A long of Python 2, the `L` apart.
        let end = self.at;
        self.skip_space();
        if !self.take('L') {
            self.at = end;
        }
        Ok(Literal::Number(written, value.filter(|value| !negative || *value == 0)))
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn text(text: &str) -> Literal<'static> {
        Literal::Text(text.into())
    }

    fn number(value: u64) -> Literal<'static> {
        Literal::Number("", Some(value))
    }

    /// Numbers without their words.
    fn plain(literal: Literal<'_>) -> Literal<'static> {
        let all = |values: Vec<Literal<'_>>| values.into_iter().map(plain).collect();
        match literal {
            Literal::Text(text) => Literal::Text(text),
            Literal::Number(_, value) => Literal::Number("", value),
            Literal::Truth(truth) => Literal::Truth(truth),
            Literal::None => Literal::None,
            Literal::Tuple(values) => Literal::Tuple(all(values)),
            Literal::List(values) => Literal::List(all(values)),
            Literal::Dictionary(entries) => Literal::Dictionary(
                entries
                    .into_iter()
                    .map(|entry| DictEntry {
                        key: plain(entry.key),
                        value: plain(entry.value),
                        written: "",
                    })
                    .collect(),
            ),
        }
    }

    /// Each is what Python's `ast.literal_eval` makes of it, but for the longs.
    #[test]
    fn literals_are_what_they_are_to_python() {
        use Literal::{List, Truth, Tuple};
        for (written, value) in [
            ("'<f4'", text("<f4")),
            ("\"it's\"", text("it's")),
            ("u'a' U\"b\"  r'\\n' R'c'", text("ab\\nc")),
            ("'''three'''", text("three")),
            (r"'\x3c\74\u003c\U0000003cf4'", text("<<<<f4")),
            (r"'\0\12\1234'", text("\0\nS4")),
            (r"'\a\b\f\n\r\t\v\\\'\q'", text("\x07\x08\x0c\n\r\t\x0b\\'\\q")),
            ("'a\\\nb'", text("ab")),
            (r"r'\''", text("\\'")),
            ("'ü#'# comment", text("ü#")),
            ("0", number(0)),
            ("00_0", number(0)),
            ("+3", number(3)),
            ("- 3", Literal::Number("", None)),
            ("-0", number(0)),
            ("18446744073709551615", number(u64::MAX)),
            ("18446744073709551616", Literal::Number("", None)),
            ("1_000", number(1000)),
            ("0x_fF", number(255)),
            ("0O17", number(15)),
            ("0b101", number(5)),
            ("3L", number(3)),
            ("3 L", number(3)),
            ("0x1fL", number(31)),
            ("True", Truth(true)),
            ("False", Truth(false)),
            ("None", Literal::None),
            ("()", Tuple(vec![])),
            ("(3)", number(3)),
            ("((3),)", Tuple(vec![number(3)])),
            ("[3]", List(vec![number(3)])),
            (
                " \n# first\n(1 ,\t'a' # one)\n, \\\n[ ] ,\r\n) \n",
                Tuple(vec![number(1), text("a"), List(vec![])]),
            ),
        ] {
            assert_eq!(literal(written).map(plain), Ok(value), "{written}");
        }
        let Ok(Literal::Dictionary(entries)) = literal("{'a': 1, ('b'): [ 2 ,3] , }") else {
            panic!("a dictionary")
        };
        let entries: Vec<_> = entries.into_iter().map(|entry| (entry.key, entry.written)).collect();
        assert_eq!(entries, [(text("a"), "1"), (text("b"), "[ 2 ,3]")]);
    }

    #[test]
    fn what_is_none_is_refused() {
        for (written, says) in [
            ("", "it ends at byte 0, before a value"),
            ("(1, 2", "it ends at byte 5, before a comma"),
            ("(,)", "',' at byte 1, and not a value"),
            ("(1,,)", "',' at byte 3, and not a value"),
            ("(1 2)", "'2' at byte 3, and not a comma"),
            ("[1)", "')' at byte 2, and not a comma"),
            ("{1}", "'}' at byte 2, and not a colon"),
            ("{1:}", "'}' at byte 3, and not a value"),
            ("1 2", "'2' at byte 2, and not the end"),
            ("()\0", "'\\0' at byte 2, and not the end"),
            ("3.0", "'.' at byte 1, and not the end"),
            ("'a", "the string at byte 0 has no end"),
            ("'a\nb'", "the string at byte 0 has no end"),
            ("b'a'", "a string of kind b at byte 0"),
            ("'a' f'b'", "'f' at byte 4, and not the end"),
            (r"'\xg'", "an escape at byte 2 that is no character"),
            (r"'\ud800'", "an escape at byte 2 that is no character"),
            ("true", "true at byte 0 is no value"),
            ("ü", "'ü' at byte 0, and not a value"),
            ("--3", "- at byte 0 is no whole number"),
            ("03", "03 at byte 0 is no whole number"),
            ("3l", "3l at byte 0 is no whole number"),
            ("1__0", "1__0 at byte 0 is no whole number"),
            ("3_", "3_ at byte 0 is no whole number"),
            ("0x", "0x at byte 0 is no whole number"),
            ("0b2", "0b2 at byte 0 is no whole number"),
        ] {
            assert_eq!(literal(written), Err(says.to_owned()), "{written}");
        }
    }

    /// A parser that tries one way after another takes twice as long for each bracket.
    #[test]
    fn brackets_take_no_time() {
        let start = Instant::now();
        for (open, close) in [
            ("(", ")"),
            ("[", "]"),
            ("[('a', ", ")]"),
            ("{'a': ", "}"),
            ("((", "),)"),
        ] {
            let brackets = open.matches(['(', '[', '{']).count();
            let nested = |depth: usize| [&open.repeat(depth), "1", &close.repeat(depth)].concat();
            assert!(literal(&nested(MOST_DEPTH / brackets)).is_ok(), "{open}");
            for depth in [MOST_DEPTH / brackets + 1, 10_000] {
                let error = literal(&nested(depth)).unwrap_err();
                assert!(error.ends_with("more than 200 brackets are open"), "{error}");
            }
            assert!(literal(&open.repeat(100)).is_err());
        }
        // Long, and nothing but one thing.
        for piece in ["1,", "'a',", "'a' ", " ", "#\n", "(),", "'\\x41' ", "1_0,", "'\\", "0"] {
            let _ = literal(&format!("({}", piece.repeat(200_000)));
        }
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    }
}
