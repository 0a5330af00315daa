//! Incoming transfers without a payment: their owner, and what was bought with them in a history that a restore lost.

use std::time::Duration;

use purser_storage::mutants::{self, Mutant};

use super::work::{Inquiry, OperatorResolution, Summary, Work, ask, not_queryable, not_resolvable, summarize};
use super::{HandlerResult, JobHandlers, ask_entity, load_failed, with_timeout_ms};
use crate::currency::Currency;
use crate::engine::incoming::{SettlementMatch, match_settlement};
use crate::engine::registries::Registries;
use crate::engine::untracked_transfers::top_ups::PossibleTopUpPayment;
use crate::engine::{Engine, ResolveError};
use crate::entity::account;
use crate::entity::incoming::{self, AdoptableProduct, Command, Status, Transfer, Verdict};
use crate::entity::payment::{self, Payment};
use crate::id::{DepositId, JobId, PaymentId, Wallet};
use crate::kernel::{AskError, AttemptFailure, OutboxJob};
use crate::port::payouts::PayoutRailStatus;
use crate::port::{
    Authorization, BoxFuture, ChainStatus, EntryKey, ExternalText, OutgoingTransfer, PortError, ProviderEntry,
    Timestamp,
};
use crate::product::ProductLine;
use crate::reconciliation::{EntryAmount, EntryStatus, ListedEntry, ReconciliationSource};

/// For a transfer that may have paid for an international card. Only an operator can know.
const POSSIBLE_MANUAL_CARD: &str = "an operator may have made an international card for it: look first";

/// A provider's record under the key of a product.
enum ProviderProduct {
    /// Nothing, or an order that was not executed.
    None,
    /// A product that we can record as ours.
    Adoptable(AdoptableProduct),
    /// Another product, of one of these lines.
    Other(ExternalText, Vec<ProductLine>),
}

/// An operator has to decide; nothing was bought.
const WAIT_FOR_OPERATOR: Verdict = Verdict::Wait {
    provider_report: None,
    cap_usage: None,
};

/// The lines whose payouts are on one list.
const PAYOUTS: [ProductLine; 3] = [
    ProductLine::PushToCard,
    ProductLine::BankPayment,
    ProductLine::AppPayment,
];

impl Work for incoming::Job {
    fn run<'a>(self, on: &'a JobHandlers, effect: &'a OutboxJob) -> BoxFuture<'a, HandlerResult> {
        match self {
            Self::ClassifyIncoming(id) => Box::pin(on.classify_incoming(effect, id)),
            Self::ConfirmIncoming(id) => ask(&on.registries.incoming, id, Command::Confirm { job: effect.id }),
        }
    }

    fn summarize(self, all: &Registries) -> BoxFuture<'_, Summary> {
        let (Self::ClassifyIncoming(id) | Self::ConfirmIncoming(id)) = self;
        summarize(&all.incoming, id, |incoming| {
            Some(EntryAmount::Usdc(incoming.transfer.amount))
        })
    }

    fn inquire(self, _: &Engine, _: JobId) -> BoxFuture<'_, Inquiry> {
        not_queryable()
    }

    fn resolve<'a>(self, _: &'a Engine, _: &'a OperatorResolution<'a>) -> BoxFuture<'a, Result<(), ResolveError>> {
        not_resolvable()
    }
}

impl JobHandlers {
    /// Classifies a transfer. A source that can't answer now is asked again. Nothing is credited before every source
    /// has answered.
    pub(super) async fn classify_incoming(&self, effect: &OutboxJob, id: DepositId) -> HandlerResult {
        let read = self.registries.incoming.read(&id).await.map_err(load_failed)?;
        let Some((incoming, _)) = read else {
            return Err(AttemptFailure::temporary("the transfer is not there"));
        };
        if incoming.status != Status::Found {
            return Ok(());
        }
        let transfer = &incoming.transfer;
        let known = self
            .registries
            .payments
            .read(&transfer.payment)
            .await
            .map_err(load_failed)?;
        let (payment, verdict) = match known {
            Some((known, revision)) => match match_settlement(&known, transfer) {
                SettlementMatch::Settled => (revision, Verdict::Claimed),
                SettlementMatch::MaySettle => return Err(AttemptFailure::defer(self.settings.watch_every_ms)),
                SettlementMatch::Unrelated => (revision, self.classify_released(&known, transfer).await?),
            },
            None => (0, self.classify_unclaimed(transfer, incoming.found_at).await?),
        };
        self.incoming.mark_taken_in();
        let command = Command::RecordVerdict {
            job: effect.id,
            verdict: Box::new(verdict),
            payment,
        };
        ask_entity(&self.registries.incoming, id, command).await
    }

