//! Lists of tensors: the GPU gives the CPU's bits, of every type, length and alignment, in two launches that wait for nothing.

use cust::{
    memory::{CopyDestination, DeviceBuffer},
    stream::{Stream, StreamFlags},
};
use warpfold::{
    Error, TensorFault,
    gpu::{Gpu, NORM_BYTES},
    gradients::{FloatsMut, Order, TotalNorm, grad_norm},
    ops::element::Type,
};
use warpfold_tests::gradients::{GOLDEN_LISTS, ORDERS, Tensor, floats, golden_list, list};

fn bits(total: TotalNorm) -> (u32, u64) {
    (total.norm.to_bits(), total.not_finite)
}

fn all_bits(tensors: &[Tensor]) -> Vec<Vec<u32>> {
    tensors.iter().map(|tensor| tensor.of(0).bits).collect()
}

/// Norms and clipping, from host memory.
fn agrees(gpu: &Gpu, tensors: &[Tensor], what: &str) {
    for order in ORDERS {
        let norm = grad_norm(order);
        let expected = norm.on_cpu(&floats(tensors)).expect("a norm");
        let total = norm.on(gpu, &floats(tensors)).expect("a launch");
        assert_eq!(bits(total), bits(expected), "{what}: {order:?}");
    }
    for max_norm in [0.5, 1e9] {
        let clipped = |clip: &dyn Fn(&mut [FloatsMut<'_>]) -> TotalNorm| {
            let mut tensors = tensors.to_vec();
            let mut views: Vec<FloatsMut<'_>> = tensors.iter_mut().map(Tensor::floats_mut).collect();
            let total = clip(&mut views);
            (bits(total), all_bits(&tensors))
        };
        let norm = grad_norm(Order::L2);
        let on_cpu = clipped(&|views| norm.clip_on_cpu(views, max_norm).expect("a norm"));
        let on_gpu = clipped(&|views| norm.clip_on(gpu, views, max_norm).expect("a launch"));
        assert!(on_cpu == on_gpu, "{what}: clipped to {max_norm}");
    }
}

pub fn quick_gradients_of_all_kinds(gpu: &Gpu) {
    for seed in 0..30 {
        let tensors = list(seed, 9000);
        agrees(gpu, &tensors, &format!("list {seed}"));
        let planted: Vec<Tensor> = tensors.into_iter().map(|tensor| tensor.planted(seed)).collect();
        agrees(gpu, &planted, &format!("planted list {seed}"));
    }
    let nothing = [Tensor::F32(vec![]), Tensor::F16(vec![]), Tensor::Bf16(vec![])];
    agrees(gpu, &[], "no tensors");
    agrees(gpu, &nothing, "empty tensors");
}

pub fn gradients_golden_bits(gpu: &Gpu) {
    for number in 0..GOLDEN_LISTS {
        agrees(gpu, &golden_list(number), &format!("golden list {number}"));
    }
}

/// Large tensors, and many of them: all levels of what meets.
pub fn gradients_of_every_size(gpu: &Gpu) {
    let large: Vec<Tensor> = (0..3)
        .map(|of| Tensor::numbers(of, (1 << 24) + 5 * of as usize, of))
        .collect();
    agrees(gpu, &large, "large tensors");
    let many: Vec<Tensor> = (0..70_000).map(|i| Tensor::numbers(i, i as usize % 13, i)).collect();
    agrees(gpu, &many, "70,000 tensors");
    let one: Vec<Tensor> = [Tensor::numbers(0, (1 << 26) + 3, 7)].into();
    agrees(gpu, &one, "one large tensor");
}

/// A list in device memory, each tensor so many elements off a boundary, launch after launch: tickets are left as the next one wants them, and what lies between
/// tensors stays.
pub fn quick_gradients_on_the_device(gpu: &Gpu) {
    let stream = Stream::new(StreamFlags::DEFAULT, None).expect("a stream");
    for seed in 0..10 {
        let mut tensors = list(seed, 9000);
        tensors.push(Tensor::numbers(seed, 10_000, seed));
        let lengths: Vec<(Type, u64)> = floats(&tensors)
            .iter()
            .map(|tensor| (tensor.element(), tensor.len() as u64))
            .collect();
        // All in one buffer, with a gap before each.
        let (mut bytes, mut firsts) = (vec![], vec![]);
        for (tensor, i) in tensors.iter().zip(0..) {
            let TensorBytes { unit, bytes: of } = bytes_of(tensor);
            let gap = [0, 1, 3, 8][(seed as usize + i) % 4] * unit;
            bytes.resize(bytes.len().next_multiple_of(16) + gap, 0xa5);
            firsts.push(bytes.len());
            bytes.extend(of);
        }
        let buffer = DeviceBuffer::from_slice(&bytes).expect("room");
        let start = buffer.as_device_ptr().as_raw();
        let addresses: Vec<u64> = firsts.iter().map(|first| start + *first as u64).collect();
        let answer = DeviceBuffer::<u8>::zeroed(NORM_BYTES).expect("room");
        let address = answer.as_device_ptr().as_raw();
        let mut clipped = tensors.clone();
        for _ in 0..3 {
            let prepared = grad_norm(Order::L2).prepare(gpu, &lengths).expect("a plan");
            let table = prepared.tensors(&addresses).expect("addresses");
            let mut workspace = prepared.workspace().expect("room");
            // SAFETY: all of it lives past the synchronisation.
            unsafe {
                for _ in 0..2 {
                    prepared
                        .launch_raw(&stream, &table, address, &mut workspace)
                        .expect("a launch");
                }
                prepared.clip_raw(&stream, &table, 0.75, address).expect("a launch");
            }
            stream.synchronize().expect("no fault");
            let mut words = [0; NORM_BYTES];
            answer.copy_to(&mut words).expect("a copy");
            let mut views: Vec<FloatsMut<'_>> = clipped.iter_mut().map(Tensor::floats_mut).collect();
            let expected = grad_norm(Order::L2).clip_on_cpu(&mut views, 0.75).expect("a norm");
            assert_eq!(
                bits(TotalNorm::of_words(bytemuck::cast(words))),
                bits(expected),
                "list {seed}"
            );
        }
        let mut after = vec![0; bytes.len()];
        buffer.copy_to(&mut after).expect("a copy");
        let mut expected = bytes;
        for (tensor, first) in clipped.iter().zip(firsts) {
            let of = bytes_of(tensor).bytes;
            expected[first..first + of.len()].copy_from_slice(&of);
        }
        assert!(after == expected, "list {seed}");
    }
}

struct TensorBytes {
    unit: usize,
    bytes: Vec<u8>,
}

fn bytes_of(tensor: &Tensor) -> TensorBytes {
    match tensor {
        Tensor::F32(values) => TensorBytes {
            unit: 4,
            bytes: bytemuck::cast_slice(values).to_vec(),
        },
        Tensor::F16(values) => TensorBytes {
            unit: 2,
            bytes: bytemuck::cast_slice(values).to_vec(),
        },
        Tensor::Bf16(values) => TensorBytes {
            unit: 2,
            bytes: bytemuck::cast_slice(values).to_vec(),
        },
    }
}

/// One workspace for a long list and a short one, in turns.
pub fn quick_gradients_take_turns_in_one_workspace(gpu: &Gpu) {
    let stream = Stream::new(StreamFlags::DEFAULT, None).expect("a stream");
    let lists = [
        (0..300).map(|i| Tensor::numbers(i, i as usize % 7, i)).collect(),
        list(3, 9000),
        vec![Tensor::numbers(0, 300_000, 1)],
    ];
    let uploaded: Vec<Vec<DeviceBuffer<u8>>> = lists
        .iter()
        .map(|tensors| {
            let upload = |tensor: &Tensor| DeviceBuffer::from_slice(&bytes_of(tensor).bytes).expect("room");
            tensors.iter().map(upload).collect()
        })
        .collect();
    let prepared: Vec<_> = lists
        .iter()
        .map(|tensors| {
            let lengths: Vec<(Type, u64)> = floats(tensors)
                .iter()
                .map(|tensor| (tensor.element(), tensor.len() as u64))
                .collect();
            grad_norm(Order::L2).prepare(gpu, &lengths).expect("a plan")
        })
        .collect();
    let largest = prepared.iter().max_by_key(|prepared| prepared.plan().workspace_words());
    let mut workspace = largest.expect("three").workspace().expect("room");
    let answer = DeviceBuffer::<u8>::zeroed(NORM_BYTES).expect("room");
    for turn in 0..9 {
        let i = turn * 2 % 3;
        let addresses: Vec<u64> = uploaded[i].iter().map(|b| b.as_device_ptr().as_raw()).collect();
        let table = prepared[i].tensors(&addresses).expect("addresses");
        // SAFETY: all of it lives past the synchronisation.
        unsafe {
            prepared[i]
                .launch_raw(&stream, &table, answer.as_device_ptr().as_raw(), &mut workspace)
                .expect("a launch");
        }
        stream.synchronize().expect("no fault");
        let mut words = [0; NORM_BYTES];
        answer.copy_to(&mut words).expect("a copy");
        let expected = grad_norm(Order::L2).on_cpu(&floats(&lists[i])).expect("a norm");
        assert_eq!(
            bits(TotalNorm::of_words(bytemuck::cast(words))),
            bits(expected),
            "turn {turn}"
        );
    }
}

pub fn quick_gradients_that_are_wrong(gpu: &Gpu) {
    let norm = grad_norm(Order::L2);
    let wrong = norm.prepare(gpu, &[(Type::F32, 1), (Type::I8, 1)]).err();
    assert!(matches!(
        wrong,
        Some(Error::Tensor(TensorFault::Type { tensor: 1, .. }))
    ));
    let prepared = norm.prepare(gpu, &[(Type::F32, 1), (Type::F32, 0)]).expect("a plan");
    for (addresses, place) in [(&[2, 0][..], 0), (&[0, 0], 0), (&[16, 2], 1)] {
        let fault = prepared.tensors(addresses).err();
        let tensor = match fault {
            Some(Error::Tensor(TensorFault::Misaligned { tensor, .. } | TensorFault::Nowhere { tensor, .. })) => tensor,
            other => panic!("{other:?}"),
        };
        assert_eq!(tensor, place);
    }
    let count = prepared.tensors(&[16]).err();
    assert!(matches!(
        count,
        Some(Error::Tensor(TensorFault::Count { prepared: 2, got: 1 }))
    ));
    let order = grad_norm(Order::P(0.0)).on(gpu, &[]).err();
    assert!(matches!(order, Some(Error::Parameter { .. })));
    // Orders share a table, but have states, and so workspaces, of their own.
    let lengths = [(Type::F32, 1 << 16); 3];
    let largest = grad_norm(Order::Inf).prepare(gpu, &lengths).expect("a plan");
    let buffer = DeviceBuffer::<f32>::zeroed(1 << 16).expect("room");
    let table = largest
        .tensors(&[buffer.as_device_ptr().as_raw(); 3])
        .expect("addresses");
    let stream = Stream::new(StreamFlags::DEFAULT, None).expect("a stream");
    let prepared = norm.prepare(gpu, &lengths).expect("a plan");
    let answer = DeviceBuffer::<u8>::zeroed(NORM_BYTES).expect("room");
    let mut workspace = largest.workspace().expect("room");
    // SAFETY: nothing is enqueued.
    let told = unsafe { prepared.launch_raw(&stream, &table, answer.as_device_ptr().as_raw(), &mut workspace) };
    assert!(matches!(told, Err(Error::WorkspaceTooSmall { .. })), "{told:?}");
}
