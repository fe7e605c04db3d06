//! Inline assembly and intrinsics, read from Rust source.

use proc_macro2::{TokenStream, TokenTree};
use syn::{
    Expr, ForeignItem, Ident, Lit, LitStr, Meta, Token,
    ext::IdentExt,
    parenthesized,
    parse::{ParseStream, Parser},
};

/// What a source asks of the code generator.
#[derive(Default)]
pub struct Source {
    pub assembly: Vec<Assembly>,
    pub intrinsics: Vec<Intrinsic>,
}

/// One `asm!`.
#[derive(Debug, PartialEq)]
pub struct Assembly {
    pub template: String,
    pub operands: Vec<Operand>,
    pub options: Vec<String>,
}

/// An operand in a register of `bits` bits. One that comes out may have gone in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Operand {
    pub out: bool,
    pub both: bool,
    pub bits: u32,
}

/// An LLVM intrinsic with the types of its parameters and of its result, as LLVM writes them.
#[derive(Debug, PartialEq)]
pub struct Intrinsic {
    pub name: String,
    pub parameters: Vec<&'static str>,
    pub result: &'static str,
}

impl Source {
    /// Adds what a file asks for.
    pub fn read(&mut self, text: &str) -> syn::Result<()> {
        for item in syn::parse_file(text)?.items {
            if let syn::Item::ForeignMod(block) = item {
                for item in block.items {
                    self.intrinsics.extend(intrinsic(item)?);
                }
            }
        }
        self.find_assembly(text.parse()?)
    }

    /// Every `asm!(…)` among the tokens, however deep.
    fn find_assembly(&mut self, tokens: TokenStream) -> syn::Result<()> {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for (at, token) in tokens.iter().enumerate() {
            let TokenTree::Group(group) = token else { continue };
            let called = at
                .checked_sub(2)
                .map(|name| (tokens[name].to_string(), tokens[at - 1].to_string()));
            if called == Some(("asm".into(), "!".into())) {
                self.assembly.push(assembly.parse2(group.stream())?);
            } else {
                self.find_assembly(group.stream())?;
            }
        }
        Ok(())
    }
}

/// A line of assembly: a literal; `concat!` of some; or `input!()`, which is the load of what nobody writes, as this code generator has it.
fn text(input: ParseStream) -> syn::Result<String> {
    if input.peek(LitStr) {
        return Ok(input.parse::<LitStr>()?.value());
    }
    let name = Ident::parse_any(input)?;
    input.parse::<Token![!]>()?;
    let inner;
    parenthesized!(inner in input);
    match &*name.to_string() {
        "input" => Ok("ld.global.nc".into()),
        "concat" => {
            let mut all = text(&inner)?;
            while inner.parse::<Option<Token![,]>>()?.is_some() && !inner.is_empty() {
                all += &text(&inner)?;
            }
            Ok(all)
        }
        other => Err(syn::Error::new(name.span(), format!("a macro {other}"))),
    }
}

fn assembly(input: ParseStream) -> syn::Result<Assembly> {
    let mut found = Assembly {
        template: text(input)?,
        operands: vec![],
        options: vec![],
    };
    while input.parse::<Option<Token![,]>>()?.is_some() && !input.is_empty() {
        if input.peek(LitStr) || input.peek2(Token![!]) {
            found.template += "\n";
            found.template += &text(input)?;
            continue;
        }
        let mut kind = Ident::parse_any(input)?;
        if input.parse::<Option<Token![=]>>()?.is_some() {
            // The names come behind all that have none, so its number is its place.
            let number = format!("{{{}}}", found.operands.len());
            found.template = found.template.replace(&format!("{{{kind}}}"), &number);
            kind = Ident::parse_any(input)?;
        }
        let inner;
        parenthesized!(inner in input);
        if kind == "options" {
            let options = inner.parse_terminated(Ident::parse_any, Token![,])?;
            found.options = options.iter().map(Ident::to_string).collect();
            continue;
        }
        let bits = match &*inner.parse::<Ident>()?.to_string() {
            "reg16" => 16,
            "reg32" => 32,
            "reg64" => 64,
            other => return Err(syn::Error::new(kind.span(), format!("a register class {other}"))),
        };
        let (out, both) = match &*kind.to_string() {
            "in" => (false, false),
            "out" => (true, false),
            "inout" => (true, true),
            other => return Err(syn::Error::new(kind.span(), format!("an operand {other}"))),
        };
        found.operands.push(Operand { out, both, bits });
        input.parse::<Expr>()?;
    }
    Ok(found)
}

