//! What is written beside a command under an idempotency key.

use purser_actors::kernel::idempotency::{CommandResult, IdempotencySlot, RecordedResponse};
use purser_actors::kernel::{Entity, IdempotencyRecorder};

use super::RecordedReply;
use crate::http::error::ApiError;

/// Has the answer to a command remembered in the key's place. `answer` renders it as it is sent; what is not to be
/// remembered (400, 401, a frozen account, 429, 5xx) is recognised by its status.
pub fn recorder<E: Entity>(
    place: IdempotencySlot,
    answer: impl Fn(CommandResult<'_, E>) -> Result<RecordedReply, ApiError> + Send + Sync + 'static,
) -> IdempotencyRecorder<E> {
    IdempotencyRecorder::new(place, move |told| to_recorded_response(&answer(told)))
}

/// Has the key follow an entity, for an answer that is only known later. See [`super::IdempotencyKey::run_following`].
pub fn recorder_of<E: Entity, F: Entity>(place: IdempotencySlot, id: F::Id) -> IdempotencyRecorder<E>
where
    F::Id: Sync,
{
    use purser_actors::kernel::entity::EntityId as _;
    IdempotencyRecorder::new(place, move |told: CommandResult<'_, E>| {
        told.is_ok().then(|| RecordedResponse::EntityRef {
            kind: F::KIND as u8,
            id: id.key(),
        })
    })
}

/// As [`recorder_of`] where the command was accepted; a refusal is remembered as `refused` renders it.
pub fn entity_recorder<E: Entity, F: Entity>(
    place: IdempotencySlot,
    id: F::Id,
    refused: impl Fn(&E::Rejection) -> ApiError + Send + Sync + 'static,
) -> IdempotencyRecorder<E>
where
    F::Id: Sync,
{
    use purser_actors::kernel::entity::EntityId as _;
    IdempotencyRecorder::new(place, move |told: CommandResult<'_, E>| match told {
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
