//! A top-up: USDC paid to us and delivered to the account owner's deposit address at the card issuer.
//!
//! ```text
//! paid --burn (paid on Solana)--> bridging --mint--> delivered --issuer--> CREDITED
//!   | `---transfer (paid on Base)--------------------^
//!   |                                `--proof that it can never be minted--> FAILED, the whole charge credited
//!   `--proof that nothing left, or that it never can-----------------------> FAILED, the whole charge credited
//! ```
//!
//! Each step is durable before it is sent, with the bytes that are sent and the fingerprint by which the chain shows
//! them. A burn or transfer that may have settled is looked up, never made again. One that provably can never settle is
//! signed again, up to [`MAX_SIGNING_ATTEMPTS`] times. Once the burn is confirmed, the top-up can only go forward.
//! After delivery nothing is credited: if the issuer does not credit it, its job is dead-lettered.

mod job;
mod machine;
mod product;
mod view;

pub use self::view::{DepositNetwork, TopUpLegView, TopUpView};
use purser_storage::RowKey;
use purser_storage::codec::Stored;

use crate::entity::withdrawal::SignedTransfer;
use crate::id::{JobId, Network, TopUpId, Wallet};
use crate::kernel::{EntityKind, table};
use crate::ledger::Charge;
use crate::money::{Cents, Usdc};
use crate::operator::AuditedAction;
use crate::port::{AttestedMessage, BridgeTransfer, ExternalText, SignedBurn, SignedMint, Timestamp};

pub use self::job::Job;
pub use self::product::{CardBalancePurchase, DepositAddress, TopUpTerms};

/// How often a first leg is signed before the top-up fails.
pub const MAX_SIGNING_ATTEMPTS: u8 = 3;

/// The account at the issuer was unlinked before anything was sent.
pub const ISSUER_NOT_LINKED: &str = "issuer_not_linked";
/// The first leg expired each time before it reached the chain.
pub const SIGNATURE_EXPIRED: &str = "delivery_expired";
/// The first leg could not be signed in any attempt.
pub const UNAVAILABLE: &str = "delivery_unavailable";
/// The first leg was declined permanently, or would have been declined and was not sent.
pub const DECLINED: &str = "delivery_declined";
/// The burn can never be minted.
pub const MINT_IMPOSSIBLE: &str = "mint_impossible";

/// State of a top-up.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct TopUp {
    /// Account that paid for it; its card balance is loaded.
    pub owner: Wallet,
    /// Charge paid for it; credited if it fails.
    pub charge: Charge,
    /// Amount delivered, exact to the atomic unit.
    pub amount: Cents,
    /// Network of the payment: Solana goes over the bridge, Base is forwarded.
    pub rail: Network,
    /// Deposit address on Base, as it was when the purchase was admitted.
    pub address: [u8; 20],
    /// Transfers on chain, oldest first; at most two.
    pub legs: Vec<TransferLeg>,
    /// Amount that left our treasury for it, once it did.
    pub outgoing_amount: Usdc,
    /// How often its first leg expired.
    pub expired_signatures: u8,
    /// Time of the purchase.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// Status, with the transfers of the current leg.
    pub status: Status,
}

/// One transfer on a chain.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct TransferLeg {
    /// `burn`, `mint` or `transfer`.
    pub leg: LegKind,
    /// Transaction id on its chain.
    pub transaction: String,
    /// Time when it was observed.
    pub at: Timestamp,
}

/// Kind of leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum LegKind {
    /// Out of our treasury on Solana.
    Burn,
    /// To the deposit address, by the bridge.
    Mint,
    /// To the deposit address, from our treasury on Base.
    Transfer,
    /// A mint of this amount, which exceeds the purchase because the bridge took less than its maximum fee.
    MintOf(Usdc),
    /// A transfer to the deposit address from our treasury on Base, with its fingerprint on the chain: see
    /// [`crate::port::Authorization::fingerprint`]. Older rows have [`Self::Transfer`].
    TransferSigned([u8; 32]),
}

