//! What of before a restore is not good until an administrator says so.

use axum::response::Response;
use purser_actors::engine::{Confirmed, Denied};
use purser_actors::kernel::View;
use purser_actors::operator::Task;
use serde::Deserialize;
use utoipa::ToSchema;

use super::asked::{Admitted, Asks};
use super::not_now;
use crate::http::error::ApiError;
use crate::http::json;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Confirm {
    api_key_id: Option<String>,
    token: Option<String>,
    #[serde(default)]
    everything: bool,
}

impl Asks for Confirm {
    const TASK: Task = Task::Trust;
}

pub(super) async fn post_confirm(Admitted { admin, act, wanted }: Admitted<Confirm>) -> Result<Response, ApiError> {
    let unknown = || ApiError::not_found("suspended_unknown", "Nothing of this name is suspended.");
    let what = match (&wanted.api_key_id, &wanted.token, wanted.everything) {
        (Some(id), None, false) => Confirmed::ApiKey(id.parse().map_err(|_| unknown())?),
        (None, Some(name), false) => Confirmed::Token(name.clone()),
        (None, None, true) => Confirmed::Everything,
        _ => {
            let error = "Say what is good: one of `api_key_id`, `token` and `everything`.";
            return Err(ApiError::parameter("parameter_invalid", "api_key_id", error));
        }
    };
    let unknown = || match what {
        Confirmed::Everything => ApiError::not_found("suspended_unknown", "Nothing is suspended."),
        _ => unknown(),
    };
    match admin.engine.confirm_suspended(&what, &act).await {
        Ok(()) => {
            let view = View::new().flag("suspended", admin.engine.suspended_since().is_some());
            Ok(json::private(json::bytes_as_json(view.to_json())))
        }
        Err(Denied::Used) => Err(unknown()),
        Err(Denied::Unavailable | Denied::Rejected(())) => Err(not_now()),
    }
}
