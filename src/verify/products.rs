//! What payments bought, of whatever kind, in the terms that the books need: what it cost, what its state says of the
//! money, and whether something must still move it on. One file a product, with rules of its own.

mod card;
mod gift_card;
mod intl_order;
mod payout;
#[cfg(test)]
mod tests;
mod top_up;

use purser_actors::account::DebitPurpose;
use purser_actors::id::{
    BankTransferId, CardId, LateReturnId, OutgoingTransferId, PayoutId, RefundId, TopUpId, Wallet,
};
use purser_actors::kernel::EntityKind;
use purser_actors::kernel::job::{CreditCause, Job};
use purser_actors::ledger::{Charge, LedgerProvider};
use purser_actors::money::Cents;
use purser_actors::product::{Currency, PurchasedProduct};
use purser_actors::quote::QuoteFacts;
use purser_storage::Row;
use purser_storage::codec::DecodeError;
use rust_decimal::Decimal;

use super::{ChainTransfer, StoreContents, VerifyReport};

/// What a product's state says of the money that was paid for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MoneyOutcome {
    /// It is with the provider, or on the way there.
    Spent,
    /// All of it went back to the payer's balance, or is on the way there.
    Reversed,
    /// What the provider did not keep, in atomic USDC, went back; our fee is earned.
    Returned {
        /// Kept by the provider.
        retained: u64,
    },
    /// It was delivered out of our treasury: the provider is owed nothing, and bringing it there cost so much more, in
    /// atomic USDC.
    Delivered {
        /// Ours to bear, the surplus included.
        cost: u64,
        /// Of the cost, what the recipient got beyond what was bought.
        surplus: u64,
    },
    /// It left our treasury, is lost, and went back to the payer's balance out of ours.
    Lost {
        /// What left beyond its worth, in atomic USDC.
        cost: u64,
    },
}

/// Something that a payment bought.
#[derive(Clone, Debug)]
pub(crate) struct SoldProduct {
    /// As the payment names it.
    pub(crate) product: PurchasedProduct,
    /// In the report.
    pub(crate) plural: &'static str,
    /// Of the snapshot.
    pub(crate) revision: u64,
    /// As events name it.
    pub(crate) status: &'static str,
    /// Whose.
    pub(crate) owner: Wallet,
    /// What it cost.
    pub(crate) charge: Charge,
    /// What it is worth in atomic USDC: where the product itself says so, by that, and not by its charge.
    pub(crate) value: i128,
    /// Who is owed for it.
    pub(crate) provider: LedgerProvider,
    /// See [`Money`].
    pub(crate) money: MoneyOutcome,
    /// What it cost in atomic USDC, where the product keeps what its price was made from.
    pub(crate) price: Option<i128>,
    /// Whether it is on its way, so that work must be under way for it.
    pub(crate) is_in_progress: bool,
    /// See [`Usable`].
    pub(crate) usable: Usable,
    /// Of a payout: whether its money came back after its return window.
    pub(crate) returned_late: bool,
    /// See [`Keeps`].
    pub(crate) expected_rows: ExpectedRows,
}

/// How much its holder can use now of something that was bought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Usable {
    /// There is none, or it has ended.
    Zero,
    /// So much is on a card, in atomic USDC, and so much of that came there by merchants, who may have paid it in after a refund.
    Remaining { now: i128, by_merchants: i128 },
    /// All that it is worth, from the day it could be used on.
    All,
}

/// Where a product's charge must have gone, in atomic USDC.
pub(crate) struct MoneyFlow {
    /// Back by itself, ours included.
    pub(crate) returned: i128,
    /// To whoever made it.
    pub(crate) owed: i128,
    /// Our fee.
    pub(crate) earned: i128,
    /// Of what went back, what is ours: the refund of its payment gave the payer as much.
    pub(crate) own_share: i128,
}

