//! Chains other than the mainnets, and several fee payers.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use purser::payment::evm::SignatureRecovery;
use purser::payment::mpp::credential::decode as decode_credential;
use purser::payment::solana::address::{Pubkey, base58};
use purser::payment::{BaseChain, BasePayee, Payee, SolanaChain, SolanaPayee, Terms};
use purser::wallet::solana::Transfer;
use purser::wallet::{MppOffer, TestWallet};
use purser_actors::id::Network;
use purser_actors::money::Usdc;
use purser_actors::port::EvmAuthorization;
use serde_json::{Value, json};

use crate::rules::evm::with;
use crate::rules::mpp::{CARD, NOW_MS, server};
use crate::seller::{
    BLOCKHASH, NOW, PAY_TO_BASE, PAY_TO_SOLANA, PRICE, build_challenge, buyer, fee_payer, offers, pay, solana, terms,
};
use crate::verify::verdict;

fn second() -> Pubkey {
    TestWallet::from_bytes(&[1; 32], &[0x44; 32]).unwrap().solana_address()
}

fn stranger() -> Pubkey {
    TestWallet::from_bytes(&[1; 32], &[0x55; 32]).unwrap().solana_address()
}

fn two_payers(chain: &SolanaChain) -> Payee {
    let payee = SolanaPayee::on(chain, PAY_TO_SOLANA, &[fee_payer(), second()], None).unwrap();
    Payee::Solana(Arc::new(payee))
}

/// The terms that a challenge shows, one an offer.
fn challenge_terms(terms: &[Terms]) -> Vec<Value> {
    let challenge: Value =
        serde_json::from_slice(&STANDARD.decode(build_challenge(terms, None).header).unwrap()).unwrap();
    challenge["accepts"].as_array().unwrap().clone()
}

/// Signed by the buyer with this fee payer, echoing these terms.
fn paid_on_solana(accepted: &Value, payer: Pubkey, chain: &SolanaChain) -> Value {
    let transfer = Transfer {
        fee_payer: payer,
        pay_to: PAY_TO_SOLANA,
        mint: chain.mint,
        amount: PRICE,
        blockhash: BLOCKHASH,
        memo: "00112233445566778899aabbccddeeff",
    };
    let wire = buyer().sign_draft(&buyer().draft_transfer(&transfer).unwrap());
    let mut payment = pay(&offers(), Network::Solana);
    payment["accepted"] = accepted.clone();
    payment["payload"] = json!({"transaction": STANDARD.encode(wire)});
    payment
}

#[test]
fn payment_with_any_of_our_fee_payers_is_accepted() {
    // Checks: the challenge names its fee payer. The service co-signs a payment with any of its fee payers, for every
    // challenge. Another fee payer is rejected in payments and in terms.
    let mainnet = SolanaChain::MAINNET;
    let mut offered = terms(PRICE, two_payers(&mainnet));
    let named = |terms: &Terms| challenge_terms(std::slice::from_ref(terms))[0]["extra"]["feePayer"].clone();
    assert_eq!(named(&offered), base58(&fee_payer()), "the first, unless one is chosen");
    offered.fee_payer = Some(second());
    assert_eq!(named(&offered), base58(&second()));

    let offered = [offered];
    let accepted = challenge_terms(&offered).remove(0);
    for payer in [fee_payer(), second()] {
        assert_eq!(
            verdict(&paid_on_solana(&accepted, payer, &mainnet), &offered).err(),
            None
        );
    }
    let mismatch = Some("invalid_exact_svm_fee_payer_mismatch");
    let by_stranger = paid_on_solana(&accepted, stranger(), &mainnet);
    assert_eq!(verdict(&by_stranger, &offered).err(), mismatch);
    let mut named_stranger = paid_on_solana(&accepted, second(), &mainnet);
    named_stranger["accepted"]["extra"]["feePayer"] = json!(base58(&stranger()));
    assert_eq!(verdict(&named_stranger, &offered).err(), mismatch);
    // Who has one fee payer takes no other.
    let one = [terms(PRICE, solana(None))];
    let other = paid_on_solana(&challenge_terms(&one)[0], second(), &mainnet);
    assert_eq!(verdict(&other, &one).err(), mismatch);
}

