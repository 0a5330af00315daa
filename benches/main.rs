//! What Purser costs, each figure beside a ceiling that was measured in the same run.
//!
//! `cargo bench` prints everything; `cargo bench --bench ratios -- commits web watchers pages webhooks idle instructions
//! stock chains` picks groups, `--short` makes the rounds short (for development: its figures are noise), `--before=PATH`
//! names a `purser` (or for `commits` a `ratios…`) of another build, which takes turns with this one. No bench asserts a
//! time: a bench only fails because a response was wrong. README.md beside this file explains each row and has the last
//! results.

// These are figures of time, not of money; and printing them is what a bench is for.
#![allow(clippy::float_arithmetic, clippy::print_stdout)]

mod callers;
mod chains;
mod commits;
mod cost;
mod host_info;
mod idle;
mod instructions;
mod pages;
mod paid_server;
mod profile;
mod programs;
mod report;
mod soak;
mod stock;
mod subscribers;
mod usage;
mod web;
mod webhooks;

use std::path::PathBuf;

/// As the service has: a ceiling with a slower allocator would be a lower one.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Any error; a bench cannot handle it.
pub(crate) type Fault = Box<dyn std::error::Error + Send + Sync>;

/// How long and how often.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    /// Rounds of each row; the median counts.
    pub(crate) rounds: usize,
    /// Length of a timed round, in milliseconds.
    pub(crate) round_ms: u64,
    /// Wait until the snapshots have caught up before anything counts. Behind the last round that is always done.
    pub(crate) catches_up_first: bool,
    /// Paid calls in a round.
    pub(crate) paid_calls: usize,
    /// Accounts that lie idle on disk.
    pub(crate) idle_accounts: u64,
    pub(crate) subscribers: usize,
    /// How long events are timed on their way to them.
    pub(crate) delivery_seconds: usize,
    /// History of the account whose pages are opened.
    pub(crate) history: pages::history::History,
    /// Pages that are open while others pay.
    pub(crate) open_pages: usize,
    /// Payments of a round on a chain of this machine.
    pub(crate) payments: usize,
    /// How long payments come at an even pace.
    pub(crate) paced_seconds: usize,
}

const FULL: Plan = Plan {
    rounds: 7,
    round_ms: 1_500,
    catches_up_first: true,
    paid_calls: 6_000,
    idle_accounts: 1_000_000,
    subscribers: 10_000,
    delivery_seconds: 20,
    history: pages::history::History::FULL,
    open_pages: 1_000,
    payments: 6_000,
    paced_seconds: 20,
};

const SHORT: Plan = Plan {
    rounds: 3,
    round_ms: 300,
    catches_up_first: false,
    paid_calls: 600,
    idle_accounts: 20_000,
    subscribers: 2_000,
    delivery_seconds: 4,
    history: pages::history::History::SHORT,
    open_pages: 200,
    payments: 1_000,
    paced_seconds: 6,
};

/// Programs of another build, which take turns with those of this one.
#[derive(Default)]
struct Before {
    /// A `purser`.
    web: Option<PathBuf>,
    /// A `ratios`.
    commits: Option<PathBuf>,
}

impl Before {
    fn of(args: &[String]) -> Self {
        let mut before = Self::default();
        for path in args
            .iter()
            .filter_map(|a| a.strip_prefix("--before="))
            .map(PathBuf::from)
        {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let place = if name.starts_with("ratios") {
                &mut before.commits
            } else {
                &mut before.web
            };
            *place = Some(path);
        }
        before
    }
}

fn main() -> Result<(), Fault> {
    purser::system::disable_huge_pages();
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let named: Vec<&str> = args
        .iter()
        .map(String::as_str)
        .filter(|a| !a.starts_with("--"))
        .collect();
    match named.as_slice() {
        // This program again, as a part of a measurement in a process of its own.
        ["part", "stub"] => return web::stub::serve(),
        ["part", "pages"] => return pages::open_pages::serve(),
        ["part", "watchers"] => return subscribers::clients::serve(),
        ["part", "commits", callers, round_ms] => return commits::serve(callers.parse()?, round_ms.parse()?),
        ["part", "commands", count, dir] => return instructions::commands(count.parse()?, dir),
        ["profile", kind] => return profile::run(kind),
        ["soak"] => {
            let value = |name: &str| args.iter().find_map(|a| a.strip_prefix(name));
            let minutes = value("--minutes=").map_or(Ok(30), str::parse)?;
            return soak::run(minutes, value("--plot=").map(Into::into));
        }
        _ => {}
    }
    let mut plan = if args.iter().any(|a| a == "--short") {
        SHORT
    } else {
        FULL
    };
    if let Some(rounds) = args.iter().find_map(|a| a.strip_prefix("--rounds=")) {
        plan.rounds = rounds.parse()?;
    }
    let before = Before::of(&args);
    if let ["chains", parts @ ..] = named.as_slice() {
        println!("{}", host_info::machine());
        chains::run(plan, parts)?;
        println!("{}", host_info::load());
        return Ok(());
    }
    let wanted = |group: &str| named.is_empty() || named.contains(&group);
    println!("{}", host_info::machine());
    if wanted("commits") {
        commits::run(plan, before.commits.as_deref())?;
    }
    if wanted("web") {
        web::run(plan, before.web.as_deref())?;
    }
    if wanted("watchers") {
        subscribers::run(plan)?;
    }
    if wanted("pages") {
        pages::run(plan)?;
    }
    if wanted("webhooks") {
        webhooks::run(plan)?;
    }
    if wanted("idle") {
        idle::run(plan)?;
    }
    if wanted("instructions") {
        instructions::run()?;
    }
    if wanted("stock") {
        stock::run(plan)?;
    }
    if wanted("chains") {
        chains::run(plan, &[])?;
    }
    println!("{}", host_info::load());
    Ok(())
}
