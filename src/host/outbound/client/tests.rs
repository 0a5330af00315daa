#![allow(clippy::unwrap_used)]

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};

use purser_actors::port::BoxFuture;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::*;

const LIMITS: CallLimits = CallLimits {
    connect: Duration::from_secs(5),
    total: Duration::from_secs(20),
    body_bytes: 10_000,
    header_bytes: 4_000,
};

fn get() -> OutboundRequest {
    OutboundRequest {
        method: Method::GET,
        headers: Vec::new(),
        body: None,
    }
}

/// A server that runs `serve` for each connection after reading the request's first bytes, and its address.
async fn server<F>(serve: impl Fn(TcpStream) -> F + Send + 'static) -> SocketAddr
where
    F: Future<Output = io::Result<()>> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut first = [0; 1_024];
            if stream.read(&mut first).await.is_ok() {
                tokio::spawn(serve(stream));
            }
        }
    });
    address
}

fn listing(address: SocketAddr, limits: CallLimits) -> OutboundClient {
    OutboundClient::new(AddressPolicy::new(&[80], &[address.to_string()]), limits).unwrap()
}

async fn called(address: SocketAddr, limits: CallLimits) -> Result<OutboundResponse, OutboundError> {
    let caller = listing(address, limits);
    let target = caller.check_url(&format!("http://{address}/paid")).unwrap();
    caller.call(&target, get()).await
}

/// Returns one answer first and another afterwards.
struct Rebinding {
    lookups: AtomicUsize,
    answers: [Vec<IpAddr>; 2],
}

impl DnsLookup for Rebinding {
    fn addresses<'a>(&'a self, _: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let n = self.lookups.fetch_add(1, Ordering::SeqCst).min(1);
        Box::pin(async move { Ok(self.answers[n].clone()) })
    }
}

async fn through(says: [Vec<IpAddr>; 2], port: u16) -> (Result<OutboundResponse, OutboundError>, usize) {
    let lookup = Arc::new(Rebinding {
        lookups: AtomicUsize::new(0),
        answers: says,
    });
    let limits = CallLimits {
        connect: Duration::from_millis(300),
        total: Duration::from_secs(2),
        ..LIMITS
    };
    let policy = AddressPolicy::new(&[port], &[]);
    let caller = OutboundClient::with_lookup(policy, limits, lookup.clone()).unwrap();
    let target = caller.check_url(&format!("http://shop.example.com:{port}/")).unwrap();
    (caller.call(&target, get()).await, lookup.lookups.load(Ordering::SeqCst))
}

// Checks (case 59): a name with an internal address is not called, even if only one of its addresses is internal.
#[tokio::test]
async fn case_59_a_name_that_means_an_inside_address_is_not_called() {
    let reached = Arc::new(AtomicUsize::new(0));
    let counted = reached.clone();
    let address = server(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        async { Ok(()) }
    })
    .await;
    let (inside, outside): (IpAddr, IpAddr) = (Ipv4Addr::LOCALHOST.into(), [192, 0, 9, 1].into());
    for says in [
        vec![inside],
        vec![outside, inside],
        vec!["::ffff:127.0.0.1".parse().unwrap()],
    ] {
        let (first_attempts, asked) = through([says.clone(), says], address.port()).await;
        assert_eq!(
            first_attempts.unwrap_err(),
            OutboundError::Blocked(BlockedUrl::InternalAddress)
        );
        assert_eq!(asked, 1);
    }
    assert_eq!(reached.load(Ordering::SeqCst), 0, "no internal address was dialled");
}

// Checks (case 59): a name is resolved once, and the checked address is the one that is dialled. A name that becomes
// internal after the check is still dialled at the external address, which does not respond.
#[tokio::test]
async fn case_59_the_address_that_was_judged_is_the_one_dialled() {
    let reached = Arc::new(AtomicUsize::new(0));
    let counted = reached.clone();
    let address = server(move |mut stream| {
        counted.fetch_add(1, Ordering::SeqCst);
        async move { stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await }
    })
    .await;
    // From a block that is unassigned and not special.
    let outside: IpAddr = [192, 0, 9, 1].into();
    let (first_attempts, asked) = through([vec![outside], vec![Ipv4Addr::LOCALHOST.into()]], address.port()).await;
    assert!(first_attempts.is_err(), "{first_attempts:?}");
    assert_eq!((asked, reached.load(Ordering::SeqCst)), (1, 0));
}

