//! `docs/precedence.md` from top to bottom: banking's callable functions.

use purser_actors::id::Network;
use serde_json::json;

use super::agent::Agent;
use super::host::Host;
use super::ladder::Ladder;
use super::request::Request;
use super::wire::Site;

const WHY: &str = "Please write to us.";

#[tokio::test(flavor = "multi_thread")]
async fn a_profiles_status_is_refused_for_the_first_rule_that_it_breaks() {
    // Aim: token, members, whose it is, account.
    let service = Host::new().start();
    let site = Site::of(&service);
    let (agent, other) = (Agent::new(Network::Solana), Agent::new(Network::Base));
    let token = agent.token(&site).await;
    site.freeze(&agent.address(), Some(WHY)).await;
    let mut ladder = Ladder::of("POST /getBankingProfileStatus", "get-banking-profile-status");
    let mut ask = Request::new("POST", "/getBankingProfileStatus");
    ask.body(&json!({"data": {"userid": other.address()}}));
    ladder.meets(&ask.send(&site).await);
    ask.bearer(&token);
    ladder.meets(&ask.send(&site).await);
    ask.body(&json!({"data": {"userId": other.address()}}));
    ladder.meets(&ask.send(&site).await);
    ask.body(&json!({"data": {"userId": agent.address().to_lowercase()}}));
    ladder.meets(&ask.send(&site).await);
    site.freeze(&agent.address(), None).await;
    ladder.meets(&ask.send(&site).await);
    ladder.ends();
}
