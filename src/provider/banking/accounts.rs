//! The bank's trait and client; accounts, transfers and deposits on the wire.

use purser_actors::id::{BankAccountId, BankTransferId};
use purser_actors::money::Cents;
use purser_actors::port::banking::{
    AccountNumbers, AccountType, BankDecision, BankTransferRequest, BankTransferResult, IncomingTransfer,
    OpenAccountRequest, OpenAccountResult, ReviewDecision,
};
use purser_actors::port::{ErrorKind, PortFuture};
use serde::{Deserialize, Deserializer, Serialize, de};

use super::PlainApplication;
use super::applications::{ApplicationsApi as _, BankApplication, RemoteApplications};
use super::documents::{DocumentsApi as _, RemoteDocuments};
use crate::definition::{conversions, provider};
use crate::remote::failed;
use crate::server::missing;
#[cfg(feature = "documents")]
use crate::wire::DecimalAmount;
use crate::wire::{self, AfterParam, MalformedResponse, rising};

provider! {
    /// A bank, with unsealed data. The rules are those of [`Bank`](purser_actors::port::banking::Bank).
    trait BankApi, client RemoteBank, tag "Banking";

    /// Opens an account, or queries its status.
    fn open(order: &'a OpenAccountRequest) -> BankDecision<OpenAccountResult> {
        POST "/bank-accounts" openBankAccount "Open an account, or query its status";
        key key = order.key, "The same key never opens a second account.";
        asks body it: OpenAccountBody = OpenAccountBody {
            account_id: order.account,
            customer: order.customer.clone(),
            account_type: order.account_type,
        };
        calls (&OpenAccountRequest {
            key,
            account: it.account_id,
            customer: it.customer,
            account_type: it.account_type,
        });
        answers BankAccountResponse {
            account_id = order.account, customer = order.customer.clone(); state
        } "Result of the request.";
    }

    /// Starts a transfer, or queries its status.
    fn transfer(order: &'a BankTransferRequest) -> BankDecision<BankTransferResult> {
        POST "/bank-transfers" createBankTransfer "Transfer money between the service and an account, or query a transfer";
        key key = order.key, "The same key transfers once.";
        asks body it: BankTransferBody = BankTransferBody {
            transfer_id: order.transfer,
            account_id: order.account,
            amount: order.amount,
            direction: BankTransferDirection::of(order.to_account),
        };
        calls (&BankTransferRequest {
            key,
            transfer: it.transfer_id,
            account: it.account_id,
            amount: it.amount,
            to_account: it.direction == BankTransferDirection::ToAccount,
        });
        answers BankTransferResponse {
            transfer_id = order.transfer, amount = order.amount; state
        } "Result of the request.";
    }

    /// Incoming transfers after position `after`.
    fn incoming(after: u64, limit: usize) -> Vec<IncomingTransfer> {
        GET "/bank-deposits" listBankDeposits "List incoming transfers after a position";
        asks query it: AfterParam = AfterParam { after, limit };
        calls (it.after, it.bounded());
        absent Vec::new();
        answers BankDepositList "Deposits in the order of their positions.";
        check |transfers| check_incoming(after, transfers);
    }

    /// Current balance of an account.
    fn balance(account: BankAccountId) -> Cents {
        GET "/bank-accounts/{account_id}" getBankAccountBalance "Return the current balance of an account";
        at account_id = account, "The service's id of the resource.";
        calls (account_id.parse::<BankAccountId>().map_err(|_| missing("there is no such account"))?);
        answers BankBalance { account_id = account; balance } "The balance.";
    }

    also {
        /// Submits an application, or queries its review. `Permanent` if the key was used with different content.
        fn review(&self, application: PlainApplication) -> PortFuture<'_, BankDecision<ReviewDecision>>;
    }

    // Documents are uploaded separately and once, because an application is queried many times.
    remote {
        fn review(&self, application: PlainApplication) -> PortFuture<'_, BankDecision<ReviewDecision>> {
            Box::pin(async move {
                let applications = RemoteApplications(self.0.clone());
                let submitted = BankApplication::from(&application);
                let missing = match applications.submit(&submitted).await?.decision() {
                    Ok(decision) => return Ok(decision),
                    Err(missing) => missing,
                };
                let documents = RemoteDocuments(self.0.clone());
                for paper in application.documents.iter().filter(|paper| missing.contains(&paper.id)) {
                    documents.upload(paper.id, &paper.bytes).await?;
                }
                // If some are missing again, nothing was decided; the next attempt may find them all.
                let lost = |_| failed(ErrorKind::Temporary, "submitBankApplication", "the bank lost a document");
                applications.submit(&submitted).await?.decision().map_err(lost)
            })
        }
    }
}

