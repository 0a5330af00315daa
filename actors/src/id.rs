//! Ids. An id is a shard and 116 random bits, with a readable prefix; a wallet's id is its address.

mod derived;
mod shard;
mod transfer_name;

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

use sha2::{Digest, Sha256};

pub use self::shard::ShardId;
pub use self::transfer_name::TransferName;

/// Text that is not an id or address of the expected kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a valid {0}")]
pub struct ParseIdError(pub &'static str);

macro_rules! define_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, bincode::Encode, bincode::Decode)]
        pub struct $name(pub u128);

        impl $name {
            /// Prefix of the id's text.
            pub const PREFIX: &'static str = $prefix;

            /// A new id in a shard, from 128 random bits of which 116 are used.
            pub const fn mint(shard: ShardId, random: u128) -> Self {
                Self(shard.assign(random))
            }
        }

        impl From<u128> for $name {
            fn from(number: u128) -> Self {
                Self(number)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{:032x}"), self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;

            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                let hex = text.strip_prefix($prefix).ok_or(ParseIdError(stringify!($name)))?;
                if hex.len() != 32 || !hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
                    return Err(ParseIdError(stringify!($name)));
                }
                u128::from_str_radix(hex, 16).map(Self).map_err(|_| ParseIdError(stringify!($name)))
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                crate::json_text::write_id(serializer, $prefix, self.0)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::json_text::read(deserializer, str::parse::<Self>)
            }
        }
    };
}

define_id!(
    /// Id of a card of any kind.
    CardId, "card_"
);
define_id!(
    /// Id of a payout: to a debit card, a bank destination or a payment app.
    PayoutId, "po_"
);
define_id!(
    /// Id of a late return: money of a payout that was returned after its return window.
    LateReturnId, "lr_"
);

impl LateReturnId {
    /// Id of the payout's only late return.
    pub const fn for_payout(payout: PayoutId) -> Self {
        Self(payout.0)
    }
}

define_id!(
    /// Id of a refund.
    RefundId, "rf_"
);

define_id!(
    /// Id of an operator action that waits for a second operator.
    ApprovalId, "apr_"
);

impl RefundId {
    /// Id of the payment's only refund.
    pub const fn for_payment(payment: PaymentId) -> Self {
        Self(payment.0)
    }
}

define_id!(
    /// Id of a top-up of the balance at the card issuer.
    TopUpId, "top_"
);
define_id!(
    /// Id of a registered bank destination.
    BankDestinationId, "dst_"
);
define_id!(
    /// Id of a saved recipient of app payments.
    PaymentRecipientId, "rcp_"
);
define_id!(
    /// Id of the owner of bank destinations, as the account owner entered it.
    BankRecipientId, "brc_"
);

impl PaymentRecipientId {
    /// Id of an app user, as this account pays them: always the same, and unpredictable without the key.
    pub fn for_handle(secret: &[u8; 32], owner: &Wallet, platform: &str, handle: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"recipient");
        hash.update(secret);
        hash.update(owner.key());
        hash.update([0]);
        hash.update(platform);
        hash.update([0]);
        hash.update(handle.to_lowercase());
        let hash = hash.finalize();
        let mut first = [0; 16];
        first.copy_from_slice(&hash[..16]);
        Self::mint(owner.shard(), u128::from_be_bytes(first))
    }
}

define_id!(
    /// Id of a banking application.
    BankingApplicationId, "bapp_"
);
define_id!(
    /// Id of a document of an application.
    DocumentId, "doc_"
);
define_id!(
    /// Id of an account owner's account at the bank.
    BankAccountId, "ba_"
);
define_id!(
    /// Id of a transfer between a balance and an account at the bank.
    BankTransferId, "btr_"
);

impl BankTransferId {
    /// Id of an incoming transfer, derived from the bank's reference: always the same.
    pub fn for_reference(reference: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"incoming bank transfer");
        hash.update([0]);
        hash.update(reference);
        let hash = hash.finalize();
        let mut first = [0; 16];
        first.copy_from_slice(&hash[..16]);
        Self(u128::from_be_bytes(first))
    }
}

