//! Instructions of one paid call and of one command, counted by valgrind's callgrind. The same number comes out on a
//! busy machine, so these are the figures to compare between commits. Each is the difference of two runs, so start and
//! stop cancel out. valgrind knows no SHA instructions: hashes count as software.

use std::path::Path;
use std::process::{Command, Stdio};

use purser_storage::StoreLimits;
use tokio::runtime::Builder;

use crate::commits::{CounterId, open_journal, start_registry};
use crate::web::clients::ClientPool;
use crate::web::driver::{self, Workload};
use crate::web::process::Service;
use crate::{Fault, host_info};

/// Few and many; both after the same warm-up.
const COMMANDS: (u64, u64) = (500, 5_500);
const PAID_CALLS: (usize, usize) = (50, 250);
const READS: (usize, usize) = (100, 1_100);

/// Counts and prints.
pub(crate) fn run() -> Result<(), Fault> {
    println!("\ninstructions (callgrind)");
    let version = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status();
    if !version.is_ok_and(|status| status.success()) {
        println!("  not counted: this needs valgrind in the PATH");
        return Ok(());
    }
    let dir = host_info::directory()?;
    let per = |counts: (u64, u64), totals: (u64, u64)| totals.1.saturating_sub(totals.0) / (counts.1 - counts.0);
    let commands = (
        count_commands(dir.path(), COMMANDS.0)?,
        count_commands(dir.path(), COMMANDS.1)?,
    );
    println!("  a command through the shell, durable {:>12}", per(COMMANDS, commands));
    let reads = (count_web(dir.path(), 0, READS.0)?, count_web(dir.path(), 0, READS.1)?);
    let counts = (READS.0 as u64, READS.1 as u64);
    println!("  an authenticated read                {:>12}", per(counts, reads));
    let paid = (
        count_web(dir.path(), PAID_CALLS.0, 0)?,
        count_web(dir.path(), PAID_CALLS.1, 0)?,
    );
    let counts = (PAID_CALLS.0 as u64, PAID_CALLS.1 as u64);
    println!("  a paid call until its card is ready  {:>12}", per(counts, paid));
    Ok(())
}

/// Where callgrind writes, and the argument that says so.
fn output(dir: &Path, name: &str) -> (std::path::PathBuf, String) {
    let path = dir.join(name);
    let argument = format!("--callgrind-out-file={}", path.display());
    (path, argument)
}

/// Everything but the spinning of sled's threads while it opens, which depends on how valgrind schedules them.
fn total(path: &Path) -> Result<u64, Fault> {
    let text = std::fs::read_to_string(path)?;
    let (mut sum, mut spins, mut is_call) = (0, false, false);
    // A name is written out once, where the function is first listed or first called, with the number that stands for it
    // from then on.
    let mut spinning = std::collections::HashSet::new();
    for line in text.lines() {
        let function = line.strip_prefix("fn=").or_else(|| line.strip_prefix("cfn="));
        if let Some(function) = function {
            let (number, name) = function.split_once(' ').unwrap_or((function, ""));
            if name.contains("sled::lazy") {
                spinning.insert(number.to_owned());
            }
            if line.starts_with("fn=") {
                spins = spinning.contains(number);
            }
        } else if line.starts_with("calls=") {
            is_call = true;
        } else if line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) {
            // The line behind `calls=` is what the called function took: that is counted where it was spent.
            let own = !std::mem::take(&mut is_call) && !spins;
            let cost = line.split(' ').nth(1).map_or(Ok(0), str::parse::<u64>)?;
            sum += if own { cost } else { 0 };
        }
    }
    if sum == 0 {
        Err("callgrind counted nothing".into())
    } else {
        Ok(sum)
    }
}

fn count_commands(dir: &Path, count: u64) -> Result<u64, Fault> {
    let (path, argument) = output(dir, &format!("commands.{count}"));
    let status = Command::new("valgrind")
        .args(["--quiet", "--tool=callgrind", &argument])
        .arg(std::env::current_exe()?)
        .args(["part", "commands", &count.to_string()])
        .arg(dir.join(format!("store.{count}")))
        .status()?;
    if status.success() {
        total(&path)
    } else {
        Err("the commands failed".into())
    }
}

/// The measured part: this number of commands, one after the other, over 64 actors. The snapshots never catch up: how
/// many writes of a key are merged depends on the time, and so would the figure.
pub(crate) fn commands(count: u64, dir: &str) -> Result<(), Fault> {
    let limits = StoreLimits {
        apply_interval_ms: 3_600_000,
        apply_bytes: u64::MAX,
        ..StoreLimits::sandbox()
    };
    let store = open_journal(dir.into(), limits)?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (tallies, _root) = start_registry(store.clone()).await?;
        for n in 0..count {
            let asked = tallies.ask(CounterId(n % 64), 1).await;
            asked.map_err(|refusal| format!("{refusal:?}"))?;
        }
        Ok::<_, Fault>(())
    })?;
    // Without closing the store, which would write the snapshots after all.
    std::process::exit(0)
}

/// Paid calls and reads of one client, one after the other.
fn count_web(dir: &Path, paid: usize, reads: usize) -> Result<u64, Fault> {
    let own = tempfile::tempdir_in(dir)?;
    let (path, argument) = output(own.path(), "service");
    let service = Service::start(own.path(), &["valgrind", "--quiet", "--tool=callgrind", &argument])?;
    let client = Builder::new_current_thread().enable_all().build()?;
    client.block_on(async {
        let shop = ClientPool::open(service.address, 1).await?;
        let before = shop.delivered();
        let payments = shop.sign(paid).await?;
        driver::drive(service.address, driver::spread(&payments, 1), 200).await?;
        let read = shop.balance_requests(1).swap_remove(0);
        driver::drive(service.address, vec![Workload::Each(vec![read; reads])], 200).await?;
        shop.until(|now| now.ready >= before.ready + paid as u64).await
    })?;
    drop(client);
    service.stop()?;
    if let Some(kept) = std::env::var_os("PURSER_BENCH_KEEP") {
        // For callgrind_annotate.
        std::fs::copy(
            &path,
            Path::new(&kept).join(format!("callgrind.paid{paid}.reads{reads}")),
        )?;
    }
    total(&path)
}
