//! A seller and a buyer for the tests.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use purser::payment::challenge::{Challenge, ChallengeInput, PAYMENT_REQUIRED_ERROR, Resource, challenge};
use purser::payment::solana::address::Pubkey;
use purser::payment::{BasePayee, Payee, RecentBlockhash, SolanaPayee, Terms};
use purser::wallet::payment::SigningContext;
use purser::wallet::{PaymentRequired, TestWallet};
use purser_actors::id::Network;
use purser_actors::money::Usdc;
use purser_actors::port::{Entropy, Timestamp};
use serde_json::Value;

/// Now, in seconds; any will do.
pub(crate) const NOW: u64 = 1_800_000_000;
pub(crate) const PRICE: u64 = 5_000_000;
pub(crate) const TIMEOUT: u32 = 300;
pub(crate) const PAY_TO_BASE: [u8; 20] = [0xaa; 20];
pub(crate) const PAY_TO_SOLANA: Pubkey = [0xbb; 32];
pub(crate) const BLOCKHASH: [u8; 32] = [0xcc; 32];

pub(crate) fn fee_payer() -> Pubkey {
    TestWallet::from_bytes(&[1; 32], &[0x33; 32]).unwrap().solana_address()
}

pub(crate) fn base() -> Payee {
    Payee::Base(Arc::new(BasePayee::usdc(PAY_TO_BASE)))
}

pub(crate) fn solana(memo: Option<&str>) -> Payee {
    Payee::Solana(Arc::new(SolanaPayee::usdc(PAY_TO_SOLANA, fee_payer(), memo).unwrap()))
}

pub(crate) fn terms(amount: u64, payee: Payee) -> Terms {
    let mut terms = Terms::new(Usdc::from_atomic(amount), TIMEOUT, payee);
    terms.recent = Some(Arc::new(RecentBlockhash::new(BLOCKHASH, 1000)));
    terms
}

/// Both offers; Base comes first.
pub(crate) fn offers() -> Vec<Terms> {
    vec![terms(PRICE, base()), terms(PRICE, solana(None))]
}

pub(crate) fn buyer() -> TestWallet {
    TestWallet::from_bytes(&[0x11; 32], &[0x22; 32]).unwrap()
}

pub(crate) struct Fixed(pub(crate) u128);

impl Entropy for Fixed {
    fn random(&self) -> u128 {
        self.0
    }
}

pub(crate) fn build_challenge(terms: &[Terms], extensions: Option<&str>) -> Challenge {
    challenge(&ChallengeInput {
        resource: Resource {
            url: "http://localhost/get-card?amount=5",
            description: "A card",
            mime_type: "application/json",
        },
        terms,
        error: PAYMENT_REQUIRED_ERROR,
        code: "payment_required",
        extensions,
        body_members: None,
    })
}

/// A good payment for the first offer on this network, as the buyer sends it.
pub(crate) fn pay(terms: &[Terms], network: Network) -> Value {
    let required = PaymentRequired::from_header(&build_challenge(terms, None).header).unwrap();
    let offer = required.choose(Some(network)).unwrap();
    let circumstances = SigningContext {
        now: Timestamp(NOW * 1000),
        entropy: &Fixed(7),
        blockhash: None,
    };
    let header = buyer().pay(&required, &offer, &circumstances).unwrap();
    serde_json::from_slice(&STANDARD.decode(header).unwrap()).unwrap()
}

pub(crate) fn encode(payment: &Value) -> String {
    STANDARD.encode(payment.to_string())
}
