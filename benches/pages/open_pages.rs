//! Open pages, in a process of their own: each sends the first requests of the dashboard's home page and keeps its stream.
//! The parent gives the cookies by a line of JSON on standard input and hears when all pages are live; each further line
//! asks what they have received; at the end of the input they close.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use purser::system::raise_open_file_limit;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

use super::opening::EVERYTHING_SPENT;
use crate::Fault;
use crate::web::clients::request;
use crate::web::driver::Connection;

/// Pages to open.
#[derive(Serialize, Deserialize)]
pub(crate) struct PageSetup {
    pub(crate) address: SocketAddr,
    /// How often some were open before, from other addresses: the ports of the last ones are not free yet.
    pub(crate) generation: usize,
    /// The cookie of each page.
    pub(crate) cookies: Vec<String>,
}

/// What a page has received since it was opened.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ReceivedByPage {
    pub(crate) settled: usize,
    pub(crate) ready: usize,
    /// Every event once and after the one before.
    pub(crate) in_order: bool,
}

/// The process that the pages are in.
pub(crate) struct OpenPages {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl OpenPages {
    /// Starts it and waits until all pages are live.
    pub(crate) fn open(setup: &PageSetup) -> Result<Self, Fault> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["part", "pages"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let mut open = Self {
            stdin: stdin.ok_or("no standard input")?,
            stdout: BufReader::new(stdout.ok_or("no standard output")?),
            child,
        };
        let live: usize = open.ask(&serde_json::to_string(setup)?)?;
        assert_eq!(live, setup.cookies.len(), "every page is live");
        Ok(open)
    }

    fn ask<T: for<'a> Deserialize<'a>>(&mut self, line: &str) -> Result<T, Fault> {
        writeln!(self.stdin, "{line}")?;
        let mut answer = String::new();
        self.stdout.read_line(&mut answer)?;
        Ok(serde_json::from_str(&answer)?)
    }

    /// What each page has received, once nothing has come for a second.
    pub(crate) fn received(&mut self) -> Result<Vec<ReceivedByPage>, Fault> {
        self.ask("received")
    }

