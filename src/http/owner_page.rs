//! The owner's section of the account page, as plain forms that need no script. All external texts are escaped here.

use std::fmt::Write as _;

use purser_actors::answer::rfc3339;
use purser_actors::entity::account::{Account, OwnerCap};
use purser_actors::entity::agent_wallet::AgentWallet;
use purser_actors::entity::api_key::ApiKey;
use purser_actors::entity::identity_verification::{IdentityVerification, Status as IdentityStatus};
use purser_actors::entity::issuer_link::{IssuerLink, Status as LinkStatus};
use purser_actors::id::{ApiKeyId, Network, Wallet};
use purser_actors::money::Cents;
use purser_actors::product::DailyCap;

use super::app::App;
use super::auth::Authenticator as _;
use super::owner::BUDGETS;
use crate::identity::api_key::ApiKeyCodec;

/// The section for the owner of this cookie. `None` without a valid session.
pub(super) async fn section(app: &App, cookie: &str) -> Option<String> {
    let claims = app.authenticator.authenticate_session(cookie).await.ok()?;
    let (engine, wallet) = (&app.engine, claims.wallet);
    let account = engine.account(&wallet).await.ok()??;
    if let Some(message) = &account.frozen {
        let text = escaped(message);
        return Some(section_html(&format!(
            "<p role=\"alert\" class=\"bad\">This account is frozen: {text}</p>"
        )));
    }
    let identity = engine.identity(&wallet).await.ok()?;
    let link = engine.issuer_link(&wallet).await.ok()?;
    let spending = engine.agent_wallet(&wallet).await.ok()?;
    let may = claims.is_signed_in();
    let forms = if may {
        ""
    } else {
        "<p class=\"quiet\">This page was opened with a payment's token or an API key's, which may only look. Ask your agent \
         to sign in with the wallet and for a new link: then these can be changed here.</p>"
    };
    let keys = engine.api_keys_of(&wallet).await.ok()?;
    Some(section_html(&format!(
        "{forms}{}{}{}{}{}",
        of_identity(identity.as_ref(), may),
        of_link(link.as_ref(), may),
        of_caps(&account, app, may),
        of_spending(spending.as_ref(), may),
        of_keys(&app.api_keys, &keys, may)
    )))
}

/// The section with an error and a link back.
pub(super) fn render_error(error: &str, code: &str, hint: Option<&str>) -> String {
    let hint = hint.map(|hint| format!(" {}", escaped(hint))).unwrap_or_default();
    section_html(&format!(
        "<p role=\"alert\" class=\"bad\">{}{hint} <code>{}</code></p>\n    <p><a href=\"/login\">Back to your account</a></p>",
        escaped(error),
        escaped(code)
    ))
}

fn section_html(content: &str) -> String {
    format!(
        "<section id=\"owner\">\n    <noscript><p class=\"quiet\">Scripts are off: cards, balance and events are shown by a \
         script. The forms work without.</p></noscript>\n    <h2>What only you can change</h2>\n    {content}\n  </section>"
    )
}

/// One panel: its title, status and actions.
fn panel(id: &str, title: &str, tone: &str, status: &str, rest: &str) -> String {
    format!(
        "<div id=\"{id}\"><h3>{title}: <span class=\"{tone}\">{}</span></h3>{rest}</div>\n    ",
        escaped(status)
    )
}

fn button(action: &str, label: &str, may: bool) -> String {
    let off = if may { "" } else { " disabled" };
    format!("<form method=\"post\" action=\"{action}\"><button type=\"submit\"{off}>{label}</button></form>")
}

fn of_identity(identity: Option<&IdentityVerification>, may: bool) -> String {
    const START_IDENTITY_PATH: &str = "/account/identity";
    let quiet = |text: String| format!("<p class=\"quiet\">{text}</p>");
    let (tone, status, rest) = match identity.map(|identity| &identity.status) {
        None => (
            "wait",
            "not verified",
            quiet("Payments to people need it. A provider asks who you are and tells us yes or no.".into())
                + &button(START_IDENTITY_PATH, "Verify identity", may),
        ),
        Some(IdentityStatus::InReview {
            started: Some(begun), ..
        }) => {
            let url = escaped(&begun.url);
            let way = if may {
                let still =
                    "The provider has the check and decides once you have answered its questions. If you have not yet:";
                quiet(still.into())
                    + &format!("<p><a href=\"{url}\" rel=\"noreferrer\">Go on at the identity check</a></p>")
            } else {
                String::new()
            };
            ("wait", "in review", way)
        }
        Some(IdentityStatus::InReview { started: None, .. }) => (
            "wait",
            "in review",
            quiet("The provider is being asked. <a href=\"/login\">Look again</a>".into()),
        ),
        Some(IdentityStatus::Verified { .. }) => ("good", "verified", String::new()),
        Some(IdentityStatus::Rejected { reason, .. }) => (
            "bad",
            "rejected",
            quiet(format!("The provider says: {}", escaped(reason))) + &button(START_IDENTITY_PATH, "Try again", may),
        ),
    };
    panel("identity", "Identity", tone, status, &rest)
}

