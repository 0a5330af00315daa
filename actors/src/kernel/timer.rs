//! Work that is not due yet: rows in the order of time, of which a keeper turns those that are due into effects. So a card
//! that expires in six months costs a row until then, and no delivery, no task and no look at the start.
//!
//! The row is the token: the batch that deletes it writes the effect, so each comes due once, whatever dies in between. A
//! timer is never called off; when it is due, the entity says whether there is still something to do.

use std::sync::Arc;

use purser_storage::codec;
use purser_storage::{Batch, CommitError, Condition, RowKey, Store, StoreError, Write};
use tokio::sync::oneshot;

use crate::kernel::registry::JobStarter;
use crate::kernel::{OutboxJob, table};
use crate::port::Timestamp;

/// Timers that come due in one go.
const PAGE: usize = 500;

/// Turns every timer that is due into an effect. Says how many.
///
/// # Errors
/// When storage fails. What was not rung is found again.
pub async fn fire_due(
    store: &Arc<dyn Store>,
    effects: &Arc<dyn JobStarter>,
    now: Timestamp,
) -> Result<usize, StoreError> {
    let (mut rung, mut after) = (0, None::<RowKey>);
    loop {
        let page = store.scan(&[table::TIMER], after.as_deref(), PAGE).await?;
        after = page.last().map(|(key, _)| key.clone());
        let full = page.len() == PAGE;
        let due: Vec<_> = page.into_iter().take_while(|(key, _)| due_at(key) <= now).collect();
        let more = full && due.len() == PAGE;
        let mut committed = Vec::with_capacity(due.len());
        for (key, row) in due {
            // One that cannot be read must not keep the others from coming due; it stays, and is told of again.
            match codec::decode::<OutboxJob>(&row.value) {
                Ok(effect) => committed.push(start_job(store, effects.clone(), key, effect)),
                Err(error) => tracing::error!(timer = hex::encode(&key), %error, "a timer cannot be read"),
            }
        }
        for one in committed {
            match one.await {
                Ok(Ok(())) => rung += 1,
                // Somebody else rang it.
                Ok(Err(CommitError::Condition(_))) => {}
                Ok(Err(_)) | Err(_) => return Ok(rung),
            }
        }
        if !more {
            return Ok(rung);
        }
    }
}

/// Of a key that is none, the end of time: it never comes due.
fn due_at(key: &RowKey) -> Timestamp {
    let due = key.get(1..).and_then(|rest| rest.first_chunk::<8>());
    due.map_or(Timestamp(u64::MAX), |due| Timestamp(u64::from_be_bytes(*due)))
}

fn start_job(
    store: &Arc<dyn Store>,
    effects: Arc<dyn JobStarter>,
    key: RowKey,
    effect: OutboxJob,
) -> oneshot::Receiver<Result<(), CommitError>> {
    let batch = Batch {
        conditions: vec![Condition::Present(key.clone())],
        writes: vec![Write::Delete { key }, effect.put()],
        ..Batch::default()
    };
    let (done, committed) = oneshot::channel();
    store.commit(
        batch,
        Box::new(move |result| {
            if result.is_ok() {
                effects.start(effect);
            }
            // Nobody listens any more only if the engine stops.
            drop(done.send(result.map(|_| ())));
        }),
    );
    committed
}
