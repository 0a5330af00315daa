//! Wire format against transactions of @solana/kit, and against hostile bytes.
#![allow(clippy::unwrap_used, clippy::type_complexity, reason = "a test")]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::address::{Pubkey, USDC_MAINNET, base58, parse};
use super::draft::{Draft, Instruction};
use super::keypair::Keypair;
use super::message::{Message, Version};
use super::token::{
    PaymentInstruction, TransferChecked, create_associated_token_account, memo, set_compute_unit_limit,
    set_compute_unit_price,
};
use super::transaction::{
    MAX_TRANSACTION_BYTES, SignError, Transaction, UNSIGNED, WireError, assemble, co_sign, sign, sign_partially,
};
use super::vectors::*;

fn bytes(vector: &str) -> Vec<u8> {
    STANDARD.decode(vector).unwrap()
}

fn key(seed: u8) -> Keypair {
    Keypair::from_seed(&[seed; 32])
}

fn draft(version: Version, instructions: Vec<Instruction>) -> Draft {
    Draft {
        fee_payer: key(1).address(),
        blockhash: [9; 32],
        instructions,
        version,
    }
}

fn payment(version: Version, amount: u64, text: &str) -> Draft {
    let transfer = TransferChecked::between(&key(2).address(), &key(3).address(), &USDC_MAINNET, amount).unwrap();
    draft(
        version,
        vec![
            set_compute_unit_limit(20_000),
            set_compute_unit_price(1),
            transfer.instruction(),
            memo(text),
        ],
    )
}

#[test]
fn built_payments_equal_those_of_kit() {
    let text = "a".repeat(32);
    let cases = [
        (payment(Version::V0, 1_500_000, &text), PAYMENT_V0),
        (payment(Version::Legacy, 1_500_000, &text), PAYMENT_LEGACY),
        (payment(Version::V0, u64::MAX, &"b".repeat(700)), PAYMENT_LONG_MEMO),
    ];
    for (draft, vector) in cases {
        assert_eq!(sign_partially(&draft, &[&key(2)]).unwrap(), bytes(vector));
    }
}

#[test]
fn a_withdrawal_that_creates_the_account_equals_that_of_kit() {
    let [fee, treasury, owner] = [key(1), key(3), key(2)];
    let transfer = TransferChecked::between(&treasury.address(), &owner.address(), &USDC_MAINNET, 7).unwrap();
    let withdrawal = draft(
        Version::V0,
        vec![
            set_compute_unit_limit(60_000),
            set_compute_unit_price(1000),
            create_associated_token_account(&fee.address(), &owner.address(), &USDC_MAINNET).unwrap(),
            transfer.instruction(),
        ],
    );
    let signed = sign(&withdrawal, &[&treasury, &fee]).unwrap();
    assert_eq!(signed.bytes, bytes(WITHDRAWAL));
    assert_eq!(Transaction::parse(&signed.bytes).unwrap().id(), Some(&signed.id));
    assert_eq!(sign(&withdrawal, &[&treasury]), Err(SignError::OtherSignature));
    assert_eq!(
        sign(&withdrawal, &[&treasury, &fee, &key(4)]),
        Err(SignError::NotASigner)
    );
}

#[test]
fn every_vector_is_parsed_and_written_back() {
    for vector in [
        PAYMENT_V0,
        PAYMENT_V0_COSIGNED,
        PAYMENT_LEGACY,
        PAYMENT_LONG_MEMO,
        WITHDRAWAL,
        PAYMENT_TABLES,
    ] {
        let wire = bytes(vector);
        let transaction = Transaction::parse(&wire).unwrap();
        assert_eq!(transaction.message.encode(), transaction.message_bytes);
        assert_eq!(
            assemble(transaction.signatures, transaction.message_bytes).unwrap(),
            wire
        );
        assert_eq!(transaction.message.blockhash, &[9; 32]);
        assert_eq!(transaction.message.duplicate_key(), None);
        assert_eq!(transaction.message.names_fee_payer(), vector == WITHDRAWAL);
        assert!(!transaction.message.has_durable_nonce());
        assert!(transaction.verifies_except(Some(0)));
    }
}

