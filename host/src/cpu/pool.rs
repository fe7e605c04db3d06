//! The threads of the CPU backend. All of rayon in this crate is here, so it is compiled once.
//!
//! Work runs in the pool that the calling thread belongs to, otherwise in rayon's global pool. The first call that needs the global pool
//! makes it, unless the program has. Where the system starts fewer threads than asked for, the pool has those; where it starts none, the
//! calling thread does all work, one task after another. So any number of the program's threads can call at the same time.

use std::{
    error::Error as _,
    io, iter,
    sync::{
        OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::{Sender, channel},
    },
    thread,
};

use rayon::{ThreadBuilder, ThreadPoolBuilder};

/// Runs that there are for each thread: the fewer, the longer threads wait at the end for the last one.
const RUNS_PER_THREAD: usize = 64;

/// Why there is no pool, once that was asked.
static FAULT: OnceLock<Option<io::Error>> = OnceLock::new();
/// How many threads are wanted; 0 where it was not said.
static WANTED: AtomicUsize = AtomicUsize::new(0);
/// Whether the pool's threads are not there any more.
static IS_FORKED: AtomicBool = AtomicBool::new(false);

/// Has the CPU backend start so many threads, and not as many as there are cores or `RAYON_NUM_THREADS` says. Answers whether it was in time: before any
/// were started.
///
/// Answers have the same bits with any number.
pub fn set_threads(count: usize) -> bool {
    WANTED.store(count, Ordering::Relaxed);
    FAULT.get().is_none()
}

/// Says that this process is the child of a fork, which has none of its parent's threads: from now on the calling thread does all work. Without it, work that was
/// handed to those threads would be waited for without end.
pub fn after_fork() {
    IS_FORKED.store(true, Ordering::Relaxed);
}

/// Whether the calling thread does all work.
fn is_alone() -> bool {
    IS_FORKED.load(Ordering::Relaxed) || thread_fault().is_some()
}

/// Why the system started no thread, where the CPU backend works on the calling thread alone. None where there is a pool.
///
/// Containers and `prlimit --nproc` can limit threads. Answers have the same bits then, and take longer.
///
/// Cost: the first call of this crate that asks for threads makes rayon's global pool.
#[must_use]
pub fn thread_fault() -> Option<&'static io::Error> {
    if rayon::current_thread_index().is_some() {
        return None;
    }
    FAULT.get_or_init(make_global).as_ref()
}

/// How many threads work.
pub(crate) fn threads() -> usize {
    if is_alone() { 1 } else { rayon::current_num_threads() }
}

/// Does both. Where they are worth it, another thread can help.
pub(crate) fn join(are_worth_it: bool, low: &mut (dyn FnMut() + Send), high: &mut (dyn FnMut() + Send)) {
    if are_worth_it && !is_alone() {
        rayon::join(low, high);
    } else {
        low();
        high();
    }
}

/// Hands all of `items` to tasks, in runs of neighbours. A run has whole units of `unit` items, but for the last, and at least `least`
/// units where there are as many. `task` takes the number of its first unit and the run.
pub(crate) fn runs<X: Send>(items: &mut [X], unit: usize, least: usize, task: &(dyn Fn(usize, &mut [X]) + Sync)) {
    let units = items.len().div_ceil(unit);
    let most = least.max(units / (RUNS_PER_THREAD * threads()));
    halve(items, unit, most, 0, task);
}

fn halve<X: Send>(items: &mut [X], unit: usize, most: usize, first: usize, task: &(dyn Fn(usize, &mut [X]) + Sync)) {
    let units = items.len().div_ceil(unit);
    if units <= most.max(1) {
        return task(first, items);
    }
    let half = units / 2;
    let (low, high) = items.split_at_mut(half * unit);
    join(true, &mut || halve(low, unit, most, first, task), &mut || {
        halve(high, unit, most, first + half, task);
    });
}

