//! PTX as text: taken apart into its declarations and functions, and put together again, a module at a time.

use std::collections::HashSet;

/// A module as the compiler wrote it.
#[derive(Debug, PartialEq)]
pub struct Module {
    /// `.version`, `.target` and `.address_size`.
    header: String,
    items: Vec<Item>,
}

/// What kind of thing an item defines or declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A kernel.
    Entry,
    /// A function that kernels call.
    Function,
    /// A variable: shared, global or constant memory.
    Variable,
}

/// One item of a module.
#[derive(Debug, PartialEq)]
pub struct Item {
    /// What it is.
    pub kind: Kind,
    /// Its symbol.
    pub name: String,
    /// Its text, without comments and what else no driver reads: there is a tab for each line, and a space for each operand.
    pub text: String,
}

/// The launch bounds of an entry: neither code generator writes them, and registers are given out by them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The largest block.
    pub max_threads: u32,
    /// Blocks that one multiprocessor must have room for, where that is asked for.
    pub min_blocks: Option<u32>,
}

impl Module {
    /// Takes a module apart. Comments, debug sections and spaces that only people read are left out.
    pub fn parse(text: &str) -> Self {
        let mut header = String::new();
        let mut rest = String::new();
        for line in text.lines() {
            let line = line.split("//").next().unwrap_or_default().trim().replace(", ", ",");
            match line.split_whitespace().next() {
                None | Some(".loc" | ".file") => {}
                Some(".version" | ".target" | ".address_size") => header += &format!("{line}\n"),
                Some(_) => rest += &format!("{line}\n"),
            }
        }
        Self {
            header,
            items: items(&rest),
        }
    }

    /// The entry points.
    pub fn entries(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|item| item.kind == Kind::Entry)
    }

    /// The variables.
    pub fn variables(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|item| item.kind == Kind::Variable)
    }

    /// A module of the entries that `bounds` knows, each with its launch bounds, and of what they need.
    pub fn select(&self, bounds: impl Fn(&str) -> Option<Bounds>) -> String {
        let mut kept: Vec<bool> = self
            .items
            .iter()
            .map(|item| item.kind == Kind::Entry && bounds(&item.name).is_some())
            .collect();
        // What a kept item names is kept too, until nothing is added.
        loop {
            let named: HashSet<&str> = self
                .items
                .iter()
                .zip(&kept)
                .filter(|(_, kept)| **kept)
                .flat_map(|(item, _)| identifiers(&item.text))
                .collect();
            let before = kept.clone();
            for (item, kept) in self.items.iter().zip(&mut kept) {
                *kept |= item.kind != Kind::Entry && named.contains(&*item.name);
            }
            if kept == before {
                break;
            }
        }
        let mut text = self.header.clone();
        for (item, _) in self.items.iter().zip(&kept).filter(|(_, kept)| **kept) {
            text.push('\n');
            match bounds(&item.name).filter(|_| item.kind == Kind::Entry) {
                Some(bounds) => text += &bounded(&item.text, bounds),
                None => text += &item.text,
            }
            text.push('\n');
        }
        text
    }
}

impl Item {
    /// The initial value of a variable, as 32-bit words: it is written in bytes or in words, and zeros at its end may be missing.
    pub fn words(&self) -> Vec<u32> {
        let (declared, value) = self.text.split_once('=').unwrap_or((&self.text, ""));
        let number = |text: &str| text.trim_matches([' ', '\n', '{', '}', ';']).parse().ok();
        let numbers: Vec<u32> = value.split(',').filter_map(number).collect();
        let size = declared.split(['[', ']']).nth(1).and_then(|size| size.parse().ok());
        let size: usize = size.unwrap_or(numbers.len());
        let number = |i: usize| numbers.get(i).copied().unwrap_or(0);
        if declared.split_whitespace().any(|word| [".b8", ".u8"].contains(&word)) {
            let word = |i: usize| (0..4).map(|byte| number(4 * i + byte) << (8 * byte)).sum();
            (0..size / 4).map(word).collect()
        } else {
            (0..size).map(number).collect()
        }
    }
}

/// Cuts module-level text into items: a declaration ends at its semicolon, a function with its body.
fn items(text: &str) -> Vec<Item> {
    let mut items = vec![];
    let (mut start, mut depth) = (0, 0);
    for (at, character) in text.char_indices() {
        let ends = match character {
            '{' => {
                depth += 1;
                false
            }
            '}' => {
                depth -= 1;
                depth == 0 && has_body(&text[start..=at])
            }
            ';' => depth == 0,
            _ => false,
        };
        if ends {
            items.extend(item(text[start..=at].trim()));
            start = at + 1;
        }
    }
    items
}

/// Whether braces are a body, rather than a variable's initial value.
fn has_body(text: &str) -> bool {
    let head = text.split('{').next().unwrap_or_default();
    [".entry", ".func", ".section"]
        .iter()
        .any(|word| head.split_whitespace().any(|token| token == *word))
}

/// One item from its text; none for a debug section.
fn item(text: &str) -> Option<Item> {
    let head = text.split('{').next().unwrap_or_default();
    let directives: Vec<&str> = head.split_whitespace().collect();
    let after = |word: &str| head.split_once(word).map(|(_, after)| after.trim_start());
    let (kind, name) = if directives.contains(&".section") {
        return None;
    } else if directives.contains(&".entry") {
        (Kind::Entry, leading_identifier(after(".entry")?))
    } else if directives.contains(&".func") {
        // A result comes before the name: `.func (.param .b32 result) name(…)`.
        let after = after(".func")?;
        let name = match after.strip_prefix('(') {
            Some(result) => result.split_once(')')?.1.trim_start(),
            None => after,
        };
        (Kind::Function, leading_identifier(name))
    } else {
        // `.shared .align 16 .b8 name[4096];` or `.global .b32 name = 1;`
        let declared = text.trim_end_matches(';').split('=').next()?.split('[').next()?;
        (Kind::Variable, declared.split_whitespace().last()?)
    };
    Some(Item {
        kind,
        name: name.to_owned(),
        text: text.to_owned(),
    })
}

