//! The state charts: docs/states.md shows the entities' tables, and the tables make sense.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use purser_actors::engine::charts;
use purser_actors::kernel::chart::{Chart, Transition};

use crate::generated;

/// States that no transition leaves.
fn final_states(chart: &Chart) -> BTreeSet<&'static str> {
    let left: BTreeSet<&str> = changes(chart).iter().map(|step| step.from).collect();
    chart
        .states
        .iter()
        .copied()
        .filter(|state| !left.contains(state))
        .collect()
}

/// Transitions that change the state.
fn changes(chart: &Chart) -> Vec<Transition> {
    chart.transitions().filter(|step| step.from != step.to).collect()
}

/// The chart as a Markdown table, with a line for the events that change no state.
fn text(chart: &Chart) -> String {
    let finals = final_states(chart);
    let mut text = String::from("| from | trigger | to |\n| --- | --- | --- |\n");
    for step in changes(chart) {
        let bold = if finals.contains(step.to) { "**" } else { "" };
        writeln!(text, "| {} | {} | {bold}{}{bold} |", step.from, step.cause, step.to).unwrap();
    }
    let mut kept: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for step in chart.transitions().filter(|step| step.from == step.to) {
        kept.entry(step.event).or_default().push(step.from);
    }
    let place = |states: &[&str]| match states.len() == chart.states.len() && states.len() > 1 {
        true => "any".to_owned(),
        false => states.join(", "),
    };
    let kept: Vec<String> = kept
        .iter()
        .map(|(event, states)| format!("`{event}` ({})", place(states)))
        .collect();
    if !kept.is_empty() {
        write!(text, "\nWithout a transition: {}.\n", kept.join(", ")).unwrap();
    }
    text
}

// Checks: the document has the code's state charts.
#[test]
fn documented_state_charts_match_the_code() {
    for (entity, chart) in charts() {
        generated::assert_section("docs/states.md", &format!("chart {entity}"), &text(chart));
    }
}

// Checks: in each chart every state can be reached, no event lists a transition twice, and names are unique.
#[test]
fn charts_are_consistent() {
    for (entity, chart) in charts() {
        let mut reached = BTreeSet::from(["-"]);
        while let Some(step) = chart
            .transitions()
            .find(|step| reached.contains(step.from) && !reached.contains(step.to))
        {
            reached.insert(step.to);
        }
        let states: BTreeSet<&str> = chart.states.iter().copied().collect();
        assert_eq!(states.len(), chart.states.len(), "{entity}: a name for two states");
        assert_eq!(
            reached.len(),
            states.len() + 1,
            "{entity}: only {reached:?} can be reached"
        );
        let steps: Vec<_> = chart
            .transitions()
            .map(|step| (step.event, step.from, step.to))
            .collect();
        let unique: BTreeSet<_> = steps.iter().collect();
        assert_eq!(unique.len(), steps.len(), "{entity}: a transition stands twice");
        assert!(chart.transitions().all(|step| step.to != "-"), "{entity}");
    }
}
