//! Agents that keep buying, resend earlier payments and record every response.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use purser_actors::id::Network;
use serde_json::json;

use super::agent::{Agent, chain_key};
use super::host::Service;
use super::http::{Response, ServiceClient, client, send};

/// Concurrent agents; more than the 64 calls that must be in flight at a kill.
pub(crate) const AGENTS: usize = 96;

/// Ordinary cards, one that the issuer declines, and two with issuer faults. Payments have faults of their own: a lost
/// response, a transfer that settles three seconds after its decline, a front-runner.
const AMOUNTS: [&str; 8] = ["5", "25", "6.66", "8.88", "9.99", "13.04", "13.05", "13.07"];

/// Chain faults of an agent's payments within one run of the service.
const FAULTS: [&str; 6] = [
    "unreachable",
    "lose_response",
    "decline",
    "fail_then_land",
    "slow",
    "front_run",
];

/// Agents from here on have a fault. Those with `fail_then_land` never resend a payment, so that the outcome comes from
/// the chain alone.
const FIRST_FAULTY: usize = 48;

/// A small generator, so that a printed seed repeats a run.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        Self(seed ^ stream.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % n as u64).unwrap()
    }
}

/// The final outcome that a response reported for a payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Card(String),
    Credit,
}

/// A payment that was sent at least once.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) agent: usize,
    pub(crate) path: String,
    pub(crate) payment: String,
    /// With the transaction's id.
    pub(crate) end: Option<(End, String)>,
    has_token: bool,
}

/// Everything that was sent and acknowledged, keyed by the payment's identity on the chain.
#[derive(Default)]
pub(crate) struct TrafficLog {
    pub(crate) sent: BTreeMap<String, Sent>,
    order: Vec<String>,
    /// Each agent's token from a purchase, with the card.
    pub(crate) tokens: BTreeMap<usize, (String, String)>,
    /// Responses that contradict earlier ones or are never valid.
    pub(crate) problems: Vec<String>,
    pub(crate) responses_by_status: BTreeMap<u16, usize>,
}

impl TrafficLog {
    fn record_sent(&mut self, agent: usize, path: String, payment: String) -> String {
        let key = chain_key(&payment);
        let sent = Sent {
            agent,
            path,
            payment,
            end: None,
            has_token: false,
        };
        self.sent.insert(key.clone(), sent);
        self.order.push(key.clone());
        key
    }

    /// Compares a response with all earlier responses for this payment. `known_when_asked`: whether the outcome had
    /// been reported before this request was sent. Otherwise an open answer may have been produced before the outcome
    /// and read after it.
    pub(crate) fn check_response(&mut self, key: &str, answer: &Response, known_when_asked: bool) {
        *self.responses_by_status.entry(answer.status).or_default() += 1;
        let sent = self.sent.get_mut(key).unwrap();
        let end = match (answer.status, answer.str("card_id"), answer.str("status")) {
            (200, Some(card), _) => Some(End::Card(card.to_owned())),
            (200, None, Some("credited")) => Some(End::Credit),
            _ => None,
        };
        let reported = end.map(|end| (end, answer.receipt()["transaction"].as_str().unwrap().to_owned()));
        let refused = answer.status == 402 && answer.body["success"] == false;
        let busy = answer.status == 503 && answer.code() == "overloaded";
        let open = refused || busy || answer.status == 202 || answer.code() == "settlement_unavailable";
        let contradicts = match (&sent.end, &reported) {
            (Some(before), Some(now)) => before != now,
            (Some(_), None) if known_when_asked => !busy,
            (_, None) => !open,
            (None, Some(_)) => false,
        };
        if contradicts {
            let before = &sent.end;
            self.problems.push(format!(
                "{key}: after {before:?} came {} {}",
                answer.status, answer.text
            ));
        }
        if let Some(token) = answer.body.pointer("/auth/id_token") {
            if sent.has_token {
                self.problems.push(format!("{key}: credentials twice"));
            }
            sent.has_token = true;
            let token = token.as_str().unwrap().to_owned();
            self.tokens.insert(sent.agent, (token, answer.card().to_owned()));
        }
        sent.end = reported.or(sent.end.take());
    }
}

/// The agents, their records, and their number of calls in flight.
pub(crate) struct AgentPool {
    pub(crate) agents: Vec<Agent>,
    pub(crate) log: Mutex<TrafficLog>,
    seed: u64,
    in_flight: AtomicUsize,
    /// Set just before a kill. From then on a broken connection is expected.
    kill_expected: AtomicBool,
}

