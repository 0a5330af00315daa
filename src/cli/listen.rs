//! `purser listen`: prints the account's events and resumes after a lost connection.

mod forward;

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use http::HeaderValue;
use http::header::AUTHORIZATION;
use reqwest::Url;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::handshake::client::Request;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{Connector, connect_async_tls_with_config};
use zeroize::Zeroizing;

use self::forward::Forwarder;
use super::http_client::{HttpResponse, is_tls};
use super::session::{SignInArgs, Signer};
use super::{CliError, Running, TlsArgs, terminal};
use purser_host::system::{SystemClock, SystemEntropy};

/// Print the account's events as they happen
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Wallet and server
    #[command(flatten)]
    pub sign_in: SignInArgs,
    /// Start after this event. Default: with the next one
    #[arg(long, value_name = "SEQ")]
    pub after: Option<u64>,
    /// Only these event types, separated by commas, for example card.ready,payout.*
    #[arg(long, value_delimiter = ',')]
    pub types: Vec<String>,
    /// Also post each event to this URL, signed like a webhook
    #[arg(long, value_name = "URL")]
    pub forward_to: Option<String>,
    /// Secret for the signatures: whsec_ and base64 of 32 bytes. Default: a new one, which is printed
    #[arg(long, value_name = "SECRET", env = "PURSER_WEBHOOK_SECRET", hide_env_values = true)]
    pub secret: Option<String>,
    /// Print each event as one line of JSON
    #[arg(long)]
    pub json: bool,
}

/// Close code: the token has expired.
const CLOSE_EXPIRED: u16 = 4001;
/// Close code: the account is frozen.
const CLOSE_FROZEN: u16 = 4003;
/// Close code: the events after our cursor are no longer stored.
const CLOSE_CURSOR_EXPIRED: u16 = 4010;
/// Close code: we read too slowly.
const CLOSE_SLOW: u16 = 4008;

/// The server sends pings; a connection that is silent for longer is lost.
const IDLE_TIMEOUT: Duration = Duration::from_secs(120);

const MAX_BACKOFF: Duration = Duration::from_secs(30);

/// Why a connection ended.
#[derive(Debug, PartialEq, Eq)]
enum ConnectionEnd {
    /// The token was rejected.
    Unauthorized,
    /// The token was valid and has expired.
    Expired,
    /// Reconnect at once: we were too slow, or the connection worked for a while.
    Reconnect(String),
    /// The connection failed, or was closed at once.
    Failed(String),
}

/// Position in the stream.
struct StreamCursor {
    after: Option<u64>,
    types: Vec<String>,
    as_json: bool,
    /// Whether the last message was a new event.
    is_new: bool,
}

/// Runs until interrupted.
///
/// # Errors
/// [`CliError`] when the sign-in fails or the server rejects the token twice in a row. A lost connection is no error.
pub fn run(args: Args) -> Running {
    Box::pin(execute(args))
}

async fn execute(args: Args) -> Result<(), CliError> {
    let mut signer = args.sign_in.signer()?;
    // The sign-in uses HTTP, whatever scheme the address has. All are special schemes, so this cannot fail.
    let scheme = if is_tls(&signer.server) { "https" } else { "http" };
    let _ = signer.server.set_scheme(scheme);
    let tls = &args.sign_in.account.tls;
    let cursor = StreamCursor {
        after: args.after,
        types: args.types,
        as_json: args.json,
        is_new: false,
    };
    let forwarder = match &args.forward_to {
        Some(target) => Some(Forwarder::new(target, tls, args.secret, &SystemEntropy)?),
        None => None,
    };
    tokio::select! {
        biased;
        _ = tokio::signal::ctrl_c() => Ok(()),
        ended = follow(&signer, tls, cursor, forwarder.as_ref()) => ended,
    }
}

