//! Payment headers of both versions, from the header's name to the verdict.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use bolero::check;
use http::{HeaderMap, HeaderValue};
use purser::payment::decode::{MAX_HEADER_BYTES, Payload, SelectedTerms};
use purser::payment::evm::SignatureRecovery;
use purser::payment::solana::address::parse as pubkey;
use purser::payment::{
    BasePayee, DecodedPayment, Payee, SolanaPayee, Terms, decode, payment_header, verify, verify_for_replay,
};
use purser::wallet::PaymentRequired;
use purser::wallet::payment::SigningContext;
use purser_actors::id::Wallet;
use purser_actors::money::Usdc;
use purser_actors::port::{Authorization, Timestamp};
use serde_json::{Value, json};

use crate::authorizations::{carrying, signed_fields};
use crate::input::{FuzzInput, change_bytes, change_json};
use crate::seller::{self, Fixed, NOW};

/// The clock of the recorded payments, in seconds.
const RECORDED: u64 = 1_768_473_000;
const VECTORS: [&str; 4] = [
    include_str!("../../vectors/x402-v2-evm.json"),
    include_str!("../../vectors/x402-v1-evm.json"),
    include_str!("../../vectors/x402-v2-evm-from-mppx.json"),
    include_str!("../../vectors/x402-v2-svm.json"),
];

/// Payments that stock clients signed, and what each of them is worth.
pub(crate) struct PaymentCorpus {
    pub(crate) documents: Vec<Value>,
    signed: Vec<Authorization>,
    offers: Vec<Terms>,
}

impl PaymentCorpus {
    pub(crate) fn new() -> Self {
        let Ok(Wallet::Evm(pay_to)) = "0x0D8e461687b7D06f86EC348E0c270b0F279855F0".parse() else {
            panic!("an address")
        };
        let base = Payee::Base(Arc::new(BasePayee::usdc(pay_to)));
        let pay_to = pubkey("4So8kA2BCfQD4zhvfYVqhWiyrXBgRPNRuoicJdh9G36c").unwrap();
        let fee_payer = pubkey("2btLJAAb1S3x6hZYdVyAePjqtQYi2ZBSRGy4569RZu8h").unwrap();
        let solana = Payee::Solana(Arc::new(SolanaPayee::usdc(pay_to, fee_payer, None).unwrap()));
        // Two prices are honoured at once, so that an amount could be taken for the other one.
        let offers: Vec<Terms> = [5_000_000, 6_000_000]
            .into_iter()
            .flat_map(|amount| [&base, &solana].map(|payee| Terms::new(Usdc::from_atomic(amount), 300, payee.clone())))
            .collect();
        let documents: Vec<Value> = VECTORS
            .iter()
            .map(|text| {
                let vector: Value = serde_json::from_str(text).unwrap();
                let header = vector["output"]["headerValue"].as_str().unwrap();
                serde_json::from_slice(&STANDARD.decode(header).unwrap()).unwrap()
            })
            .collect();
        let mut shelf = Self {
            documents,
            signed: Vec::new(),
            offers,
        };
        for document in &shelf.documents {
            let header = STANDARD.encode(document.to_string());
            shelf.signed.push(shelf.verdict(header.as_bytes()).unwrap());
        }
        shelf
    }

    /// What our code makes of a header; both libraries must agree, and so must the lookup of an existing claim.
    fn verdict(&self, header: &[u8]) -> Option<Authorization> {
        let payment = decode(header).ok()?;
        let judge = |recovery| verify(&payment, &self.offers, &[], Timestamp(RECORDED * 1000), recovery);
        let found = judge(SignatureRecovery::Libsecp256k1);
        assert_eq!(found, judge(SignatureRecovery::K256));
        let found = found.ok()?.authorization;
        let payees: Vec<Payee> = self.offers.iter().map(|terms| terms.payee.clone()).collect();
        assert_eq!(
            verify_for_replay(&payment, &payees, SignatureRecovery::default()).as_ref(),
            Some(&found)
        );
        Some(found)
    }

