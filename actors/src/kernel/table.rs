//! Row keys of every table: one byte for the table, then the fields that the table is ordered by.

mod gate;

use purser_storage::RowKey;

use crate::id::{
    ApiKeyId, ApprovalId, BankDestinationId, CardId, DepositId, DiscrepancyId, EventId, JobId, LateReturnId,
    OutgoingTransferId, PasskeyId, PaymentId, RefundId, RequestId, SessionId, SpendApprovalId, StatementLineId, Wallet,
    WalletPaymentId, WithdrawalId,
};
use crate::kernel::EntityKind;
use crate::port::Timestamp;

pub use gate::{agents_stopped, all_agents_stopped, all_frozen, frozen, pending_finality, recognised_transfer};

/// Gives each table its byte. The enum guarantees that no two tables share one, because its discriminants must differ.
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
    /// Jobs that have not completed.
    OUTBOX = b'f',
    /// Jobs that are not due yet, by due time.
    TIMER = b't',
    /// Wallets whose owner's identity is verified.
    VERIFIED = b'k',
    /// Wallets whose owner has linked an account at the card issuer.
    ISSUER_LINKED = b'c',
    /// Bank destinations that can be paid, by owner.
    PAYABLE_DESTINATION = b'b',
    /// Ledger transactions, by time.
    LEDGER = b'l',
    /// Entities of an account, by kind and time.
    OWNER_INDEX = b'i',
    /// Sign-in nonces and payment challenges already used, by expiry.
    USED_NONCE = b'n',
    /// Login link codes not yet used.
    LOGIN_CODE = b'g',
    /// Lower-case Solana addresses already registered.
    USER_ID = b'u',
    /// Revoked sessions whose id_tokens could still be valid, by the expiry of the last one.
    REVOKED_SESSION = b'r',
    /// Payments whose transfer was recorded as an incoming transfer: none of them settles any more.
    TAKEN_IN_PAYMENT = b'd',
    /// Cap reservations that were counted for a payment of a history that a restore lost.
    UNCLAIMED_CAP_USAGE = b'N',
    /// Undecided incoming transfers, oldest first; the value says whether an operator must decide.
    INCOMING = b'I',
    /// Outgoing treasury transfers that an operator attributed after a restore: none is attributed again.
    ATTRIBUTED_TRANSFER = b'h',
    /// Orders at providers that an operator attributed after a restore, by key: none is attributed again.
    LOST_ORDER = b'H',
    /// Sealed card numbers.
    VAULT = b'v',
    /// CVVs that operators entered, each sealed under a separate key.
    CVV = b'w',
    /// International orders that wait for an operator's decision, oldest first.
    INTL_ORDER_QUEUE = b'q',
    /// International cards with a pending action, by the time of the request.
    PENDING_CARD_ACTION = b'C',
    /// Card withdrawals that wait for an operator's decision, oldest first.
    CARD_WITHDRAWAL_QUEUE = b'z',
    /// Transactions with which operators paid card withdrawals: each pays one.
    WITHDRAWAL_TRANSACTION = b'P',
    /// Audit records, by number.
    AUDIT_LOG = b'a',
    /// Notes of operators on accounts, by account, newest first; the revision is the number of the audit record that has
    /// the text.
    CUSTOMER_NOTE = b'M',
    /// Announcements to the operators' webhook, newest first.
    ANNOUNCEMENT = b'T',
    /// Operator tokens, by hash.
    OPERATOR_TOKEN = b'o',
    /// Passkeys of operators, by the digest of their credential id.
    OPERATOR_PASSKEY = b'U',
    /// Sessions of operators, by the hash of their cookie.
    OPERATOR_SESSION = b'V',
    /// Totals that operators gave alone today, by token name.
    OPERATOR_DAILY_TOTAL = b'L',
    /// Actions that wait for a second operator.
    APPROVAL = b'O',
    /// Idempotency records, by account and idempotency key.
    IDEMPOTENCY = b'y',
    /// Expiries of idempotency records, by time.
    IDEMPOTENCY_EXPIRY = b'x',
    /// Statement lines of accounts.
    STATEMENT_LINE = b's',
    /// Statement lines of agent wallets.
    WALLET_STATEMENT_LINE = b'6',
    /// Late returns, oldest first.
    LATE_RETURN = b'j',
    /// Open discrepancies, oldest first; the value is the number of the kind.
    OPEN_DISCREPANCY = b'D',
    /// Refunds that wait for a second operator, oldest first.
    PENDING_REFUND = b'R',
    /// HTTP requests and responses of wallet payments, sealed, in chunks that fit a row.
    HTTP_RECORD = b'p',
    /// Slots of an account's active API keys.
    API_KEY_SLOT = b'K',
    /// Slots of an account's active passkeys.
    PASSKEY_SLOT = b'X',
    /// Passkeys by the digest of their credential id, removed ones included.
    PASSKEY_CREDENTIAL = b'Y',
    /// Webhook endpoints, by owner and URL.
    WEBHOOK = b'W',
    /// Reloadable cards ordered by tokens that a payment issued, by payment and order.
    PAYMENT_CARD = b'B',
    /// Entity created by a request: the value is the key of its row.
    REQUEST_INDEX = b'Q',
    /// Addresses of agent wallets; the value is the key of the owner's account.
    ADDRESS = b'A',
    /// API keys, operator tokens and passkeys from before a restore that an administrator confirmed.
    CONFIRMED = b'J',
    /// Checked before money leaves: frozen accounts, accounts whose agents are stopped, non-final payments, transfers
    /// attributed to wallet payments.
    GATE = b'F',
    /// Data of the Base settlement port: blocks, transfers, transactions of its gas keys. Only the port reads it.
    BASE = b'E',
    /// Data of the Solana settlement port: transactions it sends, treasury transfers. Only the port reads it.
    SOLANA = b'S',
    /// Spends that wait for their owner or were declined, by owner and fingerprint; the value is the approval's id.
    REQUESTED_SPEND = b'1',
    /// Slots of an account's open spend approvals.
    SPEND_APPROVAL_SLOT = b'2',
    /// Spend approvals that can be used: the batch of the spend deletes the row.
    APPROVED_SPEND = b'3',
    /// What the sessions of an API key spent on one day, by key.
    KEY_USAGE = b'4',
    /// What agents took from the balances of an account on one day, by owner.
    BALANCE_USAGE = b'5',
    /// Accounts with a recovery in progress.
    OPEN_RECOVERY = b'7',
    /// Accounts whose access from before a time has ended, by a recovery.
    ACCESS_CUTOFF = b'8',
    /// Accounts that were recovered, until a passkey is added.
    RECOVERED = b'9',
    /// Metadata of the store itself.
    META = b'm',
}

