//! The ledger over random sequences of payments: only the state machines, with jobs executed in random order.

use std::collections::BTreeMap;

use purser_actors::entity::account::{self, Account};
use purser_actors::entity::card::{self, Card};
use purser_actors::entity::payment::{self, Payment};
use purser_actors::entity::withdrawal::{self, Withdrawal};
use purser_actors::id::{CardId, JobId, Network, PaymentId, ShardId, WithdrawalId};
use purser_actors::kernel::job::{AnyJob, OutboxJob};
use purser_actors::kernel::{Context, Decision, Entity, table};
use purser_actors::ledger::{LedgerAccount, LedgerProvider, LedgerTransaction};
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::{Authorization, ChainStatus, Finality, Timestamp};
use purser_actors::product::DailyCap;
use purser_storage::{Write, codec};

use crate::fixtures::{NOW, WALLET, claim_request, decline, fold, issued, prepared, session, transaction};

/// A small random number generator (splitmix64).
struct TestRng(u64);

impl TestRng {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}

/// Durable state without a store.
struct InMemoryState {
    random: TestRng,
    account: Option<Account>,
    payments: BTreeMap<u128, Payment>,
    cards: BTreeMap<u128, Card>,
    withdrawals: BTreeMap<u128, Withdrawal>,
    jobs: Vec<OutboxJob>,
    balances: BTreeMap<LedgerAccount, i128>,
    received: u64,
    /// Amount paid out of the treasury.
    outgoing: u64,
}

const CAPS: DailyCap = DailyCap {
    count: u32::MAX,
    sum: Cents::new(u64::MAX),
};

impl InMemoryState {
    fn new(seed: u64) -> Self {
        Self {
            random: TestRng(seed),
            account: None,
            payments: BTreeMap::new(),
            cards: BTreeMap::new(),
            withdrawals: BTreeMap::new(),
            jobs: Vec::new(),
            balances: BTreeMap::new(),
            received: 0,
            outgoing: 0,
        }
    }

    fn context(&mut self) -> Context {
        Context::new(
            Timestamp(NOW.0 + self.random.below(1_000)),
            u128::from(self.random.below(u64::MAX)),
            ShardId::of_id(0),
        )
    }

    /// Stores what a decision writes and opens; asserts that the postings of every transaction sum to zero.
    fn store<E: Entity>(&mut self, decision: &Decision<E>) {
        for write in decision.writes() {
            match write {
                Write::Put { key, value, .. } if key[0] == table::LEDGER => {
                    let transaction: LedgerTransaction = codec::decode(value).unwrap();
                    assert_eq!(
                        transaction.postings.iter().map(|p| p.atomic).sum::<i128>(),
                        0,
                        "{transaction:?}"
                    );
                    for posting in transaction.postings {
                        assert_ne!(posting.atomic, 0);
                        *self.balances.entry(posting.account).or_default() += posting.atomic;
                    }
                }
                _ => {}
            }
        }
        for opening in decision.new_entities() {
            let id = u128::from_be_bytes(*opening.key().last_chunk().unwrap());
            match opening.key()[1] {
                2 => drop(self.payments.insert(id, codec::decode(opening.snapshot()).unwrap())),
                3 => drop(self.cards.insert(id, codec::decode(opening.snapshot()).unwrap())),
                10 => drop(self.withdrawals.insert(id, codec::decode(opening.snapshot()).unwrap())),
                _ => {}
            }
        }
        self.jobs.extend_from_slice(decision.jobs());
    }

    fn account(&mut self, command: account::Command) {
        let context = self.context();
        let decision = Account::decide(self.account.as_ref(), &WALLET, command, &context).unwrap();
        self.store(&decision);
        if !decision.events().is_empty() {
            self.account = Some(fold(self.account.take(), &WALLET, decision.events()));
        }
    }

    fn payment(&mut self, id: PaymentId, command: payment::Command) {
        let context = self.context();
        let before = self.payments[&id.0].clone();
        let decision = Payment::decide(Some(&before), &id, command, &context).unwrap();
        self.store(&decision);
        let settled = |e: &payment::Event| matches!(e, payment::Event::Settled(..));
        if decision.events().iter().any(settled) {
            self.received += before.price().atomic();
        }
        if !decision.events().is_empty() {
            self.payments.insert(id.0, fold(Some(before), &id, decision.events()));
        }
    }

    fn card(&mut self, id: CardId, command: card::Command) {
        let context = self.context();
        let before = self.cards[&id.0].clone();
        let decision = Card::decide(Some(&before), &id, command, &context).unwrap();
        self.store(&decision);
        self.cards.insert(id.0, fold(Some(before), &id, decision.events()));
    }

