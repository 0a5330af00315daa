//! `purser pay URL`: a purchase, from the challenge to the product.
//!
//! Each call signs one payment. Whatever happens after it was sent (a lost response, 202, 503), the same payment is
//! sent again, which never buys twice. A second payment is never signed.

mod outcome;
mod output;

use std::time::Duration;

use purser_actors::id::Network;
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::Clock as _;
use reqwest::Url;
use serde_json::{Value, json};

use self::outcome::PurchaseOutcome;
use self::output::{current_status, masked};
use super::http_client::{HttpClient, HttpResponse, at, parse_url};
use super::session::{Session, mpp_offer, payment_required};
use super::{CliError, NetworkArg, Running, TlsArgs, WalletArgs, terminal};
use purser_host::system::{SystemClock, SystemEntropy};
use purser_protocol::payment::header::PAYMENT_SIGNATURE;
use purser_protocol::payment::identifier::is_identifier;
use purser_protocol::wallet::TestWallet;
use purser_protocol::wallet::payment::SigningContext;

/// Pay for a route with the test wallet
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// URL to pay for, for example http://127.0.0.1:8402/get-card?amount=5
    pub url: String,
    /// Pay only on this network. Default: the first that the server offers
    #[arg(long, value_enum)]
    pub network: Option<NetworkArg>,
    /// Pay with the Machine Payments Protocol (on Base) instead of x402
    #[arg(long)]
    pub mpp: bool,
    /// x402 payment identifier: makes the purchase idempotent for 24 hours
    #[arg(long, conflicts_with = "mpp", value_name = "NAME", allow_hyphen_values = true)]
    pub payment_identifier: Option<String>,
    /// Wallet that pays
    #[command(flatten)]
    pub file: WalletArgs,
    /// Certificates to trust
    #[command(flatten)]
    pub tls: TlsArgs,
    /// Maximum amount to sign for
    #[arg(long, value_name = "USD", default_value = "25", allow_negative_numbers = true)]
    pub max_usd: String,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Wait until the card is ready
    #[arg(long)]
    pub wait: bool,
    /// Wait until the card is ready, and print its number and CVV
    #[arg(long)]
    pub show_details: bool,
}

/// Maximum number of sends of the same payment while its outcome is unknown.
const MAX_SENDS: u32 = 10;

/// Timeout of `--wait`.
const CARD_TIMEOUT: Duration = Duration::from_secs(180);

/// Interval between queries of a card; the contract requires 2 to 3 seconds.
const CARD_POLL: Duration = Duration::from_secs(2);

/// Runs the command.
///
/// # Errors
/// See [`CliError`]. After [`CliError::OutcomeUnknown`] the money may have moved; after [`CliError::NotDelivered`] and
/// [`CliError::NotObserved`] it has.
pub fn run(args: Args) -> Running {
    Box::pin(execute(args))
}

async fn execute(args: Args) -> Result<(), CliError> {
    let url = parse_url(&args.url)?;
    let max = Cents::parse(&args.max_usd)
        .and_then(Usdc::from_cents)
        .map_err(|error| CliError::Usage(format!("--max-usd {}: {error}", args.max_usd)))?;
    check_options(&args)?;
    let path = args.file.path()?;
    let (wallet, made) = TestWallet::load_or_create(&path, &SystemEntropy)?;
    if made {
        terminal::progress(&format!("created a test wallet in {}", path.display()));
    }
    let remote = HttpClient::new(&args.tls, &url)?;
    let first = remote.get(&url, &[]).await?;
    if first.is_success() {
        terminal::progress("this is free: nothing was paid");
        return print_card(&first.body, args.json);
    }
    let payment = sign(&first, &args, &wallet, max)?;
    let mut body = settle(&remote, &url, &payment).await?;
    let session = Session::new(&path, &wallet, payment.network);
    if session.persist_tokens(&url, &body)? {
        terminal::progress("the account's tokens are stored beside the wallet");
    } else {
        terminal::progress("no tokens came with this response; `purser token` signs the wallet in");
    }
    // The tokens are as powerful as a password, and output ends up in scrollback and logs.
    if let Some(body) = body.as_object_mut() {
        body.remove("auth");
    }
    let mut waited = Ok(());
    if args.wait || args.show_details {
        match wait_for_card(&remote, &url, &session, &body, args.show_details).await {
            Ok(Some(card)) => current_status(&mut body, masked(card, args.show_details)),
            Ok(None) => {}
            // The purchase is complete; its result is printed whatever the result of the wait.
            Err(error) => waited = Err(CliError::NotObserved(error.to_string())),
        }
    }
    print_card(&body, args.json)?;
    let end = PurchaseOutcome::of(&body);
    if !args.json && end != PurchaseOutcome::Failed {
        terminal::result(&end.message(&body))?;
    }
    match end {
        PurchaseOutcome::Failed => Err(CliError::NotDelivered(end.message(&body))),
        _ => waited,
    }
}

