//! Scripted bridge and card balances: the behavior of each call, and the true state of both chains. Both survive a
//! crash of the engine.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use parking_lot::Mutex;
use purser_actors::money::Usdc;
use purser_actors::port::{
    AttestationStatus, AttestedMessage, BoxFuture, Bridge as Port, BridgeTransfer, CardBalances, CardDeposit,
    ChainStatus, Decline, ErrorKind, Finality, MintResult, PortError, SignedBurn, SignedMint, SubmitResult,
};

/// Behavior of a call; later calls succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallBehavior {
    /// Executed, but the response is lost.
    ResponseLost,
    /// Not executed, and no response.
    NotExecuted,
    Busy,
    /// The actor panics before the call.
    Panics,
    /// A decline that proves nothing.
    Declined,
    /// Impossible, with proof.
    Never,
    /// The signature has expired: it must be signed or attested again.
    Expires,
    /// Not seen yet (404), or rate-limited (429).
    NotYet,
    /// Attested for another recipient.
    ToAnother,
    OfAnother,
    /// Attested for a smaller amount.
    Less,
    /// Attested for the whole burn: the bridge takes no fee.
    More,
    /// Attested for more than was burned.
    Impossible,
    /// Attested with a message too long for a row.
    Long,
    /// A burn too small for the amount.
    Short,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CallSite {
    Sign,
    Burn,
    Attest,
    Mint,
    Credit,
}

#[derive(Default)]
struct BridgeState {
    behaviors: BTreeMap<CallSite, VecDeque<CallBehavior>>,
    calls: BTreeMap<CallSite, u64>,
    signed: u64,
    burned: BTreeMap<String, SignedBurn>,
    impossible: BTreeSet<String>,
    expired: BTreeSet<[u8; 32]>,
    /// Number of new attestations per message.
    reattested: BTreeMap<[u8; 32], u8>,
    minted: BTreeMap<[u8; 32], (String, Usdc)>,
    blocked: BTreeSet<[u8; 32]>,
    /// Minted amount per message, where it exceeds the order.
    minted_amounts: BTreeMap<String, Usdc>,
    to: BTreeMap<String, BridgeTransfer>,
    /// Deposits that the issuer was queried for and credited.
    credited: Vec<CardDeposit>,
    never_credits: bool,
}

/// Fee that the bridge keeps, in atomic USDC.
pub(crate) const FEE: u64 = 123;

#[derive(Default)]
pub(crate) struct FakeBridge(Mutex<BridgeState>);

impl FakeBridge {
    /// Adds a burn that another history has sent.
    pub(crate) fn has_burned(&self, transaction: &str, to: [u8; 20], arrives: u64) {
        let mut truth = self.0.lock();
        let (arrives, key) = (Usdc::from_atomic(arrives), 0);
        let burn = SignedBurn {
            bytes: Vec::new(),
            transaction: transaction.to_owned(),
            event_key: [0; 32],
            burned: Usdc::from_atomic(arrives.atomic() + FEE),
        };
        truth.burned.insert(transaction.to_owned(), burn);
        truth.to.insert(
            transaction.to_owned(),
            BridgeTransfer {
                key,
                to,
                delivered_amount: arrives,
            },
        );
    }
}

fn error(kind: ErrorKind) -> PortError {
    PortError {
        kind,
        operation: "bridge",
        message: "as the script says".into(),
    }
}

fn decline() -> Decline {
    Decline {
        reason: "insufficient_gas".into(),
        message: "as the script says".into(),
    }
}

fn nonce(burn: &str) -> [u8; 32] {
    let mut nonce = [0; 32];
    let text = burn.as_bytes();
    nonce[..text.len()].copy_from_slice(text);
    nonce
}

impl FakeBridge {
    /// Sets the behaviors of the next calls, in order.
    pub(crate) fn set_behaviors(&self, at: CallSite, met: &[CallBehavior]) {
        self.0.lock().behaviors.entry(at).or_default().extend(met);
    }

    /// The issuer credits nothing from now on.
    pub(crate) fn never_credits(&self) {
        self.0.lock().never_credits = true;
    }

    pub(crate) fn calls(&self, at: CallSite) -> u64 {
        self.0.lock().calls.get(&at).copied().unwrap_or(0)
    }

    /// Amounts that each burn took out of the treasury.
    pub(crate) fn burns(&self) -> Vec<u64> {
        self.0.lock().burned.values().map(|burn| burn.burned.atomic()).collect()
    }

    /// Amounts that each mint delivered.
    pub(crate) fn mints(&self) -> Vec<u64> {
        self.0
            .lock()
            .minted
            .values()
            .map(|(_, arrived)| arrived.atomic())
            .collect()
    }

    /// Amounts that the issuer credited.
    pub(crate) fn credits(&self) -> Vec<CardDeposit> {
        self.0.lock().credited.clone()
    }

