//! A port that opens while its chain does not respond: it uses its rows alone until the chain was checked.

use std::sync::Arc;
use std::time::Duration;

use purser::settlement::evm::{BaseSettlement, OpenError};
use purser::settlement::gate::{Gate, UNREACHABLE};
use purser_actors::id::Wallet;
use purser_actors::money::Usdc;
use purser_actors::port::{ChainStatus, ErrorKind, OutgoingTransferRequest, Settlement as _, SubmitResult};
use purser_chains::rpc::{HttpTransport, SystemClock};
use purser_storage::Store;
use serde_json::json;

use crate::base::anvil::client;
use crate::base::harness::{Harness, payer, until};
use crate::base::proxy::Proxy;

async fn reopen(w: &Harness, gate: &Arc<Gate>) -> Result<BaseSettlement, OpenError> {
    let transport = Arc::new(HttpTransport::new(client()));
    let (store, clock): (Arc<dyn Store>, _) = (w.store.clone(), Arc::new(SystemClock::default()));
    BaseSettlement::reopen(w.settings(), store, transport, clock, gate.clone()).await
}

// Checks: behind a closed gate the port answers from its rows and reads, signs, accepts and sends nothing. Once the
// gate opens, pending payments are sent again and payments are accepted.
#[tokio::test]
async fn port_behind_a_closed_gate_does_not_use_its_chain() {
    let Some(mut w) = Harness::start(3).await else { return };
    let settled = w.submit(&w.payment(0));
    assert!(matches!(w.mined(settled).await, SubmitResult::Settled { .. }));
    w.read().await;
    drop(w.submit(&w.payment(1)));
    w.in_pool(1).await;
    w.kill().await;
    w.anvil.control("anvil_dropAllTransactions", json!([])).await;
    w.in_pool(0).await;
    w.anvil.mine(3).await;

    let gate = Gate::closed();
    let port = reopen(&w, &gate).await.unwrap();
    let read = port.height();
    w.port = Some(Arc::new(port));
    tokio::time::sleep(Duration::from_secs(1)).await;
    let why = w.port().payments_blocked_reason();
    assert_eq!(why.as_deref(), Some(UNREACHABLE));
    assert_eq!((w.port().height(), w.pending().await), (read, 0));
    assert!(matches!(w.lookup(&w.payment(0)).await, ChainStatus::Confirmed { .. }));
    assert_eq!(w.lookup(&w.payment(1)).await, ChainStatus::Pending);
    let out = OutgoingTransferRequest {
        key: 1,
        to: Wallet::Evm(payer(2).into_array()),
        amount: Usdc::from_atomic(1),
    };
    let errors = [
        w.port().prepare(&w.payment(2)).await.unwrap_err(),
        w.port().sign(&out).await.unwrap_err(),
    ];
    for error in errors {
        assert_eq!(
            (error.kind, error.message.as_str()),
            (ErrorKind::Temporary, UNREACHABLE)
        );
    }

    gate.open();
    w.in_pool(1).await;
    w.anvil.mine(1).await;
    until("the pending payments have settled", async || {
        let found = w.lookup(&w.payment(1)).await;
        matches!(found, ChainStatus::Confirmed { .. }).then_some(())
    })
    .await;
    w.read().await;
    w.prepare(&w.payment(2)).await;
    let settled = w.submit(&w.payment(2));
    assert!(matches!(w.mined(settled).await, SubmitResult::Settled { .. }));
}

// Checks: without rows there is no block to continue from, so a first start needs the chain.
#[tokio::test]
async fn a_port_without_rows_needs_its_chain() {
    let Some(w) = Harness::closed(0).await else { return };
    let opened = reopen(&w, &Gate::closed()).await.map(drop);
    assert!(matches!(opened, Err(OpenError::NothingStored)), "{opened:?}");
}

// Checks: a gas key whose next nonce is known from only one of two endpoints signs nothing. The port reports it and
// accepts no payments that would wait. It continues once the other endpoint responds.
#[tokio::test]
async fn no_payment_is_accepted_before_a_gas_key_knows_its_nonce() {
    let Some(mut w) = Harness::closed(1).await else { return };
    let proxy = Proxy::start(&w.anvil.url).await;
    proxy.falsify(|_, _| None);
    w.urls = vec![w.anvil.url.clone(), proxy.url.clone()];
    w.port = Some(Arc::new(w.try_open(w.settings()).await.unwrap()));
    until("the blocks are read", async || w.port().height()).await;
    until("the reason is the nonce", async || {
        let why = w.port().payments_blocked_reason()?;
        why.contains("next nonce").then_some(())
    })
    .await;
    let refused = w.port().prepare(&w.payment(0)).await.unwrap_err();
    assert!(
        refused.kind == ErrorKind::Temporary && refused.message.contains("next nonce"),
        "{refused:?}"
    );
    proxy.restore();
    w.read().await;
    let settled = w.submit(&w.payment(0));
    assert!(matches!(w.mined(settled).await, SubmitResult::Settled { .. }));
}
