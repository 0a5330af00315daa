//! Scheduled jobs: rows ordered by due time. A background task turns due rows into outbox jobs. A card that expires in
//! six months thus costs one row until then, and no actor, task or read at the start.
//!
//! The row is the token: the batch that deletes it writes the job, so each job is due once, whatever crashes in
//! between. A scheduled job is never cancelled; when it is due, the entity decides whether there is still something to
//! do.

use std::sync::Arc;

use purser_storage::codec;
use purser_storage::{Batch, CommitError, Condition, RowKey, Store, StoreError, Write};
use tokio::sync::oneshot;

use crate::kernel::registry::JobStarter;
use crate::kernel::{OutboxJob, table};
use crate::port::Timestamp;

/// Scheduled jobs read at a time.
const PAGE: usize = 500;

/// Turns every due row into an outbox job. Returns their number.
///
/// # Errors
/// When storage fails. Remaining rows are found again.
pub async fn fire_due(store: &Arc<dyn Store>, jobs: &Arc<dyn JobStarter>, now: Timestamp) -> Result<usize, StoreError> {
    let (mut rung, mut after) = (0, None::<RowKey>);
    loop {
        let page = store.scan(&[table::TIMER], after.as_deref(), PAGE).await?;
        after = page.last().map(|(key, _)| key.clone());
        let full = page.len() == PAGE;
        let due: Vec<_> = page.into_iter().take_while(|(key, _)| due_at(key) <= now).collect();
        let more = full && due.len() == PAGE;
        let mut committed = Vec::with_capacity(due.len());
        for (key, row) in due {
            // An unreadable row must not block the others; it stays and is logged again.
            match codec::decode::<OutboxJob>(&row.value) {
                Ok(outbox_job) => committed.push(start_job(store, jobs.clone(), key, outbox_job)),
                Err(error) => tracing::error!(timer = hex::encode(&key), %error, "a timer cannot be read"),
            }
        }
        for one in committed {
            match one.await {
                Ok(Ok(())) => rung += 1,
                // Another run already turned it into a job.
                Ok(Err(CommitError::Condition(_))) => {}
                Ok(Err(_)) | Err(_) => return Ok(rung),
            }
        }
        if !more {
            return Ok(rung);
        }
    }
}

/// For an invalid key the maximum timestamp: it is never due.
fn due_at(key: &RowKey) -> Timestamp {
    let due = key.get(1..).and_then(|rest| rest.first_chunk::<8>());
    due.map_or(Timestamp(u64::MAX), |due| Timestamp(u64::from_be_bytes(*due)))
}

fn start_job(
    store: &Arc<dyn Store>,
    jobs: Arc<dyn JobStarter>,
    key: RowKey,
    outbox_job: OutboxJob,
) -> oneshot::Receiver<Result<(), CommitError>> {
    let batch = Batch {
        conditions: vec![Condition::Present(key.clone())],
        writes: vec![Write::Delete { key }, outbox_job.put()],
        ..Batch::default()
    };
    let (done, committed) = oneshot::channel();
    store.commit(
        batch,
        Box::new(move |result| {
            if result.is_ok() {
                jobs.start(outbox_job);
            }
            // The receiver is gone only if the engine stops.
            drop(done.send(result.map(|_| ())));
        }),
    );
    committed
}