    /// A purchase of a random amount and fee.
    fn buy(&mut self, n: u8) {
        let amount = Cents::new(1 + self.random.below(100_000));
        let fee = self.random.below(3) * self.random.below(1_000_000);
        let mut admission = claim_request(amount, CAPS);
        admission.payment = PaymentId(u128::from(n));
        if let Authorization::Evm(evm) = &mut admission.authorization {
            evm.nonce = [n; 32];
            evm.value = Usdc::from_cents(amount)
                .unwrap()
                .checked_add(Usdc::from_atomic(fee))
                .unwrap();
        }
        self.account(account::Command::Claim(admission));
    }

    fn present(&mut self, n: u8) {
        let id = PaymentId(u128::from(n));
        let released = self.payments[&id.0].is_released();
        self.payment(
            id,
            payment::Command::Join {
                request: [5; 32],
                new_session: Some(session()),
            },
        );
        if released {
            let claim = &self.payments[&id.0].claim;
            let (purchase, worth) = (claim.purchase.clone(), claim.worth);
            self.account(account::Command::Readmit {
                payment: id,
                purchase,
                worth,
                cap: Some(CAPS),
                session: session(),
                counted: None,
            });
        }
    }

    /// Runs one job, any of them, with any outcome; at the end watches resolve.
    fn run_job(&mut self, last: bool) {
        let n = self.random.below(self.jobs.len() as u64) as usize;
        let OutboxJob {
            id: outbox_job,
            job: work,
            ..
        } = self.jobs.swap_remove(n);
        if let Some(work) = work.typed() {
            self.run_payment_job(outbox_job, work, last);
        } else if let Some(work) = work.typed() {
            self.run_account_job(outbox_job, work);
        } else if let Some(work) = work.typed() {
            self.run_card_job(outbox_job, work);
        } else if let Some(withdrawal::Job::SendWithdrawal(id)) = work.typed() {
            self.send(id, outbox_job);
        } else {
            unreachable!("only cards are bought, paid out and withdrawn here: {work:?}");
        }
    }

    fn run_payment_job(&mut self, job: JobId, work: payment::Job, last: bool) {
        match work {
            payment::Job::SettlePayment(id) => self.settle(id, job),
            payment::Job::WatchPayment(id) => {
                let lookup = match self.random.below(if last { 2 } else { 3 }) {
                    0 => ChainStatus::Confirmed {
                        transaction: transaction(),
                        finality: Finality::Final,
                    },
                    1 => ChainStatus::Impossible,
                    _ => return self.jobs.push(self.outbox_job(job, payment::Job::WatchPayment(id))),
                };
                self.payment(
                    id,
                    payment::Command::RecordChainLookup {
                        job,
                        lookup,
                        is_ordered: false,
                    },
                );
            }
            payment::Job::ConfirmPaymentCredit(id) => self.payment(id, payment::Command::RecordCredit { job }),
            payment::Job::ReadmitPayment {
                payment,
                reservation,
                session,
            } => {
                let command = payment::Command::RecordReadmitted {
                    job,
                    reservation,
                    session,
                };
                self.payment(payment, command);
            }
            other => unreachable!("only cards are bought, paid out and withdrawn here: {other:?}"),
        }
    }

    fn run_account_job(&mut self, job: JobId, work: account::Job) {
        match work {
            account::Job::CreditAccount { amount, cause, .. } => {
                self.account(account::Command::Credit { job, amount, cause })
            }
            account::Job::ReleaseCapReservation { reservation, .. } => {
                self.account(account::Command::ReleaseCapReservation { job, reservation })
            }
            account::Job::SettleHold {
                withdrawal,
                amount,
                paid,
                ..
            } => {
                self.outgoing += paid.map_or(0, |_| amount.atomic());
                self.account(account::Command::SettleHold {
                    job,
                    withdrawal,
                    amount,
                    paid,
                });
            }
            other => unreachable!("only cards are bought, paid out and withdrawn here: {other:?}"),
        }
    }

    fn run_card_job(&mut self, job: JobId, work: card::Job) {
        match work {
            card::Job::IssueCard(id) => match self.random.below(3) {
                0 => {
                    let reason = "no".into();
                    self.card(id, card::Command::RecordDecline { job, reason });
                }
                _ => self.card(id, card::Command::RecordIssuance { job, card: issued() }),
            },
            other => unreachable!("only cards are bought, paid out and withdrawn here: {other:?}"),
        }
    }

    /// Requests any part of the balance, and sometimes more.
    fn withdraw(&mut self) {
        let available = self.account.as_ref().map_or(0, |a| a.available().atomic());
        let amount = Usdc::from_atomic(1 + self.random.below(available + available / 4 + 1));
        let context = self.context();
        let id = WithdrawalId(context.id());
        let command = account::Command::Withdraw { id, to: WALLET, amount };
        let allowed = Account::decide(self.account.as_ref(), &WALLET, command.clone(), &context).is_ok();
        assert_eq!(allowed, self.account.is_some() && amount.atomic() <= available);
        if allowed {
            self.account(command);
        }
    }

