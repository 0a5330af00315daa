//! Names of things. Ids are 128 random bits with a readable prefix; wallets are the addresses themselves.

mod derived;

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

use sha2::{Digest, Sha256};

/// Text that is not an id or address of the wanted kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a valid {0}")]
pub struct ParseIdError(pub &'static str);

macro_rules! define_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, bincode::Encode, bincode::Decode)]
        pub struct $name(pub u128);

        impl $name {
            /// What its text begins with.
            pub const PREFIX: &'static str = $prefix;
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
    };
}

define_id!(
    /// A card.
    CardId, "card_"
);
define_id!(
    /// A payout: to a debit card, a bank destination or a payment app.
    PayoutId, "po_"
);
define_id!(
    /// Money of a payout that came back after its return window.
    LateReturnId, "lr_"
);

impl LateReturnId {
    /// The late return of a payout: there is never a second.
    pub const fn for_payout(payout: PayoutId) -> Self {
        Self(payout.0)
    }
}

define_id!(
    /// What the house gives back in connection with a payment.
    RefundId, "rf_"
);

define_id!(
    /// An act of an operator that waits for a second one.
    ApprovalId, "apr_"
);

impl RefundId {
    /// The refund of a payment: there is never a second.
    pub const fn for_payment(payment: PaymentId) -> Self {
        Self(payment.0)
    }
}

define_id!(
    /// A top-up of the balance at the card issuer.
    TopUpId, "top_"
);
define_id!(
    /// A registered bank destination.
    BankDestinationId, "dst_"
);
define_id!(
    /// A saved recipient of app payments.
    PaymentRecipientId, "rcp_"
);
define_id!(
    /// Who owns bank destinations, as the account holder keeps them.
    BankRecipientId, "brc_"
);

impl PaymentRecipientId {
    /// Of a user of an app, as this account pays them: always the same, and nobody without the key can make it up.
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
        Self(u128::from_be_bytes(first))
    }
}

define_id!(
    /// An application to bank.
    BankingApplicationId, "app_"
);
define_id!(
    /// A document of an application.
    DocumentId, "doc_"
);
define_id!(
    /// A holder's account at the bank.
    BankAccountId, "ba_"
);
define_id!(
    /// Money between a balance and an account at the bank.
    BankTransferId, "btr_"
);

impl BankTransferId {
    /// Of money that came in, by the bank's name of it: always the same.
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
    /// A payment: one signed authorization, whatever becomes of it.
    PaymentId, "pay_"
);
impl PaymentId {
    /// Of what a balance paid for.
    pub const NONE: Self = Self(0);
}

define_id!(
    /// A refresh-token family: one sign-in and everything refreshed from it.
    SessionId, "ses_"
);
define_id!(
    /// An API key: what an agent exchanges for tokens of the account that it was made for.
    ApiKeyId, "key_"
);

impl ApiKeyId {
    /// The name under which whatever was made with the key is known as revoked, as a session's is under its own.
    pub const fn session_id(self) -> SessionId {
        SessionId(self.0)
    }
}

define_id!(
    /// A published event.
    EventId, "evt_"
);
define_id!(
    /// A request at the edge: what log lines of one call have in common.
    RequestId, "req_"
);

impl RequestId {
    /// Of work that no request began: what a start takes up or imports, what the house does by itself.
    pub const NONE: Self = Self(0);
}

define_id!(
    /// A durable effect. Towards a provider it is the idempotency key.
    JobId, "eff_"
);

define_id!(
    /// A transfer to our treasury that no payment claims.
    DepositId, "dep_"
);

define_id!(
    /// A withdrawal from an account's balance.
    WithdrawalId, "wd_"
);
define_id!(
    /// A transfer out of our treasury, or an order at a provider, that no history of ours explains.
    OutgoingTransferId, "left_"
);
define_id!(
    /// What our books and somebody else's list do not agree about.
    DiscrepancyId, "dif_"
);
define_id!(
    /// A spend of a managed wallet.
    WalletPaymentId, "spd_"
);
define_id!(
    /// An address in a managed wallet's book.
    AddressId, "adr_"
);
define_id!(
    /// An endpoint that events are posted to.
    WebhookId, "wh_"
);
define_id!(
    /// An event on its way to one endpoint.
    WebhookDeliveryId, "whd_"
);

