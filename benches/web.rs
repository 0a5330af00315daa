//! HTTP: the release build of the service in its own process, compared with stubs in separate processes. Keep-alive
//! connections of one thread drive it over loopback. Payments are signed before the clock starts.

pub(crate) mod clients;
pub(crate) mod driver;
pub(crate) mod process;
pub(crate) mod stub;

use std::time::{Duration, Instant};

use tokio::runtime::Builder;

use crate::report::{self, Row, Sample};
use crate::{Fault, Plan, host_info};
use clients::ClientPool;
use driver::Workload;
use process::{Constant, Service, Stub};

/// Connections, each with one call in flight.
const CONNECTIONS: usize = 64;

const PAID_STUB: &str = "paid: stub";
const PAID: &str = "paid: service";
const PAID_READY: &str = "paid: service, cards ready";
const HELLO: &str = "read: axum hello";
const READ: &str = "read: service";
const CONSTANT_402: &str = "challenge: constant 402";
const CHALLENGE: &str = "challenge: service";

/// Measures and prints.
pub(crate) fn run(plan: Plan) -> Result<(), Fault> {
    let dir = host_info::directory()?;
    let service = Service::start(dir.path(), &[])?;
    // One thread for all clients: what they cost is the same for service and stub.
    let client = Builder::new_current_thread().enable_all().build()?;
    let shop = client.block_on(ClientPool::open(service.address, 128))?;
    let bench = Bench {
        paid_stub: Stub::start(&Constant::paid(&shop.bought))?,
        hello: Stub::start(&Constant::of(
            &client.block_on(shop.read_balance())?,
            "/get-account-balance",
        ))?,
        constant_402: Stub::start(&Constant::of(&shop.challenge, "/get-card"))?,
        clients: shop,
        service,
        plan,
    };
    let names = [PAID_STUB, PAID, PAID_READY, HELLO, READ, CONSTANT_402, CHALLENGE];
    let mut rows: Vec<Row> = names.into_iter().map(Row::new).collect();
    for round in 0..=plan.rounds {
        let samples = client.block_on(bench.round())?;
        if round > 0 {
            for (row, sample) in rows.iter_mut().zip(samples) {
                row.samples.push(sample);
            }
        }
    }
    let title = format!("HTTP, {CONNECTIONS} connections, server and clients share the machine");
    let ceilings: &[(&str, &[&str])] = &[
        (PAID, &[PAID_STUB]),
        (PAID_READY, &[PAID_STUB]),
        (READ, &[HELLO]),
        (CHALLENGE, &[CONSTANT_402, HELLO]),
    ];
    report::print(&title, &rows, ceilings);
    print_sizes(&bench);
    Ok(())
}

fn print_sizes(bench: &Bench) {
    println!(
        "  answers: bought {} + {} bytes, challenge {} + {} bytes (head + body); a payment's request {} bytes",
        bench.clients.bought.head.len(),
        bench.clients.bought.body.len(),
        bench.clients.challenge.head.len(),
        bench.clients.challenge.body.len(),
        bench.clients.request_bytes,
    );
}

struct Bench {
    paid_stub: Stub,
    hello: Stub,
    constant_402: Stub,
    clients: ClientPool,
    service: Service,
    plan: Plan,
}

impl Bench {
    /// One round of every row, in the order of their names.
    async fn round(&self) -> Result<Vec<Sample>, Fault> {
        let payments = self.clients.sign(self.plan.paid_calls).await?;
        let spread = || driver::spread(&payments, CONNECTIONS);
        let before = host_info::cpu_us(self.paid_stub.id());
        let calls = driver::drive(self.paid_stub.address, spread(), 200).await?;
        let cpu = host_info::cpu_us(self.paid_stub.id()) - before;
        let stub = with_cpu(Sample::of(calls.latencies, calls.seconds, calls.seconds), cpu);

        let (paid, ready) = self.run_purchases(spread()).await?;
        let balance = self.clients.balance_requests(CONNECTIONS);
        let hello = self
            .constant(self.hello.address, self.hello.id(), &balance, 200)
            .await?;
        let read = self
            .constant(self.service.address, self.service.id(), &balance, 200)
            .await?;
        let unpaid = vec![self.clients.unpaid_request(); CONNECTIONS];
        let constant = self
            .constant(self.constant_402.address, self.constant_402.id(), &unpaid, 402)
            .await?;
        let challenge = self
            .constant(self.service.address, self.service.id(), &unpaid, 402)
            .await?;
        Ok(vec![stub, paid, ready, hello, read, constant, challenge])
    }

    /// Ends when the last response has arrived and its subscriber has received the event; a second time when every card
    /// is ready.
    async fn run_purchases(&self, work: Vec<Workload>) -> Result<(Sample, Sample), Fault> {
        let start = self.clients.delivered();
        let begun = Instant::now();
        let before = host_info::cpu_us(self.service.id());
        let calls = driver::drive(self.service.address, work, 200).await?;
        let count = calls.latencies.len() as u64;
        self.clients.until(|now| now.settled >= start.settled + count).await?;
        let pushed = begun.elapsed().as_secs_f64();
        let cpu = host_info::cpu_us(self.service.id()) - before;
        let paid = with_cpu(Sample::of(calls.latencies.clone(), pushed, calls.seconds), cpu);
        self.clients.until(|now| now.ready >= start.ready + count).await?;
        let ready = begun.elapsed().as_secs_f64();
        let cpu = host_info::cpu_us(self.service.id()) - before;
        // What was bought in this round is not written to the snapshots in the next one.
        tokio::time::sleep(Duration::from_millis(500)).await;
        Ok((paid, with_cpu(Sample::of(calls.latencies, ready, calls.seconds), cpu)))
    }

    async fn constant(
        &self,
        address: std::net::SocketAddr,
        process: u32,
        requests: &[Vec<u8>],
        status: u16,
    ) -> Result<Sample, Fault> {
        let time = Duration::from_millis(self.plan.round_ms);
        let work = requests.iter().map(|r| Workload::Same(r.clone(), time)).collect();
        let before = host_info::cpu_us(process);
        let calls = driver::drive(address, work, status).await?;
        let cpu = host_info::cpu_us(process) - before;
        Ok(with_cpu(Sample::of(calls.latencies, calls.seconds, calls.seconds), cpu))
    }
}

fn with_cpu(sample: Sample, cpu_us: u64) -> Sample {
    let cpu = cpu_us as f64 / sample.count.max(1) as f64;
    Sample { cpu, ..sample }
}
