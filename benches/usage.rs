//! What a process uses, as the system counts it: processor time and context switches by group of threads, and system
//! calls if `perf` may count them.

use std::collections::BTreeMap;
use std::ops::{AddAssign, SubAssign};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::host_info;

/// Groups of threads, by what their names begin with or contain.
pub(crate) const GROUPS: [&str; 7] = ["runtime", "committer", "applier", "sled", "upkeep", "sandbox", "other"];
/// The runtime's workers, its blocking threads and the main thread.
const RUNTIME: usize = 0;
/// Threads of the sandbox's store, its snapshots' applier among them.
pub(crate) const SANDBOX: usize = 5;
/// Also threads that ended between two readings.
const OTHER: usize = 6;

fn group(name: &str, is_main: bool) -> usize {
    let has = |part: &str| name.contains(part);
    match name {
        _ if is_main || has("tokio") => RUNTIME,
        _ if name.starts_with("sandbox.store") => SANDBOX,
        _ if has("-committe") => 1,
        _ if has("-applie") => 2,
        // Threads of both stores' snapshots; sled shares them in a process.
        _ if has("sled-io") || has("flusher") => 3,
        _ if has("-janito") || has("-export") => 4,
        _ => OTHER,
    }
}

/// Used by one group of threads.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct GroupUse {
    /// Processor time, user and system, in microseconds.
    pub(crate) cpu_us: f64,
    /// Context switches, voluntary and not.
    pub(crate) switches: f64,
}

/// Used by a process between two readings, in the order of [`GROUPS`].
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Used(pub(crate) [GroupUse; GROUPS.len()]);

impl Used {
    /// Only processor time is known.
    pub(crate) fn cpu_us(cpu_us: u64) -> Self {
        let mut used = Self::default();
        used.0[OTHER].cpu_us = cpu_us as f64;
        used
    }

    /// Without the threads of the stores: what they do while nothing is committed, they do for earlier calls.
    pub(crate) fn without_stores(self) -> Self {
        let mut own = Self::default();
        own.0[RUNTIME] = self.0[RUNTIME];
        own
    }

    pub(crate) fn total(&self) -> GroupUse {
        let add = |sum: GroupUse, group: &GroupUse| GroupUse {
            cpu_us: sum.cpu_us + group.cpu_us,
            switches: sum.switches + group.switches,
        };
        self.0.iter().fold(GroupUse::default(), add)
    }
}

impl AddAssign for Used {
    fn add_assign(&mut self, other: Self) {
        for (sum, more) in self.0.iter_mut().zip(other.0) {
            sum.cpu_us += more.cpu_us;
            sum.switches += more.switches;
        }
    }
}

impl SubAssign for Used {
    fn sub_assign(&mut self, other: Self) {
        for (sum, less) in self.0.iter_mut().zip(other.0) {
            sum.cpu_us -= less.cpu_us;
            sum.switches -= less.switches;
        }
    }
}

/// Processor time that the running thread has used, in microseconds.
pub(crate) fn own_thread_cpu_us() -> f64 {
    thread_cpu_us(Path::new("/proc/thread-self"))
}

fn thread_cpu_us(task: &Path) -> f64 {
    let file = |name: &str| std::fs::read_to_string(task.join(name)).unwrap_or_default();
    // Nanoseconds; ticks of 10 ms where the kernel keeps none.
    let text = file("schedstat");
    let exact = text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok());
    exact.map_or_else(|| host_info::stat_cpu_us(&file("stat")) as f64, |ns| ns / 1_000.0)
}

struct ThreadUse {
    group: usize,
    cpu_us: f64,
    switches: f64,
}

/// What a process has used so far, thread by thread.
#[derive(Default)]
pub(crate) struct Reading {
    process_cpu_us: f64,
    threads: BTreeMap<u32, ThreadUse>,
}

impl Reading {
    /// Of a running process.
    pub(crate) fn of(process: u32) -> Self {
        let mut threads = BTreeMap::new();
        let tasks = std::fs::read_dir(format!("/proc/{process}/task"));
        for task in tasks.into_iter().flatten().flatten() {
            let Some(id) = task.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            let file = |name: &str| std::fs::read_to_string(task.path().join(name)).unwrap_or_default();
            let status = file("status");
            let switches = status.lines().filter(|line| line.contains("ctxt_switches:"));
            let switches = switches.filter_map(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
            let use_of_thread = ThreadUse {
                group: group(file("comm").trim(), id == process),
                cpu_us: thread_cpu_us(&task.path()),
                switches: switches.sum(),
            };
            threads.insert(id, use_of_thread);
        }
        Self {
            process_cpu_us: host_info::cpu_us(process) as f64,
            threads,
        }
    }

    /// Used since an earlier reading of the same process.
    pub(crate) fn since(&self, earlier: &Self) -> Used {
        let mut used = Used::default();
        for (id, now) in &self.threads {
            let before = earlier.threads.get(id);
            used.0[now.group].cpu_us += now.cpu_us - before.map_or(0.0, |t| t.cpu_us);
            used.0[now.group].switches += now.switches - before.map_or(0.0, |t| t.switches);
        }
        let ended = self.process_cpu_us - earlier.process_cpu_us - used.total().cpu_us;
        used.0[OTHER].cpu_us += ended.max(0.0);
        used
    }
}

/// System calls of a process, counted in a round of its own that is not timed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SystemCalls {
    /// All of them.
    pub(crate) all: f64,
    pub(crate) futex: f64,
    /// `fdatasync` and `fsync`.
    pub(crate) syncs: f64,
}

/// A `perf stat` that is attached to a process.
pub(crate) struct Tracer {
    perf: Child,
    output: PathBuf,
}

impl Tracer {
    /// `None` if there is no `perf`, or if it may not count system calls.
    pub(crate) fn attach(process: u32) -> Option<Self> {
        const EVENTS: &str = "raw_syscalls:sys_enter,syscalls:sys_enter_futex,syscalls:sys_enter_fdatasync,\
                              syscalls:sys_enter_fsync";
        let output = std::env::temp_dir().join(format!("purser-bench-perf-{process}"));
        let perf = Command::new("perf")
            .args(["stat", "-x", ";", "-e", EVENTS, "-p", &process.to_string(), "-o"])
            .arg(&output)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let mut perf = perf.ok()?;
        // It says nothing when it has attached.
        std::thread::sleep(Duration::from_millis(300));
        match perf.try_wait() {
            Ok(None) => Some(Self { perf, output }),
            _ => None,
        }
    }

    /// Ends the count. `None` if `perf` did not count something, which is no reason to end a bench.
    pub(crate) fn finish(mut self) -> Option<SystemCalls> {
        let id = self.perf.id().to_string();
        Command::new("kill").args(["-INT", &id]).status().ok()?;
        self.perf.wait().ok()?;
        let text = std::fs::read_to_string(&self.output).ok()?;
        // A file that cannot be removed is only litter in the temporary directory.
        let _ = std::fs::remove_file(&self.output);
        let count = |event: &str| {
            let line = text.lines().find(|line| line.contains(event))?;
            line.split(';').next()?.parse::<f64>().ok()
        };
        Some(SystemCalls {
            all: count("raw_syscalls:sys_enter")?,
            futex: count("sys_enter_futex")?,
            syncs: count("sys_enter_fdatasync")? + count("sys_enter_fsync")?,
        })
    }
}
