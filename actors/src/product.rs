//! What is sold: the product lines, what a payment asks for, what must hold before it may be settled, and what it has
//! bought. The prices are the edge's; how each product goes on is its own state machine's.

use std::fmt;
use std::str::FromStr;

use purser_storage::RowKey;

use crate::id::{BankDestinationId, CardId, PaymentRecipientId, PayoutId, TopUpId, Wallet};
use crate::kernel::table;
use crate::ledger::LedgerProvider;
use crate::money::{Cents, FeeRule, Usdc};

/// A product line. The number is stored: never reuse one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, bincode::Encode, bincode::Decode)]
#[repr(u8)]
pub enum ProductLine {
    /// USA prepaid card.
    UsaCard,
    /// International prepaid card.
    IntlCard,
    /// Gift card.
    GiftCard,
    /// Payout to a debit card.
    PushToCard,
    /// Payout to a registered bank destination.
    BankPayment,
    /// Payout to a payment app.
    AppPayment,
    /// Top-up of the balance at the card issuer.
    CardBalance,
}

impl ProductLine {
    /// Every line, in the contract's order.
    pub const ALL: [Self; 7] = [
        Self::UsaCard,
        Self::IntlCard,
        Self::GiftCard,
        Self::PushToCard,
        Self::BankPayment,
        Self::AppPayment,
        Self::CardBalance,
    ];

    /// The contract's product identifier.
    pub const fn name(self) -> &'static str {
        match self {
            Self::UsaCard => "usa_prepaid_card",
            Self::IntlCard => "intl_prepaid_card",
            Self::GiftCard => "gift_card",
            Self::PushToCard => "push_to_card",
            Self::BankPayment => "bank_payment",
            Self::AppPayment => "app_payment",
            Self::CardBalance => "card_balance",
        }
    }

    /// Who is owed what was sold.
    pub const fn provider(self) -> LedgerProvider {
        match self {
            Self::UsaCard => LedgerProvider::CardIssuer,
            Self::IntlCard => LedgerProvider::IntlFulfilment,
            Self::GiftCard => LedgerProvider::GiftCards,
            Self::PushToCard => LedgerProvider::PushToCard,
            Self::BankPayment => LedgerProvider::Bank,
            Self::AppPayment => LedgerProvider::PaymentApps,
            Self::CardBalance => LedgerProvider::CardBalances,
        }
    }

    /// Whose daily cap it counts against: prepaid cards share one.
    pub const fn cap_group(self) -> Self {
        match self {
            Self::IntlCard => Self::UsaCard,
            line => line,
        }
    }
}

/// For which amounts a product line is sold, and what is asked on top of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriceRange {
    /// Smallest amount.
    pub min: Cents,
    /// Largest amount.
    pub max: Cents,
    /// Every amount is a multiple of this.
    pub step: Cents,
    /// The usual fee, and a promotion's.
    pub fees: [Option<FeeRule>; 2],
}

impl PriceRange {
    /// Whether so much USDC is the price of any amount that is sold.
    pub fn contains_price(&self, paid: Usdc) -> bool {
        let paid = paid.whole_cents();
        self.fees.iter().flatten().any(|fee| self.with_fee(fee, paid))
    }

    /// A price grows with its amount, so that halving finds the only amount that it can be of.
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

/// What one account may buy in a day (UTC) of the lines that share a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DailyCap {
    /// Purchases.
    pub count: u32,
    /// Sum of what they are worth in US dollars, fees apart.
    pub sum: Cents,
}

/// The caps in force; a budget without one is unlimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DailyCaps([Option<DailyCap>; ProductLine::ALL.len()]);

impl DailyCaps {
    /// No budget is limited.
    pub const NONE: Self = Self([None; ProductLine::ALL.len()]);

    /// Sets the cap of a line's budget.
    #[must_use]
    pub const fn with(mut self, line: ProductLine, cap: DailyCap) -> Self {
        self.0[line.cap_group() as usize] = Some(cap);
        self
    }

    /// The cap that a line counts against.
    pub const fn for_line(&self, line: ProductLine) -> Option<DailyCap> {
        self.0[line.cap_group() as usize]
    }
}

/// Letters of a fixed number: ISO 4217 and ISO 3166-1 alpha-2 codes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, bincode::Encode, bincode::Decode)]
pub struct AlphaCode<const N: usize>([u8; N]);

/// ISO 4217.
pub type Currency = AlphaCode<3>;
/// ISO 3166-1 alpha-2.
pub type Country = AlphaCode<2>;

impl Currency {
    /// US dollars.
    pub const USD: Self = AlphaCode(*b"USD");
}

impl<const N: usize> AlphaCode<N> {
    /// The code's letters.
    pub fn as_str(&self) -> &str {
        // Upper-case ASCII by construction; a damaged row shows as nothing.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// Text that is not a code of the wanted length in capital ASCII letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a code of capital letters")]
pub struct ParseCodeError;

impl<const N: usize> FromStr for AlphaCode<N> {
    type Err = ParseCodeError;

    fn from_str(text: &str) -> Result<Self, ParseCodeError> {
        let letters: [u8; N] = text.as_bytes().try_into().map_err(|_| ParseCodeError)?;
        if letters.iter().all(u8::is_ascii_uppercase) {
            Ok(Self(letters))
        } else {
            Err(ParseCodeError)
        }
    }
}

impl<const N: usize> fmt::Display for AlphaCode<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl<const N: usize> fmt::Debug for AlphaCode<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A payment app.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, bincode::Encode, bincode::Decode)]
pub enum Platform {
    /// U.S. only.
    Venmo,
    /// Wherever the service is.
    Paypal,
}

