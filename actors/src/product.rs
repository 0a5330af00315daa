//! Products: product lines, what a payment buys, its preconditions, and the purchased product. The HTTP layer has the
//! prices; each product's own state machine has its lifecycle.

mod list;

use purser_storage::RowKey;

use crate::currency::{Country, Currency};
use crate::id::{BankDestinationId, PaymentRecipientId, Wallet};
use crate::kernel::table;
use crate::ledger::LedgerProvider;
use crate::money::{Cents, FeeRule, Usdc};
use crate::reconciliation::ReconciliationSource;

pub use self::list::{ListedOrder, Money, Product, ProductRecord, ProductType, Sale, Usable};

use self::list::products;

/// Generates the product lines. A row has a line's name, the provider that is owed for a sale, and the list that shows
/// the line if exactly one does. Each line has a variant of [`Purchase`] with the same name.
///
/// ```ignore
/// product_lines! {
///     /// Gift card from the catalog.
///     GiftCard = "gift_card" owed to GiftCards, listed in [GiftCards],
/// }
/// // becomes
/// pub enum ProductLine { GiftCard }
/// // and `ProductLine::ALL`, `name`, `provider`, `list` and `Purchase::line`
/// ```
macro_rules! product_lines {
    (@list) => { None };
    (@list $list:ident) => { Some(ReconciliationSource::$list) };
    ($($(#[doc = $doc:literal])+ $line:ident = $name:literal owed to $provider:ident, listed in [$($list:ident)?],)+) => {
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

        impl Purchase {
            /// Product line of the purchase.
            pub const fn line(&self) -> ProductLine {
                match self {
                    $(Self::$line { .. } => ProductLine::$line,)+
                }
            }
        }
    };
}

product_lines! {
    /// US prepaid card.
    UsaCard = "usa_prepaid_card" owed to CardIssuer, listed in [Cards],
    /// International prepaid card.
    IntlCard = "intl_prepaid_card" owed to IntlFulfilment, listed in [],
    /// Gift card from the catalog.
    GiftCard = "gift_card" owed to GiftCards, listed in [GiftCards],
    /// Payout to a debit card.
    PushToCard = "push_to_card" owed to PushToCard, listed in [],
    /// Payout to a registered bank destination.
    BankPayment = "bank_payment" owed to Bank, listed in [],
    /// Payout to a payment app.
    AppPayment = "app_payment" owed to PaymentApps, listed in [],
    /// Top-up of the balance at the card issuer.
    CardBalance = "card_balance" owed to CardBalances, listed in [],
}

products! {
    /// A US prepaid card.
    Card: crate::card::Card,
    /// An order of an international card.
    IntlOrder: crate::intl_order::IntlOrder,
    /// A gift card from the catalog.
    GiftCard: crate::gift_card::GiftCard,
    /// A payout of any rail.
    Payout: crate::payout::Payout,
    /// A top-up of a card balance.
    TopUp: crate::top_up::TopUp,
}

impl ProductLine {
    /// Line whose daily cap it counts toward: prepaid cards share one.
    pub const fn cap_group(self) -> Self {
        match self {
            Self::IntlCard => Self::UsaCard,
            line => line,
        }
    }
}

/// Amounts for which a product line is sold, and the fees on top of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriceRange {
    /// Smallest amount sold.
    pub min: Cents,
    /// Largest amount sold.
    pub max: Cents,
    /// Every amount is a multiple of this.
    pub step: Cents,
    /// Regular fee, and a promotional fee.
    pub fees: [Option<FeeRule>; 2],
}

impl PriceRange {
    /// Whether this USDC amount is the price of any amount that is sold.
    pub fn contains_price(&self, paid: Usdc) -> bool {
        let paid = paid.whole_cents();
        self.fees.iter().flatten().any(|fee| self.with_fee(fee, paid))
    }

    /// A price grows with its amount, so bisection finds the only amount that can have it.
    fn with_fee(&self, fee: &FeeRule, paid: Cents) -> bool {
        let step = self.step.get().max(1);
        let (mut low, mut high) = (self.min.get().div_ceil(step), self.max.get() / step);
        while low <= high {
            let middle = low + (high - low) / 2;
            match fee.total(Cents::new(middle * step)) {
                Ok(price) if price == paid => return true,
                Ok(price) if price < paid => low = middle + 1,
                _ if middle == 0 => return false,
                _ => high = middle - 1,
            }
        }
        false
    }
}

/// Daily (UTC) cap of one account for the lines of a cap group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DailyCap {
    /// Maximum number of purchases.
    pub count: u32,
    /// Maximum sum of their values in US dollars without fees.
    pub sum: Cents,
}

