//! Checks whether payments would settle now, before anything is sent: a payment that must fail then costs no gas.

use std::borrow::Cow;
use std::sync::Arc;

use futures_util::future::join_all;
use purser_actors::port::Decline;
use purser_chains::cctp::mint::NONCE_USED;
use purser_chains::evm::contract_wallet::Undeployed;
use purser_chains::evm::multicall::{self, BatchCall, MAX_CALLS, MAX_GAS, MULTICALL3};
use purser_chains::evm::node::{BalanceAt, BlockTag, CallError, CallRequest, NodeError};
use purser_chains::evm::{Address, Bytes, U256, usdc};

use super::core::{Core, decline};
use super::job::{Job, Mint};
use super::rows::Payment;

/// Result of a payment's check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    /// Whether the payer has code now (ERC-1271, or a delegation of EIP-7702). Such a payment never shares a
    /// transaction.
    pub(super) has_code: bool,
    /// The payer's balance; `None` if the endpoint does not report it, or was not queried.
    pub(super) balance: Option<BalanceAt>,
    /// Why it would fail.
    pub(super) failure: Option<Failure>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// The token has already used the nonce: the payment may have settled, or its payer has cancelled it.
    Used,
    /// The token declines the payment in the current state.
    Declined(Decline),
}

/// Converts the token's error text to the codes that clients branch on.
fn failure(text: &str) -> Failure {
    const WORDS: [(&str, &str); 6] = [
        ("exceeds balance", "insufficient_funds"),
        ("not yet valid", "invalid_exact_evm_payload_authorization_valid_after"),
        ("is expired", "invalid_exact_evm_payload_authorization_valid_before"),
        ("invalid signature", "invalid_exact_evm_signature"),
        ("ecrecover", "invalid_exact_evm_signature"),
        ("invalid signer", "invalid_exact_evm_signature"),
    ];
    let lower = text.to_lowercase();
    if lower.contains("used or canceled") {
        return Failure::Used;
    }
    let known = WORDS.iter().find(|(piece, _)| lower.contains(piece));
    let reason = known.map_or("invalid_exact_evm_transaction_simulation_failed", |(_, reason)| reason);
    Failure::Declined(decline(reason, text))
}

/// The same for a mint, from the transmitter's error text.
fn mint_failure(text: &str) -> Failure {
    match text.contains(NONCE_USED) {
        true => Failure::Used,
        false => Failure::Declined(decline("mint_refused", text)),
    }
}

fn reverted(data: &[u8], text: &str) -> Failure {
    failure(&multicall::revert_reason(data).unwrap_or_else(|| text.to_owned()))
}

impl Core {
    /// Target and calldata of a transaction with these payments.
    pub(super) fn call_of(&self, jobs: &[Arc<Job>]) -> Option<(Address, Bytes)> {
        match jobs {
            [] => None,
            [job] => self.single_call(job),
            jobs => {
                let call = |job: &Arc<Job>| {
                    let (target, data) = self.single_call(job)?;
                    Some(BatchCall { target, data })
                };
                let calls: Vec<BatchCall> = jobs.iter().map(call).collect::<Option<_>>()?;
                Some((MULTICALL3, multicall::encode(&calls).ok()?.into()))
            }
        }
    }

    fn single_call(&self, job: &Job) -> Option<(Address, Bytes)> {
        match job {
            Job::Payment(payment) if payment.deploys() => self.deploying_call(payment),
            Job::Payment(payment) => Some((self.token.address(), calldata(payment)?)),
            Job::Mint(mint) => Some((mint.contract.into(), mint.call.clone().into())),
        }
    }

    /// Deployment of the wallet by an allowed factory and the transfer, in one transaction. If the wallet is already
    /// deployed, only the first call fails.
    fn deploying_call(&self, payment: &Payment) -> Option<(Address, Bytes)> {
        let Undeployed { factory, call, .. } = Undeployed::unwrap(&payment.signature)?;
        if !self.settings.erc6492_factories.contains(&factory) {
            return None;
        }
        let deployment = BatchCall {
            target: factory,
            data: call,
        };
        let transfer = BatchCall {
            target: self.token.address(),
            data: calldata(payment)?,
        };
        Some((MULTICALL3, multicall::encode(&[deployment, transfer]).ok()?.into()))
    }

    /// One request of two calls for a single payment. Several payments take one call for the payers' code and balances,
    /// one for all payers without code, and one for each with code. Results are in the order of the payments.
    ///
    /// # Errors
    /// When no endpoint responds: then no result is known for any of them.
    pub(super) async fn check(&self, payments: &[Arc<Job>]) -> Result<Vec<Verdict>, NodeError> {
        if let [job] = payments {
            return Ok(vec![self.check_one(job).await?]);
        }
        let payers: Vec<Address> = payments.iter().map(|job| job.payer()).collect();
        let payers = self.node.payers(self.token.address(), &payers).await?;
        let alone = payers.iter().zip(payments);
        let alone: Vec<bool> = alone
            .map(|(payer, job)| payer.has_code || job.is_sent_alone())
            .collect();
        let mut verdicts = self.simulate(payments, &alone).await?;
        for (verdict, payer) in verdicts.iter_mut().zip(payers) {
            verdict.balance = payer.balance;
        }
        let verdicts = verdicts.into_iter().zip(payments);
        Ok(verdicts
            .map(|(verdict, job)| self.within_budget(job, verdict))
            .collect())
    }

