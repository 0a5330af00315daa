//! Solana payments: the rules that keep our fee payer and our token account safe.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use purser::payment::Terms;
use purser::payment::solana::address::{COMPUTE_BUDGET, LIGHTHOUSE, MEMO, Pubkey, associated_token_account, parse};
use purser::payment::terms::SOLANA_USDC;
use purser::wallet::TestWallet;
use purser::wallet::solana::{AccountMeta, Draft, DraftInstruction, Transfer};
use purser_actors::id::Network;
use serde_json::{Value, json};

use crate::seller::{BLOCKHASH, PAY_TO_SOLANA, PRICE, buyer, fee_payer, offers, pay, solana, terms};
use crate::verify::verdict;

const TOKEN_2022: &str = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb";

fn draft() -> Draft {
    let transfer = Transfer {
        fee_payer: fee_payer(),
        pay_to: PAY_TO_SOLANA,
        mint: SOLANA_USDC,
        amount: PRICE,
        blockhash: BLOCKHASH,
        memo: "00112233445566778899aabbccddeeff",
    };
    buyer().draft_transfer(&transfer).unwrap()
}

fn carrying(wire: &[u8]) -> Value {
    let mut payment = pay(&offers(), Network::Solana);
    payment["payload"] = json!({"transaction": STANDARD.encode(wire)});
    payment
}

fn reason_of(wire: &[u8], terms: &[Terms]) -> Option<&'static str> {
    verdict(&carrying(wire), terms).err()
}

/// The reason for a draft with this change, signed by the buyer after it.
fn reason(change: impl FnOnce(&mut Draft)) -> Option<&'static str> {
    let mut draft = draft();
    change(&mut draft);
    reason_of(&buyer().sign_draft(&draft), &offers())
}

fn note(program: Pubkey) -> DraftInstruction {
    DraftInstruction {
        program,
        accounts: Vec::new(),
        data: b"x".to_vec(),
    }
}

fn stranger() -> Pubkey {
    TestWallet::from_bytes(&[5; 32], &[0x55; 32]).unwrap().solana_address()
}

#[test]
fn legacy_and_version_0_are_accepted_with_what_wallets_add() {
    // Checks: the valid drafts behind the invalid ones below are accepted, with three to seven instructions.
    assert_eq!(reason(|_| {}), None);
    assert_eq!(reason(|d| d.versioned = false), None);
    assert_eq!(reason(|d| d.instructions.truncate(3)), None);
    let payer = AccountMeta::signer(buyer().solana_address());
    let assertion = DraftInstruction {
        accounts: vec![payer],
        ..note(LIGHTHOUSE)
    };
    assert_eq!(
        reason(|d| d
            .instructions
            .extend([assertion.clone(), assertion.clone(), note(MEMO)])),
        None
    );
}

#[test]
fn case_13_missing_extra_or_unknown_instructions_are_rejected() {
    // Checks: a missing, additional, unknown or second transfer instruction is rejected with the reason of its
    // position.
    let transfer = draft().instructions[2].clone();
    let fifth = "invalid_exact_svm_payload_unknown_fifth_instruction";
    let no_transfer = "invalid_exact_svm_payload_no_transfer_instruction";
    let count = "invalid_exact_svm_payload_transaction_instructions_length";
    assert_eq!(reason(|d| d.instructions.truncate(2)), Some(count));
    assert_eq!(
        reason(|d| d.instructions.extend(std::iter::repeat_n(note(MEMO), 4))),
        Some(count)
    );
    assert_eq!(reason(|d| d.instructions.push(transfer.clone())), Some(fifth));
    assert_eq!(reason(|d| d.instructions.push(note(COMPUTE_BUDGET))), Some(fifth));
    assert_eq!(reason(|d| d.instructions.push(note([0; 32]))), Some(fifth));
    let places = ["fourth", "fifth", "sixth", "seventh"];
    for (at, place) in places.iter().enumerate() {
        let found = reason(|d| {
            d.instructions.truncate(3);
            d.instructions.extend(std::iter::repeat_n(note(MEMO), at));
            d.instructions.push(note([0xdd; 32]));
        });
        assert_eq!(
            found,
            Some(format!("invalid_exact_svm_payload_unknown_{place}_instruction").as_str())
        );
    }
    assert_eq!(reason(|d| d.instructions[2] = note(MEMO)), Some(no_transfer));
    assert_eq!(
        reason(|d| d.instructions[2].data[0] = 3),
        Some(no_transfer),
        "plain Transfer"
    );
    assert_eq!(
        reason(|d| d.instructions[2].data.push(0)),
        Some(no_transfer),
        "eleven bytes"
    );
    assert_eq!(
        reason(|d| d.instructions[2].data.truncate(9)),
        Some(no_transfer),
        "nine bytes"
    );
    assert_eq!(
        reason(|d| d.instructions[2].program = parse(TOKEN_2022).unwrap()),
        Some(no_transfer)
    );
    let multisig = AccountMeta::signer(buyer().solana_address());
    assert_eq!(reason(|d| d.instructions[2].accounts.push(multisig)), Some(no_transfer));
}

