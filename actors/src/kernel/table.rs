//! Where each kind of row lives: one byte for the table, then what the table is ordered by.

mod gate;

use purser_storage::RowKey;

use crate::id::{
    ApiKeyId, ApprovalId, BankDestinationId, CardId, DepositId, DiscrepancyId, JobId, LateReturnId, OutgoingTransferId,
    PaymentId, RefundId, RequestId, SessionId, StatementLineId, Wallet, WalletPaymentId, WithdrawalId,
};
use crate::kernel::EntityKind;
use crate::port::Timestamp;

pub use gate::{all_frozen, frozen, pending_finality, recognised_transfer};

/// Gives each table its byte. The enum is what lets no two tables have the same one: its discriminants must differ.
macro_rules! tables {
    ($($(#[$says:meta])* $name:ident = $byte:literal,)*) => {
        $($(#[$says])* pub const $name: u8 = Table::$name as u8;)*
        #[repr(u8)]
        #[expect(non_camel_case_types, clippy::upper_case_acronyms, reason = "the names of the constants")]
        enum Table {
            $($name = $byte,)*
        }
    };
}

tables! {
    /// Snapshots of entities.
    ENTITY = b'e',
    /// Effects not yet done.
    OUTBOX = b'f',
    /// Effects not yet due, by when they are.
    TIMER = b't',
    /// Wallets whose holder's identity is verified.
    VERIFIED = b'k',
    /// Wallets whose holder has linked an account at the card issuer.
    ISSUER_LINKED = b'c',
    /// Bank destinations that can be paid, by owner.
    PAYABLE_DESTINATION = b'b',
    /// Ledger transactions, in the order of time.
    LEDGER = b'l',
    /// What an account owns, by kind and time.
    OWNER_INDEX = b'i',
    /// Sign-in nonces and challenges of payments already used, by expiry.
    USED_NONCE = b'n',
    /// Login-link codes not yet used.
    LOGIN_CODE = b'g',
    /// Lowercased Solana addresses already taken.
    USER_ID = b'u',
    /// Revoked sessions whose id_tokens could still be alive, by the end of the last of them.
    REVOKED_SESSION = b'r',
    /// Payments whose transfer was taken in as an incoming transfer that no payment claims: none of them settles any more.
    TAKEN_IN_PAYMENT = b'd',
    /// Shares of an account's daily caps that were counted for a payment of a history which a restore has lost.
    UNCLAIMED_CAP_USAGE = b'N',
    /// Incoming transfers that nobody has decided about, the oldest first; the value says whether an operator must.
    INCOMING = b'I',
    /// Transfers out of the treasury that an operator has booked after a restore: none is booked again.
    ATTRIBUTED_TRANSFER = b'h',
    /// Orders at providers that an operator has booked after a restore, by their key: none is booked again.
    LOST_ORDER = b'H',
    /// Sealed card numbers.
    VAULT = b'v',
    /// CVVs that operators entered, each sealed under a key of its own.
    CVV = b'w',
    /// International orders that an operator has still to decide, the oldest first.
    INTL_ORDER_QUEUE = b'q',
    /// International cards whose holders want something of them, by when they first did.
    PENDING_CARD_ACTION = b'C',
    /// Withdrawals from card balances that an operator has still to decide, the oldest first.
    CARD_WITHDRAWAL_QUEUE = b'z',
    /// Transactions that operators paid such withdrawals with: each pays one.
    WITHDRAWAL_TRANSACTION = b'P',
    /// What operators did, by number.
    AUDIT_LOG = b'a',
    /// Operators' tokens, by their hash.
    OPERATOR_TOKEN = b'o',
    /// What operators have given alone today, by their tokens' names.
    OPERATOR_DAILY_TOTAL = b'L',
    /// Acts that wait for a second operator.
    APPROVAL = b'O',
    /// Remembered answers, by account and idempotency key.
    IDEMPOTENCY = b'y',
    /// The ends of remembered answers, by expiry.
    IDEMPOTENCY_EXPIRY = b'x',
    /// Lines of accounts' statements.
    STATEMENT_LINE = b's',
    /// Late returns, the oldest first.
    LATE_RETURN = b'j',
    /// Differences that are open, the oldest first; the value is the number of what kind they are.
    OPEN_DISCREPANCY = b'D',
    /// Refunds that wait for a second operator, the oldest first.
    PENDING_REFUND = b'R',
    /// What was sent and answered for a managed wallet's spend, sealed, in pieces that fit a row.
    HTTP_RECORD = b'p',
    /// The places of an account's living API keys.
    API_KEY_SLOT = b'K',
    /// Endpoints that events are posted to, by owner and URL.
    WEBHOOK = b'W',
    /// Reloadable cards that tokens issued for a payment have ordered, by that payment and in their order.
    PAYMENT_CARD = b'B',
    /// What a request opened: the value is the key of that row.
    REQUEST_INDEX = b'Q',
    /// Addresses of managed wallets; the value is the key of the account that they are addresses of.
    ADDRESS = b'A',
    /// API keys and operators' tokens of before a restore of which an administrator has said that they are good.
    CONFIRMED = b'J',
    /// Asked before money leaves: frozen accounts, payments that are not final, transfers that a restored store took for a spend's.
    GATE = b'F',
    /// What the settlement port for Base keeps: blocks, movements, transactions of its gas keys. Only the port reads it.
    BASE = b'E',
    /// What the settlement port for Solana keeps: what it sends, the treasury's movements. Only the port reads it.
    SOLANA = b'S',
    /// Facts about the store itself.
    META = b'm',
}

fn key(parts: &[&[u8]]) -> RowKey {
    parts.concat().into_boxed_slice()
}

/// The snapshot of an entity.
pub fn entity(kind: EntityKind, id: &[u8]) -> RowKey {
    key(&[&[ENTITY, kind as u8], id])
}

/// An effect.
pub fn outbox_job(id: JobId) -> RowKey {
    key(&[&[OUTBOX], &id.0.to_be_bytes()])
}

/// An effect that is not due yet.
pub fn timer(due: Timestamp, id: JobId) -> RowKey {
    key(&[&[TIMER], &due.0.to_be_bytes(), &id.0.to_be_bytes()])
}

/// Present while the holder's identity is verified.
pub fn verified(wallet: &Wallet) -> RowKey {
    key(&[&[VERIFIED], &wallet.key()])
}

/// Present while the holder has a linked account at the card issuer; the value is the 20 bytes of its deposit address.
pub fn issuer_linked(wallet: &Wallet) -> RowKey {
    key(&[&[ISSUER_LINKED], &wallet.key()])
}

/// Present while this destination can be paid by this wallet.
pub fn payable_destination(owner: &Wallet, id: BankDestinationId) -> RowKey {
    key(&[
        &[PAYABLE_DESTINATION],
        &owner.digest().to_be_bytes(),
        &id.0.to_be_bytes(),
    ])
}

/// A ledger transaction.
pub fn ledger(at: Timestamp, id: u128) -> RowKey {
    key(&[&[LEDGER], &at.0.to_be_bytes(), &id.to_be_bytes()])
}

/// Prefix of what a wallet owns of one kind.
pub fn owner_index(owner: &Wallet, kind: EntityKind) -> RowKey {
    key(&[&[OWNER_INDEX], &owner.digest().to_be_bytes(), &[kind as u8]])
}

/// One thing that a wallet owns.
pub fn owner_index_entry(owner: &Wallet, kind: EntityKind, at: Timestamp, id: u128) -> RowKey {
    key(&[&owner_index(owner, kind), &at.0.to_be_bytes(), &id.to_be_bytes()])
}

/// Whether what a wallet owns of a kind is listed with the newest first: its rows carry the time that is left until the end of all times.
pub const fn newest_first(kind: EntityKind) -> bool {
    matches!(
        kind,
        EntityKind::TopUp | EntityKind::Payment | EntityKind::WebhookDelivery
    )
}

/// When something was made, and its number, of a key that ends with both, as [`owned_one`]'s.
pub fn created_and_id(owned: &RowKey) -> Option<(Timestamp, u128)> {
    let (rest, id) = owned.split_last_chunk::<16>()?;
    let at = rest.last_chunk::<8>()?;
    Some((Timestamp(u64::from_be_bytes(*at)), u128::from_be_bytes(*id)))
}

/// A used nonce or challenge, with the second from which it no longer matters.
pub fn nonce(expires_s: u64, nonce: &[u8; 16]) -> RowKey {
    key(&[&[USED_NONCE], &expires_s.to_be_bytes(), nonce])
}

/// A login code by its hash.
pub fn login_code(code_hash: &[u8; 32]) -> RowKey {
    key(&[&[LOGIN_CODE], code_hash])
}

/// A revoked session, with the second from which no id_token of it lives.
pub fn revoked_session(until_s: u64, session: SessionId) -> RowKey {
    key(&[&[REVOKED_SESSION], &until_s.to_be_bytes(), &session.0.to_be_bytes()])
}

/// An address of a managed wallet.
pub fn address(wallet: &Wallet) -> RowKey {
    key(&[&[ADDRESS], &wallet.key()])
}

/// Present once the transfer that would settle this payment was taken in without it; the value is the transfer's id.
pub fn taken_in_payment(payment: PaymentId) -> RowKey {
    key(&[&[TAKEN_IN_PAYMENT], &payment.0.to_be_bytes()])
}

/// What was counted for a payment that nobody has presented again.
pub fn unclaimed_cap_usage(payment: PaymentId) -> RowKey {
    key(&[&[UNCLAIMED_CAP_USAGE], &payment.0.to_be_bytes()])
}

/// An incoming transfer that nobody has decided about.
pub fn incoming(since: Timestamp, id: DepositId) -> RowKey {
    key(&[&[INCOMING], &since.0.to_be_bytes(), &id.0.to_be_bytes()])
}

/// A transfer out of the treasury that an operator has booked.
pub fn attributed_transfer(id: OutgoingTransferId) -> RowKey {
    key(&[&[ATTRIBUTED_TRANSFER], &id.0.to_be_bytes()])
}

/// Of an order at a provider that an operator has booked.
pub fn lost_order(key_there: JobId) -> RowKey {
    key(&[&[LOST_ORDER], &key_there.0.to_be_bytes()])
}

/// A lowercased address.
pub fn user(user_id: &str) -> RowKey {
    key(&[&[USER_ID], user_id.as_bytes()])
}

/// A sealed card number.
pub fn vault(card: CardId) -> RowKey {
    key(&[&[VAULT], &card.0.to_be_bytes()])
}

/// A sealed CVV.
pub fn cvv(card: CardId) -> RowKey {
    key(&[&[CVV], &card.0.to_be_bytes()])
}

/// An international order that is open.
pub fn intl_order_queue(since: Timestamp, order: CardId) -> RowKey {
    key(&[&[INTL_ORDER_QUEUE], &since.0.to_be_bytes(), &order.0.to_be_bytes()])
}

/// An international card whose holder wants something of it.
pub fn pending_card_action(since: Timestamp, card: CardId) -> RowKey {
    key(&[&[PENDING_CARD_ACTION], &since.0.to_be_bytes(), &card.0.to_be_bytes()])
}

/// A withdrawal from a card balance that is open.
pub fn card_withdrawal_queue(since: Timestamp, withdrawal: WithdrawalId) -> RowKey {
    key(&[
        &[CARD_WITHDRAWAL_QUEUE],
        &since.0.to_be_bytes(),
        &withdrawal.0.to_be_bytes(),
    ])
}

/// A transaction that paid one.
pub fn withdrawal_transaction(transaction: &str) -> RowKey {
    key(&[&[WITHDRAWAL_TRANSACTION], transaction.as_bytes()])
}

/// Prefix of the reloadable cards that tokens issued for a payment have ordered.
pub fn payment_cards(payment: PaymentId) -> RowKey {
    key(&[&[PAYMENT_CARD], &payment.0.to_be_bytes()])
}

/// One of them; the value is the card's number.
pub fn payment_card(payment: PaymentId, nth: u32) -> RowKey {
    key(&[&payment_cards(payment), &nth.to_be_bytes()])
}

/// A late return, for the operator's list.
pub fn late_return(at: Timestamp, id: LateReturnId) -> RowKey {
    key(&[&[LATE_RETURN], &at.0.to_be_bytes(), &id.0.to_be_bytes()])
}

/// A difference that is open, for the operator's list.
pub fn open_discrepancy(since: Timestamp, id: DiscrepancyId) -> RowKey {
    key(&[&[OPEN_DISCREPANCY], &since.0.to_be_bytes(), &id.0.to_be_bytes()])
}

/// A refund that waits for a second operator.
pub fn refund(since: Timestamp, id: RefundId) -> RowKey {
    key(&[&[PENDING_REFUND], &since.0.to_be_bytes(), &id.0.to_be_bytes()])
}

/// Something that an operator did: the so-many-th act, from 1.
pub fn audit(number: u64) -> RowKey {
    key(&[&[AUDIT_LOG], &number.to_be_bytes()])
}

/// What an operator has given alone, by the name of the token.
pub fn operator_daily_total(by: &str) -> RowKey {
    use sha2::{Digest as _, Sha256};
    key(&[&[OPERATOR_DAILY_TOTAL], &Sha256::digest(by)[..16]])
}

/// An act that waits for a second operator.
pub fn approval(id: ApprovalId) -> RowKey {
    key(&[&[APPROVAL], &id.0.to_be_bytes()])
}

/// An operator's token.
pub fn operator(token_hash: &[u8; 32]) -> RowKey {
    key(&[&[OPERATOR_TOKEN], token_hash])
}

/// The answer that an account's idempotency key, by its digest, was given.
pub fn idempotency(owner: &Wallet, key_digest: u128) -> RowKey {
    key(&[&[IDEMPOTENCY], &owner.digest().to_be_bytes(), &key_digest.to_be_bytes()])
}

/// When that answer is forgotten, in seconds. Behind the expiry it is as [`memo`].
pub fn idempotency_expiry(expires_s: u64, owner: &Wallet, key_digest: u128) -> RowKey {
    key(&[
        &[IDEMPOTENCY_EXPIRY],
        &expires_s.to_be_bytes(),
        &idempotency(owner, key_digest)[1..],
    ])
}

/// The row whose end this key of [`MEMO_END`] is.
pub(crate) fn idempotency_of_expiry(end: &[u8]) -> Option<RowKey> {
    Some(key(&[&[IDEMPOTENCY], end.get(9..)?]))
}

/// Prefix of a wallet's statement.
pub fn statement_lines(owner: &Wallet) -> RowKey {
    key(&[&[STATEMENT_LINE], &owner.digest().to_be_bytes()])
}

/// A line of it.
pub fn statement_line(owner: &Wallet, id: StatementLineId) -> RowKey {
    key(&[&statement_lines(owner), &id.0.to_be_bytes()])
}

/// Prefix of what was spoken for a spend.
pub fn http_records_of(spend: WalletPaymentId) -> RowKey {
    key(&[&[HTTP_RECORD], &spend.0.to_be_bytes()])
}

/// Prefix of one part of it.
pub fn http_record(spend: WalletPaymentId, part: u8) -> RowKey {
    key(&[&http_records_of(spend), &[part]])
}

/// A piece of it.
pub fn http_record_chunk(spend: WalletPaymentId, part: u8, piece: u16) -> RowKey {
    key(&[&http_record(spend, part), &piece.to_be_bytes()])
}

/// Whose piece the row under a key of [`SPOKEN`] is, and whether it begins a part.
pub fn chunk_index(key: &[u8]) -> Option<(WalletPaymentId, bool)> {
    let (spend, rest) = key.strip_prefix(&[HTTP_RECORD])?.split_first_chunk::<16>()?;
    Some((WalletPaymentId(u128::from_be_bytes(*spend)), rest.ends_with(&[0, 0])))
}

/// Prefix of the places that a wallet's living API keys take.
pub fn api_keys(owner: &Wallet) -> RowKey {
    key(&[&[API_KEY_SLOT], &owner.digest().to_be_bytes()])
}

/// One of these places; the value is the key's id. As many as there are bound how many keys there can be.
pub fn api_key(owner: &Wallet, place: u8) -> RowKey {
    key(&[&api_keys(owner), &[place]])
}

/// Prefix of a wallet's endpoints.
pub fn webhooks(owner: &Wallet) -> RowKey {
    key(&[&[WEBHOOK], &owner.digest().to_be_bytes()])
}

/// The endpoint of a wallet at this URL; the value is its id.
pub fn webhook(owner: &Wallet, url: &str) -> RowKey {
    use sha2::{Digest as _, Sha256};
    key(&[&webhooks(owner), &Sha256::digest(url)[..16]])
}

/// What a request opened.
pub fn request(id: RequestId) -> RowKey {
    key(&[&[REQUEST_INDEX], &id.0.to_be_bytes()])
}

/// Present once an API key of before a restore is known to be good.
pub fn confirmed_key(id: ApiKeyId) -> RowKey {
    key(&[&[CONFIRMED, 0], &id.0.to_be_bytes()])
}

/// The same of an operator's token, by its hash.
pub fn confirmed_token(token_hash: &[u8; 32]) -> RowKey {
    key(&[&[CONFIRMED, 1], token_hash])
}

/// A fact about the store.
pub fn meta(name: &str) -> RowKey {
    key(&[&[META], name.as_bytes()])
}