    /// Signed transfers that have not settled never will.
    pub(crate) fn expire_unsent(&self) {
        let mut truth = self.0.lock();
        let signed: Vec<_> = truth.to.keys().cloned().collect();
        let unsent = signed.into_iter().filter(|burn| !truth.burned.contains_key(burn));
        let unsent: Vec<_> = unsent.collect();
        truth.impossible.extend(unsent);
    }

    /// Another minter mints every burn.
    pub(crate) fn mint_by_others(&self) {
        let mut truth = self.0.lock();
        let burned: Vec<_> = truth.burned.keys().cloned().collect();
        for burn in burned {
            truth.mint(nonce(&burn), "0xother");
        }
    }

    /// Behavior of the next call; busy ones and panics are answered here.
    fn next_behavior(&self, at: CallSite) -> Result<Option<CallBehavior>, PortError> {
        let met = {
            let mut truth = self.0.lock();
            *truth.calls.entry(at).or_default() += 1;
            truth.behaviors.get_mut(&at).and_then(VecDeque::pop_front)
        };
        match met {
            Some(CallBehavior::Busy) => Err(error(ErrorKind::Temporary)),
            Some(CallBehavior::NotExecuted) => Err(error(ErrorKind::Unknown)),
            Some(CallBehavior::Panics) => panic!("{}", super::EXPECTED_PANIC),
            met => Ok(met),
        }
    }

    fn sign(&self, bridge_transfer: &BridgeTransfer) -> Result<SignedBurn, PortError> {
        let met = self.next_behavior(CallSite::Sign)?;
        if met == Some(CallBehavior::Never) {
            return Err(error(ErrorKind::Permanent));
        }
        let fee = Usdc::from_atomic(FEE);
        let burned = match met {
            Some(CallBehavior::Short) => bridge_transfer.delivered_amount.checked_sub(fee),
            _ => bridge_transfer.delivered_amount.checked_add(fee),
        };
        let mut truth = self.0.lock();
        truth.signed += 1;
        let transaction = format!("burn{}", truth.signed);
        truth.to.insert(transaction.clone(), *bridge_transfer);
        Ok(SignedBurn {
            bytes: transaction.clone().into_bytes(),
            event_key: nonce(&transaction),
            transaction,
            burned: burned.unwrap(),
        })
    }

    fn send(&self, burn: &SignedBurn) -> Result<SubmitResult, PortError> {
        let met = self.next_behavior(CallSite::Burn)?;
        let mut truth = self.0.lock();
        let known = truth.burned.contains_key(&burn.transaction);
        match met {
            Some(CallBehavior::Declined) => return Ok(SubmitResult::Declined(decline())),
            Some(CallBehavior::Never | CallBehavior::Expires) if !known => {
                truth.impossible.insert(burn.transaction.clone());
                let kind = if met == Some(CallBehavior::Never) {
                    ErrorKind::Permanent
                } else {
                    ErrorKind::Unknown
                };
                return Err(error(kind));
            }
            _ => {}
        }
        assert!(
            !truth.impossible.contains(&burn.transaction),
            "a dead burn is not sent again"
        );
        truth.burned.insert(burn.transaction.clone(), burn.clone());
        let transaction = burn.transaction.clone();
        match met {
            Some(CallBehavior::ResponseLost) => Err(error(ErrorKind::Unknown)),
            _ => Ok(SubmitResult::Settled {
                transaction,
                finality: Finality::Final,
            }),
        }
    }

    fn attest(&self, burn: &SignedBurn) -> Result<AttestationStatus, PortError> {
        let met = self.next_behavior(CallSite::Attest)?;
        let mut truth = self.0.lock();
        let nonce = nonce(&burn.transaction);
        if met == Some(CallBehavior::Expires) {
            truth.expired.insert(nonce);
        }
        if met == Some(CallBehavior::NotYet) || !truth.burned.contains_key(&burn.transaction) {
            return Ok(AttestationStatus::Pending { retry_after_ms: 1 });
        }
        if truth.expired.contains(&nonce) {
            return Ok(AttestationStatus::Expired { nonce });
        }
        let BridgeTransfer {
            to,
            delivered_amount: arrives,
            ..
        } = truth.to[&burn.transaction];
        let mut attested = AttestedMessage {
            nonce,
            message: burn.bytes.clone(),
            attestation: vec![truth.attestation_round(&nonce); 65],
            to,
            is_usdc: true,
            delivered_amount: arrives,
        };
        match met {
            Some(CallBehavior::ToAnother) => attested.to[0] ^= 1,
            Some(CallBehavior::OfAnother) => attested.is_usdc = false,
            Some(CallBehavior::Less) => attested.delivered_amount = arrives.checked_sub(Usdc::from_atomic(1)).unwrap(),
            Some(CallBehavior::More) => {
                attested.delivered_amount = burn.burned;
                truth.minted_amounts.insert(burn.transaction.clone(), burn.burned);
            }
            Some(CallBehavior::Impossible) => {
                attested.delivered_amount = burn.burned.checked_add(Usdc::from_atomic(1)).unwrap()
            }
            Some(CallBehavior::Long) => attested.message = vec![0; 20_000],
            _ => {}
        }
        Ok(AttestationStatus::Complete(attested))
    }

