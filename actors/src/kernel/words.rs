//! Words that stored events have by number: names of members, statuses, types of events, prefixes of ids.
//!
//! A word that is not here is stored as text. It costs its length and nothing else, so a new name need not be added. The
//! prefix of an id must be here: an id is stored as its number behind that of its prefix.

macro_rules! words {
    ($($word:literal)+) => {
        /// The numbers are stored: only append.
        const WORDS: &[&str] = &[$($word),+];
    };
}

// The first 126 have one byte, the others two.
words! {
    "2026-11-20" "payment_id" "status" "amount" "asset" "network" "payer" "transaction" "error_reason"
    "product" "product_id" "created_at" "last_updated_at" "card_id" "state" "card_type" "usd_amount"
    "charged_usd_amount" "fees_paid" "available_usd_amount" "credited_usd_amount" "country" "last4"
    "pending_action" "failure_reason" "refreshing" "pay_" "card_" "USDC" "eip155:8453" "usa_prepaid_card"
    "Non-Reloadable U.S." "US" "settled" "fulfilled" "claimed" "settling" "pending" "ready" "active"
    "payment.settled" "payment.fulfilled" "card.pending" "card.ready" "user_id" "balance" "available" "held"
    "total_deposits" "owner_caps" "session_id" "api_key_id" "reason" "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"
    "base" "solana" "gift_card" "intl_prepaid_card" "push_to_card" "bank_payment" "app_payment" "card_balance"
    "open" "closed" "complete" "failed" "frozen" "created" "revoked" "balance.credited" "balance.debited"
    "balance.held" "balance.released" "balance.withdrawn" "account.created" "Gift Card"
    "Non-Reloadable International" "Reloadable" "USD" "account" "account.caps_updated" "account.frozen"
    "account.unfrozen" "account_holder_name" "account_id" "account_number_last4" "address" "addresses" "adr_"
    "agent" "agent_wallet.address_deleted" "agent_wallet.address_saved" "agent_wallet.caps_updated"
    "agent_wallet.created" "api_key.active" "api_key.issued" "api_key.revoked" "api_version" "application_id"
    "approved" "apr_" "archived" "at" "attempt_count" "attempts" "awaiting-details" "ba_" "balance.reversed"
    "bank_account.open" "bank_account.pending" "bank_account.rejected" "bank_destination.registered"
    "bank_destination.removed" "bank_destination.renamed" "bank_name" "bank_transfer.complete"
    "bank_transfer.failed" "bank_transfer.pending" "bank_transfer.returned" "banking_application.approved"
    "banking_application.incomplete" "banking_application.rejected" "banking_application.submitted"
    "banking_profile.created" "bapp_" "brc_" "bridging" "btr_" "burn" "business" "business_name" "by"
    "cancelled" "card" "card.charge_declined" "card.charge_refunded" "card.charge_settled" "card.charged"
    "card.close_requested" "card.closed" "card.details_viewed" "card.expired" "card.failed"
    "card.pause_requested" "card.paused" "card.refresh_requested" "card.refreshed" "card.remainder_released"
    "card.resume_requested" "card.resumed" "card_last4" "card_withdrawal.claimed" "card_withdrawal.complete"
    "card_withdrawal.failed" "card_withdrawal.hold_released" "card_withdrawal.pending" "card_withdrawal.queued"
    "card_withdrawal.rejected" "cause" "charged_amount" "checks" "client" "close" "completed" "count_per_day"
    "counting" "creating" "credited" "credited_amount" "currency" "decline_reason" "declined" "deleted"
    "delivered" "delivery_id" "dep_" "deposit_address" "deposit_id" "destination" "destination_id"
    "destination_type" "direction" "disabled" "disabled_reason" "disc_" "discrepancy_id" "display_name" "doc_"
    "dropped_reason" "dst_" "duration_ms" "email" "entry_id" "error" "event_id" "evt_" "expired" "external"
    "failing" "failing_since" "failure_code" "fee_amount" "fee_currency" "fiat_iban" "fiat_us" "first_name"
    "forwarded" "found_at" "from" "funded_usd" "gift_card.completed" "gift_card.details_viewed"
    "gift_card.failed" "gift_card.processing" "gone" "held_frozen" "held_restored" "held_unfinal" "host"
    "http_status" "id" "identity.in-review" "identity.rejected" "identity.verified" "in-process" "in-review"
    "incoming" "incomplete" "index" "individual" "internal" "intl_order.cancelled" "intl_order.charge_declined"
    "intl_order.charge_refunded" "intl_order.charge_settled" "intl_order.charged" "intl_order.claimed"
    "intl_order.close_requested" "intl_order.closed" "intl_order.details_viewed" "intl_order.expired"
    "intl_order.overdue" "intl_order.pause_requested" "intl_order.paused" "intl_order.queued" "intl_order.ready"
    "intl_order.rejected" "intl_order.remainder_released" "intl_order.request_ended" "intl_order.resume_requested"
    "intl_order.resumed" "issued" "issuer_link.declined" "issuer_link.linked" "issuer_link.requested"
    "issuer_link.unlinked" "job_" "kept" "key" "key_" "kind" "label" "last_name" "last_paid_at"
    "last_used_at" "late_return" "late_return.credited" "late_return.kept" "late_return.received"
    "late_return_id" "leg" "legs" "limits" "line" "link_pending" "linked" "lr_" "matched" "mint" "name"
    "next_attempt_at" "nickname" "none" "note" "offramp" "on_card_usd_amount" "onramp" "opened_at" "other"
    "otx_" "outgoing" "overdue" "paid" "pause" "paused" "pay_to" "payment.credited" "payment.declined"
    "payment.refused" "payment.released" "payment.resolved" "payment.reversed" "payment.unknown"
    "payment_network" "payment_recipient.archived" "payment_recipient.created" "payment_recipient.deleted"
    "payment_recipient.paid" "payment_recipient.payment_returned" "payment_recipient.renamed"
    "payment_recipient.unarchived" "payments_count" "payout" "payout.awaiting-details" "payout.cancelled"
    "payout.complete" "payout.expired" "payout.failed" "payout.in-process" "payout.queued" "payout.returned"
    "payout_id" "paypal" "per_call_usd" "per_day_usd" "platform" "po_" "processing" "queued" "rcp_"
    "received" "recipient_id" "reference" "refresh_token_reused" "refund.approved" "refund.credited"
    "refund_id" "refused" "rejected" "rejection_reason" "released" "reloadable_card.charge_declined"
    "reloadable_card.charge_refunded" "reloadable_card.charge_settled" "reloadable_card.charged"
    "reloadable_card.close_requested" "reloadable_card.closed" "reloadable_card.creating"
    "reloadable_card.details_viewed" "reloadable_card.failed" "reloadable_card.open"
    "reloadable_card.pause_requested" "reloadable_card.paused" "reloadable_card.resume_requested"
    "reloadable_card.resumed" "removed" "req_" "requested" "requested_items" "resolution" "resolved"
    "response_excerpt" "resume" "return_fee" "returned" "returned_amount" "reusable" "reversed" "rf_"
    "routing_number" "running" "saved_addresses" "sender" "sent" "ses_" "session.agent_announced"
    "session.revoked" "shows" "signed" "signed_out" "since" "source" "stl_" "stopped" "subject"
    "submissions" "submitted" "sum_per_day" "to_account" "to_balance" "top_" "top_up.bridging"
    "top_up.credited" "top_up.delivered" "top_up.failed" "top_up.paid" "top_up_id" "total_amount"
    "transaction_id" "transfer" "tx_hash" "type" "types" "unknown" "unlinked" "unsettled" "url" "venmo"
    "verified" "version" "wallet_payment.failed" "wallet_payment.pending" "wallet_payment.sent"
    "wallet_payment.settled" "wallet_payment.signed" "wallet_payment.unsettled" "wallet_payment_id" "wd_"
    "webhook.deleted" "webhook.disabled" "webhook.enabled" "webhook.failing" "webhook.recovered"
    "webhook.redelivery_requested" "webhook.registered" "webhook.secret_rotated" "webhook.test" "webhook_id"
    "wh_" "whd_" "withdrawal.complete" "withdrawal.failed" "withdrawal.pending" "withdrawal.sent"
    "withdrawal_id" "wpay_" "x402"
    "sap_" "approval_id" "approval.requested" "approval.approved" "approval.declined" "approval.expired"
    "approval.used" "agent_wallet.spend_refused" "api_key.limits_updated" "pk_" "opk_" "ops_"
}

