//! The blocks of code of the pages, compiled and run as doc tests.

/// A page.
macro_rules! pages {
    ($($name:ident = $file:literal;)*) => {
        $(#[doc = include_str!(concat!("../../docs/", $file, ".md"))] mod $name {})*
    };
}

pages! {
    bugs = "book/bugs";
    first_kernel = "book/first-kernel";
    fold_then_map = "book/fold-then-map";
    kernel = "book/kernel";
    measuring = "book/measuring";
    monoids = "book/monoids";
    operator = "book/operator";
    template = "book/template";
    tree = "book/tree";
    emulator = "emulator";
}
