//! HTTP: the release build of the service in its own process, compared with stubs in separate processes. Keep-alive
//! connections of one thread drive it over loopback. Payments are signed before the clock starts. Another build of the
//! service, if one is named, takes turns with it.

pub(crate) mod clients;
pub(crate) mod driver;
pub(crate) mod process;
mod program;
pub(crate) mod stub;

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use tokio::runtime::Builder;

use crate::callers::Calls;
use crate::cost::{self, Cost};
use crate::report::{self, Row, Sample};
use crate::usage::{Reading, SANDBOX, SystemCalls, Tracer};
use crate::{Fault, Plan, host_info};
use driver::Workload;
use process::{Constant, Stub};
use program::Program;

/// Connections, each with one call in flight.
const CONNECTIONS: usize = 64;

const PAID_STUB: &str = "paid: stub";
const PAID: &str = "paid: service";
const PAID_READY: &str = "paid: service, cards ready";
const PAID_BEFORE: &str = "paid: before";
const PAID_READY_BEFORE: &str = "paid: before, cards ready";
const HELLO: &str = "read: axum hello";
const READ: &str = "read: service";
const READ_BEFORE: &str = "read: before";
const CONSTANT_402: &str = "challenge: constant 402";
const CHALLENGE: &str = "challenge: service";
const CHALLENGE_BEFORE: &str = "challenge: before";

/// Measures and prints. `before` is another build of the service.
pub(crate) fn run(plan: Plan, before: Option<&Path>) -> Result<(), Fault> {
    let (dir, other_dir) = (host_info::directory()?, host_info::directory()?);
    // One thread for all clients: what they cost is the same for service and stub.
    let client = Builder::new_current_thread().enable_all().build()?;
    let now = client.block_on(Program::start(None, dir.path()))?;
    let mut programs = vec![now];
    if let Some(before) = before {
        programs.push(client.block_on(Program::start(Some(before), other_dir.path()))?);
    }
    let shop = &programs[0].clients;
    let bought = Constant::paid(&shop.bought);
    let balance = Constant::of(&client.block_on(shop.read_balance())?, "/get-account-balance");
    let signed = client.block_on(shop.sign(1))?.swap_remove(0);
    let mut bench = Bench {
        signature_check_us: stub::signature_check_us(&bought, &signed)?,
        paid_stub: StubRow::start(&bought)?,
        hello: StubRow::start(&balance)?,
        constant_402: StubRow::start(&Constant::of(&shop.challenge, "/get-card"))?,
        programs,
        plan,
    };
    client.block_on(bench.measure())?;
    bench.print();
    bench.print_sandbox();
    bench.print_sizes();
    Ok(())
}

/// A row of a stub.
struct StubRow {
    stub: Stub,
    samples: Vec<Sample>,
    cost: Cost,
}

impl StubRow {
    fn start(answer: &Constant) -> Result<Self, Fault> {
        Ok(Self {
            stub: Stub::start(answer)?,
            samples: Vec::new(),
            cost: Cost::default(),
        })
    }

