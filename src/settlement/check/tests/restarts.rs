//! A chain that does not respond at a restart.

use std::sync::atomic::{AtomicU32, Ordering};

use purser_actors::id::Network;

use super::*;
use crate::gate::{Gate, UNREACHABLE};

/// Behavior of the Base nodes; the Solana nodes are always valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BaseNodeState {
    Unresponsive,
    /// They serve another chain.
    OtherChain,
    /// One endpoint responds, with another contract at the address of USDC.
    Changed,
    Valid,
}

fn answer(base: BaseNodeState, host: &str, method: &str, params: &Value) -> Option<Value> {
    if !method.starts_with("eth_") {
        return Some(valid_response(method, params));
    }
    match (base, method) {
        (BaseNodeState::Unresponsive, _) => None,
        (BaseNodeState::Changed, _) if host == "one" => None,
        (BaseNodeState::Changed, "eth_call") => {
            Some(json!(format!("0x{}", hex::encode(BaseChain::SEPOLIA.token.domain()))))
        }
        (BaseNodeState::OtherChain, "eth_chainId") => Some(json!("0x14a34")),
        _ => Some(valid_response(method, params)),
    }
}

fn nodes(base: &Arc<Mutex<BaseNodeState>>) -> (Arc<dyn Transport>, Arc<dyn Clock>) {
    let base = base.clone();
    let answers: Answers = Box::new(move |host, method, params| answer(*base.lock(), host, method, params));
    (Arc::new(Nodes(Mutex::new(answers))), Arc::new(SystemClock::default()))
}

fn checks(base: &Arc<Mutex<BaseNodeState>>) -> Checks {
    let (transport, clock) = nodes(base);
    Checks::new(&chains(), &transport, &clock).unwrap()
}

// Checks: a silent chain does not prevent a restart if an earlier start has verified it. A first start needs its
// response. A chain that contradicts the settings always ends the start.
#[tokio::test]
async fn a_restart_needs_no_answer_of_a_chain_that_was_checked_before() {
    let tolerated = async |base: BaseNodeState, knows: bool| {
        let found = checks(&Arc::new(Mutex::new(base))).run().await;
        found.tolerate(knows).map_err(|misfit| misfit.0.len())
    };
    let without_base = UnreachableChains {
        base: true,
        solana: false,
    };
    assert_eq!(tolerated(BaseNodeState::Unresponsive, true).await, Ok(without_base));
    assert_eq!(tolerated(BaseNodeState::Unresponsive, false).await, Err(1));
    assert_eq!(
        tolerated(BaseNodeState::Valid, true).await,
        Ok(UnreachableChains::default())
    );
    assert_eq!(
        tolerated(BaseNodeState::Valid, false).await,
        Ok(UnreachableChains::default())
    );
    for wrong in [BaseNodeState::OtherChain, BaseNodeState::Changed] {
        assert!(tolerated(wrong, true).await.is_err(), "{wrong:?}");
    }
}

// Checks: the gate stays closed, with a reason, while the chain is silent, a different one or changed. It opens once
// the chain matches.
#[tokio::test(start_paused = true)]
async fn a_chain_is_used_once_it_is_the_one_of_the_settings() {
    let base = Arc::new(Mutex::new(BaseNodeState::Unresponsive));
    let (gate, checks) = (Gate::closed(), checks(&base).base);
    let timer = SystemClock::default();
    let again = retry_until_valid(&checks, Network::Base, &gate, &timer);
    let steps = async {
        let after = async |next: BaseNodeState, pause: Duration| {
            *base.lock() = next;
            tokio::time::sleep(pause + Duration::from_secs(1)).await;
            gate.closed_reason()
        };
        assert_eq!(
            after(BaseNodeState::Unresponsive, UNREACHABLE_RETRY).await.as_deref(),
            Some(UNREACHABLE)
        );
        let why = after(BaseNodeState::OtherChain, UNREACHABLE_RETRY).await.unwrap();
        assert!(why.contains("chains.base.endpoints[0].url"), "{why}");
        let why = after(BaseNodeState::Changed, MISMATCH_RETRY).await.unwrap();
        assert!(why.contains("chains.base.usdc_name"), "{why}");
        assert_eq!(gate.alarms(), 2);
        let why = after(BaseNodeState::Changed, MISMATCH_RETRY).await.unwrap();
        assert!(why.contains("chains.base.usdc_name"), "{why}");
        assert_eq!(gate.alarms(), 2, "reported once");
        assert_eq!(
            after(BaseNodeState::Unresponsive, MISMATCH_RETRY).await.as_deref(),
            Some(UNREACHABLE)
        );
        assert_eq!(after(BaseNodeState::Valid, UNREACHABLE_RETRY).await, None);
    };
    tokio::join!(again, steps);
}

// Checks: while a gate is closed no request reaches an endpoint.
#[tokio::test]
async fn nothing_passes_a_closed_gate() {
    struct Counting(AtomicU32);
    impl Transport for Counting {
        fn post<'a>(
            &'a self,
            _: &'a EndpointUrl,
            _: Vec<u8>,
            _: Duration,
            _: usize,
        ) -> rpc::BoxFuture<'a, Result<Response, TransportError>> {
            self.0.fetch_add(1, Ordering::SeqCst);
            Box::pin(std::future::ready(Err(TransportError::Timeout)))
        }
    }
    let inner = Arc::new(Counting(AtomicU32::new(0)));
    let gate = Gate::closed();
    let guarded = gate.guard(inner.clone());
    let url = EndpointUrl::parse("https://one/key").unwrap();
    let post = || guarded.post(&url, Vec::new(), Duration::from_secs(1), 1);
    assert!(matches!(post().await, Err(TransportError::Unreachable(_))));
    assert_eq!(inner.0.load(Ordering::SeqCst), 0);
    gate.open();
    assert_eq!(post().await, Err(TransportError::Timeout));
    assert_eq!(inner.0.load(Ordering::SeqCst), 1);
}
