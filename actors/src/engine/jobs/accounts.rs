//! Jobs of accounts: credits, holds and daily caps.

use super::work::{Inquiry, OperatorResolution, Summary, Work, ask, not_queryable, not_resolvable, summarize, usd};
use super::{HandlerResult, JobHandlers};
use crate::engine::job_resolution::credit_command;
use crate::engine::registries::Registries;
use crate::engine::{Engine, ResolveError};
use crate::entity::account::{Command, Job, UnclaimedCapUsage};
use crate::id::JobId;
use crate::kernel::OutboxJob;
use crate::port::BoxFuture;
use crate::reconciliation::EntryAmount;

#[deny(clippy::wildcard_enum_match_arm, reason = "a new job must be handled here")]
impl Work for Job {
    fn run<'a>(self, on: &'a JobHandlers, effect: &'a OutboxJob) -> BoxFuture<'a, HandlerResult> {
        let (accounts, job) = (&on.registries.accounts, effect.id);
        match self {
            Self::CreditAccount { account, amount, cause } => {
                Box::pin(on.credit_account(effect, account, amount, cause))
            }
            Self::ReleaseCapReservation { account, reservation } => {
                ask(accounts, account, Command::ReleaseCapReservation { job, reservation })
            }
            Self::CountCapReservation { account, reservation } => {
                ask(accounts, account, Command::CountCapReservation { job, reservation })
            }
            Self::CountUnclaimed {
                account,
                payment,
                lines,
                reservations,
            } => {
                let counted = UnclaimedCapUsage {
                    account,
                    lines,
                    reservations,
                };
                Box::pin(on.count_unclaimed(effect, payment, counted))
            }
            Self::CountClaimed { account, payment } => Box::pin(on.count_claimed(effect, account, payment)),
            Self::SettleHold {
                withdrawal,
                account,
                amount,
                paid,
            } => {
                // Captures the hold for a completed withdrawal, or releases it.
                let command = Command::SettleHold {
                    job,
                    withdrawal,
                    amount,
                    paid,
                };
                ask(accounts, account, command)
            }
            Self::ReleaseCredit {
                account,
                payment,
                amount,
            } => Box::pin(on.release_credit(effect, account, (payment, amount))),
            Self::SendBack {
                deposit,
                account,
                to,
                amount,
            } => {
                let command = Command::SendBack {
                    job,
                    deposit,
                    to,
                    amount,
                };
                ask(accounts, account, command)
            }
        }
    }

    fn summarize(self, all: &Registries) -> BoxFuture<'_, Summary> {
        match self {
            Self::CreditAccount { account, amount, .. }
            | Self::SettleHold { account, amount, .. }
            | Self::ReleaseCredit { account, amount, .. } => {
                summarize(&all.accounts, account, move |_| Some(EntryAmount::Usdc(amount)))
            }
            Self::ReleaseCapReservation { account, reservation }
            | Self::CountCapReservation { account, reservation } => {
                summarize(&all.accounts, account, move |_| Some(usd(reservation.cents)))
            }
            Self::CountUnclaimed { account, .. } | Self::CountClaimed { account, .. } => {
                summarize(&all.accounts, account, |_| None)
            }
            Self::SendBack { deposit, .. } => summarize(&all.incoming, deposit, |incoming| {
                Some(EntryAmount::Usdc(incoming.transfer.amount))
            }),
        }
    }

    fn inquire(self, _: &Engine, _: JobId) -> BoxFuture<'_, Inquiry> {
        not_queryable()
    }

    fn resolve<'a>(
        self,
        engine: &'a Engine,
        resolution: &'a OperatorResolution<'a>,
    ) -> BoxFuture<'a, Result<(), ResolveError>> {
        match self {
            Self::CreditAccount { account, amount, cause } if !resolution.done => Box::pin(async move {
                let unfinal = engine.pending_payment_of_credit(cause).await?;
                let credit = || credit_command(resolution.id, amount, (cause, unfinal));
                resolution
                    .send(engine, (&engine.0.registries.accounts, account), credit)
                    .await
            }),
            Self::CreditAccount { .. }
            | Self::ReleaseCapReservation { .. }
            | Self::CountCapReservation { .. }
            | Self::CountUnclaimed { .. }
            | Self::CountClaimed { .. }
            | Self::SettleHold { .. }
            | Self::ReleaseCredit { .. }
            | Self::SendBack { .. } => not_resolvable(),
        }
    }
}
