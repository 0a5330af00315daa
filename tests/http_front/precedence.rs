//! Error precedence of every request.

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
async fn request_errors_follow_precedence() {
    // Checks: one request that breaks every rule gets the errors in the order of docs/precedence.md.
    let world = Harness::with(&[("limits.requests_per_window", "1")]).await;
    assert_eq!(world.get("/get-pricing").await.status, 200);
    let mut precedence = PrecedenceTable::of("Every request", "every-request");
    let (long, large) = (
        format!("/events?x={}", "y".repeat(8200)),
        format!("x: {}", "p".repeat(16_390)),
    );
    let declared = "content-length: 70000";
    let ask =
        async |method: &str, path: &str, headers: &[&str]| recorded(&world.request(method, path, headers, "").await);
    precedence.assert_next(&ask("DELETE", &long, &[&large, "host: two", declared]).await);
    precedence.assert_next(&ask("DELETE", "/events", &[&large, "host: two", declared]).await);
    precedence.assert_next(&ask("DELETE", "/events", &["host: two", declared]).await);
    precedence.assert_next(&ask("DELETE", "/events", &[declared]).await);
    precedence.assert_next(&ask("DELETE", "/events", &[]).await);
    precedence.assert_next(&ask("GET", "/nowhere", &[]).await);
    world.clock.0.fetch_add(60_000, Ordering::SeqCst);
    precedence.assert_next(&ask("GET", "/nowhere", &[]).await);
    precedence.assert_complete();
}
