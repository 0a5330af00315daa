//! Limits, each tested at its value and one beyond it.

use std::sync::atomic::Ordering;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::harness::Harness;

// Checks: the last request of the window passes, the next gets 429 with the body of the contract, and the next window
// starts at zero.
#[tokio::test]
async fn rate_limit_holds_for_a_window() {
    let world = Harness::with(&[("limits.requests_per_window", "3")]).await;
    for left in ["2", "1", "0"] {
        let answer = world.get("/get-pricing").await;
        assert_eq!((answer.status, answer.header("ratelimit-remaining")), (200, left));
        assert_eq!(answer.header("ratelimit-policy"), "3;w=60");
    }
    let refused = world.get("/get-pricing").await;
    refused.assert_standard_headers();
    let body = refused.json();
    assert_eq!((refused.status, &body["code"]), (429, &"rate_limited".into()));
    assert_eq!(refused.header("retry-after"), body["retry_after_seconds"].to_string());
    assert_eq!(refused.header("retry-after"), refused.header("ratelimit-reset"));
    assert!(body["hint"].is_string());
    world.clock.0.fetch_add(60_000, Ordering::SeqCst);
    assert_eq!(world.get("/get-pricing").await.status, 200);
}

// Checks: a wrong method is 405 even over the limit. Health and preflights are free. The wallet of a token has its own
// limit for every client address; an invalid token has none.
#[tokio::test]
async fn method_check_precedes_rate_limit_and_health_is_free() {
    let world = Harness::with(&[("limits.requests_per_window", "1")]).await;
    assert_eq!(world.get("/healthz").await.header("ratelimit-remaining"), "1");
    assert_eq!(
        world
            .request("OPTIONS", "/paid", &[], "")
            .await
            .header("ratelimit-remaining"),
        "1"
    );
    assert_eq!(world.get("/get-pricing").await.status, 200);
    assert_eq!(world.get("/paid").await.status, 429);
    assert_eq!(world.get("/nowhere").await.status, 429);
    assert_eq!(world.request("DELETE", "/paid", &[], "").await.status, 405);
    assert_eq!(world.request("HEAD", "/paid", &[], "").await.status, 405);
    assert_eq!(world.paid_calls.load(Ordering::SeqCst), 0);
    assert_eq!(world.get("/readyz").await.status, 200);
    assert_eq!(
        world
            .request("GET", "/whoami", &["authorization: Bearer unknown"], "")
            .await
            .status,
        429
    );
    assert_eq!(
        world
            .request("GET", "/whoami", &["authorization: Bearer alice"], "")
            .await
            .status,
        200
    );
    assert_eq!(
        world
            .request("GET", "/whoami", &["authorization: Bearer alice"], "")
            .await
            .status,
        429
    );
}

// Checks: a forwarded address from an untrusted client gets no second limit.
#[tokio::test]
async fn case_51_spoofed_forwarded_address_is_ignored() {
    let world = Harness::with(&[("limits.requests_per_window", "1")]).await;
    assert_eq!(world.get("/get-pricing").await.status, 200);
    let spoofed = world
        .request(
            "GET",
            "/get-pricing",
            &["x-forwarded-for: 8.8.8.8", "forwarded: for=8.8.4.4"],
            "",
        )
        .await;
    assert_eq!(spoofed.status, 429);
    let trusting = Harness::with(&[
        ("limits.requests_per_window", "1"),
        ("server.trusted_proxies", "[\"127.0.0.1\"]"),
    ])
    .await;
    assert_eq!(
        trusting
            .request("GET", "/get-pricing", &["x-forwarded-for: 8.8.8.8"], "")
            .await
            .status,
        200
    );
    assert_eq!(
        trusting
            .request("GET", "/get-pricing", &["x-forwarded-for: 8.8.4.4"], "")
            .await
            .status,
        200
    );
    assert_eq!(
        trusting
            .request("GET", "/get-pricing", &["x-forwarded-for: 1.1.1.1, 8.8.8.8"], "")
            .await
            .status,
        429
    );
}

