//! `purser admin dead-letters` and `purser admin jobs`: dead-lettered jobs and what an operator does about them.

use serde_json::json;

use super::AdminClient;
use crate::CliError;
use crate::http_client::HttpResponse;

/// Commands for dead-lettered jobs.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum JobCommand {
    /// Retry a dead-lettered job now
    Retry {
        /// As `purser admin dead-letters` names it
        job_id: String,
    },
    /// Record the outcome of a dead-lettered job
    Resolve(ResolveArgs),
    /// Fail a dead-lettered job and credit its account
    Credit(CreditArgs),
    /// End a withheld credit without paying it
    Keep(WithholdCreditArgs),
}

/// The outcome of a dead-lettered job.
#[derive(Clone, Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("outcome").required(true))]
pub struct ResolveArgs {
    /// As `purser admin dead-letters` names it
    pub job_id: String,
    /// The provider or the chain completed it
    #[arg(long, group = "outcome")]
    pub completed: bool,
    /// It was not completed and will not be
    #[arg(long, group = "outcome")]
    pub not_completed: bool,
    /// The provider's reference or the transaction hash
    #[arg(long, value_name = "TEXT")]
    pub reference: String,
    /// Evidence for the audit log
    #[arg(long, value_name = "TEXT")]
    pub evidence: String,
}

/// The job to credit, with the evidence.
#[derive(Clone, Debug, clap::Args)]
pub struct CreditArgs {
    /// As `purser admin dead-letters` names it
    pub job_id: String,
    /// Evidence for the audit log
    #[arg(long, value_name = "TEXT")]
    pub evidence: String,
    /// Confirm that the funds were not sent when the provider can't prove it
    #[arg(long)]
    pub funds_not_sent: bool,
}

/// The credit to withhold, with the evidence.
#[derive(Clone, Debug, clap::Args)]
pub struct WithholdCreditArgs {
    /// As `purser admin dead-letters` names it
    pub job_id: String,
    /// Evidence for the audit log
    #[arg(long, value_name = "TEXT")]
    pub evidence: String,
}

pub(super) async fn list(client: &AdminClient, job_id: Option<String>) -> Result<HttpResponse, CliError> {
    let query = job_id.map(|id| format!("?job_id={id}"));
    client
        .get(&format!("/admin/dead-letters{}", query.unwrap_or_default()))
        .await
}

pub(super) async fn run(client: &AdminClient, command: JobCommand) -> Result<HttpResponse, CliError> {
    let (path, body) = match command {
        JobCommand::Retry { job_id } => ("/admin/jobs/retry", json!({"job_id": job_id})),
        JobCommand::Resolve(args) => {
            let outcome = if args.completed { "completed" } else { "not_completed" };
            let body = json!({
                "job_id": args.job_id, "outcome": outcome, "reference": args.reference, "evidence": args.evidence,
            });
            ("/admin/jobs/resolve", body)
        }
        JobCommand::Credit(args) => {
            let body = json!({
                "job_id": args.job_id, "evidence": args.evidence, "funds_not_sent": args.funds_not_sent,
            });
            ("/admin/jobs/credit", body)
        }
        JobCommand::Keep(args) => {
            let body = json!({"job_id": args.job_id, "evidence": args.evidence});
            ("/admin/jobs/keep", body)
        }
    };
    client.post(path, body).await
}
