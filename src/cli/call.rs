//! `purser call ROUTE`: a call with a token, as an agent makes it. A call over a limit of the account owner waits for the
//! owner's approval.

use std::io::Read as _;
use std::path::PathBuf;
use std::time::Duration;

use purser_actors::id::Network;
use purser_actors::port::Entropy as _;
use reqwest::Url;
use serde_json::Value;
use zeroize::Zeroizing;

use super::http_client::{HttpClient, HttpResponse, at};
use super::session::Session;
use super::{CliError, NetworkArg, Running, ServerArgs, TlsArgs, WalletArgs, terminal};
use purser_host::system::SystemEntropy;
use purser_protocol::wallet::TestWallet;

/// Interval between reads of an approval.
const POLL: Duration = Duration::from_secs(3);

/// Call a route or callable function with a token
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Route or callable function, for example /withdraw or /agentX402Pay
    pub route: String,
    /// JSON body; - reads it from standard input. Without one the route is read with GET
    pub body: Option<String>,
    /// Server address. Default: where the server of the data directory listened last, else http://127.0.0.1:8402
    #[arg(long)]
    pub url: Option<String>,
    /// Service to use without a URL
    #[command(flatten)]
    pub server: ServerArgs,
    /// Network of the wallet's account
    #[arg(long, value_enum, default_value = "base")]
    pub network: NetworkArg,
    /// File with an id_token, for example from agentAuth. Default: the wallet signs in
    #[arg(long, value_name = "FILE", env = "PURSER_TOKEN_FILE")]
    pub token_file: Option<PathBuf>,
    /// If the account's owner must approve the call: wait for that, and then make it
    #[arg(long)]
    pub wait: bool,
    /// Idempotency-Key: the same key and body are executed at most once in 24 hours. Default: a random one
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
    /// Wallet to sign in with
    #[command(flatten)]
    pub file: WalletArgs,
    /// Certificates to trust
    #[command(flatten)]
    pub tls: TlsArgs,
}

/// Runs the command.
///
/// # Errors
/// See [`CliError`]. [`CliError::ApprovalRequired`] without `--wait`.
pub fn run(args: Args) -> Running {
    Box::pin(execute(args))
}

async fn execute(args: Args) -> Result<(), CliError> {
    let server = args.server.server(args.url.as_deref())?;
    let route = at(&server, &args.route)?;
    let body = args.body.as_deref().map(parse_body).transpose()?;
    let path = args.file.path()?;
    let wallet = match args.token_file {
        Some(_) => None,
        None => Some(TestWallet::load_or_create(&path, &SystemEntropy)?.0),
    };
    let session = wallet
        .as_ref()
        .map(|wallet| Session::new(&path, wallet, Network::from(args.network)));
    let caller = Caller {
        remote: HttpClient::new(&args.tls, &server)?,
        server,
        session,
        token_file: args.token_file.clone(),
    };
    let key = args.idempotency_key.clone();
    let key = key.unwrap_or_else(|| format!("cli-{:032x}", SystemEntropy.random()));
    let answer = caller.call(&route, body.as_ref(), &key).await?;
    let Some(approval) = Waiting::of(&answer) else {
        return print(&answer);
    };
    if !args.wait {
        terminal::json(&answer.body, true)?;
        return Err(approval.required(&key));
    }
    terminal::progress(&format!(
        "{} waits for the account's owner, until {}",
        approval.id, approval.expires_at
    ));
    caller.wait_for(&approval, &key).await?;
    let answer = caller.call(&route, body.as_ref(), &key).await?;
    match Waiting::of(&answer) {
        // Over a limit that the owner did not see, or it took longer than the approval is valid.
        Some(approval) => Err(approval.required(&key)),
        None => print(&answer),
    }
}

fn parse_body(text: &str) -> Result<Value, CliError> {
    let text = match text {
        "-" => {
            let mut read = String::new();
            let input = std::io::stdin().read_to_string(&mut read);
            input.map_err(|source| CliError::Io {
                what: "standard input".to_owned(),
                source,
            })?;
            read
        }
        text => text.to_owned(),
    };
    serde_json::from_str(&text).map_err(|error| CliError::Usage(format!("the body is not JSON: {error}")))
}

fn print(answer: &HttpResponse) -> Result<(), CliError> {
    match answer.status {
        200..=299 => terminal::json(&answer.body, true),
        _ => Err(error_of(answer)),
    }
}

/// The error of a route, or of a callable function.
fn error_of(answer: &HttpResponse) -> CliError {
    let text = |name: &str| answer.body.get("error")?.get(name)?.as_str();
    match (text("code"), text("message")) {
        (Some(code), Some(message)) => CliError::Rejected {
            status: answer.status,
            what: format!("{code}: {message}"),
        },
        _ => answer.to_error(),
    }
}

/// An approval that a call waits for.
struct Waiting {
    id: String,
    expires_at: String,
}