define_id!(
    /// Id of a payment: one signed payment authorization, whatever its outcome.
    PaymentId, "pay_"
);
impl PaymentId {
    /// Stands for a purchase that a balance paid for.
    pub const NONE: Self = Self(0);
}

define_id!(
    /// Id of a session: one sign-in and everything refreshed from it.
    SessionId, "ses_"
);
define_id!(
    /// Id of an API key, which an agent exchanges for tokens of the account that created it.
    ApiKeyId, "key_"
);

impl ApiKeyId {
    /// Session id under which the revocation of everything issued with the key is stored.
    pub const fn session_id(self) -> SessionId {
        SessionId(self.0)
    }
}

define_id!(
    /// Id of a passkey of an account owner.
    PasskeyId, "pk_"
);

impl PasskeyId {
    /// Session id under which the removal of a passkey is stored, for the sessions that it opened.
    pub const fn session_id(self) -> SessionId {
        SessionId(self.0)
    }
}

define_id!(
    /// Id of a passkey of an operator.
    OperatorPasskeyId, "opk_"
);
define_id!(
    /// Id of a session of an operator.
    OperatorSessionId, "ops_"
);
define_id!(
    /// Id of a published event.
    EventId, "evt_"
);
define_id!(
    /// Id of an HTTP request, which connects the log lines of one call.
    RequestId, "req_"
);

impl RequestId {
    /// For jobs that no request began: started or imported at a start, or begun by the system.
    pub const NONE: Self = Self(0);
}

define_id!(
    /// Id of a job; also the idempotency key at a provider.
    JobId, "job_"
);

define_id!(
    /// Id of a transfer to our treasury that no payment claims.
    DepositId, "dep_"
);

define_id!(
    /// Id of a withdrawal from an account's balance.
    WithdrawalId, "wd_"
);
define_id!(
    /// Id of an untracked transfer out of our treasury, or of a lost order at a provider.
    OutgoingTransferId, "otx_"
);
define_id!(
    /// Id of a discrepancy between our records and an external list.
    DiscrepancyId, "disc_"
);
define_id!(
    /// Id of a wallet payment.
    WalletPaymentId, "wpay_"
);
define_id!(
    /// Id of an owner's approval of a spend.
    SpendApprovalId, "sap_"
);
define_id!(
    /// Id of an address in an agent wallet's address book.
    AddressId, "adr_"
);
define_id!(
    /// Id of a webhook endpoint.
    WebhookId, "wh_"
);
define_id!(
    /// Id of the delivery of an event to one webhook endpoint.
    WebhookDeliveryId, "whd_"
);

impl WebhookDeliveryId {
    /// Id of the only delivery of an event to an endpoint.
    pub fn for_event(endpoint: WebhookId, event: EventId) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"webhook delivery");
        hash.update(endpoint.0.to_be_bytes());
        hash.update(event.0.to_be_bytes());
        let hash = hash.finalize();
        let mut first = [0; 16];
        first.copy_from_slice(&hash[..16]);
        Self::mint(ShardId::of_id(endpoint.0), u128::from_be_bytes(first))
    }
}

define_id!(
    /// Id of a line of an account's statement. Later lines have greater ids.
    StatementLineId, "stl_"
);

impl StatementLineId {
    /// Id of a line by its number, followed by 64 of the random bits.
    pub fn at_index(number: u64, random: u128) -> Self {
        Self(u128::from(number) << 64 | random & u128::from(u64::MAX))
    }

    /// The number of the line.
    pub fn index(self) -> u64 {
        u64::try_from(self.0 >> 64).unwrap_or(u64::MAX)
    }
}

