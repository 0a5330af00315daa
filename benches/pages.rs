//! Pages: how soon those of an account with a year of events open, and what a thousand open ones cost the paid calls.

pub(crate) mod history;
pub(crate) mod open_pages;
mod opening;

use std::net::SocketAddr;
use std::path::Path;

use purser::system::SystemEntropy;
use purser::wallet::TestWallet;
use tokio::runtime::Builder;

use crate::report::{self, Row, Sample};
use crate::web::clients::{self, ClientPool, request};
use crate::web::driver::{self, Connection};
use crate::web::process::Service;
use crate::{Fault, Plan, host_info};
use open_pages::{OpenPages, PageSetup};
use opening::Visitor;

/// Accounts that buy, and are looked at meanwhile.
const BUYERS: usize = 128;
/// Open pages of an account that does not buy.
const PAGES_OF_OTHERS: usize = 2;
/// Connections that pay.
const CONNECTIONS: usize = 64;

const WITHOUT: &str = "paid: no page is open";
const WITH: &str = "paid: all pages are open";

/// Measures and prints.
pub(crate) fn run(plan: Plan) -> Result<(), Fault> {
    let client = Builder::new_current_thread().enable_all().build()?;
    let dir = host_info::directory()?;
    let service = Service::start(dir.path(), &[])?;
    client.block_on(open_a_year(&service, dir.path(), plan))?;
    service.stop()?;
    let dir = host_info::directory()?;
    let service = Service::start(dir.path(), &[])?;
    client.block_on(beside_open_pages(&service, plan))
}

/// Opens every page of an account with a year of events, and of one with a few, by the requests that the pages send and
/// in a browser.
async fn open_a_year(service: &Service, dir: &Path, plan: Plan) -> Result<(), Fault> {
    let address = service.address;
    let (busy, quiet) = (TestWallet::create(&SystemEntropy)?, TestWallet::create(&SystemEntropy)?);
    let begun = std::time::Instant::now();
    history::create(address, &busy, plan.history).await?;
    history::create(address, &quiet, history::History::FEW).await?;
    let mut connection = Connection::open(address).await?;
    let token = clients::sign_in(&mut connection, address, &busy).await?;
    let events = history::count_events(&mut connection, address, &token).await?;
    println!(
        "\nPages of an account with {events} events of {} days (made in {:.0} s)",
        plan.history.days,
        begun.elapsed().as_secs_f64()
    );
    if events < plan.history.events {
        return Err(format!("{events} events instead of {}", plan.history.events).into());
    }
    let operator_token = std::fs::read_to_string(dir.join("data/operator.token"))?;
    let few = clients::sign_in(&mut connection, address, &quiet).await?;
    let visitors = [
        Visitor::sign_in(service, &token, &busy, operator_token.trim()).await?,
        Visitor::sign_in(service, &few, &quiet, operator_token.trim()).await?,
    ];
    opening::by_requests(visitors, plan.rounds).await?;
    opening::in_chromium(service, &token, &busy, &dir.join("data/operator.token")).await
}

/// A browser's session of the account of this token, as its cookie.
async fn session(connection: &mut Connection, address: SocketAddr, token: &str) -> Result<String, Fault> {
    let link = login_link(connection, address, token).await?;
    let (_, code) = link.split_once("code=").ok_or("a link without code")?;
    let body = format!("code={code}");
    let head = "Content-Type: application/x-www-form-urlencoded\r\n";
    let opened = connection.call(&post(address, "/login", head, &body)).await?;
    let cookie = opened.header("set-cookie").and_then(|set| set.split(';').next());
    Ok(cookie.ok_or_else(|| format!("no session: {}", opened.head))?.to_owned())
}

async fn login_link(connection: &mut Connection, address: SocketAddr, token: &str) -> Result<String, Fault> {
    let bearer = format!("Authorization: Bearer {token}\r\n");
    let link = connection.call(&request(address, "/get-auth-link", &bearer)).await?;
    let link: serde_json::Value = serde_json::from_slice(&link.body)?;
    Ok(link["auth_url"]
        .as_str()
        .ok_or_else(|| format!("no link: {link}"))?
        .to_owned())
}

fn post(address: SocketAddr, target: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("POST {target} HTTP/1.1\r\nHost: {address}\r\n{headers}Content-Length: {length}\r\n\r\n{body}").into_bytes()
}

