//! Live endpoints beside dead ones: how long an event takes to its receiver while thousands of other endpoints hang or
//! refuse, against the same without them. Two services, one with and one without dead endpoints, measured in turn under the
//! same purchases; receivers are in this process, on a thread of their own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::routing::post;
use purser::rfc3339;
use purser::system::SystemClock;
use purser_actors::port::Clock;
use serde_json::{Value, json};
use tokio::runtime::Builder;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Interval, MissedTickBehavior, interval, timeout};

use crate::report::median;
use crate::web::clients::ClientPool;
use crate::web::driver::Connection;
use crate::web::process::Service;
use crate::{Fault, Plan, host_info};

/// Accounts with one endpoint that lives.
const LIVE_ACCOUNTS: usize = 64;
/// Accounts whose endpoints are dead, and how many each has; every second one refuses, the others accept and never answer.
const DEAD_ACCOUNTS: usize = 100;
const EACH: usize = 20;
/// Between two purchases of an account that is listened to; of the others every tenth account buys.
const PACE: Duration = Duration::from_millis(20);
/// Factor by which a round is longer than in the other groups: an attempt that hangs takes 15 s.
const LONGER: u32 = 8;
const TIMEOUT: Duration = Duration::from_secs(60);

/// Measures and prints.
pub(crate) fn run(plan: Plan) -> Result<(), Fault> {
    let client = Builder::new_current_thread().enable_all().build()?;
    let live = Receiver::start()?;
    let dead = DeadEndpoints::bind()?;
    let (alone, beside) = (host_info::directory()?, host_info::directory()?);
    let alone = ServiceUnderTest::open(&client, alone.path(), &live, None)?;
    let beside = ServiceUnderTest::open(&client, beside.path(), &live, Some(&dead))?;
    println!(
        "\nWebhooks: {LIVE_ACCOUNTS} live endpoints, alone and beside {} dead ones; one purchase every {} ms, milliseconds from \
         the event's time to its receipt",
        DEAD_ACCOUNTS * EACH,
        PACE.as_millis()
    );
    let mut rounds = Vec::new();
    for round in 0..=plan.rounds {
        let time = Duration::from_millis(plan.round_ms) * LONGER;
        let without = client.block_on(alone.round(&live, time))?;
        let with = client.block_on(beside.round(&live, time))?;
        if round > 0 {
            println!("  round {round}: alone {without}, beside {with}");
            rounds.push((without, with));
        }
    }
    let ratio = median(
        rounds
            .iter()
            .map(|(without, with)| with.p99 as f64 / without.p99.max(1) as f64),
    );
    let of = |side: fn(&(Latencies, Latencies)) -> Latencies| median(rounds.iter().map(|round| side(round).p99 as f64));
    println!(
        "  p99, medians: alone {:.0} ms, beside {:.0} ms; ratio {ratio:.2}",
        of(|round| round.0),
        of(|round| round.1)
    );
    Ok(())
}

/// How long the events of a round took, in milliseconds.
#[derive(Clone, Copy)]
struct Latencies {
    count: usize,
    p50: u64,
    p99: u64,
}

impl std::fmt::Display for Latencies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} events, p50 {} ms, p99 {} ms", self.count, self.p50, self.p99)
    }
}

/// A service with its customers.
struct ServiceUnderTest {
    service: Service,
    clients: ClientPool,
    clients_without_endpoint: ClientPool,
}

impl ServiceUnderTest {
    fn open(
        client: &tokio::runtime::Runtime,
        dir: &std::path::Path,
        live: &Receiver,
        dead: Option<&DeadEndpoints>,
    ) -> Result<Self, Fault> {
        let local = [
            ("PURSER_OUTBOUND__ALLOWED_HOSTS", "[\"127.0.0.1:*\"]"),
            ("PURSER_WEBHOOKS__MAX_PER_ACCOUNT", "100"),
        ];
        let service = Service::start_with(dir, &[], &local)?;
        client.block_on(async {
            let heard = ClientPool::open(service.address, LIVE_ACCOUNTS).await?;
            let unheard = ClientPool::open(service.address, DEAD_ACCOUNTS).await?;
            for token in heard.tokens() {
                register(service.address, token, &live.url).await?;
            }
            for token in unheard.tokens() {
                for n in 0..EACH {
                    if let Some(dead) = dead {
                        register(service.address, token, &dead.url(n)).await?;
                    }
                }
            }
            live.drain().await;
            Ok(Self {
                service,
                clients: heard,
                clients_without_endpoint: unheard,
            })
        })
    }