#[test]
fn case_13_the_compute_budget_is_exact_and_capped() {
    // Checks: order, length, and the caps of limit and price, at the cap and one beyond it.
    let limit = "invalid_exact_svm_payload_transaction_instructions_compute_limit_instruction";
    let price = "invalid_exact_svm_payload_transaction_instructions_compute_price_instruction";
    let set_limit = |units: u32| reason(|d| d.instructions[0].data = [&[2][..], &units.to_le_bytes()].concat());
    let set_price = |price: u64| reason(|d| d.instructions[1].data = [&[3][..], &price.to_le_bytes()].concat());
    assert_eq!(set_limit(200_000), None);
    assert_eq!(set_limit(200_001), Some(format!("{limit}_too_high").as_str()));
    assert_eq!(set_price(5_000_000), None);
    assert_eq!(set_price(5_000_001), Some(format!("{price}_too_high").as_str()));
    assert_eq!(reason(|d| d.instructions.swap(0, 1)), Some(limit));
    assert_eq!(reason(|d| d.instructions[0].data.push(0)), Some(limit));
    assert_eq!(reason(|d| d.instructions[0].program = MEMO), Some(limit));
    assert_eq!(reason(|d| d.instructions[1].data.truncate(8)), Some(price));
    assert_eq!(reason(|d| d.instructions[1].program = MEMO), Some(price));
}

#[test]
fn case_5_and_13_the_transfer_is_ours_exactly() {
    // Checks: amount, mint, decimals, destination, source and authority, each wrong alone.
    let amount = |amount: u64| reason(|d| d.instructions[2].data[1..9].copy_from_slice(&amount.to_le_bytes()));
    let account = |at: usize, key: Pubkey| reason(|d| d.instructions[2].accounts[at].key = key);
    assert_eq!(amount(PRICE - 1), Some("invalid_exact_svm_payload_amount_mismatch"));
    assert_eq!(amount(PRICE + 1), Some("invalid_exact_svm_payload_amount_mismatch"));
    assert_eq!(account(1, [0xdd; 32]), Some("invalid_exact_svm_payload_mint_mismatch"));
    assert_eq!(
        reason(|d| d.instructions[2].data[9] = 9),
        Some("invalid_exact_svm_payload_mint_mismatch")
    );
    let look_alike = associated_token_account(&stranger(), &SOLANA_USDC).unwrap();
    assert_eq!(
        account(2, look_alike),
        Some("invalid_exact_svm_payload_recipient_mismatch")
    );
    assert_eq!(
        account(2, PAY_TO_SOLANA),
        Some("invalid_exact_svm_payload_recipient_mismatch"),
        "the owner itself"
    );
    assert_eq!(
        account(0, look_alike),
        Some("invalid_exact_svm_payload_transaction"),
        "another wallet's tokens"
    );
    let read_only = reason(|d| d.instructions[2].accounts[2].writable = false);
    assert_eq!(read_only, Some("invalid_exact_svm_payload_transaction"));
    let delegate = reason(|d| d.instructions[2].accounts[3] = AccountMeta::signer(stranger()));
    assert_eq!(
        delegate,
        Some("invalid_exact_svm_payload_transaction"),
        "the source is not the authority's"
    );
    let unsigned = reason(|d| d.instructions[2].accounts[3].signer = false);
    assert_eq!(
        unsigned,
        Some("invalid_exact_svm_payload_transaction"),
        "an authority that does not sign"
    );
}

#[test]
fn case_13_the_fee_payer_pays_the_fee_and_nothing_else() {
    // Checks: the fee payer is ours, is key 0, is in no instruction, and only the payer signs beside it.
    let used = Some("invalid_exact_svm_payload_transaction_fee_payer_transferring_funds");
    assert_eq!(
        reason(|d| d.fee_payer = stranger()),
        Some("invalid_exact_svm_fee_payer_mismatch")
    );
    assert_eq!(
        reason(|d| d.fee_payer = buyer().solana_address()),
        Some("invalid_exact_svm_fee_payer_mismatch")
    );
    assert_eq!(reason(|d| d.instructions[2].accounts[3].key = fee_payer()), used);
    assert_eq!(
        reason(|d| d.instructions[3].accounts.push(AccountMeta::signer(fee_payer()))),
        used
    );
    let asserted = DraftInstruction {
        accounts: vec![AccountMeta::plain(fee_payer(), true)],
        ..note(LIGHTHOUSE)
    };
    assert_eq!(reason(|d| d.instructions.push(asserted)), used);
    assert_eq!(reason(|d| d.instructions[3].program = fee_payer()), used);
    let third = reason(|d| d.instructions[3].accounts.push(AccountMeta::signer(stranger())));
    assert_eq!(third, Some("invalid_exact_svm_payload_excessive_signers"));
}

