//! Opening a page: its requests, one after the other over one connection, and the same page in a real Chromium.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use purser::wallet::TestWallet;
use purser_actors::id::Network;
use serde::Deserialize;

use super::{login_link, post, session};
use crate::Fault;
use crate::programs::Script;
use crate::report::median;
use crate::web::clients::request;
use crate::web::driver::{Connection, Response};
use crate::web::process::Service;

/// A page with the requests of its first view, in the order in which it sends them.
struct View {
    name: &'static str,
    app: App,
    requests: &'static [&'static str],
    /// A part of the last answer for a busy account.
    shows: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum App {
    Holder,
    Desk,
}

const APPROVALS: &str = "/account/approvals?limit=50";
const BANK: &str = "POST /listBankingTransactions";

/// The page asks for a month by day. One period reads as many rows, and here those of the whole account.
pub(super) const EVERYTHING_SPENT: &str = "/account/spending-sums?starts=2020-01-01T00:00:00Z";

const VIEWS: &[View] = &[
    View {
        name: "home",
        app: App::Holder,
        requests: &[
            "/account",
            APPROVALS,
            "/list-card-transactions?limit=50",
            "/get-payment-status?order=desc&limit=50",
            "/get-withdrawal-status?order=desc&limit=50",
            EVERYTHING_SPENT,
            "/events?order=desc&limit=60",
        ],
        shows: "\"card.ready\"",
    },
    View {
        name: "cards",
        app: App::Holder,
        requests: &[
            "/account",
            APPROVALS,
            "/get-card-data?card_type=Non-Reloadable%20International&order=desc&limit=25",
            "/get-card-data?card_type=Reloadable&order=desc&limit=25",
            "/get-card-data?card_type=Gift%20Card&order=desc&limit=25",
            "/get-card-data?card_type=Non-Reloadable%20U.S.&order=desc&limit=25",
        ],
        shows: "\"has_more\":true",
    },
    View {
        name: "transfers",
        app: App::Holder,
        requests: &[
            "/account",
            APPROVALS,
            "/list-card-transactions?limit=100",
            "/get-payment-status?order=desc&limit=100",
            BANK,
            "/list-card-transactions?limit=25",
            "/get-payment-status?order=desc&limit=25",
            "/payment-recipients?include_archived=true&limit=100",
            "/bank-recipients?limit=100",
            "/get-withdrawal-status?order=desc&limit=100",
        ],
        shows: "\"withdrawals\":[{",
    },
    View {
        name: "agents",
        app: App::Holder,
        requests: &["/account", APPROVALS, "/account/sessions"],
        shows: "\"current\":true",
    },
    View {
        name: "statement, everything",
        app: App::Holder,
        requests: &[
            "/account",
            APPROVALS,
            "/get-account-statement?order=desc&limit=50",
            "/account/statement-sums",
        ],
        shows: "\"credited\":",
    },
    View {
        name: "webhooks",
        app: App::Holder,
        requests: &["/account", APPROVALS, "/get-webhook"],
        shows: "\"webhooks\"",
    },
    View {
        name: "desk: customer",
        app: App::Desk,
        requests: &[
            "/admin/queues",
            "/admin/customers?q={wallet}&limit=20",
            "/admin/timeline?wallet={wallet}&limit=50",
        ],
        shows: "\"next_before\":",
    },
];

/// A person who opens pages of one account: its owner, or an operator.
pub(crate) struct Visitor {
    holder: SocketAddr,
    desk: SocketAddr,
    cookie: String,
    operator: String,
    wallet: String,
    connections: [Connection; 2],
}

/// What one opening of a view took.
struct Opened {
    ms: f64,
    bytes: usize,
}

impl Visitor {
    pub(crate) async fn sign_in(
        service: &Service,
        token: &str,
        wallet: &TestWallet,
        operator_token: &str,
    ) -> Result<Self, Fault> {
        let (holder, desk) = (service.address, service.operator);
        let mut connection = Connection::open(holder).await?;
        let cookie = session(&mut connection, holder, token).await?;
        Ok(Self {
            holder,
            desk,
            cookie,
            operator: operator_token.to_owned(),
            wallet: wallet.address(Network::Base),
            connections: [connection, Connection::open(desk).await?],
        })
    }

    async fn ask(&mut self, app: App, target: &str) -> Result<Response, Fault> {
        let [holder, desk] = &mut self.connections;
        let cookie = format!("Cookie: {}\r\nSec-Fetch-Site: same-origin\r\n", self.cookie);
        match (app, target) {
            (App::Desk, _) => {
                let bearer = format!("Authorization: Bearer {}\r\n", self.operator);
                desk.call(&request(self.desk, target, &bearer)).await
            }
            (App::Holder, BANK) => {
                let headers = format!(
                    "{cookie}Origin: http://{}\r\nContent-Type: application/json\r\n",
                    self.holder
                );
                let body = r#"{"data":{"type":"transfer","order":"desc","limit":100}}"#;
                holder
                    .call(&post(self.holder, "/listBankingTransactions", &headers, body))
                    .await
            }
            (App::Holder, _) => holder.call(&request(self.holder, target, &cookie)).await,
        }
    }

