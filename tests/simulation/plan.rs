//! A run as data: who pays what when, what the outside does with each payment, and what goes wrong. A seed makes a
//! plan; a plan can be thinned out and still says everything.

mod faults;

use std::collections::BTreeMap;

use purser_actors::engine::EngineSettings;
use purser_actors::product::{DailyCap, ProductLine};
use purser_storage::sim_disk::SeededRng;

use crate::agents::WalletPaymentStep;
use crate::bank::BankStep;
use crate::card_balances::CardBalanceStep;
use crate::fault_plan::FaultPlan;
use crate::keys::ApiKeyStep;
use crate::limits::settings;
use crate::order_operators::OrderStep;
use crate::outages::Provider;
use crate::recipients::RecipientStep;

use faults::{random_fault, random_order_step};

/// One thing that happens. Steps follow each other at once unless one waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A client presents a payment for a request; it goes away after its patience, if it has any.
    Pay {
        payment: u32,
        request: u8,
        client_timeout_ms: Option<u64>,
    },
    /// A client withdraws from a wallet's balance; the same number is the same request under the same key.
    Withdraw {
        wallet: u8,
        nth: u32,
    },
    /// A wallet does something at the bank.
    Bank {
        wallet: u8,
        step: BankStep,
    },
    /// Something is done with a balance at the card issuer.
    CardBalance(CardBalanceStep),
    /// An agent or its owner does something with a managed wallet.
    Agent(WalletPaymentStep),
    /// A client reads everything of a wallet.
    Read {
        wallet: u8,
    },
    /// A client subscribes to a wallet from the beginning, with a buffer of this size in bytes.
    Watch {
        wallet: u8,
    },
    /// A watcher reads nothing for a while.
    Stall {
        watcher: u8,
        ms: u64,
    },
    /// A watcher goes away and comes back with its cursor.
    Reconnect {
        watcher: u8,
    },
    /// A wallet signs in with a nonce.
    SignIn {
        wallet: u8,
        nonce: u8,
    },
    /// A login link is created and used this number of times at once.
    Link {
        wallet: u8,
        uses: u8,
    },
    /// The operator freezes an account, or lets it go.
    Freeze {
        wallet: u8,
        frozen: bool,
    },
    /// The owner looks at the card of a payment, or closes it.
    Card {
        payment: u32,
        closes: bool,
    },
    /// An operator or the holder asks something of the order that a payment bought.
    OperatorAction {
        payment: u32,
        operator: u8,
        step: OrderStep,
    },
    /// An owner asks for a check of the identity.
    Identity {
        wallet: u8,
    },
    /// The person answers the newest check, and this number of callbacks follows.
    Answer {
        wallet: u8,
        passes: bool,
        calls: u8,
    },
    /// An owner links the account at the card issuer, or unlinks it.
    Issuer {
        wallet: u8,
        linked: bool,
    },
    /// The recipient of the payout that a payment bought enters a card.
    Form {
        payment: u32,
    },
    /// An owner changes a saved recipient.
    Recipient {
        wallet: u8,
        step: RecipientStep,
    },
    /// Time goes by.
    Wait {
        ms: u64,
    },
    /// The machine's clock is set.
    SetClock {
        by_ms: i64,
    },
    /// The commit of an actor that follows this number of commits panics, before it is enqueued or afterwards.
    Panic {
        after: u32,
        before: bool,
    },
    /// A number of reads of rows fail, after a number that succeed.
    ReadErrors {
        after: u32,
        times: u32,
    },
    /// The disk fails: at a sync after this number, or once it has grown by this number of bytes.
    SyncFails {
        after: u64,
    },
    DiskFull {
        after_bytes: u64,
    },
    /// The snapshots stop after this number of rows.
    SnapshotsFail {
        after: usize,
    },
    /// The process dies after this number of further crash points.
    Crash {
        after: u32,
        how: CrashKind,
    },
    /// A sync fails after this number of syncs, and the process dies. The next process loses power before it writes
    /// anything to disk.
    CrashOnRestart(u64),
    /// Refreshes the session of this number with its current token, or one this number of generations old.
    Refresh {
        nth: u8,
        back: u32,
    },
    /// All is looked at as it is.
    Inspect,
    /// Everything durable is copied.
    BackUp,
    /// The store is lost, and after this time the last backup replaces it.
    Restore {
        down_ms: u64,
        /// Whether the log of what was ended is there.
        covered: bool,
    },
    /// A provider is down for this time and returns an error or no response.
    Outage {
        provider: Provider,
        ms: u64,
        silent: bool,
    },
    /// Something is done with an API key.
    Key(ApiKeyStep),
    /// No fault occurs until all pending work is done. Then everything is checked.
    Rest,
}

/// What is left of the disk when a process has died.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CrashKind {
    /// All that was written.
    Kill,
    /// What was synced, and of the rest whatever chance leaves.
    PowerCut,
    /// The same, and the snapshots are gone.
    SnapshotsLost,
    /// Nothing. After this number of milliseconds a backup replaces it, with or without the revocation log.
    Restored(u64, bool),
}

#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) settings: EngineSettings,
    pub(crate) watch_bytes: usize,
    pub(crate) lag_limit_bytes: u64,
    /// The disk takes up to this number of milliseconds for a sync, and occasionally much longer.
    pub(crate) sync_ms: u64,
    /// Events above this are forgotten once they are exported.
    pub(crate) retention_bytes: u64,
    pub(crate) steps: Vec<Step>,
    pub(crate) fault_plans: BTreeMap<u32, FaultPlan>,
}

