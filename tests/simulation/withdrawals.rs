//! Money out: clients that withdraw under idempotency keys and repeat themselves, what the chain signs and is sent for
//! them, and what must be true of them at rest.

use std::collections::BTreeMap;

use purser::verify::ChainTransfer;
use purser_actors::engine::{KeyState, OperationError};
use purser_actors::entity::account::Account;
use purser_actors::entity::withdrawal::{Status, Withdrawal};
use purser_actors::id::{Wallet, WithdrawalId};
use purser_actors::kernel::idempotency::{CommandResult, RecordedResponse};
use purser_actors::kernel::{Entity, EntityKind, IdempotencyRecorder, table};
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::{
    Authorization, Entropy as _, EvmAuthorization, OutgoingTransferRequest, PreparedTransaction, SolanaTransfer,
};
use purser_storage::codec;
use purser_storage::sim_disk::SeededRng;

use crate::account_steps::{check_outgoing, check_signing};
use crate::clients::{Clients, number_of, wallet};
use crate::environment::Environment;
use crate::fault_plan::FaultPlan;
use crate::plan::{Plan, Step, WALLETS};

/// Transfers with this number and above leave the treasury.
pub(crate) const FIRST_OUTGOING: u32 = 1 << 24;
/// Numbers that one request has: a new one for each time that it is asked, since only one of them may come to be.
pub(crate) const NUMBERS_PER_REQUEST: u32 = 64;

/// From here on within a request's numbers: what is signed on Solana, which is another transfer every time.
const SOLANA_SIGNATURES: u32 = NUMBERS_PER_REQUEST / 4;

/// The number of the fault plan for a transfer.
pub(crate) const fn fault_plan_of(n: u32) -> u32 {
    if n < FIRST_OUTGOING {
        n
    } else {
        n - (n - FIRST_OUTGOING) % NUMBERS_PER_REQUEST
    }
}

/// Whether the machine's clock may jump over the life of a key: then the same key is a new request.
pub(crate) fn outlives_keys(plan: &Plan) -> bool {
    let jumps = plan.steps.iter().map(|step| match step {
        Step::SetClock { by_ms } => (*by_ms).max(0) as u64,
        _ => 0,
    });
    jumps.sum::<u64>() > 80_000_000
}

/// Adds withdrawals to a plan by chance of their own, so that all else in it stays as it was.
pub(crate) fn add(plan: &mut Plan) {
    let mut chance = SeededRng::new(plan.seed ^ 0x7769_7468_6472_6177);
    let mut nth = 0;
    for _ in 0..chance.next_below(8) {
        // Now and then the same again, at once or much later.
        nth = if chance.one_in(3) { nth } else { nth + 1 };
        // Late in the run: a balance needs a declined order first.
        let half = plan.steps.len() as u64 / 2;
        let at = (half + chance.next_below(half + 1)) as usize;
        let step = Step::Withdraw {
            wallet: (nth % 3) as u8,
            nth,
        };
        plan.steps.insert(at, step);
        let fault_plan = FaultPlan::random(&mut chance);
        plan.fault_plans
            .entry(FIRST_OUTGOING + nth * NUMBERS_PER_REQUEST)
            .or_insert_with(|| FaultPlan {
                issue: Vec::new(),
                ..fault_plan
            });
    }
}

/// Some are more than a refused card leaves on a balance, and some are a part of it.
fn amount(nth: u32) -> Usdc {
    let cents = [1, 500, 120, 50, 700][nth as usize % 5];
    Usdc::from_cents(Cents::new(cents)).unwrap()
}

fn recipient(from: u8, nth: u32) -> Wallet {
    wallet(((u64::from(from) + u64::from(nth)) % WALLETS) as u8)
}

impl Clients {
    /// Sends a withdrawal under its key until there is an answer, as a client does.
    pub(crate) fn withdraw(&self, from: u8, nth: u32) {
        let this = self.clone();
        self.spawn(async move {
            for _ in 0..20 {
                if this.environment.is_crashed() || this.withdraw_once(from, nth).await {
                    return;
                }
                this.environment.delay(200).await;
            }
        });
    }

