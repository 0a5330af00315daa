//! A test account with one of every resource.

use std::collections::{BTreeMap, BTreeSet};

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::access_matrix::MATRIX;
use super::agent::Agent;
use super::banking::{approve, open_account, result};
use super::http::{ServiceClient, until};
use super::owner::Owner;
use super::recipient::{register, wait_for_payout_status};
use super::reloadable_cards::{opened, post_with_key, wait_for_reloadable_card};
use super::top_up::{link, wait_for_top_up};
use super::withdraw::{credited, ended, id_of, withdraw};

/// An account with one of every resource.
pub(crate) struct FullAccount {
    pub(crate) agent: Agent,
    pub(crate) token: String,
    /// Ids of its resources, by kind.
    pub(crate) ids: BTreeMap<&'static str, String>,
    /// Its purchases: the request and the payment that bought it.
    pub(crate) purchases: Vec<(String, String)>,
}

/// Part of an id that no resource has.
const NOTHING: &str = "00000000000000000000000000000001";

impl FullAccount {
    /// Creates an account and buys one of everything. Amounts of two accounts differ by `cents`.
    pub(crate) async fn furnished(site: &ServiceClient<'_>, network: Network, cents: u32) -> Self {
        let agent = Agent::new(network);
        let token = agent.token(site).await;
        let mut person = Self {
            agent,
            token,
            ids: BTreeMap::new(),
            purchases: Vec::new(),
        };
        let card = person
            .add_purchases(site, &format!("/get-card?amount=37.{cents}"))
            .await;
        person.record_id("card", &card["card_id"]);
        person.record_id("payment", &card["payment_id"]);
        let gift = "/order-gift-card?product_id=gift_fernhill_grocers_gb&country=GB";
        let gift = person.add_purchases(site, &format!("{gift}&amount=1{cents}")).await;
        person.record_id("gift_card", &gift["card_id"]);
        let order = person
            .add_purchases(site, &format!("/order-intl-card?amount=1{cents}"))
            .await;
        person.record_id("intl_order", &order["intl_card_order"]["card_id"]);
        person.withdraws(site, cents).await;
        person.add_payouts(site, cents).await;
        person.add_agent_wallet(site, cents).await;
        link(site, &person.agent, true).await;
        let top_up = person
            .add_purchases(site, &format!("/fund-card-balance?amount=1{cents}"))
            .await;
        person.record_id("top_up", &top_up["top_up_id"]);
        person.add_banking(site, cents).await;
        wait_for_top_up(site, &person.token, person.id("top_up"), "credited").await;
        person.open_reloadable_cards(site, cents).await;
        person.add_webhooks(site, cents).await;
        person.waits(site).await;
        person
    }

    /// Two endpoints that never answer, and a delivery to the first.
    async fn add_webhooks(&mut self, site: &ServiceClient<'_>, cents: u32) {
        for what in ["webhook", "webhook_gone"] {
            let body = json!({"url": format!("https://hooks.unused.example/{what}/{cents}"), "types": ["webhook.*"]});
            let made = post_with_key(site, &self.token, "/register-webhook", None, &body).await;
            assert_eq!(made.status, 200, "{}", made.text);
            self.record_id(what, &made.body["webhook_id"]);
        }
        let path = format!("/webhook-deliveries?webhook_id={}", self.id("webhook"));
        let delivery = until("it is on its way", async || {
            let page = site.get_as(&self.token, &path).await;
            Some(page.body["deliveries"][0]["delivery_id"].clone()).filter(|id| id.is_string())
        })
        .await;
        self.record_id("delivery", &delivery);
    }

    /// Paid from the credit of a declined card.
    async fn withdraws(&mut self, site: &ServiceClient<'_>, cents: u32) {
        self.add_purchases(site, "/get-card?amount=6.66").await;
        credited(site, &self.token).await;
        let out = withdraw(site, &self.token, None, &json!({"amount": format!("1.{cents}")})).await;
        self.record_id("withdrawal", &id_of(&out).into());
        ended(site, &self.token, self.id("withdrawal")).await;
    }

