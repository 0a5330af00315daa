//! `purser trigger EVENT`: triggers an event in the sandbox, by a purchase or through the sandbox controls.

use purser_actors::id::Network;
use reqwest::Url;
use serde_json::{Value, json};

use super::http_client::{HttpClient, at};
use super::session::{AccountArgs, Signer};
use super::{CliError, Running, pay, terminal};

/// Trigger a sandbox event for the test wallet's account
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Event to trigger; without it, the known events are listed
    pub event: Option<String>,
    /// Server address. Default: where the server of the data directory listened last, else http://127.0.0.1:8402
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Account for which the event happens
    #[command(flatten)]
    pub account: AccountArgs,
    /// Allow a server that is not a sandbox, where it spends real money
    #[arg(long)]
    pub yes: bool,
}

/// How to trigger an event.
enum TriggerAction {
    Purchase(&'static str),
    /// A bank payout of this number of dollars, to a registered destination.
    Payout(&'static str),
    /// A link to an account at the card issuer, then a purchase.
    LinkAndPurchase(&'static str),
    /// The same over the bridge, from Solana.
    BridgeTopUp(&'static str),
    /// An operator freezes and unfreezes the account.
    Freeze,
    /// A webhook test delivery, sent again.
    WebhookTest,
}

const EVENTS: &[(&str, TriggerAction)] = &[
    ("payment.fulfilled", TriggerAction::Purchase("/get-card?amount=5")),
    ("card.ready", TriggerAction::Purchase("/get-card?amount=5")),
    ("card.failed", TriggerAction::Purchase("/get-card?amount=6.66")),
    ("balance.credited", TriggerAction::Purchase("/get-card?amount=6.66")),
    (
        "gift_card.completed",
        TriggerAction::Purchase("/order-gift-card?product_id=gift_marche_lumiere_fr&amount=25&country=FR"),
    ),
    (
        "intl_order.queued",
        TriggerAction::Purchase("/order-intl-card?amount=100"),
    ),
    ("payout.complete", TriggerAction::Payout("10")),
    ("payout.failed", TriggerAction::Payout("16.66")),
    ("payout.returned", TriggerAction::Payout("21.11")),
    (
        "top_up.credited",
        TriggerAction::LinkAndPurchase("/fund-card-balance?amount=10"),
    ),
    (
        "top_up.failed",
        TriggerAction::BridgeTopUp("/fund-card-balance?amount=21.01"),
    ),
    ("account.frozen", TriggerAction::Freeze),
    ("account.unfrozen", TriggerAction::Freeze),
    ("webhook.test", TriggerAction::WebhookTest),
];

/// Enough for any of them.
const MAX_USD: &str = "200";

/// Runs the command.
///
/// # Errors
/// [`CliError`] for an unknown event, and for any error of the service.
pub fn run(args: Args) -> Running {
    Box::pin(execute(args))
}

async fn execute(args: Args) -> Result<(), CliError> {
    let Some(event) = &args.event else {
        return EVENTS.iter().try_for_each(|(name, _)| terminal::result(name));
    };
    let known = EVENTS.iter().find(|(name, _)| name == event);
    let Some((_, how)) = known else {
        let error = format!("{event} cannot be triggered; `purser trigger` lists what can");
        return Err(CliError::Usage(error));
    };
    let signer = args.account.signer(args.url.as_deref())?;
    let (server, remote, address) = (&signer.server, &signer.remote, signer.address());
    if !args.yes && !is_sandbox(remote, server).await? {
        let error =
            format!("{server} is no sandbox: to trigger {event} there spends real money. --yes does it all the same");
        return Err(CliError::Usage(error));
    }
    match how {
        TriggerAction::Purchase(path) => buy(&args.account, server, path).await,
        TriggerAction::Payout(amount) => {
            let body = json!({"wallet": address, "name": "Trigger", "destinations": [{"destination_type": "fiat_us",
                "bank_name": "First", "routing_number": "021000021", "account_number": "1234567"}]});
            let made = post(remote, server, "/sandbox/bank-recipients", &body).await?;
            let destination = made["destination_ids"][0].as_str().unwrap_or_default().to_owned();
            let path = format!("/send-bank-payment?amount={amount}&destination_id={destination}");
            buy(&args.account, server, &path).await
        }
        TriggerAction::BridgeTopUp(_) if Network::from(args.account.network) == Network::Base => {
            let error = "a top-up fails on the bridge, which only Solana's take: add --network solana".to_owned();
            Err(CliError::Usage(error))
        }
        TriggerAction::LinkAndPurchase(path) | TriggerAction::BridgeTopUp(path) => {
            let link = json!({"wallet": address, "linked": true});
            post(remote, server, "/sandbox/link", &link).await?;
            buy(&args.account, server, path).await
        }
        TriggerAction::Freeze => {
            let body = json!({"wallet": address, "message": "purser trigger"});
            post(remote, server, "/sandbox/freeze", &body).await?;
            post(remote, server, "/sandbox/freeze", &json!({"wallet": address})).await?;
            terminal::result("frozen, and unfrozen again")
        }
        TriggerAction::WebhookTest => post_test(&signer).await,
    }
}

/// Whether purchases at a server cost no real money.
async fn is_sandbox(remote: &HttpClient, server: &Url) -> Result<bool, CliError> {
    let answer = remote.get(&at(server, "/sandbox/catalogs")?, &[]).await?;
    Ok(answer.is_success())
}

async fn buy(account: &AccountArgs, server: &Url, path: &str) -> Result<(), CliError> {
    pay::run(pay::Args {
        url: at(server, path)?.to_string(),
        network: Some(account.network),
        mpp: false,
        payment_identifier: None,
        file: account.file.clone(),
        tls: account.tls.clone(),
        max_usd: MAX_USD.to_owned(),
        json: false,
        wait: false,
        show_details: false,
    })
    .await
}

async fn post(remote: &HttpClient, server: &Url, path: &str, body: &Value) -> Result<Value, CliError> {
    let answer = remote.post(&at(server, path)?, body).await?;
    if answer.is_success() {
        Ok(answer.body)
    } else {
        Err(answer.to_error())
    }
}

async fn post_test(signer: &Signer) -> Result<(), CliError> {
    let (server, remote) = (&signer.server, &signer.remote);
    let token = signer.session().id_token(remote, server).await?;
    let bearer = format!("Bearer {}", &*token);
    let list = remote
        .get(
            &at(server, "/webhook-deliveries?limit=100")?,
            &[("authorization", &bearer)],
        )
        .await?;
    if !list.is_success() {
        return Err(list.to_error());
    }
    let mut deliveries = list.body["deliveries"].as_array().into_iter().flatten();
    let Some(test) = deliveries.find(|one| one["type"] == "webhook.test") else {
        let error = "no endpoint was tried yet: POST /register-webhook posts a webhook.test at once";
        return Err(CliError::Usage(error.to_owned()));
    };
    let url = at(server, "/redeliver-webhook")?;
    let again = remote
        .post_as(&token, &url, &json!({"delivery_id": test["delivery_id"]}))
        .await?;
    if again.is_success() {
        terminal::json(&again.body, false)
    } else {
        Err(again.to_error())
    }
}
