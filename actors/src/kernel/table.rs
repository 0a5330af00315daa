//! Where each kind of row lives: one byte for the table, then what the table is ordered by.

use purser_storage::RowKey;

use crate::id::{CardId, DepositId, DestinationId, EffectId, SessionId, Wallet};
use crate::kernel::Kind;
use crate::port::Timestamp;

/// Snapshots of entities.
pub const ENTITY: u8 = b'e';
/// Effects not yet done.
pub const EFFECT: u8 = b'f';
/// Effects not yet due, by when they are.
pub const TIMER: u8 = b't';
/// Wallets whose holder's identity is verified.
pub const VERIFIED: u8 = b'k';
/// Wallets whose holder has linked an account at the card issuer.
pub const LINKED: u8 = b'c';
/// Bank destinations that can be paid, by owner.
pub const DESTINATION: u8 = b'b';
/// Ledger transactions, in the order of time.
pub const LEDGER: u8 = b'l';
/// What an account owns, by kind and time.
pub const OWNED: u8 = b'i';
/// Sign-in nonces and challenges of payments already used, by expiry.
pub const NONCE: u8 = b'n';
/// Login-link codes not yet used.
pub const LINK: u8 = b'g';
/// Lowercased Solana addresses already taken.
pub const USER: u8 = b'u';
/// Revoked sessions whose id_tokens could still be alive, by the end of the last of them.
pub const REVOKED: u8 = b'r';
/// Transfers credited as unclaimed deposits: none of them settles a payment any more.
pub const DEPOSIT: u8 = b'd';
/// Sealed card numbers.
pub const VAULT: u8 = b'v';
/// CVVs that operators entered, each sealed under a key of its own.
pub const CVV: u8 = b'w';
/// International orders that an operator has still to decide, the oldest first.
pub const QUEUE: u8 = b'q';
/// What operators did, in the order of time.
pub const AUDIT: u8 = b'a';
/// Operators' tokens, by their hash.
pub const OPERATOR: u8 = b'o';
/// Facts about the store itself.
pub const META: u8 = b'm';

fn key(parts: &[&[u8]]) -> RowKey {
    parts.concat().into_boxed_slice()
}

/// The snapshot of an entity.
pub fn entity(kind: Kind, id: &[u8]) -> RowKey {
    key(&[&[ENTITY, kind as u8], id])
}

/// An effect.
pub fn effect(id: EffectId) -> RowKey {
    key(&[&[EFFECT], &id.0.to_be_bytes()])
}

/// An effect that is not due yet.
pub fn timer(due: Timestamp, id: EffectId) -> RowKey {
    key(&[&[TIMER], &due.0.to_be_bytes(), &id.0.to_be_bytes()])
}

/// Present while the holder's identity is verified.
pub fn verified(wallet: &Wallet) -> RowKey {
    key(&[&[VERIFIED], &wallet.key()])
}

/// Present while the holder has a linked account at the card issuer; the value is the 20 bytes of its deposit address.
pub fn linked(wallet: &Wallet) -> RowKey {
    key(&[&[LINKED], &wallet.key()])
}

/// Present while this destination can be paid by this wallet.
pub fn destination(owner: &Wallet, id: DestinationId) -> RowKey {
    key(&[&[DESTINATION], &owner.digest().to_be_bytes(), &id.0.to_be_bytes()])
}

/// A ledger transaction.
pub fn ledger(at: Timestamp, id: u128) -> RowKey {
    key(&[&[LEDGER], &at.0.to_be_bytes(), &id.to_be_bytes()])
}

/// Prefix of what a wallet owns of one kind.
pub fn owned(owner: &Wallet, kind: Kind) -> RowKey {
    key(&[&[OWNED], &owner.digest().to_be_bytes(), &[kind as u8]])
}

/// One thing that a wallet owns.
pub fn owned_one(owner: &Wallet, kind: Kind, at: Timestamp, id: u128) -> RowKey {
    key(&[&owned(owner, kind), &at.0.to_be_bytes(), &id.to_be_bytes()])
}

/// When something that a wallet owns was made, and its number, of [`owned_one`]'s key.
pub fn made(owned: &RowKey) -> Option<(Timestamp, u128)> {
    let (rest, id) = owned.split_last_chunk::<16>()?;
    let at = rest.last_chunk::<8>()?;
    Some((Timestamp(u64::from_be_bytes(*at)), u128::from_be_bytes(*id)))
}

/// A used nonce or challenge, with the second from which it no longer matters.
pub fn nonce(expires_s: u64, nonce: &[u8; 16]) -> RowKey {
    key(&[&[NONCE], &expires_s.to_be_bytes(), nonce])
}

/// A login code by its hash.
pub fn link(code_hash: &[u8; 32]) -> RowKey {
    key(&[&[LINK], code_hash])
}

/// A revoked session, with the second from which no id_token of it lives.
pub fn revoked(until_s: u64, session: SessionId) -> RowKey {
    key(&[&[REVOKED], &until_s.to_be_bytes(), &session.0.to_be_bytes()])
}

/// A transfer that was credited as an unclaimed deposit.
pub fn deposit(id: DepositId) -> RowKey {
    key(&[&[DEPOSIT], &id.0.to_be_bytes()])
}

/// A lowercased address.
pub fn user(user_id: &str) -> RowKey {
    key(&[&[USER], user_id.as_bytes()])
}

/// A sealed card number.
pub fn vault(card: CardId) -> RowKey {
    key(&[&[VAULT], &card.0.to_be_bytes()])
}

/// A sealed CVV.
pub fn cvv(card: CardId) -> RowKey {
    key(&[&[CVV], &card.0.to_be_bytes()])
}

/// An international order that is open.
pub fn queued(since: Timestamp, order: CardId) -> RowKey {
    key(&[&[QUEUE], &since.0.to_be_bytes(), &order.0.to_be_bytes()])
}

/// Something that an operator did.
pub fn audit(at: Timestamp, id: u128) -> RowKey {
    key(&[&[AUDIT], &at.0.to_be_bytes(), &id.to_be_bytes()])
}

/// An operator's token.
pub fn operator(token_hash: &[u8; 32]) -> RowKey {
    key(&[&[OPERATOR], token_hash])
}

/// A fact about the store.
pub fn meta(name: &str) -> RowKey {
    key(&[&[META], name.as_bytes()])
}
