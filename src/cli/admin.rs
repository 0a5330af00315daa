//! `purser admin`: what an operator does, over the API at the operator's own address.

mod approvals;
mod card_withdrawals;
mod chains;
mod client;
mod incoming;
mod intl_orders;
mod jobs;
mod lines;
mod refunds;
mod sandbox;
mod tokens;
mod webhooks;

use std::path::PathBuf;

use serde_json::json;

pub use approvals::ApprovalCommand;
pub use card_withdrawals::CardWithdrawalCommand;
pub use chains::ChainCommand;
pub use incoming::IncomingTransferCommand;
pub use intl_orders::IntlOrderCommand;
pub use jobs::{CreditArgs, ResolveArgs, WithholdCreditArgs};
pub use lines::ProductLineCommand;
pub use refunds::RefundCommand;
pub use sandbox::{FaultArgs, SandboxCommand};
pub use tokens::TokenCommand;
pub use webhooks::WebhookCommand;

use self::client::AdminClient;
use super::http_client::HttpResponse;
use super::{CliError, TlsArgs, serve, terminal};
use crate::config::Config;

/// Act as an operator: customers, orders, refunds, stuck work, the sandbox
///
/// Find customers, freeze accounts, fulfil orders, give refunds, decide about stuck work, look at the system, steer the sandbox.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The operator's address. Default: where the service of the data directory listened last, else operator.listen
    #[arg(long, value_name = "URL", global = true, help_heading = COMMON)]
    pub url: Option<String>,
    /// A file with your token. Default: $PURSER_OPERATOR_TOKEN, else operator.token in the data directory
    #[arg(long, value_name = "FILE", global = true, help_heading = COMMON)]
    pub token_file: Option<PathBuf>,
    /// Settings of the service
    #[arg(long, value_name = "FILE", global = true, help_heading = COMMON)]
    pub config: Option<PathBuf>,
    /// The service's data directory
    #[arg(long, value_name = "DIR", global = true, help_heading = COMMON)]
    pub data: Option<PathBuf>,
    /// Which servers it trusts
    #[command(flatten, next_help_heading = COMMON)]
    pub tls: TlsArgs,
    /// What to do
    #[command(subcommand)]
    pub act: AdminCommand,
}

const EXAMPLES: &str = "\
Examples:
  purser admin freeze 0x8A57… --message 'Please write to support.'
  purser admin lines close gift_card --reason 'Provider maintenance'
  purser admin incoming credit dep_… --evidence 'Ticket 18: sent twice'
  purser admin book 0x8d4d… --withdrawal wd_… --evidence 'Its recipient has it'
  purser admin approvals approve apr_… --amount 40";

/// The heading of the options that every command of the operator has.
const COMMON: &str = "Options of every command";

