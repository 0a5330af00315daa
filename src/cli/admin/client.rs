//! Client of the operator API: finds the address and the token.

use std::path::Path;

use reqwest::Url;
use serde_json::Value;
use zeroize::Zeroizing;

use super::{Args, LoadSettings, describe_error};
use crate::CliError;
use crate::http_client::{HttpClient, HttpResponse, at, parse_url, reachable};
use crate::terminal;
use purser_config::DataDir;

/// The operator API with its token.
pub(super) struct AdminClient {
    remote: HttpClient,
    url: Url,
    token: Zeroizing<String>,
    /// Source of the token.
    token_of: String,
}

impl AdminClient {
    pub(super) fn of(args: &Args, settings: LoadSettings) -> Result<Self, CliError> {
        let config = settings(args.config.clone(), args.data.clone())?;
        let data = DataDir::at(&config.data_dir);
        let listen = data.operator_address().or(config.operator.listen);
        let url = match (&args.url, listen) {
            (Some(url), _) => parse_url(url)?,
            (None, Some(listen)) if listen.port() != 0 => parse_url(&format!("http://{}", reachable(listen)))?,
            (None, _) => return Err(CliError::Usage("say where the service is, with --url URL".to_owned())),
        };
        let (token, token_of) = match (&args.token_file, std::env::var("PURSER_OPERATOR_TOKEN")) {
            (Some(path), _) => read(path)?,
            (None, Ok(token)) => (Zeroizing::new(token), "$PURSER_OPERATOR_TOKEN".to_owned()),
            (None, Err(_)) => read(&data.operator_token())?,
        };
        let token = Zeroizing::new(token.trim().to_owned());
        if token.is_empty() || !token.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(CliError::Usage(format!("{token_of} holds no token, which is one line")));
        }
        Ok(Self {
            remote: HttpClient::new(&args.tls, &url)?,
            url,
            token,
            token_of,
        })
    }

    /// Prints the response, or returns the server's error. For an invalid token the error names the token's source.
    pub(super) fn check(&self, answer: &HttpResponse) -> Result<(), CliError> {
        describe_error(answer).map_err(|error| match error {
            CliError::Rejected { status: 401, what } => CliError::Rejected {
                status: 401,
                what: format!("{what} The token was that of {}.", self.token_of),
            },
            error => error,
        })
    }

    pub(super) async fn get(&self, path: &str) -> Result<HttpResponse, CliError> {
        let bearer = Zeroizing::new(format!("Bearer {}", *self.token));
        self.remote
            .get(&at(&self.url, path)?, &[("authorization", &bearer)])
            .await
    }

    /// Prints the matching customers. No match is an error, unless more pages follow.
    pub(super) async fn search_customers(
        &self,
        quoted: &str,
        after: Option<&str>,
        limit: u8,
    ) -> Result<HttpResponse, CliError> {
        let mut url = at(&self.url, "/admin/customers")?;
        let limit = limit.to_string();
        url.query_pairs_mut()
            .append_pair("q", quoted)
            .append_pair("limit", &limit);
        if let Some(after) = after {
            url.query_pairs_mut().append_pair("after", after);
        }
        let bearer = Zeroizing::new(format!("Bearer {}", *self.token));
        let answer = self.remote.get(&url, &[("authorization", &bearer)]).await?;
        let nothing = answer.body["found"].as_array().is_some_and(Vec::is_empty);
        if !nothing || !answer.body["next_after"].is_null() {
            return Ok(answer);
        }
        let of_call = match quoted.trim().starts_with("req_") {
            true => {
                ": a Request-Id finds what its call created, and a call that was rejected, or only read, created nothing"
            }
            false => "",
        };
        Err(CliError::NotFound(format!("no customer matches {quoted}{of_call}")))
    }

    pub(super) async fn page(&self, path: &str, after: Option<String>) -> Result<HttpResponse, CliError> {
        let query = after.map(|after| format!("?after={after}"));
        self.get(&format!("{path}{}", query.unwrap_or_default())).await
    }

    /// A GET with these parameters; those without a value are left out.
    pub(super) async fn query(&self, path: &str, query: &[(&str, Option<&str>)]) -> Result<HttpResponse, CliError> {
        let mut url = at(&self.url, path)?;
        for (name, value) in query.iter().filter_map(|(name, value)| Some((name, (*value)?))) {
            url.query_pairs_mut().append_pair(name, value);
        }
        let bearer = Zeroizing::new(format!("Bearer {}", *self.token));
        self.remote.get(&url, &[("authorization", &bearer)]).await
    }

    /// Prints what the stream of operators sends, one JSON object per line, until the service closes it.
    pub(super) async fn watch(&self, after: Option<&str>) -> Result<(), CliError> {
        let mut url = at(&self.url, "/admin/stream")?;
        if let Some(after) = after {
            url.query_pairs_mut().append_pair("after", after);
        }
        let bearer = Zeroizing::new(format!("Bearer {}", *self.token));
        let headers = [("authorization", &**bearer), ("accept", "text/event-stream")];
        let mut kind = String::new();
        let print = |line: &str| {
            if let Some(name) = line.strip_prefix("event: ") {
                name.clone_into(&mut kind);
            }
            match line.strip_prefix("data: ").map(serde_json::from_str::<Value>) {
                Some(Ok(data)) => terminal::json(&serde_json::json!({"type": kind, "data": data}), false),
                _ => Ok(()),
            }
        };
        self.remote.lines(&url, &headers, print).await
    }

    pub(super) async fn post(&self, path: &str, body: Value) -> Result<HttpResponse, CliError> {
        self.remote.post_as(&self.token, &at(&self.url, path)?, &body).await
    }
}

/// Reads a token; also returns the name of its file.
fn read(path: &Path) -> Result<(Zeroizing<String>, String), CliError> {
    let file = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => Ok((Zeroizing::new(text), file)),
        Err(source) => Err(CliError::Io {
            what: format!(
                "no operator's token in {file} (--token-file, $PURSER_OPERATOR_TOKEN or --data says where it is)"
            ),
            source,
        }),
    }
}
