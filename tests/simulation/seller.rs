//! What agent wallets depend on, simulated: the signer of their keys, the foreign sellers they pay, and their balances.
//! A seller accepts a payment, rejects it, hangs, accepts it without a response, or reports the opposite of what it
//! does.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::FutureExt as _;
use purser_actors::entity::agent_wallet::AgentWallet;
use purser_actors::entity::wallet_payment::{HttpRecordPart, SendTarget, Status, WalletPayment};
use purser_actors::id::{Wallet, WalletPaymentId};
use purser_actors::kernel::{EntityKind, table};
use purser_actors::money::Usdc;
use purser_actors::port::{
    Authorization, BoxFuture, CallFailure, ErrorKind, EvmAuthorization, OutgoingTransferRequest, PaidHttpClient,
    PortError, SealedHttpPart, SealedKeys, ServerResponse, SolanaTransfer, SubmitResult, WalletAddresses, WalletSigner,
};

use crate::account_steps::{check_outgoing, check_signing, durable};
use crate::agents::addresses;
use crate::chain::{Ledger, SimChain};
use crate::clients::number_of;
use crate::environment::{Environment, ORDERED_PANIC};
use crate::own_purchases;
use crate::withdrawals::{FIRST_OUTGOING, NUMBERS_PER_REQUEST};

/// Transfers with this number and above leave managed wallets.
pub(crate) const WALLET_PAYMENT: u32 = 1 << 26;
/// From here on within a spend's numbers: what is signed on Solana, which is another transfer every time.
const SOLANA_SIGNATURES: u32 = NUMBERS_PER_REQUEST / 4;
/// Signing calls that may fail for one wallet payment.
const FAILING: u32 = 3;

/// What is known outside, whatever dies.
#[derive(Default)]
pub(crate) struct SellerLedger {
    /// Atomic USDC that ever came to an address.
    deposited: BTreeMap<Wallet, u64>,
    /// Everything that was ever signed, by its number on the chain.
    pub(crate) signed: BTreeMap<u32, (WalletPaymentId, Authorization)>,
    signings: BTreeMap<WalletPaymentId, u32>,
}

impl SellerLedger {
    pub(crate) fn fund(&mut self, addresses: &WalletAddresses, cents: u64) {
        for address in [Wallet::Evm(addresses.base), Wallet::Solana(addresses.solana)] {
            *self.deposited.entry(address).or_default() += cents * 10_000;
        }
    }

    /// A number on the chain for what is signed: on Base it follows from the spend.
    fn number(&self, id: WalletPaymentId, from: &Wallet) -> u32 {
        let own = id.0 as u32;
        let base = own - (own - FIRST_OUTGOING) % NUMBERS_PER_REQUEST;
        match from {
            Wallet::Evm(_) => own,
            Wallet::Solana(_) => (base + SOLANA_SIGNATURES..base + NUMBERS_PER_REQUEST)
                .find(|n| !self.signed.contains_key(n))
                .expect("the number of signatures is bounded"),
        }
    }
}

/// What an address holds, by what is on the chain.
pub(crate) fn funded(world: &Environment, address: &Wallet) -> Usdc {
    let came = world.seller.lock().deposited.get(address).copied().unwrap_or(0);
    Usdc::from_atomic(came.saturating_sub(world.chain.lock().total_outgoing(address, world.true_ms())))
}

/// Whether an address no longer holds what it is to pay, other than by this same transfer.
pub(crate) fn lacks(world: &Environment, ledger: &mut Ledger, authorization: &Authorization) -> bool {
    let (from, n) = (authorization.payer(), number_of(authorization));
    let came = world.seller.lock().deposited.get(&from).copied().unwrap_or(0);
    let left = ledger.total_outgoing(&from, world.true_ms());
    !ledger.transfers.contains_key(&n) && came < left + authorization.value().atomic()
}

/// What an agent has called with, as it is kept.
pub(crate) fn call_of(id: WalletPaymentId) -> Vec<u8> {
    // Some of it is more than one row takes.
    let length = [40, 14_000][id.0 as usize % 2];
    id.0.to_be_bytes().into_iter().cycle().take(length).collect()
}

/// The payment as it is sent to the seller.
fn payment(n: u32) -> Vec<u8> {
    let length = [40, 14_000][n as usize / 2 % 2];
    n.to_be_bytes().into_iter().cycle().take(length).collect()
}

pub(crate) struct SimSeller(pub(crate) Arc<Environment>);

type CallResult<'a, T> = BoxFuture<'a, Result<T, PortError>>;

fn error(kind: ErrorKind) -> PortError {
    PortError {
        kind,
        operation: "spend",
        message: "as the plan says".into(),
    }
}

