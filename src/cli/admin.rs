//! `purser admin`: operator commands, over the API at the operator address.

mod announcements;
mod approvals;
mod card_withdrawals;
mod chains;
mod client;
mod incoming;
mod intl_orders;
mod jobs;
mod lines;
mod notes;
mod refunds;
mod sandbox;
mod tokens;
mod untracked_transfers;
mod webhooks;

use std::path::PathBuf;

use serde_json::{Value, json};

pub use announcements::AnnouncementCommand;
pub use approvals::ApprovalCommand;
pub use card_withdrawals::CardWithdrawalCommand;
pub use chains::ChainCommand;
pub use incoming::IncomingTransferCommand;
pub use intl_orders::IntlOrderCommand;
pub use jobs::{CreditArgs, JobCommand, ResolveArgs, WithholdCreditArgs};
pub use lines::ProductLineCommand;
pub use notes::NoteCommand;
pub use refunds::RefundCommand;
pub use sandbox::{FaultArgs, SandboxCommand};
pub use tokens::TokenCommand;
pub use untracked_transfers::UntrackedTransferCommand;
pub use webhooks::WebhookCommand;

use self::client::AdminClient;
use super::http_client::HttpResponse;
use super::{CliError, Running, TlsArgs, terminal};
use purser_config::Config;

/// Reads the settings of a config file and a data directory, as the service does.
pub type LoadSettings = fn(Option<PathBuf>, Option<PathBuf>) -> Result<Config, CliError>;

/// Operator commands: accounts, queues, dead letters, refunds, audit, sandbox
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Operator address. Default: where the server of the data directory listened last, else operator.listen
    #[arg(long, value_name = "URL", global = true, help_heading = COMMON)]
    pub url: Option<String>,
    /// File with your token. Default: $PURSER_OPERATOR_TOKEN, else operator.token in the data directory
    #[arg(long, value_name = "FILE", global = true, help_heading = COMMON)]
    pub token_file: Option<PathBuf>,
    /// Config file of the server
    #[arg(long, value_name = "FILE", global = true, help_heading = COMMON)]
    pub config: Option<PathBuf>,
    /// Data directory of the server
    #[arg(long, value_name = "DIR", global = true, help_heading = COMMON)]
    pub data: Option<PathBuf>,
    /// Certificates to trust
    #[command(flatten, next_help_heading = COMMON)]
    pub tls: TlsArgs,
    /// The operator command
    #[command(subcommand)]
    pub act: AdminCommand,
}

const EXAMPLES: &str = "\
Examples:
  purser admin freeze 0x8A57… --message 'Please write to support.'
  purser admin lines close gift_card --reason 'Provider maintenance'
  purser admin incoming credit dep_… --evidence 'Ticket 18: sent twice'
  purser admin untracked-transfers attribute 0x8d4d… --withdrawal wd_… --evidence 'Its recipient has it'
  purser admin approvals approve apr_… --amount 40";

/// Help heading of the options that all operator commands share.
const COMMON: &str = "Options of every command";