/// The answers of `task` to each of `0..count`, in that order.
pub(crate) fn map<R: Send>(count: usize, task: &(dyn Fn(usize) -> R + Sync)) -> Vec<R> {
    let mut answers: Vec<Option<R>> = iter::repeat_with(|| None).take(count).collect();
    runs(&mut answers, 1, 1, &|first, run| {
        for (i, answer) in (first..).zip(run) {
            *answer = Some(task(i));
        }
    });
    answers.into_iter().flatten().collect()
}

/// Makes rayon's global pool, unless there is one: or answers why there cannot be one.
fn make_global() -> Option<io::Error> {
    // Threads that only count: rayon's rules, `RAYON_NUM_THREADS` among them, say how many there are to be.
    let wanted = ThreadPoolBuilder::new().spawn_handler(|_| Ok(())).build();
    let wanted = match WANTED.load(Ordering::Relaxed) {
        0 => wanted.map_or(1, |pool| pool.current_num_threads()),
        wanted => wanted,
    };
    let (mut started, mut refusal) = start(wanted, &mut |work| thread::Builder::new().spawn(work).map(drop));
    let pool = ThreadPoolBuilder::new()
        .num_threads(started.len().max(1))
        .spawn_handler(|thread| match started.pop() {
            Some(to) => to.send(thread).map_err(|_| io::ErrorKind::WouldBlock.into()),
            None => Err(refusal.take().unwrap_or_else(|| io::ErrorKind::WouldBlock.into())),
        });
    // An error without a source is that the program has made the pool. What was started here ends then.
    let error = pool.build_global().err()?;
    let source = error.source()?.downcast_ref::<io::Error>()?;
    Some(match source.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(source.kind(), source.to_string()),
    })
}

/// What a thread does.
type Work = Box<dyn FnOnce() + Send>;

