// Types of the events, written by `npm run types` from docs/asyncapi.json. Don't edit.

/** Every event type. */
export const EVENT_TYPES = [
  "account.agents_resumed",
  "account.agents_stopped",
  "account.caps_updated",
  "account.created",
  "account.frozen",
  "account.unfrozen",
  "agent_wallet.address_deleted",
  "agent_wallet.address_saved",
  "agent_wallet.caps_updated",
  "agent_wallet.created",
  "agent_wallet.spend_refused",
  "api_key.active",
  "api_key.issued",
  "api_key.limits_updated",
  "api_key.rejected",
  "api_key.revoked",
  "approval.approved",
  "approval.declined",
  "approval.expired",
  "approval.requested",
  "approval.used",
  "balance.credited",
  "balance.debited",
  "balance.held",
  "balance.released",
  "balance.reversed",
  "balance.withdrawn",
  "bank_account.open",
  "bank_account.pending",
  "bank_account.rejected",
  "bank_destination.registered",
  "bank_destination.removed",
  "bank_destination.renamed",
  "bank_transfer.complete",
  "bank_transfer.failed",
  "bank_transfer.pending",
  "bank_transfer.returned",
  "banking_application.approved",
  "banking_application.incomplete",
  "banking_application.rejected",
  "banking_application.submitted",
  "banking_profile.created",
  "card.charge_declined",
  "card.charge_refunded",
  "card.charge_settled",
  "card.charged",
  "card.close_requested",
  "card.closed",
  "card.details_viewed",
  "card.expired",
  "card.failed",
  "card.pause_requested",
  "card.paused",
  "card.pending",
  "card.ready",
  "card.refresh_requested",
  "card.refreshed",
  "card.remainder_released",
  "card.resume_requested",
  "card.resumed",
  "card_withdrawal.claimed",
  "card_withdrawal.complete",
  "card_withdrawal.failed",
  "card_withdrawal.hold_released",
  "card_withdrawal.pending",
  "card_withdrawal.queued",
  "card_withdrawal.rejected",
  "gift_card.completed",
  "gift_card.details_viewed",
  "gift_card.failed",
  "gift_card.processing",
  "identity.in-review",
  "identity.rejected",
  "identity.verified",
  "intl_order.cancelled",
  "intl_order.charge_declined",
  "intl_order.charge_refunded",
  "intl_order.charge_settled",
  "intl_order.charged",
  "intl_order.claimed",
  "intl_order.close_requested",
  "intl_order.closed",
  "intl_order.details_viewed",
  "intl_order.expired",
  "intl_order.overdue",
  "intl_order.pause_requested",
  "intl_order.paused",
  "intl_order.queued",
  "intl_order.ready",
  "intl_order.rejected",
  "intl_order.remainder_released",
  "intl_order.request_ended",
  "intl_order.resume_requested",
  "intl_order.resumed",
  "issuer_link.declined",
  "issuer_link.linked",
  "issuer_link.requested",
  "issuer_link.unlinked",
  "late_return.credited",
  "late_return.kept",
  "late_return.received",
  "passkey.added",
  "passkey.removed",
  "passkey.renamed",
  "payment.credited",
  "payment.declined",
  "payment.fulfilled",
  "payment.refused",
  "payment.released",
  "payment.resolved",
  "payment.reversed",
  "payment.settled",
  "payment.unknown",
  "payment_recipient.archived",
  "payment_recipient.created",
  "payment_recipient.deleted",
  "payment_recipient.paid",
  "payment_recipient.payment_returned",
  "payment_recipient.renamed",
  "payment_recipient.unarchived",
  "payout.awaiting-details",
  "payout.cancelled",
  "payout.complete",
  "payout.expired",
  "payout.failed",
  "payout.in-process",
  "payout.queued",
  "payout.returned",
  "recovery.cancelled",
  "recovery.completed",
  "recovery.expired",
  "recovery.ready",
  "recovery.requested",
  "refund.approved",
  "refund.credited",
  "reloadable_card.charge_declined",
  "reloadable_card.charge_refunded",
  "reloadable_card.charge_settled",
  "reloadable_card.charged",
  "reloadable_card.close_requested",
  "reloadable_card.closed",
  "reloadable_card.creating",
  "reloadable_card.details_viewed",
  "reloadable_card.failed",
  "reloadable_card.open",
  "reloadable_card.pause_requested",
  "reloadable_card.paused",
  "reloadable_card.resume_requested",
  "reloadable_card.resumed",
  "session.agent_announced",
  "session.confirmed",
  "session.revoked",
  "top_up.bridging",
  "top_up.credited",
  "top_up.delivered",
  "top_up.failed",
  "top_up.paid",
  "wallet_payment.failed",
  "wallet_payment.pending",
  "wallet_payment.sent",
  "wallet_payment.settled",
  "wallet_payment.signed",
  "wallet_payment.unsettled",
  "webhook.deleted",
  "webhook.disabled",
  "webhook.enabled",
  "webhook.failing",
  "webhook.recovered",
  "webhook.redelivery_requested",
  "webhook.registered",
  "webhook.secret_rotated",
  "webhook.test",
  "withdrawal.complete",
  "withdrawal.failed",
  "withdrawal.pending",
  "withdrawal.sent",
] as const;

export type EventType = (typeof EVENT_TYPES)[number];

/** Balance of an account. */
export type AccountBalance = {
  /** Since when the owner has stopped all agents (RFC 3339); absent while they may act. */
  agents_stopped_at?: string | null;
  /** Part of the balance that can be spent. */
  available: ExactDecimal;
  /** Balance in US dollars. */
  balance: ExactDecimal;
  balance_limits?: BalanceLimits | null;
  /** Creation time (RFC 3339). */
  created_at: string;
  /** Part of the balance that is on hold. */
  held: ExactDecimal;
  owner_caps?: OwnerCaps | null;
  /** `active` or `frozen`. */
  status: AccountStatus;
  /** Total of all credits in US dollars. */
  total_deposits: ExactDecimal;
  /** The wallet's address in lower case. */
  user_id: string;
};

/** Earlier values of the members that changed. */
export type AccountBalanceChanges = {
  /** Since when the owner has stopped all agents (RFC 3339); absent while they may act. */
  agents_stopped_at?: string | null;
  /** Part of the balance that can be spent. */
  available?: ExactDecimal;
  /** Balance in US dollars. */
  balance?: ExactDecimal;
  balance_limits?: BalanceLimits | null;
  /** Creation time (RFC 3339). */
  created_at?: string;
  /** Part of the balance that is on hold. */
  held?: ExactDecimal;
  owner_caps?: OwnerCaps | null;
  /** `active` or `frozen`. */
  status?: AccountStatus;
  /** Total of all credits in US dollars. */
  total_deposits?: ExactDecimal;
  /** The wallet's address in lower case. */
  user_id?: string;
};

/** An event of `account`. */
export type AccountEvent = {
  /** Who or what caused the event. */
  actor: EventActor;
  /** Version of the contract at the time of the event. */
  api_version: string;
  /** Time of the event (RFC 3339). */
  created_at: string;
  /** Resource of the event. */
  data: {
    object: AccountBalance;
  };
  /** Id of the event. */
  id: string;
  previous: AccountBalanceChanges;
  /** Sequence number among the account's events. Resume after it. */
  seq: number;
  /** `<resource>.<change>`. */
  type: "account.agents_resumed" | "account.agents_stopped" | "account.caps_updated" | "account.created" | "account.frozen" | "account.unfrozen";
  /** Wallet address of the account in lower case. */
  user_id: string;
};

/** Status of an account. */
export type AccountStatus = "active" | "frozen";

/** Details that an agent announced. They are not verified. */
export type AgentInfo = {
  /** Program that runs the agent. */
  client?: string | null;
  /** Name of the agent. */
  name: string;
  /** Version of that program. */
  version?: string | null;
};

/** Addresses by chain. */
export type AgentWalletAddresses = {
  /** Address on Base. */
  base: string;
  /** Address on Solana. */
  solana: string;
};

/** An event of `agent_wallet`. */
export type AgentWalletEvent = {
  /** Who or what caused the event. */
  actor: EventActor;
  /** Version of the contract at the time of the event. */
  api_version: string;
  /** Time of the event (RFC 3339). */
  created_at: string;
  /** Resource of the event. */
  data: {
    object: AgentWalletResource;
  };
  /** Id of the event. */
  id: string;
  previous: AgentWalletResourceChanges;
  /** Sequence number among the account's events. Resume after it. */
  seq: number;
  /** `<resource>.<change>`. */
  type: "agent_wallet.address_deleted" | "agent_wallet.address_saved" | "agent_wallet.caps_updated" | "agent_wallet.created" | "agent_wallet.spend_refused";
  /** Wallet address of the account in lower case. */
  user_id: string;
};

/** Caps of a managed wallet. */
export type AgentWalletLimits = {
  /** Whether a spend over a limit waits for the owner's approval. */
  approvals: boolean;
  merchants?: MerchantLimits | null;
  /** Cap per call in US dollars. */
  per_call_usd: ExactDecimal;
  per_day_usd: ExactDecimal | null;
};

/** A managed wallet. */
export type AgentWalletResource = {
  /** Addresses of the wallet. */
  addresses: AgentWalletAddresses;
  /** Creation time (RFC 3339). */
  created_at: string;
  last_refused_spend?: RefusedSpend | null;
  /** Caps of the wallet. */
  limits: AgentWalletLimits;
  /** Number of entries in the address book. */
  saved_addresses: number;
  /** `active` in every case. */
  status: AgentWalletStatus;
  /** Wallet address of the account in lower case. */
  user_id: string;
};

/** Earlier values of the members that changed. */
export type AgentWalletResourceChanges = {
  /** Addresses of the wallet. */
  addresses?: AgentWalletAddresses;
  /** Creation time (RFC 3339). */
  created_at?: string;
  last_refused_spend?: RefusedSpend | null;
  /** Caps of the wallet. */
  limits?: AgentWalletLimits;
  /** Number of entries in the address book. */
  saved_addresses?: number;
  /** `active` in every case. */
  status?: AgentWalletStatus;
  /** Wallet address of the account in lower case. */
  user_id?: string;
};

/** Status of a managed wallet. */
export type AgentWalletStatus = "active";

/** An event of `api_key`. */
export type ApiKeyEvent = {
  /** Who or what caused the event. */
  actor: EventActor;
  /** Version of the contract at the time of the event. */
  api_version: string;
  /** Time of the event (RFC 3339). */
  created_at: string;
  /** Resource of the event. */
  data: {
    object: ApiKeyResource;
  };
  /** Id of the event. */
  id: string;
  previous: ApiKeyResourceChanges;
  /** Sequence number among the account's events. Resume after it. */
  seq: number;
  /** `<resource>.<change>`. */
  type: "api_key.active" | "api_key.issued" | "api_key.limits_updated" | "api_key.rejected" | "api_key.revoked";
  /** Wallet address of the account in lower case. */
  user_id: string;
};

/** Limits of an API key. */
export type ApiKeyLimits = {
  per_call_usd: ExactDecimal | null;
  per_day_usd: ExactDecimal | null;
};

/** An API key, without its text. */
export type ApiKeyResource = {
  /** Id of the key. */
  api_key_id: string;
  /** Creation time (RFC 3339). */
  created_at: string;
  /** Time of the last exchange (RFC 3339). */
  last_used_at: string | null;
  /** Limits of what its sessions spend. */
  limits: ApiKeyLimits;
  /** Name of the key. */
  name: string;
  /** `issued`, `active`, `revoked` or `rejected`. */
  status: ApiKeyStatus;
};

/** Earlier values of the members that changed. */
export type ApiKeyResourceChanges = {
  /** Id of the key. */
  api_key_id?: string;
  /** Creation time (RFC 3339). */
  created_at?: string;
  /** Time of the last exchange (RFC 3339). */
  last_used_at?: string | null;
  /** Limits of what its sessions spend. */
  limits?: ApiKeyLimits;
  /** Name of the key. */
  name?: string;
  /** `issued`, `active`, `revoked` or `rejected`. */
  status?: ApiKeyStatus;
};

/** Status of an API key. */
export type ApiKeyStatus = "issued" | "active" | "revoked" | "rejected";

/** An event of `approval`. */
export type ApprovalEvent = {
  /** Who or what caused the event. */
  actor: EventActor;
  /** Version of the contract at the time of the event. */
  api_version: string;
  /** Time of the event (RFC 3339). */
  created_at: string;
  /** Resource of the event. */
  data: {
    object: ApprovalResource;
  };
  /** Id of the event. */
  id: string;
  previous: ApprovalResourceChanges;
  /** Sequence number among the account's events. Resume after it. */
  seq: number;
  /** `<resource>.<change>`. */
  type: "approval.approved" | "approval.declined" | "approval.expired" | "approval.requested" | "approval.used";
  /** Wallet address of the account in lower case. */
  user_id: string;
};

