//! Solana without a fee payer of our own: a facilitator co-signs with its key and sends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use purser::payment::SolanaChain;
use purser::settlement::facilitator::{Auth, Facilitated, FacilitatorSettings, List, Presented, Waiting};
use purser::settlement::solana::{SolanaSettings, SolanaSettlement};
use purser::system::SystemClock;
use purser_actors::money::Usdc;
use purser_actors::port::{
    Authorization, ChainStanding, ErrorKind, Lookup, Preparation, Settlement as _, Submitted, Transfer,
};
use purser_chains::rpc;
use purser_chains::solana::address::base58;
use purser_chains::solana::keypair::Keypair;
use purser_chains::solana::node::Node;
use purser_chains::solana::status::Commitment;
use purser_chains::solana::transaction::co_sign;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::house::{House, until, wallet};

const NETWORK: &str = SolanaChain::MAINNET.caip2;

struct Shared {
    node: Node,
    key: Keypair,
    /// Answers 502 once it has settled.
    fails: AtomicBool,
}

struct Facilitator {
    shared: Arc<Shared>,
    url: String,
    serving: JoinHandle<()>,
}

impl Drop for Facilitator {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Facilitator {
    async fn start(house: &House) -> Self {
        let shared = Arc::new(Shared {
            node: house.node(),
            key: house.fee_payer(),
            fails: AtomicBool::new(false),
        });
        let routes = Router::new()
            .route("/supported", get(supported))
            .route("/verify", post(verify))
            .route("/settle", post(settle))
            .with_state(shared.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self { shared, url, serving }
    }
}

async fn supported(State(shared): State<Arc<Shared>>) -> Json<Value> {
    let extra = json!({"feePayer": base58(&shared.key.address())});
    let kind = json!({"x402Version": 2, "scheme": "exact", "network": NETWORK, "extra": extra});
    Json(json!({"kinds": [kind], "extensions": [], "signers": {}}))
}

async fn verify() -> Json<Value> {
    Json(json!({"isValid": true}))
}

async fn settle(State(shared): State<Arc<Shared>>, Json(request): Json<Value>) -> Response {
    let required = &request["paymentRequirements"];
    assert_eq!(request["paymentPayload"]["accepted"], *required);
    assert_eq!(required["extra"]["feePayer"], base58(&shared.key.address()));
    let wire = request["paymentPayload"]["payload"]["transaction"].as_str().unwrap();
    let signed = co_sign(&STANDARD.decode(wire).unwrap(), &shared.key).unwrap();
    shared.node.send_each(&signed.bytes).await;
    loop {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let found = shared.node.statuses_on(0, &[signed.id], false).await;
        let Some(status) = found.ok().and_then(|(_, mut found)| found.pop().flatten()) else {
            continue;
        };
        if status.level < Commitment::Confirmed {
            continue;
        }
        if shared.fails.load(Ordering::SeqCst) {
            return StatusCode::BAD_GATEWAY.into_response();
        }
        let (transaction, success) = (base58(&signed.id), status.error.is_none());
        let reason = "invalid_exact_svm_transaction_failed";
        let body = match success {
            true => json!({"success": true, "transaction": transaction, "network": NETWORK}),
            false => {
                json!({"success": false, "errorReason": reason, "transaction": transaction, "network": NETWORK})
            }
        };
        return Json(body).into_response();
    }
}

type Port = Arc<Facilitated<SolanaSettlement>>;

fn without_keys(settings: &mut SolanaSettings) {
    settings.fee_payers.clear();
    settings.by_others = true;
}

async fn port(house: &House, facilitator: &Facilitator) -> Port {
    let settings = FacilitatorSettings {
        url: reqwest::Url::parse(&facilitator.url).unwrap(),
        auth: Auth::None,
        timeout: Duration::from_secs(30),
    };
    let clocks = (Arc::new(SystemClock) as _, Arc::new(rpc::SystemClock::default()) as _);
    let chain = Presented::Solana(SolanaChain::MAINNET);
    let list = List::open(chain, vec![settings], house.store.clone(), clocks)
        .await
        .unwrap();
    assert!(list.refresh().await);
    assert_eq!(list.fee_payer(), Some(house.fee_payer().address()));
    let waiting = Waiting {
        look: Duration::from_millis(50),
        again: Duration::from_secs(2),
    };
    Arc::new(Facilitated::new(
        house.port.clone(),
        list,
        Arc::new(SystemClock),
        waiting,
    ))
}

async fn pay(port: &Port, payment: &Authorization) -> String {
    let Preparation::Ready(prepared) = port.prepare(payment).await.unwrap() else {
        panic!("declined")
    };
    match port.submit(payment, &prepared).await.unwrap() {
        Submitted::Settled { transaction, .. } => transaction,
        declined @ Submitted::Declined(_) => panic!("{declined:?}"),
    }
}

async fn until_final(port: &Port, payment: &Authorization, transaction: &str) {
    until("the transfer is final", || async {
        let standing = port.standing(payment, None, transaction).await;
        matches!(standing, Ok(ChainStanding::Final)).then_some(())
    })
    .await;
}

// Checks: a payment settles by the facilitator's fee payer, is declined before where its payer has nothing, and becomes final; what a
// facilitator has settled before it failed is found by the message.
#[tokio::test(flavor = "multi_thread")]
async fn case_87_a_payment_settles_without_a_fee_payer_of_our_own() {
    let Some(house) = House::open_with(80, without_keys).await else {
        return;
    };
    let facilitator = Facilitator::start(&house).await;
    let port = port(&house, &facilitator).await;
    let payment = house.payment(5_000_000, "one").await;
    let transaction = pay(&port, &payment).await;
    assert_eq!(pay(&port, &payment).await, transaction, "it is found, not sent again");
    until_final(&port, &payment, &transaction).await;

    facilitator.shared.fails.store(true, Ordering::SeqCst);
    let lost = house.payment(4_000_000, "two").await;
    let transaction = pay(&port, &lost).await;
    until_final(&port, &lost, &transaction).await;
    // Its payer's transactions are searched every few seconds at most.
    until("the look-up finds it", || async {
        let found = port.lookup(&lost, None).await.unwrap();
        matches!(found, Lookup::Landed { transaction: of, .. } if of == transaction).then_some(())
    })
    .await;
    assert_eq!(house.usdc(&house.treasury().address()).await, Some(9_000_000));

    let empty = house.another(9);
    house.chain.set_usdc(&empty.address(), 1, false).await;
    let fee_payer = house.fee_payer().address();
    let unpaid = house.payment_by(&empty, &fee_payer, 1_000, "three").await;
    match port.prepare(&unpaid).await.unwrap() {
        Preparation::Declined(decline) => assert_eq!(&*decline.reason, "insufficient_funds"),
        Preparation::Ready(prepared) => panic!("{prepared:?}"),
    }
    let strangers = house.payment_by(&house.client(), &[3; 32], 1_000, "four").await;
    assert_eq!(port.lookup(&strangers, None).await.unwrap(), Lookup::Pending);
}

// Checks: the treasury's own withdrawal needs no fee payer of ours either; without a token account of the receiver it is refused.
#[tokio::test(flavor = "multi_thread")]
async fn a_withdrawal_settles_without_a_fee_payer_of_our_own() {
    let Some(house) = House::open_with(81, without_keys).await else {
        return;
    };
    house.chain.set_usdc(&house.treasury().address(), 1_000, false).await;
    let facilitator = Facilitator::start(&house).await;
    let port = port(&house, &facilitator).await;
    let transfer = |to: &Keypair| Transfer {
        key: 7,
        to: wallet(to),
        amount: Usdc::from_atomic(300),
    };
    let without_account = Keypair::from_seed(&[202; 32]);
    assert!(!port.can_receive(&wallet(&without_account)).await.unwrap());
    let refused = port.sign(&transfer(&without_account)).await.unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Permanent);

    let receiver = house.another(10);
    house.chain.set_usdc(&receiver.address(), 0, false).await;
    assert!(port.can_receive(&wallet(&receiver)).await.unwrap());
    let signed = port.sign(&transfer(&receiver)).await.unwrap();
    let transaction = pay(&port, &signed).await;
    until_final(&port, &signed, &transaction).await;
    assert_eq!(house.usdc(&receiver.address()).await, Some(300));
    assert_eq!(house.usdc(&house.treasury().address()).await, Some(700));
}
