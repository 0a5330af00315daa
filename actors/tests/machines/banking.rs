//! Banking's machines: every command in every state.

use purser_actors::banking::profile::{self, Exists, Holder, Profile};
use purser_actors::kernel::Entity;
use purser_actors::port::Timestamp;

use crate::charts::assert_chart;
use crate::sample::{NOW, WALLET, at, fold};

pub(crate) fn profile() -> Profile {
    Profile {
        owner: WALLET,
        holder: Holder::Individual,
        first_name: "Ada".into(),
        last_name: "Lovelace".into(),
        email: "ada@example.com".into(),
        country: "US".parse().unwrap(),
        created_at: NOW,
    }
}

// Aim: a wallet has one profile, which is its own whatever the command says, and keeps it as it was made.
#[test]
fn a_profile_is_made_once() {
    let foreign = Profile {
        created_at: Timestamp(1),
        ..profile()
    };
    let create = || profile::Command::Create(Box::new(foreign.clone()));
    let made = Profile::decide(None, &WALLET, create(), &at(NOW)).unwrap();
    let state: Profile = fold(None, &WALLET, made.events());
    assert_eq!(state, profile());
    assert_eq!(
        Profile::decide(Some(&state), &WALLET, create(), &at(NOW)).unwrap_err(),
        Exists
    );
    let events = [profile::Event::Created(Box::new(profile()))];
    assert_chart::<Profile>(&WALLET, vec![state], &events);
}
