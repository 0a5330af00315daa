//! Simulated webhook endpoints. No plan has one yet, so every POST is a violation.

use std::sync::Arc;

use purser_actors::port::{BoxFuture, WebhookPostError, WebhookPostRequest, WebhookResponse, WebhookSender};

use crate::environment::Environment;

pub(crate) struct NoEndpoints(pub(crate) Arc<Environment>);

impl WebhookSender for NoEndpoints {
    fn post<'a>(&'a self, _: WebhookPostRequest<'a>) -> BoxFuture<'a, Result<WebhookResponse, WebhookPostError>> {
        self.0.report_violation("webhook.posted", "no account has an endpoint");
        Box::pin(std::future::ready(Err(WebhookPostError::Failed(
            "no account has an endpoint",
        ))))
    }
}
