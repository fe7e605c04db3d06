//! The GPU gives the CPU's bits for every type of elements.

use std::collections::HashMap;

use bytemuck::NoUninit;
use cust::memory::DeviceBuffer;
use warpfold::{DeviceView, cpu, fold, gpu::Gpu, ops::Reduction};
use warpfold_kernels::{
    element::{Element, Type},
    tree::VECTOR_BYTES,
};
use warpfold_tests::{
    Bits, backends, each_operation, each_statistic, golden_types as golden,
    operations::{self, Operation, extents},
    samples::{self, Sample},
};

/// Around an array, bytes that no answer survives: of every float type they are a NaN, of integers a low number.
const POISON: u8 = 0xff;
const GUARD: usize = 256;

/// An array, here and on the device.
pub struct Array {
    ty: Type,
    pub elements: Vec<u64>,
    buffer: DeviceBuffer<u8>,
    misalign: usize,
}

impl Array {
    /// The first element is `misalign` elements past a 16-byte boundary.
    pub fn new(ty: Type, sample: Sample, len: usize, misalign: usize) -> Self {
        let elements = sample.array(ty, len);
        let mut bytes = vec![POISON; GUARD + misalign * ty.bytes()];
        for element in &elements {
            bytes.extend(&element.to_le_bytes()[..ty.bytes()]);
        }
        bytes.extend([POISON; GUARD]);
        let buffer = DeviceBuffer::from_slice(&bytes).expect("device memory");
        cust::context::CurrentContext::synchronize().expect("cuCtxSynchronize");
        Self {
            ty,
            elements,
            buffer,
            misalign,
        }
    }

    pub fn address(&self) -> u64 {
        self.buffer.as_device_ptr().as_raw() + (GUARD + self.misalign * self.ty.bytes()) as u64
    }
}

/// The operators by name and type: what the CPU is asked by.
pub struct Cpu(HashMap<(&'static str, Type), Box<dyn Operation>>);

impl Cpu {
    pub fn of(&self, name: &'static str, ty: Type) -> &dyn Operation {
        &*self.0[&(name, ty)]
    }

    pub fn new() -> Self {
        Self(
            operations::all()
                .into_iter()
                .map(|op| ((op.name(), op.ty()), op))
                .collect(),
        )
    }
}

/// The GPU's answer; `None` where the operator has none over nothing.
fn reduce<T: Element, R: Reduction<T>>(gpu: &Gpu, op: R, array: &Array) -> Option<Bits> {
    // SAFETY: the array has so many elements of the type, and outlives the view.
    let view = unsafe { DeviceView::<T>::from_raw(array.address(), array.elements.len() as u64) };
    backends::answer(fold(op).on(gpu, view))
}

/// An array of each type that the lengths and misalignments of a test ask for.
type Which<'a> = &'a dyn Fn(Type) -> Vec<(Sample, usize, usize)>;

fn agrees<T: Element, R: Reduction<T>>(op: R, gpu: &Gpu, cpu: &Cpu, which: Which<'_>, arrays: &mut Vec<Array>) {
    if arrays.first().is_none_or(|array| array.ty != T::TYPE) {
        let new = |(sample, len, misalign)| Array::new(T::TYPE, sample, len, misalign);
        *arrays = which(T::TYPE).into_iter().map(new).collect();
    }
    for array in arrays {
        let expected = cpu.of(R::NAME, T::TYPE).cpu(&array.elements);
        let (len, misalign) = (array.elements.len(), array.misalign);
        let answer = reduce::<T, R>(gpu, op, array);
        assert_eq!(
            answer,
            expected,
            "{} of {len} {}, misaligned by {misalign}",
            R::NAME,
            T::TYPE.name()
        );
    }
}

fn all_agree(gpu: &Gpu, which: Which<'_>) {
    each_operation!(agrees(gpu, &Cpu::new(), which, &mut vec![]));
}

pub fn quick_every_type(gpu: &Gpu) {
    // Every edge, by turns misaligned; then every misalignment, with leaves that have others on both sides.
    all_agree(gpu, &|ty| {
        let [vector, row, leaf] = extents(ty);
        let edges = [1, vector, row, leaf, 2 * leaf, 16 * leaf].into_iter();
        let lengths = edges.flat_map(|edge| [edge - 1, edge, edge + 1]).enumerate();
        let at_edges = lengths.map(|(i, len)| (samples::ALL[i % samples::ALL.len()], len, i % vector));
        let kinds = samples::ALL.into_iter().cycle();
        let misaligned = kinds
            .zip(0..vector)
            .map(|(sample, misalign)| (sample, 5 * leaf + row + 3, misalign));
        at_edges.chain(misaligned).collect()
    });
}

/// Moments, exponentials and powers: the CPU is asked as it stands.
pub fn quick_statistics(gpu: &Gpu) {
    fn agrees<T: Element + NoUninit, R: Reduction<T>>(op: R, gpu: &Gpu) {
        let [vector, row, leaf] = extents(T::TYPE);
        // Answers of few digits would hide another tree: states, of numbers.
        for len in [row + 1, leaf, 3 * leaf + 5, 300_001] {
            let array = samples::PLAIN.array(T::TYPE, len);
            let elements: Vec<T> = array.into_iter().map(T::from_bits).collect();
            let state = fold(op).state_on(gpu, &elements).expect("a state");
            let expected = cpu::fold(op, &elements);
            assert_eq!(
                Bits::of(state),
                Bits::of(expected),
                "{} of {len} {:?}",
                R::NAME,
                T::TYPE
            );
        }
        for (i, len) in [
            1,
            2,
            vector + 1,
            row + 1,
            leaf - 1,
            leaf,
            3 * leaf + 5,
            40 * leaf + 1,
            300_001,
        ]
        .into_iter()
        .enumerate()
        {
            let sample = samples::ALL[i % samples::ALL.len()];
            let array = Array::new(T::TYPE, sample, len, i % vector);
            let elements: Vec<T> = array.elements.iter().map(|bits| T::from_bits(*bits)).collect();
            let answer = reduce::<T, R>(gpu, op, &array);
            let name = T::TYPE.name();
            assert_eq!(
                answer,
                backends::cpu(op, &elements),
                "{} of {len} {name}, {sample:?}",
                R::NAME
            );
        }
    }
    each_statistic!(agrees(gpu));
}

/// Aligned and not, in the kernel of any number of tiles.
pub fn every_type_long(gpu: &Gpu) {
    all_agree(gpu, &|ty| {
        let vector = VECTOR_BYTES / ty.bytes();
        vec![
            (samples::PLAIN, 3_000_017, 0),
            (samples::ANY, 4 << 20, 0),
            (samples::FACTORS, 3_000_017, 1),
            (samples::ODD_ONE, 3_000_019, vector - 1),
        ]
    });
}

pub fn quick_every_types_golden_bits(gpu: &Gpu) {
    fn agrees<T: Element, R: Reduction<T>>(op: R, gpu: &Gpu, records: &[golden::Record], checked: &mut usize) {
        let mine = records
            .iter()
            .filter(|record| record.op == R::NAME && record.ty == T::TYPE.name());
        for record in mine {
            let array = Array::new(T::TYPE, record.kind, record.len, 0);
            assert_eq!(
                reduce::<T, R>(gpu, op, &array).as_ref(),
                Some(&record.answer),
                "{record:?}"
            );
            *checked += 1;
        }
    }
    let (_, records) = golden::parse(golden::TEXT);
    let mut checked = 0;
    each_operation!(agrees(gpu, &records, &mut checked));
    assert_eq!(checked, records.len());
}
