//! Solana without a fee payer of our own: a facilitator co-signs with its key and sends.

use std::sync::Arc;
use std::time::Duration;

use purser::payment::SolanaChain;
use purser::settlement::facilitator::{
    Auth, FacilitatedSettlement, FacilitatorList, FacilitatorSettings, Presented, SubmitIntervals,
};
use purser::settlement::solana::{SolanaSettings, SolanaSettlement};
use purser::system::SystemClock;
use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::{
    Authorization, ChainStatus, ChainTransactionStatus, ErrorKind, OutgoingTransferRequest, Preparation, Settlement,
    SubmitResult, TreasuryList,
};
use purser_chains::rpc;
use purser_chains::solana::keypair::Keypair;

use crate::facilitator::{Mode, Server};
use crate::solana::facilitator::SolanaBackend;
use crate::solana::harness::{Harness, until, wallet};
use crate::solana::rail::SolanaRail;
use crate::suite::{self, Rail};

type Port = Arc<FacilitatedSettlement<SolanaSettlement>>;

fn without_keys(settings: &mut SolanaSettings) {
    settings.fee_payers.clear();
    settings.is_facilitated = true;
}

async fn port(harness: &Harness, facilitator: &Server) -> Port {
    port_within(harness, facilitator, Duration::from_secs(30)).await
}

async fn port_within(harness: &Harness, facilitator: &Server, timeout: Duration) -> Port {
    let settings = FacilitatorSettings {
        url: facilitator.url(),
        auth: Auth::None,
        timeout,
    };
    let clocks = (Arc::new(SystemClock) as _, Arc::new(rpc::SystemClock::default()) as _);
    let chain = Presented::Solana(SolanaChain::MAINNET);
    let list = FacilitatorList::open(chain, vec![settings], harness.store.clone(), clocks)
        .await
        .unwrap();
    assert!(list.refresh().await);
    assert_eq!(list.fee_payer(), Some(harness.fee_payer().address()));
    let waiting = SubmitIntervals {
        poll: Duration::from_millis(50),
        retry: Duration::from_secs(2),
    };
    Arc::new(FacilitatedSettlement::new(
        harness.port.clone(),
        list,
        Arc::new(SystemClock),
        waiting,
    ))
}

async fn pay(port: &Port, payment: &Authorization) -> String {
    let Preparation::Ready(prepared) = port.prepare(payment).await.unwrap() else {
        panic!("declined")
    };
    match port.submit(payment, &prepared).await.unwrap() {
        SubmitResult::Settled { transaction, .. } => transaction,
        declined @ SubmitResult::Declined(_) => panic!("{declined:?}"),
    }
}

async fn until_final(port: &Port, payment: &Authorization, transaction: &str) {
    until("the transfer is final", || async {
        let status = port.transaction_status(payment, None, transaction).await;
        matches!(status, Ok(ChainTransactionStatus::Final)).then_some(())
    })
    .await;
}

// Checks: a payment settles with the facilitator's fee payer and becomes final, and is declined before if its payer has
// no money. A payment settled by a facilitator that then failed is found by its message.
#[tokio::test(flavor = "multi_thread")]
async fn case_87_payment_settles_without_a_fee_payer_key() {
    let Some(harness) = Harness::open_with(80, without_keys).await else {
        return;
    };
    let facilitator = Server::start(SolanaBackend::of(&harness), Mode::Succeeds).await;
    let port = port(&harness, &facilitator).await;
    let payment = harness.payment(5_000_000, "one").await;
    let transaction = pay(&port, &payment).await;
    assert_eq!(pay(&port, &payment).await, transaction, "it is found, not sent again");
    until_final(&port, &payment, &transaction).await;

    facilitator.set(Mode::FailsAfter(502));
    let lost = harness.payment(4_000_000, "two").await;
    let transaction = pay(&port, &lost).await;
    until_final(&port, &lost, &transaction).await;
    // Its payer's transactions are searched every few seconds at most.
    until("the look-up finds it", || async {
        let found = port.lookup(&lost, None).await.unwrap();
        matches!(found, ChainStatus::Confirmed { transaction: of, .. } if of == transaction).then_some(())
    })
    .await;
    assert_eq!(harness.usdc(&harness.treasury().address()).await, Some(9_000_000));

    let empty = harness.another(9);
    harness.chain.set_usdc(&empty.address(), 1, false).await;
    let fee_payer = harness.fee_payer().address();
    let unpaid = harness.payment_by(&empty, &fee_payer, 1_000, "three").await;
    let heard = (facilitator.verifies(), facilitator.settles());
    match port.prepare(&unpaid).await.unwrap() {
        Preparation::Declined(decline) => assert_eq!(&*decline.reason, "insufficient_funds"),
        Preparation::Ready(prepared) => panic!("{prepared:?}"),
    }
    let hears = (facilitator.verifies(), facilitator.settles());
    assert_eq!(hears, heard, "it never hears of a payment that is declined before");
    let strangers = harness.payment_by(&harness.client(), &[3; 32], 1_000, "four").await;
    assert_eq!(port.lookup(&strangers, None).await.unwrap(), ChainStatus::Pending);
}

