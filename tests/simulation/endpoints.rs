//! Receivers of events, pretended. No plan has one yet: whoever posts is objected to.

use std::sync::Arc;

use purser_actors::port::{BoxFuture, NotPosted, Posted, Posting, WebhookPost};

use crate::world::World;

pub(crate) struct NoEndpoints(pub(crate) Arc<World>);

impl WebhookPost for NoEndpoints {
    fn post<'a>(&'a self, _: Posting<'a>) -> BoxFuture<'a, Result<Posted, NotPosted>> {
        self.0.object("webhook.posted", "nobody has an endpoint");
        Box::pin(std::future::ready(Err(NotPosted::Failed("nobody has an endpoint"))))
    }
}