/// Reconnects until interrupted, with growing pauses after failures.
async fn follow(
    signer: &Signer,
    tls: &TlsArgs,
    mut cursor: StreamCursor,
    forwarder: Option<&Forwarder>,
) -> Result<(), CliError> {
    let (server, remote, session) = (&signer.server, &signer.remote, signer.session());
    let connector = match is_tls(server) {
        true => Connector::Rustls(Arc::new(tls.config()?)),
        false => Connector::Plain,
    };
    let mut pause = Duration::from_secs(1);
    let mut refused = false;
    loop {
        let token = match session.id_token(remote, server).await {
            Ok(token) => token,
            // A frozen account may be unfrozen later, and stopped agents resumed, and the client should receive the events from then on.
            Err(error) if error.is_transient() || error.is_frozen() => {
                pause = backoff(pause, &error.to_string()).await;
                continue;
            }
            Err(error) => return Err(error),
        };
        match connect((server, &connector), &token, &mut cursor, forwarder).await? {
            ConnectionEnd::Unauthorized if refused => {
                return Err(CliError::Rejected {
                    status: 401,
                    what: "the stream does not take the token".to_owned(),
                });
            }
            ConnectionEnd::Unauthorized => {
                refused = true;
                session.expire(server)?;
            }
            ConnectionEnd::Expired => {
                refused = false;
                session.expire(server)?;
            }
            ConnectionEnd::Reconnect(message) => {
                refused = false;
                pause = Duration::from_secs(1);
                backoff(pause, &message).await;
            }
            ConnectionEnd::Failed(message) => pause = backoff(pause, &message).await,
        }
    }
}

/// Prints the reason, waits, and returns the next pause.
async fn backoff(pause: Duration, why: &str) -> Duration {
    terminal::progress(&format!("{why}; reconnecting in {} s", pause.as_secs()));
    tokio::time::sleep(pause).await;
    (pause * 2).min(MAX_BACKOFF)
}

/// The upgrade request, with the token in its header: a rejection is then an HTTP response.
fn stream_request(address: &Url, token: &str) -> Result<Request, CliError> {
    let no_request = |error: Error| CliError::Connection(format!("no request: {error}"));
    let mut request = address.as_str().into_client_request().map_err(no_request)?;
    let bearer = Zeroizing::new(format!("Bearer {token}"));
    let mut bearer = HeaderValue::from_str(&bearer).map_err(|error| no_request(error.into()))?;
    bearer.set_sensitive(true);
    request.headers_mut().insert(AUTHORIZATION, bearer);
    Ok(request)
}