impl Assembly {
    /// Its operation codes.
    pub fn operations(&self) -> impl Iterator<Item = &str> {
        let statements = self.template.split([';', '{', '}']).map(str::trim);
        let words = statements.filter_map(|statement| statement.split_whitespace().next());
        words.filter(|word| word.starts_with(|c: char| c.is_ascii_lowercase()) && word.contains('.'))
    }
}

/// An intrinsic, if the function is one.
fn intrinsic(item: ForeignItem) -> syn::Result<Option<Intrinsic>> {
    let ForeignItem::Fn(function) = item else {
        return Ok(None);
    };
    let name = function.attrs.iter().find_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("link_name") => match &pair.value {
            Expr::Lit(value) => match &value.lit {
                Lit::Str(name) => Some(name.value()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    let Some(name) = name else { return Ok(None) };
    let mut parameters = vec![];
    for parameter in &function.sig.inputs {
        if let syn::FnArg::Typed(parameter) = parameter {
            parameters.push(llvm_type(&parameter.ty)?);
        }
    }
    let result = match &function.sig.output {
        syn::ReturnType::Default => "void",
        syn::ReturnType::Type(_, result) => llvm_type(result)?,
    };
    Ok(Some(Intrinsic {
        name,
        parameters,
        result,
    }))
}

fn llvm_type(rust: &syn::Type) -> syn::Result<&'static str> {
    let named = |name| matches!(rust, syn::Type::Path(path) if path.path.is_ident(name));
    let known = [
        ("bool", "i1"),
        ("u32", "i32"),
        ("i32", "i32"),
        ("f32", "float"),
        ("u64", "i64"),
    ];
    let found = known.iter().find(|(name, _)| named(*name)).map(|(_, llvm)| *llvm);
    found.ok_or_else(|| syn::Error::new_spanned(rust, "a type of no intrinsic"))
}

/// That a source is read for what it says.
pub fn is_read() {
    let mut source = Source::default();
    let text = r#"
        unsafe extern "C" {
            #[link_name = "llvm.a"]
            fn a(x: u32, y: bool) -> bool;
            fn not_one(x: u32);
        }
        impl A {
            fn f(self) {
                let x;
                unsafe {
                    asm!("{{ .reg .b64 t; ld.a {}, [{}]; cvt.b t, {z}; }}", out(reg32) x, in(reg64) y + 1, z = in(reg32) z, options(pure, nomem));
                }
            }
        }
    "#;
    source.read(text).expect("that is Rust");
    assert_eq!(
        source.intrinsics,
        [Intrinsic {
            name: "llvm.a".into(),
            parameters: vec!["i32", "i1"],
            result: "i1",
        }]
    );
    let operands = [(true, 32), (false, 64), (false, 32)].map(|(out, bits)| Operand { out, both: false, bits });
    assert_eq!(source.assembly.len(), 1);
    assert_eq!(source.assembly[0].operands, operands);
    assert!(source.assembly[0].template.contains("cvt.b t, {2};"));
    assert_eq!(source.assembly[0].options, ["pure", "nomem"]);
    assert_eq!(source.assembly[0].operations().collect::<Vec<_>>(), ["ld.a", "cvt.b"]);
}