/// A harness that treats this machine as a proxy and allows one request per window.
async fn behind_a_proxy(more: &[(&str, &str)]) -> Harness {
    let own = [
        ("limits.requests_per_window", "1"),
        ("server.trusted_proxies", "[\"127.0.0.0/8\", \"10.0.0.0/8\"]"),
    ];
    Harness::with(&[&own, more].concat()).await
}

async fn status_with_header(world: &Harness, line: &str) -> u16 {
    world.request("GET", "/get-pricing", &[line], "").await.status
}

// Checks: behind trusted networks the address of the client counts, and an IPv6 client counts by its /64. A header that
// the proxies do not write is ignored.
#[tokio::test]
async fn case_51_client_address_behind_trusted_proxies_is_counted() {
    let world = behind_a_proxy(&[]).await;
    assert_eq!(
        status_with_header(&world, "x-forwarded-for: 8.8.8.8, 10.1.2.3").await,
        200
    );
    assert_eq!(
        status_with_header(&world, "x-forwarded-for: 1.1.1.1, 8.8.8.8").await,
        429
    );
    assert_eq!(
        status_with_header(&world, "x-forwarded-for: 8.8.8.8:4711, 10.9.9.9").await,
        429
    );
    assert_eq!(
        status_with_header(&world, "x-forwarded-for: 2001:db8:1:2::1").await,
        200
    );
    assert_eq!(
        status_with_header(&world, "x-forwarded-for: 2001:db8:1:2:ffff::9").await,
        429
    );
    assert_eq!(
        status_with_header(&world, "x-forwarded-for: 2001:db8:1:3::1").await,
        200
    );
    // Without a forwarded address, the proxy is the client.
    assert_eq!(status_with_header(&world, "forwarded: for=9.9.9.1").await, 200);
    assert_eq!(status_with_header(&world, "forwarded: for=9.9.9.2").await, 429);

    let world = behind_a_proxy(&[("server.forwarded_header", "forwarded")]).await;
    assert_eq!(
        status_with_header(&world, "forwarded: for=8.8.8.8;proto=https, for=10.1.2.3").await,
        200
    );
    assert_eq!(
        status_with_header(&world, "forwarded: for=\"1.1.1.1, for=8.8.8.8").await,
        429
    );
    assert_eq!(
        status_with_header(&world, "forwarded: for=\"[2001:db8:1:2::1]:4711\"").await,
        200
    );
    assert_eq!(
        status_with_header(&world, "forwarded: for=\"[2001:db8:1:2::9]\"").await,
        429
    );
    assert_eq!(status_with_header(&world, "x-forwarded-for: 9.9.9.1").await, 200);
    assert_eq!(status_with_header(&world, "x-forwarded-for: 9.9.9.2").await, 429);
}