fn stored(world: &Environment, id: WalletPaymentId) -> Option<WalletPayment> {
    durable(world, EntityKind::WalletPayment, &id.0.to_be_bytes())
}

/// Whether exactly this is durable as what was signed.
pub(crate) fn is_durable(world: &Environment, n: u32, authorization: &Authorization, sending: &SendTarget) -> bool {
    let Some((id, _)) = world.seller.lock().signed.get(&n).cloned() else {
        return false;
    };
    stored(world, id).is_some_and(|spend| match &spend.status {
        Status::Pending | Status::Failed { .. } => false,
        Status::Signed(signed) | Status::Sent(signed, _) => {
            (&signed.authorization, &signed.target) == (authorization, sending)
        }
        // An older try, while a younger one has already come back.
        Status::Settled { .. } | Status::Unsettled { .. } => true,
    })
}

/// A part of what was said for a spend, as it is durable.
fn recorded_part(world: &Environment, id: WalletPaymentId, part: HttpRecordPart) -> Vec<u8> {
    let (shadow, prefix) = (world.reference.lock(), table::http_record(id, part as u8));
    let rows = shadow.rows.iter().filter(|(key, _)| key.starts_with(&prefix));
    rows.flat_map(|(_, row)| row.value.to_vec()).collect()
}

impl SimSeller {
    /// Signs what is durably reserved, and nothing else, with the keys that the wallet was opened with.
    async fn sign(&self, keys: SealedKeys<'_>, id: WalletPaymentId) -> Result<(Authorization, u32), PortError> {
        let world = &self.0;
        world.crash_point_or_hang().await;
        let spend = stored(world, id);
        let Some(spend) = spend.filter(|spend| spend.owner == keys.owner) else {
            world.report_violation("sign.early", format!("{id} is not durably reserved"));
            return Err(error(ErrorKind::Permanent));
        };
        let row = table::vault(AgentWallet::keys(&keys.owner));
        let known = world.reference.lock().rows.get(&row).map(|row| row.value.to_vec());
        if known.as_deref() != Some(keys.sealed) {
            world.report_violation("sign.keys", format!("{id} is signed with unknown keys"));
        }
        check_signing(world, &keys.owner, &id);
        // What a managed wallet signs is sent at once.
        check_outgoing(world, &id);
        world.delay(world.below(60)).await;
        let attempts = {
            let mut seller = world.seller.lock();
            let attempts = seller.signings.entry(id).or_default();
            *attempts += 1;
            *attempts
        };
        let weather = if world.are_faults_over() || attempts > FAILING {
            9
        } else {
            world.below(16)
        };
        world.trace(|| format!("custody: {id} meets weather {weather}"));
        match weather {
            0 => return Err(error(ErrorKind::Temporary)),
            1 => std::future::pending().await,
            2 => panic!("{ORDERED_PANIC}"),
            3 if world.one_in(3) => return Err(error(ErrorKind::Permanent)),
            _ => {}
        }
        let signed = self.signed(id, &spend);
        world.delay(world.below(20)).await;
        Ok(signed)
    }

    fn signed(&self, id: WalletPaymentId, spend: &WalletPayment) -> (Authorization, u32) {
        let mut seller = self.0.seller.lock();
        let n = seller.number(id, &spend.from);
        let good_for = [4_000, 30_000][n as usize / NUMBERS_PER_REQUEST as usize % 2];
        let until_ms = self.0.true_ms() + good_for;
        let mut mark = [0; 32];
        mark[28..].copy_from_slice(&n.to_be_bytes());
        let authorization = match (spend.from, spend.order.to) {
            (Wallet::Evm(from), Wallet::Evm(to)) => Authorization::Evm(EvmAuthorization {
                from,
                to,
                value: spend.order.amount,
                valid_after: 0,
                valid_before: until_ms,
                nonce: mark,
                signature: [0; 65].into(),
            }),
            (Wallet::Solana(payer), Wallet::Solana(to)) => {
                let mut blockhash = [0; 32];
                blockhash[..8].copy_from_slice(&until_ms.to_be_bytes());
                Authorization::Solana(SolanaTransfer {
                    transaction: to.to_vec(),
                    message_hash: mark,
                    payer,
                    value: spend.order.amount,
                    blockhash,
                    not_before_slot: 0,
                })
            }
            _ => unreachable!("a wallet payment is on one network"),
        };
        // On Base the chain takes a nonce once, whatever else was signed with it.
        seller.signed.insert(n, (id, authorization.clone()));
        (authorization, n)
    }

