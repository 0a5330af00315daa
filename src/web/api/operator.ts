// Types of the operators' API, written by `npm run types` from docs/admin.openapi.json. Don't edit.

/** Admission of paid calls. */
export type AdmissionStatus = {
  /** Paid calls in progress. */
  in_flight: number;
  /** Maximum paid calls in progress. */
  limit: number;
  /** Age of the oldest of them, in milliseconds. */
  oldest_unknown_age_ms: number;
  /** Payers with a paid call in progress. */
  payers: number;
  /** Paid calls rejected for lack of capacity since startup, by reason. */
  rejected: LabeledCount[];
  /** Payments with an unknown outcome. */
  unknown_payments: number;
};

export type AlgorithmOptions = {
  /** COSE number of the algorithm. */
  alg: number;
  type: string;
};

/** Status of an announcement. */
export type AnnouncementStatus = "pending" | "delivered" | "failed";

/** A message to the operators' webhook. */
export type AnnouncementView = {
  /** Id of the message, the same on every attempt: its header `webhook-id`. */
  announcement_id: string;
  /** Attempts that have ended. */
  attempt_count: number;
  /** Time at which it was noticed (RFC 3339). */
  created_at: string;
  /** Time at which the webhook accepted it, or the last attempt failed (RFC 3339). */
  ended_at: string | null;
  /** Id of the item that waits, or name of the line. */
  item: string;
  /** Why the last attempt failed. */
  last_error: string | null;
  /** Time of the next attempt (RFC 3339). */
  next_attempt_at: string | null;
  /** Name of the queue, or `test`. */
  queue: string;
  /** Whether the webhook accepted it. */
  status: AnnouncementStatus;
  /** Time since which the item waits (RFC 3339); null for lines. */
  waiting_since: string | null;
  /** Whether it still waits. */
  waits: boolean;
};

/** An action that needs a second operator. */
export type Approval = {
  /** Action that waits. */
  act: ApprovalAction;
  /** Amount in US dollars. */
  amount: ExactDecimal;
  /** Id of the approval. */
  approval_id: string;
  /** End of the approval period (RFC 3339). */
  open_until: string;
  /** Time of the request (RFC 3339). */
  requested_at: string;
  /** Operator that requested it. */
  requested_by: string;
  /** `waiting`, `approved` (and executed) or `rejected`. */
  status: ApprovalStatus;
  /** Id of the affected resource. */
  subject: string;
  /** Reason given by the requester. */
  words: string;
};

/** Action that needs a second operator. */
export type ApprovalAction = "credit_back" | "resolve" | "reject_intl" | "pay_card_withdrawal" | "credit_transfer" | "return_transfer" | "book_loss" | "book_order" | "book_outlay";

/** Status of an approval. */
export type ApprovalStatus = "waiting" | "approved" | "rejected";

/** Action of an operator. */
export type AuditActionName = "account.freeze" | "account.unfreeze" | "approval.approve" | "approval.reject" | "approval.request" | "card_withdrawal.claim" | "card_withdrawal.closed_at_issuer" | "card_withdrawal.fulfil" | "card_withdrawal.reject" | "card_withdrawal.release" | "card_withdrawal.renew" | "chain.accept" | "incoming.credit" | "incoming.operator_funds" | "incoming.return" | "intl_order.claim" | "intl_order.fulfil" | "intl_order.reject" | "intl_order.release" | "intl_order.renew" | "intl_order.report" | "job.credit" | "job.keep" | "job.resolve" | "job.retry" | "line.close" | "line.open" | "customer.note" | "order.book" | "passkey.add" | "passkey.remove" | "refund.approve" | "refund.reject" | "refund.request" | "session.confirm" | "session.end" | "session.open" | "suspended.confirm" | "token.create" | "token.revoke" | "transfer.attribute" | "webhook.redeliver";

/** A record of an operator action. */
export type AuditLogEntry = {
  /** Name of the action. */
  action: AuditActionName;
  /** Time of the action (RFC 3339). */
  at: string;
  /** Hash of this record, which the next one includes. */
  hash: string;
  /** Note of the operator. */
  note: string | null;
  /** Name of the operator token. */
  operator: string;
  /** Hash of the previous record, in hexadecimal. */
  previous_hash: string;
  /** Request that executed the action. */
  request_id: string;
  /** Role of the operator token. */
  role: OperatorRole;
  /** Position in the log, from 1. */
  sequence: number;
  /** Id of the affected resource. */
  subject: string;
};

export type AuthenticatorSelection = {
  /** Always true, for older browsers. */
  requireResidentKey: boolean;
  /** Always `required`: the passkey signs in without a user name. */
  residentKey: string;
  /** Always `required`. */
  userVerification: string;
};

/** Billing address of the card. */
export type BillingAddressInput = {
  city: string;
  country: string;
  line1: string;
  postal_code: string;
  state: string;
};

/** Action on a card. */
export type CardAction = "pause" | "resume" | "close";

/** Status of a card transaction. */
export type CardTransactionStatus = "pending" | "settled" | "declined" | "refunded";

/** Status after a claim. */
export type ClaimedStatus = "claimed";

/** A reconciliation run that has ended. */
export type CompletedRun = {
  /** Number of entries compared. */
  compared: number;
  /** Whether every source and every record was read. */
  completed: boolean;
  /** Number of the run, counted from 1 since the service started; 0 if it began before. */
  number: number;
};

export type CredentialDescriptor = {
  /** Credential id in base64url. */
  id: string;
  type: string;
};

/** A customer with its resources. */
export type Customer = {
  /** Since when the owner has stopped all agents (RFC 3339). */
  agents_stopped_at: string | null;
  /** Part of the balance that can be used. */
  available: ExactDecimal;
  /** Balance in USDC, including amounts on hold. */
  balance: ExactDecimal;
  /** Creation time (RFC 3339). */
  created_at: string;
  /** Whether the account is frozen. */
  frozen: boolean;
  /** Message shown to the owner while the account is frozen. */
  frozen_message: string | null;
  /** Part of the balance that is on hold. */
  held: ExactDecimal;
  /** `base` or `solana`. */
  network: NetworkName;
  /** Jobs that have not completed, oldest first. */
  open_jobs: OpenJob[];
  /** Resources by kind. */
  resources: CustomerResourceGroup[];
  /** Total of all credits. */
  total_deposits: ExactDecimal;
  /** Wallet address in lower case. */
  user_id: string;
  /** Exact wallet address. */
  wallet: string;
};

