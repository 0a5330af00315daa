//! `purser admin webhooks`: endpoints that events are posted to, and what came of it.

use serde_json::json;

use super::AdminClient;
use crate::cli::CliError;
use crate::cli::http_client::HttpResponse;

/// What is done with endpoints and deliveries.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum WebhookCommand {
    /// Endpoints, of one account or of all
    List {
        /// The account's exact address
        #[arg(long)]
        wallet: Option<String>,
    },
    /// What was posted to an endpoint, or for an account, the newest first
    Deliveries {
        /// A webhook_id, or the account's exact address
        webhook_id: String,
        /// pending, delivered, failed or dropped only
        #[arg(long)]
        status: Option<String>,
    },
    /// Post one delivery again, or everything since a moment that an endpoint has not received
    Redeliver {
        /// A delivery_id, or with --since a webhook_id
        delivery_id: String,
        /// RFC 3339, UTC: 2026-11-20T21:40:00Z
        #[arg(long)]
        since: Option<String>,
    },
}

/// Asks the service.
pub(super) async fn run(desk: &AdminClient, act: WebhookCommand) -> Result<HttpResponse, CliError> {
    match act {
        WebhookCommand::List { wallet: None } => desk.get("/admin/webhooks").await,
        WebhookCommand::List { wallet: Some(wallet) } => desk.get(&format!("/admin/webhooks?wallet={wallet}")).await,
        WebhookCommand::Deliveries { webhook_id: of, status } => {
            let by = match of.starts_with("wh_") {
                true => "webhook_id",
                false => "wallet",
            };
            let status = status.map_or_else(String::new, |status| format!("&status={status}"));
            desk.get(&format!("/admin/webhooks/deliveries?{by}={of}{status}")).await
        }
        WebhookCommand::Redeliver { delivery_id: id, since } => {
            let body = match since {
                Some(since) => json!({"webhook_id": id, "since": since}),
                None => json!({"delivery_id": id}),
            };
            desk.post("/admin/webhooks/redeliver", body).await
        }
    }
}