impl Platform {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Venmo, Self::Paypal];

    /// On the wire and in the settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Venmo => "venmo",
            Self::Paypal => "paypal",
        }
    }
}

/// Whom an app payment goes to, as the caller says.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct AppPayee {
    /// A saved recipient, or a handle that the app knows: phone number, e-mail address or user name.
    pub recipient: String,
    /// Given name; empty of a saved recipient for the one that is saved, as are those below.
    pub first_name: String,
    /// Family name.
    pub last_name: String,
    /// E-mail address.
    pub email: String,
}

impl AppPayee {
    /// A saved recipient as what the app knows it by; `None` where what the caller says of it is not what is saved.
    pub fn merged_with_saved(&self, saved: &Self) -> Option<Self> {
        let same = |said: &str, saved: &str| said.is_empty() || said == saved;
        let agrees = same(&self.first_name, &saved.first_name)
            && same(&self.last_name, &saved.last_name)
            && (self.email.is_empty() || self.email.eq_ignore_ascii_case(&saved.email));
        agrees.then(|| saved.clone())
    }
}

/// What a payment buys: the request's parameters, parsed. Amounts are in the named currency, US dollars without one.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
#[allow(missing_docs, reason = "the fields are the contract's own parameters")]
pub enum Purchase {
    /// A USA prepaid card.
    UsaCard { amount: Cents },
    /// An international prepaid card, in whole dollars.
    IntlCard { amount: Cents, label: Option<String> },
    /// A gift card.
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
        /// Of a saved recipient it may be left out.
        platform: Option<Platform>,
        payee: Box<AppPayee>,
    },
    /// A top-up of the balance at the card issuer.
    CardBalance { amount: Cents },
}

impl Purchase {
    /// Its product line.
    pub const fn line(&self) -> ProductLine {
        match self {
            Self::UsaCard { .. } => ProductLine::UsaCard,
            Self::IntlCard { .. } => ProductLine::IntlCard,
            Self::GiftCard { .. } => ProductLine::GiftCard,
            Self::PushToCard { .. } => ProductLine::PushToCard,
            Self::BankPayment { .. } => ProductLine::BankPayment,
            Self::AppPayment { .. } => ProductLine::AppPayment,
            Self::CardBalance { .. } => ProductLine::CardBalance,
        }
    }

    /// How much is asked for, and in what.
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

    /// Whether what its price was made from is kept with it: where rates are its own, or currencies many.
    pub const fn stores_quote(&self) -> bool {
        match self {
            Self::GiftCard { .. } | Self::PushToCard { .. } | Self::BankPayment { .. } | Self::AppPayment { .. } => {
                true
            }
            Self::UsaCard { .. } | Self::IntlCard { .. } | Self::CardBalance { .. } => false,
        }
    }

    /// What must hold of the payer before it may be settled, in the contract's order of refusals.
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

/// Something that must hold of a payer before a purchase is settled. The edge learns which does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// The holder's identity is verified.
    IdentityVerified,
    /// The holder has linked an account at the card issuer.
    IssuerLinked,
    /// The destination is the payer's own.
    OwnsDestination(BankDestinationId),
    /// The saved recipient is the payer's own, of the same app.
    OwnsRecipient(PaymentRecipientId),
    /// What is said of the saved recipient is what is saved.
    MatchesSaved(PaymentRecipientId),
    /// The catalog has it now, for this price.
    InStock,
}

impl Precondition {
    /// The row that is there exactly while it holds, where one is: the claim's batch holds only with it.
    pub fn row(&self, payer: &Wallet) -> Option<RowKey> {
        match self {
            Self::IdentityVerified => Some(table::verified(payer)),
            Self::IssuerLinked => Some(table::issuer_linked(payer)),
            Self::OwnsDestination(id) => Some(table::payable_destination(payer, *id)),
            Self::OwnsRecipient(_) | Self::MatchesSaved(_) | Self::InStock => None,
        }
    }
}

/// What was bought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum PurchasedProduct {
    /// A USA prepaid card.
    Card(CardId),
    /// An order of an international card.
    IntlOrder(CardId),
    /// A gift card.
    GiftCard(CardId),
    /// A payout.
    Payout(PayoutId),
    /// A top-up.
    TopUp(TopUpId),
}

impl fmt::Display for PurchasedProduct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Card(id) | Self::IntlOrder(id) | Self::GiftCard(id) => id.fmt(f),
            Self::Payout(id) => id.fmt(f),
            Self::TopUp(id) => id.fmt(f),
        }
    }
}

impl PurchasedProduct {
    /// The member that names it in answers.
    pub const fn field(&self) -> &'static str {
        match self {
            Self::Card(_) | Self::IntlOrder(_) | Self::GiftCard(_) => "card_id",
            Self::Payout(_) => "payout_id",
            Self::TopUp(_) => "top_up_id",
        }
    }
}