/// Purpose of an account.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(remote = "AccountType")]
pub enum BankAccountType {
    /// Incoming money belongs to the service, which credits the account owner.
    #[serde(rename = "onramp")]
    OnRamp,
    /// The account owner keeps dollars in this account.
    #[serde(rename = "offramp")]
    OffRamp,
}

/// A request to open an account.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(as = OpenBankAccountRequest))]
#[serde(deny_unknown_fields)]
pub struct OpenAccountBody {
    /// The service's id of the account.
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    account_id: BankAccountId,
    /// The bank's reference of the customer.
    customer: String,
    /// Purpose of the account.
    #[serde(with = "BankAccountType")]
    #[cfg_attr(feature = "documents", schema(value_type = BankAccountType))]
    account_type: AccountType,
}

/// Result of opening an account. It repeats the request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct BankAccountResponse {
    /// Account id of the request.
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    account_id: BankAccountId,
    /// Customer of the request.
    customer: String,
    /// Status of the account.
    #[serde(flatten)]
    state: BankAccountStatus,
}

/// Status of an account.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum BankAccountStatus {
    /// Not opened yet; query again with the same key after this time.
    Pending {
        /// Delay in milliseconds.
        retry_after_ms: u64,
    },
    /// The account is open.
    Open {
        /// Name of the bank, at most 200 bytes.
        #[serde(deserialize_with = "wire::name")]
        bank_name: String,
        /// ABA routing number, nine digits.
        #[serde(deserialize_with = "routing_number")]
        routing_number: String,
        /// Account number, at most 200 bytes.
        #[serde(deserialize_with = "wire::name")]
        account_number: String,
        /// Reference text (memo) that a payer must include; `null` if none. Money sent without it may be lost.
        #[serde(deserialize_with = "optional_name")]
        #[cfg_attr(feature = "documents", schema(required))]
        memo: Option<String>,
    },
    /// No account exists under this key, and none ever will.
    Rejected {
        /// The bank's reason.
        reason: String,
    },
}

fn routing_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    match text.len() == 9 && text.bytes().all(|b| b.is_ascii_digit()) {
        true => Ok(text),
        false => Err(de::Error::custom("a routing number has nine digits")),
    }
}

fn optional_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    struct Name(#[serde(deserialize_with = "wire::name")] String);

    Ok(Option::<Name>::deserialize(deserializer)?.map(|name| name.0))
}

conversions! {
    BankAccountStatus = BankDecision<OpenAccountResult> {
        BankAccountStatus::Pending { retry_after_ms } = (BankDecision::Pending { retry_after_ms });
        BankAccountStatus::Open { bank_name, routing_number, account_number, memo } = (
            BankDecision::Final(OpenAccountResult::Open(
                AccountNumbers { bank_name, routing_number, account_number, memo }
            ))
        );
        BankAccountStatus::Rejected { reason } = (BankDecision::Final(OpenAccountResult::Rejected { reason }));
    }
    BankTransferStatus = BankDecision<BankTransferResult> {
        BankTransferStatus::Pending { retry_after_ms } = (BankDecision::Pending { retry_after_ms });
        BankTransferStatus::Complete { reference } = (BankDecision::Final(BankTransferResult::Complete { reference }));
        BankTransferStatus::Failed { reason } = (BankDecision::Final(BankTransferResult::Failed { reason }));
    }
    BankDeposit = IncomingTransfer {
        BankDeposit { position, reference, account_id, amount, sender, returned_transfer_id } = (
            IncomingTransfer {
                position, reference, account: account_id, amount, sender, returned_transfer: returned_transfer_id
            }
        );
    }
    list BankDepositList { deposits } = IncomingTransfer;
}

/// Direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum BankTransferDirection {
    /// From the service's money at the bank to the owner's account.
    ToAccount,
    /// From the owner's account to the service.
    FromAccount,
}

impl BankTransferDirection {
    const fn of(to_account: bool) -> Self {
        match to_account {
            true => Self::ToAccount,
            false => Self::FromAccount,
        }
    }
}

/// A transfer between the service's money at the bank and an owner's account.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(as = BankTransferRequest))]
#[serde(deny_unknown_fields)]
pub struct BankTransferBody {
    /// The service's id of the transfer.
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    transfer_id: BankTransferId,
    /// The service's id of the account.
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    account_id: BankAccountId,
    /// Amount in US dollars.
    #[cfg_attr(feature = "documents", schema(value_type = DecimalAmount))]
    amount: Cents,
    /// Direction of the transfer.
    direction: BankTransferDirection,
}

/// Result of a transfer. It repeats the request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct BankTransferResponse {
    /// Transfer id of the request.
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    transfer_id: BankTransferId,
    /// Amount of the request.
    #[cfg_attr(feature = "documents", schema(value_type = DecimalAmount))]
    amount: Cents,
    /// Status of the transfer.
    #[serde(flatten)]
    state: BankTransferStatus,
}

/// Status of a transfer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum BankTransferStatus {
    /// Not completed yet; query again with the same key after this time.
    Pending {
        /// Delay in milliseconds.
        retry_after_ms: u64,
    },
    /// The transfer is complete.
    Complete {
        /// The bank's reference of the transfer, 1 to 200 bytes.
        #[serde(deserialize_with = "wire::name")]
        reference: String,
    },
    /// The transfer failed and is never executed under this key.
    Failed {
        /// The bank's reason.
        reason: String,
    },
}

/// Deposits into on-ramps and returned transfers, in the order of their positions.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct BankDepositList {
    /// Oldest first; each position is higher than the one before.
    deposits: Vec<BankDeposit>,
}

/// Money for the service to credit: a deposit into an on-ramp, or a returned transfer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct BankDeposit {
    /// Position over all accounts, from 1. Use it as `after` to continue.
    position: u64,
    /// The bank's reference of the deposit, 1 to 200 bytes. A repeated reference is the same deposit.
    #[serde(deserialize_with = "wire::name")]
    reference: String,
    /// The service's id of the account.
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    account_id: BankAccountId,
    /// Amount in US dollars.
    #[cfg_attr(feature = "documents", schema(value_type = DecimalAmount))]
    amount: Cents,
    /// Sender as reported by the bank.
    sender: String,
    /// The service's own transfer that is returned by this deposit; `null` for a deposit by others.
    #[serde(deserialize_with = "Option::deserialize")]
    #[cfg_attr(feature = "documents", schema(value_type = Option<String>))]
    returned_transfer_id: Option<BankTransferId>,
}

fn check_incoming(after: u64, transfers: &[IncomingTransfer]) -> Result<(), MalformedResponse> {
    rising(after, transfers.iter().map(|one| one.position))?;
    match transfers.iter().any(|one| one.amount == Cents::ZERO) {
        true => Err(MalformedResponse("it is about no money")),
        false => Ok(()),
    }
}

/// Current balance of an account.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct BankBalance {
    /// The service's id of the account.
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    account_id: BankAccountId,
    /// Balance in US dollars.
    #[cfg_attr(feature = "documents", schema(value_type = DecimalAmount))]
    balance: Cents,
}