fn of_link(link: Option<&IssuerLink>, may: bool) -> String {
    let link_it = || button("/account/link", "Link the card issuer", may);
    let (tone, status, rest) = match link.map(|link| &link.status) {
        Some(LinkStatus::Linked { deposit_address }) => {
            let address = Wallet::Evm(*deposit_address).address();
            let rest = format!("<p class=\"quiet\">Deposit address on Base <span class=\"id\">{address}</span></p>");
            ("good", "linked", rest + &button("/account/unlink", "Unlink", may))
        }
        Some(LinkStatus::Unlinked {
            pending_job: Some(_), ..
        }) => {
            let rest = "<p class=\"quiet\">The issuer is being asked. <a href=\"/login\">Look again</a></p>".to_owned();
            ("wait", "linking", rest + &button("/account/unlink", "Cancel", may))
        }
        Some(LinkStatus::Unlinked {
            declined: Some(reason), ..
        }) => {
            let rest = format!("<p class=\"quiet\">The issuer says: {}</p>", escaped(reason));
            ("bad", "declined", rest + &link_it())
        }
        _ => {
            let rest = "<p class=\"quiet\">Topping up a card balance and reloadable cards need it.</p>".to_owned();
            ("wait", "not linked", rest + &link_it())
        }
    };
    panel("issuer", "Card issuer", tone, status, &rest)
}

fn of_caps(account: &Account, app: &App, may: bool) -> String {
    let off = if may { "" } else { " disabled" };
    let mut rows = String::new();
    for (line, count, usd) in BUDGETS {
        let OwnerCap { count: own, sum } = account.owner_caps.for_line(line);
        let (own, sum) = (
            own.map(|n| n.to_string()).unwrap_or_default(),
            sum.map(|sum| format!("{:.2}", sum.decimal())).unwrap_or_default(),
        );
        let (name, most) = (
            line.title(),
            service_cap_text(app.config.caps.daily_caps().for_line(line)),
        );
        // Writing to a String cannot fail.
        let _ = write!(
            rows,
            "<tr><th scope=\"row\">{name}<span class=\"id quiet\">{most}</span></th>\
             <td><input name=\"{count}\" value=\"{own}\" inputmode=\"numeric\" pattern=\"[0-9]*\" \
             aria-label=\"{name}, purchases a day\"{off}></td>\
             <td><input name=\"{usd}\" value=\"{sum}\" inputmode=\"decimal\" pattern=\"[0-9]+([.][0-9]{{1,2}})?\" \
             aria-label=\"{name}, US dollars a day\"{off}></td></tr>"
        );
    }
    let status = if account.owner_caps.is_empty() {
        "none of your own"
    } else {
        "your own"
    };
    let form = format!(
        "<p class=\"quiet\">A day begins at midnight UTC. The service has caps, shown below each name; yours can only be lower. \
         Leave a field empty for no cap of your own. 0 forbids every purchase.</p><form method=\"post\" action=\"/account/caps\"><table><thead><tr><th scope=\"col\">What</th>\
         <th scope=\"col\">Purchases</th><th scope=\"col\">US dollars</th></tr></thead><tbody>{rows}</tbody></table>\
         <button type=\"submit\"{off}>Set caps</button></form>"
    );
    panel("caps", "Daily caps", "quiet", status, &form)
}

