//! Which lane runs next.

use crate::block::Block;

/// SplitMix64 (Steele, Lea and Flood, 2014): any seed is a good one, and 64 bits take a nanosecond.
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}

/// 16 random bits as a number below `bound`, which is far smaller.
fn scale(random: u64, bound: usize) -> usize {
    (((random & 0xffff) * bound as u64) >> 16) as usize
}

/// The number of one of the bits of `set`, each as likely as the others.
fn pick_bit(mut set: u32, random: u64) -> u32 {
    for _ in 0..scale(random, set.count_ones() as usize) {
        set &= set - 1;
    }
    set.trailing_zeros()
}

/// A lane to run.
#[derive(Clone, Copy)]
pub struct Pick {
    /// Its block's place among the resident ones.
    pub slot: usize,
    pub warp: u32,
    pub lane: u32,
}

/// How often the schedule leaves a block, a warp or a lane that could go on: once in 1, 2, … steps. Choosing evenly
/// at every step would keep all blocks abreast; a bug may need one to be far ahead.
const STAYS: [u64; 6] = [1, 2, 8, 64, 512, 4096];

/// Chooses at random, from one seed.
pub struct Schedule {
    rng: Rng,
    block_stay: u64,
    warp_stay: u64,
    lane_stay: u64,
    /// `None` before the first step, which stays nowhere.
    last: Option<Pick>,
}

impl Schedule {
    pub fn new(mut rng: Rng) -> Self {
        let mut stay = |most: usize| STAYS[rng.below(most)];
        let (block_stay, warp_stay, lane_stay) = (stay(STAYS.len()), stay(STAYS.len()), stay(3));
        Self {
            rng,
            block_stay,
            warp_stay,
            lane_stay,
            last: None,
        }
    }

    /// A runnable lane of one of the blocks in the places `resident`, each of which has one.
    pub fn pick(&mut self, resident: &[usize], blocks: &[Block]) -> Pick {
        let random = self.rng.next();
        // Stays are powers of two: each is decided by low bits of 12 of its own.
        let stays = |shift: u32, stay: u64| (random >> shift) & (stay - 1) != 0;

        let last = self
            .last
            .filter(|last| stays(0, self.block_stay) && blocks[last.slot].ready != 0);
        let slot = match last {
            Some(last) => last.slot,
            None => resident[self.rng.below(resident.len())],
        };
        let block = &blocks[slot];
        let last = last.filter(|last| stays(12, self.warp_stay) && (block.ready >> last.warp) & 1 == 1);
        let warp = match last {
            Some(last) => last.warp,
            None => pick_bit(block.ready, random >> 32),
        };
        let runnable = block.warps[warp as usize].runnable;
        let last = last.filter(|last| stays(24, self.lane_stay) && (runnable >> last.lane) & 1 == 1);
        let lane = match last {
            Some(last) => last.lane,
            None => pick_bit(runnable, random >> 48),
        };
        let pick = Pick { slot, warp, lane };
        self.last = Some(pick);
        pick
    }
}