/// Reports impossible options before a wallet is created or a server is called.
fn check_options(args: &Args) -> Result<(), CliError> {
    if let Some(id) = args.payment_identifier.as_deref().filter(|id| !is_identifier(id)) {
        return Err(CliError::Usage(format!(
            "--payment-identifier {id}: a name is 16 to 128 letters, digits, - and _"
        )));
    }
    match args.network.map(Network::from) {
        Some(Network::Solana) if args.mpp => Err(CliError::Usage(
            "--mpp pays on Base only: leave --network out, or pay on Solana without --mpp".to_owned(),
        )),
        _ => Ok(()),
    }
}

/// A signed payment, and the header that carries it.
struct SignedHeader {
    name: &'static str,
    value: String,
    network: Network,
}

/// Chooses the offer, checks its price and signs.
fn sign(challenge: &HttpResponse, args: &Args, wallet: &TestWallet, max: Usdc) -> Result<SignedHeader, CliError> {
    let check = |price: Usdc, network: Network| {
        if price > max {
            return Err(CliError::TooExpensive {
                price: terminal::usd(price),
                max: terminal::usd(max),
            });
        }
        let (chain, payer) = (network.name(), wallet.address(network));
        terminal::progress(&format!(
            "signing a payment of {} USDC on {chain} from {payer}",
            terminal::usd(price)
        ));
        Ok(())
    };
    if args.mpp {
        let offer = mpp_offer(challenge)?;
        let network = Network::Base;
        check(offer.amount, network)?;
        return Ok(SignedHeader {
            name: "authorization",
            value: wallet.pay_mpp(&offer),
            network,
        });
    }
    let mut required = payment_required(challenge)?;
    if let Some(id) = &args.payment_identifier
        && !required.identify(id)
    {
        return Err(CliError::Usage(
            "--payment-identifier: this server takes no names for purchases".to_owned(),
        ));
    }
    let offer = required.choose(args.network.map(Network::from))?;
    check(offer.amount, offer.network)?;
    let entropy = SystemEntropy;
    let circumstances = SigningContext {
        now: SystemClock.now(),
        entropy: &entropy,
        blockhash: None,
    };
    Ok(SignedHeader {
        name: PAYMENT_SIGNATURE,
        value: wallet.pay(&required, &offer, &circumstances)?,
        network: offer.network,
    })
}

/// Error code for a payment that the server has not sent: nothing was charged, and the same payment can be presented
/// again.
const UNSENT: &str = "settlement_unavailable";

/// Sends the payment until its outcome is known.
async fn settle(remote: &HttpClient, url: &Url, payment: &SignedHeader) -> Result<Value, CliError> {
    let mut open = String::new();
    // Whether every response so far reported that nothing was charged.
    let mut unsent = true;
    for attempt in 0..MAX_SENDS {
        let pause = match remote.get(url, &[(payment.name, &payment.value)]).await {
            Ok(answer) if answer.status == 202 => {
                terminal::progress("the payment is being settled");
                let released = wait_for_settlement(remote, url, &answer).await?;
                unsent &= released;
                match released {
                    true => "the server could not send it",
                    false => "the server still settles it",
                }
                .clone_into(&mut open);
                Duration::ZERO
            }
            Ok(answer) if answer.is_success() => return Ok(answer.body),
            Ok(answer) if matches!(answer.status, 429 | 500..=599) => {
                open = answer.to_error().to_string();
                unsent &= answer.status == 429 || answer.body["code"] == UNSENT;
                answer.retry_after()
            }
            // An error for the repeated payment reveals nothing about the first one, unless it reports that nothing was
            // charged.
            Ok(answer) if !open.is_empty() && answer.body["success"] != json!(false) => {
                return Err(CliError::OutcomeUnknown(format!("{open}; then {}", answer.to_error())));
            }
            Ok(answer) => return Err(answer.to_error()),
            Err(CliError::Connection(message)) => {
                open = message;
                unsent = false;
                Duration::from_secs(1 << attempt.min(4))
            }
            Err(error) => return Err(error),
        };
        if pause > Duration::ZERO {
            terminal::progress(&format!(
                "{}; sending the same payment again in {} s",
                open.trim_end_matches('.'),
                pause.as_secs()
            ));
            tokio::time::sleep(pause).await;
        }
    }
    Err(match unsent {
        true => CliError::Unsent(open),
        false => CliError::OutcomeUnknown(open),
    })
}

