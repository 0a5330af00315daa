//! `purser backup`, `purser verify` and `purser reconcile` while a service runs on the data directory: they call it at
//! the operator address, with a token of the data directory or of the environment.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use purser_actors::id::{DocumentId, Network, Wallet};
use purser_actors::port::Clock as _;
use purser_storage::JournalStore;
use reqwest::{Client, RequestBuilder, Response, Url};
use serde_json::{Value, json};
use tempfile::NamedTempFile;
use tokio::net::TcpStream;
use zeroize::Zeroizing;

use super::store_commands::{check_documents, documents, failed};
use crate::cli::http_client::reachable;
use crate::cli::{CliError, terminal};
use crate::config::{Config, DataDir};
use crate::service::copies::documents_in;
use crate::service::store_version::{self, STORE_VERSION};
use crate::service::{chains, dependencies};
use crate::system::SystemClock;
use crate::vault::document_backup;
use crate::verify::{ChainList, ChainTransfer, VerifyReport};

/// A large store is copied before the first byte is sent.
const BACKUP_TIMEOUT: Duration = Duration::from_secs(3_600);

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// First interval between queries of a run's progress; each one is twice the previous, up to [`MAX_POLL_INTERVAL`].
const INITIAL_POLL_INTERVAL: Duration = Duration::from_millis(100);
const MAX_POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Operator token for a running service.
#[derive(Clone, Debug, clap::Args)]
pub struct TokenArgs {
    /// File with an operator token for a running server. Default: $PURSER_OPERATOR_TOKEN, else operator.token in the
    /// data directory
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
}

/// A running service, at the operator address.
pub(super) struct RunningService {
    client: Client,
    url: Url,
    token: Zeroizing<String>,
}

impl RunningService {
    /// The service that runs on this data directory.
    ///
    /// # Errors
    /// When it has no operator address, or there is no token.
    pub(super) fn of(config: &Config, token: &TokenArgs) -> Result<Self, CliError> {
        let root = &config.data_dir;
        let running = |what: &str| failed(format!("a service runs on {}: {what}", root.display()));
        let data = DataDir::at(root);
        let listen = data.operator_address().or(config.operator.listen);
        let listen = listen.filter(|listen| listen.port() != 0);
        let listen = listen.ok_or_else(|| running("stop it first, or give it an operator.listen"))?;
        let url = Url::parse(&format!("http://{}/copy", reachable(listen))).map_err(failed)?;
        let token = match (&token.token_file, std::env::var("PURSER_OPERATOR_TOKEN")) {
            (Some(file), _) => std::fs::read_to_string(file).map_err(|error| {
                let what = format!("the operator's token cannot be read from {}: {error}", file.display());
                running(&what)
            })?,
            (None, Ok(token)) => token,
            (None, Err(_)) => {
                let file = data.operator_token();
                std::fs::read_to_string(&file).map_err(|_| {
                    let file = file.display();
                    running(&format!(
                        "no operator's token in --token-file, $PURSER_OPERATOR_TOKEN or {file}"
                    ))
                })?
            }
        };
        let client = crate::outbound::client()
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(BACKUP_TIMEOUT)
            .build()
            .map_err(failed)?;
        Ok(Self {
            client,
            url,
            token: Zeroizing::new(token.trim().to_owned()),
        })
    }

