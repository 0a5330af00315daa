//! A ceiling of the group `commits`: plain sled, one thread that groups waiting batches, `apply_batch`, `flush`, and
//! the `fdatasync` without which a flush of sled 0.34 is not durable. `ratios` runs it round by round.

// Figures of time; printing them is the interface to `ratios`.
#![allow(clippy::float_arithmetic, clippy::print_stdout)]

mod callers;

use std::fs::File;
use std::sync::mpsc;
use std::time::Duration;

use tokio::sync::oneshot;

type Fault = Box<dyn std::error::Error + Send + Sync>;

struct Item {
    key: [u8; 10],
    value: Vec<u8>,
    event: Vec<u8>,
    done: oneshot::Sender<()>,
}

fn main() -> Result<(), Fault> {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let [dir, callers, ms, value, event, keys] = args.as_slice() else {
        // `cargo bench` starts every bench once; this one has nothing to say by itself.
        return Ok(());
    };
    let (callers, ms): (usize, u64) = (callers.parse()?, ms.parse()?);
    let (value, event, keys): (usize, usize, u64) = (value.parse()?, event.parse()?, keys.parse()?);
    let db = sled::Config::new().path(dir).cache_capacity(256 << 20).open()?;
    let file = File::open(std::path::Path::new(dir).join("db"))?;
    let (send, queue) = mpsc::channel();
    let thread = std::thread::spawn(move || commit(&db, &file, &queue));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let calls = runtime.block_on(callers::closed_loop(callers, Duration::from_millis(ms), |n| {
        let send = send.clone();
        let mut at = n as u64;
        move || {
            let (done, durable) = oneshot::channel();
            let mut key = *b"e\x01--------";
            key[2..].copy_from_slice(&at.to_be_bytes());
            at = (at + callers as u64) % keys;
            let filled = |len: usize| vec![at as u8; len];
            let item = Item {
                key,
                value: filled(value),
                event: filled(event),
                done,
            };
            let sent = send.send(item).is_ok();
            async move { sent && durable.await.is_ok() }
        }
    }));
    drop(send);
    thread.join().map_err(|_| "the committer panicked")??;
    println!("{}", calls.seconds);
    let latencies: Vec<String> = calls.latencies.iter().map(u32::to_string).collect();
    println!("{}", latencies.join(" "));
    Ok(())
}

fn commit(db: &sled::Db, file: &File, queue: &mpsc::Receiver<Item>) -> Result<(), sled::Error> {
    let mut group: Vec<Item> = Vec::new();
    while let Ok(first) = queue.recv() {
        group.push(first);
        group.extend(queue.try_iter().take(8191));
        let mut batch = sled::Batch::default();
        for item in &group {
            batch.insert(&item.key[..], item.value.as_slice());
            if !item.event.is_empty() {
                let mut key = *b"v--------";
                key[1..].copy_from_slice(&db.generate_id()?.to_be_bytes());
                batch.insert(&key[..], item.event.as_slice());
            }
        }
        db.apply_batch(batch)?;
        db.flush()?;
        file.sync_data()?;
        for item in group.drain(..) {
            let _ = item.done.send(());
        }
    }
    Ok(())
}
