//! The front page for people: what the service sells, what it costs now, and how an agent and a person begin.

use axum::response::Response;
use http::StatusCode;
use rust_decimal::Decimal;

use super::pricing::{PriceList, PricedProduct};
use crate::page::values::{grouped, grouped_short, sign};
use crate::page::{Html, Page, PageFrame, Width, html, icons};

/// The documents of the service: path, name in the JSON of `/`, and label.
pub(super) const LINKS: [(&str, &str, &str); 8] = [
    ("/llms.txt", "guide", "What there is, a line each"),
    ("/skill.md", "skill", "How to buy, step by step"),
    ("/get-pricing", "pricing", "Products and prices"),
    ("/get-supported-countries", "countries", "Where each is sold"),
    ("/openapi.json", "openapi", "Every route (OpenAPI 3.1)"),
    ("/asyncapi.json", "asyncapi", "Events and the stream (AsyncAPI 3.0)"),
    ("/version", "version", "Version of the contract"),
    ("/readyz", "status", "Whether the service is ready"),
];

/// Amount of the example on the page, in dollars.
const EXAMPLE: u32 = 40;

#[derive(Clone)]
pub struct IndexPage {
    pub frame: PageFrame,
    pub prices: PriceList,
    /// Scheme, host and port under which clients reach the service.
    pub public_url: String,
    /// How long a quoted price holds.
    pub quote_seconds: u64,
}

impl IndexPage {
    pub(super) fn render(&self) -> Response {
        let content = html(
            "{}\n<section id=\"prices\" class=\"prices\" aria-labelledby=\"prices-title\">{}</section>\n{}\n{}",
            &[&self.introduction(), &self.price_table(), &first_steps(), &documents()],
        );
        self.frame.render(Page {
            status: StatusCode::OK,
            title: "Cards and payouts for software agents".to_owned(),
            width: Width::Wide,
            content,
            names_origin: false,
        })
    }

    fn introduction(&self) -> Html {
        html(
            "<div class=\"land\"><div class=\"stack loose\">\
             <h1 class=\"big\">Cards and payouts that software agents buy themselves</h1>\
             <p class=\"lede\">An agent calls a URL, pays the price in USDC on Base or Solana, and gets a card, a gift card or \
             a payout. It needs no sign-up and no API key. Its first payment opens an account, which you watch live and set limits for.</p>\
             <div><p class=\"small quiet\" id=\"give\">Give this to your agent:</p>\
             <code class=\"copy\" tabindex=\"0\" aria-labelledby=\"give\">Read {}/skill.md and buy a prepaid card of ${}.</code></div>\
             <div class=\"row wrap\"><a class=\"button primary\" href=\"/skill.md\">Read the skill</a>\
             <a class=\"button\" href=\"#prices\">See prices</a></div></div>\n{}</div>",
            &[&self.public_url, &EXAMPLE, &self.messages()],
        )
    }

    /// A purchase in the messages that are sent for it.
    fn messages(&self) -> Html {
        let step = |number: u32, title: &'static str, lines: Html| {
            html(
                "<li><span class=\"number\" aria-hidden=\"true\">{}</span><div><p class=\"title\">{}</p>{}</div></li>",
                &[&number, &title, &lines],
            )
        };
        let ask = || {
            html(
                "<p><span class=\"verb\">GET</span> /get-card?amount={}</p>",
                &[&EXAMPLE],
            )
        };
        let price = self.example_price();
        let mut signed = ask();
        signed.add(
            "<p><span class=\"verb\">PAYMENT-SIGNATURE</span>: eyJ4NDAyVmVyc2lvbiI6…</p>",
            &[],
        );
        html(
            "<div class=\"wire\" role=\"group\" aria-label=\"How an agent buys a card, in four messages\"><ol>{}{}{}{}</ol></div>",
            &[
                &step(1, "The agent requests a card", ask()),
                &step(
                    2,
                    "Purser names the price",
                    html(
                        "<p><span class=\"asks\">402</span> {} USDC on Base or Solana, for {} s</p>",
                        &[&price, &self.quote_seconds],
                    ),
                ),
                &step(3, "The agent signs a payment and requests it again", signed),
                &step(
                    4,
                    "The card is bought",
                    html(
                        "<p><span class=\"done\">200</span> card_bef1…a8cc, usually ready within seconds</p>\
                         <p>A settled payment becomes exactly one card, or a credit.</p>",
                        &[],
                    ),
                ),
            ],
        )
    }

    /// What the example costs now, fees included.
    fn example_price(&self) -> String {
        let amount = Decimal::from(EXAMPLE);
        let card = self
            .prices
            .products()
            .find(|priced| priced.product.route == "/get-card");
        let fee = card.map_or(Decimal::ZERO, |priced| {
            let by_rate =
                (amount * priced.fee_rate).round_dp_with_strategy(2, rust_decimal::RoundingStrategy::AwayFromZero);
            by_rate.max(priced.product.min_fee)
        });
        grouped(amount + fee)
    }

    fn price_table(&self) -> Html {
        let mut rows = Html::default();
        for priced in self.prices.products() {
            rows.push(&price_row(&priced));
        }
        html(
            "<div class=\"heading\"><h2 id=\"prices-title\">Prices</h2>\
             <p class=\"small quiet\">Fees are added on top: the card or the recipient gets the full amount.</p></div>\
             <div class=\"panel\"><table><caption class=\"hidden\">Prices of all products</caption>\
             <thead><tr><th scope=\"col\">Product</th><th scope=\"col\" class=\"route\">Route</th>\
             <th scope=\"col\" class=\"number\">Amount</th><th scope=\"col\" class=\"number\">Fee</th></tr></thead>\
             <tbody>{}</tbody></table></div>",
            &[&rows],
        )
    }
}

