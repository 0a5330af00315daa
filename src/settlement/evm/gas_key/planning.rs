//! Selects the payments of the next transactions, and declines those that would fail.

use std::sync::Arc;
use std::time::Duration;

use purser_chains::evm::multicall::{Candidate, MAX_CALLS, Stage, plan};
use purser_chains::evm::node::BlockTag;
use purser_chains::evm::nonces::{Action, NonceError};
use purser_storage::Write;
use ractor::ActorRef;

use super::{Core, GasKeyActor, GasKeyState, Message, decline};
use crate::evm::checking::{Failure, Verdict};
use crate::evm::core::Outcome;
use crate::evm::job::Job;
use crate::evm::rows::{self, Key, RowError};

/// Maximum number of transactions of payers with code in flight. The gas that one wastes is known once it is included.
const MAX_WITH_CODE_IN_FLIGHT: usize = 2;
/// Age up to which the check of a payment is reused, in milliseconds.
const FRESH_MS: u64 = 10_000;

impl GasKeyActor {
    /// Starts a check of the waiting payments if a transaction may be sent and no check is running. Payments that
    /// arrive meanwhile go together.
    pub(super) async fn plan(&self, myself: &ActorRef<Message>, keeper: &mut GasKeyState) -> Result<(), RowError> {
        let manager = &keeper.manager;
        if keeper.busy || manager.has_count_conflict() || manager.in_flight() >= self.core.settings.max_in_flight {
            return Ok(());
        }
        keeper.take_waiting_with_code();
        let (keys, stage) = match keeper.retry.pop_front() {
            Some(group) => (group.payments, Some(group.stage)),
            None => {
                let most = keeper.waiting.len().min(MAX_CALLS);
                (keeper.waiting.drain(..most).collect(), None)
            }
        };
        let payments: Vec<Arc<Job>> = keys
            .iter()
            .filter_map(|key| keeper.payments.get(key).cloned())
            .collect();
        if payments.is_empty() {
            return Ok(());
        }
        keeper.busy = true;
        let codes = stage.is_none().then(|| self.check_code(&payments)).flatten();
        if let (Some(codes), [payment]) = (&codes, payments.as_slice()) {
            let verdict = Verdict {
                has_code: codes[0],
                balance: None,
                failure: None,
            };
            let actions = self.planned(keeper, vec![(payment.clone(), verdict)], stage).await;
            self.execute(myself, keeper, actions).await?;
            return self.flush(keeper).await;
        }
        let (core, myself) = (self.core.clone(), myself.clone());
        tokio::spawn(async move {
            let verdicts = match codes {
                Some(codes) => core.simulate(&payments, &codes).await,
                None => core.check(&payments).await,
            };
            let message = match verdicts {
                Ok(verdicts) => Message::Planned(payments.into_iter().zip(verdicts).collect(), stage),
                Err(error) => {
                    tracing::warn!(%error, "payments could not be checked before they are sent");
                    // Not immediately: gives the endpoints time to recover.
                    core.clock.sleep(Duration::from_millis(core.settings.tick_ms)).await;
                    Message::Unplanned(payments, stage)
                }
            };
            drop(myself.cast(message));
        });
        Ok(())
    }

    /// Whether the payers have code, if all were checked a moment ago.
    fn check_code(&self, payments: &[Arc<Job>]) -> Option<Vec<bool>> {
        let now_ms = self.now_ms();
        let code = |payment: &Arc<Job>| {
            let checked = self.core.checked.get(&payment.key())?;
            let (has_code, at_ms) = *checked;
            (now_ms < at_ms.saturating_add(FRESH_MS)).then_some(has_code)
        };
        payments.iter().map(code).collect()
    }

