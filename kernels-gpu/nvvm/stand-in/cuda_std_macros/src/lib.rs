//! The attributes of `cuda_std` that warpfold's kernels use. They leave the attributes that the real
//! ones leave, those of the code generator's tool included.

use proc_macro::TokenStream;

/// A kernel: not mangled, and marked for the code generator. The real one makes it `extern "C"`; rustc's own backend tells
/// entry points by another calling convention, and with it their code can be checked.
#[proc_macro_attribute]
pub fn kernel(input: proc_macro::TokenStream, item: proc_macro::TokenStream) -> TokenStream {
    let attributes =
        format!("#[unsafe(no_mangle)] #[cfg_attr(target_arch = \"nvptx64\", nvvm_internal::kernel({input}))]");
    let mut kernel: TokenStream = parse(&attributes);
    for token in item {
        if token.to_string() == "fn" {
            kernel.extend(parse("extern \"ptx-kernel\""));
        }
        kernel.extend([token]);
    }
    kernel
}

/// A static in the shared state space.
#[proc_macro_attribute]
pub fn address_space(attr: proc_macro::TokenStream, item: proc_macro::TokenStream) -> TokenStream {
    let number = match &*attr.to_string() {
        "global" => 1,
        "shared" => 3,
        "constant" => 4,
        "local" => 5,
        other => panic!("no address space {other}"),
    };
    let mut marked = parse(&format!(
        "#[cfg_attr(target_os = \"cuda\", nvvm_internal::addrspace({number}))]"
    ));
    marked.extend(item);
    marked
}

fn parse(text: &str) -> TokenStream {
    text.parse().expect("the stand-in's own text is Rust")
}