    fn send(&mut self, id: WithdrawalId, job: purser_actors::id::JobId) {
        let signed = withdrawal::Command::RecordSigned(crate::fixtures::outgoing());
        let fail = withdrawal::Command::Fail {
            job,
            reason: "expired".into(),
        };
        let transaction = transaction();
        let commands = match self.random.below(4) {
            0 => vec![fail],
            1 => vec![signed, fail],
            _ => vec![signed, withdrawal::Command::RecordConfirmed { job, transaction }],
        };
        for command in commands {
            let context = self.context();
            let before = self.withdrawals[&id.0].clone();
            let decision = Withdrawal::decide(Some(&before), &id, command, &context).unwrap();
            self.store(&decision);
            self.withdrawals
                .insert(id.0, fold(Some(before), &id, decision.events()));
        }
    }

    fn outbox_job(&self, id: JobId, work: impl Into<AnyJob>) -> OutboxJob {
        OutboxJob {
            id,
            job: work.into(),
            request_id: purser_actors::id::RequestId::NONE,
            created_at: NOW,
            attempts: 0,
            next_attempt_at: NOW,
            last_error: None,
            dead_lettered: false,
        }
    }

    fn settle(&mut self, id: PaymentId, job: purser_actors::id::JobId) {
        if self.payments[&id.0].status == payment::Status::Claimed {
            if self.random.below(5) == 0 {
                // Every second one ends as unsent, so that both ways to a credit are used.
                return match job.0 % 2 {
                    0 => self.payment(id, payment::Command::Release { job }),
                    _ => {
                        let decline = decline();
                        self.payment(id, payment::Command::RecordDeclinedUnsent { job, decline });
                    }
                };
            }
            self.payment(id, payment::Command::RecordPrepared(prepared()));
        }
        let command = match self.random.below(3) {
            0 => payment::Command::RecordSettled {
                job,
                transaction: transaction(),
                finality: Finality::Final,
            },
            1 => payment::Command::RecordDeclined {
                job,
                decline: decline(),
            },
            _ => payment::Command::RecordNoResponse { job },
        };
        self.payment(id, command);
    }

    fn assert_consistent(&self) {
        assert_eq!(self.balances.values().sum::<i128>(), 0);
        let booked = |place| self.balances.get(&place).copied().unwrap_or(0);
        let shown = |of: fn(&Account) -> Usdc| self.account.as_ref().map_or(0, |a| i128::from(of(a).atomic()));
        let (available, held) = (
            -booked(LedgerAccount::Customer(WALLET)),
            -booked(LedgerAccount::CustomerHeld(WALLET)),
        );
        assert_eq!(available, shown(Account::available), "the books owe what is available");
        assert_eq!(held, shown(|a| a.held), "what is held is booked as held");
        assert_eq!(available + held, shown(|a| a.balance), "both together are the balance");
        let treasury = i128::from(self.received) - i128::from(self.outgoing);
        assert_eq!(
            booked(LedgerAccount::Treasury(Network::Base)),
            treasury,
            "the treasury has what came in and did not leave"
        );
    }
}

#[test]
fn case_23_postings_sum_to_zero_after_any_sequence() {
    // Checks: 300 random sequences of 8 payments each and of withdrawals of their credits. After every step the ledger
    // sums to zero; at the end suspense is empty and nothing is on hold.
    let mut withdrawn = 0;
    for seed in 0..300 {
        let mut state = InMemoryState::new(seed);
        for n in 1..=8 {
            state.buy(n);
        }
        for _ in 0..60 {
            if state.random.below(5) == 0 {
                state.withdraw();
            } else if state.random.below(4) == 0 {
                let n = 1 + state.random.below(8) as u8;
                state.present(n);
            } else if !state.jobs.is_empty() {
                state.run_job(false);
            }
            state.assert_consistent();
        }
        while !state.jobs.is_empty() {
            state.run_job(true);
        }
        state.assert_consistent();
        assert_eq!(
            state.balances.get(&LedgerAccount::Suspense).copied().unwrap_or(0),
            0,
            "seed {seed}"
        );
        assert_eq!(
            state
                .balances
                .get(&LedgerAccount::CustomerHeld(WALLET))
                .copied()
                .unwrap_or(0),
            0,
            "seed {seed}"
        );
        withdrawn += state.outgoing;
        for payment in state.payments.values() {
            let ended = payment.is_final() || payment.is_released();
            assert!(ended, "seed {seed}: {:?}", payment.status);
        }
        let ready = state.cards.values().filter(|card| card.details().is_some());
        let ordered: i128 = ready.map(|card| i128::from(card.amount.get()) * 10_000).sum();
        let issuer = state
            .balances
            .get(&LedgerAccount::Provider(LedgerProvider::CardIssuer))
            .copied()
            .unwrap_or(0);
        assert_eq!(
            -issuer, ordered,
            "seed {seed}: the issuer is owed for the cards there are"
        );
    }
    assert!(withdrawn > 0, "money was withdrawn");
}
