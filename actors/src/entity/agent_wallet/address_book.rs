//! The address book of an agent wallet.

use super::{AgentWallet, Event, Rejection};
use crate::id::{AddressId, Wallet};
use crate::kernel::Decision;

/// A saved address with its name.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct SavedAddress {
    /// Id of the entry.
    pub id: AddressId,
    /// Name given by the agent: 1 to 100 characters.
    pub name: String,
    /// The address; it determines the network.
    pub address: Wallet,
}

impl AgentWallet {
    /// Entry with this id.
    pub fn saved_address(&self, id: AddressId) -> Option<&SavedAddress> {
        self.address_book.iter().find(|saved| saved.id == id)
    }

    /// Another id is another entry, even for an address that is already saved.
    pub(super) fn save_address(&self, saved: SavedAddress) -> Result<Decision<Self>, Rejection> {
        let done = Decision::answer(());
        match self.saved_address(saved.id) {
            Some(known) if *known == saved => Ok(done),
            None if self.address_book.len() >= Self::MAX_ADDRESSES => Err(Rejection::AddressBookFull),
            _ => Ok(done.event(Event::AddressSaved(saved))),
        }
    }

    pub(super) fn delete_address(&self, id: AddressId) -> Result<Decision<Self>, Rejection> {
        self.saved_address(id).ok_or(Rejection::AddressNotFound)?;
        Ok(Decision::answer(()).event(Event::AddressDeleted(id)))
    }

    pub(super) fn with_saved_address(mut self, saved: SavedAddress) -> Self {
        match self.address_book.iter_mut().find(|known| known.id == saved.id) {
            Some(known) => *known = saved,
            None => self.address_book.push(saved),
        }
        self
    }

    pub(super) fn without_address(mut self, id: AddressId) -> Option<Self> {
        let at = self.address_book.iter().position(|saved| saved.id == id)?;
        self.address_book.remove(at);
        Some(self)
    }
}
