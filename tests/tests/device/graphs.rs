//! Launches captured in a CUDA graph and replayed.

use std::ptr;

use cust::{
    memory::{CopyDestination as _, DeviceBuffer},
    stream::Stream,
};
use warpfold::{
    Layout, View, cpu,
    gpu::Gpu,
    ops::{ArgMax, Reduction, Sum},
    row,
};
use warpfold_driver::sys;
use warpfold_kernels::kernels::Entry;
use warpfold_tests::{Bits, backends, cases, each_operator};

use crate::on_device::{Answer, Array, launch, stream};

/// Of the capture modes the strict one: a call that allocates or synchronises fails, on any thread.
const GLOBAL: u32 = 0;

fn check(call: &str, code: u32) {
    assert_eq!(code, 0, "{call}");
}

/// A captured graph, ready to replay.
struct Graph {
    graph: sys::Handle,
    exec: sys::Handle,
}

impl Graph {
    /// Captures what `enqueue` puts on `stream`.
    fn capture(stream: &Stream, enqueue: impl FnOnce()) -> Self {
        let (mut graph, mut exec) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the stream is live, the handles are written by the calls that succeed.
        unsafe {
            check(
                "cuStreamBeginCapture",
                sys::cuStreamBeginCapture_v2(stream.as_inner().cast(), GLOBAL),
            );
            enqueue();
            check(
                "cuStreamEndCapture",
                sys::cuStreamEndCapture(stream.as_inner().cast(), &mut graph),
            );
            assert!(!graph.is_null(), "the capture was broken off");
            check(
                "cuGraphInstantiate",
                sys::cuGraphInstantiateWithFlags(&mut exec, graph, 0),
            );
        }
        Self { graph, exec }
    }

    /// How many nodes it has.
    fn nodes(&self) -> usize {
        let mut count = 0;
        // SAFETY: without an array the call writes the count alone.
        check("cuGraphGetNodes", unsafe {
            sys::cuGraphGetNodes(self.graph, ptr::null_mut(), &mut count)
        });
        count
    }

    /// Enqueues a replay.
    fn replay(&self, stream: &Stream) {
        // SAFETY: handle and stream are live; what the graph touches is kept by the tests.
        check("cuGraphLaunch", unsafe {
            sys::cuGraphLaunch(self.exec, stream.as_inner().cast())
        });
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: made by `capture`, destroyed once; the tests have waited for the replays.
        unsafe {
            sys::cuGraphExecDestroy(self.exec);
            sys::cuGraphDestroy(self.graph);
        }
    }
}

type Enqueue = dyn FnMut(&Stream, &Array, &Answer);

/// One launch in a graph.
struct Node {
    entry: &'static Entry,
    answer: Answer,
    enqueue: Box<Enqueue>,
    /// What it should write, for each of the inputs.
    expected: Vec<Bits>,
}

impl Node {
    fn new<R: Reduction<f32>>(op: R, gpu: &Gpu, inputs: &[Vec<f32>]) -> Self {
        let prepared = gpu.prepare(op, inputs[0].len() as u64).expect("prepared");
        let mut workspace = prepared.workspace().expect("a workspace");
        let expected = |values: &Vec<f32>| backends::cpu(op, values).expect("not empty");
        Self {
            entry: prepared.plan().entry,
            answer: Answer::new(),
            expected: inputs.iter().map(expected).collect(),
            enqueue: Box::new(move |stream, input, answer| launch(&prepared, stream, input, answer, &mut workspace)),
        }
    }
}

/// Every operator in one graph, a hundred replays, and another input before each: the answers follow.
pub fn quick_a_graph_follows_its_input(gpu: &Gpu) {
    fn add<R: Reduction<f32>>(op: R, gpu: &Gpu, inputs: &[Vec<f32>], nodes: &mut Vec<Node>) {
        nodes.push(Node::new(op, gpu, inputs));
    }
    for len in [250_003, 20_001] {
        let inputs = [
            cases::CYCLE,
            cases::WIDE,
            cases::MIXED,
            cases::DESCENDING,
            cases::ALL_NAN,
        ];
        let inputs = inputs.map(|case| case.array(len));
        let (input, stream) = (Array::new(&inputs[0], 0), stream());
        let mut nodes = vec![];
        each_operator!(add(gpu, &inputs, &mut nodes));
        let graph = Graph::capture(&stream, || {
            for node in &mut nodes {
                (node.enqueue)(&stream, &input, &node.answer);
            }
        });
        assert_eq!(graph.nodes(), nodes.len(), "one launch an operator, and nothing else");
        for replay in 0..100 {
            let which = replay % inputs.len();
            input.fill(&inputs[which]);
            graph.replay(&stream);
            stream.synchronize().expect("cuStreamSynchronize");
            for node in &nodes {
                let expected = &node.expected[which];
                let answer = node.answer.read(node.entry);
                assert_eq!(&answer, expected, "replay {replay} of {len} elements");
            }
        }
    }
}

