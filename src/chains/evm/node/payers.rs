//! Token balance and code of many addresses in one call: providers count each call of a batch.

use alloy_primitives::{Address, Bytes, U256};
use serde_json::{Value, json};

use super::{CallError, CallRequest, Node, NodeError, parse, replies};
use crate::rpc::Call;

/// Maximum number of addresses per call.
const MAX_ADDRESSES: usize = 200;
/// Code of a contract that is never created: `eth_call` without a recipient runs it and returns its result. It is
/// followed by 32 bytes for the token and 32 bytes for each address. The code replaces the token by the block number
/// and each address by its balance. Bit 255 is set if EXTCODESIZE is not 0, bit 254 if the token has responded. An
/// EIP-7702 delegation counts as its 23 bytes. No result begins with 0xEF, which EIP-3541 forbids.
const PROGRAM: [u8; 85] = [
    0x60, 85, 0x38, 0x03, // size of what is behind the program
    0x80, 0x60, 85, 0x60, 64, 0x39, // to memory from 64 on
    0x63, 0x70, 0xa0, 0x82, 0x31, 0x60, 0, 0x52, // balanceOf at 28
    0x60, 64, 0x51, // token
    0x43, 0x60, 64, 0x52, // its place takes the number of the block
    0x81, 0x60, 64, 0x01, // end
    0x60, 96, // position
    0x5b, 0x81, 0x81, 0x10, 0x15, 0x60, 78, 0x57, // (31) at the end?
    0x80, 0x51, 0x80, 0x60, 32, 0x52, // address, at 32
    0x3b, 0x15, 0x15, 0x60, 255, 0x1b, // whether it has code
    0x60, 32, 0x60, 32, 0x60, 36, 0x60, 28, 0x87, 0x5a, 0xfa, // balanceOf, its answer at 32
    0x60, 254, 0x1b, 0x17, // whether the token has answered
    0x60, 32, 0x51, 0x17, 0x81, 0x52, // to the place of the address
    0x60, 32, 0x01, 0x60, 31, 0x56, // the next
    0x5b, 0x50, 0x50, 0x50, 0x60, 64, 0xf3, // (78) as many words as there were
];

/// Token balance of an address at one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BalanceAt {
    /// Height of the block.
    pub block: u64,
    /// Balance in base units of the token, at most 2^64 - 1.
    pub atomic: u64,
}

/// State of an address as a payer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PayerState {
    /// Whether it is a contract or has an EIP-7702 delegation.
    pub has_code: bool,
    /// `None` if the endpoint does not run code without a contract.
    pub balance: Option<BalanceAt>,
}

/// A cold account and its balance cost about 10,000 gas, a returned word 6,400, the call about 60,000.
fn gas(addresses: usize) -> u64 {
    300_000 + 25_000 * u64::try_from(addresses).unwrap_or(u64::MAX / 25_000)
}

fn request(token: Address, addresses: &[Address]) -> Value {
    let mut code = PROGRAM.to_vec();
    for address in std::iter::once(&token).chain(addresses) {
        code.extend([0; 12]);
        code.extend(address.as_slice());
    }
    json!([{"data": parse::text(Bytes::from(code)), "gas": parse::text(gas(addresses.len()))}, "latest"])
}

fn decode(returned: &[u8], addresses: usize) -> Option<Vec<PayerState>> {
    let (words, rest) = returned.as_chunks::<32>();
    let (first, words) = words.split_first()?;
    if !rest.is_empty() || words.len() != addresses {
        return None;
    }
    let block = U256::from_be_bytes(*first).try_into().ok()?;
    let state = |word: &[u8; 32]| {
        let mut word = *word;
        let flags = word[0];
        word[0] &= 0x3f;
        let atomic = U256::from_be_bytes(word).try_into().unwrap_or(u64::MAX);
        PayerState {
            has_code: flags & 0x80 != 0,
            balance: (flags & 0x40 != 0).then_some(BalanceAt { block, atomic }),
        }
    };
    Some(words.iter().map(state).collect())
}

impl Node {
    /// Token balances of these addresses, and whether they have code now, including an EIP-7702 delegation. One call
    /// serves 200 addresses. If the endpoint does not run code without a contract, only the code is queried, one
    /// address at a time.
    ///
    /// # Errors
    /// See [`NodeError`].
    pub async fn payers(&self, token: Address, addresses: &[Address]) -> Result<Vec<PayerState>, NodeError> {
        let mut states = Vec::with_capacity(addresses.len());
        for part in addresses.chunks(MAX_ADDRESSES) {
            let result = self.pool.call("eth_call", request(token, part)).await;
            let found = result
                .ok()
                .and_then(|result| decode(&parse::bytes(&result)?, part.len()));
            match found {
                Some(found) => states.extend(found),
                None => states.extend(self.codes_alone(part).await?),
            }
        }
        Ok(states)
    }