// Checks: every response carries the rate-limit headers in both spellings, also when the request cannot be parsed.
#[tokio::test]
async fn case_58_every_status_carries_rate_limit_headers() {
    let world = Harness::with(&[
        ("server.max_body_bytes", "10"),
        ("server.body_timeout_ms", "50"),
        ("server.request_timeout_ms", "1000"),
        ("engine.response_timeout_ms", "50"),
        ("engine.settlement_timeout_ms", "40"),
        ("limits.requests_per_window", "25"),
    ])
    .await;
    world.store.oldest.store(5, Ordering::SeqCst);
    let large = format!("x: {}", "p".repeat(1 << 15));
    let long = format!("/get-pricing?{}", "a".repeat(1 << 13));
    let slow = ["transfer-encoding: chunked"];
    let mut met = Vec::new();
    for (method, path, headers, body, status) in [
        ("GET", "/get-pricing", &[][..], "", 200),
        ("OPTIONS", "/paid", &[], "", 204),
        ("GET", "/events?afer=1", &["authorization: Bearer alice"], "", 400),
        ("GET", "/whoami", &[], "", 401),
        ("GET", "/challenge", &[], "", 402),
        ("GET", "/events", &["authorization: Bearer frozen"], "", 403),
        ("GET", "/nowhere", &[], "", 404),
        ("DELETE", "/paid", &[], "", 405),
        ("POST", "/echo", &slow, "", 408),
        ("GET", "/events?after=1", &["authorization: Bearer alice"], "", 410),
        ("POST", "/echo", &[], "[1,2,3,4,5,6]", 413),
        ("GET", &long, &[], "", 414),
        ("GET", "/stream", &[], "", 426),
        ("GET", "/get-pricing", &[&large], "", 431),
        ("GET", "/panic", &[], "", 500),
        ("GET", "/bare", &[], "", 502),
        ("GET", "/hang", &[], "", 503),
        ("GET", "/healthz", &[], "", 200),
    ] {
        let answer = world.request(method, path, headers, body).await;
        assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
        answer.assert_standard_headers();
        met.push(answer);
    }
    met.push(world.raw(b"nonsense\r\n\r\n").await);
    let mut over = world.get("/get-pricing").await;
    while over.status == 200 {
        over = world.get("/get-pricing").await;
    }
    assert_eq!(over.status, 429);
    met.push(over);
    for answer in met {
        answer.assert_standard_headers();
        assert_eq!(answer.header("ratelimit-policy"), "25;w=60", "{answer:?}");
    }
}

// Checks: headers just within the limit pass. One byte more, or a megabyte, gets our 431.
#[tokio::test]
async fn case_15_headers_beyond_the_limit_are_431() {
    let world = Harness::start().await;
    let others = "host".len() + world.addr.to_string().len() + 4 + "connection".len() + "close".len() + 4;
    let fits = world.config.server.max_header_bytes - others - "x".len() - 4;
    let line = |bytes: usize| format!("x: {}", "p".repeat(bytes));
    assert_eq!(
        world.request("GET", "/get-pricing", &[&line(fits)], "").await.status,
        200
    );
    for bytes in [fits + 1, 1 << 20] {
        let refused = world.request("GET", "/get-pricing", &[&line(bytes)], "").await;
        assert_eq!(
            (refused.status, refused.code().as_str()),
            (431, "headers_too_large"),
            "{bytes}"
        );
        refused.assert_standard_headers();
    }
}

// Checks: a URL beyond the limit gets our 414, at any length. Bytes that are not HTTP get our 400.
#[tokio::test]
async fn oversized_urls_and_invalid_http_get_our_errors() {
    let world = Harness::start().await;
    let fits = world.config.server.max_url_bytes - "/get-pricing?".len();
    assert_eq!(
        world.get(&format!("/get-pricing?{}", "a".repeat(fits))).await.status,
        200
    );
    let long = world.get(&format!("/get-pricing?{}", "a".repeat(fits + 1))).await;
    assert_eq!((long.status, long.code().as_str()), (414, "url_too_long"));
    long.assert_standard_headers();
    let nonsense = world.raw(b"\x16\x03\x01 this is not http\r\n\r\n").await;
    assert_eq!((nonsense.status, nonsense.code().as_str()), (400, "invalid_request"));
    nonsense.assert_standard_headers();
}