/// Longest text that may be a word.
const LONGEST: usize = 40;

/// About a fifth is used.
const SLOTS: usize = 2048;

/// The number of each word plus one, at its slot or the next one that was free.
static NUMBERS: [u16; SLOTS] = {
    let (mut numbers, mut number) = ([0; SLOTS], 0);
    while number < WORDS.len() {
        let mut slot = slot_of(WORDS[number].as_bytes());
        while numbers[slot] != 0 {
            slot = (slot + 1) % SLOTS;
        }
        number += 1;
        numbers[slot] = number as u16;
    }
    numbers
};

/// From the length and four bytes of each end: a comparison then finds the word.
const fn slot_of(text: &[u8]) -> usize {
    let (first, last) = match text.len() {
        0..4 => (0, if text.is_empty() { 0 } else { text[0] as u32 }),
        n => (
            u32::from_le_bytes([text[0], text[1], text[2], text[3]]),
            u32::from_le_bytes([text[n - 4], text[n - 3], text[n - 2], text[n - 1]]),
        ),
    };
    let mixed = first ^ last.rotate_left(13) ^ (text.len() as u32).wrapping_mul(0x9e37_79b1);
    (mixed.wrapping_mul(0x85eb_ca6b) >> 21) as usize
}

/// Number of a word; `None` for other text.
pub(super) fn number_of(text: &str) -> Option<u64> {
    if text.len() > LONGEST {
        return None;
    }
    let mut slot = slot_of(text.as_bytes());
    loop {
        let number = NUMBERS[slot].checked_sub(1)?;
        if WORDS[usize::from(number)] == text {
            return Some(u64::from(number));
        }
        slot = (slot + 1) % SLOTS;
    }
}

