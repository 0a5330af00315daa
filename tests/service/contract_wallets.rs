//! Contract wallets, whose signatures the chain verifies before a claim, and payments of empty wallets.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use purser::payment::evm::{keccak, parse_address, transfer_digest};
use purser::payment::{BasePayee, Token};
use purser_actors::id::Network;
use purser_actors::money::Usdc;
use purser_actors::port::EvmAuthorization;
use purser_chains::evm::contract_wallet::Undeployed;
use purser_chains::evm::key::EvmKey;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::agent::Agent;
use super::host::Host;
use super::http::{Response, ServiceClient, until};
use super::mpp::{self, altered as mpp_altered};
use super::payment::{assert_nothing_moved, assert_payment_invalid, decoded};

const CARD: &str = "/get-card?amount=5";
const INVALID_SIGNATURE: &str = "invalid_exact_evm_signature";

/// The owner of a sandbox contract wallet, see docs/sandbox.md.
struct Owner {
    key: EvmKey,
    agent: Agent,
}

impl Owner {
    fn new(name: &str) -> Self {
        let secret = Zeroizing::new(Sha256::digest(name).into());
        Self {
            key: EvmKey::from_bytes(secret).unwrap(),
            agent: Agent::new(Network::Base),
        }
    }

    fn address(&self) -> [u8; 20] {
        self.key.address().into_array()
    }

    fn wallet(&self) -> [u8; 20] {
        let hash = keccak(&[b"purser sandbox contract wallet".as_slice(), &self.address()].concat());
        hash[12..].try_into().unwrap()
    }

    fn wallet_text(&self) -> String {
        format!("0x{}", hex::encode(self.wallet()))
    }

    /// The wallet's signature over a payment with these fields under this domain.
    fn signature(&self, payload: &Value, domain: &[u8; 32]) -> String {
        let text = |name: &str| payload[name].as_str().unwrap();
        let number = |name: &str| text(name).parse::<u64>().unwrap();
        let authorization = EvmAuthorization {
            from: self.wallet(),
            to: parse_address(text("to")).unwrap(),
            value: Usdc::from_atomic(number("value")),
            valid_after: number("validAfter"),
            valid_before: number("validBefore"),
            nonce: hex::decode(&text("nonce")[2..]).unwrap().try_into().unwrap(),
            signature: [0; 65].into(),
        };
        let signature = self.key.sign(transfer_digest(domain, &authorization).into()).unwrap();
        format!("0x{}{}", hex::encode(self.address()), hex::encode(signature.to_bytes()))
    }

    async fn payment(&self, site: &ServiceClient<'_>, path: &str) -> String {
        let payment = self.agent.payment(site, path).await;
        changed(&payment, |payment| {
            let payload = &mut payment["payload"];
            payload["authorization"]["from"] = json!(self.wallet_text());
            let signature = self.signature(&payload["authorization"], &Token::SANDBOX.domain());
            payload["signature"] = json!(signature);
        })
    }
}

fn changed(payment: &str, change: impl FnOnce(&mut Value)) -> String {
    let mut payment = decoded(payment);
    change(&mut payment);
    STANDARD.encode(payment.to_string())
}

/// The same payment with one digit of its signature changed.
fn forged(payment: &str) -> String {
    changed(payment, |payment| {
        let signature = payment["payload"]["signature"].as_str().unwrap();
        let (prefix, last) = signature.split_at(60);
        let digit = if last.starts_with('0') { "1" } else { "0" };
        payment["payload"]["signature"] = json!(format!("{prefix}{digit}{}", &last[1..]));
    })
}

