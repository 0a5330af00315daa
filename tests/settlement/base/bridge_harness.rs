//! What the bridge needs in a test: a scripted Solana, Iris over HTTP, and mints on anvil.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use purser::settlement::cctp::{CctpBridge, CctpSettings};
use purser::settlement::gate::Gate;
use purser::settlement::solana::{Pace, SolanaDeps, SolanaSettings, SolanaSettlement, Workers};
use purser::system::{SystemClock, SystemEntropy};
use purser_actors::money::Usdc;
use purser_actors::port::{
    AttestedMessage, Bridge as _, BridgeTransfer, ErrorKind, Finality, MintResult, SignedBurn, SubmitResult,
};
use purser_chains::cctp::burn::{FeeRate, SentBurn};
use purser_chains::cctp::iris::Iris;
use purser_chains::cctp::message::BurnMessage;
use purser_chains::cctp::{MAINNET, THRESHOLD_FAST};
use purser_chains::rpc;
use purser_chains::solana::address::USDC_MAINNET;
use purser_chains::solana::keypair::Keypair;
use purser_chains::solana::lifecycle::Pacing;
use purser_chains::solana::transaction::Transaction;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::base::anvil::client;
use crate::base::harness::{Harness, key, until};
use crate::base::minting::{deploy_transmitter, signed_by};
use crate::base::scripted_solana::{ScriptedSolana, endpoints};

pub const ARRIVES: u64 = 5_000_000;
const FEES: &str = r#"[{"finalityThreshold":1000,"minimumFee":1},{"finalityThreshold":2000,"minimumFee":0}]"#;
const QUICK: Pace = Pace {
    pacing: Pacing {
        resend_ms: 50,
        status_ms: 20,
        final_ms: 20,
        proof_ms: 50,
    },
    tick_ms: 10,
    follow_ms: 20,
    blockhash_ms: 20,
    balance_ms: 50,
    settled_after_ms: 100,
    standstill_ms: 60_000,
};

type Answer = (&'static str, &'static str, String);

/// Iris: these answers about messages in turn, 404 behind them; fees as they are.
#[derive(Clone)]
pub struct FakeIris {
    url: String,
    answers: Arc<Mutex<VecDeque<Answer>>>,
    pub fees: Arc<Mutex<String>>,
    pub requests: Arc<Mutex<Vec<String>>>,
}

impl FakeIris {
    pub async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let iris = Self {
            url: format!("http://{}", listener.local_addr().unwrap()),
            answers: Arc::default(),
            fees: Arc::new(Mutex::new(FEES.to_owned())),
            requests: Arc::default(),
        };
        let serving = iris.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    request.push(stream.read_u8().await.unwrap());
                }
                let line = String::from_utf8_lossy(&request)
                    .lines()
                    .next()
                    .unwrap_or_default()
                    .to_owned();
                let (status, headers, body) = serving.answer(&line);
                let length = body.len();
                let head =
                    format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n");
                stream.write_all((head + &body).as_bytes()).await.unwrap();
            }
        });
        iris
    }

    fn answer(&self, line: &str) -> Answer {
        self.requests.lock().push(line.to_owned());
        if line.contains("/v2/burn/USDC/fees/5/6") {
            return ("200 OK", "", self.fees.lock().clone());
        }
        let unseen = || ("404 Not Found", "", r#"{"error":"Message not found"}"#.to_owned());
        self.answers.lock().pop_front().unwrap_or_else(unseen)
    }

    pub fn respond(&self, status: &'static str, headers: &'static str, body: impl Into<String>) {
        self.answers.lock().push_back((status, headers, body.into()));
    }

    /// A message in this state.
    pub fn lists(&self, state: &str, message: &BurnMessage) {
        let bytes = message.encode();
        let attestation = match state {
            "complete" => format!("0x{}", hex::encode(signed_by("attester", &bytes))),
            _ => "PENDING".to_owned(),
        };
        let listed = json!({"status": state, "message": format!("0x{}", hex::encode(&bytes)), "attestation": attestation,
            "eventNonce": format!("0x{}", hex::encode(message.nonce)), "cctpVersion": 2});
        self.respond("200 OK", "", json!({"messages": [listed]}).to_string());
    }
}

/// All of it.
pub struct BridgeHarness {
    pub base: Harness,
    pub chain: Arc<ScriptedSolana>,
    pub solana: Arc<SolanaSettlement>,
    workers: Option<Workers>,
    pub iris: FakeIris,
    pub bridge: Arc<CctpBridge>,
    endpoints: usize,
    settings: CctpSettings,
}

