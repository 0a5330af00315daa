//! How callable functions are climbed down: their tables in `docs/precedence.md` begin alike, so that is written once.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::http::ServiceClient;
use super::precedence_table::{PrecedenceTable, snapshot};
use super::request::Request;
use super::withdraw::withdraw;

const WHY: &str = "Please write to us.";

/// What a function takes beside its data.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccessRule {
    /// It only reads.
    Reads,
    /// An `Idempotency-Key`.
    Keyed,
    /// A key, and no token that a payment brought about.
    SpendRights,
}

/// Who calls: with a token of their own, and with one that a payment brought about.
pub(crate) struct Caller<'a> {
    pub(crate) site: &'a ServiceClient<'a>,
    pub(crate) agent: Agent,
    pub(crate) token: String,
    payment_token: String,
    other: String,
}

impl<'a> Caller<'a> {
    /// Somebody who has bought this.
    pub(crate) async fn of(site: &'a ServiceClient<'a>, network: Network, bought: &str) -> Self {
        let (agent, other) = (Agent::new(network), Agent::new(Network::Solana));
        let bought = agent.buy(site, bought).await;
        Self {
            site,
            token: agent.token(site).await,
            payment_token: bought.body["auth"]["id_token"].as_str().unwrap().to_owned(),
            other: other.address(),
            agent,
        }
    }

    pub(crate) async fn new(site: &'a ServiceClient<'a>) -> Self {
        Self::of(site, Network::Base, "/get-card?amount=5").await
    }

    /// Down to what depends on what is kept: token, key, members and values one by one, whose it is, account, the token's
    /// birth, what the key stands for. `wrong` breaks one rule less each; `good` breaks none.
    pub(crate) async fn check_precedence(
        &self,
        path: &'static str,
        way: AccessRule,
        wrong: &[Value],
        good: &Value,
    ) -> PrecedenceCheck<'a> {
        let name = snake(&path[1..]);
        let mut climb = PrecedenceCheck {
            site: self.site,
            request: Request::new("POST", path),
            table: PrecedenceTable::of(&format!("POST {path}"), &name),
            name,
        };
        if way != AccessRule::Reads {
            // The key stands for something else already.
            let other = withdraw(self.site, &self.token, Some(path), &json!({"amount": 9000})).await;
            assert_eq!(other.status, 409, "{}", other.text);
            climb.request.header("idempotency-key", &"k".repeat(256));
        }
        self.site.freeze(&self.agent.address(), Some(WHY)).await;
        climb.request.body(&json!({"data": wrong[0]}));
        climb.assert_next().await;
        climb.request.bearer(if way == AccessRule::SpendRights {
            &self.payment_token
        } else {
            &self.token
        });
        if way != AccessRule::Reads {
            climb.assert_next().await;
            climb.request.header("idempotency-key", path);
        }
        for data in wrong {
            climb.data(data).await;
        }
        climb.data(&with(good, "userId", json!(self.other))).await;
        climb.data(&with(good, "userId", json!(self.agent.address()))).await;
        self.site.freeze(&self.agent.address(), None).await;
        if way == AccessRule::SpendRights {
            // What the token may do is asked before what the key stood for here; a key of another route is refused first of all.
            climb.key("0");
            climb.assert_next().await;
            climb.request.bearer(&self.token);
            climb.request.header("idempotency-key", path);
        }
        if way != AccessRule::Reads {
            climb.assert_next().await;
            climb.key("1");
        }
        climb
    }
}

/// One table on the way down.
pub(crate) struct PrecedenceCheck<'a> {
    site: &'a ServiceClient<'a>,
    request: Request,
    table: PrecedenceTable,
    name: String,
}

impl PrecedenceCheck<'_> {
    /// The answer must be that of the next row.
    pub(crate) async fn assert_next(&mut self) {
        self.table.assert_next(&self.request.send(self.site).await);
    }

    /// So it must be for this.
    pub(crate) async fn data(&mut self, data: &Value) {
        self.request.body(&json!({ "data": data }));
        self.assert_next().await;
    }

    /// Another key from here on.
    pub(crate) fn key(&mut self, key: &str) {
        let key = format!("{}-{key}", self.name);
        self.request.header("idempotency-key", &key);
    }

    /// The same again under the same key is the same answer.
    pub(crate) async fn assert_replayed(&self) {
        let answer = self.request.send_and_check(self.site).await;
        assert_eq!(answer.header("idempotency-replayed"), Some("true"), "{}", answer.text);
        snapshot(
            &format!("{}.{}-again", self.name, answer.status),
            &super::request::recorded(&answer),
        );
    }

    /// Nothing of the table is left.
    pub(crate) fn assert_complete(self) {
        self.table.assert_complete();
    }
}

/// A data with one member more, or another value of it.
pub(crate) fn with(data: &Value, name: &str, value: Value) -> Value {
    let mut data = data.clone();
    data[name] = value;
    data
}

fn snake(name: &str) -> String {
    super::precedence_table::snake(name).replace('_', "-")
}
