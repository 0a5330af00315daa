//! A wallet payment that our own service rejected: the only end without proof from the chain.

use purser_actors::entity::agent_wallet;
use purser_actors::entity::wallet_payment::{Event, PaymentMethod, WalletPayment};
use purser_actors::kernel::Entity;

use crate::fixtures::{NOW, WALLET, at, fold};
use crate::wallet_payments::{PAYMENT_ID, answer, commands, order, wallet_payments};

#[test]
fn payment_rejected_by_our_own_service_ends_at_once() {
    // Checks: response and end are one batch, and the hold is released. After a response, or for another server's call,
    // only the chain ends it.
    let [reserved, signed, ..] = &wallet_payments()[..] else {
        panic!("one in each state")
    };
    let own = |spend: &WalletPayment| {
        let host = PaymentMethod::OWN.to_owned();
        let order = order(PaymentMethod::PaidCall { host });
        WalletPayment { order, ..spend.clone() }
    };
    let (_, declined) = commands().remove(2);
    let ask = |spend: &WalletPayment| WalletPayment::decide(Some(spend), &PAYMENT_ID, declined.clone(), &at(NOW));
    let decision = ask(&own(signed)).unwrap();
    let [Event::ResponseReceived(..), Event::Unsettled(reason, _)] = decision.events() else {
        panic!("{:?}", decision.events())
    };
    assert_eq!(&**reason, "not_taken");
    let ended: WalletPayment = fold(Some(own(signed)), &PAYMENT_ID, decision.events());
    assert_eq!((ended.failure(), ended.is_open()), (Some("unsettled"), false));
    assert_eq!(ended.response(), Some(&answer()));
    let jobs: Vec<_> = decision.jobs().iter().map(|effect| effect.job.clone()).collect();
    let (wallet, spend, paid) = (WALLET, PAYMENT_ID, false);
    assert_eq!(
        jobs,
        [agent_wallet::Job::SettleWalletHold {
            wallet,
            payment: spend,
            paid
        }]
    );
    assert!(ask(&own(reserved)).is_err() && ask(signed).is_err() && ask(&ended).is_err());
}
