//! Factories of contract wallets (ERC-6492).

use purser_chains::evm::Address;

use super::Reader;
use purser_protocol::payment::evm::parse_address;

impl Reader<'_> {
    /// Parses the listed addresses. Any other text is rejected.
    pub(super) fn factories(&mut self, listed: &[String]) -> Vec<Address> {
        let mut found = Vec::new();
        for (n, text) in listed.iter().enumerate() {
            match parse_address(text) {
                Some(factory) => found.push(Address::new(factory)),
                None => self.reject(
                    format!("chains.base.erc6492_factories[{n}]"),
                    "is not an address on Base",
                ),
            }
        }
        found
    }
}
