//! Transfers that no payment claims: whose they are, and what was bought with them in a history that a restore has lost.

use std::time::Duration;

use purser_storage::mutants::{self, Mutant};

use super::{HandlerResult, JobHandlers, ask_entity, load_failed, with_timeout_ms};
use crate::account;
use crate::engine::incoming::{Settles, settles_by};
use crate::engine::untracked_transfers::top_ups::MayHavePaid;
use crate::id::{DepositId, JobId, PaymentId, Wallet};
use crate::incoming::{Command, Made, Status, Transfer, Verdict};
use crate::kernel::job::Job;
use crate::kernel::{AskError, AttemptFailure, OutboxJob};
use crate::payment::{self, Payment};
use crate::port::payouts::PayoutRailStatus;
use crate::port::{
    Authorization, ChainStatus, EntryKey, ExternalText, OutgoingTransfer, PortError, ProviderEntry, Timestamp,
};
use crate::product::{Currency, ProductLine};
use crate::reconciliation::{EntryAmount, EntryStatus, ListedEntry, ReconciliationSource};

/// Of what may have paid for an international card: nobody but an operator can know.
const MADE_BY_HAND: &str = "an operator may have made an international card for it: look first";

/// What a provider has under the name of a product.
enum Shown {
    /// Nothing, or an order that came to nothing.
    Nothing,
    /// Something that we can keep as our own.
    Made(Made),
    /// Something else, of one of these lines.
    Else(ExternalText, Vec<ProductLine>),
}

/// An operator has to decide, and nothing was bought.
const UNKNOWN: Verdict = Verdict::Wait {
    shows: None,
    counts: None,
};

/// The lines whose payouts one list has.
const PAYOUTS: [ProductLine; 3] = [
    ProductLine::PushToCard,
    ProductLine::BankPayment,
    ProductLine::AppPayment,
];

impl JobHandlers {
    /// Looks into a transfer. Whoever cannot be asked now is asked again: nothing is credited before everybody has answered.
    pub(super) async fn place_incoming(&self, effect: &OutboxJob, id: DepositId) -> HandlerResult {
        let read = self.families.incoming.read(&id).await.map_err(load_failed)?;
        let Some((incoming, _)) = read else {
            return Err(AttemptFailure::temporary("the transfer is not there"));
        };
        if incoming.status != Status::Found {
            return Ok(());
        }
        let transfer = &incoming.transfer;
        let known = self
            .families
            .payments
            .read(&transfer.payment)
            .await
            .map_err(load_failed)?;
        let (payment, verdict) = match known {
            Some((known, revision)) => match settles_by(&known, transfer) {
                Settles::Yes => (revision, Verdict::Claimed),
                Settles::NotYet => return Err(AttemptFailure::defer(self.settings.watch_every_ms)),
                Settles::No => (revision, self.released(&known, transfer).await?),
            },
            None => (0, self.unclaimed(transfer, incoming.found_at).await?),
        };
        self.arrivals.takes();
        let command = Command::Place {
            effect: effect.id,
            verdict: Box::new(verdict),
            payment,
        };
        ask_entity(&self.families.incoming, id, command).await
    }

    /// What becomes of one whose payment was given up before it was sent: it may be presented again, and settles then. Where the
    /// lost history has done that, and the provider shows what was bought, it is admitted again here.
    async fn released(&self, known: &Payment, transfer: &Transfer) -> Result<Verdict, AttemptFailure> {
        let line = known.claim.purchase.line();
        let shown = match self.lost.is_some_and(|lost| lost.has(transfer.at)) {
            true => self.shown(transfer.payment, line).await?,
            false => Shown::Nothing,
        };
        let shows = match shown {
            Shown::Nothing => return Ok(UNKNOWN),
            Shown::Made(made) => format!("{}: {made:?}", line.name()).into(),
            Shown::Else(shows, _) => shows,
        };
        if known.is_released() {
            let again = account::Command::Readmit {
                payment: transfer.payment,
                purchase: known.claim.purchase.clone(),
                worth: known.claim.worth,
                cap: self.settings.caps.of(line),
                session: known.claim.session,
                counted: self.counted_for(transfer.payment).await?,
            };
            match self.families.accounts.ask(known.account(), again).await {
                // It settles, and then claims its transfer.
                Ok(()) => return Err(AttemptFailure::defer(self.settings.watch_every_ms)),
                // Frozen, or its caps are used up: an operator sees what there is.
                Err(AskError::Rejected(_) | AskError::Conflict) => {}
                Err(refusal) => return Err(AttemptFailure::temporary(format!("{refusal:?}"))),
            }
        }
        Ok(Verdict::Wait {
            shows: Some(shows),
            counts: Some((known.account(), vec![line])),
        })
    }