/** A spend over a limit of the account owner, and the owner's decision. */
export type ApprovalResource = {
  /** Amount in US dollars. */
  amount: ExactDecimal;
  /** API key of the agent; null if the wallet signed in. */
  api_key_id: string | null;
  /** `sap_…` is the id of the approval. */
  approval_id: string;
  /** `USDC` is the token; `USD` for a payment to a bank account. */
  asset: string;
  /** Bank destination or bank account that receives it; null for an address. */
  bank_payee_id: string | null;
  /** Time of the request (RFC 3339). */
  created_at: string;
  /** Time of the owner's decision (RFC 3339). */
  decided_at: string | null;
  decline_reason?: DeclineReason | null;
  /** End of the wait for the owner, or of the approval (RFC 3339). */
  expires_at: string;
  /** `host:port` of a paid call, or `route` for this service. */
  host: string | null;
  /**
   * `x402` for a paid call and `transfer` for a transfer of the managed wallet; `withdrawal`,
   * `card_balance_withdrawal`, `bank_transfer` or `bank_payout` from a balance of the account.
   */
  kind: SpendKind;
  /** Time of the last change (RFC 3339). */
  last_updated_at: string;
  /** Limits that the spend exceeds. */
  limits: ExceededLimit[];
  network: NetworkName | null;
  /** Note of the agent. */
  note: string | null;
  /** Address of the payee; null for a bank account. */
  pay_to: string | null;
  purchase: RoutePurchase | null;
  /** Session of the agent. */
  session_id: string | null;
  /** `pending`, `approved`, `declined`, `expired` or `used`. */
  status: ApprovalStatus;
  /** Id of what used the approval: a wallet payment, withdrawal, bank transfer or payout. */
  used_by: string | null;
  /** Wallet payment that used the approval. */
  wallet_payment_id: string | null;
};

/** Earlier values of the members that changed. */
export type ApprovalResourceChanges = {
  /** Amount in US dollars. */
  amount?: ExactDecimal;
  /** API key of the agent; null if the wallet signed in. */
  api_key_id?: string | null;
  /** `sap_…` is the id of the approval. */
  approval_id?: string;
  /** `USDC` is the token; `USD` for a payment to a bank account. */
  asset?: string;
  /** Bank destination or bank account that receives it; null for an address. */
  bank_payee_id?: string | null;
  /** Time of the request (RFC 3339). */
  created_at?: string;
  /** Time of the owner's decision (RFC 3339). */
  decided_at?: string | null;
  decline_reason?: DeclineReason | null;
  /** End of the wait for the owner, or of the approval (RFC 3339). */
  expires_at?: string;
  /** `host:port` of a paid call, or `route` for this service. */
  host?: string | null;
  /**
   * `x402` for a paid call and `transfer` for a transfer of the managed wallet; `withdrawal`,
   * `card_balance_withdrawal`, `bank_transfer` or `bank_payout` from a balance of the account.
   */
  kind?: SpendKind;
  /** Time of the last change (RFC 3339). */
  last_updated_at?: string;
  /** Limits that the spend exceeds. */
  limits?: ExceededLimit[];
  network?: NetworkName | null;
  /** Note of the agent. */
  note?: string | null;
  /** Address of the payee; null for a bank account. */
  pay_to?: string | null;
  purchase?: RoutePurchase | null;
  /** Session of the agent. */
  session_id?: string | null;
  /** `pending`, `approved`, `declined`, `expired` or `used`. */
  status?: ApprovalStatus;
  /** Id of what used the approval: a wallet payment, withdrawal, bank transfer or payout. */
  used_by?: string | null;
  /** Wallet payment that used the approval. */
  wallet_payment_id?: string | null;
};

/** Status of a spend over a limit of the account owner. */
export type ApprovalStatus = "pending" | "approved" | "declined" | "expired" | "used";

export type Auth = {
  /** An `id_token`. */
  token: string;
  type: "auth";
};

/** An event of `balance`. */
export type BalanceEvent = {
  /** Who or what caused the event. */
  actor: EventActor;
  /** Version of the contract at the time of the event. */
  api_version: string;
  /** Time of the event (RFC 3339). */
  created_at: string;
  /** Resource of the event. */
  data: {
    object: AccountBalance;
  };
  /** Id of the event. */
  id: string;
  previous: AccountBalanceChanges;
  /** Sequence number among the account's events. Resume after it. */
  seq: number;
  /** `<resource>.<change>`. */
  type: "balance.credited" | "balance.debited" | "balance.held" | "balance.released" | "balance.reversed" | "balance.withdrawn";
  /** Wallet address of the account in lower case. */
  user_id: string;
};

/** Limits on what agents take out of the balances of the account. */
export type BalanceLimits = {
  /** Whether what is over a limit waits for the owner's approval. */
  approvals: boolean;
  per_call_usd: ExactDecimal | null;
  per_day_usd: ExactDecimal | null;
};

/** An event of `bank_account`. */
export type BankAccountEvent = {
  /** Who or what caused the event. */
  actor: EventActor;
  /** Version of the contract at the time of the event. */
  api_version: string;
  /** Time of the event (RFC 3339). */
  created_at: string;
  /** Resource of the event. */
  data: {
    object: BankAccountResource;
  };
  /** Id of the event. */
  id: string;
  previous: BankAccountResourceChanges;
  /** Sequence number among the account's events. Resume after it. */
  seq: number;
  /** `<resource>.<change>`. */
  type: "bank_account.open" | "bank_account.pending" | "bank_account.rejected";
  /** Wallet address of the account in lower case. */
  user_id: string;
};

/** A bank account, without its number. */
export type BankAccountResource = {
  /** `ba_…` is the id of the account. */
  account_id: string;
  /** Last four digits of the account number, once open. */
  account_number_last4: string | null;
  /** Name of the bank, once open. */
  bank_name: string | null;
  /** Creation time (RFC 3339). */
  created_at: string;
  /** `USD` is the currency. */
  currency: string;
  /** Reason of the rejection. */
  failure_reason: string | null;
  /** The owner's own name for it. */
  label: string | null;
  /** Time of the last change (RFC 3339). */
  last_updated_at: string;
  /** `pending`, `open` or `rejected`. */
  status: BankAccountStatus;
  /** Type of the account. */
  type: BankAccountType;
};

/** Earlier values of the members that changed. */
export type BankAccountResourceChanges = {
  /** `ba_…` is the id of the account. */
  account_id?: string;
  /** Last four digits of the account number, once open. */
  account_number_last4?: string | null;
  /** Name of the bank, once open. */
  bank_name?: string | null;
  /** Creation time (RFC 3339). */
  created_at?: string;
  /** `USD` is the currency. */
  currency?: string;
  /** Reason of the rejection. */
  failure_reason?: string | null;
  /** The owner's own name for it. */
  label?: string | null;
  /** Time of the last change (RFC 3339). */
  last_updated_at?: string;
  /** `pending`, `open` or `rejected`. */
  status?: BankAccountStatus;
  /** Type of the account. */
  type?: BankAccountType;
};

/** Status of a bank account. */
export type BankAccountStatus = "pending" | "open" | "rejected";

/** Type of a bank account. */
export type BankAccountType = "onramp" | "offramp";

/** An event of `bank_destination`. */
export type BankDestinationEvent = {
  /** Who or what caused the event. */
  actor: EventActor;
  /** Version of the contract at the time of the event. */
  api_version: string;
  /** Time of the event (RFC 3339). */
  created_at: string;
  /** Resource of the event. */
  data: {
    object: BankDestinationResource;
  };
  /** Id of the event. */
  id: string;
  previous: BankDestinationResourceChanges;
  /** Sequence number among the account's events. Resume after it. */
  seq: number;
  /** `<resource>.<change>`. */
  type: "bank_destination.registered" | "bank_destination.removed" | "bank_destination.renamed";
  /** Wallet address of the account in lower case. */
  user_id: string;
};

/** A recipient's bank account. */
export type BankDestinationResource = {
  /** Name of the account's holder. */
  account_holder_name: string;
  /** Last four digits of the account number. */
  account_number_last4: string;
  /** Name of the bank. */
  bank_name: string;
  /** Creation time (RFC 3339). */
  created_at: string;
  /** `dst_…` is the id of the destination. */
  destination_id: string;
  /** Type of the account. */
  destination_type: BankDestinationType;
  /** The owner's own name for it. */
  nickname: string;
  /** Routing number, if the account has one. */
  routing_number: string | null;
  /** Status of the destination. */
  status: BankDestinationStatus;
};

/** Earlier values of the members that changed. */
export type BankDestinationResourceChanges = {
  /** Name of the account's holder. */
  account_holder_name?: string;
  /** Last four digits of the account number. */
  account_number_last4?: string;
  /** Name of the bank. */
  bank_name?: string;
  /** Creation time (RFC 3339). */
  created_at?: string;
  /** `dst_…` is the id of the destination. */
  destination_id?: string;
  /** Type of the account. */
  destination_type?: BankDestinationType;
  /** The owner's own name for it. */
  nickname?: string;
  /** Routing number, if the account has one. */
  routing_number?: string | null;
  /** Status of the destination. */
  status?: BankDestinationStatus;
};

/** Status of a bank destination. */
export type BankDestinationStatus = "active" | "removed";

/** Type of a recipient's bank account. */
export type BankDestinationType = "fiat_us" | "fiat_iban";

/** Direction of a bank transaction. */
export type BankTransactionDirection = "incoming" | "to_account" | "to_balance" | "outgoing";

/** Type of a bank transaction. */
export type BankTransactionType = "transfer" | "payout";

/** An event of `bank_transfer`. */
export type BankTransferEvent = {
  /** Who or what caused the event. */
  actor: EventActor;
  /** Version of the contract at the time of the event. */
  api_version: string;
  /** Time of the event (RFC 3339). */
  created_at: string;
  /** Resource of the event. */
  data: {
    object: BankTransferResource;
  };
  /** Id of the event. */
  id: string;
  previous: BankTransferResourceChanges;
  /** Sequence number among the account's events. Resume after it. */
  seq: number;
  /** `<resource>.<change>`. */
  type: "bank_transfer.complete" | "bank_transfer.failed" | "bank_transfer.pending" | "bank_transfer.returned";
  /** Wallet address of the account in lower case. */
  user_id: string;
};

/** A transfer between the owner's bank account and the balance. */
export type BankTransferResource = {
  /** `ba_…` is the id of the bank account. */
  account_id: string;
  /** Amount in US dollars. */
  amount: ExactDecimal;
  /** Creation time (RFC 3339). */
  created_at: string;
  /** `USD` is the currency. */
  currency: string;
  /** Direction of the transfer. */
  direction: BankTransactionDirection;
  /** Reason of the failure. */
  failure_reason: string | null;
  /** Time of the last change (RFC 3339). */
  last_updated_at: string;
  /** The owner's note. */
  note: string | null;
  /** The bank's reference, once complete. */
  reference: string | null;
  returned_amount?: ExactDecimal | null;
  /** `pending`, `complete`, `failed` or `returned`. */
  status: BankTransferStatus;
  /** `btr_…` is the id of the transfer. */
  transaction_id: string;
  /** `transfer` in every case. */
  type: BankTransactionType;
};

/** Earlier values of the members that changed. */
export type BankTransferResourceChanges = {
  /** `ba_…` is the id of the bank account. */
  account_id?: string;
  /** Amount in US dollars. */
  amount?: ExactDecimal;
  /** Creation time (RFC 3339). */
  created_at?: string;
  /** `USD` is the currency. */
  currency?: string;
  /** Direction of the transfer. */
  direction?: BankTransactionDirection;
  /** Reason of the failure. */
  failure_reason?: string | null;
  /** Time of the last change (RFC 3339). */
  last_updated_at?: string;
  /** The owner's note. */
  note?: string | null;
  /** The bank's reference, once complete. */
  reference?: string | null;
  returned_amount?: ExactDecimal | null;
  /** `pending`, `complete`, `failed` or `returned`. */
  status?: BankTransferStatus;
  /** `btr_…` is the id of the transfer. */
  transaction_id?: string;
  /** `transfer` in every case. */
  type?: BankTransactionType;
};

/** Status of a bank transfer. */
export type BankTransferStatus = "pending" | "complete" | "failed" | "returned";

/** An event of `banking_application`. */
export type BankingApplicationEvent = {
  /** Who or what caused the event. */
  actor: EventActor;
  /** Version of the contract at the time of the event. */
  api_version: string;
  /** Time of the event (RFC 3339). */
  created_at: string;
  /** Resource of the event. */
  data: {
    object: BankingApplicationResource;
  };
  /** Id of the event. */
  id: string;
  previous: BankingApplicationResourceChanges;
  /** Sequence number among the account's events. Resume after it. */
  seq: number;
  /** `<resource>.<change>`. */
  type: "banking_application.approved" | "banking_application.incomplete" | "banking_application.rejected" | "banking_application.submitted";
  /** Wallet address of the account in lower case. */
  user_id: string;
};