    /// The same for one address, plus the result of a call: two calls in one request to one endpoint.
    ///
    /// # Errors
    /// See [`NodeError`].
    pub async fn payer_and_call(
        &self,
        token: Address,
        payer: Address,
        call: &CallRequest,
    ) -> Result<(PayerState, Result<Bytes, CallError>), NodeError> {
        let method = "eth_call";
        let calls = [request(token, &[payer]), json!([parse::call(call), "latest"])];
        let calls = calls.map(|params| Call { method, params });
        let mut results = self.pool.batch(&calls).await?.into_iter();
        let malformed = || NodeError::Malformed { method };
        let found = results.next().ok_or_else(malformed)?;
        let found = found.ok().and_then(|found| decode(&parse::bytes(&found)?, 1)?.pop());
        let returned = match results.next().ok_or_else(malformed)? {
            Ok(value) => parse::bytes(&value).ok_or_else(|| malformed().into()),
            Err(error) => Err(replies::call_error(error)),
        };
        let state = match found {
            Some(state) => state,
            None => self.codes_alone(&[payer]).await?.pop().ok_or_else(malformed)?,
        };
        Ok((state, returned))
    }

    async fn codes_alone(&self, addresses: &[Address]) -> Result<Vec<PayerState>, NodeError> {
        tracing::debug!("an endpoint runs no code without a contract: each payer is asked for");
        let codes = self.have_code(addresses).await?;
        let state = |has_code| PayerState {
            has_code,
            balance: None,
        };
        Ok(codes.into_iter().map(state).collect())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use std::sync::Arc;

    use super::*;
    use crate::rpc::script::{ScriptTransport, TestClock, ok, result};
    use crate::rpc::{EndpointSettings, EndpointUrl, RpcPool};

    /// Responds to every single `eth_call` with this value; reports no code for any address.
    fn answering(returned: String) -> (Node, Arc<ScriptTransport>) {
        let transport = Arc::new(ScriptTransport::new(move |_, request| match request.as_array() {
            None => result(request, json!(returned)),
            Some(calls) => {
                let code = |call: &Value| json!({"id": call["id"], "result": "0x"});
                ok(&calls.iter().map(code).collect())
            }
        }));
        let url = EndpointUrl::parse("https://a.example").unwrap();
        let settings = vec![EndpointSettings::new(url)];
        let pool = RpcPool::new(settings, transport.clone(), Arc::new(TestClock::default())).unwrap();
        (Node::new(Arc::new(pool)), transport)
    }

    fn word(flags: u8, value: u64) -> String {
        format!("{flags:02x}{value:062x}")
    }

    // Checks: one call serves 200 addresses. If the response is not one word for the block and one per address, only
    // the code is queried. The program itself is tested on a node (tests/settlement/base/calls.rs).
    #[tokio::test]
    async fn one_call_serves_many_addresses() {
        let (block, plain, code) = (word(0, 77), word(0x40, 5), word(0xc0, 6));
        let many = format!("0x{block}{}", format!("{plain}{code}").repeat(100));
        let held = |atomic| Some(BalanceAt { block: 77, atomic });
        let (unknown, unheld) = ((false, None), (true, None));
        // Addresses, response, requests, second payer.
        let table = [
            (200, many.clone(), 1, (true, held(6))),
            (400, many, 2, (true, held(6))),
            (2, format!("0x{block}{code}{plain}"), 1, (false, held(5))),
            (2, format!("0x{block}{plain}{}", word(0x80, 0)), 1, unheld),
            (
                2,
                format!("0x{block}{plain}{}", "7f".to_owned() + &"ff".repeat(31)),
                1,
                (false, held(u64::MAX)),
            ),
            (2, "0x".to_owned(), 2, unknown),
            (2, format!("0x{block}{plain}"), 2, unknown),
            (2, format!("0x{block}{plain}{code}00"), 2, unknown),
            (2, format!("0x{}{plain}{code}", word(1, 0)), 2, unknown),
        ];
        for (addresses, returned, requests, second) in table {
            let (node, transport) = answering(returned.clone());
            let states = node
                .payers(Address::ZERO, &vec![Address::ZERO; addresses])
                .await
                .unwrap();
            assert_eq!(states.len(), addresses);
            assert_eq!(
                (states[1].has_code, states[1].balance),
                second,
                "{addresses} {returned}"
            );
            assert_eq!(transport.requests.lock().len(), requests, "{addresses} {returned}");
        }
        let (node, transport) = answering(String::new());
        assert_eq!(node.payers(Address::ZERO, &[]).await.unwrap(), []);
        assert_eq!(transport.requests.lock().len(), 0);
    }
}
