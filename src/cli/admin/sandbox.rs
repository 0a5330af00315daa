//! `purser admin sandbox`: sandbox controls, at the service's own address. Outside the sandbox these routes do not
//! exist.

use serde_json::{Value, json};

use crate::http_client::{HttpClient, HttpResponse, at, parse_url, reachable};
use crate::{CliError, TlsArgs};
use purser_config::Config;
use purser_config::DataDir;

/// Commands of the sandbox.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum SandboxCommand {
    /// Show the state of the sandbox
    #[command(flatten)]
    Query(SandboxQuery),
    /// Advance the sandbox clock, for example `30d` or `2h 30m`
    AdvanceClock {
        /// Duration, added to the current time
        duration: humantime::Duration,
    },
    /// Inject a fault into a provider; `clear` removes it
    Fault(FaultArgs),
    /// Emit a payout event: in_process, complete, failed, cancelled or returned
    PayoutEvent {
        /// Payout to report on
        payout_id: String,
        /// New status of the payout
        status: String,
        /// Sequence among the payout's events; default: the next
        #[arg(long)]
        sequence: Option<u64>,
    },
    /// Return a completed bank transfer
    BankReturn {
        /// The off-ramp account
        account_id: String,
        /// Completed transfer to return
        transfer_id: String,
        /// Returned amount in dollars
        #[arg(allow_negative_numbers = true)]
        amount: String,
    },
    /// Deposit into an onramp account
    BankDeposit {
        /// The on-ramp account
        account_id: String,
        /// Amount in dollars
        #[arg(allow_negative_numbers = true)]
        amount: String,
        /// Sender of the deposit
        #[arg(long)]
        sender: Option<String>,
    },
    /// Decide an identity check
    Identity {
        /// Exact wallet address of the account
        wallet: String,
        /// Result: passed or failed
        #[arg(value_parser = ["passed", "failed"])]
        result: String,
        /// If failed: the provider's reason
        #[arg(long)]
        reason: Option<String>,
    },
    /// Link a wallet to the card issuer
    Link {
        /// Exact wallet address
        wallet: String,
        /// Unlink the wallet instead
        #[arg(long)]
        off: bool,
    },
    /// Simulate a card purchase
    Charge {
        /// Card to charge
        card_id: String,
        /// Merchant name as the merchant spells it
        merchant: String,
        /// Amount in dollars
        #[arg(allow_negative_numbers = true)]
        amount: String,
        /// Only place a hold; `charge-outcome` settles or refunds it
        #[arg(long)]
        pending: bool,
    },
    /// Settle or refund a pending charge
    ChargeOutcome {
        /// Card that was charged
        card_id: String,
        /// Transaction id from `charge`
        transaction_id: String,
        /// New status of the charge
        #[arg(value_parser = ["settled", "refunded"])]
        status: String,
    },
    /// Delay top-up credits
    HoldCredits {
        /// Resume top-up credits
        #[arg(long)]
        off: bool,
    },
    /// Set an exchange rate (USD per unit)
    ExchangeRate {
        /// Currency code, three letters
        currency: String,
        /// Rate as decimal text
        #[arg(allow_negative_numbers = true)]
        usd_per_unit: String,
    },
    /// Fund a wallet with test USDC
    Faucet {
        /// Exact wallet address
        wallet: String,
        /// Amount in dollars
        #[arg(allow_negative_numbers = true)]
        amount: String,
        /// Send from this wallet, by a plain transfer
        #[arg(long, value_name = "ADDRESS")]
        from: Option<String>,
    },
}

/// Queries of the sandbox.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum SandboxQuery {
    /// Show chains, payouts or catalogs
    State {
        /// Area: chains, payouts or catalogs
        #[arg(default_value = "chains", value_parser = ["chains", "payouts", "catalogs"])]
        area: String,
    },
    /// List amounts that force an outcome
    MagicValues,
    /// Show the sandbox clock
    Clock,
    /// Show a wallet's balance
    Balance {
        /// Exact wallet address
        wallet: String,
    },
    /// List chain transfers
    Transfers {
        /// Network: base or solana
        #[arg(default_value = "base")]
        network: String,
        /// Position to start after
        #[arg(long, default_value_t = 0)]
        after: u64,
    },
}

/// Arguments of a fault.
#[derive(Clone, Debug, clap::Args)]
pub struct FaultArgs {
    /// Provider that fails
    #[arg(value_parser = [
        "chain", "issuer", "reloadable-cards", "payouts", "bank", "bridge", "identity", "issuer-accounts", "gift-cards",
        "merchants",
    ])]
    pub provider: String,
    /// Fault to inject; `clear` removes it
    pub fault: String,
    /// Number of times; 0 until cleared. Default: once
    #[arg(long)]
    pub times: Option<u32>,
    /// Delay in milliseconds
    #[arg(long)]
    pub delay_ms: Option<u64>,
    /// Chain: its network
    #[arg(long)]
    pub network: Option<String>,
    /// Chain: only for payments of this wallet address
    #[arg(long)]
    pub wallet: Option<String>,
    /// Chain that declines: the reason
    #[arg(long)]
    pub reason: Option<String>,
    /// Operation that fails. Bank: review, open, transfer, incoming or balance. Bridge: burn, attestation or mint
    #[arg(long)]
    pub operation: Option<String>,
    /// Gift cards: the product
    #[arg(long, value_name = "ID")]
    pub product_id: Option<String>,
    /// Gift cards, with `stock`: number in stock
    #[arg(long)]
    pub stock: Option<u32>,
}

