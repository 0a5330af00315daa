//! Reads keys and other secrets from the sources named in the settings.

use purser_actors::id::Wallet;
use purser_chains::evm::key::EvmKey;
use purser_chains::solana::keypair::Keypair;
use zeroize::Zeroizing;

use super::Reader;
use purser_config::chains::Location;
use purser_host::private_file;
use purser_protocol::sandbox_keys::reject_outside_sandbox;

impl Reader<'_> {
    pub(super) fn evm_key(&mut self, key: &str, location: &Location) -> Option<EvmKey> {
        let text = self.text(key, location)?;
        let Some(own) = parse_evm_key(&text) else {
            self.reject(key, "is no private key of Base: 64 hex digits, with or without 0x");
            return None;
        };
        let address = Wallet::Evm(own.address().into()).address();
        if let Err(error) = reject_outside_sandbox(false, [(key, address.as_str())]) {
            self.reject(key, error);
            return None;
        }
        Some(own)
    }

    pub(super) fn keypair(&mut self, key: &str, location: &Location) -> Option<Keypair> {
        let text = self.text(key, location)?;
        let read = Keypair::parse(&text);
        read.map_err(|error| self.reject(key, error)).ok()
    }

    pub(super) fn text(&mut self, key: &str, location: &Location) -> Option<Zeroizing<String>> {
        let read = match location {
            Location::Unset => Err("is not set".to_owned()),
            Location::Inline(text) => Ok(Zeroizing::new(text.expose_secret().clone())),
            Location::File(path) => private_file::read_secret(path),
            Location::Env(name) => match (self.variable)(name) {
                Some(text) => Ok(Zeroizing::new(text)),
                None => Err(format!("the environment has no {name}")),
            },
        };
        read.map_err(|reason| self.reject(key, reason)).ok()
    }
}

/// Parses a private key of Base: 64 hex digits, with or without 0x. Surrounding white space is ignored.
pub fn parse_evm_key(text: &str) -> Option<EvmKey> {
    let digits = text.trim();
    let digits = digits.strip_prefix("0x").unwrap_or(digits);
    let mut secret = Zeroizing::new([0; 32]);
    hex::decode_to_slice(digits, secret.as_mut_slice()).ok()?;
    EvmKey::from_bytes(secret).ok()
}