/// Current caps; a cap group without one is unlimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DailyCaps([Option<DailyCap>; ProductLine::ALL.len()]);

impl DailyCaps {
    /// No cap group is limited.
    pub const NONE: Self = Self([None; ProductLine::ALL.len()]);

    /// Sets the cap of a line's cap group.
    #[must_use]
    pub const fn with(mut self, line: ProductLine, cap: DailyCap) -> Self {
        self.0[line.cap_group() as usize] = Some(cap);
        self
    }

    /// Cap that a line counts toward.
    pub const fn for_line(&self, line: ProductLine) -> Option<DailyCap> {
        self.0[line.cap_group() as usize]
    }
}

/// A payment app.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, bincode::Encode, bincode::Decode)]
pub enum Platform {
    /// Available in the U.S. only.
    Venmo,
    /// Available wherever the service is.
    Paypal,
}

impl Platform {
    /// Both apps, in declaration order.
    pub const ALL: [Self; 2] = [Self::Venmo, Self::Paypal];

    /// Name in API documents and settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Venmo => "venmo",
            Self::Paypal => "paypal",
        }
    }
}

/// Recipient of an app payment, as the caller names it.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct AppPayee {
    /// A saved recipient, or a handle in the app: phone number, e-mail address or user name.
    pub recipient: String,
    /// Given name. For a saved recipient, empty means the saved value; the same applies to the fields below.
    pub first_name: String,
    /// Family name of the recipient.
    pub last_name: String,
    /// E-mail address of the recipient.
    pub email: String,
}

impl AppPayee {
    /// Resolves a saved recipient to its handle in the app; `None` if the caller's data contradicts the saved data.
    pub fn merged_with_saved(&self, saved: &Self) -> Option<Self> {
        let same = |said: &str, saved: &str| said.is_empty() || said == saved;
        let agrees = same(&self.first_name, &saved.first_name)
            && same(&self.last_name, &saved.last_name)
            && (self.email.is_empty() || self.email.eq_ignore_ascii_case(&saved.email));
        agrees.then(|| saved.clone())
    }
}

/// Purchase of a payment: the parsed request parameters. Amounts are in the named currency, or in US dollars if none is
/// named.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
#[allow(missing_docs, reason = "the fields are the contract's own parameters")]
pub enum Purchase {
    /// A US prepaid card.
    UsaCard { amount: Cents },
    /// An international prepaid card, in whole dollars.
    IntlCard { amount: Cents, label: Option<String> },
    /// A gift card from the catalog.
    GiftCard {
        amount: Cents,
        currency: Currency,
        product: String,
        country: Country,
    },
    /// A payout to a debit card.
    PushToCard { amount: Cents, currency: Currency },
    /// A payout to a registered bank destination.
    BankPayment {
        amount: Cents,
        destination: BankDestinationId,
    },
    /// A payout to a payment app.
    AppPayment {
        amount: Cents,
        /// May be omitted for a saved recipient.
        platform: Option<Platform>,
        payee: Box<AppPayee>,
    },
    /// A top-up of the balance at the card issuer.
    CardBalance { amount: Cents },
}

