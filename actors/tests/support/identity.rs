//! Scripted identity provider and issuer accounts. Both survive a crash of the engine.

use std::collections::{HashMap, VecDeque};

use parking_lot::Mutex;
use purser_actors::id::{JobId, Wallet};
use purser_actors::port::{
    BoxFuture, CheckStatus, ErrorKind, IdentityCheck, IdentityCheckRequest, IssuerAccountResult, IssuerAccounts,
    PortError, StartedCheck, Verdict,
};

/// Behavior of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallBehavior {
    Works,
    /// Not executed, and no response.
    Busy,
    /// Executed, but the response is lost.
    ResponseLost,
    Declined,
    /// The process panics.
    Panics,
}

fn error(kind: ErrorKind) -> PortError {
    PortError {
        kind,
        operation: "people",
        message: "as the script says".into(),
    }
}

#[derive(Default)]
pub(crate) struct FakeIdentityProviders {
    behaviors: Mutex<VecDeque<CallBehavior>>,
    checks: Mutex<HashMap<JobId, IdentityCheckRequest>>,
    verdicts: Mutex<HashMap<String, Verdict>>,
    opened: Mutex<Vec<Wallet>>,
}

impl FakeIdentityProviders {
    /// Sets the behaviors of the next calls, in order. Without one a call works.
    pub(crate) fn set_behaviors(&self, turns: &[CallBehavior]) {
        self.behaviors.lock().extend(turns);
    }

    /// Sets the provider's verdict on a check.
    pub(crate) fn decide(&self, reference: &str, verdict: Verdict) {
        self.verdicts.lock().insert(reference.to_owned(), verdict);
    }

    /// Number of started checks.
    pub(crate) fn checks(&self) -> usize {
        self.checks.lock().len()
    }

    /// Wallets with an account, once per account.
    pub(crate) fn opened(&self) -> Vec<Wallet> {
        self.opened.lock().clone()
    }

    fn next_behavior(&self) -> CallBehavior {
        self.behaviors.lock().pop_front().unwrap_or(CallBehavior::Works)
    }
}

/// The deposit address of a wallet's account.
pub(crate) fn address_of(wallet: &Wallet) -> [u8; 20] {
    let mut address = [0; 20];
    address[..16].copy_from_slice(&wallet.digest().to_be_bytes());
    address
}

impl IdentityCheck for FakeIdentityProviders {
    fn start<'a>(&'a self, check: &'a IdentityCheckRequest) -> BoxFuture<'a, Result<StartedCheck, PortError>> {
        Box::pin(async move {
            let turn = self.next_behavior();
            match turn {
                CallBehavior::Busy => return Err(error(ErrorKind::Temporary)),
                CallBehavior::Declined => return Err(error(ErrorKind::Permanent)),
                CallBehavior::Panics => panic!("{}", super::EXPECTED_PANIC),
                CallBehavior::Works | CallBehavior::ResponseLost => {}
            }
            self.checks.lock().insert(check.key, check.clone());
            if turn == CallBehavior::ResponseLost {
                return Err(error(ErrorKind::Unknown));
            }
            Ok(StartedCheck {
                reference: format!("check-{}", check.key),
                url: format!("https://check.example/{}", check.key),
            })
        })
    }

    fn status<'a>(&'a self, reference: &'a str) -> BoxFuture<'a, Result<CheckStatus, PortError>> {
        Box::pin(async move {
            match self.next_behavior() {
                CallBehavior::Works => {}
                CallBehavior::Panics => panic!("{}", super::EXPECTED_PANIC),
                CallBehavior::Declined => return Err(error(ErrorKind::Permanent)),
                CallBehavior::Busy | CallBehavior::ResponseLost => return Err(error(ErrorKind::Unknown)),
            }
            let verdict = self.verdicts.lock().get(reference).cloned();
            Ok(match verdict {
                Some(verdict) => CheckStatus::Decided(verdict),
                None => CheckStatus::Pending { retry_after_ms: 2 },
            })
        })
    }
}

impl IssuerAccounts for FakeIdentityProviders {
    fn open<'a>(&'a self, holder: &'a Wallet) -> BoxFuture<'a, Result<IssuerAccountResult, PortError>> {
        Box::pin(async move {
            let turn = self.next_behavior();
            match turn {
                CallBehavior::Busy => return Err(error(ErrorKind::Temporary)),
                CallBehavior::Declined => {
                    let reason = "no account".into();
                    return Ok(IssuerAccountResult::Declined { reason });
                }
                CallBehavior::Panics => panic!("{}", super::EXPECTED_PANIC),
                CallBehavior::Works | CallBehavior::ResponseLost => {}
            }
            let mut opened = self.opened.lock();
            if !opened.contains(holder) {
                opened.push(*holder);
            }
            if turn == CallBehavior::ResponseLost {
                return Err(error(ErrorKind::Unknown));
            }
            let deposit_address = address_of(holder);
            Ok(IssuerAccountResult::Open { deposit_address })
        })
    }
}