    async fn counted_for(&self, payment: PaymentId) -> Result<Option<Vec<ProductLine>>, AttemptFailure> {
        let counted = self.arrivals.counted_for(payment, &*self.store).await;
        let counted = counted.map_err(|error| AttemptFailure::temporary(error.to_string()))?;
        Ok(counted.map(|counted| counted.lines))
    }

    /// What becomes of a transfer whose payment nobody knows. Only what may be of the history that a restore has lost is anybody's
    /// without an operator's word.
    async fn unclaimed(&self, transfer: &Transfer, found_at: Timestamp) -> Result<Verdict, AttemptFailure> {
        // A plain transfer was no payment in the lost history either: it may be the treasury's own funding, and nobody's balance.
        if !self.lost.is_some_and(|lost| lost.has(transfer.at)) || transfer.is_plain() {
            return Ok(UNKNOWN);
        }
        let account = self.account_map.of(&transfer.from);
        let wait = |shows: ExternalText, lines: Vec<ProductLine>| Verdict::Wait {
            shows: Some(shows),
            counts: Some((account, lines)),
        };
        for line in ProductLine::ALL
            .into_iter()
            .filter(|line| is_listed(*line) && !mutants::is_enabled(Mutant::MadeIsCredited))
        {
            match self.shown(transfer.payment, line).await? {
                Shown::Nothing => {}
                Shown::Made(made) if fits(&made, transfer) => return Ok(Verdict::Adopt(account, made)),
                Shown::Made(made) => {
                    let shows = format!("{}: {made:?}, which is more than was paid", line.name());
                    return Ok(wait(shows.into(), vec![line]));
                }
                Shown::Else(shows, lines) => return Ok(wait(shows, lines)),
            }
        }
        let later = self.lost.is_some_and(|lost| transfer.at > lost.restored);
        let paid = self.may_have_paid(transfer).await?;
        let left = match self.left_for(&paid, later.then_some(found_at)) {
            Ok(left) => left,
            Err(failure) => {
                self.count_meanwhile(transfer, account).await?;
                return Err(failure);
            }
        };
        let left = left.map(|left| {
            let shows = format!("{} left the treasury, maybe for a top-up", left.transaction);
            (shows, ProductLine::CardBalance)
        });
        let by_hand = self.settings.intl_prices.has(transfer.amount);
        let by_hand = by_hand.then(|| (MADE_BY_HAND.to_owned(), ProductLine::IntlCard));
        let (doubts, lines): (Vec<String>, Vec<ProductLine>) = left.into_iter().chain(by_hand).unzip();
        Ok(match lines.is_empty() {
            true => Verdict::Credit(account),
            false => wait(ExternalText::by_us(&doubts.join("; ")), lines),
        })
    }

    /// As long as what left is not known, it may have paid for a top-up, and for a card that is made by hand where that costs as much.
    async fn count_meanwhile(&self, transfer: &Transfer, account: Wallet) -> HandlerResult {
        if self.counted_for(transfer.payment).await?.is_some() {
            return Ok(());
        }
        let by_hand = self.settings.intl_prices.has(transfer.amount);
        let lines = by_hand.then_some(ProductLine::IntlCard).into_iter();
        let lines = lines.chain([ProductLine::CardBalance]).collect();
        ask_entity(&self.families.incoming, transfer.id(), Command::Count(account, lines)).await
    }

    /// Whether its chain shows a payment.
    pub(in crate::engine) async fn shows(&self, authorization: &Authorization) -> Result<bool, PortError> {
        let lookup = self.ports.settlement.lookup(authorization, None);
        let lookup = self.with_timeout(lookup, "lookup").await?;
        Ok(matches!(lookup, ChainStatus::Landed { .. }))
    }

