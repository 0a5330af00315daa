//! Callable functions of banking: the customer's profile and application, accounts, recipients and transfers.

mod accounts;
mod application;
mod destination;
mod documents;
mod fields;
mod profile;
mod recipients;
mod transactions;
mod transfers;

use std::sync::Arc;

use axum::Router;
use axum::routing::post;
use purser_actors::port::{Clock, Entropy};
use utoipa::OpenApi;

use super::callable::CallableState;
use crate::config::ProductConfig;
use crate::prices::PriceBook;
use crate::vault::{DocumentStore, Vault};

pub use documents::MAX_UPLOAD_BYTES;

pub struct BankingState {
    pub callables: CallableState,
    /// Countries where banking is available, as ISO 3166-1 alpha-2.
    pub countries: Vec<String>,
    /// Amount range of payouts.
    pub product: ProductConfig,
    /// Prices of payouts.
    pub prices: Arc<PriceBook>,
    /// Seals tax and account numbers.
    pub vault: Arc<Vault>,
    pub documents: DocumentStore,
    /// Clock for checks of past dates.
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
}

type SharedState = axum::extract::State<Arc<BankingState>>;

#[derive(OpenApi)]
#[openapi(paths(
    profile::create_banking_profile,
    profile::get_banking_profile_status,
    application::get_banking_application,
    application::update_banking_application_details,
    application::submit_banking_application,
    documents::upload_banking_document,
    accounts::create_banking_account,
    accounts::list_banking_accounts,
    recipients::create_banking_recipient,
    recipients::add_banking_destination,
    recipients::list_banking_recipients,
    destination::update_banking_destination,
    recipients::delete_banking_recipient,
    transfers::create_banking_transfer,
    transfers::send_banking_payout,
    transactions::get_banking_transaction,
    transactions::list_banking_transactions
))]
pub struct ApiDoc;

pub fn router(banking: Arc<BankingState>) -> Router {
    Router::new()
        .route("/createBankingProfile", post(profile::create_banking_profile))
        .route("/getBankingProfileStatus", post(profile::get_banking_profile_status))
        .route("/getBankingApplication", post(application::get_banking_application))
        .route(
            "/updateBankingApplicationDetails",
            post(application::update_banking_application_details),
        )
        .route(
            "/submitBankingApplication",
            post(application::submit_banking_application),
        )
        .route("/uploadBankingDocument", post(documents::upload_banking_document))
        .route("/createBankingAccount", post(accounts::create_banking_account))
        .route("/listBankingAccounts", post(accounts::list_banking_accounts))
        .route("/createBankingRecipient", post(recipients::create_banking_recipient))
        .route("/addBankingDestination", post(recipients::add_banking_destination))
        .route("/listBankingRecipients", post(recipients::list_banking_recipients))
        .route(
            "/updateBankingDestination",
            post(destination::update_banking_destination),
        )
        .route("/deleteBankingRecipient", post(recipients::delete_banking_recipient))
        .route("/createBankingTransfer", post(transfers::create_banking_transfer))
        .route("/sendBankingPayout", post(transfers::send_banking_payout))
        .route("/getBankingTransaction", post(transactions::get_banking_transaction))
        .route(
            "/listBankingTransactions",
            post(transactions::list_banking_transactions),
        )
        .with_state(banking)
}
