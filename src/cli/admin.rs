//! `purser admin`: what an operator does, over the API at the operator's own address.

mod card_withdrawals;
mod intl;
mod lines;
mod refunds;
mod sandbox;
mod stuck;
mod webhooks;

use std::path::{Path, PathBuf};

use reqwest::Url;
use serde_json::{Value, json};
use zeroize::Zeroizing;

pub use card_withdrawals::CardWithdrawals;
pub use intl::Intl;
pub use lines::Lines;
pub use refunds::Refunds;
pub use sandbox::{Fault, Sandbox};
pub use stuck::{CreditBack, Resolve};
pub use webhooks::Webhooks;

use super::remote::{Answer, Remote, at, parse_url};
use super::{CliError, serve, terminal};
use crate::config::Config;
use crate::http::operator::{hash_of, new_token};
use crate::service::DataDir;
use crate::system::SystemEntropy;

/// Act for the operator: find customers, freeze accounts, fulfil orders, look at stuck work and at the system, steer the sandbox
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The operator's address. Default: http:// and operator.listen of the settings
    #[arg(long, value_name = "URL", global = true)]
    pub at: Option<String>,
    /// A file with your token. Default: $PURSER_OPERATOR_TOKEN, else operator.token in the data directory
    #[arg(long, value_name = "FILE", global = true)]
    pub token_file: Option<PathBuf>,
    /// Settings of the service
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// The service's data directory
    #[arg(long, value_name = "DIR", global = true)]
    pub data: Option<PathBuf>,
    /// What to do
    #[command(subcommand)]
    pub act: Act,
}

/// What an operator does.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Act {
    /// Find a customer: by wallet or user_id, any id of ours, last four digits of a card, or the Request-Id of a call that opened
    /// something. Exit status 1 if nothing is found
    Customers {
        /// What they quote
        quoted: String,
        /// With four digits or a user_id: `next_after` of the call before
        #[arg(long)]
        after: Option<String>,
    },
    /// The supervision tree, mailboxes, work, storage and streams, as they are now
    System,
    /// The operator's own OpenAPI
    Openapi,
    /// Steer the pretended world; in the sandbox only
    Sandbox {
        /// The service itself, whose sandbox it is. Default: http:// and server.listen of the settings
        #[arg(long, value_name = "URL", global = true)]
        service: Option<String>,
        /// What is to happen
        #[command(subcommand)]
        act: Sandbox,
    },
    /// Stop an account: it buys and reads nothing
    Freeze {
        /// The exact address
        wallet: String,
        /// What its holder is told
        #[arg(long)]
        message: String,
    },
    /// Let an account go
    Unfreeze {
        /// The exact address
        wallet: String,
    },
    /// International orders
    #[command(subcommand)]
    Intl(Intl),
    /// Withdrawals from holders' balances at the card issuer
    #[command(subcommand)]
    CardWithdrawals(CardWithdrawals),
    /// Endpoints that events are posted to
    #[command(subcommand)]
    Webhooks(Webhooks),
    /// Work that waits for a person, and payments whose outcome is not known, with what is known of them
    Stuck {
        /// Only this
        effect_id: Option<String>,
    },
    /// Try stuck work once more, now
    Retry {
        /// As `purser admin stuck` names it
        effect_id: String,
    },
    /// Say what came of stuck work, as if its provider had said so
    Resolve(Resolve),
    /// Give a holder back what stuck work was paid with
    CreditBack(CreditBack),
    /// What is given back to payers, above a limit by two operators
    #[command(subcommand)]
    Refunds(Refunds),
    /// Lines of products: what is sold now
    #[command(subcommand)]
    Lines(Lines),
    /// What our books and others' lists do not agree about, the oldest first
    Reconciliation {
        /// `next_after` of the page before
        #[arg(long)]
        after: Option<String>,
    },
    /// What the house itself was told, the oldest first
    Events {
        /// `next_after` of the page before
        #[arg(long)]
        after: Option<String>,
    },
    /// Money that came back after its payout was final, the oldest first
    LateReturns {
        /// `next_after` of the page before
        #[arg(long)]
        after: Option<String>,
    },
    /// Say to whom a transfer belongs that left the treasury before a restore and is in no book
    #[command(group = clap::ArgGroup::new("to").required(true))]
    Book {
        /// As `purser admin stuck` names it
        transaction: String,
        /// Take it from this account's balance
        #[arg(long, value_name = "ADDRESS", group = "to")]
        account: Option<String>,
        /// It is the transfer of this withdrawal
        #[arg(long, value_name = "ID", group = "to")]
        withdrawal: Option<String>,
        /// It is the burn of this top-up
        #[arg(long, value_name = "ID", group = "to")]
        top_up: Option<String>,
        /// It is a loss of ours
        #[arg(long, group = "to")]
        loss: bool,
        /// How you know, for the audit log
        #[arg(long, value_name = "TEXT")]
        evidence: String,
    },
    /// What was done, the oldest first
    Audit {
        /// `next_after` of the page before
        #[arg(long)]
        after: Option<String>,
    },
    /// Operators' tokens
    #[command(subcommand)]
    Token(Token),
}