fn key(parts: &[&[u8]]) -> RowKey {
    parts.concat().into_boxed_slice()
}

/// Snapshot of an entity.
pub fn entity(kind: EntityKind, id: &[u8]) -> RowKey {
    key(&[&[ENTITY, kind as u8], id])
}

/// Row of an outbox job.
pub fn outbox_job(id: JobId) -> RowKey {
    key(&[&[OUTBOX], &id.0.to_be_bytes()])
}

/// Row of a job that is not due yet.
pub fn timer(due: Timestamp, id: JobId) -> RowKey {
    key(&[&[TIMER], &due.0.to_be_bytes(), &id.0.to_be_bytes()])
}

/// Present while the owner's identity is verified.
pub fn verified(wallet: &Wallet) -> RowKey {
    key(&[&[VERIFIED], &wallet.key()])
}

/// Present while the owner has a linked account at the card issuer; the value is the 20 bytes of its deposit address.
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

/// Row of a ledger transaction.
pub fn ledger(at: Timestamp, id: u128) -> RowKey {
    key(&[&[LEDGER], &at.0.to_be_bytes(), &id.to_be_bytes()])
}

/// Prefix of a wallet's entities of one kind.
pub fn owner_index(owner: &Wallet, kind: EntityKind) -> RowKey {
    key(&[&[OWNER_INDEX], &owner.digest().to_be_bytes(), &[kind as u8]])
}

/// One entity of a wallet.
pub fn owner_index_entry(owner: &Wallet, kind: EntityKind, at: Timestamp, id: u128) -> RowKey {
    key(&[&owner_index(owner, kind), &at.0.to_be_bytes(), &id.to_be_bytes()])
}

/// Whether entities of this kind are listed newest first: their rows carry the time left until the maximum timestamp.
pub const fn newest_first(kind: EntityKind) -> bool {
    matches!(
        kind,
        EntityKind::TopUp
            | EntityKind::Payment
            | EntityKind::Session
            | EntityKind::WebhookDelivery
            | EntityKind::SpendApproval
    )
}

/// Creation time and number in a key that ends with both, such as that of [`owner_index_entry`].
pub fn created_and_id(owned: &RowKey) -> Option<(Timestamp, u128)> {
    let (rest, id) = owned.split_last_chunk::<16>()?;
    let at = rest.last_chunk::<8>()?;
    Some((Timestamp(u64::from_be_bytes(*at)), u128::from_be_bytes(*id)))
}