/// What an operator does.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum AdminCommand {
    /// Find a customer: by wallet or user_id, any id of ours, last four digits of a card, or the Request-Id of a call that opened
    /// something. Exit status 1 if nothing is found
    Customers {
        /// What they quote
        query: String,
        /// With four digits or a user_id: `next_after` of the call before
        #[arg(long)]
        after: Option<String>,
        /// How many of each kind are shown, the newest first: 1 to 100. `not_shown` says how many more there are
        #[arg(long, value_name = "N", default_value_t = 5)]
        limit: u8,
    },
    /// The supervision tree, mailboxes, work, storage and streams, as they are now
    System,
    /// The operator's own OpenAPI
    Openapi,
    /// Control the simulated chains and providers; in the sandbox only
    Sandbox {
        /// The service itself. Default: where the service of the data directory listened last, else server.listen
        #[arg(long, value_name = "URL", global = true, help_heading = COMMON)]
        service: Option<String>,
        /// What is to happen
        #[command(subcommand)]
        act: SandboxCommand,
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
    IntlOrders(IntlOrderCommand),
    /// Withdrawals from holders' balances at the card issuer
    #[command(subcommand)]
    CardWithdrawals(CardWithdrawalCommand),
    /// Endpoints that events are posted to
    #[command(subcommand)]
    Webhooks(WebhookCommand),
    /// Work that waits for a person, and payments whose outcome is not known, with what is known of them
    DeadLetters {
        /// Only this
        job_id: Option<String>,
    },
    /// Try stuck work once more, now
    Retry {
        /// As `purser admin stuck` names it
        job_id: String,
    },
    /// Say what came of stuck work, as if its provider had said so
    Resolve(ResolveArgs),
    /// Give a holder back what stuck work was paid with
    Credit(CreditArgs),
    /// End a withheld credit without giving it: a chain has taken back what paid for it
    Keep(WithholdCreditArgs),
    /// Transfers to the treasury that no payment claims
    #[command(subcommand)]
    Incoming(IncomingTransferCommand),
    /// What is given back to payers, above a limit by two operators
    #[command(subcommand)]
    Refunds(RefundCommand),
    /// Acts that give money above an operator's limit: another operator approves or rejects them
    #[command(subcommand)]
    Approvals(ApprovalCommand),
    /// Lines of products: what is sold now
    #[command(subcommand)]
    Lines(ProductLineCommand),
    /// The chains, where they have replaced what was final
    #[command(subcommand)]
    Chains(ChainCommand),
    /// What our books and others' lists do not agree about, the oldest first
    Reconciliation {
        /// `next_after` of the page before
        #[arg(long)]
        after: Option<String>,
        /// Have the service compare now, and print the number of that comparison
        #[arg(long, conflicts_with = "after")]
        now: bool,
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
    /// Say to whom a transfer or an order belongs that left and is in no book, or what it paid for
    #[command(group = clap::ArgGroup::new("to").required(true))]
    Attribute {
        /// The transaction, or transaction#index as `purser admin stuck` names it
        transaction: String,
        /// Take it from this account's balance
        #[arg(long, value_name = "ADDRESS", group = "to")]
        account: Option<String>,
        /// Of a payout that this account paid for: what it was charged, in USDC, fee included
        #[arg(long, value_name = "USDC")]
        amount: Option<String>,
        /// It is the transfer of this withdrawal
        #[arg(long, value_name = "ID", group = "to")]
        withdrawal: Option<String>,
        /// It is the burn of this top-up
        #[arg(long, value_name = "ID", group = "to")]
        top_up: Option<String>,
        /// It was for what came in by this transfer, which waits for a decision: both are booked
        #[arg(long, value_name = "ID", group = "to")]
        deposit: Option<String>,
        /// It paid this provider what it is owed: card_issuer, gift_cards, push_to_card, bank, ...
        #[arg(long, value_name = "NAME", group = "to")]
        provider: Option<String>,
        /// You took it out of the treasury
        #[arg(long, group = "to")]
        operator_funds: bool,
        /// It bought what gas or rent on a chain is paid with
        #[arg(long, group = "to")]
        network_fees: bool,
        /// It is a loss of ours
        #[arg(long, group = "to")]
        loss: bool,
        /// How you know, for the audit log
        #[arg(long, value_name = "TEXT")]
        evidence: String,
    },
    /// After a restore without the log of revocations: say what of before it is good
    #[command(group = clap::ArgGroup::new("good").required(true))]
    Confirm {
        /// This API key
        #[arg(long, value_name = "ID", group = "good")]
        api_key: Option<String>,
        /// The operator's token of this name
        #[arg(long, value_name = "NAME", group = "good")]
        token: Option<String>,
        /// Every session, API key and operator's token: nothing was revoked since the backup
        #[arg(long, group = "good")]
        everything: bool,
    },
    /// What was done, the oldest first
    Audit {
        /// `next_after` of the page before
        #[arg(long)]
        after: Option<String>,
    },
    /// Operators' tokens
    #[command(subcommand)]
    Tokens(TokenCommand),
}

/// Runs `purser admin`.
///
/// # Errors
/// When the service refuses or cannot be reached.
pub async fn run(args: Args) -> Result<(), CliError> {
    if let AdminCommand::Tokens(TokenCommand::Generate { name, role }) = &args.act {
        return tokens::generate_token(name, role);
    }
    if let AdminCommand::Sandbox { service, act } = &args.act {
        return describe_error(&sandbox::run(&args.settings()?, &args.tls, service.as_deref(), act).await?);
    }
    let desk = AdminClient::of(&args)?;
    let answer = match args.act {
        AdminCommand::Customers {
            query: quoted,
            after,
            limit,
        } => desk.search_customers(&quoted, after.as_deref(), limit).await?,
        AdminCommand::System => desk.get("/admin/system").await?,
        AdminCommand::Openapi | AdminCommand::Sandbox { .. } => desk.get("/admin/openapi.json").await?, // The sandbox is answered above.
        AdminCommand::Freeze { wallet, message } => {
            let body = json!({"wallet": wallet, "message": message});
            desk.post("/admin/freeze", body).await?
        }
        AdminCommand::Unfreeze { wallet } => desk.post("/admin/unfreeze", json!({"wallet": wallet})).await?,
        AdminCommand::IntlOrders(act) => intl_orders::run(&desk, act).await?,
        AdminCommand::CardWithdrawals(act) => card_withdrawals::run(&desk, act).await?,
        AdminCommand::Webhooks(act) => webhooks::run(&desk, act).await?,
        AdminCommand::DeadLetters { job_id: effect_id } => jobs::list(&desk, effect_id).await?,
        AdminCommand::Resolve(resolve) => jobs::resolve(&desk, resolve).await?,
        AdminCommand::Credit(credit) => jobs::credit_job(&desk, credit).await?,
        AdminCommand::Keep(keep) => jobs::withhold_credit(&desk, keep).await?,
        AdminCommand::Retry { job_id: effect_id } => desk.post("/admin/jobs/retry", json!({"effect_id": effect_id})).await?,
        AdminCommand::Incoming(act) => incoming::run(&desk, act).await?,
        AdminCommand::Refunds(act) => refunds::run(&desk, act).await?,
        AdminCommand::Approvals(act) => approvals::run(&desk, act).await?,
        AdminCommand::Lines(act) => lines::run(&desk, act).await?,
        AdminCommand::Chains(act) => chains::run(&desk, act).await?,
        AdminCommand::Reconciliation { now: true, .. } => desk.post("/admin/reconciliation/walk", json!({})).await?,
        AdminCommand::Reconciliation { after, .. } => desk.page("/admin/reconciliation", after).await?,
        AdminCommand::Events { after } => desk.page("/admin/events", after).await?,
        AdminCommand::LateReturns { after } => desk.page("/admin/late-returns", after).await?,
        AdminCommand::Attribute {
            transaction,
            account,
            amount,
            withdrawal,
            top_up,
            deposit,
            provider,
            operator_funds,
            network_fees,
            loss,
            evidence,
        } => {
            let body = json!({
                "transaction": transaction, "account": account, "amount": amount, "withdrawal_id": withdrawal,
                "top_up_id": top_up, "deposit_id": deposit, "provider": provider, "operator_funds": operator_funds,
                "network_fees": network_fees, "loss": loss, "evidence": evidence,
            });
            desk.post("/admin/untracked-transfers/attribute", body).await?
        }
        AdminCommand::Confirm {
            api_key,
            token,
            everything,
        } => {
            let body = json!({"api_key_id": api_key, "token": token, "everything": everything});
            desk.post("/admin/suspended/confirm", body).await?
        }
        AdminCommand::Audit { after } => desk.page("/admin/audit", after).await?,
        AdminCommand::Tokens(act) => tokens::run(&desk, act).await?,
    };
    desk.check(&answer)
}

fn describe_error(answer: &HttpResponse) -> Result<(), CliError> {
    if !answer.is_success() {
        return Err(answer.to_error());
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
