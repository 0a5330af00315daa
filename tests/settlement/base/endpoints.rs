//! Endpoints that hang, are slow, change their minds or come and go: every payment is final once, and nothing by one
//! word.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use purser_actors::port::SubmitResult;
use serde_json::json;

use crate::base::anvil::Anvil;
use crate::base::cross_checks::{Shifted, behind_proxy, is_final, is_logs_request};
use crate::base::harness::{Harness, until};
use crate::base::proxy::Proxy;

/// Pays; the payment's block is there and read.
async fn pays(w: &Harness, n: usize) {
    w.prepare(&w.payment(n)).await;
    let submitted = w.submit(&w.payment(n));
    let answer = w.mined(submitted).await;
    assert!(matches!(answer, SubmitResult::Settled { .. }), "{answer:?}");
    w.anvil.mine(5).await;
}

async fn becomes_final(w: &Harness, n: usize) {
    until("the payment is final", async || {
        is_final(&w.lookup(&w.payment(n)).await).then_some(())
    })
    .await;
}

async fn stays_open(w: &Harness, n: usize) {
    for _ in 0..20 {
        assert!(!is_final(&w.lookup(&w.payment(n)).await));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

// Checks: the preferred endpoint of two hangs. A payment is confirmed through the other one, and final once both
// respond.
#[tokio::test]
async fn hanging_endpoint_makes_nothing_final() {
    let Some((mut w, proxy)) = behind_proxy(Anvil::start(), 1).await else {
        return;
    };
    w.timeout = Duration::from_millis(500);
    w.open().await;
    proxy.slow(Duration::from_secs(3_600));
    pays(&w, 0).await;
    stays_open(&w, 0).await;
    proxy.restore();
    becomes_final(&w, 0).await;
    w.assert_settled_once(&[0]).await;
}

// Checks: the preferred endpoint of two reports wrong block times with true hashes. Nothing becomes final, and stored
// times are corrected once both agree, after a reopening too.
#[tokio::test]
async fn wrong_clock_of_one_endpoint_is_corrected() {
    let Some((mut w, proxy)) = behind_proxy(Anvil::start(), 2).await else {
        return;
    };
    w.open().await;
    for (n, is_opened_anew) in [(0, false), (1, true)] {
        proxy.falsify(|_, mut result| {
            if let Some(time) = result["timestamp"].as_str() {
                let seconds = u64::from_str_radix(time.trim_start_matches("0x"), 16).unwrap();
                result["timestamp"] = json!(format!("{:#x}", seconds - 30));
            }
            Some(result)
        });
        pays(&w, n).await;
        stays_open(&w, n).await;
        if is_opened_anew {
            w.kill().await;
        }
        proxy.restore();
        if is_opened_anew {
            w.open().await;
        }
        becomes_final(&w, n).await;
    }
    w.assert_settled_once(&[0, 1]).await;
}

// Checks: the port waits for a slow endpoint, which counts as the second of two, and raises no alarm.
#[tokio::test]
async fn slow_endpoint_still_counts_as_the_second() {
    let Some((mut w, proxy)) = behind_proxy(Anvil::start(), 2).await else {
        return;
    };
    w.open().await;
    proxy.slow(Duration::from_millis(300));
    for n in 0..2 {
        pays(&w, n).await;
        becomes_final(&w, n).await;
    }
    assert_eq!(w.port().counters().alarms.load(Ordering::Relaxed), 0);
    assert_eq!(w.port().counters().mismatches.load(Ordering::Relaxed), 0);
    w.assert_settled_once(&[0, 1]).await;
}

// Checks: an endpoint omits the logs of a block every other time. The follower reads its response again, and each
// payment becomes final once.
#[tokio::test]
async fn inconsistent_endpoint_is_checked_each_time() {
    let Some((mut w, proxy)) = behind_proxy(Anvil::start(), 3).await else {
        return;
    };
    w.open().await;
    let asked = AtomicU64::new(0);
    proxy.falsify(move |request, result| {
        let is_left_out = is_logs_request(request) && asked.fetch_add(1, Ordering::Relaxed).is_multiple_of(2);
        Some(if is_left_out { json!([]) } else { result })
    });
    for n in 0..3 {
        w.prepare(&w.payment(n)).await;
        let submitted = w.submit(&w.payment(n));
        w.mined(submitted).await;
        w.anvil.mine(5).await;
        becomes_final(&w, n).await;
    }
    proxy.restore();
    w.assert_settled_once(&[0, 1, 2]).await;
}

// Checks: for each payment another one of three endpoints omits logs, and the other two agree.
#[tokio::test]
async fn any_two_of_three_endpoints_suffice() {
    let Some((mut w, first)) = behind_proxy(Anvil::start(), 3).await else {
        return;
    };
    let (second, third) = (Proxy::start(&w.anvil.url).await, Proxy::start(&w.anvil.url).await);
    w.urls = [&first, &second, &third].map(|proxy| proxy.url.clone()).into();
    w.open().await;
    for (n, liar) in [&first, &second, &third].into_iter().enumerate() {
        liar.falsify(|request, result| Some(if is_logs_request(request) { json!([]) } else { result }));
        w.prepare(&w.payment(n)).await;
        let submitted = w.submit(&w.payment(n));
        w.mined(submitted).await;
        w.anvil.mine(5).await;
        becomes_final(&w, n).await;
        liar.restore();
    }
    w.assert_settled_once(&[0, 1, 2]).await;
}

// Checks: a port with one endpoint is reopened with two. From then on one endpoint alone makes nothing final, and
// earlier final payments are compared with both.
#[tokio::test]
async fn second_endpoint_applies_after_a_restart() {
    let Some((mut w, proxy)) = behind_proxy(Anvil::start(), 2).await else {
        return;
    };
    let both = w.urls.clone();
    w.urls.truncate(1);
    w.open().await;
    assert_eq!(w.port().cross_checked(), None);
    // It leaves the first payment out.
    proxy.falsify(|request, result| Some(if is_logs_request(request) { json!([]) } else { result }));
    w.prepare(&w.payment(0)).await;
    let submitted = w.submit(&w.payment(0));
    w.in_pool(1).await;
    w.anvil.mine(5).await;
    w.read().await;
    assert!(!is_final(&w.lookup(&w.payment(0)).await));
    submitted.abort();
    proxy.restore();
    w.kill().await;
    w.urls = both;
    w.open().await;
    becomes_final(&w, 0).await;
    assert!(w.port().counters().mismatches.load(Ordering::Relaxed) > 0);
    proxy.falsify(|_, _| None);
    pays(&w, 1).await;
    stays_open(&w, 1).await;
    proxy.restore();
    becomes_final(&w, 1).await;
    w.assert_settled_once(&[0, 1]).await;
}

// Checks: one of two endpoints reports the same old block as safe and finalized for ever. Payments waiting for that
// level are not final. After a minute an operator is notified once, although both agree about every block.
#[tokio::test]
async fn stalled_finality_levels_are_reported_once() {
    let Some((mut w, proxy)) = behind_proxy(Anvil::start(), 1).await else {
        return;
    };
    w.finality = purser_chains::evm::blocks::Finality::Safe;
    let clock = Shifted::open(&mut w).await;
    let number = w.port().height().unwrap() - 8;
    let old = w
        .anvil
        .control("eth_getBlockByNumber", json!([format!("{number:#x}"), false]));
    let old = old.await;
    proxy.falsify(move |request, result| {
        let tag = &request["params"][0];
        Some(match tag == "safe" || tag == "finalized" {
            true => old.clone(),
            false => result,
        })
    });
    pays(&w, 0).await;
    w.anvil.mine(10).await;
    w.read().await;
    stays_open(&w, 0).await;
    let alarms = || w.port().counters().alarms.load(Ordering::Relaxed);
    assert_eq!(alarms(), 0);
    clock.set(61_000);
    until("an operator is notified of both levels", async || {
        w.anvil.mine(1).await;
        (alarms() >= 2).then_some(())
    })
    .await;
    w.anvil.mine(3).await;
    w.read().await;
    assert_eq!(alarms(), 2, "once each");
    proxy.restore();
    w.anvil.mine(3).await;
    becomes_final(&w, 0).await;
}
