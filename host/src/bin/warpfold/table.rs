//! An array in text, as NumPy prints it: nested brackets, and of long axes the ends.

use crate::answers::Answers;

/// Arrays of no more numbers are printed whole.
const WHOLE: usize = 100;
/// Of longer ones, so many indices from either end of an axis.
const ENDS: u64 = 3;

/// The array, an innermost row a line.
pub fn array(answers: &Answers) -> String {
    let mut table = Table {
        answers,
        whole: answers.len() <= WHOLE,
        cells: Vec::new(),
    };
    table.collect(&answers.shape, 0);
    let width = table.cells.iter().map(String::len).max().unwrap_or(0);
    let mut text = String::new();
    let mut cells = table.cells.iter();
    table.print(
        &answers.shape,
        0,
        &mut || format!("{:>width$}", cells.next().expect("a cell")),
        &mut text,
    );
    text
}

struct Table<'a> {
    answers: &'a Answers,
    whole: bool,
    /// The numbers that are shown, in their order.
    cells: Vec<String>,
}

impl Table<'_> {
    /// The indices of an axis that are shown; none stands for those left out.
    fn indices(&self, extent: u64) -> Vec<Option<u64>> {
        if self.whole || extent <= 2 * ENDS {
            return (0..extent).map(Some).collect();
        }
        let ends = (0..ENDS).map(Some);
        ends.chain([None]).chain((extent - ENDS..extent).map(Some)).collect()
    }

    /// Formats the numbers of the subarray that is number `at` of its shape.
    fn collect(&mut self, shape: &[u64], at: u64) {
        match shape {
            [] => {
                let at = at as usize;
                self.cells
                    .extend(self.answers.each(at..at + 1).map(|number| number.to_string()));
            }
            [extent, inner @ ..] => {
                for index in self.indices(*extent).into_iter().flatten() {
                    self.collect(inner, at * extent + index);
                }
            }
        }
    }

    fn print(&self, shape: &[u64], depth: usize, cell: &mut dyn FnMut() -> String, text: &mut String) {
        let [extent, inner @ ..] = shape else {
            *text += &cell();
            return;
        };
        let between = match inner {
            [] => " ".to_owned(),
            _ => format!("\n{}", " ".repeat(depth + 1)),
        };
        *text += "[";
        for (place, index) in self.indices(*extent).into_iter().enumerate() {
            if place > 0 {
                *text += &between;
            }
            match index {
                Some(_) => self.print(inner, depth + 1, cell, text),
                None => *text += "...",
            }
        }
        *text += "]";
    }
}

#[cfg(test)]
mod tests {
    use warpfold::dynamic::Answer as _;

    use super::*;
    use crate::answers::AnswerType;

    fn text(shape: &[u64]) -> String {
        let bytes = (0..shape.iter().product::<u64>()).flat_map(u64::to_le_bytes).collect();
        array(&AnswerType::of(u64::ANSWER).answers(shape.to_vec(), bytes))
    }

    #[test]
    fn short_arrays_are_whole() {
        assert_eq!(text(&[]), "0");
        assert_eq!(text(&[0]), "[]");
        assert_eq!(text(&[0, 3]), "[]");
        assert_eq!(text(&[2, 0]), "[[]\n []]");
        assert_eq!(text(&[11]), "[ 0  1  2  3  4  5  6  7  8  9 10]");
        assert_eq!(text(&[2, 3]), "[[0 1 2]\n [3 4 5]]");
        assert_eq!(text(&[2, 1, 2]), "[[[0 1]]\n [[2 3]]]");
    }

    #[test]
    fn of_long_arrays_the_ends_are_there() {
        assert_eq!(text(&[101]), "[  0   1   2 ...  98  99 100]");
        assert_eq!(
            text(&[60, 2]),
            "[[  0   1]\n [  2   3]\n [  4   5]\n ...\n [114 115]\n [116 117]\n [118 119]]"
        );
    }

    #[test]
    fn pairs_are_the_last_axis() {
        let bytes = [1.5_f32, -2.0, 0.0, f32::NAN]
            .into_iter()
            .flat_map(f32::to_le_bytes)
            .collect();
        let pairs = AnswerType::of(<(f32, f32)>::ANSWER).answers(vec![2], bytes);
        assert_eq!(array(&pairs), "[[ 1.5 -2.0]\n [ 0.0  NaN]]");
    }
}