    /// Whether it has a final answer.
    async fn withdraw_once(&self, from: u8, nth: u32) -> bool {
        let (world, owner) = (&self.environment, wallet(from));
        let turn = match self
            .engine
            .acquire_key(owner, &format!("key {nth}"), [nth as u8; 32])
            .await
        {
            Ok(KeyState::Acquired(turn)) => turn,
            Ok(KeyState::Replay(RecordedResponse::Body { status, body })) => {
                check_response(world, nth, status, &body);
                return true;
            }
            Ok(KeyState::InProgress) | Err(_) => return false,
            Ok(other) => {
                world.report_violation("key.unknown", format!("key {nth}: {other:?}"));
                return true;
            }
        };
        let attempts = {
            let mut notes = world.client_log.lock();
            let attempts = notes.withdrawal_attempts.entry(nth).or_default();
            *attempts += 1;
            *attempts % SOLANA_SIGNATURES
        };
        let id = WithdrawalId(world.random() << 32 | u128::from(FIRST_OUTGOING + nth * NUMBERS_PER_REQUEST + attempts));
        let recorder =
            IdempotencyRecorder::<Account>::new(turn.slot().clone(), move |result: CommandResult<'_, Account>| {
                Some(RecordedResponse::Body {
                    status: if result.is_ok() { 202 } else { 409 },
                    body: if result.is_ok() { id.to_string() } else { String::new() },
                })
            });
        let asked = (id, recipient(from, nth), amount(nth));
        let answer = self.engine.withdraw(owner, asked, Some(recorder)).await;
        drop(turn);
        if world.is_crashed() {
            return true;
        }
        match answer {
            Ok(()) => check_response(world, nth, 202, &id.to_string()),
            Err(OperationError::Rejected(_)) => check_response(world, nth, 409, ""),
            Err(_) => return false,
        }
        true
    }
}

/// The same key always gets the same answer, and a withdrawal in an answer exists.
fn check_response(world: &Environment, nth: u32, status: u16, id: &str) {
    let answer = (status, id.to_owned());
    let first = world
        .client_log
        .lock()
        .withdrawn
        .entry(nth)
        .or_insert_with(|| answer.clone())
        .clone();
    world.trace(|| format!("client is notified of withdrawal {nth}: {answer:?}"));
    if first != answer && !outlives_keys(&world.plan) {
        world.report_violation(
            "key.answers",
            format!("key {nth} was answered {first:?} and {answer:?}"),
        );
    }
    if status == 202 && !all(world).iter().any(|(known, _)| known.to_string() == id) {
        world.report_violation("answer.early", format!("{id} was taken on and is not durable"));
    }
}

/// Every durable withdrawal.
fn all(world: &Environment) -> Vec<(WithdrawalId, Withdrawal)> {
    let shadow = world.reference.lock();
    let prefix = table::entity(EntityKind::Withdrawal, &[]);
    let rows = shadow.rows.iter().filter(|(key, _)| key.starts_with(&prefix));
    rows.map(|(key, row)| {
        let id = WithdrawalId(u128::from_be_bytes(*key.last_chunk().unwrap()));
        (id, codec::decode(&row.value).unwrap())
    })
    .collect()
}

/// The treasury's signed transfer: valid for a while, with this chain's number. Each Solana signature is a new one.
pub(crate) fn sign(world: &Environment, transfer: &OutgoingTransferRequest) -> Authorization {
    let until_ms = world.true_ms() + 30_000;
    let (mut mark, id) = ([0; 32], WithdrawalId(transfer.key));
    mark[16..].copy_from_slice(&transfer.key.to_be_bytes());
    if let Some((_, withdrawal)) = all(world).iter().find(|(known, _)| *known == id) {
        check_signing(world, &withdrawal.owner, &id);
    }
    if matches!(transfer.to, Wallet::Solana(_)) {
        let own = transfer.key as u32;
        let base = own - (own - FIRST_OUTGOING) % NUMBERS_PER_REQUEST;
        let mut ledger = world.chain.lock();
        // A signed transfer that was never submitted can be replaced by the next signature.
        let unsent = |n: &u32| {
            ledger
                .withdrawals
                .get(n)
                .is_none_or(|of| *of == id && !ledger.was_sent(*n))
        };
        let free = |n: &u32| unsent(n) && !ledger.transfers.contains_key(n);
        let n = (base + SOLANA_SIGNATURES..base + NUMBERS_PER_REQUEST)
            .find(free)
            .expect("the number of signatures is bounded");
        ledger.withdrawals.insert(n, id);
        mark[28..].copy_from_slice(&n.to_be_bytes());
    }
    match transfer.to {
        Wallet::Evm(to) => Authorization::Evm(EvmAuthorization {
            from: [9; 20],
            to,
            value: transfer.amount,
            valid_after: 0,
            valid_before: until_ms,
            nonce: mark,
            signature: [0; 65].into(),
        }),
        Wallet::Solana(to) => {
            let mut blockhash = [0; 32];
            blockhash[..8].copy_from_slice(&until_ms.to_be_bytes());
            Authorization::Solana(SolanaTransfer {
                transaction: to.to_vec(),
                message_hash: mark,
                payer: [9; 32],
                value: transfer.amount,
                blockhash,
                not_before_slot: 0,
            })
        }
    }
}

