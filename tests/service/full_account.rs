//! Somebody who has one of everything that can be had.

use std::collections::{BTreeMap, BTreeSet};

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::access_matrix::ASKS;
use super::agent::Agent;
use super::cases_banking::{approve, open_account, result};
use super::cases_reloadable::{ask, comes_to as comes_to_stand, opened};
use super::cases_top_up::{link, once};
use super::cases_withdraw::{credited, ended, id_of, withdraw};
use super::http::{ServiceClient, until};
use super::owner::Owner;
use super::recipient::{comes_to, register};

/// Somebody with one of everything.
pub(crate) struct Person {
    pub(crate) agent: Agent,
    pub(crate) token: String,
    /// What they have, by the word for it.
    pub(crate) things: BTreeMap<&'static str, String>,
    /// What they paid: the request, and the payment that bought it.
    pub(crate) paid: Vec<(String, String)>,
}

/// Nobody has it.
const NOTHING: &str = "00000000000000000000000000000001";

impl Person {
    /// Somebody who buys one of everything. Amounts of two people differ by `cents`.
    pub(crate) async fn furnished(site: &ServiceClient<'_>, network: Network, cents: u32) -> Self {
        let agent = Agent::new(network);
        let token = agent.token(site).await;
        let mut person = Self {
            agent,
            token,
            things: BTreeMap::new(),
            paid: Vec::new(),
        };
        let card = person.buys(site, &format!("/get-card?amount=37.{cents}")).await;
        person.has("card", &card["card_id"]);
        person.has("payment", &card["payment_id"]);
        let gift = "/order-gift-card?product_id=gift_fernhill_grocers_gb&country=GB";
        let gift = person.buys(site, &format!("{gift}&amount=1{cents}")).await;
        person.has("gift_card", &gift["card_id"]);
        let order = person.buys(site, &format!("/order-intl-card?amount=1{cents}")).await;
        person.has("intl_order", &order["intl_card_order"]["card_id"]);
        person.withdraws(site, cents).await;
        person.pays_out(site, cents).await;
        person.has_a_wallet(site, cents).await;
        link(site, &person.agent, true).await;
        let top_up = person.buys(site, &format!("/fund-card-balance?amount=1{cents}")).await;
        person.has("top_up", &top_up["top_up_id"]);
        person.banks(site, cents).await;
        once(site, &person.token, person.thing("top_up"), "credited").await;
        person.spends_card_balance(site, cents).await;
        person.listens(site, cents).await;
        person.waits(site).await;
        person
    }

    /// Two endpoints that nobody answers at, and what is on its way to the first.
    async fn listens(&mut self, site: &ServiceClient<'_>, cents: u32) {
        for what in ["webhook", "webhook_gone"] {
            let body = json!({"url": format!("https://hooks.nobody.example/{what}/{cents}"), "types": ["webhook.*"]});
            let made = ask(site, &self.token, "/register-webhook", None, &body).await;
            assert_eq!(made.status, 200, "{}", made.text);
            self.has(what, &made.body["webhook_id"]);
        }
        let path = format!("/webhook-deliveries?webhook_id={}", self.thing("webhook"));
        let delivery = until("it is on its way", async || {
            let page = site.get_as(&self.token, &path).await;
            Some(page.body["deliveries"][0]["id"].clone()).filter(|id| id.is_string())
        })
        .await;
        self.has("delivery", &delivery);
    }

    /// Out of what a refused card left on the balance.
    async fn withdraws(&mut self, site: &ServiceClient<'_>, cents: u32) {
        self.buys(site, "/get-card?amount=6.66").await;
        credited(site, &self.token).await;
        let out = withdraw(site, &self.token, None, &json!({"amount": format!("1.{cents}")})).await;
        self.has("withdrawal", &id_of(&out).into());
        ended(site, &self.token, self.thing("withdrawal")).await;
    }

