//! Of two arrays the GPU gives the CPU's bits.

use bytemuck::NoUninit;
use cust::memory::DeviceBuffer;
use warpfold::{
    DeviceView, Error, View, fold,
    gpu::Gpu,
    layout::{Axes, Layout, Segments},
    ops::{Cosine, Dot, Reduction},
};
use warpfold_kernels::{
    element::{Element, Float, Two, bf16, f16},
    tree::{leaf_elements, row_elements, vector_elements},
};
use warpfold_tests::Bits;

/// An array, here and on the device, its first element some elements past a boundary of 16 bytes.
struct Array<T> {
    values: Vec<T>,
    buffer: DeviceBuffer<u8>,
    misalign: usize,
}

impl<T: Float> Array<T> {
    fn new(len: usize, seed: usize, misalign: usize) -> Self {
        let number = |i: usize| ((i * 37 + seed * 91) % 251) as f64 / 97.0 - 1.1;
        let values: Vec<T> = (0..len).map(|i| T::from_f64(number(i))).collect();
        // Around it NaNs, which no answer survives.
        let nan = vec![T::from_f64(f64::NAN); 64];
        let all = [&nan[..misalign], &values, &nan].concat();
        let bits = |value: &T| {
            (0..T::COUNT)
                .rev()
                .fold(0, |bits, word| bits << 32 | u64::from(value.word(word)))
        };
        let bytes = all
            .iter()
            .flat_map(|value| bits(value).to_le_bytes().into_iter().take(size_of::<T>()));
        let buffer = DeviceBuffer::from_slice(&bytes.collect::<Vec<u8>>()).expect("device memory");
        cust::context::CurrentContext::synchronize().expect("cuCtxSynchronize");
        Self {
            values,
            buffer,
            misalign,
        }
    }

    fn on_device(&self) -> DeviceView<'_, T> {
        let address = self.buffer.as_device_ptr().as_raw() + (self.misalign * size_of::<T>()) as u64;
        // SAFETY: the buffer holds the elements, and lives as long as the view.
        unsafe { DeviceView::from_raw(address, self.values.len() as u64) }
    }

    fn on_device_as(&self, layout: &Layout) -> DeviceView<'_, T> {
        self.on_device().with_layout(layout).expect("within the array")
    }
}

/// Elements of an array, and where they lie.
fn view<'a, T: Element>(values: &'a [T], layout: &Layout) -> View<'a, T> {
    View::new(values, layout).expect("within the array")
}

fn whole<T: Float, R: Reduction<Two<T>>>(gpu: &Gpu, op: R, lens: &[usize]) {
    let vector = vector_elements::<T>();
    for (i, len) in lens.iter().enumerate() {
        for misaligned in [[0, 0], [i % vector, (i + 1) % vector]] {
            let [a, b] = [0, 1].map(|array| Array::<T>::new(*len, array, misaligned[array]));
            let answer = fold(op).on(gpu, (a.on_device(), b.on_device()));
            let expected = fold(op).on_cpu((&a.values, &b.values)).expect("one length");
            assert_eq!(
                Bits::of(answer.expect("an answer")),
                Bits::of(expected),
                "{} of {len} {}, misaligned by {misaligned:?}",
                R::NAME,
                T::TYPE.name()
            );
        }
    }
}

fn along<T: Float, R: Reduction<Two<T>>>(gpu: &Gpu, op: R, first: &Layout, second: &Layout, axis: i64) {
    let room = |layout: &Layout| layout.reach().expect("elements").1 as usize;
    let (a, b) = (Array::<T>::new(room(first), 1, 0), Array::<T>::new(room(second), 2, 1));
    let axes = Axes::of(&[axis]);
    let on_device = (a.on_device_as(first), b.on_device_as(second));
    let answers = fold(op).along(axes.clone()).on(gpu, on_device);
    let expected = fold(op)
        .along(axes.clone())
        .on_cpu((view(&a.values, first), view(&b.values, second)))
        .expect("one shape");
    let bits = |answers: Vec<R::Answer>| answers.into_iter().map(Bits::of).collect::<Vec<_>>();
    assert_eq!(
        bits(answers.expect("answers").answers),
        bits(expected.answers),
        "{} of {}: {first:?}, {second:?}",
        R::NAME,
        T::TYPE.name()
    );
}

/// Arrays in host memory: a piece, along axes, in segments.
fn of_host<T: Float + NoUninit, R: Reduction<Two<T>>>(gpu: &Gpu, op: R) {
    let [a, b] = [1, 2].map(|seed| Array::<T>::new(3 * 1000, seed, 0).values);
    let bits = |answers: Vec<R::Answer>| answers.into_iter().map(Bits::of).collect::<Vec<_>>();
    let state = fold(op).state_on(gpu, (&a, &b)).expect("a state");
    let expected = fold(op).state_on_cpu((&a, &b)).expect("one length");
    assert_eq!(Bits::of(state), Bits::of(expected), "{}", R::NAME);
    let (matrix, axes) = (Layout::c_order(&[3, 1000]).expect("small"), Axes::of(&[-1]));
    let query = Layout::c_order(&[1000])
        .expect("small")
        .broadcast(&[3, 1000])
        .expect("it repeats");
    let both = || (view(&a, &matrix), view(&b[..1000], &query));
    let answers = fold(op).along(axes.clone()).on(gpu, both()).expect("answers");
    let expected = fold(op).along(axes.clone()).on_cpu(both()).expect("one shape");
    assert_eq!(bits(answers.answers), bits(expected.answers), "{}", R::NAME);
    let segments = Segments::by_lens([7, 0, 2000, 993]).expect("few");
    let answers = fold(op).segments(segments.clone()).on(gpu, (&a, &b)).expect("answers");
    let expected = fold(op)
        .segments(segments.clone())
        .on_cpu((&a, &b))
        .expect("one length");
    assert_eq!(bits(answers), bits(expected), "{}", R::NAME);
    let wrong = fold(op).segments(segments).on(gpu, (&a, &b[1..]));
    assert!(matches!(wrong, Err(Error::PairMismatch { .. })));
    let wrong = View::new(&b[..999], &query);
    assert!(matches!(wrong, Err(Error::OutOfBounds { .. })));
}

