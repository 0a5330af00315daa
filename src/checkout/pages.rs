//! What a browser shows of a paid route: its price, and the card that was bought.

use http::StatusCode;
use purser_actors::id::CardId;

use super::challenge_texts::ChallengeSubject;
use crate::page::json::indented;
use crate::page::values::{grouped, short};
use crate::page::{Html, Page, Width, html};
use crate::payment::evm::checksummed;
use crate::payment::solana::address::base58;
use crate::payment::{Payee, Terms};

/// The page of a 402. `json` is the body that other clients get.
pub(super) fn challenge_page(subject: &ChallengeSubject<'_>, public_url: &str, json: &str) -> Page {
    let price = subject
        .terms
        .first()
        .map_or_else(String::new, |terms| grouped(terms.amount.decimal()));
    let seconds = subject.terms.first().map_or(0, |terms| terms.max_timeout_seconds);
    // In the quotes of a shell.
    let url = format!("{public_url}{}", subject.target.replace('\'', "%27"));
    let mut offers = Html::default();
    for terms in subject.terms {
        offers.push(&offer(terms));
    }
    let content = html(
        "<div class=\"sheet\"><div><p class=\"small quiet\">402 Payment required</p>\
         <div class=\"row wrap between\"><h1>{}</h1><p><data class=\"sum\" value=\"{} USDC\">${}</data></p></div>\
         <p class=\"soft\">This page is for software agents: a browser cannot pay.</p></div>\
         <div class=\"stack\"><h2 id=\"give\">Give it to your agent</h2>\
         <code class=\"copy\" tabindex=\"0\" aria-labelledby=\"give\">purser pay --max-usd {} &#39;{}&#39;</code>\
         <p class=\"small soft\">Or paste the address into any agent that uses x402 or MPP. The same payment sent again buys \
         nothing more.</p></div>\
         <div class=\"stack\"><h2>What it can pay with</h2><table class=\"flat\"><caption class=\"hidden\">Offers</caption>\
         <thead><tr><th scope=\"col\">Chain</th><th scope=\"col\">Pay to</th><th scope=\"col\" class=\"number\">Exactly</th></tr>\
         </thead><tbody>{}</tbody></table>\
         <p class=\"small quiet\">The price holds for {} seconds after each call. USDC that is sent by hand buys nothing: \
         an operator has to decide about it.</p></div>\
         <div><details><summary>The challenge, for developers</summary>\
         <pre class=\"json\" tabindex=\"0\" aria-label=\"The challenge as JSON\"><code>{}</code></pre></details></div></div>",
        &[
            &subject.description,
            &price,
            &price,
            &price.replace(',', ""),
            &url,
            &offers,
            &seconds,
            &indented(json),
        ],
    );
    Page {
        status: StatusCode::PAYMENT_REQUIRED,
        width: Width::Middle,
        ..Page::narrow(format!("This costs ${price}"), content)
    }
}

fn offer(terms: &Terms) -> Html {
    let (chain, address) = match &terms.payee {
        Payee::Base(payee) => ("Base", checksummed(&payee.pay_to)),
        Payee::Solana(payee) => ("Solana", base58(&payee.pay_to)),
    };
    html(
        "<tr><th scope=\"row\">{}</th><td><code title=\"{}\">{}</code></td><td class=\"number\">{} USDC</td></tr>",
        &[&chain, &address, &short(&address), &grouped(terms.amount.decimal())],
    )
}

/// The page that `/get-card` answers with for `format=html`: no number, no token.
pub(super) fn card_page(id: &CardId, public_url: &str) -> Page {
    let content = html(
        "<div class=\"sheet\"><div><h1>Card bought</h1>\
         <p class=\"soft\">Card <code>{}</code> is <strong>pending</strong>.</p></div>\
         <div class=\"stack\"><p>Sign in with the wallet that paid at <a href=\"{}/auth\">{}/auth</a>, then read the card at \
         <code>/get-card-data?card_id={}</code>.</p></div></div>",
        &[id, &public_url, &public_url, id],
    );
    Page::narrow("Card bought", content)
}