/** A note of an operator on a customer. */
export type CustomerNote = {
  /** Time at which it was written (RFC 3339). */
  at: string;
  /** Name of the operator token. */
  operator: string;
  /** Request that wrote it. */
  request_id: string;
  /** Role of the operator token. */
  role: OperatorRole;
  /** Number of its record in the audit log. */
  sequence: number;
  /** The note. */
  text: string;
};

/** A resource of a customer. */
export type CustomerResource = {
  /** Id of the resource. */
  id: string;
  /** Kind of the resource. */
  kind: EntityKindName;
  /** The resource as its owner sees it. */
  object: Record<string, unknown>;
  /** Status of the resource. */
  status: ResourceStatus;
  /** Exact wallet address of the owner. */
  wallet: string;
};

/** Resources of one kind. */
export type CustomerResourceGroup = {
  /** Total number of resources of this kind. */
  count: number;
  /** Kind of the resources. */
  kind: EntityKindName;
  /** Newest first, at most `limit`. */
  newest: CustomerResource[];
  /** Number of resources older than those in `newest`. */
  not_shown: number;
};

/** A dead-lettered or late job. */
export type DeadLetteredJob = {
  /** Actions that are possible now. */
  actions: JobAction[];
  /** Age of the job, in seconds. */
  age_seconds: number;
  amount?: ExactDecimal | null;
  /** Number of failed attempts. */
  attempts: number;
  /** Creation time (RFC 3339). */
  created_at: string;
  /** Currency of the amount: `USDC` or an ISO 4217 code. */
  currency?: string | null;
  /** Idempotency key of the job at its provider. */
  idempotency_key: string;
  /** Id for `POST /admin/jobs/retry`. */
  job_id: string;
  /** Type of the job. */
  job_type: JobTypeName;
  /** Error of the last attempt. */
  last_error: string | null;
  /**
   * Whether the job is only late: older than `engine.late_after_minutes` but still retried. Otherwise it is
   * dead-lettered.
   */
  late: boolean;
  /** Time of the next attempt (RFC 3339); null for a dead letter. */
  next_try_at: string | null;
  /** Error of the query. */
  provider_error?: string | null;
  provider_status?: ProviderStatus | null;
  /** Request that created the job. */
  request_id: string;
  status?: ResourceStatus | null;
  /** Id of the entity the job works on. */
  subject: string;
  /** Exact wallet address of the owner. */
  wallet?: string | null;
};

/** A passkey of an operator. */
export type DeskPasskey = {
  /** Time at which it was added (RFC 3339). */
  created_at: string;
  /** Time of the last sign-in or confirmation (RFC 3339). */
  last_used_at: string | null;
  /** Name of the passkey. */
  name: string;
  /** Id of the passkey. */
  passkey_id: string;
  /** Whether it can be copied to other devices of its owner. */
  synced: boolean;
};

/** A mismatch between the ledger and an external source. */
export type Discrepancy = {
  /** Id of the discrepancy. */
  discrepancy_id: string;
  /** Value at the source. */
  external: string | null;
  /** Value in the ledger. */
  internal: string | null;
  /** Id of the entry at the source. */
  key: string;
  /** Kind of the discrepancy. */
  kind: DiscrepancyKindName;
  /** Time of the last change (RFC 3339). */
  last_updated_at: string;
  /** Time of detection (RFC 3339). */
  opened_at: string;
  /** Source of the external record. */
  source: ReconciliationSourceName;
  /** `open`; `resolved` if that happened while the list was read. */
  status: DiscrepancyStatus;
  /** Id of our resource. */
  subject: string | null;
};

/** Kind of a discrepancy. */
export type DiscrepancyKindName = "unexpected_at_provider" | "missing_at_provider" | "amount_mismatch" | "status_mismatch" | "unmatched_deposit" | "missing_deposit" | "unmatched_transfer" | "missing_transfer";

/** Status of a discrepancy. */
export type DiscrepancyStatus = "open" | "resolved";

/** Kind of an entity. */
export type EntityKindName = "account" | "payment" | "card" | "session" | "gift_card" | "intl_order" | "identity" | "issuer_link" | "top_up" | "withdrawal" | "payout" | "payment_recipient" | "bank_destination" | "banking_profile" | "reloadable_card" | "card_withdrawal" | "late_return" | "agent_wallet" | "wallet_payment" | "banking_application" | "bank_account" | "bank_transfer" | "discrepancy" | "api_key" | "passkey" | "recovery" | "webhook" | "webhook_delivery" | "approval" | "refund" | "incoming_transfer" | "line";

/** Status of one entity kind. */
export type EntityStatus = {
  /** Entities with a running actor. */
  active: number;
  /** Commands in mailboxes, being decided, or waiting for the disk. */
  commands_in_flight: number;
  /** Entities that are being loaded or passivated. */
  in_transition: number;
  /** Name of the entity kind. */
  kind: EntityKindName;
  /** Entities quarantined until a restart. */
  quarantined: number;
  /** Messages that wait for an actor. */
  queued: number;
  /** Actors restarted after a crash or a failed load, since startup. */
  restarts: number;
};

/** Every error except a 402. As `application/problem+json` with the members of RFC 9457. */
export type Error = {
  /** Stable code for programs. */
  code: ErrorCodeName;
  /** Same as `error`, for RFC 9457 only. */
  detail?: string | null;
  /** Message for people, one sentence. */
  error: string;
  /** Message of the operator to a frozen account. */
  frozen_message?: string | null;
  /** What the caller can do. */
  hint?: string | null;
  /** Names of missing parameters or preconditions. */
  missing?: string[] | null;
  /** Parameter or header at fault. */
  param?: string | null;
  /** Distinguishes several reasons for one code. For a call to a route of this service: the code of its error. */
  reason?: string | null;
  /** Id of the request, also in `Request-Id`. */
  request_id: string;
  /** Delay before a retry, also in `Retry-After`. */
  retry_after_seconds?: number | null;
  /**
   * Beginning of the server's body, at most 2,048 bytes of readable text. For a route of this service, its code,
   * message and hint appear instead.
   */
  seller_body?: string | null;
  /** HTTP status of the called server. */
  seller_status?: number | null;
  /** HTTP status, for RFC 9457 only. */
  status?: number | null;
  /** Whether the same request can never succeed. */
  terminal: boolean;
  /** Name of the status, for RFC 9457 only. */
  title?: string | null;
  /** `about:blank`, for RFC 9457 only. */
  type?: string | null;
  /** The frozen account, which its owner quotes to the operator. Of `GET /account` only. */
  user_id?: string | null;
};

