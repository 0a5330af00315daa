//! Which of many addresses have code, in one call: providers count each call of a batch.

use alloy_primitives::Address;
use serde_json::json;

use super::{Node, NodeError, parse};

/// Addresses of one call.
const MOST: usize = 200;
/// Code of a contract that is never created: `eth_call` without a receiver runs it and gives what it returns. It replaces each
/// address behind itself, 32 bytes each, by one byte: 1 where EXTCODESIZE is not 0, else 0. A delegation of EIP-7702 counts as the
/// 23 bytes that it is. No result begins with 0xEF, which EIP-3541 forbids.
const PROGRAM: [u8; 43] = [
    0x60, 43, 0x38, 0x03, // size of what is behind the program
    0x80, 0x60, 43, 0x60, 0, 0x39, // to memory
    0x60, 0, // position
    0x5b, 0x81, 0x81, 0x10, 0x15, 0x60, 36, 0x57, // (12) at the end?
    0x80, 0x51, 0x3b, 0x15, 0x15, // whether the address has code
    0x81, 0x60, 5, 0x1c, 0x53, // to the byte of its number
    0x60, 32, 0x01, 0x60, 12, 0x56, // the next
    0x5b, 0x60, 5, 0x1c, 0x60, 0, 0xf3, // (36) as many bytes as addresses
];

/// A cold account costs 2,600, a byte that is returned 200, the call some 60,000.
fn gas(addresses: usize) -> u64 {
    200_000 + 6_000 * u64::try_from(addresses).unwrap_or(u64::MAX / 6_000)
}

/// One byte each.
fn decode(returned: &[u8], addresses: usize) -> Option<Vec<bool>> {
    let is_whole = returned.len() == addresses && returned.iter().all(|byte| *byte < 2);
    is_whole.then(|| returned.iter().map(|byte| *byte == 1).collect())
}

impl Node {
    /// The same as [`Node::have_code`] with one call for 200 addresses. An endpoint that does not run code without a contract is
    /// asked for each address.
    ///
    /// # Errors
    /// See [`NodeError`].
    pub async fn have_code_in_one(&self, addresses: &[Address]) -> Result<Vec<bool>, NodeError> {
        let mut codes = Vec::with_capacity(addresses.len());
        for part in addresses.chunks(MOST) {
            let found = match part.len() {
                1 => None,
                _ => self.run_program(part).await,
            };
            match found {
                Some(found) => codes.extend(found),
                None => codes.extend(self.have_code(part).await?),
            }
        }
        Ok(codes)
    }

    async fn run_program(&self, addresses: &[Address]) -> Option<Vec<bool>> {
        let mut code = PROGRAM.to_vec();
        for address in addresses {
            code.extend([0; 12]);
            code.extend(address.as_slice());
        }
        let call =
            json!({"data": parse::text(alloy_primitives::Bytes::from(code)), "gas": parse::text(gas(addresses.len()))});
        let result = self.pool.call("eth_call", json!([call, "latest"])).await;
        let found = result
            .ok()
            .and_then(|result| decode(&parse::bytes(&result)?, addresses.len()));
        if found.is_none() {
            tracing::debug!("an endpoint runs no code without a contract: each payer is asked for");
        }
        found
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use std::sync::Arc;

    use serde_json::Value;

    use super::*;
    use crate::rpc::script::{ScriptTransport, TestClock, ok, result};
    use crate::rpc::{EndpointSettings, EndpointUrl, RpcPool};

    /// Answers every `eth_call` so; says of no address that it has code.
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

    // Checks: one call for 200 addresses; a sole address and whatever is not one byte of 0 or 1 for each address are asked for with
    // `eth_getCode`. What the program finds is tested on a node (tests/settlement_base/calls.rs).
    #[tokio::test]
    async fn one_call_serves_many_addresses() {
        let found = "0x".to_owned() + &"0001".repeat(100);
        // Addresses, the answer, requests, whether the second has code.
        let table = [
            (200, found.clone(), 1, true),
            (2, "0x0001".to_owned(), 1, true),
            (400, found, 2, true),
            (2, "0x".to_owned(), 2, false),
            (2, "0x000100".to_owned(), 2, false),
            (2, "0x0002".to_owned(), 2, false),
            (1, "0x01".to_owned(), 1, false),
            (0, "0x".to_owned(), 0, false),
        ];
        for (addresses, returned, requests, second) in table {
            let (node, transport) = answering(returned.clone());
            let codes = node.have_code_in_one(&vec![Address::ZERO; addresses]).await.unwrap();
            assert_eq!(codes.len(), addresses);
            assert_eq!(
                codes.get(1).copied().unwrap_or_default(),
                second,
                "{addresses} {returned}"
            );
            assert_eq!(transport.requests.lock().len(), requests, "{addresses} {returned}");
        }
    }
}
