//! Work on pieces, done by all threads and taken in order.

use crate::cpu::pool;

/// Pieces that each thread has of a batch: the more, the shorter threads wait for the last of them.
const EACH: u64 = 8;

/// Answers `map` of each number from 0 up to `count`, on all threads of the CPU backend, and gives them to `take` in order. At most
/// `most` answers wait to be taken.
///
/// This is how a file is reduced at the memory's speed: `map` reads a piece into a buffer that stays in the cache, and folds it there;
/// `take` combines the states. Where no thread can be had, the calling thread does all of it.
///
/// # Errors
///
/// The first error in the order of the numbers, or that of `take`; what comes after it is not taken.
pub fn in_order<R: Send, E: Send>(
    count: u64,
    most: u64,
    map: &(dyn Fn(u64) -> Result<R, E> + Sync),
    take: &mut dyn FnMut(R) -> Result<(), E>,
) -> Result<(), E> {
    let batch = (pool::threads() as u64 * EACH).min(most).max(1);
    let mut first = 0;
    while first < count {
        let numbers = batch.min(count - first);
        let answers = pool::map(numbers as usize, &|number| map(first + number as u64));
        for answer in answers {
            take(answer?)?;
        }
        first += numbers;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_taken_in_order() {
        for (count, most) in [(0, 1), (1, 1), (5, 2), (1000, 64), (77, 1000)] {
            let mut taken = vec![];
            let all = in_order(count, most, &|number| Ok::<_, ()>(number * number), &mut |answer| {
                taken.push(answer);
                Ok(())
            });
            assert_eq!(all, Ok(()));
            assert!(taken.into_iter().eq((0..count).map(|number| number * number)));
        }
    }

    #[test]
    fn the_first_error_ends_it() {
        let mut taken = 0;
        let odd = |number| if number % 7 == 6 { Err(number) } else { Ok(()) };
        let all = in_order(100, 5, &odd, &mut |()| {
            taken += 1;
            Ok(())
        });
        assert_eq!((all, taken), (Err(6), 6));
        let refused = in_order(9, 9, &Ok::<u64, u64>, &mut |number| {
            if number == 3 { Err(number) } else { Ok(()) }
        });
        assert_eq!(refused, Err(3));
    }
}