/// Spend limits of the managed wallet.
fn of_spending(wallet: Option<&AgentWallet>, may: bool) -> String {
    let Some(wallet) = wallet else {
        let rest =
            "<p class=\"quiet\">Your agent creates it with createAgentWallet. Then you set here what it may spend.</p>";
        return panel("spending", "Managed wallet", "quiet", "none", rest);
    };
    let off = if may { "" } else { " disabled" };
    let shown = |cap: Cents| format!("{:.2}", cap.decimal());
    let (call, day) = (shown(wallet.caps.per_call), wallet.caps.per_day.map(shown));
    let addresses = Network::ALL.map(|network| {
        let address = wallet.addresses.on(network).address();
        format!(
            "<p class=\"quiet\">On {} <span class=\"id\">{address}</span></p>",
            match network {
                Network::Base => "Base",
                Network::Solana => "Solana",
            }
        )
    });
    let field = |name: &str, value: &str, label: &str, required: &str| {
        format!(
            "<label>{label} <input name=\"{name}\" value=\"{value}\" inputmode=\"decimal\" \
             pattern=\"[0-9]+([.][0-9]{{1,2}})?\"{required}{off}></label>"
        )
    };
    let rest = format!(
        "{}<p class=\"quiet\">What your agents may spend without asking you: in one payment or transfer 1 to 50,000 US dollars, \
         and in a day (UTC) as much as you say, or without a cap if you leave it empty.</p>\
         <form method=\"post\" action=\"/account/spending\">{}{}<button type=\"submit\"{off}>Set spending</button></form>",
        addresses.concat(),
        field("per_call_usd", &call, "US dollars a payment", " required"),
        field(
            "per_day_usd",
            day.as_deref().unwrap_or_default(),
            "US dollars a day",
            ""
        ),
    );
    panel("spending", "Managed wallet", "good", "active", &rest)
}

/// Agents with an API key.
fn of_keys(api_keys: &ApiKeyCodec, keys: &[(ApiKeyId, ApiKey)], may: bool) -> String {
    let off = if may { "" } else { " disabled" };
    let mut rows = String::new();
    for (id, key) in keys {
        let (prefix, last4) = api_keys.hints(*id);
        let used = key
            .used_at
            .map_or_else(|| "never used".to_owned(), |at| format!("last used {}", rfc3339(at)));
        // Writing to a String cannot fail.
        let _ = write!(
            rows,
            "<form method=\"post\" action=\"/account/api-keys/revoke\"><p>{}<span class=\"id quiet\">{prefix}…{last4}, created {}, \
             {used}</span></p><input type=\"hidden\" name=\"api_key_id\" value=\"{id}\">\
             <button type=\"submit\"{off}>Revoke</button></form>",
            escaped(&key.name),
            rfc3339(key.created_at)
        );
    }
    if keys.is_empty() {
        rows.push_str(
            "<p class=\"quiet\">An agent without a wallet asks for one with POST /signup; you approve it on the page that it \
             sends you to.</p>",
        );
    }
    let status = match keys.len() {
        0 => "none".to_owned(),
        n => n.to_string(),
    };
    panel("api-keys", "API keys", "quiet", &status, &rows)
}

fn service_cap_text(cap: Option<DailyCap>) -> String {
    let Some(cap) = cap else {
        return "no service cap".into();
    };
    let count = (cap.count != u32::MAX).then(|| format!("{} purchases", cap.count));
    let sum = (cap.sum.get() != u64::MAX).then(|| format!("{:.2} USD", cap.sum.decimal()));
    let limits: Vec<String> = count.into_iter().chain(sum).collect();
    format!("the service allows {}", limits.join(", "))
}

/// Escapes text for markup and attributes.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    // Checks: text from a provider or an operator stays text on the page (case 72).
    #[test]
    fn case_72_external_text_is_escaped() {
        let hostile = "</section><script>alert('1')</script>\"&\u{7}";
        let text = escaped(hostile);
        assert!(!text.contains(['<', '>', '"', '\'', '\u{7}']), "{text}");
        assert_eq!(escaped("plain words"), "plain words");
        let page = render_error(hostile, "code", Some(hostile));
        assert_eq!(page.matches("<script").count(), 0, "{page}");
        assert_eq!(page.matches("</section>").count(), 1, "{page}");
    }

    #[test]
    fn service_caps_are_shown() {
        let cap = |count, sum| {
            Some(DailyCap {
                count,
                sum: purser_actors::money::Cents::new(sum),
            })
        };
        assert_eq!(service_cap_text(None), "no service cap");
        assert_eq!(
            service_cap_text(cap(20, 2_000_000)),
            "the service allows 20 purchases, 20000.00 USD"
        );
        assert_eq!(service_cap_text(cap(u32::MAX, 5_00)), "the service allows 5.00 USD");
    }
}
