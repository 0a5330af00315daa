//! Solana addresses: the programs a payment may use, and the token account of an owner.

use ed25519_dalek::VerifyingKey;
use sha2::{Digest, Sha256};

/// A public key or derived address.
pub type Pubkey = [u8; 32];

/// The SPL Token program, which USDC uses.
pub const TOKEN: Pubkey = constant(b"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA");
/// Sets unit limit and price.
pub const COMPUTE_BUDGET: Pubkey = constant(b"ComputeBudget111111111111111111111111111111");
/// Writes text to the log.
pub const MEMO: Pubkey = constant(b"MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");
/// Assertions that wallets add.
pub const LIGHTHOUSE: Pubkey = constant(b"L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95");
/// Owns the derivation of token accounts.
pub const ASSOCIATED_TOKEN: Pubkey = constant(b"ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL");

/// Programs of the chain and accounts that the chain itself writes, for which no key exists. The system program's
/// address is all zeros.
const UNOWNED_ADDRESSES: [Pubkey; 27] = [
    [0; 32],
    TOKEN,
    COMPUTE_BUDGET,
    MEMO,
    LIGHTHOUSE,
    ASSOCIATED_TOKEN,
    constant(b"TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"),
    constant(b"Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo"),
    constant(b"NativeLoader1111111111111111111111111111111"),
    constant(b"BPFLoader1111111111111111111111111111111111"),
    constant(b"BPFLoader2111111111111111111111111111111111"),
    constant(b"BPFLoaderUpgradeab1e11111111111111111111111"),
    constant(b"Config1111111111111111111111111111111111111"),
    constant(b"Stake11111111111111111111111111111111111111"),
    constant(b"Vote111111111111111111111111111111111111111"),
    constant(b"AddressLookupTab1e1111111111111111111111111"),
    constant(b"Ed25519SigVerify111111111111111111111111111"),
    constant(b"KeccakSecp256k11111111111111111111111111111"),
    constant(b"Sysvar1111111111111111111111111111111111111"),
    constant(b"SysvarC1ock11111111111111111111111111111111"),
    constant(b"SysvarEpochSchedu1e111111111111111111111111"),
    constant(b"Sysvar1nstructions1111111111111111111111111"),
    constant(b"SysvarRecentB1ockHashes11111111111111111111"),
    constant(b"SysvarRent111111111111111111111111111111111"),
    constant(b"SysvarS1otHashes111111111111111111111111111"),
    constant(b"SysvarS1otHistory11111111111111111111111111"),
    constant(b"SysvarStakeHistory1111111111111111111111111"),
];

/// Whether an address is a program's or one of the chain's own, so that nothing sent to it can ever be spent.
pub fn is_unowned(address: &Pubkey) -> bool {
    UNOWNED_ADDRESSES.contains(address)
}

/// An address in the source; a wrong one does not compile.
pub(in crate::payment) const fn constant(text: &[u8]) -> Pubkey {
    bs58::decode(text).into_array_const_unwrap()
}

pub fn base58(key: &Pubkey) -> String {
    bs58::encode(key).into_string()
}

pub fn parse(text: &str) -> Option<Pubkey> {
    let mut key = [0; 32];
    // 32 bytes never need more than 44 characters, and decoding is quadratic in the length.
    if text.len() > 44 {
        return None;
    }
    matches!(bs58::decode(text).onto(&mut key), Ok(32)).then_some(key)
}

/// The account of this owner for this SPL token: the derived address of (owner, token program, mint).
pub fn associated_token_account(owner: &Pubkey, mint: &Pubkey) -> Option<Pubkey> {
    derived_address(&[owner, &TOKEN, mint], &ASSOCIATED_TOKEN)
}

/// The first address off the curve, from bump 255 downwards, so that no key can sign for it (Solana's
/// `find_program_address`).
fn derived_address(seeds: &[&Pubkey], program: &Pubkey) -> Option<Pubkey> {
    (0..=u8::MAX).rev().find_map(|bump| {
        let mut hash = Sha256::new();
        for seed in seeds {
            hash.update(seed);
        }
        hash.update([bump]);
        hash.update(program);
        hash.update(b"ProgramDerivedAddress");
        let address: Pubkey = hash.finalize().into();
        VerifyingKey::from_bytes(&address).is_err().then_some(address)
    })
}