/// A retention that no run fills.
pub(crate) const FOREVER: u64 = 1 << 40;

pub(crate) const WALLETS: u64 = 4;

pub(crate) fn pick<T: Copy>(chance: &mut SeededRng, from: &[T]) -> T {
    from[chance.next_below(from.len() as u64) as usize]
}

impl Plan {
    /// Whether old events go.
    pub(crate) fn may_lose_events(&self) -> bool {
        self.retention_bytes != FOREVER
    }

    pub(crate) fn from_seed(seed: u64) -> Self {
        let mut chance = SeededRng::new(seed);
        let mut plan = Self {
            seed,
            settings: settings(&mut chance),
            watch_bytes: pick(&mut chance, &[600, 2_400, 1 << 20]),
            lag_limit_bytes: pick(&mut chance, &[5_000, 16 << 20, 16 << 20]),
            sync_ms: pick(&mut chance, &[2, 8, 60]),
            retention_bytes: pick(&mut chance, &[1, FOREVER, FOREVER]),
            steps: Vec::new(),
            fault_plans: BTreeMap::new(),
        };
        // Now and then a long one: several segments, exports, accounts with a past.
        let length = 12 + chance.next_below(36) + if chance.one_in(10) { 120 } else { 0 };
        let mut payments = 0;
        for _ in 0..length {
            let step = step(&mut chance, &mut payments);
            if let Step::Pay { payment, .. } = step {
                plan.fault_plans
                    .entry(payment)
                    .or_insert_with(|| FaultPlan::random(&mut chance));
            }
            // The same at once, as an impatient client or its proxy sends it.
            let again = matches!(step, Step::Pay { .. }) && chance.one_in(6);
            plan.steps.extend(std::iter::repeat_n(step, if again { 2 } else { 1 }));
            if chance.one_in(2) {
                let ms = pick(&mut chance, &[1, 5, 20, 100, 700, 3_000, 20_000]);
                plan.steps.push(Step::Wait { ms });
            }
        }
        crate::withdrawals::add(&mut plan);
        crate::top_ups::add(&mut plan);
        crate::bank::add(&mut plan);
        crate::card_balances::add(&mut plan);
        crate::agents::add(&mut plan);
        crate::own_purchases::add(&mut plan);
        crate::keys::add(&mut plan);
        crate::outages::add(&mut plan);
        crate::boot::add(&mut plan);
        crate::restores::add(&mut plan);
        plan
    }
}

fn step(chance: &mut SeededRng, payments: &mut u32) -> Step {
    let wallet = chance.next_below(WALLETS) as u8;
    let watcher = chance.next_below(4) as u8;
    let known = chance.next_below(u64::from(*payments).max(1)) as u32;
    let kind = chance.next_below(92);
    match kind {
        0..20 => {
            *payments += 1;
            pay(chance, *payments - 1)
        }
        20..30 => pay(chance, known),
        30..33 => Step::Read { wallet },
        33..36 => Step::Watch { wallet },
        36 => Step::Stall {
            watcher,
            ms: pick(chance, &[50, 2_000, 60_000]),
        },
        37..39 => Step::Reconnect { watcher },
        39..42 => Step::SignIn {
            wallet,
            nonce: chance.next_below(3) as u8,
        },
        44 => Step::Link {
            wallet,
            uses: 1 + chance.next_below(3) as u8,
        },
        42 => Step::Freeze { wallet, frozen: true },
        43 => Step::Freeze { wallet, frozen: false },
        45..47 => Step::Card {
            payment: known,
            closes: chance.one_in(3),
        },
        47..62 => random_fault(chance, kind),
        62 => Step::Rest,
        63..66 => Step::Inspect,
        72..84 => random_order_step(chance, *payments),
        84..87 => Step::Identity { wallet },
        87..90 => Step::Answer {
            wallet,
            passes: chance.one_in(2),
            calls: chance.next_below(3) as u8,
        },
        90.. => Step::Issuer {
            wallet,
            linked: !chance.one_in(3),
        },
        66..69 => Step::Form {
            payment: 3 + 6 * chance.next_below(u64::from(*payments / 6) + 1) as u32,
        },
        69 => Step::Recipient {
            wallet,
            step: pick(
                chance,
                &[
                    RecipientStep::Rename,
                    RecipientStep::Archive,
                    RecipientStep::Restore,
                    RecipientStep::Delete,
                ],
            ),
        },
        _ => Step::Refresh {
            nth: chance.next_below(3) as u8,
            back: pick(chance, &[0, 0, 0, 1, 2]),
        },
    }
}

fn pay(chance: &mut SeededRng, payment: u32) -> Step {
    Step::Pay {
        payment,
        request: u8::from(chance.one_in(12)),
        client_timeout_ms: chance.one_in(4).then(|| pick(chance, &[0, 1, 10, 500, 4_000])),
    }
}

impl Plan {
    /// On prepaid cards: the one that there always is.
    pub(crate) fn cap(&self) -> DailyCap {
        self.settings
            .caps
            .for_line(ProductLine::UsaCard)
            .expect("prepaid cards are capped")
    }
}
