//! What a facilitator does on Base with a gas key of its own, as `@x402/core` and `@x402/evm` do, for one token.

use std::sync::Arc;
use std::time::Duration;

use purser_actors::port::BoxFuture;
use purser_chains::evm::node::{BlockTag, CallError, CallRequest, Node};
use purser_chains::evm::tx::Transaction;
use purser_chains::evm::usdc::{self, Token};
use purser_chains::evm::{Address, B256, Bytes, U256};
use serde_json::{Value, json};

use crate::base::anvil::pool;
use crate::base::harness::{CHAIN_ID, Harness, POLICY, key};
use crate::facilitator::{Backend, Failure};

const NETWORK: &str = "eip155:8453";
const INVALID: &str = "invalid_payload";
/// Whose gas is spent.
const GAS_KEY: &str = "stranger";

pub struct BaseBackend {
    node: Node,
    token: Token,
    /// The next nonce of its gas key; locked while it sends.
    nonce: tokio::sync::Mutex<u64>,
}

fn bytes<const N: usize>(value: &Value) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    hex::decode_to_slice(value.as_str()?.strip_prefix("0x")?, &mut bytes).ok()?;
    Some(bytes)
}

fn number(value: &Value) -> Option<U256> {
    value.as_str()?.parse().ok()
}

/// The call that moves the money, if the request is of the protocol.
fn calldata(request: &Value, token: &Token) -> Option<Bytes> {
    let (payment, required) = (&request["paymentPayload"], &request["paymentRequirements"]);
    let signed = &payment["payload"]["authorization"];
    let authorization = usdc::Authorization {
        from: bytes(&signed["from"])?.into(),
        to: bytes(&signed["to"])?.into(),
        value: number(&signed["value"])?,
        valid_after: number(&signed["validAfter"])?,
        valid_before: number(&signed["validBefore"])?,
        nonce: bytes(&signed["nonce"])?.into(),
    };
    let good = request["x402Version"] == 2
        && payment["x402Version"] == 2
        && payment["accepted"] == *required
        && required["scheme"] == "exact"
        && required["network"] == NETWORK
        && bytes::<20>(&required["asset"]).map(Address::from) == Some(token.address())
        && bytes::<20>(&required["payTo"]).map(Address::from) == Some(authorization.to)
        && number(&required["amount"]) == Some(authorization.value)
        && required["extra"] == json!({"name": "USD Coin", "version": "2"});
    let signature = hex::decode(payment["payload"]["signature"].as_str()?.strip_prefix("0x")?).ok()?;
    let data = usdc::transfer_bytes_call(&authorization, &signature).ok()?;
    good.then(|| data.into())
}

impl BaseBackend {
    pub fn of(world: &Harness) -> Arc<Self> {
        Arc::new(Self {
            node: Node::new(Arc::new(pool(&[&world.anvil.url]))),
            token: Token::new(CHAIN_ID, world.token.address(), "USD Coin", "2"),
            nonce: tokio::sync::Mutex::new(0),
        })
    }

    /// The reason why the token refuses it now.
    async fn simulate(&self, data: &Bytes) -> Result<(), &'static str> {
        let request = CallRequest {
            from: key(GAS_KEY).address(),
            to: self.token.address(),
            data: data.clone(),
            gas: 1_000_000,
        };
        match self.node.call(&request, BlockTag::Latest).await {
            Ok(_) => Ok(()),
            Err(CallError::Reverted { reason, .. }) if reason.contains("exceeds balance") => {
                Err("invalid_exact_evm_insufficient_balance")
            }
            Err(CallError::Reverted { reason, .. }) if reason.contains("used or canceled") => {
                Err("invalid_exact_evm_nonce_already_used")
            }
            Err(CallError::Reverted { .. }) => Err("invalid_exact_evm_transaction_simulation_failed"),
            Err(CallError::Node(_)) => Err("unexpected_verify_error"),
        }
    }

    async fn send(&self, data: Bytes) -> B256 {
        let mut nonce = self.nonce.lock().await;
        let transaction = Transaction {
            chain_id: CHAIN_ID,
            nonce: *nonce,
            fee: self.node.fees(POLICY).await.unwrap().fee,
            gas_limit: 200_000,
            to: self.token.address(),
            value: U256::ZERO,
            data,
        };
        let signed = transaction.sign(&key(GAS_KEY)).unwrap();
        let answers = self.node.send_raw(&signed.bytes, signed.hash).await;
        assert!(answers.iter().all(|answer| answer.error.is_none()), "{answers:?}");
        *nonce += 1;
        signed.hash
    }

    async fn execute(&self, request: &Value) -> Result<String, Failure> {
        let data = calldata(request, &self.token).ok_or(INVALID)?;
        self.simulate(&data).await?;
        let hash = self.send(data).await;
        let transaction = format!("{hash:#x}");
        loop {
            tokio::time::sleep(Duration::from_millis(10)).await;
            let Ok(Some(receipt)) = self.node.receipt(hash).await else {
                continue;
            };
            let reason = "invalid_exact_evm_transaction_failed";
            return match receipt.success {
                true => Ok(transaction),
                false => Err(Failure { reason, transaction }),
            };
        }
    }
}

impl Backend for BaseBackend {
    fn caip2(&self) -> &'static str {
        NETWORK
    }

    fn extra(&self) -> Value {
        Value::Null
    }

    fn verify<'a>(&'a self, request: &'a Value) -> BoxFuture<'a, Result<(), &'static str>> {
        Box::pin(async move {
            let data = calldata(request, &self.token).ok_or(INVALID)?;
            self.simulate(&data).await
        })
    }

    fn settle<'a>(&'a self, request: &'a Value) -> BoxFuture<'a, Result<String, Failure>> {
        Box::pin(self.execute(request))
    }
}
