#![allow(clippy::unwrap_used, reason = "a test")]

use super::super::{MAINNET, THRESHOLD_FAST};
use super::*;
use crate::solana::address::USDC_MAINNET;

fn order() -> BurnOrder {
    BurnOrder {
        owner: [3; 32],
        mint: USDC_MAINNET,
        recipient: [0xaa; 20],
        amount: 5_000_500,
        max_fee: 500,
        min_finality_threshold: THRESHOLD_FAST,
    }
}

fn attested() -> BurnMessage {
    BurnMessage {
        nonce: [5; 32],
        finality_threshold_executed: THRESHOLD_FAST,
        fee_executed: 400,
        expiration_block: 1_000,
        ..BurnMessage::emitted_by(&order(), &MAINNET)
    }
}

#[test]
fn fields_are_where_circle_has_them() {
    // Checks: the offsets of Message and BurnMessage in circlefin/solana-cctp-contracts, programs/v2.
    let message = BurnMessage {
        hook_data: vec![1, 2],
        ..attested()
    };
    let bytes = message.encode();
    assert_eq!(bytes.len(), 148 + 228 + 2);
    let at = |from: usize, length: usize| hex::encode(&bytes[from..from + length]);
    let header = [
        (0, "00000001"),
        (4, "00000005"),
        (8, "00000006"),
        (140, "000003e8"),
        (144, "000003e8"),
    ];
    for (offset, expected) in header {
        assert_eq!(at(offset, 4), expected, "{offset}");
    }
    let words: [(usize, [u8; 32]); 6] = [
        (12, [5; 32]),
        (44, TOKEN_MESSENGER_MINTER),
        (76, evm_word(&MAINNET.token_messenger)),
        (148 + 4, USDC_MAINNET),
        (148 + 36, evm_word(&[0xaa; 20])),
        (148 + 100, [3; 32]),
    ];
    for (offset, word) in words {
        assert_eq!(bytes[offset..offset + 32], word, "{offset}");
    }
    let amounts = [(68, 5_000_500), (132, 500), (164, 400), (196, 1_000)];
    for (offset, amount) in amounts {
        assert_eq!(bytes[148 + offset..148 + offset + 32], word_of(amount), "{offset}");
    }
    assert_eq!(bytes[148 + 228..], [1, 2]);
    assert_eq!(BurnMessage::parse(&bytes), Ok(message));
}

#[test]
fn the_fee_that_was_taken_decides_what_arrives() {
    for (fee, arrives) in [(0, 5_000_500), (400, 5_000_100), (500, 5_000_000)] {
        let message = BurnMessage {
            fee_executed: fee,
            ..attested()
        };
        let parsed = BurnMessage::parse(&message.encode()).unwrap();
        assert_eq!(parsed.arrives(), arrives);
        assert!(parsed.arrives() >= order().arrives_at_least());
        assert_eq!(parsed.check_is_of(&order(), &MAINNET), Ok(()));
        assert_eq!(parsed.evm_recipient(), Some([0xaa; 20]));
    }
}

#[test]
fn malformed_messages_are_rejected() {
    let bytes = attested().encode();
    let with = |offset: usize, value: u8| {
        let mut bytes = bytes.clone();
        bytes[offset] = value;
        BurnMessage::parse(&bytes)
    };
    let cases = [
        (with(3, 0), MessageError::Version),
        (with(3, 2), MessageError::Version),
        (with(148 + 3, 0), MessageError::Version),
        (with(148 + 68, 1), MessageError::Amount),
        (with(148 + 187, 1), MessageError::Amount),
        (with(148 + 195, 255), MessageError::Fee),
        (with(148 + 159, 255), MessageError::Fee),
        (BurnMessage::parse(&bytes[..375]), MessageError::Length),
        (BurnMessage::parse(&[0; MAX_BYTES + 1]), MessageError::Length),
        (BurnMessage::parse(&[]), MessageError::Length),
    ];
    for (position, (result, expected)) in cases.into_iter().enumerate() {
        // A single changed byte of fee_executed may stay below max_fee.
        assert_eq!(result.unwrap_err(), expected, "case {position}");
    }
}

#[test]
fn another_order_is_not_this_one() {
    let cases = [
        (
            "amount",
            BurnOrder {
                amount: 5_000_501,
                ..order()
            },
        ),
        (
            "fee limit",
            BurnOrder {
                max_fee: 501,
                ..order()
            },
        ),
        (
            "mint recipient",
            BurnOrder {
                recipient: [0xab; 20],
                ..order()
            },
        ),
        (
            "token",
            BurnOrder {
                mint: [1; 32],
                ..order()
            },
        ),
        (
            "owner",
            BurnOrder {
                owner: [1; 32],
                ..order()
            },
        ),
        (
            "finality threshold",
            BurnOrder {
                min_finality_threshold: 2000,
                ..order()
            },
        ),
    ];
    for (field, order) in cases {
        assert_eq!(
            attested().check_is_of(&order, &MAINNET),
            Err(MessageError::Mismatch(field))
        );
    }
    let other = super::super::TESTNET;
    assert_eq!(
        attested().check_is_of(&order(), &other),
        Err(MessageError::Mismatch("recipient contract"))
    );
    let hooked = BurnMessage {
        hook_data: vec![0],
        ..attested()
    };
    assert_eq!(
        hooked.check_is_of(&order(), &MAINNET),
        Err(MessageError::Mismatch("hook data"))
    );
    let not_evm = BurnMessage {
        mint_recipient: [1; 32],
        ..attested()
    };
    assert_eq!(not_evm.evm_recipient(), None);
}

#[test]
fn a_burn_without_its_order_is_known_by_owner_token_and_amount() {
    let owner = order().owner;
    let check = |message: &BurnMessage, burned| message.check_burned(burned, &MAINNET);
    assert_eq!(check(&attested(), (&owner, &USDC_MAINNET, 5_000_500)), Ok(()));
    for (field, burned) in [
        ("owner", (&[1; 32], &USDC_MAINNET, 5_000_500)),
        ("token", (&owner, &[1; 32], 5_000_500)),
        ("amount", (&owner, &USDC_MAINNET, 5_000_501)),
    ] {
        assert_eq!(check(&attested(), burned), Err(MessageError::Mismatch(field)));
    }
    let not_evm = BurnMessage {
        mint_recipient: [1; 32],
        ..attested()
    };
    assert_eq!(
        check(&not_evm, (&owner, &USDC_MAINNET, 5_000_500)),
        Err(MessageError::Mismatch("mint recipient"))
    );
}

#[test]
fn an_attestation_expires_at_its_block() {
    let message = attested();
    assert!(!message.is_expired_at(999) && message.is_expired_at(1_000));
    let unlimited = BurnMessage {
        expiration_block: 0,
        ..attested()
    };
    assert!(!unlimited.is_expired_at(u64::MAX));
}