impl WebhookDeliveryId {
    /// Of an event for an endpoint: there is never a second.
    pub fn for_event(endpoint: WebhookId, event: EventId) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"webhook delivery");
        hash.update(endpoint.0.to_be_bytes());
        hash.update(event.0.to_be_bytes());
        let hash = hash.finalize();
        let mut first = [0; 16];
        first.copy_from_slice(&hash[..16]);
        Self(u128::from_be_bytes(first))
    }
}

define_id!(
    /// A line of an account's statement. Later lines have greater ids.
    StatementLineId, "ent_"
);

impl StatementLineId {
    /// Of the so-many-th line: its number, then 64 of the random bits.
    pub fn at_index(number: u64, random: u128) -> Self {
        Self(u128::from(number) << 64 | random & u128::from(u64::MAX))
    }
}

static CHAIN_NAMES: OnceLock<[&'static str; 2]> = OnceLock::new();

/// The two networks the service is paid on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, bincode::Encode, bincode::Decode)]
pub enum Network {
    /// Base; on mainnet `eip155:8453`.
    Base,
    /// Solana; on mainnet `solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp`.
    Solana,
}

impl Network {
    /// Both, in the order they are offered.
    pub const ALL: [Self; 2] = [Self::Base, Self::Solana];

    /// The CAIP-2 identifier of the chain that this process works on: mainnet unless [`Network::name_chains`] was called.
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

    /// Names the chains of this process by CAIP-2, Base's first, before anything asks for a name. Ids of what a chain shows follow
    /// from the names. Whether these are the ones in effect now.
    pub fn name_chains(names: [&'static str; 2]) -> bool {
        *CHAIN_NAMES.get_or_init(|| names) == names
    }

    /// The name x402 v1 uses, also the short name in answers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Solana => "solana",
        }
    }
}

/// A wallet address with its chain family: the key of an account.
///
/// Text is kept exact for Solana, whose base58 is case-sensitive; see [`Wallet::user_id`] for the lowercased form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, bincode::Encode, bincode::Decode)]
pub enum Wallet {
    /// An Ethereum address.
    Evm([u8; 20]),
    /// A Solana address (ed25519 public key).
    Solana([u8; 32]),
}

impl Wallet {
    /// The owner of what is the house's own: the address that nobody has the key of, so that nobody signs in as it.
    pub const SYSTEM: Self = Self::Evm([0; 20]);

    /// The family's byte, then the address.
    pub fn key(&self) -> Vec<u8> {
        match self {
            Self::Evm(a) => [&[1][..], a].concat(),
            Self::Solana(a) => [&[2][..], a].concat(),
        }
    }

    /// Reverses [`Wallet::key`].
    pub fn from_key(key: &[u8]) -> Option<Self> {
        match key.split_first()? {
            (1, rest) => rest.try_into().ok().map(Self::Evm),
            (2, rest) => rest.try_into().ok().map(Self::Solana),
            _ => None,
        }
    }

    /// `user_id` of the contract: the address, lowercased.
    pub fn user_id(&self) -> String {
        match self {
            Self::Evm(a) => format!("0x{}", hex::encode(a)),
            Self::Solana(a) => bs58::encode(a).into_string().to_ascii_lowercase(),
        }
    }

    /// The exact address: lowercase hex for Ethereum, base58 for Solana.
    pub fn address(&self) -> String {
        match self {
            Self::Evm(a) => format!("0x{}", hex::encode(a)),
            Self::Solana(a) => bs58::encode(a).into_string(),
        }
    }

    /// The network this wallet pays on.
    pub const fn network(&self) -> Network {
        match self {
            Self::Evm(_) => Network::Base,
            Self::Solana(_) => Network::Solana,
        }
    }

    /// A fixed 128-bit digest of the key, for tables keyed by number.
    pub fn digest(&self) -> u128 {
        let hash = Sha256::digest(self.key());
        let mut first = [0; 16];
        first.copy_from_slice(&hash[..16]);
        u128::from_be_bytes(first)
    }
}

impl FromStr for Wallet {
    type Err = ParseIdError;

    /// An Ethereum address in any case, or an exact Solana address.
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