    async fn round(&mut self, kind: Round, work: Vec<Workload>, status: u16) -> Result<(), Fault> {
        let process = self.stub.id();
        let window = Window::of(kind, self.stub.address, process, work, status).await?;
        window.record(kind, &mut self.samples, &mut self.cost, false);
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Round {
    /// Fills caches; counts for nothing.
    WarmUp,
    Timed,
    /// Only its system calls count.
    Traced,
}

/// Calls that were driven, and what the server used meanwhile.
struct Window {
    calls: Calls,
    cost: Cost,
    system_calls: Option<SystemCalls>,
}

impl Window {
    async fn of(
        kind: Round,
        address: SocketAddr,
        process: u32,
        work: Vec<Workload>,
        status: u16,
    ) -> Result<Self, Fault> {
        let tracer = (kind == Round::Traced).then(|| Tracer::attach(process)).flatten();
        let before = Reading::of(process);
        let calls = driver::drive(address, work, status).await?;
        let cost = Cost {
            calls: calls.latencies.len() as u64,
            used: Reading::of(process).since(&before),
            ..Cost::default()
        };
        let system_calls = tracer.and_then(Tracer::finish);
        Ok(Self {
            calls,
            cost,
            system_calls,
        })
    }

    /// `without_stores`: the server commits nothing in this window.
    fn record(self, kind: Round, samples: &mut Vec<Sample>, cost: &mut Cost, without_stores: bool) {
        let Self { calls, cost: own, .. } = self;
        match kind {
            Round::WarmUp => {}
            Round::Traced => cost.system_calls = self.system_calls.map(|sum| (sum, own.calls)),
            Round::Timed => {
                samples.push(Sample::of(calls.latencies, calls.seconds, calls.seconds));
                let used = if without_stores {
                    own.used.without_stores()
                } else {
                    own.used
                };
                cost.add(&Cost { used, ..own });
            }
        }
    }
}

struct Bench {
    signature_check_us: f64,
    paid_stub: StubRow,
    hello: StubRow,
    constant_402: StubRow,
    /// This build, and the other one if there is one.
    programs: Vec<Program>,
    plan: Plan,
}

impl Bench {
    async fn measure(&mut self) -> Result<(), Fault> {
        self.round(Round::WarmUp).await?;
        if self.plan.catches_up_first {
            program::catch_up(&self.programs).await?;
        }
        for program in &mut self.programs {
            program.start_counting().await?;
        }
        for _ in 0..self.plan.rounds {
            self.round(Round::Timed).await?;
            // So that neither build always has the machine as the other one left it.
            self.programs.rotate_left(1);
        }
        program::catch_up(&self.programs).await?;
        for program in &mut self.programs {
            program.finish_counting().await?;
        }
        self.round(Round::Traced).await
    }

    /// One round of every row.
    async fn round(&mut self, kind: Round) -> Result<(), Fault> {
        let count = self.plan.paid_calls;
        let of_stub = self.programs[0].clients.sign(count).await?;
        let work = driver::spread(&of_stub, CONNECTIONS);
        self.paid_stub.round(kind, work, 200).await?;
        for program in &mut self.programs {
            let payments = program.clients.sign(count).await?;
            program.purchases(kind, driver::spread(&payments, CONNECTIONS)).await?;
        }
        let time = Duration::from_millis(self.plan.round_ms);
        let same = |requests: Vec<Vec<u8>>| requests.into_iter().map(|r| Workload::Same(r, time)).collect();
        let balances = self.programs[0].clients.balance_requests(CONNECTIONS);
        self.hello.round(kind, same(balances), 200).await?;
        for program in &mut self.programs {
            let work = same(program.clients.balance_requests(CONNECTIONS));
            program.reads(kind, work).await?;
        }
        let unpaid = |program: &Program| same(vec![program.clients.unpaid_request(); CONNECTIONS]);
        let work = unpaid(&self.programs[0]);
        self.constant_402.round(kind, work, 402).await?;
        for program in &mut self.programs {
            let work = unpaid(program);
            program.challenges(kind, work).await?;
        }
        Ok(())
    }

    fn program(&self, is_before: bool) -> Option<&Program> {
        self.programs.iter().find(|program| program.is_before == is_before)
    }

    fn print(&self) {
        let row = |name: &str, samples: &[Sample], cost: &Cost| {
            let cpu = cost.cpu_us();
            let samples = samples.iter().map(|sample| Sample { cpu, ..sample.clone() });
            (
                Row {
                    name: name.into(),
                    samples: samples.collect(),
                },
                cost.clone(),
            )
        };
        let (now, before) = (self.program(false), self.program(true));
        let stub = |name: &str, stub: &StubRow| Some(row(name, &stub.samples, &stub.cost));
        let paid = |name, of: Option<&Program>| of.map(|p| row(name, &p.paid, &p.paid_cost));
        let ready = |name, of: Option<&Program>| of.map(|p| row(name, &p.ready, &p.paid_cost));
        let reads = |name, of: Option<&Program>| of.map(|p| row(name, &p.read, &p.read_cost));
        let challenges = |name, of: Option<&Program>| of.map(|p| row(name, &p.challenge, &p.challenge_cost));
        let rows = [
            stub(PAID_STUB, &self.paid_stub),
            paid(PAID, now),
            paid(PAID_BEFORE, before),
            ready(PAID_READY, now),
            ready(PAID_READY_BEFORE, before),
            stub(HELLO, &self.hello),
            reads(READ, now),
            reads(READ_BEFORE, before),
            stub(CONSTANT_402, &self.constant_402),
            challenges(CHALLENGE, now),
            challenges(CHALLENGE_BEFORE, before),
        ];
        let (rows, costs): (Vec<Row>, Vec<Cost>) = rows.into_iter().flatten().unzip();
        let title = format!("HTTP, {CONNECTIONS} connections, server and clients share the machine");
        let ceilings: &[(&str, &[&str])] = &[
            (PAID, &[PAID_STUB, PAID_BEFORE]),
            (PAID_BEFORE, &[PAID_STUB]),
            (PAID_READY, &[PAID_STUB, PAID_READY_BEFORE]),
            (PAID_READY_BEFORE, &[PAID_STUB]),
            (READ, &[HELLO, READ_BEFORE]),
            (READ_BEFORE, &[HELLO]),
            (CHALLENGE, &[CONSTANT_402, HELLO, CHALLENGE_BEFORE]),
            (CHALLENGE_BEFORE, &[CONSTANT_402, HELLO]),
        ];
        report::print(&title, &rows, ceilings);
        println!(
            "  a paid call's cpu: all that it causes, until its rows are in the snapshots; the mean over the rounds"
        );
        let named = rows.iter().zip(&costs).map(|(row, cost)| (row.name.as_str(), cost));
        // Until the cards are ready a call costs what it costs.
        let named: Vec<_> = named.filter(|(name, _)| !name.ends_with("ready")).collect();
        cost::print(&named);
    }

    /// What the sandbox adds to a call, which a real chain and a real issuer do on machines of their own.
    fn print_sandbox(&self) {
        let Some(now) = self.program(false) else { return };
        let rates = |samples: &[Sample]| report::median(samples.iter().map(Sample::rate));
        let (rate, top) = (rates(&now.paid), rates(&self.paid_stub.samples));
        let check = self.signature_check_us;
        let (all, logs) = (now.paid_cost.cpu_us(), now.paid_cost.group_us(SANDBOX));
        let stub = self.paid_stub.cost.cpu_us();
        let cores = std::thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64);
        let without = 1.0 / (1.0 / rate - (check + logs) / 1e6 / cores);
        println!(
            "  the sandbox's part of a paid call: its store's threads {logs:.1} us, its signature check {check:.1} us \
             (one check, measured alone)"
        );
        println!(
            "  without both: cpu {:.1} us, {:.1} times that of {PAID_STUB}; by calculation, with all cores busy, \
             {without:.0} per second, {:.2} of {PAID_STUB}",
            all - check - logs,
            (all - check - logs) / stub,
            without / top
        );
    }

    fn print_sizes(&self) {
        let Some(now) = self.program(false) else { return };
        let clients = &now.clients;
        println!(
            "  answers: bought {} + {} bytes, challenge {} + {} bytes (head + body); a payment's request {} bytes",
            clients.bought.head.len(),
            clients.bought.body.len(),
            clients.challenge.head.len(),
            clients.challenge.body.len(),
            clients.request_bytes,
        );
    }
}
