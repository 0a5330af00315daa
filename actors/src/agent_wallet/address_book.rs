//! The address book of a managed wallet.

use super::{AgentWallet, Event, Rejection};
use crate::id::{AddressId, Wallet};
use crate::kernel::{Decision, JsonObject};

/// An address that is kept.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct SavedAddress {
    /// Its id.
    pub id: AddressId,
    /// What the agent calls it: 1 to 100 characters.
    pub name: String,
    /// The address; says which network.
    pub address: Wallet,
}

impl SavedAddress {
    /// As its owner reads it.
    pub fn view(&self) -> JsonObject {
        JsonObject::new()
            .text("entry_id", self.id)
            .text("name", &self.name)
            .text("address", self.address.address())
            .text("network", self.address.network().name())
    }
}

impl AgentWallet {
    /// The address under an id.
    pub fn saved(&self, id: AddressId) -> Option<&SavedAddress> {
        self.book.iter().find(|saved| saved.id == id)
    }

    /// Another id is another entry, also for an address that is kept already.
    pub(super) fn save(&self, saved: SavedAddress) -> Result<Decision<Self>, Rejection> {
        let done = Decision::answer(());
        match self.saved(saved.id) {
            Some(known) if *known == saved => Ok(done),
            None if self.book.len() >= Self::MAX_ADDRESSES => Err(Rejection::AddressBookFull),
            _ => Ok(done.event(Event::AddressSaved(saved))),
        }
    }

    pub(super) fn forget(&self, id: AddressId) -> Result<Decision<Self>, Rejection> {
        self.saved(id).ok_or(Rejection::AddressNotFound)?;
        Ok(Decision::answer(()).event(Event::AddressDeleted(id)))
    }

    pub(super) fn saving(mut self, saved: SavedAddress) -> Self {
        match self.book.iter_mut().find(|known| known.id == saved.id) {
            Some(known) => *known = saved,
            None => self.book.push(saved),
        }
        self
    }

    pub(super) fn forgetting(mut self, id: AddressId) -> Option<Self> {
        let at = self.book.iter().position(|saved| saved.id == id)?;
        self.book.remove(at);
        Some(self)
    }
}
