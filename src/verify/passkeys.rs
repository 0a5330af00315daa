//! Passkeys: each active one occupies one slot of its owner, and each is found by its credential id.

use std::collections::BTreeMap;

use purser_actors::entity::passkey::{self, Passkey};
use purser_actors::id::{PasskeyId, Wallet};
use purser_actors::kernel::{EntityKind, table};
use purser_actors::port::Timestamp;
use purser_storage::codec::{self, DecodeError};
use purser_storage::{Row, Store, StoreError};

use super::banking::BankingSnapshot;
use super::{StoreContents, VerifyReport, each_row};

#[derive(Default)]
pub(crate) struct Passkeys {
    passkeys: BTreeMap<PasskeyId, Passkey>,
    /// The passkey in each slot, by the digest of the owner.
    slots: Vec<(u128, PasskeyId)>,
    /// The passkey of each credential id, by the key of its row.
    credentials: BTreeMap<Vec<u8>, PasskeyId>,
}

fn number(bytes: Option<&[u8; 16]>) -> u128 {
    bytes.map_or(0, |bytes| u128::from_be_bytes(*bytes))
}

impl Passkeys {
    /// Reads a snapshot; `None` for another kind.
    pub(super) fn read(&mut self, kind: u8, id: &[u8], row: &Row) -> Option<Result<BankingSnapshot, DecodeError>> {
        (kind == EntityKind::Passkey as u8).then(|| {
            codec::decode(&row.value).map(|passkey: Passkey| {
                let id = PasskeyId(number(id.first_chunk()));
                let status = match passkey.removed_at {
                    Some(_) => "removed",
                    None => "active",
                };
                self.passkeys.insert(id, passkey);
                BankingSnapshot::new(id.to_string(), row.revision, status)
            })
        })
    }

    /// Reads the slots and the credential ids.
    pub(super) async fn read_rows(&mut self, store: &dyn Store) -> Result<(), StoreError> {
        each_row(store, &[table::PASSKEY_SLOT], |key, row| {
            let owner = number(key.get(1..17).and_then(<[u8]>::first_chunk));
            self.slots.push((owner, PasskeyId(number(row.value.first_chunk()))));
        })
        .await?;
        each_row(store, &[table::PASSKEY_CREDENTIAL], |key, row| {
            self.credentials
                .insert(key.to_vec(), PasskeyId(number(row.value.first_chunk())));
        })
        .await
    }

    /// Whether an active passkey of the account was added by this time.
    pub(super) fn has_older(&self, account: &Wallet, at: Timestamp) -> bool {
        let mut active = self.passkeys.values().filter(|passkey| passkey.removed_at.is_none());
        active.any(|passkey| passkey.owner == *account && passkey.created_at <= at)
    }

    pub(super) fn len(&self) -> usize {
        self.passkeys.len()
    }
}

/// The status after an event: the inner `None` leaves it unchanged. The outer `None` means another kind.
pub(super) fn fold(kind: u8, event: &[u8]) -> Option<Result<Option<&'static str>, DecodeError>> {
    (kind == EntityKind::Passkey as u8).then(|| {
        codec::decode(event).map(|event| match event {
            passkey::Event::Added { .. } => Some("active"),
            passkey::Event::Used { .. } | passkey::Event::Renamed(_) => None,
            passkey::Event::Removed(_) => Some("removed"),
        })
    })
}

/// Compares passkeys with slots and credential ids, and sessions with the passkeys that opened them.
pub(super) fn check(contents: &StoreContents, report: &mut VerifyReport) {
    let Passkeys {
        passkeys,
        slots,
        credentials,
    } = &contents.passkeys;
    let mut active: Vec<(u128, PasskeyId)> = passkeys
        .iter()
        .filter(|(_, passkey)| passkey.removed_at.is_none())
        .map(|(id, passkey)| (passkey.owner.digest(), *id))
        .collect();
    let mut taken = slots.clone();
    active.sort_unstable();
    taken.sort_unstable();
    for missing in active.iter().filter(|one| taken.binary_search(one).is_err()) {
        report.report("passkey.index_missing", missing.1, "it is active and has no slot");
    }
    for stray in taken.iter().filter(|slot| active.binary_search(slot).is_err()) {
        report.report("passkey.index_unexpected", stray.1, "it has a slot and is not active");
    }
    for pair in taken.windows(2).filter(|pair| pair[0] == pair[1]) {
        report.report("passkey.index_duplicate", pair[0].1, "it has two slots");
    }
    for (id, passkey) in passkeys {
        let row = table::passkey_credential(&passkey.credential.id);
        if credentials.get(&*row) != Some(id) {
            report.report(
                "passkey.credential_missing",
                id,
                "its credential id does not lead to it",
            );
        }
    }
    for stray in credentials.values().filter(|id| !passkeys.contains_key(id)) {
        report.report(
            "passkey.credential_unexpected",
            stray,
            "a credential id leads to no passkey",
        );
    }
    for (id, (session, _)) in &contents.sessions {
        let Some(opener) = session.amr.passkey() else { continue };
        let known = passkeys.get(&opener);
        if known.is_none_or(|passkey| passkey.owner != session.owner || passkey.used_at.is_none()) {
            report.report(
                "passkey.session_unlinked",
                id,
                "the passkey that opened it does not know of it",
            );
        }
    }
}
