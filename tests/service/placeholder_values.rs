//! Parameters and fields that identify no resource of an account.

const RESPONSE_VALUES: &[&str] = &[
    "dateOfBirth",
    "phone",
    "addressLine1",
    "addressLine2",
    "city",
    "state",
    "postalCode",
    "occupation",
    "sourceOfFunds",
    "businessType",
    "formationDate",
    "taxId",
];

/// Parameters and fields that identify no resource of an account, by the routes that take them; `*` means every route.
pub(crate) const UNKNOWN_VALUES: &[(&str, &[&str])] = &[
    (
        "*",
        &[
            "amount",
            "country",
            "currency",
            "format",
            "label",
            "limit",
            "network",
            "order",
            "platform",
            "status",
            "types",
            "card_type",
            // Only the caller's own id is valid. The precedence tests of callable functions check it.
            "userId",
            "reusable",
            "usd_amount",
        ],
    ),
    (
        "/account/caps",
        &[
            "usa_prepaid_card_count",
            "usa_prepaid_card_usd",
            "gift_card_count",
            "gift_card_usd",
            "push_to_card_count",
            "push_to_card_usd",
            "bank_payment_count",
            "bank_payment_usd",
            "app_payment_count",
            "app_payment_usd",
            "card_balance_count",
            "card_balance_usd",
        ],
    ),
    ("/account/spending", &["per_call_usd", "per_day_usd", "approvals"]),
    ("/account/balance-limits", &["per_call_usd", "per_day_usd", "approvals"]),
    ("/account/merchant-limits", &["hosts", "others_per_day_usd"]),
    // Of the session's own account: `limits_of_an_api_key_hold_for_wallet_and_balance` and
    // `approval_errors_follow_precedence` send another's.
    (
        "/account/api-keys/limits",
        &["api_key_id", "per_call_usd", "per_day_usd"],
    ),
    ("/account/approvals", &["starting_after"]),
    ("/account/approvals/approve", &["approval_id"]),
    ("/account/approvals/decline", &["approval_id"]),
    ("/get-approval", &["approval_id"]),
    // Of the session's own account: `sessions_act_for_their_own_account_only` sends another's.
    ("/account/api-keys/revoke", &["api_key_id"]),
    // The tests of passkeys use those of another account.
    ("/account/confirm", &["credential"]),
    ("/account/passkeys", &["credential", "name"]),
    ("/account/passkeys/remove", &["passkey_id"]),
    ("/account/passkeys/rename", &["passkey_id", "name"]),
    ("/login/passkey", &["credential"]),
    ("/account/sessions/end", &["session_id"]),
    ("/get-card-data", &["details", "include_failed"]),
    ("/account/statement-sums", &["from", "of", "until"]),
    ("/account/spending-sums", &["starts"]),
    ("/listBankingTransactions", &["type"]),
    // A cursor into the caller's events: a time, even when other accounts have events then.
    ("/events", &["after", "before"]),
    // A cursor into the caller's statement, whose lines are numbered from one, and times.
    ("/get-account-statement", &["from", "of", "starting_after", "until"]),
    (
        "/createBankingProfile",
        &["type", "firstName", "lastName", "businessName", "email"],
    ),
    // The payee and the terms.
    (
        "/agentWalletTransfer",
        &["amountUsdc", "toAddress", "note", "approvalId"],
    ),
    (
        "/agentX402Pay",
        &[
            "route",
            "url",
            "params",
            "method",
            "body",
            "note",
            "maxAmountUsdc",
            "expectedAsset",
            "expectedNetwork",
            "expectedPayTo",
            "approvalId",
        ],
    ),
    ("/saveAddressBookEntry", &["name", "address"]),
    ("/createAgentApiKey", &["name"]),
    ("/announceAgentConnection", &["name", "client", "version"]),
    ("/updateBankingApplicationDetails", RESPONSE_VALUES),
    ("/uploadBankingDocument", &["type", "content"]),
    ("/createBankingAccount", &["type"]),
    ("/createBankingRecipient", &["name", "address", "destination"]),
    ("/addBankingDestination", &["destination"]),
    ("/updateBankingDestination", &["nickname"]),
    // What agents take: `agent_limits` sends approvals of other spends.
    ("/createBankingTransfer", &["direction", "note", "approvalId"]),
    ("/sendBankingPayout", &["approvalId"]),
    // The payee.
    ("/withdraw", &["address", "approval_id"]),
    ("/register-webhook", &["url"]),
    ("/redeliver-webhook", &["since"]),
    ("/webhook-deliveries", &["status"]),
    ("/withdraw-card-balance", &["destination_address", "approval_id"]),
    // Ids of the catalog, which all accounts share.
    ("/order-gift-card", &["product_id"]),
    ("/search-gift-cards", &["q", "category", "starting_after"]),
    ("/search-merchants", &["q", "starting_after"]),
    ("/payment-recipients", &["include_archived", "display_name", "archived"]),
    (
        "/send-payment",
        &["recipient_first_name", "recipient_last_name", "recipient_email"],
    ),
    ("/get-push-to-card", &["message"]),
    ("/signup", &["agent_name"]),
    // These authenticate their bearer.
    ("/agentAuth", &["apiKey"]),
    ("/auth", &["grant_type", "refresh_token"]),
    ("/claim", &["signup"]),
    ("/login", &["code", "to"]),
    ("/redeem", &["payout_id", "key"]),
    ("/refresh", &["grant_type", "refresh_token"]),
    ("/signup-status", &["claim_token"]),
];

/// Routes whose body has no fields in the document: forms of pages; provider callbacks,
/// which are authenticated by their signature; and codes of links, which authenticate their bearer.
pub(crate) const WITHOUT_MEMBERS: &[&str] = &[
    "/account/confirm/options",
    "/account/passkeys/options",
    "/account/recovery/cancel",
    "/bank-callback",
    "/card-callback",
    "/claim",
    "/identity-callback",
    "/login",
    "/login/passkey/options",
    "/payout-callback",
    "/redeem",
];
