//! What every settlement port must do, whatever chain is behind it: a port's own test program brings a [`Rail`] and
//! runs [`all`].

use std::sync::Arc;
use std::time::Duration;

use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::{
    Authorization, ChainMovement, ChainStatus, ChainTransactionStatus, Finality, OutgoingTransferRequest, Preparation,
    PreparedTransaction, Settlement, SubmitResult, Timestamp, TreasuryList,
};

/// A chain with a port in front of it, controlled by a test.
pub trait Rail {
    fn network(&self) -> Network;

    fn port(&self) -> Arc<dyn Settlement>;

    fn list(&self) -> Arc<dyn TreasuryList>;

    /// A payment to the treasury by a new payer who has the money, signed and valid for long.
    async fn payment(&mut self, amount: Usdc) -> Authorization;

    /// The same by a payer who has nothing.
    async fn empty_payment(&mut self, amount: Usdc) -> Authorization;

    /// Submits the payment to the chain past the port.
    async fn submit_externally(&mut self, authorization: &Authorization);

    /// A wallet that can receive a payment.
    async fn recipient(&mut self) -> Wallet;

    /// The treasury has at least this.
    async fn fund_treasury(&mut self, amount: Usdc);

    /// The chain goes on a little; what was sent may land.
    async fn advance(&mut self);

    /// Enough time passes for everything that is on the chain to be final.
    async fn make_final(&mut self);

    /// Lets enough time pass that an unsubmitted authorization can never settle.
    async fn expire(&mut self, authorization: &Authorization);

    /// Drops the port at its present state and opens another on its stored rows.
    async fn reopen(&mut self);
}

const AMOUNT: Usdc = Usdc::from_atomic(1_000_000);

