//! Facts about purchased products that the ledger checks need: the cost, what the state implies for the money, and
//! whether a job must still be pending. Each product has its own file and rules.

mod card;
mod gift_card;
mod intl_order;
mod payout;
#[cfg(test)]
mod tests;
mod top_up;

use purser_actors::currency::Currency;
use purser_actors::entity::PurchasedProduct;
use purser_actors::entity::account;
use purser_actors::entity::account::{CreditCause, DebitPurpose};
use purser_actors::id::{
    BankTransferId, CardId, LateReturnId, OutgoingTransferId, PayoutId, RefundId, TopUpId, Wallet,
};
use purser_actors::kernel::EntityKind;
use purser_actors::kernel::job::AnyJob;
use purser_actors::ledger::{Charge, LedgerProvider};
use purser_actors::money::Cents;
use purser_actors::quote::QuoteFacts;
use purser_storage::Row;
use purser_storage::codec::DecodeError;
use rust_decimal::Decimal;

use super::{ChainTransfer, StoreContents, VerifyReport};

/// What a product's state implies for the money that was paid for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MoneyOutcome {
    /// With the provider, or on its way there.
    Spent,
    /// The full charge was credited to the payer's balance, or is about to be.
    Reversed,
    /// What the provider did not retain, in atomic USDC, was credited. Our fee is earned.
    Returned { retained: u64 },
    /// Delivered from our treasury: the provider is owed nothing. Delivery had an additional cost, in atomic USDC.
    Delivered {
        /// Our cost, the surplus included.
        cost: u64,
        /// The part of the cost that the recipient received beyond what was bought.
        surplus: u64,
    },
    /// It left our treasury and is lost. The payer's balance was credited at our expense.
    Lost {
        /// Amount that left beyond the product's value, in atomic USDC.
        cost: u64,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct SoldProduct {
    /// Id of the product in the payment.
    pub(crate) product: PurchasedProduct,
    /// Plural noun in the report.
    pub(crate) plural: &'static str,
    /// Revision of the snapshot.
    pub(crate) revision: u64,
    /// Status name in events.
    pub(crate) status: &'static str,
    pub(crate) owner: Wallet,
    pub(crate) charge: Charge,
    /// Value in atomic USDC. Taken from the product where it states one, not from its charge.
    pub(crate) value: i128,
    /// Provider that is owed the money.
    pub(crate) provider: LedgerProvider,
    pub(crate) money: MoneyOutcome,
    /// Cost in atomic USDC, where the product stores the inputs of its price.
    pub(crate) price: Option<i128>,
    /// Whether it is in progress, so that a job must be pending for it.
    pub(crate) is_in_progress: bool,
    pub(crate) usable: Usable,
    /// For payouts: whether the money was returned after the return window.
    pub(crate) returned_late: bool,
    pub(crate) expected_rows: ExpectedRows,
}

/// How much of a product its owner can still use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Usable {
    /// Nothing, or the product has ended.
    Zero,
    /// Amount on a card and the part that merchants paid in, in atomic USDC. Merchants may pay in after a refund.
    Remaining { now: i128, by_merchants: i128 },
    /// Its full value, from the day it can be used.
    All,
}

/// Where a product's charge must have gone, in atomic USDC.
pub(crate) struct MoneyFlow {
    /// Credited automatically, our own share included.
    pub(crate) returned: i128,
    /// Owed to the provider.
    pub(crate) owed: i128,
    pub(crate) earned: i128,
    /// The part of `returned` that belongs to us: a refund already gave the payer as much.
    pub(crate) own_share: i128,
}

