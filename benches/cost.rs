//! What one call costs: sums over all rounds of a row, divided by its calls, and the tables they are printed in.

use serde::{Deserialize, Serialize};

use crate::usage::{GROUPS, SystemCalls, Used};

/// Commits and syncs of the stores, as they count them; `None` where a program does not.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct StoreCounts {
    /// Batches written to the journal, and its syncs.
    pub(crate) commits: Option<u64>,
    pub(crate) syncs: Option<u64>,
    /// The same of the sandbox's store.
    pub(crate) sandbox_commits: Option<u64>,
    pub(crate) sandbox_syncs: Option<u64>,
    /// Syncs of the snapshots of both.
    pub(crate) snapshot_syncs: Option<u64>,
}

impl StoreCounts {
    fn combine(&self, other: &Self, with: impl Fn(u64, u64) -> u64) -> Self {
        let both = |own: Option<u64>, other: Option<u64>| Some(with(own?, other?));
        Self {
            commits: both(self.commits, other.commits),
            syncs: both(self.syncs, other.syncs),
            sandbox_commits: both(self.sandbox_commits, other.sandbox_commits),
            sandbox_syncs: both(self.sandbox_syncs, other.sandbox_syncs),
            snapshot_syncs: both(self.snapshot_syncs, other.snapshot_syncs),
        }
    }

    /// Counted since an earlier reading.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        self.combine(earlier, u64::saturating_sub)
    }
}

/// Of all calls of a row.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Cost {
    pub(crate) calls: u64,
    pub(crate) used: Used,
    pub(crate) counts: StoreCounts,
    /// Counted in another round, which has its own number of calls.
    #[serde(skip)]
    pub(crate) system_calls: Option<(SystemCalls, u64)>,
}

impl Cost {
    pub(crate) fn add(&mut self, other: &Self) {
        self.counts = match self.calls {
            0 => other.counts,
            _ => self.counts.combine(&other.counts, u64::saturating_add),
        };
        self.calls += other.calls;
        self.used += other.used;
    }

    fn per_call(&self, sum: f64) -> f64 {
        sum / self.calls.max(1) as f64
    }

    /// Processor time of a call, in microseconds.
    pub(crate) fn cpu_us(&self) -> f64 {
        self.per_call(self.used.total().cpu_us)
    }

    /// The same of one group of threads.
    pub(crate) fn group_us(&self, group: usize) -> f64 {
        self.per_call(self.used.0[group].cpu_us)
    }
}

/// Prints what a call of each row costs. `-` is what was not counted.
pub(crate) fn print(rows: &[(&str, &Cost)]) {
    print!("  {:<34}{:>9}", "processor time of a call, us", "all");
    GROUPS.iter().for_each(|group| print!("{group:>10}"));
    println!();
    for (name, cost) in rows {
        print!("  {name:<34}{:>9.1}", cost.cpu_us());
        (0..GROUPS.len()).for_each(|group| print!("{:>10.1}", cost.group_us(group)));
        println!();
    }
    print!("  {:<34}{:>9}", "counts of a call", "switches");
    let titles = [
        "sys.calls",
        "futex",
        "all syncs",
        "commits",
        "syncs",
        "sandbox's",
        "syncs",
        "snapshots'",
    ];
    titles.iter().for_each(|title| print!("{title:>11}"));
    println!();
    for (name, cost) in rows {
        let traced = |of: fn(&SystemCalls) -> f64| cost.system_calls.map(|(sum, calls)| of(&sum) / calls.max(1) as f64);
        let counted = |sum: Option<u64>| sum.map(|sum| cost.per_call(sum as f64));
        print!(
            "  {name:<34}{}",
            number(Some(cost.per_call(cost.used.total().switches)), 9)
        );
        let columns = [
            traced(|sum| sum.all),
            traced(|sum| sum.futex),
            traced(|sum| sum.syncs),
            counted(cost.counts.commits),
            counted(cost.counts.syncs),
            counted(cost.counts.sandbox_commits),
            counted(cost.counts.sandbox_syncs),
            counted(cost.counts.snapshot_syncs),
        ];
        columns.iter().for_each(|column| print!("{}", number(*column, 11)));
        println!();
    }
    if rows.iter().all(|(_, cost)| cost.system_calls.is_none()) {
        println!("  system calls: not counted, this needs perf and the right to trace");
    }
}

fn number(value: Option<f64>, width: usize) -> String {
    match value {
        Some(value) if value < 0.01 && value > 0.0 => format!("{value:>width$.4}"),
        Some(value) => format!("{value:>width$.2}"),
        None => format!("{:>width$}", "-"),
    }
}
