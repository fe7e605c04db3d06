//! complex128, whose elements are vectors: the GPU gives the CPU's bits. (The arrays of the other tests hold an element in 64 bits.)

use warpfold::{
    cpu,
    gpu::Gpu,
    layout::{Axes, Layout, Segments},
    ops::{Mean, NormInf, NormL2, Product, Reduction, Sum, element::complex128},
};
use warpfold_tests::{Bits, samples};

pub fn quick_complex128(gpu: &Gpu) {
    fn agrees<R: Reduction<complex128>>(op: R, gpu: &Gpu) {
        let bits = |answers: Vec<R::Answer>| answers.into_iter().map(Bits::of).collect::<Vec<_>>();
        for (i, len) in [1, 2, 31, 33, 255, 257, 1287, 70_001, 300_000].into_iter().enumerate() {
            let values = samples::complex128s(len, i % 2 == 1);
            let answer = gpu.reduce_host(op, &values).expect("an answer");
            let expected = cpu::reduce(op, &values).expect("an answer");
            assert_eq!(Bits::of(answer), Bits::of(expected), "{} of {len}", R::NAME);
        }
        for (i, len) in [1_u64, 3, 32, 33, 255, 257, 3000].into_iter().enumerate() {
            for (shape, axis) in [(vec![37, len], 1), (vec![len, 37], 0), (vec![2, len, 3], 1)] {
                let layout = Layout::c_order(&shape).expect("small");
                let strides: Vec<i64> = layout.strides().iter().map(|stride| -stride).collect();
                let backwards = Layout::strided(&shape, &strides, layout.len() - 1).expect("small");
                let values = samples::complex128s(layout.len() as usize, i % 2 == 1);
                for layout in [layout, backwards] {
                    let folded = gpu
                        .reduce_host_axes(op, &values, &layout, &Axes::of(&[axis]))
                        .expect("answers");
                    let expected = cpu::reduce_axes(op, &values, &layout, &Axes::of(&[axis])).expect("answers");
                    assert_eq!(bits(folded.answers), bits(expected.answers), "{} {layout:?}", R::NAME);
                }
            }
        }
        let lens = [0, 1, 2, 31, 33, 64, 0, 255, 257, 20_000, 1, 1].repeat(9);
        let values = samples::complex128s(lens.iter().sum::<u64>() as usize, true);
        let segments = Segments::by_lens(lens).expect("few");
        let folded = gpu.reduce_host_segments(op, &values, &segments).expect("answers");
        let expected = cpu::reduce_segments(op, &values, &segments).expect("answers");
        assert_eq!(bits(folded), bits(expected), "{} in segments", R::NAME);
    }
    agrees(Sum, gpu);
    agrees(Product, gpu);
    agrees(Mean, gpu);
    agrees(NormL2, gpu);
    agrees(NormInf, gpu);
}
