//! Agreement of two endpoints.

use super::*;

// Checks: a block counts if two endpoints give the same header and logs, whatever a third one reports.
#[tokio::test]
async fn a_block_is_what_two_endpoints_give_alike() {
    /// The logs of the block that each host reports, if any, and whether the block counts.
    type Case = (&'static [(&'static str, Option<u64>)], bool);
    let table: [Case; 7] = [
        (&[("a.example", Some(1)), ("b.example", Some(1))], true),
        (&[("a.example", Some(1)), ("b.example", Some(2))], false),
        (&[("a.example", Some(1)), ("b.example", None)], false),
        (&[("a.example", None), ("b.example", None)], false),
        (&[("a.example", Some(1))], false),
        (
            &[("a.example", Some(1)), ("b.example", Some(2)), ("c.example", Some(1))],
            true,
        ),
        (
            &[("a.example", None), ("b.example", Some(2)), ("c.example", Some(2))],
            true,
        ),
    ];
    let filter = LogFilter {
        address: USDC,
        topics: vec![],
    };
    for (endpoints, agree) in table {
        let said: Vec<(String, Option<u64>)> = endpoints
            .iter()
            .map(|(host, logs)| ((*host).to_owned(), *logs))
            .collect();
        let transport = ScriptTransport::new(move |host, request| {
            let logs = said.iter().find(|(known, _)| known == host).and_then(|(_, logs)| *logs);
            let answer = |call: &Value| {
                let result = match (logs, call["method"].as_str()) {
                    (None, _) => Value::Null,
                    (Some(_), Some("eth_getBlockByHash")) => block(16, HASH),
                    (Some(logs), _) => (0..logs).map(|index| log(index, HASH)).collect(),
                };
                json!({"jsonrpc": "2.0", "id": call["id"], "result": result})
            };
            ok(&request.as_array().unwrap().iter().map(answer).collect())
        });
        let hosts: Vec<&str> = endpoints.iter().map(|(host, _)| *host).collect();
        let found = node(&hosts, transport)
            .block_by_two(HASH, std::slice::from_ref(&filter))
            .await;
        assert_eq!(found.is_ok(), agree, "{endpoints:?}: {found:?}");
        if let Err(disagreement) = found {
            let text = disagreement.to_string();
            assert!(hosts.iter().all(|host| text.contains(host)), "{text}");
        }
    }
}

const HOSTS: [&str; 3] = ["a.example", "b.example", "c.example"];

// Checks: a level counts only if a second endpoint has reached it too.
#[tokio::test]
async fn one_endpoint_alone_does_not_claim_a_level() {
    let table: [(&[Option<u64>], &[u64]); 6] = [
        (&[Some(9), Some(5)], &[5]),
        (&[Some(5), Some(900)], &[5]),
        (&[Some(5), None], &[]),
        (&[Some(5)], &[]),
        (&[Some(7), Some(900), Some(6)], &[7, 6]),
        (&[None, Some(7), Some(6)], &[6]),
    ];
    for (claimed, levels) in table {
        let claims = claimed.to_vec();
        let transport = ScriptTransport::new(move |host, request| {
            let place = HOSTS.iter().position(|known| *known == host).unwrap();
            let header = claims[place].map_or(Value::Null, |number| block(number, HASH));
            result(request, header)
        });
        let found = node(&HOSTS[..claimed.len()], transport)
            .levels_by_two(BlockTag::Safe)
            .await;
        let found: Vec<u64> = found.into_iter().map(|header| header.number).collect();
        assert_eq!(found, levels, "{claimed:?}");
    }
}

// Checks: a transaction count reported by a single endpoint is ignored, and without a second response there is no
// count.
#[tokio::test]
async fn one_endpoint_alone_does_not_count_transactions() {
    let table: [(&[Option<u64>], Option<u64>); 6] = [
        (&[Some(5)], Some(5)),
        (&[Some(5), Some(5)], Some(5)),
        (&[Some(3_000_000), Some(5)], Some(5)),
        (&[Some(5), None], None),
        (&[Some(0), Some(6), Some(6)], Some(6)),
        (&[None, None], None),
    ];
    for (claimed, count) in table {
        let claims = claimed.to_vec();
        let transport = ScriptTransport::new(move |host, request| {
            let place = HOSTS.iter().position(|known| *known == host).unwrap();
            match claims[place] {
                Some(count) => result(request, json!(format!("{count:#x}"))),
                None => error(request, -32000, "not now"),
            }
        });
        let found = node(&HOSTS[..claimed.len()], transport)
            .count_by_two(USDC, BlockTag::Latest)
            .await;
        assert_eq!(found.ok(), count, "{claimed:?}");
    }
}

// Checks: an endpoint whose logs cannot be read counts as no response while another one has the block.
#[tokio::test]
async fn a_block_that_cannot_be_read_is_asked_of_the_next() {
    let transport = ScriptTransport::new(|host, request| {
        let answer = |call: &Value| {
            let result = match call["method"].as_str() {
                Some("eth_getBlockByHash") => block(16, HASH),
                _ if host == "a.example" => json!([{"address": "nonsense"}]),
                _ => json!([log(0, HASH)]),
            };
            json!({"jsonrpc": "2.0", "id": call["id"], "result": result})
        };
        ok(&request.as_array().unwrap().iter().map(answer).collect())
    });
    let filter = LogFilter {
        address: USDC,
        topics: vec![],
    };
    let found = node(&HOSTS[..2], transport)
        .block(NextBlock::Hash(HASH), &[filter])
        .await;
    assert_eq!(found.unwrap().unwrap().logs.len(), 1);
}
