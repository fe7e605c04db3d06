//! Where items lie and how a lane reads them: the elements of one array; of two, each of which has addresses and strides of its own
//! and is read in its own way; of one and its mask, which has a byte for each element.

use crate::{
    element::{Element, Item, Masked, Two},
    simt::Simt,
    stages::load::{
        around::Around,
        mask,
        words::{self, Filler, Span, Vectors, element, filled, is_vector, load_element},
    },
};

/// The addresses of an item, one for each array.
pub type At<T> = <T as Source>::Each<*const <T as Source>::Element>;

/// Items that stages can read.
pub trait Source: Item {
    /// The elements of its arrays.
    type Element: Element;
    /// Something of each array.
    type Each<X: Copy>: Copy;
    /// How many arrays there are.
    const ARRAYS: usize;
    /// Whether the second is a mask: of bytes, whatever the elements.
    const MASKED: bool = false;

    /// What `of` gives for each array, by its number.
    fn each<X: Copy>(of: impl FnMut(usize) -> X) -> Self::Each<X>;
    /// That of array `array`.
    fn of<X: Copy>(each: Self::Each<X>, array: usize) -> X;
    /// Each through `f`.
    fn map<X: Copy, Y: Copy>(each: Self::Each<X>, f: impl FnMut(X) -> Y) -> Self::Each<Y>;
    /// Both of each array.
    fn zip<X: Copy, Y: Copy>(a: Self::Each<X>, b: Self::Each<Y>) -> Self::Each<(X, Y)>;
    /// Whether it is so of each.
    fn all(each: Self::Each<bool>) -> bool;

    /// Bytes from an item to the next in each array.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    fn pitches() -> Self::Each<usize> {
        Self::each(|array| if Self::MASKED && array > 0 { 1 } else { Self::BYTES })
    }
    /// The addresses `by` items further in each array. That in a mask is one of bytes, though its type is another.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    fn further(at: At<Self>, by: Self::Each<isize>) -> At<Self> {
        Self::map(Self::zip(at, by), |(at, by)| at.wrapping_offset(by))
    }

    /// Reads vectors of each array.
    fn read<S: Simt, R: Read<N>, const N: usize>(simt: S, reads: Self::Each<R>) -> Self::Each<Vectors<N>>;

    /// The item at a row and a column of vectors that were read.
    fn item<const N: usize>(vectors: &Self::Each<Vectors<N>>, row: usize, column: usize) -> Self;

    /// The vectors of an operator's filler, if it has one: what a read gives where there is no element.
    fn fillers(filler: Option<Self>) -> Self::Each<Filler>;
}

