//! Heights of endpoints.

use super::*;

#[tokio::test]
async fn lagging_endpoint_is_used_last() {
    let transport = ScriptTransport::new(|host, request| result(request, json!(host)));
    let h = harness(vec![settings("a.example"), settings("b.example")], transport);
    h.pool.observe_height(0, 100);
    h.pool.observe_height(1, 105);
    assert_eq!(h.pool.call("m", json!([])).await, Ok(json!("a.example")));
    h.pool.observe_height(1, 106);
    assert_eq!(
        h.pool.call("m", json!([])).await,
        Ok(json!("a.example")),
        "one alone says that it is ahead"
    );
    let lags: Vec<_> = h.pool.status().iter().map(|s| s.lag).collect();
    assert_eq!((lags, h.pool.best_height()), (vec![Some(6), Some(0)], Some(106)));
    h.clock.advance(30_001);
    assert_eq!(
        h.pool.call("m", json!([])).await,
        Ok(json!("b.example")),
        "the first one does not advance"
    );
    h.pool.observe_height(0, 101);
    assert_eq!(h.pool.call("m", json!([])).await, Ok(json!("a.example")));
}

// Checks: the lag of an endpoint is unknown if its height is old or from before a failure.
#[tokio::test]
async fn the_lag_of_an_endpoint_that_does_not_answer_is_unknown() {
    let transport = ScriptTransport::in_turn(vec![unreachable(), ok(&json!({"jsonrpc": "2.0", "result": 1}))]);
    let h = harness(vec![settings("a.example"), settings("b.example")], transport);
    let lags = || h.pool.status().into_iter().map(|s| s.lag).collect::<Vec<_>>();
    assert_eq!(lags(), [None, None]);
    h.pool.observe_height(0, 100);
    h.pool.observe_height(1, 105);
    assert_eq!(lags(), [Some(5), Some(0)]);
    assert!(h.pool.call_on(0, "m", json!([])).await.is_err());
    assert_eq!(lags(), [None, Some(0)]);
    h.pool.call_on(0, "m", json!([])).await.unwrap();
    h.clock.advance(30_001);
    h.pool.observe_height(1, 106);
    assert_eq!(lags(), [None, Some(0)], "it answers and shows no height");
    h.pool.observe_height(0, 106);
    assert_eq!(lags(), [Some(0), Some(0)]);
}

// Checks: an endpoint that lags behind two others is used last, even if its height grows.
#[tokio::test]
async fn an_endpoint_behind_two_others_is_used_last() {
    let transport = ScriptTransport::new(|host, request| result(request, json!(host)));
    let three = ["a.example", "b.example", "c.example"].map(settings);
    let h = harness(three.to_vec(), transport);
    for (endpoint, height) in [(0, 100), (1, 106), (2, 900)] {
        h.pool.observe_height(endpoint, height);
    }
    assert_eq!(h.pool.call("m", json!([])).await, Ok(json!("b.example")));
    h.pool.observe_height(0, 101);
    assert_eq!(h.pool.call("m", json!([])).await, Ok(json!("a.example")));
}
