//! Transfers out of the treasury.

use std::sync::atomic::Ordering;

use purser::settlement::solana::SolanaSettings;
use purser_actors::id::Wallet;
use purser_actors::money::Usdc;
use purser_actors::port::{ErrorKind, OutgoingTransferRequest, Settlement as _, Timestamp};
use purser_chains::solana::keypair::Keypair;

use crate::solana::harness::{Harness, wallet};

fn transfer(key: u128, to: Wallet) -> OutgoingTransferRequest {
    let amount = Usdc::from_atomic(300);
    OutgoingTransferRequest { key, to, amount }
}

// Checks: a recipient without a token account is declined before signing, unless a setting allows the rent. Then the
// account is created once, the fee payer pays the rent, and the withdrawal is listed as outgoing.
#[tokio::test(flavor = "multi_thread")]
async fn withdrawal_creates_the_token_account_if_its_rent_is_allowed() {
    let Some(harness) = Harness::open(70).await else { return };
    harness
        .chain
        .set_usdc(&harness.treasury().address(), 1_000, false)
        .await;
    let owner = Keypair::from_seed(&[201; 32]);
    assert!(!harness.port.can_receive(&wallet(&owner)).await.unwrap());
    let refused = harness.port.sign(&transfer(1, wallet(&owner))).await.unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Permanent);
    assert!(harness.port.can_receive(&wallet(&harness.client())).await.unwrap());
    drop(harness);

    let change = |settings: &mut SolanaSettings| settings.account_rent_cap = 3_000_000;
    let Some(harness) = Harness::open_with(71, change).await else {
        return;
    };
    harness
        .chain
        .set_usdc(&harness.treasury().address(), 1_000, false)
        .await;
    assert!(harness.port.can_receive(&wallet(&owner)).await.unwrap());
    for (number, rent) in [(1, 2_039_280), (2, 0)] {
        let before = harness.lamports(&harness.fee_payer().address()).await;
        let withdrawal = harness.port.sign(&transfer(number, wallet(&owner))).await.unwrap();
        let transaction = harness.pay(&withdrawal).await;
        harness.until_final(&withdrawal, &transaction).await;
        let spent = before - harness.lamports(&harness.fee_payer().address()).await;
        // Two signatures, and 60,000 units at 0.01 lamports.
        assert_eq!(spent, 10_600 + rent, "rent is paid once");
    }
    assert_eq!(harness.usdc(&owner.address()).await, Some(600));
    harness.movements(2).await;
    let left = harness
        .port
        .outgoing_transfers(Timestamp(0), Timestamp(u64::MAX))
        .await
        .unwrap();
    let shown: Vec<_> = left.iter().map(|one| (one.to, one.amount.atomic())).collect();
    assert_eq!(shown, [(wallet(&owner), 300), (wallet(&owner), 300)]);
    let treasury = wallet(&harness.treasury());
    assert_eq!(harness.port.sent_by(&treasury, Timestamp(0)).await.unwrap(), left);
    assert_eq!(harness.faults.signed_simulations.load(Ordering::SeqCst), 0);
}

// Checks: preparing a withdrawal or payment sends no signature to an endpoint, which could submit it and report a
// failure.
#[tokio::test(flavor = "multi_thread")]
async fn preparing_hides_the_signature_from_endpoints() {
    let Some(harness) = Harness::open(73).await else { return };
    harness
        .chain
        .set_usdc(&harness.treasury().address(), 1_000, false)
        .await;
    let withdrawal = harness
        .port
        .sign(&transfer(1, wallet(&harness.client())))
        .await
        .unwrap();
    let payment = harness.payment(5, "never submitted").await;
    for authorization in [&withdrawal, &payment] {
        assert_eq!(harness.port.precheck(authorization).await, None);
        harness.ready(authorization).await;
    }
    assert_eq!(harness.faults.signed_simulations.load(Ordering::SeqCst), 0);
    assert_eq!(harness.faults.sent.load(Ordering::SeqCst), 0);
}

// Checks: a token account, a program and a frozen account cannot receive a withdrawal.
#[tokio::test(flavor = "multi_thread")]
async fn address_that_is_no_wallet_receives_nothing() {
    let change = |settings: &mut SolanaSettings| settings.account_rent_cap = 3_000_000;
    let Some(harness) = Harness::open_with(72, change).await else {
        return;
    };
    let mint = purser_chains::solana::address::USDC_MAINNET;
    let account = purser_chains::solana::address::associated_token_account(&harness.client().address(), &mint).unwrap();
    for address in [account, mint, purser_chains::solana::address::TOKEN] {
        let to = Wallet::Solana(address);
        assert!(!harness.port.can_receive(&to).await.unwrap(), "{to}");
        assert_eq!(
            harness.port.sign(&transfer(1, to)).await.unwrap_err().kind,
            ErrorKind::Permanent
        );
    }
    let frozen = harness.another(45);
    harness.chain.set_usdc(&frozen.address(), 1, true).await;
    assert!(!harness.port.can_receive(&wallet(&frozen)).await.unwrap());
    assert!(!harness.port.can_receive(&Wallet::Evm([1; 20])).await.unwrap());
}
