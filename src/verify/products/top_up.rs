//! Top-ups of the balance at the card issuer.

use purser_actors::entity::PurchasedProduct;
use purser_actors::entity::top_up::{Event, FirstLeg, Job, LegKind, Status, TopUp};
use purser_actors::id::{TopUpId, Wallet};
use purser_actors::kernel::job::AnyJob;
use purser_actors::ledger::LedgerProvider;
use purser_storage::Row;
use purser_storage::codec::{self, DecodeError};

use super::{ExpectedRows, MoneyOutcome, OutgoingTransfer, SoldProduct, TransferMatch, Usable};

/// USDC has six decimals, the purchased amount two.
const ATOMIC_PER_CENT: u64 = 10_000;

pub(super) fn read(id: TopUpId, row: &Row) -> Result<SoldProduct, DecodeError> {
    let top_up: TopUp = codec::decode(&row.value)?;
    let worth = top_up.amount.get().saturating_mul(ATOMIC_PER_CENT);
    let burned = top_up.legs.iter().any(|leg| leg.leg == LegKind::Burn);
    let cost = top_up.outgoing_amount.atomic().saturating_sub(worth);
    let surplus = top_up.legs.iter().find_map(|leg| match leg.leg {
        LegKind::MintOf(arrived) => Some(arrived.atomic().saturating_sub(worth)),
        _ => None,
    });
    let surplus = surplus.unwrap_or(0);
    let (status, money) = match top_up.status {
        Status::Paid(_) => ("paid", MoneyOutcome::Spent),
        Status::Bridging(_) => ("bridging", MoneyOutcome::Delivered { cost, surplus }),
        Status::Delivered => ("delivered", MoneyOutcome::Delivered { cost, surplus }),
        Status::Credited => ("credited", MoneyOutcome::Delivered { cost, surplus }),
        Status::Failed { .. } if burned => ("failed", MoneyOutcome::Lost { cost }),
        Status::Failed { .. } => ("failed", MoneyOutcome::Reversed),
    };
    Ok(SoldProduct {
        product: PurchasedProduct::TopUp(id),
        plural: "top_ups",
        revision: row.revision,
        status,
        owner: top_up.owner,
        charge: top_up.charge,
        value: i128::from(worth),
        provider: LedgerProvider::CardBalances,
        money,
        price: None,
        usable: match top_up.status {
            Status::Delivered | Status::Credited => Usable::All,
            Status::Paid(_) | Status::Bridging(_) | Status::Failed { .. } => Usable::Zero,
        },
        returned_late: false,
        expected_rows: ExpectedRows::default(),
        is_in_progress: !matches!(top_up.status, Status::Credited | Status::Failed { .. }),
    })
}

/// The outgoing transfer: known by its leg, or signed and possibly in progress.
pub(super) fn outgoing_transfer(id: TopUpId, row: &Row) -> Option<OutgoingTransfer> {
    let top_up: TopUp = codec::decode(&row.value).ok()?;
    let leg = top_up.outgoing_leg();
    let to_the_holder = TransferMatch::For(Wallet::Evm(top_up.address));
    let (atomic, signed) = match (&top_up.status, leg) {
        (Status::Paid(Some(first)), _) => match &**first {
            FirstLeg::Burn(burn) => (burn.burned.atomic(), TransferMatch::As(burn.transaction.clone())),
            FirstLeg::Transfer(out) => (out.authorization.value().atomic(), to_the_holder),
        },
        (_, Some(leg)) => (
            top_up.outgoing_amount.atomic(),
            TransferMatch::As(leg.transaction.clone()),
        ),
        (_, None) => return None,
    };
    Some(OutgoingTransfer {
        name: id.to_string(),
        transaction: leg.map(|leg| leg.transaction.clone()),
        signed,
        atomic,
        mark: leg.and_then(|leg| leg.leg.fingerprint()),
    })
}

pub(super) fn fold(event: &[u8]) -> Result<Option<&'static str>, DecodeError> {
    Ok(Some(match codec::decode(event)? {
        Event::Paid { .. } | Event::Signed(..) | Event::SignatureExpired(_) => "paid",
        Event::Burned(..) | Event::Attested(..) | Event::MintSigned(..) => "bridging",
        Event::Forwarded(..) | Event::Minted(..) => "delivered",
        Event::Credited(_) => "credited",
        Event::Failed(..) => "failed",
    }))
}

pub(super) fn product_of_job(work: &AnyJob) -> Option<String> {
    let (Job::SendTopUp(id) | Job::BridgeTopUp(id) | Job::AwaitIssuerCredit(id)) = work.typed()?;
    Some(id.to_string())
}
