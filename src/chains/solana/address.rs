//! Solana addresses: base58 text, the addresses of well-known programs, and program-derived addresses.

use ed25519_dalek::VerifyingKey;
use sha2::{Digest, Sha256};

/// A public key or a program-derived address.
pub type Pubkey = [u8; 32];

/// The System program, which creates accounts.
pub const SYSTEM: Pubkey = [0; 32];
/// The SPL Token program. USDC is one of its mints.
pub const TOKEN: Pubkey = constant(b"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA");
/// Token-2022. Purser rejects its mints.
pub const TOKEN_2022: Pubkey = constant(b"TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb");
/// Derives and creates token accounts of an owner.
pub const ASSOCIATED_TOKEN: Pubkey = constant(b"ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL");
/// Sets the compute unit limit and price of a transaction.
pub const COMPUTE_BUDGET: Pubkey = constant(b"ComputeBudget111111111111111111111111111111");
/// Memo version 3: writes text to the transaction log.
pub const MEMO: Pubkey = constant(b"MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");
/// Lighthouse: assertions that some wallets append.
pub const LIGHTHOUSE: Pubkey = constant(b"L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95");
/// USDC's mint on mainnet.
pub const USDC_MAINNET: Pubkey = constant(b"EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v");
/// USDC's mint on devnet.
pub const USDC_DEVNET: Pubkey = constant(b"4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU");
/// Genesis hash of mainnet. CAIP-2 uses its first 32 characters.
pub const GENESIS_MAINNET: Pubkey = constant(b"5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d");
/// Genesis hash of devnet.
pub const GENESIS_DEVNET: Pubkey = constant(b"EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG");

/// Maximum number of seeds of a derived address, including the bump (Solana's `MAX_SEEDS`).
const MAX_SEEDS: usize = 16;
/// Maximum length of a seed in bytes (Solana's `MAX_SEED_LEN`).
const MAX_SEED_BYTES: usize = 32;

/// Decodes an address at compile time; a malformed one does not compile.
pub const fn constant(text: &[u8]) -> Pubkey {
    bs58::decode(text).into_array_const_unwrap()
}

/// Base58 text of an address, blockhash or signature.
pub fn base58(bytes: &[u8]) -> String {
    bs58::encode(bytes).into_string()
}

/// Decodes exactly `N` bytes of base58; otherwise `None`. Longer text is rejected before decoding, which takes
/// quadratic time.
pub fn parse_base58<const N: usize>(text: &str) -> Option<[u8; N]> {
    // A byte takes log(256)/log(58) < 1.366 characters.
    if text.len() > N * 1366 / 1000 + 1 {
        return None;
    }
    let mut bytes = [0; N];
    matches!(bs58::decode(text).onto(&mut bytes), Ok(length) if length == N).then_some(bytes)
}

/// Decodes an address, or `None`.
pub fn parse(text: &str) -> Option<Pubkey> {
    parse_base58(text)
}

/// Whether the bytes are a point of the ed25519 curve, so that a private key can exist for them.
pub fn is_on_curve(address: &Pubkey) -> bool {
    VerifyingKey::from_bytes(address).is_ok()
}

/// The program-derived address of `seeds` with the highest bump whose address is off the curve, and that bump
/// (Solana's `find_program_address`). `None` if there are more than 15 seeds, one is longer than 32 bytes, or no bump
/// fits, which has a chance of about 2^-255.
pub fn find_program_address(seeds: &[&[u8]], program: &Pubkey) -> Option<(Pubkey, u8)> {
    if seeds.len() >= MAX_SEEDS || seeds.iter().any(|seed| seed.len() > MAX_SEED_BYTES) {
        return None;
    }
    let mut prefix = Sha256::new();
    for seed in seeds {
        prefix.update(seed);
    }
    (0..=u8::MAX).rev().find_map(|bump| {
        let mut hash = prefix.clone();
        hash.update([bump]);
        hash.update(program);
        hash.update(b"ProgramDerivedAddress");
        let address: Pubkey = hash.finalize().into();
        (!is_on_curve(&address)).then_some((address, bump))
    })
}

/// The associated token account of `owner` for an SPL Token `mint`. `None` as in [`find_program_address`].
pub fn associated_token_account(owner: &Pubkey, mint: &Pubkey) -> Option<Pubkey> {
    find_program_address(&[owner, &TOKEN, mint], &ASSOCIATED_TOKEN).map(|(address, _)| address)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]
    use super::*;

    #[test]
    fn token_accounts_equal_those_of_the_npm_client() {
        // Checks: addresses of findAssociatedTokenPda of @solana-program/token 0.16.1.
        let cases = [
            (
                "9hSR6S7WPtxmTojgo6GG3k4yDPecgJY292j7xrsUGWBu",
                "ASZ2TDDNJG2n42TxAezqNNzwWipykHrENDKMCoLKgzup",
            ),
            (
                "GyGKxMyg1p9SsHfm15MkNUu1u9TN2JtTspcdmrtGUdse",
                "DNDTCnZkNk358qDFZd9unHtnrc73SsXcpVWtwJJMrR4B",
            ),
        ];
        for (owner, account) in cases {
            let derived = associated_token_account(&parse(owner).unwrap(), &USDC_MAINNET).unwrap();
            assert_eq!(base58(&derived), account);
            assert!(!is_on_curve(&derived));
        }
    }

    #[test]
    fn seeds_are_bounded() {
        let long: &[u8] = &[0; 33];
        assert_eq!(find_program_address(&[long], &TOKEN), None);
        assert_eq!(find_program_address(&[&[1u8][..]; 16], &TOKEN), None);
        assert!(find_program_address(&[&[1u8][..]; 15], &TOKEN).is_some());
    }

    #[test]
    fn base58_has_exactly_the_length() {
        let cases = [
            ("11111111111111111111111111111111", true),
            ("1111111111111111111111111111111", false),
            ("111111111111111111111111111111111", false),
            ("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", true),
            ("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt10", false),
            ("", false),
        ];
        for (text, valid) in cases {
            assert_eq!(parse(text).is_some(), valid, "{text}");
        }
        assert_eq!(parse(&"1".repeat(100_000)), None);
        let signature = [255u8; 64];
        assert_eq!(parse_base58::<64>(&base58(&signature)), Some(signature));
    }
}
