// Types of the public API, written by `npm run types` from docs/openapi.json. Don't edit.

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

export type AccountTypeParam = "onramp" | "offramp";

/** Status in lists that have no other. */
export type ActiveStatus = "active";

/** A named address. */
export type AddressBookEntry = {
  /** Address of the entry. */
  address: string;
  /** `adr_…` is the id of the entry. */
  entryId: string;
  /** Name given by the agent. */
  name: string;
  /** `base` or `solana`. */
  network: NetworkName;
};

/** The address book. */
export type AddressBookResult = {
  /** Entries, oldest first. */
  entries: AddressBookEntry[];
};

/** Tokens for an API key. */
export type AgentAuthResult = {
  /** API key that was exchanged. */
  apiKeyId: string;
  /** Lifetime of `idToken` in seconds, as text. */
  expiresIn: string;
  /** Token for `Authorization: Bearer`. */
  idToken: string;
  /** Token for `POST /auth`. */
  refreshToken: string;
  /** Account that the tokens belong to. */
  userId: string;
};

/** USDC on one chain. */
export type AgentBalance = {
  /** Part of the balance that can be spent. */
  available: ExactDecimal;
  /** Balance on chain. */
  balance: ExactDecimal;
  /** Part of the balance reserved for pending payments. */
  held: ExactDecimal;
};

/** Balances by chain. */
export type AgentBalances = {
  /** Balance on Base. */
  base: AgentBalance;
  /** Balance on Solana. */
  solana: AgentBalance;
};

/** Details that an agent announced. They are not verified. */
export type AgentInfo = {
  /** Program that runs the agent. */
  client?: string | null;
  /** Name of the agent. */
  name: string;
  /** Version of that program. */
  version?: string | null;
};

/** Limits of an API key in US dollars. */
export type AgentKeyLimits = {
  perCallUsd?: ExactDecimal | null;
  perDayUsd?: ExactDecimal | null;
};

/** Cap of one merchant. */
export type AgentMerchantLimit = {
  /** Host in lower case, without a port; `route` is this service. */
  host: string;
  /** Cap per day in US dollars; 0 forbids it. */
  perDayUsd: ExactDecimal;
};

/** Caps per merchant and day (UTC) in US dollars. */
export type AgentMerchantLimits = {
  /** Merchants with a cap of their own. */
  hosts: AgentMerchantLimit[];
  othersPerDayUsd?: ExactDecimal | null;
};

/** Result of a payment or transfer. */
export type AgentPaymentResult = {
  response?: PaidCallResponse | null;
  /** `settled`; `pending` while the chain takes its time; `free` if the server asked for no payment. */
  status: AgentPaymentStatus;
  walletPayment?: WalletPayment | null;
};

/** Status of a payment or transfer that was accepted. */
export type AgentPaymentStatus = "settled" | "pending" | "free";

/** Spend limit of the managed wallet. */
export type AgentSpendLimit = {
  leftTodayUsd?: ExactDecimal | null;
  merchants?: AgentMerchantLimits | null;
  /** Cap per payment or transfer. */
  perCallUsd: ExactDecimal;
  perDayUsd?: ExactDecimal | null;
  /** Amount spent or reserved today. */
  usedTodayUsd: ExactDecimal;
};

/** A managed wallet. */
export type AgentWallet = {
  /** Addresses that receive USDC. */
  addresses: AgentWalletAddresses;
  /** Creation time (RFC 3339). */
  createdAt: string;
  lastRefusedSpend?: RefusedWalletSpend | null;
  /** Caps set by the owner. */
  limits: AgentWalletCaps;
  /** Number of entries in the address book. */
  savedAddresses: number;
  /** `active` in every case. */
  status: AgentWalletStatus;
  /** The owner's address in lower case. */
  userId: string;
};

/** Addresses by chain. */
export type AgentWalletAddresses = {
  /** Address on Base. */
  base: string;
  /** Address on Solana. */
  solana: string;
};

