//! What kernels of row operations leave open.

/// What a kernel leaves open. What it does not, a compiler leaves out: most of the instructions of a general kernel only tell one case from another.
pub trait Variant: Copy + Send + Sync {
    /// Whether all is [plain](crate::kernels::Launch::is_plain).
    const PLAIN: bool;
    /// Whether another array is added.
    const ADDED: bool;
}

/// Of [plain](crate::kernels::Launch::is_plain) launches.
#[derive(Clone, Copy, Debug)]
pub struct Plain;

/// Of all launches in which no array is added.
#[derive(Clone, Copy, Debug)]
pub struct Any;

/// Of those in which one is.
#[derive(Clone, Copy, Debug)]
pub struct Added;

impl Variant for Plain {
    const PLAIN: bool = true;
    const ADDED: bool = false;
}

impl Variant for Any {
    const PLAIN: bool = false;
    const ADDED: bool = false;
}

impl Variant for Added {
    const PLAIN: bool = false;
    const ADDED: bool = true;
}