/// Paid calls at full speed, without pages and beside them, in turn.
async fn beside_open_pages(service: &Service, plan: Plan) -> Result<(), Fault> {
    let address = service.address;
    let shop = ClientPool::open(address, BUYERS).await?;
    let mut connection = Connection::open(address).await?;
    let mut pages = Vec::new();
    // Half of the pages are of accounts that buy.
    let of_buyers = plan.open_pages / 2;
    let mut cookies = Vec::new();
    for token in shop.tokens() {
        cookies.push(session(&mut connection, address, token).await?);
    }
    pages.extend(cookies.iter().cycle().take(of_buyers).cloned());
    while pages.len() < plan.open_pages {
        let wallet = TestWallet::create(&SystemEntropy)?;
        let token = clients::sign_in(&mut connection, address, &wallet).await?;
        let cookie = session(&mut connection, address, &token).await?;
        pages.extend(std::iter::repeat_n(
            cookie,
            PAGES_OF_OTHERS.min(plan.open_pages - pages.len()),
        ));
    }
    println!(
        "\n{} open pages: {of_buyers} of {BUYERS} accounts that buy, {} of others that don't",
        pages.len(),
        pages.len() - of_buyers
    );
    let bench = Bench {
        service,
        shop,
        pages,
        of_buyers,
        plan,
    };
    let mut rows = [WITHOUT, WITH].map(Row::new);
    for round in 0..=plan.rounds.min(5) {
        let samples = bench.round(round).await?;
        if round > 0 {
            rows.iter_mut()
                .zip(samples)
                .for_each(|(row, sample)| row.samples.push(sample));
        }
    }
    report::print("Paid calls beside them", &rows, &[(WITH, &[WITHOUT])]);
    report::print_spread(&rows, &[(WITH, WITHOUT)]);
    Ok(())
}

struct Bench<'a> {
    service: &'a Service,
    shop: ClientPool,
    /// The cookie of each page, those of buyers first.
    pages: Vec<String>,
    of_buyers: usize,
    plan: Plan,
}

impl Bench<'_> {
    /// One round without and one with them, in turn first and second.
    async fn round(&self, n: usize) -> Result<[Sample; 2], Fault> {
        let mut samples = [Sample::default(), Sample::default()];
        let first = !n.is_multiple_of(2);
        for with_pages in [first, !first] {
            let open = match with_pages {
                true => Some(OpenPages::open(&PageSetup {
                    address: self.service.address,
                    generation: n,
                    cookies: self.pages.clone(),
                })?),
                false => None,
            };
            // Opening and closing is over.
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            samples[usize::from(with_pages)] = self.run_purchases().await?;
            if let Some(open) = open {
                self.check(open)?;
            }
        }
        Ok(samples)
    }

    /// Every page has received the events of every purchase of its account, once and in order.
    fn check(&self, mut open: OpenPages) -> Result<(), Fault> {
        for (page, received) in open.received()?.into_iter().enumerate() {
            let buyer = page % BUYERS;
            let bought = match page < self.of_buyers {
                true => self.plan.paid_calls / BUYERS + usize::from(buyer < self.plan.paid_calls % BUYERS),
                false => 0,
            };
            if (received.settled, received.ready, received.in_order) != (bought, bought, true) {
                return Err(format!("page {page}: {received:?} of {bought} purchases").into());
            }
        }
        open.close()
    }

    /// Ends when the last response has arrived and its buyer's agent has received the event.
    async fn run_purchases(&self) -> Result<Sample, Fault> {
        let payments = self.shop.sign(self.plan.paid_calls).await?;
        let start = self.shop.delivered();
        let before = host_info::cpu_us(self.service.id());
        let begun = std::time::Instant::now();
        let work = driver::spread(&payments, CONNECTIONS);
        let calls = driver::drive(self.service.address, work, 200).await?;
        let count = calls.latencies.len() as u64;
        self.shop.until(|now| now.settled >= start.settled + count).await?;
        let pushed = begun.elapsed().as_secs_f64();
        let cpu = (host_info::cpu_us(self.service.id()) - before) as f64 / count.max(1) as f64;
        self.shop.until(|now| now.ready >= start.ready + count).await?;
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        let sample = Sample::of(calls.latencies, pushed, calls.seconds);
        Ok(Sample { cpu, ..sample })
    }
}
