//! Precedence checks of callable functions. Their tables in `docs/precedence.md` start with the same rows, which are
//! checked here once.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::http::ServiceClient;
use super::precedence_table::{PrecedenceTable, snapshot};
use super::request::Request;
use super::withdraw::withdraw;

const WHY: &str = "Please write to us.";

/// What a function requires besides its data.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccessRule {
    Reads,
    /// The function takes an `Idempotency-Key`.
    Keyed,
    /// The function takes a key and rejects payment tokens.
    SpendRights,
}

/// The caller, with a sign-in token and a payment token.
pub(crate) struct Caller<'a> {
    pub(crate) site: &'a ServiceClient<'a>,
    pub(crate) agent: Agent,
    pub(crate) token: String,
    payment_token: String,
    other: String,
}

impl<'a> Caller<'a> {
    /// A caller that has bought this product.
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

    /// Checks the rows up to those that depend on stored data: token, key, members and values, ownership, account,
    /// token kind, key reuse. Each entry of `wrong` breaks one rule less than the one before; `good` breaks none.
    pub(crate) async fn check_precedence(
        &self,
        path: &'static str,
        way: AccessRule,
        wrong: &[Value],
        good: &Value,
    ) -> PrecedenceCheck<'a> {
        let name = snake(&path[1..]);
        let mut check = PrecedenceCheck {
            site: self.site,
            request: Request::new("POST", path),
            table: PrecedenceTable::of(&format!("POST {path}"), &name),
            name,
        };
        if way != AccessRule::Reads {
            // The key is already in use for another request.
            let other = withdraw(self.site, &self.token, Some(path), &json!({"amount": 9000})).await;
            assert_eq!(other.status, 409, "{}", other.text);
            check.request.header("idempotency-key", &"k".repeat(256));
        }
        self.site.freeze(&self.agent.address(), Some(WHY)).await;
        check.request.body(&json!({"data": wrong[0]}));
        check.assert_next().await;
        check.request.bearer(if way == AccessRule::SpendRights {
            &self.payment_token
        } else {
            &self.token
        });
        if way != AccessRule::Reads {
            check.assert_next().await;
            check.request.header("idempotency-key", path);
        }
        for data in wrong {
            check.data(data).await;
        }
        check.data(&with(good, "userId", json!(self.other))).await;
        check.data(&with(good, "userId", json!(self.agent.address()))).await;
        self.site.freeze(&self.agent.address(), None).await;
        if way == AccessRule::SpendRights {
            // The token's rights are checked before the key's earlier use here. A key of another route is rejected
            // before both.
            check.key("0");
            check.assert_next().await;
            check.request.bearer(&self.token);
            check.request.header("idempotency-key", path);
        }
        if way != AccessRule::Reads {
            check.assert_next().await;
            check.key("1");
        }
        check
    }
}

/// One precedence table and the request that is corrected step by step.
pub(crate) struct PrecedenceCheck<'a> {
    site: &'a ServiceClient<'a>,
    request: Request,
    table: PrecedenceTable,
    name: String,
}

impl PrecedenceCheck<'_> {
    /// The response must match the next row.
    pub(crate) async fn assert_next(&mut self) {
        self.table.assert_next(&self.request.send(self.site).await);
    }

    /// The response to this data must match the next row.
    pub(crate) async fn data(&mut self, data: &Value) {
        self.request.body(&json!({ "data": data }));
        self.assert_next().await;
    }

    /// Uses another key from here on.
    pub(crate) fn key(&mut self, key: &str) {
        let key = format!("{}-{key}", self.name);
        self.request.header("idempotency-key", &key);
    }

    /// Repeating the request under the same key gives the same response.
    pub(crate) async fn assert_replayed(&self) {
        let answer = self.request.send_and_check(self.site).await;
        assert_eq!(answer.header("idempotency-replayed"), Some("true"), "{}", answer.text);
        snapshot(
            &format!("{}.{}-again", self.name, answer.status),
            &super::request::recorded(&answer),
        );
    }

    /// Every row of the table has been checked.
    pub(crate) fn assert_complete(self) {
        self.table.assert_complete();
    }
}

/// The data with one member added or replaced.
pub(crate) fn with(data: &Value, name: &str, value: Value) -> Value {
    let mut data = data.clone();
    data[name] = value;
    data
}

fn snake(name: &str) -> String {
    super::precedence_table::snake(name).replace('_', "-")
}