    /// Whatever was done to it, an accepted payment is one that was signed: same payer, amount, nonce or message.
    fn check_accepted_was_signed(&self, header: &[u8]) {
        let Some(found) = self.verdict(header) else { return };
        let same = self.signed.iter().any(|signed| match (signed, &found) {
            (Authorization::Evm(signed), Authorization::Evm(found)) => signed == found,
            // The fee payer's own slot is free until we fill it.
            (Authorization::Solana(signed), Authorization::Solana(found)) => {
                let differs = |at: &usize| signed.transaction[*at] != found.transaction[*at];
                signed.transaction.len() == found.transaction.len()
                    && (0..signed.transaction.len())
                        .filter(differs)
                        .all(|at| (1..65).contains(&at))
                    && (signed.message_hash, signed.payer, signed.value)
                        == (found.message_hash, found.payer, found.value)
            }
            _ => false,
        });
        assert!(same, "never signed: {found:?}");
    }
}

/// One of the four spellings of base64 that are read.
fn spelled(bytes: &[u8], dice: &mut FuzzInput<'_>) -> Vec<u8> {
    let engines = [
        STANDARD.encode(bytes),
        STANDARD_NO_PAD.encode(bytes),
        URL_SAFE.encode(bytes),
        URL_SAFE_NO_PAD.encode(bytes),
    ];
    dice.of(&engines).clone().into_bytes()
}

/// The same payment written out again, from what was read of it.
fn written(payment: &DecodedPayment) -> Value {
    let payload = match &payment.payload {
        Payload::Evm(evm) => json!({
            "authorization": {
                "from": evm.authorization.from, "to": evm.authorization.to, "value": evm.authorization.value,
                "validAfter": evm.authorization.valid_after, "validBefore": evm.authorization.valid_before,
                "nonce": evm.authorization.nonce,
            },
            "signature": evm.signature,
        }),
        Payload::Solana(wire) => json!({"transaction": STANDARD.encode(wire)}),
        Payload::Unsupported("Permit2") => json!({"permit2Authorization": {}}),
        Payload::Unsupported(_) => json!({"delegationManager": ""}),
    };
    let mut all = match &payment.chosen {
        SelectedTerms::V2(accepted) => json!({"x402Version": 2, "accepted": {
            "scheme": accepted.scheme, "network": accepted.network, "amount": accepted.amount, "asset": accepted.asset,
            "payTo": accepted.pay_to, "maxTimeoutSeconds": accepted.max_timeout_seconds, "extra": accepted.extra,
        }}),
        SelectedTerms::V1(network) => json!({"x402Version": 1, "scheme": "exact", "network": network.name()}),
    };
    all["payload"] = payload;
    all["extensions"] = json!(payment.extensions);
    all
}

fn check_round_trip(header: &[u8]) {
    let Ok(payment) = decode(header) else { return };
    assert!(header.len() <= MAX_HEADER_BYTES);
    let again = decode(STANDARD.encode(written(&payment).to_string()).as_bytes());
    // Only the limit can be in the way: what was read may be longer when it is written out.
    let Ok(again) = again else {
        assert!(written(&payment).to_string().len() * 4 / 3 + 4 > MAX_HEADER_BYTES);
        return;
    };
    assert_eq!(format!("{payment:?}"), format!("{again:?}"));
}

#[test]
fn any_bytes_in_a_payment_header_are_read_or_refused() {
    // Checks: no bytes panic the decoder or the verdict, and a parsed payment round-trips.
    let shelf = PaymentCorpus::new();
    check!().with_iterations(30_000).for_each(|header: &[u8]| {
        check_round_trip(header);
        check_round_trip(STANDARD.encode(header).as_bytes());
        shelf.check_accepted_was_signed(header);
    });
}

#[test]
fn a_changed_payment_is_one_that_was_signed_or_none() {
    // Checks: changes of the JSON, its text or the header's text yield the signed payment or a rejection. They never
    // yield another payer, amount or recipient, or a disagreement between libraries or implementations.
    let shelf = PaymentCorpus::new();
    check!()
        .with_iterations(3_000)
        .with_max_len(256)
        .for_each(|bytes: &[u8]| {
            let mut dice = FuzzInput(bytes);
            let (changes, level) = (dice.below(4), dice.byte() % 4);
            let mut document = dice.of(&shelf.documents).clone();
            if level < 2 {
                (0..changes).for_each(|_| change_json(&mut document, &shelf.documents, &mut dice));
            }
            let mut text = document.to_string().into_bytes();
            if level == 2 {
                (0..changes).for_each(|_| change_bytes(&mut text, &mut dice));
            }
            let mut header = spelled(&text, &mut dice);
            if level == 3 {
                (0..changes).for_each(|_| change_bytes(&mut header, &mut dice));
            }
            check_round_trip(&header);
            shelf.check_accepted_was_signed(&header);
        });
}

