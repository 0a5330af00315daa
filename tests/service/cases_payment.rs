//! Payments that must be refused before anything is claimed, and requests that must not become payments.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use purser::payment::evm::domain_separator;
use purser::payment::solana::address::{MEMO, TOKEN, associated_token_account, parse};
use purser::payment::terms::{BASE_USDC, SOLANA_USDC};
use purser::system::SystemClock;
use purser::wallet::PaymentRequired;
use purser::wallet::solana::{AccountMeta, Draft, DraftInstruction, Transfer};
use purser_actors::id::Network;
use purser_actors::port::{Clock as _, Timestamp};
use serde_json::{Value, json};

use super::agent::{Agent, required};
use super::cases_replay::landed;
use super::host::Host;
use super::wire::{Answer, Site, send};

const CARD: &str = "/get-card?amount=5";

pub(crate) fn decoded(header: &str) -> Value {
    serde_json::from_slice(&STANDARD.decode(header).unwrap()).unwrap()
}

fn encoded(value: &Value) -> String {
    STANDARD.encode(value.to_string())
}

/// A payment header with something else in it.
fn altered(payment: &str, alter: impl FnOnce(&mut Value)) -> String {
    let mut value = decoded(payment);
    alter(&mut value);
    encoded(&value)
}

/// A challenge that somebody changed on its way, so that the wallet signs what we never asked for.
async fn forged(site: &Site<'_>, alter: impl Fn(&mut Value)) -> PaymentRequired {
    let answer = site.get(CARD, &[]).await;
    let mut challenge = decoded(answer.header("payment-required").unwrap());
    challenge["accepts"].as_array_mut().unwrap().iter_mut().for_each(alter);
    PaymentRequired::from_header(encoded(&challenge).as_bytes()).unwrap()
}

/// 402 with this reason, and a fresh challenge.
fn assert_refused(answer: &Answer, reason: &str, what: &str) {
    assert_eq!(
        (answer.status, answer.code()),
        (402, "payment_invalid"),
        "{what}: {}",
        answer.text
    );
    assert_eq!(answer.str("error"), Some(reason), "{what}");
    assert!(required(answer).choose(None).is_ok());
}

