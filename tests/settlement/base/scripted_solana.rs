//! A Solana of one program: burns of the bridge take effect, everything else is nothing. Circle's programs cannot be
//! loaded into a local runtime; their side of a burn is what is scripted here, as a transport in place of nodes.

use std::collections::HashMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use purser_chains::cctp::burn::SentBurn;
use purser_chains::rpc::{BoxFuture, EndpointSettings, EndpointUrl, Response, Transport, TransportError};
use purser_chains::solana::address::{TOKEN, associated_token_account, base58, parse_base58};
use purser_chains::solana::transaction::Transaction;
use serde_json::{Value, json};

/// Blocks that a blockhash lives for.
const BLOCKHASH_VALIDITY_BLOCKS: u64 = 150;
/// Blocks on top of a final one; real chains have 31.
const FINAL_DEPTH: u64 = 2;
const HAS: u64 = 1_000_000_000;

#[derive(Default)]
struct State {
    height: u64,
    /// Height at which each blockhash was given.
    hashes: HashMap<[u8; 32], u64>,
    executed: Vec<([u8; 64], u64, Vec<u8>)>,
    sent: usize,
    drops_transactions: bool,
    would_fail: Option<Value>,
}

/// See the module. Two endpoints that always agree.
#[derive(Default)]
pub struct ScriptedSolana(Mutex<State>);

pub fn endpoints(count: usize) -> Vec<EndpointSettings> {
    let endpoint = |host: &&str| {
        let mut settings = EndpointSettings::new(EndpointUrl::parse(&format!("https://{host}.example")).unwrap());
        (settings.rate, settings.burst) = (10_000, 10_000);
        settings
    };
    ["one", "two"].iter().take(count).map(endpoint).collect()
}

impl ScriptedSolana {
    pub fn new() -> Self {
        let chain = Self::default();
        chain.0.lock().height = 1_000;
        chain
    }

    /// Advances the chain by this number of blocks.
    pub fn advance(&self, blocks: u64) {
        self.0.lock().height += blocks;
    }

    /// Transactions are taken and lost.
    pub fn drop_transactions(&self, swallows: bool) {
        self.0.lock().drops_transactions = swallows;
    }

    /// What simulations show.
    pub fn would_fail(&self, error: Option<Value>) {
        self.0.lock().would_fail = error;
    }

    /// How many times anything was sent, and how many burns took effect.
    pub fn counts(&self) -> (usize, usize) {
        let state = self.0.lock();
        (state.sent, state.executed.len())
    }
}

