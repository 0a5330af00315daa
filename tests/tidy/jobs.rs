//! The page on jobs is what the table of jobs in the code says, and no job leaves a question of its policy out.

use purser_actors::engine::job_types;
use purser_actors::jobs::{JobPolicy, LineDependency, Outcomes, Queue};

use crate::generated;
use crate::source_files::{files, none};

fn operator(policy: &JobPolicy) -> String {
    let Some(operator) = &policy.operator else {
        return "nothing".to_owned();
    };
    let outcomes = match operator.outcomes {
        Outcomes::Either => "completed, not completed",
        Outcomes::Completed => "completed",
        Outcomes::NotCompleted => "not completed",
        Outcomes::Neither => "",
    };
    let credit = if operator.is_creditable() { "credit" } else { "" };
    let words = [outcomes, credit];
    words
        .into_iter()
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(", ")
}

fn queue(policy: &JobPolicy) -> String {
    let line = match policy.line {
        LineDependency::WaitsForLine(line) => format!("; waits while {} is down", line.name()),
        LineDependency::WaitsForRail => "; waits while its rail is down".to_owned(),
        LineDependency::Unblocked(line) => format!("; does not wait while {} is down", line.name()),
        LineDependency::None => String::new(),
    };
    match policy.queue {
        Queue::OfKind => format!("of its entity{line}"),
        Queue::Partition(_) => format!("a partition of its own{line}"),
    }
}

// Checks: docs/jobs.md lists every job with its policy.
#[test]
fn jobs_page_is_generated() {
    let mut table =
        String::from("| job | entity | what it does | an operator may record | after a restore | queue |\n");
    table.push_str("| --- | --- | --- | --- | --- | --- |\n");
    for (kind, job) in job_types() {
        let restore = match job.policy.outgoing {
            Some(_) => "waits until what left since the backup is accounted for",
            None => "runs again",
        };
        table.push_str(&format!(
            "| `{}` | {kind} | {} | {} | {restore} | {} |\n",
            job.name,
            job.meaning.trim(),
            operator(&job.policy),
            queue(&job.policy),
        ));
    }
    generated::assert_section("docs/jobs.md", "jobs", &table);
}

// Checks: no policy is written with `..`, so that a new question fails to compile at every job.
#[test]
fn no_policy_leaves_a_question_out() {
    let mut shortened = Vec::new();
    for file in files().iter().filter(|file| file.name.starts_with("actors/src/")) {
        for policy in file.text.split("Policy {").skip(1) {
            let end = policy.find(";\n").unwrap_or(policy.len());
            if policy[..end].contains("..") {
                shortened.push(file.name.clone());
            }
        }
    }
    none(&shortened, "policies with `..`");
}
