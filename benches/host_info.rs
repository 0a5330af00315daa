//! Where a measurement runs: the machine, the directory, the other programs.

use std::path::{Path, PathBuf};

use crate::Fault;

/// Processors and load, for the top of the output.
pub(crate) fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let model = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = model
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
        .map_or("unknown processor", |(_, name)| name.trim())
        .to_owned();
    format!("{cores} cores, {model}; {}", load())
}

/// Others who use the machine make ratios noisy: their share is part of the result.
pub(crate) fn load() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    format!("load average {}", load.trim())
}

/// A fresh directory on the disk that the build is on; removed when dropped.
pub(crate) fn directory() -> Result<tempfile::TempDir, Fault> {
    Ok(tempfile::Builder::new()
        .prefix("bench-")
        .tempdir_in(env!("CARGO_TARGET_TMPDIR"))?)
}

/// Another bench program of this build: the newest of its name beside this one.
pub(crate) fn sibling(name: &str) -> Result<PathBuf, Fault> {
    let own = std::env::current_exe()?;
    let folder = own.parent().unwrap_or(Path::new("."));
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let is_named = |p: &Path| {
            let name_of = p.file_name().and_then(|n| n.to_str()).unwrap_or_default();
            name_of.strip_prefix(name).is_some_and(|rest| rest.starts_with('-'))
        };
        if is_named(&path) && path.extension().is_none() {
            found.push((path.metadata()?.modified()?, path));
        }
    }
    found
        .into_iter()
        .max()
        .map(|(_, path)| path)
        .ok_or_else(|| format!("{name} is not built: run `cargo bench` without --bench, or build it once").into())
}

/// Processor time that a process has used, user and system, in microseconds.
pub(crate) fn cpu_us(pid: u32) -> u64 {
    stat_cpu_us(&std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default())
}

/// The same from the text of a `stat` file, of a process or of a thread.
pub(crate) fn stat_cpu_us(stat: &str) -> u64 {
    // Fields 12 and 13 behind the name.
    ticks_us(stat, 11) + ticks_us(stat, 12)
}

/// Processor time of all programs that this one has started and that have ended, in microseconds.
pub(crate) fn children_cpu_us() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    ticks_us(&stat, 13) + ticks_us(&stat, 14)
}

fn ticks_us(stat: &str, field: usize) -> u64 {
    // Kernel ticks are 10 ms on every Linux that we know of.
    const TICK_US: u64 = 10_000;
    // The name before `)` may hold spaces.
    let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields
        .nth(field)
        .and_then(|ticks| ticks.parse::<u64>().ok())
        .unwrap_or(0)
        * TICK_US
}

/// Resident memory of a process, in MiB.
pub(crate) fn resident_mib(pid: u32) -> u64 {
    resident_kib(pid) / 1024
}

/// Resident memory of a process, in KiB.
pub(crate) fn resident_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let kib = status.lines().find_map(|line| {
        line.strip_prefix("VmRSS:")?
            .split_whitespace()
            .next()?
            .parse::<u64>()
            .ok()
    });
    kib.unwrap_or(0)
}