    /// Whether something listens at its address.
    pub(super) async fn accepts_connections(&self) -> bool {
        let addresses = self.url.socket_addrs(|| None).unwrap_or_default();
        let connected = tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(&*addresses)).await;
        matches!(connected, Ok(Ok(_)))
    }

    /// The error of a service that has the store open and listens nowhere.
    pub(super) fn silence(&self, config: &Config) -> CliError {
        failed(format!(
            "another process has {} open, and nothing answers at http://{}: it is starting or ending; try again, or stop it",
            config.data_dir.display(),
            self.url.authority()
        ))
    }

    async fn get(&self, path: &str, query: &[(&str, &str)]) -> Result<Response, CliError> {
        let mut url = self.url.clone();
        url.set_path(path);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        self.send(self.client.get(url)).await
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, CliError> {
        let sent = request.bearer_auth(&*self.token).send().await;
        let answer = sent.map_err(|error| self.connection_error(&error))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        let body: Value = answer.json().await.unwrap_or_default();
        let text = |name: &str| body[name].as_str().unwrap_or("no words").to_owned();
        Err(CliError::Rejected {
            status: status.as_u16(),
            what: format!("{}: {}", text("code"), text("error")),
        })
    }

    fn connection_error(&self, error: &reqwest::Error) -> CliError {
        let at = self.url.authority();
        failed(format!(
            "the service at http://{at} does not answer, or broke off: {error}"
        ))
    }

    async fn json(&self, path: &str, query: &[(&str, &str)]) -> Result<Value, CliError> {
        let answer = self.get(path, query).await?;
        answer.json().await.map_err(|error| self.connection_error(&error))
    }

    /// Downloads a part of the copy into an unnamed file beside `place`. Only a piece of it is in memory at a time.
    async fn download_part(&self, part: &str, place: &Path) -> Result<NamedTempFile, CliError> {
        let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty());
        let written = |source| CliError::Io {
            what: format!("cannot write beside {}", place.display()),
            source,
        };
        let mut file = NamedTempFile::new_in(folder.unwrap_or(Path::new("."))).map_err(written)?;
        let mut answer = self.get("/copy", &[("part", part)]).await?;
        while let Some(chunk) = answer.chunk().await.map_err(|error| self.connection_error(&error))? {
            file.write_all(&chunk).map_err(written)?;
        }
        file.as_file().sync_all().map_err(written)?;
        Ok(file)
    }

    /// The chains' list, read after the store: it contains everything that the store has recorded.
    async fn chain(&self, config: &Config) -> Result<ChainList, CliError> {
        let mut all = ChainList::default();
        for network in Network::ALL {
            // Payments go to the treasury.
            let ours = config.payment.pay_to.wallet(network);
            let ours = ours.ok_or_else(|| failed("payment.pay_to is no address of its network"))?;
            let mut after = 0_u64;
            loop {
                let behind = after.to_string();
                let query = [("part", "transfers"), ("network", network.name()), ("after", &behind)];
                let page = self.json("/copy", &query).await?;
                let listed = page["transfers"].as_array().map(Vec::as_slice).unwrap_or_default();
                let Some(last) = listed.last() else { break };
                after = last["position"].as_u64().unwrap_or(u64::MAX);
                for one in listed.iter().filter(|one| one["reorged"] == false) {
                    let transfer = transfer(one).ok_or_else(|| failed("the chain's list cannot be read"))?;
                    if transfer.from == ours {
                        all.sent.push(transfer);
                    } else if transfer.to == ours {
                        all.received.push(transfer);
                    } else {
                        all.external.push(transfer);
                    }
                }
            }
        }
        Ok(all)
    }

    /// Checks the ledger as of one sequence of the running service.
    ///
    /// # Errors
    /// When the copy cannot be downloaded or read.
    pub(super) async fn verify(&self, config: &Config) -> Result<VerifyReport, CliError> {
        let scratch = tempfile::Builder::new()
            .prefix("verify.")
            .tempdir_in(&config.data_dir)
            .map_err(|source| CliError::Io {
                what: format!("cannot write into {}", config.data_dir.display()),
                source,
            })?;
        let rows = self.download_part("store", &scratch.path().join("rows")).await?;
        let data = DataDir::create(&scratch.path().join("data")).map_err(failed)?;
        let mark = JournalStore::restore(rows.path(), &data.store(), SystemClock.now().0).map_err(failed)?;
        let store = dependencies::open_store(config, &data).map_err(failed)?;
        store_version::check(&*store, STORE_VERSION).await.map_err(failed)?;
        // With other settings none of the transfers would belong to this service.
        chains::belongs(&*store, config).await.map_err(failed)?;
        // Read after the store, so that the list contains everything that the store has recorded.
        let chain = self.chain(config).await?;
        let report = crate::verify::verify(&*store, Some(&chain)).await.map_err(failed);
        store.close();
        terminal::progress(&format!(
            "as of sequence {} of the running server; stop it to check its events too",
            mark.seq
        ));
        report
    }

    /// Writes a backup of the running service.
    ///
    /// # Errors
    /// When a copy cannot be downloaded, is corrupt or cannot be written, or a document is missing. In the last case
    /// the backup contains everything else.
    pub(super) async fn backup(&self, config: &Config, file: &Path) -> Result<(), CliError> {
        let papers = document_backup::documents_path(file);
        let rows = self.download_part("store", file).await?;
        let mut named: BTreeSet<DocumentId> = BTreeSet::new();
        let mut unread = None;
        let seq = JournalStore::read_backup(rows.path(), &mut |key, row| match documents_in(key, row) {
            Ok(found) => named.extend(found),
            Err(error) => unread = Some(error),
        });
        let seq = match (seq, unread) {
            (Ok(seq), None) => seq,
            (Err(error), _) | (Ok(_), Some(error)) => return Err(failed(error)),
        };
        persist(rows, file)?;
        terminal::result(&format!("Backed up to {} (sequence {seq})", file.display()))?;
        if named.is_empty() {
            // A file of an earlier backup does not belong to this one.
            return match std::fs::remove_file(&papers) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed(error)),
                _ => Ok(()),
            };
        }
        let sealed = self.download_part("documents", &papers).await?;
        let held = document_backup::held(sealed.path()).map_err(failed)?;
        persist(sealed, &papers)?;
        let missing: Vec<DocumentId> = named.difference(&held).copied().collect();
        let with = papers.display();
        terminal::result(&format!(
            "Backed up {} to {with}",
            documents(named.len() - missing.len())
        ))?;
        check_documents(&missing, &DataDir::at(&config.data_dir))
    }

    /// Starts a reconciliation run in the running service, waits for it, and returns the report of `purser reconcile`.
    ///
    /// # Errors
    /// When the service does not answer, stops meanwhile, or has not finished within `patience`.
    pub(super) async fn compare(&self, patience: Duration) -> Result<Value, CliError> {
        // The time runs from the start of the run, so that a timeout of zero can't find a run that was quick.
        let timeout = tokio::time::sleep(patience);
        let mut url = self.url.clone();
        url.set_path("/admin/reconciliation/run");
        let answer = self.send(self.client.post(url).json(&json!({}))).await?;
        let begun: Value = answer.json().await.map_err(|error| self.connection_error(&error))?;
        let number = begun["run"]
            .as_u64()
            .ok_or_else(|| failed("the service's answer cannot be read"))?;
        let ended = tokio::select! {
            biased;
            () = timeout => return Err(failed(format!(
                "the service has not finished a comparison that began after this command within {} s: nothing is proved. It \
                 goes on; --timeout waits longer",
                patience.as_secs()
            ))),
            ended = self.wait_for_run(number) => ended?,
        };
        let discrepancies = self.open_discrepancies().await?;
        Ok(json!({"compared": ended["compared"], "completed": ended["completed"], "discrepancies": discrepancies}))
    }

    /// The first completed run with this number or a later one.
    async fn wait_for_run(&self, number: u64) -> Result<Value, CliError> {
        let (mut last, mut pause) = (0, INITIAL_POLL_INTERVAL);
        loop {
            let mut page = self.json("/admin/reconciliation", &[("limit", "1")]).await?;
            let ended = page["run"]["ended"].take();
            let at = ended["number"].as_u64().unwrap_or(0);
            if at >= number {
                return Ok(ended);
            }
            // Run numbers restart with the process, so this number would never be reached.
            if at < last {
                return Err(failed("the service was started again meanwhile: nothing is proved"));
            }
            last = at;
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(MAX_POLL_INTERVAL);
        }
    }

    /// All open discrepancies, oldest first.
    async fn open_discrepancies(&self) -> Result<Vec<Value>, CliError> {
        let (mut discrepancies, mut after) = (Vec::new(), None::<String>);
        loop {
            let query: Vec<(&str, &str)> = after.iter().map(|after| ("after", after.as_str())).collect();
            let mut page = self.json("/admin/reconciliation", &query).await?;
            if let Value::Array(found) = page["discrepancies"].take() {
                discrepancies.extend(found);
            }
            match page["next_after"].as_str() {
                Some(next) => after = Some(next.to_owned()),
                None => return Ok(discrepancies),
            }
        }
    }
}

fn transfer(listed: &Value) -> Option<ChainTransfer> {
    let wallet = |name: &str| listed[name].as_str()?.parse::<Wallet>().ok();
    Some(ChainTransfer {
        transaction: listed["transaction"].as_str()?.to_owned(),
        index: listed["index"].as_u64()?.try_into().ok()?,
        from: wallet("from")?,
        to: wallet("to")?,
        atomic: listed["atomic"].as_u64()?,
        at_ms: listed["at_ms"].as_u64()?,
        mark: match &listed["mark"] {
            Value::Null => None,
            mark => Some(hex::decode(mark.as_str()?).ok()?.try_into().ok()?),
        },
    })
}

/// Gives a complete file its name, durably.
fn persist(file: NamedTempFile, place: &Path) -> Result<(), CliError> {
    let written = |source| CliError::Io {
        what: format!("cannot write {}", place.display()),
        source,
    };
    file.persist(place).map_err(|error| written(error.error))?;
    let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = std::fs::File::open(folder.unwrap_or(Path::new("."))).map_err(written)?;
    folder.sync_all().map_err(written)
}
