//! SANDBOX keys. They are derived from sentences printed here, so they are public: they hold test money only.

use std::sync::LazyLock;

use ed25519_dalek::SigningKey;
use purser_actors::id::{Network, Wallet};
use purser_host::secret::Key32;
use secp256k1::{PublicKey, SecretKey};
use sha2::{Digest as _, Sha256};
use sha3::Keccak256;

use crate::callback::CallbackKey;
use crate::wallet::{TestWallet, WalletError};

const SANDBOX_BASE_TREASURY: &[u8] = b"purser SANDBOX treasury on base: public, never for real money";
const SANDBOX_SOLANA_TREASURY: &[u8] = b"purser SANDBOX treasury on solana: public, never for real money";
const SANDBOX_SOLANA_FEE_PAYER: &[u8] = b"purser SANDBOX fee payer on solana: public, never for real money";
const SANDBOX_BRIDGE_BASE: &[u8] = b"purser SANDBOX bridge on base: public, never for real money";
const SANDBOX_BRIDGE_SOLANA: &[u8] = b"purser SANDBOX bridge on solana: public, never for real money";

const SANDBOX_IDENTITY_CALLBACK: &[u8] =
    b"purser SANDBOX callbacks of the identity check: public, never for real people";

/// The default accounts of anvil and hardhat: their keys are in every manual, and what they receive on a real chain is
/// stolen within seconds.
const TEST_TOOL_ADDRESSES: [&str; 10] = [
    "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
    "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
    "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
    "0x90F79bf6EB2c4f870365E785982E1f101E93b906",
    "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65",
    "0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc",
    "0x976EA74026E726554dB657fA54763abd0C3a0aa9",
    "0x14dC79964da2C08b23698B3D3cc7Ca32193d9955",
    "0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f",
    "0xa0Ee7A142d267C1f36714E4a8F75612F20a79720",
];

/// A configuration that would receive or send real money with a published key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the key of {address} is published, as a SANDBOX key or by a test tool: set your own in {setting}")]
pub struct SandboxKeyNotAllowed {
    pub setting: String,
    /// The address as configured.
    pub address: String,
}

/// The address that receives the sandbox's payments: `payTo` of the challenge. On Solana this is the owner, not its
/// token account.
pub fn treasury(network: Network) -> Wallet {
    match network {
        Network::Base => Wallet::Evm(base_treasury()),
        Network::Solana => Wallet::Solana(solana_signer(SANDBOX_SOLANA_TREASURY).verifying_key().to_bytes()),
    }
}

/// The treasury's keys on both chains, for outgoing transfers.
///
/// # Errors
/// Never: the sentences are fixed, and a test derives the keys.
pub fn treasury_wallet() -> Result<TestWallet, WalletError> {
    let key = |sentence| Sha256::digest(sentence).into();
    TestWallet::from_bytes(&key(SANDBOX_BASE_TREASURY), &key(SANDBOX_SOLANA_TREASURY))
}

/// The bridge's keys. Burns go to its address on Solana, mints come from its address on Base, and its attestations are
/// signed with the latter.
///
/// # Errors
/// Never: the sentences are fixed.
pub fn bridge_wallet() -> Result<TestWallet, WalletError> {
    let key = |sentence| Sha256::digest(sentence).into();
    TestWallet::from_bytes(&key(SANDBOX_BRIDGE_BASE), &key(SANDBOX_BRIDGE_SOLANA))
}

/// The address that co-signs and pays fees on the sandbox's Solana: `extra.feePayer` of the challenge.
pub fn fee_payer() -> [u8; 32] {
    fee_payer_signer().verifying_key().to_bytes()
}

pub fn fee_payer_signer() -> SigningKey {
    solana_signer(SANDBOX_SOLANA_FEE_PAYER)
}

/// Most fee payers of the sandbox.
pub const MAX_FEE_PAYERS: usize = 4;

/// The keys of all possible fee payers of the sandbox: [`fee_payer_signer`]'s first.
fn fee_payer_signers() -> &'static [SigningKey; MAX_FEE_PAYERS] {
    static SIGNERS: LazyLock<[SigningKey; MAX_FEE_PAYERS]> = LazyLock::new(|| {
        std::array::from_fn(|n| match n {
            0 => fee_payer_signer(),
            n => solana_signer(&[SANDBOX_SOLANA_FEE_PAYER, &[b' ', b'0' + n as u8]].concat()),
        })
    });
    &SIGNERS
}

pub fn fee_payers() -> [[u8; 32]; MAX_FEE_PAYERS] {
    fee_payer_signers()
        .each_ref()
        .map(|signer| signer.verifying_key().to_bytes())
}

/// The key of a fee payer by its address, if it is one of the sandbox's.
pub fn signer_of(address: &[u8; 32]) -> Option<&'static SigningKey> {
    let mut signers = fee_payer_signers().iter();
    signers.find(|signer| signer.verifying_key().as_bytes() == address)
}