    /// A transfer whose payment was released before it was sent: it may be presented again, and then settles. If the
    /// lost history did that and the provider shows the product, the payment is readmitted here.
    async fn classify_released(&self, known: &Payment, transfer: &Transfer) -> Result<Verdict, AttemptFailure> {
        let line = known.claim.purchase.line();
        let shown = match self.lost_history.is_some_and(|lost| lost.contains(transfer.at)) {
            true => self.product_at_provider(transfer.payment, line).await?,
            false => ProviderProduct::None,
        };
        let shows = match shown {
            ProviderProduct::None => return Ok(WAIT_FOR_OPERATOR),
            ProviderProduct::Adoptable(made) => format!("{}: {made:?}", line.name()).into(),
            ProviderProduct::Other(shows, _) => shows,
        };
        if known.is_released() {
            let again = account::Command::Readmit {
                payment: transfer.payment,
                purchase: known.claim.purchase.clone(),
                worth: known.claim.worth,
                cap: self.settings.caps.for_line(line),
                session: known.claim.session,
                counted: self.unclaimed_lines_of(transfer.payment).await?,
            };
            match self.registries.accounts.ask(known.account(), again).await {
                // It settles, and then claims its transfer.
                Ok(()) => return Err(AttemptFailure::defer(self.settings.watch_every_ms)),
                // Frozen, or its caps are used up: an operator sees the evidence.
                Err(AskError::Rejected(_) | AskError::Conflict) => {}
                Err(refusal) => return Err(AttemptFailure::temporary(format!("{refusal:?}"))),
            }
        }
        Ok(Verdict::Wait {
            provider_report: Some(shows),
            cap_usage: Some((known.account(), vec![line])),
        })
    }

    async fn unclaimed_lines_of(&self, payment: PaymentId) -> Result<Option<Vec<ProductLine>>, AttemptFailure> {
        let counted = self.incoming.unclaimed_usage_of(payment, &*self.store).await;
        let counted = counted.map_err(|error| AttemptFailure::temporary(error.to_string()))?;
        Ok(counted.map(|counted| counted.lines))
    }

    /// A transfer without a known payment. Only a transfer that may be of a lost history gets an owner without an
    /// operator's decision.
    async fn classify_unclaimed(&self, transfer: &Transfer, found_at: Timestamp) -> Result<Verdict, AttemptFailure> {
        // A plain transfer was no payment in the lost history either. It may be the treasury's own funding, which
        // belongs to no balance.
        if !self.lost_history.is_some_and(|lost| lost.contains(transfer.at)) || transfer.is_plain() {
            return Ok(WAIT_FOR_OPERATOR);
        }
        let account = self.account_map.owner_of(&transfer.from);
        let wait = |shows: ExternalText, lines: Vec<ProductLine>| Verdict::Wait {
            provider_report: Some(shows),
            cap_usage: Some((account, lines)),
        };
        for line in ProductLine::ALL
            .into_iter()
            .filter(|line| is_listed(*line) && !mutants::is_enabled(Mutant::ProviderNotQueried))
        {
            match self.product_at_provider(transfer.payment, line).await? {
                ProviderProduct::None => {}
                ProviderProduct::Adoptable(made) if could_have_paid(&made, transfer) => {
                    return Ok(Verdict::Adopt(account, made));
                }
                ProviderProduct::Adoptable(made) => {
                    let shows = format!("{}: {made:?}, which is more than was paid", line.name());
                    return Ok(wait(shows.into(), vec![line]));
                }
                ProviderProduct::Other(shows, lines) => return Ok(wait(shows, lines)),
            }
        }
        let later = self.lost_history.is_some_and(|lost| transfer.at > lost.restored);
        let paid = self.possible_top_up(transfer).await?;
        let left = match self.possible_outgoing(&paid, later.then_some(found_at)) {
            Ok(left) => left,
            Err(failure) => {
                self.count_until_known(transfer, account).await?;
                return Err(failure);
            }
        };
        let left = left.map(|left| {
            let shows = format!("{} left the treasury, maybe for a top-up", left.transaction);
            (shows, ProductLine::CardBalance)
        });
        let by_hand = self.settings.intl_prices.contains_price(transfer.amount);
        let by_hand = by_hand.then(|| (POSSIBLE_MANUAL_CARD.to_owned(), ProductLine::IntlCard));
        let (doubts, lines): (Vec<String>, Vec<ProductLine>) = left.into_iter().chain(by_hand).unzip();
        Ok(match lines.is_empty() {
            true => Verdict::Credit(account),
            false => wait(ExternalText::internal(&doubts.join("; ")), lines),
        })
    }

