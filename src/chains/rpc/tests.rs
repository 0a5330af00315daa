#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::script::{ScriptTransport, TestClock, error, ok, result, status};
use super::{Call, EndpointSettings, EndpointUrl, Response, RpcError, RpcPool, SettingsError, TransportError};

mod heights;

fn settings(host: &str) -> EndpointSettings {
    EndpointSettings::new(EndpointUrl::parse(&format!("https://{host}/key")).unwrap())
}

struct Harness {
    pool: RpcPool,
    transport: Arc<ScriptTransport>,
    clock: Arc<TestClock>,
}

fn harness(settings: Vec<EndpointSettings>, transport: ScriptTransport) -> Harness {
    let (transport, clock) = (Arc::new(transport), Arc::new(TestClock::default()));
    let pool = RpcPool::new(settings, transport.clone(), clock.clone()).unwrap();
    Harness { pool, transport, clock }
}

fn unreachable() -> Result<Response, TransportError> {
    Err(TransportError::Unreachable("no connection".to_owned()))
}

// Checks: neither the URL's user, its path nor its query is printed in any form.
#[tokio::test]
async fn endpoint_url_hides_secrets() {
    let url = EndpointUrl::parse("https://user:hunter2@node.example:8443/v1/secretkey?token=secret").unwrap();
    let settings = EndpointSettings::new(url.clone());
    let h = harness(vec![settings.clone()], ScriptTransport::in_turn(vec![]));
    let failed = h.pool.call("eth_chainId", json!([])).await.unwrap_err();
    for text in [
        format!("{url} {url:?}"),
        format!("{settings:?}"),
        format!("{:?} {:?}", h.pool, h.pool.status()),
        format!("{failed} {failed:?}"),
    ] {
        for secret in ["hunter2", "user", "secret", "v1"] {
            assert!(!text.contains(secret), "{text}");
        }
    }
    assert_eq!(url.to_string(), "https://node.example:8443");
}

#[test]
fn settings_that_make_no_pool_are_rejected() {
    let pool = |settings| {
        let transport = Arc::new(ScriptTransport::in_turn(vec![]));
        RpcPool::new(settings, transport, Arc::new(TestClock::default())).map(|_| ())
    };
    assert_eq!(pool(vec![]), Err(SettingsError::Empty));
    let host = "a.example".to_owned();
    let twice = pool(vec![settings("a.example"), settings("a.example")]);
    assert_eq!(twice, Err(SettingsError::Duplicate { host: host.clone() }));
    let zero = EndpointSettings {
        burst: 0,
        ..settings("a.example")
    };
    assert_eq!(pool(vec![zero]), Err(SettingsError::Zero { host, limit: "burst" }));
    for url in ["ws://a.example", "a.example", "", "file:///etc/passwd", "https://"] {
        assert_eq!(EndpointUrl::parse(url), Err(SettingsError::Url), "{url}");
    }
}

// Checks: each response of an endpoint becomes exactly one typed error.
#[tokio::test]
async fn responses_become_typed_results() {
    let raw = |status: u16, body: &str| {
        Ok(Response {
            status,
            retry_after: Some(Duration::from_secs(7)),
            body: body.as_bytes().to_vec(),
        })
    };
    let garbage = |text: &str| Err(RpcError::MalformedResponse(text.to_owned()));
    let reverted = json!({"error": {"code": 3, "message": "execution\nreverted", "data": "0x08c379a0"}});
    let revert = Err(RpcError::Rpc {
        code: 3,
        message: "execution reverted".into(),
        data: json!("0x08c379a0"),
    });
    let table = vec![
        (ok(&json!({"result": "0x2105"})), Ok(json!("0x2105"))),
        (ok(&json!({"result": null})), Ok(Value::Null)),
        (ok(&reverted), revert.clone()),
        (status(400, &reverted), revert),
        (ok(&json!({"error": null, "result": 5})), Ok(json!(5))),
        (
            ok(&json!({"error": {"message": "no code"}})),
            garbage("error without a code"),
        ),
        (ok(&json!({})), garbage("neither result nor error")),
        (ok(&json!({"id": 77, "result": 5})), garbage("response to another call")),
        (ok(&json!([])), garbage("response to another call")),
        (raw(200, "<html>"), garbage("not a JSON-RPC response")),
        (raw(200, ""), garbage("not a JSON-RPC response")),
        (raw(502, "<html>"), Err(RpcError::Unreachable("HTTP status 502".into()))),
        (raw(302, "{}"), Err(RpcError::Unreachable("HTTP status 302".into()))),
        (
            raw(429, "{}"),
            Err(RpcError::RateLimited {
                retry_after: Duration::from_secs(7),
            }),
        ),
        (raw(200, &"x".repeat(17 << 20)), garbage("larger than the limit")),
        (Err(TransportError::Timeout), Err(RpcError::Timeout)),
        (unreachable(), Err(RpcError::Unreachable("no connection".into()))),
    ];
    for (response, expected) in table {
        let h = harness(vec![settings("a.example")], ScriptTransport::in_turn(vec![response]));
        assert_eq!(h.pool.call("m", json!([])).await, expected);
    }
}

