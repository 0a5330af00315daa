//! What freezing an account would do: the answer that its agents get, what stops, and what goes on.

use std::sync::Arc;

use purser_actors::engine::customers::Customer;
use purser_actors::id::Wallet;
use purser_actors::kernel::{EntityKind, OutboxJob};
#[cfg(feature = "documents")]
use purser_actors::operator::Permission;
use serde::Serialize;
use serde_json::value::RawValue;

use super::AdminState;
#[cfg(feature = "documents")]
use super::api_doc::{Operation, OperationDoc, of};
use super::extractors::AuthorizedRead;
use super::jobs::{self, OpenJob};
use crate::http::auth::RequestId;
use crate::http::error::{ApiError, ErrorCode, ErrorFormat};
use crate::http::json::Private;
use crate::http::query::Query;
use crate::http::route::routes;
use crate::http::schemas::ExactDecimal;
use crate::stream::close;

routes! { pub(super) static ROUTES: Arc<AdminState>, undocumented;
    GET "/admin/freeze/preview" => get_preview {
        Operator, operation(||
            OperationDoc::get(
                Operation { id: "previewFreeze", tag: "Accounts" },
                Permission::Read,
                "Show what freezing an account would do: the answer to its agents, what stops, and what goes on. Changes nothing",
                of::<FreezePreview>,
            )
            .needs("wallet", "string", "Wallet of the account.")
            .with("message", "string", "Message to its owner, as it would be shown.")
            .error(404, "No such account.")
        )
    }
}

/// Products of each kind that are counted.
const COUNTED: usize = 100;
/// Limit in characters, as for the freeze itself.
const MAX_MESSAGE_LEN: usize = 500;

/// Effect of a freeze.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct FreezePreview {
    /// Exact wallet address of the account. An agent wallet's address leads to its owner's account.
    wallet: String,
    /// Whether the account is frozen already.
    frozen: bool,
    answer: FrozenAnswer,
    stops: FrozenParts,
    continues: UnfrozenParts,
}

/// Answer to every call with the account's tokens, API keys and payments.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct FrozenAnswer {
    /// HTTP status.
    status: u16,
    /// Body of the answer. Its `request_id` is that of each call.
    #[cfg_attr(feature = "documents", schema(value_type = Object))]
    body: Box<RawValue>,
    /// Close code of its event streams.
    stream_close_code: u16,
}

/// What stops until the account is unfrozen.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct FrozenParts {
    /// Event streams that are open now and would be closed.
    streams: u64,
    /// Balance that can't be used.
    available: ExactDecimal,
    /// Whether a recovery of the account is in progress, which would be cancelled.
    recovery: bool,
    /// Jobs that would move money out and then wait. What is already signed is only looked up.
    jobs: Vec<OpenJob>,
}

/// What goes on.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct UnfrozenParts {
    /// Jobs that go on: what is paid is delivered.
    jobs: Vec<OpenJob>,
    /// Cards that can be used, of the newest 100 of each kind: the issuer is not informed of a freeze.
    usable_cards: u64,
    /// The owner can sign in and read the message on the page behind a login link.
    sign_in: bool,
}

async fn get_preview(AuthorizedRead { admin, query }: AuthorizedRead) -> Result<Private<FreezePreview>, ApiError> {
    let query = Query::parse(query.as_deref(), &["wallet", "message"])?;
    let wallet: Wallet = query
        .required("wallet")?
        .parse()
        .map_err(|_| ApiError::parameter(ErrorCode::ParameterInvalid, "wallet", "`wallet` is not an address."))?;
    let message = query.text("message", MAX_MESSAGE_LEN)?.unwrap_or_default();
    let wallet = admin.engine.account_of(&wallet);
    let customer = admin.engine.customer(&wallet, COUNTED).await;
    let customer = customer
        .map_err(|_| ApiError::internal())?
        .ok_or_else(|| ApiError::new(ErrorCode::AccountNotFound, "There is no such account."))?;
    let effect = admin.engine.freeze_effect(&wallet).await;
    let effect = effect.map_err(|_| ApiError::internal())?;
    let recovery = admin.engine.recovery(&wallet).await;
    let open = |all: &[OutboxJob]| all.iter().map(|job| jobs::open_job(&admin, job)).collect();
    Ok(Private(FreezePreview {
        wallet: wallet.to_string(),
        frozen: customer.account.frozen.is_some(),
        answer: answer(message)?,
        stops: FrozenParts {
            streams: admin.metrics.hub.streams_of(&wallet) as u64,
            available: customer.account.available().into(),
            recovery: recovery
                .map_err(|_| ApiError::internal())?
                .is_some_and(|one| one.is_open()),
            jobs: open(&effect.waits),
        },
        continues: UnfrozenParts {
            jobs: open(&effect.continues),
            usable_cards: usable_cards(&customer),
            sign_in: true,
        },
    }))
}

/// Built as the answer itself is, so it can't differ from it.
fn answer(message: &str) -> Result<FrozenAnswer, ApiError> {
    let error = ApiError::frozen(message);
    let body = String::from_utf8(error.body(RequestId(0), ErrorFormat::Plain)).map_err(|_| ApiError::internal())?;
    Ok(FrozenAnswer {
        status: error.status.as_u16(),
        body: RawValue::from_string(body).map_err(|_| ApiError::internal())?,
        stream_close_code: close::FROZEN,
    })
}

fn usable_cards(customer: &Customer) -> u64 {
    const CARDS: [EntityKind; 3] = [EntityKind::Card, EntityKind::IntlOrder, EntityKind::ReloadableCard];
    let groups = customer.resources.iter().filter(|group| CARDS.contains(&group.kind));
    let usable = groups
        .flat_map(|group| &group.newest)
        .filter(|card| card.status == "ready");
    usable.count() as u64
}