/// Word with a number.
pub(super) fn word(number: u64) -> Option<&'static str> {
    WORDS.get(usize::try_from(number).ok()?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Checks: each word is found under its own number, and nothing else is found.
    #[test]
    fn words_have_their_numbers() {
        for (number, text) in (0..).zip(WORDS) {
            assert_eq!(number_of(text), Some(number), "{text}");
            assert_eq!(word(number), Some(*text));
            assert!(text.len() <= LONGEST);
        }
        assert_eq!(word(WORDS.len() as u64), None);
        for text in ["", "a", "ab", "abc", "no word", "created_a", "created_atx"] {
            assert_eq!(number_of(text), None, "{text}");
        }
    }

    // Checks: the prefix of each kind of id is a word, or the events that name one could not be stored. The source says which
    // ids there are, because modules of ids are not visible from here.
    #[test]
    fn prefixes_of_ids_are_words() {
        let source = include_str!("../id.rs");
        let prefixes: Vec<&str> = source
            .split("\ndefine_id!(")
            .skip(1)
            .filter_map(|definition| definition.split(");").next()?.split('"').nth(1))
            .collect();
        assert_eq!(prefixes.len(), source.matches("\ndefine_id!(").count());
        assert!(prefixes.len() > 30, "{prefixes:?}");
        for prefix in prefixes {
            assert!(
                prefix.ends_with('_') && number_of(prefix).is_some(),
                "{prefix} is no word"
            );
        }
    }

    // Checks: the numbers of words never change, because stored events have them.
    #[test]
    fn numbers_are_stored() {
        let known = [
            (0, "2026-11-20"),
            (1, "payment_id"),
            (69, "balance.credited"),
            (436, "x402"),
        ];
        for (number, text) in known {
            assert_eq!(number_of(text), Some(number), "{text}");
        }
    }
}