    /// Puts payments that would settle into transactions, and declines the others.
    pub(super) async fn planned(
        &self,
        keeper: &mut GasKeyState,
        found: Vec<(Arc<Job>, Verdict)>,
        stage: Option<Stage>,
    ) -> Vec<Action<Key>> {
        keeper.busy = false;
        let mut candidates = Vec::new();
        for (payment, verdict) in found {
            let key = payment.key();
            match verdict.failure {
                None if verdict.has_code && !payment.is_mint() && !keeper.may_send_with_code(key) => {
                    keeper.waiting_with_code.push_back(key);
                }
                None => candidates.push(Candidate {
                    payment: key,
                    has_code: verdict.has_code,
                }),
                Some(failure) => self.drop_failed(keeper, key, failure),
            }
        }
        let mut actions = Vec::new();
        for mut group in plan(&candidates, &self.core.settings.gas) {
            group.stage = stage.unwrap_or(group.stage);
            match keeper.manager.reserve(group.payments.clone(), self.now_ms()) {
                Ok(nonce) => {
                    let payments = group.payments.clone();
                    keeper.assign_nonce(nonce, group);
                    actions.push(Action::Sign {
                        nonce,
                        fee: keeper.quote.fee,
                        payments,
                    });
                }
                Err(NonceError::Full | NonceError::CountConflict) => keeper.requeue(group.payments, stage),
                // Every payment is reserved once: a payment in a row never waits.
                Err(error) => self.core.alarm(&format!("a nonce could not be reserved: {error}")),
            }
        }
        actions
    }

    fn drop_failed(&self, keeper: &mut GasKeyState, key: Key, failure: Failure) {
        let payment = keeper.payments.remove(&key);
        if keeper.durable.remove(&key) {
            keeper.writes.push(Write::Delete {
                key: rows::waiting(&self.address(), &key),
            });
        }
        match failure {
            Failure::Declined(decline) => self.core.decline(&key, decline),
            // Callers that wait for a mint read the chain.
            Failure::Used if payment.as_ref().is_some_and(|job| job.is_mint()) => {
                self.core.release_payment(&key);
                self.core.notify(&key, &Outcome::Settled);
            }
            Failure::Used => {
                let until = payment.and_then(|payment| payment.valid_before()).unwrap_or(0);
                self.core.watched.insert(key, until);
                self.core.release_payment(&key);
                let core = self.core.clone();
                tokio::spawn(async move { core.resolve_used(key).await });
            }
        }
    }
}

impl GasKeyState {
    /// Whether a payment of a payer with code may be sent now. If so, it counts as in flight.
    fn may_send_with_code(&mut self, key: Key) -> bool {
        let may = self.with_code.len() < MAX_WITH_CODE_IN_FLIGHT;
        if may {
            self.with_code.insert(key);
        }
        may
    }

    /// Requeues as many of the held payments for a check as the limit allows.
    fn take_waiting_with_code(&mut self) {
        let placed = &self.nonces;
        self.with_code.retain(|key| placed.contains_key(key));
        let free = MAX_WITH_CODE_IN_FLIGHT
            .saturating_sub(self.with_code.len())
            .min(self.waiting_with_code.len());
        self.waiting.extend(self.waiting_with_code.drain(..free));
    }
}

impl Core {
    /// The token has used the nonce of a payment, and no row explains it. The next blocks show what used it.
    async fn resolve_used(&self, key: Key) {
        match self.read_and_check_used(&key).await {
            Ok(true) => self.notify(&key, &Outcome::Settled),
            Ok(false) => {
                let used = decline(
                    "invalid_exact_evm_nonce_already_used",
                    "the authorization was used for another transfer",
                );
                self.decline(&key, used);
            }
            // Only the follower can notify the waiting callers.
            Err(error) => tracing::warn!(error, "what used an authorization is not known yet"),
        }
    }

    /// Whether a transfer with this authorization is known once the newest block was read.
    pub(in crate::evm) async fn read_and_check_used(&self, key: &Key) -> Result<bool, String> {
        const PATIENCE: Duration = Duration::from_secs(10);
        let head = self
            .node
            .header(BlockTag::Latest)
            .await
            .map_err(|error| error.to_string())?;
        let head = head.ok_or("no endpoint has a block")?;
        let read = tokio::time::timeout(PATIENCE, self.wait_until_read(head.number)).await;
        read.map_err(|_| "the follower is behind")?;
        let used = self.used(key).await.map_err(|error| error.to_string())?;
        Ok(used.is_some())
    }
}