    /// Whether what a payment of the lost history bought, if anything, can have been of this line. `found_at` is when a transfer was
    /// found that landed after the restore.
    pub(in crate::engine) async fn may_be_of(
        &self,
        transfer: &Transfer,
        found_at: Option<Timestamp>,
        line: ProductLine,
    ) -> Result<bool, AttemptFailure> {
        for listed in ProductLine::ALL.into_iter().filter(|line| is_listed(*line)) {
            if !matches!(self.shown(transfer.payment, listed).await?, Shown::Nothing) {
                return Ok(line == listed || [line, listed].iter().all(|line| PAYOUTS.contains(line)));
            }
        }
        match line {
            ProductLine::IntlCard => return Ok(true),
            // An operator has to say first whether there is a card.
            _ if self.settings.intl_prices.has(transfer.amount) => return Err(self.held()),
            ProductLine::CardBalance => return Ok(true),
            _ => {}
        }
        let paid = self.may_have_paid(transfer).await?;
        Ok(self.left_for(&paid, found_at)?.is_none())
    }

    async fn may_have_paid(&self, transfer: &Transfer) -> Result<MayHavePaid, AttemptFailure> {
        let account = self.account_map.of(&transfer.from);
        let paid = MayHavePaid::by(transfer, account, &*self.store).await;
        paid.map_err(|error| AttemptFailure::temporary(error.to_string()))
    }

    /// What the provider of a product line has under the name that a payment's product has there.
    async fn shown(&self, payment: PaymentId, line: ProductLine) -> Result<Shown, AttemptFailure> {
        let key = JobId(payment.product());
        let source = match line {
            ProductLine::UsaCard => ReconciliationSource::Cards,
            ProductLine::GiftCard => ReconciliationSource::GiftCards,
            ProductLine::PushToCard | ProductLine::BankPayment | ProductLine::AppPayment => {
                return self.paid_out(key).await;
            }
            // Operators make it, and no list shows what they made.
            ProductLine::IntlCard => return Ok(Shown::Else(MADE_BY_HAND.into(), vec![line])),
            // What leaves for it is on its chain.
            ProductLine::CardBalance => return Ok(Shown::Nothing),
        };
        let Some(list) = self.lists.providers.get(&source) else {
            return Ok(Shown::Nothing);
        };
        let entry = with_timeout_ms(self.provider_patience(), list.entry(&EntryKey::of(key)), "entry").await;
        let Some(entry) = entry.map_err(|error| self.asked_again(error))? else {
            return Ok(Shown::Nothing);
        };
        Ok(match entry.standing {
            EntryStatus::NotSubmitted | EntryStatus::Declined => Shown::Nothing,
            EntryStatus::Completed | EntryStatus::Pending => {
                made(source, &entry).map_or_else(|| other(line, source, &entry), Shown::Made)
            }
            EntryStatus::Held | EntryStatus::Returned => other(line, source, &entry),
        })
    }

    /// To whom a payout goes is on no list: it is shown to an operator.
    async fn paid_out(&self, key: JobId) -> Result<Shown, AttemptFailure> {
        let order = with_timeout_ms(self.provider_patience(), self.ports.rails.find(key), "ask after").await;
        let Some(order) = order.map_err(|error| self.asked_again(error))? else {
            return Ok(Shown::Nothing);
        };
        let stands = match order.state {
            PayoutRailStatus::Failed { .. } | PayoutRailStatus::Cancelled { .. } => return Ok(Shown::Nothing),
            PayoutRailStatus::InProcess { .. } => "in process",
            PayoutRailStatus::Complete { .. } => "complete",
            PayoutRailStatus::Returned { .. } => "returned",
        };
        // Of which line it was, the rails do not say.
        Ok(Shown::Else(
            ExternalText::by_us(&format!("payouts: {key} {stands}")),
            PAYOUTS.to_vec(),
        ))
    }

