//! Transfers that are no longer in memory.

use super::*;

impl Harness {
    /// Closes the chains and opens them again.
    fn reopened(self) -> Self {
        let Self { dir, clock, chains } = self;
        drop(chains);
        let chains = open(dir.path(), &clock);
        Self { dir, clock, chains }
    }

    /// Makes forty payments, so that earlier ones are no longer in memory.
    async fn age(&self) {
        for nonce in 100..140 {
            settled(self.pay(&payment(1_000, nonce)).await);
        }
    }

    async fn find(&self, transaction: &str) -> (u64, bool) {
        let look = |state: &ChainState, _| state.ledger.find_transaction(transaction).unwrap();
        let landed = self.chains.chain(Network::Base).read(look).await.unwrap();
        (landed.transfer.amount.atomic(), landed.reorged)
    }
}

// Checks: an old transfer is found by its payment and by its id, and its nonce stays used.
#[tokio::test]
async fn case_01_an_old_payment_moves_the_money_only_once() {
    let harness = Harness::new();
    let first = settled(harness.pay(&payment(5_000_000, 1)).await);
    harness.age().await;
    let mut harness = harness;
    for _ in 0..2 {
        let transaction = first.clone();
        let seen = harness.chains.lookup(&payment(5_000_000, 1), None).await.unwrap();
        let finality = Finality::Final;
        assert_eq!(seen, ChainStatus::Confirmed { transaction, finality });
        assert_eq!(harness.find(&first).await, (5_000_000, false));
        assert_eq!(settled(harness.pay(&payment(5_000_000, 1)).await), first);
        let other = harness.pay(&payment(6_000_000, 1)).await;
        assert_eq!(declined(other), "invalid_exact_evm_nonce_already_used");
        assert_eq!(harness.received().await, 5_040_000);
        harness = harness.reopened();
    }
    let all = harness.chains.transfers(Network::Base, 0, 100).await.unwrap();
    assert_eq!((all.len(), &all[0].id, all[40].position), (41, &first, 41));
    let page = harness.chains.transfers(Network::Base, 7, 5).await.unwrap();
    assert_eq!(page, all[7..12]);
}

// case_8: a fault scheduled for a transfer also applies once the transfer is old, and only once.
#[tokio::test]
async fn case_08_an_old_transfer_can_still_be_dropped() {
    let harness = Harness::new();
    harness.fault(ChainFault::Reorg { after_ms: 1_000 });
    let authorization = payment(5_000_000, 1);
    let first = settled(harness.pay(&authorization).await);
    harness.age().await;
    let harness = harness.reopened();
    harness.clock.advance(1_000);
    assert_eq!(harness.received().await, 40_000);
    assert_eq!(
        harness.chains.lookup(&authorization, None).await.unwrap(),
        ChainStatus::Pending
    );
    harness.fault(ChainFault::Reorg { after_ms: 1_000 });
    let second = settled(harness.pay(&authorization).await);
    assert_ne!(first, second);
    harness.clock.advance(1_000);
    let harness = harness.reopened();
    assert_eq!(harness.received().await, 5_040_000, "a key is hit once");
    assert_eq!(harness.find(&first).await, (5_000_000, true));
    assert_eq!(harness.find(&second).await, (5_000_000, false));
    let all = harness.chains.transfers(Network::Base, 0, 100).await.unwrap();
    let dropped: Vec<_> = all.iter().filter(|t| t.reorged).map(|t| &t.id).collect();
    assert_eq!((all.len(), dropped), (42, vec![&first]));
}