    /// Paid from the top-up.
    async fn open_reloadable_cards(&mut self, site: &ServiceClient<'_>, cents: u32) {
        for (what, dollars) in [("reloadable", 2), ("reloadable_open", 3), ("reloadable_paused", 4)] {
            let card = opened(site, &self.token, json!({"usd_amount": format!("{dollars}.{cents}")})).await;
            self.record_id(what, &card.into());
        }
        let paused = self.id("reloadable_paused").to_owned();
        let accepted = post_with_key(site, &self.token, "/pause-card", None, &json!({"card_id": paused})).await;
        assert_eq!(accepted.status, 202, "{}", accepted.text);
        wait_for_reloadable_card(site, &self.token, &paused, "paused").await;
        let body = json!({"amount": format!("5.{cents}"), "destination_address": self.agent.address()});
        let out = post_with_key(site, &self.token, "/withdraw-card-balance", None, &body).await;
        assert_eq!(out.status, 202, "{}", out.text);
        self.record_id("card_withdrawal", &out.body["withdrawal"]["id"]);
    }

    async fn add_agent_wallet(&mut self, site: &ServiceClient<'_>, cents: u32) {
        result(site, &self.token, "createAgentWallet", json!({})).await;
        let own = self.agent.address();
        let entry = json!({"name": format!("Own address {cents}"), "address": own});
        let saved = result(site, &self.token, "saveAddressBookEntry", entry).await;
        self.record_id("address", &saved["entry"]["entryId"]);
        let sent = json!({"toAddress": own, "amountUsdc": format!("2.{cents}")});
        let sent = result(site, &self.token, "agentWalletTransfer", sent).await;
        assert_eq!(sent["status"], "settled", "{sent}");
        self.record_id("spend", &sent["walletPayment"]["walletPaymentId"]);
        let key = json!({"name": format!("Agent number {cents}")});
        let key = result(site, &self.token, "createAgentApiKey", key).await;
        self.record_id("api_key", &key["key"]["apiKeyId"]);
    }

    async fn add_payouts(&mut self, site: &ServiceClient<'_>, cents: u32) {
        Owner::by_token(site, &self.token).await.verify(site, &self.token).await;
        let destination = register(site, &self.agent).await;
        let path = format!("/send-bank-payment?amount=5{cents}.{cents}&destination_id={destination}");
        self.record_id("destination", &destination.into());
        let bank = self.add_purchases(site, &path).await;
        self.record_id("payout", &bank["bank_payment"]["payout_id"]);
        let push = format!("/get-push-to-card?amount=6{cents}.{cents}&currency=USD");
        let push = self.add_purchases(site, &push).await;
        self.record_id("push", &push["payout_id"]);
        let app = format!(
            "/send-payment?amount=7{cents}.{cents}&platform=paypal&recipient_id=user-number-{cents}\
             &recipient_first_name=Ada&recipient_last_name=Lovelace&recipient_email=user{cents}@example.com"
        );
        let app = self.add_purchases(site, &app).await;
        self.record_id("recipient", &app["payment"]["recipient_id"]);
        self.record_id("app", &app["payment"]["payout_id"]);
    }

    /// An approved banking customer with an off-ramp, a recipient and a completed transfer. Needs a verified identity.
    async fn add_banking(&mut self, site: &ServiceClient<'_>, cents: u32) {
        approve(site, &self.token, &format!("Person Number {cents}")).await;
        let account = open_account(site, &self.token, "offramp").await;
        self.record_id("bank_account", &account["accountId"]);
        let destination = json!({"type": "fiat_us", "bankName": "Bank", "routingNumber": "021000021",
            "accountNumber": format!("55555{cents}")});
        let data = json!({"name": format!("Payee Number {cents}"), "destination": destination});
        let made = result(site, &self.token, "createBankingRecipient", data).await;
        self.record_id("bank_recipient", &made["recipientId"]);
        self.record_id("bank_destination", &made["destination"]["destinationId"]);
        let data = json!({"accountId": account["accountId"], "amount": format!("1.{cents}")});
        let moved = result(site, &self.token, "createBankingTransfer", data).await;
        self.record_id("bank_transfer", &moved["transactionId"]);
        let moved = json!({"transactionId": moved["transactionId"]});
        until("the transfer's end", async || {
            let seen = result(site, &self.token, "getBankingTransaction", moved.clone()).await;
            (seen["transaction"]["status"] == "complete").then_some(())
        })
        .await;
    }

