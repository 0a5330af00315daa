//! The subscribers. The parent invites them by a line of JSON on standard input and hears when all are there; each further
//! line asks what they have received since the last one; at the end of the input they leave.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use purser::rfc3339;
use purser::system::{SystemClock, raise_open_file_limit};
use purser_actors::port::Clock;
use serde::{Deserialize, Serialize};
use tokio::net::TcpSocket;
use tokio::task::JoinSet;
use tokio_tungstenite::client_async_with_config;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

use crate::Fault;

/// Subscribers to connect.
#[derive(Serialize, Deserialize)]
pub(crate) struct SubscriberSetup {
    pub(crate) address: SocketAddr,
    /// How often some came before, from other addresses.
    pub(crate) generation: usize,
    /// Tokens of those to whom nothing happens, one for each.
    pub(crate) idle: Vec<String>,
    /// Tokens of those whose receipts are timed.
    pub(crate) active: Vec<String>,
}

/// What was received.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct ReceivedEvents {
    /// How many events.
    pub(crate) events: u64,
    /// From an event's `created_at` to its receipt.
    pub(crate) p50_ms: u64,
    pub(crate) p99_ms: u64,
    pub(crate) max_ms: u64,
}

/// The process they are in.
pub(crate) struct SubscriberProcess {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl SubscriberProcess {
    /// Starts it and waits until all are subscribed.
    pub(crate) fn gather(invitation: &SubscriberSetup) -> Result<Self, Fault> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["part", "watchers"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (ask, hear) = (child.stdin.take(), child.stdout.take());
        let mut crowd = Self {
            stdin: ask.ok_or("no standard input")?,
            stdout: BufReader::new(hear.ok_or("no standard output")?),
            child,
        };
        let come: usize = crowd.request(&serde_json::to_string(invitation)?)?;
        assert_eq!(come, invitation.idle.len() + invitation.active.len(), "everybody came");
        Ok(crowd)
    }

    fn request<T: for<'a> Deserialize<'a>>(&mut self, line: &str) -> Result<T, Fault> {
        writeln!(self.stdin, "{line}")?;
        let mut answer = String::new();
        self.stdout.read_line(&mut answer)?;
        Ok(serde_json::from_str(&answer)?)
    }

    /// What was received since this was last asked, once nothing has come for a second.
    pub(crate) fn settled(&mut self) -> Result<ReceivedEvents, Fault> {
        self.request("receipts")
    }

    /// They hang up.
    pub(crate) fn disconnect(self) -> Result<(), Fault> {
        let Self {
            mut child, stdin: ask, ..
        } = self;
        drop(ask);
        let left = child.wait()?;
        assert!(left.success(), "no subscriber was disconnected");
        Ok(())
    }
}

/// How long each event took to arrive, in milliseconds.
type Times = Arc<Mutex<Vec<u64>>>;

/// The process itself.
pub(crate) fn serve() -> Result<(), Fault> {
    raise_open_file_limit();
    let mut lines = std::io::stdin().lines();
    let invitation: SubscriberSetup = serde_json::from_str(&lines.next().ok_or("no invitation")??)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let times = Times::default();
    let tasks = runtime.block_on(connect_all(invitation, &times))?;
    println!("{}", tasks.len());
    for _question in lines {
        let mut before = usize::MAX;
        while before != count(&times) {
            before = count(&times);
            std::thread::sleep(Duration::from_secs(1));
        }
        let taken = times.lock().map(|mut times| std::mem::take(&mut *times));
        println!("{}", serde_json::to_string(&receipts(taken.unwrap_or_default()))?);
    }
    let gone = tasks.iter().filter(|task| task.is_finished()).count();
    assert_eq!(gone, 0, "every subscriber is there to the end");
    Ok(())
}

fn count(times: &Times) -> usize {
    times.lock().map_or(0, |times| times.len())
}

fn receipts(mut times: Vec<u64>) -> ReceivedEvents {
    times.sort_unstable();
    let at = |percent: usize| times.get(times.len() * percent / 100).copied().unwrap_or(0);
    ReceivedEvents {
        events: times.len() as u64,
        p50_ms: at(50),
        p99_ms: at(99),
        max_ms: times.last().copied().unwrap_or(0),
    }
}

/// Comers at once.
const MAX_CONCURRENT_CONNECTS: usize = 64;
/// From one address: a quarter of the ports that Linux gives out, since those of the last generations may still be taken.
const FROM_ONE_ADDRESS: usize = 5_000;

async fn connect_all(invitation: SubscriberSetup, times: &Times) -> Result<Vec<tokio::task::JoinHandle<()>>, Fault> {
    let SubscriberSetup {
        address,
        generation,
        idle,
        active,
    } = invitation;
    let idle = idle.into_iter().map(|token| (token, None));
    let active = active.into_iter().map(|token| (token, Some(times.clone())));
    let (mut tasks, mut coming) = (Vec::new(), JoinSet::new());
    for (n, (token, times)) in idle.chain(active).enumerate() {
        if coming.len() == MAX_CONCURRENT_CONNECTS
            && let Some(come) = coming.join_next().await
        {
            tasks.push(come??);
        }
        let place = u8::try_from(n / FROM_ONE_ADDRESS)?;
        let from = Ipv4Addr::new(127, 1, u8::try_from(generation)?, place + 1);
        coming.spawn(run_subscriber(address, from, token, times));
    }
    while let Some(come) = coming.join_next().await {
        tasks.push(come??);
    }
    Ok(tasks)
}

/// One subscriber, there when its subscription was answered.
async fn run_subscriber(
    address: SocketAddr,
    from: Ipv4Addr,
    token: String,
    times: Option<Times>,
) -> Result<tokio::task::JoinHandle<()>, Fault> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((from, 0).into())?;
    let stream = socket.connect(address).await?;
    let mut request = format!("ws://{address}/stream").into_client_request()?;
    request
        .headers_mut()
        .insert("authorization", format!("Bearer {token}").parse()?);
    // What subscribers keep is not measured; 10,000 of them are to fit beside the service.
    let config = WebSocketConfig::default()
        .read_buffer_size(1 << 10)
        .write_buffer_size(0);
    let (mut socket, _) = client_async_with_config(request, stream, Some(config)).await?;
    socket.send(Message::text(r#"{"type":"subscribe"}"#)).await?;
    socket.next().await.ok_or("a subscription was not answered")??;
    Ok(tokio::spawn(async move {
        while let Some(Ok(message)) = socket.next().await {
            let (Message::Text(text), Some(times)) = (message, &times) else {
                continue;
            };
            let created = text
                .split("\"created_at\":\"")
                .nth(1)
                .and_then(|rest| rest.split('"').next());
            if let (Some(created), Ok(mut times)) = (created.and_then(rfc3339::parse), times.lock()) {
                times.push(SystemClock.now().0.saturating_sub(created.0));
            }
        }
    }))
}
