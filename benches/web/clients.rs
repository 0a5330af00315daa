//! The clients' side: wallets, their tokens, their signed payments, and a WebSocket subscriber for each.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use purser::system::{SystemClock, SystemEntropy};
use purser::wallet::payment::SigningContext;
use purser::wallet::{PaymentRequired, TestWallet};
use purser_actors::id::Network;
use purser_actors::port::Clock;
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;

use super::driver::{Connection, Response};
use crate::Fault;

/// Price of what is bought.
pub(crate) const CENTS: u64 = 500;
pub(crate) const TARGET: &str = "/get-card?amount=5";
/// A measurement that waits longer has failed.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Numbers of events that the subscribers have received.
#[derive(Clone, Copy)]
pub(crate) struct DeliveredCounts {
    /// Events of type `payment.settled`.
    pub(crate) settled: u64,
    /// Events of type `card.ready`.
    pub(crate) ready: u64,
}

#[derive(Default)]
struct Counters {
    settled: AtomicU64,
    ready: AtomicU64,
}

struct BenchClient {
    wallet: TestWallet,
    token: String,
}

/// A running service seen by its customers.
pub(crate) struct ClientPool {
    address: SocketAddr,
    customers: Vec<BenchClient>,
    counters: Arc<Counters>,
    /// The answer to a first paid call.
    pub(crate) bought: Response,
    /// The answer to a call without payment.
    pub(crate) challenge: Response,
    /// Of one paid call, as sent.
    pub(crate) request_bytes: usize,
}

impl ClientPool {
    /// Makes wallets; each buys once, which gives it an account and a token, and then listens to its events.
    pub(crate) async fn open(address: SocketAddr, wallets: usize) -> Result<Self, Fault> {
        let mut connection = Connection::open(address).await?;
        let challenge = connection.call(&request(address, TARGET, "")).await?;
        let counters = Arc::<Counters>::default();
        let mut customers = Vec::new();
        let (mut bought, mut request_bytes) = (None, 0);
        for _ in 0..wallets {
            let wallet = TestWallet::create(&SystemEntropy)?;
            let signed = sign(address, &wallet, &required(&challenge)?)?;
            request_bytes = signed.len();
            let answer = connection.call(&signed).await?;
            let body: serde_json::Value = serde_json::from_slice(&answer.body)?;
            let token = body["auth"]["id_token"].as_str();
            let token = token.ok_or_else(|| format!("no token in {body}"))?.to_owned();
            listen(address, &token, counters.clone()).await?;
            customers.push(BenchClient { wallet, token });
            bought = Some(answer);
        }
        Ok(Self {
            address,
            customers,
            counters,
            bought: bought.ok_or("no wallets")?,
            challenge,
            request_bytes,
        })
    }

    /// The customers' tokens.
    pub(crate) fn tokens(&self) -> impl Iterator<Item = &str> {
        self.customers.iter().map(|customer| customer.token.as_str())
    }

    /// New payments, dealt out over the wallets, each a whole request.
    pub(crate) async fn sign(&self, count: usize) -> Result<Vec<Vec<u8>>, Fault> {
        let mut connection = Connection::open(self.address).await?;
        let challenge = connection.call(&self.unpaid_request()).await?;
        let required = required(&challenge)?;
        self.customers
            .iter()
            .cycle()
            .take(count)
            .map(|customer| sign(self.address, &customer.wallet, &required))
            .collect()
    }

    /// A call without payment.
    pub(crate) fn unpaid_request(&self) -> Vec<u8> {
        request(self.address, TARGET, "")
    }

    /// Reads of balances, one for each connection.
    pub(crate) fn balance_requests(&self, connections: usize) -> Vec<Vec<u8>> {
        let customers = self.customers.iter().cycle().take(connections);
        customers.map(|customer| self.balance_request(customer)).collect()
    }

    fn balance_request(&self, customer: &BenchClient) -> Vec<u8> {
        let header = format!("Authorization: Bearer {}\r\n", customer.token);
        request(self.address, "/get-account-balance", &header)
    }

    /// One account's balance.
    pub(crate) async fn read_balance(&self) -> Result<Response, Fault> {
        let customer = self.customers.first().ok_or("no wallets")?;
        let mut connection = Connection::open(self.address).await?;
        connection.call(&self.balance_request(customer)).await
    }