async fn assert_nothing_moved(site: &Site<'_>) {
    assert_eq!(site.transfers().await, Vec::<Value>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn case_05_other_terms_are_refused_by_name() {
    // Aim: another recipient, token, network, or one unit more or less is refused with its own reason, whether only the
    // signed part or the echoed terms too were changed; nothing settles.
    let host = Host::new();
    let service = host.start();
    let site = Site::of(&service);
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
        assert_refused(&paid, evm_value, "Base amount");
        let paid = Agent::pay(&site, CARD, &solana.sign(&challenge)).await;
        assert_refused(&paid, "invalid_exact_svm_payload_amount_mismatch", "Solana amount");
    }
    let challenge = forged(&site, |offer| {
        offer["payTo"] = json!(thief[usize::from(offer["network"] != "eip155:8453")]);
    })
    .await;
    let paid = Agent::pay(&site, CARD, &base.sign(&challenge)).await;
    assert_refused(&paid, "invalid_exact_evm_recipient_mismatch", "Base payTo");
    let paid = Agent::pay(&site, CARD, &solana.sign(&challenge)).await;
    assert_refused(&paid, "invalid_exact_svm_payload_recipient_mismatch", "Solana payTo");

    // The echo is ours, the signed part is not.
    let ours = decoded(&base.payment(&site, CARD).await)["accepted"].clone();
    let short = forged(&site, |offer| change(offer, -1)).await;
    let mixed = altered(&base.sign(&short), |p| p["accepted"] = ours.clone());
    assert_refused(
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
        assert_refused(&Agent::pay(&site, CARD, &other).await, reason, field);
    }
    assert_nothing_moved(&site).await;
    assert_eq!(
        Agent::pay(&site, CARD, &good).await.status,
        200,
        "the payment itself was good"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn case_06_outside_its_time_is_refused() {
    // Aim: not yet valid, expired, about to expire, or valid for longer than the chain is watched: refused before settling.
    let host = Host::new();
    let service = host.start();
    let site = Site::of(&service);
    let agent = Agent::new(Network::Base);
    let challenge = Agent::challenge(&site, CARD).await;
    let in_seconds = |s: i64| Timestamp(SystemClock.now().0.saturating_add_signed(s * 1000));
    let before = "invalid_exact_evm_payload_authorization_valid_before";
    // The wallet's clock is off by so much; its payments live 300 s.
    for (off, what) in [(-300, "expired"), (-298, "two seconds left"), (700, "too long")] {
        let payment = agent.sign_at(&challenge, in_seconds(off));
        assert_refused(&Agent::pay(&site, CARD, &payment).await, before, what);
    }
    // A v1 wallet back-dates by 600 s, so this one begins 300 s from now.
    let offer = challenge.choose(Some(Network::Base)).unwrap();
    let circumstances = purser::wallet::payment::Circumstances {
        now: in_seconds(900),
        entropy: &purser::system::SystemEntropy,
        blockhash: None,
    };
    let early = agent.wallet.pay_v1(&offer, &circumstances).unwrap();
    let answer = site.get(CARD, &[("x-payment", &early)]).await;
    assert_refused(
        &answer,
        "invalid_exact_evm_payload_authorization_valid_after",
        "not yet",
    );
    assert_nothing_moved(&site).await;
}

/// A payment whose Solana transaction is drafted by the test.
fn with_draft(agent: &Agent, payment: &str, draft: &Draft) -> String {
    altered(payment, |p| {
        p["payload"]["transaction"] = json!(STANDARD.encode(agent.wallet.sign_draft(draft)))
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn case_13_only_one_plain_transfer_is_taken() {
    // Aim: two transfers, a foreign instruction, a wrong mint or a look-alike account is refused and moves nothing.
    let host = Host::new();
    let service = host.start();
    let site = Site::of(&service);
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
        assert_refused(&answer, &reason, what);
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
async fn case_14_only_the_payers_own_signature_counts() {
    // Aim: the malleated twin, a signature for another chain, a contract wallet's and another wallet's are refused.
    let host = Host::new();
    let service = host.start();
    let site = Site::of(&service);
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
    let purser::payment::decode::Payload::Evm(fields) = purser::payment::decode(payment.as_bytes()).unwrap().payload
    else {
        panic!("not an EVM payment");
    };
    let mut authorization = purser_actors::port::EvmAuthorization {
        from: agent.wallet.evm_address(),
        to: purser::payment::evm::parse_address(&fields.authorization.to).unwrap(),
        value: purser_actors::money::Usdc::from_atomic(5_000_000),
        valid_after: fields.authorization.valid_after.parse().unwrap(),
        valid_before: fields.authorization.valid_before.parse().unwrap(),
        nonce: hex::decode(&fields.authorization.nonce[2..])
            .unwrap()
            .try_into()
            .unwrap(),
        signature: [0; 65],
    };
    let mut elsewhere = |name: &str, chain: u64| {
        let domain = domain_separator(name, "2", chain, &BASE_USDC);
        agent.wallet.sign_transfer(&domain, &mut authorization);
        hex::encode(authorization.signature)
    };
    assert_eq!(elsewhere("USD Coin", 8453), good, "the test signs as the wallet does");
    let (test_net, token) = (elsewhere("USD Coin", 84532), elsewhere("Other Coin", 8453));
    let contract = format!("{}{}", "00".repeat(96), "6492".repeat(16));
    for (what, signature, reason) in [
        ("twin", hex::encode(twin), "invalid_exact_evm_signature"),
        ("another chain", test_net, "invalid_exact_evm_signature"),
        ("another token", token, "invalid_exact_evm_signature"),
        ("a contract wallet", contract, "unsupported_payload_type"),
    ] {
        let answer = Agent::pay(&site, CARD, &signed(format!("0x{signature}"))).await;
        assert_refused(&answer, reason, what);
    }
    let other = Agent::new(Network::Base).payment(&site, CARD).await;
    let stolen = altered(&payment, |p| {
        p["payload"]["signature"] = decoded(&other)["payload"]["signature"].clone()
    });
    assert_refused(
        &Agent::pay(&site, CARD, &stolen).await,
        "invalid_exact_evm_signature",
        "another wallet",
    );
    assert_nothing_moved(&site).await;
}

/// s becomes n − s and the parity flips: the same signature to anybody who does not insist on the lower one.
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

#[tokio::test(flavor = "multi_thread")]
async fn case_15_nonsense_is_refused_in_constant_memory() {
    // Aim: bad encodings, two different payments and a megabyte of header are refused, again and again, and the process
    // does not grow with them.
    let host = Host::new();
    let service = host.start();
    let site = Site::of(&service);
    let agent = Agent::new(Network::Base);
    let (one, two) = (agent.payment(&site, CARD).await, agent.payment(&site, CARD).await);
    for nonsense in ["!!!", "e30", "bnVsbA==", &one[..one.len() / 2], &"A".repeat(9_000)] {
        let answer = Agent::pay(&site, CARD, nonsense).await;
        assert_eq!((answer.status, answer.code()), (402, "payment_invalid"), "{nonsense}");
    }
    let differing = [
        [("x-payment", &one), ("x-payment", &two)],
        [("payment-signature", &one), ("x-payment", &two)],
        [
            ("payment-signature", &one),
            ("authorization", &"Payment abc".to_owned()),
        ],
    ];
    for headers in differing {
        let mut request = site.request("GET", CARD);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        assert_eq!(send(request).await.unwrap().status, 400);
    }
    let huge = "A".repeat(1 << 20);
    let flood = async |times: usize| {
        for _ in 0..times {
            // The answer may be cut off by the reset that follows it.
            if let Ok(answer) = send(site.request("GET", CARD).header("x-payment", &huge)).await {
                assert_eq!(answer.status, 431);
            }
        }
    };
    flood(20).await;
    let before = service.resident();
    flood(100).await;
    assert!(
        service.resident() < before + (32 << 20),
        "{before} grew to {}",
        service.resident()
    );
    assert_nothing_moved(&site).await;
    let same_twice = send(
        site.request("GET", CARD)
            .header("x-payment", &one)
            .header("payment-signature", &one),
    )
    .await;
    assert_eq!(
        same_twice.unwrap().status,
        200,
        "the same payment in both headers is one payment"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn case_18_no_cache_keeps_a_paid_answer() {
    // Aim: a challenge is `no-store`; everything that was paid for is `private, no-store`, replays and pages included.
    let host = Host::new();
    let service = host.start();
    let site = Site::of(&service);
    let agent = Agent::new(Network::Base);
    assert_eq!(site.get(CARD, &[]).await.header("cache-control"), Some("no-store"));
    let payment = agent.payment(&site, CARD).await;
    for path in [CARD, CARD, "/get-card?amount=5&format=html"] {
        let answer = Agent::pay(&site, path, &payment).await;
        assert_eq!(
            (answer.status, answer.header("cache-control")),
            (200, Some("private, no-store"))
        );
    }
    let declined = agent.buy(&site, "/get-card?amount=13.02").await;
    assert_eq!(
        (declined.status, declined.header("cache-control")),
        (402, Some("no-store"))
    );
    assert_eq!(declined.body["success"], false);
    let unknown = agent.buy(&site, "/get-card?amount=13.04").await;
    assert_eq!(
        (unknown.status, unknown.header("cache-control")),
        (202, Some("private, no-store"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn case_19_only_get_buys() {
    // Aim: HEAD, OPTIONS and every other method with a good payment claim nothing; GET with the same payment buys.
    let host = Host::new();
    let service = host.start();
    let site = Site::of(&service);
    let payment = Agent::new(Network::Base).payment(&site, CARD).await;
    for (method, status) in [
        ("HEAD", 405),
        ("OPTIONS", 204),
        ("POST", 405),
        ("PUT", 405),
        ("DELETE", 405),
        ("TRACE", 405),
    ] {
        let request = site.request(method, CARD).header("payment-signature", &payment);
        assert_eq!(send(request).await.unwrap().status, status, "{method}");
    }
    assert_nothing_moved(&site).await;
    let bought = Agent::pay(&site, CARD, &payment).await;
    assert!(bought.body.get("auth").is_some(), "an earlier method had claimed it");
    assert_eq!(landed(&site, &payment).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_24_26_amounts_and_numbers_are_exact() {
    // Aim: what is no plain decimal number in range is 400 before anything else; equal amounts cost the same; numbers
    // at and beyond the top of their type are refused and change nothing.
    let host = Host::new();
    let service = host.start();
    let site = Site::of(&service);
    let agent = Agent::new(Network::Base);
    let payment = agent.payment(&site, CARD).await;
    let forty = "9".repeat(40);
    let bad = [
        "5.001", "1e3", "-5", "%2B5", "NaN", "inf", "%D9%A5", "5,00", "0x5", "", "%205", "5%20", ".5", "5.", &forty,
    ];
    for amount in bad {
        let answer = Agent::pay(&site, &format!("/get-card?amount={amount}"), &payment).await;
        assert_eq!(answer.status, 400, "{amount}: {}", answer.text);
    }
    for amount in ["0", "4.99", "1000.01", "18446744073709551615", "184467440737095516.16"] {
        let answer = site.get(&format!("/get-card?amount={amount}"), &[]).await;
        assert_eq!((answer.status, answer.code()), (400, "amount_out_of_range"), "{amount}");
    }
    for amount in ["5", "5.0", "5.00", "05"] {
        let answer = site.get(&format!("/get-card?amount={amount}"), &[]).await;
        if amount == "05" && answer.status == 400 {
            continue;
        }
        let offer = required(&answer).choose(None).unwrap().amount.atomic();
        assert_eq!(offer, 5_000_000, "{amount}");
    }
    let token = agent.token(&site).await;
    for path in [
        "/events?limit=0",
        "/events?limit=101",
        "/events?limit=99999999999999999999",
        "/events?after=-1",
    ] {
        assert_eq!(site.get_as(&token, path).await.status, 400, "{path}");
    }
    for (path, count) in [
        ("/events?after=18446744073709551615", "events"),
        ("/get-card-data?limit=100", "cards"),
    ] {
        let answer = site.get_as(&token, path).await;
        assert_eq!(
            (answer.status, &answer.body[count]),
            (200, &json!([])),
            "{path}: {}",
            answer.text
        );
    }
    let huge = json!({"wallet": agent.address(), "amount": "1000000000"});
    let balance = async || {
        site.get(&format!("/sandbox/balances?wallet={}", agent.address()), &[])
            .await
            .body
    };
    let rich = site.post("/sandbox/faucet", &huge).await.status;
    assert_eq!(rich, 200);
    let before = balance().await;
    for amount in ["1000000000.01", "18446744073709.56", &forty] {
        let answer = site
            .post("/sandbox/faucet", &json!({"wallet": agent.address(), "amount": amount}))
            .await;
        assert_eq!(answer.status, 400, "{amount}");
    }
    assert_eq!(balance().await, before);
    assert_nothing_moved(&site).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_25_the_fee_is_in_the_challenge() {
    // Aim: the challenge asks for amount plus fee, rounded up to the cent, at both edges of the range.
    let host = Host::new()
        .with("PURSER_PRODUCTS__USA_PREPAID_CARD__FEE_RATE", "0.038")
        .with("PURSER_PRODUCTS__USA_PREPAID_CARD__MIN_FEE", "0.5");
    let service = host.start();
    let site = Site::of(&service);
    for (amount, atomic) in [
        ("5", 5_500_000),
        ("13.15", 13_650_000),
        ("13.16", 13_670_000),
        ("100", 103_800_000),
        ("1000", 1_038_000_000),
    ] {
        let challenge = Agent::challenge(&site, &format!("/get-card?amount={amount}")).await;
        for network in Network::ALL {
            assert_eq!(
                challenge.choose(Some(network)).unwrap().amount.atomic(),
                atomic,
                "{amount}"
            );
        }
    }
    let agent = Agent::new(Network::Base);
    let bought = agent.buy(&site, "/get-card?amount=100").await;
    assert_eq!(bought.receipt()["amount"], "103800000");
    let token = bought.body["auth"]["id_token"].as_str().unwrap();
    let card = site
        .get_as(token, &format!("/get-card-data?card_id={}", bought.card()))
        .await;
    assert!(
        card.text.contains("\"usd_amount\":100") && card.text.contains("\"charged_usd_amount\":103.8"),
        "{}",
        card.text
    );
}
