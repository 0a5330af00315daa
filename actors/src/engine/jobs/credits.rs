//! Jobs that credit a balance.

use purser_storage::mutants::{self, Mutant};
use purser_storage::{Batch, Condition, Write};
use tokio::sync::oneshot;

use super::{HandlerResult, JobHandlers, ask_entity, load_failed};
use crate::engine::registries::Registries;
use crate::engine::untracked_transfers::OutgoingTransferGuard;
use crate::entity::PRODUCTS;
use crate::entity::account;
use crate::entity::account::CreditCause;
use crate::entity::payment::Status;
use crate::id::{CardId, PaymentId, PayoutId, Wallet};
use crate::kernel::registry::LoadError;
use crate::kernel::{AttemptFailure, OutboxJob, table};
use crate::money::Usdc;

impl JobHandlers {
    /// Credits a balance once. A charge whose payment was reorged is not credited too, but waits for an operator.
    pub(super) async fn credit_account(
        &self,
        effect: &OutboxJob,
        account: Wallet,
        amount: Usdc,
        cause: CreditCause,
    ) -> HandlerResult {
        if let Some(paid) = reorged_payment(&self.registries, cause).await.map_err(load_failed)? {
            let message = format!("payment {paid} was reversed by the chain");
            return Err(AttemptFailure::permanent(message));
        }
        let effect_id = effect.id;
        let unfinal = pending_payment_behind(&self.registries, &self.outgoing_guard, cause).await;
        let command = match unfinal.map_err(load_failed)? {
            Some(payment) => account::Command::CreditProvisionally {
                job: effect_id,
                amount,
                cause,
                payment,
            },
            None => account::Command::Credit {
                job: effect_id,
                amount,
                cause,
            },
        };
        ask_entity(&self.registries.accounts, account, command).await?;
        if mutants::is_enabled(Mutant::CreditThenDelete) {
            self.complete_job(effect).await?;
        }
        Ok(())
    }

    /// Deletes a job whose outcome was recorded without it. Only [`Mutant::CreditThenDelete`] does this.
    async fn complete_job(&self, effect: &OutboxJob) -> HandlerResult {
        let key = table::outbox_job(effect.id);
        let batch = Batch {
            conditions: vec![Condition::Present(key.clone())],
            writes: vec![Write::Delete { key }],
            ..Batch::default()
        };
        let (done, struck) = oneshot::channel();
        self.store
            .commit(batch, Box::new(move |result| drop(done.send(result))));
        match struck.await {
            Ok(Ok(_)) => Ok(()),
            _ => Err(AttemptFailure::temporary("the effect could not be struck off")),
        }
    }
}

/// The payment that a credit depends on, if it is not final.
pub(in crate::engine) async fn pending_payment_behind(
    all: &Registries,
    outgoing_guard: &OutgoingTransferGuard,
    cause: CreditCause,
) -> Result<Option<PaymentId>, LoadError> {
    if !outgoing_guard.may_be_pending_finality() {
        return Ok(None);
    }
    let payment = match cause {
        CreditCause::Payment(id) => Some(id),
        CreditCause::Refund(id) => {
            let read = all.refunds.read(&id).await?;
            read.map(|(refund, _)| refund.request.payment)
        }
        cause => source_payment(all, cause).await?,
    };
    let Some(payment) = payment else { return Ok(None) };
    Ok(outgoing_guard.is_pending_finality(payment).await?.then_some(payment))
}

/// The payment whose charge a credit returns, if a reorg removed it: the credit is then withheld.
pub(in crate::engine) async fn reorged_payment(
    all: &Registries,
    cause: CreditCause,
) -> Result<Option<PaymentId>, LoadError> {
    // A payout from a balance has no payment.
    let Some(paid) = source_payment(all, cause).await? else {
        return Ok(None);
    };
    let payment = all.payments.read(&paid).await?;
    let reversed = payment.is_some_and(|(payment, _)| matches!(payment.status, Status::Reversed { .. }));
    Ok(reversed.then_some(paid))
}

/// The payment whose charge is credited, if the product was bought with one.
async fn source_payment(all: &Registries, cause: CreditCause) -> Result<Option<PaymentId>, LoadError> {
    Ok(match cause {
        CreditCause::Card(id) => source_payment_of_card(all, id).await?,
        CreditCause::Payout(id) => source_payment_of_payout(all, id).await?,
        CreditCause::LateReturn(id) => match all.late_returns.read(&id).await? {
            Some((late, _)) => source_payment_of_payout(all, late.payout).await?,
            None => None,
        },
        CreditCause::TopUp(id) => {
            let read = all.top_ups.read(&id).await?;
            read.map(|(top_up, _)| top_up.charge.payment)
        }
        CreditCause::Payment(_)
        | CreditCause::Deposit(_)
        | CreditCause::BankTransfer(_)
        | CreditCause::Refund(_)
        | CreditCause::LostOrder(_) => None,
    })
}

/// Cards of every kind share their ids.
async fn source_payment_of_card(all: &Registries, id: CardId) -> Result<Option<PaymentId>, LoadError> {
    for product in PRODUCTS.iter().filter(|product| product.id_field == "card_id") {
        if let Some(record) = product.read(&*all.store, id.0).await? {
            return Ok(Some(record.charge.payment));
        }
    }
    Ok(None)
}

async fn source_payment_of_payout(all: &Registries, id: PayoutId) -> Result<Option<PaymentId>, LoadError> {
    let read = all.payouts.read(&id).await?;
    Ok(read.map(|(payout, _)| payout.charge.payment))
}