    /// Until all outgoing transfers are known, the transfer may have paid for a top-up, or for a manually issued card
    /// at the same price.
    async fn count_until_known(&self, transfer: &Transfer, account: Wallet) -> HandlerResult {
        if self.unclaimed_lines_of(transfer.payment).await?.is_some() {
            return Ok(());
        }
        let by_hand = self.settings.intl_prices.contains_price(transfer.amount);
        let lines = by_hand.then_some(ProductLine::IntlCard).into_iter();
        let lines = lines.chain([ProductLine::CardBalance]).collect();
        ask_entity(&self.registries.incoming, transfer.id(), Command::Count(account, lines)).await
    }

    /// Whether its chain shows a payment.
    pub(in crate::engine) async fn is_on_chain(&self, authorization: &Authorization) -> Result<bool, PortError> {
        let lookup = self.ports.settlement.lookup(authorization, None);
        let lookup = self.with_timeout(lookup, "lookup").await?;
        Ok(matches!(lookup, ChainStatus::Confirmed { .. }))
    }

    /// Whether a payment of the lost history may have bought something of this line. `found_at`: when the transfer was
    /// found, if it was confirmed after the restore.
    pub(in crate::engine) async fn may_have_bought(
        &self,
        transfer: &Transfer,
        found_at: Option<Timestamp>,
        line: ProductLine,
    ) -> Result<bool, AttemptFailure> {
        for listed in ProductLine::ALL.into_iter().filter(|line| is_listed(*line)) {
            if !matches!(
                self.product_at_provider(transfer.payment, listed).await?,
                ProviderProduct::None
            ) {
                return Ok(line == listed || [line, listed].iter().all(|line| PAYOUTS.contains(line)));
            }
        }
        match line {
            ProductLine::IntlCard => return Ok(true),
            // An operator has to tell first whether there is a card.
            _ if self.settings.intl_prices.contains_price(transfer.amount) => return Err(self.defer_at_gate()),
            ProductLine::CardBalance => return Ok(true),
            _ => {}
        }
        let paid = self.possible_top_up(transfer).await?;
        Ok(self.possible_outgoing(&paid, found_at)?.is_none())
    }

    async fn possible_top_up(&self, transfer: &Transfer) -> Result<PossibleTopUpPayment, AttemptFailure> {
        let account = self.account_map.owner_of(&transfer.from);
        let paid = PossibleTopUpPayment::from_transfer(transfer, account, &*self.store).await;
        paid.map_err(|error| AttemptFailure::temporary(error.to_string()))
    }

    /// The provider's record of a product line under the key that the payment's product has there.
    async fn product_at_provider(
        &self,
        payment: PaymentId,
        line: ProductLine,
    ) -> Result<ProviderProduct, AttemptFailure> {
        let key = JobId(payment.product_id());
        let source = match (line.list(), line) {
            (Some(source), _) => source,
            (None, ProductLine::PushToCard | ProductLine::BankPayment | ProductLine::AppPayment) => {
                return self.payout_at_provider(key).await;
            }
            // Operators issue it, and no list shows these cards.
            (None, ProductLine::IntlCard) => {
                return Ok(ProviderProduct::Other(POSSIBLE_MANUAL_CARD.into(), vec![line]));
            }
            // The outgoing transfers of a top-up are on chain. The others have a list.
            (None, ProductLine::CardBalance | ProductLine::UsaCard | ProductLine::GiftCard) => {
                return Ok(ProviderProduct::None);
            }
        };
        let Some(list) = self.lists.providers.get(&source) else {
            return Ok(ProviderProduct::None);
        };
        let entry = with_timeout_ms(self.provider_timeout(), list.entry(&EntryKey::for_order(key)), "entry").await;
        let Some(entry) = entry.map_err(|error| self.retry_query(error))? else {
            return Ok(ProviderProduct::None);
        };
        Ok(match entry.status {
            EntryStatus::NotSubmitted | EntryStatus::Declined => ProviderProduct::None,
            EntryStatus::Completed | EntryStatus::Pending => adoptable_product(source, &entry)
                .map_or_else(|| other_product(line, source, &entry), ProviderProduct::Adoptable),
            EntryStatus::Held | EntryStatus::Returned => other_product(line, source, &entry),
        })
    }

