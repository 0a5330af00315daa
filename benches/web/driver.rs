//! A load driver with as little of its own as can be: requests are bytes made before, answers are read to their end and
//! their status is compared.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::Fault;
use crate::callers::Calls;

/// What one connection sends, a request at a time.
pub(crate) enum Workload {
    /// The same, for as long.
    Same(Vec<u8>, Duration),
    /// Sends each request once.
    Each(Vec<Vec<u8>>),
    /// Each once, and one every so often; a late one at once.
    Paced(Vec<Vec<u8>>, Duration),
}

/// Requests dealt out to connections.
pub(crate) fn spread(requests: &[Vec<u8>], connections: usize) -> Vec<Workload> {
    (0..connections)
        .map(|n| Workload::Each(requests.iter().skip(n).step_by(connections).cloned().collect()))
        .collect()
}

/// An answer in full.
#[derive(Clone)]
pub(crate) struct Response {
    /// Of the status line.
    pub(crate) status: u16,
    /// Status line and headers.
    pub(crate) head: String,
    /// As long as `content-length` says.
    pub(crate) body: Vec<u8>,
}

impl Response {
    /// A header's value.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (own, value) = line.split_once(':')?;
            own.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// A keep-alive connection.
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Result<Self, Fault> {
        Self::over(TcpStream::connect(address).await?)
    }

    /// Over an open connection.
    pub(crate) fn over(stream: TcpStream) -> Result<Self, Fault> {
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            buffer: Vec::with_capacity(1 << 16),
        })
    }

    /// One request and its answer's status; the answer stays in the buffer. Gives the length of its head.
    async fn exchange(&mut self, request: &[u8]) -> Result<(u16, usize), Fault> {
        self.stream.write_all(request).await?;
        self.buffer.clear();
        let (mut head, mut whole) = (0, usize::MAX);
        while self.buffer.len() < whole {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err("the server closed a connection".into());
            }
            if head == 0
                && let Some(end) = find(&self.buffer, b"\r\n\r\n")
            {
                head = end + 4;
                whole = head + content_length(&self.buffer[..head])?;
            }
        }
        let status = self.buffer.get(9..12).and_then(|s| std::str::from_utf8(s).ok());
        Ok((status.unwrap_or_default().parse()?, head))
    }

    /// One request and its answer.
    pub(crate) async fn call(&mut self, request: &[u8]) -> Result<Response, Fault> {
        let (status, head) = self.exchange(request).await?;
        Ok(Response {
            status,
            head: String::from_utf8(self.buffer[..head].to_vec())?,
            body: self.buffer[head..].to_vec(),
        })
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|w| w == wanted)
}

fn content_length(head: &[u8]) -> Result<usize, Fault> {
    const NAME: &[u8] = b"content-length:";
    let line = head
        .split(|b| *b == b'\n')
        .find(|line| line.len() > NAME.len() && line[..NAME.len()].eq_ignore_ascii_case(NAME));
    let value = line.ok_or("an answer without content-length")?;
    Ok(std::str::from_utf8(&value[NAME.len()..])?.trim().parse()?)
}

/// Sends all work, each on a connection of its own, and times every call.
///
/// Any answer with another status ends the measurement: it would be of something else.
pub(crate) async fn drive(address: SocketAddr, work: Vec<Workload>, status: u16) -> Result<Calls, Fault> {
    let mut ready = Vec::new();
    for work in work {
        ready.push((Connection::open(address).await?, work));
    }
    let begun = Instant::now();
    let tasks: Vec<_> = ready
        .into_iter()
        .map(|(connection, work)| tokio::spawn(one(connection, work, status)))
        .collect();
    let mut latencies = Vec::new();
    for task in tasks {
        latencies.extend(task.await??);
    }
    Ok(Calls {
        latencies,
        seconds: begun.elapsed().as_secs_f64(),
    })
}

async fn one(mut connection: Connection, work: Workload, status: u16) -> Result<Vec<u32>, Fault> {
    let mut latencies = Vec::with_capacity(4096);
    let mut now = Instant::now();
    let mut call = async |request: &[u8], now: &mut Instant| {
        let (answered, head) = connection.exchange(request).await?;
        if answered != status {
            let text = String::from_utf8_lossy(&connection.buffer[head..]).into_owned();
            return Err::<(), Fault>(format!("{answered} instead of {status}: {text}").into());
        }
        let after = Instant::now();
        latencies.push(u32::try_from((after - *now).as_micros()).unwrap_or(u32::MAX));
        *now = after;
        Ok(())
    };
    match work {
        Workload::Same(request, time) => {
            let until = now + time;
            while now < until {
                call(&request, &mut now).await?;
            }
        }
        Workload::Each(requests) => {
            for request in requests {
                call(&request, &mut now).await?;
            }
        }
        Workload::Paced(requests, every) => {
            let begun = tokio::time::Instant::now();
            for (n, request) in requests.into_iter().enumerate() {
                tokio::time::sleep_until(begun + every * u32::try_from(n)?).await;
                now = Instant::now();
                call(&request, &mut now).await?;
            }
        }
    }
    Ok(latencies)
}