impl BridgeHarness {
    pub async fn open(endpoints: usize, change: impl FnOnce(&mut CctpSettings)) -> Option<Self> {
        let w = Harness::start(0).await?;
        deploy_transmitter(&w).await;
        w.read().await;
        let mut settings = CctpSettings {
            deployment: MAINNET,
            min_finality_threshold: THRESHOLD_FAST,
            max_fee: FeeRate::parse_basis_points("2").unwrap(),
        };
        change(&mut settings);
        let (chain, iris) = (Arc::new(ScriptedSolana::new()), FakeIris::start().await);
        let (solana, workers) = solana(&w, &chain, endpoints).await;
        let bridge = bridge(&w, &solana, &iris, settings);
        Some(Self {
            base: w,
            chain,
            solana,
            workers: Some(workers),
            iris,
            bridge,
            endpoints,
            settings,
        })
    }

    /// The Solana port ends where it is, and another is opened on its rows.
    pub async fn reopen(&mut self) {
        self.workers.take().unwrap().stop().await;
        let (solana, workers) = solana(&self.base, &self.chain, self.endpoints).await;
        self.bridge = bridge(&self.base, &solana, &self.iris, self.settings);
        (self.solana, self.workers) = (solana, Some(workers));
    }

    pub fn bridge_transfer(&self) -> BridgeTransfer {
        BridgeTransfer {
            key: 1,
            to: key("recipient").address().into_array(),
            delivered_amount: Usdc::from_atomic(ARRIVES),
        }
    }

    pub async fn signed(&self) -> SignedBurn {
        self.bridge.sign_burn(&self.bridge_transfer()).await.unwrap()
    }

    /// Sent again until it is final, while the chain goes on.
    pub async fn burned(&self, burn: &SignedBurn) -> String {
        until("the burn is final", async || {
            self.chain.advance(1);
            let patience = Duration::from_millis(200);
            match tokio::time::timeout(patience, self.bridge.burn(burn)).await {
                Ok(Ok(SubmitResult::Settled { transaction, finality })) => {
                    assert_eq!(finality, Finality::Final);
                    Some(transaction)
                }
                Ok(Ok(other)) => panic!("{other:?}"),
                Ok(Err(error)) => {
                    assert_eq!(error.kind, ErrorKind::Unknown, "{error}");
                    None
                }
                Err(_) => None,
            }
        })
        .await
    }

    /// What Iris makes of a burn.
    pub fn message(&self, burn: &SignedBurn, fee: u64) -> BurnMessage {
        BurnMessage {
            nonce: [0x5a; 32],
            finality_threshold_executed: THRESHOLD_FAST,
            fee_executed: fee,
            ..BurnMessage::emitted_by(&sent(burn).order, &MAINNET)
        }
    }

    pub async fn minted(&self, attested: &AttestedMessage) -> MintResult {
        let mint = self.bridge.sign_mint(attested).await.unwrap();
        let bridge = self.bridge.clone();
        let minting = tokio::spawn(async move { bridge.mint(&mint).await.unwrap() });
        until("a mint is answered", async || {
            self.base.anvil.mine(1).await;
            minting.is_finished().then_some(())
        })
        .await;
        minting.await.unwrap()
    }
}

async fn solana(w: &Harness, chain: &Arc<ScriptedSolana>, count: usize) -> (Arc<SolanaSettlement>, Workers) {
    let mut settings = SolanaSettings::new(USDC_MAINNET, Keypair::from_seed(&[3; 32]));
    settings.fee_payers = vec![Keypair::from_seed(&[1; 32])];
    settings.endpoints = endpoints(count);
    settings.pace = QUICK;
    let around = SolanaDeps {
        store: w.store.clone(),
        clock: Arc::new(SystemClock),
        transport: chain.clone(),
        timer: Arc::new(rpc::SystemClock::default()),
        gate: Gate::opened(),
    };
    let port = SolanaSettlement::open(settings, around).await.unwrap();
    let workers = Workers::start(port.clone(), None).await.unwrap();
    until("the port has read the chain", async || {
        let status = port.status();
        let read = status.covered_slot > 0 && status.slot > 0;
        (read && status.fee_payers.iter().all(|payer| payer.lamports.is_some())).then_some(())
    })
    .await;
    (port, workers)
}

fn bridge(w: &Harness, solana: &Arc<SolanaSettlement>, iris: &FakeIris, settings: CctpSettings) -> Arc<CctpBridge> {
    let iris = Iris::new(client(), &iris.url, Duration::from_secs(5)).unwrap();
    let ports = (solana.clone(), w.port().clone());
    let timer = Arc::new(rpc::SystemClock::default());
    Arc::new(CctpBridge::new(settings, ports, iris, Arc::new(SystemEntropy), timer))
}

pub fn sent(burn: &SignedBurn) -> SentBurn {
    SentBurn::from_message(&Transaction::parse(&burn.bytes).unwrap().message).unwrap()
}
