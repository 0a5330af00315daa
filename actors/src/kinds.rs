//! Kinds that are stored by number, each in a list of its own: entities, product lines, clearing accounts of providers,
//! and lists of providers.

use crate::named_enum::named_enum;

macro_rules! entity_kinds {
    ($($(#[$doc:meta])* $kind:ident = $number:literal $name:literal,)+) => {
        /// Kinds of entity. Stored numbers: never reuse one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum EntityKind {
            $($(#[$doc])* $kind = $number,)+
        }

        impl EntityKind {
            /// Every kind.
            pub const ALL: [Self; [$(Self::$kind),+].len()] = [$(Self::$kind),+];

            /// Name in event types and documents.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)+
                }
            }
        }
    };
}

entity_kinds! {
    /// An account of a wallet.
    Account = 1 "account",
    /// A payment by a wallet.
    Payment = 2 "payment",
    /// A US prepaid card.
    Card = 3 "card",
    /// A session with its refresh tokens.
    Session = 4 "session",
    /// A gift card from the catalog.
    GiftCard = 6 "gift_card",
    /// An order of an international card.
    IntlOrder = 5 "intl_order",
    /// The identity verification of an account owner.
    Identity = 11 "identity",
    /// The link to an owner's account at the card issuer.
    IssuerLink = 14 "issuer_link",
    /// A top-up of a card balance.
    TopUp = 8 "top_up",
    /// A withdrawal from an account's balance.
    Withdrawal = 10 "withdrawal",
    /// A payout to a debit card, a bank account or a payment app.
    Payout = 7 "payout",
    /// A saved recipient of app payments.
    PaymentRecipient = 12 "payment_recipient",
    /// A registered bank destination.
    BankDestination = 13 "bank_destination",
    /// The banking profile of an account owner.
    BankingProfile = 18 "banking_profile",
    /// A reloadable card.
    ReloadableCard = 9 "reloadable_card",
    /// A withdrawal from a balance at the card issuer.
    CardWithdrawal = 15 "card_withdrawal",
    /// Money of a payout that was returned after its return window.
    LateReturn = 16 "late_return",
    /// The managed wallet of an agent.
    AgentWallet = 17 "agent_wallet",
    /// A payment out of an agent wallet.
    WalletPayment = 22 "wallet_payment",
    /// An application for bank accounts.
    BankingApplication = 19 "banking_application",
    /// An owner's account at the bank.
    BankAccount = 20 "bank_account",
    /// A transfer between a balance and an account at the bank.
    BankTransfer = 21 "bank_transfer",
    /// A mismatch between our records and an external list.
    Discrepancy = 26 "discrepancy",
    /// An API key of an account.
    ApiKey = 25 "api_key",
    /// A passkey of an account owner.
    Passkey = 33 "passkey",
    /// The recovery of an account whose passkeys are lost.
    Recovery = 44 "recovery",
    /// A webhook endpoint.
    Webhook = 23 "webhook",
    /// Delivery of one event to one webhook endpoint.
    WebhookDelivery = 24 "webhook_delivery",
    /// The owner's approval of a spend over a limit.
    SpendApproval = 40 "approval",
    /// A refund of a payment, at Purser's cost.
    Refund = 27 "refund",
    /// A transfer to our treasury that no payment claims.
    Incoming = 30 "incoming_transfer",
    /// Whether a product line is sold.
    Line = 32 "line",
}

/// Generates the product lines. A row has a line's name, what it sells in a sentence and as a title, the provider that is
/// owed for a sale, and the list that shows the line if exactly one does.
///
/// ```ignore
/// product_lines! {
///     /// Gift card from the catalog.
///     GiftCard = "gift_card" sells "gift cards" / "Gift cards", owed to GiftCards, listed in [GiftCards],
/// }
/// // becomes
/// pub enum ProductLine { GiftCard }
/// // and `ProductLine::ALL`, `name`, `sells`, `title`, `provider` and `list`
/// ```
macro_rules! product_lines {
    (@list) => { None };
    (@list $list:ident) => { Some(ReconciliationSource::$list) };
    ($($(#[doc = $doc:literal])+ $line:ident = $name:literal sells $sells:literal / $title:literal, owed to $provider:ident, listed in [$($list:ident)?],)+) => {
        /// A product line. Stored numbers: never reuse one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, bincode::Encode, bincode::Decode)]
        #[repr(u8)]
        pub enum ProductLine {
            $($(#[doc = $doc])+ $line,)+
        }

        impl ProductLine {
            /// Every line, in the contract's order.
            pub const ALL: [Self; [$(Self::$line),+].len()] = [$(Self::$line),+];

            /// The contract's product identifier.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$line => $name,)+
                }
            }

            /// What it sells, as a plural inside a sentence.
            pub const fn sells(self) -> &'static str {
                match self {
                    $(Self::$line => $sells,)+
                }
            }

            /// The same as a heading.
            pub const fn title(self) -> &'static str {
                match self {
                    $(Self::$line => $title,)+
                }
            }

            /// Provider that is owed for a sale.
            pub const fn provider(self) -> LedgerProvider {
                match self {
                    $(Self::$line => LedgerProvider::$provider,)+
                }
            }

            /// Provider's list that alone shows purchases of the line, by the numbers of their products.
            pub const fn list(self) -> Option<ReconciliationSource> {
                match self {
                    $(Self::$line => product_lines!(@list $($list)?),)+
                }
            }
        }

        crate::answer::serialize_as_name!(ProductLine);
    };
}

product_lines! {
    /// US prepaid card.
    UsaCard = "usa_prepaid_card" sells "prepaid cards" / "Prepaid cards", owed to CardIssuer, listed in [Cards],
    /// International prepaid card.
    IntlCard = "intl_prepaid_card" sells "prepaid cards" / "Prepaid cards", owed to IntlFulfilment, listed in [],
    /// Gift card from the catalog.
    GiftCard = "gift_card" sells "gift cards" / "Gift cards", owed to GiftCards, listed in [GiftCards],
    /// Payout to a debit card.
    PushToCard = "push_to_card" sells "payouts to debit cards" / "Payouts to debit cards", owed to PushToCard, listed in [],
    /// Payout to a registered bank destination.
    BankPayment = "bank_payment" sells "bank payments" / "Payouts to banks", owed to Bank, listed in [],
    /// Payout to a payment app.
    AppPayment = "app_payment" sells "payments to apps" / "Payouts to payment apps", owed to PaymentApps, listed in [],
    /// Top-up of the balance at the card issuer.
    CardBalance = "card_balance" sells "top-ups" / "Card balance top-ups", owed to CardBalances, listed in [],
}

named_enum! {
    /// Provider with a clearing account.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, bincode::Encode, bincode::Decode)]
    pub enum LedgerProvider {
        /// Issues US prepaid cards.
        CardIssuer = "card_issuer",
        /// Operators who fulfil international cards.
        IntlFulfilment = "intl_fulfilment",
        /// Sells gift cards.
        GiftCards = "gift_cards",
        /// Pays out to debit cards.
        PushToCard = "push_to_card",
        /// Pays out to bank accounts.
        Bank = "bank",
        /// Pay out to the users of payment apps.
        PaymentApps = "payment_apps",
        /// Holds the card balances that top-ups load.
        CardBalances = "card_balances",
        /// Holds account owners' bank accounts.
        Banking = "banking",
    }
}

named_enum! {
    /// External list that our records are compared with. Stored numbers: never reuse one.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, bincode::Encode, bincode::Decode)]
    pub enum ReconciliationSource {
        /// Transfers on Base.
        Base = "base",
        /// Transfers on Solana.
        Solana = "solana",
        /// Orders at the issuer of prepaid cards.
        Cards = "cards",
        /// Orders from the gift card catalog.
        GiftCards = "gift_cards",
        /// Orders at the payout rails.
        Payouts = "payouts",
        /// Transfers that the bank was asked to make.
        BankTransfers = "bank_transfers",
        /// Incoming transfers and returns at the bank.
        BankDeposits = "bank_deposits",
        /// Reloadable cards and holds at the card issuer.
        ReloadableCards = "reloadable_cards",
        /// Remaining amount of each reloadable card.
        CardBalances = "card_balances",
        /// Transfers over the bridge.
        Bridge = "bridge",
        /// Amounts released by the issuer for prepaid cards that have ended.
        PrepaidRemainders = "prepaid_remainders",
    }
}
