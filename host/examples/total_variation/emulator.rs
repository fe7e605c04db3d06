//! Total variation in the emulator: what a launch has to bring, and what it leaves.

use own_operator::total_variation::{Launch, THREADS, blocks, total_variation};
use warpfold_emulator::{Fault, Memory, launch};

/// The answer, on the schedule of a seed, of values that begin so many elements behind a 16-byte boundary.
///
/// # Panics
///
/// If nobody wrote the answer, or the ticket is left at another number than the next launch's.
pub fn on_emulator(values: &[f32], misalign: usize, seed: u64) -> Result<f32, Fault> {
    let blocks = blocks(values.len() as u64) as u32;
    let mut memory = Memory::new();
    let input = memory.input("input", values, misalign);
    let out = memory.words("out", 1);
    let slots = memory.words("slots", blocks as usize);
    let ticket = memory.words_from("ticket", &[0]);
    let passed = Launch {
        input,
        len: values.len() as u64,
        out: out.start().cast(),
        slots: slots.start(),
        ticket: ticket.start(),
    };
    let grid = warpfold_emulator::Launch::new(blocks, THREADS, seed);
    // SAFETY: the buffers are as the kernel wants them, and the machine checks every access.
    launch(&grid, &mut memory, |lane| unsafe { total_variation(lane, passed) })?;
    assert_eq!(memory.word(ticket, 0), Some(0), "the ticket is for the next launch");
    Ok(f32::from_bits(memory.word(out, 0).expect("an answer")))
}
