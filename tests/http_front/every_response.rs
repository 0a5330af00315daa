//! Properties of every response.

use std::sync::atomic::Ordering;

use crate::harness::Harness;

// Checks: every response carries the version, request id, CORS and rate-limit headers, and all errors share one format.
#[tokio::test]
async fn case_58_every_response_carries_standard_headers() {
    let world = Harness::start().await;
    let upgrade = [
        "upgrade: websocket",
        "sec-websocket-version: 13",
        "sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==",
    ];
    for (method, path, headers, status) in [
        ("GET", "/get-pricing", &[][..], 200),
        ("GET", "/challenge", &[], 402),
        ("GET", "/nowhere", &[], 404),
        ("POST", "/get-pricing", &[], 405),
        ("GET", "/whoami", &[], 401),
        ("GET", "/events?afer=1", &["authorization: Bearer alice"], 400),
        ("GET", "/panic", &[], 500),
        ("GET", "/bare", &[], 502),
        ("OPTIONS", "/paid", &[], 204),
        (
            "GET",
            "/stream",
            &["authorization: Bearer expired", upgrade[0], upgrade[1], upgrade[2]],
            401,
        ),
        ("GET", "/stream", &[], 426),
    ] {
        let answer = world.request(method, path, headers, "").await;
        assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
        answer.assert_standard_headers();
    }
}

// Checks: an error says what is wrong, in which field and whether to retry. RFC 9457 is used on demand, and internal
// error text never leaves.
#[tokio::test]
async fn errors_have_one_format() {
    let world = Harness::start().await;
    let error = world
        .request("GET", "/events?afer=1", &["authorization: Bearer alice"], "")
        .await;
    let body = error.json();
    assert_eq!(
        (&body["code"], &body["param"]),
        (&"parameter_unrecognized".into(), &"afer".into())
    );
    assert_eq!(
        (&body["hint"], &body["terminal"]),
        (&"Did you mean `after`?".into(), &true.into())
    );
    assert_eq!(error.header("content-type"), "application/json");

    let problem = world
        .request("GET", "/nowhere", &["accept: application/problem+json, */*"], "")
        .await;
    assert_eq!(problem.header("content-type"), "application/problem+json");
    let body = problem.json();
    assert_eq!((&body["status"], &body["title"]), (&404.into(), &"Not Found".into()));
    assert_eq!(
        (&body["code"], &body["detail"]),
        (&"route_not_found".into(), &body["error"])
    );

    for (accept, is_problem) in [
        ("application/json, Application/Problem+JSON;q=0.5", true),
        ("text/html\r\naccept: application/problem+json", true),
        ("application/problem+json; q=0.0, application/json", false),
        ("application/problem+jsonp", false),
        ("*/*", false),
    ] {
        let answer = world
            .request("GET", "/nowhere", &[&format!("accept: {accept}")], "")
            .await;
        assert_eq!(
            answer.header("content-type") == "application/problem+json",
            is_problem,
            "{accept}"
        );
    }
    let own = world
        .request("GET", "/challenge", &["accept: application/problem+json"], "")
        .await;
    assert_eq!(own.body, "mine", "what a handler wrote stays as it is");

    for path in ["/panic", "/bare"] {
        let answer = world.get(path).await;
        assert!(!answer.body.contains("secret"), "{answer:?}");
        assert_eq!(answer.code(), "internal_error");
    }
    assert_eq!(world.get("/challenge").await.body, "mine");
}

// Checks: each kind of invalid token is a 401 with its own code.
#[tokio::test]
async fn case_44_invalid_token_is_a_401() {
    let world = Harness::start().await;
    for (header, code) in [
        ("x: y", "token_missing"),
        ("authorization: Basic YTpi", "token_missing"),
        ("authorization: Bearer unknown", "token_invalid"),
        ("authorization: Bearer expired", "token_expired"),
        ("authorization: Bearer revoked", "token_revoked"),
        (
            "authorization: Bearer alice\r\nauthorization: Bearer bob",
            "token_invalid",
        ),
    ] {
        let answer = world.request("GET", "/whoami", &[header], "").await;
        assert_eq!((answer.status, answer.code().as_str()), (401, code), "{header}");
    }
    let good = world
        .request("GET", "/whoami", &["authorization: bearer alice"], "")
        .await;
    assert_eq!(good.body, format!("0x{}", "a1".repeat(20)));
}