    /// Every answer must be one that the page expects; of a busy account it must also have what the page shows.
    async fn open(&mut self, view: &View, is_busy: bool) -> Result<Opened, Fault> {
        let begun = Instant::now();
        let (mut bytes, mut body) = (0, Vec::new());
        for target in view.requests {
            let target = target.replace("{wallet}", &self.wallet);
            let answer = self.ask(view.app, &target).await?;
            if answer.status != 200 {
                let text = String::from_utf8_lossy(&answer.body);
                return Err(format!("{}: {} for {target}: {text}", view.name, answer.status).into());
            }
            bytes += answer.body.len();
            body = answer.body;
        }
        let ms = begun.elapsed().as_secs_f64() * 1_000.0;
        let text = String::from_utf8_lossy(&body);
        if is_busy && !text.contains(view.shows) {
            return Err(format!("{}: the page shows nothing of {}: {text}", view.name, view.shows).into());
        }
        Ok(Opened { ms, bytes })
    }

    /// The page itself with the scripts and styles that it names.
    async fn load_app(&mut self, app: App) -> Result<Opened, Fault> {
        let begun = Instant::now();
        let page = self
            .ask(app, if app == App::Holder { "/dashboard" } else { "/desk" })
            .await?;
        let html = String::from_utf8_lossy(&page.body).into_owned();
        let named = html.split('"').filter(|part| part.starts_with("/assets/"));
        let (mut bytes, mut files) = (page.body.len(), 0);
        for file in named {
            let answer = self.ask(app, file).await?;
            assert_eq!(answer.status, 200, "{file}");
            (bytes, files) = (bytes + answer.body.len(), files + 1);
        }
        assert!(files > 0, "a page names its script: {html}");
        let ms = begun.elapsed().as_secs_f64() * 1_000.0;
        Ok(Opened { ms, bytes })
    }
}

/// Opens every view of both accounts in alternating rounds and prints the milliseconds, with the ratio of the busy account
/// to the quiet one.
pub(crate) async fn by_requests(visitors: [Visitor; 2], rounds: usize) -> Result<(), Fault> {
    let [mut busy, mut quiet] = visitors;
    println!(
        "  {:<24}{:>9}{:>10}{:>10}{:>9}  of few events",
        "requests of", "ms", "longest", "requests", "KiB"
    );
    for app in [App::Holder, App::Desk] {
        let mut loads = Vec::new();
        for _ in 0..=rounds {
            loads.push(busy.load_app(app).await?);
        }
        print_row(
            if app == App::Holder {
                "dashboard's files"
            } else {
                "desk's files"
            },
            &loads[1..],
            0,
            "",
        );
    }
    for view in VIEWS {
        let (mut of_busy, mut of_quiet) = (Vec::new(), Vec::new());
        for round in 0..=rounds {
            let opened = (busy.open(view, true).await?, quiet.open(view, false).await?);
            // The first one warms up.
            if round > 0 {
                of_busy.push(opened.0);
                of_quiet.push(opened.1);
            }
        }
        let ratio = median(of_busy.iter().zip(&of_quiet).map(|(busy, quiet)| busy.ms / quiet.ms));
        print_row(view.name, &of_busy, view.requests.len(), &format!("{ratio:.2}"));
    }
    Ok(())
}

fn print_row(name: &str, opened: &[Opened], requests: usize, ratio: &str) {
    let longest = opened.iter().map(|one| one.ms).fold(0.0, f64::max);
    let kib = median(opened.iter().map(|one| one.bytes as f64)) / 1024.0;
    println!(
        "  {name:<24}{:>9.1}{longest:>10.1}{requests:>10}{kib:>9.0}  {ratio}",
        median(opened.iter().map(|one| one.ms))
    );
}

/// What a browser says of one page.
#[derive(Deserialize)]
struct Shown {
    page: String,
    /// From the navigation to the content.
    shown_ms: f64,
    /// Until the page reacts to input.
    interactive_ms: f64,
    rows: u64,
    /// While the page is scrolled to its end, a screen at a time.
    frames: u64,
    slow_frames: u64,
    longest_frame_ms: f64,
}

/// The same pages in a real Chromium, if there is one.
pub(crate) async fn in_chromium(
    service: &Service,
    token: &str,
    wallet: &TestWallet,
    operator_token: &Path,
) -> Result<(), Fault> {
    let runs = |program: &&str| {
        let version = Command::new(program)
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        version.is_ok_and(|status| status.success())
    };
    let chromium = ["/usr/bin/chromium", "chromium", "chromium-browser", "google-chrome"];
    let (Some(chromium), true) = (chromium.iter().find(|program| runs(program)), runs(&"node")) else {
        println!("  SKIPPED: pages in a browser, because Chromium or Node.js is not installed");
        return Ok(());
    };
    let mut connection = Connection::open(service.address).await?;
    let link = login_link(&mut connection, service.address, token).await?;
    let operator = operator_token.to_string_lossy().into_owned();
    let arguments = [
        *chromium,
        &link,
        &format!("http://localhost:{}", service.operator.port()),
        &operator,
        &wallet.address(Network::Base),
    ];
    let script = Script::start("tests/interop", "pages/measure.mjs", &arguments)?;
    let pages: Vec<Shown> = serde_json::from_str(&script.first_line)?;
    println!(
        "  {:<24}{:>9}{:>13}{:>7}{:>9}{:>14}{:>12}",
        "in Chromium", "shown ms", "interactive", "rows", "frames", "over 50 ms", "longest ms"
    );
    for page in pages {
        println!(
            "  {:<24}{:>9.0}{:>13.0}{:>7}{:>9}{:>14}{:>12.0}",
            page.page,
            page.shown_ms,
            page.interactive_ms,
            page.rows,
            page.frames,
            page.slow_frames,
            page.longest_frame_ms
        );
    }
    Ok(())
}
