//! The history of a busy account, made by the calls of its agents while the sandbox's clock is moved on day by day: cards,
//! some of which the issuer declines so that they are credited, and withdrawals.

use std::net::SocketAddr;
use std::time::Duration;

use purser::wallet::TestWallet;
use purser_actors::id::Network;

use super::post;
use crate::Fault;
use crate::web::clients::{self, request, required, sign_for};
use crate::web::driver::{self, Connection};

/// How much happens, and in how many days.
#[derive(Clone, Copy)]
pub(crate) struct History {
    /// The least number of events.
    pub(crate) events: u64,
    pub(crate) days: u64,
}

impl History {
    pub(crate) const FULL: Self = Self {
        events: 100_000,
        days: 365,
    };
    pub(crate) const SHORT: Self = Self {
        events: 5_000,
        days: 20,
    };
    /// An account to compare with.
    pub(crate) const FEW: Self = Self { events: 400, days: 1 };
}

/// Of a card that is made: the payment settled and fulfilled, the card ordered and ready. Others have more.
const EVENTS_OF_A_PURCHASE: u64 = 4;
const CARD: &str = "/get-card?amount=5";
/// The sandbox's issuer declines it.
const DECLINED: &str = "/get-card?amount=6.66";
/// One of this number of purchases is declined.
const DECLINED_OF: u64 = 8;
const CONNECTIONS: usize = 16;

/// Makes it.
pub(crate) async fn create(address: SocketAddr, wallet: &TestWallet, history: History) -> Result<(), Fault> {
    let mut connection = Connection::open(address).await?;
    let purchases = history.events.div_ceil(history.days * EVENTS_OF_A_PURCHASE);
    for _ in 0..history.days {
        let mut signed = Vec::new();
        let mut terms = Vec::new();
        for target in [CARD, DECLINED] {
            terms.push(required(&connection.call(&request(address, target, "")).await?)?);
        }
        for n in 0..purchases {
            let (target, terms) = match n % DECLINED_OF == 0 {
                true => (DECLINED, &terms[1]),
                false => (CARD, &terms[0]),
            };
            signed.push(sign_for(address, target, wallet, (terms, Network::Base))?);
        }
        driver::drive(address, driver::spread(&signed, CONNECTIONS), 200).await?;
        let token = clients::sign_in(&mut connection, address, wallet).await?;
        withdraw(&mut connection, address, &token).await?;
        let day = post(address, "/sandbox/time", JSON, r#"{"advance_seconds":86400}"#);
        let moved = connection.call(&day).await?;
        assert_eq!(moved.status, 200, "{}", String::from_utf8_lossy(&moved.body));
    }
    until_quiet(&mut connection, address, wallet).await
}

const JSON: &str = "Content-Type: application/json\r\n";

/// A part of what was credited, if there is enough yet.
async fn withdraw(connection: &mut Connection, address: SocketAddr, token: &str) -> Result<(), Fault> {
    let headers = format!("{JSON}Authorization: Bearer {token}\r\n");
    let answer = connection
        .call(&post(address, "/withdraw", &headers, r#"{"amount":2}"#))
        .await?;
    let body = String::from_utf8_lossy(&answer.body);
    let is_poor = answer.status == 409 && body.contains("insufficient_balance");
    match answer.status {
        200..=299 => Ok(()),
        _ if is_poor => Ok(()),
        status => Err(format!("{status} for a withdrawal: {body}").into()),
    }
}

/// Waits until nothing has happened for three seconds.
async fn until_quiet(connection: &mut Connection, address: SocketAddr, wallet: &TestWallet) -> Result<(), Fault> {
    let token = clients::sign_in(connection, address, wallet).await?;
    let (mut newest, mut same) = (serde_json::Value::Null, 0);
    while same < 3 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let page = events(connection, address, &token, "order=desc&limit=1").await?;
        same = if page["events"][0]["seq"] == newest {
            same + 1
        } else {
            0
        };
        newest = page["events"][0]["seq"].clone();
    }
    Ok(())
}

async fn events(
    connection: &mut Connection,
    address: SocketAddr,
    token: &str,
    query: &str,
) -> Result<serde_json::Value, Fault> {
    let bearer = format!("Authorization: Bearer {token}\r\n");
    let answer = connection
        .call(&request(address, &format!("/events?{query}"), &bearer))
        .await?;
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    Ok(serde_json::from_slice(&answer.body)?)
}

/// Reads every event of the account, oldest first, and counts them.
pub(crate) async fn count_events(connection: &mut Connection, address: SocketAddr, token: &str) -> Result<u64, Fault> {
    let (mut count, mut last) = (0, 0);
    loop {
        let page = events(connection, address, token, &format!("after={last}&limit=100")).await?;
        for event in page["events"].as_array().into_iter().flatten() {
            let seq = event["seq"].as_u64().ok_or("an event without seq")?;
            assert!(seq > last, "events come once and in order");
            (count, last) = (count + 1, seq);
        }
        if page["has_more"] != true {
            return Ok(count);
        }
        last = page["next_after"].as_u64().ok_or("a page without its end")?;
    }
}
