//! Scripted webhook receivers: each URL gives its scripted responses in order, then 200.

use std::collections::{HashMap, VecDeque};

use parking_lot::Mutex;
use purser_actors::id::EventId;
use purser_actors::port::{BoxFuture, Timestamp, WebhookPostError, WebhookPostRequest, WebhookResponse, WebhookSender};
use tokio::sync::Semaphore;

/// Behavior of a receiver for one request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reply {
    /// Responds with this status.
    Status(u16),
    /// 429 with a retry delay in milliseconds.
    Later(u64),
    Unreachable,
    Hangs,
    /// The receiver gets it, and the sender crashes before it is recorded.
    Panics,
}

/// A received request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReceivedPost {
    pub(crate) url: String,
    pub(crate) event: EventId,
    pub(crate) at: Timestamp,
    pub(crate) body: String,
    /// Records of the secrets that signed it.
    pub(crate) signed_by: Vec<u128>,
}

pub(crate) struct FakeReceivers {
    replies: Mutex<HashMap<String, VecDeque<Reply>>>,
    always: Mutex<HashMap<String, Reply>>,
    arrived: Mutex<Vec<ReceivedPost>>,
    never: Semaphore,
}

impl Default for FakeReceivers {
    fn default() -> Self {
        Self {
            replies: Mutex::default(),
            always: Mutex::default(),
            arrived: Mutex::default(),
            never: Semaphore::new(0),
        }
    }
}

impl FakeReceivers {
    /// Sets a URL's next responses, in order.
    pub(crate) fn replies(&self, url: &str, replies: &[Reply]) {
        self.replies.lock().entry(url.into()).or_default().extend(replies);
    }

    /// Sets a URL's response after the scripted ones.
    pub(crate) fn always(&self, url: &str, reply: Reply) {
        self.always.lock().insert(url.into(), reply);
    }

    /// Everything that a URL received, unreachable responses excluded.
    pub(crate) fn at(&self, url: &str) -> Vec<ReceivedPost> {
        let arrived = self.arrived.lock();
        arrived.iter().filter(|one| one.url == url).cloned().collect()
    }

    /// Number of requests to a URL.
    pub(crate) fn count(&self, url: &str) -> usize {
        self.arrived.lock().iter().filter(|one| one.url == url).count()
    }
}

impl WebhookSender for FakeReceivers {
    fn post<'a>(&'a self, posting: WebhookPostRequest<'a>) -> BoxFuture<'a, Result<WebhookResponse, WebhookPostError>> {
        Box::pin(async move {
            self.arrived.lock().push(ReceivedPost {
                url: posting.url.into(),
                event: posting.event,
                at: posting.at,
                body: posting.body.into(),
                signed_by: posting.secrets.iter().map(|(record, _)| *record).collect(),
            });
            let next = self.replies.lock().get_mut(posting.url).and_then(VecDeque::pop_front);
            let reply = next.or_else(|| self.always.lock().get(posting.url).copied());
            let posted = |status, retry_after_ms| WebhookResponse {
                status,
                retry_after_ms,
                excerpt: Some("as the script says".into()),
            };
            match reply.unwrap_or(Reply::Status(200)) {
                Reply::Status(status) => Ok(posted(status, None)),
                Reply::Later(ms) => Ok(posted(429, Some(ms))),
                Reply::Unreachable => Err(WebhookPostError::Failed("it cannot be reached")),
                Reply::Hangs => {
                    drop(self.never.acquire().await);
                    Err(WebhookPostError::Failed("the test is over"))
                }
                Reply::Panics => panic!("{}", crate::support::EXPECTED_PANIC),
            }
        })
    }
}
