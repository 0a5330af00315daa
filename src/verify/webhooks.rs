//! Endpoints and deliveries. They have no balance. Their snapshots agree with their events, each endpoint has its row
//! and its secrets, and each pending delivery has its job.

use std::collections::{BTreeMap, BTreeSet};

use purser_actors::entity::webhook::{self, Status, WebhookEndpoint};
use purser_actors::entity::webhook_delivery::{self as delivery, WebhookDelivery};
use purser_actors::id::{WebhookDeliveryId, WebhookId};
use purser_actors::kernel::{EntityKind, table};
use purser_storage::codec::{self, DecodeError};
use purser_storage::{Row, Store, StoreError};

use super::banking::BankingSnapshot;
use super::{StoreContents, VerifyReport, each_row};

#[derive(Default)]
pub(crate) struct WebhookRecords {
    /// The row by which each endpoint that is not deleted is found.
    rows: BTreeMap<WebhookId, Vec<u8>>,
    /// Pending deliveries, with their round.
    pending: BTreeMap<WebhookDeliveryId, u32>,
    pub(super) deliveries: usize,
    pub(super) endpoints: usize,
}

impl WebhookRecords {
    /// Reads a snapshot; `None` for another kind.
    pub(super) fn read(&mut self, kind: u8, id: &[u8], row: &Row) -> Option<Result<BankingSnapshot, DecodeError>> {
        let (revision, number) = (row.revision, <[u8; 16]>::try_from(id).map_or(0, u128::from_be_bytes));
        if kind == EntityKind::Webhook as u8 {
            return Some(codec::decode(&row.value).map(|endpoint: WebhookEndpoint| {
                let id = WebhookId(number);
                self.endpoints += 1;
                let status = match endpoint.status {
                    Status::Active => "active",
                    Status::Disabled(_) => "disabled",
                    Status::Deleted => "deleted",
                };
                if endpoint.status != Status::Deleted {
                    let row = table::webhook(&endpoint.owner, &endpoint.url);
                    self.rows.insert(id, row.to_vec());
                }
                let sealed = endpoint.secrets.iter().map(|secret| secret.record).collect();
                BankingSnapshot::new(id.to_string(), revision, status).with_sealed(sealed)
            }));
        }
        if kind == EntityKind::WebhookDelivery as u8 {
            return Some(codec::decode(&row.value).map(|read: WebhookDelivery| {
                let id = WebhookDeliveryId(number);
                self.deliveries += 1;
                let status = match read.status {
                    delivery::Status::Pending { .. } => {
                        self.pending.insert(id, read.redelivery_count);
                        "pending"
                    }
                    delivery::Status::Delivered => "delivered",
                    delivery::Status::Failed => "failed",
                    delivery::Status::Dropped(_) => "dropped",
                };
                BankingSnapshot::new(id.to_string(), revision, status)
            }));
        }
        None
    }

    /// Number of endpoints and deliveries.
    pub(super) const fn count(&self) -> usize {
        self.endpoints + self.deliveries
    }
}

/// The status after an event: the inner `None` leaves it unchanged. The outer `None` means another kind.
pub(super) fn fold(kind: u8, event: &[u8]) -> Option<Result<Option<&'static str>, DecodeError>> {
    if kind == EntityKind::Webhook as u8 {
        return Some(codec::decode(event).map(|event| match event {
            webhook::Event::Registered { .. } | webhook::Event::Enabled(_) => Some("active"),
            webhook::Event::SecretRotated { .. }
            | webhook::Event::TestSent(_)
            | webhook::Event::RedeliveryRequested(_)
            | webhook::Event::Recovered(..)
            | webhook::Event::Failing(_)
            | webhook::Event::OwnerWarned(_) => None,
            webhook::Event::Disabled(..) => Some("disabled"),
            webhook::Event::Deleted(_) => Some("deleted"),
        }));
    }
    if kind == EntityKind::WebhookDelivery as u8 {
        return Some(codec::decode(event).map(|event| match event {
            delivery::Event::Created { .. } | delivery::Event::Reopened(_) => Some("pending"),
            delivery::Event::AttemptFailed(..) => None,
            delivery::Event::Delivered(_) => Some("delivered"),
            delivery::Event::Failed(_) => Some("failed"),
            delivery::Event::Dropped(..) => Some("dropped"),
        }));
    }
    None
}

/// Compares rows with endpoints, and jobs with deliveries.
///
/// # Errors
/// When the store cannot be read.
pub(super) async fn check(
    store: &dyn Store,
    contents: &StoreContents,
    report: &mut VerifyReport,
) -> Result<(), StoreError> {
    let mut there = BTreeSet::new();
    each_row(store, &[table::WEBHOOK], |key, row| {
        let id = (&*row.value).try_into().map_or(0, u128::from_be_bytes);
        there.insert((WebhookId(id), key.to_vec()));
    })
    .await?;
    let wanted: BTreeSet<(WebhookId, Vec<u8>)> = contents.webhooks.rows.clone().into_iter().collect();
    for (id, _) in there.symmetric_difference(&wanted) {
        report.report(
            "webhook.index_mismatch",
            id,
            "it and its row among its owner's are not both there",
        );
    }
    let at_work: BTreeSet<(WebhookDeliveryId, u32)> = contents
        .jobs
        .iter()
        .filter_map(|effect| effect.job.typed())
        .map(|delivery::Job::DeliverWebhook { delivery, round, .. }| (delivery, round))
        .collect();
    for (id, round) in &contents.webhooks.pending {
        if !at_work.contains(&(*id, *round)) {
            report.report("webhook.orphaned", id, "pending, and nothing is at work for it");
        }
    }
    Ok(())
}
