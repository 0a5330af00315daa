//! `purser admin notes`: notes of operators on customers.

use serde_json::json;

use super::AdminClient;
use crate::CliError;
use crate::http_client::HttpResponse;

/// Commands for notes on customers.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum NoteCommand {
    /// Write a note on a customer; it can't be changed or removed
    Add {
        /// Exact wallet address
        wallet: String,
        /// The note, up to 2,000 characters
        #[arg(long, value_name = "TEXT")]
        text: String,
    },
    /// List the notes on a customer, newest first
    List {
        /// Exact wallet address
        wallet: String,
        /// `next_before` of the previous page
        #[arg(long)]
        before: Option<String>,
    },
}

/// Calls the service.
pub(super) async fn run(client: &AdminClient, act: NoteCommand) -> Result<HttpResponse, CliError> {
    match act {
        NoteCommand::Add { wallet, text } => {
            client
                .post("/admin/notes", json!({"wallet": wallet, "text": text}))
                .await
        }
        NoteCommand::List { wallet, before } => {
            let query = [("wallet", Some(wallet.as_str())), ("before", before.as_deref())];
            client.query("/admin/notes", &query).await
        }
    }
}