impl SoldProduct {
    /// `refunded`: the part of the charge that a refund already gave back.
    pub(crate) fn money_flow(&self, refunded: i128) -> MoneyFlow {
        let (all, worth) = (i128::from(self.charge.charged.atomic()), self.value);
        let (returned, owed, earned) = match self.money {
            MoneyOutcome::Spent => (0, worth, all - worth),
            MoneyOutcome::Reversed => (all, 0, 0),
            MoneyOutcome::Returned { retained } => {
                let retained = i128::from(retained).min(worth);
                (worth - retained, retained, all - worth)
            }
            MoneyOutcome::Delivered { .. } => (0, 0, all - worth),
            MoneyOutcome::Lost { .. } => (all, 0, 0),
        };
        let ours = match self.money {
            MoneyOutcome::Returned { .. } => returned - returned.min(all - refunded).max(0),
            MoneyOutcome::Spent
            | MoneyOutcome::Reversed
            | MoneyOutcome::Delivered { .. }
            | MoneyOutcome::Lost { .. } => 0,
        };
        MoneyFlow {
            returned,
            owed,
            earned,
            own_share: ours,
        }
    }
}

/// The rows that a product has besides its snapshot.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExpectedRows {
    /// Row in the vault.
    pub(crate) number: RowExpectation,
    /// Row among the sealed CVVs.
    pub(crate) cvv: RowExpectation,
    pub(crate) timers: Vec<AnyJob>,
    /// Whether it is in the operators' list of pending actions.
    pub(crate) pending_action: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) enum RowExpectation {
    #[default]
    Never,
    Always,
    /// Present until this job is done.
    Until(AnyJob),
}

/// The remainder of a card that has ended belongs to the account owner, up to the amount that the provider released.
fn remainder(charge: &Charge, released: Cents) -> MoneyOutcome {
    if released == Cents::ZERO {
        return MoneyOutcome::Spent;
    }
    let released = released.get().saturating_mul(10_000);
    let retained = charge.provider_amount().atomic().saturating_sub(released);
    MoneyOutcome::Returned { retained }
}

/// USDC has six decimals, a price two.
const ATOMIC_PER_CENT: i128 = 10_000;

/// Value and cost of an amount in atomic USDC, computed from its quote alone. Both are converted exactly and rounded up
/// to the cent once. `None` if the quote's facts are not numbers.
fn priced(amount: Cents, currency: Currency, quoted: &QuoteFacts) -> Option<(i128, i128)> {
    let number = |text: &str| Decimal::from_str_exact(text).ok();
    let usd_per_unit = match &quoted.exchange {
        Some(exchange) => number(&exchange.usd_per_unit)?,
        None if currency == Currency::USD => Decimal::ONE,
        None => return None,
    };
    let amount = Decimal::from(amount.get()) / Decimal::ONE_HUNDRED;
    let on_top = number(&quoted.min_fee)?.max(amount * number(&quoted.fee_rate)?);
    let atomic = |units: Decimal| {
        let cents = units
            .checked_mul(usd_per_unit)?
            .checked_mul(Decimal::ONE_HUNDRED)?
            .ceil();
        Some(i128::try_from(cents).ok()? * ATOMIC_PER_CENT)
    };
    Some((atomic(amount)?, atomic(amount + on_top)?))
}

#[derive(Clone, Debug)]
pub(crate) struct OutgoingTransfer {
    /// Name of the product.
    pub(crate) name: String,
    /// Set once it is known to be on chain.
    pub(crate) transaction: Option<String>,
    /// What is known before that: the id of the signed transaction, or else the receiver.
    pub(crate) signed: TransferMatch,
    pub(crate) atomic: u64,
    /// Fingerprint by which the chain shows the transfer in any transaction. `None` if not stored.
    pub(crate) mark: Option<[u8; 32]>,
}

/// How a signed transfer is recognized on the chain.
#[derive(Clone, Debug)]
pub(crate) enum TransferMatch {
    /// By its transaction id.
    As(String),
    /// By its receiver.
    For(Wallet),
}

impl OutgoingTransfer {
    /// Whether an otherwise unmatched transfer can be this one.
    pub(crate) fn may_be(&self, transaction: &str, transfer: &ChainTransfer) -> bool {
        let signed = match &self.signed {
            TransferMatch::As(id) => id == transaction,
            TransferMatch::For(wallet) => *wallet == transfer.to,
        };
        signed && transfer.atomic == self.atomic
    }
}

