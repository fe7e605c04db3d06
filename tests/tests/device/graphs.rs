//! Launches captured in a CUDA graph and replayed.

use std::{cell::RefCell, ptr};

use cust::{
    context::CurrentContext,
    memory::{CopyDestination as _, DeviceBuffer},
    stream::Stream,
};
use warpfold::{
    View, cpu,
    gpu::{Gpu, Prepared, PreparedRow, RowPlaces, Workspace},
    layout::Layout,
    ops::{ArgMax, Reduction, Sum, element::Element as _},
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
    for shape in [[4, 16_384], [700, 256], [1, 128]] {
        for misalign in [0, 1] {
            let chain = Chain::new(gpu, shape, misalign);
            let stream = stream();
            let graph = Graph::capture(&stream, || chain.enqueue(&stream));
            for replay in 0..6 {
                let values: Vec<f32> = cases::UNIFORM.array(chain.len + replay)[replay..].to_vec();
                let expected = chain.expected(&values);
                chain.fill(&values);
                if replay % 2 == 0 {
                    graph.replay(&stream);
                } else {
                    chain.enqueue(&stream);
                }
                stream.synchronize().expect("cuStreamSynchronize");
                assert_eq!(
                    chain.answers(),
                    expected,
                    "replay {replay} of {shape:?}, off by {misalign}"
                );
            }
        }
    }
}

/// RMS norms, each of what the one before gave, and a sum and an index of each.
struct Chain {
    layout: Layout,
    len: usize,
    misalign: usize,
    weights: Vec<f32>,
    norm: PreparedRow<f32, f32>,
    sum: Prepared<Sum, f32>,
    arg: Prepared<ArgMax, f32>,
    arrays: [DeviceBuffer<f32>; 2],
    device_weights: DeviceBuffer<f32>,
    sums: DeviceBuffer<f32>,
    places: DeviceBuffer<u64>,
    workspaces: RefCell<(Workspace, Workspace)>,
}

impl Chain {
    const TURNS: usize = 6;

    fn new(gpu: &Gpu, shape: [u64; 2], misalign: usize) -> Self {
        let layout = Layout::c_order(&shape).expect("small");
        let len = layout.len() as usize;
        let weights: Vec<f32> = (0..shape[1]).map(|i| 0.5 + (i % 7) as f32 / 4.0).collect();
        let norm = row::rms_norm(1e-6).prepare(gpu, &layout).expect("prepared").early();
        let sum = gpu.prepare(Sum, len as u64).expect("prepared").early();
        let arg: Prepared<ArgMax, f32> = gpu.prepare(ArgMax, len as u64).expect("prepared").early();
        // Both take turns in it.
        let workspace = arg.workspace().expect("a workspace");
        let workspaces = RefCell::new((norm.workspace().expect("a workspace"), workspace));
        let chain = Self {
            arrays: [0, 1].map(|_| DeviceBuffer::zeroed(len + misalign).expect("device memory")),
            device_weights: DeviceBuffer::from_slice(&weights).expect("device memory"),
            sums: DeviceBuffer::zeroed(Self::TURNS).expect("device memory"),
            places: DeviceBuffer::zeroed(Self::TURNS).expect("device memory"),
            layout,
            len,
            misalign,
            weights,
            norm,
            sum,
            arg,
            workspaces,
        };
        // A kernel of rows off a boundary is loaded by its first launch.
        let stream = stream();
        chain.enqueue(&stream);
        stream.synchronize().expect("cuStreamSynchronize");
        chain
    }

    fn enqueue(&self, stream: &Stream) {
        let (states, workspace) = &mut *self.workspaces.borrow_mut();
        let address = |i: usize| self.arrays[i % 2].index(self.misalign..).as_device_ptr().as_raw();
        for turn in 0..Self::TURNS {
            let places = RowPlaces {
                input: address(turn),
                output: address(turn + 1),
                weights: (self.device_weights.as_device_ptr().as_raw(), Some(f32::TYPE)),
                ..RowPlaces::default()
            };
            let input = [places.output, 0];
            let total = self.sums.index(turn..).as_device_ptr().as_raw();
            let place = self.places.index(turn..).as_device_ptr().as_raw();
            // SAFETY: all of it outlives what is waited for.
            unsafe {
                self.norm.launch_raw(stream, &places, states).expect("enqueued");
                self.sum.launch_raw(stream, input, total, workspace).expect("enqueued");
                self.arg.launch_raw(stream, input, place, workspace).expect("enqueued");
            }
        }
    }

    /// The values to begin with, and in all else what no launch writes.
    fn fill(&self, values: &[f32]) {
        let fill = |i: usize, values: &[f32]| {
            self.arrays[i]
                .index(self.misalign..)
                .copy_from(values)
                .expect("cuMemcpyHtoD");
        };
        fill(0, values);
        fill(1, &vec![f32::NAN; self.len]);
        self.sums
            .index(..)
            .copy_from(&[f32::NAN; Self::TURNS])
            .expect("cuMemcpyHtoD");
        self.places
            .index(..)
            .copy_from(&[u64::MAX; Self::TURNS])
            .expect("cuMemcpyHtoD");
        CurrentContext::synchronize().expect("cuCtxSynchronize");
    }

    /// The bits of the sums, and the indices.
    fn answers(&self) -> (Vec<u32>, Vec<u64>) {
        let (mut sums, mut places) = ([0.0_f32; Self::TURNS], [0_u64; Self::TURNS]);
        self.sums.copy_to(&mut sums).expect("cuMemcpyDtoH");
        self.places.copy_to(&mut places).expect("cuMemcpyDtoH");
        (sums.map(f32::to_bits).to_vec(), places.to_vec())
    }

    /// The same on the CPU.
    fn expected(&self, values: &[f32]) -> (Vec<u32>, Vec<u64>) {
        let mut values = values.to_vec();
        let (mut sums, mut places) = (vec![], vec![]);
        for _ in 0..Self::TURNS {
            let view = View::new(&values, &self.layout).expect("as long");
            let norm = row::rms_norm(1e-6).weight(&self.weights);
            values = norm.on_cpu::<_, f32>(view).expect("mapped").values;
            sums.push(cpu::reduce(Sum, &values).expect("a sum").to_bits());
            places.push(cpu::reduce(ArgMax, &values).expect("an index"));
        }
        assert!(sums.windows(2).all(|two| two[0] != two[1]), "what a launch read shows");
        (sums, places)
    }
}
