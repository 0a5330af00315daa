//! What waits for a person, on the command line.

use serde_json::json;

use super::super::CliError;
use super::super::http_client::HttpResponse;
use super::AdminClient;

/// What came of stuck work.
#[derive(Clone, Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("outcome").required(true))]
pub struct ResolveArgs {
    /// As `purser admin stuck` names it
    pub job_id: String,
    /// It was done
    #[arg(long, group = "outcome")]
    pub completed: bool,
    /// It was not done, and will not be
    #[arg(long, group = "outcome")]
    pub not_completed: bool,
    /// The provider's or the chain's name of what happened, or of the answer that it did not
    #[arg(long, value_name = "TEXT")]
    pub reference: String,
    /// How you know, for the audit log
    #[arg(long, value_name = "TEXT")]
    pub evidence: String,
}

/// What is given back, and why it can be.
#[derive(Clone, Debug, clap::Args)]
pub struct CreditArgs {
    /// As `purser admin stuck` names it
    pub job_id: String,
    /// How you know that it was not done, for the audit log
    #[arg(long, value_name = "TEXT")]
    pub evidence: String,
    /// State that the money has not left, where the provider does not prove it
    #[arg(long)]
    pub funds_not_sent: bool,
}

/// What is not given, and why.
#[derive(Clone, Debug, clap::Args)]
pub struct WithholdCreditArgs {
    /// As `purser admin stuck` names it
    pub job_id: String,
    /// Why its holder does not get it, for the audit log
    #[arg(long, value_name = "TEXT")]
    pub evidence: String,
}

pub(super) async fn list(desk: &AdminClient, effect_id: Option<String>) -> Result<HttpResponse, CliError> {
    let query = effect_id.map(|id| format!("?effect_id={id}"));
    desk.get(&format!("/admin/dead-letters{}", query.unwrap_or_default())).await
}

pub(super) async fn resolve(desk: &AdminClient, resolve: ResolveArgs) -> Result<HttpResponse, CliError> {
    let outcome = if resolve.completed { "done" } else { "not_done" };
    let body = json!({
        "effect_id": resolve.job_id, "outcome": outcome, "reference": resolve.reference,
        "evidence": resolve.evidence,
    });
    desk.post("/admin/jobs/resolve", body).await
}

pub(super) async fn credit_job(desk: &AdminClient, credit: CreditArgs) -> Result<HttpResponse, CliError> {
    let body = json!({
        "effect_id": credit.job_id, "evidence": credit.evidence, "money_has_not_left": credit.funds_not_sent,
    });
    desk.post("/admin/jobs/credit", body).await
}

pub(super) async fn withhold_credit(desk: &AdminClient, keep: WithholdCreditArgs) -> Result<HttpResponse, CliError> {
    let body = json!({"effect_id": keep.job_id, "evidence": keep.evidence});
    desk.post("/admin/jobs/keep", body).await
}
