//! Offers of other servers that an agent wallet doesn't sign: our own terms, and other tokens than the settlement
//! token.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent_wallet::{assert_error, opened, outgoing_amounts, service_with_seller, with_open};
use super::agent_wallet_addresses::{bought, status_code_reason};
use super::banking::call;
use super::host::Host;
use super::http::ServiceClient;
use super::operator_client::OperatorClient;

#[tokio::test(flavor = "multi_thread")]
async fn case_90_agent_wallet_signs_only_for_the_settlement_token() {
    // Checks: An offer under the real token's name is rejected before anything is signed or reserved, and the error
    // gives the right name. The same server's offer under the sandbox's name is paid.
    let (seller, host, service) = service_with_seller().await;
    let site = ServiceClient::of(&service);
    let (_, token, wallet) = opened(&site, Network::Base).await;
    let pay = async |path: &str| {
        let params = json!({"url": format!("http://{}{path}", seller.authority()), "expectedNetwork": "base"});
        call(&site, &token, "agentX402Pay", params).await
    };
    let refused = pay("/real-token").await;
    assert_eq!(
        status_code_reason(&refused),
        (403, "policy_filtered", &Value::Null),
        "{}",
        refused.text
    );
    let hint = refused.body["error"]["hint"].as_str().unwrap();
    assert!(
        hint.contains("Nothing was signed") && hint.contains("Purser Sandbox USDC"),
        "{hint}"
    );
    with_open(&site, &token, 0).await;
    assert!(outgoing_amounts(&site, &wallet, Network::Base).await.is_empty());
    let faucet = json!({"wallet": wallet["addresses"]["base"], "amount": "5"});
    assert_eq!(site.post("/sandbox/faucet", &faucet).await.status, 200);
    let paid = pay("/paid").await;
    assert_eq!(
        (paid.status, paid.body["result"]["status"].as_str()),
        (200, Some("settled")),
        "{}",
        paid.text
    );
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn case_74_seller_that_copies_our_terms_is_not_paid() {
    // Checks: A copy of our route's 402 from another server is rejected as `own_terms` on both chains before anything
    // is signed or reserved. An offer that names only the treasury's token account is rejected too, and so is a
    // transfer there.
    let (seller, host, service) = service_with_seller().await;
    let site = ServiceClient::of(&service);
    let (_, token, wallet) = opened(&site, Network::Base).await;
    for path in ["/ours", "/our-account"] {
        for pinned in [json!({}), json!({"expectedNetwork": "solana"})] {
            let mut params = json!({"url": format!("http://{}{path}", seller.authority())});
            params
                .as_object_mut()
                .unwrap()
                .extend(pinned.as_object().unwrap().clone());
            let answer = call(&site, &token, "agentX402Pay", params).await;
            assert_eq!(
                status_code_reason(&answer),
                (403, "policy_filtered", &json!("own_terms")),
                "{}",
                answer.text
            );
        }
    }
    for network in Network::ALL {
        let ours = purser::sandbox::keys::treasury(network).address();
        let to = json!({"toAddress": ours, "amountUsdc": 1});
        assert_error(
            &call(&site, &token, "agentWalletTransfer", to).await,
            400,
            "parameter_invalid",
        );
        assert!(outgoing_amounts(&site, &wallet, network).await.is_empty());
    }
    assert_eq!(with_open(&site, &token, 0).await["pendingPayments"], json!([]));
    bought(&site, &token, "/get-card?amount=5", Network::Base).await;
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn ambiguous_or_zero_amount_terms_are_not_signed() {
    // Checks: An amount with a sign or leading zeros, a zero amount, and no time to pay are each rejected before
    // anything is signed or reserved.
    let (seller, _host, service) = service_with_seller().await;
    let site = ServiceClient::of(&service);
    let (_, token, wallet) = opened(&site, Network::Base).await;
    for (path, why) in [
        ("/signed-amount", "asks for no USDC payment"),
        ("/padded-amount", "asks for no USDC payment"),
        ("/zero", "0 USDC"),
        ("/no-time", "no time to pay"),
    ] {
        let params = json!({"url": format!("http://{}{path}", seller.authority())});
        let answer = call(&site, &token, "agentX402Pay", params).await;
        assert_eq!(
            status_code_reason(&answer),
            (403, "policy_filtered", &Value::Null),
            "{path}: {}",
            answer.text
        );
        assert!(answer.text.contains(why), "{path}: {}", answer.text);
    }
    assert_eq!(with_open(&site, &token, 0).await["pendingPayments"], json!([]));
    for network in Network::ALL {
        assert!(outgoing_amounts(&site, &wallet, network).await.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn our_own_addresses_cannot_be_saved_in_the_address_book() {
    // Checks: An address that `agentWalletTransfer` rejects as a receiver cannot be saved in the address book.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let (_, token, _) = opened(&site, Network::Base).await;
    for network in Network::ALL {
        let ours = purser::sandbox::keys::treasury(network).address();
        let entry = json!({"name": "shop", "address": ours});
        let saved = call(&site, &token, "saveAddressBookEntry", entry).await;
        assert_error(&saved, 400, "parameter_invalid");
        assert!(saved.text.contains("service's own"), "{}", saved.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn freezing_an_agent_wallet_address_freezes_its_owner() {
    // Checks: An operator can freeze and unfreeze an account by its agent wallet's address.
    let host = Host::new();
    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let (agent, token, wallet) = opened(&site, Network::Base).await;
    let frozen = json!({"wallet": wallet["addresses"]["base"], "message": "Please write to us."});
    let answer = operator.done("/admin/freeze", frozen.clone()).await;
    assert!(
        answer["wallet"]
            .as_str()
            .unwrap()
            .eq_ignore_ascii_case(&agent.address()),
        "{answer}"
    );
    let read = site.get_as(&token, "/get-account-balance").await;
    assert_eq!((read.status, read.code()), (403, "account_frozen"), "{}", read.text);
    operator
        .done("/admin/unfreeze", json!({"wallet": frozen["wallet"]}))
        .await;
    assert_eq!(site.get_as(&token, "/get-account-balance").await.status, 200);
    service.stop();
}