/** Code of an error. */
export type ErrorCodeName = "parameter_missing" | "parameter_invalid" | "query_malformed" | "parameter_duplicated" | "parameter_unrecognized" | "amount_invalid" | "country_not_served" | "invalid_display_name" | "invalid_archived" | "amount_out_of_range" | "webhook_url_not_allowed" | "body_malformed" | "invalid_request" | "multiple_payments" | "payment_identifier_invalid" | "payment_identifier_reused" | "idempotency_key_invalid" | "token_missing" | "token_invalid" | "token_expired" | "token_revoked" | "refresh_token_invalid" | "refresh_token_revoked" | "payment_required" | "payment_invalid" | "settlement_failed" | "sign_in_required" | "api_key_missing" | "api_key_invalid" | "api_key_suspended" | "api_key_revoked" | "api_key_access_denied" | "api_key_not_found" | "confirmation_required" | "passkey_required" | "passkeys_unavailable" | "passkey_malformed" | "passkey_algorithm_unsupported" | "passkey_challenge_invalid" | "passkey_origin_mismatch" | "passkey_user_not_verified" | "passkey_signature_invalid" | "passkey_counter_regressed" | "passkey_unknown" | "passkey_removed" | "passkey_suspended" | "passkey_not_found" | "passkey_already_added" | "passkey_limit_reached" | "recovery_not_needed" | "recovery_not_found" | "api_key_limit_reached" | "claim_token_invalid" | "signup_expired" | "signup_rejected" | "api_key_no_longer_available" | "signup_not_found" | "signup_already_claimed" | "account_frozen" | "agents_stopped" | "host_not_allowed" | "payout_access_denied" | "recipient_access_denied" | "wallet_payment_access_denied" | "policy_filtered" | "approval_access_denied" | "approval_declined" | "approval_mismatch" | "approval_expired" | "approval_used" | "approval_key_revoked" | "bank_account_access_denied" | "user_id_mismatch" | "wrong_wallet" | "product_unavailable" | "exchange_rate_unavailable" | "cap_exceeded" | "identity_verification_required" | "issuer_not_linked" | "banking_profile_not_found" | "bank_account_not_found" | "transaction_not_found" | "document_type_not_supported" | "token_account_missing" | "insufficient_card_balance" | "card_creation_declined" | "card_not_open" | "card_action_in_progress" | "withdrawal_declined" | "withdrawal_not_open" | "withdrawal_closed_at_issuer" | "held_frozen" | "withdrawal_hold_missing" | "withdrawal_leased" | "transaction_already_used" | "out_of_stock" | "card_access_denied" | "payment_access_denied" | "role_not_permitted" | "refund_self_approval" | "approval_own" | "callback_signature_invalid" | "top_up_access_denied" | "withdrawal_access_denied" | "webhook_access_denied" | "delivery_access_denied" | "origin_not_allowed" | "route_not_found" | "account_not_found" | "card_not_found" | "top_up_not_found" | "session_not_found" | "payment_not_found" | "identity_check_not_found" | "merchant_not_found" | "destination_not_found" | "payout_not_found" | "recipient_differs" | "recipient_not_found" | "product_not_found" | "job_not_found" | "incoming_transfer_not_found" | "suspension_not_found" | "line_not_found" | "approval_not_found" | "refund_not_found" | "transfer_not_found" | "operator_token_not_found" | "agent_wallet_not_found" | "wallet_payment_not_found" | "address_not_found" | "withdrawal_not_found" | "webhook_not_found" | "delivery_not_found" | "method_not_allowed" | "request_timeout" | "address_limit_reached" | "wallet_payment_failed" | "unsettled" | "banking_profile_exists" | "application_incomplete" | "application_locked" | "application_not_approved" | "document_limit_reached" | "bank_account_limit_reached" | "destination_limit_reached" | "bank_account_not_open" | "bank_account_receive_only" | "destination_type_not_supported" | "webhook_limit_reached" | "webhook_disabled" | "webhook_deleted" | "insufficient_balance" | "payment_already_used" | "payment_resolved" | "challenge_already_used" | "refresh_in_progress" | "card_not_ready" | "not_cancellable" | "order_not_open" | "order_leased" | "lease_stale" | "chain_unchanged" | "line_unchanged" | "approval_differs" | "job_not_dead_lettered" | "job_not_resolvable" | "provider_disagrees" | "outcome_not_proven" | "payment_may_still_settle" | "deposit_not_waiting" | "second_operator_needed" | "refund_amount_too_large" | "product_not_returned" | "refund_not_pending" | "refund_amount_mismatch" | "transfer_mismatch" | "transfer_ambiguous" | "order_not_carried_out" | "product_delivered" | "transfer_may_still_settle" | "operator_session_not_found" | "operator_token_name_taken" | "operator_token_in_config" | "last_administrator" | "identity_already_verified" | "identity_check_already_decided" | "wallet_id_collision" | "idempotency_key_in_progress" | "cursor_expired" | "cursor_ahead" | "body_too_large" | "url_too_long" | "idempotency_key_reused" | "upgrade_required" | "rate_limited" | "stream_limit_reached" | "headers_too_large" | "internal_error" | "not_ready" | "overloaded" | "settlement_unavailable" | "issuer_unavailable" | "catalog_unavailable" | "stream_capacity_reached" | "identity_check_not_open" | "clock_not_adjustable" | "provider_is_remote" | "sandbox_unavailable" | "processing_timeout" | "withdrawals_paused" | "insufficient_liquidity" | "service_unavailable" | "chain_unavailable" | "wallet_payment_limit_reached" | "fetch_failed" | "http_error";

/** The envelope of an event. */
export type Event = {
  /** Who or what caused the event. */
  actor: EventActor;
  /** Version of the contract at the time of the event. */
  api_version: string;
  /** Time of the event (RFC 3339). */
  created_at: string;
  /** Resource of the event. */
  data: EventData;
  /** Id of the event. */
  id: string;
  /** Earlier values of the changed members. */
  previous: Record<string, unknown>;
  /** Sequence number among the account's events. Resume after it. */
  seq: number;
  /** `<resource>.<change>` is the event type. */
  type: string;
  /** Wallet address of the account in lower case. */
  user_id: string;
};

