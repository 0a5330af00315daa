//! A top-up: USDC paid to us, brought to the holder's deposit address at the card issuer.
//!
//! ```text
//! paid --burn (paid on Solana)--> bridging --mint--> delivered --issuer--> CREDITED
//!   | `---transfer (paid on Base)--------------------^
//!   |                                `--proof that it can never be minted--> FAILED, the whole charge credited
//!   `--proof that nothing left, or that it never can-----------------------> FAILED, the whole charge credited
//! ```
//!
//! Each step is durable before it is sent, with the bytes that are sent and the name by which the chain shows them: a
//! burn or transfer that may have landed is looked up, never made again; one that provably cannot land is signed anew, a
//! few times. Once the burn is confirmed the only way is forward. Once it is delivered nothing is given back: what the
//! issuer does not credit is stuck with that name.

mod machine;

use purser_storage::RowKey;
use purser_storage::codec::Stored;

use crate::id::{JobId, Network, TopUpId, Wallet};
use crate::kernel::{EntityKind, table};
use crate::ledger::Charge;
use crate::money::{Cents, Usdc};
use crate::operator::AuditedAction;
use crate::port::{AttestedMessage, BridgeTransfer, ExternalText, SignedBurn, SignedMint, Timestamp};
use crate::withdrawal::SignedTransfer;

/// How often a first leg is signed before it is given up.
pub const MAX_SIGNING_ATTEMPTS: u8 = 3;

/// The account at the issuer was unlinked before anything was sent.
pub const ISSUER_NOT_LINKED: &str = "issuer_unlinked";
/// The first leg lapsed on the way to the chain, as often as it was signed.
pub const SIGNATURE_EXPIRED: &str = "delivery_lapsed";
/// The first leg could not be signed, as often as it was tried.
pub const UNAVAILABLE: &str = "delivery_unavailable";
/// The first leg was refused for good, or would have been refused and was not sent.
pub const DECLINED: &str = "delivery_refused";
/// The burn can never be minted.
pub const MINT_IMPOSSIBLE: &str = "mint_impossible";

/// A top-up's state.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct TopUp {
    /// Who paid for it, and whose card balance it loads.
    pub owner: Wallet,
    /// What it cost; credited if it fails.
    pub charge: Charge,
    /// What arrives, to the atomic unit.
    pub amount: Cents,
    /// Where it was paid: over the bridge from Solana, forwarded on Base.
    pub rail: Network,
    /// The holder's deposit address on Base, as it was when the purchase was admitted.
    pub address: [u8; 20],
    /// What is on a chain, oldest first; at most two.
    pub legs: Vec<TransferLeg>,
    /// What left our treasury for it, once something did.
    pub outgoing_amount: Usdc,
    /// How often its first leg lapsed.
    pub expired_signatures: u8,
    /// When it was bought.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Where it stands.
    pub status: Status,
}

/// One transfer on a chain.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct TransferLeg {
    /// `burn`, `mint` or `transfer`.
    pub leg: LegKind,
    /// The transaction.
    pub transaction: String,
    /// When it was seen.
    pub at: Timestamp,
}

/// Which leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum LegKind {
    /// Out of our treasury on Solana.
    Burn,
    /// To the deposit address, by the bridge.
    Mint,
    /// To the deposit address, out of our treasury on Base.
    Transfer,
    /// A mint of this amount, which is more than was bought: the bridge took less than its highest fee.
    MintOf(Usdc),
    /// A transfer to the deposit address, out of our treasury on Base, and by what the chain shows it in whatever transaction: see
    /// [`crate::port::Authorization::mark`]. Rows of before have [`Self::Transfer`].
    TransferSigned([u8; 32]),
}

impl LegKind {
    /// By what the chain shows it, where it is the same in whatever transaction it lands and was kept.
    pub const fn fingerprint(self) -> Option<[u8; 32]> {
        match self {
            Self::TransferSigned(mark) => Some(mark),
            Self::Burn | Self::Mint | Self::MintOf(_) | Self::Transfer => None,
        }
    }

    /// In answers and events.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Burn => "burn",
            Self::Mint | Self::MintOf(_) => "mint",
            Self::Transfer | Self::TransferSigned(_) => "transfer",
        }
    }
}

/// Where a top-up stands.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// Nothing has arrived anywhere; with what was signed for the first leg, once something was.
    Paid(Option<Box<FirstLeg>>),
    /// Burned, not minted yet.
    Bridging(Box<BridgeProgress>),
    /// At the deposit address.
    Delivered,
    /// In the card balance.
    Credited,
    /// Not delivered; the charge is credited.
    Failed {
        /// A code.
        reason: ExternalText,
    },
}

/// A first leg that is signed and may be on its way.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum FirstLeg {
    /// Into the bridge.
    Burn(SignedBurn),
    /// Straight to the deposit address.
    Transfer(SignedTransfer),
}

impl FirstLeg {
    /// What the chain shows of it, where it is the same however often it is signed.
    pub const fn fingerprint(&self) -> Option<[u8; 32]> {
        match self {
            Self::Burn(_) => None,
            Self::Transfer(out) => Some(out.authorization.fingerprint()),
        }
    }
}

/// What is known of a burned top-up.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct BridgeProgress {
    /// The burn.
    pub burn: SignedBurn,
    /// The attesters' word, the newest if theirs has lapsed.
    pub attested: Option<AttestedMessage>,
    /// The mint that was last sent, or is about to be.
    pub mint: Option<SignedMint>,
}

