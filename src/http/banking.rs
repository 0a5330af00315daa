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
pub mod upload_permits;

use std::sync::Arc;

use super::app::App;
use super::route::routes;

use documents::MAX_UPLOAD_BYTES;

type SharedState = axum::extract::State<Arc<App>>;

routes! { pub static ROUTES: Arc<App>, openapi;
    POST "/createBankingProfile" => profile::create_banking_profile {
        Callable, keyed(), refuses [
            TokenMissing, IdempotencyKeyInvalid, BodyMalformed, ParameterMissing, ParameterUnrecognized,
            ParameterInvalid, CountryNotServed, UserIdMismatch, AccountFrozen, IdempotencyKeyReused,
            BankingProfileExists,
        ]
    }
    POST "/getBankingProfileStatus" => profile::get_banking_profile_status {
        Callable, unkeyed("reads"), refuses [TokenMissing, ParameterUnrecognized, UserIdMismatch, AccountFrozen]
    }
    POST "/getBankingApplication" => application::get_banking_application {
        Callable, unkeyed("reads"), refuses [
            TokenMissing, ParameterUnrecognized, UserIdMismatch, AccountFrozen, BankingProfileNotFound,
        ]
    }
    POST "/updateBankingApplicationDetails" => application::update_banking_application_details {
        Callable, keyed(), refuses [
            TokenMissing, IdempotencyKeyInvalid, ParameterUnrecognized, ParameterInvalid, ParameterMissing,
            UserIdMismatch, AccountFrozen, IdempotencyKeyReused, BankingProfileNotFound, ApplicationLocked,
        ]
    }
    POST "/submitBankingApplication" => application::submit_banking_application {
        Callable, keyed(), refuses [
            TokenMissing, IdempotencyKeyInvalid, ParameterUnrecognized, UserIdMismatch, AccountFrozen,
            IdempotencyKeyReused, BankingProfileNotFound, ApplicationIncomplete, ApplicationLocked,
        ]
    }
    POST "/uploadBankingDocument" => documents::upload_banking_document {
        Callable, keyed(), body_limit(MAX_UPLOAD_BYTES), refuses [
            TokenMissing, IdempotencyKeyInvalid, ParameterUnrecognized, ParameterMissing, ParameterInvalid,
            BodyTooLarge, DocumentTypeNotSupported, UserIdMismatch, AccountFrozen, IdempotencyKeyReused,
            BankingProfileNotFound, ApplicationLocked,
        ]
    }
    POST "/createBankingAccount" => accounts::create_banking_account {
        Callable, keyed(), refuses [
            TokenMissing, IdempotencyKeyInvalid, ParameterUnrecognized, ParameterMissing, ParameterInvalid,
            UserIdMismatch, AccountFrozen, IdempotencyKeyReused, BankingProfileNotFound, ApplicationNotApproved,
            BankAccountLimitReached,
        ]
    }
    POST "/listBankingAccounts" => accounts::list_banking_accounts {
        Callable, unkeyed("reads"), refuses [
            TokenMissing, ParameterUnrecognized, ParameterInvalid, UserIdMismatch, AccountFrozen, BankAccountNotFound,
        ]
    }
    POST "/createBankingRecipient" => recipients::create_banking_recipient {
        Callable, keyed(), confirmed(), refuses [
            TokenMissing, IdempotencyKeyInvalid, ParameterUnrecognized, ParameterMissing, ParameterInvalid,
            UserIdMismatch, AccountFrozen, IdempotencyKeyReused,
        ]
    }
    POST "/addBankingDestination" => recipients::add_banking_destination {
        Callable, keyed(), confirmed(), refuses [
            TokenMissing, IdempotencyKeyInvalid, ParameterUnrecognized, ParameterMissing, ParameterInvalid,
            UserIdMismatch, AccountFrozen, IdempotencyKeyReused, RecipientNotFound, DestinationLimitReached,
        ]
    }
    POST "/listBankingRecipients" => recipients::list_banking_recipients {
        Callable, unkeyed("reads"), refuses [
            TokenMissing, ParameterUnrecognized, ParameterInvalid, UserIdMismatch, AccountFrozen, DestinationNotFound,
        ]
    }
    POST "/updateBankingDestination" => destination::update_banking_destination {
        Callable, keyed(), confirmed(), refuses [
            TokenMissing, IdempotencyKeyInvalid, ParameterUnrecognized, ParameterMissing, ParameterInvalid,
            UserIdMismatch, AccountFrozen, SignInRequired, IdempotencyKeyReused, DestinationNotFound,
        ]
    }
    POST "/deleteBankingRecipient" => recipients::delete_banking_recipient {
        Callable, keyed(), refuses [
            TokenMissing, IdempotencyKeyInvalid, ParameterUnrecognized, ParameterMissing, UserIdMismatch,
            AccountFrozen, SignInRequired, IdempotencyKeyReused, RecipientNotFound,
        ]
    }
    POST "/createBankingTransfer" => transfers::create_banking_transfer {
        Callable, keyed(), confirmed(), refuses [
            TokenMissing, IdempotencyKeyInvalid, ParameterUnrecognized, ParameterInvalid, ParameterMissing,
            AmountInvalid, AmountOutOfRange, UserIdMismatch, AccountFrozen, SignInRequired, IdempotencyKeyReused,
            BankAccountNotFound, BankAccountReceiveOnly, InsufficientBalance,
        ]
    }
    POST "/sendBankingPayout" => transfers::send_banking_payout {
        Callable, keyed(), confirmed(), refuses [
            TokenMissing, IdempotencyKeyInvalid, ParameterUnrecognized, ParameterMissing, AmountInvalid,
            AmountOutOfRange, UserIdMismatch, AccountFrozen, SignInRequired, IdempotencyKeyReused, DestinationNotFound,
            DestinationTypeNotSupported, InsufficientBalance,
        ]
    }
    POST "/getBankingTransaction" => transactions::get_banking_transaction {
        Callable, unkeyed("reads"), refuses [
            TokenMissing, ParameterUnrecognized, ParameterMissing, UserIdMismatch, AccountFrozen, TransactionNotFound,
        ]
    }
    POST "/listBankingTransactions" => transactions::list_banking_transactions {
        Callable, unkeyed("reads"), refuses [
            TokenMissing, ParameterUnrecognized, ParameterInvalid, UserIdMismatch, AccountFrozen, TransactionNotFound,
        ]
    }
}
