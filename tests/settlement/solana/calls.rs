//! Calls that a payment costs at a provider.

use std::sync::Arc;

use parking_lot::Mutex;
use purser_actors::port::Settlement as _;

use crate::solana::harness::{Harness, until};

/// What is asked whether or not anybody pays.
const IDLE_METHODS: [&str; 6] = [
    "getLatestBlockhash",
    "getMultipleAccounts",
    "getEpochInfo",
    "getFirstAvailableBlock",
    "getSignaturesForAddress",
    "getSlot",
];

// Checks: a payment from a wallet with too little money costs at most two calls in total, also when it is repeated at
// once.
#[tokio::test(flavor = "multi_thread")]
async fn a_declined_payment_costs_at_most_two_calls() {
    let Some(harness) = Harness::open(90).await else { return };
    let counted: Arc<Mutex<Vec<String>>> = Arc::default();
    let calls = counted.clone();
    harness.faults.falsify("", move |request, _| {
        let method = request["method"].as_str().unwrap();
        if !IDLE_METHODS.contains(&method) {
            calls.lock().push(method.to_owned());
        }
    });
    let payment = harness.payment(200_000_000, "more than it has").await;
    for _ in 0..3 {
        let decline = harness.port.precheck(&payment).await.unwrap();
        assert_eq!(decline.reason.to_string(), "insufficient_funds");
    }
    // Until it could be on the chain no more, and was read.
    let slot = harness.port.status().slot;
    until("the port has read on", || async {
        (harness.port.status().covered_slot > slot + 32).then_some(())
    })
    .await;
    let counted = counted.lock();
    assert!((1..=2).contains(&counted.len()), "{counted:?}");
    assert_eq!(counted[0], "simulateTransaction");
}
