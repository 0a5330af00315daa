//! The table of error codes. `docs/errors.md` is generated from it, and `/openapi.json` takes its examples from it.
//!
//! A code is published and recorded under idempotency keys: its name and status never change, and it is never removed.

use http::StatusCode;
use serde::{Serialize, Serializer};

/// When the same request can succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Never: the error is terminal.
    Never,
    /// After some time.
    Later,
    /// After a change outside the request: a sign-in, a payment, more balance or stock.
    AfterChange,
}

/// Generates [`ErrorCode`] from rows of `Name = status "code" Retry;`. A row's documentation is what the code means, for
/// clients.
macro_rules! errors {
    ($($(#[doc = $line:literal])+ $name:ident = $status:literal $code:literal $retry:ident;)*) => {
        /// The code of an error response, for programs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $($(#[doc = $line])+ $name,)*
        }

        impl ErrorCode {
            /// In the order of `docs/errors.md`.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The code as clients see it.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }

            /// What it means, in Markdown.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$name => concat!($($line),+).trim_ascii_start(),)* }
            }

            /// Whether the same request can succeed, and when.
            pub const fn retry(self) -> Retry {
                match self { $(Self::$name => Retry::$retry,)* }
            }

            const fn status_number(self) -> u16 {
                match self { $(Self::$name => $status,)* }
            }
        }
    };
}

impl ErrorCode {
    /// The HTTP status of every response with this code.
    pub fn status(self) -> StatusCode {
        // Every row has a valid status: a test reads them all.
        StatusCode::from_u16(self.status_number()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// The code of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == name)
    }
}

impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(feature = "documents")]
impl utoipa::PartialSchema for ErrorCode {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        use utoipa::openapi::schema::{ObjectBuilder, Type};
        let string = ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some("Code of an error."));
        let names = Self::ALL.iter().map(|code| code.as_str());
        string.enum_values(Some(names)).build().into()
    }
}

#[cfg(feature = "documents")]
impl utoipa::ToSchema for ErrorCode {
    fn name() -> std::borrow::Cow<'static, str> {
        std::borrow::Cow::Borrowed("ErrorCodeName")
    }
}

