//! What a facilitator does on Solana: it co-signs with its key, and sends.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use purser::payment::SolanaChain;
use purser_actors::port::BoxFuture;
use purser_chains::solana::address::base58;
use purser_chains::solana::keypair::Keypair;
use purser_chains::solana::node::Node;
use purser_chains::solana::status::Commitment;
use purser_chains::solana::transaction::co_sign;
use serde_json::{Value, json};

use crate::facilitator::{Backend, Failure};
use crate::solana::harness::Harness;

pub struct SolanaBackend {
    node: Node,
    key: Keypair,
}

impl SolanaBackend {
    /// Its key is the harness's fee payer.
    pub fn of(harness: &Harness) -> Arc<Self> {
        Arc::new(Self {
            node: harness.node(),
            key: harness.fee_payer(),
        })
    }

    async fn execute(&self, request: &Value) -> Result<String, Failure> {
        let required = &request["paymentRequirements"];
        assert_eq!(request["paymentPayload"]["accepted"], *required);
        assert_eq!(required["extra"], self.extra());
        let wire = request["paymentPayload"]["payload"]["transaction"].as_str().unwrap();
        let signed = co_sign(&STANDARD.decode(wire).unwrap(), &self.key).unwrap();
        self.node.send_each(&signed.bytes).await;
        loop {
            tokio::time::sleep(Duration::from_millis(50)).await;
            let found = self.node.statuses_on(0, &[signed.id], false).await;
            let Some(status) = found.ok().and_then(|(_, mut found)| found.pop().flatten()) else {
                continue;
            };
            if status.level < Commitment::Confirmed {
                continue;
            }
            let (transaction, reason) = (base58(&signed.id), "invalid_exact_svm_transaction_failed");
            return match status.error.is_none() {
                true => Ok(transaction),
                false => Err(Failure { reason, transaction }),
            };
        }
    }
}

impl Backend for SolanaBackend {
    fn caip2(&self) -> &'static str {
        SolanaChain::MAINNET.caip2
    }

    fn extra(&self) -> Value {
        json!({"feePayer": base58(&self.key.address())})
    }

    fn verify<'a>(&'a self, _: &'a Value) -> BoxFuture<'a, Result<(), &'static str>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn settle<'a>(&'a self, request: &'a Value) -> BoxFuture<'a, Result<String, Failure>> {
        Box::pin(self.execute(request))
    }
}
