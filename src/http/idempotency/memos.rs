//! What is written beside a command under an idempotency key.

use purser_actors::kernel::memo::{Kept, Place, Told};
use purser_actors::kernel::{Entity, Memo};

use super::Reply;
use crate::http::error::ApiError;

/// Has the answer to a command remembered in the key's place. `answer` renders it as it is sent; what is not to be
/// remembered (400, 401, a frozen account, 429, 5xx) is recognised by its status.
pub fn memo<E: Entity>(
    place: Place,
    answer: impl Fn(Told<'_, E>) -> Result<Reply, ApiError> + Send + Sync + 'static,
) -> Memo<E> {
    Memo::new(place, move |told| keep(&answer(told)))
}

/// Has the key follow an entity, for an answer that is only known later. See [`super::Key::once_following`].
pub fn memo_of<E: Entity, F: Entity>(place: Place, id: F::Id) -> Memo<E>
where
    F::Id: Sync,
{
    use purser_actors::kernel::entity::EntityId as _;
    Memo::new(place, move |told: Told<'_, E>| {
        told.is_ok().then(|| Kept::Follow {
            kind: F::KIND as u8,
            id: id.key(),
        })
    })
}

/// As [`memo_of`] where the command was accepted; a refusal is remembered as `refused` renders it.
pub fn memo_following<E: Entity, F: Entity>(
    place: Place,
    id: F::Id,
    refused: impl Fn(&E::Rejection) -> ApiError + Send + Sync + 'static,
) -> Memo<E>
where
    F::Id: Sync,
{
    use purser_actors::kernel::entity::EntityId as _;
    Memo::new(place, move |told: Told<'_, E>| match told {
        Ok(_) => Some(Kept::Follow {
            kind: F::KIND as u8,
            id: id.key(),
        }),
        Err(rejection) => keep(&Err(refused(rejection))),
    })
}

pub(super) fn keep(answer: &Result<Reply, ApiError>) -> Option<Kept> {
    match answer {
        Ok(reply) => Some(Kept::Answer {
            status: reply.status.as_u16(),
            body: reply.body.clone(),
        }),
        Err(error) if error.frozen_message.is_some() || error.status.is_server_error() => None,
        Err(error) if matches!(error.status.as_u16(), 400 | 401 | 429) => None,
        Err(error) => Some(Kept::Answer {
            status: error.status.as_u16(),
            body: error.to_record(),
        }),
    }
}