impl Waiting {
    /// The approval of a 202, of a route or of a callable function.
    fn of(answer: &HttpResponse) -> Option<Self> {
        let body = answer.body.get("result").unwrap_or(&answer.body);
        let text = |names: [&str; 2]| {
            let found = names.iter().find_map(|name| body.get(*name)?.as_str());
            found.map(str::to_owned)
        };
        let waits = answer.status == 202 && body.get("status").and_then(Value::as_str) == Some("approval_required");
        waits.then_some(())?;
        Some(Self {
            id: text(["approval_id", "approvalId"])?,
            expires_at: text(["expires_at", "expiresAt"]).unwrap_or_default(),
        })
    }

    fn required(self, key: &str) -> CliError {
        CliError::ApprovalRequired {
            id: self.id,
            until: self.expires_at,
            key: key.to_owned(),
        }
    }
}

struct Caller<'a> {
    remote: HttpClient,
    server: Url,
    /// Absent with a token from a file.
    session: Option<Session<'a>>,
    token_file: Option<PathBuf>,
}

impl Caller<'_> {
    async fn token(&self) -> Result<Zeroizing<String>, CliError> {
        match (&self.session, &self.token_file) {
            (Some(session), _) => session.signed_in_token(&self.remote, &self.server).await,
            (None, Some(file)) => {
                let read = std::fs::read_to_string(file).map(Zeroizing::new);
                let read = read.map_err(|source| CliError::Io {
                    what: file.display().to_string(),
                    source,
                })?;
                Ok(Zeroizing::new(read.trim().to_owned()))
            }
            (None, None) => Err(CliError::Usage("there is no token".to_owned())),
        }
    }

    /// Makes the call. A token that the server does not accept any more is replaced once.
    async fn call(&self, route: &Url, body: Option<&Value>, key: &str) -> Result<HttpResponse, CliError> {
        let mut is_repeated = false;
        loop {
            let bearer = Zeroizing::new(format!("Bearer {}", *self.token().await?));
            let answer = match body {
                None => self.remote.get(route, &[("authorization", &bearer)]).await,
                Some(body) => {
                    let headers = [("authorization", bearer.as_str()), ("idempotency-key", key)];
                    let sent = self.remote.post_with(route, &headers, Some(body)).await;
                    sent.inspect_err(|_| {
                        terminal::progress(&format!(
                            "whether the call was executed is not known: repeat it with --idempotency-key {key}"
                        ));
                    })
                }
            }?;
            match (&self.session, answer.status) {
                (Some(session), 401) if !is_repeated => {
                    session.expire(&self.server)?;
                    is_repeated = true;
                }
                _ => return Ok(answer),
            }
        }
    }

    /// Waits until the owner has decided.
    async fn wait_for(&self, approval: &Waiting, key: &str) -> Result<(), CliError> {
        let route = at(&self.server, &format!("/get-approval?approval_id={}", approval.id))?;
        loop {
            tokio::time::sleep(POLL).await;
            let read = match self.call(&route, None, key).await {
                Ok(answer) if answer.is_success() => answer,
                Ok(answer) => {
                    let error = answer.to_error();
                    if error.is_transient() {
                        continue;
                    }
                    return Err(error);
                }
                Err(error) if error.is_transient() => continue,
                Err(error) => return Err(error),
            };
            match read.body.get("status").and_then(Value::as_str).unwrap_or_default() {
                "pending" => {}
                "approved" => {
                    terminal::progress("approved");
                    return Ok(());
                }
                other => {
                    return Err(CliError::NotApproved(format!(
                        "{} is {other}: nothing was done",
                        approval.id
                    )));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{HttpResponse, Waiting, error_of};
    use serde_json::json;

    #[test]
    fn errors_of_callable_functions_have_their_code() {
        let answer = HttpResponse {
            status: 404,
            headers: http::HeaderMap::new(),
            body: json!({"error": {"code": "agent_wallet_not_found", "message": "There is none.", "status": 404}}),
        };
        let error = error_of(&answer).to_string();
        assert_eq!(error, "the server answered 404: agent_wallet_not_found: There is none.");
    }

    #[test]
    fn a_202_that_waits_is_recognised() {
        let table = [
            (
                202,
                json!({"success": false, "status": "approval_required", "approval_id": "sap_1", "expires_at": "t"}),
                true,
            ),
            (
                202,
                json!({"result": {"status": "approval_required", "approvalId": "sap_1", "expiresAt": "t"}}),
                true,
            ),
            (202, json!({"success": true, "withdrawal": {"id": "wd_1"}}), false),
            (
                200,
                json!({"result": {"status": "approval_required", "approvalId": "sap_1"}}),
                false,
            ),
            (202, json!({"status": "approval_required"}), false),
        ];
        for (status, body, waits) in table {
            let answer = HttpResponse {
                status,
                headers: http::HeaderMap::new(),
                body,
            };
            let found = Waiting::of(&answer);
            assert_eq!(
                found.map(|one| one.id),
                waits.then(|| "sap_1".to_owned()),
                "{}",
                answer.body
            );
        }
    }
}
