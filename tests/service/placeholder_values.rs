//! What parameters and members name: nothing of anybody's, those here.

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

/// Parameters and members that name nothing of anybody's, by the routes that take them; `*` is every route.
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
            "platform",
            "status",
            "types",
            "card_type",
            // The caller's own and nobody else's; the ladders of callable functions hold it.
            "userId",
            "reusable",
            "usd_amount",
        ],
    ),
    ("/get-card-data", &["details"]),
    // A place among one's own events: a time, whoever's events lie there.
    ("/events", &["after", "before", "order"]),
    // A place in one's own statement, whose lines are numbered from one.
    ("/get-account-statement", &["starting_after"]),
    (
        "/createBankingProfile",
        &["type", "firstName", "lastName", "businessName", "email"],
    ),
    // Whoever is to be paid, and on which terms.
    ("/agentWalletTransfer", &["amountUsdc", "toAddress", "note"]),
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
    ("/createBankingTransfer", &["direction", "note"]),
    // Whoever is to receive the money.
    ("/withdraw", &["address"]),
    ("/register-webhook", &["url"]),
    ("/redeliver-webhook", &["since"]),
    ("/webhook-deliveries", &["status"]),
    ("/withdraw-card-balance", &["destination_address"]),
    // The catalog's, which is everybody's.
    ("/order-gift-card", &["product_id"]),
    ("/search-gift-cards", &["q", "category", "starting_after"]),
    ("/search-merchants", &["q", "starting_after"]),
    ("/payment-recipients", &["include_archived", "display_name", "archived"]),
    (
        "/send-payment",
        &["recipient_first_name", "recipient_last_name", "recipient_email"],
    ),
    // Whoever has these is the one they were given to.
    ("/agentAuth", &["apiKey"]),
    ("/auth", &["grant_type", "refresh_token"]),
    ("/claim", &["signup"]),
    ("/login", &["code"]),
    ("/redeem", &["payout_id", "key"]),
    ("/refresh", &["grant_type", "refresh_token"]),
    ("/signup-status", &["claim_token"]),
];

/// Routes whose body has no members in the document: the owner's form, which names budgets, the provider's word, which counts
/// by its signature, and the links' codes, which are whoever's they were given to.
pub(crate) const WITHOUT_MEMBERS: &[&str] = &[
    "/account/api-keys/revoke",
    "/account/caps",
    "/account/spending",
    "/bank-callback",
    "/card-callback",
    "/claim",
    "/identity-callback",
    "/login",
    "/payout-callback",
    "/redeem",
];