/// One connection: subscribes and prints until it ends.
async fn connect(
    (server, connector): (&Url, &Connector),
    token: &str,
    cursor: &mut StreamCursor,
    forwarder: Option<&Forwarder>,
) -> Result<ConnectionEnd, CliError> {
    let mut address = server.clone();
    let _ = address.set_scheme(if is_tls(server) { "wss" } else { "ws" });
    address.set_path("/stream");
    address.set_query(None);
    let request = stream_request(&address, token)?;
    let mut socket = match connect_async_tls_with_config(request, None, false, Some(connector.clone())).await {
        Ok((socket, _)) => socket,
        Err(Error::Http(response)) if response.status() == 401 => return Ok(ConnectionEnd::Unauthorized),
        Err(Error::Http(response)) => {
            return Ok(ConnectionEnd::Failed(
                HttpResponse::from(*response).to_error().to_string(),
            ));
        }
        Err(error) => return Ok(ConnectionEnd::Failed(format!("no connection: {error}"))),
    };
    if let Err(error) = socket.send(Message::text(cursor.subscribe().to_string())).await {
        return Ok(ConnectionEnd::Failed(format!("connection lost: {error}")));
    }
    let mut worked = false;
    loop {
        let Ok(message) = tokio::time::timeout(IDLE_TIMEOUT, socket.next()).await else {
            return Ok(ConnectionEnd::Reconnect("the connection went silent".to_owned()));
        };
        let lost = |why: String| {
            if worked {
                ConnectionEnd::Reconnect(why)
            } else {
                ConnectionEnd::Failed(why)
            }
        };
        match message {
            Some(Ok(Message::Text(text))) => {
                if let Some(end) = cursor.handle_message(&text)? {
                    return Ok(end);
                }
                if let Some(forwarder) = forwarder.filter(|_| cursor.is_new) {
                    forwarder.forward(&text, &SystemClock).await;
                }
                if !worked {
                    let place = cursor
                        .after
                        .map_or(String::new(), |after| format!(" after event {after}"));
                    terminal::progress(&format!("listening to {address}{place}"));
                }
                worked = true;
            }
            Some(Ok(Message::Close(frame))) => {
                let (code, why) = frame.map_or((1005, String::new()), |f| (u16::from(f.code), f.reason.to_string()));
                return Ok(match code {
                    CLOSE_EXPIRED if worked => ConnectionEnd::Expired,
                    CLOSE_EXPIRED => ConnectionEnd::Unauthorized,
                    // The token stays valid. The next attempt gets the operator's message until the account is
                    // unfrozen.
                    CLOSE_FROZEN => ConnectionEnd::Failed("the account is frozen".to_owned()),
                    CLOSE_CURSOR_EXPIRED => cursor.skip(&why),
                    CLOSE_SLOW => ConnectionEnd::Reconnect("too slow for the stream".to_owned()),
                    _ => lost(format!("the server closed the stream ({code} {why})")),
                });
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => return Ok(lost(format!("connection lost: {error}"))),
            None => return Ok(lost("the connection ended".to_owned())),
        }
    }
}

impl StreamCursor {
    fn subscribe(&self) -> Value {
        let mut message = json!({"type": "subscribe"});
        if let Some(after) = self.after {
            message["after"] = json!(after);
        }
        if !self.types.is_empty() {
            message["types"] = json!(self.types);
        }
        message
    }

    /// Continues with the oldest stored event. The events before it are lost, and requesting them again would fail.
    fn skip(&mut self, reason: &str) -> ConnectionEnd {
        let oldest = serde_json::from_str::<Value>(reason)
            .ok()
            .and_then(|reason| reason["oldest"].as_u64());
        match oldest.and_then(|oldest| oldest.checked_sub(1)) {
            Some(before) if Some(before) != self.after => {
                self.after = Some(before);
                ConnectionEnd::Reconnect("events were missed that are no longer kept".to_owned())
            }
            _ => ConnectionEnd::Failed("the server no longer keeps the events that were asked for".to_owned()),
        }
    }

    /// Prints an event once and advances the cursor. Unknown kinds of messages are ignored.
    fn handle_message(&mut self, text: &str) -> Result<Option<ConnectionEnd>, CliError> {
        let Ok(mut message) = serde_json::from_str::<Value>(text) else {
            return Ok(Some(ConnectionEnd::Failed(
                "the server sent something that is not JSON".to_owned(),
            )));
        };
        self.is_new = false;
        match message["type"].as_str() {
            Some("event") => {
                let event = message["event"].take();
                let seq = event["seq"].as_u64();
                if seq.is_some() && seq <= self.after {
                    return Ok(None);
                }
                self.print(&event)?;
                self.after = seq.or(self.after);
                self.is_new = true;
                Ok(None)
            }
            // Everything up to this position was received. Resume here, even without an event that passed the filter.
            Some("ping") => {
                self.after = self.after.max(message["cursor"].as_u64());
                Ok(None)
            }
            // The same request would fail again.
            Some("error") => {
                let text = |field: &str| message[field].as_str().unwrap_or_default();
                Err(CliError::Usage(format!(
                    "the stream was rejected: {}: {}",
                    text("code"),
                    text("error")
                )))
            }
            _ => Ok(None),
        }
    }

    fn print(&self, event: &Value) -> Result<(), CliError> {
        if self.as_json {
            return terminal::json(event, false);
        }
        let text = |field: &str| event[field].as_str().unwrap_or("-").to_owned();
        let object = event
            .get("data")
            .and_then(|data| data.get("object"))
            .unwrap_or(&Value::Null);
        terminal::result(&format!(
            "{} {} {} {object}",
            event["seq"],
            text("created_at"),
            text("type")
        ))
    }
}

#[cfg(test)]
mod tests;
