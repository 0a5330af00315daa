//! A fake bank.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use purser_actors::id::{BankAccountId, BankTransferId, JobId};
use purser_actors::money::Cents;
use purser_actors::port::banking::{
    AccountNumbers, Bank as Port, BankApplicationRequest, BankDecision, BankTransferRequest, BankTransferResult,
    IncomingTransfer, OpenAccountRequest, OpenAccountResult, ReviewDecision,
};
use purser_actors::port::{BoxFuture, ErrorKind, PortError};

use super::ports::{IssuerBehavior, error};

/// A bank that executes each key once, immediately unless a behavior is set.
#[derive(Default)]
pub(crate) struct FakeBank {
    behaviors: Mutex<VecDeque<IssuerBehavior>>,
    requests: Mutex<HashMap<JobId, String>>,
    transfers: Mutex<HashMap<JobId, BankTransferRequest>>,
    incoming: Mutex<Vec<IncomingTransfer>>,
    /// Highest number after which events were read.
    read_up_to: AtomicU64,
}

impl FakeBank {
    /// Sets the behaviors of the next changing calls, in order.
    pub(crate) fn set_behaviors(&self, behaviors: &[IssuerBehavior]) {
        self.behaviors.lock().extend(behaviors);
    }

    /// Reports a deposit as the next event.
    pub(crate) fn add_deposit(&self, reference: &str, account: BankAccountId, cents: u64) {
        self.add_incoming(reference, account, cents, None);
    }

    /// Whether all its events were read.
    pub(crate) fn is_fully_read(&self) -> bool {
        self.read_up_to.load(Ordering::Relaxed) >= self.incoming.lock().len() as u64
    }

    /// Reports that a transfer was returned.
    pub(crate) fn add_return(&self, transfer: BankTransferId, reference: &str, account: BankAccountId, cents: u64) {
        self.add_incoming(reference, account, cents, Some(transfer));
    }

    fn add_incoming(&self, reference: &str, account: BankAccountId, cents: u64, returns: Option<BankTransferId>) {
        let mut incoming = self.incoming.lock();
        let number = incoming.len() as u64 + 1;
        incoming.push(IncomingTransfer {
            position: number,
            reference: reference.into(),
            account,
            amount: Cents::new(cents),
            sender: "Example sender".into(),
            returned_transfer: returns,
        });
    }

    /// Net cents transferred to accounts.
    pub(crate) fn net_transferred_cents(&self) -> i64 {
        let moved = self.transfers.lock();
        let signed = |order: &BankTransferRequest| order.amount.get() as i64 * if order.to_account { 1 } else { -1 };
        moved.values().map(signed).sum()
    }

    /// The response to a repeated key is the same.
    fn respond<T>(
        &self,
        key: JobId,
        what: String,
        done: impl FnOnce() -> T,
        no: T,
    ) -> Result<BankDecision<T>, PortError> {
        let mut asked = self.requests.lock();
        assert_eq!(
            asked.entry(key).or_insert_with(|| what.clone()),
            &what,
            "one key, one content"
        );
        drop(asked);
        match self.behaviors.lock().pop_front().unwrap_or(IssuerBehavior::Ready) {
            IssuerBehavior::Ready => Ok(BankDecision::Final(done())),
            IssuerBehavior::NotYet => Ok(BankDecision::Pending { retry_after_ms: 2 }),
            IssuerBehavior::Declines => Ok(BankDecision::Final(no)),
            IssuerBehavior::ResponseLost => {
                done();
                Err(error(ErrorKind::Unknown, "bank"))
            }
            IssuerBehavior::Busy => Err(error(ErrorKind::Temporary, "bank")),
            IssuerBehavior::Panics => {
                done();
                panic!("{}", super::EXPECTED_PANIC)
            }
            IssuerBehavior::Broken => Err(error(ErrorKind::Permanent, "bank")),
        }
    }
}

impl Port for FakeBank {
    fn review<'a>(
        &'a self,
        application: &'a BankApplicationRequest,
    ) -> BoxFuture<'a, Result<BankDecision<ReviewDecision>, PortError>> {
        Box::pin(async move {
            let review = || ReviewDecision::Approved { customer: "cus".into() };
            let reason = "no".into();
            self.respond(
                application.key,
                format!("{application:?}"),
                review,
                ReviewDecision::Rejected { reason },
            )
        })
    }

    fn open<'a>(
        &'a self,
        order: &'a OpenAccountRequest,
    ) -> BoxFuture<'a, Result<BankDecision<OpenAccountResult>, PortError>> {
        Box::pin(async move {
            let at = AccountNumbers {
                bank_name: "First Bank".into(),
                routing_number: "021000021".into(),
                account_number: "123456789".into(),
                memo: None,
            };
            let reason = "no".into();
            self.respond(
                order.key,
                format!("{order:?}"),
                || OpenAccountResult::Open(at),
                OpenAccountResult::Rejected { reason },
            )
        })
    }

    fn transfer<'a>(
        &'a self,
        order: &'a BankTransferRequest,
    ) -> BoxFuture<'a, Result<BankDecision<BankTransferResult>, PortError>> {
        Box::pin(async move {
            let done = || {
                self.transfers.lock().insert(order.key, order.clone());
                BankTransferResult::Complete {
                    reference: "ref".into(),
                }
            };
            let reason = "no".into();
            self.respond(
                order.key,
                format!("{order:?}"),
                done,
                BankTransferResult::Failed { reason },
            )
        })
    }

    fn incoming(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<IncomingTransfer>, PortError>> {
        self.read_up_to.fetch_max(after, Ordering::Relaxed);
        Box::pin(async move {
            let incoming = self.incoming.lock();
            let mut listed: Vec<_> = incoming
                .iter()
                .filter(|one| one.position > after)
                .take(limit)
                .cloned()
                .collect();
            // Twice and newest first, as a bank may do.
            listed.extend(listed.clone());
            listed.reverse();
            Ok(listed)
        })
    }

    fn balance(&self, _: BankAccountId) -> BoxFuture<'_, Result<Cents, PortError>> {
        Box::pin(async { Ok(Cents::ZERO) })
    }
}
