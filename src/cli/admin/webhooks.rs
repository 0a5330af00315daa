//! `purser admin webhooks`: webhook endpoints and their deliveries.

use serde_json::json;

use super::AdminClient;
use crate::CliError;
use crate::http_client::HttpResponse;

/// Commands for webhook endpoints and deliveries.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum WebhookCommand {
    /// List endpoints, of one account or of all
    List {
        /// Exact wallet address of the account
        #[arg(long)]
        wallet: Option<String>,
    },
    /// List deliveries of an endpoint or an account, newest first
    Deliveries {
        /// A webhook_id, or the exact wallet address of the account
        webhook_id: String,
        /// Status to show: pending, delivered, failed or dropped
        #[arg(long)]
        status: Option<String>,
    },
    /// Redeliver one event, or all events since a time that an endpoint has not received
    Redeliver {
        /// A delivery_id, or with --since a webhook_id
        delivery_id: String,
        /// RFC 3339, UTC: 2026-11-20T21:40:00Z
        #[arg(long)]
        since: Option<String>,
    },
}

/// Calls the service.
pub(super) async fn run(client: &AdminClient, act: WebhookCommand) -> Result<HttpResponse, CliError> {
    match act {
        WebhookCommand::List { wallet: None } => client.get("/admin/webhooks").await,
        WebhookCommand::List { wallet: Some(wallet) } => client.get(&format!("/admin/webhooks?wallet={wallet}")).await,
        WebhookCommand::Deliveries { webhook_id: of, status } => {
            let by = match of.starts_with("wh_") {
                true => "webhook_id",
                false => "wallet",
            };
            let status = status.map_or_else(String::new, |status| format!("&status={status}"));
            client
                .get(&format!("/admin/webhooks/deliveries?{by}={of}{status}"))
                .await
        }
        WebhookCommand::Redeliver { delivery_id: id, since } => {
            let body = match since {
                Some(since) => json!({"webhook_id": id, "since": since}),
                None => json!({"delivery_id": id}),
            };
            client.post("/admin/webhooks/redeliver", body).await
        }
    }
}
