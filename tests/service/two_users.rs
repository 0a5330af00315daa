//! Every call that names something of somebody's, and what it says to whom. Two people have the same kinds of things, and
//! each asks for those of the other.

use std::collections::{BTreeMap, BTreeSet};

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::{Agent, required};
use super::cases_replay::landed;
use super::cases_withdraw::{credited, ended, id_of, withdraw};
use super::owner::Owner;
use super::payee::{comes_to, register};
use super::wire::{Answer, Site, send, until};

/// A status and the code that goes with it; no code with what is no refusal.
pub(crate) type Told = (u16, &'static str);

/// A call that names something of somebody's.
pub(crate) struct Ask {
    pub(crate) method: &'static str,
    pub(crate) route: &'static str,
    /// The parameter, or the member of the body, that holds the id.
    pub(crate) by: &'static str,
    /// What it is the id of, as [`Person::things`] call it.
    pub(crate) of: &'static str,
    /// The other parameters.
    with: &'static [(&'static str, &'static str)],
    /// Whether it costs something.
    pub(crate) paid: bool,
    /// What its owner is told, when the test comes to its end.
    pub(crate) own: u16,
    /// What another wallet is told.
    pub(crate) another: Told,
    /// What anybody is told of an id that nothing has.
    pub(crate) unknown: Told,
    /// What is told without a token.
    pub(crate) nobody: Told,
}

const NO_TOKEN: Told = (401, "token_missing");
const OK: Told = (200, "");
const WITHDRAWAL: (Told, Told) = ((403, "withdrawal_of_another"), (404, "withdrawal_unknown"));
const PAYOUT: (Told, Told) = ((403, "payout_of_another"), (404, "payout_unknown"));
const RECIPIENT: (Told, Told) = ((403, "recipient_of_another"), (404, "recipient_unknown"));
const DESTINATION: (Told, Told) = ((404, "destination_unknown"), (404, "destination_unknown"));
const CARD: (Told, Told) = ((403, "card_of_another"), (404, "card_unknown"));

/// A route that shows one thing to its owner.
const fn reads(route: &'static str, by: &'static str, of: &'static str, (another, unknown): (Told, Told)) -> Ask {
    Ask {
        method: "GET",
        route,
        by,
        of,
        with: &[],
        paid: false,
        own: 200,
        another,
        unknown,
        nobody: NO_TOKEN,
    }
}

/// A place in a list of one's own.
const fn lists(
    route: &'static str,
    of: &'static str,
    with: &'static [(&'static str, &'static str)],
    refused: (Told, Told),
) -> Ask {
    Ask {
        with,
        ..reads(route, "starting_after", of, refused)
    }
}

/// A paid route that names something of its payer's. Anybody is told the price.
const fn buys(
    route: &'static str,
    by: &'static str,
    of: &'static str,
    with: &'static [(&'static str, &'static str)],
    refused: Told,
) -> Ask {
    Ask {
        with,
        paid: true,
        nobody: (402, "payment_required"),
        ..reads(route, by, of, (refused, refused))
    }
}

/// The matrix. `every_route_that_takes_an_id_is_in_the_matrix` holds it complete.
pub(crate) const ASKS: &[Ask] = &[
    reads("/get-card-data", "card_id", "card", CARD),
    reads("/get-card-data", "card_id", "gift_card", CARD),
    reads("/get-card-data", "card_id", "intl_order", CARD),
    lists("/get-card-data", "card", &[], CARD),
    lists("/get-card-data", "gift_card", &[("card_type", "Gift%20Card")], CARD),
    lists(
        "/get-card-data",
        "intl_order",
        &[("card_type", "Non-Reloadable%20International")],
        CARD,
    ),
    Ask {
        nobody: OK,
        ..reads(
            "/get-payment",
            "payment_id",
            "payment",
            ((403, "payment_of_another"), (404, "payment_unknown")),
        )
    },
    reads("/get-withdrawal-status", "withdrawal_id", "withdrawal", WITHDRAWAL),
    lists("/get-withdrawal-status", "withdrawal", &[], WITHDRAWAL),
    Ask {
        method: "POST",
        ..reads("/cancel-intl-order", "card_id", "intl_order", CARD)
    },
    reads("/get-payment-status", "payout_id", "payout", PAYOUT),
    reads("/get-payment-status", "payout_id", "push", PAYOUT),
    lists("/get-payment-status", "payout", &[], PAYOUT),
    lists("/payment-recipients", "recipient", &[], RECIPIENT),
    lists("/bank-recipients", "destination", &[], DESTINATION),
    buys(
        "/send-bank-payment",
        "destination_id",
        "destination",
        &[("amount", "50")],
        DESTINATION.0,
    ),
    buys(
        "/send-payment",
        "recipient_id",
        "recipient",
        &[
            ("amount", "5"),
            ("platform", "paypal"),
            ("recipient_first_name", "Ada"),
            ("recipient_last_name", "Lovelace"),
            ("recipient_email", "ada@example.com"),
        ],
        (404, "recipient_unknown"),
    ),
    Ask {
        method: "POST",
        with: &[("platform", "paypal"), ("display_name", "Somebody")],
        ..reads("/payment-recipients", "recipient_id", "recipient", RECIPIENT)
    },
    Ask {
        method: "DELETE",
        with: &[("platform", "paypal")],
        ..reads("/payment-recipients", "recipient_id", "recipient", RECIPIENT)
    },
];

/// Parameters and members that name nothing of anybody's, by the routes that take them; `*` is every route.
pub(crate) const NAMES_NOTHING: &[(&str, &[&str])] = &[
    (
        "*",
        &[
            "amount",
            "country",
            "currency",
            "format",
            "label",
            "limit",
            "network",
            "platform",
            "status",
            "types",
            "card_type",
        ],
    ),
    // A number of the service's whole sequence, of which everybody sees their own events.
    ("/events", &["after"]),
    // A place in one's own statement, whose lines are numbered from one.
    ("/get-account-statement", &["starting_after"]),
    // Whoever is to receive the money.
    ("/withdraw", &["address"]),
    // The catalog's, which is everybody's.
    ("/order-gift-card", &["product_id"]),
    ("/search-gift-cards", &["q", "category", "starting_after"]),
    ("/search-merchants", &["q", "starting_after"]),
    ("/payment-recipients", &["include_archived", "display_name", "archived"]),
    (
        "/send-payment",
        &["recipient_first_name", "recipient_last_name", "recipient_email"],
    ),
    // Whoever has these is the one they were given to.
    ("/auth", &["grant_type", "refresh_token"]),
    ("/login", &["code"]),
    ("/redeem", &["payout_id", "key"]),
    ("/refresh", &["grant_type", "refresh_token"]),
];

/// Routes whose body has no members in the document: the owner's form, which names budgets, the provider's word, which counts
/// by its signature, and the links' codes, which are whoever's they were given to.
pub(crate) const WITHOUT_MEMBERS: &[&str] = &["/account/caps", "/identity-callback", "/login", "/redeem"];

impl Ask {
    /// The call with an id in its place, and no token yet.
    fn request(&self, site: &Site<'_>, id: &str) -> reqwest::RequestBuilder {
        if self.method == "POST" {
            let mut body = json!({ (self.by): id });
            for (name, value) in self.with {
                body[*name] = (*value).into();
            }
            return site.request(self.method, self.route).body(body.to_string());
        }
        site.request(self.method, &self.target(id))
    }

    /// Whether an operation is this row's, and cannot be asked without naming something.
    pub(crate) fn must_name(&self, method: &str, route: &str) -> bool {
        (self.method, self.route) == (method, route) && (self.method != "GET" || self.nobody == OK)
    }

    fn target(&self, id: &str) -> String {
        let rest: String = self
            .with
            .iter()
            .map(|(name, value)| format!("&{name}={value}"))
            .collect();
        format!("{}?{}={id}{rest}", self.route, self.by)
    }

    /// Asks as somebody, who pays what it costs; without anybody, nobody asks and nobody pays.
    pub(crate) async fn of(&self, site: &Site<'_>, who: Option<&Person>, id: &str) -> Answer {
        let request = self.request(site, id);
        let Some(who) = who else {
            return send(request).await.unwrap();
        };
        if !self.paid {
            return send(request.bearer_auth(&who.token)).await.unwrap();
        }
        let challenge = send(request).await.unwrap();
        assert_eq!(challenge.status, 402, "{}: {}", self.route, challenge.text);
        let payment = who.agent.sign(&required(&challenge));
        let answer = Agent::pay(site, &self.target(id), &payment).await;
        assert_eq!(
            landed(site, &payment).await == 0,
            answer.status != 200,
            "{}",
            answer.text
        );
        answer
    }
}

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
    pub(crate) async fn furnished(site: &Site<'_>, network: Network, cents: u32) -> Self {
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
        person.waits(site).await;
        person
    }

    /// Out of what a refused card left on the balance.
    async fn withdraws(&mut self, site: &Site<'_>, cents: u32) {
        self.buys(site, "/get-card?amount=6.66").await;
        credited(site, &self.token).await;
        let out = withdraw(site, &self.token, None, &json!({"amount": format!("1.{cents}")})).await;
        self.has("withdrawal", &id_of(&out).into());
        ended(site, &self.token, self.thing("withdrawal")).await;
    }

    async fn pays_out(&mut self, site: &Site<'_>, cents: u32) {
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

    async fn buys(&mut self, site: &Site<'_>, path: &str) -> Value {
        let payment = self.agent.payment(site, path).await;
        let bought = Agent::pay(site, path, &payment).await;
        assert_eq!(bought.status, 200, "{path}: {}", bought.text);
        self.paid.push((path.to_owned(), payment));
        bought.body
    }

    fn has(&mut self, what: &'static str, id: &Value) {
        let id = id.as_str().unwrap_or_else(|| panic!("no {what}: {id}"));
        assert!(self.things.insert(what, id.to_owned()).is_none(), "{what} twice");
    }

    /// Until nothing of it changes by itself any more.
    async fn waits(&self, site: &Site<'_>) {
        for (what, status) in [("card", "ready"), ("gift_card", "completed")] {
            until(what, async || {
                let path = format!("/get-card-data?card_id={}", self.thing(what));
                (site.get_as(&self.token, &path).await.str("status") == Some(status)).then_some(())
            })
            .await;
        }
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
    pub(crate) async fn reads(&self, site: &Site<'_>) -> BTreeSet<String> {
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
