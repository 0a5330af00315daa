//! An outgoing transfer from before a restore that an operator attributes to a top-up as its burn.

use purser_actors::engine::{Attribution, AttributionError, AttributionWait, PaymentRequest, RestoreWindow};
use purser_actors::entity::payment::Outcome;
use purser_actors::entity::top_up::{CardBalancePurchase, FirstLeg, LegKind, Status};
use purser_actors::entity::{Purchase, PurchasedProduct};
use purser_actors::id::{RequestId, TopUpId, Wallet};
use purser_actors::kernel::table;
use purser_actors::money::{Cents, Usdc};
use purser_actors::operator::{OperatorAction, Role};
use purser_actors::port::{Clock as _, OutgoingTransfer, Timestamp};

use crate::support::bridge::{CallBehavior, CallSite, FEE};
use crate::support::eventually;
use crate::support::harness::{Harness, card_for};

const PAYER: Wallet = Wallet::Solana([1; 32]);

/// A restore whose window has ended.
const fn restore_window(since: Timestamp, until: Timestamp) -> RestoreWindow {
    let at = until;
    RestoreWindow { since, until, at }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn other_burn_is_not_attributed_while_the_own_may_settle() {
    // Checks: while the signed burn of a top-up may still settle, an operator can't attribute another burn to it. Once
    // its own can't settle, it accepts the other one and burns nothing more.
    let world = Harness::new().await;
    world.store.overwrite(table::issuer_linked(&PAYER), &[0xdd; 20]);
    world
        .bridge
        .set_behaviors(CallSite::Burn, &[CallBehavior::NotExecuted; 2_000]);
    let request = PaymentRequest {
        purchase: Purchase::CardBalance(CardBalancePurchase {
            amount: Cents::new(500),
        }),
        ..card_for(PAYER, 1)
    };
    let Outcome::Fulfilled {
        product: PurchasedProduct::TopUp(id),
        ..
    } = world.pay_until_known(&request).await.outcome
    else {
        panic!("nothing was bought")
    };
    let own = async |world: &Harness, id: TopUpId| {
        let top_up = world.engine.top_up(&id).await.unwrap().unwrap();
        matches!(&top_up.status, Status::Paid(Some(first)) if matches!(&**first, FirstLeg::Burn(_)))
    };
    eventually("its burn is signed", async || own(&world, id).await).await;

    let now = world.clock.now();
    world.chain.add_outgoing(OutgoingTransfer {
        transaction: "named".into(),
        to: Wallet::Solana([9; 32]),
        amount: Usdc::from_atomic(5_000_000 + FEE),
        at: now,
        fingerprint: [3; 32],
        index: 0,
    });
    let world = world.restored(restore_window(now, now.plus_ms(60_000))).await;
    let unexplained = world.engine.untracked_transfers().await.unwrap();
    assert_eq!(
        unexplained[0].candidates,
        [id.to_string()],
        "an operator could think so"
    );
    let act = OperatorAction {
        operator: "ana".into(),
        role: Role::Operator,
        request_id: RequestId(7),
    };
    let book = async || {
        let booked = world
            .engine
            .attribute_transfer("named", (Attribution::TopUp(id), None), (&act, "seen".into()));
        booked.await
    };
    assert_eq!(
        book().await,
        Err(AttributionError::MayStillSettle(AttributionWait::Attestation)),
        "no attestation shows the recipient"
    );
    world.bridge.has_burned("named", [0xcc; 20], 5_000_000);
    assert_eq!(
        book().await,
        Err(AttributionError::Mismatch),
        "it reached another recipient"
    );
    world.bridge.has_burned("named", [0xdd; 20], 5_000_000);
    assert_eq!(
        book().await,
        Err(AttributionError::MayStillSettle(AttributionWait::OwnBurn)),
        "its own may still land"
    );
    assert!(own(&world, id).await);
    world.bridge.expire_unsent();
    assert_eq!(book().await, Ok(Attribution::TopUp(id)));
    let top_up = world.engine.top_up(&id).await.unwrap().unwrap();
    // It continues from there automatically.
    assert_eq!(top_up.transaction(LegKind::Burn), Some("named"), "{top_up:?}");
    assert_eq!(top_up.expired_signatures, 1, "its own burn is known to have expired");
    assert_eq!(world.bridge.burns(), [5_000_000 + FEE], "nothing of its own has left");
}