/// Until it holds, while the chain goes on.
async fn until<T, R: Rail>(rail: &mut R, what: &str, mut look: impl AsyncFnMut(&mut R) -> Option<T>) -> T {
    for _ in 0..400 {
        if let Some(found) = look(rail).await {
            return found;
        }
        rail.advance().await;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("never: {what}");
}

async fn ready<R: Rail>(rail: &R, authorization: &Authorization) -> PreparedTransaction {
    match rail.port().prepare(authorization).await.unwrap() {
        Preparation::Ready(prepared) => prepared,
        Preparation::Declined(decline) => panic!("{decline:?}"),
    }
}

/// Prepared, submitted, and answered while the chain goes on.
async fn pay<R: Rail>(rail: &mut R, authorization: &Authorization) -> SubmitResult {
    let prepared = ready(rail, authorization).await;
    submit(rail, authorization, &prepared).await
}

async fn submit<R: Rail>(rail: &mut R, authorization: &Authorization, prepared: &PreparedTransaction) -> SubmitResult {
    let port = rail.port();
    let (authorization, prepared) = (authorization.clone(), prepared.clone());
    let submitted = tokio::spawn(async move { port.submit(&authorization, &prepared).await.unwrap() });
    until(rail, "a submission is answered", async |_| {
        submitted.is_finished().then_some(())
    })
    .await;
    submitted.await.unwrap()
}

fn transaction(submitted: SubmitResult) -> String {
    match submitted {
        SubmitResult::Settled { transaction, .. } => transaction,
        SubmitResult::Declined(decline) => panic!("{decline:?}"),
    }
}

async fn lookup<R: Rail>(rail: &R, authorization: &Authorization) -> ChainStatus {
    rail.port().lookup(authorization, None).await.unwrap()
}

async fn listed<R: Rail>(rail: &R, limit: usize) -> Vec<ChainMovement> {
    let (list, network) = (rail.list(), rail.network());
    let (mut found, mut cursor) = (Vec::new(), None);
    loop {
        let page = list.movements(network, cursor.as_ref(), limit).await.unwrap();
        found.extend(page.items);
        let Some(next) = page.next else { return found };
        cursor = Some(next);
    }
}

/// Waits until the list has the movement of a payment; it never has it twice.
async fn listed_once<R: Rail>(rail: &mut R, payment: &Authorization) -> ChainMovement {
    until(rail, "the payment is on the list", async |rail| {
        let mut of_it = listed(rail, 100).await;
        of_it.retain(|moved| moved.fingerprint == payment.fingerprint());
        assert!(of_it.len() <= 1, "{of_it:?}");
        of_it.pop()
    })
    .await
}

/// What the list has under a transaction.
async fn named<R: Rail>(rail: &R, transaction: &str) -> Vec<ChainMovement> {
    let found = rail.list().in_transaction(rail.network(), transaction).await.unwrap();
    assert!(found.is_sorted_by_key(|moved| moved.index), "{found:?}");
    found
}

/// Everything below, on one chain.
pub async fn run_suite<R: Rail>(rail: &mut R) {
    payment_settles_once_and_becomes_final(rail).await;
    unpayable_payment_is_declined(rail).await;
    externally_submitted_payment_counts(rail).await;
    killed_port_resumes(rail).await;
    outgoing_transfer_executes_once(rail).await;
    list_pages_are_consistent(rail).await;
    unsent_payment_expires(rail).await;
}

// Checks: one transfer however often it is submitted; first confirmed, then final, and listed by its reference.
async fn payment_settles_once_and_becomes_final<R: Rail>(rail: &mut R) {
    let payment = rail.payment(AMOUNT).await;
    let before = rail.port().final_treasury_balance(rail.network()).await.unwrap();
    assert_eq!(lookup(rail, &payment).await, ChainStatus::Pending);
    let landed = transaction(pay(rail, &payment).await);
    assert_eq!(transaction(pay(rail, &payment).await), landed);
    assert_eq!(rail.port().precheck(&payment).await, None, "on the chain");
    rail.make_final().await;
    until(rail, "the payment is final", async |rail| {
        let port = rail.port();
        let status = port.transaction_status(&payment, None, &landed).await.unwrap();
        assert_ne!(status, ChainTransactionStatus::NotFound);
        (status == ChainTransactionStatus::Final).then_some(())
    })
    .await;
    let finality = Finality::Final;
    let transaction = landed.clone();
    // A payment submitted by another party may have to be searched.
    let found = until(rail, "the look-up finds it", async |rail| {
        Some(lookup(rail, &payment).await).filter(|found| *found != ChainStatus::Pending)
    })
    .await;
    assert_eq!(found, ChainStatus::Confirmed { transaction, finality });
    let other = rail
        .port()
        .transaction_status(&payment, None, &landed.to_lowercase().replace('a', "b"))
        .await;
    assert_eq!(
        other.unwrap(),
        ChainTransactionStatus::NotFound,
        "by another transaction"
    );
    let of_it = listed_once(rail, &payment).await;
    assert_eq!(
        (of_it.incoming, of_it.amount, of_it.counterparty),
        (true, AMOUNT, payment.payer())
    );
    let named = named(rail, &landed).await;
    assert!(named.contains(&of_it), "{named:?}");
    until(rail, "the treasury has it", async |rail| {
        let holds = rail.port().final_treasury_balance(rail.network()).await.unwrap();
        (holds.atomic() == before.atomic() + AMOUNT.atomic()).then_some(())
    })
    .await;
}

// Checks: a payer without money is declined, by the precheck or the submission, and nothing moves.
async fn unpayable_payment_is_declined<R: Rail>(rail: &mut R) {
    let payment = rail.empty_payment(AMOUNT).await;
    let decline = match rail.port().prepare(&payment).await.unwrap() {
        Preparation::Declined(decline) => decline,
        Preparation::Ready(prepared) => match submit(rail, &payment, &prepared).await {
            SubmitResult::Declined(decline) => decline,
            settled @ SubmitResult::Settled { .. } => panic!("{settled:?}"),
        },
    };
    assert_eq!(&*decline.reason, "insufficient_funds");
    // A port may not know it before a claim, but has no other reason then.
    let before_the_claim = rail.port().precheck(&payment).await;
    assert!(before_the_claim.is_none_or(|early| early.reason == decline.reason));
    assert_eq!(
        lookup(rail, &payment).await,
        ChainStatus::Pending,
        "a refusal proves nothing"
    );
    assert!(
        listed(rail, 100)
            .await
            .iter()
            .all(|moved| moved.fingerprint != payment.fingerprint())
    );
}

// Checks: the payment is the same, whether the port or another party submits it.
async fn externally_submitted_payment_counts<R: Rail>(rail: &mut R) {
    let payment = rail.payment(AMOUNT).await;
    let prepared = ready(rail, &payment).await;
    rail.submit_externally(&payment).await;
    let landed = until(rail, "the stranger's transaction is seen", async |rail| {
        match lookup(rail, &payment).await {
            ChainStatus::Confirmed { transaction, .. } => Some(transaction),
            other => {
                assert_eq!(other, ChainStatus::Pending);
                None
            }
        }
    })
    .await;
    assert_eq!(transaction(submit(rail, &payment, &prepared).await), landed);
    // A list may have what is final alone.
    rail.make_final().await;
    listed_once(rail, &payment).await;
}

// Checks: a payment that a killed port started is on chain once, and the next port knows it.
async fn killed_port_resumes<R: Rail>(rail: &mut R) {
    let payment = rail.payment(AMOUNT).await;
    let prepared = ready(rail, &payment).await;
    let port = rail.port();
    let (sent, bytes) = (payment.clone(), prepared.clone());
    let submitted = tokio::spawn(async move { drop(port.submit(&sent, &bytes).await) });
    tokio::task::yield_now().await;
    rail.reopen().await;
    submitted.abort();
    // As the engine does with what it has stored as being settled.
    let landed = transaction(submit(rail, &payment, &prepared).await);
    rail.make_final().await;
    rail.reopen().await;
    until(rail, "the next port has read it", async |rail| {
        let found = lookup(rail, &payment).await;
        matches!(found, ChainStatus::Confirmed { transaction, .. } if transaction == landed).then_some(())
    })
    .await;
    listed_once(rail, &payment).await;
}

// Checks: a transfer out of the treasury settles like a payment and is listed as outgoing. It executes once, even if it
// is signed several times on a chain that accepts each nonce once.
async fn outgoing_transfer_executes_once<R: Rail>(rail: &mut R) {
    rail.fund_treasury(AMOUNT).await;
    let to = rail.recipient().await;
    assert!(rail.port().can_receive(&to).await.unwrap());
    let transfer = OutgoingTransferRequest {
        key: 77,
        to,
        amount: AMOUNT,
    };
    let signed = rail.port().sign(&transfer).await.unwrap();
    let landed = transaction(pay(rail, &signed).await);
    if rail.network() == Network::Base {
        let again = rail.port().sign(&transfer).await.unwrap();
        assert_eq!(again.fingerprint(), signed.fingerprint());
        assert_eq!(transaction(pay(rail, &again).await), landed);
    }
    let (first, last) = (Timestamp(0), Timestamp(u64::MAX));
    let outgoing = rail.port().outgoing_transfers(first, last).await.unwrap();
    let of_it: Vec<_> = outgoing
        .iter()
        .filter(|left| left.fingerprint == signed.fingerprint())
        .collect();
    assert_eq!(of_it.len(), 1);
    assert_eq!(
        (of_it[0].to, of_it[0].amount, &of_it[0].transaction),
        (to, AMOUNT, &landed)
    );
    let sent = rail.port().sent_by(&signed.payer(), first).await.unwrap();
    assert_eq!(
        sent.iter()
            .filter(|left| left.fingerprint == signed.fingerprint())
            .count(),
        1
    );
    let later = Timestamp(of_it[0].at.0 + 1);
    let since = rail.port().sent_by(&signed.payer(), later).await.unwrap();
    assert!(since.iter().all(|left| left.fingerprint != signed.fingerprint()));
}

// Checks: the list is the same with any page size, and each reference leads to its transfer.
async fn list_pages_are_consistent<R: Rail>(rail: &mut R) {
    // A list may have what is final alone.
    rail.make_final().await;
    let whole = listed(rail, 1_000).await;
    assert!(whole.len() >= 4, "{whole:?}");
    for limit in [1, 2, 3] {
        assert_eq!(listed(rail, limit).await, whole, "{limit} a page");
    }
    for moved in &whole {
        let in_it = whole.iter().filter(|other| other.transaction == moved.transaction);
        let in_it: Vec<ChainMovement> = in_it.cloned().collect();
        assert_eq!(named(rail, &moved.transaction).await, in_it);
    }
    assert_eq!(named(rail, "nothing").await, Vec::new());
}

// Checks: a payment that was never sent is pending while it is valid, and impossible once its expiry is proven.
async fn unsent_payment_expires<R: Rail>(rail: &mut R) {
    rail.fund_treasury(AMOUNT).await;
    let to = rail.recipient().await;
    let transfer = OutgoingTransferRequest {
        key: 78,
        to,
        amount: AMOUNT,
    };
    let signed = rail.port().sign(&transfer).await.unwrap();
    assert_eq!(lookup(rail, &signed).await, ChainStatus::Pending);
    rail.expire(&signed).await;
    until(rail, "it is proven that it never lands", async |rail| {
        match lookup(rail, &signed).await {
            ChainStatus::Impossible => Some(()),
            other => {
                assert_eq!(other, ChainStatus::Pending);
                None
            }
        }
    })
    .await;
}