/** Who or what caused an event. */
export type EventActor = {
  /** The API key that opened the session, or whose event it is. */
  api_key_id?: string | null;
  /** Name of the key. */
  api_key_name?: string | null;
  /** Whether a person did it, at a page of the service. */
  in_browser: boolean;
  /** The payment that opened the session, or that bought the resource. */
  payment_id?: string | null;
  /**
   * `ses_…` is the id of the session, if a request of a session caused it. An agent sees this and the following members
   * of its own requests only.
   */
  session_id?: string | null;
  /**
   * What opened the session of the request: `wallet`, `payment`, `api_key` or `passkey`. Without a session: the
   * `payment` or `api_key` that began it, the `wallet` that signed for a recovery, an `operator`, the `provider` of the
   * product, a `merchant`, the `recipient` of a payout, the `chain`, or the `service` itself.
   */
  type: EventActorType;
};

/** Who or what caused an event. */
export type EventActorType = "wallet" | "payment" | "api_key" | "passkey" | "operator" | "provider" | "merchant" | "recipient" | "chain" | "service";

/** Resource of an event. */
export type EventData = {
  /** The resource after the event. */
  object: Record<string, unknown>;
};

export type ExactDecimal = string | number;

/** Answer to every call with the account's tokens, API keys and payments. */
export type FrozenAnswer = {
  /** Body of the answer. Its `request_id` is that of each call. */
  body: Record<string, unknown>;
  /** HTTP status. */
  status: number;
  /** Close code of its event streams. */
  stream_close_code: number;
};

/** Reason of a hold until an account is unfrozen. */
export type FrozenHold = "held_frozen";

/** What stops until the account is unfrozen. */
export type FrozenParts = {
  /** Balance that can't be used. */
  available: ExactDecimal;
  /** Jobs that would move money out and then wait. What is already signed is only looked up. */
  jobs: OpenJob[];
  /** Whether a recovery of the account is in progress, which would be cancelled. */
  recovery: boolean;
  /** Event streams that are open now and would be closed. */
  streams: number;
};

/** A job on hold that would send funds. */
export type HeldJob = {
  /** Actions that are possible now. */
  actions: JobAction[];
  /** Age of the job, in seconds. */
  age_seconds: number;
  amount?: ExactDecimal | null;
  /** Number of failed attempts. */
  attempts: number;
  /** Creation time (RFC 3339). */
  created_at: string;
  /** Currency of the amount: `USDC` or an ISO 4217 code. */
  currency?: string | null;
  /**
   * `held_frozen` until the account is unfrozen, `held_restored` until all payments from before a restore have
   * settled or can't settle and are in the ledger, `held_unfinal` until the payment behind it is final.
   */
  held: HoldReason;
  /** Idempotency key of the job at its provider. */
  idempotency_key: string;
  /** Id for `POST /admin/jobs/retry`. */
  job_id: string;
  /** Type of the job. */
  job_type: JobTypeName;
  /** Error of the last attempt. */
  last_error: string | null;
  /** Request that created the job. */
  request_id: string;
  status?: ResourceStatus | null;
  /** Id of the entity the job works on. */
  subject: string;
  /** Exact wallet address of the owner. */
  wallet?: string | null;
};

/** Kind of a search result: an entity, or a job, an approval or a transfer on a chain. */
export type HitKind = "account" | "payment" | "card" | "session" | "gift_card" | "intl_order" | "identity" | "issuer_link" | "top_up" | "withdrawal" | "payout" | "payment_recipient" | "bank_destination" | "banking_profile" | "reloadable_card" | "card_withdrawal" | "late_return" | "agent_wallet" | "wallet_payment" | "banking_application" | "bank_account" | "bank_transfer" | "discrepancy" | "api_key" | "passkey" | "recovery" | "webhook" | "webhook_delivery" | "approval" | "refund" | "incoming_transfer" | "line" | "job" | "approval" | "transfer";

/** Reason of a hold. */
export type HoldReason = "held_frozen" | "held_restored" | "held_unfinal";

/** A transfer to the treasury that no payment claims. */
export type IncomingTransfer = {
  /** Account that is or will be credited. */
  account: string | null;
  /** Amount in USDC. */
  amount: ExactDecimal;
  /** Chain time of the transfer (RFC 3339). */
  at: string;
  /** Id of the incoming transfer. */
  deposit_id: string;
  /** Time of detection (RFC 3339). */
  found_at: string;
  /** Index of the transfer in the transaction, from 0. */
  index: number;
  /** Time of the last change (RFC 3339). */
  last_updated_at: string;
  /** `base` or `solana`. */
  network: NetworkName;
  /** Product that it bought in a history lost by a restore. */
  product_id: string | null;
  /** Address of the sender. */
  sender: string;
  /** What the provider reports about the product that the transfer would have bought. */
  shows: string | null;
  /**
   * `found`, `waiting`, `crediting`, `credited`, `adopted`, `operator_funds`, `returning`, `returned`, `claimed` or
   * `forwarded`.
   */
  status: IncomingTransferStatus;
  /** Transaction id on the chain. */
  transaction: string;
  /** Withdrawal that returns it to its sender. */
  withdrawal_id: string | null;
};

/** Status of an incoming transfer. */
export type IncomingTransferStatus = "found" | "waiting" | "crediting" | "credited" | "adopted" | "operator_funds" | "returning" | "returned" | "claimed" | "forwarded";

/** Action on a job. */
export type JobAction = "retry" | "resolve_completed" | "resolve_not_completed" | "credit" | "keep";

/** Outcome recorded by an operator. */
export type JobOutcome = "completed" | "not_completed";

export type JobTypeCount = {
  /** Number of jobs. */
  count: number;
  /** Name of the job type. */
  job_type: JobTypeName;
};