fn of_identifier(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '$')
}

fn leading_identifier(text: &str) -> &str {
    let end = text.find(|c| !of_identifier(c)).unwrap_or(text.len());
    &text[..end]
}

fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !of_identifier(c)).filter(|word| !word.is_empty())
}

/// An entry with its launch bounds between the parameters and the body.
fn bounded(entry: &str, bounds: Bounds) -> String {
    let Some((head, body)) = entry.split_once('{') else {
        return entry.to_owned();
    };
    if head.contains(".maxntid") || head.contains(".reqntid") {
        return entry.to_owned();
    }
    let min_blocks = bounds
        .min_blocks
        .map(|blocks| format!(".minnctapersm {blocks}\n"))
        .unwrap_or_default();
    let max_threads = bounds.max_threads;
    format!("{}\n.maxntid {max_threads},1,1\n{min_blocks}{{{body}", head.trim_end())
}

/// The operation codes in a function's body, such as `ld.global.nc.v4.u32`, without predicates.
pub fn operations(text: &str) -> impl Iterator<Item = &str> {
    let body = text.split_once('{').map_or("", |(_, body)| body);
    body.split([';', '\n']).filter_map(|statement| {
        let mut tokens = statement.trim().trim_start_matches(['{', '}', ' ']).split_whitespace();
        let first = tokens.next()?;
        // A label may stand before an instruction on one line, and a predicate too.
        let first = if first.ends_with(':') { tokens.next()? } else { first };
        let operation = if first.starts_with('@') { tokens.next()? } else { first };
        operation
            .starts_with(|c: char| c.is_ascii_lowercase())
            .then_some(operation)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &str = "\
//
// Generated by LLVM NVPTX Back-End
//

.version 7.8
.target sm_90
.address_size 64

.shared .align 16 .b8 used[4096];
.global .align 4 .b8 table[4] = {1, 2, 3, 4};
	.file 1 \"a.rs\"
.func (.param .b32 result) helper(
	.param .b32 helper_param_0
)
{
	mov.u32 %r1, table;
	ret;
}
.func panicked()
{
	trap;
}
	// .globl	first
.visible .entry first(
	.param .u64 .ptr .align 1 first_param_0
)
{
	.reg .b32 	%r<2>;
	// begin inline asm
	mov.u32 %r1, used;
	// end inline asm
	@%p1 bra $L1;
	{ bar.sync 0; }
$L1: ld.global.nc.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];
	ret;
}
.visible .entry second()
{
	call.uni (retval0), helper, (param0);
	ret;
}
.section .debug_str
{
	.b8 1
}
";

    fn bounds(of: &'static str) -> impl Fn(&str) -> Option<Bounds> {
        move |name| {
            (name == of).then_some(Bounds {
                max_threads: 512,
                min_blocks: Some(2),
            })
        }
    }

    #[test]
    fn a_module_comes_apart() {
        let module = Module::parse(MODULE);
        let items: Vec<_> = module.items.iter().map(|item| (item.kind, &*item.name)).collect();
        assert_eq!(
            items,
            [
                (Kind::Variable, "used"),
                (Kind::Variable, "table"),
                (Kind::Function, "helper"),
                (Kind::Function, "panicked"),
                (Kind::Entry, "first"),
                (Kind::Entry, "second"),
            ]
        );
        assert_eq!(module.header, ".version 7.8\n.target sm_90\n.address_size 64\n");
    }

    #[test]
    fn a_module_takes_what_it_needs_and_no_more() {
        let module = Module::parse(MODULE);
        let first = module.select(bounds("first"));
        assert!(first.contains("used[4096]") && first.contains(".entry first"));
        for other in ["table", "helper", "panicked", "second", "//", ".section", ".file"] {
            assert!(!first.contains(other), "{other} in {first}");
        }
        let second = module.select(bounds("second"));
        for needed in ["table", "helper", "second"] {
            assert!(second.contains(needed), "no {needed} in {second}");
        }
        assert!(!second.contains("panicked") && !second.contains("used"));
    }

    #[test]
    fn a_variables_value_is_read() {
        let of = |text| Module::parse(text).variables().next().unwrap().words();
        assert_eq!(
            of(".visible .global .align 4 .b8 a$b[12] = {0, 2, 0, 0, 255, 255, 255, 255, 1};"),
            [512, u32::MAX, 1]
        );
        assert_eq!(
            of(".const .align 4 .u32 a[3] = {\n512, 4294967295};"),
            [512, u32::MAX, 0]
        );
        assert_eq!(of(".shared .align 16 .b8 used[4];"), [0]);
    }

    #[test]
    fn launch_bounds_stand_between_parameters_and_body() {
        let first = Module::parse(MODULE).select(bounds("first"));
        assert!(
            first.contains("first_param_0\n)\n.maxntid 512,1,1\n.minnctapersm 2\n{\n"),
            "{first}"
        );
        // What has bounds keeps them.
        assert_eq!(Module::parse(&first).select(bounds("first")), first);
    }

    #[test]
    fn operations_are_read_past_labels_predicates_and_braces() {
        let module = Module::parse(MODULE);
        let first = module.entries().next().unwrap();
        assert_eq!(
            operations(&first.text).collect::<Vec<_>>(),
            ["mov.u32", "bra", "bar.sync", "ld.global.nc.v4.u32", "ret"]
        );
    }
}