    /// Out of what the top-up brought.
    async fn spends_card_balance(&mut self, site: &ServiceClient<'_>, cents: u32) {
        for (what, dollars) in [("reloadable", 2), ("reloadable_open", 3), ("reloadable_paused", 4)] {
            let card = opened(site, &self.token, json!({"usd_amount": format!("{dollars}.{cents}")})).await;
            self.has(what, &card.into());
        }
        let paused = self.thing("reloadable_paused").to_owned();
        let asked = ask(site, &self.token, "/pause-card", None, &json!({"card_id": paused})).await;
        assert_eq!(asked.status, 202, "{}", asked.text);
        comes_to_stand(site, &self.token, &paused, "paused").await;
        let body = json!({"amount": format!("5.{cents}"), "destination_address": self.agent.address()});
        let out = ask(site, &self.token, "/withdraw-card-balance", None, &body).await;
        assert_eq!(out.status, 202, "{}", out.text);
        self.has("card_withdrawal", &out.body["withdrawal"]["id"]);
    }

    async fn has_a_wallet(&mut self, site: &ServiceClient<'_>, cents: u32) {
        result(site, &self.token, "createAgentWallet", json!({})).await;
        let own = self.agent.address();
        let entry = json!({"name": format!("Number {cents} of ours"), "address": own});
        let saved = result(site, &self.token, "saveAddressBookEntry", entry).await;
        self.has("address", &saved["entry"]["entryId"]);
        let sent = json!({"toAddress": own, "amountUsdc": format!("2.{cents}")});
        let sent = result(site, &self.token, "agentWalletTransfer", sent).await;
        assert_eq!(sent["status"], "settled", "{sent}");
        self.has("spend", &sent["spend"]["spendId"]);
        let key = json!({"name": format!("Agent number {cents}")});
        let key = result(site, &self.token, "createAgentApiKey", key).await;
        self.has("api_key", &key["key"]["apiKeyId"]);
    }

    async fn pays_out(&mut self, site: &ServiceClient<'_>, cents: u32) {
        Owner::by_token(site, &self.token).await.verify(site, &self.token).await;
        let destination = register(site, &self.agent).await;
        let path = format!("/send-bank-payment?amount=5{cents}.{cents}&destination_id={destination}");
        self.has("destination", &destination.into());
        let bank = self.buys(site, &path).await;
        self.has("payout", &bank["bank_payment"]["payout_id"]);
        let push = format!("/get-push-to-card?amount=6{cents}.{cents}&currency=USD");
        let push = self.buys(site, &push).await;
        self.has("push", &push["payout_id"]);
        let app = format!(
            "/send-payment?amount=7{cents}.{cents}&platform=paypal&recipient_id=user-number-{cents}\
             &recipient_first_name=Ada&recipient_last_name=Lovelace&recipient_email=user{cents}@example.com"
        );
        let app = self.buys(site, &app).await;
        self.has("recipient", &app["payment"]["recipient_id"]);
        self.has("app", &app["payment"]["payout_id"]);
    }

    /// An approved holder, who was verified before, with an off-ramp, a recipient and money on the way.
    async fn banks(&mut self, site: &ServiceClient<'_>, cents: u32) {
        approve(site, &self.token, &format!("Person Number {cents}")).await;
        let account = open_account(site, &self.token, "offramp").await;
        self.has("bank_account", &account["accountId"]);
        let destination = json!({"type": "fiat_us", "bankName": "Bank", "routingNumber": "021000021",
            "accountNumber": format!("55555{cents}")});
        let data = json!({"name": format!("Payee Number {cents}"), "destination": destination});
        let made = result(site, &self.token, "createBankingRecipient", data).await;
        self.has("bank_recipient", &made["recipientId"]);
        self.has("bank_destination", &made["destination"]["destinationId"]);
        let data = json!({"accountId": account["accountId"], "amount": format!("1.{cents}")});
        let moved = result(site, &self.token, "createBankingTransfer", data).await;
        self.has("bank_transfer", &moved["transactionId"]);
        let moved = json!({"transactionId": moved["transactionId"]});
        until("the transfer's end", async || {
            let seen = result(site, &self.token, "getBankingTransaction", moved.clone()).await;
            (seen["transaction"]["status"] == "complete").then_some(())
        })
        .await;
    }

