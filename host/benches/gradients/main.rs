//! How fast a GPU has the norm of a list of tensors, and clips it: gradients of transformers, and many small tensors. Prints CSV: `group,op,case,dtype,us,GB/s,bytes`, the bytes being those that
//! are read, and of clipping written, each once; a `#` starts a remark. `cargo bench --bench gradients`. Without a GPU it says so and ends well.

#[path = "../gpu/bench.rs"]
mod bench;
#[path = "../gpu/sample.rs"]
mod sample;

use cust::memory::{CopyDestination, DeviceBuffer};
use warpfold::{
    gpu::NORM_BYTES,
    gradients::{Floats, Order, TotalNorm, grad_norm},
    ops::element::Type,
    plan::Plan,
};

use bench::{Bench, Outcome, line};
use sample::Sample;

/// A list by its name: elements of each tensor.
type List = (&'static str, Vec<u64>);

/// Layers of a transformer of that width: four matrices of attention, three of the feed-forward network, two norms.
fn transformer(name: &'static str, layers: u64, width: u64) -> List {
    let (square, wide) = (width * width, width * width * 8 / 3);
    let layer = [square, square, square, square, wide, wide, wide, width, width];
    (name, (0..layers).flat_map(|_| layer).collect())
}

fn lists() -> [List; 5] {
    [
        transformer("12 layers of 768", 12, 768),
        transformer("16 layers of 2048", 16, 2048),
        ("one of 2^28", vec![1 << 28]),
        ("10000 of 4096", vec![4096; 10_000]),
        ("1000 of 1001", vec![1001; 1000]),
    ]
}

fn main() -> Outcome<()> {
    let Some(bench) = Bench::open()? else {
        return Ok(());
    };
    bench.copy()?;
    println!("{}", bench::HEADS);
    let pattern = bench.fill::<half::bf16>()?;
    check(&bench, &(&pattern[..100_000]).into())?;
    of::<half::bf16>(&bench, Type::Bf16)?;
    let pattern = bench.fill::<f32>()?;
    check(&bench, &(&pattern[..100_000]).into())?;
    of::<f32>(&bench, Type::F32)
}

/// Never time a wrong kernel: the bits are the CPU's.
fn check(bench: &Bench, tensor: &Floats<'_>) -> Outcome<()> {
    for order in [Order::L1, Order::L2, Order::Inf, Order::P(3.0)] {
        let tensors = [*tensor; 3];
        let (on_gpu, on_cpu) = (
            grad_norm(order).on(&bench.gpu, &tensors)?,
            grad_norm(order).on_cpu(&tensors)?,
        );
        if on_gpu != on_cpu {
            return Err(format!("{order:?}: GPU and CPU differ").into());
        }
    }
    Ok(())
}

fn of<T: Sample>(bench: &Bench, element: Type) -> Outcome<()> {
    for (name, lens) in lists() {
        let lengths: Vec<(Type, u64)> = lens.iter().map(|len| (element, *len)).collect();
        for order in [Order::L2, Order::Inf] {
            time(bench, name, order, &lengths)?;
        }
    }
    Ok(())
}

fn time(bench: &Bench, name: &str, order: Order, lengths: &[(Type, u64)]) -> Outcome<()> {
    let prepared = grad_norm(order).prepare(&bench.gpu, lengths)?;
    let plan: &Plan = prepared.plan();
    let (bytes, element) = (plan.bytes(), lengths[0].0);
    // One behind the other, each aligned as an allocator has it, where the pool has room.
    let place = |(_, len): &(Type, u64)| (len * element.bytes() as u64).next_multiple_of(256);
    let (mut next, pool) = (bench.pool.as_device_ptr().as_raw(), bench.pool.len() as u64 * 4);
    let mut addresses = vec![];
    for length in lengths {
        addresses.push(next);
        next += place(length);
    }
    if next > bench.pool.as_device_ptr().as_raw() + pool {
        println!("# {name} of {} is larger than the pool", element.name());
        return Ok(());
    }
    let table = prepared.tensors(&addresses)?;
    let mut workspace = prepared.workspace()?;
    let answer = DeviceBuffer::<u8>::zeroed(NORM_BYTES)?;
    let address = answer.as_device_ptr().as_raw();
    let inner = if bytes > 1 << 27 { 4 } else { 32 };
    let report = |op: &str, moved: u64, launch: &mut dyn FnMut() -> Outcome<()>| -> Outcome<()> {
        let us = bench.launches(inner, |_| launch())?;
        line(["gradients", op], name, element.name(), us, moved as usize);
        Ok(())
    };
    report(&format!("norm {order:?}"), bytes, &mut || {
        // SAFETY: pool, table, workspace and answer outlive what `launches` waits for.
        unsafe { prepared.launch_raw(&bench.stream, &table, address, &mut workspace)? };
        Ok(())
    })?;
    if order == Order::L2 {
        let mut words = [0; NORM_BYTES];
        answer.copy_to(&mut words)?;
        // To just below the norm, which no launch of these computes anew: much is left after many.
        let max_norm = 0.9999 * TotalNorm::of_words(bytemuck::cast(words)).norm;
        report("clip", 2 * bytes, &mut || {
            // SAFETY: as above.
            unsafe { prepared.clip_raw(&bench.stream, &table, max_norm, address)? };
            Ok(())
        })?;
    }
    Ok(())
}