/// A kernel that has never run is captured all the same: everything that a launch needs is done when it is prepared.
pub fn a_first_launch_can_be_captured(_: &Gpu) {
    // Its modules are its own, and nothing in them has been launched.
    let gpu = Gpu::new(0).expect("there was one");
    for len in [3_000_001, 5000] {
        let values = cases::UNIFORM.array(len);
        let (input, answer, stream) = (Array::new(&values, 0), Answer::new(), stream());
        let prepared = gpu.prepare::<f32, _>(Sum, len as u64).expect("prepared");
        let mut workspace = prepared.workspace().expect("a workspace");
        let graph = Graph::capture(&stream, || launch(&prepared, &stream, &input, &answer, &mut workspace));
        answer.assert_unwritten();
        graph.replay(&stream);
        stream.synchronize().expect("cuStreamSynchronize");
        assert_eq!(
            Some(answer.read(prepared.plan().entry)),
            backends::cpu(Sum, &values),
            "{}",
            prepared.plan()
        );
    }
}

/// Each launch reads what the one before it wrote, though it starts before that has ended: from row operations to a sum and an index, and back.
pub fn quick_an_early_launch_sees_what_came_before(gpu: &Gpu) {
    const TURNS: usize = 6;
    for shape in [[4, 16_384], [700, 256], [1, 128]] {
        let layout = Layout::c_order(&shape).expect("small");
        let values = cases::MIXED.array((shape[0] * shape[1]) as usize);
        let norm = row::log_softmax();
        let prepared = norm.prepare::<f32, f32>(gpu, &layout).expect("prepared").early();
        let sum = gpu
            .prepare::<f32, _>(Sum, values.len() as u64)
            .expect("prepared")
            .early();
        let arg = gpu
            .prepare::<f32, _>(ArgMax, values.len() as u64)
            .expect("prepared")
            .early();
        let mut expected = (vec![], vec![]);
        let mut turned = values.clone();
        for _ in 0..TURNS {
            let view = View::new(&turned, &layout).expect("as long");
            turned = norm.clone().on_cpu::<_, f32>(view).expect("mapped").values;
            expected.0.push(cpu::reduce(Sum, &turned).expect("a sum").to_bits());
            expected.1.push(cpu::reduce(ArgMax, &turned).expect("an index"));
        }
        let stream = stream();
        let mut arrays = [0, 1].map(|_| DeviceBuffer::from_slice(&values).expect("device memory"));
        let mut sums = DeviceBuffer::<f32>::zeroed(TURNS).expect("device memory");
        let mut places = DeviceBuffer::<u64>::zeroed(TURNS).expect("device memory");
        let mut states = prepared.workspace().expect("a workspace");
        let mut workspaces = [sum.workspace(), arg.workspace()].map(|made| made.expect("a workspace"));
        let mut enqueue = || {
            for turn in 0..TURNS {
                let [from, to] = &mut arrays;
                let (mut total, mut place) = (sums.index(turn..=turn), places.index(turn..=turn));
                let [of_sum, of_arg] = &mut workspaces;
                // SAFETY: all of it outlives what is waited for.
                unsafe {
                    prepared.launch(&stream, from, to, &mut states).expect("enqueued");
                    sum.launch(&stream, &**to, &mut total, of_sum).expect("enqueued");
                    arg.launch(&stream, &**to, &mut place, of_arg).expect("enqueued");
                }
                arrays.swap(0, 1);
            }
        };
        let graph = Graph::capture(&stream, &mut enqueue);
        let check_all = |what: &str, sums: &DeviceBuffer<f32>, places: &DeviceBuffer<u64>| {
            let (mut totals, mut indices) = ([0.0_f32; TURNS], [0_u64; TURNS]);
            sums.copy_to(&mut totals).expect("cuMemcpyDtoH");
            places.copy_to(&mut indices).expect("cuMemcpyDtoH");
            assert_eq!(totals.map(f32::to_bits)[..], expected.0, "{what} of {shape:?}");
            assert_eq!(indices[..], expected.1, "{what} of {shape:?}");
        };
        for replay in 0..20 {
            // An even number of turns ends where it began.
            arrays[0].copy_from(&values[..]).expect("cuMemcpyHtoD");
            gpu.synchronize().expect("cuCtxSynchronize");
            graph.replay(&stream);
            stream.synchronize().expect("cuStreamSynchronize");
            check_all(&format!("replay {replay}"), &sums, &places);
        }
    }
}