// Checks: after a failure the next endpoint is used, and the failing one is used last until its pause is over.
#[tokio::test]
async fn call_moves_on_to_the_next_endpoint() {
    let transport = ScriptTransport::new(|host, request| match host {
        "a.example" => unreachable(),
        _ => result(request, json!(host)),
    });
    let h = harness(vec![settings("a.example"), settings("b.example")], transport);
    for _ in 0..2 {
        assert_eq!(h.pool.call("m", json!([])).await, Ok(json!("b.example")));
    }
    assert_eq!(h.transport.hosts(), ["a.example", "b.example", "b.example"]);
    let status = h.pool.status();
    assert_eq!((status[0].consecutive_failures, status[1].consecutive_failures), (1, 0));
    assert_eq!(
        status[0].last_error.as_deref(),
        Some("endpoint unreachable: no connection")
    );
    assert_eq!(
        (status[0].last_response_ago_ms, status[1].last_response_ago_ms),
        (None, Some(0))
    );
    // After the pause, the failure count still gives preference to the other one.
    h.clock.advance(60_000);
    h.pool.call("m", json!([])).await.unwrap();
    assert_eq!(h.transport.hosts().last().unwrap(), "b.example");
}

// Checks: calls are counted like at the provider: each call of a batch separately, including failed ones.
#[tokio::test]
async fn calls_are_counted_for_each_endpoint() {
    let transport = ScriptTransport::new(|host, request| match (host, request.as_array()) {
        ("a.example", _) => unreachable(),
        (_, None) => result(request, json!(1)),
        (_, Some(calls)) => {
            let answer = |call: &Value| json!({"jsonrpc": "2.0", "id": call["id"], "result": 1});
            ok(&calls.iter().map(answer).collect())
        }
    });
    let h = harness(vec![settings("a.example"), settings("b.example")], transport);
    h.pool.call("m", json!([])).await.unwrap();
    let call = Call {
        method: "m",
        params: json!([]),
    };
    h.pool.batch(&[call.clone(), call.clone(), call]).await.unwrap();
    h.pool.call_each("m", json!([])).await;
    let calls: Vec<u64> = h.pool.status().iter().map(|endpoint| endpoint.calls).collect();
    assert_eq!(calls, [2, 5]);
}

// Checks: an error explained by the chain's state is a response; the next endpoint is not queried.
#[tokio::test]
async fn chain_errors_end_the_call() {
    for (code, requests) in [(-32000, 1), (3, 1), (-32603, 2), (-32005, 2), (-32601, 2)] {
        let transport = ScriptTransport::new(move |_, request| error(request, code, "text"));
        let h = harness(vec![settings("a.example"), settings("b.example")], transport);
        let failed = h.pool.call("m", json!([])).await.unwrap_err();
        assert!(matches!(failed, RpcError::Rpc { code: c, .. } if c == code));
        assert_eq!(h.transport.hosts().len(), requests, "{code}");
    }
}

// Checks: a revert that a node reports as an internal error still counts as the chain's response.
#[tokio::test]
async fn internal_error_with_revert_data_ends_the_call() {
    let transport = ScriptTransport::new(|_, request| {
        let error = json!({"code": -32603, "message": "revert", "data": "0x08c379a0"});
        ok(&json!({"id": request["id"], "error": error}))
    });
    let h = harness(vec![settings("a.example"), settings("b.example")], transport);
    assert!(h.pool.call("m", json!([])).await.is_err());
    assert_eq!(h.transport.hosts(), ["a.example"]);
    assert_eq!(h.pool.status()[0].consecutive_failures, 0);
}

#[tokio::test]
async fn null_result_moves_on_to_the_next_endpoint() {
    let transport = ScriptTransport::new(|host, request| match host {
        "a.example" => result(request, Value::Null),
        "b.example" => unreachable(),
        _ => result(request, json!({"status": "0x1"})),
    });
    let list = ["a.example", "b.example", "c.example"].map(settings);
    let h = harness(list.to_vec(), transport);
    let found = h.pool.call_where("m", json!([]), |value| !value.is_null()).await;
    assert_eq!(found, Ok(json!({"status": "0x1"})));
    let h = harness(
        list[..2].to_vec(),
        ScriptTransport::new(|host, request| match host {
            "a.example" => result(request, Value::Null),
            _ => unreachable(),
        }),
    );
    let found = h.pool.call_where("m", json!([]), |value| !value.is_null()).await;
    assert_eq!(found, Ok(Value::Null));
}