impl AgentPool {
    pub(crate) fn new(seed: u64) -> Arc<Self> {
        let network = |n: usize| {
            if n.is_multiple_of(2) {
                Network::Base
            } else {
                Network::Solana
            }
        };
        Arc::new(Self {
            // The first two have subscribers and are shared by eight buyers each.
            agents: (0..AGENTS).map(|n| Agent::seeded(network(n), seed, n)).collect(),
            log: Mutex::default(),
            seed,
            in_flight: AtomicUsize::new(0),
            kill_expected: AtomicBool::new(false),
        })
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::SeqCst)
    }

    pub(crate) fn expect_kill(&self) {
        self.kill_expected.store(true, Ordering::SeqCst);
    }

    fn fault_of(agent: usize) -> Option<&'static str> {
        let faulty = agent.checked_sub(FIRST_FAULTY)?;
        FAULTS.get(faulty / 2 % (FAULTS.len() + 2)).copied()
    }

    /// Whether the agent never resends its payments.
    pub(crate) fn is_patient(agent: usize) -> bool {
        Self::fault_of(agent) == Some("fail_then_land")
    }

    /// Sets the chain faults and runs all agents until the connections break.
    pub(crate) async fn run(self: &Arc<Self>, service: &Service, life: u64) -> Vec<tokio::task::JoinHandle<()>> {
        self.kill_expected.store(false, Ordering::SeqCst);
        let site = ServiceClient::of(service);
        for agent in FIRST_FAULTY..AGENTS {
            let Some(fault) = Self::fault_of(agent) else { continue };
            let mut rule = json!({"fault": fault, "wallet": self.agents[agent].address(), "times": 0});
            match fault {
                "fail_then_land" => rule["delay_ms"] = json!(60),
                "slow" => rule["delay_ms"] = json!(150),
                _ => {}
            }
            site.chain_fault(rule).await;
        }
        let mut challenges = Vec::new();
        for amount in AMOUNTS {
            let path = format!("/get-card?amount={amount}");
            let challenge = Agent::challenge(&site, &path).await;
            challenges.push((path, challenge));
        }
        let challenges = Arc::new(challenges);
        let client = client();
        let tasks = (0..AGENTS).map(|n| {
            let (crowd, challenges, client, url) = (
                Arc::clone(self),
                Arc::clone(&challenges),
                client.clone(),
                service.url.clone(),
            );
            let agent = if n < 16 { n % 2 } else { n };
            let dice = Dice::new(self.seed, life * 1000 + n as u64);
            tokio::spawn(async move {
                let buyer = Buyer {
                    crowd,
                    agent,
                    client,
                    url,
                    dice,
                };
                buyer.buy(&challenges).await;
            })
        });
        tasks.collect()
    }
}

struct Buyer {
    crowd: Arc<AgentPool>,
    agent: usize,
    client: reqwest::Client,
    url: String,
    dice: Dice,
}

impl Buyer {
    async fn buy(mut self, challenges: &[(String, purser::wallet::PaymentRequired)]) {
        loop {
            let known = self.earlier_payment();
            let key = known.unwrap_or_else(|| {
                let (path, required) = &challenges[self.dice.below(challenges.len())];
                let payment = self.crowd.agents[self.agent].sign(required);
                let mut memory = self.crowd.log.lock().unwrap();
                memory.record_sent(self.agent, path.clone(), payment)
            });
            let (path, payment, known_when_asked) = {
                let memory = self.crowd.log.lock().unwrap();
                let sent = &memory.sent[&key];
                (sent.path.clone(), sent.payment.clone(), sent.end.is_some())
            };
            let request = self.client.get(format!("{}{path}", self.url));
            self.crowd.in_flight.fetch_add(1, Ordering::SeqCst);
            let answer = send(request.header("payment-signature", payment)).await;
            self.crowd.in_flight.fetch_sub(1, Ordering::SeqCst);
            let dying = self.crowd.kill_expected.load(Ordering::SeqCst);
            let mut memory = self.crowd.log.lock().unwrap();
            match answer {
                Ok(answer) => memory.check_response(&key, &answer, known_when_asked),
                Err(_) if dying => return,
                Err(error) => return memory.problems.push(format!("{key}: broken without a kill: {error}")),
            }
        }
    }

    /// Two times in five, resends an earlier payment, preferring recent ones.
    fn earlier_payment(&mut self) -> Option<String> {
        if AgentPool::is_patient(self.agent) || self.dice.below(5) < 3 {
            return None;
        }
        let memory = self.crowd.log.lock().unwrap();
        let reach = if self.dice.below(2) == 0 {
            100
        } else {
            memory.order.len()
        };
        let back = self.dice.below(reach.clamp(1, memory.order.len().max(1)));
        let key = memory.order.get(memory.order.len().checked_sub(back + 1)?)?;
        (!AgentPool::is_patient(memory.sent[key].agent)).then(|| key.clone())
    }
}