    /// Numbers of events received so far.
    pub(crate) fn delivered(&self) -> DeliveredCounts {
        DeliveredCounts {
            settled: self.counters.settled.load(Ordering::Relaxed),
            ready: self.counters.ready.load(Ordering::Relaxed),
        }
    }

    /// Waits until the subscribers have received enough events.
    pub(crate) async fn until(&self, enough: impl Fn(DeliveredCounts) -> bool) -> Result<(), Fault> {
        let begun = Instant::now();
        while !enough(self.delivered()) {
            if begun.elapsed() > TIMEOUT {
                return Err("the subscribers have not received everything".into());
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(())
    }
}

/// A request without body.
pub(crate) fn request(address: SocketAddr, target: &str, headers: &str) -> Vec<u8> {
    format!("GET {target} HTTP/1.1\r\nHost: {address}\r\n{headers}\r\n").into_bytes()
}

/// The challenge that an answer carries.
pub(crate) fn required(challenge: &Response) -> Result<PaymentRequired, Fault> {
    let header = challenge.header("payment-required").ok_or("no challenge")?;
    Ok(PaymentRequired::from_header(header.as_bytes())?)
}

fn sign(address: SocketAddr, wallet: &TestWallet, required: &PaymentRequired) -> Result<Vec<u8>, Fault> {
    sign_on(address, wallet, required, Network::Base)
}

/// A paid call, as sent.
pub(crate) fn sign_on(
    address: SocketAddr,
    wallet: &TestWallet,
    required: &PaymentRequired,
    network: Network,
) -> Result<Vec<u8>, Fault> {
    sign_for(address, TARGET, wallet, (required, network))
}

/// The same of another page.
pub(crate) fn sign_for(
    address: SocketAddr,
    target: &str,
    wallet: &TestWallet,
    (required, network): (&PaymentRequired, Network),
) -> Result<Vec<u8>, Fault> {
    let offer = required.choose(Some(network))?;
    let circumstances = SigningContext {
        now: SystemClock.now(),
        entropy: &SystemEntropy,
        blockhash: None,
    };
    let payment = wallet.pay(required, &offer, &circumstances)?;
    Ok(request(address, target, &format!("PAYMENT-SIGNATURE: {payment}\r\n")))
}

/// A token of a wallet's account.
pub(crate) async fn sign_in(
    connection: &mut Connection,
    address: SocketAddr,
    wallet: &TestWallet,
) -> Result<String, Fault> {
    const ROUTE: &str = "/auth?network=base";
    let challenge = connection.call(&request(address, ROUTE, "")).await?;
    let proof = wallet.sign_in(&required(&challenge)?.sign_in()?, Network::Base)?;
    let proven = request(address, ROUTE, &format!("SIGN-IN-WITH-X: {proof}\r\n"));
    let answer = connection.call(&proven).await?;
    let body: serde_json::Value = serde_json::from_slice(&answer.body)?;
    let token = body["auth"]["id_token"].as_str();
    Ok(token.ok_or_else(|| format!("no token in {body}"))?.to_owned())
}

/// One purchase of each wallet, whole requests.
pub(crate) async fn first_purchases(address: SocketAddr, wallets: &[TestWallet]) -> Result<Vec<Vec<u8>>, Fault> {
    let mut connection = Connection::open(address).await?;
    let challenge = connection.call(&request(address, TARGET, "")).await?;
    let required = required(&challenge)?;
    wallets.iter().map(|wallet| sign(address, wallet, &required)).collect()
}

/// Subscribes to the events of a token's account and counts them for ever.
async fn listen(address: SocketAddr, token: &str, counters: Arc<Counters>) -> Result<(), Fault> {
    let (mut socket, _) = connect_async(format!("ws://{address}/stream")).await?;
    let first = serde_json::json!({"type": "auth", "token": token});
    for message in [first, serde_json::json!({"type": "subscribe"})] {
        socket.send(Message::text(message.to_string())).await?;
    }
    tokio::spawn(async move {
        while let Some(Ok(message)) = socket.next().await {
            let Message::Text(text) = message else { continue };
            if text.contains("\"payment.settled\"") {
                counters.settled.fetch_add(1, Ordering::Relaxed);
            } else if text.contains("\"card.ready\"") {
                counters.ready.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    Ok(())
}
