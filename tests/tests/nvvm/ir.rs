//! A module in NVVM's dialect of LLVM IR, with a function for each piece of assembly and for each intrinsic. Without pointers,
//! and with a name for every value, for the dialects before and after compute capability 10 write those differently.

use std::fmt::Write;

use crate::source::{Assembly, Intrinsic, Operand, Source};

const HEAD: &str = r#"target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
"#;

/// The module, in version `ir_version` of the dialect.
pub fn module(source: &Source, ir_version: [i32; 4]) -> String {
    let mut text = HEAD.to_owned();
    for (number, assembly) in source.assembly.iter().enumerate() {
        text += &assembly_function(number, assembly);
    }
    for (number, intrinsic) in source.intrinsics.iter().enumerate() {
        text += &intrinsic_function(number, intrinsic);
    }
    let [major, minor, debug_major, debug_minor] = ir_version;
    writeln!(
        text,
        "!nvvmir.version = !{{!0}}\n!0 = !{{i32 {major}, i32 {minor}, i32 {debug_major}, i32 {debug_minor}}}"
    )
    .expect("a string takes all");
    text
}

/// The call that rustc_codegen_nvvm makes of an `asm!`: results first, each in a register of its own.
fn assembly_function(number: usize, assembly: &Assembly) -> String {
    let (outs, mut ins): (Vec<&Operand>, Vec<&Operand>) = assembly.operands.iter().partition(|operand| operand.out);
    let class = |bits: u32| match bits {
        16 => "h",
        32 => "r",
        _ => "l",
    };
    let has = |option: &str| assembly.options.iter().any(|has| has == option);
    let mut constraints: Vec<String> = outs.iter().map(|out| format!("=&{}", class(out.bits))).collect();
    constraints.extend(ins.iter().map(|operand| class(operand.bits).to_owned()));
    // Those that go in and come out: in the registers of their results.
    let both = (0..).zip(&outs).filter(|(_, out)| out.both);
    let (numbers, tied): (Vec<usize>, Vec<&Operand>) = both.map(|(i, out)| (i, *out)).unzip();
    constraints.extend(numbers.iter().map(usize::to_string));
    ins.extend(tied);
    if !has("nomem") {
        constraints.push("~{memory}".into());
    }
    // Rust counts operands as they are written, LLVM the results first.
    let place = |at: usize| {
        let before = &assembly.operands[..at];
        let of_kind = before
            .iter()
            .filter(|operand| operand.out == assembly.operands[at].out)
            .count();
        if assembly.operands[at].out {
            of_kind
        } else {
            outs.len() + of_kind
        }
    };
    let template = template(&assembly.template, place);
    let result = match &outs[..] {
        [] => "void".to_owned(),
        [out] => format!("i{}", out.bits),
        outs => {
            let types: Vec<String> = outs.iter().map(|out| format!("i{}", out.bits)).collect();
            format!("{{{}}}", types.join(", "))
        }
    };
    let arguments: Vec<String> = (0..)
        .zip(&ins)
        .map(|(i, operand)| format!("i{} %a{i}", operand.bits))
        .collect();
    let arguments = arguments.join(", ");
    let effects = if has("pure") { "" } else { "sideeffect " };
    let call = format!(
        "call {result} asm {effects}\"{template}\", \"{}\"({arguments})",
        constraints.join(",")
    );
    function(&format!("assembly_{number}"), &result, &arguments, &call)
}

/// `{}` in order, and `{1}` by its number, as LLVM's `${0}`; `{{` and `}}` as braces.
fn template(rust: &str, place: impl Fn(usize) -> usize) -> String {
    let mut llvm = String::new();
    let mut operand = 0;
    let mut rest = rust;
    while let Some(next) = rest.chars().next() {
        let taken = match next {
            '{' if rest.starts_with("{}") => {
                write!(llvm, "${{{}}}", place(operand)).expect("a string takes all");
                operand += 1;
                2
            }
            '{' if rest[1..].starts_with(|digit: char| digit.is_ascii_digit()) => {
                let (number, _) = rest[1..].split_once('}').expect("a number ends");
                let number = number.parse().expect("an operand's number");
                write!(llvm, "${{{}}}", place(number)).expect("a string takes all");
                number.to_string().len() + 2
            }
            '{' | '}' => {
                llvm.push(next);
                2
            }
            '\n' => {
                llvm.push_str("\\0A");
                1
            }
            _ => {
                llvm.push(next);
                next.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    llvm
}

fn intrinsic_function(number: usize, intrinsic: &Intrinsic) -> String {
    let Intrinsic {
        name,
        parameters,
        result,
    } = intrinsic;
    let arguments: Vec<String> = (0..)
        .zip(parameters)
        .map(|(i, of_type)| format!("{of_type} %a{i}"))
        .collect();
    let arguments = arguments.join(", ");
    let declaration = format!("declare {result} @{name}({})\n", parameters.join(", "));
    let call = format!("call {result} @{name}({arguments})");
    declaration + &function(&format!("intrinsic_{number}"), result, &arguments, &call)
}

fn function(name: &str, result: &str, arguments: &str, call: &str) -> String {
    let body = match result {
        "void" => format!("  {call}\n  ret void\n"),
        _ => format!("  %result = {call}\n  ret {result} %result\n"),
    };
    format!("define {result} @{name}({arguments}) {{\n{body}}}\n")
}