#[test]
fn a_parsed_payment_shows_its_parts() {
    let wire = bytes(PAYMENT_V0);
    let transaction = Transaction::parse_without_tables(&wire).unwrap();
    let message = &transaction.message;
    assert_eq!(message.signers(), [key(1).address(), key(2).address()]);
    assert_eq!(transaction.id(), None);
    assert_eq!(transaction.slot_of(&key(2).address()), Some(1));
    assert_eq!(transaction.slot_of(&key(3).address()), None);
    let decoded: Vec<PaymentInstruction<'_>> = message
        .instructions
        .iter()
        .map(|call| {
            let program = message.program(call).unwrap();
            PaymentInstruction::decode(program, &message.accounts(call).unwrap(), call.data).unwrap()
        })
        .collect();
    let transfer = TransferChecked::between(&key(2).address(), &key(3).address(), &USDC_MAINNET, 1_500_000).unwrap();
    assert_eq!(
        decoded,
        [
            PaymentInstruction::UnitLimit(20_000),
            PaymentInstruction::UnitPrice(1),
            PaymentInstruction::Transfer(transfer),
            PaymentInstruction::Memo(&[b'a'; 32]),
        ]
    );
    let rights: Vec<(String, bool, bool)> = (0..message.keys.len() as u8)
        .map(|index| {
            let key = message.key(index).unwrap();
            (base58(key), message.is_signer(index), message.is_writable(index))
        })
        .collect();
    let expected = [
        ("AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9", true, true),
        ("9hSR6S7WPtxmTojgo6GG3k4yDPecgJY292j7xrsUGWBu", true, false),
        ("ASZ2TDDNJG2n42TxAezqNNzwWipykHrENDKMCoLKgzup", false, true),
        ("DNDTCnZkNk358qDFZd9unHtnrc73SsXcpVWtwJJMrR4B", false, true),
        ("ComputeBudget111111111111111111111111111111", false, false),
        ("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", false, false),
        ("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr", false, false),
        ("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA", false, false),
    ];
    assert_eq!(
        rights,
        expected.map(|(key, signer, writable)| (key.to_owned(), signer, writable))
    );
}

#[test]
fn lookup_tables_are_parsed_but_not_accepted() {
    let wire = bytes(PAYMENT_TABLES);
    let transaction = Transaction::parse(&wire).unwrap();
    let [lookup] = transaction.message.lookups.as_slice() else {
        panic!("one table")
    };
    assert_eq!(base58(lookup.table), "8qbHbw2BbbTHBW1sbeqakYXVKRQM8Ne7pLK7m6CVfeR");
    assert_eq!((lookup.writable, lookup.readonly), (&[0][..], &[1][..]));
    assert_eq!(transaction.message.accounts(&transaction.message.instructions[2]), None);
    assert_eq!(Transaction::parse_without_tables(&wire), Err(WireError::LookupTables));
    assert_eq!(co_sign(&wire, &key(1)), Err(SignError::Wire(WireError::LookupTables)));
}

#[test]
fn the_fee_payer_co_signs() {
    let signed = co_sign(&bytes(PAYMENT_V0), &key(1)).unwrap();
    assert_eq!(signed.bytes, bytes(PAYMENT_V0_COSIGNED));
    let transaction = Transaction::parse(&signed.bytes).unwrap();
    assert_eq!(transaction.id(), Some(&signed.id));
    assert!(transaction.verifies_except(None));
    // Signing again gives the same bytes: a transaction that was sent can be sent again after a restart.
    assert_eq!(co_sign(&signed.bytes, &key(1)).unwrap(), signed);
}

#[test]
fn nothing_is_co_signed_that_another_signer_has_not_signed() {
    let wire = bytes(PAYMENT_V0);
    assert_eq!(co_sign(&wire, &key(5)), Err(SignError::NotASigner));
    // The payer cannot co-sign either: slot 0 is empty.
    assert_eq!(co_sign(&wire, &key(2)), Err(SignError::OtherSignature));
    // Every bit of the payer's signature and of the message counts.
    for position in 65..wire.len() {
        let mut forged = wire.clone();
        forged[position] ^= 1;
        assert!(co_sign(&forged, &key(1)).is_err(), "byte {position}");
    }
    let mut unsigned = wire.clone();
    unsigned[65..129].copy_from_slice(&UNSIGNED);
    assert_eq!(co_sign(&unsigned, &key(1)), Err(SignError::OtherSignature));
}