    /// What left for a top-up that this may have paid for, and is in no book: whose it was is an operator's to say first. What the
    /// lost history was paid it may have sent on, for as long as that can land; of what came later, found at this time, the chain
    /// need only be asked.
    fn left_for(
        &self,
        paid: &MayHavePaid,
        later: Option<Timestamp>,
    ) -> Result<Option<OutgoingTransfer>, AttemptFailure> {
        // Asked before the list is read: what is known by then is on it.
        let is_known = match later {
            Some(found) => self.departures.is_known_by(found),
            None => self.departures.is_all_known(),
        };
        let open = self.departures.unexplained();
        match open.into_iter().find(|left| paid.may_be(left)) {
            None if !is_known => Err(AttemptFailure::defer(self.settings.watch_every_ms)),
            left => Ok(left),
        }
    }

    /// Whether the provider has an order for a payment that this history has not sent one for: a restored store may be older than
    /// the order.
    pub(super) async fn is_made(&self, id: PaymentId, payment: &Payment) -> Result<bool, AttemptFailure> {
        let declined = matches!(payment.status, payment::Status::Declined(..));
        if !declined || self.lost.is_none_or(|lost| payment.claim.at > lost.restored) {
            return Ok(false);
        }
        let line = payment.claim.purchase.line();
        if line == ProductLine::CardBalance {
            // What was sent on is on the chain, and on nobody's list.
            let left = self.left_for(&MayHavePaid::of(payment), None)?;
            return Ok(left.is_some());
        }
        let shown = self.shown(id, line).await?;
        Ok(!matches!(shown, Shown::Nothing))
    }

    pub(super) async fn send_back(&self, effect: &OutboxJob, account: Wallet) -> HandlerResult {
        let Job::SendBack {
            deposit, to, amount, ..
        } = effect.job
        else {
            return Err(AttemptFailure::temporary("nothing to send back"));
        };
        let command = account::Command::SendBack {
            effect: effect.id,
            deposit,
            to,
            amount,
        };
        ask_entity(&self.families.accounts, account, command).await
    }

    const fn provider_patience(&self) -> Duration {
        Duration::from_millis(self.settings.issuer_timeout_ms)
    }

    fn asked_again(&self, error: PortError) -> AttemptFailure {
        AttemptFailure::from(error).retry_every_ms(self.settings.watch_every_ms)
    }
}

/// Whether a list of its provider's shows what a payment of unknown purpose has bought of this line. The lists of others need not be
/// asked for it: one list has the payouts of all three lines, and what no list has is known by its price or by what left.
const fn is_listed(line: ProductLine) -> bool {
    match line {
        ProductLine::UsaCard | ProductLine::GiftCard | ProductLine::AppPayment => true,
        ProductLine::PushToCard | ProductLine::BankPayment | ProductLine::IntlCard | ProductLine::CardBalance => false,
    }
}

/// What we can keep of an entry: what its list says is all that is known of it.
fn made(source: ReconciliationSource, entry: &ProviderEntry) -> Option<Made> {
    let EntryAmount::Cents(amount, currency) = entry.money else {
        return None;
    };
    match (source, &entry.terms) {
        (ReconciliationSource::Cards, _) if currency == Currency::USD => Some(Made::Card { amount }),
        (ReconciliationSource::GiftCards, Some(terms)) => Some(Made::GiftCard {
            amount,
            currency,
            product: entry.product.to_string(),
            country: terms.country,
            fee_rate: terms.fee_rate.clone(),
        }),
        _ => None,
    }
}

fn other(line: ProductLine, source: ReconciliationSource, entry: &ProviderEntry) -> Shown {
    let listed = ListedEntry {
        standing: entry.standing,
        money: entry.money,
        at: entry.at,
    };
    Shown::Else(
        format!("{}: {} {listed}", source.name(), entry.product).into(),
        vec![line],
    )
}

/// Whether it can have been bought with so much. A rate that nobody knows any more cannot be held against it.
fn fits(made: &Made, transfer: &Transfer) -> bool {
    let paid = transfer.amount.whole_cents();
    match made {
        Made::Card { amount } => *amount <= paid,
        Made::GiftCard { amount, currency, .. } => *currency != Currency::USD || *amount <= paid,
    }
}