#[test]
fn memo_must_match_the_requested_one() {
    // Checks: with `extra.memo` exactly one memo with that text is accepted, without it any memo.
    let asked = [terms(PRICE, solana(Some("order-7")))];
    let with_memos = |memos: &[&str]| {
        let mut draft = draft();
        draft.instructions.truncate(3);
        draft.instructions.extend(memos.iter().map(|m| DraftInstruction {
            data: m.as_bytes().to_vec(),
            ..note(MEMO)
        }));
        let mut payment = carrying(&buyer().sign_draft(&draft));
        payment["accepted"]["extra"]["memo"] = json!("order-7");
        verdict(&payment, &asked).err()
    };
    assert_eq!(with_memos(&["order-7"]), None);
    assert_eq!(
        with_memos(&["order-8"]),
        Some("invalid_exact_svm_payload_memo_mismatch")
    );
    assert_eq!(with_memos(&[]), Some("invalid_exact_svm_payload_memo_count"));
    assert_eq!(
        with_memos(&["order-7", "order-7"]),
        Some("invalid_exact_svm_payload_memo_count")
    );
    assert!(
        verdict(&pay(&asked, Network::Solana), &asked).is_ok(),
        "our wallet writes it"
    );
    assert_eq!(
        verdict(&carrying(&buyer().sign_draft(&draft())), &asked),
        Err("invalid_exact_svm_payload_memo_mismatch")
    );
}

#[test]
fn the_payers_signature_covers_every_byte_of_the_message() {
    // Checks: a flipped bit after the fee payer's slot is rejected. Within that slot it has no effect.
    let wire = buyer().sign_draft(&draft());
    let good = verdict(&carrying(&wire), &offers()).unwrap();
    for at in 0..wire.len() {
        let mut flipped = wire.clone();
        flipped[at] ^= 1;
        let verdict = verdict(&carrying(&flipped), &offers());
        if (1..65).contains(&at) {
            assert_eq!(verdict.unwrap().claim_key(), good.claim_key(), "byte {at}");
        } else {
            assert!(verdict.is_err(), "byte {at}");
        }
    }
    let last = wire.len() - 2;
    let mut flipped = wire;
    flipped[last] ^= 1;
    assert_eq!(
        reason_of(&flipped, &offers()),
        Some("invalid_exact_svm_payload_signature_invalid"),
        "the memo's last letter"
    );
}

#[test]
fn the_wire_format_is_read_strictly() {
    // Checks: truncation at every length, trailing bytes, other versions, lookup tables, long length encodings,
    // inconsistent headers, and more than 1,232 bytes are rejected.
    const UNDECODABLE: Option<&str> = Some("invalid_exact_svm_payload_transaction_could_not_be_decoded");
    let wire = buyer().sign_draft(&draft());
    for length in 0..wire.len() {
        assert_eq!(reason_of(&wire[..length], &offers()), UNDECODABLE, "{length} bytes");
    }
    assert_eq!(
        reason_of(&[&wire[..], &[0]].concat(), &offers()),
        UNDECODABLE,
        "a trailing byte"
    );
    assert_eq!(
        reason_of(&[&[0x82, 0x00], &wire[1..]].concat(), &offers()),
        UNDECODABLE,
        "2 spelled long"
    );
    let message = 1 + 2 * 64;
    let set = |at: usize, value: u8| {
        let mut bytes = wire.clone();
        bytes[at] = value;
        reason_of(&bytes, &offers())
    };
    assert_eq!(set(message, 0x81), UNDECODABLE, "version 1");
    assert_eq!(set(message + 1, 1), UNDECODABLE, "fewer signers than signatures");
    assert_eq!(set(message + 2, 2), UNDECODABLE, "a read-only fee payer");
    assert_eq!(
        set(message + 3, 200),
        UNDECODABLE,
        "more read-only accounts than accounts"
    );
    let first_program = message + 5 + 8 * 32 + 32 + 1;
    assert_eq!(set(first_program, 8), UNDECODABLE, "a program that is not listed");

    let table = [&wire[..wire.len() - 1], &[1], &[0xee; 32], &[1, 0, 0]].concat();
    assert_eq!(
        reason_of(&table, &offers()),
        Some("invalid_exact_svm_smart_wallet_alt_resolution_not_available")
    );
    let long = reason(|d| d.instructions[3].data = vec![b'x'; 1000]);
    assert_eq!(long, UNDECODABLE, "longer than a packet");

    let mut twice = wire.clone();
    let keys = message + 5;
    let copy: Vec<u8> = twice[keys + 6 * 32..keys + 7 * 32].to_vec();
    twice[keys + 4 * 32..keys + 5 * 32].copy_from_slice(&copy);
    assert_eq!(
        reason_of(&twice, &offers()),
        Some("invalid_exact_svm_payload_transaction"),
        "a key listed twice"
    );
}
