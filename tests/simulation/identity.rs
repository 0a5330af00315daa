//! Simulated identity checks and issuer links, and the owners who use them. A provider's outcome never changes, even if
//! its response is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use purser_actors::engine::OperationError;
use purser_actors::entity::identity_verification::{self, IdentityVerification};
use purser_actors::entity::issuer_link::{self, IssuerLink};
use purser_actors::id::{JobId, Wallet};
use purser_actors::kernel::{Entity as _, EntityKind, table};
use purser_actors::port::{
    BoxFuture, CheckStatus, ErrorKind, IdentityCheck, IdentityCheckRequest, IssuerAccountResult, IssuerAccounts,
    PortError, StartedCheck, Verdict,
};

use crate::account_steps::durable;
use crate::clients::{Clients, wallet};
use crate::environment::{Environment, ORDERED_PANIC};
use crate::plan::WALLETS;

/// What the two providers know.
#[derive(Default)]
pub(crate) struct IdentityTruth {
    /// Checks by key, in the order in which they were begun, with what they came to.
    checks: Vec<(JobId, Wallet, Option<Verdict>)>,
    accounts: BTreeSet<Wallet>,
}

impl IdentityTruth {
    fn start(&mut self, check: &IdentityCheckRequest) {
        if !self.checks.iter().any(|(key, _, _)| *key == check.key) {
            self.checks.push((check.key, check.wallet, None));
        }
    }

    fn verdict(&self, check_reference: &str) -> Option<&Verdict> {
        let check = self
            .checks
            .iter()
            .find(|(key, _, _)| reference(*key) == check_reference);
        check.and_then(|(_, _, verdict)| verdict.as_ref())
    }
}

fn reference(key: JobId) -> String {
    format!("check-{key}")
}

pub(crate) fn address(wallet: &Wallet) -> [u8; 20] {
    let mut address = [9; 20];
    address[..16].copy_from_slice(&wallet.digest().to_be_bytes());
    address
}

fn rejected() -> Verdict {
    Verdict::Failed { reason: "no".into() }
}

fn error(kind: ErrorKind) -> PortError {
    PortError {
        kind,
        operation: "people",
        message: "as chance would have it".into(),
    }
}

/// What becomes of a call: many meet something before calm.
#[derive(Clone, Copy, Debug)]
enum CallBehavior {
    Fine,
    Busy,
    Lost,
    Hangs,
    Panics,
    No,
}

fn random_behavior(world: &Environment) -> CallBehavior {
    if world.are_faults_over() {
        return CallBehavior::Fine;
    }
    let weather = match world.below(24) {
        0..4 => CallBehavior::Busy,
        4..7 => CallBehavior::Lost,
        7 => CallBehavior::Hangs,
        8 => CallBehavior::Panics,
        9 => CallBehavior::No,
        _ => CallBehavior::Fine,
    };
    world.trace(|| format!("people meet {weather:?}"));
    weather
}

/// What befalls a call after it was done.
async fn afterwards(weather: &CallBehavior) -> Result<(), PortError> {
    match weather {
        CallBehavior::Lost => Err(error(ErrorKind::Unknown)),
        CallBehavior::Hangs => std::future::pending().await,
        CallBehavior::Panics => panic!("{ORDERED_PANIC}"),
        CallBehavior::Fine | CallBehavior::Busy | CallBehavior::No => Ok(()),
    }
}

pub(crate) struct SimIdentity(pub(crate) Arc<Environment>);

impl SimIdentity {
    async fn started(&self, check: &IdentityCheckRequest) -> Result<StartedCheck, PortError> {
        let world = &self.0;
        world.delay(world.below(80)).await;
        let weather = random_behavior(world);
        match weather {
            CallBehavior::Busy => return Err(error(ErrorKind::Temporary)),
            // An outcome is final: a check that was started is not rejected.
            CallBehavior::No if !world.identity.lock().checks.iter().any(|(key, _, _)| *key == check.key) => {
                return Err(error(ErrorKind::Permanent));
            }
            _ => {}
        }
        world.identity.lock().start(check);
        afterwards(&weather).await?;
        Ok(StartedCheck {
            reference: reference(check.key),
            url: format!("/check/{}", check.key),
        })
    }

    /// A check starts only after an owner's request is durable.
    fn check_request(&self, check: &IdentityCheckRequest) {
        let identity: Option<IdentityVerification> = durable(&self.0, EntityKind::Identity, &check.wallet.key());
        let asked = identity.is_some_and(|identity| match identity.status {
            identity_verification::Status::InReview { check: asked, .. } => asked == check.key,
            // An echo of a check that is over by now.
            _ => true,
        });
        if !asked {
            self.0
                .report_violation("identity.early", format!("{check:?} was not durably asked for"));
        }
    }

