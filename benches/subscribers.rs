//! Ten thousand WebSocket subscribers, in a process of their own: what each costs in memory, how soon 1,000 events a second
//! reach those they are for, and what all of them cost the paid calls.

pub(crate) mod clients;

use std::time::Duration;

use purser::system::{SystemEntropy, raise_open_file_limit};
use purser::wallet::TestWallet;
use tokio::runtime::Builder;

use crate::report::{self, Row, Sample};
use crate::web::clients::{self as web_clients, ClientPool};
use crate::web::driver::{self, Connection, Workload};
use crate::web::process::Service;
use crate::{Fault, Plan, host_info};
use clients::{ReceivedEvents, SubscriberProcess, SubscriberSetup};

/// Streams of one account: as many as the defaults allow.
const STREAMS_A_TOKEN: usize = 16;
/// Accounts that buy, and hear of it.
const BUYERS: usize = 128;
/// Connections that pay.
const CONNECTIONS: usize = 64;
/// Events per second that all accounts together receive.
const EVENTS_A_SECOND: u64 = 1_000;
/// Sockets of a process beside the subscribers'.
const OTHER_FILES: usize = 1_000;

const WITHOUT: &str = "paid: without subscribers";
const WITH: &str = "paid: all watch";

/// Measures and prints.
pub(crate) fn run(plan: Plan) -> Result<(), Fault> {
    let dir = host_info::directory()?;
    let service = Service::start(dir.path(), &[])?;
    let client = Builder::new_current_thread().enable_all().build()?;
    let shop = client.block_on(ClientPool::open(service.address, BUYERS))?;
    let count = allowed(plan.subscribers);
    let tokens = client.block_on(sign_in(service.address, count.div_ceil(STREAMS_A_TOKEN)))?;
    let bench = Bench {
        idle: (0..count).map(|n| tokens[n / STREAMS_A_TOKEN].clone()).collect(),
        service,
        clients: shop,
        plan,
    };
    println!("\n{count} subscribers of {} accounts", tokens.len());
    let crowd = bench.measure_memory()?;
    client.block_on(bench.measure_delivery(crowd))?;
    let mut rows = [WITHOUT, WITH].map(Row::new);
    for round in 0..=plan.rounds.min(5) {
        let samples = client.block_on(bench.round(round))?;
        if round > 0 {
            for (row, sample) in rows.iter_mut().zip(samples) {
                row.samples.push(sample);
            }
        }
    }
    report::print("Paid calls beside them", &rows, &[(WITH, &[WITHOUT])]);
    Ok(())
}

/// Number of subscribers that the system's limit on open files allows. Prints a line if it is lower.
fn allowed(wanted: usize) -> usize {
    let open_files = raise_open_file_limit()
        .and_then(|n| usize::try_from(n).ok())
        .unwrap_or(usize::MAX);
    let capacity = open_files.saturating_sub(OTHER_FILES);
    if capacity < wanted {
        println!("  the system allows {open_files} open files a process: {capacity} subscribers instead of {wanted}");
    }
    wanted.min(capacity)
}

/// Accounts that do nothing: a token each.
async fn sign_in(address: std::net::SocketAddr, accounts: usize) -> Result<Vec<String>, Fault> {
    let mut connection = Connection::open(address).await?;
    let mut tokens = Vec::new();
    for _ in 0..accounts {
        let wallet = TestWallet::create(&SystemEntropy)?;
        tokens.push(web_clients::sign_in(&mut connection, address, &wallet).await?);
    }
    Ok(tokens)
}

struct Bench {
    /// A token for each subscriber that nothing happens to.
    idle: Vec<String>,
    service: Service,
    clients: ClientPool,
    plan: Plan,
}

impl Bench {
    /// Everybody comes and says what they want. `generation` chooses the addresses they come from: the ports of the last
    /// ones are not free yet.
    fn gather(&self, generation: usize) -> Result<SubscriberProcess, Fault> {
        SubscriberProcess::gather(&SubscriberSetup {
            address: self.service.address,
            generation,
            idle: self.idle.clone(),
            active: self.clients.tokens().map(str::to_owned).collect(),
        })
    }