#[test]
fn signed_payment_is_parsed_faithfully() {
    // Checks: for any amount, timeout, network, version and memo in the offer, the wallet signs exactly that payment.
    check!().with_iterations(600).with_max_len(64).for_each(|bytes: &[u8]| {
        let mut dice = FuzzInput(bytes);
        let amount = dice.number(seller::PRICE);
        let memo = format!("order-{}", dice.byte());
        let solana = seller::solana(dice.one_in(2).then_some(memo.as_str()));
        let payee = if dice.one_in(2) { solana } else { seller::base() };
        let mut terms = seller::terms(amount, payee);
        terms.max_timeout_seconds = 6 + dice.below(100_000) as u32;
        let offers = [seller::terms(amount.wrapping_add(1), terms.payee.clone()), terms];
        let required = PaymentRequired::from_header(&seller::build_challenge(&offers[1..], None).header).unwrap();
        let offer = required.choose(None).unwrap();
        let at = SigningContext {
            now: Timestamp(NOW * 1000),
            entropy: &Fixed(u128::from(dice.number(0))),
            blockhash: None,
        };
        let (v2, buyer) = (dice.one_in(2), seller::buyer());
        let header = if v2 {
            buyer.pay(&required, &offer, &at)
        } else {
            buyer.pay_v1(&offer, &at)
        };
        let payment = decode(header.unwrap().as_bytes()).unwrap();
        let verified = verify(
            &payment,
            &offers,
            &[],
            Timestamp(NOW * 1000),
            SignatureRecovery::default(),
        )
        .unwrap();
        let network = offers[1].network();
        assert_eq!((verified.offer, verified.authorization.value().atomic()), (1, amount));
        assert_eq!(verified.authorization.payer(), buyer.account(network));
        assert_eq!(verified.authorization.network(), network);
    });
}

#[test]
fn valid_signature_leaves_the_verdict_to_the_fields() {
    // Checks: over all field values, with real signatures, the verdict matches a second implementation of the rule
    // below.
    let payee = BasePayee::usdc(seller::PAY_TO_BASE);
    check!()
        .with_iterations(1_500)
        .with_max_len(128)
        .for_each(|bytes: &[u8]| {
            let mut dice = FuzzInput(bytes);
            let domain = if dice.one_in(8) {
                [7; 32]
            } else {
                payee.domain_separator
            };
            let fields = signed_fields(&domain, &mut dice);
            let payment = carrying(&fields);
            let life = fields.valid_before.saturating_sub(NOW);
            let good = fields.to == seller::PAY_TO_BASE
                && fields.value.atomic() == seller::PRICE
                && fields.valid_after <= NOW
                && (6..=900).contains(&life)
                && domain == payee.domain_separator;
            let verdict = crate::verify::verdict(&payment, &seller::offers());
            assert_eq!(verdict.is_ok(), good, "{verdict:?} {fields:?}");
            assert!(!good || verdict == Ok(Authorization::Evm(fields)));
        });
}

#[test]
fn several_payment_headers_must_agree_or_none_counts() {
    // Checks: for any content and number of headers, all of them carry the one payment, or there is no payment.
    check!()
        .with_iterations(2_000)
        .with_max_len(64)
        .for_each(|bytes: &[u8]| {
            let mut dice = FuzzInput(bytes);
            let mut headers = HeaderMap::new();
            let mut values: Vec<Vec<u8>> = Vec::new();
            let mut mpp = false;
            for _ in 0..dice.below(4) {
                let name = *dice.of(&["payment-signature", "x-payment", "authorization"]);
                let text: &[u8] = dice.of::<&[u8]>(&[
                    b"e30=",
                    b" e30= ",
                    b"e31=",
                    b"",
                    b"Payment e30=",
                    b"PAYMENT x",
                    b"Bearer x",
                ]);
                headers.append(name, HeaderValue::from_bytes(text).unwrap());
                if name == "authorization" {
                    mpp |= text.to_ascii_lowercase().starts_with(b"payment ");
                } else {
                    values.push(text.trim_ascii().to_vec());
                }
            }
            let agree = values.iter().all(|value| *value == values[0]);
            match payment_header(&headers) {
                Ok(Some(found)) => assert!(agree && !mpp && values.contains(&found.to_vec())),
                Ok(None) => assert!(values.is_empty()),
                Err(_) => assert!(!agree || mpp),
            }
        });
}
