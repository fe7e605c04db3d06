//! The peers: each in a process of its own, which compares its answers with ours and times its own calls.

use std::{
    env,
    fmt::{Debug, Display},
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use warpfold::cpu;

use crate::{Print, json};

/// What a process runs.
const PROGRAM: &str = include_str!("peers.py");

/// A peer that there may be.
struct Kind {
    name: &'static str,
    /// The variable that names the folder where Python finds it, and the folder of `target/tools` where it is looked for otherwise.
    at: (&'static str, &'static str),
    /// Whether it has as many threads as we have; else one.
    has_our_threads: bool,
    /// How it is got.
    how: &'static str,
}

const KINDS: [Kind; 2] = [
    Kind {
        name: "NumPy",
        at: ("WARPFOLD_NUMPY", "numpy"),
        has_our_threads: false,
        how: "`cargo xtask setup` gets it",
    },
    Kind {
        name: "PyTorch",
        at: ("WARPFOLD_TORCH", "torch"),
        has_our_threads: true,
        how: "benches/peers/README.md says how it is got",
    },
];

/// What a peer did with a case.
pub enum Outcome {
    /// The shortest time of a call, in seconds.
    Seconds(f64),
    /// Its answer is not ours.
    Wrong(String),
}

/// A peer's process.
struct Peer {
    name: &'static str,
    version: String,
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

/// The peers, in one order; none in the place of one that is not there.
pub struct Peers(Vec<Option<Peer>>);

impl Peers {
    /// Starts all, and says which are not there.
    pub fn start(print: Print) -> Self {
        let start = |kind: &Kind| {
            let peer = Peer::start(kind);
            match (&peer, print) {
                (Some(_), _) => {}
                (None, Print::Table) => println!("{}: not present ({})", kind.name, kind.how),
                (None, Print::Json) => json::absent(kind.name, "not present"),
            }
            peer
        };
        Self(KINDS.iter().map(start).collect())
    }

    /// Their names.
    pub fn names() -> String {
        KINDS.map(|kind| kind.name).join(", ")
    }

    /// What each does with a case of which `ours` are some numbers of our answer, at equal distances; none where a peer has no such case.
    pub fn times(&mut self, op: &str, element: &str, count: impl Display, ours: &[f64]) -> Vec<Option<Outcome>> {
        let time = |peer: &mut Option<Peer>| peer.as_mut()?.time(op, element, &count, ours);
        self.0.iter_mut().map(time).collect()
    }

    /// Prints what they did as JSON.
    pub fn print_json(&self, what: json::What<'_>, outcomes: &[Option<Outcome>], bytes: usize) {
        for (peer, outcome) in self.0.iter().zip(outcomes) {
            let (Some(peer), Some(outcome)) = (peer, outcome) else {
                continue;
            };
            match outcome {
                Outcome::Seconds(seconds) => json::of_peer(what, (peer.name, &peer.version), seconds * 1e6, bytes),
                Outcome::Wrong(why) => json::failed(what, peer.name, why),
            }
        }
    }
}

impl Outcome {
    /// As some number of its seconds, or why there is none.
    pub fn show(outcome: Option<&Self>, of: impl Fn(f64) -> f64, digits: usize) -> String {
        match outcome {
            None => "-".to_owned(),
            Some(Self::Seconds(seconds)) => format!("{:.digits$}", of(*seconds)),
            Some(Self::Wrong(_)) => "wrong".to_owned(),
        }
    }
}

impl Peer {
    /// None where there is no Python or no such library.
    fn start(kind: &Kind) -> Option<Self> {
        let (variable, folder) = kind.at;
        let ours = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../target/tools")
            .join(folder);
        let folder = env::var_os(variable).map_or(ours, Into::into);
        let threads = if kind.has_our_threads { cpu::threads() } else { 1 };
        let mut child = Command::new("python3")
            .args(["-c", PROGRAM, kind.name, &threads.to_string()])
            .env("PYTHONPATH", folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let (to, mut from) = (child.stdin.take()?, BufReader::new(child.stdout.take()?));
        let mut version = String::new();
        from.read_line(&mut version).ok()?;
        let version = version.trim().to_owned();
        (!version.is_empty()).then_some(Self {
            name: kind.name,
            version,
            child,
            to,
            from,
        })
    }

    fn time(&mut self, op: &str, element: &str, count: impl Display, ours: &[f64]) -> Option<Outcome> {
        let ours: String = ours.iter().map(|number| format!("\t{number}")).collect();
        writeln!(self.to, "{op}\t{element}\t{count}{ours}").ok()?;
        let mut line = String::new();
        self.from.read_line(&mut line).ok()?;
        match line.trim().strip_prefix("wrong: ") {
            Some(why) => Some(Outcome::Wrong(why.to_owned())),
            None => line.trim().parse().ok().map(Outcome::Seconds),
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It is measured with, not talked to again: whether it still runs is all the same.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An answer of any type as a number, as it is printed; a truth is 0 or 1.
pub fn number(answer: impl Debug) -> f64 {
    match &*format!("{answer:?}") {
        "true" => 1.0,
        "false" => 0.0,
        number => number.parse().expect("answers are numbers or truths"),
    }
}