impl LegKind {
    /// Fingerprint on the chain, if it was stored and is the same in every transaction.
    pub const fn fingerprint(self) -> Option<[u8; 32]> {
        match self {
            Self::TransferSigned(fingerprint) => Some(fingerprint),
            Self::Burn | Self::Mint | Self::MintOf(_) | Self::Transfer => None,
        }
    }

    /// Name in API responses and events.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Burn => "burn",
            Self::Mint | Self::MintOf(_) => "mint",
            Self::Transfer | Self::TransferSigned(_) => "transfer",
        }
    }
}

crate::answer::serialize_as_name!(LegKind);

/// Status of a top-up.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// Nothing was delivered yet; holds the signed first leg, once there is one.
    Paid(Option<Box<FirstLeg>>),
    /// Burned, not minted yet.
    Bridging(Box<BridgeProgress>),
    /// The USDC is at the deposit address.
    Delivered,
    /// The issuer credited the card balance.
    Credited,
    /// Not delivered; the charge is credited.
    Failed {
        /// Stable code of the failure.
        reason: ExternalText,
    },
}

/// A signed first leg, which may already be sent.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum FirstLeg {
    /// A burn for the bridge.
    Burn(SignedBurn),
    /// A transfer to the deposit address.
    Transfer(SignedTransfer),
}

impl FirstLeg {
    /// Fingerprint on the chain, if it is the same however often the leg is signed.
    pub const fn fingerprint(&self) -> Option<[u8; 32]> {
        match self {
            Self::Burn(_) => None,
            Self::Transfer(out) => Some(out.authorization.fingerprint()),
        }
    }
}

/// Progress of a burned top-up.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct BridgeProgress {
    /// The signed burn.
    pub burn: SignedBurn,
    /// The attesters' message; the newest one if an earlier one expired.
    pub attested: Option<AttestedMessage>,
    /// The latest mint that was sent or is about to be.
    pub mint: Option<SignedMint>,
}

/// Commands to a top-up.
#[derive(Clone, Debug)]
pub enum Command {
    /// The first leg is signed and about to be sent.
    RecordSigned(FirstLeg),
    /// The first leg, as signed, is not on chain and can never settle.
    RecordExpired {
        /// Job that proved it.
        job: JobId,
        /// Number of earlier expired signatures: the proof is about this one only.
        round: u8,
    },
    /// An operator attributes a burn that left before a restore to this top-up.
    AttributeBurn {
        /// Job that would send it.
        job: JobId,
        /// The burn; only its transaction and amount are known.
        burn: SignedBurn,
        /// Index of the transfer in its transaction: see [`crate::port::ChainMovement::index`].
        index: u32,
        /// Transaction of the burn that was signed here before, once the chain has shown that it can never settle; only
        /// then another burn is allowed. `None` if the top-up has signed none.
        expired_burn: Option<String>,
        /// Operator action for the audit log.
        act: AuditedAction,
        /// The operator's evidence, as entered.
        evidence: String,
    },
    /// The first leg is confirmed on chain.
    RecordConfirmed {
        /// Job that observed it.
        job: JobId,
        /// Transaction id on its chain.
        transaction: String,
    },
    /// The burn is attested, or attested again because the message expired.
    RecordAttestation(AttestedMessage),
    /// A mint is about to be sent.
    RecordMintSigned(SignedMint),
    /// The mint is on chain, whichever party sent it.
    RecordMinted {
        /// Job that observed it.
        job: JobId,
        /// Transaction id on its chain.
        transaction: String,
    },
    /// The issuer credited the card balance.
    RecordIssuerCredit {
        /// Job that received the issuer's response.
        job: JobId,
    },
    /// Nothing was sent and nothing will be; or, once it is attested, nothing can ever be minted. Requires proof.
    Fail {
        /// Job that proved it.
        job: JobId,
        /// Stable code of the failure.
        reason: ExternalText,
    },
}