/// Writes the functions that ask the product of an entity kind. A row has the product and the module of its rules.
///
/// ```ignore
/// products! { GiftCard: gift_card, }
/// // becomes
/// pub(crate) fn read(kind: u8, id: u128, row: &Row) -> /* … */ {
///     if kind == EntityKind::GiftCard as u8 {
///         return Some((PurchasedProduct::GiftCard(id.into()), gift_card::read(id.into(), row)));
///     }
///     None
/// }
/// // and `fold` and `product_of_job` in the same way
/// ```
macro_rules! products {
    ($($product:ident: $module:ident,)+) => {
        /// Reads a snapshot, with its name. `None` if the kind is not a product.
        pub(crate) fn read(kind: u8, id: u128, row: &Row) -> Option<(PurchasedProduct, Result<SoldProduct, DecodeError>)> {
            $(if kind == EntityKind::$product as u8 {
                return Some((PurchasedProduct::$product(id.into()), $module::read(id.into(), row)));
            })+
            None
        }

        /// The status after an event: the inner `None` leaves it unchanged. The outer `None` means that the kind is not
        /// a product.
        pub(crate) fn fold(kind: u8, event: &[u8]) -> Option<Result<Option<&'static str>, DecodeError>> {
            $(if kind == EntityKind::$product as u8 {
                return Some($module::fold(event));
            })+
            None
        }

        /// The product that a job moves on, if any.
        pub(crate) fn product_of_job(work: &AnyJob) -> Option<String> {
            let found = None;
            $(let found = found.or_else(|| $module::product_of_job(work));)+
            found
        }

        /// Every product has its rules: a missing one does not compile.
        const _: fn(PurchasedProduct) = |product| match product {
            $(PurchasedProduct::$product(_) => (),)+
        };
    };
}

products! {
    Card: card,
    IntlOrder: intl_order,
    GiftCard: gift_card,
    Payout: payout,
    TopUp: top_up,
}

/// The treasury transfer of a product, as far as its snapshot knows. `None` for a kind that sends nothing.
pub(crate) fn outgoing_transfer(kind: u8, id: u128, row: &Row) -> Option<OutgoingTransfer> {
    (kind == EntityKind::TopUp as u8).then(|| top_up::outgoing_transfer(TopUpId(id), row))?
}

/// Checks the rows that products have besides their snapshots.
pub(crate) fn check(contents: &StoreContents, report: &mut VerifyReport) {
    intl_order::queue(contents, report);
    intl_order::check_pending_actions(contents, report);
}

/// The payment or product of a pending credit, and the amount in atomic USDC. `None` for other jobs.
pub(crate) fn credited_for(work: &AnyJob) -> Option<(String, i128)> {
    match work.typed()? {
        account::Job::CreditAccount { cause, amount, .. }
            if !matches!(cause, CreditCause::Deposit(_) | CreditCause::BankTransfer(_)) =>
        {
            Some((cause_name(&cause), i128::from(amount.atomic())))
        }
        _ => None,
    }
}

/// Ledger name of what a balance paid for.
pub(crate) fn paid_for_name(paid_for: &DebitPurpose) -> String {
    match paid_for {
        DebitPurpose::Payout(PayoutId(id)) => format!("po_{id:032x}"),
        DebitPurpose::Transfer(BankTransferId(id)) => format!("btr_{id:032x}"),
        DebitPurpose::LostOrder(OutgoingTransferId(id)) => format!("otx_{id:032x}"),
    }
}

/// Written out here: the engine's own naming is what `verify` has to prove.
pub(crate) fn cause_name(cause: &CreditCause) -> String {
    match cause {
        CreditCause::Payment(id) => id.to_string(),
        CreditCause::Card(CardId(id)) => format!("card_{id:032x}"),
        CreditCause::Payout(PayoutId(id)) => format!("po_{id:032x}"),
        CreditCause::TopUp(TopUpId(id)) => format!("top_{id:032x}"),
        CreditCause::Deposit(id) => id.to_string(),
        CreditCause::LateReturn(LateReturnId(id)) => format!("lr_{id:032x}"),
        CreditCause::BankTransfer(BankTransferId(id)) => format!("btr_{id:032x}"),
        CreditCause::Refund(RefundId(id)) => format!("rf_{id:032x}"),
        CreditCause::LostOrder(OutgoingTransferId(id)) => format!("otx_{id:032x}"),
    }
}
