//! Transfers out of the treasury.

use std::sync::atomic::Ordering;

use purser::settlement::solana::SolanaSettings;
use purser_actors::id::Wallet;
use purser_actors::money::Usdc;
use purser_actors::port::{ErrorKind, OutgoingTransferRequest, Settlement as _, Timestamp};
use purser_chains::solana::keypair::Keypair;

use crate::harness::{Harness, wallet};

fn transfer(key: u128, to: Wallet) -> OutgoingTransferRequest {
    let amount = Usdc::from_atomic(300);
    OutgoingTransferRequest { key, to, amount }
}

// Aim: an owner without a token account is refused before anything is signed, unless a setting allows the rent; then the account
// is created once, its rent is paid by the fee payer, and the withdrawal is listed as having left.
#[tokio::test(flavor = "multi_thread")]
async fn a_withdrawal_creates_the_receivers_account_if_its_rent_is_allowed() {
    let Some(house) = Harness::open(70).await else { return };
    house.chain.set_usdc(&house.treasury().address(), 1_000, false).await;
    let owner = Keypair::from_seed(&[201; 32]);
    assert!(!house.port.can_receive(&wallet(&owner)).await.unwrap());
    let refused = house.port.sign(&transfer(1, wallet(&owner))).await.unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Permanent);
    assert!(house.port.can_receive(&wallet(&house.client())).await.unwrap());
    drop(house);

    let change = |settings: &mut SolanaSettings| settings.account_rent_cap = 3_000_000;
    let Some(house) = Harness::open_with(71, change).await else {
        return;
    };
    house.chain.set_usdc(&house.treasury().address(), 1_000, false).await;
    assert!(house.port.can_receive(&wallet(&owner)).await.unwrap());
    for (number, rent) in [(1, 2_039_280), (2, 0)] {
        let before = house.lamports(&house.fee_payer().address()).await;
        let withdrawal = house.port.sign(&transfer(number, wallet(&owner))).await.unwrap();
        let transaction = house.pay(&withdrawal).await;
        house.until_final(&withdrawal, &transaction).await;
        let spent = before - house.lamports(&house.fee_payer().address()).await;
        // Two signatures, and 60,000 units at 0.01 lamports.
        assert_eq!(spent, 10_600 + rent, "rent is paid once");
    }
    assert_eq!(house.usdc(&owner.address()).await, Some(600));
    house.movements(2).await;
    let left = house
        .port
        .outgoing_transfers(Timestamp(0), Timestamp(u64::MAX))
        .await
        .unwrap();
    let shown: Vec<_> = left.iter().map(|one| (one.to, one.amount.atomic())).collect();
    assert_eq!(shown, [(wallet(&owner), 300), (wallet(&owner), 300)]);
    let treasury = wallet(&house.treasury());
    assert_eq!(house.port.sent_by(&treasury, Timestamp(0)).await.unwrap(), left);
    assert_eq!(house.faults.signed_simulations.load(Ordering::SeqCst), 0);
}

// Checks: preparing a withdrawal and a payment shows no endpoint a signature: one could send what it is shown and answer that it fails.
#[tokio::test(flavor = "multi_thread")]
async fn preparing_shows_no_endpoint_a_signature() {
    let Some(house) = Harness::open(73).await else { return };
    house.chain.set_usdc(&house.treasury().address(), 1_000, false).await;
    let withdrawal = house.port.sign(&transfer(1, wallet(&house.client()))).await.unwrap();
    let payment = house.payment(5, "shown to nobody").await;
    for authorization in [&withdrawal, &payment] {
        assert_eq!(house.port.precheck(authorization).await, None);
        house.ready(authorization).await;
    }
    assert_eq!(house.faults.signed_simulations.load(Ordering::SeqCst), 0);
    assert_eq!(house.faults.sent.load(Ordering::SeqCst), 0);
}

// Aim: nothing is sent to what is no wallet: a token account, a program, a frozen account.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_wallet_receives_nothing() {
    let change = |settings: &mut SolanaSettings| settings.account_rent_cap = 3_000_000;
    let Some(house) = Harness::open_with(72, change).await else {
        return;
    };
    let mint = purser_chains::solana::address::USDC_MAINNET;
    let account = purser_chains::solana::address::associated_token_account(&house.client().address(), &mint).unwrap();
    for address in [account, mint, purser_chains::solana::address::TOKEN] {
        let to = Wallet::Solana(address);
        assert!(!house.port.can_receive(&to).await.unwrap(), "{to}");
        assert_eq!(
            house.port.sign(&transfer(1, to)).await.unwrap_err().kind,
            ErrorKind::Permanent
        );
    }
    let frozen = house.another(45);
    house.chain.set_usdc(&frozen.address(), 1, true).await;
    assert!(!house.port.can_receive(&wallet(&frozen)).await.unwrap());
    assert!(!house.port.can_receive(&Wallet::Evm([1; 20])).await.unwrap());
}