/** An application for bank accounts, without its answers. */
export type BankingApplicationResource = {
  /** `bapp_…` is the id of the application. */
  application_id: string;
  /** Creation time (RFC 3339). */
  created_at: string;
  /** Time of the last change (RFC 3339). */
  last_updated_at: string;
  /** Reason of the rejection. */
  rejection_reason: string | null;
  /** What the bank asks for in addition. */
  requested_items: string | null;
  /** `incomplete`, `submitted`, `approved` or `rejected`. */
  status: BankingApplicationStatus;
  /** Number of submissions. */
  submissions: number;
};

/** Earlier values of the members that changed. */
export type BankingApplicationResourceChanges = {
  /** `bapp_…` is the id of the application. */
  application_id?: string;
  /** Creation time (RFC 3339). */
  created_at?: string;
  /** Time of the last change (RFC 3339). */
  last_updated_at?: string;
  /** Reason of the rejection. */
  rejection_reason?: string | null;
  /** What the bank asks for in addition. */
  requested_items?: string | null;
  /** `incomplete`, `submitted`, `approved` or `rejected`. */
  status?: BankingApplicationStatus;
  /** Number of submissions. */
  submissions?: number;
};

/** Status of a bank application. */
export type BankingApplicationStatus = "incomplete" | "submitted" | "approved" | "rejected";

/** An event of `banking_profile`. */
export type BankingProfileEvent = {
  /** Who or what caused the event. */
  actor: EventActor;
  /** Version of the contract at the time of the event. */
  api_version: string;
  /** Time of the event (RFC 3339). */
  created_at: string;
  /** Resource of the event. */
  data: {
    object: BankingProfileResource;
  };
  /** Id of the event. */
  id: string;
  previous: BankingProfileResourceChanges;
  /** Sequence number among the account's events. Resume after it. */
  seq: number;
  /** `<resource>.<change>`. */
  type: "banking_profile.created";
  /** Wallet address of the account in lower case. */
  user_id: string;
};

/** A customer of the bank. */
export type BankingProfileResource = {
  /** Name of the business. */
  business_name: string | null;
  /** Country (ISO 3166-1 alpha-2). */
  country: string;
  /** Creation time (RFC 3339). */
  created_at: string;
  /** Email address. */
  email: string;
  /** First name of the customer, or of who acts for the business. */
  first_name: string;
  /** Last name. */
  last_name: string;
  /** Status of the profile. */
  status: BankingProfileState;
  /** Type of the customer. */
  type: CustomerType;
  /** Wallet address of the account in lower case. */
  user_id: string;
};

/** Earlier values of the members that changed. */
export type BankingProfileResourceChanges = {
  /** Name of the business. */
  business_name?: string | null;
  /** Country (ISO 3166-1 alpha-2). */
  country?: string;
  /** Creation time (RFC 3339). */
  created_at?: string;
  /** Email address. */
  email?: string;
  /** First name of the customer, or of who acts for the business. */
  first_name?: string;
  /** Last name. */
  last_name?: string;
  /** Status of the profile. */
  status?: BankingProfileState;
  /** Type of the customer. */
  type?: CustomerType;
  /** Wallet address of the account in lower case. */
  user_id?: string;
};

/** Status of a banking profile. */
export type BankingProfileState = "open";

/** A card without its number. */
export type Card = {
  /** Remaining US dollars, as the issuer last reported. */
  available_usd_amount: ExactDecimal;
  /** Id of the card. */
  card_id: string;
  /** `Non-Reloadable U.S.` is the card type. */
  card_type: PrepaidCardType;
  /** US dollars paid, fees included. */
  charged_usd_amount: ExactDecimal;
  /** `US` is the country of the card. */
  country: string;
  /** Creation time (RFC 3339). */
  created_at: string;
  /**
   * US dollars credited to the account's balance: the full charge of a failed card, otherwise the remainder at its
   * end, less earlier refunds.
   */
  credited_usd_amount: ExactDecimal;
  /** Reason of a failed card. */
  failure_reason: string | null;
  /** Fees in US dollars. */
  fees_paid: ExactDecimal;
  /** Last four digits of the card number, once known. */
  last4: string | null;
  /** Time of the last change (RFC 3339). */
  last_updated_at: string;
  /** Payment that bought the card. */
  payment_id: string;
  pending_action: CardAction | null;
  /** Whether a refresh is in progress. */
  refreshing: boolean;
  /** Same as `status`. */
  state: CardStatus;
  /** `pending`, `ready`, `paused`, `failed`, `closed` or `expired`. */
  status: CardStatus;
  /** US dollars loaded on the card. */
  usd_amount: ExactDecimal;
};

/** Action on a card. */
export type CardAction = "pause" | "resume" | "close";

/** Detailed status of a withdrawal from a card balance. */
export type CardBalanceWithdrawalStatus = "pending" | "queued" | "claimed" | "complete" | "rejected" | "failed";

/** Earlier values of the members that changed. */
export type CardChanges = {
  /** Remaining US dollars, as the issuer last reported. */
  available_usd_amount?: ExactDecimal;
  /** Id of the card. */
  card_id?: string;
  /** `Non-Reloadable U.S.` is the card type. */
  card_type?: PrepaidCardType;
  /** US dollars paid, fees included. */
  charged_usd_amount?: ExactDecimal;
  /** `US` is the country of the card. */
  country?: string;
  /** Creation time (RFC 3339). */
  created_at?: string;
  /**
   * US dollars credited to the account's balance: the full charge of a failed card, otherwise the remainder at its
   * end, less earlier refunds.
   */
  credited_usd_amount?: ExactDecimal;
  /** Reason of a failed card. */
  failure_reason?: string | null;
  /** Fees in US dollars. */
  fees_paid?: ExactDecimal;
  /** Last four digits of the card number, once known. */
  last4?: string | null;
  /** Time of the last change (RFC 3339). */
  last_updated_at?: string;
  /** Payment that bought the card. */
  payment_id?: string;
  pending_action?: CardAction | null;
  /** Whether a refresh is in progress. */
  refreshing?: boolean;
  /** Same as `status`. */
  state?: CardStatus;
  /** `pending`, `ready`, `paused`, `failed`, `closed` or `expired`. */
  status?: CardStatus;
  /** US dollars loaded on the card. */
  usd_amount?: ExactDecimal;
};

/** An event of `card`. */
export type CardEvent = {
  /** Who or what caused the event. */
  actor: EventActor;
  /** Version of the contract at the time of the event. */
  api_version: string;
  /** Time of the event (RFC 3339). */
  created_at: string;
  /** Resource of the event. */
  data: {
    object: Card;
  };
  /** Id of the event. */
  id: string;
  previous: CardChanges;
  /** Sequence number among the account's events. Resume after it. */
  seq: number;
  /** `<resource>.<change>`. */
  type: "card.charge_declined" | "card.charge_refunded" | "card.charge_settled" | "card.charged" | "card.close_requested" | "card.closed" | "card.details_viewed" | "card.expired" | "card.failed" | "card.pause_requested" | "card.paused" | "card.pending" | "card.ready" | "card.refresh_requested" | "card.refreshed" | "card.remainder_released" | "card.resume_requested" | "card.resumed";
  /** Wallet address of the account in lower case. */
  user_id: string;
};

/** Status of a prepaid card. */
export type CardStatus = "pending" | "ready" | "paused" | "failed" | "closed" | "expired";

/** An event of `card_withdrawal`. */
export type CardWithdrawalEvent = {
  /** Who or what caused the event. */
  actor: EventActor;
  /** Version of the contract at the time of the event. */
  api_version: string;
  /** Time of the event (RFC 3339). */
  created_at: string;
  /** Resource of the event. */
  data: {
    object: Withdrawal;
  };
  /** Id of the event. */
  id: string;
  previous: WithdrawalChanges;
  /** Sequence number among the account's events. Resume after it. */
  seq: number;
  /** `<resource>.<change>`. */
  type: "card_withdrawal.claimed" | "card_withdrawal.complete" | "card_withdrawal.failed" | "card_withdrawal.hold_released" | "card_withdrawal.pending" | "card_withdrawal.queued" | "card_withdrawal.rejected";
  /** Wallet address of the account in lower case. */
  user_id: string;
};

/** Type of a customer of the bank. */
export type CustomerType = "individual" | "business";

/** Why a spend counts as declined without the owner's decision. */
export type DeclineReason = "agent_ended";

/** Network of deposit addresses. */
export type DepositNetwork = "base";