impl SoldProduct {
    /// Where a refund gave so much of the charge.
    pub(crate) fn money_flow(&self, refunded: i128) -> MoneyFlow {
        let (all, worth) = (i128::from(self.charge.charged.atomic()), self.value);
        let (back, owed, earned) = match self.money {
            MoneyOutcome::Spent => (0, worth, all - worth),
            MoneyOutcome::Reversed => (all, 0, 0),
            MoneyOutcome::Returned { retained: kept } => {
                let kept = i128::from(kept).min(worth);
                (worth - kept, kept, all - worth)
            }
            MoneyOutcome::Delivered { .. } => (0, 0, all - worth),
            MoneyOutcome::Lost { .. } => (all, 0, 0),
        };
        let ours = match self.money {
            MoneyOutcome::Returned { .. } => back - back.min(all - refunded).max(0),
            MoneyOutcome::Spent
            | MoneyOutcome::Reversed
            | MoneyOutcome::Delivered { .. }
            | MoneyOutcome::Lost { .. } => 0,
        };
        MoneyFlow {
            returned: back,
            owed,
            earned,
            own_share: ours,
        }
    }
}

/// The rows that a product has besides its snapshot.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExpectedRows {
    /// In the vault.
    pub(crate) number: RowExpectation,
    /// Among the sealed CVVs.
    pub(crate) cvv: RowExpectation,
    /// Work that is waiting for its time.
    pub(crate) timers: Vec<Job>,
    /// Whether it is in the operators' list of what holders want.
    pub(crate) pending_action: bool,
}

/// Whether there is a row.
#[derive(Clone, Debug, Default)]
pub(crate) enum RowExpectation {
    /// There is none.
    #[default]
    Never,
    /// There is one.
    Always,
    /// There is one for as long as this work is not done.
    Until(Job),
}

/// What was left on a card that has ended is the holder's, as far as whoever made it gave it back.
fn remainder(charge: &Charge, released: Cents) -> MoneyOutcome {
    if released == Cents::ZERO {
        return MoneyOutcome::Spent;
    }
    let released = released.get().saturating_mul(10_000);
    let kept = charge.provider_amount().atomic().saturating_sub(released);
    MoneyOutcome::Returned { retained: kept }
}

/// USDC has six decimals, a price two.
const ATOMIC_PER_CENT: i128 = 10_000;

/// What an amount is worth and what it cost, in atomic USDC, by the facts of its quote and nothing else: both are converted
/// exactly and rounded up to the cent once. Facts that are no numbers are no price.
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

/// A transfer out of the treasury for a product.
#[derive(Clone, Debug)]
pub(crate) struct OutgoingTransfer {
    /// The product.
    pub(crate) name: String,
    /// Once it is known to be on the chain.
    pub(crate) transaction: Option<String>,
    /// What is known before that: the transaction's id where it was signed as one, else who receives it.
    pub(crate) signed: TransferMatch,
    /// In atomic USDC.
    pub(crate) atomic: u64,
    /// By what the chain shows it once it is there, in whatever transaction, where that was kept.
    pub(crate) mark: Option<[u8; 32]>,
}

/// How a transfer that was signed is recognized on the chain.
#[derive(Clone, Debug)]
pub(crate) enum TransferMatch {
    /// By its id.
    As(String),
    /// By its receiver.
    For(Wallet),
}

impl OutgoingTransfer {
    /// Whether a transfer that nothing else explains can be this one.
    pub(crate) fn may_be(&self, transaction: &str, transfer: &ChainTransfer) -> bool {
        let signed = match &self.signed {
            TransferMatch::As(id) => id == transaction,
            TransferMatch::For(wallet) => *wallet == transfer.to,
        };
        signed && transfer.atomic == self.atomic
    }
}