/// A used nonce or challenge, with the second from which it is expired anyway.
pub fn nonce(expires_s: u64, nonce: &[u8; 16]) -> RowKey {
    key(&[&[USED_NONCE], &expires_s.to_be_bytes(), nonce])
}

/// A login code by its hash.
pub fn login_code(code_hash: &[u8; 32]) -> RowKey {
    key(&[&[LOGIN_CODE], code_hash])
}

/// A revoked session, with the second from which none of its id_tokens is valid.
pub fn revoked_session(until_s: u64, session: SessionId) -> RowKey {
    key(&[&[REVOKED_SESSION], &until_s.to_be_bytes(), &session.0.to_be_bytes()])
}

/// Address of an agent wallet.
pub fn address(wallet: &Wallet) -> RowKey {
    key(&[&[ADDRESS], &wallet.key()])
}

/// Present once the transfer that would settle this payment was recorded as a deposit; the value is the transfer's id.
pub fn taken_in_payment(payment: PaymentId) -> RowKey {
    key(&[&[TAKEN_IN_PAYMENT], &payment.0.to_be_bytes()])
}

/// Reservations counted for a payment that was not sent again.
pub fn unclaimed_cap_usage(payment: PaymentId) -> RowKey {
    key(&[&[UNCLAIMED_CAP_USAGE], &payment.0.to_be_bytes()])
}

/// An undecided incoming transfer.
pub fn incoming(since: Timestamp, id: DepositId) -> RowKey {
    key(&[&[INCOMING], &since.0.to_be_bytes(), &id.0.to_be_bytes()])
}

/// An outgoing treasury transfer that an operator attributed.
pub fn attributed_transfer(id: OutgoingTransferId) -> RowKey {
    key(&[&[ATTRIBUTED_TRANSFER], &id.0.to_be_bytes()])
}

/// An order at a provider that an operator attributed, by its idempotency key there.
pub fn lost_order(key_there: JobId) -> RowKey {
    key(&[&[LOST_ORDER], &key_there.0.to_be_bytes()])
}

/// A lower-case user id.
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

/// An open international order.
pub fn intl_order_queue(since: Timestamp, order: CardId) -> RowKey {
    key(&[&[INTL_ORDER_QUEUE], &since.0.to_be_bytes(), &order.0.to_be_bytes()])
}

/// An international card with a pending action.
pub fn pending_card_action(since: Timestamp, card: CardId) -> RowKey {
    key(&[&[PENDING_CARD_ACTION], &since.0.to_be_bytes(), &card.0.to_be_bytes()])
}

/// An open card withdrawal.
pub fn card_withdrawal_queue(since: Timestamp, withdrawal: WithdrawalId) -> RowKey {
    key(&[
        &[CARD_WITHDRAWAL_QUEUE],
        &since.0.to_be_bytes(),
        &withdrawal.0.to_be_bytes(),
    ])
}

/// Transaction that paid a card withdrawal.
pub fn withdrawal_transaction(transaction: &str) -> RowKey {
    key(&[&[WITHDRAWAL_TRANSACTION], transaction.as_bytes()])
}

/// Prefix of the reloadable cards ordered by tokens that a payment issued.
pub fn payment_cards(payment: PaymentId) -> RowKey {
    key(&[&[PAYMENT_CARD], &payment.0.to_be_bytes()])
}

/// One of these cards; the value is the card's number.
pub fn payment_card(payment: PaymentId, nth: u32) -> RowKey {
    key(&[&payment_cards(payment), &nth.to_be_bytes()])
}

/// A late return, for the operators' list.
pub fn late_return(at: Timestamp, id: LateReturnId) -> RowKey {
    key(&[&[LATE_RETURN], &at.0.to_be_bytes(), &id.0.to_be_bytes()])
}

/// An open discrepancy, for the operators' list.
pub fn open_discrepancy(since: Timestamp, id: DiscrepancyId) -> RowKey {
    key(&[&[OPEN_DISCREPANCY], &since.0.to_be_bytes(), &id.0.to_be_bytes()])
}

/// A refund that waits for a second operator.
pub fn refund(since: Timestamp, id: RefundId) -> RowKey {
    key(&[&[PENDING_REFUND], &since.0.to_be_bytes(), &id.0.to_be_bytes()])
}

/// An audit record by its number, from 1.
pub fn audit(number: u64) -> RowKey {
    key(&[&[AUDIT_LOG], &number.to_be_bytes()])
}