static CHAIN_NAMES: OnceLock<[&'static str; 2]> = OnceLock::new();

/// The two networks on which the service is paid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, bincode::Encode, bincode::Decode)]
pub enum Network {
    /// Base; on mainnet `eip155:8453`.
    Base,
    /// Solana; on mainnet `solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp`.
    Solana,
}

impl Network {
    /// Both networks, in the order of offers.
    pub const ALL: [Self; 2] = [Self::Base, Self::Solana];

    /// The CAIP-2 identifier of this process's chain: mainnet unless [`Network::name_chains`] was called.
    pub fn caip2(self) -> &'static str {
        let [base, solana] = CHAIN_NAMES.get_or_init(|| [Self::Base.mainnet(), Self::Solana.mainnet()]);
        match self {
            Self::Base => base,
            Self::Solana => solana,
        }
    }

    const fn mainnet(self) -> &'static str {
        match self {
            Self::Base => "eip155:8453",
            Self::Solana => "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
        }
    }

    /// Sets the CAIP-2 identifiers of this process, Base first; must be called before any is read, because ids of chain
    /// records are derived from them. Returns whether these identifiers are now in effect.
    pub fn name_chains(names: [&'static str; 2]) -> bool {
        *CHAIN_NAMES.get_or_init(|| names) == names
    }

    /// Name in x402 v1, also the short name in API responses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Solana => "solana",
        }
    }
}

/// A wallet address with its chain family: the key of an account.
///
/// Solana text is exact, because base58 is case-sensitive; see [`Wallet::user_id`] for the lower-case form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, bincode::Encode, bincode::Decode)]
pub enum Wallet {
    /// An Ethereum address.
    Evm([u8; 20]),
    /// A Solana address (ed25519 public key).
    Solana([u8; 32]),
}

impl Wallet {
    /// Owner of system entities: an address without a known private key, so no client can sign in as it.
    pub const SYSTEM: Self = Self::Evm([0; 20]);

    /// The family byte, then the address.
    pub fn key(&self) -> Vec<u8> {
        match self {
            Self::Evm(a) => [&[1][..], a].concat(),
            Self::Solana(a) => [&[2][..], a].concat(),
        }
    }

    /// Decodes the bytes of [`Wallet::key`]; `None` if they are malformed.
    pub fn from_key(key: &[u8]) -> Option<Self> {
        match key.split_first()? {
            (1, rest) => rest.try_into().ok().map(Self::Evm),
            (2, rest) => rest.try_into().ok().map(Self::Solana),
            _ => None,
        }
    }

    /// `user_id` of the contract: the address in lower case.
    pub fn user_id(&self) -> String {
        match self {
            Self::Evm(a) => hex_address(a),
            Self::Solana(a) => bs58::encode(a).into_string().to_ascii_lowercase(),
        }
    }

    /// The exact address: lowercase hex for Ethereum, base58 for Solana.
    pub fn address(&self) -> String {
        match self {
            Self::Evm(a) => hex_address(a),
            Self::Solana(a) => bs58::encode(a).into_string(),
        }
    }

    /// Network on which this wallet pays.
    pub const fn network(&self) -> Network {
        match self {
            Self::Evm(_) => Network::Base,
            Self::Solana(_) => Network::Solana,
        }
    }

    /// Shard of the account, and of every id that is minted for it.
    pub fn shard(&self) -> ShardId {
        ShardId::of_id(self.digest())
    }

    /// A fixed 128-bit digest of the key, for tables keyed by number.
    pub fn digest(&self) -> u128 {
        let hash = Sha256::digest(self.key());
        let mut first = [0; 16];
        first.copy_from_slice(&hash[..16]);
        u128::from_be_bytes(first)
    }
}

/// `hex::encode` collects characters one by one, which takes five times as long. Every event names its account.
fn hex_address(address: &[u8; 20]) -> String {
    let mut text = [0; 42];
    text[..2].copy_from_slice(b"0x");
    // The lengths fit, and digits are UTF-8.
    let _ = hex::encode_to_slice(address, &mut text[2..]);
    String::from_utf8(text.to_vec()).unwrap_or_default()
}

impl FromStr for Wallet {
    type Err = ParseIdError;

    /// Parses an Ethereum address in any case, or an exact Solana address.
    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        if let Some(digits) = text.strip_prefix("0x") {
            let mut address = [0; 20];
            hex::decode_to_slice(digits, &mut address).map_err(|_| ParseIdError("wallet address"))?;
            return Ok(Self::Evm(address));
        }
        let mut address = [0; 32];
        match bs58::decode(text).onto(&mut address) {
            Ok(32) => Ok(Self::Solana(address)),
            _ => Err(ParseIdError("wallet address")),
        }
    }
}

crate::json_text::define_json_text!([] Wallet, Self::address, str::parse::<Self>);
