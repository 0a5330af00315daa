//! Which methods the ports call: each call of a batch for itself, as providers count them.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;
use purser_chains::rpc::{BoxFuture, EndpointUrl, HttpTransport, Response, Transport, TransportError};
use serde_json::Value;

use super::anvil::client;

/// Calls by their method.
pub(super) type Methods = BTreeMap<String, u64>;

/// HTTP that counts what it sends.
pub(super) struct CountedTransport {
    http: HttpTransport,
    methods: Mutex<Methods>,
}

impl CountedTransport {
    pub(super) fn new() -> Self {
        Self {
            http: HttpTransport::new(client()),
            methods: Mutex::default(),
        }
    }

    /// Since the last time; from now on it counts from zero.
    pub(super) fn take_counts(&self) -> Methods {
        std::mem::take(&mut *self.methods.lock())
    }
}

/// An `eth_call` without a receiver runs the program that reads the payers; all others simulate.
fn name(request: &Value) -> String {
    let method = request["method"].as_str().unwrap_or_default();
    match method == "eth_call" && request["params"][0].get("to").is_none() {
        true => "eth_call of payers".to_owned(),
        false => method.to_owned(),
    }
}

impl Transport for CountedTransport {
    fn post<'a>(
        &'a self,
        url: &'a EndpointUrl,
        body: Vec<u8>,
        timeout: Duration,
        max_response_bytes: usize,
    ) -> BoxFuture<'a, Result<Response, TransportError>> {
        if let Ok(sent) = serde_json::from_slice::<Value>(&body) {
            let mut methods = self.methods.lock();
            let requests = sent.as_array().map_or(std::slice::from_ref(&sent), Vec::as_slice);
            for request in requests {
                *methods.entry(name(request)).or_default() += 1;
            }
        }
        self.http.post(url, body, timeout, max_response_bytes)
    }
}

/// Calls per payment within this number of seconds, less those made at rest; the most frequent methods first.
pub(super) fn print(methods: &Methods, at_rest: &Methods, (seconds, rest_seconds): (f64, f64), payments: usize) {
    let own = |(method, calls): (&String, &u64)| {
        let rest = at_rest.get(method).copied().unwrap_or_default() as f64 * seconds / rest_seconds;
        (method.clone(), (*calls as f64 - rest) / payments as f64)
    };
    let mut own: Vec<(String, f64)> = methods.iter().map(own).filter(|(_, calls)| *calls >= 0.001).collect();
    own.sort_by(|one, other| other.1.total_cmp(&one.1));
    for (method, calls) in own {
        println!("  {:>14}{method:>30}{calls:>10.3}", "");
    }
}