    /// Purchases at their pace; the time of each `card.ready` to its receiver.
    async fn round(&self, live: &Receiver, time: Duration) -> Result<Latencies, Fault> {
        let count = (time.as_millis() / PACE.as_millis()) as usize;
        let (heard, unheard) = (
            self.clients.sign(count).await?,
            self.clients_without_endpoint.sign(count / 10).await?,
        );
        let mut connection = Connection::open(self.service.address).await?;
        let mut pace: Interval = interval(PACE);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut unheard = unheard.into_iter();
        for (n, payment) in heard.iter().enumerate() {
            pace.tick().await;
            assert_eq!(connection.call(payment).await?.status, 200);
            if n % 10 == 0
                && let Some(payment) = unheard.next()
            {
                assert_eq!(connection.call(&payment).await?.status, 200);
            }
        }
        let mut took = live.take_ages(count).await?;
        took.sort_unstable();
        let at = |share: usize| took.get(took.len() * share / 100).copied().unwrap_or(0);
        Ok(Latencies {
            count: took.len(),
            p50: at(50),
            p99: at(99),
        })
    }
}

async fn register(address: SocketAddr, token: &str, url: &str) -> Result<(), Fault> {
    let body = json!({"url": url, "types": ["card.ready"]}).to_string();
    let request = format!(
        "POST /register-webhook HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nContent-Type: \
         application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = Connection::open(address).await?.call(request.as_bytes()).await?;
    match answer.status {
        200 => Ok(()),
        status => Err(format!("{status}: {}", String::from_utf8_lossy(&answer.body)).into()),
    }
}

/// Answers every event at once, and tells how old it was.
struct Receiver {
    url: String,
    ages: Arc<tokio::sync::Mutex<UnboundedReceiver<u64>>>,
}

impl Receiver {
    fn start() -> Result<Self, Fault> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let url = format!("http://{}/", listener.local_addr()?);
        let (received, ages) = unbounded_channel();
        let runtime = Builder::new_current_thread().enable_all().build()?;
        std::thread::spawn(move || {
            runtime.block_on(async {
                let router = Router::new().route("/", post(receive)).with_state(received);
                axum::serve(tokio::net::TcpListener::from_std(listener)?, router).await
            })
        });
        Ok(Self {
            url,
            ages: Arc::new(tokio::sync::Mutex::new(ages)),
        })
    }

    /// The ages of this number of events.
    async fn take_ages(&self, count: usize) -> Result<Vec<u64>, Fault> {
        let mut ages = self.ages.lock().await;
        let mut taken = Vec::with_capacity(count);
        while taken.len() < count {
            let next = timeout(TIMEOUT, ages.recv()).await;
            taken.push(
                next.ok()
                    .flatten()
                    .ok_or("a live endpoint has not received everything")?,
            );
        }
        Ok(taken)
    }

    /// Everything that is still on its way to us has come.
    async fn drain(&self) {
        let mut ages = self.ages.lock().await;
        let begun = Instant::now();
        while begun.elapsed() < TIMEOUT && timeout(Duration::from_secs(1), ages.recv()).await.is_ok() {}
    }
}

async fn receive(State(received): State<UnboundedSender<u64>>, body: Bytes) {
    let now = SystemClock.now().0;
    let event: Value = serde_json::from_slice(&body).unwrap_or_default();
    let happened = event["created_at"].as_str().and_then(rfc3339::parse);
    if let (Some("card.ready"), Some(at)) = (event["type"].as_str(), happened) {
        // Events after the last round are not read.
        let _ = received.send(now.saturating_sub(at.0));
    }
}

/// Two addresses that never answer.
struct DeadEndpoints {
    hanging: std::net::TcpListener,
    refusing: SocketAddr,
}

impl DeadEndpoints {
    /// Connections to one wait in its backlog forever, because it never accepts them; the other port is free, so its
    /// connections are refused.
    fn bind() -> Result<Self, Fault> {
        let socket = tokio::net::TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
        let hangs = Builder::new_current_thread()
            .enable_all()
            .build()?
            .block_on(async { socket.listen(4_096)?.into_std() })?;
        let refuses = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        Ok(Self {
            hanging: hangs,
            refusing: refuses,
        })
    }

    fn url(&self, n: usize) -> String {
        let address = if n.is_multiple_of(2) {
            self.hanging.local_addr().ok()
        } else {
            None
        };
        format!("http://{}/{n}", address.unwrap_or(self.refusing))
    }
}