    /// No list shows a payout's recipient: an operator sees the entry.
    async fn payout_at_provider(&self, key: JobId) -> Result<ProviderProduct, AttemptFailure> {
        let order = with_timeout_ms(self.provider_timeout(), self.ports.payout_rails.find(key), "ask after").await;
        let Some(order) = order.map_err(|error| self.retry_query(error))? else {
            return Ok(ProviderProduct::None);
        };
        let rail_status = match order.status {
            PayoutRailStatus::Failed { .. } | PayoutRailStatus::Cancelled { .. } => return Ok(ProviderProduct::None),
            PayoutRailStatus::InProcess { .. } => "in process",
            PayoutRailStatus::Complete { .. } => "complete",
            PayoutRailStatus::Returned { .. } => "returned",
        };
        // The rails do not report the product line.
        Ok(ProviderProduct::Other(
            ExternalText::internal(&format!("payouts: {key} {rail_status}")),
            PAYOUTS.to_vec(),
        ))
    }

    /// Untracked transfers for a top-up that this transfer may have paid for: an operator has to attribute them first.
    /// The lost history may have forwarded a payment for as long as that can settle. For a later payment, found at this
    /// time, only the chain is queried.
    fn possible_outgoing(
        &self,
        paid: &PossibleTopUpPayment,
        later: Option<Timestamp>,
    ) -> Result<Option<OutgoingTransfer>, AttemptFailure> {
        // Checked before the list is read: what is known by then is on it.
        let is_known = match later {
            Some(found) => self.outgoing_guard.is_known_by(found),
            None => self.outgoing_guard.is_all_known(),
        };
        let open = self.outgoing_guard.untracked();
        match open.into_iter().find(|left| paid.may_match(left)) {
            None if !is_known => Err(AttemptFailure::defer(self.settings.watch_every_ms)),
            left => Ok(left),
        }
    }

    /// Whether the provider has an order for a payment for which this history has sent none. A restored store may be
    /// older than the order.
    pub(super) async fn is_ordered_at_provider(
        &self,
        id: PaymentId,
        payment: &Payment,
    ) -> Result<bool, AttemptFailure> {
        let declined = matches!(payment.status, payment::Status::Declined(..));
        if !declined || self.lost_history.is_none_or(|lost| payment.claim.at > lost.restored) {
            return Ok(false);
        }
        let line = payment.claim.purchase.line();
        if line == ProductLine::CardBalance {
            // Forwarded transfers are on chain, and on no provider's list.
            let left = self.possible_outgoing(&PossibleTopUpPayment::from_payment(payment), None)?;
            return Ok(left.is_some());
        }
        let shown = self.product_at_provider(id, line).await?;
        Ok(!matches!(shown, ProviderProduct::None))
    }

    const fn provider_timeout(&self) -> Duration {
        Duration::from_millis(self.settings.issuer_timeout_ms)
    }

    fn retry_query(&self, error: PortError) -> AttemptFailure {
        AttemptFailure::from(error).retry_every_ms(self.settings.watch_every_ms)
    }
}

/// Whether a provider's list shows purchases of this line by a payment of unknown purpose. One list has the payouts of
/// all three lines. A line without a list is known by its price or its outgoing transfer.
const fn is_listed(line: ProductLine) -> bool {
    line.list().is_some() || matches!(line, ProductLine::AppPayment)
}

/// The product that we can record for an entry. Its list is the only source of information.
fn adoptable_product(source: ReconciliationSource, entry: &ProviderEntry) -> Option<AdoptableProduct> {
    let EntryAmount::Cents(amount, currency) = entry.amount else {
        return None;
    };
    match (source, &entry.terms) {
        (ReconciliationSource::Cards, _) if currency == Currency::USD => Some(AdoptableProduct::Card { amount }),
        (ReconciliationSource::GiftCards, Some(terms)) => Some(AdoptableProduct::GiftCard {
            amount,
            currency,
            product: entry.product.to_string(),
            country: terms.country,
            fee_rate: terms.fee_rate.clone(),
        }),
        _ => None,
    }
}

fn other_product(line: ProductLine, source: ReconciliationSource, entry: &ProviderEntry) -> ProviderProduct {
    let listed = ListedEntry {
        status: entry.status,
        amount: entry.amount,
        at: entry.at,
    };
    ProviderProduct::Other(
        format!("{}: {} {listed}", source.name(), entry.product).into(),
        vec![line],
    )
}

/// Whether this amount can have paid for it. A fee rate that is no longer known does not rule it out.
fn could_have_paid(made: &AdoptableProduct, transfer: &Transfer) -> bool {
    let paid = transfer.amount.whole_cents();
    match made {
        AdoptableProduct::Card { amount } => *amount <= paid,
        AdoptableProduct::GiftCard { amount, currency, .. } => *currency != Currency::USD || *amount <= paid,
    }
}