/// Reads a snapshot, with its name; `None` for a kind that is no product.
pub(crate) fn read(kind: u8, id: u128, row: &Row) -> Option<(PurchasedProduct, Result<SoldProduct, DecodeError>)> {
    if kind == EntityKind::Card as u8 {
        return Some((PurchasedProduct::Card(CardId(id)), card::read(CardId(id), row)));
    }
    if kind == EntityKind::GiftCard as u8 {
        return Some((PurchasedProduct::GiftCard(CardId(id)), gift_card::read(CardId(id), row)));
    }
    if kind == EntityKind::IntlOrder as u8 {
        let id = CardId(id);
        return Some((PurchasedProduct::IntlOrder(id), intl_order::read(id, row)));
    }
    if kind == EntityKind::Payout as u8 {
        let id = PayoutId(id);
        return Some((PurchasedProduct::Payout(id), payout::read(id, row)));
    }
    if kind == EntityKind::TopUp as u8 {
        return Some((PurchasedProduct::TopUp(TopUpId(id)), top_up::read(TopUpId(id), row)));
    }
    None
}

/// What left the treasury for a product, as far as its snapshot knows; nothing for a kind that sends nothing.
pub(crate) fn outgoing_transfer(kind: u8, id: u128, row: &Row) -> Option<OutgoingTransfer> {
    (kind == EntityKind::TopUp as u8).then(|| top_up::outgoing_transfer(TopUpId(id), row))?
}

/// The status after an event, `None` in it where it stays as it is; `None` for a kind that is no product.
pub(crate) fn fold(kind: u8, event: &[u8]) -> Option<Result<Option<&'static str>, DecodeError>> {
    if kind == EntityKind::Card as u8 {
        return Some(card::fold(event));
    }
    if kind == EntityKind::GiftCard as u8 {
        return Some(gift_card::fold(event).map(Some));
    }
    if kind == EntityKind::IntlOrder as u8 {
        return Some(intl_order::fold(event));
    }
    if kind == EntityKind::Payout as u8 {
        return Some(payout::fold(event));
    }
    if kind == EntityKind::TopUp as u8 {
        return Some(top_up::fold(event).map(Some));
    }
    None
}

/// What products keep besides their snapshots.
pub(crate) fn check(contents: &StoreContents, report: &mut VerifyReport) {
    intl_order::queue(contents, report);
    intl_order::check_pending_actions(contents, report);
}

/// The product that a piece of work moves on, if it moves one.
pub(crate) fn product_of_job(work: &Job) -> Option<String> {
    match work {
        Job::IssueCard(id) | Job::OrderGiftCard(id) | Job::ChangePrepaidCardState(id) => Some(id.to_string()),
        Job::SendPayout(id) | Job::RecallPayout(id) | Job::ExpirePayout(id) | Job::CloseReturnWindow(id) => {
            Some(id.to_string())
        }
        Job::SendTopUp(id) | Job::BridgeTopUp(id) | Job::AwaitIssuerCredit(id) => Some(id.to_string()),
        _ => None,
    }
}

/// What a credit that is under way is for, if it is for a payment or a product, and how much it is in atomic USDC.
pub(crate) fn credited_for(work: &Job) -> Option<(String, i128)> {
    match work {
        Job::CreditAccount { cause, amount, .. }
            if !matches!(cause, CreditCause::Deposit(_) | CreditCause::BankTransfer(_)) =>
        {
            Some((cause_name(cause), i128::from(amount.atomic())))
        }
        _ => None,
    }
}

/// What a balance paid for, as the books name it.
pub(crate) fn paid_for_name(paid_for: &DebitPurpose) -> String {
    match paid_for {
        DebitPurpose::Payout(PayoutId(id)) => format!("po_{id:032x}"),
        DebitPurpose::Transfer(BankTransferId(id)) => format!("btr_{id:032x}"),
        DebitPurpose::LostOrder(OutgoingTransferId(id)) => format!("left_{id:032x}"),
    }
}

/// Written out here: the engine's own spelling is what is to be proved.
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
        CreditCause::LostOrder(OutgoingTransferId(id)) => format!("left_{id:032x}"),
    }
}