    fn resident_kib(&self) -> u64 {
        host_info::resident_kib(self.service.id())
    }

    /// Resident memory before and after they came: the service's, for each.
    fn measure_memory(&self) -> Result<SubscriberProcess, Fault> {
        let before = self.resident_kib();
        let crowd = self.gather(0)?;
        std::thread::sleep(Duration::from_secs(2));
        let after = self.resident_kib();
        let count = (self.idle.len() + BUYERS) as f64;
        let each = (after as f64 - before as f64) / count;
        println!("  resident: {before} KiB before, {after} KiB with them: {each:.2} KiB each");
        Ok(crowd)
    }

    /// Events at this rate, caused by purchases at an even pace, among idle subscribers.
    async fn measure_delivery(&self, mut crowd: SubscriberProcess) -> Result<(), Fault> {
        let first = self.clients.sign(BUYERS).await?;
        let work = driver::spread(&first, CONNECTIONS);
        let bought = first.len() as u64;
        driver::drive(self.service.address, work, 200).await?;
        let of_first = crowd.settled()?;
        let rate = EVENTS_A_SECOND * bought / of_first.events.max(1);
        let calls = usize::try_from(rate)? * self.plan.delivery_seconds;
        let payments = self.clients.sign(calls).await?;
        let every = Duration::from_secs_f64(CONNECTIONS as f64 / rate as f64);
        let work = driver::spread(&payments, CONNECTIONS).into_iter();
        let paced = work.map(|work| match work {
            Workload::Each(requests) => Workload::Paced(requests, every),
            same => same,
        });
        let calls = driver::drive(self.service.address, paced.collect(), 200).await?;
        let ReceivedEvents {
            events,
            p50_ms,
            p99_ms,
            max_ms: most_ms,
        } = crowd.settled()?;
        println!(
            "  {:.0} purchases and {:.0} events a second: from the decision (its commit included) to receipt p50 {p50_ms} ms, \
             p99 {p99_ms} ms, longest {most_ms} ms",
            calls.latencies.len() as f64 / calls.seconds,
            events as f64 / calls.seconds,
        );
        crowd.disconnect()
    }

    /// One round without and one with them, in turn first and second.
    async fn round(&self, n: usize) -> Result<[Sample; 2], Fault> {
        let mut samples = [Sample::default(), Sample::default()];
        for watched in if n.is_multiple_of(2) {
            [false, true]
        } else {
            [true, false]
        } {
            let crowd = match watched {
                true => Some(self.gather(n + 1)?),
                false => None,
            };
            // Coming and going is over.
            tokio::time::sleep(Duration::from_secs(1)).await;
            samples[usize::from(watched)] = self.run_purchases().await?;
            if let Some(crowd) = crowd {
                crowd.disconnect()?;
            }
        }
        Ok(samples)
    }

    /// Ends when the last response has arrived and its buyer has received the event.
    async fn run_purchases(&self) -> Result<Sample, Fault> {
        let payments = self.clients.sign(self.plan.paid_calls).await?;
        let start = self.clients.delivered();
        let before = host_info::cpu_us(self.service.id());
        let begun = std::time::Instant::now();
        let calls = driver::drive(self.service.address, driver::spread(&payments, CONNECTIONS), 200).await?;
        let count = calls.latencies.len() as u64;
        self.clients.until(|now| now.settled >= start.settled + count).await?;
        let pushed = begun.elapsed().as_secs_f64();
        let cpu = (host_info::cpu_us(self.service.id()) - before) as f64 / count.max(1) as f64;
        self.clients.until(|now| now.ready >= start.ready + count).await?;
        tokio::time::sleep(Duration::from_millis(500)).await;
        let sample = Sample::of(calls.latencies, pushed, calls.seconds);
        Ok(Sample { cpu, ..sample })
    }
}