/// Starts up to `wanted` threads, each of which waits for what it is in a pool. With the error that came before there were as many.
///
/// A pool that is refused one of its threads is none at all, so they are started before there is one.
fn start(
    wanted: usize,
    spawn: &mut dyn FnMut(Work) -> io::Result<()>,
) -> (Vec<Sender<ThreadBuilder>>, Option<io::Error>) {
    let mut started = vec![];
    for _ in 0..wanted {
        let (to, thread) = channel::<ThreadBuilder>();
        let work = move || thread.recv().into_iter().for_each(ThreadBuilder::run);
        if let Err(error) = spawn(Box::new(work)) {
            return (started, Some(error));
        }
        started.push(to);
    }
    (started, None)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::{
        cpu,
        gradients::{Order, grad_norm},
        layout::{Axes, Layout, Segments},
        ops::Sum,
        row,
    };

    #[test]
    fn tasks_have_every_item_once_and_in_whole_units() {
        for len in [0, 1, 2, 5, 63, 64, 1000, 4099] {
            for (unit, least) in [(1, 1), (1, 16), (4, 1), (3, 7), (5000, 1)] {
                let mut items = vec![0; len];
                runs(&mut items, unit, least, &|first, run| {
                    assert!(run.len() % unit == 0 || first * unit + run.len() == len);
                    (first * unit..).zip(run).for_each(|(i, item)| *item += i + 1);
                });
                assert!(
                    items.iter().enumerate().all(|(i, item)| *item == i + 1),
                    "{len} {unit} {least}"
                );
            }
            assert_eq!(map(len, &|i| 2 * i), (0..len).map(|i| 2 * i).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_pool_has_the_threads_that_can_be_had() {
        for possible in 0..=3 {
            let (mut left, done) = (possible, &AtomicUsize::new(0));
            thread::scope(|scope| {
                let (started, refusal) = start(3, &mut |work| {
                    left = usize::checked_sub(left, 1).ok_or(io::ErrorKind::WouldBlock)?;
                    scope.spawn(move || {
                        work();
                        done.fetch_add(1, Ordering::Relaxed);
                    });
                    Ok(())
                });
                assert_eq!((started.len(), refusal.is_some()), (possible, possible < 3));
                // Nobody makes a pool of them: they end.
                drop(started);
            });
            assert_eq!(done.load(Ordering::Relaxed), possible);
        }
    }

    /// A stack that no address space has room for.
    const NO_STACK: &str = "140737488355328";

    /// This test runs itself again, in a process whose number of threads is said, and which is then told that it was forked.
    #[test]
    fn as_many_threads_start_as_are_wanted_and_none_work_after_a_fork() {
        const VARIABLE: &str = "WARPFOLD_TEST_OF_THREADS";
        if std::env::var_os(VARIABLE).is_none() {
            let this = std::env::current_exe().expect("this program");
            let name = "cpu::pool::tests::as_many_threads_start_as_are_wanted_and_none_work_after_a_fork";
            let run = Command::new(this).args([name, "--exact"]).env(VARIABLE, "1").output();
            let output = run.expect("it runs");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
            return;
        }
        let values: Vec<f32> = (0..1 << 20).map(|i| i as f32).collect();
        assert!(set_threads(3));
        let sum = cpu::reduce(Sum, &values).expect("a sum");
        assert_eq!(cpu::threads(), 3);
        assert!(!set_threads(2) && cpu::threads() == 3);
        after_fork();
        assert_eq!(cpu::threads(), 1);
        assert_eq!(cpu::reduce(Sum, &values).expect("a sum"), sum);
    }

    /// This test runs itself again, in a process that is refused every thread.
    #[test]
    fn without_threads_the_calling_thread_works() {
        if std::env::var("RUST_MIN_STACK").as_deref() != Ok(NO_STACK) {
            let this = std::env::current_exe().expect("this program");
            let name = "cpu::pool::tests::without_threads_the_calling_thread_works";
            let run = Command::new(this)
                .args([name, "--exact", "--test-threads=1"])
                .env("RUST_MIN_STACK", NO_STACK)
                .output()
                .expect("it runs");
            let output = String::from_utf8_lossy(&run.stdout);
            assert!(
                run.status.success() && output.contains("1 passed"),
                "{output}{}",
                String::from_utf8_lossy(&run.stderr)
            );
            return;
        }
        let len: u64 = 1 << 20;
        let values: Vec<f32> = (0..len).map(|i| (i % 16) as f32).collect();
        let [matrix, ranks] = [[1024, 1024], [2, 1 << 19]].map(|shape| Layout::c_order(&shape).expect("a layout"));
        let sum = cpu::reduce(Sum, &values).expect("a sum");
        assert!(thread_fault().is_some());
        assert_eq!(cpu::threads(), 1);
        assert_eq!(f64::from(sum), values.iter().map(|x| f64::from(*x)).sum::<f64>());
        for axis in [0, 1] {
            let sums = cpu::reduce_axes(Sum, &values, &matrix, &Axes::of(&[axis])).expect("sums");
            assert_eq!(cpu::reduce(Sum, &sums.answers).expect("a sum"), sum);
        }
        let segments = Segments::by_lens([0, 5, len - 7, 2]).expect("segments");
        let sums = cpu::reduce_segments(Sum, &values, &segments).expect("sums");
        assert_eq!(sums.iter().sum::<f32>(), sum);
        let keys: Vec<u32> = (0..len as u32).map(|i| i / 4 * 4).collect();
        assert_eq!(cpu::distinct(&keys), len / 4);
        assert_eq!(
            cpu::distinct(&keys.iter().map(|key| *key as u8).collect::<Vec<_>>()),
            64
        );
        assert_eq!(
            cpu::distinct_segments(&values, &segments).expect("numbers"),
            [0, 5, 16, 2]
        );
        let rows = crate::View::new(&values, &ranks).expect("a view");
        let softmax = row::softmax().on_cpu::<_, f32>(rows).expect("rows");
        for row in softmax.values.chunks(softmax.values.len() / 2) {
            assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-3);
        }
        let tensor: &[f32] = &[3.0, -4.0];
        let norm = grad_norm(Order::L2).on_cpu(&[tensor.into(), (&[] as &[f32]).into()]);
        assert_eq!(norm.expect("a norm").norm, 5.0);
        // Threads of the program's own can ask, too.
        assert!(thread::Builder::new().spawn(|| ()).is_err());
    }
}
