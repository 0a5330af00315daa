//! Receivers of events, scripted: each URL answers what it is told to, in order, and 200 when nothing is left.

use std::collections::{HashMap, VecDeque};

use parking_lot::Mutex;
use purser_actors::id::EventId;
use purser_actors::port::{BoxFuture, Timestamp, WebhookPostError, WebhookPostRequest, WebhookResponse, WebhookSender};
use tokio::sync::Semaphore;

/// What a receiver does with one posting.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reply {
    /// It answers this status.
    Status(u16),
    /// 429, and it wants to be left alone for so many milliseconds.
    Later(u64),
    /// It cannot be reached.
    Unreachable,
    /// It never answers.
    Hangs,
    /// It has it, and whoever posts it dies before it is written down.
    Panics,
}

/// A posting that arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReceivedPost {
    pub(crate) url: String,
    pub(crate) event: EventId,
    pub(crate) at: Timestamp,
    pub(crate) body: String,
    /// The records of the secrets that signed.
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
    /// What a URL answers next, one after the other.
    pub(crate) fn replies(&self, url: &str, replies: &[Reply]) {
        self.replies.lock().entry(url.into()).or_default().extend(replies);
    }

    /// What a URL answers when nothing else is left.
    pub(crate) fn always(&self, url: &str, reply: Reply) {
        self.always.lock().insert(url.into(), reply);
    }

    /// Everything that arrived at a URL, dead ones apart.
    pub(crate) fn at(&self, url: &str) -> Vec<ReceivedPost> {
        let arrived = self.arrived.lock();
        arrived.iter().filter(|one| one.url == url).cloned().collect()
    }

    /// How often a URL was posted to.
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
