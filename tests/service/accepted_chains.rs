//! Operator commands that accept a changed chain.

use serde_json::json;

use super::admin::admin;
use super::host::Host;
use super::operator_client::OperatorClient;

#[tokio::test(flavor = "multi_thread")]
async fn operator_cannot_accept_an_unchanged_chain() {
    // Checks: Accepting a chain fails if the chain has not replaced final blocks, and writes no audit record. An
    // unknown network, missing evidence and a role without permission are rejected first.
    let host = Host::new();
    let service = host.start();
    let operator = OperatorClient::first(&host, &service);
    let says = |network: &str, evidence: &str| json!({"network": network, "evidence": evidence});
    for network in ["base", "solana"] {
        let refused = operator.post("/admin/chains/accept", says(network, "Seen")).await;
        assert_eq!((refused.status, refused.code()), (409, "chain_unchanged"), "{network}");
    }
    for (network, evidence) in [("polygon", "Seen"), ("base", " ")] {
        let refused = operator.post("/admin/chains/accept", says(network, evidence)).await;
        assert_eq!(
            (refused.status, refused.code()),
            (400, "parameter_invalid"),
            "{network}"
        );
    }
    let support = operator.add_operator("eva", "support").await;
    let refused = support.post("/admin/chains/accept", says("base", "Seen")).await;
    assert_eq!((refused.status, refused.code()), (403, "role_not_permitted"));
    let printed = admin(&host, &service, &["chains", "accept", "base", "--evidence", "Seen"], "");
    assert!(printed.unwrap_err().contains("chain_unchanged"));
    let audit: Vec<String> = operator.audit().await.into_iter().map(|(_, what, _)| what).collect();
    assert!(!audit.iter().any(|what| what == "chain.accept"), "{audit:?}");
    service.stop();
    host.assert_verified();
}