/// What was not signed when a backup was made leaves when nothing of the lost history can any more, unless it is on its
/// chain by exactly this signature: then it is only looked up.
pub(crate) fn check_sent(world: &Environment, authorization: &Authorization) {
    let n = number_of(authorization);
    let landed = world.chain.lock().transfers.contains_key(&n);
    if landed || world.archive.lock().had_signed(authorization) {
        return;
    }
    check_outgoing(world, &format!("withdrawal {n}"));
}

/// Whether exactly this was durable before it is sent.
pub(crate) fn is_durable(world: &Environment, authorization: &Authorization, prepared: &PreparedTransaction) -> bool {
    let n = number_of(authorization);
    let anew = world.chain.lock().withdrawals.get(&n).copied();
    all(world).iter().any(|(id, withdrawal)| {
        let own = anew.map_or(id.0 as u32 == n, |anew| anew == *id);
        own && match &withdrawal.status {
            Status::Pending => false,
            Status::Sent(sent) => sent.authorization == *authorization && sent.prepared == *prepared,
            // An older try, while a younger one has already come back.
            Status::Complete { .. } | Status::CompleteSigned { .. } | Status::Failed { .. } => true,
        }
    })
}

/// At rest: each has ended; one transfer left for each that is complete, none for any other; a key has one at most.
pub(crate) fn at_rest(world: &Environment, left: &[ChainTransfer]) -> Result<(), (&'static str, String)> {
    let withdrawals = all(world);
    let mut transfers: BTreeMap<&str, &ChainTransfer> = left.iter().map(|t| (t.transaction.as_str(), t)).collect();
    let mut keys: BTreeMap<u32, WithdrawalId> = BTreeMap::new();
    for (id, withdrawal) in &withdrawals {
        let nth = (id.0 as u32 - FIRST_OUTGOING) / NUMBERS_PER_REQUEST;
        if let Some(other) = keys.insert(nth, *id)
            && !outlives_keys(&world.plan)
        {
            return Err(("key.twice", format!("{other} and {id} were asked for once")));
        }
        world.trace(|| format!("{id}: a withdrawal ended as {}", withdrawal.status()));
        match &withdrawal.status {
            Status::Complete { transaction } | Status::CompleteSigned { transaction, .. } => {
                match transfers.remove(transaction.as_str()) {
                    Some(t) if t.atomic == withdrawal.amount.atomic() && t.to == withdrawal.to => {}
                    other => {
                        return Err((
                            "withdrawal.unreal",
                            format!("{id} is complete, the chain shows {other:?}"),
                        ));
                    }
                }
            }
            Status::Failed { .. } => {}
            open => return Err(("rest.withdrawal", format!("{id} is {open:?}"))),
        }
    }
    // What the lost history sent is booked where an operator says.
    let booked = crate::restores::attributed_transfers(world);
    transfers.retain(|transaction, _| !booked.contains(*transaction));
    if let Some(transfer) = transfers.values().next() {
        return Err(("withdrawal.lost", format!("{transfer:?} left for nothing")));
    }
    for (nth, (status, id)) in &world.client_log.lock().withdrawn {
        let known = keys.get(nth).map(ToString::to_string).unwrap_or_default();
        if *id != known && !outlives_keys(&world.plan) {
            return Err((
                "key.effect",
                format!("key {nth} was answered {status} {id}, there is {known:?}"),
            ));
        }
    }
    Ok(())
}