// Checks: a treasury withdrawal needs no fee payer key. It is declined if the recipient has no token account.
#[tokio::test(flavor = "multi_thread")]
async fn withdrawal_settles_without_a_fee_payer_key() {
    let Some(harness) = Harness::open_with(81, without_keys).await else {
        return;
    };
    harness
        .chain
        .set_usdc(&harness.treasury().address(), 1_000, false)
        .await;
    let facilitator = Server::start(SolanaBackend::of(&harness), Mode::Succeeds).await;
    let port = port(&harness, &facilitator).await;
    let transfer = |to: &Keypair| OutgoingTransferRequest {
        key: 7,
        to: wallet(to),
        amount: Usdc::from_atomic(300),
    };
    let without_account = Keypair::from_seed(&[202; 32]);
    assert!(!port.can_receive(&wallet(&without_account)).await.unwrap());
    let refused = port.sign(&transfer(&without_account)).await.unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Permanent);

    let receiver = harness.another(10);
    harness.chain.set_usdc(&receiver.address(), 0, false).await;
    assert!(port.can_receive(&wallet(&receiver)).await.unwrap());
    let signed = port.sign(&transfer(&receiver)).await.unwrap();
    let transaction = pay(&port, &signed).await;
    until_final(&port, &signed, &transaction).await;
    assert_eq!(harness.usdc(&receiver.address()).await, Some(300));
    assert_eq!(harness.usdc(&harness.treasury().address()).await, Some(700));
}

// Checks: a facilitator declines or hangs at `/verify`, but executes what it received. Preparing a withdrawal sends it
// nothing. A submitted withdrawal is paid once, and the signed transfer is never impossible afterwards.
#[tokio::test(flavor = "multi_thread")]
async fn withdrawal_executed_at_verify_is_paid_once() {
    let Some(harness) = Harness::open_with(84, without_keys).await else {
        return;
    };
    let receiver = harness.another(10);
    harness
        .chain
        .set_usdc(&harness.treasury().address(), 1_000, false)
        .await;
    harness.chain.set_usdc(&receiver.address(), 0, false).await;
    let facilitator = Server::start(SolanaBackend::of(&harness), Mode::Succeeds).await;
    let port = port_within(&harness, &facilitator, Duration::from_secs(2)).await;
    for (number, mode) in (1_u64..).zip([Mode::ExecutesInvalid("insufficient_funds"), Mode::HangsInVerify]) {
        facilitator.set(mode);
        let shown = facilitator.verifies();
        let transfer = OutgoingTransferRequest {
            key: number.into(),
            to: wallet(&receiver),
            amount: Usdc::from_atomic(300),
        };
        let signed = port.sign(&transfer).await.unwrap();
        let mut prepared = None;
        for _ in 0..3 {
            let Preparation::Ready(ready) = port.prepare(&signed).await.unwrap() else {
                panic!("{mode:?}: declined")
            };
            prepared = Some(ready);
        }
        assert_eq!(facilitator.verifies(), shown, "{mode:?}: it has seen nothing");
        // Not before it is durable that it was signed; whatever this says, the chain decides.
        let first = port.submit(&signed, prepared.as_ref().unwrap()).await;
        assert!(facilitator.verifies() > shown, "{mode:?}: {first:?}");
        let found = until("the chain shows it", || async {
            match port.lookup(&signed, prepared.as_ref()).await {
                Ok(ChainStatus::Confirmed { transaction, .. }) => Some(transaction),
                Ok(ChainStatus::Pending) | Err(_) => None,
                Ok(ChainStatus::Impossible) => panic!("{mode:?}: it was paid"),
            }
        })
        .await;
        assert_eq!(pay(&port, &signed).await, found, "{mode:?}: not again");
        until_final(&port, &signed, &found).await;
        assert_eq!(harness.usdc(&receiver.address()).await, Some(300 * number), "{mode:?}");
    }
    assert_eq!(harness.usdc(&harness.treasury().address()).await, Some(400));
}

struct FacilitatedRail {
    solana: SolanaRail,
    facilitator: Server,
    port: Port,
}

impl Rail for FacilitatedRail {
    fn network(&self) -> Network {
        Network::Solana
    }

    fn port(&self) -> Arc<dyn Settlement> {
        self.port.clone()
    }

    fn list(&self) -> Arc<dyn TreasuryList> {
        self.port.clone()
    }

    async fn payment(&mut self, amount: Usdc) -> Authorization {
        self.solana.payment(amount).await
    }

    async fn empty_payment(&mut self, amount: Usdc) -> Authorization {
        self.solana.empty_payment(amount).await
    }

    async fn submit_externally(&mut self, authorization: &Authorization) {
        self.solana.submit_externally(authorization).await;
    }

    async fn recipient(&mut self) -> Wallet {
        self.solana.recipient().await
    }

    async fn fund_treasury(&mut self, amount: Usdc) {
        self.solana.fund_treasury(amount).await;
    }

    async fn advance(&mut self) {
        self.solana.advance().await;
    }

    async fn make_final(&mut self) {
        self.solana.make_final().await;
    }

    async fn expire(&mut self, authorization: &Authorization) {
        self.solana.expire(authorization).await;
    }

    async fn reopen(&mut self) {
        self.solana.reopen().await;
        self.port = port(&self.solana.harness, &self.facilitator).await;
    }
}

// Checks: payments, withdrawals, restarts and proofs work as with our own keys.
#[tokio::test(flavor = "multi_thread")]
async fn port_without_a_fee_payer_passes_the_settlement_suite() {
    let Some(harness) = Harness::open_with(83, without_keys).await else {
        return;
    };
    let facilitator = Server::start(SolanaBackend::of(&harness), Mode::Succeeds).await;
    let port = port(&harness, &facilitator).await;
    let mut rail = FacilitatedRail {
        solana: SolanaRail::new(harness),
        facilitator,
        port,
    };
    suite::run_suite(&mut rail).await;
    assert!(rail.facilitator.settles() > 0);
}
