//! Base without a gas key of our own: a facilitator sends, through the same suite as every settlement port.

use std::sync::Arc;
use std::time::Duration;

use purser::payment::BaseChain;
use purser::settlement::evm::{BaseSettings, BaseSettlement};
use purser::settlement::facilitator::{
    Auth, ChainReader as _, FacilitatedSettlement, FacilitatorList, FacilitatorSettings, Presented, SubmitIntervals,
};
use purser::system::SystemClock;
use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::{Authorization, Preparation, Settlement, SubmitResult, TreasuryList};
use purser_chains::rpc;

use crate::base::facilitator::BaseBackend;
use crate::base::harness::{Harness, VALUE, key, payer, treasury, until};
use crate::base::rail::BaseRail;
use crate::facilitator::{Mode, Server};
use crate::suite::{self, Rail};

type Port = Arc<FacilitatedSettlement<BaseSettlement>>;

struct FacilitatedRail {
    base: BaseRail,
    facilitator: Server,
    port: Port,
}

async fn port(world: &Harness, facilitator: &Server) -> Port {
    let settings = FacilitatorSettings {
        url: facilitator.url(),
        auth: Auth::None,
        timeout: Duration::from_secs(30),
    };
    let clocks = (Arc::new(SystemClock) as _, Arc::new(rpc::SystemClock::default()) as _);
    let chain = Presented::Base(BaseChain::MAINNET);
    let list = FacilitatorList::open(chain, vec![settings], world.store.clone(), clocks)
        .await
        .unwrap();
    assert!(list.refresh().await);
    let waiting = SubmitIntervals {
        poll: Duration::from_millis(20),
        retry: Duration::from_millis(500),
    };
    Arc::new(FacilitatedSettlement::new(
        world.port().clone(),
        list,
        Arc::new(SystemClock),
        waiting,
    ))
}

impl FacilitatedRail {
    async fn start() -> Option<Self> {
        let mut world = Harness::closed(0).await?;
        world.gas_keys.clear();
        world.open().await;
        let facilitator = Server::start(BaseBackend::of(&world), Mode::Succeeds).await;
        let port = port(&world, &facilitator).await;
        Some(Self {
            base: BaseRail::new(world),
            facilitator,
            port,
        })
    }
}

impl Rail for FacilitatedRail {
    fn network(&self) -> Network {
        Network::Base
    }

    fn port(&self) -> Arc<dyn Settlement> {
        self.port.clone()
    }

    fn list(&self) -> Arc<dyn TreasuryList> {
        self.port.clone()
    }

    async fn payment(&mut self, amount: Usdc) -> Authorization {
        self.base.payment(amount).await
    }

    async fn empty_payment(&mut self, amount: Usdc) -> Authorization {
        self.base.empty_payment(amount).await
    }

    async fn submit_externally(&mut self, authorization: &Authorization) {
        let data = self.base.harness.calldata(authorization);
        let token = self.base.harness.token.address();
        // With a key that the facilitator does not use.
        let by = "gas 2";
        self.base
            .harness
            .submit_foreign(by, self.base.external_payers, token, data)
            .await;
        self.base.external_payers += 1;
        self.base.harness.anvil.mine(1).await;
    }

    async fn recipient(&mut self) -> Wallet {
        self.base.recipient().await
    }

    async fn fund_treasury(&mut self, amount: Usdc) {
        self.base.fund_treasury(amount).await;
    }

    async fn advance(&mut self) {
        self.base.advance().await;
    }

    async fn make_final(&mut self) {
        self.base.make_final().await;
    }

    async fn expire(&mut self, authorization: &Authorization) {
        self.base.expire(authorization).await;
    }

    async fn reopen(&mut self) {
        self.base.reopen().await;
        self.port = port(&self.base.harness, &self.facilitator).await;
    }
}

// Checks: payments, withdrawals, restarts and proofs work as with gas keys, without one transaction from our keys.
#[tokio::test]
async fn port_without_a_gas_key_passes_the_settlement_suite() {
    let Some(mut rail) = FacilitatedRail::start().await else {
        return;
    };
    suite::run_suite(&mut rail).await;
    assert!(rail.facilitator.settles() > 0);
    assert_eq!(rail.base.harness.rows(b'n').await, 0, "no nonce of a gas key was used");
}

// Checks: a facilitator settles and then responds 502. The follower finds the payment, and there is one transfer.
#[tokio::test]
async fn case_11_87_settlement_by_a_failing_facilitator_is_found_on_chain() {
    let Some(mut rail) = FacilitatedRail::start().await else {
        return;
    };
    rail.facilitator.set(Mode::FailsAfter(502));
    let amount = Usdc::from_atomic(1_000_000);
    let payment = rail.payment(amount).await;
    let Preparation::Ready(prepared) = rail.port.prepare(&payment).await.unwrap() else {
        panic!()
    };
    let (port, sent) = (rail.port.clone(), payment.clone());
    let submitted = tokio::spawn(async move { port.submit(&sent, &prepared).await.unwrap() });
    let submitted = rail.base.harness.mined(submitted).await;
    assert!(matches!(submitted, SubmitResult::Settled { .. }), "{submitted:?}");
    assert_eq!(rail.base.harness.balance(treasury()).await, amount.atomic());
    assert_eq!(rail.base.harness.balance(payer(1)).await, 0);
}

// Checks: with a facilitator, a gas key below the floor does not keep the port closed. It is unused until it has gas
// again.
#[tokio::test]
async fn gas_key_without_gas_is_unused_until_funded() {
    let Some(mut world) = Harness::closed(2).await else {
        return;
    };
    world.gas_keys = vec!["poor"];
    assert!(
        world.try_open(world.settings()).await.is_err(),
        "there is no other submitter"
    );
    let settings = BaseSettings {
        is_facilitated: true,
        ..world.settings()
    };
    world.port = Some(Arc::new(world.try_open(settings).await.unwrap()));
    world.read().await;
    let facilitator = Server::start(BaseBackend::of(&world), Mode::Succeeds).await;
    let port = port(&world, &facilitator).await;
    let pay = async |n: usize| {
        let payment = world.payment(n);
        let Preparation::Ready(prepared) = port.prepare(&payment).await.unwrap() else {
            panic!()
        };
        let port = port.clone();
        let submitted = tokio::spawn(async move { port.submit(&payment, &prepared).await.unwrap() });
        let submitted = world.mined(submitted).await;
        assert!(matches!(submitted, SubmitResult::Settled { .. }), "{submitted:?}");
    };
    pay(0).await;
    assert_eq!((facilitator.settles(), world.rows(b'n').await), (1, 0));

    world.send_ether(key("poor").address(), "0xde0b6b3a7640000").await;
    until("the key is used again", async || {
        world.port().can_send_with_own_keys(&world.payment(1)).then_some(())
    })
    .await;
    pay(1).await;
    assert_eq!(facilitator.settles(), 1);
    assert_eq!(world.balance(treasury()).await, 2 * VALUE);
}
