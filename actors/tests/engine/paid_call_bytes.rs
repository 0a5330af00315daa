//! Bytes that a paid call writes to the journal.

use std::collections::BTreeMap;

use purser_actors::kernel::event_record::EventRecord;
use purser_actors::kernel::table;
use purser_storage::{Batch, Write};

use crate::support::harness::{Harness, bought_card, card_for, evm};

/// Bytes of a batch as a frame of the journal: header, writes, events, end mark, padding.
fn frame_bytes(batch: &Batch) -> usize {
    let writes = batch.writes.iter().map(write_bytes);
    let events = batch.events.iter().map(|e| 6 + e.subject.len() + e.payload.len());
    (48 + writes.sum::<usize>() + events.sum::<usize>() + 1).next_multiple_of(8)
}

fn write_bytes(write: &Write) -> usize {
    match write {
        Write::Put { key, value, .. } => 15 + key.len() + value.len(),
        Write::Delete { key } => 3 + key.len(),
    }
}

/// What is written, for the message of a failure.
fn parts(batches: &[Batch]) -> String {
    let mut parts = BTreeMap::<String, (usize, usize)>::new();
    let mut add = |name: String, bytes: usize| {
        let part = parts.entry(name).or_default();
        *part = (part.0 + 1, part.1 + bytes);
    };
    for batch in batches {
        add("frame of a batch".into(), 49);
        for write in &batch.writes {
            let (Write::Put { key, .. } | Write::Delete { key }) = write;
            let table = if key[0] == table::ENTITY { &key[..2] } else { &key[..1] };
            let put = if matches!(write, Write::Put { .. }) {
                "put"
            } else {
                "delete"
            };
            add(format!("{put} a row of table {table:02x?}"), write_bytes(write));
        }
        for event in &batch.events {
            let record = EventRecord::read(&event.subject, &event.payload).unwrap();
            let announced = record.announcement.map(|a| a.kind).unwrap_or_default();
            let name = format!("event of kind {} to {} {announced}", record.kind, record.status);
            add(name, 6 + event.subject.len() + event.payload.len());
            add("(of which domain events)".into(), record.event.len());
        }
    }
    let mut text = String::new();
    for (name, (count, bytes)) in parts {
        text += &format!("{bytes:>6} {count:>3} {name}\n");
    }
    text
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_paid_call_writes_few_bytes() {
    // Checks: a paid call of a known account writes no more than this to the journal, until its card is ready.
    const LIMIT: usize = 4_096;
    let world = Harness::new().await;
    bought_card(&world.pay(&card_for(evm(1), 1)).await.unwrap());
    world.wait_until_idle().await;
    world.store.record_batches();
    bought_card(&world.pay(&card_for(evm(1), 2)).await.unwrap());
    world.wait_until_idle().await;
    let batches = world.store.take_batches();
    let sizes: Vec<usize> = batches.iter().map(frame_bytes).collect();
    let sum: usize = sizes.iter().sum();
    assert!(sum <= LIMIT, "{sum} bytes in batches of {sizes:?}\n{}", parts(&batches));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_event_has_the_same_bytes_on_each_read() {
    // Checks: an event is rendered to the same bytes each time, by the process that made it and by the next one.
    fn envelopes(world: &Harness) -> Vec<String> {
        let announced = world.history().into_iter().filter_map(|record| record.announcement);
        announced.zip(1..).map(|(event, seq)| event.with_seq(seq)).collect()
    }
    let world = Harness::new().await;
    bought_card(&world.pay(&card_for(evm(1), 1)).await.unwrap());
    world.wait_until_idle().await;
    let first = envelopes(&world);
    assert_eq!(first.len(), 5);
    assert_eq!(envelopes(&world), first);
    let world = world.crash().await;
    bought_card(&world.pay(&card_for(evm(1), 2)).await.unwrap());
    world.wait_until_idle().await;
    let later = envelopes(&world);
    assert_eq!(later[..first.len()], first);
    assert!(later.len() > first.len());
}