// Checks: rate and burst with our own waits; another endpoint is used before waiting.
#[tokio::test]
async fn rate_limit_holds_in_the_long_run() {
    let limited = |host| EndpointSettings {
        rate: 10,
        burst: 3,
        ..settings(host)
    };
    let transport = ScriptTransport::new(|_, request| result(request, json!(1)));
    let h = harness(vec![limited("a.example")], transport);
    for _ in 0..23 {
        h.pool.call("m", json!([])).await.unwrap();
    }
    // 3 at once, 20 more at 10 per second.
    assert_eq!(super::Clock::now_ms(&*h.clock), 2_000);

    let transport = ScriptTransport::new(|_, request| result(request, json!(1)));
    let h = harness(vec![limited("a.example"), limited("b.example")], transport);
    for _ in 0..6 {
        h.pool.call("m", json!([])).await.unwrap();
    }
    let hosts = h.transport.hosts();
    assert_eq!(super::Clock::now_ms(&*h.clock), 0);
    assert_eq!(hosts.iter().filter(|host| *host == "a.example").count(), 3);
}

#[tokio::test]
async fn limited_endpoint_is_left_alone_until_retry_after() {
    let transport = ScriptTransport::in_turn(vec![
        Ok(Response {
            status: 429,
            retry_after: Some(Duration::from_secs(5)),
            body: vec![],
        }),
        ok(&json!({"result": 1})),
    ]);
    let h = harness(vec![settings("a.example")], transport);
    let limited = |seconds| {
        Err(RpcError::RateLimited {
            retry_after: Duration::from_secs(seconds),
        })
    };
    assert_eq!(h.pool.call("m", json!([])).await, limited(5));
    assert_eq!(h.pool.call("m", json!([])).await, limited(5));
    h.clock.advance(2_000);
    assert_eq!(h.pool.call("m", json!([])).await, limited(3));
    assert_eq!(h.transport.hosts().len(), 1);
    h.clock.advance(1_500);
    assert_eq!(h.pool.call("m", json!([])).await, Ok(json!(1)));
}

// Checks: every endpoint's own response is returned, whatever the others respond.
#[tokio::test]
async fn each_endpoint_answers_for_itself() {
    let transport = ScriptTransport::new(|host, request| match host {
        "a.example" => result(request, json!("0xhash")),
        "b.example" => error(request, -32000, "already known"),
        _ => Err(TransportError::Timeout),
    });
    let h = harness(
        ["a.example", "b.example", "c.example"].map(settings).to_vec(),
        transport,
    );
    let answers = h.pool.send_to_all("eth_sendRawTransaction", json!(["0x02"])).await;
    assert_eq!(answers.iter().map(|a| a.endpoint).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(answers[0].result, Ok(json!("0xhash")));
    assert!(matches!(&answers[1].result, Err(RpcError::Rpc { message, .. }) if message == "already known"));
    assert_eq!(answers[2].result, Err(RpcError::Timeout));
    assert_eq!(h.pool.call_on(0, "m", json!([])).await, Ok(json!("0xhash")));
    assert!(matches!(
        h.pool.call_on(3, "m", json!([])).await,
        Err(RpcError::Unreachable(_))
    ));
}

// Checks: results are in the order of the calls, whatever the order of the responses. Requests have at most 100 calls,
// and missing results are errors.
#[tokio::test]
async fn batch_results_are_in_order() {
    let transport = ScriptTransport::new(|_, request| {
        let calls = request.as_array().unwrap();
        let answer = |call: &Value| match call["params"][0].as_u64().unwrap() {
            7 => json!({"jsonrpc": "2.0", "id": call["id"], "error": {"code": 3, "message": "reverted"}}),
            n => json!({"jsonrpc": "2.0", "id": call["id"], "result": n}),
        };
        let mut answers: Vec<Value> = calls.iter().map(answer).rev().collect();
        answers.retain(|answer| answer["result"] != json!(9));
        ok(&Value::Array(answers))
    });
    let h = harness(
        vec![EndpointSettings {
            burst: 300,
            ..settings("a.example")
        }],
        transport,
    );
    let calls: Vec<Call> = (0..250)
        .map(|n| Call {
            method: "m",
            params: json!([n]),
        })
        .collect();
    let results = h.pool.batch(&calls).await.unwrap();
    assert_eq!((results.len(), h.transport.hosts().len()), (250, 3));
    for (n, result) in results.iter().enumerate() {
        match n {
            7 => assert!(matches!(result, Err(RpcError::Rpc { code: 3, .. }))),
            9 => assert!(matches!(result, Err(RpcError::MalformedResponse(_)))),
            _ => assert_eq!(result.as_ref().unwrap(), &json!(n)),
        }
    }
    let rejected = ScriptTransport::in_turn(vec![ok(
        &json!({"id": null, "error": {"code": -32600, "message": "no batch"}}),
    )]);
    let h = harness(vec![settings("a.example")], rejected);
    assert!(matches!(
        h.pool.batch(&calls[..2]).await,
        Err(RpcError::Rpc { code: -32600, .. })
    ));
}

#[test]
fn futures_of_a_pool_are_send() {
    fn send<T: Send>(_: T) {}
    let h = harness(vec![settings("a.example")], ScriptTransport::in_turn(vec![]));
    send(h.pool.call("m", json!([])));
    send(h.pool.call_where("m", json!([]), Value::is_null));
    send(h.pool.batch(&[]));
    send(h.pool.call_each("m", json!([])));
}