fn shapes<T: Float, R: Reduction<Two<T>>>(gpu: &Gpu, op: R) {
    let c = |shape: &[u64]| Layout::c_order(shape).expect("small");
    for (rows, columns) in [(70, 5), (33, 64), (40, 768), (3, 5000), (2, 100_001)] {
        let (matrix, query) = (
            c(&[rows, columns]),
            c(&[columns]).broadcast(&[rows, columns]).expect("it repeats"),
        );
        along::<T, R>(gpu, op, &matrix, &query, 1);
        along::<T, R>(gpu, op, &query, &matrix, 1);
        along::<T, R>(gpu, op, &matrix, &matrix, 0);
        along::<T, R>(
            gpu,
            op,
            &matrix,
            &Layout::fortran_order(&[rows, columns]).expect("small"),
            0,
        );
    }
    let cube = c(&[3, 400, 5]);
    along::<T, R>(gpu, op, &cube, &Layout::fortran_order(&[3, 400, 5]).expect("small"), 1);
}

fn segments<T: Float, R: Reduction<Two<T>>>(gpu: &Gpu, op: R) {
    let leaf = leaf_elements::<T>() as u64;
    let lens = [3, 0, leaf, 17, 40 * leaf + 1, 1, 300, 64]
        .into_iter()
        .cycle()
        .take(200);
    let segments = Segments::by_lens(lens).expect("few");
    let len = segments.len() as usize;
    for misalign in [0, 1] {
        let (a, b) = (Array::<T>::new(len, 1, 0), Array::<T>::new(len, 2, misalign));
        let answers = fold(op)
            .segments(segments.clone())
            .on(gpu, (a.on_device(), b.on_device()));
        let expected = fold(op)
            .segments(segments.clone())
            .on_cpu((&a.values, &b.values))
            .expect("one length");
        let bits = |answers: Vec<R::Answer>| answers.into_iter().map(Bits::of).collect::<Vec<_>>();
        assert_eq!(
            bits(answers.expect("answers")),
            bits(expected),
            "{} of {}",
            R::NAME,
            T::TYPE.name()
        );
    }
}

macro_rules! each_pair {
    ($f:ident($gpu:expr $(, $arg:expr)*)) => {{
        $f::<f32, _>($gpu, Dot $(, $arg)*);
        $f::<f64, _>($gpu, Dot $(, $arg)*);
        $f::<f16, _>($gpu, Dot $(, $arg)*);
        $f::<bf16, _>($gpu, Dot $(, $arg)*);
        $f::<f32, _>($gpu, Cosine $(, $arg)*);
        $f::<f64, _>($gpu, Cosine $(, $arg)*);
        $f::<f16, _>($gpu, Cosine $(, $arg)*);
        $f::<bf16, _>($gpu, Cosine $(, $arg)*);
    }};
}

pub fn quick_pairs(gpu: &Gpu) {
    fn edges<T: Float + NoUninit, R: Reduction<Two<T>>>(gpu: &Gpu, op: R) {
        let [vector, row, leaf] = [vector_elements::<T>(), row_elements::<T>(), leaf_elements::<T>()];
        let edges = [1, vector, row, leaf, 2 * leaf, 16 * leaf].into_iter();
        let lens: Vec<usize> = edges.flat_map(|edge| [edge - 1, edge, edge + 1]).collect();
        whole::<T, R>(gpu, op, &lens);
        of_host::<T, R>(gpu, op);
    }
    each_pair!(edges(gpu));
}

pub fn pairs_of_every_size(gpu: &Gpu) {
    each_pair!(whole(gpu, &[1 << 20, 3_000_017, (1 << 24) + 1]));
}

pub fn quick_pairs_along_axes(gpu: &Gpu) {
    each_pair!(shapes(gpu));
}

pub fn quick_pairs_in_segments(gpu: &Gpu) {
    each_pair!(segments(gpu));
}

pub fn quick_pairs_that_are_wrong(gpu: &Gpu) {
    let (a, b) = (Array::<f32>::new(100, 1, 0), Array::<f32>::new(200, 2, 0));
    let [on_device, longer] = [&a, &b].map(|array| DeviceBuffer::from_slice(&array.values).expect("device memory"));
    let wrong = fold(Dot).on(gpu, (&on_device, &longer)).expect_err("another length");
    assert!(matches!(wrong, Error::PairMismatch { .. }), "{wrong}");
    let wrong = fold(Dot).on(gpu, (&a.values, &b.values)).expect_err("another length");
    assert!(wrong.to_string().contains("[100] and [200]"), "{wrong}");
    let host = fold(Dot).on(gpu, (&a.values, &b.values[..100])).expect("an answer");
    let expected = fold(Dot).on_cpu((&a.values, &b.values[..100])).expect("one length");
    assert_eq!(host.to_bits(), expected.to_bits());
}
