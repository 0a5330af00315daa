//! `purser reconcile`: one walk through the books and everybody's lists; beside a running service, what that has found by its own
//! walks. It writes nothing.

use std::sync::Arc;

use purser_actors::difference::Found;
use purser_actors::engine::{Reconciler, Walk};
use purser_actors::id::DifferenceId;
use purser_storage::Store;
use serde_json::{Value, json};

use super::store::{self, failed, find};
use super::{CliError, serve, terminal};
use crate::service::parts;

/// Hold the books against the chains' and the providers' own lists, once. Exit status 1 if anything differs, or if a list
/// could not be read
#[derive(Clone, Debug, clap::Args)]
pub struct ReconcileArgs {
    /// Where the data is
    #[command(flatten)]
    pub serve: serve::Args,
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
}

/// Runs `purser reconcile`.
///
/// # Errors
/// When the store cannot be opened, a list cannot be read, or anything differs.
pub async fn run(args: ReconcileArgs) -> Result<(), CliError> {
    let config = args.serve.settings()?;
    let (store, data) = match find(&config)? {
        store::Found::Store(store, data) => (store, data),
        store::Found::Service(running) => return print_running(&args, &running.differences().await?),
    };
    let as_store: Arc<dyn Store> = store.clone();
    let world = parts::open_world(&config, &data, &*as_store).await.map_err(failed)?;
    let reconciling = parts::reconciling(&config, &world);
    let walk = Walk::read(&*as_store).await.map_err(failed)?;
    let reconciler = Reconciler::new(as_store, world.clock.clone(), reconciling)
        .await
        .map_err(failed)?;
    let (walk, found) = whole(reconciler, walk.again()).await;
    store.close();
    if args.json {
        terminal::json(&report(&walk, &found), true)?;
    } else {
        print(&walk, &found)?;
    }
    match (found.len(), walk.skipped) {
        (0, false) => Ok(()),
        (0, true) => Err(failed("a list could not be read: nothing is proved")),
        (1, _) => Err(failed("books and lists differ: 1 difference")),
        (n, _) => Err(failed(format!("books and lists differ: {n} differences"))),
    }
}

/// What a service that runs has found by itself: it looks all the time.
fn print_running(args: &ReconcileArgs, report: &Value) -> Result<(), CliError> {
    let differences = report["differences"].as_array().map_or(0, Vec::len);
    terminal::json(report, args.json)?;
    match (differences, report["complete"] == true) {
        (0, true) => Ok(()),
        (0, false) => Err(failed(
            "the service has not yet compared everything once: nothing is proved",
        )),
        (1, _) => Err(failed("books and lists differ: 1 difference")),
        (n, _) => Err(failed(format!("books and lists differ: {n} differences"))),
    }
}

/// From the first list to the last row. What both sides show is found from both, and is one difference.
async fn whole(mut reconciler: Reconciler, mut walk: Walk) -> (Walk, Vec<Found>) {
    let mut found: Vec<Found> = Vec::new();
    while !walk.is_over() {
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

fn report(walk: &Walk, found: &[Found]) -> Value {
    let differences = found.iter().map(|one| {
        json!({
            "difference_id": DifferenceId::of(one.source, &one.key).to_string(),
            "kind": one.kind.name(), "source": one.source.name(), "key": one.key, "subject": one.subject,
            "ours": one.ours, "theirs": one.theirs,
        })
    });
    json!({
        "compared": walk.compared, "complete": !walk.skipped, "differences": differences.collect::<Vec<_>>(),
    })
}

fn print(walk: &Walk, found: &[Found]) -> Result<(), CliError> {
    terminal::result(&format!("compared  {} entries of lists and books", walk.compared))?;
    for one in found {
        let side = |side: &Option<String>| side.clone().unwrap_or_else(|| "nothing".to_owned());
        let subject = one.subject.as_deref().unwrap_or("in no book");
        terminal::result(&format!(
            "DIFFERS   {} at {}: {} ({subject}): ours {}, theirs {}",
            one.kind.name(),
            one.source.name(),
            one.key,
            side(&one.ours),
            side(&one.theirs),
        ))?;
    }
    if walk.skipped {
        terminal::result("LEFT OUT  a list that could not be read to its end")?;
    } else if found.is_empty() {
        terminal::result("Books and lists agree.")?;
    }
    Ok(())
}