impl Purchase {
    /// Requested amount and its currency.
    pub const fn amount(&self) -> (Cents, Currency) {
        match self {
            Self::GiftCard { amount, currency, .. } | Self::PushToCard { amount, currency } => (*amount, *currency),
            Self::UsaCard { amount }
            | Self::IntlCard { amount, .. }
            | Self::BankPayment { amount, .. }
            | Self::AppPayment { amount, .. }
            | Self::CardBalance { amount } => (*amount, Currency::USD),
        }
    }

    /// Whether the quote is stored with the purchase: if the line has its own rates, or several currencies.
    pub const fn stores_quote(&self) -> bool {
        match self {
            Self::GiftCard { .. } | Self::PushToCard { .. } | Self::BankPayment { .. } | Self::AppPayment { .. } => {
                true
            }
            Self::UsaCard { .. } | Self::IntlCard { .. } | Self::CardBalance { .. } => false,
        }
    }

    /// The bytes that a request's fingerprint is made of. A payment is recognised by them after any upgrade, so the
    /// bytes of a purchase that was possible earlier never change. A field that is added later is appended with its
    /// name, and only if the request has it.
    pub fn fingerprint_bytes(&self) -> Vec<u8> {
        // Encoding plain data into memory cannot fail.
        fn encoded(parts: impl bincode::Encode) -> Vec<u8> {
            bincode::encode_to_vec(parts, bincode::config::standard()).unwrap_or_default()
        }
        // Every field is named, so that a new one does not compile before it is decided on here.
        match self {
            Self::UsaCard { amount } => encoded((0_u32, amount)),
            Self::IntlCard { amount, label } => encoded((1_u32, amount, label)),
            Self::GiftCard {
                amount,
                currency,
                product,
                country,
            } => encoded((2_u32, amount, currency, product, country)),
            Self::PushToCard { amount, currency } => encoded((3_u32, amount, currency)),
            Self::BankPayment { amount, destination } => encoded((4_u32, amount, destination)),
            Self::AppPayment {
                amount,
                platform,
                payee,
            } => {
                let AppPayee {
                    recipient,
                    first_name,
                    last_name,
                    email,
                } = &**payee;
                encoded((5_u32, amount, platform, recipient, first_name, last_name, email))
            }
            Self::CardBalance { amount } => encoded((6_u32, amount)),
        }
    }

    /// What the payer must fulfil before settlement, in the contract's order of errors.
    pub fn preconditions(&self) -> Vec<Precondition> {
        match self {
            Self::UsaCard { .. } | Self::IntlCard { .. } | Self::PushToCard { .. } => Vec::new(),
            Self::GiftCard { .. } => vec![Precondition::InStock],
            Self::BankPayment { destination, .. } => vec![Precondition::OwnsDestination(*destination)],
            Self::AppPayment { payee, .. } => {
                let saved = payee.recipient.parse().ok().map(Precondition::OwnsRecipient);
                [Precondition::IdentityVerified].into_iter().chain(saved).collect()
            }
            Self::CardBalance { .. } => vec![Precondition::IssuerLinked],
        }
    }
}

/// A precondition of a purchase. The HTTP layer learns which one fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// The account owner's identity is verified.
    IdentityVerified,
    /// The account owner has linked an account at the card issuer.
    IssuerLinked,
    /// The destination belongs to the payer.
    OwnsDestination(BankDestinationId),
    /// The saved recipient belongs to the payer and to the same app.
    OwnsRecipient(PaymentRecipientId),
    /// The caller's data of the saved recipient matches the saved data.
    MatchesSaved(PaymentRecipientId),
    /// The catalog has it in stock at this price.
    InStock,
}

impl Precondition {
    /// Row that exists exactly while the precondition holds, if there is one: the claim's batch has it as a condition.
    pub fn row(&self, payer: &Wallet) -> Option<RowKey> {
        match self {
            Self::IdentityVerified => Some(table::verified(payer)),
            Self::IssuerLinked => Some(table::issuer_linked(payer)),
            Self::OwnsDestination(id) => Some(table::payable_destination(payer, *id)),
            Self::OwnsRecipient(_) | Self::MatchesSaved(_) | Self::InStock => None,
        }
    }
}