    /// The pages are closed.
    pub(crate) fn close(self) -> Result<(), Fault> {
        let Self { mut child, stdin, .. } = self;
        drop(stdin);
        let ended = child.wait()?;
        assert!(ended.success(), "no page lost its stream");
        Ok(())
    }
}

#[derive(Default)]
struct Tally {
    settled: AtomicUsize,
    ready: AtomicUsize,
    events: AtomicU64,
    out_of_order: AtomicBool,
}

/// The process itself.
pub(crate) fn serve() -> Result<(), Fault> {
    raise_open_file_limit();
    let mut lines = std::io::stdin().lines();
    let setup: PageSetup = serde_json::from_str(&lines.next().ok_or("no setup")??)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let (gone, lost) = mpsc::channel();
    let pages = runtime.block_on(open_all(setup, &gone))?;
    println!("{}", pages.len());
    for _question in lines {
        let count = || {
            pages
                .iter()
                .map(|page| page.events.load(Ordering::Relaxed))
                .sum::<u64>()
        };
        let mut before = u64::MAX;
        while before != count() {
            before = count();
            std::thread::sleep(Duration::from_secs(1));
        }
        let received = pages.iter().map(|page| ReceivedByPage {
            settled: page.settled.load(Ordering::Relaxed),
            ready: page.ready.load(Ordering::Relaxed),
            in_order: !page.out_of_order.load(Ordering::Relaxed),
        });
        println!("{}", serde_json::to_string(&received.collect::<Vec<_>>())?);
    }
    match lost.try_recv() {
        Ok(why) => Err(format!("a page lost its stream: {why}").into()),
        Err(_) => Ok(()),
    }
}

/// Pages that open at once.
const MAX_CONCURRENT: usize = 32;

async fn open_all(setup: PageSetup, gone: &mpsc::Sender<String>) -> Result<Vec<Arc<Tally>>, Fault> {
    let from = Ipv4Addr::new(127, 2, u8::try_from(setup.generation)?, 1);
    let (mut opening, mut pages) = (JoinSet::new(), Vec::new());
    for cookie in setup.cookies {
        if opening.len() == MAX_CONCURRENT
            && let Some(opened) = opening.join_next().await
        {
            opened??;
        }
        let tally = Arc::<Tally>::default();
        pages.push(tally.clone());
        opening.spawn(open(setup.address, from, cookie, tally, gone.clone()));
    }
    while let Some(opened) = opening.join_next().await {
        opened??;
    }
    Ok(pages)
}

/// As the dashboard's home page sends them.
const FIRST_REQUESTS: [&str; 6] = [
    "/events?order=desc&limit=60",
    "/list-card-transactions?limit=50",
    "/get-payment-status?order=desc&limit=50",
    "/get-withdrawal-status?order=desc&limit=50",
    EVERYTHING_SPENT,
    "/dashboard",
];

/// Opens one page; it is live on return.
async fn open(
    address: SocketAddr,
    from: Ipv4Addr,
    cookie: String,
    tally: Arc<Tally>,
    gone: mpsc::Sender<String>,
) -> Result<(), Fault> {
    let headers = format!("Cookie: {cookie}\r\nSec-Fetch-Site: same-origin\r\n");
    let mut connection = Connection::over(connect(address, from).await?)?;
    let account = connection.call(&request(address, "/account", &headers)).await?;
    let account: serde_json::Value = serde_json::from_slice(&account.body)?;
    let seq = account["seq"]
        .as_u64()
        .ok_or_else(|| format!("no account: {account}"))?;
    // A page that was opened with a payment's token decides nothing.
    let approvals = (account["rights"] == "act").then_some("/account/approvals?limit=50");
    for target in approvals.into_iter().chain(FIRST_REQUESTS) {
        let answer = connection.call(&request(address, target, &headers)).await?;
        if answer.status != 200 {
            return Err(format!("{} for {target}", answer.status).into());
        }
    }
    drop(connection);
    let mut socket = PageSocket::open(connect(address, from).await?, address, &cookie).await?;
    socket.send(&format!(r#"{{"type":"subscribe","after":{seq}}}"#)).await?;
    // A ping follows the subscription.
    socket.receive(&tally).await?;
    tokio::spawn(async move {
        let mut last = seq;
        let ended = loop {
            match socket.receive(&tally).await {
                Ok(Some(next)) if next <= last => tally.out_of_order.store(true, Ordering::Relaxed),
                Ok(Some(next)) => last = next,
                Ok(None) => {}
                Err(error) => break error,
            }
        };
        drop(gone.send(ended.to_string()));
    });
    Ok(())
}

async fn connect(address: SocketAddr, from: Ipv4Addr) -> Result<TcpStream, Fault> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((from, 0).into())?;
    Ok(socket.connect(address).await?)
}

/// A WebSocket that costs the machine less than a client's library would: the pages share it with the service.
struct PageSocket {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// Bytes of the buffer that were read.
    done: usize,
}

impl PageSocket {
    async fn open(mut stream: TcpStream, address: SocketAddr, cookie: &str) -> Result<Self, Fault> {
        let upgrade = format!(
            "GET /stream HTTP/1.1\r\nHost: {address}\r\nOrigin: http://{address}\r\nCookie: {cookie}\r\n\
             Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        stream.write_all(upgrade.as_bytes()).await?;
        let mut socket = Self {
            stream,
            buffer: Vec::with_capacity(16 << 10),
            done: 0,
        };
        let end = loop {
            if let Some(end) = find(&socket.buffer, b"\r\n\r\n") {
                break end + 4;
            }
            socket.fill().await?;
        };
        if !socket.buffer.starts_with(b"HTTP/1.1 101") {
            return Err(String::from_utf8_lossy(&socket.buffer).into_owned().into());
        }
        socket.done = end;
        Ok(socket)
    }

    async fn fill(&mut self) -> Result<(), Fault> {
        match self.stream.read_buf(&mut self.buffer).await? {
            0 => Err("the service closed a stream".into()),
            _ => Ok(()),
        }
    }

    /// Clients mask their frames; a mask of zeros leaves the text as it is.
    async fn send(&mut self, text: &str) -> Result<(), Fault> {
        let length = u8::try_from(text.len()).ok().filter(|length| *length < 126);
        let head = [0x81, 0x80 | length.ok_or("a short text")?, 0, 0, 0, 0];
        self.stream.write_all(&[&head[..], text.as_bytes()].concat()).await?;
        Ok(())
    }

    /// The next frame; the sequence number if it is an event.
    async fn receive(&mut self, tally: &Tally) -> Result<Option<u64>, Fault> {
        loop {
            let unread = &self.buffer[self.done..];
            if let Some((begin, end)) = frame(unread)? {
                let text = &unread[begin..end];
                let is_ping = text.starts_with(br#"{"type":"ping""#);
                let seq = if is_ping { None } else { count(text, tally)? };
                self.done += end;
                if is_ping {
                    self.send(r#"{"type":"pong"}"#).await?;
                }
                return Ok(seq);
            }
            self.buffer.drain(..self.done);
            self.done = 0;
            self.fill().await?;
        }
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// Where the text of the first frame is, if it is there in full (RFC 6455, 5.2).
fn frame(bytes: &[u8]) -> Result<Option<(usize, usize)>, Fault> {
    let [first, short, rest @ ..] = bytes else {
        return Ok(None);
    };
    let (begin, length) = match (short, rest) {
        (126, [a, b, ..]) => (4, usize::from(u16::from_be_bytes([*a, *b]))),
        (127, _) => match rest.first_chunk::<8>() {
            Some(length) => (10, usize::try_from(u64::from_be_bytes(*length))?),
            None => return Ok(None),
        },
        (126, _) => return Ok(None),
        (short, _) => (2, usize::from(*short)),
    };
    let end = begin + length;
    if bytes.len() < end {
        return Ok(None);
    }
    match first {
        0x81 => Ok(Some((begin, end))),
        _ => Err(format!(
            "a frame of kind {first:x}: {}",
            String::from_utf8_lossy(&bytes[begin..end])
        )
        .into()),
    }
}

/// Counts an event and returns its sequence number. Both are at the beginning of the text.
fn count(text: &[u8], tally: &Tally) -> Result<Option<u64>, Fault> {
    const BEGIN: &[u8] = br#"{"type":"event","event":{"seq":"#;
    let unknown = || Fault::from(String::from_utf8_lossy(text).into_owned());
    let rest = text.strip_prefix(BEGIN).ok_or_else(unknown)?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let seq = std::str::from_utf8(&rest[..digits])?.parse()?;
    let kind = find(&rest[..rest.len().min(160)], br#""type":""#).ok_or_else(unknown)?;
    let kind = &rest[kind + 8..];
    tally.events.fetch_add(1, Ordering::Relaxed);
    if kind.starts_with(b"payment.settled\"") {
        tally.settled.fetch_add(1, Ordering::Relaxed);
    } else if kind.starts_with(b"card.ready\"") {
        tally.ready.fetch_add(1, Ordering::Relaxed);
    }
    Ok(Some(seq))
}