    async fn check_status(&self, reference: &str) -> Result<CheckStatus, PortError> {
        let world = &self.0;
        world.delay(world.below(40)).await;
        let weather = random_behavior(world);
        if matches!(weather, CallBehavior::Busy | CallBehavior::No) {
            return Err(error(ErrorKind::Permanent));
        }
        afterwards(&weather).await?;
        let mut bureau = world.identity.lock();
        let is_named = |key: JobId| self::reference(key) == reference;
        let check = bureau.checks.iter_mut().find(|(key, _, _)| is_named(*key));
        let Some((_, _, verdict)) = check else {
            world.report_violation("identity.unknown", format!("{reference} was never begun"));
            return Err(error(ErrorKind::Permanent));
        };
        // Once faults are over, unanswered checks are abandoned.
        if world.are_faults_over() {
            verdict.get_or_insert_with(rejected);
        }
        Ok(match verdict {
            Some(verdict) => CheckStatus::Decided(verdict.clone()),
            None => CheckStatus::Pending {
                retry_after_ms: 1 + world.below(3_000),
            },
        })
    }

    async fn opened(&self, holder: &Wallet) -> Result<IssuerAccountResult, PortError> {
        let world = &self.0;
        world.delay(world.below(80)).await;
        let weather = random_behavior(world);
        match weather {
            CallBehavior::Busy => return Err(error(ErrorKind::Temporary)),
            CallBehavior::No => {
                let reason = "no".into();
                return Ok(IssuerAccountResult::Declined { reason });
            }
            _ => {}
        }
        world.identity.lock().accounts.insert(*holder);
        afterwards(&weather).await?;
        let deposit_address = address(holder);
        Ok(IssuerAccountResult::Open { deposit_address })
    }
}

impl IdentityCheck for SimIdentity {
    fn start<'a>(&'a self, check: &'a IdentityCheckRequest) -> BoxFuture<'a, Result<StartedCheck, PortError>> {
        Box::pin(async move {
            self.0.crash_point_or_hang().await;
            self.check_request(check);
            let _one = self.0.single_attempts.enter(&self.0, "identity.at_once", check.key.0);
            let answer = self.started(check).await;
            self.0.crash_point_or_hang().await;
            answer
        })
    }

    fn status<'a>(&'a self, reference: &'a str) -> BoxFuture<'a, Result<CheckStatus, PortError>> {
        Box::pin(async move {
            self.0.crash_point_or_hang().await;
            let answer = self.check_status(reference).await;
            self.0.crash_point_or_hang().await;
            answer
        })
    }
}

impl IssuerAccounts for SimIdentity {
    fn open<'a>(&'a self, holder: &'a Wallet) -> BoxFuture<'a, Result<IssuerAccountResult, PortError>> {
        Box::pin(async move {
            self.0.crash_point_or_hang().await;
            let link: Option<IssuerLink> = durable(&self.0, EntityKind::IssuerLink, &holder.key());
            if link.is_none() {
                self.0
                    .report_violation("link.early", format!("{holder} was not durably asked for"));
            }
            // Who unlinks and links again has asked anew, while the last question may still be on its way.
            let asked = match link.map(|link| link.status) {
                Some(issuer_link::Status::Unlinked {
                    pending_job: Some(effect),
                    ..
                }) => effect.0,
                _ => holder.digest(),
            };
            let _one = self.0.single_attempts.enter(&self.0, "link.at_once", asked);
            let answer = self.opened(holder).await;
            self.0.crash_point_or_hang().await;
            answer
        })
    }
}

impl Clients {
    /// The owner asks for a check on the account page.
    pub(crate) fn start_identity(&self, wallet_no: u8) {
        let (world, engine) = (self.environment.clone(), self.engine.clone());
        self.spawn(async move {
            let result = engine.request_identity_check(wallet(wallet_no)).await;
            let stored: Option<IdentityVerification> = durable(&world, EntityKind::Identity, &wallet(wallet_no).key());
            if result.is_ok() && stored.is_none() && !world.is_crashed() {
                world.report_violation(
                    "identity.answer",
                    format!("wallet {wallet_no} was notified of a check that is not durable"),
                );
            }
        });
    }