impl State {
    fn level(&self, slot: u64) -> &'static str {
        match self.height >= slot + FINAL_DEPTH {
            true => "finalized",
            false => "confirmed",
        }
    }

    fn send(&mut self, text: &str) -> Value {
        self.sent += 1;
        let bytes = STANDARD.decode(text).unwrap();
        let transaction = Transaction::parse(&bytes).unwrap();
        let id = *transaction.id().unwrap();
        assert!(transaction.verifies_except(None), "every signature is there");
        assert!(
            SentBurn::from_message(&transaction.message).is_some(),
            "only burns are sent"
        );
        let given = self.hashes.get(transaction.message.blockhash).copied();
        let alive = given.is_some_and(|given| self.height <= given + BLOCKHASH_VALIDITY_BLOCKS);
        let new = !self.executed.iter().any(|(landed, ..)| *landed == id);
        if alive && new && !self.drops_transactions {
            self.height += 1;
            self.executed.push((id, self.height, bytes));
        }
        json!(base58(&id))
    }

    fn transaction(&self, id: &Value) -> Value {
        let id: [u8; 64] = parse_base58(id.as_str().unwrap()).unwrap();
        let Some((_, slot, bytes)) = self.executed.iter().find(|(landed, ..)| *landed == id) else {
            return Value::Null;
        };
        let message = Transaction::parse(bytes).unwrap().message;
        let order = SentBurn::from_message(&message).unwrap().order;
        let index = |key: &[u8; 32]| message.keys.iter().position(|other| other == key).unwrap();
        let account = associated_token_account(&order.owner, &order.mint).unwrap();
        let call = |call: &purser_chains::solana::message::CompiledInstruction<'_>| json!({"programIdIndex": call.program, "accounts": call.accounts, "data": bs58::encode(call.data).into_string()});
        let balance = |amount: u64| {
            json!([{"accountIndex": index(&account), "mint": base58(&order.mint), "owner": base58(&order.owner),
                "uiTokenAmount": {"amount": amount.to_string()}}])
        };
        // SPL Token's `Burn`.
        let data = [&[8][..], &order.amount.to_le_bytes()].concat();
        let burn = json!({"programIdIndex": index(&TOKEN), "data": bs58::encode(&data).into_string(),
            "accounts": [index(&account), index(&order.mint), index(&order.owner)]});
        let at = message.instructions.len() - 1;
        json!({
            "slot": slot, "blockTime": 1_900_000_000 + slot, "version": 0,
            "meta": {"err": null, "fee": 17_500, "innerInstructions": [{"index": at, "instructions": [burn]}],
                "preTokenBalances": balance(HAS), "postTokenBalances": balance(HAS - order.amount)},
            "transaction": {"signatures": [base58(&id)], "message": {
                "header": {"numRequiredSignatures": message.header.required_signatures,
                    "numReadonlySignedAccounts": message.header.readonly_signed,
                    "numReadonlyUnsignedAccounts": message.header.readonly_unsigned},
                "accountKeys": message.keys.iter().map(|key| base58(key)).collect::<Vec<_>>(),
                "recentBlockhash": base58(message.blockhash),
                "instructions": message.instructions.iter().map(call).collect::<Vec<_>>(),
                "addressTableLookups": [],
            }},
        })
    }

    fn signatures(&self, options: &Value) -> Value {
        let named = |name: &str| options[name].as_str().map(|id| parse_base58::<64>(id).unwrap());
        let (before, until) = (named("before"), named("until"));
        let newest_first = self.executed.iter().rev();
        let page = newest_first
            .skip_while(|(id, ..)| before.is_some_and(|before| before != *id))
            .skip(usize::from(before.is_some()))
            .take_while(|(id, ..)| until != Some(*id));
        let entry = |(id, slot, _): &([u8; 64], u64, Vec<u8>)| json!({"signature": base58(id), "slot": slot, "err": null, "confirmationStatus": self.level(*slot)});
        page.map(entry).collect()
    }

    fn answer(&mut self, method: &str, params: &Value) -> Value {
        let height = self.height;
        let context = json!({"slot": height});
        match method {
            "getGenesisHash" => json!(base58(&[1; 32])),
            "getLatestBlockhash" => {
                let mut hash = [7; 32];
                hash[..8].copy_from_slice(&height.to_be_bytes());
                self.hashes.insert(hash, height);
                let value =
                    json!({"blockhash": base58(&hash), "lastValidBlockHeight": height + BLOCKHASH_VALIDITY_BLOCKS});
                json!({"context": context, "value": value})
            }
            "getEpochInfo" => {
                let at = match params[0]["commitment"].as_str() {
                    Some("finalized") => height - FINAL_DEPTH,
                    _ => height,
                };
                json!({"absoluteSlot": at, "blockHeight": at})
            }
            "getFirstAvailableBlock" => json!(0),
            "getMinimumBalanceForRentExemption" => json!((128 + params[0].as_u64().unwrap()) * 6_960),
            "getMultipleAccounts" => {
                let account =
                    json!({"lamports": HAS, "owner": base58(&[0; 32]), "executable": false, "data": ["", "base64"]});
                let count = params[0].as_array().unwrap().len();
                json!({"context": context, "value": vec![account; count]})
            }
            "simulateTransaction" => {
                json!({"context": context, "value": {"err": self.would_fail, "logs": [], "unitsConsumed": 1}})
            }
            "sendTransaction" => self.send(params[0].as_str().unwrap()),
            "getSignatureStatuses" => {
                let status = |id: &Value| {
                    let id: [u8; 64] = parse_base58(id.as_str().unwrap()).unwrap();
                    let found = self.executed.iter().find(|(landed, ..)| *landed == id);
                    found
                        .map(|(_, slot, _)| json!({"slot": slot, "err": null, "confirmationStatus": self.level(*slot)}))
                };
                let value: Vec<_> = params[0].as_array().unwrap().iter().map(status).collect();
                json!({"context": context, "value": value})
            }
            "getSignaturesForAddress" => self.signatures(&params[1]),
            "getTransaction" => self.transaction(&params[0]),
            other => panic!("{other} is not scripted"),
        }
    }
}

impl Transport for ScriptedSolana {
    fn post<'a>(
        &'a self,
        _: &'a EndpointUrl,
        body: Vec<u8>,
        _: Duration,
        _: usize,
    ) -> BoxFuture<'a, Result<Response, TransportError>> {
        let request: Value = serde_json::from_slice(&body).unwrap();
        let mut state = self.0.lock();
        let mut answer = |one: &Value| {
            let result = state.answer(one["method"].as_str().unwrap(), &one["params"]);
            json!({"jsonrpc": "2.0", "id": one["id"], "result": result})
        };
        let document = match &request {
            Value::Array(calls) => calls.iter().map(&mut answer).collect(),
            one => answer(one),
        };
        Box::pin(std::future::ready(Ok(Response {
            status: 200,
            retry_after: None,
            body: document.to_string().into_bytes(),
        })))
    }
}
