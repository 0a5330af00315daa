//! Limits, each at its edge and one past it.

use std::sync::atomic::Ordering;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::harness::Harness;

// Aim: the window's last request passes, the next is 429 with the contract's body, and the next window is free.
#[tokio::test]
async fn the_ceiling_holds_for_a_window() {
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

// Aim: precedence. A wrong method is 405 even over the limit; health is free; a preflight is free; a token's wallet
// has its own budget wherever it calls from, and a bad token none.
#[tokio::test]
async fn over_the_limit_405_comes_first_and_health_is_free() {
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
            .request("GET", "/whoami", &["authorization: Bearer nobody"], "")
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

// Aim (case 51): a forwarded address from a stranger buys no second budget.
#[tokio::test]
async fn case_51_a_spoofed_forwarded_address_is_ignored() {
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

/// A world where this machine is a proxy, with one request a window.
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

// Aim (case 51): through trusted networks the client's own address counts, an IPv6 client by its /64, whatever it claims to
// have been called through; the header that the proxies do not write is not read.
#[tokio::test]
async fn case_51_a_client_counts_behind_its_proxies() {
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
    // Nobody says who it was: the proxy.
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

// Aim (case 58): whatever a parsed request is answered, and what could not be parsed too, carries the budget in both
// spellings.
#[tokio::test]
async fn case_58_every_status_tells_the_budget() {
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

// Aim (case 15): headers just within the limit pass; one byte more, or a megabyte, is our own 431.
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

// Aim: a URL beyond the limit is our own 414, however far beyond; bytes that are no HTTP are our own 400.
#[tokio::test]
async fn urls_and_nonsense_get_our_own_refusals() {
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

// Aim: a body is refused by its declared length, by its real length, and by its slowness.
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

// Aim: a client that drips its headers is cut off.
#[tokio::test]
async fn slow_headers_end_the_connection() {
    let world = Harness::with(&[("server.header_timeout_ms", "50")]).await;
    let mut stream = tokio::net::TcpStream::connect(world.addr).await.unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n").await.unwrap();
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest).await;
    assert!(!rest.starts_with(b"HTTP/1.1 200"));
}

// Aim: at the connection limit a further client waits and is served when a place is free.
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

// Aim: RFC 9112, section 3.2: HTTP/1.1 without a host is refused, also in absolute form; HTTP/1.0 needs none.
#[tokio::test]
async fn a_request_names_its_host_once() {
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