/** Type of a job. */
export type JobTypeName = "settle_payment" | "watch_payment" | "issue_card" | "credit_account" | "confirm_payment_credit" | "release_cap_reservation" | "readmit_payment" | "expire_card" | "order_gift_card" | "expire_order_lease" | "mark_order_overdue" | "expire_intl_card" | "shred_cvv" | "check_identity" | "open_issuer_account" | "send_withdrawal" | "settle_hold" | "send_payout" | "recall_payout" | "expire_payout" | "close_return_window" | "confirm_late_return_credit" | "save_recipient" | "send_top_up" | "bridge_top_up" | "await_issuer_credit" | "refresh_card" | "send_wallet_payment" | "settle_wallet_hold" | "submit_bank_application" | "open_bank_account" | "execute_bank_transfer" | "shred_account_number" | "open_reloadable_card" | "change_card_state" | "hold_card_balance" | "settle_card_hold" | "expire_withdrawal_lease" | "reverse_recipient_totals" | "purge_http_record" | "deliver_webhook" | "redeliver_webhooks" | "confirm_refund" | "expire_refund" | "confirm_reorg" | "classify_incoming" | "send_back" | "confirm_incoming" | "change_prepaid_card_state" | "count_cap_reservation" | "count_unclaimed" | "count_claimed" | "await_final" | "release_credit" | "revoke_api_keys" | "expire_spend_approval" | "record_spend_approval_use" | "end_approvals_of_key" | "continue_recovery" | "remove_lost_passkeys";

/** Status of one job type. */
export type JobTypeStatus = {
  /** Attempts since startup. */
  attempts: number;
  /** Number of dead-lettered jobs. */
  dead_lettered: number;
  /** Failed attempts, by class of failure. */
  failures: LabeledCount[];
  /** Attempts running now. */
  in_flight: number;
  /** Name of the job type. */
  job_type: JobTypeName;
  /** Age of the oldest job that is not dead-lettered, in milliseconds. */
  oldest_age_ms: number;
  /** Age of the oldest dead letter, in milliseconds. */
  oldest_dead_letter_age_ms: number;
  /** Jobs that are due, or that wait for their next attempt. */
  scheduled: number;
};

/** A count with its label. */
export type LabeledCount = {
  /** Number of occurrences. */
  count: number;
  /** Label of the count. */
  of: string;
};

/** Status of a late return. */
export type LateReturnStatus = "received" | "credited" | "kept";

/** Side of a balance. */
export type LedgerSide = "debit" | "credit";

/** Balance of a ledger account, or of all accounts of customers. */
export type LedgerSum = {
  /** Name of the ledger account: `treasury_base`, `customers`, `provider_card_issuer` … */
  account: string;
  /** Balance in USDC. */
  amount: ExactDecimal;
  /** Side of the balance. Treasuries, costs and losses usually have a debit balance; customers and fees a credit balance. */
  side: LedgerSide;
};

/** Balances of the ledger. Their two sums are not what is held and owed: costs and losses are debits, fees are credits. */
export type LedgerSums = {
  /** Accounts with a balance. */
  accounts: LedgerSum[];
  /** Whether the whole ledger is added up. A long ledger takes several requests after a start. */
  complete: boolean;
  /** Sum of the credit balances. Equal to `debits`, because every transaction is balanced. */
  credits: ExactDecimal;
  /** Sum of the debit balances. */
  debits: ExactDecimal;
  /** Time of the newest of them (RFC 3339). */
  last_transaction_at: string | null;
  /** Ledger transactions added up. */
  transactions: number;
};

/** Status of a product line. */
export type LineStatus = "open" | "failing" | "closed";

/** A session of the desk in a list. */
export type ListedSession = {
  /** Time at which it was opened (RFC 3339). */
  created_at: string;
  /** Whether this request comes from it. */
  current: boolean;
  /** Time at which it ends by itself (RFC 3339). */
  expires_at: string;
  /** Name of the operator token; null if it was revoked, which ends the session. */
  operator: string | null;
  /** Passkey that opened it; null for the token. */
  passkey_id: string | null;
  /** Id of the session. */
  session_id: string;
};

/** Network of a transfer. */
export type NetworkName = "base" | "solana";

/** An open withdrawal from a card balance. */
export type OpenCardWithdrawal = {
  /** Address to pay to. */
  address: string;
  /** Age since the creation, in seconds. */
  age_seconds: number;
  /** Amount in US dollars. */
  amount: ExactDecimal;
  /** Creation time (RFC 3339). */
  created_at: string;
  held?: FrozenHold | null;
  /** Number of the last lease; 0 before the first. */
  lease: number;
  /** Operator that holds the lease. */
  leased_by: string | null;
  /** End of the lease (RFC 3339). */
  leased_until: string | null;
  /** `base` or `solana`. */
  network: NetworkName;
  /** `queued` or `claimed`. */
  status: OpenStatus;
  /** Owner's wallet address in lower case. */
  user_id: string;
  /** Id of the withdrawal. */
  withdrawal_id: string;
};

/** An open order of an international card. */
export type OpenIntlOrder = {
  /** Age since the creation, in seconds. */
  age_seconds: number;
  /** Id of the card. */
  card_id: string;
  /** Amount charged, with the fee, in US dollars. A rejection credits it. */
  charged_usd_amount: ExactDecimal;
  /** Creation time (RFC 3339). */
  created_at: string;
  /** What to do in that case. */
  hint: string | null;
  /** Whether the card may have been ordered in the time lost by a restore. */
  in_doubt: boolean;
  /** Label given by the owner. */
  label: string | null;
  /** Number of the last lease; 0 before the first. */
  lease: number;
  /** Operator that holds the lease. */
  leased_by: string | null;
  /** End of the lease (RFC 3339). */
  leased_until: string | null;
  /** Whether the order is older than 24 hours. */
  overdue: boolean;
  /** `queued` or `claimed`. */
  status: OpenStatus;
  /** Amount to load on the card, in US dollars. */
  usd_amount: ExactDecimal;
  /** Owner's wallet address in lower case. */
  user_id: string;
};

/** A job that has not completed. */
export type OpenJob = {
  /** Age of the job, in seconds. */
  age_seconds: number;
  /** Number of failed attempts. */
  attempts: number;
  /** Creation time (RFC 3339). */
  created_at: string;
  /** Whether the job is dead-lettered. */
  dead_lettered: boolean;
  /** Id for `POST /admin/jobs/retry`. */
  job_id: string;
  /** Type of the job. */
  job_type: JobTypeName;
  /** Error of the last attempt. */
  last_error: string | null;
  /** Request that created the job. */
  request_id: string;
  /** Id of the entity the job works on. */
  subject: string;
};

/** Status in a queue that operators claim from. */
export type OpenStatus = "queued" | "claimed";