/// Prefix of the notes on an account.
pub fn customer_notes(account: &Wallet) -> RowKey {
    key(&[&[CUSTOMER_NOTE], &account.digest().to_be_bytes()])
}

/// The note on an account that the audit record with this number has. Newer notes come first.
pub fn customer_note(account: &Wallet, number: u64) -> RowKey {
    key(&[&customer_notes(account), &(u64::MAX - number).to_be_bytes()])
}

/// An announcement to the operators' webhook. Newer ones come first.
pub fn announcement(at: Timestamp, id: EventId) -> RowKey {
    key(&[&[ANNOUNCEMENT], &(u64::MAX - at.0).to_be_bytes(), &id.0.to_be_bytes()])
}

/// Total that an operator gave alone, by the name of the token.
pub fn operator_daily_total(by: &str) -> RowKey {
    use sha2::{Digest as _, Sha256};
    key(&[&[OPERATOR_DAILY_TOTAL], &Sha256::digest(by)[..16]])
}

/// An action that waits for a second operator.
pub fn approval(id: ApprovalId) -> RowKey {
    key(&[&[APPROVAL], &id.0.to_be_bytes()])
}

/// An operator token by its hash.
pub fn operator(token_hash: &[u8; 32]) -> RowKey {
    key(&[&[OPERATOR_TOKEN], token_hash])
}

/// A passkey of an operator by its credential id.
pub fn operator_passkey(credential: &[u8]) -> RowKey {
    use sha2::{Digest as _, Sha256};
    key(&[&[OPERATOR_PASSKEY], &Sha256::digest(credential)])
}

/// A session of an operator by the hash of its cookie.
pub fn operator_session(cookie_hash: &[u8; 32]) -> RowKey {
    key(&[&[OPERATOR_SESSION], cookie_hash])
}

/// Idempotency record of an account, by the digest of its key.
pub fn idempotency(owner: &Wallet, key_digest: u128) -> RowKey {
    key(&[&[IDEMPOTENCY], &owner.digest().to_be_bytes(), &key_digest.to_be_bytes()])
}

/// Expiry of that record in seconds. The rest of the key is as in [`idempotency`].
pub fn idempotency_expiry(expires_s: u64, owner: &Wallet, key_digest: u128) -> RowKey {
    key(&[
        &[IDEMPOTENCY_EXPIRY],
        &expires_s.to_be_bytes(),
        &idempotency(owner, key_digest)[1..],
    ])
}

/// Key of the record that an [`IDEMPOTENCY_EXPIRY`] key points to.
pub(crate) fn idempotency_of_expiry(end: &[u8]) -> Option<RowKey> {
    Some(key(&[&[IDEMPOTENCY], end.get(9..)?]))
}

/// Prefix of a wallet's statement lines.
pub fn statement_lines(owner: &Wallet) -> RowKey {
    key(&[&[STATEMENT_LINE], &owner.digest().to_be_bytes()])
}

/// One statement line.
pub fn statement_line(owner: &Wallet, id: StatementLineId) -> RowKey {
    key(&[&statement_lines(owner), &id.0.to_be_bytes()])
}

/// Prefix of the statement lines of an owner's agent wallet.
pub fn wallet_statement_lines(owner: &Wallet) -> RowKey {
    key(&[&[WALLET_STATEMENT_LINE], &owner.digest().to_be_bytes()])
}

/// One statement line of an owner's agent wallet.
pub fn wallet_statement_line(owner: &Wallet, id: StatementLineId) -> RowKey {
    key(&[&wallet_statement_lines(owner), &id.0.to_be_bytes()])
}

/// Prefix of the HTTP records of a wallet payment.
pub fn http_records_of(spend: WalletPaymentId) -> RowKey {
    key(&[&[HTTP_RECORD], &spend.0.to_be_bytes()])
}

/// Prefix of one part of an HTTP record.
pub fn http_record(spend: WalletPaymentId, part: u8) -> RowKey {
    key(&[&http_records_of(spend), &[part]])
}

/// One chunk of an HTTP record.
pub fn http_record_chunk(spend: WalletPaymentId, part: u8, piece: u16) -> RowKey {
    key(&[&http_record(spend, part), &piece.to_be_bytes()])
}

/// Wallet payment of an [`HTTP_RECORD`] key, and whether the chunk is the first of its part.
pub fn chunk_index(key: &[u8]) -> Option<(WalletPaymentId, bool)> {
    let (spend, rest) = key.strip_prefix(&[HTTP_RECORD])?.split_first_chunk::<16>()?;
    Some((WalletPaymentId(u128::from_be_bytes(*spend)), rest.ends_with(&[0, 0])))
}