    /// The person answers the newest check, and the provider calls back `calls` times. The first outcome is final.
    pub(crate) fn answer_identity(&self, wallet_no: u8, passes: bool, calls: u8) {
        let (world, engine) = (self.environment.clone(), self.engine.clone());
        let owner = wallet(wallet_no);
        let mut bureau = world.identity.lock();
        let newest = bureau.checks.iter_mut().rev().find(|(_, of, _)| *of == owner);
        let Some((key, _, verdict)) = newest else { return };
        let verdict = verdict
            .get_or_insert_with(|| if passes { Verdict::Passed } else { rejected() })
            .clone();
        let reference = reference(*key);
        drop(bureau);
        self.spawn(async move {
            for _ in 0..calls {
                let result = engine
                    .record_identity_verdict(owner, reference.clone(), verdict.clone())
                    .await;
                if world.is_crashed() {
                    return;
                }
                world.trace(|| format!("callback: {result:?}"));
                let stored: Option<IdentityVerification> = durable(&world, EntityKind::Identity, &owner.key());
                let under_way =
                    |i: &IdentityVerification| matches!(i.status, identity_verification::Status::InReview { .. });
                // A check may have been started again after a failure. An earlier outcome of the same check is final,
                // whatever this callback reports.
                let passed = verdict == Verdict::Passed;
                let wrong = match result {
                    Ok(()) => stored.as_ref().is_none_or(under_way) && passed,
                    Err(OperationError::Rejected(identity_verification::Rejection::AlreadyDecided(_))) => true,
                    Err(_) => false,
                };
                if wrong {
                    world.report_violation(
                        "identity.callback",
                        format!("{reference} {verdict:?}, and durable is {stored:?}"),
                    );
                }
            }
        });
    }

    /// The owner links the account at the issuer, or unlinks it.
    pub(crate) fn link_issuer(&self, wallet_no: u8, linked: bool) {
        let engine = self.engine.clone();
        self.spawn(async move { drop(engine.request_issuer_link(wallet(wallet_no), linked).await) });
    }
}

/// Everything has come to what its provider says, and the rows say the same.
pub(crate) fn check_at_rest(world: &Environment) -> Result<(), (&'static str, String)> {
    let bureau = world.identity.lock();
    let rows: BTreeMap<Vec<u8>, Vec<u8>> = {
        let shadow = world.reference.lock();
        let people = |key: &[u8]| matches!(key[0], table::VERIFIED | table::ISSUER_LINKED);
        let rows = shadow.rows.iter().filter(|(key, _)| people(key));
        rows.map(|(key, row)| (key.to_vec(), row.value.to_vec())).collect()
    };
    let mut expected = BTreeMap::new();
    for wallet_no in 0..WALLETS {
        let owner = wallet(wallet_no as u8);
        let identity: Option<IdentityVerification> = durable(world, EntityKind::Identity, &owner.key());
        if let Some(identity) = &identity {
            world.trace(|| format!("the identity ended as {}", identity.status()));
        }
        let agrees = match identity.as_ref().map(|identity| &identity.status) {
            None => true,
            Some(identity_verification::Status::InReview { .. }) => false,
            Some(identity_verification::Status::Verified { reference }) => {
                expected.insert(table::verified(&owner).to_vec(), Vec::new());
                bureau.verdict(reference) == Some(&Verdict::Passed)
            }
            Some(identity_verification::Status::Rejected { reference, .. }) => {
                let verdict = reference.as_ref().map(|reference| bureau.verdict(reference));
                verdict.is_none_or(|known| known.is_some_and(|known| *known != Verdict::Passed))
            }
        };
        if !agrees {
            return Err(("identity.verdict", format!("{owner}: {identity:?}")));
        }
        let link: Option<IssuerLink> = durable(world, EntityKind::IssuerLink, &owner.key());
        if let Some(link) = &link {
            world.trace(|| format!("the link ended as {}", link.status()));
        }
        match link.as_ref().map(|link| &link.status) {
            Some(issuer_link::Status::Linked { deposit_address }) => {
                expected.insert(table::issuer_linked(&owner).to_vec(), address(&owner).to_vec());
                if *deposit_address != address(&owner) || !bureau.accounts.contains(&owner) {
                    return Err(("link.address", format!("{owner}: {link:?}")));
                }
            }
            Some(issuer_link::Status::Unlinked {
                pending_job: Some(_), ..
            }) => {
                return Err(("link.open", format!("{owner} is still being linked")));
            }
            _ => {}
        }
    }
    if rows != expected {
        return Err(("people.rows", format!("{rows:?}, expected {expected:?}")));
    }
    Ok(())
}