// Checks: HEAD and OPTIONS never reach a paid handler. A free GET can be requested by HEAD.
#[tokio::test]
async fn case_19_head_and_options_run_no_paid_route() {
    let world = Harness::start().await;
    let payment = "x-payment: e30=";
    let head = world.request("HEAD", "/paid", &[payment], "").await;
    assert_eq!(
        (head.status, head.header("allow"), head.body.as_str()),
        (405, "GET, OPTIONS", "")
    );
    assert_eq!(world.request("OPTIONS", "/paid", &[payment], "").await.status, 204);
    assert_eq!(world.request("DELETE", "/paid", &[payment], "").await.status, 405);
    assert_eq!(world.paid_calls.load(Ordering::SeqCst), 0);
    assert_eq!(world.request("GET", "/paid", &[payment], "").await.status, 200);
    assert_eq!(world.paid_calls.load(Ordering::SeqCst), 1);
    assert_eq!(world.request("HEAD", "/get-pricing", &[], "").await.status, 200);
}

// Checks: the preflight of a stock payment client passes, including its unusual request header.
#[tokio::test]
async fn preflight_allows_payment_headers() {
    let world = Harness::start().await;
    let preflight = ["origin: https://shop.example", "access-control-request-method: GET"];
    let answer = world.request("OPTIONS", "/paid", &preflight, "").await;
    let allowed = answer.header("access-control-allow-headers").to_ascii_lowercase();
    for name in [
        "content-type",
        "authorization",
        "payment-signature",
        "x-payment",
        "sign-in-with-x",
        "accept-payment",
        "payment-authorization",
        "idempotency-key",
        "access-control-expose-headers",
    ] {
        assert!(allowed.split(", ").any(|a| a == name), "{name}");
    }
    assert!(answer.header("access-control-allow-methods").contains("POST"));
    assert!(!world.get("/get-pricing").await.has("access-control-allow-headers"));
}

#[tokio::test]
async fn request_ids_are_unique_and_not_client_chosen() {
    let world = Harness::start().await;
    let first = world
        .request(
            "GET",
            "/healthz",
            &["request-id: req_mine", "x-request-id: req_mine"],
            "",
        )
        .await;
    let second = world.get("/healthz").await;
    assert_ne!(first.header("request-id"), second.header("request-id"));
    assert_ne!(first.header("request-id"), "req_mine");
}

// Checks: every response of a retiring route announces it, including errors, and keeps the standard headers.
#[tokio::test]
async fn retiring_route_announces_its_successor() {
    let world = Harness::start().await;
    let answer = world.request("POST", "/refresh", &[], "").await;
    assert_eq!((answer.status, answer.header("deprecation")), (400, "true"));
    assert_eq!(answer.header("link"), "</auth>; rel=\"successor-version\"");
    assert_eq!(answer.header("sunset"), "Sat, 20 Nov 2027 00:00:00 GMT");
    assert!(!world.get("/get-pricing").await.has("deprecation"));
}

// Checks: during a stop, new connections are rejected and the call in flight finishes.
#[tokio::test]
async fn case_69_stop_lets_calls_in_flight_finish() {
    let mut world = Harness::start().await;
    let idle = tokio::net::TcpStream::connect(world.addr).await.unwrap();
    let ((inside, gate), stop, addr) = (world.gate.clone(), world.stop.take(), world.addr);
    let call = world.get("/gate");
    let stopping = async {
        inside.acquire().await.unwrap().forget();
        stop.unwrap().stop();
        while tokio::net::TcpStream::connect(addr).await.is_ok() {
            tokio::task::yield_now().await;
        }
        gate.add_permits(1);
    };
    let (answer, ()) = tokio::join!(call, stopping);
    assert_eq!((answer.status, answer.body.as_str()), (200, "true"));
    assert!(
        world.running.await.unwrap(),
        "every connection ended by itself, the idle one too"
    );
    drop(idle);
}

// Checks: a handler that never responds ends with a 503 that says the outcome is unknown.
#[tokio::test]
async fn hanging_handler_times_out_with_503() {
    let world = Harness::with(&[
        ("server.request_timeout_ms", "60"),
        ("engine.response_timeout_ms", "50"),
        ("engine.settlement_timeout_ms", "40"),
    ])
    .await;
    let answer = world.get("/hang").await;
    assert_eq!((answer.status, answer.code().as_str()), (503, "processing_timeout"));
    assert_eq!(answer.json()["terminal"], false);
    assert_eq!(answer.header("retry-after"), "2");
}
