//! `purser verify` on sealed records, scheduled jobs and quotes.

use purser_actors::entity::card;
use purser_actors::entity::gift_card::GiftCard;
use purser_actors::entity::intl_order;
use purser_actors::id::{CardId, Network};
use purser_actors::kernel::job::AnyJob;
use purser_actors::kernel::{EntityKind, OutboxJob, table};
use purser_actors::money::Cents;
use purser_storage::{Row, RowKey, Write, codec};

use super::agent::Agent;
use super::host::Host;
use super::http::{Response, ServiceClient, until};
use super::operator_client::OperatorClient;
use super::verify::{assert_problem, rewritten};

const GIFT: &str = "/order-gift-card?product_id=gift_marche_lumiere_fr&amount=50&country=FR";
const INTL: &str = "/order-intl-card?amount=100";

/// A stopped service with one of each: a ready USA card, a completed gift card, a ready and a queued international one.
async fn sold() -> (Host, [String; 4]) {
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service);
    let agent = Agent::new(Network::Base);
    let buy = async |path: &str| agent.buy(&site, path).await;
    let intl = |bought: Response| bought.body["intl_card_order"]["card_id"].as_str().unwrap().to_owned();
    let usa = buy("/get-card?amount=5").await.card().to_owned();
    let gift = buy(GIFT).await.card().to_owned();
    let made = intl(buy(INTL).await);
    let lease = operator.claim(&made).await;
    assert_eq!(operator.fulfil(&made, lease).await.status, 200);
    let queued = intl(buy(INTL).await);
    let token = agent.token(&site).await;
    for (card, status) in [(&usa, "ready"), (&gift, "completed")] {
        until("it is made", async || {
            let read = site.get_as(&token, &format!("/get-card-data?card_id={card}")).await;
            (read.str("status") == Some(status)).then_some(())
        })
        .await;
    }
    service.stop();
    host.assert_verified();
    (host, [usa, gift, made, queued])
}

fn deletion(key: &RowKey) -> Option<Vec<Write>> {
    Some(vec![Write::Delete { key: key.clone() }])
}

/// Deletes the one row under a prefix that matches.
async fn without(host: &Host, name: &str, prefix: u8, about: impl Fn(&RowKey, &Row) -> bool) -> std::path::PathBuf {
    let taken = |key: &RowKey, row: &Row| about(key, row).then(|| deletion(key)).flatten();
    let (copy, changed) = rewritten(host, name, &[prefix], taken).await;
    assert_eq!(changed, 1, "{name}");
    copy
}

fn of(key: &RowKey, card: &str) -> bool {
    let id: CardId = card.parse().unwrap();
    key.ends_with(&id.0.to_be_bytes())
}

#[tokio::test(flavor = "multi_thread")]
async fn case_70_verify_reports_missing_and_orphaned_sealed_records() {
    // Checks: a missing number, code or CVV of each kind of card, and records without a card, are reported by id.
    let (host, [usa, gift, made, _]) = sold().await;
    for (card, prefix, rule) in [
        (&usa, table::VAULT, "product.vault_mismatch"),
        (&gift, table::VAULT, "product.vault_mismatch"),
        (&made, table::VAULT, "product.vault_mismatch"),
        (&made, table::CVV, "product.cvv_mismatch"),
    ] {
        let name = format!("{rule} {card}");
        let copy = without(&host, &name, prefix, |key, _| of(key, card)).await;
        assert_problem(&host, &copy, rule, card);
    }
    // The service opens the first record at startup, as a sample; this is the last one.
    let unknown = CardId(u128::MAX);
    for (prefix, key, rule) in [
        (table::VAULT, table::vault(unknown), "vault.orphaned"),
        (table::CVV, table::cvv(unknown), "cvv.orphaned"),
    ] {
        let moved = |old: &RowKey, row: &Row| {
            let put = Write::Put {
                key: key.clone(),
                revision: row.revision,
                value: row.value.to_vec(),
            };
            of(old, &made).then_some(vec![put])
        };
        let (copy, changed) = rewritten(&host, rule, &[prefix], moved).await;
        assert_eq!(changed, 1);
        assert_problem(&host, &copy, rule, &unknown.to_string());
    }
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn verify_reports_cards_and_orders_without_scheduled_job() {
    // Checks: a missing scheduled job is reported: the expiry of a USA card, the expiry of an international card, the
    // overdue day of an order. A job that is already due is in the outbox instead.
    let (host, [usa, _, made, queued]) = sold().await;
    let is = |row: &Row, job: &AnyJob| codec::decode::<OutboxJob>(&row.value).unwrap().job == *job;
    for (card, job) in [
        (&usa, AnyJob::from(card::Job::ExpireCard(usa.parse().unwrap()))),
        (
            &made,
            AnyJob::from(intl_order::Job::ExpireIntlCard(made.parse().unwrap())),
        ),
        (
            &queued,
            AnyJob::from(intl_order::Job::MarkOrderOverdue(queued.parse().unwrap())),
        ),
    ] {
        let copy = without(&host, &format!("timer {card}"), table::TIMER, |_, row| is(row, &job)).await;
        assert_problem(&host, &copy, "product.timer_missing", card);
        let due = |key: &RowKey, row: &Row| {
            let outbox_job: OutboxJob = codec::decode(&row.value).unwrap();
            let put = Write::Put {
                key: table::outbox_job(outbox_job.id),
                revision: row.revision,
                value: row.value.to_vec(),
            };
            (outbox_job.job == job).then(|| vec![put, Write::Delete { key: key.clone() }])
        };
        let (copy, _) = rewritten(&host, &format!("due {card}"), &[table::TIMER], due).await;
        let (passed, report) = host.verify_on(&copy);
        assert!(passed, "{report:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn case_25_verify_checks_gift_card_charge_against_its_quote() {
    // Checks: an exchange rate, fee rate or amount that differs from the charge is reported, even when charge and
    // postings agree.
    let (host, [_, gift, ..]) = sold().await;
    type Change = fn(&mut GiftCard);
    let changes: [(&str, Change, &str); 3] = [
        (
            "exchange",
            |gift| gift.order.quoted.exchange.as_mut().unwrap().usd_per_unit = "1.0942".into(),
            "product.posting_mismatch",
        ),
        (
            "fee",
            |gift| gift.order.quoted.fee_rate = "0.048".into(),
            "product.price_mismatch",
        ),
        (
            "amount",
            |gift| gift.order.amount = Cents::new(4_900),
            "product.price_mismatch",
        ),
    ];
    for (name, change, rule) in changes {
        let changed = |key: &RowKey, row: &Row| {
            let mut gift: GiftCard = codec::decode(&row.value).unwrap();
            change(&mut gift);
            Some(vec![Write::Put {
                key: key.clone(),
                revision: row.revision,
                value: codec::encode(&gift),
            }])
        };
        let entities = [table::ENTITY, EntityKind::GiftCard as u8];
        let (copy, _) = rewritten(&host, name, &entities, changed).await;
        assert_problem(&host, &copy, rule, &gift);
    }
}