    async fn buys(&mut self, site: &ServiceClient<'_>, path: &str) -> Value {
        let payment = self.agent.payment(site, path).await;
        let bought = Agent::pay(site, path, &payment).await;
        assert_eq!(bought.status, 200, "{path}: {}", bought.text);
        self.paid.push((path.to_owned(), payment));
        bought.body
    }

    fn has(&mut self, what: &'static str, id: &Value) {
        let id = id.as_str().unwrap_or_else(|| panic!("no {what}: {id}"));
        let (_, digits) = id.split_once('_').unwrap();
        let random = digits.len() == 32 && digits.bytes().all(|b| b.is_ascii_hexdigit());
        assert!(random, "{id} cannot be guessed");
        assert!(self.things.insert(what, id.to_owned()).is_none(), "{what} twice");
    }

    /// Until nothing of it changes by itself any more.
    async fn waits(&self, site: &ServiceClient<'_>) {
        for (what, status) in [("card", "ready"), ("gift_card", "completed")] {
            until(what, async || {
                let path = format!("/get-card-data?card_id={}", self.thing(what));
                (site.get_as(&self.token, &path).await.str("status") == Some(status)).then_some(())
            })
            .await;
        }
        until("an amount that is set aside", async || {
            let path = format!("/get-withdrawal-status?withdrawal_id={}", self.thing("card_withdrawal"));
            let read = site.get_as(&self.token, &path).await;
            (read.body["withdrawal"]["status"] == "queued").then_some(())
        })
        .await;
        comes_to(site, &self.token, self.thing("payout"), "complete").await;
        comes_to(site, &self.token, self.thing("app"), "complete").await;
    }

    pub(crate) fn thing(&self, what: &str) -> &str {
        self.things.get(what).unwrap_or_else(|| panic!("nobody has a {what}"))
    }

    /// An id of the same kind that nothing has.
    pub(crate) fn nothing_like(&self, what: &str) -> String {
        let (kind, _) = self.thing(what).split_once('_').unwrap();
        format!("{kind}_{NOTHING}")
    }

    /// Everything that they read of themselves.
    pub(crate) async fn reads(&self, site: &ServiceClient<'_>) -> BTreeSet<String> {
        let mut seen = BTreeSet::from([self.agent.address(), self.token.clone()]);
        seen.extend(self.things.values().cloned());
        for ask in ASKS.iter().filter(|ask| ask.method == "GET" && !ask.paid) {
            let answer = ask.of(site, Some(self), self.thing(ask.of)).await;
            assert_eq!(answer.status, 200, "{}: {}", ask.route, answer.text);
            leaves("", &answer.body, &mut seen);
        }
        for path in ["/get-account-balance", "/get-kyc-status"] {
            leaves("", &site.get_as(&self.token, path).await.body, &mut seen);
        }
        for event in site.events(&self.token, 0).await {
            leaves("", &event, &mut seen);
        }
        seen
    }
}

/// Texts and amounts that say whose an answer is: not times, nor what is too short to be anybody's.
fn leaves(name: &str, value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| leaves(name, value, into)),
        Value::Array(items) => items.iter().for_each(|value| leaves(name, value, into)),
        Value::String(text) if text.len() >= 12 && !name.ends_with("_at") => {
            into.insert(text.clone());
        }
        Value::Number(number) if number.to_string().contains('.') => {
            into.insert(number.to_string());
        }
        _ => {}
    }
}

/// Whether a text is in an answer, an amount as a number of its own.
pub(crate) fn tells(answer: &str, secret: &str) -> bool {
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
