//! What every request is refused for, in its order.

use std::sync::atomic::Ordering;

use crate::harness::{Harness, Response};
use crate::precedence_table::{PrecedenceTable, RecordedResponse};

fn recorded(answer: &Response) -> RecordedResponse {
    RecordedResponse {
        status: answer.status,
        headers: answer.headers(),
        body: answer.body.clone(),
    }
}

#[tokio::test]
async fn every_request_is_refused_for_the_first_rule_that_it_breaks() {
    // Aim: docs/precedence.md, from top to bottom, on one request that breaks all of it.
    let world = Harness::with(&[("limits.requests_per_window", "1")]).await;
    assert_eq!(world.get("/get-pricing").await.status, 200);
    let mut ladder = PrecedenceTable::of("Every request", "every-request");
    let (long, large) = (
        format!("/events?x={}", "y".repeat(8200)),
        format!("x: {}", "p".repeat(16_390)),
    );
    let declared = "content-length: 70000";
    let ask =
        async |method: &str, path: &str, headers: &[&str]| recorded(&world.request(method, path, headers, "").await);
    ladder.assert_next(&ask("DELETE", &long, &[&large, "host: two", declared]).await);
    ladder.assert_next(&ask("DELETE", "/events", &[&large, "host: two", declared]).await);
    ladder.assert_next(&ask("DELETE", "/events", &["host: two", declared]).await);
    ladder.assert_next(&ask("DELETE", "/events", &[declared]).await);
    ladder.assert_next(&ask("DELETE", "/events", &[]).await);
    ladder.assert_next(&ask("GET", "/nowhere", &[]).await);
    world.clock.0.fetch_add(60_000, Ordering::SeqCst);
    ladder.assert_next(&ask("GET", "/nowhere", &[]).await);
    ladder.assert_complete();
}