/// What is done with tokens.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Token {
    /// Make a token; it is shown once
    Create {
        /// Whose
        name: String,
        /// administrator, operator, support or read-only
        #[arg(long)]
        role: String,
    },
    /// End a token
    Revoke {
        /// Whose
        name: String,
    },
    /// Whose tokens there are
    List,
    /// Print a new token with its line for `[operator] tokens` of the settings; no service is asked
    Generate {
        /// Whose
        name: String,
        /// administrator, operator, support or read-only
        #[arg(long)]
        role: String,
    },
}

/// Runs `purser admin`.
///
/// # Errors
/// When the service refuses or cannot be reached.
pub async fn run(args: Args) -> Result<(), CliError> {
    if let Act::Token(Token::Generate { name, role }) = &args.act {
        return generate(name, role);
    }
    if let Act::Sandbox { service, act } = &args.act {
        return said(&sandbox::ask(&args.settings()?, service.as_deref(), act).await?);
    }
    let desk = Desk::of(&args)?;
    let answer = match args.act {
        Act::Customers { quoted, after } => desk.found(&quoted, after.as_deref()).await?,
        Act::System => desk.get("/admin/system").await?,
        // Answered above.
        Act::Openapi | Act::Sandbox { .. } => desk.get("/admin/openapi.json").await?,
        Act::Freeze { wallet, message } => {
            let body = json!({"wallet": wallet, "message": message});
            desk.post("/admin/freeze", body).await?
        }
        Act::Unfreeze { wallet } => desk.post("/admin/unfreeze", json!({"wallet": wallet})).await?,
        Act::Intl(act) => intl::ask(&desk, act).await?,
        Act::CardWithdrawals(act) => card_withdrawals::ask(&desk, act).await?,
        Act::Webhooks(act) => webhooks::ask(&desk, act).await?,
        Act::Stuck { effect_id } => stuck::list(&desk, effect_id).await?,
        Act::Resolve(resolve) => stuck::resolve(&desk, resolve).await?,
        Act::CreditBack(credit) => stuck::credit_back(&desk, credit).await?,
        Act::Retry { effect_id } => desk.post("/admin/retry", json!({"effect_id": effect_id})).await?,
        Act::Refunds(act) => refunds::ask(&desk, act).await?,
        Act::Lines(act) => lines::ask(&desk, act).await?,
        Act::Reconciliation { after } => desk.page("/admin/reconciliation", after).await?,
        Act::Events { after } => desk.page("/admin/events", after).await?,
        Act::LateReturns { after } => desk.page("/admin/late-returns", after).await?,
        Act::Book {
            transaction,
            account,
            withdrawal,
            top_up,
            loss,
            evidence,
        } => {
            let body = json!({
                "transaction": transaction, "account": account, "withdrawal_id": withdrawal, "top_up_id": top_up,
                "loss": loss, "evidence": evidence,
            });
            desk.post("/admin/departures/book", body).await?
        }
        Act::Audit { after } => desk.page("/admin/audit", after).await?,
        Act::Token(Token::Create { name, role }) => {
            desk.post("/admin/tokens", json!({"name": name, "role": role})).await?
        }
        Act::Token(Token::Revoke { name }) => desk.post("/admin/tokens/revoke", json!({"name": name})).await?,
        Act::Token(Token::List | Token::Generate { .. }) => desk.get("/admin/tokens").await?,
    };
    desk.said(&answer)
}

fn said(answer: &Answer) -> Result<(), CliError> {
    if !answer.is_success() {
        return Err(answer.refusal());
    }
    terminal::json(&answer.body, true)
}

impl Args {
    fn settings(&self) -> Result<Config, CliError> {
        let settings = serve::Args {
            config: self.config.clone(),
            listen: None,
            data: self.data.clone(),
        };
        settings.settings()
    }
}