/// Events of a top-up.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// The payment for it settled.
    Paid {
        /// Account that pays for it.
        owner: Wallet,
        /// Charge paid for it.
        charge: Charge,
        /// Amount to deliver.
        amount: Cents,
        /// Network of the payment.
        rail: Network,
        /// Deposit address that receives it.
        address: [u8; 20],
        /// Time of the event.
        at: Timestamp,
    },
    /// The first leg is signed.
    Signed(Box<FirstLeg>, Timestamp),
    /// The signed leg can never settle; it will be signed again.
    SignatureExpired(Timestamp),
    /// The burn is confirmed.
    Burned(String, Timestamp),
    /// The transfer is confirmed.
    Forwarded(String, Timestamp),
    /// The burn is attested.
    Attested(Box<AttestedMessage>, Timestamp),
    /// A mint is signed.
    MintSigned(Box<SignedMint>, Timestamp),
    /// The mint is confirmed.
    Minted(String, Timestamp),
    /// The issuer credited the card balance.
    Credited(Timestamp),
    /// The top-up was not delivered.
    Failed(ExternalText, Timestamp),
}

crate::state_machine! { TopUp, Status, Event;
    states {
        Paid = "paid", Bridging = "bridging", Delivered = "delivered", Credited = "credited", Failed = "failed",
    }
    events {
        Paid "paid" { - => Paid: "settlement of the payment" }
        Signed - { Paid }
        SignatureExpired - { Paid }
        Burned "bridging" { Paid => Bridging: "burn found on chain" }
        Forwarded "delivered" { Paid => Delivered: "transfer found on Base" }
        Attested - { Bridging }
        MintSigned - { Bridging }
        Minted "delivered" { Bridging => Delivered: "mint found on Base" }
        Credited "credited" { Delivered => Credited: "credit at the issuer" }
        Failed "failed" {
            Paid => Failed: "proof that nothing was or can be sent; charge credited",
            Bridging => Failed: "proof that the mint cannot happen; charge credited",
        }
    }
}

/// Reason why a top-up rejects a command: its current state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection(pub &'static str);

impl Stored for TopUp {
    const SCHEMA: u16 = 88;
}

impl Stored for Event {
    const SCHEMA: u16 = 89;
}

impl TopUp {
    /// Delivered amount in USDC: over the bridge at least this.
    pub const fn delivered_amount(&self) -> Usdc {
        self.charge.provider_amount()
    }

    /// Bridge transfer for a top-up that was paid on Solana.
    pub const fn bridge_transfer(&self, id: TopUpId) -> BridgeTransfer {
        BridgeTransfer {
            key: id.0,
            to: self.address,
            delivered_amount: self.delivered_amount(),
        }
    }

    /// Leg that left our treasury: the burn, or the transfer on Base. The mint is not sent from our treasury.
    pub fn outgoing_leg(&self) -> Option<&TransferLeg> {
        let of_ours = |leg: &&TransferLeg| !matches!(leg.leg, LegKind::Mint | LegKind::MintOf(_));
        self.legs.iter().find(of_ours)
    }

    /// Transaction and amount that reached the deposit address, once it is on chain.
    pub fn delivered(&self) -> Option<(&str, Usdc)> {
        self.legs.iter().find_map(|known| match known.leg {
            LegKind::Burn => None,
            LegKind::Mint | LegKind::Transfer | LegKind::TransferSigned(_) => {
                Some((known.transaction.as_str(), self.delivered_amount()))
            }
            LegKind::MintOf(amount) => Some((known.transaction.as_str(), amount)),
        })
    }

    /// Amount delivered beyond the purchase.
    pub fn surplus(&self) -> Usdc {
        let delivered = self.delivered().map_or(Usdc::ZERO, |(_, amount)| amount);
        delivered.checked_sub(self.delivered_amount()).unwrap_or(Usdc::ZERO)
    }

    /// Row key in the owner's list of top-ups, newest first.
    pub fn list_key(owner: &Wallet, bought: Timestamp, id: TopUpId) -> RowKey {
        table::owner_index_entry(owner, EntityKind::TopUp, Timestamp(u64::MAX - bought.0), id.0)
    }

    /// Transaction of a leg, once it is on chain. Legs with the same public name count as one.
    pub fn transaction(&self, leg: LegKind) -> Option<&str> {
        let found = self.legs.iter().find(|known| known.leg.name() == leg.name());
        found.map(|known| known.transaction.as_str())
    }
}
