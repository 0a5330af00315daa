#![allow(clippy::unwrap_used, reason = "a test")]

use alloy_primitives::{address, b256, hex};
use zeroize::Zeroizing;

use super::*;
use crate::evm::key::EvmKey;

const PAYER: Address = address!("f39Fd6e51aad88F6F4ce6aB8827279cffFb92266");
const PAYEE: Address = address!("70997970C51812dc3A010C7d01b50e0d17dc79C8");
const USDC: Address = address!("833589fCD6eDb6E08f4c7C32D4f71b54bdA02913");

fn key() -> EvmKey {
    let secret = hex!("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80");
    EvmKey::from_bytes(Zeroizing::new(secret)).unwrap()
}

fn authorization() -> Authorization {
    Authorization {
        from: PAYER,
        to: PAYEE,
        value: U256::from(1_250_000),
        valid_after: U256::ZERO,
        valid_before: U256::from(1_893_456_000_u64),
        nonce: B256::repeat_byte(0x11),
    }
}

// Computed with viem 2.55.18: `domainSeparator`, `hashTypedData`, `signTypedData`.
#[test]
fn digests_and_signatures_match_viem() {
    let sepolia = address!("036CbD53842c5426634e7929541eC2318f3dCF7e");
    let table = [
        (
            Token::new(8453, USDC, "USD Coin", "2"),
            b256!("02fa7265e7c5d81118673727957699e4d68f74cd74b7db77da710fe8a2c7834f"),
            b256!("ff0671b33eab070235b040909885e393591001207b2cf6e0bc8ed1bd11c4545f"),
            "a1d3ed742bcec9c5ef3a095067139066a88641c25c6f8068ad10291be6bfdb801305a004e81272e86502be1a6c10722b585cf40ea0437c8af21c6e9a313d485c1b",
            b256!("ee435e8298a500a1555560f8393fb566216f56ef2aaa70400a2f8dfc3dd12db3"),
            "25347cb2d45d44bdde2216179ea58f25c884f1708eb2707b2c2142ff9eaa65df5a444fa99ecf3a9857c38714b279ab6f7f4b3572ff99271b05ff4eceaf47d7541c",
        ),
        (
            Token::new(84532, sepolia, "USDC", "2"),
            b256!("71f17a3b2ff373b803d70a5a07c046c1a2bc8e89c09ef722fcb047abe94c9818"),
            b256!("23570ab6f1d6f73e41a2f48cfd628f484365c21fa65c1df7791ad0e6f5e019ab"),
            "c21b3bf8f5f604513aee3f76b541ca3438d02e8cdeacabd8cf4c055999f4d2324ed9f675548828ff53c3a4d8200e6bfe0a4fc68ea00a937eb0c348ac4acf63141b",
            b256!("b9d621496112dbdfd2603479b3aa0d56eeb038f398022339698af7339b1d607f"),
            "b0cb90574bb10b861eec3bb31b293d266a3ad5825f183d5a14a4947953d756e166359185a9776ce0196eca65bf684f3cd3b11bc745641039777e555f6bbe34c51c",
        ),
    ];
    for (token, separator, transfer, transfer_signature, cancel, cancel_signature) in table {
        assert_eq!(token.domain_separator(), separator);
        let digest = token.transfer_digest(&authorization());
        assert_eq!(digest, transfer);
        let signature = key().sign(digest).unwrap();
        assert_eq!(hex::encode(signature.to_bytes()), transfer_signature);
        assert_eq!(signature.recover(digest), Some(PAYER));
        let digest = token.cancel_digest(PAYER, B256::repeat_byte(0x11));
        assert_eq!(digest, cancel);
        assert_eq!(hex::encode(key().sign(digest).unwrap().to_bytes()), cancel_signature);
    }
}

// Hashes of the output of viem's `encodeFunctionData`.
#[test]
fn calldata_matches_viem() {
    let token = Token::new(8453, USDC, "USD Coin", "2");
    let signature = key().sign(token.transfer_digest(&authorization())).unwrap();
    let cancel = key().sign(token.cancel_digest(PAYER, B256::repeat_byte(0x11))).unwrap();
    let nonce = B256::repeat_byte(0x11);
    let table = [
        (
            transfer_bytes_call(&authorization(), &signature.to_bytes()).unwrap(),
            b256!("dced86c5683eea5b2f6c1bf2b194fc4cc99264f86bbf148ce9db19e89ab70ef0"),
        ),
        (
            transfer_call(&authorization(), signature),
            b256!("c9c979517640206552f840124e2e2caa9455979ceb5a9184e0216c8bbd15deb8"),
        ),
        (
            cancel_bytes_call(PAYER, nonce, &cancel.to_bytes()).unwrap(),
            b256!("9eaa9d83f3e821b7e3be83788a8f42ebdac46372ec033172554df3d567f665cf"),
        ),
    ];
    for (calldata, hash) in table {
        assert_eq!(keccak256(&calldata), hash);
    }
    assert_eq!(hex::encode(&cancel_call(PAYER, nonce, cancel)[..4]), "5a049a70");
    let state = authorization_state_call(PAYER, nonce);
    assert_eq!(hex::encode(&state[..4]), "e94a0102");
    assert_eq!(&state[4..], [&[0; 12], PAYER.as_slice(), nonce.as_slice()].concat());
    assert_eq!(
        balance_call(PAYER),
        [&hex!("70a08231")[..], &[0; 12], PAYER.as_slice()].concat()
    );
    let long = vec![0; MAX_SIGNATURE_LEN + 1];
    assert_eq!(
        transfer_bytes_call(&authorization(), &long),
        Err(SignatureTooLong(4097))
    );
    assert_eq!(cancel_bytes_call(PAYER, nonce, &long), Err(SignatureTooLong(4097)));
}

