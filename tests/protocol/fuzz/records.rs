//! Values as they lie in the journal's events and in the snapshots: the one codec, over the engine's own records.

use bolero::check;
use purser_actors::id::{EventId, PaymentId, Wallet};
use purser_actors::kernel::event_record::{EventRecord, PublicEvent};
use purser_actors::port::Timestamp;
use purser_storage::Event;
use serde_json::json;

use crate::input::{FuzzInput, change_bytes};

fn records() -> Vec<Event> {
    let record = |owner, announcement| EventRecord {
        kind: 2,
        id: vec![7; 16],
        revision: 3,
        at: Timestamp(1_800_000_000_000),
        status: "settled".into(),
        owner,
        event: vec![0, 1, 2, 3],
        announcement,
    };
    let object = json!({"payment_id": PaymentId(1), "legs": [{"at": 7, "note": "a <b>"}], "new_name": null});
    let at = Timestamp(1_800_000_000_000);
    let announcement = PublicEvent::new(EventId(1), "payment.settled".into(), Wallet::Evm([1; 20]), at, &object);
    vec![
        record(Wallet::Evm([1; 20]), Some(announcement)).to_event(),
        record(Wallet::Solana([2; 32]), None).to_event(),
    ]
}

#[test]
fn changed_record_is_rejected() {
    // Checks: bytes that differ from the written ones are rejected without a panic.
    let good = records();
    check!()
        .with_iterations(20_000)
        .with_max_len(128)
        .for_each(|bytes: &[u8]| {
            let mut dice = FuzzInput(bytes);
            let mut stored = dice.of(&good).clone();
            assert!(EventRecord::read(&stored.subject, bytes).is_err());
            assert!(EventRecord::read(b"no account", &stored.payload).is_err());
            (0..dice.below(4)).for_each(|_| change_bytes(&mut stored.payload, &mut dice));
            let read = EventRecord::read(&stored.subject, &stored.payload);
            assert_eq!(read.is_ok(), good.contains(&stored));
        });
}

#[test]
fn record_with_a_valid_checksum_round_trips() {
    // Checks: with a valid checksum, which only a writer's bug could produce, lengths and tags are still checked. A
    // parsed record encodes to the same bytes, so no byte was ignored.
    let good = records();
    check!()
        .with_iterations(20_000)
        .with_max_len(128)
        .for_each(|bytes: &[u8]| {
            let mut dice = FuzzInput(bytes);
            let mut stored = dice.of(&good).clone();
            let mut body = stored.payload.split_off(7);
            (0..dice.below(4)).for_each(|_| change_bytes(&mut body, &mut dice));
            let header = &mut stored.payload;
            let crc = crc32c::crc32c_append(crc32c::crc32c(&header[..3]), &body);
            header[3..7].copy_from_slice(&crc.to_le_bytes());
            header.extend(body);
            if let Ok(record) = EventRecord::read(&stored.subject, &stored.payload) {
                assert_eq!(record.to_event(), stored);
            }
        });
}