/** Caps in US dollars. */
export type AgentWalletCaps = {
  /** Whether a spend over a limit waits for the owner's approval. */
  approvals: boolean;
  merchants?: AgentMerchantLimits | null;
  /** Cap per payment or transfer. */
  perCallUsd: ExactDecimal;
  perDayUsd?: ExactDecimal | null;
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

/** An announced agent. */
export type AnnounceAgentResult = {
  /** Details of the agent. */
  agent: AgentInfo;
  /** Session of the token. */
  sessionId: string;
};

/** A card with what only its own request shows. */
export type AnyCardWithDetails = CardWithDetails | GiftCardWithDetails | IntlCardWithDetails | ReloadableCardWithDetails;

/** An API key as lists show it. */
export type ApiKey = {
  /** Id of the API key. */
  apiKeyId: string;
  /** Creation time (RFC 3339). */
  createdAt: string;
  /** Last four characters of the key. */
  last4: string;
  /** Time of the last exchange (RFC 3339); null before the first one. */
  lastUsedAt?: string | null;
  /** Limits of what its sessions spend. */
  limits: AgentKeyLimits;
  /** Name of the API key. */
  name: string;
  /** Beginning of the key. */
  prefix: string;
  /** `issued`, `active` once it was used, or `revoked`. */
  status: ApiKeyStatus;
};

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

/** An API key. */
export type ApiKeyResult = {
  /** The key as lists show it. */
  key: ApiKey;
};

/** Status of an API key. */
export type ApiKeyStatus = "issued" | "active" | "revoked" | "rejected";

/** A purchased app payment with the payment. */
export type AppPaymentPurchase = {
  auth?: Credentials | null;
  /** The app payment as purchased. */
  payment: PurchasedAppPayment;
  /** Id for `GET /get-payment`. */
  payment_id: string;
  /** URL to poll for its status. */
  status_url: string;
  /** The payer's address in lower case. */
  user_id: string;
};

/** Response of a paid app payment that was settled. */
export type AppPaymentPurchaseResponse = AppPaymentPurchase | CreditedPurchase;

/** Filters of a search; null for filters that were not given. */
export type AppliedFilters = {
  /** Category of brands. */
  category?: string | null;
  /** Country (ISO 3166-1 alpha-2). */
  country?: string | null;
  /** Currency (ISO 4217). */
  currency?: string | null;
  /** Text of the search. */
  q?: string | null;
};

/** A spend over a limit, and the owner's decision. */
export type Approval = {
  /** Amount in US dollars. */
  amount: ExactDecimal;
  /** API key of the agent; null if the wallet signed in. */
  apiKeyId?: string | null;
  /** Id of the approval. */
  approvalId: string;
  /** `USDC` is the token; `USD` for a payment to a bank account. */
  asset: string;
  /** Bank destination or bank account that receives it; null for an address. */
  bankPayeeId?: string | null;
  /** Time of the request (RFC 3339). */
  createdAt: string;
  /** Time of the owner's decision (RFC 3339). */
  decidedAt?: string | null;
  declineReason?: DeclineReason | null;
  /** End of the wait for the owner, or of the approval (RFC 3339). */
  expiresAt: string;
  /** `host:port`, or `route` for this service; null for a transfer. */
  host?: string | null;
  /**
   * `x402` or `transfer` of the managed wallet; `withdrawal`, `card_balance_withdrawal`, `bank_transfer` or
   * `bank_payout` from a balance of the account.
   */
  kind: SpendKind;
  /** Time of the last change (RFC 3339). */
  lastUpdatedAt: string;
  /** Limits that the spend exceeds. */
  limits: WalletExceededLimit[];
  network?: NetworkName | null;
  /** Note of the agent. */
  note?: string | null;
  /** Address of the payee; null for a bank account. */
  payTo?: string | null;
  purchase?: WalletRoutePurchase | null;
  /** Session of the agent. */
  sessionId?: string | null;
  /** `pending`, `approved`, `declined`, `expired` or `used`. */
  status: ApprovalStatus;
  /** Id of what used the approval: a wallet payment, withdrawal, bank transfer or payout. */
  usedBy?: string | null;
  /** Wallet payment that used the approval. */
  walletPaymentId?: string | null;
};

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

/** A spend over a limit of the account owner, which waits for the owner's approval. */
export type ApprovalRequired = {
  /** The approval, with the limits that the spend exceeds. */
  approval: Approval;
  /** Id for `GET /get-approval`, and for `approvalId` of the same call. */
  approvalId: string;
  /** End of the wait (RFC 3339). */
  expiresAt: string;
  /** What to do next. */
  next: string;
  /** `approval_required`: nothing was signed or reserved. */
  status: ApprovalRequiredStatus;
  /** URL to poll for the owner's decision. */
  statusUrl: string;
};

/** A spend over a limit of the account owner, which waits for the owner's approval. Nothing was signed, held or taken. */
export type ApprovalRequiredResponse = {
  /** The approval, with the limits that the spend exceeds. */
  approval: ApprovalResource;
  /** Id for `GET /get-approval`, and for the same call again. */
  approval_id: string;
  /** End of the wait (RFC 3339). */
  expires_at: string;
  /** What to do next. */
  next: string;
  /** `approval_required` in every case. */
  status: ApprovalRequiredStatus;
  /** URL to poll for the owner's decision. */
  status_url: string;
  /** Always false: nothing was done yet. */
  success: boolean;
};

/** Status of a spend that waits for the account owner. */
export type ApprovalRequiredStatus = "approval_required";

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

/** A login link for a person. */
export type AuthLinkResponse = {
  /** URL to give to a person unchanged. It can be opened once. */
  auth_url: string;
  /** Validity of the link in seconds. */
  expires_in: number;
  /** The wallet's address in lower case. */
  user_id: string;
};

/** Status of a new push to card. */
export type AwaitingDetailsStatus = "awaiting-details";

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

/** A bank account of the customer. */
export type BankAccount = {
  /** Id of the account. */
  accountId: string;
  /** Full account number, once the account is open. */
  accountNumber?: string;
  /** Last four digits of the account number, once the account is open. */
  accountNumberLast4?: string | null;
  balance?: ExactDecimal | null;
  /** Name of the bank, once the account is open. */
  bankName?: string | null;
  /** Creation time (RFC 3339). */
  createdAt: string;
  /** `USD` is the currency. */
  currency: string;
  /** Reason of the bank for a rejection. */
  failureReason?: string | null;
  /** Label given by the owner. */
  label?: string | null;
  /** Time of the last change (RFC 3339). */
  lastUpdatedAt: string;
  /** Payment reference that senders must include, if the bank needs one. */
  memo?: string | null;
  /** ABA routing number, once the account is open. */
  routingNumber?: string;
  /** `pending`, `open` or `rejected`. */
  status: BankAccountStatus;
  /** `onramp` or `offramp`. */
  type: BankAccountType;
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

/** A bank account of a recipient. */
export type BankDestination = {
  /** Name of the account holder. */
  accountHolderName: string;
  /** Last four digits of the account number. */
  accountNumberLast4: string;
  /** Name of the bank. */
  bankName: string;
  /** Creation time (RFC 3339). */
  createdAt: string;
  /** Id of the destination. */
  destinationId: string;
  /** `fiat_us` or `fiat_iban`. */
  destinationType: BankDestinationType;
  /** Label given by the caller. */
  nickname: string;
  /** ABA routing number of a U.S. account. */
  routingNumber?: string | null;
  /** `active`; `removed` if it was removed during the call. */
  status: BankDestinationStatus;
};

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

/** A bank destination after a change. */
export type BankDestinationResult = {
  /** Destination after the change. */
  destination: BankDestination;
  /** `brc_…` is the id of its recipient. */
  recipientId: string;
};

/** Status of a bank destination. */
export type BankDestinationStatus = "active" | "removed";

/** Type of a recipient's bank account. */
export type BankDestinationType = "fiat_us" | "fiat_iban";

/** A purchased bank payment with the payment. */
export type BankPaymentPurchase = {
  auth?: Credentials | null;
  /** The bank payment as purchased. */
  bank_payment: PurchasedBankPayment;
  /** Id for `GET /get-payment`. */
  payment_id: string;
  /** The payer's address in lower case. */
  user_id: string;
};

/** Response of a paid bank payment that was settled. */
export type BankPaymentPurchaseResponse = BankPaymentPurchase | CreditedPurchase;

/** A person or company with bank accounts. */
export type BankRecipient = {
  /** Postal address as one line; empty if none was given. */
  address: string;
  /** Bank accounts of the recipient. */
  destinations: BankRecipientDestination[];
  /** Name of the person or company. */
  name: string;
  /** `brc_…` is the id of the recipient. */
  recipient_id: string;
  /** `active` in every case. */
  status: ActiveStatus;
};

/** A bank account of a recipient. */
export type BankRecipientDestination = {
  /** Name of the account holder. */
  account_holder_name: string;
  /** Last four digits of the account number. */
  account_number_last4: string;
  /** Name of the bank. */
  bank_name: string;
  /** Creation time (RFC 3339). */
  created_at: string;
  /** Id for `GET /send-bank-payment`. */
  destination_id: string;
  /** `fiat_us` or `fiat_iban`. */
  destination_type: BankDestinationType;
  /** Label given by the owner. */
  nickname: string;
  /** Routing number of a U.S. account. */
  routing_number: string | null;
  /** `active` in every case. */
  status: ActiveStatus;
};

/** A page of bank recipients with their destinations. */
export type BankRecipientList = {
  /** Whether more destinations follow. */
  has_more: boolean;
  /** In order of registration. */
  recipients: BankRecipient[];
};

/** A transfer between balance and bank, or a payout to a bank. */
export type BankTransaction = {
  /** Bank account of a transfer. */
  accountId?: string;
  /** Amount in US dollars. */
  amount: ExactDecimal;
  /** Amount and fee of a payout. */
  chargedAmount?: ExactDecimal;
  /** Creation time (RFC 3339). */
  createdAt: string;
  /** `USD` is the currency. */
  currency: string;
  /** Destination of a payout. */
  destinationId?: string | null;
  /** `incoming`, `to_account`, `to_balance` or `outgoing`. */
  direction: BankTransactionDirection;
  /** Reason of a failure. */
  failureReason?: string | null;
  /** Fee of a payout. */
  feeAmount?: ExactDecimal;
  held?: HoldReason | null;
  /** Time of the last change (RFC 3339). */
  lastUpdatedAt: string;
  /** Sender of a transfer, or the note of the caller. */
  note?: string | null;
  /** Bank's reference of a transfer. */
  reference?: string | null;
  /** Returned part of a transfer. */
  returnedAmount?: ExactDecimal;
  /** `pending`, `complete`, `failed` or `returned`; of a payout also `queued`, `in-process`, `cancelled`. */
  status: BankTransactionStatus;
  /** Id of the transaction. */
  transactionId: string;
  /** `transfer` or `payout`. */
  type: BankTransactionType;
};

/** Direction of a bank transaction. */
export type BankTransactionDirection = "incoming" | "to_account" | "to_balance" | "outgoing";

/** A transfer or a payout. */
export type BankTransactionResult = {
  /** The requested transaction. */
  transaction: BankTransaction;
};

/** Status of a transfer or a bank payout. */
export type BankTransactionStatus = "pending" | "complete" | "failed" | "returned" | "queued" | "in-process" | "cancelled";

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

/** An application to open bank accounts. */
export type BankingApplication = {
  /** Answers given so far. */
  answers: BankingApplicationAnswers;
  /** Id of the application. */
  applicationId: string;
  /** Creation time (RFC 3339). */
  createdAt: string;
  /** Documents of the application. */
  documents: BankingDocument[];
  /** Time of the last change (RFC 3339). */
  lastUpdatedAt: string;
  /** Items still needed: members of `updateBankingApplicationDetails`, types of documents, `identity`. */
  missing: string[];
  /** Reason of the bank for a rejection. */
  rejectionReason?: string | null;
  /** What the bank requested when it returned the application, as it wrote it. */
  requestedItems?: string | null;
  /** `incomplete`, `submitted`, `approved` or `rejected`. */
  status: BankingApplicationStatus;
  /** Number of submissions. */
  submissions: number;
  /** Last four characters of the tax number. */
  taxIdLast4?: string | null;
};

/** Answers of an application. Members without an answer are absent. */
export type BankingApplicationAnswers = {
  /** Street and number. */
  addressLine1?: string;
  /** Second address line. */
  addressLine2?: string;
  /** Kind of business, for example its industry. */
  businessType?: string;
  /** City of the address. */
  city?: string;
  /** Date of birth (YYYY-MM-DD). */
  dateOfBirth?: string;
  /** `YYYY-MM-DD` of the formation of a business. */
  formationDate?: string;
  /** Occupation of a person. */
  occupation?: string;
  /** Telephone number in E.164. */
  phone?: string;
  /** Postal code, in the format of its country. */
  postalCode?: string;
  /** Source of the funds. */
  sourceOfFunds?: string;
  /** State or region. */
  state?: string;
};

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

/** Status of the bank application, if there is one. */
export type BankingApplicationProgress = "none" | "incomplete" | "submitted" | "approved" | "rejected";

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

/** The bank application of the account. */
export type BankingApplicationResult = {
  /** Application of the account. */
  application: BankingApplication;
};

/** Status of a bank application. */
export type BankingApplicationStatus = "incomplete" | "submitted" | "approved" | "rejected";

/** An uploaded document. */
export type BankingDocument = {
  /** Size in bytes. */
  bytes: number;
  /** Upload time (RFC 3339). */
  createdAt: string;
  /** Id of the document. */
  documentId: string;
  /** Media type, detected from its first bytes. */
  mediaType: string;
  /** SHA-256 of the bytes, in hexadecimal. */
  sha256: string;
  /** Type of the document. */
  type: BankingDocumentType;
};

/** Type of a document. */
export type BankingDocumentType = "proof_of_address" | "formation_document" | "other";

/** A customer's profile at the bank. */
export type BankingProfile = {
  /** Name of the business; null for an individual. */
  businessName?: string | null;
  /** Country (ISO 3166-1 alpha-2). */
  country: string;
  /** Creation time (RFC 3339). */
  createdAt: string;
  /** E-mail address for messages from the bank. */
  email: string;
  /** First name of the person. */
  firstName: string;
  /** Last name of the person. */
  lastName: string;
  /** `open` in every case. */
  status: BankingProfileState;
  /** `individual` or `business`. */
  type: CustomerType;
  /** The wallet's address in lower case. */
  userId: string;
};

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

/** Status of banking for an account. */
export type BankingProfileStatus = {
  /** `none`, `incomplete`, `submitted`, `approved` or `rejected`. */
  application: BankingApplicationProgress;
  /** Whether bank accounts can be opened. */
  canOpenAccounts: boolean;
  /** Identity check of the owner: `none`, `in-review`, `verified` or `rejected`. */
  identity: IdentityStatus;
  profile?: BankingProfile | null;
  /** `none` or `open`. */
  status: BankingState;
  /** The wallet's address in lower case. */
  userId: string;
};

/** A bank recipient with its destinations. */
export type BankingRecipient = {
  /** Postal address as one line; empty if none was given. */
  address: string;
  /** Bank accounts of the recipient. */
  destinations: BankDestination[];
  /** Name of the person or company. */
  name: string;
  /** `brc_…` is the id of the recipient. */
  recipientId: string;
  /** `active` in every case. */
  status: ActiveStatus;
};

/** Whether there is a banking profile. */
export type BankingState = "none" | "open";

/** Billing address that merchants accept for a card. It belongs to the issuer, never to the account owner. */
export type BillingAddress = {
  /** City, as merchants' forms expect it. */
  city: string;
  /** Country code, ISO 3166-1 alpha-2. */
  country: string;
  /** Street and number. */
  line1: string;
  /** Postal code, in the format of its country. */
  postal_code: string;
  /** State or region; of a U.S. address its two letters. */
  state: string;
};

/** HTTP method of a call. */
export type CallMethod = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** Every error of a callable function. */
export type CallableError = {
  /** Details of the error. */
  error: {
    /** Stable code for programs. */
    code: ErrorCodeName;
    /** What the caller can do. */
    hint?: string | null;
    /** Message for people, one sentence. */
    message: string;
    /** Names of missing parameters or preconditions. */
    missing?: string[] | null;
    /** Member or header at fault. */
    param?: string | null;
    /** Distinguishes several reasons for one code. For a call to a route of this service: the code of its error. */
    reason?: string | null;
    /** Id of the request, also in `Request-Id`. */
    requestId: string;
    /** Delay before a retry, also in `Retry-After`. */
    retryAfterSeconds?: number | null;
    /**
     * Beginning of the server's body, at most 2,048 bytes of readable text. For a route of this service, its code,
     * message and hint appear instead.
     */
    sellerBody?: string | null;
    /** HTTP status of the called server. */
    sellerStatus?: number | null;
    /** HTTP status of the error. */
    status: number;
    /** Whether the same call can never succeed. */
    terminal: boolean;
  };
  /** Message of the operator to a frozen account. */
  frozen_message?: string | null;
};

/** A cancelled order. */
export type CancelOrderResponse = {
  /** Id of the card. */
  card_id: string;
  /** Message for people. */
  message: string;
};

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

/** Response to a card action. */
export type CardActionResponse = {
  /** Id of the card. */
  card_id: string;
  requested_action: CardAction | null;
  /** URL to poll for its status. */
  status_url: string;
  /** Always true on success. */
  success: boolean;
};

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

/** A charge of a card, approved or declined. */
export type CardCharge = {
  /** Time of the charge (RFC 3339). */
  at: string;
  /** Card that was charged. */
  card_id: string;
  /** Reason of a declined charge, as the issuer reports it. */
  decline_reason: string | null;
  /** Name of the merchant: external text, never markup. */
  merchant: string;
  /** `pending`, `settled`, `declined` or `refunded`. */
  status: CardTransactionStatus;
  /** `txn_000001` for example. The issuer's id of the transaction. */
  transaction_id: string;
  /** Amount in US dollars. */
  usd_amount: ExactDecimal;
};

/** One card, or a page of cards. */
export type CardDataResponse = AnyCardWithDetails | CardList;

/** Details to pay with a card. */
export type CardDetails = {
  /** Remaining US dollars. */
  available_balance: ExactDecimal;
  /** Billing address for merchants. */
  billing_address: BillingAddress;
  /** Card number, 16 digits. */
  card_number: string;
  /** Card verification value, 3 digits. */
  cvv: string;
  /** Expiry month, 1 to 12. */
  exp_month: number;
  /** Expiry year, four digits. */
  exp_year: number;
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

/** A status change of a card. */
export type CardHistoryEntry = {
  /** Time of the change (RFC 3339). */
  at: string;
  /** Id of the card. */
  card_id: string;
  /** `ready` or `open`, `paused`, `resumed`, `closed`, `expired` or `failed`. */
  event: CardStatusChange;
};

/** A page of cards. */
export type CardList = {
  /** All of one type, oldest first unless `order=desc`. */
  cards: ListedCard[];
  /** Whether more cards follow. */
  has_more: boolean;
};

/** A purchased card with the payment. */
export type CardPurchase = {
  auth?: Credentials | null;
  /** The card as purchased. */
  card: PurchasedCard;
  /** Id for `GET /get-card-data`. */
  card_id: string;
  /** Id for `GET /get-payment`. */
  payment_id: string;
  /** Status of the card at purchase. */
  status: PendingStatus;
  /** The payer's address in lower case. */
  user_id: string;
};

/** Response of a paid card call that was settled. */
export type CardPurchaseResponse = CardPurchase | CreditedPurchase;

/** Status of a prepaid card. */
export type CardStatus = "pending" | "ready" | "paused" | "failed" | "closed" | "expired";

/** Status change of a card. */
export type CardStatusChange = "ready" | "open" | "paused" | "resumed" | "closed" | "expired" | "failed";

/** A charge of a card, approved or declined. */
export type CardTransaction = {
  /** Time of the charge (RFC 3339). */
  at: string;
  /** Reason of a declined charge, as the issuer reports it. */
  decline_reason: string | null;
  /** Name of the merchant: external text, never markup. */
  merchant: string;
  /** `pending`, `settled`, `declined` or `refunded`. */
  status: CardTransactionStatus;
  /** `txn_000001` for example. The issuer's id of the transaction. */
  transaction_id: string;
  /** Amount in US dollars. */
  usd_amount: ExactDecimal;
};

/** Status of a card transaction. */
export type CardTransactionStatus = "pending" | "settled" | "declined" | "refunded";

/** Transactions of cards and of the card balance. */
export type CardTransactionsResponse = {
  /** Status changes of the cards, newest first. */
  card_events: CardHistoryEntry[];
  /** Whether more top-ups follow. */
  has_more: boolean;
  /** Explanation for people. */
  note: string;
  /** Top-ups, newest first. */
  top_ups: TopUp[];
  /**
   * Card transactions, newest first, including declined ones. Without `card_id`, those of the newest 100 cards of
   * each kind.
   */
  transactions: CardCharge[];
};

/** A card, with its number while it is ready or paused. */
export type CardWithDetails = {
  /** Remaining US dollars, as the issuer last reported. */
  available_usd_amount: ExactDecimal;
  card_details?: CardDetails | null;
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
  /** Transactions of the card, newest first, including declined ones: at most 20. */
  transactions: CardTransaction[];
  /** US dollars loaded on the card. */
  usd_amount: ExactDecimal;
};

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

/** Code of a challenge. */
export type ChallengeCode = "payment_required" | "payment_invalid" | "sign_in_required";

/** The requested resource. */
export type ChallengeResource = {
  /** Description in one sentence. */
  description: string;
  /** Media type of the response. */
  mimeType: string;
  /** URL with its query. */
  url: string;
};

/** Status after a claim. */
export type ClaimedStatus = "claimed";

/** Result of `createAgentWallet`. */
export type CreateAgentWalletResult = {
  /** The new or existing wallet. */
  wallet: AgentWallet;
};

/** A new API key. */
export type CreateApiKeyResult = {
  /** Text of the key, shown only in this response. */
  apiKey: string;
  /** The key as lists show it. */
  key: ApiKey;
};

/** A requested bank account. */
export type CreateBankAccountResult = {
  /** The new bank account. */
  account: BankAccount;
};

/** A new bank payout. */
export type CreateBankPayoutResult = {
  /** US dollars that arrive. */
  amount: ExactDecimal;
  /** Amount and fee in US dollars. */
  chargedAmount: ExactDecimal;
  /** Bank destination of the payout. */
  destinationId: string;
  /** Fee in US dollars. */
  feeAmount: ExactDecimal;
  /** `queued` until the rail accepts it. */
  status: QueuedStatus;
  /** `po_…` is the id for `getBankingTransaction` and `GET /get-payment-status`. */
  transactionId: string;
};

/** A new bank transfer. */
export type CreateBankTransferResult = {
  /** `pending` until the bank has moved it. */
  status: PendingStatus;
  /** Id for `getBankingTransaction`. */
  transactionId: string;
};

/** A new banking profile. */
export type CreateBankingProfileResult = {
  /** The profile as saved. */
  profile: BankingProfile;
};

/** Response to a card creation. */
export type CreateReloadableCardResponse = {
  /** The card as created. */
  card: CreatedReloadableCard;
  /** URL to poll for its status. */
  status_url: string;
  /** Always true on success. */
  success: boolean;
};

/** Response to an accepted withdrawal. */
export type CreateWithdrawalResponse = {
  /** URL to poll for its status. */
  status_url: string;
  /** Always true on success. */
  success: boolean;
  /** The withdrawal as accepted. */
  withdrawal: CreatedWithdrawal;
};

/** Status of a reloadable card in the response to its creation. */
export type CreatedCardStatus = "open" | "creating";

/** A reloadable card as created. */
export type CreatedReloadableCard = {
  /** Id for `GET /get-card-data`, `POST /pause-card`, `POST /resume-card` and `POST /close-card`. */
  card_id: string;
  /** `US` is the country of the card. */
  country: string;
  /** Creation time (RFC 3339). */
  created_at: string;
  /** Whether it stays open after its first charge. */
  reusable: boolean;
  /** `open`, or `creating` until the issuer has answered. */
  status: CreatedCardStatus;
  /** US dollars loaded on the card. */
  usd_amount: ExactDecimal;
};

/** A withdrawal as accepted. */
export type CreatedWithdrawal = {
  /** Amount in US dollars. */
  amount: ExactDecimal;
  /** `wd_…` is the id of the withdrawal. */
  id: string;
  /** `pending` in every case. */
  state: PendingStatus;
};

/** Tokens of a session. */
export type Credentials = {
  /** Lifetime of `id_token` in seconds, as text. */
  expires_in: string;
  /** Token for `Authorization: Bearer`. */
  id_token: string;
  /** Token for `POST /auth`, valid once. */
  refresh_token: string;
};

/** A charge that was credited to the balance. */
export type CreditedPurchase = {
  /** Credited amount in USDC. */
  credited_amount: ExactDecimal;
  /** Explanation for people. */
  note: string;
  /** Id for `GET /get-payment`. */
  payment_id: string;
  /** `credited` in every case. */
  status: CreditedStatus;
  /** The payer's address in lower case. */
  user_id: string;
};

/** Status of a purchase whose charge was credited to the balance. */
export type CreditedStatus = "credited";

/** Type of a customer of the bank. */
export type CustomerType = "individual" | "business";

export type CustomerTypeParam = "individual" | "business";

/** Why a spend counts as declined without the owner's decision. */
export type DeclineReason = "agent_ended";

/** A deleted entry of the address book. */
export type DeleteAddressResult = {
  /** Id of the deleted entry. */
  deleted: string;
};

/** A deleted bank recipient. */
export type DeleteBankingRecipientResult = {
  /** Always true on success. */
  deleted: boolean;
  /** `brc_…` is the id of the recipient. */
  recipientId: string;
};

/** A deleted webhook endpoint. */
export type DeleteWebhookResponse = {
  /** Always true on success. */
  deleted: boolean;
  /** Id of the endpoint. */
  webhook_id: string;
};

/** A deleted recipient. */
export type DeletedPaymentRecipient = {
  /** Always true on success. */
  deleted: boolean;
  /** Id of the recipient. */
  recipient_id: string;
};

/** Deposit address of a card balance. */
export type DepositAddress = {
  /** The owner's deposit address. */
  address: string;
  /** Balance in US dollars. */
  balance: ExactDecimal;
  /** `base` is the network of the address. */
  network: DepositNetwork;
};

/** Network of deposit addresses. */
export type DepositNetwork = "base";

/** A deprecated route. */
export type DeprecatedRoute = {
  /** Path of the deprecated route. */
  route: string;
  /** Path of the replacement. */
  successor: string;
  /** Day on which the route is removed, as an HTTP date; absent until it is set. */
  sunset?: string | null;
};

export type DestinationTypeParam = "fiat_us" | "fiat_iban";

export type DocumentTypeName = "proof_of_address" | "formation_document" | "other";

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

/** An event of the account. */
export type Event = AccountEvent | AgentWalletEvent | ApiKeyEvent | ApprovalEvent | BalanceEvent | BankAccountEvent | BankDestinationEvent | BankTransferEvent | BankingApplicationEvent | BankingProfileEvent | CardEvent | CardWithdrawalEvent | GiftCardEvent | IdentityEvent | IntlOrderEvent | IssuerLinkEvent | LateReturnEvent | PasskeyEvent | PaymentEvent | PaymentRecipientEvent | PayoutEvent | RecoveryEvent | RefundEvent | ReloadableCardEvent | SessionEvent | TopUpEvent | WalletPaymentEvent | WebhookEvent | WithdrawalEvent;

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

/** A page of events. */
export type EventList = {
  /** In the order they happened, or newest first. */
  events: Event[];
  /** Whether more events follow. */
  has_more: boolean;
  /** Pass as `after` for the next page; absent with `order=desc`. */
  next_after?: number | null;
  /** Pass as `before` for the next page; only with `order=desc`. */
  next_before?: number | null;
};

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

/** A value of a filter. */
export type FacetValue = {
  /** Number of gift cards with this value. */
  count: number;
  /** Value for the parameter of that name. */
  value: string;
};

/** Body of `/`. */
export type FrontPage = {
  /** URLs by name: `guide`, `skill`, `pricing`, `countries`, `openapi`, `asyncapi`, `version`, `status`. */
  links: {
    [name: string]: string;
  };
  /** `Purser`, the name of the service. */
  service: string;
};

/** A managed wallet with its current balances. */
export type GetAgentWalletResult = {
  /** Balances in USDC. */
  balances: AgentBalances;
  /** Pending wallet payments, oldest first. */
  pendingPayments: PendingWalletPayment[];
  response?: PaidCallResponse | null;
  status?: WalletPaymentProgress | null;
  /** Addresses and limits of the wallet. */
  wallet: AgentWallet;
  walletPayment?: WalletPayment | null;
};

/** One endpoint, or all that the caller sees. */
export type GetWebhookResponse = WebhookResponse | WebhookList;

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

/** A gift card with its current price and stock. */
export type GiftCardOffer = {
  amount_step?: ExactDecimal | null;
  /** Exactly these amounts; null if any amount of the range can be ordered. */
  amounts?: ExactDecimal[] | null;
  /** Whether it can be redeemed in every country. */
  borderless: boolean;
  /** Brand that redeems it. */
  brand: string;
  /** Category of the brand. */
  category: string;
  /** Countries where it can be redeemed (ISO 3166-1 alpha-2); null when borderless. */
  countries?: string[] | null;
  /** Currency of all amounts of the gift card (ISO 4217). */
  currency: string;
  /** Description of the product. */
  description: string;
  /** Fee as a fraction of the amount. */
  fee_rate: ExactDecimal;
  /** Whether it can be ordered now. */
  in_stock: boolean;
  /** Largest amount that can be ordered. */
  max_amount: ExactDecimal;
  /** Smallest amount that can be ordered. */
  min_amount: ExactDecimal;
  /** Name of the gift card. */
  name: string;
  /** Id for `/order-gift-card` and `starting_after`. */
  product_id: string;
  /** Terms of the brand. */
  terms: string;
};

/** A purchased gift card with the payment. */
export type GiftCardPurchase = {
  auth?: Credentials | null;
  /** Id for `GET /get-card-data`. */
  card_id: string;
  /** The gift card as purchased. */
  gift_card: PurchasedGiftCard;
  /** Id for `GET /get-payment`. */
  payment_id: string;
  /** Status of the gift card at purchase. */
  status: ProcessingStatus;
  /** The payer's address in lower case. */
  user_id: string;
};

/** Response of a paid gift card call that was settled. */
export type GiftCardPurchaseResponse = GiftCardPurchase | CreditedPurchase;

/** Gift cards that match a search. */
export type GiftCardSearchResponse = {
  /** Total number of matching gift cards. */
  count: number;
  /** Values of each filter, given the other filters. */
  facets: SearchFacets;
  /** Filters of this search. */
  filters: AppliedFilters;
  /** Best match first. */
  gift_cards: GiftCardOffer[];
  /** Whether more gift cards follow. */
  has_more: boolean;
};

/** Status of a gift card. */
export type GiftCardStatus = "processing" | "completed" | "failed";

/** Type of a gift card. */
export type GiftCardType = "Gift Card";

/** A gift card, with its code and link once it is completed. */
export type GiftCardWithDetails = {
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
  held?: UnfinalHold | null;
  /** What to do during the hold. */
  hint?: string | null;
  /** Time of the last change (RFC 3339). */
  last_updated_at: string;
  /** Payment that bought the gift card. */
  payment_id: string;
  /** PIN that the brand requests with the code. */
  pin_code?: string | null;
  /** Product id, as in `GET /search-gift-cards`. */
  product_id: string;
  /** Code to enter at the brand. */
  redemption_code?: string | null;
  /** Redemption page. Anyone who opens it can spend the gift card. */
  redemption_url?: string | null;
  /** Delay before a retry, also in `Retry-After`. */
  retry_after_seconds?: number | null;
  /** Same as `status`. */
  state: GiftCardStatus;
  /** `processing`, `completed` or `failed`. */
  status: GiftCardStatus;
};

/** Grant type of a token request. */
export type GrantType = "refresh_token";

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

/** Details to pay with an international card. */
export type IntlCardDetails = {
  /** Remaining US dollars, as an operator last reported. */
  available_balance: ExactDecimal;
  /** Billing address for merchants. */
  billing_address: BillingAddress;
  /** Card number, 12 to 19 digits. */
  card_number: string;
  /** Card verification value, 3 or 4 digits. */
  cvv: string;
  /** Expiry month, 1 to 12. */
  exp_month: number;
  /** Expiry year, four digits. */
  exp_year: number;
};

/** An order as placed. */
export type IntlCardOrder = {
  /** Id for `GET /get-card-data` and `POST /cancel-intl-order`. */
  card_id: string;
  /** US dollars paid, fees included. */
  charged_usd_amount: ExactDecimal;
  /** Creation time (RFC 3339). */
  created_at: string;
  /** Label given by the caller. */
  label: string | null;
  /** US dollars to load on the card. */
  on_card_usd_amount: ExactDecimal;
  /** Status of the order when it was placed. */
  status: QueuedStatus;
};

/** Status of an international card, from its order on. */
export type IntlCardStatus = "queued" | "claimed" | "ready" | "paused" | "closed" | "cancelled" | "rejected" | "expired";

/** Type of an international card. */
export type IntlCardType = "Non-Reloadable International";

/** An international card, with its number while it is ready or paused. */
export type IntlCardWithDetails = {
  /** Remaining US dollars, as the issuer last reported. */
  available_usd_amount: ExactDecimal;
  card_details?: IntlCardDetails | null;
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
  /** Transactions of the card, newest first, as operators have reported them: at most 20. */
  transactions: CardTransaction[];
  /** US dollars loaded on the card. */
  usd_amount: ExactDecimal;
};

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

/** A placed order of an international card with the payment. */
export type IntlOrderPurchase = {
  auth?: Credentials | null;
  /** The order as placed. */
  intl_card_order: IntlCardOrder;
  /** Id for `GET /get-payment`. */
  payment_id: string;
  /** The payer's address in lower case. */
  user_id: string;
};

/** Response of a paid order that was settled. */
export type IntlOrderPurchaseResponse = IntlOrderPurchase | CreditedPurchase;

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

/** An Ed25519 key (RFC 8037). */
export type JsonWebKey = {
  /** `EdDSA` is the signature algorithm. */
  alg: string;
  /** `Ed25519` is the curve. */
  crv: string;
  /** Id of the key in token headers. */
  kid: string;
  /** `OKP` is the key type. */
  kty: string;
  /** `sig` is the key's use. */
  use: string;
  /** Public key in base64url. */
  x: string;
};

/** Public keys (RFC 7517). */
export type JsonWebKeySet = {
  /** Newest key first. */
  keys: JsonWebKey[];
};

/** A link for the owner to verify their identity. */
export type KycLinkResponse = {
  /** Validity of the link in seconds. */
  expires_in: number;
  /** URL to give to the owner unchanged. It can be opened once. */
  kyc_url: string;
  /** Status of the identity check. */
  status: IdentityStatus;
  /** The wallet's address in lower case. */
  user_id: string;
};

/** Status of the identity check. */
export type KycStatusResponse = {
  /** Number of checks started so far. */
  checks: number;
  /** Time of the first check (RFC 3339). */
  created_at?: string;
  /** Time of the last change (RFC 3339). */
  last_updated_at?: string;
  /** Reason of the provider for a rejection. */
  rejection_reason?: string | null;
  /** `none`, `in-review`, `verified` or `rejected`. */
  status: IdentityStatus;
  /** The wallet's address in lower case. */
  user_id: string;
};

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

/** API keys of an account. */
export type ListApiKeysResult = {
  /** Active keys, oldest first. */
  keys: ApiKey[];
};

/** A page of bank accounts. */
export type ListBankAccountsResult = {
  /** Bank accounts, oldest first. */
  accounts: BankAccount[];
  /** Whether more accounts follow. */
  hasMore: boolean;
};

/** A page of transfers and payouts. */
export type ListBankTransactionsResult = {
  /** Whether more transactions follow. */
  hasMore: boolean;
  /** Transactions, oldest first unless `order` is `desc`. */
  transactions: BankTransaction[];
};

/** A page of bank recipients. */
export type ListBankingRecipientsResult = {
  /** Whether more destinations follow. */
  hasMore: boolean;
  /** Ordered by the first destination of each recipient. */
  recipients: BankingRecipient[];
};

/** Order of a list. */
export type ListOrder = "asc" | "desc";

/** A card of a list, with what became of the payment that bought it. */
export type ListedCard = ListedUsaCard | ListedGiftCard | ListedIntlCard | ReloadableCard;

/** A gift card of a list. */
export type ListedGiftCard = {
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
  /** `true` if the chain reversed the payment. Absent otherwise. */
  payment_reversed?: boolean;
  /** Product id, as in `GET /search-gift-cards`. */
  product_id: string;
  refunded_usd_amount?: ExactDecimal | null;
  /** Same as `status`. */
  state: GiftCardStatus;
  /** `processing`, `completed` or `failed`. */
  status: GiftCardStatus;
};

/** An international card of a list. */
export type ListedIntlCard = {
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
  /** `true` if the chain reversed the payment. Absent otherwise. */
  payment_reversed?: boolean;
  pending_action: CardAction | null;
  refunded_usd_amount?: ExactDecimal | null;
  /** Reason given by the operator for a rejection. */
  rejection_reason: string | null;
  /** Same as `status`. */
  state: IntlCardStatus;
  /** `queued`, `claimed`, `ready`, `paused`, `closed`, `cancelled`, `rejected` or `expired`. */
  status: IntlCardStatus;
  /** US dollars loaded on the card. */
  usd_amount: ExactDecimal;
};

/** A payment with the current status of its product. */
export type ListedPayment = {
  /** Amount in USDC. */
  amount: ExactDecimal;
  api_key?: PayingKey | null;
  /** `USDC` is the token. */
  asset: string;
  card?: Card | null;
  /** Id of the purchased card of any kind. */
  card_id?: string | null;
  /** Creation time (RFC 3339). */
  created_at: string;
  credited_usd_amount?: ExactDecimal | null;
  /** Reason of a failed payment. */
  error_reason: string | null;
  gift_card?: GiftCard | null;
  intl_card_order?: IntlCard | null;
  /** Time of the last change (RFC 3339). */
  last_updated_at: string;
  /** Network as a CAIP-2 name. */
  network: NetworkId;
  /** Exact wallet address of the payer. */
  payer: string;
  /** Id of the payment. */
  payment_id: string;
  payout?: Payout | null;
  /** Id of the purchased payout. */
  payout_id?: string | null;
  /** Product of the payment, as in `GET /get-pricing`. */
  product: ProductName;
  /** `card_…`, `po_…` or `top_…`: id of the product. */
  product_id: string | null;
  product_status: ProductStatus | null;
  receipt: PaymentReceipt | null;
  refunded_usd_amount?: ExactDecimal | null;
  resolution?: PaymentResolution | null;
  /**
   * Status of the payment, not of its product; `docs/states.md` has the state chart. `credited` only if the account
   * was credited. `resolved` if an operator decided its transfer separately and the account was not credited: see
   * `resolution`.
   */
  status: PaymentStatus;
  /** Whether the status is final. */
  terminal: boolean;
  top_up?: TopUp | null;
  /** Id of the purchased top-up. */
  top_up_id?: string | null;
  /** Transaction id, once settled. */
  transaction: string | null;
};

/** A prepaid card of a list. */
export type ListedUsaCard = {
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
  /** `true` if the chain reversed the payment. Absent otherwise. */
  payment_reversed?: boolean;
  pending_action: CardAction | null;
  /** Whether a refresh is in progress. */
  refreshing: boolean;
  refunded_usd_amount?: ExactDecimal | null;
  /** Same as `status`. */
  state: CardStatus;
  /** `pending`, `ready`, `paused`, `failed`, `closed` or `expired`. */
  status: CardStatus;
  /** US dollars loaded on the card. */
  usd_amount: ExactDecimal;
};

/** Type of a card that merchants accept. */
export type MerchantCardType = "Non-Reloadable U.S." | "Non-Reloadable International" | "Reloadable";

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

/** A merchant and whether it accepts the card. */
export type MerchantResult = {
  /** Category of goods; null if not known. */
  category?: string | null;
  /** Countries (ISO 3166-1 alpha-2); null for all countries, or if not known. */
  countries?: string[] | null;
  /** Id for `starting_after`; null for an unknown merchant. */
  merchant_id?: string | null;
  /** Name of the merchant, or the searched name if it is unknown. */
  name: string;
  /** Advice for paying there; null for none. */
  notes?: string | null;
  /** `accepted`, `not_accepted` or `unknown`. */
  status: MerchantStatus;
  /** Website; null if none is known. */
  url?: string | null;
};

/** Merchants that match a search. */
export type MerchantSearchResponse = {
  /** Card type of every `status`. */
  card_type: MerchantCardType;
  /** Whether more merchants follow. */
  has_more: boolean;
  /**
   * Best match first, or by name without a search text. If no merchant matches, one row has the searched name and
   * the status `unknown`.
   */
  merchants: MerchantResult[];
  /** Explains the status `unknown`; null otherwise. */
  note?: string | null;
};

/** Whether a merchant accepts a card. */
export type MerchantStatus = "accepted" | "not_accepted" | "unknown";

/** CAIP-2 name of a network on which this service settles. */
export type NetworkId = "eip155:8453" | "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp";

/** Network of a transfer. */
export type NetworkName = "base" | "solana";

/** Name of a network, or its CAIP-2 name. */
export type NetworkNameOrId = "base" | "solana" | "eip155:8453" | "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp";

/** Always `ok`. */
export type OkStatus = "ok";

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

/** Response of a server. In later reads, members of its body that are tokens or codes are null. */
export type PaidCallResponse = {
  /** JSON verbatim, anything else as text. */
  body: Record<string, unknown>;
  /** Content type of the response. */
  contentType?: string | null;
  /** HTTP status of the response. */
  httpStatus: number;
};

/** Status of a new top-up. */
export type PaidStatus = "paid";

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

/** API key of an agent that paid. Agents see their own only. */
export type PayingKey = {
  /** Id of the key. */
  api_key_id: string;
  /** Name of the key. */
  name: string;
};

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

/** What to pay or sign. `PAYMENT-REQUIRED` has the same object without `code`, `reason` and older names. */
export type PaymentChallenge = {
  /** Payment terms. Choose one. */
  accepts: PaymentOffer[];
  /** Id of the challenge in `WWW-Authenticate`. */
  challengeId?: string | null;
  /** Stable code for programs. */
  code: ChallengeCode;
  /** Explanation of the problem. */
  detail?: string | null;
  /** `Payment required`, or the reason of an error. */
  error: string;
  exchangeRate?: QuotedExchangeRate | null;
  /** Extensions by name, such as `sign-in-with-x`. */
  extensions?: Record<string, unknown>;
  /** Reason why a sign-in proof was rejected. */
  reason?: string | null;
  /** Id of the request, also in `Request-Id`. */
  request_id: string;
  /** The requested resource. */
  resource: ChallengeResource;
  /** 402. */
  status?: number | null;
  /** Always false: once it is paid or signed, the same request succeeds. */
  terminal: boolean;
  /** Title of the problem type. */
  title?: string | null;
  /** Problem type of the Machine Payments Protocol (RFC 9457). */
  type?: string | null;
  /** 2. */
  x402Version: number;
};

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

/** A page of payments. */
export type PaymentList = {
  /** Whether more payments follow. */
  has_more: boolean;
  /** Payments, newest first. */
  payments: ListedPayment[];
};

/** Payment terms of x402 v2, with the member names of v1 besides. */
export type PaymentOffer = {
  /** Amount in atomic USDC, fees included. */
  amount: string;
  /** Token to pay with. */
  asset: string;
  /** Description in one sentence. */
  description: string;
  /** Parameters specific to the network. */
  extra: Record<string, unknown>;
  /** Same as `amount`. */
  maxAmountRequired: string;
  /** Seconds that the price is valid. */
  maxTimeoutSeconds: number;
  /** Media type of the response. */
  mimeType: string;
  /** Network as a CAIP-2 name. */
  network: NetworkId;
  /** Address of the payee. */
  payTo: string;
  /** URL with its query. */
  resource: string;
  /** `exact` is the payment scheme. */
  scheme: PaymentScheme;
};

/** Receipt of a settled payment. */
export type PaymentReceipt = {
  /** Amount in atomic USDC. */
  amount: string;
  /** Network as a CAIP-2 name. */
  network: NetworkId;
  /** Address of the payer. */
  payer: string;
  /** Always true on success. */
  success: boolean;
  /** Transaction id on the chain. */
  transaction: string;
};

/** A recipient of app payments. */
export type PaymentRecipient = {
  /** Whether it is hidden from the list by default. */
  archived: boolean;
  /** Creation time (RFC 3339). */
  created_at: string;
  /** `USD` is the currency of the total. */
  currency: string;
  /** Name given by the owner. */
  display_name: string;
  /** E-mail address in the last payment. */
  email: string;
  /** First name in the last payment. */
  first_name: string;
  /** Last name in the last payment. */
  last_name: string;
  /** Time of the last payment (RFC 3339). */
  last_paid_at: string;
  /** Number of payments, including pending ones, without those whose funds returned. */
  payments_count: number;
  /** `venmo` or `paypal`. */
  platform: PaymentApp;
  /** Handle at the app: telephone number, e-mail address or user name. */
  recipient: string;
  /** Id of the recipient. */
  recipient_id: string;
  /** `active` or `archived`. */
  status: PaymentRecipientStatus;
  /** Total of these payments in US dollars, without fees. */
  total_amount: ExactDecimal;
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

/** A page of recipients of app payments. */
export type PaymentRecipientList = {
  /** Whether more recipients follow. */
  has_more: boolean;
  /** Recipients, oldest first. */
  recipients: PaymentRecipient[];
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

/** Status of a listed recipient of app payments. */
export type PaymentRecipientStatus = "active" | "archived";

/** A 402 of a paid route. */
export type PaymentRequiredResponse = PaymentChallenge | SettlementFailure;

/** What happened to the transfer of a payment that is `resolved`. */
export type PaymentResolution = "returned" | "forwarded" | "other";

/** Payment scheme of x402. */
export type PaymentScheme = "exact";

/** Status of a payment, not of its product. */
export type PaymentStatus = "claimed" | "settling" | "unknown" | "declined" | "released" | "settled" | "fulfilled" | "credited" | "refused" | "reversed" | "resolved";

/** Status of a payment. */
export type PaymentStatusResponse = {
  api_key?: PayingKey | null;
  /** Id of the purchased card, for the payer only. */
  card_id?: string | null;
  credited_usd_amount?: ExactDecimal | null;
  payment?: Payment | null;
  /** Id of the purchased payout, for the payer only. */
  payout_id?: string | null;
  product_status?: ProductStatus | null;
  refunded_usd_amount?: ExactDecimal | null;
  /** Delay before the next poll. */
  retry_after_seconds?: number | null;
  /** Same as in `payment`. */
  status: PaymentStatus;
  /** Whether the status is final. */
  terminal: boolean;
  /** Id of the purchased top-up, for the payer only. */
  top_up_id?: string | null;
};

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

/** A page of payouts, oldest first unless `order=desc`. */
export type PayoutList = {
  /** Whether more payouts follow. */
  has_more: boolean;
  /** Payouts of the page. */
  payouts: Payout[];
};

/** Product of a payout. */
export type PayoutProduct = "push_to_card" | "bank_payment" | "app_payment";

/** Status of a payout. */
export type PayoutStatus = "awaiting-details" | "queued" | "in-process" | "complete" | "returned" | "failed" | "cancelled" | "expired";

/** One payout, or a page of them. */
export type PayoutStatusResponse = Payout | PayoutList;

/** A payment whose outcome is not known yet. */
export type PendingPayment = {
  /** Id for `GET /get-payment`. */
  payment_id: string;
  /** Delay before the next poll. */
  retry_after_seconds: number;
  /** `settlement_pending` in every case. */
  status: SettlementPendingStatus;
  /** URL to poll. */
  status_url: string;
};

/** Status of a new resource that is pending. */
export type PendingStatus = "pending";

/** A pending wallet payment. */
export type PendingWalletPayment = {
  /** Amount in USDC. */
  amount: ExactDecimal;
  /** `base` or `solana`. */
  network: NetworkName;
  /** Id of the wallet payment. */
  walletPaymentId: string;
};

/** Type of a prepaid card. */
export type PrepaidCardType = "Non-Reloadable U.S.";

/** Status of a new gift card. */
export type ProcessingStatus = "processing";

/** Countries of one product. */
export type ProductCountries = {
  /** Whether the product is available. */
  available: boolean;
  /** ISO 3166-1 alpha-2 codes; null without a fixed list. */
  countries?: string[] | null;
  /** Countries by currency, for push to card. */
  countries_by_currency?: {
    [name: string]: string[] | null;
  };
  /** Countries by payment app, for app payments. */
  countries_by_platform?: {
    [name: string]: string[] | null;
  };
  /** Usage note for the product. */
  note?: string | null;
  /** Identifier of the product. */
  product: string;
  /** Paid route that sells it. */
  route: string;
};

/** Product, as in `GET /get-pricing`. */
export type ProductName = "usa_prepaid_card" | "intl_prepaid_card" | "gift_card" | "push_to_card" | "bank_payment" | "app_payment" | "card_balance";

/** Price of a product. */
export type ProductPrice = {
  /** Currencies of `amount`; null if the amount is in the product's own currency. */
  amount_currencies?: string[] | null;
  /** Whether the product is available now. */
  available: boolean;
  /** Fraction of `amount` (0.0025 means 0.25%). */
  fee_rate: number;
  /** Largest accepted `amount`. */
  max_amount: number;
  /** Smallest accepted `amount`. */
  min_amount: number;
  /** Smallest fee, in the amount's currency. */
  min_fee: number;
  /** Pricing rules of the product. */
  note?: string | null;
  /** Identifier of the product. */
  product: string;
  /** Paid route that sells it. */
  route: string;
};

/** Status of any product that a payment can buy. */
export type ProductStatus = "pending" | "ready" | "paused" | "failed" | "closed" | "expired" | "processing" | "completed" | "queued" | "claimed" | "cancelled" | "rejected" | "awaiting-details" | "in-process" | "complete" | "returned" | "paid" | "bridging" | "delivered" | "credited";

/** An app payment as purchased. */
export type PurchasedAppPayment = {
  /** US dollars that arrive. */
  amount: ExactDecimal;
  /** US dollars paid. */
  charged_amount: ExactDecimal;
  /** Fee in US dollars. */
  fee_amount: ExactDecimal;
  /** Id for `GET /get-payment-status`. */
  payout_id: string;
  /** `venmo` or `paypal`. */
  platform: PaymentApp;
  /** Id for `/payment-recipients`. */
  recipient_id: string;
  /** Status of the payout at purchase. */
  state: QueuedStatus;
};

/** A bank payment as purchased. */
export type PurchasedBankPayment = {
  /** US dollars that arrive. */
  amount: ExactDecimal;
  /** US dollars paid. */
  charged_amount: ExactDecimal;
  /** Destination of the payment. */
  destination: PayoutDestination;
  /** Destination id, as in `GET /bank-recipients`. */
  destination_id: string;
  /** Fee in US dollars. */
  fee_amount: ExactDecimal;
  /** Id for `GET /get-payment-status`. */
  payout_id: string;
  /** Status of the payout at purchase. */
  state: QueuedStatus;
};

/** A card as purchased. */
export type PurchasedCard = {
  /** Id of the card. */
  card_id: string;
  /** `US` is the country of the card. */
  country: string;
  /** Creation time (RFC 3339). */
  created_at: string;
  /** Status of the card at purchase. */
  status: PendingStatus;
  /** US dollars loaded on the card. */
  usd_amount: ExactDecimal;
};

/** A gift card as purchased. */
export type PurchasedGiftCard = {
  /** Amount in its own currency. */
  amount: ExactDecimal;
  /** Id of the gift card. */
  card_id: string;
  /** Country of redemption (ISO 3166-1 alpha-2). */
  country: string;
  /** Creation time (RFC 3339). */
  created_at: string;
  /** Currency of the amount (ISO 4217). */
  currency: string;
  /** Always null at purchase. */
  pin_code: string | null;
  /** Product id, as in `GET /search-gift-cards`. */
  product_id: string;
  /** Always null at purchase. */
  redemption_code: string | null;
  /** Always null at purchase. */
  redemption_url: string | null;
  /** Status of the gift card at purchase. */
  status: ProcessingStatus;
};

/** A purchased push to card with the payment. */
export type PushToCardPurchase = {
  /** Amount that the recipient gets. */
  amount: ExactDecimal;
  auth?: Credentials | null;
  /** US dollars paid, fee included. */
  charged_usd_amount: ExactDecimal;
  /** Currency of `amount` only (ISO 4217). */
  currency: string;
  /** Fee in `fee_currency`. */
  fee_amount: ExactDecimal;
  /** `USD` is the currency of the fee. */
  fee_currency: string;
  /** What to do next. */
  note: string;
  /** Id for `GET /get-payment`. */
  payment_id: string;
  /** Id for `GET /get-payment-status`. */
  payout_id: string;
  /** Link for the recipient, only in the response to the call that paid first. */
  redemption_url?: string | null;
  /** Status of the payout at purchase. */
  status: AwaitingDetailsStatus;
  /** The payer's address in lower case. */
  user_id: string;
};

/** Response of a paid push to card that was settled. */
export type PushToCardPurchaseResponse = PushToCardPurchase | CreditedPurchase;

/** Status of a new order or payout that is queued. */
export type QueuedStatus = "queued";

/** The exchange rate of a quote. */
export type QuotedExchangeRate = {
  /** Time since when the rate is valid. */
  asOf: string;
  /** Currency of the amount (ISO 4217). */
  currency: string;
  /** Source of the rate. */
  source: string;
  /** US dollars per unit. */
  usdPerUnit: ExactDecimal;
};

/** Status of a recipient of app payments. */
export type RecipientStatus = "active" | "archived" | "deleted";

/** A recovery, with the owner's link once the wallet has completed it. */
export type RecoveryAnswer = {
  /** URL to give to the owner unchanged, once it is completed. It can be opened once, and there the owner adds a passkey. */
  auth_url?: string | null;
  cancelled_by?: RecoveryCancelledBy | null;
  /** Time of the end (RFC 3339), if it has ended. */
  ended_at?: string | null;
  /** Until when the wallet can complete it (RFC 3339). */
  expires_at: string;
  /** Validity of the link in seconds. */
  expires_in?: number | null;
  /** From when the wallet can complete it (RFC 3339). Until then it can only be cancelled. */
  ready_at: string;
  /** Time of the wallet's request (RFC 3339). */
  requested_at: string;
  /** `waiting`, `ready`, `completed`, `cancelled` or `expired`. */
  status: RecoveryStatus;
  /** The wallet's address in lower case. */
  user_id: string;
};

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

/** Response to a redelivery request. */
export type RedeliverWebhookResponse = {
  /** Delivery that is repeated; null with `since`. */
  delivery_id: string | null;
  /** Start of the redelivered period; null for one delivery. */
  since: string | null;
  /** Always true on success. */
  success: boolean;
  /** Endpoint of the redelivery. */
  webhook_id: string;
};

/** A refresh that was started. */
export type RefreshCardResponse = {
  /** Message for people. */
  message: string;
  /** Always true on success. */
  success: boolean;
};

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

/** A spend that a limit of the account owner refused. */
export type RefusedWalletSpend = {
  /** Amount in USDC. */
  amount: ExactDecimal;
  /** API key of the agent; null if the wallet signed in. */
  apiKeyId?: string | null;
  /** Time of the refusal (RFC 3339). */
  at: string;
  /** `host:port`, or `route` for this service; null for a transfer. */
  host?: string | null;
  /** Limits that it exceeded. */
  limits: WalletExceededLimit[];
  /** `base` or `solana`. */
  network: NetworkName;
  /** Address of the payee. */
  payTo: string;
  /** Session of the agent. */
  sessionId?: string | null;
};

/** A registered webhook endpoint, with its secret. */
export type RegisterWebhookResponse = {
  /** Always true on success. */
  registered: boolean;
  /**
   * `whsec_…`, base64 of 32 bytes. Null if a replayed response is older than the current secret; see
   * `secret_withheld`.
   */
  secret: string | null;
  /** Reason for a missing `secret`: `secret_replaced`; otherwise null. */
  secret_withheld: string | null;
  /** How messages are signed. */
  signing: WebhookSigning;
  /** Event types that are sent; empty for all. */
  types: string[];
  /** URL that receives events. */
  url: string;
  /** `wh_…` is the id of the endpoint. */
  webhook_id: string;
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

/** A reloadable card, with its number while it is open or paused. */
export type ReloadableCardWithDetails = {
  /** Remaining US dollars, as the issuer last reported. */
  available_usd_amount: ExactDecimal;
  card_details?: CardDetails | null;
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
  /** Transactions of the card, newest first, including declined ones: at most 20. */
  transactions: CardTransaction[];
  /** US dollars loaded on the card. */
  usd_amount: ExactDecimal;
};

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

/** A saved entry of the address book. */
export type SaveAddressResult = {
  /** The entry as saved. */
  entry: AddressBookEntry;
};

/** Values of each filter with the number of matches. */
export type SearchFacets = {
  /** Categories of brands. */
  categories: FacetValue[];
  /** Countries where gift cards are redeemed. */
  countries: FacetValue[];
  /** Currencies of gift cards. */
  currencies: FacetValue[];
};

/** Mode of the service. */
export type ServiceMode = "sandbox" | "production";

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

/** A payment that could not settle. Nothing was charged so far. */
export type SettlementFailure = {
  /** `settlement_failed` is the stable code. */
  code: SettlementFailureCode;
  /** Message for people, one sentence. */
  error: string;
  /** Message of the chain. */
  errorMessage: string;
  /** `insufficient_funds`, or the chain's reason. */
  errorReason: string;
  /** Network as a CAIP-2 name. */
  network: NetworkId;
  /** Address of the payer. */
  payer: string;
  /** Id of the request, also in `Request-Id`. */
  request_id: string;
  /** Always false on failure. */
  success: boolean;
  /** Always false: the same request may succeed. */
  terminal: boolean;
  /** Always the empty string. */
  transaction: string;
  /** What to do next. */
  x_service_guidance?: string | null;
};

/** Code of a payment that failed. */
export type SettlementFailureCode = "settlement_failed";

/** Status of a payment whose outcome is not known yet. */
export type SettlementPendingStatus = "settlement_pending";

/** Session of a wallet that signed in. */
export type SignInResponse = {
  /** Tokens of the session. */
  auth: Credentials;
  /** The wallet's address in lower case. */
  user_id: string;
};

/** A signup that waits for approval. */
export type SignupResponse = {
  /** Code that the page shows too. */
  claim_code: string;
  /** Token for `GET /signup-status`. Keep it secret. */
  claim_token: string;
  /** Page where a person approves the signup. */
  claim_url: string;
  /** Validity of the signup in seconds. */
  expires_in: number;
  /** Message to give to a person unchanged. */
  message_for_human: string;
};

/** An approved signup. */
export type SignupStatusResponse = {
  /** API key of the signup. */
  api_key: string;
  /** Id of the API key. */
  api_key_id: string;
  /** Name given by the account owner. */
  name: string;
  /** `claimed` in every case. */
  status: ClaimedStatus;
  /** Account that the key belongs to. */
  user_id: string;
};

/** What an agent does with the owner's money. */
export type SpendKind = "x402" | "transfer" | "withdrawal" | "card_balance_withdrawal" | "bank_transfer" | "bank_payout";

/** Limit of the account owner. */
export type SpendLimitName = "per_call_usd" | "per_day_usd" | "api_key_per_call_usd" | "api_key_per_day_usd" | "merchant_per_day_usd" | "balance_per_call_usd" | "balance_per_day_usd";

/** A line of a statement. */
export type StatementEntry = {
  /** Amount in US dollars. */
  amount: ExactDecimal;
  api_key?: PayingKey | null;
  /** Part of that balance that could be spent when the line was written. */
  available: ExactDecimal;
  /** Balance after the change, in US dollars. */
  balance: ExactDecimal;
  /** Id of the payment, card, deposit or withdrawal behind the change. */
  cause: string;
  /** Time of the change (RFC 3339). */
  created_at: string;
  /** `ent_…` is the id of the line. */
  entry_id: string;
  /** Part of that balance that was on hold when the line was written. */
  held: ExactDecimal;
  /**
   * `credited`, `held`, `withdrawn`, `released` or `debited`; `held_unfinal` for a credit on hold until the payment
   * behind it is final; `reversed` for a credit whose payment was reversed.
   */
  type: StatementLineType;
  wallet_payment?: WalletPaymentResource | null;
};

/** Change of the balance. */
export type StatementLineType = "credited" | "held" | "withdrawn" | "released" | "debited" | "held_unfinal" | "reversed";

/** A page of a statement. */
export type StatementResponse = {
  /** Entries, oldest first unless `order=desc`. */
  entries: StatementEntry[];
  /** Whether more lines follow. */
  has_more: boolean;
};

/** New tokens for a refresh token. */
export type TokenResponse = {
  /** Lifetime of `id_token` in seconds, as text. */
  expires_in: string;
  /** Token for `Authorization: Bearer`. */
  id_token: string;
  /** Token for `POST /auth`, valid once. */
  refresh_token: string;
  /** The wallet's address in lower case. */
  user_id: string;
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

/** Steps of a top-up that leave no transfer on a chain. */
export type TopUpProgress = {
  /** Whether the bridge has attested the burn, so that the mint can follow. */
  attested: boolean;
  /** How often the first transfer provably could not settle any more and was signed again. */
  signed_again: number;
  /** How often it is signed at most, before the top-up fails and its charge is credited. */
  signed_at_most: number;
};

/** A purchased top-up. */
export type TopUpPurchase = {
  /** `USDC` is the token. */
  asset: string;
  auth?: Credentials | null;
  /** The owner's deposit address at the card issuer. */
  deposit_address: string;
  /** US dollars that arrive on the balance. */
  funded_usd: ExactDecimal;
  /** `base` is the network of the deposit address. */
  network: DepositNetwork;
  /** Explanation for people. */
  note: string;
  /** Id for `GET /get-payment`. */
  payment_id: string;
  /** `solana`: bridged by burn and mint; `base`: forwarded. */
  payment_network: NetworkName;
  /** Status of the top-up at purchase. */
  status: PaidStatus;
  /** `top_…` is the id, as in `top_ups` of `GET /list-card-transactions`. */
  top_up_id: string;
  /** The wallet's address in lower case. */
  user_id: string;
};

/** Response of a paid top-up. */
export type TopUpPurchaseResponse = TopUpPurchase | CreditedPurchase;

/** Response with one top-up. */
export type TopUpResponse = {
  /** Steps that leave no transfer. */
  progress: TopUpProgress;
  /** Details of the top-up. */
  top_up: TopUp;
};

/** Status of a top-up. */
export type TopUpStatus = "paid" | "bridging" | "delivered" | "credited" | "failed";

export type TransferDirectionParam = "to_account" | "to_balance";

/** Reason of a hold that lasts until a payment is final. */
export type UnfinalHold = "held_unfinal";

/** A recipient after a change. */
export type UpdatedPaymentRecipient = {
  /** Whether it is hidden from the list by default. */
  archived: boolean;
  /** Name given by the owner. */
  display_name: string;
  /** `venmo` or `paypal`. */
  platform: PaymentApp;
  /** Id of the recipient. */
  recipient_id: string;
  /** The owner's address in lower case. */
  user_id: string;
};

/** What may change and how it is announced. */
export type VersionPolicy = {
  /** How a breaking change is announced. */
  breaking_changes: string;
  /** Changes that keep `api_version`. Clients must tolerate them. */
  compatible_changes: string[];
  /** Routes that are deprecated. */
  deprecated_routes: DeprecatedRoute[];
  /** Headers on responses of a deprecated route. */
  deprecation_headers: string[];
  /** Always null: the date of each route is the commitment. */
  notice_period?: string | null;
  /** Format of `api_version`. */
  version_format: string;
};

/** A limit that a spend exceeds. */
export type WalletExceededLimit = {
  /** Value of the limit in US dollars. */
  capUsd: ExactDecimal;
  /** What was left of it. */
  leftUsd: ExactDecimal;
  /** Which limit. */
  limit: SpendLimitName;
};

/** A payment or transfer from the managed wallet. */
export type WalletPayment = {
  /** Amount in USDC. */
  amount: ExactDecimal;
  /** `USDC` is the token. */
  asset: string;
  /** Creation time (RFC 3339). */
  createdAt: string;
  /** Reason of a failed payment. */
  failureReason?: string | null;
  /** Address of the managed wallet. */
  from: string;
  held?: HoldReason | null;
  /** `host:port`, or `route` for this service; null for a transfer. */
  host?: string | null;
  /** HTTP status of the paid call. */
  httpStatus?: number | null;
  /** `x402` or `transfer`. */
  kind: WalletPaymentKind;
  /** Time of the last change (RFC 3339). */
  lastUpdatedAt: string;
  /** `base` or `solana`. */
  network: NetworkName;
  /** Note of the agent. */
  note?: string | null;
  /** Address of the payee. */
  payTo: string;
  /** `pending`, `signed`, `sent`, `settled`, `failed` or `unsettled`. */
  status: WalletPaymentStatus;
  /** Transaction id on chain. */
  txHash?: string | null;
  /** Id of the wallet payment. */
  walletPaymentId: string;
};

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

/** Status of a wallet payment, with one value for every pending one. */
export type WalletPaymentProgress = "settled" | "pending" | "failed" | "unsettled";

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

/** What a call buys at a route of this service. */
export type WalletRoutePurchase = {
  /** Amount that it is for, as the agent wrote it. */
  amount?: string | null;
  /** Country of the gift card. Absent for anything else. */
  country?: string | null;
  /** Currency of the amount, if the agent named one. */
  currency?: string | null;
  /** Saved bank account that is paid. Absent for anything else. */
  destinationId?: string | null;
  /** Gift card that is bought. Absent for anything else. */
  productId?: string | null;
  /** Saved recipient that is paid. Absent for anything else. */
  recipientId?: string | null;
  /** Path of the route, such as `/get-card`. */
  route: string;
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

/** One delivery, or a page of them. */
export type WebhookDeliveriesResponse = WebhookDeliveryResponse | WebhookDeliveryList;

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
  type: "account.agents_resumed" | "account.agents_stopped" | "account.caps_updated" | "account.created" | "account.frozen" | "account.unfrozen" | "agent_wallet.address_deleted" | "agent_wallet.address_saved" | "agent_wallet.caps_updated" | "agent_wallet.created" | "agent_wallet.spend_refused" | "api_key.active" | "api_key.issued" | "api_key.limits_updated" | "api_key.rejected" | "api_key.revoked" | "approval.approved" | "approval.declined" | "approval.expired" | "approval.requested" | "approval.used" | "balance.credited" | "balance.debited" | "balance.held" | "balance.released" | "balance.reversed" | "balance.withdrawn" | "bank_account.open" | "bank_account.pending" | "bank_account.rejected" | "bank_destination.registered" | "bank_destination.removed" | "bank_destination.renamed" | "bank_transfer.complete" | "bank_transfer.failed" | "bank_transfer.pending" | "bank_transfer.returned" | "banking_application.approved" | "banking_application.incomplete" | "banking_application.rejected" | "banking_application.submitted" | "banking_profile.created" | "card.charge_declined" | "card.charge_refunded" | "card.charge_settled" | "card.charged" | "card.close_requested" | "card.closed" | "card.details_viewed" | "card.expired" | "card.failed" | "card.pause_requested" | "card.paused" | "card.pending" | "card.ready" | "card.refresh_requested" | "card.refreshed" | "card.remainder_released" | "card.resume_requested" | "card.resumed" | "card_withdrawal.claimed" | "card_withdrawal.complete" | "card_withdrawal.failed" | "card_withdrawal.hold_released" | "card_withdrawal.pending" | "card_withdrawal.queued" | "card_withdrawal.rejected" | "gift_card.completed" | "gift_card.details_viewed" | "gift_card.failed" | "gift_card.processing" | "identity.in-review" | "identity.rejected" | "identity.verified" | "intl_order.cancelled" | "intl_order.charge_declined" | "intl_order.charge_refunded" | "intl_order.charge_settled" | "intl_order.charged" | "intl_order.claimed" | "intl_order.close_requested" | "intl_order.closed" | "intl_order.details_viewed" | "intl_order.expired" | "intl_order.overdue" | "intl_order.pause_requested" | "intl_order.paused" | "intl_order.queued" | "intl_order.ready" | "intl_order.rejected" | "intl_order.remainder_released" | "intl_order.request_ended" | "intl_order.resume_requested" | "intl_order.resumed" | "issuer_link.declined" | "issuer_link.linked" | "issuer_link.requested" | "issuer_link.unlinked" | "late_return.credited" | "late_return.kept" | "late_return.received" | "passkey.added" | "passkey.removed" | "passkey.renamed" | "payment.credited" | "payment.declined" | "payment.fulfilled" | "payment.refused" | "payment.released" | "payment.resolved" | "payment.reversed" | "payment.settled" | "payment.unknown" | "payment_recipient.archived" | "payment_recipient.created" | "payment_recipient.deleted" | "payment_recipient.paid" | "payment_recipient.payment_returned" | "payment_recipient.renamed" | "payment_recipient.unarchived" | "payout.awaiting-details" | "payout.cancelled" | "payout.complete" | "payout.expired" | "payout.failed" | "payout.in-process" | "payout.queued" | "payout.returned" | "recovery.cancelled" | "recovery.completed" | "recovery.expired" | "recovery.ready" | "recovery.requested" | "refund.approved" | "refund.credited" | "reloadable_card.charge_declined" | "reloadable_card.charge_refunded" | "reloadable_card.charge_settled" | "reloadable_card.charged" | "reloadable_card.close_requested" | "reloadable_card.closed" | "reloadable_card.creating" | "reloadable_card.details_viewed" | "reloadable_card.failed" | "reloadable_card.open" | "reloadable_card.pause_requested" | "reloadable_card.paused" | "reloadable_card.resume_requested" | "reloadable_card.resumed" | "session.agent_announced" | "session.confirmed" | "session.revoked" | "top_up.bridging" | "top_up.credited" | "top_up.delivered" | "top_up.failed" | "top_up.paid" | "wallet_payment.failed" | "wallet_payment.pending" | "wallet_payment.sent" | "wallet_payment.settled" | "wallet_payment.signed" | "wallet_payment.unsettled" | "webhook.deleted" | "webhook.disabled" | "webhook.enabled" | "webhook.failing" | "webhook.recovered" | "webhook.redelivery_requested" | "webhook.registered" | "webhook.secret_rotated" | "webhook.test" | "withdrawal.complete" | "withdrawal.failed" | "withdrawal.pending" | "withdrawal.sent";
  /** Endpoint of the delivery. */
  webhook_id: string;
};

/** A page of deliveries. */
export type WebhookDeliveryList = {
  /** Deliveries, newest first. */
  deliveries: WebhookDelivery[];
  /** Whether more deliveries follow. */
  has_more: boolean;
  /** Cursor of the next page. */
  next_starting_after: string | null;
};

/** A webhook delivery. */
export type WebhookDeliveryResponse = {
  /** The requested delivery. */
  delivery: WebhookDelivery;
};

/** Status of a delivery. */
export type WebhookDeliveryStatus = "pending" | "delivered" | "failed" | "dropped";

/** Reason of a disabled webhook endpoint. */
export type WebhookDisabledReason = "gone" | "failing";

/** Reason of a dropped delivery. */
export type WebhookDroppedReason = "endpoint_disabled" | "endpoint_deleted" | "event_expired";

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

/** Webhook endpoints of the account. */
export type WebhookList = {
  /** Webhook endpoints, oldest first. */
  webhooks: Webhook[];
};

/** A webhook endpoint. */
export type WebhookResponse = {
  /** The requested endpoint. */
  webhook: Webhook;
};

/** How messages are signed. */
export type WebhookSigning = {
  /** `hmac-sha256` is the signature algorithm. */
  algorithm: string;
  /** Names of the signature headers. */
  headers: string[];
  /** `standard-webhooks` is the signature scheme. */
  scheme: string;
  /** `v1` is the prefix of each signature, before a comma. */
  signature_version: string;
  /** Content that is signed. */
  signed_content: string;
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

/** An accepted withdrawal, or one that waits for the owner's approval. */
export type WithdrawalAnswer = CreateWithdrawalResponse | ApprovalRequiredResponse;

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

/** A page of withdrawals. */
export type WithdrawalList = {
  /** Whether more withdrawals follow. */
  has_more: boolean;
  /** Withdrawals, oldest first unless `order=desc`. */
  withdrawals: Withdrawal[];
};

/** Response with one withdrawal. */
export type WithdrawalResponse = {
  /** Details of the withdrawal. */
  withdrawal: Withdrawal;
};

/** Balance of a withdrawal, if it is not the account's. */
export type WithdrawalSource = "card_balance";

/** State of a withdrawal. */
export type WithdrawalState = "pending" | "sent" | "complete" | "failed";

/** One withdrawal, or a page of them. */
export type WithdrawalStatusResponse = WithdrawalResponse | WithdrawalList;