/// Prefix of the slots of a wallet's active API keys.
pub fn api_keys(owner: &Wallet) -> RowKey {
    key(&[&[API_KEY_SLOT], &owner.digest().to_be_bytes()])
}

/// One of these slots; the value is the key's id. The number of slots limits the number of keys.
pub fn api_key(owner: &Wallet, place: u8) -> RowKey {
    key(&[&api_keys(owner), &[place]])
}

/// Prefix of the slots of a wallet's active passkeys.
pub fn passkey_slots(owner: &Wallet) -> RowKey {
    key(&[&[PASSKEY_SLOT], &owner.digest().to_be_bytes()])
}

/// One of these slots; the value is the passkey's id. The number of slots limits the number of passkeys.
pub fn passkey_slot(owner: &Wallet, slot: u8) -> RowKey {
    key(&[&passkey_slots(owner), &[slot]])
}

/// The passkey with this credential id; the value is the passkey's id.
pub fn passkey_credential(credential: &[u8]) -> RowKey {
    use sha2::{Digest as _, Sha256};
    key(&[&[PASSKEY_CREDENTIAL], &Sha256::digest(credential)])
}

/// Present while a recovery of the account is in progress. The value is empty, the key has the wallet.
pub fn open_recovery(account: &Wallet) -> RowKey {
    key(&[&[OPEN_RECOVERY], &account.key()])
}

/// Present once a recovery of the account was completed: sessions from before it have ended.
pub fn access_cutoff(account: &Wallet) -> RowKey {
    key(&[&[ACCESS_CUTOFF], &account.key()])
}

/// Present from the completion of a recovery until a passkey is added. The value is the id of the recovery's session:
/// meanwhile only pages of its links can be confirmed.
pub fn recovered(account: &Wallet) -> RowKey {
    key(&[&[RECOVERED], &account.key()])
}

/// What the sessions of an API key spent on one day.
pub fn key_usage(id: ApiKeyId) -> RowKey {
    key(&[&[KEY_USAGE], &id.0.to_be_bytes()])
}

/// What agents took from the balances of an account on one day.
pub fn balance_usage(owner: &Wallet) -> RowKey {
    key(&[&[BALANCE_USAGE], &owner.digest().to_be_bytes()])
}

/// The latest approval of a spend with this fingerprint, while it is open or its refusal lasts.
pub fn requested_spend(owner: &Wallet, fingerprint: &[u8; 32]) -> RowKey {
    key(&[&[REQUESTED_SPEND], &owner.digest().to_be_bytes(), fingerprint])
}

/// Prefix of the slots of an account's open spend approvals.
pub fn spend_approval_slots(owner: &Wallet) -> RowKey {
    key(&[&[SPEND_APPROVAL_SLOT], &owner.digest().to_be_bytes()])
}

/// One of these slots; the value is the approval's id. The number of slots limits the number of open ones.
pub fn spend_approval_slot(owner: &Wallet, slot: u8) -> RowKey {
    key(&[&spend_approval_slots(owner), &[slot]])
}

/// Present while a spend approval can be used.
pub fn approved_spend(id: SpendApprovalId) -> RowKey {
    key(&[&[APPROVED_SPEND], &id.0.to_be_bytes()])
}

/// Prefix of a wallet's webhook endpoints.
pub fn webhooks(owner: &Wallet) -> RowKey {
    key(&[&[WEBHOOK], &owner.digest().to_be_bytes()])
}

/// A wallet's endpoint at this URL; the value is its id.
pub fn webhook(owner: &Wallet, url: &str) -> RowKey {
    use sha2::{Digest as _, Sha256};
    key(&[&webhooks(owner), &Sha256::digest(url)[..16]])
}

/// Entity created by a request.
pub fn request(id: RequestId) -> RowKey {
    key(&[&[REQUEST_INDEX], &id.0.to_be_bytes()])
}

/// Present once an API key from before a restore is confirmed.
pub fn confirmed_key(id: ApiKeyId) -> RowKey {
    key(&[&[CONFIRMED, 0], &id.0.to_be_bytes()])
}

/// The same for an operator token, by its hash.
pub fn confirmed_token(token_hash: &[u8; 32]) -> RowKey {
    key(&[&[CONFIRMED, 1], token_hash])
}

/// The same for a passkey of an account owner.
pub fn confirmed_passkey(id: PasskeyId) -> RowKey {
    key(&[&[CONFIRMED, 2], &id.0.to_be_bytes()])
}

/// A metadata row by name.
pub fn meta(name: &str) -> RowKey {
    key(&[&[META], name.as_bytes()])
}