/** A payout that was returned after it became final. */
export type OperatorLateReturn = {
  /** US dollars that were returned. */
  amount: ExactDecimal;
  /** Creation time (RFC 3339). */
  created_at: string;
  /** US dollars credited to the account's balance. */
  credited_amount: ExactDecimal;
  /** Time of the last change (RFC 3339). */
  last_updated_at: string;
  /** Id of the late return: the `cause` of the credit in the account's statement. */
  late_return_id: string;
  /** Payout that was returned. */
  payout_id: string;
  /** Reason reported by the payout rail. */
  reason: string;
  /** US dollars kept by the payout rail. */
  return_fee: ExactDecimal;
  /** `received`, then `credited`, or `kept` if an operator decided not to credit it. */
  status: LateReturnStatus;
  /** Exact wallet address of the payer. */
  wallet: string;
};

/** A product line. */
export type OperatorProductLine = {
  /** Operator that closed or opened it. */
  by: string | null;
  /** Number of consecutive failed deliveries. */
  failures: number;
  /** Identifier of the product. */
  line: ProductName;
  /** Time of the next trial order to a failing provider (RFC 3339); null otherwise. */
  next_try_at: string | null;
  /** Reason given by an operator, or the last error of the provider. */
  reason: string | null;
  /** Time of the last change (RFC 3339); null if it was never closed. */
  since: string | null;
  /** `open`, `failing` (its provider is down), or `closed` by an operator. */
  status: LineStatus;
};

/** A refund, with the fields that only operators see. */
export type OperatorRefund = {
  /** Amount in US dollars. */
  amount: ExactDecimal;
  /** Creation time (RFC 3339). */
  created_at: string;
  /**
   * Operator token that approved or rejected the refund. The same as `requested_by` if it needed no approval; null
   * while it is pending.
   */
  decided_by: string | null;
  /** End of the approval period (RFC 3339). */
  expires_at: string;
  /** Whether the owner may keep the product. */
  holder_keeps_product: boolean;
  /** Time of the last change (RFC 3339). */
  last_updated_at: string;
  /** `pay_…` is the refunded payment. */
  payment_id: string;
  /** Reason given by the operator. */
  reason: string;
  /** `rf_…` is the id of the refund. */
  refund_id: string;
  /** Operator token that requested the refund. */
  requested_by: string;
  /** Status of the refund. */
  status: RefundStatus;
  /** Exact wallet address of the account that is credited. */
  wallet: string;
};

/** A page of refunds that wait for a second operator, or of all refunds. */
export type OperatorRefundList = {
  /** Cursor of the next page; null on an empty page. */
  next_after: string | null;
  /** Oldest first; with `all` in order of id. */
  refunds: OperatorRefund[];
};

/** Role of an operator token. */
export type OperatorRole = "administrator" | "operator" | "support" | "read-only";

/** An operator token without its text, which is not stored. */
export type OperatorToken = {
  /** Creation time (RFC 3339); null for tokens of the settings. */
  created_at?: string | null;
  /** `settings` or `store`. */
  from: TokenSource;
  /** Name of the token. */
  name: string;
  /** Whether the token was revoked. */
  revoked: boolean;
  /** Role of the token. */
  role: OperatorRole;
};

/** A webhook endpoint and its owner. */
export type OperatorWebhook = {
  /** Owner's wallet address in lower case. */
  user_id: string;
  /** Webhook endpoint as its owner sees it; for the role `read-only` with the scheme and host of its URL only. */
  webhook: Webhook;
};

/** Direction of the money of an order. */
export type OrderDirection = "out" | "in";

/** Paid calls of a part of the hour. */
export type PaidCallsPoint = {
  /** End of the part (RFC 3339). */
  at: string;
  /** Calls of paid routes that succeeded. Challenges are not counted. */
  calls: number;
  /** Calls of paid routes that ended with a 5xx. */
  failures: number;
  /** Half of the calls took at most this, in microseconds; null without a call, and above 30 seconds. */
  half_within_us: number | null;
  /** 99 of 100 calls took at most this, in microseconds. */
  p99_within_us: number | null;
  /** The same per second, as a decimal with one place. */
  per_second: string;
  /** Duration of the part, in seconds. */
  seconds: number;
};

/** Product, as in `GET /get-pricing`. */
export type ProductName = "usa_prepaid_card" | "intl_prepaid_card" | "gift_card" | "push_to_card" | "bank_payment" | "app_payment" | "card_balance";

/** Calls to a provider or a chain in the last 15 minutes. */
export type ProviderHealth = {
  /** Ended calls. For a provider: attempts of the jobs that call it. */
  calls: number;
  /** Whether it is a chain. */
  chain: boolean;
  /** Calls that ended with an error. A decline is an answer, not an error. */
  failures: number;
  /** Half of the calls took at most this, in milliseconds; null without a call, and above a minute. */
  half_within_ms: number | null;
  /** Name of the provider or the network. */
  name: string;
  /** 99 of 100 calls took at most this, in milliseconds; null without a call, and above a minute. */
  p99_within_ms: number | null;
  /**
   * `idle` without a call, `failing` if at least three calls and half of all failed, `errors` if any failed, `slow` if
   * at least three calls and half of all took longer than 5 seconds, else `ok`.
   */
  state: ProviderState;
};

/** State of a provider or a chain. */
export type ProviderState = "ok" | "slow" | "errors" | "failing" | "idle";

/** Status at a provider or on a chain. */
export type ProviderStatus = "not_submitted" | "pending" | "held" | "completed" | "declined" | "returned";

/** Kind of a search text. */
export type QueryKind = "wallet" | "user_id" | "transaction" | "request_id" | "job_id" | "approval_id" | "id" | "last4" | "other";

/** Name of a queue that waits for operators. */
export type QueueName = "intl_orders" | "card_withdrawals" | "card_actions" | "dead_letters" | "late_jobs" | "unknown_payments" | "approvals" | "refunds" | "incoming_transfers" | "untracked_transfers" | "discrepancies" | "lines_not_sold";

/** A queue. */
export type QueueStatus = {
  /** Number of items, counted to 1,000. */
  count: number;
  /** Seconds in which an item is due; null without a limit. */
  limit_seconds: number | null;
  /** Whether there are more. */
  more: boolean;
  /** Time since which the oldest item waits (RFC 3339); null for an empty queue, and for lines. */
  oldest_at: string | null;
  /** Name of the queue. */
  queue: QueueName;
  /** Changes with the items and their leases. A page that shows the queue reads it again then. */
  version: string;
};