// Checks (case 59): a redirect is a normal response and is never followed.
#[tokio::test]
async fn case_59_a_redirect_is_not_followed() {
    let address = server(|mut stream| async move {
        let answer = "HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(answer.as_bytes()).await
    })
    .await;
    assert_eq!(called(address, LIMITS).await.unwrap().status, 302);
}

// Checks (case 60): an endless response is read up to the limit and no further. That holds with or without a declared
// length, and for an endless body or endless headers.
#[tokio::test]
async fn case_60_an_answer_without_end_is_cut_at_the_limit() {
    for head in [
        "HTTP/1.1 200 OK\r\ncontent-length: 1073741824\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\n",
    ] {
        let sent = Arc::new(AtomicUsize::new(0));
        let counted = sent.clone();
        let address = server(move |mut stream| {
            let counted = counted.clone();
            async move {
                stream.write_all(head.as_bytes()).await?;
                loop {
                    stream.write_all(&[b'x'; 65_536]).await?;
                    counted.fetch_add(65_536, Ordering::SeqCst);
                }
            }
        })
        .await;
        assert_eq!(called(address, LIMITS).await.unwrap_err(), OutboundError::TooLarge);
        // The system's buffers are sent; bytes that nothing reads are not.
        assert!(sent.load(Ordering::SeqCst) < 64 * 1024 * 1024, "{sent:?}");
    }
    let address = server(|mut stream| async move {
        let header = format!(
            "HTTP/1.1 200 OK\r\nx: {}\r\ncontent-length: 0\r\n\r\n",
            "y".repeat(5_000)
        );
        stream.write_all(header.as_bytes()).await
    })
    .await;
    assert_eq!(called(address, LIMITS).await.unwrap_err(), OutboundError::TooLarge);
    let address = server(|mut stream| async move {
        stream.write_all(b"HTTP/1.1 200 OK\r\n").await?;
        loop {
            stream.write_all(b"x: y\r\n").await?;
        }
    })
    .await;
    assert_eq!(called(address, LIMITS).await.unwrap_err(), OutboundError::Disconnected);
}

// Checks (case 60): a server that hangs, drips or disconnects is given up in bounded time with the right error.
#[tokio::test]
async fn case_60_slow_or_interrupted_responses_time_out() {
    let short = CallLimits {
        total: Duration::from_millis(300),
        ..LIMITS
    };
    let hangs = server(|stream| async move {
        tokio::time::sleep(Duration::from_secs(600)).await;
        drop(stream);
        Ok(())
    })
    .await;
    assert_eq!(called(hangs, short).await.unwrap_err(), OutboundError::Timeout);
    let drips = server(|mut stream| async move {
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9000\r\n\r\n")
            .await?;
        loop {
            stream.write_all(b"x").await?;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    assert_eq!(called(drips, short).await.unwrap_err(), OutboundError::Timeout);
    let breaks =
        server(|mut stream| async move { stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx").await })
            .await;
    assert_eq!(called(breaks, LIMITS).await.unwrap_err(), OutboundError::Disconnected);
    let unused_address = {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap()
    };
    assert_eq!(
        called(unused_address, LIMITS).await.unwrap_err(),
        OutboundError::Unreachable
    );
}

// Checks (case 60): statuses that ask for a later retry are responses with their headers.
#[tokio::test]
async fn case_60_other_statuses_are_answers_with_their_headers() {
    for (status, header) in [("410 Gone", "x-a: b"), ("429 Too Many Requests", "retry-after: 7")] {
        let head = format!("HTTP/1.1 {status}\r\n{header}\r\ncontent-length: 2\r\n\r\n{{}}");
        let address = server(move |mut stream| {
            let head = head.clone();
            async move { stream.write_all(head.as_bytes()).await }
        })
        .await;
        let answered = called(address, LIMITS).await.unwrap();
        assert_eq!(answered.status.to_string(), status[..3]);
        let (name, value) = header.split_once(": ").unwrap();
        assert_eq!(answered.headers[name], value);
        assert_eq!(answered.body, b"{}");
    }
}