/// Commands for operators.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum AdminCommand {
    /// Search by wallet, user_id, any id, last four card digits or Request-Id; exits 1 if nothing matches
    Customers {
        /// Text that the customer quotes
        query: String,
        /// For four digits or a user_id: `next_after` of the previous page
        #[arg(long)]
        after: Option<String>,
        /// Results per kind, newest first (1 to 100); `not_shown` is the number of further results
        #[arg(long, value_name = "N", default_value_t = 5)]
        limit: u8,
    },
    /// Find what a text names: wallet, any id, four card digits, transaction, Request-Id
    Search {
        /// Text to find, as a whole
        query: String,
        /// For four digits or a user_id: `next_after` of the previous page
        #[arg(long)]
        after: Option<String>,
    },
    /// Show what happened to an account or to one of its resources, newest first
    Timeline {
        /// Wallet, or id of a resource
        of: String,
        /// `next_before` of the previous page
        #[arg(long)]
        before: Option<String>,
        /// Entries per page (1 to 200)
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: u8,
    },
    /// Notes on customers, which only operators see: add, list
    #[command(subcommand)]
    Notes(NoteCommand),
    /// What was announced at the operators' webhook: list, test
    #[command(subcommand)]
    Announcements(AnnouncementCommand),
    /// Show everything that waits for operators
    Queues,
    /// Show an hour of paid calls, the health of providers and chains, and the totals of the ledger
    Series,
    /// Print system events and changes of the queues as they happen, one JSON object per line
    Watch {
        /// Cursor of the last event. Default: begin with the next one
        #[arg(long)]
        after: Option<String>,
    },
    /// Show supervisors, entities, jobs, storage and streams
    System,
    /// Print the operator OpenAPI document
    Openapi,
    /// Control the sandbox
    Sandbox {
        /// Address of the server. Default: where the server of the data directory listened last, else server.listen
        #[arg(long, value_name = "URL", global = true, help_heading = COMMON)]
        service: Option<String>,
        /// The sandbox command
        #[command(subcommand)]
        act: SandboxCommand,
    },
    /// Call a control of the sandbox through the operator address
    SandboxCall {
        /// Path of the control, such as /sandbox/issuer
        path: String,
        /// Body as JSON. Without it the control is read
        body: Option<String>,
    },
    /// Freeze an account: block purchases and reads
    Freeze {
        /// Exact wallet address
        wallet: String,
        /// Message for the account owner
        #[arg(long)]
        message: String,
        /// Change nothing, and show what the freeze would do
        #[arg(long)]
        preview: bool,
    },
    /// Unfreeze an account
    Unfreeze {
        /// Exact wallet address
        wallet: String,
    },
    /// International card orders: list, claim, renew, release, fulfil, reject, actions, report
    #[command(subcommand)]
    IntlOrders(IntlOrderCommand),
    /// Card-balance withdrawals: list, claim, renew, release, fulfil, reject
    #[command(subcommand)]
    CardWithdrawals(CardWithdrawalCommand),
    /// Webhook endpoints and deliveries
    #[command(subcommand)]
    Webhooks(WebhookCommand),
    /// List dead-lettered jobs and payments with an unknown outcome
    DeadLetters {
        /// Show only this job
        job_id: Option<String>,
    },
    /// Dead-lettered jobs: retry, resolve, credit, keep
    #[command(subcommand)]
    Jobs(JobCommand),
    /// Transfers to the treasury that no payment claims
    #[command(subcommand)]
    Incoming(IncomingTransferCommand),
    /// Refunds: list, show, request, approve, reject
    #[command(subcommand)]
    Refunds(RefundCommand),
    /// Approvals of credits above an operator's limit: list, approve, reject
    #[command(subcommand)]
    Approvals(ApprovalCommand),
    /// Product lines: list, close, open
    #[command(subcommand)]
    Lines(ProductLineCommand),
    /// Chain replacements after finality: accept
    #[command(subcommand)]
    Chains(ChainCommand),
    /// List discrepancies, oldest first
    Reconciliation {
        /// `next_after` of the previous page
        #[arg(long)]
        after: Option<String>,
        /// Run a reconciliation now and print its number
        #[arg(long, conflicts_with = "after")]
        now: bool,
    },
    /// List system events, oldest first
    Events {
        /// `next_after` of the previous page
        #[arg(long)]
        after: Option<String>,
    },
    /// List returns after the return window, oldest first
    LateReturns {
        /// `next_after` of the previous page
        #[arg(long)]
        after: Option<String>,
    },
    /// Outgoing transfers that are missing from the ledger after a restore
    #[command(subcommand)]
    UntrackedTransfers(UntrackedTransferCommand),
    /// Confirm access from before a restore that lacks the revocation log
    #[command(group = clap::ArgGroup::new("good").required(true))]
    Confirm {
        /// API key to confirm
        #[arg(long, value_name = "ID", group = "good")]
        api_key: Option<String>,
        /// Name of the operator token to confirm
        #[arg(long, value_name = "NAME", group = "good")]
        token: Option<String>,
        /// Passkey of an account owner to confirm
        #[arg(long, value_name = "ID", group = "good")]
        passkey: Option<String>,
        /// Confirm all sessions, API keys, operator tokens and passkeys: nothing was revoked since the backup
        #[arg(long, group = "good")]
        everything: bool,
    },
    /// Print the audit log, oldest first
    Audit {
        /// `next_after` of the previous page
        #[arg(long)]
        after: Option<String>,
        /// Newest first
        #[arg(long, conflicts_with = "after")]
        newest: bool,
        /// With --newest: `next_before` of the previous page
        #[arg(long, requires = "newest")]
        before: Option<String>,
        /// Check the hash chain of the whole log instead
        #[arg(long, conflicts_with_all = ["after", "newest"])]
        verify: bool,
    },
    /// Operator tokens: create, revoke, list, generate
    #[command(subcommand)]
    Tokens(TokenCommand),
}

/// Runs `purser admin`.
///
/// # Errors
/// When the service returns an error or cannot be reached.
pub fn run(args: Args, settings: LoadSettings) -> Running {
    Box::pin(execute(args, settings))
}

