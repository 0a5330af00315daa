#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicU64, Ordering};

use purser_actors::id::{BankTransferId, BankingApplicationId, DocumentId, Wallet};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::*;
use crate::banking::PlainDocument;
use purser_actors::port::Timestamp;
use purser_host::secret::Secret;
use purser_sandbox::test_store::store_in;

/// A clock that moves only when it is set.
struct TestClock(AtomicU64);

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

struct Harness {
    directory: tempfile::TempDir,
    clock: Arc<TestClock>,
    bank: SandboxBank,
}

impl Harness {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let clock = Arc::new(TestClock(AtomicU64::new(1_000)));
        let bank = SandboxBank::open(&store_in(directory.path()), 50, clock.clone()).unwrap();
        Self { directory, clock, bank }
    }

    fn reopened(self) -> Self {
        let Self { directory, clock, bank } = self;
        drop(bank);
        let bank = SandboxBank::open(&store_in(directory.path()), 50, clock.clone()).unwrap();
        Self { directory, clock, bank }
    }

    fn advance(&self) {
        self.clock.0.fetch_add(50, Ordering::SeqCst);
    }

    fn add_fault(&self, trouble: Fault) {
        self.bank.faults.add(trouble, Some(1));
    }

    async fn account(&self, id: u128, ramp: AccountType) -> BankAccountId {
        let order = OpenAccountRequest {
            key: JobId(id),
            account: BankAccountId(id),
            customer: "cus".into(),
            account_type: ramp,
        };
        assert!(matches!(
            self.bank.open_account(&order).await,
            Ok(BankDecision::Pending { .. })
        ));
        self.advance();
        let open = self.bank.open_account(&order).await.unwrap();
        assert!(
            matches!(open, BankDecision::Final(OpenAccountResult::Open(_))),
            "{open:?}"
        );
        order.account
    }

    async fn transfer(
        &self,
        key: u128,
        account: BankAccountId,
        cents: u64,
        to_account: bool,
    ) -> Result<BankTransferResult, ErrorKind> {
        let order = BankTransferRequest {
            key: JobId(key),
            transfer: BankTransferId(key),
            account,
            amount: Cents::new(cents),
            to_account,
        };
        loop {
            match self.bank.move_money(&order).await.map_err(|e| e.kind)? {
                BankDecision::Final(moved) => return Ok(moved),
                BankDecision::Pending { .. } => self.advance(),
            }
        }
    }
}

fn application(key: u128, last: &str, shows: &'static str, bytes: &[u8]) -> PlainApplication {
    PlainApplication {
        key: JobId(key),
        id: BankingApplicationId(1 << 100),
        wallet: Wallet::Evm([1; 20]),
        answers: vec![("last_name".into(), last.to_owned())],
        tax_id: Secret::new("987654321".into()),
        documents: vec![PlainDocument {
            id: DocumentId(1),
            document_type: shows.into(),
            media_type: "application/pdf".into(),
            sha256: Sha256::digest(b"paper").into(),
            bytes: Zeroizing::new(bytes.to_vec()),
        }],
    }
}

// Checks: money moves once under a key, also after lost responses and a restart; different content under the key is
// rejected; no more is returned than was received.
#[tokio::test(start_paused = true)]
async fn money_moves_once_under_a_key() {
    let world = Harness::new();
    let off = world.account(1, AccountType::OffRamp).await;
    world.add_fault(Fault::Unreachable);
    assert_eq!(world.transfer(7, off, 500, true).await, Err(ErrorKind::Temporary));
    world.add_fault(Fault::LoseResponse);
    assert_eq!(world.transfer(7, off, 500, true).await, Err(ErrorKind::Unknown));
    let world = world.reopened();
    for _ in 0..3 {
        assert!(matches!(
            world.transfer(7, off, 500, true).await,
            Ok(BankTransferResult::Complete { .. })
        ));
    }
    assert_eq!(world.transfer(7, off, 501, true).await, Err(ErrorKind::Permanent));
    assert_eq!(world.bank.read_balance(off).await, Ok(Cents::new(500)));
    assert!(matches!(
        world.transfer(8, off, 501, false).await,
        Ok(BankTransferResult::Failed { .. })
    ));
    assert!(matches!(
        world.transfer(9, off, 400, false).await,
        Ok(BankTransferResult::Complete { .. })
    ));
    assert!(matches!(
        world.transfer(10, off, 113, true).await,
        Ok(BankTransferResult::Failed { .. })
    ));
    assert_eq!(world.bank.read_balance(off).await, Ok(Cents::new(100)));
}

// Checks: incoming money can be read from any position, also after a restart; it is duplicated or reversed only by a
// fault.
#[tokio::test]
async fn incoming_transfers_are_reported_in_order() {
    let world = Harness::new();
    let (on, off) = (
        world.account(1, AccountType::OnRamp).await,
        world.account(2, AccountType::OffRamp).await,
    );
    for n in 1..=5 {
        let named = ("Bob".to_owned(), format!("wire {n}"));
        world.bank.deposit(on, Cents::new(n), named).await.unwrap();
    }
    let none = world.bank.deposit(off, Cents::new(1), ("Bob".into(), "x".into())).await;
    assert!(matches!(none, Err(DepositError::NoAccount)));
    let world = world.reopened();
    let amounts = |amounts: Vec<IncomingTransfer>| amounts.iter().map(|one| one.amount.get()).collect::<Vec<_>>();
    let first = world.bank.read_incoming(0, 3).await.unwrap();
    assert_eq!(amounts(first.clone()), [1, 2, 3]);
    assert_eq!(
        amounts(world.bank.read_incoming(first[2].position, 10).await.unwrap()),
        [4, 5]
    );
    world.add_fault(Fault::OutOfOrder);
    assert_eq!(amounts(world.bank.read_incoming(0, 2).await.unwrap()), [2, 1]);
    world.add_fault(Fault::Duplicate);
    assert_eq!(amounts(world.bank.read_incoming(3, 10).await.unwrap()), [4, 4, 5, 5]);
}

// Checks: names force the verdict, the same submission gets the same verdict, and bytes of another type than announced
// are not accepted as a document.
#[tokio::test]
async fn an_application_is_decided_once() {
    let world = Harness::new();
    let says = async |asked: PlainApplication| {
        let again = || PlainApplication { ..asked.clone() };
        world.bank.decide(again()).await.unwrap();
        world.advance();
        world.bank.decide(again()).await.unwrap()
    };
    let approved = says(application(1, "Lovelace", "proof_of_address", b"paper")).await;
    assert!(
        matches!(approved, BankDecision::Final(ReviewDecision::Approved { .. })),
        "{approved:?}"
    );
    let refused = says(application(2, "Refused", "proof_of_address", b"paper")).await;
    assert!(
        matches!(refused, BankDecision::Final(ReviewDecision::Rejected { .. })),
        "{refused:?}"
    );
    let wanted = says(application(3, "Wanted", "proof_of_address", b"paper")).await;
    assert!(
        matches!(wanted, BankDecision::Final(ReviewDecision::InformationRequested { .. })),
        "{wanted:?}"
    );
    let given = says(application(4, "Wanted", "other", b"paper")).await;
    assert!(
        matches!(given, BankDecision::Final(ReviewDecision::Approved { .. })),
        "{given:?}"
    );
    let forged = world.bank.decide(application(5, "Lovelace", "other", b"other")).await;
    assert_eq!(forged.unwrap_err().kind, ErrorKind::Permanent);
}
