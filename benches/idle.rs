//! A million accounts that do nothing: how soon the first answer comes, and what memory holds while many are touched.

use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use purser::system::{SystemClock, SystemEntropy};
use purser::wallet::TestWallet;
use purser_actors::entity::account::{Account, Event};
use purser_actors::id::{Network, Wallet};
use purser_actors::kernel::{Entity, EntityKind, table};
use purser_actors::port::Clock;
use purser_storage::{Batch, Store, StoreLimits, Write, codec};

use crate::commits::open_journal;
use crate::web::clients;
use crate::web::driver::{self, Connection};
use crate::web::process::Service;
use crate::{Fault, Plan, host_info};

/// Maximum numbers of entities of a kind in memory: enough for all, and only a few.
const RESIDENT_MAX: [&str; 2] = ["100000", "2000"];
/// Rows in one batch while the accounts are made.
const ROWS: u64 = 2_000;

/// Makes, starts, touches, prints.
pub(crate) fn run(plan: Plan) -> Result<(), Fault> {
    let dir = host_info::directory()?;
    let buyers: Vec<TestWallet> = (0..plan.idle_accounts / 50)
        .map(|_| TestWallet::create(&SystemEntropy))
        .collect::<Result<_, _>>()?;
    let begun = Instant::now();
    create(dir.path(), plan.idle_accounts, &buyers)?;
    println!(
        "\n{} idle accounts (made in {:.1} s, {} MiB on disk)",
        plan.idle_accounts,
        seconds(begun),
        disk_mib(dir.path())
    );
    for start in ["after a clean stop", "again"] {
        let begun = Instant::now();
        let service = Service::start(dir.path(), &[])?;
        let first = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?
            .block_on(async {
                let mut connection = Connection::open(service.address).await?;
                connection
                    .call(&clients::request(service.address, "/get-pricing", ""))
                    .await
            })?;
        assert_eq!(first.status, 200, "the first answer is an answer");
        println!(
            "  {start}: first answer after {:.2} s, {} MiB resident",
            seconds(begun),
            host_info::resident_mib(service.id())
        );
        service.stop()?;
    }
    for resident_max in RESIDENT_MAX {
        touch(dir.path(), &buyers, resident_max)?;
    }
    Ok(())
}

fn seconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64()
}

fn disk_mib(dir: &Path) -> u64 {
    let of = |dir: &Path| -> u64 {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        entries.filter_map(|e| Some(e.metadata().ok()?.len())).sum()
    };
    let store = dir.join("data/store");
    (of(&store) + of(&store.join("sled"))) >> 20
}

/// Snapshots of accounts straight into the journal, the buyers' first.
fn create(dir: &Path, count: u64, buyers: &[TestWallet]) -> Result<(), Fault> {
    let folder = dir.join("data/store");
    std::fs::create_dir_all(&folder)?;
    let store = open_journal(folder, StoreLimits::production())?;
    let opened = Event::Opened(SystemClock.now());
    let (done, durable) = mpsc::channel();
    let mut made = 0;
    while made < count {
        let mut batch = Batch::default();
        for n in made..(made + ROWS).min(count) {
            let wallet = match buyers.get(n as usize) {
                Some(buyer) => buyer.account(Network::Base),
                None => Wallet::Evm(address(n)),
            };
            batch.writes.push(Write::Put {
                key: table::entity(EntityKind::Account, &wallet.key()),
                revision: 1,
                value: codec::encode(&Account::apply(None, &wallet, &opened)?),
            });
        }
        made += batch.writes.len() as u64;
        let done = done.clone();
        store.commit(
            batch,
            Box::new(move |outcome| {
                // It is waited for just below.
                let _ = done.send(outcome);
            }),
        );
        durable.recv()??;
        while store.headroom().lag_bytes > 64 << 20 {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    store.close();
    Ok(())
}

/// Spread over the key space as real addresses are.
fn address(n: u64) -> [u8; 20] {
    let mut address = [0; 20];
    for (i, part) in address.chunks_mut(8).enumerate() {
        let mixed = (n + 1)
            .wrapping_mul(0x9E37_79B9_7F4A_7C15)
            .rotate_left(i as u32 * 21 + 7);
        let bytes = mixed.wrapping_mul(0xD6E8_FEB8_6659_FD93).to_be_bytes();
        part.copy_from_slice(&bytes[..part.len()]);
    }
    address
}

/// Each buyer buys once: four entities come to life for each, and all but a few must go to rest again.
fn touch(dir: &Path, buyers: &[TestWallet], resident_max: &str) -> Result<(), Fault> {
    let service = Service::start_with(dir, &[], &[("PURSER_ENGINE__MAX_ACTIVE_ENTITIES", resident_max)])?;
    let client = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mib = || host_info::resident_mib(service.id());
    println!(
        "  engine.max_active_entities = {resident_max} of each kind; {} MiB before",
        mib()
    );
    let step = buyers.len().div_ceil(3);
    for (n, buyers) in buyers.chunks(step).enumerate() {
        let peak = client.block_on(async {
            let requests = clients::first_purchases(service.address, buyers).await?;
            driver::drive(service.address, driver::spread(&requests, 64), 200).await?;
            let peak = mib();
            // Longer than it takes until idle entities are looked for, every 5 s.
            tokio::time::sleep(Duration::from_secs(8)).await;
            Ok::<_, Fault>(peak)
        })?;
        println!(
            "  {:>8} accounts touched: {peak} MiB resident at once, {} MiB at rest",
            (n + 1) * step,
            mib()
        );
    }
    service.stop()
}
