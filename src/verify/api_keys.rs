//! API keys: each active key occupies one slot of its owner, and each occupied slot has an active key.

use std::collections::BTreeMap;

use purser_actors::entity::api_key::{self, ApiKey, KeyUsage};
use purser_actors::id::ApiKeyId;
use purser_actors::kernel::{EntityKind, table};
use purser_storage::codec::{self, DecodeError};
use purser_storage::{Row, Store, StoreError};

use super::banking::BankingSnapshot;
use super::{StoreContents, VerifyReport, each_row};

#[derive(Default)]
pub(crate) struct ApiKeys {
    keys: BTreeMap<ApiKeyId, ApiKey>,
    /// The key in each slot, by the digest of the owner.
    slots: Vec<(u128, ApiKeyId)>,
    /// What each key has spent on one day; `None` if the row is corrupt.
    usages: BTreeMap<ApiKeyId, Option<KeyUsage>>,
}

const fn name_of(key: &ApiKey) -> &'static str {
    match (key.rejected_at, key.revoked_at, key.used_at) {
        (Some(_), _, _) => "rejected",
        (None, Some(_), _) => "revoked",
        (None, None, Some(_)) => "active",
        (None, None, None) => "issued",
    }
}

impl ApiKeys {
    /// Reads a snapshot; `None` for another kind.
    pub(super) fn read(&mut self, kind: u8, id: &[u8], row: &Row) -> Option<Result<BankingSnapshot, DecodeError>> {
        (kind == EntityKind::ApiKey as u8).then(|| {
            codec::decode(&row.value).map(|key: ApiKey| {
                let id = ApiKeyId(<[u8; 16]>::try_from(id).map(u128::from_be_bytes).unwrap_or(0));
                let (name, status) = (id.to_string(), name_of(&key));
                self.keys.insert(id, key);
                BankingSnapshot::new(name, row.revision, status)
            })
        })
    }

    /// What a key has spent on one day.
    pub(super) fn usage(&self, id: &ApiKeyId) -> Option<KeyUsage> {
        self.usages.get(id).copied().flatten()
    }

    /// Reads the slots and the usages.
    pub(super) async fn read_rows(&mut self, store: &dyn Store) -> Result<(), StoreError> {
        each_row(store, &[table::KEY_USAGE], |key, row| {
            let id = key.last_chunk().map_or(0, |id| u128::from_be_bytes(*id));
            self.usages.insert(ApiKeyId(id), codec::decode(&row.value).ok());
        })
        .await?;
        each_row(store, &[table::API_KEY_SLOT], |key, row| {
            let number = |bytes: Option<&[u8; 16]>| bytes.map_or(0, |bytes| u128::from_be_bytes(*bytes));
            let owner = number(key.get(1..17).and_then(<[u8]>::first_chunk));
            self.slots.push((owner, ApiKeyId(number(row.value.first_chunk()))));
        })
        .await
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }
}

/// The status after an event: the inner `None` leaves it unchanged. The outer `None` means another kind.
pub(super) fn fold(kind: u8, event: &[u8]) -> Option<Result<Option<&'static str>, DecodeError>> {
    (kind == EntityKind::ApiKey as u8).then(|| {
        codec::decode(event).map(|event| match event {
            api_key::Event::Issued { .. } => Some("issued"),
            api_key::Event::Activated(_) => Some("active"),
            api_key::Event::Exchanged(_) | api_key::Event::LimitsChanged(_) => None,
            api_key::Event::Revoked(_) => Some("revoked"),
            api_key::Event::Rejected { .. } => Some("rejected"),
        })
    })
}

/// Compares keys with slots, and sessions with the keys that created them.
pub(super) fn check(contents: &StoreContents, report: &mut VerifyReport) {
    let ApiKeys {
        keys,
        slots: places,
        usages,
    } = &contents.api_keys;
    for (id, _) in usages.iter().filter(|(_, usage)| usage.is_none()) {
        report.report("api_key.usage_corrupt", id, "what it has spent cannot be read");
    }
    let mut living: Vec<(u128, ApiKeyId)> = keys
        .iter()
        .filter(|(_, key)| key.revoked_at.is_none() && key.rejected_at.is_none())
        .map(|(id, key)| (key.owner.digest(), *id))
        .collect();
    let mut taken = places.clone();
    living.sort_unstable();
    taken.sort_unstable();
    for missing in living.iter().filter(|key| taken.binary_search(key).is_err()) {
        report.report(
            "api_key.index_missing",
            missing.1,
            "it lives and takes no place of its owner's",
        );
    }
    for stray in taken.iter().filter(|place| living.binary_search(place).is_err()) {
        report.report(
            "api_key.index_unexpected",
            stray.1,
            "it takes a place and does not live",
        );
    }
    for pair in taken.windows(2).filter(|pair| pair[0] == pair[1]) {
        report.report("api_key.index_duplicate", pair[0].1, "it takes two places");
    }
    for (id, (session, _)) in &contents.sessions {
        let Some(named) = session.key() else { continue };
        if keys
            .get(&named)
            .is_none_or(|key| key.owner != session.owner || key.used_at.is_none())
        {
            report.report(
                "api_key.session_unlinked",
                id,
                "the key that it was made with does not know of it",
            );
        }
    }
}