impl<T: Element> Source for T {
    type Element = T;
    type Each<X: Copy> = X;
    const ARRAYS: usize = 1;

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn each<X: Copy>(mut of: impl FnMut(usize) -> X) -> X {
        of(0)
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn of<X: Copy>(each: X, _: usize) -> X {
        each
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn map<X: Copy, Y: Copy>(each: X, mut f: impl FnMut(X) -> Y) -> Y {
        f(each)
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn zip<X: Copy, Y: Copy>(a: X, b: Y) -> (X, Y) {
        (a, b)
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn all(each: bool) -> bool {
        each
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn read<S: Simt, R: Read<N>, const N: usize>(simt: S, read: R) -> Vectors<N> {
        read.read(simt)
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn item<const N: usize>(vectors: &Vectors<N>, row: usize, column: usize) -> T {
        element(vectors[row], column)
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn fillers(filler: Option<T>) -> Filler {
        let filler = filler?;
        let word = |i: usize| match T::BYTES {
            1 => 0x0101_0101 * (filler.word(0) & 0xff),
            2 => 0x0001_0001 * (filler.word(0) & 0xffff),
            bytes => filler.word(i % (bytes / 4)),
        };
        Some([word(0), word(1), word(2), word(3)])
    }
}

impl<T: Element> Source for Two<T> {
    type Element = T;
    type Each<X: Copy> = Two<X>;
    const ARRAYS: usize = 2;

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn each<X: Copy>(mut of: impl FnMut(usize) -> X) -> Two<X> {
        Two(of(0), of(1))
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn of<X: Copy>(each: Two<X>, array: usize) -> X {
        if array == 0 { each.0 } else { each.1 }
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn map<X: Copy, Y: Copy>(each: Two<X>, mut f: impl FnMut(X) -> Y) -> Two<Y> {
        Two(f(each.0), f(each.1))
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn zip<X: Copy, Y: Copy>(a: Two<X>, b: Two<Y>) -> Two<(X, Y)> {
        Two((a.0, b.0), (a.1, b.1))
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn all(each: Two<bool>) -> bool {
        each.0 & each.1
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn read<S: Simt, R: Read<N>, const N: usize>(simt: S, reads: Two<R>) -> Two<Vectors<N>> {
        Two(reads.0.read(simt), reads.1.read(simt))
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn item<const N: usize>(vectors: &Two<Vectors<N>>, row: usize, column: usize) -> Self {
        Two(T::item(&vectors.0, row, column), T::item(&vectors.1, row, column))
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn fillers(filler: Option<Self>) -> Two<Filler> {
        Two(
            T::fillers(filler.map(|filler| filler.0)),
            T::fillers(filler.map(|filler| filler.1)),
        )
    }
}

/// Of each vector of the mask the first bytes are filled: as many as the array's have elements.
impl<T: Element> Source for Masked<T> {
    type Element = T;
    type Each<X: Copy> = Two<X>;
    const ARRAYS: usize = 2;
    const MASKED: bool = true;

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn each<X: Copy>(mut of: impl FnMut(usize) -> X) -> Two<X> {
        Two(of(0), of(1))
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn of<X: Copy>(each: Two<X>, array: usize) -> X {
        <Two<T>>::of(each, array)
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn map<X: Copy, Y: Copy>(each: Two<X>, f: impl FnMut(X) -> Y) -> Two<Y> {
        <Two<T>>::map(each, f)
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn zip<X: Copy, Y: Copy>(a: Two<X>, b: Two<Y>) -> Two<(X, Y)> {
        <Two<T>>::zip(a, b)
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn all(each: Two<bool>) -> bool {
        each.0 & each.1
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn further(at: Two<*const T>, by: Two<isize>) -> Two<*const T> {
        let mask = at.1.cast::<u8>().wrapping_offset(by.1);
        Two(at.0.wrapping_offset(by.0), mask.cast())
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn read<S: Simt, R: Read<N>, const N: usize>(simt: S, reads: Two<R>) -> Two<Vectors<N>> {
        Two(reads.0.read(simt), reads.1.read_mask(simt))
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn item<const N: usize>(vectors: &Two<Vectors<N>>, row: usize, column: usize) -> Self {
        Self(T::item(&vectors.0, row, column), u8::item(&vectors.1, row, column) != 0)
    }
    /// What a mask does not select may be anything; of the mask itself, each read gives zeros.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn fillers(_: Option<Self>) -> Two<Filler> {
        Two(None, None)
    }
}

/// A read of `N` vectors of one array, by what is known to be valid. No closure, for nothing obliges a compiler to inline those.
pub trait Read<const N: usize>: Copy {
    /// Reads them.
    fn read<S: Simt>(self, simt: S) -> Vectors<N>;
    /// Reads those of a mask.
    fn read_mask<S: Simt>(self, simt: S) -> Vectors<N>;
}

/// Reads vectors of each array from `from` on, by an [`Access`].
///
/// # Safety
///
/// As [`Span::new`], for each array.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(crate) unsafe fn load<S: Simt, T: Source, W: Access, const N: usize>(
    simt: S,
    access: W,
    from: At<T>,
    present: u32,
    around: T::Each<Around>,
    filler: Option<T>,
) -> T::Each<Vectors<N>> {
    let reads = T::map(
        T::zip(from, T::zip(around, T::fillers(filler))),
        |(from, (around, filler))| SpanRead {
            access,
            // SAFETY: the caller's word.
            span: unsafe { Span::new(from, present, around, filler) },
        },
    );
    T::read(simt, reads)
}

/// Reads one item.
///
/// # Safety
///
/// Each address is valid for an element, aligned and unwritten.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn load_item<S: Simt, T: Source>(simt: S, from: At<T>) -> T {
    T::item(&T::read(simt, T::map(from, One)), 0, 0)
}

/// One element, as the first of a vector. Its address is valid.
#[derive(Clone, Copy)]
struct One<T>(*const T);

impl<T: Element> Read<1> for One<T> {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn read<S: Simt>(self, simt: S) -> Vectors<1> {
        // SAFETY: as `load_item`'s caller has it.
        unsafe {
            if is_vector::<T>() {
                return [simt.load_input_vector(self.0.cast())];
            }
            let bits = load_element(simt, self.0);
            [[bits as u32, (bits >> 32) as u32, 0, 0]]
        }
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn read_mask<S: Simt>(self, simt: S) -> Vectors<1> {
        let mut selected = 1;
        if mask::is_there(self.0) {
            // SAFETY: as above.
            selected = unsafe { simt.load_input_byte(self.0.cast()) };
        }
        [[selected, 0, 0, 0]]
    }
}

/// A way to read vectors. What it may read is said of its functions in [`words`] and [`mask`].
pub(crate) trait Access: Copy {
    /// Whether a vector may be there in part.
    const IS_RAGGED: bool;

    /// Reads them.
    fn vectors<S: Simt, T: Element, const N: usize>(self, simt: S, span: Span<T>) -> Vectors<N>;
    /// The same of the mask of elements of `T`.
    fn mask<S: Simt, T: Element, const N: usize>(self, simt: S, span: Span<u8>) -> Vectors<N>;
}

#[derive(Clone, Copy)]
struct SpanRead<W, T> {
    access: W,
    span: Span<T>,
}

impl<W: Access, T: Element, const N: usize> Read<N> for SpanRead<W, T> {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn read<S: Simt>(self, simt: S) -> Vectors<N> {
        let Self { access, span } = self;
        let vectors = access.vectors(simt, span);
        if W::IS_RAGGED && T::BYTES < 4 {
            filled::<T, N>(vectors, span.present(), T::BYTES, span.filler())
        } else {
            vectors
        }
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn read_mask<S: Simt>(self, simt: S) -> Vectors<N> {
        let Self { access, span } = self;
        let vectors = if mask::is_there(span.from()) {
            access.mask::<S, T, N>(simt, span.cast())
        } else {
            mask::all::<T, N>(span.present())
        };
        if W::IS_RAGGED {
            filled::<T, N>(vectors, span.present(), 1, mask::NOTHING)
        } else {
            vectors
        }
    }
}

macro_rules! ways {
    ($($(#[$doc:meta])* $access:ident, ragged: $is_ragged:literal, $load:ident, $mask:ident;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy)]
            pub(crate) struct $access;

            impl Access for $access {
                const IS_RAGGED: bool = $is_ragged;

                #[cfg_attr(target_arch = "nvptx64", inline(always))]
                fn vectors<S: Simt, T: Element, const N: usize>(self, simt: S, span: Span<T>) -> Vectors<N> {
                    words::$load(simt, span)
                }
                #[cfg_attr(target_arch = "nvptx64", inline(always))]
                fn mask<S: Simt, T: Element, const N: usize>(self, simt: S, span: Span<u8>) -> Vectors<N> {
                    mask::$mask::<S, T, N>(simt, span)
                }
            }
        )*
    };
}

ways! {
    /// All there, and aligned.
    Whole, ragged: false, load_whole, load_whole;
    /// Each vector there as a whole, and aligned, or absent.
    Aligned, ragged: false, load_wide, load_wide;
    /// Read the words that hold elements, all of which may be read.
    Within, ragged: true, load_words, load_words;
    /// Element by element.
    Elements, ragged: true, load_elements, load_bytes;
    /// In whichever of these ways memory around allows.
    Ragged, ragged: true, load_ragged, load_ragged;
}