    fn submit_mint(&self, mint: &SignedMint) -> Result<MintResult, PortError> {
        let met = self.next_behavior(CallSite::Mint)?;
        let nonce: [u8; 32] = mint.bytes[..32].try_into().unwrap();
        let mut truth = self.0.lock();
        match met {
            Some(CallBehavior::Declined) => return Ok(MintResult::Declined(decline())),
            Some(CallBehavior::Never) => drop(truth.blocked.insert(nonce)),
            Some(CallBehavior::Expires) => drop(truth.expired.insert(nonce)),
            _ => {}
        }
        let good = !truth.expired.contains(&nonce) && mint.bytes.last() == Some(&truth.attestation_round(&nonce));
        if truth.blocked.contains(&nonce) || !good {
            return Ok(MintResult::Declined(decline()));
        }
        if truth.minted.contains_key(&nonce) {
            return Ok(MintResult::NonceUsed);
        }
        let transaction = truth.mint(nonce, "0xours");
        match met {
            Some(CallBehavior::ResponseLost) => Err(error(ErrorKind::Unknown)),
            _ => Ok(MintResult::Minted { transaction }),
        }
    }
}

impl BridgeState {
    /// Content of a message's newest attestation.
    fn attestation_round(&self, nonce: &[u8; 32]) -> u8 {
        self.reattested.get(nonce).copied().unwrap_or(0)
    }

    fn mint(&mut self, minted: [u8; 32], by: &str) -> String {
        let burn = self
            .burned
            .keys()
            .find(|burn| nonce(burn) == minted)
            .expect("only what burned is minted");
        let brings = self.minted_amounts.get(burn).copied();
        let (transaction, arrives) = (format!("{by}-{burn}"), brings.unwrap_or(self.to[burn].delivered_amount));
        self.minted.entry(minted).or_insert((transaction, arrives)).0.clone()
    }
}

type CallResult<'a, T> = BoxFuture<'a, Result<T, PortError>>;

impl Port for FakeBridge {
    fn sign_burn<'a>(&'a self, bridge_transfer: &'a BridgeTransfer) -> CallResult<'a, SignedBurn> {
        Box::pin(async move { self.sign(bridge_transfer) })
    }

    fn burn<'a>(&'a self, burn: &'a SignedBurn) -> CallResult<'a, SubmitResult> {
        Box::pin(async move { self.send(burn) })
    }

    fn find_burn<'a>(&'a self, burn: &'a SignedBurn) -> CallResult<'a, ChainStatus> {
        let truth = self.0.lock();
        let transaction = burn.transaction.clone();
        let found = match truth.burned.contains_key(&transaction) {
            true => ChainStatus::Confirmed {
                transaction,
                finality: Finality::Final,
            },
            false if truth.impossible.contains(&transaction) => ChainStatus::Impossible,
            false => ChainStatus::Pending,
        };
        Box::pin(std::future::ready(Ok(found)))
    }

    fn attestation<'a>(&'a self, burn: &'a SignedBurn) -> CallResult<'a, AttestationStatus> {
        Box::pin(async move { self.attest(burn) })
    }

    fn reattest<'a>(&'a self, nonce: &'a [u8; 32]) -> CallResult<'a, ()> {
        let mut truth = self.0.lock();
        if truth.expired.remove(nonce) {
            *truth.reattested.entry(*nonce).or_default() += 1;
        }
        Box::pin(std::future::ready(Ok(())))
    }

    fn sign_mint<'a>(&'a self, attested: &'a AttestedMessage) -> CallResult<'a, SignedMint> {
        let bytes = [attested.nonce.as_slice(), &attested.attestation].concat();
        let transaction = String::new();
        Box::pin(std::future::ready(Ok(SignedMint { bytes, transaction })))
    }

    fn mint<'a>(&'a self, mint: &'a SignedMint) -> CallResult<'a, MintResult> {
        Box::pin(async move { self.submit_mint(mint) })
    }

    fn find_mint<'a>(&'a self, attested: &'a AttestedMessage) -> CallResult<'a, ChainStatus> {
        let truth = self.0.lock();
        let found = match truth.minted.get(&attested.nonce) {
            Some((transaction, _)) => ChainStatus::Confirmed {
                transaction: transaction.clone(),
                finality: Finality::Final,
            },
            None if truth.blocked.contains(&attested.nonce) => ChainStatus::Impossible,
            None => ChainStatus::Pending,
        };
        Box::pin(std::future::ready(Ok(found)))
    }
}

impl CardBalances for FakeBridge {
    fn is_credited<'a>(&'a self, deposit: &'a CardDeposit) -> CallResult<'a, bool> {
        Box::pin(async move {
            if self.next_behavior(CallSite::Credit)? == Some(CallBehavior::NotYet) || self.0.lock().never_credits {
                return Ok(false);
            }
            let mut truth = self.0.lock();
            if !truth.credited.contains(deposit) {
                truth.credited.push(deposit.clone());
            }
            Ok(true)
        })
    }
}