#[test]
fn a_signature_that_only_lenient_rules_accept_is_rejected() {
    // Checks: s + L is the same scalar with another encoding; validators verify strictly, and so does the parser.
    const ORDER: [u8; 32] = [
        0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
    ];
    let mut wire = bytes(PAYMENT_V0);
    let mut carry = 0u16;
    for (byte, order) in wire[65 + 32..129].iter_mut().zip(ORDER) {
        let sum = u16::from(*byte) + u16::from(order) + carry;
        *byte = sum as u8;
        carry = sum >> 8;
    }
    assert_eq!(co_sign(&wire, &key(1)), Err(SignError::OtherSignature));
    // The identity point is a key for which anyone can sign: weak keys never verify.
    let mut weak = [0; 32];
    weak[0] = 1;
    assert!(!super::transaction::verify(&weak, b"any", &{
        let mut signature = [0; 64];
        signature[0] = 1;
        signature
    }));
}

#[test]
fn a_durable_nonce_is_never_co_signed() {
    let advance = Instruction {
        program: super::address::SYSTEM,
        accounts: Vec::new(),
        data: vec![4, 0, 0, 0],
    };
    let mut nonce = payment(Version::V0, 1, "x");
    nonce.instructions.insert(0, advance);
    let wire = sign_partially(&nonce, &[&key(2)]).unwrap();
    assert_eq!(co_sign(&wire, &key(1)), Err(SignError::DurableNonce));
    nonce.instructions.swap(0, 1);
    assert!(co_sign(&sign_partially(&nonce, &[&key(2)]).unwrap(), &key(1)).is_ok());
}

#[test]
fn the_longest_transaction_has_1232_bytes() {
    let size =
        |text: usize| sign_partially(&payment(Version::V0, 1, &"m".repeat(text)), &[&key(2)]).map(|wire| wire.len());
    let text = (700..1000).take_while(|text| size(*text).is_ok()).last().unwrap();
    assert_eq!(size(text), Ok(MAX_TRANSACTION_BYTES));
    assert_eq!(size(text + 1), Err(SignError::Wire(WireError::TooLong)));
    let mut longer = sign_partially(&payment(Version::V0, 1, &"m".repeat(text)), &[&key(2)]).unwrap();
    assert!(Transaction::parse(&longer).is_ok());
    longer.push(0);
    assert_eq!(Transaction::parse(&longer), Err(WireError::TooLong));
}

/// A legacy message with these header bytes, number of keys and instructions (program, accounts).
fn message(header: [u8; 3], keys: u8, instructions: &[(u8, &[u8])]) -> Vec<u8> {
    let mut bytes = header.to_vec();
    bytes.push(keys);
    (0..keys).for_each(|index| bytes.extend([index; 32]));
    bytes.extend([9; 32]);
    bytes.push(instructions.len() as u8);
    for (program, accounts) in instructions {
        bytes.extend([*program, accounts.len() as u8]);
        bytes.extend(*accounts);
        bytes.push(0);
    }
    bytes
}

#[test]
fn a_header_must_fit_its_accounts() {
    let cases: [(&str, [u8; 3], u8, &[(u8, &[u8])], bool); 9] = [
        ("smallest", [1, 0, 0], 1, &[], true),
        ("all rights", [2, 1, 1], 4, &[(3, &[0, 1, 2, 3])], true),
        ("no signer", [0, 0, 0], 1, &[], false),
        ("read-only fee payer", [1, 1, 0], 1, &[], false),
        ("more signers than keys", [3, 0, 0], 2, &[], false),
        ("more read-only than keys", [2, 0, 2], 3, &[], false),
        ("fee payer called", [1, 0, 0], 2, &[(0, &[])], false),
        ("unknown program", [1, 0, 0], 2, &[(2, &[])], false),
        ("unknown account", [1, 0, 0], 2, &[(1, &[2])], false),
    ];
    for (name, header, keys, instructions, valid) in cases {
        let bytes = message(header, keys, instructions);
        assert_eq!(Message::parse(&bytes).is_ok(), valid, "{name}");
        // The same rules with a version byte and no tables.
        let versioned = [&[0x80][..], &bytes, &[0]].concat();
        assert_eq!(Message::parse(&versioned).is_ok(), valid, "{name}, version 0");
    }
    assert!(Message::parse(&[&[0x81][..], &message([1, 0, 0], 1, &[]), &[0]].concat()).is_err());
    let twice = {
        let mut bytes = message([1, 0, 0], 3, &[]);
        bytes[4 + 64..4 + 96].fill(0);
        bytes
    };
    assert_eq!(Message::parse(&twice).unwrap().duplicate_key(), Some(&[0; 32]));
}

