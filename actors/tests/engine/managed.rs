//! Agent wallets: products, credits, caps, freezes and later transfers belong to the account owner.

use purser_actors::engine::{ClaimError, PaymentRequest};
use purser_actors::entity::Purchase;
use purser_actors::entity::agent_wallet::WalletCaps;
use purser_actors::entity::payment::Outcome;
use purser_actors::entity::top_up::CardBalancePurchase;
use purser_actors::id::{Network, Wallet};
use purser_actors::kernel::table;
use purser_actors::money::Cents;
use purser_actors::port::WalletAddresses;
use purser_actors::product::Precondition;

use crate::support::harness::{Harness, bought_card, card_for, evm};
use crate::support::ports::IssuerBehavior;

const OWNER: Wallet = evm(1);
const ADDRESSES: WalletAddresses = WalletAddresses {
    base: [8; 20],
    solana: [8; 32],
};

/// The owner's agent wallet on Base.
const MANAGED: Wallet = ADDRESSES.on(Network::Base);

async fn opened() -> Harness {
    let world = Harness::new().await;
    let limits = WalletCaps {
        per_call: Cents::new(100_000),
        per_day: None,
        approvals: false,
    };
    let made = world
        .engine
        .create_agent_wallet(OWNER, (ADDRESSES, b"keys".to_vec()), limits, None);
    made.await.expect("it is made");
    world
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_73_purchase_of_an_agent_wallet_belongs_to_its_owner() {
    // Checks: for the addresses on both chains and over a restart, product, credit and payment belong to the account
    // owner. No session is opened, and the chain's payer stays recorded.
    let mut world = opened().await;
    for nonce in 1..=2 {
        let request = card_for(MANAGED, nonce);
        let paid = world.pay_until_known(&request).await;
        assert!(
            matches!(paid.outcome, Outcome::Fulfilled { session: None, .. }),
            "{paid:?}"
        );
        world.wait_until_idle().await;
        let payment = world.engine.payment(&paid.payment).await.unwrap().unwrap();
        assert_eq!((payment.account(), payment.payer()), (OWNER, MANAGED));
        let (cards, _) = world.engine.cards_of(&OWNER, None, 10).await.unwrap();
        assert!(cards.iter().any(|(id, _)| *id == bought_card(&paid)));
        assert!(world.engine.session(&request.session.id).await.unwrap().is_none());
        world = world.crash().await;
    }
    for network in Network::ALL {
        assert_eq!(world.engine.account_of(&ADDRESSES.on(network)), OWNER);
    }
    assert_eq!(world.engine.account_of(&evm(5)), evm(5));
    world.issuer.set_behaviors(&[IssuerBehavior::Declines]);
    world.pay_until_known(&card_for(MANAGED, 3)).await;
    world.wait_until_idle().await;
    let owner = world.engine.account(&OWNER).await.unwrap().unwrap();
    assert_eq!(owner.balance.atomic(), 5_000_000, "the credit");
    assert!(
        world.engine.account(&MANAGED).await.unwrap().is_none(),
        "no account of its own"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_73_agent_wallet_pays_under_its_owners_freeze_and_preconditions() {
    // Checks: the owner's preconditions apply, and a frozen owner's wallet buys nothing.
    let world = opened().await;
    let top_up = |nonce| PaymentRequest {
        purchase: Purchase::CardBalance(CardBalancePurchase {
            amount: Cents::new(500),
        }),
        ..card_for(MANAGED, nonce)
    };
    let lacking = world.pay(&top_up(1)).await.unwrap_err();
    assert_eq!(lacking, ClaimError::PreconditionFailed(Precondition::IssuerLinked));
    world.store.overwrite(table::issuer_linked(&OWNER), &[0xdd; 20]);
    let paid = world.pay_until_known(&top_up(1)).await;
    assert!(matches!(paid.outcome, Outcome::Fulfilled { .. }), "{paid:?}");
    let frozen = world.engine.set_frozen(OWNER, Some("call us".into()), None);
    frozen.await.expect("it is frozen");
    let refused = world.pay(&card_for(MANAGED, 2)).await.unwrap_err();
    let message = "call us".to_owned();
    assert_eq!(refused, ClaimError::Frozen { message });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_82_credit_before_the_wallet_was_known_is_returned() {
    // Checks: a restore credits an address whose owner is not known yet. Once the owner opens the wallet, the credit is
    // sent to that address once; opening it again sends nothing.
    let world = Harness::new().await;
    world.issuer.set_behaviors(&[IssuerBehavior::Declines]);
    world.pay(&card_for(MANAGED, 1)).await.expect("it is paid");
    world.wait_until_idle().await;
    let limits = WalletCaps {
        per_call: Cents::new(100_000),
        per_day: None,
        approvals: false,
    };
    for _ in 0..2 {
        let keys = (ADDRESSES, b"keys".to_vec());
        let made = world.engine.create_agent_wallet(OWNER, keys, limits, None);
        made.await.expect("it is made");
        world.wait_until_idle().await;
        let credited = world.engine.account(&MANAGED).await.unwrap().unwrap();
        assert_eq!((credited.balance.atomic(), credited.held.atomic()), (0, 0));
        assert_eq!(world.chain.transfers(), 2, "the payment, and one transfer back");
    }
    assert!(
        world.ledger_balances().is_empty(),
        "what came in has left: {:?}",
        world.ledger_balances()
    );
}
