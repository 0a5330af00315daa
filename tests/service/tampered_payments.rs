//! Tampered payments: other terms, other transactions, other signatures.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use purser::payment::decode::Payload;
use purser::payment::evm::{domain_separator, parse_address};
use purser::payment::solana::address::{MEMO, TOKEN, associated_token_account, parse};
use purser::payment::terms::{BASE_USDC, SOLANA_USDC};
use purser::payment::{Token, decode};
use purser::wallet::PaymentRequired;
use purser::wallet::solana::{AccountMeta, Draft, DraftInstruction, Transfer};
use purser_actors::id::Network;
use purser_actors::money::Usdc;
use purser_actors::port::EvmAuthorization;
use serde_json::{Value, json};

use super::agent::Agent;
use super::host::Host;
use super::http::ServiceClient;
use super::payment::{assert_nothing_moved, assert_payment_invalid, decoded};

const CARD: &str = "/get-card?amount=5";

fn encoded(value: &Value) -> String {
    STANDARD.encode(value.to_string())
}

/// A payment header with changed content.
fn altered(payment: &str, alter: impl FnOnce(&mut Value)) -> String {
    let mut value = decoded(payment);
    alter(&mut value);
    encoded(&value)
}

/// A challenge that was changed in transit, so that the wallet signs terms we never offered.
async fn forged(site: &ServiceClient<'_>, alter: impl Fn(&mut Value)) -> PaymentRequired {
    let answer = site.get(CARD, &[]).await;
    let mut challenge = decoded(answer.header("payment-required").unwrap());
    challenge["accepts"].as_array_mut().unwrap().iter_mut().for_each(alter);
    PaymentRequired::from_header(encoded(&challenge).as_bytes()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn case_05_changed_terms_are_rejected_with_their_reason() {
    // Checks: another recipient, token or network, or one unit more or less, is rejected with its own reason, whether
    // or not the echoed terms were changed too. Nothing settles.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let [base, solana] = Network::ALL.map(Agent::new);
    let change = |offer: &mut Value, by: i64| {
        let amount: i64 = offer["amount"].as_str().unwrap().parse().unwrap();
        offer["amount"] = json!((amount + by).to_string());
    };
    let thief = [Network::Base, Network::Solana].map(|n| Agent::new(n).address());
    let evm_value = "invalid_exact_evm_payload_authorization_value_mismatch";
    for by in [-1, 1] {
        let challenge = forged(&site, |offer| change(offer, by)).await;
        let paid = Agent::pay(&site, CARD, &base.sign(&challenge)).await;
        assert_payment_invalid(&paid, evm_value, "Base amount");
        let paid = Agent::pay(&site, CARD, &solana.sign(&challenge)).await;
        assert_payment_invalid(&paid, "invalid_exact_svm_payload_amount_mismatch", "Solana amount");
    }
    let challenge = forged(&site, |offer| {
        offer["payTo"] = json!(thief[usize::from(offer["network"] != "eip155:8453")]);
    })
    .await;
    let paid = Agent::pay(&site, CARD, &base.sign(&challenge)).await;
    assert_payment_invalid(&paid, "invalid_exact_evm_recipient_mismatch", "Base payTo");
    let paid = Agent::pay(&site, CARD, &solana.sign(&challenge)).await;
    assert_payment_invalid(&paid, "invalid_exact_svm_payload_recipient_mismatch", "Solana payTo");

    // The echoed terms are ours, the signed part is not.
    let ours = decoded(&base.payment(&site, CARD).await)["accepted"].clone();
    let short = forged(&site, |offer| change(offer, -1)).await;
    let mixed = altered(&base.sign(&short), |p| p["accepted"] = ours.clone());
    assert_payment_invalid(
        &Agent::pay(&site, CARD, &mixed).await,
        evm_value,
        "signed one unit less",
    );

    let good = base.payment(&site, CARD).await;
    for (field, value, reason) in [
        ("network", "eip155:1", "invalid_network"),
        ("asset", "0x0000000000000000000000000000000000000001", "asset_mismatch"),
        ("scheme", "upto", "unsupported_scheme"),
    ] {
        let other = altered(&good, |p| p["accepted"][field] = json!(value));
        assert_payment_invalid(&Agent::pay(&site, CARD, &other).await, reason, field);
    }
    assert_nothing_moved(&site).await;
    assert_eq!(
        Agent::pay(&site, CARD, &good).await.status,
        200,
        "the payment itself was good"
    );
}

/// A payment whose Solana transaction is drafted by the test.
fn with_draft(agent: &Agent, payment: &str, draft: &Draft) -> String {
    altered(payment, |p| {
        p["payload"]["transaction"] = json!(STANDARD.encode(agent.wallet.sign_draft(draft)))
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn case_13_only_a_single_plain_transfer_is_accepted() {
    // Checks: two transfers, a foreign instruction, a wrong mint or a look-alike account is rejected and moves nothing.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Solana);
    let payment = agent.payment(&site, CARD).await;
    let extra = decoded(&payment)["accepted"].clone();
    let key = |text: &Value| parse(text.as_str().unwrap()).unwrap();
    let transfer = Transfer {
        fee_payer: key(&extra["extra"]["feePayer"]),
        pay_to: key(&extra["payTo"]),
        mint: SOLANA_USDC,
        amount: 5_000_000,
        blockhash: key(&extra["extra"]["recentBlockhash"]),
        memo: "case 13",
    };
    let draft = |transfer: &Transfer<'_>| agent.wallet.draft_transfer(transfer).unwrap();
    let mut twice = draft(&transfer);
    twice.instructions.push(twice.instructions[2].clone());
    let mut foreign = draft(&transfer);
    foreign.instructions.push(DraftInstruction {
        program: TOKEN,
        accounts: vec![AccountMeta::signer(agent.wallet.solana_address())],
        data: vec![9],
    });
    let other_mint = draft(&Transfer { mint: MEMO, ..transfer });
    let mut own_account = draft(&transfer);
    let lookalike = associated_token_account(&agent.wallet.solana_address(), &SOLANA_USDC).unwrap();
    own_account.instructions[2].accounts[2] = AccountMeta::plain(lookalike, true);
    let mut drains = draft(&transfer);
    drains.instructions[2].accounts[0] = AccountMeta::plain(transfer.fee_payer, true);
    let svm = |tail: &str| format!("invalid_exact_svm_payload_{tail}");
    for (what, draft, reason) in [
        ("two transfers", &twice, svm("unknown_fifth_instruction")),
        (
            "another program's instruction",
            &foreign,
            svm("unknown_fifth_instruction"),
        ),
        ("another mint", &other_mint, svm("mint_mismatch")),
        ("a look-alike token account", &own_account, svm("recipient_mismatch")),
        (
            "our own account",
            &drains,
            svm("transaction_fee_payer_transferring_funds"),
        ),
    ] {
        let answer = Agent::pay(&site, CARD, &with_draft(&agent, &payment, draft)).await;
        assert_payment_invalid(&answer, &reason, what);
    }
    assert_nothing_moved(&site).await;
    let good = with_draft(&agent, &payment, &draft(&transfer));
    assert_eq!(
        Agent::pay(&site, CARD, &good).await.status,
        200,
        "the draft itself is good"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn case_14_only_the_payers_signature_is_accepted() {
    // Checks: the malleated twin, and signatures for another chain, of a contract wallet and of another wallet, are
    // rejected.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let payment = agent.payment(&site, CARD).await;
    let signed = |signature: String| altered(&payment, |p| p["payload"]["signature"] = json!(signature));
    let good = decoded(&payment)["payload"]["signature"]
        .as_str()
        .unwrap()
        .trim_start_matches("0x")
        .to_owned();
    let mut twin: [u8; 65] = hex::decode(&good).unwrap().try_into().unwrap();
    negate_s(&mut twin);
    let Payload::Evm(fields) = decode(payment.as_bytes()).unwrap().payload else {
        panic!("not an EVM payment");
    };
    let mut authorization = EvmAuthorization {
        from: agent.wallet.evm_address(),
        to: parse_address(&fields.authorization.to).unwrap(),
        value: Usdc::from_atomic(5_000_000),
        valid_after: fields.authorization.valid_after.parse().unwrap(),
        valid_before: fields.authorization.valid_before.parse().unwrap(),
        nonce: hex::decode(&fields.authorization.nonce[2..])
            .unwrap()
            .try_into()
            .unwrap(),
        signature: [0; 65].into(),
    };
    let mut signature_for = |name: &str, chain: u64| {
        let domain = domain_separator(name, "2", chain, &BASE_USDC);
        agent.wallet.sign_transfer(&domain, &mut authorization);
        hex::encode(&authorization.signature)
    };
    assert_eq!(
        signature_for(Token::SANDBOX.name, 8453),
        good,
        "the test signs as the wallet does"
    );
    let (test_net, token) = (
        signature_for(Token::SANDBOX.name, 84532),
        signature_for("Other Coin", 8453),
    );
    let real = signature_for(Token::USDC.name, 8453);
    let contract = format!("{}{}", "00".repeat(96), "6492".repeat(16));
    for (what, signature, reason) in [
        ("twin", hex::encode(twin), "invalid_exact_evm_signature"),
        ("another chain", test_net, "invalid_exact_evm_signature"),
        ("another token", token, "invalid_exact_evm_signature"),
        ("the real USDC", real, "invalid_exact_evm_signature"),
        ("a contract wallet", contract, "unsupported_payload_type"),
    ] {
        let answer = Agent::pay(&site, CARD, &signed(format!("0x{signature}"))).await;
        assert_payment_invalid(&answer, reason, what);
    }
    let other = Agent::new(Network::Base).payment(&site, CARD).await;
    let stolen = altered(&payment, |p| {
        p["payload"]["signature"] = decoded(&other)["payload"]["signature"].clone()
    });
    assert_payment_invalid(
        &Agent::pay(&site, CARD, &stolen).await,
        "invalid_exact_evm_signature",
        "another wallet",
    );
    assert_nothing_moved(&site).await;
}

/// Replaces s by n − s and flips the parity: the same signature for any verifier that accepts a high s.
fn negate_s(signature: &mut [u8; 65]) {
    const ORDER: [u8; 32] = [
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 0xba, 0xae,
        0xdc, 0xe6, 0xaf, 0x48, 0xa0, 0x3b, 0xbf, 0xd2, 0x5e, 0x8c, 0xd0, 0x36, 0x41, 0x41,
    ];
    let mut borrow = 0;
    for at in (0..32).rev() {
        let mut digit = i16::from(ORDER[at]) - i16::from(signature[32 + at]) - borrow;
        borrow = i16::from(digit < 0);
        digit += 256 * borrow;
        signature[32 + at] = u8::try_from(digit).unwrap();
    }
    signature[64] = 27 + (28 - signature[64]);
}