// Checks: a body is rejected for its declared length, its actual length and its slowness.
#[tokio::test]
async fn bodies_are_bounded_in_size_and_time() {
    let world = Harness::with(&[("server.max_body_bytes", "10"), ("server.body_timeout_ms", "50")]).await;
    assert_eq!(
        world.request("POST", "/echo", &[], "{\"a\":1234}").await.body,
        "{\"a\":1234}"
    );
    let declared = world.request("POST", "/echo", &[], "{\"a\":12345}").await;
    assert_eq!((declared.status, declared.code().as_str()), (413, "body_too_large"));
    let chunked = "c\r\n{\"a\":123456}\r\n0\r\n\r\n";
    let head = format!(
        "POST /echo HTTP/1.1\r\nhost: {}\r\ntransfer-encoding: chunked\r\n",
        world.addr
    );
    let real = world
        .raw(format!("{head}connection: close\r\n\r\n{chunked}").as_bytes())
        .await;
    assert_eq!((real.status, real.code().as_str()), (413, "body_too_large"));
    let slow = world.raw(format!("{head}connection: close\r\n\r\n").as_bytes()).await;
    assert_eq!((slow.status, slow.code().as_str()), (408, "request_timeout"));
    assert_eq!(
        world.request("POST", "/echo", &[], "{\"a\":").await.code(),
        "body_malformed"
    );
    assert_eq!(
        world.request("POST", "/echo", &[], "[1]").await.code(),
        "body_malformed",
        "no list is an object"
    );
}

// Checks: a body that comes after its head is read before a caller is refused for the rate limit or the method, so the
// connection stays usable. A refusal that leaves a body unread announces that the connection closes.
#[tokio::test]
async fn refusal_leaves_the_connection_usable_or_announces_its_end() {
    let world = Harness::with(&[("limits.requests_per_window", "1"), ("server.max_url_bytes", "300")]).await;
    let host = world.addr;
    assert_eq!(world.get("/get-pricing").await.status, 200);
    let mut stream = tokio::net::TcpStream::connect(host).await.unwrap();
    for (method, path) in [("POST", "/echo"), ("DELETE", "/paid"), ("POST", "/echo")] {
        let head = format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\ncontent-length: 2\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        stream.write_all(b"{}").await.unwrap();
    }
    let last = format!("GET /get-pricing HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(last.as_bytes()).await.unwrap();
    let mut answers = String::new();
    stream.read_to_string(&mut answers).await.unwrap();
    let statuses: Vec<&str> = answers
        .match_indices("HTTP/1.1 ")
        .map(|(at, found)| &answers[at + found.len()..][..3])
        .collect();
    assert_eq!(statuses, ["429", "405", "429", "429"], "{answers}");
    assert_eq!(
        answers.matches("connection: close").count(),
        1,
        "only the last: {answers}"
    );
    let long = format!("/echo?{}", "a".repeat(300));
    let head = format!("POST {long} HTTP/1.1\r\nhost: {host}\r\ncontent-length: 2\r\n\r\n");
    let unread = world.raw(head.as_bytes()).await;
    assert_eq!((unread.status, unread.header("connection")), (414, "close"));
}

#[tokio::test]
async fn slow_headers_close_the_connection() {
    let world = Harness::with(&[("server.header_timeout_ms", "50")]).await;
    let mut stream = tokio::net::TcpStream::connect(world.addr).await.unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n").await.unwrap();
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest).await;
    assert!(!rest.starts_with(b"HTTP/1.1 200"));
}

// Checks: at the connection limit another client waits and is served when a connection closes.
#[tokio::test]
async fn connections_beyond_the_limit_wait() {
    let world = Harness::with(&[("server.max_connections", "1")]).await;
    let first = tokio::net::TcpStream::connect(world.addr).await.unwrap();
    let second = world.get("/healthz");
    let third = async {
        tokio::task::yield_now().await;
        drop(first);
    };
    let (answer, ()) = tokio::join!(second, third);
    assert_eq!(answer.status, 200);
}

// Checks: HTTP/1.1 without a host is rejected, also in absolute form; HTTP/1.0 needs none (RFC 9112, section 3.2).
#[tokio::test]
async fn request_requires_exactly_one_host() {
    let world = Harness::with(&[]).await;
    for (line, status) in [
        ("GET /healthz HTTP/1.1", 400),
        ("GET http://purser.example/healthz HTTP/1.1", 400),
        ("GET /healthz HTTP/1.0", 200),
    ] {
        let answer = world
            .raw(format!("{line}\r\nconnection: close\r\n\r\n").as_bytes())
            .await;
        assert_eq!(answer.status, status, "{line}: {}", answer.body);
    }
}
