//! The callable functions of banking: who somebody is to the bank, and what the bank then keeps and moves for them.

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

/// What these functions need.
pub struct BankingState {
    /// Reads calls, and the engine.
    pub callables: CallableState,
    /// Countries that banking is open to, as ISO 3166-1 alpha-2.
    pub countries: Vec<String>,
    /// The range of payouts.
    pub product: ProductConfig,
    /// What they cost.
    pub prices: Arc<PriceBook>,
    /// Seals tax and account numbers.
    pub vault: Arc<Vault>,
    /// Keeps documents.
    pub documents: DocumentStore,
    /// For days that must be over.
    pub clock: Arc<dyn Clock>,
    /// Ids.
    pub entropy: Arc<dyn Entropy>,
}

type SharedState = axum::extract::State<Arc<BankingState>>;

/// The operations of this room.
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

/// The routes.
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