/// What may be asked.
#[derive(Clone, Debug)]
pub enum Command {
    /// The first leg is about to be sent.
    RecordSigned(FirstLeg),
    /// The first leg, as signed, is not on chain and never will be.
    RecordExpired {
        /// The effect that proved it.
        job: JobId,
        /// How many had lapsed before this one: the proof is about no other.
        round: u8,
    },
    /// An operator says that this burn, which left before a restore, was its own.
    AttributeBurn {
        /// The effect that would send it.
        job: JobId,
        /// The burn, of which no more is known than its transaction and amount.
        burn: SignedBurn,
        /// Which transfer of its transaction: see [`crate::port::Movement::index`].
        index: u32,
        /// The transaction of the burn that was signed here before, once the chain has shown that it never will land: only then
        /// there may be another. `None` for a top-up that has signed none.
        expired_burn: Option<String>,
        /// Who says so.
        act: AuditedAction,
        /// In the operator's words.
        evidence: String,
    },
    /// The first leg is on chain.
    RecordConfirmed {
        /// The effect that saw it.
        job: JobId,
        /// The transaction.
        transaction: String,
    },
    /// The burn is attested; or attested again, since the word on it has lapsed.
    RecordAttestation(AttestedMessage),
    /// A mint is about to be sent.
    RecordMintSigned(SignedMint),
    /// The mint is on chain, whoever sent it.
    RecordMinted {
        /// The effect that saw it.
        job: JobId,
        /// The transaction.
        transaction: String,
    },
    /// The issuer counts it.
    RecordIssuerCredit {
        /// The effect that was told.
        job: JobId,
    },
    /// Nothing left and nothing will; or, once it is attested, nothing can ever be minted. A proof, never a guess.
    Fail {
        /// The effect that proved it.
        job: JobId,
        /// A code.
        reason: ExternalText,
    },
}

/// What may happen.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// Bought.
    Paid {
        /// By whom.
        owner: Wallet,
        /// For what.
        charge: Charge,
        /// To arrive.
        amount: Cents,
        /// Where it was paid.
        rail: Network,
        /// Where it goes.
        address: [u8; 20],
        /// When.
        at: Timestamp,
    },
    /// The first leg is signed.
    Signed(Box<FirstLeg>, Timestamp),
    /// It never landed and is to be signed anew.
    SignatureExpired(Timestamp),
    /// Burned.
    Burned(String, Timestamp),
    /// Forwarded.
    Forwarded(String, Timestamp),
    /// Attested.
    Attested(Box<AttestedMessage>, Timestamp),
    /// A mint is signed.
    MintSigned(Box<SignedMint>, Timestamp),
    /// Minted.
    Minted(String, Timestamp),
    /// In the card balance.
    Credited(Timestamp),
    /// Not delivered.
    Failed(ExternalText, Timestamp),
}

/// Why a command was refused: the state it met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection(pub &'static str);

impl Stored for TopUp {
    const SCHEMA: u16 = 88;
}

impl Stored for Event {
    const SCHEMA: u16 = 89;
}

impl TopUp {
    /// What arrives, in USDC: at least this over the bridge.
    pub const fn delivered_amount(&self) -> Usdc {
        self.charge.provider_amount()
    }

    /// The crossing that a top-up paid on Solana needs.
    pub const fn bridge_transfer(&self, id: TopUpId) -> BridgeTransfer {
        BridgeTransfer {
            key: id.0,
            to: self.address,
            delivered_amount: self.delivered_amount(),
        }
    }

    /// What left our treasury: its burn, or the transfer on Base. The mint is not ours.
    pub fn outgoing_leg(&self) -> Option<&TransferLeg> {
        let of_ours = |leg: &&TransferLeg| !matches!(leg.leg, LegKind::Mint | LegKind::MintOf(_));
        self.legs.iter().find(of_ours)
    }

    /// What was sent or minted to the deposit address, once that is on chain.
    pub fn delivered(&self) -> Option<(&str, Usdc)> {
        self.legs.iter().find_map(|known| match known.leg {
            LegKind::Burn => None,
            LegKind::Mint | LegKind::Transfer | LegKind::TransferSigned(_) => {
                Some((known.transaction.as_str(), self.delivered_amount()))
            }
            LegKind::MintOf(amount) => Some((known.transaction.as_str(), amount)),
        })
    }

    /// What arrived beyond what was bought.
    pub fn surplus(&self) -> Usdc {
        let delivered = self.delivered().map_or(Usdc::ZERO, |(_, amount)| amount);
        delivered.checked_sub(self.delivered_amount()).unwrap_or(Usdc::ZERO)
    }

    /// USDC of its charge on the account's balance.
    pub const fn credited(&self) -> Usdc {
        match self.status {
            Status::Failed { .. } => self.charge.charged,
            _ => Usdc::ZERO,
        }
    }

    /// Where a top-up is listed among what its owner has: the newest comes first.
    pub fn list_key(owner: &Wallet, bought: Timestamp, id: TopUpId) -> RowKey {
        table::owner_index_entry(owner, EntityKind::TopUp, Timestamp(u64::MAX - bought.0), id.0)
    }

    /// The transaction of a leg, once it is on chain. Legs of one name in answers are one.
    pub fn transaction(&self, leg: LegKind) -> Option<&str> {
        let found = self.legs.iter().find(|known| known.leg.name() == leg.name());
        found.map(|known| known.transaction.as_str())
    }
}