    /// The gas of a payer with code cannot be known in advance. None is accepted while such payments have cost too
    /// much.
    fn within_budget(&self, job: &Job, verdict: Verdict) -> Verdict {
        let is_refused =
            verdict.has_code && verdict.failure.is_none() && !job.is_mint() && self.exceed_total_loss_limit();
        if !is_refused {
            return verdict;
        }
        let why = "payments of wallets with code have cost too much gas within an hour";
        self.alarm_once("wallets with code are declined", why);
        let refused = decline("invalid_exact_evm_transaction_simulation_failed", why);
        Verdict {
            failure: Some(Failure::Declined(refused)),
            ..verdict
        }
    }

    /// Whether the payment moves funds of the treasury or a managed wallet to an external wallet.
    pub(super) fn is_outgoing(&self, payment: &Payment) -> bool {
        let (from, treasury) = (Address::from(payment.from), self.settings.treasury.address());
        Address::from(payment.to) != treasury && (from == treasury || self.wallets.contains(&from))
    }

    /// Why our own transfer would fail. It is simulated without its signature. Otherwise an endpoint could send it and
    /// report a failure before the signature is durable.
    pub(super) async fn would_fail(&self, payment: &Payment) -> Result<Option<Decline>, NodeError> {
        let data = usdc::plain_transfer_call(payment.to.into(), U256::from(payment.value.atomic()));
        let request = CallRequest {
            from: payment.from.into(),
            to: self.token.address(),
            data: data.into(),
            gas: self.settings.gas.single,
        };
        match self.node.call(&request, BlockTag::Latest).await {
            Ok(_) => Ok(None),
            Err(CallError::Reverted { data, reason }) => Ok(match reverted(&data, &reason) {
                Failure::Declined(decline) => Some(decline),
                Failure::Used => None,
            }),
            Err(CallError::Node(error)) => Err(error),
        }
    }

    /// The same check for one payment, in one request.
    pub(super) async fn check_one(&self, job: &Job) -> Result<Verdict, NodeError> {
        let Some((to, data)) = self.single_call(job) else {
            let has_code = self.node.have_code(&[job.payer()]).await?;
            return Ok(Verdict {
                has_code: has_code.contains(&true),
                balance: None,
                failure: Some(unsendable()),
            });
        };
        let request = self.request(to, data, self.settings.gas.smart_account);
        let asked = self.node.payer_and_call(self.token.address(), job.payer(), &request);
        let (payer, returned) = asked.await?;
        let verdict = Verdict {
            has_code: payer.has_code || job.is_sent_alone(),
            balance: payer.balance,
            failure: outcome(job, returned)?,
        };
        Ok(self.within_budget(job, verdict))
    }

    /// The same check without requesting code and balances.
    pub(super) async fn simulate(&self, payments: &[Arc<Job>], codes: &[bool]) -> Result<Vec<Verdict>, NodeError> {
        let verdict = |has_code: &bool| Verdict {
            has_code: *has_code,
            balance: None,
            failure: None,
        };
        let mut verdicts: Vec<Verdict> = codes.iter().map(verdict).collect();
        // Without a gas key, Multicall3 is not available.
        let single = self.settings.gas_keys.is_empty();
        let (alone, together): (Vec<usize>, Vec<usize>) = (0..payments.len()).partition(|n| single || codes[*n]);
        let alone: Vec<Vec<usize>> = alone.into_iter().map(|n| vec![n]).collect();
        let together = together.chunks(MAX_CALLS).map(<[usize]>::to_vec);
        let groups: Vec<Vec<usize>> = alone.into_iter().chain(together).collect();
        let found = join_all(groups.iter().map(|group| {
            let members: Vec<Arc<Job>> = group.iter().map(|n| payments[*n].clone()).collect();
            async move { self.simulate_one(&members, group.iter().any(|n| codes[*n])).await }
        }))
        .await;
        for (group, failures) in groups.iter().zip(found) {
            for (n, failure) in group.iter().zip(failures?) {
                verdicts[*n].failure = failure;
            }
        }
        Ok(verdicts)
    }

    /// Simulates one transaction.
    async fn simulate_one(&self, payments: &[Arc<Job>], code: bool) -> Result<Vec<Option<Failure>>, NodeError> {
        if let [payment] = payments {
            let gas = &self.settings.gas;
            let limit = if code { gas.smart_account } else { gas.single };
            return Ok(vec![self.simulate_alone(payment, limit).await?]);
        }
        let Some((to, data)) = self.call_of(payments) else {
            return self.explain_failures(payments, empty_failures(payments.len())).await;
        };
        match self.node.call(&self.request(to, data, MAX_GAS), BlockTag::Latest).await {
            Ok(returned) => {
                let malformed = |_| NodeError::Malformed { method: "eth_call" };
                let results = multicall::decode(&returned, payments.len()).map_err(malformed)?;
                self.explain_failures(payments, results).await
            }
            // One failing payment reverts all others: single calls show which one.
            Err(CallError::Reverted { .. }) => self.explain_failures(payments, empty_failures(payments.len())).await,
            Err(CallError::Node(error)) => Err(error),
        }
    }