#[test]
fn devnet_is_paid_in_its_own_token() {
    // Checks: terms on devnet name devnet and its mint. A devnet payment is valid there and not on mainnet, and vice
    // versa.
    let devnet = SolanaChain::DEVNET;
    let here = [terms(PRICE, two_payers(&devnet))];
    let there = [terms(PRICE, two_payers(&SolanaChain::MAINNET))];
    let (accepted, mainnet) = (challenge_terms(&here).remove(0), challenge_terms(&there).remove(0));
    assert_eq!(accepted["network"], "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1");
    assert_eq!(accepted["asset"], "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU");
    let paid = paid_on_solana(&accepted, fee_payer(), &devnet);
    assert_eq!(verdict(&paid, &here).err(), None);
    assert_eq!(verdict(&paid, &there).err(), Some("invalid_network"));
    let in_the_other_token = paid_on_solana(&accepted, fee_payer(), &SolanaChain::MAINNET);
    assert_eq!(
        verdict(&in_the_other_token, &here).err(),
        Some("invalid_exact_svm_payload_mint_mismatch")
    );
    let on_mainnet = paid_on_solana(&mainnet, fee_payer(), &SolanaChain::MAINNET);
    assert_eq!(verdict(&on_mainnet, &here).err(), Some("invalid_network"));
}

fn paid_on_base(accepted: &Value, domain: &[u8; 32]) -> Value {
    let mut fields = EvmAuthorization {
        from: [0; 20],
        to: PAY_TO_BASE,
        value: Usdc::from_atomic(PRICE),
        valid_after: 0,
        valid_before: NOW + 300,
        nonce: [9; 32],
        signature: [0; 65].into(),
    };
    buyer().sign_transfer(domain, &mut fields);
    let mut payment = with(&fields);
    payment["accepted"] = accepted.clone();
    payment
}

#[test]
fn base_sepolia_is_paid_under_its_own_domain() {
    // Checks: on Base Sepolia the token's EIP-712 name is `USDC` and its chain id 84532. A payment signed for mainnet
    // or the sandbox is invalid there, and terms of one chain do not match another.
    let payees = [BaseChain::SEPOLIA, BaseChain::MAINNET, BaseChain::SANDBOX].map(|c| BasePayee::on(&c, PAY_TO_BASE));
    let domains = [0, 1, 2].map(|i: usize| payees[i].domain_separator);
    let [here, there, _] = payees.map(|payee| [terms(PRICE, Payee::Base(Arc::new(payee)))]);
    let accepted = challenge_terms(&here).remove(0);
    assert_eq!(accepted["network"], "eip155:84532");
    assert_eq!(accepted["asset"], "0x036CbD53842c5426634e7929541eC2318f3dCF7e");
    assert_eq!(accepted["extra"]["name"], "USDC");
    assert_eq!(verdict(&paid_on_base(&accepted, &domains[0]), &here).err(), None);
    for other in &domains[1..] {
        let invalid = Some("invalid_exact_evm_signature");
        assert_eq!(verdict(&paid_on_base(&accepted, other), &here).err(), invalid);
    }
    let network = Some("invalid_network");
    assert_eq!(verdict(&paid_on_base(&accepted, &domains[0]), &there).err(), network);
    let mainnet = challenge_terms(&there).remove(0);
    assert_eq!(verdict(&paid_on_base(&mainnet, &domains[1]), &here).err(), network);
}

#[test]
fn an_mpp_client_pays_on_base_sepolia() {
    // Checks: the challenge names chain 84532, and the payment is verified under that chain's domain.
    let payee = Payee::Base(Arc::new(BasePayee::on(&BaseChain::SEPOLIA, PAY_TO_BASE)));
    let offered = [terms(PRICE, payee)];
    let mpp = server();
    let issued = mpp.issue(&offered, &CARD, "A card", NOW_MS).unwrap();
    let offer = MppOffer::from_header(std::str::from_utf8(&issued.header).unwrap()).unwrap();
    let header = buyer().pay_mpp(&offer);
    let sent = header.strip_prefix("Payment ").unwrap();
    let json: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(sent).unwrap()).unwrap();
    assert!(
        json["source"].as_str().unwrap().starts_with("did:pkh:eip155:84532:0x"),
        "{json}"
    );
    let judge = |credential: &Value, terms: &[Terms]| {
        let credential = decode_credential(URL_SAFE_NO_PAD.encode(credential.to_string()).as_bytes()).unwrap();
        mpp.verify(credential, terms, &CARD, NOW_MS, SignatureRecovery::Libsecp256k1)
    };
    assert!(judge(&json, &offered).is_ok());
    let mut mainnet = json.clone();
    mainnet["source"] = json!(json["source"].as_str().unwrap().replace("84532", "8453"));
    assert!(
        judge(&mainnet, &offered).is_err(),
        "the payer is named on another chain"
    );
    assert!(judge(&json, &offers()).is_err(), "no mainnet offer has this challenge");
}