/// Calls the service.
pub(super) async fn run(
    config: &Config,
    tls: &TlsArgs,
    service: Option<&str>,
    act: &SandboxCommand,
) -> Result<HttpResponse, CliError> {
    let listened = DataDir::at(&config.data_dir).server_address();
    let url = match (service, listened.unwrap_or(config.server.listen)) {
        (Some(url), _) => parse_url(url)?,
        (None, listen) if listen.port() != 0 => parse_url(&format!("http://{}", reachable(listen)))?,
        (None, _) => {
            return Err(CliError::Usage(
                "say where the service is, with --service URL".to_owned(),
            ));
        }
    };
    let remote = HttpClient::new(tls, &url)?;
    match act {
        SandboxCommand::Query(look) => {
            let (path, pairs) = look.route_and_query();
            let mut url = at(&url, path)?;
            for (name, value) in pairs {
                url.query_pairs_mut().append_pair(name, &value);
            }
            remote.get(&url, &[]).await
        }
        act => {
            let (path, body) = request_body(act);
            remote.post(&at(&url, path)?, &without_nulls(body)).await
        }
    }
}

impl SandboxQuery {
    /// The route and its parameters.
    fn route_and_query(&self) -> (&'static str, Vec<(&'static str, String)>) {
        let pairs = match self {
            Self::State { .. } | Self::MagicValues | Self::Clock => Vec::new(),
            Self::Balance { wallet } => vec![("wallet", wallet.clone())],
            Self::Transfers { network, after } => vec![("network", network.clone()), ("after", after.to_string())],
        };
        let path = match self {
            Self::State { area: of } if of == "payouts" => "/sandbox/payouts",
            Self::State { area: of } if of == "catalogs" => "/sandbox/catalogs",
            Self::State { .. } => "/sandbox",
            Self::MagicValues => "/sandbox/magic",
            Self::Clock => "/sandbox/time",
            Self::Balance { .. } => "/sandbox/balances",
            Self::Transfers { .. } => "/sandbox/transfers",
        };
        (path, pairs)
    }
}

/// The route and its body.
fn request_body(act: &SandboxCommand) -> (&'static str, Value) {
    match act {
        // Queries have no body.
        SandboxCommand::Query(look) => (look.route_and_query().0, Value::Null),
        SandboxCommand::AdvanceClock { duration: by } => ("/sandbox/time", json!({"advance_seconds": by.as_secs()})),
        SandboxCommand::Fault(fault) => fault.route_and_body(),
        SandboxCommand::PayoutEvent {
            payout_id,
            status,
            sequence,
        } => {
            let body = json!({"payout_id": payout_id, "event": status, "sequence": sequence});
            ("/sandbox/payouts", body)
        }
        SandboxCommand::BankReturn {
            account_id,
            transfer_id,
            amount,
        } => {
            let body = json!({"account_id": account_id, "amount": amount, "returns": transfer_id});
            ("/sandbox/bank-deposits", body)
        }
        SandboxCommand::BankDeposit {
            account_id,
            amount,
            sender,
        } => {
            let body = json!({"account_id": account_id, "amount": amount, "sender": sender});
            ("/sandbox/bank-deposits", body)
        }
        SandboxCommand::Identity { wallet, result, reason } => {
            let body = json!({"wallet": wallet, "passed": result == "passed", "reason": reason});
            ("/sandbox/identity-result", body)
        }
        SandboxCommand::Link { wallet, off } => ("/sandbox/link", json!({"wallet": wallet, "linked": !off})),
        SandboxCommand::Charge {
            card_id,
            merchant,
            amount,
            pending,
        } => {
            let body = json!({"card_id": card_id, "merchant": merchant, "amount": amount, "pending": pending});
            ("/sandbox/charge", body)
        }
        SandboxCommand::ChargeOutcome {
            card_id,
            transaction_id,
            status,
        } => {
            let body = json!({"card_id": card_id, "transaction_id": transaction_id, "status": status});
            ("/sandbox/charge-outcome", body)
        }
        SandboxCommand::HoldCredits { off } => ("/sandbox/card-balances", json!({"hold_credits": !off})),
        SandboxCommand::ExchangeRate { currency, usd_per_unit } => {
            let body = json!({"change": "set", "currency": currency, "usd_per_unit": usd_per_unit});
            ("/sandbox/rates", body)
        }
        SandboxCommand::Faucet { wallet, amount, from } => {
            let body = json!({"wallet": wallet, "amount": amount, "from": from});
            ("/sandbox/faucet", body)
        }
    }
}

impl FaultArgs {
    fn route_and_body(&self) -> (&'static str, Value) {
        let path = match self.provider.as_str() {
            "issuer" => "/sandbox/issuer",
            "reloadable-cards" => "/sandbox/card-program",
            "payouts" => "/sandbox/payouts",
            "bank" => "/sandbox/bank",
            "bridge" => "/sandbox/bridge",
            "identity" => "/sandbox/identity",
            "issuer-accounts" => "/sandbox/accounts",
            "gift-cards" => "/sandbox/gift-cards",
            "merchants" => "/sandbox/merchants",
            _ => "/sandbox/chain",
        };
        let body = json!({
            "fault": self.fault, "times": self.times, "delay_ms": self.delay_ms, "network": self.network, "wallet": self.wallet,
            "reason": self.reason, "operation": self.operation, "product_id": self.product_id,
            "stock": self.stock,
        });
        (path, body)
    }
}

/// Drops absent members: each route knows its own and rejects others.
fn without_nulls(body: Value) -> Value {
    let Value::Object(members) = body else { return body };
    Value::Object(members.into_iter().filter(|(_, value)| !value.is_null()).collect())
}
