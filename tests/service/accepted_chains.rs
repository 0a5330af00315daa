//! What an operator says of the chains themselves.

use serde_json::json;

use super::admin::admin;
use super::host::Host;
use super::operator_client::OperatorClient;

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_accepts_no_chain_where_none_has_changed() {
    // Aim: the word that a chain has replaced what was final is taken of no chain that has not: nothing is done and nothing written
    // down, for whoever may say it; a network that there is none of, no evidence and too low a role are refused before that.
    let host = Host::new();
    let service = host.start();
    let desk = OperatorClient::first(&host, &service);
    let says = |network: &str, evidence: &str| json!({"network": network, "evidence": evidence});
    for network in ["base", "solana"] {
        let refused = desk.post("/admin/chains/accept", says(network, "Seen")).await;
        assert_eq!((refused.status, refused.code()), (409, "chain_unchanged"), "{network}");
    }
    for (network, evidence) in [("polygon", "Seen"), ("base", " ")] {
        let refused = desk.post("/admin/chains/accept", says(network, evidence)).await;
        assert_eq!(
            (refused.status, refused.code()),
            (400, "parameter_invalid"),
            "{network}"
        );
    }
    let support = desk.add_operator("eva", "support").await;
    let refused = support.post("/admin/chains/accept", says("base", "Seen")).await;
    assert_eq!((refused.status, refused.code()), (403, "role_not_permitted"));
    let printed = admin(&host, &service, &["chains", "accept", "base", "--evidence", "Seen"], "");
    assert!(printed.unwrap_err().contains("chain_unchanged"));
    let audit: Vec<String> = desk.audit().await.into_iter().map(|(_, what, _)| what).collect();
    assert!(!audit.iter().any(|what| what == "chain.accept"), "{audit:?}");
    service.stop();
    host.assert_verified();
}
