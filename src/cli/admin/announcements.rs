//! `purser admin announcements`: the operators' webhook.

use serde_json::json;

use super::AdminClient;
use crate::CliError;
use crate::http_client::HttpResponse;

/// Commands for the operators' webhook.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum AnnouncementCommand {
    /// List what was announced, newest first
    List {
        /// `next_after` of the previous page
        #[arg(long)]
        after: Option<String>,
    },
    /// Send a test message to operator.webhook_url
    Test,
}

/// Calls the service.
pub(super) async fn run(client: &AdminClient, act: AnnouncementCommand) -> Result<HttpResponse, CliError> {
    match act {
        AnnouncementCommand::List { after } => client.page("/admin/announcements", after).await,
        AnnouncementCommand::Test => client.post("/admin/announcements/test", json!({})).await,
    }
}