#[test]
fn returned_words_decode_strictly() {
    let word = |n: u8| U256::from(n).to_be_bytes::<32>();
    assert_eq!(decode_authorization_state(&word(0)), Some(false));
    assert_eq!(decode_authorization_state(&word(1)), Some(true));
    assert_eq!(decode_authorization_state(&word(2)), None);
    assert_eq!(decode_authorization_state(&[]), None);
    assert_eq!(decode_balance(&word(7)), Some(U256::from(7)));
    assert_eq!(decode_balance(&word(7)[1..]), None);
}

struct Block(Vec<Log>);

impl Block {
    fn push(&mut self, transaction: u8, index: u64, topics: Vec<B256>, data: Vec<u8>) -> &mut Self {
        self.0.push(Log {
            address: USDC,
            topics,
            data: data.into(),
            block_number: 9,
            block_hash: B256::repeat_byte(9),
            transaction: B256::repeat_byte(transaction),
            log_index: index,
        });
        self
    }

    fn used(&mut self, transaction: u8, index: u64, payer: Address, nonce: u8) -> &mut Self {
        self.push(
            transaction,
            index,
            vec![TOPICS[1], payer.into_word(), B256::repeat_byte(nonce)],
            vec![],
        )
    }

    fn transfer(&mut self, transaction: u8, index: u64, from: Address, value: u64) -> &mut Self {
        let topics = vec![TOPICS[0], from.into_word(), PAYEE.into_word()];
        self.push(
            transaction,
            index,
            topics,
            U256::from(value).to_be_bytes::<32>().to_vec(),
        )
    }
}

fn reference(transaction: u8, log_index: u64) -> TransferRef {
    TransferRef {
        transaction: B256::repeat_byte(transaction),
        log_index,
    }
}

fn rows(logs: &[Log]) -> Vec<(TransferRef, MovementKind)> {
    let found = movements(USDC, logs).unwrap();
    found.into_iter().map(|m| (m.reference, m.kind)).collect()
}

fn transfer_kind(from: Address, value: u64, nonce: Option<u8>) -> MovementKind {
    let authorization = nonce.map(B256::repeat_byte);
    MovementKind::Transfer {
        from,
        to: PAYEE,
        value: U256::from(value),
        authorization,
    }
}

// Checks: two payments and a plain transfer in one transaction are three transfers with different references.
#[test]
fn movements_are_named_by_transaction_and_log() {
    let mut block = Block(vec![]);
    block.used(1, 4, PAYER, 0xaa).transfer(1, 5, PAYER, 10);
    block.used(1, 7, PAYER, 0xbb).transfer(1, 8, PAYER, 10);
    block.transfer(1, 9, PAYER, 10).transfer(2, 10, PAYEE, 3);
    let canceled = vec![TOPICS[2], PAYER.into_word(), B256::repeat_byte(0xcc)];
    block.push(2, 11, canceled, vec![]);
    let expected = vec![
        (reference(1, 5), transfer_kind(PAYER, 10, Some(0xaa))),
        (reference(1, 8), transfer_kind(PAYER, 10, Some(0xbb))),
        (reference(1, 9), transfer_kind(PAYER, 10, None)),
        (reference(2, 10), transfer_kind(PAYEE, 3, None)),
        (
            reference(2, 11),
            MovementKind::Canceled {
                authorizer: PAYER,
                nonce: B256::repeat_byte(0xcc),
            },
        ),
    ];
    assert_eq!(rows(&block.0), expected);
    // The order of the list does not matter; the index does.
    block.0.reverse();
    assert_eq!(rows(&block.0), expected);
}

// Checks: events of other contracts, other events and malformed ones are skipped.
#[test]
fn foreign_logs_are_skipped() {
    let mut block = Block(vec![]);
    block
        .transfer(1, 0, PAYER, 1)
        .transfer(1, 1, PAYER, 2)
        .transfer(1, 2, PAYER, 3)
        .transfer(1, 3, PAYER, 4);
    block.0[0].address = PAYEE;
    block.0[1].topics[0] = B256::repeat_byte(1);
    block.0[2].topics.pop();
    assert_eq!(rows(&block.0), [(reference(1, 3), transfer_kind(PAYER, 4, None))]);
}

#[test]
fn authorization_without_transfer_is_an_error() {
    let block = |build: fn(&mut Block)| {
        let mut block = Block(vec![]);
        build(&mut block);
        movements(USDC, &block.0)
    };
    let unpaired = Err(UnpairedAuthorization(reference(1, 4)));
    assert_eq!(
        block(|b| {
            b.used(1, 4, PAYER, 1);
        }),
        unpaired
    );
    assert_eq!(
        block(|b| {
            b.used(1, 4, PAYER, 1).transfer(1, 6, PAYER, 1);
        }),
        unpaired
    );
    assert_eq!(
        block(|b| {
            b.used(1, 4, PAYER, 1).transfer(2, 5, PAYER, 1);
        }),
        unpaired
    );
    assert_eq!(
        block(|b| {
            b.used(1, 4, PAYER, 1).transfer(1, 5, PAYEE, 1);
        }),
        unpaired
    );
    assert_eq!(
        block(|b| {
            b.used(1, 4, PAYER, 1).used(1, 5, PAYER, 2);
        }),
        unpaired
    );
}