/// Rejects published keys, the sandbox's and those of test tools, in a configuration outside the sandbox.
/// `addresses` are pairs of a setting's name and its address: a pay-to address, a treasury owner or a fee
/// payer, in either chain's form.
///
/// # Errors
/// [`SandboxKeyNotAllowed`] for the first setting that contains one.
pub fn reject_outside_sandbox<'a>(
    sandbox: bool,
    addresses: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<(), SandboxKeyNotAllowed> {
    if sandbox {
        return Ok(());
    }
    let mut published = vec![treasury(Network::Base), treasury(Network::Solana)];
    published.extend(fee_payers().map(Wallet::Solana));
    published.extend(
        TEST_TOOL_ADDRESSES
            .iter()
            .filter_map(|address| address.parse::<Wallet>().ok()),
    );
    for (setting, address) in addresses {
        if address
            .parse::<Wallet>()
            .is_ok_and(|wallet| published.contains(&wallet))
        {
            return Err(SandboxKeyNotAllowed {
                setting: setting.into(),
                address: address.into(),
            });
        }
    }
    Ok(())
}

/// Signs the callbacks of the sandbox's identity check.
pub fn identity_callback() -> CallbackKey {
    CallbackKey::new(&Key32::new(Sha256::digest(SANDBOX_IDENTITY_CALLBACK).into()))
}

/// A forged key, for tests.
pub fn forged_callback() -> CallbackKey {
    CallbackKey::new(&Key32::new([0x66; 32]))
}

fn solana_signer(sentence: &[u8]) -> SigningKey {
    SigningKey::from_bytes(&Sha256::digest(sentence).into())
}

fn base_treasury() -> [u8; 20] {
    // A hash is a valid scalar except for a chance of 2^-128; the sentence is fixed and a test derives it.
    let secret = SecretKey::from_secret_bytes(Sha256::digest(SANDBOX_BASE_TREASURY).into());
    secret.map_or([0; 20], |key| evm_address(&PublicKey::from_secret_key(&key)))
}

/// The address of a public key: the last 20 bytes of its Keccak-256.
pub fn evm_address(key: &PublicKey) -> [u8; 20] {
    let hash = Keccak256::digest(&key.serialize_uncompressed()[1..]);
    let mut address = [0; 20];
    address.copy_from_slice(&hash[12..]);
    address
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use purser_chains::evm::key::EvmKey;
    use zeroize::Zeroizing;

    use super::*;

    // Outgoing transfers come from the address that receives payments.
    #[test]
    fn the_treasurys_keys_are_its_addresses() {
        let wallet = treasury_wallet().unwrap();
        for network in Network::ALL {
            assert_eq!(wallet.address(network).parse(), Ok(treasury(network)));
        }
    }

    #[test]
    fn each_fee_payer_has_a_key_of_its_own() {
        let all = fee_payers();
        assert_eq!(all[0], fee_payer());
        for (n, address) in all.iter().enumerate() {
            assert!(!all[..n].contains(address));
            assert_eq!(signer_of(address).unwrap().verifying_key().to_bytes(), *address);
        }
        assert!(signer_of(&[9; 32]).is_none());
    }

    // A real configuration never starts with a published key, in any notation; the sandbox may use them.
    #[test]
    fn published_keys_stay_in_the_sandbox() {
        let base = treasury(Network::Base).address();
        let solana = treasury(Network::Solana).address();
        let payer = Wallet::Solana(fee_payer()).address();
        assert_ne!(base, Wallet::Evm([0; 20]).address(), "the sentence gives a valid key");
        let upper = format!("0x{}", base[2..].to_uppercase());
        let last = Wallet::Solana(fee_payers()[MAX_FEE_PAYERS - 1]).address();
        // The key of anvil's first account.
        let anvil = hex::decode("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80").unwrap();
        let anvil = EvmKey::from_bytes(Zeroizing::new(anvil.try_into().unwrap())).unwrap();
        let anvil = anvil.address().to_string();
        assert!(
            TEST_TOOL_ADDRESSES
                .iter()
                .all(|address| address.parse::<Wallet>().is_ok())
        );
        for address in [&base, &upper, &solana, &payer, &last, &anvil] {
            assert_eq!(reject_outside_sandbox(true, [("pay_to", address.as_str())]), Ok(()));
            let refused = reject_outside_sandbox(false, [("other", "not an address"), ("pay_to", address.as_str())]);
            assert_eq!(refused.unwrap_err().setting, "pay_to");
        }
        let own = Wallet::Evm([7; 20]).address();
        assert_eq!(reject_outside_sandbox(false, [("pay_to", own.as_str())]), Ok(()));
    }
}
