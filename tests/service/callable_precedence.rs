//! How callable functions are climbed down: their tables in `docs/precedence.md` begin alike, so that is written once.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::cases_withdraw::withdraw;
use super::http::ServiceClient;
use super::precedence_table::{PrecedenceTable, snapshot};
use super::request::Request;

const WHY: &str = "Please write to us.";

/// What a function takes beside its data.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// It only reads.
    Reads,
    /// An `Idempotency-Key`.
    Keyed,
    /// A key, and no token that a payment brought about.
    Spends,
}

/// Who calls: with a token of their own, and with one that a payment brought about.
pub(crate) struct Caller<'a> {
    pub(crate) site: &'a ServiceClient<'a>,
    pub(crate) agent: Agent,
    pub(crate) token: String,
    born: String,
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
            born: bought.body["auth"]["id_token"].as_str().unwrap().to_owned(),
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
        way: Way,
        wrong: &[Value],
        good: &Value,
    ) -> PrecedenceCheck<'a> {
        let name = snake(&path[1..]);
        let mut climb = PrecedenceCheck {
            site: self.site,
            ask: Request::new("POST", path),
            ladder: PrecedenceTable::of(&format!("POST {path}"), &name),
            name,
        };
        if way != Way::Reads {
            // The key stands for something else already.
            let other = withdraw(self.site, &self.token, Some(path), &json!({"amount": 9000})).await;
            assert_eq!(other.status, 409, "{}", other.text);
            climb.ask.header("idempotency-key", &"k".repeat(256));
        }
        self.site.freeze(&self.agent.address(), Some(WHY)).await;
        climb.ask.body(&json!({"data": wrong[0]}));
        climb.meets().await;
        climb
            .ask
            .bearer(if way == Way::Spends { &self.born } else { &self.token });
        if way != Way::Reads {
            climb.meets().await;
            climb.ask.header("idempotency-key", path);
        }
        for data in wrong {
            climb.data(data).await;
        }
        climb.data(&with(good, "userId", json!(self.other))).await;
        climb.data(&with(good, "userId", json!(self.agent.address()))).await;
        self.site.freeze(&self.agent.address(), None).await;
        if way == Way::Spends {
            // What the token may do is asked before what the key stood for here; a key of another route is refused first of all.
            climb.key("0");
            climb.meets().await;
            climb.ask.bearer(&self.token);
            climb.ask.header("idempotency-key", path);
        }
        if way != Way::Reads {
            climb.meets().await;
            climb.key("1");
        }
        climb
    }
}

/// One table on the way down.
pub(crate) struct PrecedenceCheck<'a> {
    site: &'a ServiceClient<'a>,
    ask: Request,
    ladder: PrecedenceTable,
    name: String,
}

impl PrecedenceCheck<'_> {
    /// The answer must be that of the next row.
    pub(crate) async fn meets(&mut self) {
        self.ladder.meets(&self.ask.send(self.site).await);
    }

    /// So it must be for this.
    pub(crate) async fn data(&mut self, data: &Value) {
        self.ask.body(&json!({ "data": data }));
        self.meets().await;
    }

    /// Another key from here on.
    pub(crate) fn key(&mut self, key: &str) {
        let key = format!("{}-{key}", self.name);
        self.ask.header("idempotency-key", &key);
    }

    /// The same again under the same key is the same answer.
    pub(crate) async fn again(&self) {
        let answer = self.ask.answer(self.site).await;
        assert_eq!(answer.header("idempotency-replayed"), Some("true"), "{}", answer.text);
        snapshot(
            &format!("{}.{}-again", self.name, answer.status),
            &super::request::seen(&answer),
        );
    }

    /// Nothing of the table is left.
    pub(crate) fn ends(self) {
        self.ladder.ends();
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