    /// A call must be durable before it reaches a seller. Every attempt has the same payment and the reserved call.
    fn check_call(&self, call: &SealedHttpPart<'_>, n: u32, sent: &[u8], authorization: &Authorization) {
        let (world, id) = (&self.0, call.payment);
        let ready = is_durable(world, n, authorization, &SendTarget::Server);
        if !ready || recorded_part(world, id, HttpRecordPart::PaymentHeader) != sent {
            world.report_violation(
                "sent.early",
                format!("{id} was sent to its seller before it was durable"),
            );
        }
        if call.sealed != call_of(id) {
            world.report_violation("call.other", format!("{id} is called with what was not asked"));
        }
    }

    async fn called(&self, authorization: &Authorization) -> Result<(ServerResponse, Vec<u8>), PortError> {
        let (world, n) = (&self.0, number_of(authorization));
        let calm = world.are_faults_over();
        if own_purchases::is_own(n) {
            let Some(engine) = world.engine.lock().clone() else {
                return Err(error(ErrorKind::Temporary));
            };
            return Ok(own_purchases::call(world, engine, n, authorization).await);
        }
        // It says that it has taken what it never does.
        if !calm && world.one_in(12) {
            world.trace(|| format!("seller: wallet payment {n} is answered and not taken"));
            return Ok(answer(200, None));
        }
        let taken = SimChain(world.clone()).submitted(authorization).await?;
        Ok(match taken {
            SubmitResult::Settled { .. } if calm => answer(200, None),
            SubmitResult::Settled { .. } => match world.below(8) {
                0 => answer(500, Some(CallFailure::HttpError)),
                1 => return Err(error(ErrorKind::Permanent)),
                _ => answer(200, None),
            },
            SubmitResult::Declined(_) => answer(402, Some(CallFailure::Unsettled)),
        })
    }
}

fn answer(http_status: u16, failure: Option<CallFailure>) -> (ServerResponse, Vec<u8>) {
    let answer = ServerResponse {
        http_status,
        content_type: Some("text/plain".into()),
        failure,
    };
    (answer, vec![7; 13_000])
}

impl WalletSigner for SimSeller {
    fn addresses(&self, owner: &Wallet) -> Option<WalletAddresses> {
        Some(addresses(owner))
    }

    fn sign_transfer<'a>(
        &'a self,
        keys: SealedKeys<'a>,
        transfer: &'a OutgoingTransferRequest,
    ) -> CallResult<'a, Authorization> {
        Box::pin(async move {
            let id = WalletPaymentId(transfer.key);
            let order = stored(&self.0, id).map(|spend| (spend.order.to, spend.order.amount));
            if order != Some((transfer.to, transfer.amount)) {
                self.0
                    .report_violation("sign.other", format!("{transfer:?}, and reserved is {order:?}"));
            }
            self.sign(keys, id)
                .map(|signed| signed.map(|(authorization, _)| authorization))
                .await
        })
    }

    fn sign_call<'a>(
        &'a self,
        keys: SealedKeys<'a>,
        call: SealedHttpPart<'a>,
    ) -> CallResult<'a, (Authorization, Vec<u8>)> {
        Box::pin(async move {
            let (authorization, n) = self.sign(keys, call.payment).await?;
            Ok((authorization, payment(n)))
        })
    }
}

impl PaidHttpClient for SimSeller {
    fn call<'a>(&'a self, call: SealedHttpPart<'a>, sent: &'a [u8]) -> CallResult<'a, (ServerResponse, Vec<u8>)> {
        Box::pin(async move {
            let world = &self.0;
            world.crash_point_or_hang().await;
            let n = sent.first_chunk().map_or(0, |n: &[u8; 4]| u32::from_be_bytes(*n));
            let known = world.seller.lock().signed.get(&n).cloned();
            let Some((_, authorization)) = known.filter(|(id, _)| *id == call.payment) else {
                world.report_violation("call.unsigned", format!("{n} was never signed for {}", call.payment));
                return Err(error(ErrorKind::Permanent));
            };
            // Of what was signed twice on Base, what is durable is what is sent.
            let authorization = match stored(world, call.payment).map(|spend| spend.status) {
                Some(Status::Signed(signed) | Status::Sent(signed, _)) => signed.authorization,
                _ => authorization,
            };
            self.check_call(&call, n, sent, &authorization);
            let _one = world
                .single_attempts
                .enter(world, "wallet_payment.at_once", call.payment.0);
            let answer = self.called(&authorization).await;
            world.crash_point_or_hang().await;
            let http_status = answer.as_ref().map(|(answer, _)| answer.http_status);
            world.trace(|| format!("seller: wallet payment {n} is answered {http_status:?}"));
            answer
        })
    }
}
