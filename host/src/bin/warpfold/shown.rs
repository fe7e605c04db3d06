//! What is shown to people: a name from a file must not steer the terminal.

use std::fmt::{self, Display, Write};

/// Text that may hold a name from a file or from the command line. Characters that do something rather than being seen are escaped:
/// controls (line ends, too), what turns the direction of writing, and what has no width.
pub struct Shown<T>(pub T);

impl<T: Display> Display for Shown<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escaping(f), "{}", self.0)
    }
}

struct Escaping<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl Write for Escaping<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            if is_unseen(c) {
                write!(self.0, "{}", c.escape_default())?;
            } else {
                self.0.write_char(c)?;
            }
        }
        Ok(())
    }
}

/// Unicode's categories Cc, Cf, Zl and Zp.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{600}'..='\u{605}'
                | '\u{61c}'
                | '\u{6dd}'
                | '\u{70f}'
                | '\u{890}'..='\u{891}'
                | '\u{8e2}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{110bd}'
                | '\u{110cd}'
                | '\u{13430}'..='\u{1343f}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_seen_is_escaped() {
        for (text, shown) in [
            (
                "weights.npy:layer 1/\u{3b1}\u{e9}e\u{301}'\"\\",
                "weights.npy:layer 1/\u{3b1}\u{e9}e\u{301}'\"\\",
            ),
            ("\u{1b}[2J", r"\u{1b}[2J"),
            ("two\nlines\r\t", r"two\nlines\r\t"),
            ("\0\u{7f}\u{9b}", r"\u{0}\u{7f}\u{9b}"),
            ("gpj\u{202e}npy", r"gpj\u{202e}npy"),
            (
                "\u{200b}\u{2066}\u{2069}\u{2028}\u{feff}\u{61c}",
                r"\u{200b}\u{2066}\u{2069}\u{2028}\u{feff}\u{61c}",
            ),
        ] {
            assert_eq!(Shown(text).to_string(), shown);
        }
    }
}