/// Polls `status_url` until the payment's status is final. Returns true if the server has released the payment unsent.
/// The product is then requested with the payment itself.
async fn wait_for_settlement(remote: &HttpClient, url: &Url, pending: &HttpResponse) -> Result<bool, CliError> {
    let mut pause = pending.retry_after();
    let Some(status_url) = pending.body.get("status_url").and_then(Value::as_str) else {
        tokio::time::sleep(pause).await;
        return Ok(false);
    };
    let status_url = at(url, status_url)?;
    for _ in 0..60 {
        tokio::time::sleep(pause).await;
        match remote.get(&status_url, &[]).await {
            Ok(answer) => {
                let released = answer.body["status"] == "released";
                if released || answer.body["terminal"] == true {
                    return Ok(released);
                }
                pause = answer.retry_after();
            }
            Err(error) => terminal::progress(&error.to_string()),
        }
    }
    Err(CliError::OutcomeUnknown(format!("{status_url} shows it")))
}

/// Polls the card of the purchase, if there is one, until its status is final. Tolerates a server that is down for a
/// while.
async fn wait_for_card(
    remote: &HttpClient,
    url: &Url,
    session: &Session<'_>,
    bought: &Value,
    details: bool,
) -> Result<Option<Value>, CliError> {
    let Some(card_id) = bought.get("card_id").and_then(Value::as_str) else {
        return Ok(None);
    };
    let mut card_url = at(url, "/get-card-data")?;
    card_url.query_pairs_mut().append_pair("card_id", card_id);
    if !details {
        // The owner is notified of each view of a card number, so the query must not return the number.
        card_url.query_pairs_mut().append_pair("details", "false");
    }
    terminal::progress(&format!("waiting for {card_id}"));
    let seen = tokio::time::timeout(CARD_TIMEOUT, poll_until_ready(remote, &card_url, session)).await;
    seen.unwrap_or_else(|_| {
        Err(CliError::Connection(format!(
            "{card_id} is not ready after {} s; `purser token`, then GET /get-card-data shows it later",
            CARD_TIMEOUT.as_secs()
        )))
    })
    .map(Some)
}

async fn poll_until_ready(remote: &HttpClient, card_url: &Url, session: &Session<'_>) -> Result<Value, CliError> {
    loop {
        let answer = match read_card(remote, card_url, session).await {
            Err(why) if why.is_transient() => {
                terminal::progress(&format!("{why}; retrying in {} s", CARD_POLL.as_secs()));
                tokio::time::sleep(CARD_POLL).await;
                continue;
            }
            read => read?,
        };
        let status = answer.body.get("status").and_then(Value::as_str);
        let pause = match answer.status {
            200 if !matches!(status, Some("pending" | "processing")) => return Ok(answer.body),
            200 => CARD_POLL,
            401 => {
                session.expire(card_url)?;
                CARD_POLL
            }
            429 | 500..=599 => answer.retry_after(),
            _ => return Err(answer.to_error()),
        };
        tokio::time::sleep(pause).await;
    }
}

async fn read_card(remote: &HttpClient, card_url: &Url, session: &Session<'_>) -> Result<HttpResponse, CliError> {
    let token = session.id_token(remote, card_url).await?;
    let bearer = zeroize::Zeroizing::new(format!("Bearer {}", token.as_str()));
    remote.get(card_url, &[("authorization", &bearer)]).await
}

fn print_card(body: &Value, as_json: bool) -> Result<(), CliError> {
    if as_json {
        return terminal::json(body, true);
    }
    output::lines(body).iter().try_for_each(|line| terminal::result(line))
}