    pub(super) fn request(&self, to: Address, data: Bytes, gas: u64) -> CallRequest {
        let from = self.settings.gas_keys.first();
        let from = from.map_or(Address::ZERO, |key| key.address());
        CallRequest { from, to, data, gas }
    }

    async fn simulate_alone(&self, payment: &Arc<Job>, gas: u64) -> Result<Option<Failure>, NodeError> {
        let Some((to, data)) = self.call_of(std::slice::from_ref(payment)) else {
            return Ok(Some(unsendable()));
        };
        outcome(
            payment,
            self.node.call(&self.request(to, data, gas), BlockTag::Latest).await,
        )
    }

    /// A call that fails in a batch without a reason may have run out of gas because of another. It is simulated on its
    /// own.
    async fn explain_failures(
        &self,
        payments: &[Arc<Job>],
        results: Vec<multicall::CallResult>,
    ) -> Result<Vec<Option<Failure>>, NodeError> {
        let each = payments.iter().zip(results).map(|(payment, result)| async move {
            match result {
                result if result.success => Ok(None),
                result if result.data.is_empty() => self.simulate_alone(payment, self.settings.gas.single).await,
                result => Ok(Some(reverted(&result.data, "the token refuses it"))),
            }
        });
        join_all(each).await.into_iter().collect()
    }
}

/// Failures without a reason.
fn empty_failures(calls: usize) -> Vec<multicall::CallResult> {
    let silent = multicall::CallResult {
        success: false,
        data: Bytes::new(),
    };
    vec![silent; calls]
}

/// The payment does not fit into any transaction.
fn unsendable() -> Failure {
    let why = "the signature is too long, or of a wallet whose factory is not listed";
    Failure::Declined(decline("invalid_exact_evm_signature", why))
}

/// The result of a call for one payment or mint.
fn outcome(job: &Job, returned: Result<Bytes, CallError>) -> Result<Option<Failure>, NodeError> {
    match (job, returned) {
        (_, Err(CallError::Node(error))) => Err(error),
        (Job::Mint(_), Ok(returned)) => Ok((!Mint::is_accepted(&returned)).then(|| mint_failure("it has no effect"))),
        (Job::Mint(_), Err(CallError::Reverted { data, reason })) => {
            Ok(Some(mint_failure(&multicall::revert_reason(&data).unwrap_or(reason))))
        }
        (Job::Payment(payment), Ok(returned)) if payment.deploys() => {
            let malformed = |_| NodeError::Malformed { method: "eth_call" };
            let results = multicall::decode(&returned, 2).map_err(malformed)?;
            let transfer = results.into_iter().next_back().filter(|transfer| !transfer.success);
            Ok(transfer.map(|transfer| reverted(&transfer.data, "the token refuses it")))
        }
        (Job::Payment(_), Ok(_)) => Ok(None),
        (Job::Payment(_), Err(CallError::Reverted { data, reason })) => Ok(Some(reverted(&data, &reason))),
    }
}

/// The signature as the token expects it, without the ERC-6492 wrapper.
pub(super) fn signature_of(payment: &Payment) -> Cow<'_, [u8]> {
    match Undeployed::unwrap(&payment.signature) {
        Some(wallet) => Cow::Owned(wallet.signature.to_vec()),
        None => Cow::Borrowed(&payment.signature),
    }
}

fn calldata(payment: &Payment) -> Option<Bytes> {
    let data = usdc::transfer_bytes_call(&payment.authorization(), &signature_of(payment));
    data.ok().map(Bytes::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Checks: each error text of the token becomes the code that clients branch on, and a used authorization is not a
    // decline.
    #[test]
    fn token_errors_are_mapped_to_codes() {
        let table = [
            ("ERC20: transfer amount exceeds balance", "insufficient_funds"),
            (
                "FiatTokenV2: authorization is not yet valid",
                "invalid_exact_evm_payload_authorization_valid_after",
            ),
            (
                "FiatTokenV2: authorization is expired",
                "invalid_exact_evm_payload_authorization_valid_before",
            ),
            ("FiatTokenV2: invalid signature", "invalid_exact_evm_signature"),
            ("ECRecover: invalid signature 's' value", "invalid_exact_evm_signature"),
            (
                "Blacklistable: account is blacklisted",
                "invalid_exact_evm_transaction_simulation_failed",
            ),
        ];
        for (text, reason) in table {
            assert_eq!(failure(text), Failure::Declined(decline(reason, text)));
        }
        assert_eq!(failure("FiatTokenV2: authorization is used or canceled"), Failure::Used);
        assert_eq!(mint_failure("Nonce already used"), Failure::Used);
        let text = "Invalid signature: not attester";
        assert_eq!(mint_failure(text), Failure::Declined(decline("mint_refused", text)));
    }
}