#[test]
fn lookup_tables_count_as_accounts() {
    let with_tables = |tables: &[(usize, usize)], account: u8| {
        let mut bytes = [&[0x80][..], &message([1, 0, 0], 2, &[(1, &[account])])].concat();
        bytes.push(tables.len() as u8);
        for (writable, readonly) in tables {
            bytes.extend([7; 32]);
            for count in [*writable, *readonly] {
                super::wire::push_bytes(&mut bytes, &vec![0; count]);
            }
        }
        bytes
    };
    let cases: [(&[(usize, usize)], u8, bool); 6] = [
        (&[(1, 1)], 3, true),
        (&[(1, 1)], 4, false),
        (&[(0, 0)], 1, false),
        (&[(1, 0), (0, 1)], 3, true),
        (&[(200, 54)], 255, true),
        (&[(200, 55)], 255, false),
    ];
    for (tables, account, valid) in cases {
        let bytes = with_tables(tables, account);
        let parsed = Message::parse(&bytes);
        assert_eq!(parsed.is_ok(), valid, "{tables:?} {account}");
        if let Ok(parsed) = parsed {
            assert_eq!(parsed.encode(), bytes);
        }
    }
    // A program may not come from a table.
    let mut bytes = [&[0x80][..], &message([1, 0, 0], 2, &[])].concat();
    let end = bytes.len() - 1;
    bytes[end] = 1;
    bytes.extend([2, 0, 0, 1]);
    bytes.extend([7; 32]);
    bytes.extend([1, 0, 0]);
    assert!(Message::parse(&bytes).is_err());
}

#[test]
fn cut_and_extended_transactions_are_rejected() {
    for vector in [PAYMENT_V0, PAYMENT_LEGACY, PAYMENT_TABLES, WITHDRAWAL] {
        let wire = bytes(vector);
        for length in 0..wire.len() {
            assert!(Transaction::parse(&wire[..length]).is_err(), "{length} bytes");
        }
        assert!(Transaction::parse(&[&wire[..], &[0]].concat()).is_err());
    }
}

#[test]
fn what_is_parsed_is_canonical() {
    // Checks: over mutations from fixed seeds, every accepted transaction has exactly one encoding, its own.
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut accepted = 0;
    for vector in [PAYMENT_V0, PAYMENT_LEGACY, PAYMENT_TABLES, WITHDRAWAL] {
        let original = bytes(vector);
        for _ in 0..20_000 {
            let mut wire = original.clone();
            for _ in 0..1 + random() % 3 {
                let position = (random() % wire.len() as u64) as usize;
                match random() % 3 {
                    0 => wire[position] = random() as u8,
                    1 => wire.insert(position, random() as u8),
                    _ => drop(wire.remove(position)),
                }
            }
            if let Ok(transaction) = Transaction::parse(&wire) {
                accepted += 1;
                assert_eq!(transaction.message.encode(), transaction.message_bytes);
                assert_eq!(
                    assemble(transaction.signatures, transaction.message_bytes).unwrap(),
                    wire
                );
            }
        }
    }
    assert!(accepted > 1000, "only {accepted} mutations were still transactions");
}

#[test]
fn programs_have_the_addresses_of_the_published_clients() {
    let cases: [(Pubkey, &str); 3] = [
        (super::address::SYSTEM, "11111111111111111111111111111111"),
        (super::address::TOKEN, "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"),
        (USDC_MAINNET, "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"),
    ];
    for (address, text) in cases {
        assert_eq!(parse(text), Some(address));
    }
}