export type Error = {
  code: "message_malformed" | "message_invalid" | "types_invalid" | "cursor_ahead" | "already_authenticated";
  /** In words. */
  error: string;
  /** The member that is wrong. */
  param?: string;
  type: "error";
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

export type ExactDecimal = string | number;

/** A limit that a spend exceeds. */
export type ExceededLimit = {
  /** Value of the limit in US dollars. */
  cap_usd: ExactDecimal;
  /** What was left of it when the agent asked. */
  left_usd: ExactDecimal;
  /**
   * `per_call_usd`, `per_day_usd` or `merchant_per_day_usd` of the managed wallet, `balance_per_call_usd` or
   * `balance_per_day_usd` of the account's balances, `api_key_per_call_usd` or `api_key_per_day_usd` of the API key.
   */
  limit: SpendLimitName;
};

/** A gift card without its code and link. */
export type GiftCard = {
  /** Amount in its own currency. */
  amount: ExactDecimal;
  /** Id of the gift card. */
  card_id: string;
  /** `Gift Card` is the card type. */
  card_type: GiftCardType;
  /** US dollars paid, fees included. */
  charged_usd_amount: ExactDecimal;
  /** Country of redemption (ISO 3166-1 alpha-2). */
  country: string;
  /** Creation time (RFC 3339). */
  created_at: string;
  /** Currency of the amount (ISO 4217). */
  currency: string;
  /** Reason of a failed gift card. */
  failure_reason: string | null;
  /** Fees in US dollars. */
  fees_paid: ExactDecimal;
  /** Time of the last change (RFC 3339). */
  last_updated_at: string;
  /** Payment that bought the gift card. */
  payment_id: string;
  /** Product id, as in `GET /search-gift-cards`. */
  product_id: string;
  /** Same as `status`. */
  state: GiftCardStatus;
  /** `processing`, `completed` or `failed`. */
  status: GiftCardStatus;
};

/** Earlier values of the members that changed. */
export type GiftCardChanges = {
  /** Amount in its own currency. */
  amount?: ExactDecimal;
  /** Id of the gift card. */
  card_id?: string;
  /** `Gift Card` is the card type. */
  card_type?: GiftCardType;
  /** US dollars paid, fees included. */
  charged_usd_amount?: ExactDecimal;
  /** Country of redemption (ISO 3166-1 alpha-2). */
  country?: string;
  /** Creation time (RFC 3339). */
  created_at?: string;
  /** Currency of the amount (ISO 4217). */
  currency?: string;
  /** Reason of a failed gift card. */
  failure_reason?: string | null;
  /** Fees in US dollars. */
  fees_paid?: ExactDecimal;
  /** Time of the last change (RFC 3339). */
  last_updated_at?: string;
  /** Payment that bought the gift card. */
  payment_id?: string;
  /** Product id, as in `GET /search-gift-cards`. */
  product_id?: string;
  /** Same as `status`. */
  state?: GiftCardStatus;
  /** `processing`, `completed` or `failed`. */
  status?: GiftCardStatus;
};

/** An event of `gift_card`. */
export type GiftCardEvent = {
  /** Who or what caused the event. */
  actor: EventActor;
  /** Version of the contract at the time of the event. */
  api_version: string;
  /** Time of the event (RFC 3339). */
  created_at: string;
  /** Resource of the event. */
  data: {
    object: GiftCard;
  };
  /** Id of the event. */
  id: string;
  previous: GiftCardChanges;
  /** Sequence number among the account's events. Resume after it. */
  seq: number;
  /** `<resource>.<change>`. */
  type: "gift_card.completed" | "gift_card.details_viewed" | "gift_card.failed" | "gift_card.processing";
  /** Wallet address of the account in lower case. */
  user_id: string;
};

/** Status of a gift card. */
export type GiftCardStatus = "processing" | "completed" | "failed";

/** Type of a gift card. */
export type GiftCardType = "Gift Card";

/** Reason of a hold. */
export type HoldReason = "held_frozen" | "held_restored" | "held_unfinal";

/** An event of `identity`. */
export type IdentityEvent = {
  /** Who or what caused the event. */
  actor: EventActor;
  /** Version of the contract at the time of the event. */
  api_version: string;
  /** Time of the event (RFC 3339). */
  created_at: string;
  /** Resource of the event. */
  data: {
    object: IdentityResource;
  };
  /** Id of the event. */
  id: string;
  previous: IdentityResourceChanges;
  /** Sequence number among the account's events. Resume after it. */
  seq: number;
  /** `<resource>.<change>`. */
  type: "identity.in-review" | "identity.rejected" | "identity.verified";
  /** Wallet address of the account in lower case. */
  user_id: string;
};

/** Identity verification of an account's owner. */
export type IdentityResource = {
  /** Number of checks. */
  checks: number;
  /** Time of the first check (RFC 3339). */
  created_at: string;
  /** Time of the last change (RFC 3339). */
  last_updated_at: string;
  /** Reason of the rejection. */
  rejection_reason: string | null;
  /** `in-review`, `verified` or `rejected`. */
  status: IdentityStatus;
  /** Wallet address of the account in lower case. */
  user_id: string;
};

/** Earlier values of the members that changed. */
export type IdentityResourceChanges = {
  /** Number of checks. */
  checks?: number;
  /** Time of the first check (RFC 3339). */
  created_at?: string;
  /** Time of the last change (RFC 3339). */
  last_updated_at?: string;
  /** Reason of the rejection. */
  rejection_reason?: string | null;
  /** `in-review`, `verified` or `rejected`. */
  status?: IdentityStatus;
  /** Wallet address of the account in lower case. */
  user_id?: string;
};

/** Status of an identity check. */
export type IdentityStatus = "none" | "in-review" | "verified" | "rejected";

/** An international card without its number. */
export type IntlCard = {
  /** Remaining US dollars, as the issuer last reported. */
  available_usd_amount: ExactDecimal;
  /** Id of the card, unchanged from the order on. */
  card_id: string;
  /** `Non-Reloadable International` is the card type. */
  card_type: IntlCardType;
  /** US dollars paid, fees included. */
  charged_usd_amount: ExactDecimal;
  /** Creation time (RFC 3339). */
  created_at: string;
  /**
   * US dollars credited to the account's balance: the full charge of an order that failed, otherwise the remainder
   * at the card's end, less earlier refunds.
   */
  credited_usd_amount: ExactDecimal;
  /** Fees in US dollars. */
  fees_paid: ExactDecimal;
  /** Label given by the caller. */
  label: string | null;
  /** Last four digits of the card number, once known. */
  last4: string | null;
  /** Time of the last change (RFC 3339). */
  last_updated_at: string;
  /** Same as `usd_amount`. */
  on_card_usd_amount: ExactDecimal;
  /** Whether the order was still open after 24 hours. */
  overdue: boolean;
  /** Payment that bought the card. */
  payment_id: string;
  pending_action: CardAction | null;
  /** Reason given by the operator for a rejection. */
  rejection_reason: string | null;
  /** Same as `status`. */
  state: IntlCardStatus;
  /** `queued`, `claimed`, `ready`, `paused`, `closed`, `cancelled`, `rejected` or `expired`. */
  status: IntlCardStatus;
  /** US dollars loaded on the card. */
  usd_amount: ExactDecimal;
};

/** Earlier values of the members that changed. */
export type IntlCardChanges = {
  /** Remaining US dollars, as the issuer last reported. */
  available_usd_amount?: ExactDecimal;
  /** Id of the card, unchanged from the order on. */
  card_id?: string;
  /** `Non-Reloadable International` is the card type. */
  card_type?: IntlCardType;
  /** US dollars paid, fees included. */
  charged_usd_amount?: ExactDecimal;
  /** Creation time (RFC 3339). */
  created_at?: string;
  /**
   * US dollars credited to the account's balance: the full charge of an order that failed, otherwise the remainder
   * at the card's end, less earlier refunds.
   */
  credited_usd_amount?: ExactDecimal;
  /** Fees in US dollars. */
  fees_paid?: ExactDecimal;
  /** Label given by the caller. */
  label?: string | null;
  /** Last four digits of the card number, once known. */
  last4?: string | null;
  /** Time of the last change (RFC 3339). */
  last_updated_at?: string;
  /** Same as `usd_amount`. */
  on_card_usd_amount?: ExactDecimal;
  /** Whether the order was still open after 24 hours. */
  overdue?: boolean;
  /** Payment that bought the card. */
  payment_id?: string;
  pending_action?: CardAction | null;
  /** Reason given by the operator for a rejection. */
  rejection_reason?: string | null;
  /** Same as `status`. */
  state?: IntlCardStatus;
  /** `queued`, `claimed`, `ready`, `paused`, `closed`, `cancelled`, `rejected` or `expired`. */
  status?: IntlCardStatus;
  /** US dollars loaded on the card. */
  usd_amount?: ExactDecimal;
};

/** Status of an international card, from its order on. */
export type IntlCardStatus = "queued" | "claimed" | "ready" | "paused" | "closed" | "cancelled" | "rejected" | "expired";

/** Type of an international card. */
export type IntlCardType = "Non-Reloadable International";

/** An event of `intl_order`. */
export type IntlOrderEvent = {
  /** Who or what caused the event. */
  actor: EventActor;
  /** Version of the contract at the time of the event. */
  api_version: string;
  /** Time of the event (RFC 3339). */
  created_at: string;
  /** Resource of the event. */
  data: {
    object: IntlCard;
  };
  /** Id of the event. */
  id: string;
  previous: IntlCardChanges;
  /** Sequence number among the account's events. Resume after it. */
  seq: number;
  /** `<resource>.<change>`. */
  type: "intl_order.cancelled" | "intl_order.charge_declined" | "intl_order.charge_refunded" | "intl_order.charge_settled" | "intl_order.charged" | "intl_order.claimed" | "intl_order.close_requested" | "intl_order.closed" | "intl_order.details_viewed" | "intl_order.expired" | "intl_order.overdue" | "intl_order.pause_requested" | "intl_order.paused" | "intl_order.queued" | "intl_order.ready" | "intl_order.rejected" | "intl_order.remainder_released" | "intl_order.request_ended" | "intl_order.resume_requested" | "intl_order.resumed";
  /** Wallet address of the account in lower case. */
  user_id: string;
};

/** An event of `issuer_link`. */
export type IssuerLinkEvent = {
  /** Who or what caused the event. */
  actor: EventActor;
  /** Version of the contract at the time of the event. */
  api_version: string;
  /** Time of the event (RFC 3339). */
  created_at: string;
  /** Resource of the event. */
  data: {
    object: IssuerLinkResource;
  };
  /** Id of the event. */
  id: string;
  previous: IssuerLinkResourceChanges;
  /** Sequence number among the account's events. Resume after it. */
  seq: number;
  /** `<resource>.<change>`. */
  type: "issuer_link.declined" | "issuer_link.linked" | "issuer_link.requested" | "issuer_link.unlinked";
  /** Wallet address of the account in lower case. */
  user_id: string;
};

/** An account's link to the card issuer. */
export type IssuerLinkResource = {
  /** Creation time (RFC 3339). */
  created_at: string;
  /** Reason for which the issuer declined the link. */
  decline_reason: string | null;
  /** Address to which top-ups are sent, once linked. */
  deposit_address: string | null;
  /** Time of the last change (RFC 3339). */
  last_updated_at: string;
  /** Whether the issuer is being asked for a link. */
  link_pending: boolean;
  /** `unlinked` or `linked`. */
  status: IssuerLinkStatus;
  /** Wallet address of the account in lower case. */
  user_id: string;
};

/** Earlier values of the members that changed. */
export type IssuerLinkResourceChanges = {
  /** Creation time (RFC 3339). */
  created_at?: string;
  /** Reason for which the issuer declined the link. */
  decline_reason?: string | null;
  /** Address to which top-ups are sent, once linked. */
  deposit_address?: string | null;
  /** Time of the last change (RFC 3339). */
  last_updated_at?: string;
  /** Whether the issuer is being asked for a link. */
  link_pending?: boolean;
  /** `unlinked` or `linked`. */
  status?: IssuerLinkStatus;
  /** Wallet address of the account in lower case. */
  user_id?: string;
};

/** Status of an account's link to the card issuer. */
export type IssuerLinkStatus = "unlinked" | "linked";

/** A payout that was returned after its return window. */
export type LateReturn = {
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
};

/** Earlier values of the members that changed. */
export type LateReturnChanges = {
  /** US dollars that were returned. */
  amount?: ExactDecimal;
  /** Creation time (RFC 3339). */
  created_at?: string;
  /** US dollars credited to the account's balance. */
  credited_amount?: ExactDecimal;
  /** Time of the last change (RFC 3339). */
  last_updated_at?: string;
  /** Id of the late return: the `cause` of the credit in the account's statement. */
  late_return_id?: string;
  /** Payout that was returned. */
  payout_id?: string;
  /** Reason reported by the payout rail. */
  reason?: string;
  /** US dollars kept by the payout rail. */
  return_fee?: ExactDecimal;
  /** `received`, then `credited`, or `kept` if an operator decided not to credit it. */
  status?: LateReturnStatus;
};

/** An event of `late_return`. */
export type LateReturnEvent = {
  /** Who or what caused the event. */
  actor: EventActor;
  /** Version of the contract at the time of the event. */
  api_version: string;
  /** Time of the event (RFC 3339). */
  created_at: string;
  /** Resource of the event. */
  data: {
    object: LateReturn;
  };
  /** Id of the event. */
  id: string;
  previous: LateReturnChanges;
  /** Sequence number among the account's events. Resume after it. */
  seq: number;
  /** `<resource>.<change>`. */
  type: "late_return.credited" | "late_return.kept" | "late_return.received";
  /** Wallet address of the account in lower case. */
  user_id: string;
};

/** Status of a late return. */
export type LateReturnStatus = "received" | "credited" | "kept";

/** Cap of one merchant. */
export type MerchantLimit = {
  /** Host in lower case, without a port; `route` is this service. */
  host: string;
  /** Cap per day (UTC) in US dollars; 0 forbids it. */
  per_day_usd: ExactDecimal;
};

/** Caps per merchant and day of a managed wallet, in US dollars. */
export type MerchantLimits = {
  /** Merchants with a cap of their own. */
  hosts: MerchantLimit[];
  others_per_day_usd: ExactDecimal | null;
};

/** CAIP-2 name of a network on which this service settles. */
export type NetworkId = "eip155:8453" | "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp";

/** Network of a transfer. */
export type NetworkName = "base" | "solana";

/** The owner's daily cap on one product. */
export type OwnerCap = {
  /** Maximum purchases per day. */
  count_per_day?: number | null;
  sum_per_day?: ExactDecimal | null;
};

/** Daily caps set by the owner, by product. Without a cap here, only the service's cap applies. */
export type OwnerCaps = {
  app_payment?: OwnerCap | null;
  bank_payment?: OwnerCap | null;
  card_balance?: OwnerCap | null;
  gift_card?: OwnerCap | null;
  push_to_card?: OwnerCap | null;
  usa_prepaid_card?: OwnerCap | null;
};

/** An event of `passkey`. */
export type PasskeyEvent = {
  /** Who or what caused the event. */
  actor: EventActor;
  /** Version of the contract at the time of the event. */
  api_version: string;
  /** Time of the event (RFC 3339). */
  created_at: string;
  /** Resource of the event. */
  data: {
    object: PasskeyResource;
  };
  /** Id of the event. */
  id: string;
  previous: PasskeyResourceChanges;
  /** Sequence number among the account's events. Resume after it. */
  seq: number;
  /** `<resource>.<change>`. */
  type: "passkey.added" | "passkey.removed" | "passkey.renamed";
  /** Wallet address of the account in lower case. */
  user_id: string;
};

/** A passkey of the account, without its key. */
export type PasskeyResource = {
  /** Time at which it was added (RFC 3339). */
  created_at: string;
  /** Time of the last sign-in or confirmation (RFC 3339). */
  last_used_at: string | null;
  /** Name of the passkey. */
  name: string;
  /** `pk_…` is the id of the passkey. */
  passkey_id: string;
  /**
   * `active` or `removed`. Lists say `suspended` after a restore without the revocation log: the passkey is refused
   * until an operator confirms it. The operator of the service does that when you ask.
   */
  status: PasskeyStatus;
  /** Whether it can be copied to other devices of its owner, as passkeys of a password manager can. */
  synced: boolean;
};

/** Earlier values of the members that changed. */
export type PasskeyResourceChanges = {
  /** Time at which it was added (RFC 3339). */
  created_at?: string;
  /** Time of the last sign-in or confirmation (RFC 3339). */
  last_used_at?: string | null;
  /** Name of the passkey. */
  name?: string;
  /** `pk_…` is the id of the passkey. */
  passkey_id?: string;
  /**
   * `active` or `removed`. Lists say `suspended` after a restore without the revocation log: the passkey is refused
   * until an operator confirms it. The operator of the service does that when you ask.
   */
  status?: PasskeyStatus;
  /** Whether it can be copied to other devices of its owner, as passkeys of a password manager can. */
  synced?: boolean;
};

/** Status of a passkey. */
export type PasskeyStatus = "suspended" | "active" | "removed";

/** A payment as its payer sees it. */
export type Payment = {
  /** Amount in USDC. */
  amount: ExactDecimal;
  /** `USDC` is the token. */
  asset: string;
  /** Creation time (RFC 3339). */
  created_at: string;
  /** Reason of a failed payment. */
  error_reason: string | null;
  /** Time of the last change (RFC 3339). */
  last_updated_at: string;
  /** Network as a CAIP-2 name. */
  network: NetworkId;
  /** Exact wallet address of the payer. */
  payer: string;
  /** Id of the payment. */
  payment_id: string;
  /** Product of the payment, as in `GET /get-pricing`. */
  product: ProductName;
  /** `card_…`, `po_…` or `top_…`: id of the product. */
  product_id: string | null;
  resolution?: PaymentResolution | null;
  /**
   * Status of the payment, not of its product; `docs/states.md` has the state chart. `credited` only if the account
   * was credited. `resolved` if an operator decided its transfer separately and the account was not credited: see
   * `resolution`.
   */
  status: PaymentStatus;
  /** Transaction id, once settled. */
  transaction: string | null;
};

/** Payment app. */
export type PaymentApp = "venmo" | "paypal";

/** Earlier values of the members that changed. */
export type PaymentChanges = {
  /** Amount in USDC. */
  amount?: ExactDecimal;
  /** `USDC` is the token. */
  asset?: string;
  /** Creation time (RFC 3339). */
  created_at?: string;
  /** Reason of a failed payment. */
  error_reason?: string | null;
  /** Time of the last change (RFC 3339). */
  last_updated_at?: string;
  /** Network as a CAIP-2 name. */
  network?: NetworkId;
  /** Exact wallet address of the payer. */
  payer?: string;
  /** Id of the payment. */
  payment_id?: string;
  /** Product of the payment, as in `GET /get-pricing`. */
  product?: ProductName;
  /** `card_…`, `po_…` or `top_…`: id of the product. */
  product_id?: string | null;
  resolution?: PaymentResolution | null;
  /**
   * Status of the payment, not of its product; `docs/states.md` has the state chart. `credited` only if the account
   * was credited. `resolved` if an operator decided its transfer separately and the account was not credited: see
   * `resolution`.
   */
  status?: PaymentStatus;
  /** Transaction id, once settled. */
  transaction?: string | null;
};

/** An event of `payment`. */
export type PaymentEvent = {
  /** Who or what caused the event. */
  actor: EventActor;
  /** Version of the contract at the time of the event. */
  api_version: string;
  /** Time of the event (RFC 3339). */
  created_at: string;
  /** Resource of the event. */
  data: {
    object: Payment;
  };
  /** Id of the event. */
  id: string;
  previous: PaymentChanges;
  /** Sequence number among the account's events. Resume after it. */
  seq: number;
  /** `<resource>.<change>`. */
  type: "payment.credited" | "payment.declined" | "payment.fulfilled" | "payment.refused" | "payment.released" | "payment.resolved" | "payment.reversed" | "payment.settled" | "payment.unknown";
  /** Wallet address of the account in lower case. */
  user_id: string;
};

/** An event of `payment_recipient`. */
export type PaymentRecipientEvent = {
  /** Who or what caused the event. */
  actor: EventActor;
  /** Version of the contract at the time of the event. */
  api_version: string;
  /** Time of the event (RFC 3339). */
  created_at: string;
  /** Resource of the event. */
  data: {
    object: PaymentRecipientResource;
  };
  /** Id of the event. */
  id: string;
  previous: PaymentRecipientResourceChanges;
  /** Sequence number among the account's events. Resume after it. */
  seq: number;
  /** `<resource>.<change>`. */
  type: "payment_recipient.archived" | "payment_recipient.created" | "payment_recipient.deleted" | "payment_recipient.paid" | "payment_recipient.payment_returned" | "payment_recipient.renamed" | "payment_recipient.unarchived";
  /** Wallet address of the account in lower case. */
  user_id: string;
};

/** A recipient of app payments, without the person's name and address. */
export type PaymentRecipientResource = {
  /** Whether the recipient is archived. */
  archived: boolean;
  /** Creation time (RFC 3339). */
  created_at: string;
  /** `USD` is the currency. */
  currency: string;
  /** The name to show. */
  display_name: string;
  /** Time of the last payout (RFC 3339). */
  last_paid_at: string;
  /** Number of payouts, less those returned. */
  payments_count: number;
  /** Payment app of the recipient. */
  platform: PaymentApp;
  /** `rcp_…` is the id of the recipient. */
  recipient_id: string;
  /** Status of the recipient. */
  status: RecipientStatus;
  /** Sum of these payouts in US dollars. */
  total_amount: ExactDecimal;
};

/** Earlier values of the members that changed. */
export type PaymentRecipientResourceChanges = {
  /** Whether the recipient is archived. */
  archived?: boolean;
  /** Creation time (RFC 3339). */
  created_at?: string;
  /** `USD` is the currency. */
  currency?: string;
  /** The name to show. */
  display_name?: string;
  /** Time of the last payout (RFC 3339). */
  last_paid_at?: string;
  /** Number of payouts, less those returned. */
  payments_count?: number;
  /** Payment app of the recipient. */
  platform?: PaymentApp;
  /** `rcp_…` is the id of the recipient. */
  recipient_id?: string;
  /** Status of the recipient. */
  status?: RecipientStatus;
  /** Sum of these payouts in US dollars. */
  total_amount?: ExactDecimal;
};

/** What happened to the transfer of a payment that is `resolved`. */
export type PaymentResolution = "returned" | "forwarded" | "other";

/** Status of a payment, not of its product. */
export type PaymentStatus = "claimed" | "settling" | "unknown" | "declined" | "released" | "settled" | "fulfilled" | "credited" | "refused" | "reversed" | "resolved";

/** A payout to a card, bank account or payment app. */
export type Payout = {
  /** Amount that the recipient gets. */
  amount: ExactDecimal;
  /** Last four digits of the recipient's card, once entered; null before. */
  card_last4?: string | null;
  /** US dollars paid. */
  charged_amount: ExactDecimal;
  /** Same as `charged_amount`. */
  charged_usd_amount: ExactDecimal;
  /** Creation time (RFC 3339). */
  created_at: string;
  credited_amount?: ExactDecimal | null;
  /** Currency of `amount` only (ISO 4217). */
  currency: string;
  destination?: PayoutDestination | null;
  /** Destination of a bank payment. */
  destination_id?: string | null;
  /** Reason of a failed, cancelled or returned payout. */
  failure_reason: string | null;
  /** Fee in `fee_currency`. */
  fee_amount: ExactDecimal;
  /** `USD` is the currency of the fee. */
  fee_currency: string;
  held?: HoldReason | null;
  /** Time of the last change (RFC 3339). */
  last_updated_at: string;
  late_return?: LateReturn | null;
  /** What the payer wrote to the recipient of a push to card. */
  message?: string | null;
  /** `true` while all attempts to carry it out have failed and it waits for an operator. Absent otherwise. */
  needs_operator?: boolean;
  /** Payment that bought the payout; null if the balance paid it. */
  payment_id: string | null;
  /** Id of the payout. */
  payout_id: string;
  platform?: PaymentApp | null;
  /** `push_to_card`, `bank_payment` or `app_payment`. */
  product: PayoutProduct;
  /** Recipient of an app payment. */
  recipient_id?: string | null;
  /** Link for the recipient, until a card is entered. */
  redemption_url?: string | null;
  /** Same as `status`. */
  state: PayoutStatus;
  /** `awaiting-details`, `queued`, `in-process`, `complete`, `returned`, `failed`, `cancelled` or `expired`. */
  status: PayoutStatus;
};

/** Earlier values of the members that changed. */
export type PayoutChanges = {
  /** Amount that the recipient gets. */
  amount?: ExactDecimal;
  /** Last four digits of the recipient's card, once entered; null before. */
  card_last4?: string | null;
  /** US dollars paid. */
  charged_amount?: ExactDecimal;
  /** Same as `charged_amount`. */
  charged_usd_amount?: ExactDecimal;
  /** Creation time (RFC 3339). */
  created_at?: string;
  credited_amount?: ExactDecimal | null;
  /** Currency of `amount` only (ISO 4217). */
  currency?: string;
  destination?: PayoutDestination | null;
  /** Destination of a bank payment. */
  destination_id?: string | null;
  /** Reason of a failed, cancelled or returned payout. */
  failure_reason?: string | null;
  /** Fee in `fee_currency`. */
  fee_amount?: ExactDecimal;
  /** `USD` is the currency of the fee. */
  fee_currency?: string;
  held?: HoldReason | null;
  /** Time of the last change (RFC 3339). */
  last_updated_at?: string;
  late_return?: LateReturn | null;
  /** What the payer wrote to the recipient of a push to card. */
  message?: string | null;
  /** `true` while all attempts to carry it out have failed and it waits for an operator. Absent otherwise. */
  needs_operator?: boolean;
  /** Payment that bought the payout; null if the balance paid it. */
  payment_id?: string | null;
  /** Id of the payout. */
  payout_id?: string;
  platform?: PaymentApp | null;
  /** `push_to_card`, `bank_payment` or `app_payment`. */
  product?: PayoutProduct;
  /** Recipient of an app payment. */
  recipient_id?: string | null;
  /** Link for the recipient, until a card is entered. */
  redemption_url?: string | null;
  /** Same as `status`. */
  state?: PayoutStatus;
  /** `awaiting-details`, `queued`, `in-process`, `complete`, `returned`, `failed`, `cancelled` or `expired`. */
  status?: PayoutStatus;
};

/** A bank destination of a payout. */
export type PayoutDestination = {
  /** Name of the account holder. */
  account_holder_name: string;
  /** Last four digits of the account number. */
  account_number_last4: string;
  /** Name of the bank. */
  bank_name: string;
  /** Label given by the owner. */
  name: string;
};

/** An event of `payout`. */
export type PayoutEvent = {
  /** Who or what caused the event. */
  actor: EventActor;
  /** Version of the contract at the time of the event. */
  api_version: string;
  /** Time of the event (RFC 3339). */
  created_at: string;
  /** Resource of the event. */
  data: {
    object: Payout;
  };
  /** Id of the event. */
  id: string;
  previous: PayoutChanges;
  /** Sequence number among the account's events. Resume after it. */
  seq: number;
  /** `<resource>.<change>`. */
  type: "payout.awaiting-details" | "payout.cancelled" | "payout.complete" | "payout.expired" | "payout.failed" | "payout.in-process" | "payout.queued" | "payout.returned";
  /** Wallet address of the account in lower case. */
  user_id: string;
};

/** Product of a payout. */
export type PayoutProduct = "push_to_card" | "bank_payment" | "app_payment";

/** Status of a payout. */
export type PayoutStatus = "awaiting-details" | "queued" | "in-process" | "complete" | "returned" | "failed" | "cancelled" | "expired";

export type Ping = {
  /** Nothing up to here is missing: a place to resume. Absent until the client has subscribed. */
  cursor?: number;
  type: "ping";
};

export type Pong = {
  type: "pong";
};

/** Type of a prepaid card. */
export type PrepaidCardType = "Non-Reloadable U.S.";

/** Product, as in `GET /get-pricing`. */
export type ProductName = "usa_prepaid_card" | "intl_prepaid_card" | "gift_card" | "push_to_card" | "bank_payment" | "app_payment" | "card_balance";

/** Status of a recipient of app payments. */
export type RecipientStatus = "active" | "archived" | "deleted";

/** What cancelled a recovery. */
export type RecoveryCancelledBy = "owner" | "restore" | "freeze";

/** An event of `recovery`. */
export type RecoveryEvent = {
  /** Who or what caused the event. */
  actor: EventActor;
  /** Version of the contract at the time of the event. */
  api_version: string;
  /** Time of the event (RFC 3339). */
  created_at: string;
  /** Resource of the event. */
  data: {
    object: RecoveryResource;
  };
  /** Id of the event. */
  id: string;
  previous: RecoveryResourceChanges;
  /** Sequence number among the account's events. Resume after it. */
  seq: number;
  /** `<resource>.<change>`. */
  type: "recovery.cancelled" | "recovery.completed" | "recovery.expired" | "recovery.ready" | "recovery.requested";
  /** Wallet address of the account in lower case. */
  user_id: string;
};

/** The recovery of an account whose passkeys are lost. */
export type RecoveryResource = {
  cancelled_by?: RecoveryCancelledBy | null;
  /** Time of the end (RFC 3339), if it has ended. */
  ended_at?: string | null;
  /** Until when the wallet can complete it (RFC 3339). */
  expires_at: string;
  /** From when the wallet can complete it (RFC 3339). Until then it can only be cancelled. */
  ready_at: string;
  /** Time of the wallet's request (RFC 3339). */
  requested_at: string;
  /** `waiting`, `ready`, `completed`, `cancelled` or `expired`. */
  status: RecoveryStatus;
  /** The wallet's address in lower case. */
  user_id: string;
};

/** Earlier values of the members that changed. */
export type RecoveryResourceChanges = {
  cancelled_by?: RecoveryCancelledBy | null;
  /** Time of the end (RFC 3339), if it has ended. */
  ended_at?: string | null;
  /** Until when the wallet can complete it (RFC 3339). */
  expires_at?: string;
  /** From when the wallet can complete it (RFC 3339). Until then it can only be cancelled. */
  ready_at?: string;
  /** Time of the wallet's request (RFC 3339). */
  requested_at?: string;
  /** `waiting`, `ready`, `completed`, `cancelled` or `expired`. */
  status?: RecoveryStatus;
  /** The wallet's address in lower case. */
  user_id?: string;
};

/** Status of a recovery. */
export type RecoveryStatus = "waiting" | "ready" | "completed" | "cancelled" | "expired";

/** An event of `refund`. */
export type RefundEvent = {
  /** Who or what caused the event. */
  actor: EventActor;
  /** Version of the contract at the time of the event. */
  api_version: string;
  /** Time of the event (RFC 3339). */
  created_at: string;
  /** Resource of the event. */
  data: {
    object: RefundResource;
  };
  /** Id of the event. */
  id: string;
  previous: RefundResourceChanges;
  /** Sequence number among the account's events. Resume after it. */
  seq: number;
  /** `<resource>.<change>`. */
  type: "refund.approved" | "refund.credited";
  /** Wallet address of the account in lower case. */
  user_id: string;
};

/** A refund of a payment. */
export type RefundResource = {
  /** Amount in US dollars. */
  amount: ExactDecimal;
  /** Creation time (RFC 3339). */
  created_at: string;
  /** Time of the last change (RFC 3339). */
  last_updated_at: string;
  /** `pay_…` is the refunded payment. */
  payment_id: string;
  /** `rf_…` is the id of the refund. */
  refund_id: string;
  /** Status of the refund. */
  status: RefundStatus;
};

/** Earlier values of the members that changed. */
export type RefundResourceChanges = {
  /** Amount in US dollars. */
  amount?: ExactDecimal;
  /** Creation time (RFC 3339). */
  created_at?: string;
  /** Time of the last change (RFC 3339). */
  last_updated_at?: string;
  /** `pay_…` is the refunded payment. */
  payment_id?: string;
  /** `rf_…` is the id of the refund. */
  refund_id?: string;
  /** Status of the refund. */
  status?: RefundStatus;
};

/** Status of a refund. */
export type RefundStatus = "requested" | "approved" | "credited" | "rejected" | "expired";

/** A spend that a limit of the account owner refused. */
export type RefusedSpend = {
  /** Amount in US dollars. */
  amount: ExactDecimal;
  /** API key of the agent; null if the wallet signed in. */
  api_key_id: string | null;
  /** Time of the refusal (RFC 3339). */
  at: string;
  /** `host:port` of a paid call, or `route` for this service. */
  host: string | null;
  /** Limits that the spend exceeded. */
  limits: ExceededLimit[];
  /** Network of the payee. */
  network: NetworkName;
  /** Address of the payee. */
  pay_to: string;
  /** Session of the agent. */
  session_id: string | null;
};

/** A reloadable card without its number. */
export type ReloadableCard = {
  /** Remaining US dollars, as the issuer last reported. */
  available_usd_amount: ExactDecimal;
  /** Id of the card. */
  card_id: string;
  /** `Reloadable` is the card type. */
  card_type: ReloadableCardType;
  /** `US` is the country of the card. */
  country: string;
  /** Creation time (RFC 3339). */
  created_at: string;
  /** Reason of a failed card: `insufficient_card_balance`, or the issuer's reason. */
  failure_reason: string | null;
  /** Last four digits of the card number, once known. */
  last4: string | null;
  /** Time of the last change (RFC 3339). */
  last_updated_at: string;
  pending_action: CardAction | null;
  /** Whether it stays open after its first charge. */
  reusable: boolean;
  /** Same as `status`. */
  state: ReloadableCardStatus;
  /** `creating`, `open`, `paused`, `closed` or `failed`. */
  status: ReloadableCardStatus;
  /** US dollars loaded on the card. */
  usd_amount: ExactDecimal;
};

/** Earlier values of the members that changed. */
export type ReloadableCardChanges = {
  /** Remaining US dollars, as the issuer last reported. */
  available_usd_amount?: ExactDecimal;
  /** Id of the card. */
  card_id?: string;
  /** `Reloadable` is the card type. */
  card_type?: ReloadableCardType;
  /** `US` is the country of the card. */
  country?: string;
  /** Creation time (RFC 3339). */
  created_at?: string;
  /** Reason of a failed card: `insufficient_card_balance`, or the issuer's reason. */
  failure_reason?: string | null;
  /** Last four digits of the card number, once known. */
  last4?: string | null;
  /** Time of the last change (RFC 3339). */
  last_updated_at?: string;
  pending_action?: CardAction | null;
  /** Whether it stays open after its first charge. */
  reusable?: boolean;
  /** Same as `status`. */
  state?: ReloadableCardStatus;
  /** `creating`, `open`, `paused`, `closed` or `failed`. */
  status?: ReloadableCardStatus;
  /** US dollars loaded on the card. */
  usd_amount?: ExactDecimal;
};

/** An event of `reloadable_card`. */
export type ReloadableCardEvent = {
  /** Who or what caused the event. */
  actor: EventActor;
  /** Version of the contract at the time of the event. */
  api_version: string;
  /** Time of the event (RFC 3339). */
  created_at: string;
  /** Resource of the event. */
  data: {
    object: ReloadableCard;
  };
  /** Id of the event. */
  id: string;
  previous: ReloadableCardChanges;
  /** Sequence number among the account's events. Resume after it. */
  seq: number;
  /** `<resource>.<change>`. */
  type: "reloadable_card.charge_declined" | "reloadable_card.charge_refunded" | "reloadable_card.charge_settled" | "reloadable_card.charged" | "reloadable_card.close_requested" | "reloadable_card.closed" | "reloadable_card.creating" | "reloadable_card.details_viewed" | "reloadable_card.failed" | "reloadable_card.open" | "reloadable_card.pause_requested" | "reloadable_card.paused" | "reloadable_card.resume_requested" | "reloadable_card.resumed";
  /** Wallet address of the account in lower case. */
  user_id: string;
};

/** Status of a reloadable card. */
export type ReloadableCardStatus = "creating" | "open" | "paused" | "closed" | "failed";

/** Type of a reloadable card. */
export type ReloadableCardType = "Reloadable";

/** What a call buys at a route of this service. */
export type RoutePurchase = {
  /** Amount that it is for, as the agent wrote it. */
  amount: string | null;
  /** Country of the gift card. */
  country?: string | null;
  /** Currency of the amount, if the agent named one. */
  currency: string | null;
  /** Saved bank account that is paid. */
  destination_id?: string | null;
  /** Gift card that is bought. */
  product_id?: string | null;
  /** Saved recipient that is paid. */
  recipient_id?: string | null;
  /** Path of the route, such as `/get-card`. */
  route: string;
};

/** Reason for which a session ended. */
export type SessionEndReason = "refresh_token_reused" | "signed_out";

/** An event of `session`. */
export type SessionEvent = {
  /** Who or what caused the event. */
  actor: EventActor;
  /** Version of the contract at the time of the event. */
  api_version: string;
  /** Time of the event (RFC 3339). */
  created_at: string;
  /** Resource of the event. */
  data: {
    object: SessionResource;
  };
  /** Id of the event. */
  id: string;
  previous: SessionResourceChanges;
  /** Sequence number among the account's events. Resume after it. */
  seq: number;
  /** `<resource>.<change>`. */
  type: "session.agent_announced" | "session.confirmed" | "session.revoked";
  /** Wallet address of the account in lower case. */
  user_id: string;
};

/** A session of an account. */
export type SessionResource = {
  agent?: AgentInfo | null;
  /** The API key that opened the session. */
  api_key_id: string | null;
  /** Until when a passkey has confirmed acts of this browser session (RFC 3339). */
  confirmed_until?: string | null;
  /** Creation time (RFC 3339). */
  created_at: string;
  reason: SessionEndReason | null;
  /** `ses_…` is the id of the session. */
  session_id: string;
  /** `active` or `revoked`. */
  status: SessionStatus;
};

/** Earlier values of the members that changed. */
export type SessionResourceChanges = {
  agent?: AgentInfo | null;
  /** The API key that opened the session. */
  api_key_id?: string | null;
  /** Until when a passkey has confirmed acts of this browser session (RFC 3339). */
  confirmed_until?: string | null;
  /** Creation time (RFC 3339). */
  created_at?: string;
  reason?: SessionEndReason | null;
  /** `ses_…` is the id of the session. */
  session_id?: string;
  /** `active` or `revoked`. */
  status?: SessionStatus;
};

/** Status of a session. */
export type SessionStatus = "active" | "revoked";

/** What an agent does with the owner's money. */
export type SpendKind = "x402" | "transfer" | "withdrawal" | "card_balance_withdrawal" | "bank_transfer" | "bank_payout";

/** Limit of the account owner. */
export type SpendLimitName = "per_call_usd" | "per_day_usd" | "api_key_per_call_usd" | "api_key_per_day_usd" | "merchant_per_day_usd" | "balance_per_call_usd" | "balance_per_day_usd";

export type Subscribe = {
  /** The last `seq` the client has; without it, what happens next. */
  after?: number;
  type: "subscribe";
  /** Types such as `card.ready` or `card.*`, where `*` stands for any characters; empty for all. */
  types?: string[];
};

/** A top-up of the balance at the card issuer. */
export type TopUp = {
  /** `USDC` is the token. */
  asset: string;
  /** Creation time (RFC 3339). */
  created_at: string;
  /** The owner's deposit address at the card issuer. */
  deposit_address: string;
  /**
   * Reason of a failed top-up, whose charge was credited to the account balance: `issuer_not_linked`,
   * `delivery_expired`, `delivery_unavailable`, `delivery_declined` or `mint_impossible`.
   */
  failure_code: string | null;
  /** US dollars that arrive on the balance. */
  funded_usd: ExactDecimal;
  held?: HoldReason | null;
  /** Time of the last change (RFC 3339). */
  last_updated_at: string;
  /** Transfers on chain, oldest first. */
  legs: TopUpLeg[];
  /** `true` while all attempts to complete it have failed and it waits for an operator. Absent otherwise. */
  needs_operator?: boolean;
  /** `base` is the network of the deposit address. */
  network: DepositNetwork;
  /** Payment that bought the top-up. */
  payment_id: string;
  /** `solana` or `base`. */
  payment_network: NetworkName;
  /** `paid`, `bridging`, `delivered`, `credited` or `failed`. */
  status: TopUpStatus;
  /** Id of the top-up. */
  top_up_id: string;
};

/** Earlier values of the members that changed. */
export type TopUpChanges = {
  /** `USDC` is the token. */
  asset?: string;
  /** Creation time (RFC 3339). */
  created_at?: string;
  /** The owner's deposit address at the card issuer. */
  deposit_address?: string;
  /**
   * Reason of a failed top-up, whose charge was credited to the account balance: `issuer_not_linked`,
   * `delivery_expired`, `delivery_unavailable`, `delivery_declined` or `mint_impossible`.
   */
  failure_code?: string | null;
  /** US dollars that arrive on the balance. */
  funded_usd?: ExactDecimal;
  held?: HoldReason | null;
  /** Time of the last change (RFC 3339). */
  last_updated_at?: string;
  /** Transfers on chain, oldest first. */
  legs?: TopUpLeg[];
  /** `true` while all attempts to complete it have failed and it waits for an operator. Absent otherwise. */
  needs_operator?: boolean;
  /** `base` is the network of the deposit address. */
  network?: DepositNetwork;
  /** Payment that bought the top-up. */
  payment_id?: string;
  /** `solana` or `base`. */
  payment_network?: NetworkName;
  /** `paid`, `bridging`, `delivered`, `credited` or `failed`. */
  status?: TopUpStatus;
  /** Id of the top-up. */
  top_up_id?: string;
};

/** An event of `top_up`. */
export type TopUpEvent = {
  /** Who or what caused the event. */
  actor: EventActor;
  /** Version of the contract at the time of the event. */
  api_version: string;
  /** Time of the event (RFC 3339). */
  created_at: string;
  /** Resource of the event. */
  data: {
    object: TopUp;
  };
  /** Id of the event. */
  id: string;
  previous: TopUpChanges;
  /** Sequence number among the account's events. Resume after it. */
  seq: number;
  /** `<resource>.<change>`. */
  type: "top_up.bridging" | "top_up.credited" | "top_up.delivered" | "top_up.failed" | "top_up.paid";
  /** Wallet address of the account in lower case. */
  user_id: string;
};

/** One transfer of a top-up. */
export type TopUpLeg = {
  /** Time of the transfer (RFC 3339). */
  at: string;
  /** `burn` on Solana, then `mint` on Base; or `transfer` on Base. */
  leg: TopUpLegKind;
  /** Transaction id of the transfer. */
  tx_hash: string;
};

/** Kind of a transfer of a top-up. */
export type TopUpLegKind = "burn" | "mint" | "transfer";

/** Status of a top-up. */
export type TopUpStatus = "paid" | "bridging" | "delivered" | "credited" | "failed";

/** An event of `wallet_payment`. */
export type WalletPaymentEvent = {
  /** Who or what caused the event. */
  actor: EventActor;
  /** Version of the contract at the time of the event. */
  api_version: string;
  /** Time of the event (RFC 3339). */
  created_at: string;
  /** Resource of the event. */
  data: {
    object: WalletPaymentResource;
  };
  /** Id of the event. */
  id: string;
  previous: WalletPaymentResourceChanges;
  /** Sequence number among the account's events. Resume after it. */
  seq: number;
  /** `<resource>.<change>`. */
  type: "wallet_payment.failed" | "wallet_payment.pending" | "wallet_payment.sent" | "wallet_payment.settled" | "wallet_payment.signed" | "wallet_payment.unsettled";
  /** Wallet address of the account in lower case. */
  user_id: string;
};

/** Kind of a wallet payment. */
export type WalletPaymentKind = "x402" | "transfer";

/** A payment from a managed wallet. */
export type WalletPaymentResource = {
  /** Amount in US dollars. */
  amount: ExactDecimal;
  /** `USDC` is the token. */
  asset: string;
  /** Creation time (RFC 3339). */
  created_at: string;
  /** Reason of the failure. */
  failure_reason: string | null;
  /** Paying address. */
  from: string;
  /** Host of the paid call. */
  host: string | null;
  /** Status of the paid call's response. */
  http_status: number | null;
  /** `transfer` or `x402`. */
  kind: WalletPaymentKind;
  /** Time of the last change (RFC 3339). */
  last_updated_at: string;
  /** Network of the transfer. */
  network: NetworkName;
  /** The owner's note. */
  note: string | null;
  /** Paid address. */
  pay_to: string;
  /** Status of the wallet payment. */
  status: WalletPaymentStatus;
  /** Transaction id, once on chain. */
  tx_hash: string | null;
  /** `wpay_…` is the id of the wallet payment. */
  wallet_payment_id: string;
};

/** Earlier values of the members that changed. */
export type WalletPaymentResourceChanges = {
  /** Amount in US dollars. */
  amount?: ExactDecimal;
  /** `USDC` is the token. */
  asset?: string;
  /** Creation time (RFC 3339). */
  created_at?: string;
  /** Reason of the failure. */
  failure_reason?: string | null;
  /** Paying address. */
  from?: string;
  /** Host of the paid call. */
  host?: string | null;
  /** Status of the paid call's response. */
  http_status?: number | null;
  /** `transfer` or `x402`. */
  kind?: WalletPaymentKind;
  /** Time of the last change (RFC 3339). */
  last_updated_at?: string;
  /** Network of the transfer. */
  network?: NetworkName;
  /** The owner's note. */
  note?: string | null;
  /** Paid address. */
  pay_to?: string;
  /** Status of the wallet payment. */
  status?: WalletPaymentStatus;
  /** Transaction id, once on chain. */
  tx_hash?: string | null;
  /** `wpay_…` is the id of the wallet payment. */
  wallet_payment_id?: string;
};

/** Status of a wallet payment. */
export type WalletPaymentStatus = "pending" | "signed" | "sent" | "settled" | "failed" | "unsettled";

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

/** Earlier values of the members that changed. */
export type WebhookChanges = {
  /** Creation time (RFC 3339). */
  created_at?: string;
  disabled_reason?: WebhookDisabledReason | null;
  /** Time since when all attempts have failed. */
  failing_since?: string | null;
  /** Time of the last change (RFC 3339). */
  last_updated_at?: string;
  /** `active`, `disabled` or `deleted`. */
  status?: WebhookStatus;
  /** Event types that are sent; empty for all. */
  types?: string[];
  /** URL that receives events. */
  url?: string;
  /** `wh_…` is the id of the endpoint. */
  webhook_id?: string;
};

/** Reason of a disabled webhook endpoint. */
export type WebhookDisabledReason = "gone" | "failing";

/** An event of `webhook`. */
export type WebhookEvent = {
  /** Who or what caused the event. */
  actor: EventActor;
  /** Version of the contract at the time of the event. */
  api_version: string;
  /** Time of the event (RFC 3339). */
  created_at: string;
  /** Resource of the event. */
  data: {
    object: Webhook;
  };
  /** Id of the event. */
  id: string;
  previous: WebhookChanges;
  /** Sequence number among the account's events. Resume after it. */
  seq: number;
  /** `<resource>.<change>`. */
  type: "webhook.deleted" | "webhook.disabled" | "webhook.enabled" | "webhook.failing" | "webhook.recovered" | "webhook.redelivery_requested" | "webhook.registered" | "webhook.secret_rotated" | "webhook.test";
  /** Wallet address of the account in lower case. */
  user_id: string;
};

/** Status of a webhook endpoint. */
export type WebhookStatus = "active" | "disabled" | "deleted";

/** A withdrawal from a balance. */
export type Withdrawal = {
  /** Address of the receiver. */
  address: string;
  /** Amount in US dollars. */
  amount: ExactDecimal;
  /** `USDC` is the token. */
  asset: string;
  /** Creation time (RFC 3339). */
  created_at: string;
  /** Reason of a failed or rejected withdrawal. Its amount is available again. */
  failure_reason?: string | null;
  held?: HoldReason | null;
  /** `wd_…` is the id of the withdrawal. */
  id: string;
  /** Time of the last change (RFC 3339). */
  last_updated_at: string;
  /** `true` while all attempts to carry it out have failed and it waits for an operator. Absent otherwise. */
  needs_operator?: boolean;
  /** `base` or `solana`. */
  network: NetworkName;
  source?: WithdrawalSource | null;
  /** `pending`, `sent`, `complete` or `failed`. */
  state: WithdrawalState;
  status?: CardBalanceWithdrawalStatus | null;
  /** Transaction id, once on chain. From a card balance, as the operator entered it. */
  tx_hash?: string | null;
};

/** Earlier values of the members that changed. */
export type WithdrawalChanges = {
  /** Address of the receiver. */
  address?: string;
  /** Amount in US dollars. */
  amount?: ExactDecimal;
  /** `USDC` is the token. */
  asset?: string;
  /** Creation time (RFC 3339). */
  created_at?: string;
  /** Reason of a failed or rejected withdrawal. Its amount is available again. */
  failure_reason?: string | null;
  held?: HoldReason | null;
  /** `wd_…` is the id of the withdrawal. */
  id?: string;
  /** Time of the last change (RFC 3339). */
  last_updated_at?: string;
  /** `true` while all attempts to carry it out have failed and it waits for an operator. Absent otherwise. */
  needs_operator?: boolean;
  /** `base` or `solana`. */
  network?: NetworkName;
  source?: WithdrawalSource | null;
  /** `pending`, `sent`, `complete` or `failed`. */
  state?: WithdrawalState;
  status?: CardBalanceWithdrawalStatus | null;
  /** Transaction id, once on chain. From a card balance, as the operator entered it. */
  tx_hash?: string | null;
};

/** An event of `withdrawal`. */
export type WithdrawalEvent = {
  /** Who or what caused the event. */
  actor: EventActor;
  /** Version of the contract at the time of the event. */
  api_version: string;
  /** Time of the event (RFC 3339). */
  created_at: string;
  /** Resource of the event. */
  data: {
    object: Withdrawal;
  };
  /** Id of the event. */
  id: string;
  previous: WithdrawalChanges;
  /** Sequence number among the account's events. Resume after it. */
  seq: number;
  /** `<resource>.<change>`. */
  type: "withdrawal.complete" | "withdrawal.failed" | "withdrawal.pending" | "withdrawal.sent";
  /** Wallet address of the account in lower case. */
  user_id: string;
};

/** Balance of a withdrawal, if it is not the account's. */
export type WithdrawalSource = "card_balance";

/** State of a withdrawal. */
export type WithdrawalState = "pending" | "sent" | "complete" | "failed";

export type AccountAgentsResumed = AccountEvent & {
  type?: "account.agents_resumed";
};

export type AccountAgentsStopped = AccountEvent & {
  type?: "account.agents_stopped";
};

export type AccountCapsUpdated = AccountEvent & {
  type?: "account.caps_updated";
};

export type AccountCreated = AccountEvent & {
  type?: "account.created";
};

export type AccountFrozen = AccountEvent & {
  type?: "account.frozen";
};

export type AccountUnfrozen = AccountEvent & {
  type?: "account.unfrozen";
};

export type AgentWalletAddressDeleted = AgentWalletEvent & {
  type?: "agent_wallet.address_deleted";
};

export type AgentWalletAddressSaved = AgentWalletEvent & {
  type?: "agent_wallet.address_saved";
};

export type AgentWalletCapsUpdated = AgentWalletEvent & {
  type?: "agent_wallet.caps_updated";
};

export type AgentWalletCreated = AgentWalletEvent & {
  type?: "agent_wallet.created";
};

export type AgentWalletSpendRefused = AgentWalletEvent & {
  type?: "agent_wallet.spend_refused";
};

export type ApiKeyActive = ApiKeyEvent & {
  type?: "api_key.active";
};

export type ApiKeyIssued = ApiKeyEvent & {
  type?: "api_key.issued";
};

export type ApiKeyLimitsUpdated = ApiKeyEvent & {
  type?: "api_key.limits_updated";
};

export type ApiKeyRejected = ApiKeyEvent & {
  type?: "api_key.rejected";
};

export type ApiKeyRevoked = ApiKeyEvent & {
  type?: "api_key.revoked";
};

export type ApprovalApproved = ApprovalEvent & {
  type?: "approval.approved";
};

export type ApprovalDeclined = ApprovalEvent & {
  type?: "approval.declined";
};

export type ApprovalExpired = ApprovalEvent & {
  type?: "approval.expired";
};

export type ApprovalRequested = ApprovalEvent & {
  type?: "approval.requested";
};

export type ApprovalUsed = ApprovalEvent & {
  type?: "approval.used";
};

export type BalanceCredited = BalanceEvent & {
  type?: "balance.credited";
};

export type BalanceDebited = BalanceEvent & {
  type?: "balance.debited";
};

export type BalanceHeld = BalanceEvent & {
  type?: "balance.held";
};

export type BalanceReleased = BalanceEvent & {
  type?: "balance.released";
};

export type BalanceReversed = BalanceEvent & {
  type?: "balance.reversed";
};

export type BalanceWithdrawn = BalanceEvent & {
  type?: "balance.withdrawn";
};

export type BankAccountOpen = BankAccountEvent & {
  type?: "bank_account.open";
};

export type BankAccountPending = BankAccountEvent & {
  type?: "bank_account.pending";
};

export type BankAccountRejected = BankAccountEvent & {
  type?: "bank_account.rejected";
};

export type BankDestinationRegistered = BankDestinationEvent & {
  type?: "bank_destination.registered";
};

export type BankDestinationRemoved = BankDestinationEvent & {
  type?: "bank_destination.removed";
};

export type BankDestinationRenamed = BankDestinationEvent & {
  type?: "bank_destination.renamed";
};

export type BankTransferComplete = BankTransferEvent & {
  type?: "bank_transfer.complete";
};

export type BankTransferFailed = BankTransferEvent & {
  type?: "bank_transfer.failed";
};

export type BankTransferPending = BankTransferEvent & {
  type?: "bank_transfer.pending";
};

export type BankTransferReturned = BankTransferEvent & {
  type?: "bank_transfer.returned";
};

export type BankingApplicationApproved = BankingApplicationEvent & {
  type?: "banking_application.approved";
};

export type BankingApplicationIncomplete = BankingApplicationEvent & {
  type?: "banking_application.incomplete";
};

export type BankingApplicationRejected = BankingApplicationEvent & {
  type?: "banking_application.rejected";
};

export type BankingApplicationSubmitted = BankingApplicationEvent & {
  type?: "banking_application.submitted";
};

export type BankingProfileCreated = BankingProfileEvent & {
  type?: "banking_profile.created";
};

export type CardChargeDeclined = CardEvent & {
  type?: "card.charge_declined";
};

export type CardChargeRefunded = CardEvent & {
  type?: "card.charge_refunded";
};

export type CardChargeSettled = CardEvent & {
  type?: "card.charge_settled";
};

export type CardCharged = CardEvent & {
  type?: "card.charged";
};

export type CardCloseRequested = CardEvent & {
  type?: "card.close_requested";
};

export type CardClosed = CardEvent & {
  type?: "card.closed";
};

export type CardDetailsViewed = CardEvent & {
  type?: "card.details_viewed";
};

export type CardExpired = CardEvent & {
  type?: "card.expired";
};

export type CardFailed = CardEvent & {
  type?: "card.failed";
};

export type CardPauseRequested = CardEvent & {
  type?: "card.pause_requested";
};

export type CardPaused = CardEvent & {
  type?: "card.paused";
};

export type CardPending = CardEvent & {
  type?: "card.pending";
};

export type CardReady = CardEvent & {
  type?: "card.ready";
};

export type CardRefreshRequested = CardEvent & {
  type?: "card.refresh_requested";
};

export type CardRefreshed = CardEvent & {
  type?: "card.refreshed";
};

export type CardRemainderReleased = CardEvent & {
  type?: "card.remainder_released";
};

export type CardResumeRequested = CardEvent & {
  type?: "card.resume_requested";
};

export type CardResumed = CardEvent & {
  type?: "card.resumed";
};

export type CardWithdrawalClaimed = CardWithdrawalEvent & {
  type?: "card_withdrawal.claimed";
};

export type CardWithdrawalComplete = CardWithdrawalEvent & {
  type?: "card_withdrawal.complete";
};

export type CardWithdrawalFailed = CardWithdrawalEvent & {
  type?: "card_withdrawal.failed";
};

export type CardWithdrawalHoldReleased = CardWithdrawalEvent & {
  type?: "card_withdrawal.hold_released";
};

export type CardWithdrawalPending = CardWithdrawalEvent & {
  type?: "card_withdrawal.pending";
};

export type CardWithdrawalQueued = CardWithdrawalEvent & {
  type?: "card_withdrawal.queued";
};

export type CardWithdrawalRejected = CardWithdrawalEvent & {
  type?: "card_withdrawal.rejected";
};

export type GiftCardCompleted = GiftCardEvent & {
  type?: "gift_card.completed";
};

export type GiftCardDetailsViewed = GiftCardEvent & {
  type?: "gift_card.details_viewed";
};

export type GiftCardFailed = GiftCardEvent & {
  type?: "gift_card.failed";
};

export type GiftCardProcessing = GiftCardEvent & {
  type?: "gift_card.processing";
};

export type IdentityInReview = IdentityEvent & {
  type?: "identity.in-review";
};

export type IdentityRejected = IdentityEvent & {
  type?: "identity.rejected";
};

export type IdentityVerified = IdentityEvent & {
  type?: "identity.verified";
};

export type IntlOrderCancelled = IntlOrderEvent & {
  type?: "intl_order.cancelled";
};

export type IntlOrderChargeDeclined = IntlOrderEvent & {
  type?: "intl_order.charge_declined";
};

export type IntlOrderChargeRefunded = IntlOrderEvent & {
  type?: "intl_order.charge_refunded";
};

export type IntlOrderChargeSettled = IntlOrderEvent & {
  type?: "intl_order.charge_settled";
};

export type IntlOrderCharged = IntlOrderEvent & {
  type?: "intl_order.charged";
};

export type IntlOrderClaimed = IntlOrderEvent & {
  type?: "intl_order.claimed";
};

export type IntlOrderCloseRequested = IntlOrderEvent & {
  type?: "intl_order.close_requested";
};

export type IntlOrderClosed = IntlOrderEvent & {
  type?: "intl_order.closed";
};

export type IntlOrderDetailsViewed = IntlOrderEvent & {
  type?: "intl_order.details_viewed";
};

export type IntlOrderExpired = IntlOrderEvent & {
  type?: "intl_order.expired";
};

export type IntlOrderOverdue = IntlOrderEvent & {
  type?: "intl_order.overdue";
};

export type IntlOrderPauseRequested = IntlOrderEvent & {
  type?: "intl_order.pause_requested";
};

export type IntlOrderPaused = IntlOrderEvent & {
  type?: "intl_order.paused";
};

export type IntlOrderQueued = IntlOrderEvent & {
  type?: "intl_order.queued";
};

export type IntlOrderReady = IntlOrderEvent & {
  type?: "intl_order.ready";
};

export type IntlOrderRejected = IntlOrderEvent & {
  type?: "intl_order.rejected";
};

export type IntlOrderRemainderReleased = IntlOrderEvent & {
  type?: "intl_order.remainder_released";
};

export type IntlOrderRequestEnded = IntlOrderEvent & {
  type?: "intl_order.request_ended";
};

export type IntlOrderResumeRequested = IntlOrderEvent & {
  type?: "intl_order.resume_requested";
};

export type IntlOrderResumed = IntlOrderEvent & {
  type?: "intl_order.resumed";
};

export type IssuerLinkDeclined = IssuerLinkEvent & {
  type?: "issuer_link.declined";
};

export type IssuerLinkLinked = IssuerLinkEvent & {
  type?: "issuer_link.linked";
};

export type IssuerLinkRequested = IssuerLinkEvent & {
  type?: "issuer_link.requested";
};

export type IssuerLinkUnlinked = IssuerLinkEvent & {
  type?: "issuer_link.unlinked";
};

export type LateReturnCredited = LateReturnEvent & {
  type?: "late_return.credited";
};

export type LateReturnKept = LateReturnEvent & {
  type?: "late_return.kept";
};

export type LateReturnReceived = LateReturnEvent & {
  type?: "late_return.received";
};

export type PasskeyAdded = PasskeyEvent & {
  type?: "passkey.added";
};

export type PasskeyRemoved = PasskeyEvent & {
  type?: "passkey.removed";
};

export type PasskeyRenamed = PasskeyEvent & {
  type?: "passkey.renamed";
};

export type PaymentCredited = PaymentEvent & {
  type?: "payment.credited";
};

export type PaymentDeclined = PaymentEvent & {
  type?: "payment.declined";
};

export type PaymentFulfilled = PaymentEvent & {
  type?: "payment.fulfilled";
};

export type PaymentRefused = PaymentEvent & {
  type?: "payment.refused";
};

export type PaymentReleased = PaymentEvent & {
  type?: "payment.released";
};

export type PaymentResolved = PaymentEvent & {
  type?: "payment.resolved";
};

export type PaymentReversed = PaymentEvent & {
  type?: "payment.reversed";
};

export type PaymentSettled = PaymentEvent & {
  type?: "payment.settled";
};

export type PaymentUnknown = PaymentEvent & {
  type?: "payment.unknown";
};

export type PaymentRecipientArchived = PaymentRecipientEvent & {
  type?: "payment_recipient.archived";
};

export type PaymentRecipientCreated = PaymentRecipientEvent & {
  type?: "payment_recipient.created";
};

export type PaymentRecipientDeleted = PaymentRecipientEvent & {
  type?: "payment_recipient.deleted";
};

export type PaymentRecipientPaid = PaymentRecipientEvent & {
  type?: "payment_recipient.paid";
};

export type PaymentRecipientPaymentReturned = PaymentRecipientEvent & {
  type?: "payment_recipient.payment_returned";
};

export type PaymentRecipientRenamed = PaymentRecipientEvent & {
  type?: "payment_recipient.renamed";
};

export type PaymentRecipientUnarchived = PaymentRecipientEvent & {
  type?: "payment_recipient.unarchived";
};

export type PayoutAwaitingDetails = PayoutEvent & {
  type?: "payout.awaiting-details";
};

export type PayoutCancelled = PayoutEvent & {
  type?: "payout.cancelled";
};

export type PayoutComplete = PayoutEvent & {
  type?: "payout.complete";
};

export type PayoutExpired = PayoutEvent & {
  type?: "payout.expired";
};

export type PayoutFailed = PayoutEvent & {
  type?: "payout.failed";
};

export type PayoutInProcess = PayoutEvent & {
  type?: "payout.in-process";
};

export type PayoutQueued = PayoutEvent & {
  type?: "payout.queued";
};

export type PayoutReturned = PayoutEvent & {
  type?: "payout.returned";
};

export type RecoveryCancelled = RecoveryEvent & {
  type?: "recovery.cancelled";
};

export type RecoveryCompleted = RecoveryEvent & {
  type?: "recovery.completed";
};

export type RecoveryExpired = RecoveryEvent & {
  type?: "recovery.expired";
};

export type RecoveryReady = RecoveryEvent & {
  type?: "recovery.ready";
};

export type RecoveryRequested = RecoveryEvent & {
  type?: "recovery.requested";
};

export type RefundApproved = RefundEvent & {
  type?: "refund.approved";
};

export type RefundCredited = RefundEvent & {
  type?: "refund.credited";
};

export type ReloadableCardChargeDeclined = ReloadableCardEvent & {
  type?: "reloadable_card.charge_declined";
};

export type ReloadableCardChargeRefunded = ReloadableCardEvent & {
  type?: "reloadable_card.charge_refunded";
};

export type ReloadableCardChargeSettled = ReloadableCardEvent & {
  type?: "reloadable_card.charge_settled";
};

export type ReloadableCardCharged = ReloadableCardEvent & {
  type?: "reloadable_card.charged";
};

export type ReloadableCardCloseRequested = ReloadableCardEvent & {
  type?: "reloadable_card.close_requested";
};

export type ReloadableCardClosed = ReloadableCardEvent & {
  type?: "reloadable_card.closed";
};

export type ReloadableCardCreating = ReloadableCardEvent & {
  type?: "reloadable_card.creating";
};

export type ReloadableCardDetailsViewed = ReloadableCardEvent & {
  type?: "reloadable_card.details_viewed";
};

export type ReloadableCardFailed = ReloadableCardEvent & {
  type?: "reloadable_card.failed";
};

export type ReloadableCardOpen = ReloadableCardEvent & {
  type?: "reloadable_card.open";
};

export type ReloadableCardPauseRequested = ReloadableCardEvent & {
  type?: "reloadable_card.pause_requested";
};

export type ReloadableCardPaused = ReloadableCardEvent & {
  type?: "reloadable_card.paused";
};

export type ReloadableCardResumeRequested = ReloadableCardEvent & {
  type?: "reloadable_card.resume_requested";
};

export type ReloadableCardResumed = ReloadableCardEvent & {
  type?: "reloadable_card.resumed";
};

export type SessionAgentAnnounced = SessionEvent & {
  type?: "session.agent_announced";
};

export type SessionConfirmed = SessionEvent & {
  type?: "session.confirmed";
};

export type SessionRevoked = SessionEvent & {
  type?: "session.revoked";
};

export type TopUpBridging = TopUpEvent & {
  type?: "top_up.bridging";
};

export type TopUpCredited = TopUpEvent & {
  type?: "top_up.credited";
};

export type TopUpDelivered = TopUpEvent & {
  type?: "top_up.delivered";
};

export type TopUpFailed = TopUpEvent & {
  type?: "top_up.failed";
};

export type TopUpPaid = TopUpEvent & {
  type?: "top_up.paid";
};

export type WalletPaymentFailed = WalletPaymentEvent & {
  type?: "wallet_payment.failed";
};

export type WalletPaymentPending = WalletPaymentEvent & {
  type?: "wallet_payment.pending";
};

export type WalletPaymentSent = WalletPaymentEvent & {
  type?: "wallet_payment.sent";
};

export type WalletPaymentSettled = WalletPaymentEvent & {
  type?: "wallet_payment.settled";
};

export type WalletPaymentSigned = WalletPaymentEvent & {
  type?: "wallet_payment.signed";
};

export type WalletPaymentUnsettled = WalletPaymentEvent & {
  type?: "wallet_payment.unsettled";
};

export type WebhookDeleted = WebhookEvent & {
  type?: "webhook.deleted";
};

export type WebhookDisabled = WebhookEvent & {
  type?: "webhook.disabled";
};

export type WebhookEnabled = WebhookEvent & {
  type?: "webhook.enabled";
};

export type WebhookFailing = WebhookEvent & {
  type?: "webhook.failing";
};

export type WebhookRecovered = WebhookEvent & {
  type?: "webhook.recovered";
};

export type WebhookRedeliveryRequested = WebhookEvent & {
  type?: "webhook.redelivery_requested";
};

export type WebhookRegistered = WebhookEvent & {
  type?: "webhook.registered";
};

export type WebhookSecretRotated = WebhookEvent & {
  type?: "webhook.secret_rotated";
};

export type WebhookTest = WebhookEvent & {
  type?: "webhook.test";
};

export type WithdrawalComplete = WithdrawalEvent & {
  type?: "withdrawal.complete";
};

export type WithdrawalFailed = WithdrawalEvent & {
  type?: "withdrawal.failed";
};

export type WithdrawalPending = WithdrawalEvent & {
  type?: "withdrawal.pending";
};

export type WithdrawalSent = WithdrawalEvent & {
  type?: "withdrawal.sent";
};
