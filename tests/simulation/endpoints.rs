//! Receivers of events, pretended. No plan has one yet: whoever posts is objected to.

use std::sync::Arc;

use purser_actors::port::{BoxFuture, WebhookPostError, WebhookPostRequest, WebhookResponse, WebhookSender};

use crate::environment::Environment;

pub(crate) struct NoEndpoints(pub(crate) Arc<Environment>);

impl WebhookSender for NoEndpoints {
    fn post<'a>(&'a self, _: WebhookPostRequest<'a>) -> BoxFuture<'a, Result<WebhookResponse, WebhookPostError>> {
        self.0.report_violation("webhook.posted", "nobody has an endpoint");
        Box::pin(std::future::ready(Err(WebhookPostError::Failed(
            "nobody has an endpoint",
        ))))
    }
}