errors! {
    /// A required parameter or body field is absent.
    ParameterMissing = 400 "parameter_missing" Never;
    /// A parameter has an invalid value.
    ParameterInvalid = 400 "parameter_invalid" Never;
    /// The query is not well-formed.
    QueryMalformed = 400 "query_malformed" Never;
    /// A parameter is given twice. Purser doesn't choose between the values.
    ParameterDuplicated = 400 "parameter_duplicated" Never;
    /// The route does not accept this parameter. The hint has the nearest name.
    ParameterUnrecognized = 400 "parameter_unrecognized" Never;
    /// Not a plain decimal with at most two places.
    AmountInvalid = 400 "amount_invalid" Never;
    /// The product is not sold, or cannot be redeemed, in this country.
    CountryNotServed = 400 "country_not_served" Never;
    /// `display_name` is not a text of 1 to 100 characters.
    InvalidDisplayName = 400 "invalid_display_name" Never;
    /// `archived` is neither true nor false.
    InvalidArchived = 400 "invalid_archived" Never;
    /// The amount is outside the product's range.
    AmountOutOfRange = 400 "amount_out_of_range" Never;
    /// The URL is malformed, has an internal address or name or another port, or contains credentials.
    WebhookUrlNotAllowed = 400 "webhook_url_not_allowed" Never;
    /// The body is not the JSON that the route expects.
    BodyMalformed = 400 "body_malformed" Never;
    /// The request itself is malformed.
    InvalidRequest = 400 "invalid_request" Never;
    /// The request has two payments. Send one.
    MultiplePayments = 400 "multiple_payments" Never;
    /// The x402 extension `payment-identifier` has no `info`, or its `id` is not 16 to 128 letters, digits, `-` and
    /// `_`. Nothing was charged.
    PaymentIdentifierInvalid = 400 "payment_identifier_invalid" Never;
    /// The payer has used this payment identifier for another request. Nothing was charged.
    PaymentIdentifierReused = 409 "payment_identifier_reused" Never;
    /// The header is not one value of 1 to 255 ASCII characters.
    IdempotencyKeyInvalid = 400 "idempotency_key_invalid" Never;
    /// The route needs a bearer token, or on the service's own pages the session cookie.
    TokenMissing = 401 "token_missing" AfterChange;
    /// The token was not issued by this service.
    TokenInvalid = 401 "token_invalid" AfterChange;
    /// The token has expired. Refresh with `POST /auth`.
    TokenExpired = 401 "token_expired" AfterChange;
    /// The session of the token was revoked. Sign in again.
    TokenRevoked = 401 "token_revoked" AfterChange;
    /// The refresh token was not issued by this service, or has expired.
    RefreshTokenInvalid = 401 "refresh_token_invalid" AfterChange;
    /// The refresh token was used twice or was revoked: the whole session has ended.
    RefreshTokenRevoked = 401 "refresh_token_revoked" AfterChange;
    /// The challenge: the price and where to pay.
    PaymentRequired = 402 "payment_required" AfterChange;
    /// The payment failed verification. `error` names the reason. Comes with a fresh challenge.
    PaymentInvalid = 402 "payment_invalid" AfterChange;
    /// The chain declined the transfer (`success: false`), or would decline it and nothing was sent. Nothing was
    /// charged so far. `x_service_guidance` says whether the transfer may still settle, until when, and that it is
    /// credited then.
    SettlementFailed = 402 "settlement_failed" AfterChange;
    /// The token or the page's session was issued for a payment or an API key and does not permit this
    /// ([which](routes.md#tokens-issued-for-a-payment)).
    SignInRequired = 403 "sign_in_required" AfterChange;
    /// `agentAuth` needs an API key.
    ApiKeyMissing = 401 "api_key_missing" AfterChange;
    /// The API key was not issued by this service.
    ApiKeyInvalid = 401 "api_key_invalid" AfterChange;
    /// The service was restored from a backup without its revocation log. Create another API key, or have this one
    /// confirmed.
    ApiKeySuspended = 401 "api_key_suspended" AfterChange;
    /// The API key was revoked by its owner.
    ApiKeyRevoked = 401 "api_key_revoked" AfterChange;
    /// The API key belongs to another wallet.
    ApiKeyAccessDenied = 403 "api_key_access_denied" Never;
    /// No such API key.
    ApiKeyNotFound = 404 "api_key_not_found" Never;
    /// A session of a page needs the owner's confirmation for this. `reason` is `passkey`: confirm with one of the
    /// account's, then send the request again. Or it is `login_link`: the account has no passkey, and the session is not
    /// one of a login link that the wallet signed and that was opened within ten minutes.
    ConfirmationRequired = 403 "confirmation_required" AfterChange;
    /// Operators: a session that a token opened must add a passkey first.
    PasskeyRequired = 403 "passkey_required" AfterChange;
    /// Browsers offer no passkeys at this address: it needs a host name with TLS, or `localhost`.
    PasskeysUnavailable = 409 "passkeys_unavailable" Never;
    /// The browser's answer is not that of a passkey.
    PasskeyMalformed = 400 "passkey_malformed" Never;
    /// The passkey's key is none of ES256, EdDSA and RS256.
    PasskeyAlgorithmUnsupported = 400 "passkey_algorithm_unsupported" Never;
    /// The answer belongs to another ceremony or session, or its challenge has expired or was answered before.
    PasskeyChallengeInvalid = 403 "passkey_challenge_invalid" Never;
    /// The answer was made at another address.
    PasskeyOriginMismatch = 403 "passkey_origin_mismatch" Never;
    /// The device did not check who uses it (PIN, fingerprint, face).
    PasskeyUserNotVerified = 403 "passkey_user_not_verified" Never;
    /// The signature of the answer does not match.
    PasskeySignatureInvalid = 403 "passkey_signature_invalid" Never;
    /// The signature counter did not grow, so there may be a copy of the passkey. Remove it.
    PasskeyCounterRegressed = 403 "passkey_counter_regressed" Never;
    /// No account, or another one, has this passkey.
    PasskeyUnknown = 403 "passkey_unknown" Never;
    /// The passkey was removed from the account.
    PasskeyRemoved = 403 "passkey_removed" Never;
    /// The service was restored from a backup without its revocation log. An operator confirms the passkey.
    PasskeySuspended = 403 "passkey_suspended" AfterChange;
    /// No such passkey of the account.
    PasskeyNotFound = 404 "passkey_not_found" Never;
    /// The passkey was added before.
    PasskeyAlreadyAdded = 409 "passkey_already_added" Never;
    /// The maximum number of passkeys is reached. Remove one first.
    PasskeyLimitReached = 409 "passkey_limit_reached" Never;
    /// The account has no passkey to lose: a login link opens it. Sign in with `GET /auth`, then `GET /get-auth-link`.
    RecoveryNotNeeded = 409 "recovery_not_needed" Never;
    /// No recovery of the account is in progress.
    RecoveryNotFound = 404 "recovery_not_found" Never;
    /// The account has the maximum number of API keys, `signup.max_keys_per_account`.
    ApiKeyLimitReached = 409 "api_key_limit_reached" Never;
    /// The claim token was not issued by this service. Final: start again with `POST /signup`.
    ClaimTokenInvalid = 401 "claim_token_invalid" AfterChange;
    /// The signup was not approved in time.
    SignupExpired = 410 "signup_expired" Never;
    /// The account owner rejected the signup.
    SignupRejected = 410 "signup_rejected" Never;
    /// The API key was used, was revoked or is older than ten minutes: it is not shown again.
    ApiKeyNoLongerAvailable = 410 "api_key_no_longer_available" Never;
    /// The claim page's form names no known signup.
    SignupNotFound = 404 "signup_not_found" Never;
    /// The signup is already approved.
    SignupAlreadyClaimed = 409 "signup_already_claimed" Never;
    /// The account is frozen. `frozen_message` has the reason.
    AccountFrozen = 403 "account_frozen" Never;
    /// The account owner has stopped all agents: nothing is accepted from a token, an API key or a wallet of the account.
    /// Nothing was charged.
    AgentsStopped = 403 "agents_stopped" AfterChange;
    /// The operator address was called by a host name. It accepts only an IP address or `localhost`.
    HostNotAllowed = 421 "host_not_allowed" Never;
    /// The payout belongs to another wallet.
    PayoutAccessDenied = 403 "payout_access_denied" Never;
    /// The saved recipient belongs to another wallet.
    RecipientAccessDenied = 403 "recipient_access_denied" Never;
    /// The wallet payment belongs to another account's managed wallet.
    WalletPaymentAccessDenied = 403 "wallet_payment_access_denied" Never;
    /// A cap, a pin or the address filter forbids the payment. With `reason` `own_terms`: another server's offer pays
    /// this service. An offer for a token other than the settlement token is rejected too. Nothing was signed.
    PolicyFiltered = 403 "policy_filtered" Never;
    /// The approval belongs to another wallet, or another agent asked for it.
    ApprovalAccessDenied = 403 "approval_access_denied" Never;
    /// The account's owner declined the spend. Nothing was signed.
    ApprovalDeclined = 403 "approval_declined" Never;
    /// The approval is for another spend. Nothing was signed.
    ApprovalMismatch = 409 "approval_mismatch" Never;
    /// The approval was not given or not used in time. Nothing was signed.
    ApprovalExpired = 409 "approval_expired" Never;
    /// The approval was used. It is for one spend.
    ApprovalUsed = 409 "approval_used" Never;
    /// The access of the agent that asked for the approval has ended: its API key was revoked, or all agents were
    /// stopped.
    ApprovalKeyRevoked = 409 "approval_key_revoked" Never;
    /// The bank account belongs to another wallet.
    BankAccountAccessDenied = 403 "bank_account_access_denied" Never;
    /// `userId` of a callable function is not the caller's.
    UserIdMismatch = 403 "user_id_mismatch" Never;
    /// The bearer token and the payment belong to different wallets.
    WrongWallet = 403 "wrong_wallet" Never;
    /// The product is not available now: its provider is down, or an operator has closed it. Nothing was charged.
    ProductUnavailable = 503 "product_unavailable" Later;
    /// There is no current exchange rate for the currency. Nothing was charged.
    ExchangeRateUnavailable = 503 "exchange_rate_unavailable" Later;
    /// A daily cap of the account is exceeded. Nothing was charged.
    CapExceeded = 403 "cap_exceeded" AfterChange;
    /// The product needs the owner's verified identity. `GET /get-kyc-link`. Nothing was charged.
    IdentityVerificationRequired = 412 "identity_verification_required" AfterChange;
    /// The product needs an account at the card issuer, linked by the owner. Nothing was charged.
    IssuerNotLinked = 412 "issuer_not_linked" AfterChange;
    /// There is no banking profile yet: `createBankingProfile`.
    BankingProfileNotFound = 404 "banking_profile_not_found" Never;
    /// No such bank account.
    BankAccountNotFound = 404 "bank_account_not_found" Never;
    /// No such transfer or bank payout of this wallet.
    TransactionNotFound = 404 "transaction_not_found" Never;
    /// The first bytes of the document are not those of a PDF, PNG or JPEG.
    DocumentTypeNotSupported = 415 "document_type_not_supported" Never;
    /// The receiver on Solana has no token account for USDC. Nothing was held.
    TokenAccountMissing = 409 "token_account_missing" AfterChange;
    /// The balance at the card issuer is smaller than the amount. Nothing was taken. While a top-up is on its way, the
    /// error says so with `retry_after_seconds`.
    InsufficientCardBalance = 409 "insufficient_card_balance" AfterChange;
    /// The issuer declined to open a reloadable card. Nothing was taken.
    CardCreationDeclined = 409 "card_creation_declined" Never;
    /// The card was not created or has ended, so no action is possible.
    CardNotOpen = 409 "card_not_open" Never;
    /// The card issuer has not answered the previous action yet. Try again with a new key.
    CardActionInProgress = 409 "card_action_in_progress" Never;
    /// The issuer declined to hold the amount. Nothing was taken.
    WithdrawalDeclined = 409 "withdrawal_declined" Never;
    /// Operators: the withdrawal is already decided, or not yet in the queue.
    WithdrawalNotOpen = 409 "withdrawal_not_open" Never;
    /// Operators: in the history lost by a restore, the card issuer paid the withdrawal or released its hold, and it is
    /// decided accordingly now. Do not pay it.
    WithdrawalClosedAtIssuer = 409 "withdrawal_closed_at_issuer" Never;
    /// Operators: the account of the withdrawal is frozen. Do not pay it until the account is unfrozen.
    HeldFrozen = 409 "held_frozen" Never;
    /// Operators: the card issuer has no hold for the withdrawal. Do not pay it. Ask the issuer.
    WithdrawalHoldMissing = 409 "withdrawal_hold_missing" Never;
    /// Operators: another operator holds the lease on the withdrawal.
    WithdrawalLeased = 409 "withdrawal_leased" Never;
    /// Operators: this transaction paid another withdrawal.
    TransactionAlreadyUsed = 409 "transaction_already_used" Never;
    /// The gift card is not in stock, or not for this amount. Nothing was charged.
    OutOfStock = 409 "out_of_stock" AfterChange;
    /// The card belongs to another wallet.
    CardAccessDenied = 403 "card_access_denied" Never;
    /// The payment belongs to another wallet.
    PaymentAccessDenied = 403 "payment_access_denied" Never;
    /// The operator token is valid, but its role does not have the permission.
    RoleNotPermitted = 403 "role_not_permitted" Never;
    /// Operators: the operator who requested a refund cannot approve it.
    RefundSelfApproval = 403 "refund_self_approval" Never;
    /// Operators: the operator who requested an action cannot approve it.
    ApprovalOwn = 403 "approval_own" Never;
    /// The callback's signature is invalid or too old.
    CallbackSignatureInvalid = 401 "callback_signature_invalid" AfterChange;
    /// The top-up belongs to another wallet.
    TopUpAccessDenied = 403 "top_up_access_denied" Never;
    /// The withdrawal belongs to another wallet.
    WithdrawalAccessDenied = 403 "withdrawal_access_denied" Never;
    /// The webhook endpoint belongs to another wallet, or another agent registered it.
    WebhookAccessDenied = 403 "webhook_access_denied" Never;
    /// The delivery belongs to another wallet, or to an endpoint that another agent registered.
    DeliveryAccessDenied = 403 "delivery_access_denied" Never;
    /// The request comes from a page of another origin, or has the session cookie and a body that is not JSON by its
    /// type.
    OriginNotAllowed = 403 "origin_not_allowed" Never;
    /// No such route.
    RouteNotFound = 404 "route_not_found" Never;
    /// The wallet has no account yet.
    AccountNotFound = 404 "account_not_found" Never;
    /// No such card.
    CardNotFound = 404 "card_not_found" Never;
    /// No such top-up.
    TopUpNotFound = 404 "top_up_not_found" Never;
    /// No such session of the account, or it has ended.
    SessionNotFound = 404 "session_not_found" Never;
    /// No such payment.
    PaymentNotFound = 404 "payment_not_found" Never;
    /// No such identity check.
    IdentityCheckNotFound = 404 "identity_check_not_found" Never;
    /// `starting_after` is not in this list of merchants.
    MerchantNotFound = 404 "merchant_not_found" Never;
    /// The account has no such bank destination. Nothing was charged.
    DestinationNotFound = 404 "destination_not_found" Never;
    /// No such payout.
    PayoutNotFound = 404 "payout_not_found" Never;
    /// The given details differ from the saved recipient. Nothing was charged.
    RecipientDiffers = 409 "recipient_differs" Never;
    /// No such saved recipient on that platform. On a paid route nothing was charged.
    RecipientNotFound = 404 "recipient_not_found" Never;
    /// `starting_after` is not in this list of gift cards.
    ProductNotFound = 404 "product_not_found" Never;
    /// No such job, or it has already completed.
    JobNotFound = 404 "job_not_found" Never;
    /// Operators: no such transfer to the treasury.
    IncomingTransferNotFound = 404 "incoming_transfer_not_found" Never;
    /// Operators: no suspended credential has this name after a restore.
    SuspensionNotFound = 404 "suspension_not_found" Never;
    /// Operators: no such product line.
    LineNotFound = 404 "line_not_found" Never;
    /// No such approval. Operators: no such pending approval, or it has expired.
    ApprovalNotFound = 404 "approval_not_found" Never;
    /// No such refund.
    RefundNotFound = 404 "refund_not_found" Never;
    /// No such outgoing transfer or order is missing from the ledger, or it is already attributed.
    TransferNotFound = 404 "transfer_not_found" Never;
    /// No operator token has this name.
    OperatorTokenNotFound = 404 "operator_token_not_found" Never;
    /// The account has no managed wallet.
    AgentWalletNotFound = 404 "agent_wallet_not_found" Never;
    /// No such wallet payment.
    WalletPaymentNotFound = 404 "wallet_payment_not_found" Never;
    /// No such entry in the address book.
    AddressNotFound = 404 "address_not_found" Never;
    /// No such withdrawal.
    WithdrawalNotFound = 404 "withdrawal_not_found" Never;
    /// No such webhook endpoint.
    WebhookNotFound = 404 "webhook_not_found" Never;
    /// No such delivery.
    DeliveryNotFound = 404 "delivery_not_found" Never;
    /// The route does not support this method. See `Allow`.
    MethodNotAllowed = 405 "method_not_allowed" Never;
    /// The request did not arrive in time.
    RequestTimeout = 408 "request_timeout" Later;
    /// A managed wallet has at most 100 addresses.
    AddressLimitReached = 409 "address_limit_reached" Never;
    /// The wallet payment was reserved but not signed, for example because the account was frozen in between. Nothing
    /// was paid.
    WalletPaymentFailed = 409 "wallet_payment_failed" Never;
    /// The payment was signed, but the server did not accept it, or it never settled. An amount that may still settle
    /// stays reserved.
    Unsettled = 409 "unsettled" Never;
    /// An account has one banking profile.
    BankingProfileExists = 409 "banking_profile_exists" Never;
    /// The bank application needs the items in `missing`: answers, documents, the owner's `identity`.
    ApplicationIncomplete = 409 "application_incomplete" AfterChange;
    /// The application is submitted or approved and can't be changed.
    ApplicationLocked = 409 "application_locked" Never;
    /// Bank accounts need an application approved by the bank.
    ApplicationNotApproved = 409 "application_not_approved" Never;
    /// An application has at most 10 documents.
    DocumentLimitReached = 409 "document_limit_reached" Never;
    /// A customer has at most 10 bank accounts.
    BankAccountLimitReached = 409 "bank_account_limit_reached" Never;
    /// A bank recipient has at most 20 destinations.
    DestinationLimitReached = 409 "destination_limit_reached" Never;
    /// The bank has not opened the account, or has rejected it.
    BankAccountNotOpen = 409 "bank_account_not_open" Never;
    /// An on-ramp only receives deposits from outside.
    BankAccountReceiveOnly = 409 "bank_account_receive_only" Never;
    /// Payouts go to destinations of type `fiat_us`.
    DestinationTypeNotSupported = 409 "destination_type_not_supported" Never;
    /// The account has the maximum number of webhook endpoints (`webhooks.max_per_account`).
    WebhookLimitReached = 409 "webhook_limit_reached" Never;
    /// The endpoint answered 410, or all attempts failed for too long. Registering its URL again enables it.
    WebhookDisabled = 409 "webhook_disabled" Never;
    /// The endpoint is deleted.
    WebhookDeleted = 409 "webhook_deleted" Never;
    /// The amount exceeds the available balance. Amounts held for other withdrawals are not available, nor are credits
    /// whose payment is not final yet (`held_unfinal` on the statement).
    InsufficientBalance = 409 "insufficient_balance" AfterChange;
    /// The payment was made for another request.
    PaymentAlreadyUsed = 409 "payment_already_used" Never;
    /// The transfer arrived, bought nothing here and was not credited to the payer's account: an operator decided it as
    /// a transfer without a payment. `reason` says where the funds went: `returned` to the sending wallet, `forwarded`
    /// for its payer before a restore, or `other`.
    PaymentResolved = 409 "payment_resolved" Never;
    /// Another payment has answered this MPP challenge. Request a fresh one.
    ChallengeAlreadyUsed = 409 "challenge_already_used" Never;
    /// A refresh of this card is already in progress.
    RefreshInProgress = 409 "refresh_in_progress" Never;
    /// Only a card that is ready can be refreshed.
    CardNotReady = 409 "card_not_ready" Never;
    /// The order is no longer queued, or its card may have been ordered in the time lost by a restore.
    NotCancellable = 409 "not_cancellable" Never;
    /// The status of the order does not permit this.
    OrderNotOpen = 409 "order_not_open" Never;
    /// Another operator holds the lease on the order.
    OrderLeased = 409 "order_leased" Never;
    /// The lease has expired or its number is not current. Claim the order again.
    LeaseStale = 409 "lease_stale" Never;
    /// Operators: the endpoints show the same chain that was read.
    ChainUnchanged = 409 "chain_unchanged" Never;
    /// Operators: the product line already has this status.
    LineUnchanged = 409 "line_unchanged" Never;
    /// Operators: the amount of the action differs.
    ApprovalDiffers = 409 "approval_differs" Never;
    /// The job is in progress and is retried automatically.
    JobNotDeadLettered = 409 "job_not_dead_lettered" Never;
    /// Operators: this outcome can't be recorded for this job, for example for a card that only its issuer can create.
    /// Nothing has changed.
    JobNotResolvable = 409 "job_not_resolvable" Never;
    /// Operators: the provider or the chain reports another status now, or has no record of it. Nothing has changed.
    ProviderDisagrees = 409 "provider_disagrees" Never;
    /// Operators: there is no proof that the funds were not sent, and the request does not confirm it. Nothing has
    /// changed.
    OutcomeNotProven = 409 "outcome_not_proven" Never;
    /// Operators: the payment may still settle. Try again one hour after the signature expires.
    PaymentMayStillSettle = 409 "payment_may_still_settle" Never;
    /// Operators: the incoming transfer needs no decision: it is still being checked (`found`), already decided, or
    /// claimed by a payment.
    DepositNotWaiting = 409 "deposit_not_waiting" Never;
    /// Operators: the released amount of a closed card exceeds the limit of one operator.
    SecondOperatorNeeded = 409 "second_operator_needed" Never;
    /// Operators: the amount exceeds what can be refunded of this payment. A product that may still fail or return is
    /// credited automatically then.
    RefundAmountTooLarge = 409 "refund_amount_too_large" Never;
    /// Operators: the owner would get a refund and could still use the product. `error` has the amount that can be
    /// refunded now, and the hint says how to return the rest. With `holder_keeps_product`: true the owner gets both.
    ProductNotReturned = 409 "product_not_returned" Never;
    /// Operators: the refund is already decided or has expired. A payment is refunded once.
    RefundNotPending = 409 "refund_not_pending" Never;
    /// Operators: the amount differs from that of the refund.
    RefundAmountMismatch = 409 "refund_amount_mismatch" Never;
    /// There is no such account, the withdrawal or top-up does not wait for a transfer like this one, the incoming
    /// transfer cannot have paid for it, or it cannot be attributed this way.
    TransferMismatch = 409 "transfer_mismatch" Never;
    /// Operators: this transaction sent funds from the treasury more than once. `error` lists its unattributed
    /// transfers as `transaction#index`. Name one of them.
    TransferAmbiguous = 409 "transfer_ambiguous" Never;
    /// The provider has declined this order or returned its funds, so there is nothing to attribute.
    OrderNotCarriedOut = 409 "order_not_carried_out" Never;
    /// Operators: the rail has completed the payout that this transfer paid for in the time lost by a restore.
    /// Attribute both with `POST /admin/untracked-transfers/attribute`. With `holder_keeps_product`: true the owner
    /// gets both.
    ProductDelivered = 409 "product_delivered" Never;
    /// A burn signed by the top-up itself may still settle, which would be a duplicate. Or the bank has not decided
    /// this order yet, or a payment from the time lost by a restore may still turn out to have paid for it. Try again
    /// in some minutes.
    TransferMayStillSettle = 409 "transfer_may_still_settle" Never;
    /// Operators: no such session of the desk, or another operator's.
    OperatorSessionNotFound = 404 "operator_session_not_found" Never;
    /// Another operator token has this name.
    OperatorTokenNameTaken = 409 "operator_token_name_taken" Never;
    /// The token is defined in the settings. Remove it there.
    OperatorTokenInConfig = 409 "operator_token_in_config" Never;
    /// No other administrator's token works. Create another administrator's token first.
    LastAdministrator = 409 "last_administrator" AfterChange;
    /// The identity is already verified.
    IdentityAlreadyVerified = 409 "identity_already_verified" Never;
    /// A callback contradicts the earlier result of the check, which remains valid.
    IdentityCheckAlreadyDecided = 409 "identity_check_already_decided" Never;
    /// Another Solana address has the same `user_id` in lower case.
    WalletIdCollision = 409 "wallet_id_collision" Never;
    /// The first request with this key is still in progress. Wait, then send it again with the same key.
    IdempotencyKeyInProgress = 409 "idempotency_key_in_progress" Never;
    /// Events this old are deleted. `after=0` starts with the oldest stored event.
    CursorExpired = 410 "cursor_expired" Never;
    /// `after` is beyond the newest event of the account: a cursor of another service, or of deleted data.
    CursorAhead = 400 "cursor_ahead" Never;
    /// The body is larger than `server.max_body_bytes`.
    BodyTooLarge = 413 "body_too_large" Never;
    /// The URL is longer than `server.max_url_bytes`.
    UrlTooLong = 414 "url_too_long" Never;
    /// The key was used for another body or route. Use a new one.
    IdempotencyKeyReused = 422 "idempotency_key_reused" Never;
    /// The route accepts only WebSocket.
    UpgradeRequired = 426 "upgrade_required" Never;
    /// Wait `retry_after_seconds`, then retry once.
    RateLimited = 429 "rate_limited" Later;
    /// The account has the maximum number of streams, `stream.max_per_account`. Close one first.
    StreamLimitReached = 429 "stream_limit_reached" Later;
    /// The headers are larger than `server.max_header_bytes`.
    HeadersTooLarge = 431 "headers_too_large" Never;
    /// An internal error. Quote `request_id`.
    InternalError = 500 "internal_error" Later;
    /// The service is starting or stopping, or its disk failed.
    NotReady = 503 "not_ready" Later;
    /// No capacity for another paid call. Nothing was charged.
    Overloaded = 503 "overloaded" Later;
    /// The network could not be reached to settle the payment or to verify the signature of a contract wallet. Nothing
    /// was charged.
    SettlementUnavailable = 503 "settlement_unavailable" Later;
    /// The card issuer does not answer.
    IssuerUnavailable = 503 "issuer_unavailable" Later;
    /// The merchant directory or the gift card catalog does not answer.
    CatalogUnavailable = 503 "catalog_unavailable" Later;
    /// The service has the maximum number of streams.
    StreamCapacityReached = 503 "stream_capacity_reached" Later;
    /// Sandbox: this wallet has no open identity check.
    IdentityCheckNotOpen = 409 "identity_check_not_open" Never;
    /// Sandbox: a remote provider has its own clock, so the test clock can't be advanced.
    ClockNotAdjustable = 409 "clock_not_adjustable" Never;
    /// Sandbox: the route controls a built-in provider, but the settings name a remote one. Nothing was changed.
    ProviderIsRemote = 409 "provider_is_remote" Never;
    /// A file of the sandbox has failed.
    SandboxUnavailable = 503 "sandbox_unavailable" Later;
    /// The request took longer than `server.request_timeout_ms`. It may have taken effect.
    ProcessingTimeout = 503 "processing_timeout" Later;
    /// After a restore: funds sent since the backup are not in the ledger yet, so withdrawals are paused. Nothing was
    /// held or sent.
    WithdrawalsPaused = 503 "withdrawals_paused" Later;
    /// The treasury has too little USDC on this chain for its commitments there, whatever the other chain has. Nothing
    /// was held or charged.
    InsufficientLiquidity = 503 "insufficient_liquidity" Later;
    /// The engine can't answer now.
    ServiceUnavailable = 503 "service_unavailable" Later;
    /// The chain can't be read now. Nothing was reserved.
    ChainUnavailable = 503 "chain_unavailable" Later;
    /// 256 payments of the managed wallet are in progress.
    WalletPaymentLimitReached = 503 "wallet_payment_limit_reached" Later;
    /// The server gave no complete response: not reached, too slow, too large or interrupted. The hint says whether
    /// anything was signed.
    FetchFailed = 502 "fetch_failed" Later;
    /// The server answered with an error. `sellerStatus` is its status and `sellerBody` the beginning of its body (at
    /// most 2,048 bytes of readable text). For a `route` of this service, `reason` is the code of its error. The
    /// message ends with that error's message, and the hint begins with its hint. The hint says whether anything was
    /// signed.
    HttpError = 502 "http_error" Later;
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn error_codes_are_unique_and_have_status_and_meaning() {
        let mut names = HashSet::new();
        for code in ErrorCode::ALL.iter().copied() {
            assert!(names.insert(code.as_str()), "{code:?} is not the only one of its name");
            assert_eq!(code.status().as_u16(), code.status_number(), "{code:?}");
            assert!(
                code.status().is_client_error() || code.status().is_server_error(),
                "{code:?}"
            );
            assert_eq!(ErrorCode::from_name(code.as_str()), Some(code));
            assert!(
                code.meaning().ends_with('.') || code.meaning().ends_with(')'),
                "{code:?}"
            );
        }
    }
}