    async fn add_purchases(&mut self, site: &ServiceClient<'_>, path: &str) -> Value {
        let payment = self.agent.payment(site, path).await;
        let bought = Agent::pay(site, path, &payment).await;
        assert_eq!(bought.status, 200, "{path}: {}", bought.text);
        self.purchases.push((path.to_owned(), payment));
        bought.body
    }

    fn record_id(&mut self, what: &'static str, id: &Value) {
        let id = id.as_str().unwrap_or_else(|| panic!("no {what}: {id}"));
        let (_, digits) = id.split_once('_').unwrap();
        let random = digits.len() == 32 && digits.bytes().all(|b| b.is_ascii_hexdigit());
        assert!(random, "{id} cannot be guessed");
        assert!(self.ids.insert(what, id.to_owned()).is_none(), "{what} twice");
    }

    /// Waits until nothing of the account changes automatically any more.
    async fn waits(&self, site: &ServiceClient<'_>) {
        for (what, status) in [("card", "ready"), ("gift_card", "completed")] {
            until(what, async || {
                let path = format!("/get-card-data?card_id={}", self.id(what));
                (site.get_as(&self.token, &path).await.str("status") == Some(status)).then_some(())
            })
            .await;
        }
        until("the amount is held", async || {
            let path = format!("/get-withdrawal-status?withdrawal_id={}", self.id("card_withdrawal"));
            let read = site.get_as(&self.token, &path).await;
            (read.body["withdrawal"]["status"] == "queued").then_some(())
        })
        .await;
        wait_for_payout_status(site, &self.token, self.id("payout"), "complete").await;
        wait_for_payout_status(site, &self.token, self.id("app"), "complete").await;
    }

    pub(crate) fn id(&self, what: &str) -> &str {
        self.ids
            .get(what)
            .unwrap_or_else(|| panic!("the account has no {what}"))
    }

    /// An unknown id of the same kind.
    pub(crate) fn unknown_id(&self, what: &str) -> String {
        let (kind, _) = self.id(what).split_once('_').unwrap();
        format!("{kind}_{NOTHING}")
    }

    /// Everything that the account can read about itself.
    pub(crate) async fn reads(&self, site: &ServiceClient<'_>) -> BTreeSet<String> {
        let mut seen = BTreeSet::from([self.agent.address(), self.token.clone()]);
        seen.extend(self.ids.values().cloned());
        for ask in MATRIX.iter().filter(|ask| ask.method == "GET" && !ask.is_paid) {
            let answer = ask.of(site, Some(self), self.id(ask.of)).await;
            assert_eq!(answer.status, 200, "{}: {}", ask.route, answer.text);
            collect_values("", &answer.body, &mut seen);
        }
        for path in ["/get-account-balance", "/get-kyc-status"] {
            collect_values("", &site.get_as(&self.token, path).await.body, &mut seen);
        }
        for event in site.events(&self.token, 0).await {
            collect_values("", &event, &mut seen);
        }
        seen
    }
}

/// Texts and amounts that identify an account, without times and values too short to be distinctive.
fn collect_values(name: &str, value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => members
            .iter()
            .for_each(|(name, value)| collect_values(name, value, into)),
        Value::Array(items) => items.iter().for_each(|value| collect_values(name, value, into)),
        Value::String(text) if text.len() >= 12 && !name.ends_with("_at") => {
            into.insert(text.clone());
        }
        Value::Number(number) if number.to_string().contains('.') => {
            into.insert(number.to_string());
        }
        _ => {}
    }
}

/// Whether the response contains the text, or the amount as a number of its own.
pub(crate) fn contains_secret(answer: &str, secret: &str) -> bool {
    let part = |c: char| c.is_ascii_digit() || c == '.';
    if !secret.chars().all(part) {
        return answer.contains(secret);
    }
    answer.match_indices(secret).any(|(at, _)| {
        let before = answer[..at].chars().next_back();
        let after = answer[at + secret.len()..].chars().next();
        !before.is_some_and(part) && !after.is_some_and(part)
    })
}