fn generate(name: &str, role: &str) -> Result<(), CliError> {
    let role: purser_actors::operator::Role = role
        .parse()
        .map_err(|e: purser_actors::operator::NotARole| CliError::Usage(e.to_string()))?;
    let token = new_token(&SystemEntropy);
    let hash = hex::encode(hash_of(token.expose_secret()));
    terminal::result(token.expose_secret())?;
    let line = toml::Table::from_iter([
        ("name".to_owned(), toml::Value::from(name)),
        ("role".to_owned(), toml::Value::from(role.name())),
        ("sha256".to_owned(), toml::Value::from(hash)),
    ]);
    terminal::progress(&format!("for [operator] tokens: {}", toml::Value::from(line)));
    Ok(())
}

/// The operator's API, and who asks it.
struct Desk {
    remote: Remote,
    url: Url,
    token: Zeroizing<String>,
    /// Where it was found.
    token_of: String,
}

impl Desk {
    fn of(args: &Args) -> Result<Self, CliError> {
        let config = args.settings()?;
        let url = match (&args.at, config.operator.listen) {
            (Some(url), _) => parse_url(url)?,
            (None, Some(listen)) if listen.port() != 0 => parse_url(&format!("http://{listen}"))?,
            (None, _) => return Err(CliError::Usage("say where the service is, with --at URL".to_owned())),
        };
        let (token, token_of) = match (&args.token_file, std::env::var("PURSER_OPERATOR_TOKEN")) {
            (Some(path), _) => read(path)?,
            (None, Ok(token)) => (Zeroizing::new(token), "$PURSER_OPERATOR_TOKEN".to_owned()),
            (None, Err(_)) => read(&DataDir::at(&config.data_dir).operator_token())?,
        };
        let token = Zeroizing::new(token.trim().to_owned());
        if token.is_empty() || !token.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(CliError::Usage(format!("{token_of} holds no token, which is one line")));
        }
        Ok(Self {
            remote: Remote::new()?,
            url,
            token,
            token_of,
        })
    }

    /// The answer, or the refusal in the server's words; of a token that is not good, with where it was found.
    fn said(&self, answer: &Answer) -> Result<(), CliError> {
        said(answer).map_err(|error| match error {
            CliError::Refused { status: 401, what } => CliError::Refused {
                status: 401,
                what: format!("{what} The token was that of {}.", self.token_of),
            },
            error => error,
        })
    }

    async fn get(&self, path: &str) -> Result<Answer, CliError> {
        let bearer = Zeroizing::new(format!("Bearer {}", *self.token));
        self.remote
            .get(&at(&self.url, path)?, &[("authorization", &bearer)])
            .await
    }

    /// Who that is; nobody is a failure, unless there is more to look at.
    async fn found(&self, quoted: &str, after: Option<&str>) -> Result<Answer, CliError> {
        let mut url = at(&self.url, "/admin/customers")?;
        url.query_pairs_mut().append_pair("q", quoted);
        if let Some(after) = after {
            url.query_pairs_mut().append_pair("after", after);
        }
        let bearer = Zeroizing::new(format!("Bearer {}", *self.token));
        let answer = self.remote.get(&url, &[("authorization", &bearer)]).await?;
        let nothing = answer.body["found"].as_array().is_some_and(Vec::is_empty);
        if !nothing || !answer.body["next_after"].is_null() {
            return Ok(answer);
        }
        let of_call = match quoted.trim().starts_with("req_") {
            true => {
                ": a Request-Id leads to what its call opened, and a call that was refused, or only read, opened nothing"
            }
            false => "",
        };
        Err(CliError::NotFound(format!("nobody is found by {quoted}{of_call}")))
    }

    async fn page(&self, path: &str, after: Option<String>) -> Result<Answer, CliError> {
        let query = after.map(|after| format!("?after={after}"));
        self.get(&format!("{path}{}", query.unwrap_or_default())).await
    }

    async fn post(&self, path: &str, body: Value) -> Result<Answer, CliError> {
        self.remote.post_as(&self.token, &at(&self.url, path)?, &body).await
    }
}

/// A token, and the name of its file.
fn read(path: &Path) -> Result<(Zeroizing<String>, String), CliError> {
    let file = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => Ok((Zeroizing::new(text), file)),
        Err(source) => Err(CliError::Io {
            what: format!(
                "no operator's token in {file} (--token-file, $PURSER_OPERATOR_TOKEN or --data says where it is)"
            ),
            source,
        }),
    }
}