/** An international card with a requested action. */
export type QueuedCardAction = {
  /** Age of the request, in seconds. */
  age_seconds: number;
  /** Remaining US dollars, as last reported. */
  available_usd_amount: ExactDecimal;
  /** Id of the card. */
  card_id: string;
  /** Last four digits of the card number. */
  last4: string | null;
  requested: CardAction | null;
  /** Time of the request (RFC 3339). */
  requested_at: string;
  /** `ready` or `paused`. */
  status: UsableCardStatus;
  /** Owner's wallet address in lower case. */
  user_id: string;
};

/** Status of a fulfilled order. */
export type ReadyStatus = "ready";

/** A reconciliation run over all external records. */
export type ReconciliationRun = {
  /** Number of entries compared so far. */
  compared: number;
  /** Whether the run has completed without skipping a source. */
  completed: boolean;
  ended: CompletedRun | null;
  /** Time of the last completed run (RFC 3339). */
  last_completed_at: string | null;
};

/** Source of external records. */
export type ReconciliationSourceName = "base" | "solana" | "cards" | "gift_cards" | "payouts" | "bank_transfers" | "bank_deposits" | "reloadable_cards" | "card_balances" | "bridge" | "prepaid_remainders";

/** Status of a refund. */
export type RefundStatus = "requested" | "approved" | "credited" | "rejected" | "expired";

/** Status of an order that was released or rejected. */
export type ReleasedOrderStatus = "queued" | "rejected";

/** Status of a withdrawal that was released, fulfilled or rejected. */
export type ReleasedWithdrawalStatus = "queued" | "complete" | "rejected";

export type RelyingPartyOptions = {
  /** Host of the service. */
  id: string;
  name: string;
};

/** Status of an international card after a report. */
export type ReportedCardStatus = "ready" | "paused" | "closed" | "expired";

/** A charge as the card issuer reports it. */
export type ReportedCharge = {
  /** Time of the charge, in Unix milliseconds. */
  at_ms: number;
  /** Reason of a declined charge. */
  decline_reason?: string | null;
  merchant: string;
  /** `pending`, `settled`, `declined` or `refunded`. */
  status: CardTransactionStatus;
  /** Id of the charge at the issuer. */
  transaction_id: string;
  /** Amount in US dollars. */
  usd_amount: ExactDecimal;
};

/** Status of a card in a report. */
export type ReportedStatus = "ready" | "paused" | "closed";

/** Status of an entity of any kind. */
export type ResourceStatus = "suspended" | "active" | "frozen" | "claimed" | "settling" | "unknown" | "declined" | "released" | "settled" | "fulfilled" | "credited" | "refused" | "reversed" | "resolved" | "pending" | "ready" | "paused" | "failed" | "closed" | "expired" | "revoked" | "processing" | "completed" | "queued" | "cancelled" | "rejected" | "in-review" | "verified" | "unlinked" | "linked" | "paid" | "bridging" | "delivered" | "sent" | "complete" | "awaiting-details" | "in-process" | "returned" | "received" | "kept" | "archived" | "deleted" | "removed" | "open" | "creating" | "signed" | "unsettled" | "approved" | "used" | "incomplete" | "submitted" | "issued" | "waiting" | "disabled" | "dropped" | "requested" | "found" | "crediting" | "adopted" | "operator_funds" | "returning" | "forwarded" | "failing";

/** Scheduled jobs that are not due yet. */
export type ScheduledJobsStatus = {
  /** Up to 10,000 jobs that are due first, by job type. */
  by_job_type: JobTypeCount[];
  /** Time when the next job is due (RFC 3339). */
  first_due_at: string | null;
  /** Whether there are more than the counted jobs. */
  more: boolean;
};

/** One match. */
export type SearchHit = {
  amount: ExactDecimal | null;
  /** Time of the transfer, of the job's creation or of the request for approval (RFC 3339). */
  at: string | null;
  /** Operator API path that shows it. */
  href: string;
  /** Its id; for an account its exact wallet address, for a transfer its transaction. */
  id: string;
  /** Kind of the match. */
  kind: HitKind;
  /** Its status; null for a transfer. */
  status: string | null;
  /** Exact wallet address of the account it belongs to; null if none is known. */
  wallet: string | null;
};

/** Status of the store. */
export type StorageStatus = {
  /** Batches in all commits. */
  batches: number;
  /** Upper bound of the median commit time, in microseconds; null above the last range. */
  commit_median_us: number | null;
  /** Upper bound of the 99th percentile of commit times, in microseconds. */
  commit_p99_us: number | null;
  /** Commits since startup. Each one is a write and a sync. */
  commits: number;
  /** Newest durable sequence number. */
  durable_seq: number;
  /** Sequence number of the newest verified export; null without one, and while one is created. */
  exported_seq: number | null;
  /** Bytes in the journal that are not yet applied to the snapshots. */
  lag_bytes: number;
  /** Lag in bytes above which new work is rejected. */
  max_lag_bytes: number;
  /** Batches waiting for a commit. */
  queued: number;
  /** Batches rejected since startup. */
  rejected: number;
  /** Size of a full segment, in bytes. */
  segment_bytes: number;
  /** Journal segments on disk. */
  segments: number;
  /** Newest sequence number in the snapshots. A restart reads the journal from here. */
  snapshot_seq: number;
  /** Bytes written to the journal since startup. */
  written_bytes: number;
};

/** Status of the event streams. */
export type StreamStatus = {
  /** Open WebSocket connections. */
  connections: number;
  /** Queues of slow consumers that were discarded and read again, since startup. */
  overflows: number;
  /** Connections closed for sending too much, since startup. */
  rate_limited: number;
  /** Connections that have authenticated. */
  subscribers: number;
};

/** What a supervisor supervises. */
export type SupervisesName = "entities" | "outbox" | "reconciliation" | "incoming_transfers" | "other";

/** The root actor and its supervisors. */
export type SupervisionStatus = {
  /** Whether no supervisor has died since startup. */
  healthy: boolean;
  /** Name of the root actor. */
  root: string;
  /** `running`, `stopped` and other states of the actor runtime. */
  status: string;
  /** In the order they were started. */
  supervisors: SupervisorStatus[];
};

/** Status of one supervisor. */
export type SupervisorStatus = {
  /** Name of the supervisor. */
  actor: string;
  /** Number of linked actors. For deliveries this includes idle ones. */
  children: number;
  kind: EntityKindName | null;
  /** Status of the supervisor in the actor runtime. */
  status: string;
  /** What it supervises. */
  supervises: SupervisesName;
};