fn assert_chain_unreachable(answer: &Response) {
    assert_eq!(
        (answer.status, answer.code()),
        (503, "settlement_unavailable"),
        "{}",
        answer.text
    );
    assert!(answer.header("retry-after").is_some() && answer.header("payment-required").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn case_14_contract_wallet_pays_with_a_signature_it_accepts() {
    // Checks: The wallet buys, and the same payment gets the same response again. A signature that the contract doesn't
    // accept neither buys nor joins the purchase. The same holds for an address without a contract.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let owner = Owner::new("owner of a contract wallet");
    let payment = owner.payment(&site, CARD).await;
    assert_payment_invalid(
        &Agent::pay(&site, CARD, &forged(&payment)).await,
        INVALID_SIGNATURE,
        "before the claim",
    );
    let stranger = Owner::new("another owner");
    let stolen = changed(&payment, |payment| {
        let fields = payment["payload"]["authorization"].clone();
        payment["payload"]["signature"] = json!(stranger.signature(&fields, &Token::SANDBOX.domain()));
    });
    assert_payment_invalid(
        &Agent::pay(&site, CARD, &stolen).await,
        INVALID_SIGNATURE,
        "another owner",
    );
    let plain = changed(&payment, |payment| {
        payment["payload"]["authorization"]["from"] = json!(owner.agent.address());
    });
    assert_payment_invalid(&Agent::pay(&site, CARD, &plain).await, INVALID_SIGNATURE, "no contract");
    let dearer = changed(&payment, |payment| {
        payment["payload"]["authorization"]["value"] = json!("1");
    });
    let value = "invalid_exact_evm_payload_authorization_value_mismatch";
    assert_payment_invalid(&Agent::pay(&site, CARD, &dearer).await, value, "another amount");
    assert_nothing_moved(&site).await;

    let bought = Agent::pay(&site, CARD, &payment).await;
    assert_eq!(bought.status, 200, "{}", bought.text);
    let payer = bought.receipt()["payer"].as_str().unwrap().to_lowercase();
    assert_eq!(payer, owner.wallet_text());
    assert!(bought.body.get("auth").is_some());
    let again = Agent::pay(&site, CARD, &payment).await;
    assert_eq!((again.status, again.card()), (200, bought.card()), "{}", again.text);
    assert!(again.body.get("auth").is_none(), "{}", again.text);
    assert_payment_invalid(
        &Agent::pay(&site, CARD, &forged(&payment)).await,
        INVALID_SIGNATURE,
        "after the claim",
    );
    assert_eq!(site.transfers().await.len(), 1);
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn case_14_contract_wallet_pays_by_mpp() {
    // Checks: The same rule in MPP: the wallet's signature buys, another one is an invalid payment.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let owner = Owner::new("owner of a contract wallet");
    let credential = owner.agent.credential(&site.get(CARD, &[]).await);
    let from_wallet = mpp_altered(&credential, "/payload/from", json!(owner.wallet_text()));
    let source = format!("did:pkh:eip155:8453:{}", owner.wallet_text());
    let from_wallet = mpp_altered(&from_wallet, "/source", json!(source));
    let Value::Object(payload) = mpp::read(&from_wallet)["payload"].clone() else {
        panic!()
    };
    let pay_to = parse_address(payload["to"].as_str().unwrap()).unwrap();
    let domain = BasePayee::sandbox(pay_to).mpp_domain_separator;
    let signature = owner.signature(&Value::Object(payload), &domain);
    let good = mpp_altered(&from_wallet, "/payload/signature", json!(signature));
    let bad = mpp_altered(
        &good,
        "/payload/signature",
        json!(format!("{}00", &signature[..signature.len() - 2])),
    );
    let refused = mpp::pay(&site, CARD, &bad).await;
    assert_eq!(
        (refused.status, refused.code()),
        (402, "payment_invalid"),
        "{}",
        refused.text
    );
    assert_nothing_moved(&site).await;
    let bought = mpp::pay(&site, CARD, &good).await;
    assert_eq!(bought.status, 200, "{}", bought.text);
    let again = mpp::pay(&site, CARD, &good).await;
    assert_eq!((again.status, again.card()), (200, bought.card()), "{}", again.text);
    assert_eq!(site.transfers().await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_11_contract_wallet_payment_waits_for_an_unreachable_chain() {
    // Checks: While the chain is unreachable: 503 with Retry-After and no challenge, so no client signs twice. The same
    // payment buys when the chain answers, and gets the same response later while it is unreachable again.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let owner = Owner::new("owner of a contract wallet");
    let payment = owner.payment(&site, CARD).await;
    let wallet = owner.wallet_text();
    site.chain_fault(json!({"fault": "unreachable", "wallet": wallet, "times": 2}))
        .await;
    for _ in 0..2 {
        assert_chain_unreachable(&Agent::pay(&site, CARD, &payment).await);
    }
    assert_nothing_moved(&site).await;
    let bought = Agent::pay(&site, CARD, &payment).await;
    assert_eq!(bought.status, 200, "{}", bought.text);
    site.chain_fault(json!({"fault": "unreachable", "wallet": wallet}))
        .await;
    let again = Agent::pay(&site, CARD, &payment).await;
    assert_eq!((again.status, again.card()), (200, bought.card()), "{}", again.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_14_undeployed_wallet_without_a_listed_factory_is_rejected() {
    // Checks: An ERC-6492 signature has its own error reason.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let owner = Owner::new("owner of a contract wallet");
    let payment = owner.payment(&site, CARD).await;
    let wrapped = changed(&payment, |payment| {
        let wallet = Undeployed {
            factory: [7; 20].into(),
            call: vec![1, 2, 3, 4].into(),
            signature: vec![5; 65].into(),
        };
        payment["payload"]["signature"] = json!(format!("0x{}", hex::encode(wallet.wrap())));
    });
    let answer = Agent::pay(&site, CARD, &wrapped).await;
    assert_payment_invalid(&answer, "unsupported_payload_type", "ERC-6492");
    assert_nothing_moved(&site).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_88_payments_of_an_empty_wallet_are_not_claimed() {
    // Checks: After one decline for insufficient funds, further payments are declined before their claim with the same
    // response. A fulfilled payment still gets its response. A declined one buys as soon as the wallet has the funds.
    let host = Host::new().with("PURSER_SANDBOX__INITIAL_BALANCE_USDC", "8");
    let service = host.start();
    let site = ServiceClient::of(&service);
    for network in Network::ALL {
        let agent = Agent::new(network);
        let bought = agent.payment(&site, CARD).await;
        let card = Agent::pay(&site, CARD, &bought).await;
        assert_eq!(card.status, 200, "{}", card.text);
        let token = agent.token(&site).await;
        let short = |answer: &Response| {
            assert_eq!(
                (answer.status, answer.code()),
                (402, "settlement_failed"),
                "{}",
                answer.text
            );
            assert_eq!(answer.str("errorReason"), Some("insufficient_funds"), "{}", answer.text);
            assert!(answer.header("payment-required").is_none());
        };
        let payments = async || {
            let list = site.get_as(&token, "/list-payments").await;
            list.body["payments"].as_array().unwrap().len()
        };
        short(&agent.buy(&site, CARD).await);
        assert_eq!(payments().await, 2, "declined after a claim");
        let unclaimed = agent.payment(&site, CARD).await;
        for _ in 0..3 {
            let answer = Agent::pay(&site, CARD, &unclaimed).await;
            short(&answer);
            let guidance = answer.str("x_service_guidance").unwrap();
            assert!(guidance.contains("nothing was sent"), "{guidance}");
        }
        assert_eq!(payments().await, 2, "before a claim");
        let again = Agent::pay(&site, CARD, &bought).await;
        assert_eq!((again.status, again.card()), (200, card.card()), "{}", again.text);
        let fund = json!({"wallet": agent.address(), "amount": "50"});
        assert_eq!(site.post("/sandbox/faucet", &fund).await.status, 200);
        let paid = until("it buys", async || {
            let answer = Agent::pay(&site, CARD, &unclaimed).await;
            (answer.status == 200).then_some(answer)
        })
        .await;
        assert_ne!(paid.card(), card.card());
        assert_eq!(payments().await, 3);
    }
    service.stop();
    host.assert_verified();
}
