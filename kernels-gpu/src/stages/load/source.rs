//! Where items lie and how a lane reads them: the elements of one array; of two, each of which has addresses and strides of its own
//! and is read in its own way; of one and its mask, which has a byte for each element.

use crate::{
    element::{Element, Item, Masked, Two},
    simt::Simt,
    stages::load::{
        around::Around,
        mask,
        words::{
            Filler, Vectors, element, filled, load_elements, load_one, load_ragged, load_whole, load_wide, load_words,
        },
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
    ///
    /// # Safety
    ///
    /// As each read's own.
    unsafe fn read<S: Simt, R: Read<N>, const N: usize>(simt: S, reads: Self::Each<R>) -> Self::Each<Vectors<N>>;

    /// Reads one item.
    ///
    /// # Safety
    ///
    /// Each address is valid for an element, aligned and unwritten.
    unsafe fn read_item<S: Simt>(simt: S, from: At<Self>) -> Self;

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
    unsafe fn read<S: Simt, R: Read<N>, const N: usize>(simt: S, read: R) -> Vectors<N> {
        // SAFETY: passed on to the caller.
        unsafe { read.read(simt) }
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn read_item<S: Simt>(simt: S, from: *const T) -> T {
        // SAFETY: passed on to the caller.
        unsafe { load_one(simt, from) }
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
    unsafe fn read<S: Simt, R: Read<N>, const N: usize>(simt: S, reads: Two<R>) -> Two<Vectors<N>> {
        // SAFETY: passed on to the caller.
        unsafe { Two(reads.0.read(simt), reads.1.read(simt)) }
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn read_item<S: Simt>(simt: S, from: Two<*const T>) -> Self {
        // SAFETY: passed on to the caller.
        unsafe { Two(T::read_item(simt, from.0), T::read_item(simt, from.1)) }
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
    unsafe fn read<S: Simt, R: Read<N>, const N: usize>(simt: S, reads: Two<R>) -> Two<Vectors<N>> {
        // SAFETY: passed on to the caller.
        unsafe { Two(reads.0.read(simt), reads.1.read_mask(simt)) }
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn read_item<S: Simt>(simt: S, from: Two<*const T>) -> Self {
        // SAFETY: passed on to the caller.
        unsafe {
            let selected = !mask::is_there(from.1) || simt.load_input_byte(from.1.cast()) != 0;
            Self(T::read_item(simt, from.0), selected)
        }
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

/// A read of `N` vectors of one array. No closure, for nothing obliges a compiler to inline those.
pub trait Read<const N: usize>: Copy {
    /// Reads them.
    ///
    /// # Safety
    ///
    /// As the function says that is behind it.
    unsafe fn read<S: Simt>(self, simt: S) -> Vectors<N>;

    /// Reads those of a mask.
    ///
    /// # Safety
    ///
    /// As the function says that is behind it.
    unsafe fn read_mask<S: Simt>(self, simt: S) -> Vectors<N>;
}

/// Reads vectors of each array from `from` on, in a [`Way`].
///
/// # Safety
///
/// As the way's function says, for each array.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(crate) unsafe fn load<S: Simt, T: Source, W: Way, const N: usize>(
    simt: S,
    way: W,
    from: At<T>,
    present: u32,
    around: T::Each<Around>,
    filler: Option<T>,
) -> T::Each<Vectors<N>> {
    let reads = T::map(
        T::zip(from, T::zip(around, T::fillers(filler))),
        |(from, (around, filler))| By {
            way,
            from,
            present,
            around,
            filler,
        },
    );
    // SAFETY: passed on to the caller.
    unsafe { T::read(simt, reads) }
}

/// A way to read vectors, by a function of [`load`](crate::stages::load::words).
pub(crate) trait Way: Copy {
    /// Whether a vector may be there in part.
    const IS_RAGGED: bool;

    /// # Safety
    ///
    /// As the function says.
    unsafe fn vectors<S: Simt, T: Element, const N: usize>(
        self,
        simt: S,
        from: *const T,
        present: u32,
        around: Around,
        filler: Filler,
    ) -> Vectors<N>;

    /// The same of the mask of elements of `T`.
    ///
    /// # Safety
    ///
    /// As the function says.
    unsafe fn mask<S: Simt, T: Element, const N: usize>(
        self,
        simt: S,
        from: *const u8,
        present: u32,
        around: Around,
    ) -> Vectors<N>;
}

#[derive(Clone, Copy)]
struct By<W, T> {
    way: W,
    from: *const T,
    present: u32,
    around: Around,
    filler: Filler,
}

impl<W: Way, T: Element, const N: usize> Read<N> for By<W, T> {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn read<S: Simt>(self, simt: S) -> Vectors<N> {
        // SAFETY: passed on to the caller.
        unsafe {
            let vectors = self
                .way
                .vectors(simt, self.from, self.present, self.around, self.filler);
            if W::IS_RAGGED && T::BYTES < 4 {
                filled::<T, N>(vectors, self.present, T::BYTES, self.filler)
            } else {
                vectors
            }
        }
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn read_mask<S: Simt>(self, simt: S) -> Vectors<N> {
        let vectors = if mask::is_there(self.from) {
            // SAFETY: passed on to the caller.
            unsafe {
                self.way
                    .mask::<S, T, N>(simt, self.from.cast(), self.present, self.around)
            }
        } else {
            mask::all::<T, N>(self.present)
        };
        if W::IS_RAGGED {
            filled::<T, N>(vectors, self.present, 1, mask::NOTHING)
        } else {
            vectors
        }
    }
}

macro_rules! ways {
    ($(
        $way:ident, ragged: $is_ragged:literal, |$present:ident, $around:ident, $filler:ident|
        $load:ident($($argument:ident),*), $mask:ident($($mask_argument:ident),*);
    )*) => {
        $(
            #[derive(Clone, Copy)]
            pub(crate) struct $way;

            impl Way for $way {
                const IS_RAGGED: bool = $is_ragged;

                #[allow(unused_variables)]
                #[cfg_attr(target_arch = "nvptx64", inline(always))]
                unsafe fn vectors<S: Simt, T: Element, const N: usize>(
                    self,
                    simt: S,
                    from: *const T,
                    $present: u32,
                    $around: Around,
                    $filler: Filler,
                ) -> Vectors<N> {
                    // SAFETY: passed on to the caller.
                    unsafe { $load::<S, T, N>(simt, from $(, $argument)*) }
                }
                #[cfg_attr(target_arch = "nvptx64", inline(always))]
                unsafe fn mask<S: Simt, T: Element, const N: usize>(
                    self,
                    simt: S,
                    from: *const u8,
                    $present: u32,
                    $around: Around,
                ) -> Vectors<N> {
                    // SAFETY: passed on to the caller.
                    unsafe { mask::$mask::<S, T, N>(simt, from $(, $mask_argument)*) }
                }
            }
        )*
    };
}

ways! {
    Whole, ragged: false, |_present, _around, _filler| load_whole(), load_whole();
    Aligned, ragged: false, |present, _around, filler| load_wide(present, filler), load_wide(present);
    Within, ragged: true, |present, _around, filler| load_words(present, filler), load_words(present);
    Elements, ragged: true, |present, _around, filler| load_elements(present, filler), load_bytes(present);
    Ragged, ragged: true, |present, around, filler| load_ragged(present, around, filler), load_ragged(present, around);
}