/** One change, or one action of an operator. */
export type TimelineEntry = {
  /** Time (RFC 3339). */
  at: string;
  event: Event | null;
  /** Id of the resource. */
  id: string;
  kind: EntityKindName | null;
  operator_action: AuditLogEntry | null;
  /** Request that caused it, where it is recorded: of actions of operators, and of a resource with an open job. */
  request_id: string | null;
  /** Status of the resource after the change; null for an action of an operator. */
  status: string | null;
};

/** Place of an operator token. */
export type TokenSource = "settings" | "store";

/** A resource that may explain the transfer. */
export type TransferCandidate = {
  /** Id of a withdrawal, a top-up or an incoming transfer. */
  id: string;
};

/** What goes on. */
export type UnfrozenParts = {
  /** Jobs that go on: what is paid is delivered. */
  jobs: OpenJob[];
  /** The owner can sign in and read the message on the page behind a login link. */
  sign_in: boolean;
  /** Cards that can be used, of the newest 100 of each kind: the issuer is not informed of a freeze. */
  usable_cards: number;
};

/** A payment with an unknown outcome. */
export type UnknownPayment = {
  /** Actions that are possible now. */
  actions: JobAction[];
  /** Seconds since the outcome became unknown. */
  age_seconds: number;
  amount?: ExactDecimal | null;
  /** Number of failed attempts. */
  attempts: number;
  /** Currency of the amount: `USDC` or an ISO 4217 code. */
  currency?: string | null;
  /** Idempotency key of the job at its provider. */
  idempotency_key: string;
  /** Job that queries the chain for it. */
  job_id: string;
  /** Type of that job. */
  job_type: JobTypeName;
  /** Error of the last attempt. */
  last_error: string | null;
  /** Id of the payment. */
  payment_id: string;
  /** Error of the query. */
  provider_error?: string | null;
  provider_status?: ProviderStatus | null;
  /** Time since the outcome is unknown (RFC 3339). */
  since: string;
  status?: ResourceStatus | null;
  /** Exact wallet address of the owner. */
  wallet?: string | null;
};

/** An order from before a restore that is missing from the ledger. */
export type UntrackedOrder = {
  /** Amount of the order. */
  amount: ExactDecimal;
  /** Last change by the provider's clock (RFC 3339). */
  at: string;
  /** Currency (ISO 4217). */
  currency: string;
  /** `out`: we paid for it. `in`: it came from an owner's bank account and must be credited. */
  direction: OrderDirection;
  /** Source that lists the order: `payouts` or `bank_transfers`. */
  list: UntrackedOrderList;
  /** Product, as the provider names it. */
  product: string;
  /** `pending`, `held` or `completed`. Another status only until the order leaves this list. */
  status: ProviderStatus;
  /** Idempotency key of the order at its provider, for `POST /admin/untracked-transfers/attribute`. */
  transaction: string;
};

/** List of orders at a provider. */
export type UntrackedOrderList = "payouts" | "bank_transfers";

/** An outgoing transfer that is missing from the ledger. */
export type UntrackedTransfer = {
  /** Account of the receiver, if it has one. */
  account: string | null;
  /** Amount in USDC. */
  amount: ExactDecimal;
  /** Chain time of the transfer (RFC 3339). */
  at: string;
  /**
   * Withdrawals and top-ups that wait for such a transfer, and incoming transfers that may have paid for it, because
   * a restore lost what they bought. `POST /admin/untracked-transfers/attribute` takes each by its id.
   */
  candidates: TransferCandidate[];
  /**
   * Transaction and index of the transfer, as `transaction#index`, for `POST /admin/untracked-transfers/attribute`.
   * The transaction alone is enough if it has only one transfer from the treasury.
   */
  name: string;
  /** `base` or `solana`. */
  network: NetworkName;
  /** Address that received the transfer. */
  receiver: string;
  /** Transaction id on the chain. */
  transaction: string;
};

/** Status of an international card that can be used. */
export type UsableCardStatus = "ready" | "paused";

export type UserOptions = {
  displayName: string;
  /** Handle in base64url. */
  id: string;
  name: string;
};

/** A webhook endpoint, as in its events. */
export type Webhook = {
  /** Creation time (RFC 3339). */
  created_at: string;
  disabled_reason: WebhookDisabledReason | null;
  /** Time since when all attempts have failed. */
  failing_since: string | null;
  /** Time of the last change (RFC 3339). */
  last_updated_at: string;
  /** `active`, `disabled` or `deleted`. */
  status: WebhookStatus;
  /** Event types that are sent; empty for all. */
  types: string[];
  /** URL that receives events. */
  url: string;
  /** `wh_…` is the id of the endpoint. */
  webhook_id: string;
};

/** One attempt to deliver an event. */
export type WebhookAttempt = {
  /** Start of the attempt. */
  at: string;
  /** Duration in milliseconds. */
  duration_ms: number;
  /** Error of the attempt. */
  error: string | null;
  /** Beginning of the response, with long numbers and long words masked. Null for operators with the role `read-only`. */
  response_excerpt: string | null;
  /** HTTP status of the response. */
  status: number | null;
};

/** The delivery of an event to one endpoint. */
export type WebhookDelivery = {
  /** Number of attempts so far. */
  attempt_count: number;
  /** The last ten attempts, oldest first. */
  attempts: WebhookAttempt[];
  /** Creation time (RFC 3339). */
  created_at: string;
  /** `whd_…` is the id of the delivery. */
  delivery_id: string;
  dropped_reason: WebhookDroppedReason | null;
  /** Event, which is the `webhook-id` of the message. */
  event_id: string;
  /** Time of the last change (RFC 3339). */
  last_updated_at: string;
  /** Time of the next attempt. */
  next_attempt_at: string | null;
  /** Sequence number of the event. */
  seq: number;
  /** `pending`, `delivered`, `failed` or `dropped`. */
  status: WebhookDeliveryStatus;
  /** Type of the event. */
  type: string;
  /** Endpoint of the delivery. */
  webhook_id: string;
};

/** Status of a delivery. */
export type WebhookDeliveryStatus = "pending" | "delivered" | "failed" | "dropped";

/** Reason of a disabled webhook endpoint. */
export type WebhookDisabledReason = "gone" | "failing";

/** Reason of a dropped delivery. */
export type WebhookDroppedReason = "endpoint_disabled" | "endpoint_deleted" | "event_expired";

/** Status of a webhook endpoint. */
export type WebhookStatus = "active" | "disabled" | "deleted";