fn price_row(priced: &PricedProduct<'_>) -> Html {
    let closed = match priced.available {
        true => Html::default(),
        false => html(" <span class=\"tag\">not sold now</span>", &[]),
    };
    html(
        "<tr><th scope=\"row\">{}{}</th><td class=\"route\"><code>{}</code></td><td class=\"number\">{}</td>\
         <td class=\"number\">{}</td></tr>",
        &[
            &name(priced),
            &closed,
            &priced.product.route,
            &amounts(priced),
            &fee(priced),
        ],
    )
}

/// Two lines have the same title, so these have names of their own here.
fn name(priced: &PricedProduct<'_>) -> &'static str {
    match priced.line.name() {
        "usa_prepaid_card" => "US prepaid cards",
        "intl_prepaid_card" => "International prepaid cards",
        _ => priced.line.title(),
    }
}

/// `$5 to $1,000`, or `10 to 9,541.98 in $, € or £`.
fn amounts(priced: &PricedProduct<'_>) -> String {
    let (least, most) = (priced.product.min_amount.decimal(), priced.product.max_amount.decimal());
    let signs: Vec<String> = priced
        .product
        .currencies
        .iter()
        .map(|code| sign(code).trim().to_owned())
        .collect();
    match signs.split_last() {
        Some((last, rest)) if !rest.is_empty() => {
            let (least, most) = (grouped_short(least), grouped_short(most));
            format!("{least} to {most} in {} or {last}", rest.join(", "))
        }
        _ => {
            let sign = priced
                .product
                .currencies
                .first()
                .map_or_else(|| "$".to_owned(), |code| sign(code));
            format!("{sign}{} to {sign}{}", grouped_short(least), grouped_short(most))
        }
    }
}

/// `no fee`, `3.8 %`, `up to 4.8 %` or `4.8 %, at least 1.50`.
fn fee(priced: &PricedProduct<'_>) -> String {
    let (rate, least) = (priced.fee_rate, priced.product.min_fee);
    if rate.is_zero() && least.is_zero() {
        return "no fee".to_owned();
    }
    // Products in a currency of their own have their own rates; the line's is the highest.
    let up_to = if priced.product.currencies.is_empty() {
        "up to "
    } else {
        ""
    };
    let percent = (rate * Decimal::ONE_HUNDRED).normalize();
    match least.is_zero() {
        true => format!("{up_to}{percent}\u{a0}%"),
        false => format!("{up_to}{percent}\u{a0}%, at least\u{a0}{}", grouped(least)),
    }
}

/// How an agent and a person begin, and what both can rely on.
fn first_steps() -> Html {
    html(
        "<section class=\"columns\" aria-labelledby=\"begin\"><h2 id=\"begin\" class=\"hidden\">How to begin</h2>\
         <div class=\"stack\"><h3>Your agent has a wallet</h3><p class=\"soft\">Give it the skill and the amount that it may \
         spend. Its first payment opens the account. Then ask it for a sign-in link to watch.</p></div>\
         <div class=\"stack\"><h3>Your agent has no wallet</h3><p class=\"soft\">It requests access with \
         <code>POST /signup</code> and gives you a link. You compare a code, approve, and can stop it at any time.</p></div>\
         <div class=\"stack\"><h3>You have an account</h3><p class=\"soft\"><a href=\"/dashboard\">Sign in</a> to see balance, cards \
         and transfers live, and to set limits that only you can raise.</p></div>\
         </section>\n\
         <section class=\"columns\" aria-labelledby=\"rely\"><h2 id=\"rely\" class=\"hidden\">What you can rely on</h2>\
         <div class=\"stack\"><h3>{}Paid means delivered or credited</h3><p class=\"soft\">Every check that can reject a purchase \
         runs before the money moves. What cannot be delivered is credited in full.</p></div>\
         <div class=\"stack\"><h3>{}A person keeps control</h3><p class=\"soft\">Limits per payment and per day, and one button \
         that stops every agent at once.</p></div>\
         <div class=\"stack\"><h3>{}Live and exact</h3><p class=\"soft\">Each step of a transfer with its transaction, as it \
         happens. Nothing is shown twice, and nothing is lost.</p></div>\
         </section>",
        &[&icons::CHECK, &icons::LOCK, &icons::CLOCK],
    )
}

fn documents() -> Html {
    let mut links = Html::default();
    for (path, _, words) in LINKS {
        links.add(
            "<li><a href=\"{}\"><code>{}</code></a> <span class=\"soft\">{}</span></li>",
            &[&path, &path, &words],
        );
    }
    html(
        "<section class=\"machines\" aria-labelledby=\"machines\"><h2 id=\"machines\">For machines</h2><ul>{}</ul></section>",
        &[&links],
    )
}