async fn execute(args: Args, settings: LoadSettings) -> Result<(), CliError> {
    if let AdminCommand::Tokens(TokenCommand::Generate { name, role }) = &args.act {
        return tokens::generate_token(name, role);
    }
    if let AdminCommand::Sandbox { service, act } = &args.act {
        return describe_error(
            &sandbox::run(
                &settings(args.config.clone(), args.data.clone())?,
                &args.tls,
                service.as_deref(),
                act,
            )
            .await?,
        );
    }
    let admin = AdminClient::of(&args, settings)?;
    if let AdminCommand::Watch { after } = &args.act {
        return admin.watch(after.as_deref()).await;
    }
    let answer = match args.act {
        AdminCommand::Customers {
            query: quoted,
            after,
            limit,
        } => admin.search_customers(&quoted, after.as_deref(), limit).await?,
        AdminCommand::Search { query: quoted, after } => {
            let query = [("q", Some(quoted.as_str())), ("after", after.as_deref())];
            admin.query("/admin/search", &query).await?
        }
        AdminCommand::Timeline { of, before, limit } => {
            // An id has a prefix before an underscore, which no wallet has.
            let name = if of.contains('_') { "id" } else { "wallet" };
            let (limit, before) = (limit.to_string(), before.as_deref());
            let query = [(name, Some(of.as_str())), ("before", before), ("limit", Some(&*limit))];
            admin.query("/admin/timeline", &query).await?
        }
        AdminCommand::Notes(act) => notes::run(&admin, act).await?,
        AdminCommand::Announcements(act) => announcements::run(&admin, act).await?,
        AdminCommand::Queues => admin.get("/admin/queues").await?,
        AdminCommand::Series => admin.get("/admin/series").await?,
        AdminCommand::System => admin.get("/admin/system").await?,
        // The sandbox and the stream are answered above.
        AdminCommand::Openapi | AdminCommand::Sandbox { .. } | AdminCommand::Watch { .. } => {
            admin.get("/admin/openapi.json").await?
        }
        AdminCommand::SandboxCall { path, body } => {
            let body: Option<Value> = body
                .map(|text| serde_json::from_str(&text))
                .transpose()
                .map_err(|error| CliError::Usage(format!("the body is not JSON: {error}")))?;
            admin
                .post("/admin/sandbox", json!({"path": path, "body": body}))
                .await?
        }
        AdminCommand::Freeze {
            wallet,
            message,
            preview: true,
        } => {
            let query = [("wallet", Some(wallet.as_str())), ("message", Some(&*message))];
            admin.query("/admin/freeze/preview", &query).await?
        }
        AdminCommand::Freeze { wallet, message, .. } => {
            let body = json!({"wallet": wallet, "message": message});
            admin.post("/admin/freeze", body).await?
        }
        AdminCommand::Unfreeze { wallet } => admin.post("/admin/unfreeze", json!({"wallet": wallet})).await?,
        AdminCommand::IntlOrders(act) => intl_orders::run(&admin, act).await?,
        AdminCommand::CardWithdrawals(act) => card_withdrawals::run(&admin, act).await?,
        AdminCommand::Webhooks(act) => webhooks::run(&admin, act).await?,
        AdminCommand::DeadLetters { job_id } => jobs::list(&admin, job_id).await?,
        AdminCommand::Jobs(act) => jobs::run(&admin, act).await?,
        AdminCommand::Incoming(act) => incoming::run(&admin, act).await?,
        AdminCommand::Refunds(act) => refunds::run(&admin, act).await?,
        AdminCommand::Approvals(act) => approvals::run(&admin, act).await?,
        AdminCommand::Lines(act) => lines::run(&admin, act).await?,
        AdminCommand::Chains(act) => chains::run(&admin, act).await?,
        AdminCommand::Reconciliation { now: true, .. } => admin.post("/admin/reconciliation/run", json!({})).await?,
        AdminCommand::Reconciliation { after, .. } => admin.page("/admin/reconciliation", after).await?,
        AdminCommand::Events { after } => admin.page("/admin/events", after).await?,
        AdminCommand::LateReturns { after } => admin.page("/admin/late-returns", after).await?,
        AdminCommand::UntrackedTransfers(act) => untracked_transfers::run(&admin, act).await?,
        AdminCommand::Confirm {
            api_key,
            token,
            passkey,
            everything,
        } => {
            let body = json!({"api_key_id": api_key, "token": token, "passkey_id": passkey, "everything": everything});
            admin.post("/admin/suspended/confirm", body).await?
        }
        AdminCommand::Audit { verify: true, .. } => admin.get("/admin/audit/verify").await?,
        AdminCommand::Audit {
            newest: true, before, ..
        } => {
            let query = [("order", Some("desc")), ("before", before.as_deref())];
            admin.query("/admin/audit", &query).await?
        }
        AdminCommand::Audit { after, .. } => admin.page("/admin/audit", after).await?,
        AdminCommand::Tokens(act) => tokens::run(&admin, act).await?,
    };
    admin.check(&answer)
}

fn describe_error(answer: &HttpResponse) -> Result<(), CliError> {
    if !answer.is_success() {
        return Err(answer.to_error());
    }
    terminal::json(&answer.body, true)
}
