//! What a managed wallet refuses to sign of what other servers offer: our own terms, and other tokens than the settlement's.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent_wallet::{assert_error, opened, outgoing_amounts, service_with_seller, with_open};
use super::agent_wallet_addresses::{bought, status_code_reason};
use super::banking::call;
use super::host::Host;
use super::http::ServiceClient;
use super::operator_client::OperatorClient;

#[tokio::test(flavor = "multi_thread")]
async fn case_90_a_managed_wallet_signs_for_the_settlements_token_alone() {
    // Aim: an offer under the real token's name is refused before anything is signed or reserved, and says which name would do;
    // the same server's offer under the sandbox's is paid.
    let (seller, host, service) = service_with_seller().await;
    let site = ServiceClient::of(&service);
    let (_, token, wallet) = opened(&site, Network::Base).await;
    let pay = async |path: &str| {
        let wanted = json!({"url": format!("http://{}{path}", seller.authority()), "expectedNetwork": "base"});
        call(&site, &token, "agentX402Pay", wanted).await
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
async fn case_74_a_seller_that_shows_our_own_terms_gets_nothing() {
    // Aim: the 402 of our own route from another server is refused as `own_terms` on both chains, before anything is signed or
    // reserved, also where only the account that holds the treasury's USDC is named; so is a transfer there.
    let (seller, host, service) = service_with_seller().await;
    let site = ServiceClient::of(&service);
    let (_, token, wallet) = opened(&site, Network::Base).await;
    for path in ["/ours", "/our-account"] {
        for pinned in [json!({}), json!({"expectedNetwork": "solana"})] {
            let mut wanted = json!({"url": format!("http://{}{path}", seller.authority())});
            wanted
                .as_object_mut()
                .unwrap()
                .extend(pinned.as_object().unwrap().clone());
            let answer = call(&site, &token, "agentX402Pay", wanted).await;
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
async fn terms_that_can_be_read_in_two_ways_or_ask_for_nothing_are_not_signed() {
    // Aim: an amount with a sign or leading zeros, nothing, and no time to pay are refused for what they are, before anything is signed
    // or reserved.
    let (seller, _host, service) = service_with_seller().await;
    let site = ServiceClient::of(&service);
    let (_, token, wallet) = opened(&site, Network::Base).await;
    for (path, why) in [
        ("/signed-amount", "asks for no USDC payment"),
        ("/padded-amount", "asks for no USDC payment"),
        ("/zero", "0 USDC"),
        ("/no-time", "no time to pay"),
    ] {
        let wanted = json!({"url": format!("http://{}{path}", seller.authority())});
        let answer = call(&site, &token, "agentX402Pay", wanted).await;
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
async fn the_services_own_addresses_are_in_no_address_book() {
    // Aim: what `agentWalletTransfer` refuses as a receiver is not kept as one either.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let (_, token, _) = opened(&site, Network::Base).await;
    for network in Network::ALL {
        let ours = purser::sandbox::keys::treasury(network).address();
        let entry = json!({"name": "shop", "address": ours});
        let kept = call(&site, &token, "saveAddressBookEntry", entry).await;
        assert_error(&kept, 400, "parameter_invalid");
        assert!(kept.text.contains("service's own"), "{}", kept.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn freezing_a_managed_wallets_address_freezes_its_owner() {
    // Aim: an operator who knows a payer by the address on the chain freezes and thaws the account that the address belongs to.
    let host = Host::new();
    let service = host.start();
    let (site, desk) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let (agent, token, wallet) = opened(&site, Network::Base).await;
    let frozen = json!({"wallet": wallet["addresses"]["base"], "message": "Please write to us."});
    let answer = desk.done("/admin/freeze", frozen.clone()).await;
    assert!(
        answer["wallet"]
            .as_str()
            .unwrap()
            .eq_ignore_ascii_case(&agent.address()),
        "{answer}"
    );
    let read = site.get_as(&token, "/get-account-balance").await;
    assert_eq!((read.status, read.code()), (403, "account_frozen"), "{}", read.text);
    desk.done("/admin/unfreeze", json!({"wallet": frozen["wallet"]})).await;
    assert_eq!(site.get_as(&token, "/get-account-balance").await.status, 200);
    service.stop();
}
