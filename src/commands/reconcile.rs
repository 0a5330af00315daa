//! `purser reconcile`: one reconciliation run. Beside a running service the service performs the run, which starts
//! after the command. Without one, the command performs it and writes nothing.

use std::sync::Arc;
use std::time::Duration;

use purser_actors::engine::{Reconciler, ReconciliationCursor};
use purser_actors::entity::discrepancy::DiscrepancyDetails;
use purser_actors::id::DiscrepancyId;
use purser_storage::Store;
use serde_json::{Value, json};

use super::store_commands::{self, failed, open_or_connect};
use super::{TokenArgs, serve};
use crate::cli::{CliError, terminal};
use crate::service::dependencies;

/// Attempts to read a list that fails, for example of a chain that was just opened, and the pause between them.
const ATTEMPTS: u32 = 10;
const RETRY: Duration = Duration::from_secs(3);

/// Run one reconciliation against chains and providers; exits 1 if there are discrepancies
///
/// A running server performs the run, and the command waits for it. Also exits 1 if a list could not be read or the
/// server did not finish in time: then nothing is proven.
#[derive(Clone, Debug, clap::Args)]
pub struct ReconcileArgs {
    /// Location of the data
    #[command(flatten)]
    pub serve: serve::Args,
    /// Operator token for a running server
    #[command(flatten)]
    pub token: TokenArgs,
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
    /// Timeout for a running server, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    pub timeout: u64,
}

/// Compared entries and discrepancies.
struct Report {
    compared: u64,
    completed: bool,
    discrepancies: Vec<Value>,
}

/// Runs `purser reconcile`.
///
/// # Errors
/// When the store cannot be opened, a list cannot be read, or there are discrepancies.
pub async fn run(args: ReconcileArgs) -> Result<(), CliError> {
    let config = args.serve.settings()?;
    let (store, data) = match open_or_connect(&config, &args.token).await? {
        store_commands::StoreAccess::Store(store, data) => (store, data),
        store_commands::StoreAccess::Service(running) => {
            let patience = Duration::from_secs(args.timeout);
            return conclude(&args, &Report::from_json(running.compare(patience).await?));
        }
    };
    let as_store: Arc<dyn Store> = store.clone();
    let world = dependencies::open_dependencies(&config, &data, &as_store)
        .await
        .map_err(failed)?;
    let reconciling = dependencies::reconciler_deps(&config, &world);
    let walk = ReconciliationCursor::read(&*as_store).await.map_err(failed)?;
    let mut reconciler = Reconciler::new(as_store, world.clock.clone(), reconciling)
        .await
        .map_err(failed)?;
    let (mut compared, mut found) = run_to_completion(&mut reconciler, walk.restart()).await;
    for _ in 1..ATTEMPTS {
        if !compared.skipped {
            break;
        }
        tokio::time::sleep(RETRY).await;
        (compared, found) = run_to_completion(&mut reconciler, walk.restart()).await;
    }
    world.close().await;
    store.close();
    conclude(&args, &Report::of(&compared, &found))
}

/// The commands that show what an operator can decide.
const NEXT_STEP: &str = "on the running server, see `purser admin reconciliation`, `purser admin incoming list` and \
                         `purser admin dead-letters`";

/// Prints the report. An incomplete run or a discrepancy is an error.
fn conclude(args: &ReconcileArgs, report: &Report) -> Result<(), CliError> {
    if args.json {
        terminal::json(&report.to_json(), true)?;
    } else {
        report.print()?;
    }
    match (report.discrepancies.len(), report.completed) {
        (0, true) => Ok(()),
        (0, false) => Err(failed("a list could not be read: nothing is proved")),
        (1, _) => Err(failed(format!("1 discrepancy found; {NEXT_STEP}"))),
        (n, _) => Err(failed(format!("{n} discrepancies found; {NEXT_STEP}"))),
    }
}

/// Runs from the first list to the last row. A mismatch that is found from both sides counts as one discrepancy.
async fn run_to_completion(
    reconciler: &mut Reconciler,
    mut walk: ReconciliationCursor,
) -> (ReconciliationCursor, Vec<DiscrepancyDetails>) {
    let mut found: Vec<DiscrepancyDetails> = Vec::new();
    while !walk.is_complete() {
        for one in reconciler.step(&mut walk).await {
            if !found
                .iter()
                .any(|known| (known.source, &known.key) == (one.source, &one.key))
            {
                found.push(one);
            }
        }
    }
    (walk, found)
}

impl Report {
    fn of(walk: &ReconciliationCursor, found: &[DiscrepancyDetails]) -> Self {
        let discrepancies = found.iter().map(|one| {
            json!({
                "discrepancy_id": DiscrepancyId::for_entry(one.source, &one.key).to_string(),
                "kind": one.kind.name(), "source": one.source.name(), "key": one.key, "subject": one.subject,
                "internal": one.internal, "external": one.external,
            })
        });
        Self {
            compared: walk.compared,
            completed: !walk.skipped,
            discrepancies: discrepancies.collect(),
        }
    }

    /// The report of a running service.
    fn from_json(report: Value) -> Self {
        Self {
            compared: report["compared"].as_u64().unwrap_or_default(),
            completed: report["completed"] == true,
            discrepancies: report["discrepancies"].as_array().cloned().unwrap_or_default(),
        }
    }

    fn to_json(&self) -> Value {
        json!({"compared": self.compared, "completed": self.completed, "discrepancies": self.discrepancies})
    }

    fn print(&self) -> Result<(), CliError> {
        terminal::result(&format!("compared     {} entries", self.compared))?;
        for one in &self.discrepancies {
            let text = |name: &str, none: &str| one[name].as_str().unwrap_or(none).to_owned();
            terminal::result(&format!(
                "DISCREPANCY  {} in {}: {} ({}): internal {}, external {}",
                text("kind", "?"),
                text("source", "?"),
                text("key", "?"),
                text("subject", "not recorded"),
                text("internal", "none"),
                text("external", "none"),
            ))?;
        }
        if !self.completed {
            terminal::result("SKIPPED      a list could not be read completely")?;
        } else if self.discrepancies.is_empty() {
            terminal::result("No discrepancies.")?;
        }
        Ok(())
    }
}
