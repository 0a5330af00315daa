//! Recorders: what a command writes under its idempotency key.

use purser_actors::kernel::idempotency::{CommandResult, IdempotencySlot, RecordedResponse};
use purser_actors::kernel::{Entity, IdempotencyRecorder};

use super::RecordedReply;
use crate::http::error::ApiError;

/// Records the response to a command under the key. `answer` renders it as sent. Responses that must not be recorded
/// (400, 401, a frozen account, 429, 5xx) are recognized by their status.
pub fn recorder<E: Entity>(
    place: IdempotencySlot,
    answer: impl Fn(CommandResult<'_, E>) -> Result<RecordedReply, ApiError> + Send + Sync + 'static,
) -> IdempotencyRecorder<E> {
    IdempotencyRecorder::new(place, move |result| to_recorded_response(&answer(result)))
}

/// Records a reference to an entity, for a response that is known later. See [`super::IdempotencyKey::run_following`].
pub fn recorder_of<E: Entity, F: Entity>(place: IdempotencySlot, id: F::Id) -> IdempotencyRecorder<E>
where
    F::Id: Sync,
{
    use purser_actors::kernel::entity::EntityId as _;
    IdempotencyRecorder::new(place, move |result: CommandResult<'_, E>| {
        result.is_ok().then(|| RecordedResponse::EntityRef {
            kind: F::KIND as u8,
            id: id.key(),
        })
    })
}

/// As [`recorder_of`] for an accepted command. A rejection is recorded as `refused` renders it.
pub fn entity_recorder<E: Entity, F: Entity>(
    place: IdempotencySlot,
    id: F::Id,
    refused: impl Fn(&E::Rejection) -> ApiError + Send + Sync + 'static,
) -> IdempotencyRecorder<E>
where
    F::Id: Sync,
{
    use purser_actors::kernel::entity::EntityId as _;
    IdempotencyRecorder::new(place, move |result: CommandResult<'_, E>| match result {
        Ok(_) => Some(RecordedResponse::EntityRef {
            kind: F::KIND as u8,
            id: id.key(),
        }),
        Err(rejection) => to_recorded_response(&Err(refused(rejection))),
    })
}

pub(super) fn to_recorded_response(answer: &Result<RecordedReply, ApiError>) -> Option<RecordedResponse> {
    match answer {
        Ok(reply) => Some(RecordedResponse::Body {
            status: reply.status.as_u16(),
            body: reply.body.clone(),
        }),
        Err(error) if error.frozen_message.is_some() || error.status.is_server_error() => None,
        Err(error) if matches!(error.status.as_u16(), 400 | 401 | 429) => None,
        Err(error) => Some(RecordedResponse::Body {
            status: error.status.as_u16(),
            body: error.to_record(),
        }),
    }
}
