//! From a challenge to a signed payment header, in x402 v2, or in v1 for servers and tests that need it.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_PAD_INDIFFERENT};
use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::{Entropy, EvmAuthorization, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::WalletError;
use super::keys::{TestWallet, random_32};
use super::offered_token::{BaseToken, OfferedToken};
use super::solana::Transfer;
use crate::payment::decode::EvmPayload;
use crate::payment::evm::{domain_separator, parse_address};
use crate::payment::identifier;
use crate::payment::solana::address::{Pubkey, parse as parse_pubkey};
use crate::payment::terms::Token;

/// A decoded `PAYMENT-REQUIRED`. The parts that a payment echoes are stored as the server wrote them.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PaymentRequired {
    /// `Payment required`, or the reason of a rejection.
    #[serde(default)]
    pub error: Option<String>,
    #[serde(default)]
    resource: Option<Box<RawValue>>,
    accepts: Vec<Box<RawValue>>,
    #[serde(default)]
    extensions: Option<Box<RawValue>>,
}

/// One payable entry of `accepts`.
#[derive(Debug)]
pub struct Offer<'a> {
    pub network: Network,
    /// Amount with fees.
    pub amount: Usdc,
    raw: &'a RawValue,
    fields: OfferFields,
    token: OfferedToken,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfferFields {
    scheme: String,
    network: String,
    amount: String,
    asset: String,
    pay_to: String,
    max_timeout_seconds: u32,
    #[serde(default)]
    extra: OfferExtra,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfferExtra {
    name: Option<String>,
    version: Option<String>,
    fee_payer: Option<String>,
    memo: Option<String>,
    recent_blockhash: Option<String>,
    asset_transfer_method: Option<String>,
}

/// What a payment needs besides the key.
#[derive(Clone, Copy)]
pub struct SigningContext<'a> {
    pub now: Timestamp,
    /// For the nonce or the memo.
    pub entropy: &'a dyn Entropy,
    /// A recent blockhash from a node, for servers that give none.
    pub blockhash: Option<[u8; 32]>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PayloadV2<'a, P> {
    x402_version: u8,
    payload: P,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource: Option<&'a RawValue>,
    accepted: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    extensions: Option<&'a RawValue>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PayloadV1<'a, P> {
    x402_version: u8,
    scheme: &'a str,
    network: &'a str,
    payload: P,
}

#[derive(Serialize)]
#[serde(untagged)]
enum PayloadJson {
    Evm(EvmPayload),
    Solana { transaction: String },
}

/// Wallets back-date v1 payments, to allow for clocks that run ahead.
const V1_BACKDATED_SECONDS: u64 = 600;

impl PaymentRequired {
    /// Decodes the value of `PAYMENT-REQUIRED`.
    ///
    /// # Errors
    /// [`WalletError::BadChallenge`].
    pub fn from_header(value: &[u8]) -> Result<Self, WalletError> {
        let json = STANDARD_PAD_INDIFFERENT
            .decode(value.trim_ascii())
            .map_err(|_| WalletError::BadChallenge("PAYMENT-REQUIRED is not base64"))?;
        serde_json::from_slice(&json)
            .map_err(|_| WalletError::BadChallenge("PAYMENT-REQUIRED is not a payment challenge"))
    }

    /// The extensions, as JSON text.
    pub fn extensions(&self) -> Option<&str> {
        self.extensions.as_deref().map(RawValue::get)
    }

    /// Gives the purchase a name, if the server supports it. Another payment for the same request under that name gets
    /// the same result and is not charged. Returns whether the server supports it.
    pub fn identify(&mut self, identifier: &str) -> bool {
        let read = |raw: &RawValue| serde_json::from_str::<Value>(raw.get()).ok();
        let Some(mut extensions) = self.extensions.as_deref().and_then(read) else {
            return false;
        };
        let info = extensions.pointer_mut(&format!("/{}/info", identifier::NAME));
        let Some(info) = info.and_then(Value::as_object_mut) else {
            return false;
        };
        info.insert("id".to_owned(), identifier.into());
        self.extensions = RawValue::from_string(extensions.to_string()).ok();
        true
    }

    /// Every entry that is USDC on a supported chain, in the server's order.
    pub fn offers(&self) -> impl Iterator<Item = Offer<'_>> {
        self.accepts
            .iter()
            .filter_map(|raw| Offer::read(raw, OfferedToken::configured))
    }

    /// The first USDC entry on the given network, or on any; test networks count as the network that they test. Unknown
    /// entries are skipped.
    ///
    /// # Errors
    /// [`WalletError::NotOffered`].
    pub fn choose(&self, network: Option<Network>) -> Result<Offer<'_>, WalletError> {
        self.accepts
            .iter()
            .filter_map(|raw| Offer::read(raw, OfferedToken::anywhere))
            .find(|offer| network.is_none_or(|wanted| offer.network == wanted))
            .ok_or_else(|| WalletError::NotOffered(network.map_or("any network this wallet has", Network::name)))
    }
}

/// A payment as it was signed.
pub enum SignedPayment {
    Evm(EvmAuthorization),
    /// The wire transaction, signed by the payer alone.
    Solana(Vec<u8>),
}

impl<'a> Offer<'a> {
    pub fn pay_to(&self) -> Option<Wallet> {
        let wallet: Wallet = self.fields.pay_to.parse().ok()?;
        (wallet.network() == self.network).then_some(wallet)
    }

    /// The token, as the server wrote it.
    pub fn asset(&self) -> &str {
        &self.fields.asset
    }

    /// Seconds that the server allows for the payment.
    pub const fn seconds(&self) -> u32 {
        self.fields.max_timeout_seconds
    }

    /// Whether the offer is for the plain transfer that this wallet signs, and does not make it pay the fee of its own
    /// transaction.
    pub fn is_plain(&self, wallet: &Wallet) -> bool {
        let extra = &self.fields.extra;
        let own_fee = extra.fee_payer.as_ref().is_some_and(|payer| *payer == wallet.address());
        let method = extra.asset_transfer_method.as_deref().unwrap_or("eip3009");
        !own_fee && method == "eip3009"
    }

    /// Whether it is signed under this token's EIP-712 domain. On Solana there is none: a transaction names a block of
    /// its chain.
    pub fn is_signed_as(&self, token: &Token) -> bool {
        let extra = &self.fields.extra;
        let named = (extra.name.as_deref(), extra.version.as_deref());
        self.network == Network::Solana || named == (Some(token.name), Some(token.version))
    }

    /// The same offer, valid for at most this number of seconds.
    #[must_use]
    pub fn within(mut self, seconds: u32) -> Self {
        self.fields.max_timeout_seconds = self.fields.max_timeout_seconds.min(seconds);
        self
    }

    fn read(raw: &'a RawValue, token: fn(&str, &str) -> Option<OfferedToken>) -> Option<Self> {
        let fields: OfferFields = serde_json::from_str(raw.get()).ok()?;
        let token = token(&fields.network, &fields.asset).filter(OfferedToken::is_usdc)?;
        let amount = atomic(&fields.amount)?;
        (fields.scheme == "exact").then_some(Self {
            network: token.network(),
            amount,
            raw,
            fields,
            token,
        })
    }
}

/// An amount in x402's form: digits without a sign or leading zeros. Other implementations may parse other forms
/// differently.
fn atomic(text: &str) -> Option<Usdc> {
    let plain = text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| plain).map(Usdc::from_atomic)
}

impl TestWallet {
    /// The value of `PAYMENT-SIGNATURE` that pays this offer.
    ///
    /// # Errors
    /// [`WalletError::BadChallenge`] when the offer lacks what its network needs.
    pub fn pay(
        &self,
        required: &PaymentRequired,
        offer: &Offer<'_>,
        circumstances: &SigningContext<'_>,
    ) -> Result<String, WalletError> {
        self.pay_signed(required, offer, circumstances)
            .map(|(header, _)| header)
    }

    /// As [`TestWallet::pay`], with the signed payment.
    ///
    /// # Errors
    /// As [`TestWallet::pay`].
    pub fn pay_signed(
        &self,
        required: &PaymentRequired,
        offer: &Offer<'_>,
        circumstances: &SigningContext<'_>,
    ) -> Result<(String, SignedPayment), WalletError> {
        let signed = self.sign_offer(offer, 0, circumstances)?;
        let header = encode(&PayloadV2 {
            x402_version: 2,
            payload: PayloadJson::from(&signed),
            resource: required.resource.as_deref(),
            accepted: offer.raw,
            extensions: required.extensions.as_deref(),
        })?;
        Ok((header, signed))
    }

    /// The same payment in x402 v1, for `X-PAYMENT`.
    ///
    /// # Errors
    /// As [`TestWallet::pay`].
    pub fn pay_v1(&self, offer: &Offer<'_>, circumstances: &SigningContext<'_>) -> Result<String, WalletError> {
        let valid_after = circumstances.now.seconds().saturating_sub(V1_BACKDATED_SECONDS);
        let payload = PayloadJson::from(&self.sign_offer(offer, valid_after, circumstances)?);
        encode(&PayloadV1 {
            x402_version: 1,
            scheme: "exact",
            network: offer.network.name(),
            payload,
        })
    }

    fn sign_offer(
        &self,
        offer: &Offer<'_>,
        valid_after: u64,
        at: &SigningContext<'_>,
    ) -> Result<SignedPayment, WalletError> {
        match offer.token {
            OfferedToken::Base(token) => {
                let signed = self.sign_on_base(offer, token, valid_after, at);
                signed.map(SignedPayment::Evm)
            }
            OfferedToken::Solana { mint } => self.sign_on_solana(offer, mint, at).map(SignedPayment::Solana),
        }
    }

    fn sign_on_base(
        &self,
        offer: &Offer<'_>,
        token: BaseToken,
        valid_after: u64,
        at: &SigningContext<'_>,
    ) -> Result<EvmAuthorization, WalletError> {
        let OfferFields {
            pay_to,
            extra,
            max_timeout_seconds,
            ..
        } = &offer.fields;
        let to = parse_address(pay_to).ok_or(WalletError::BadChallenge("payTo is not an address"))?;
        let (Some(name), Some(version)) = (&extra.name, &extra.version) else {
            return Err(WalletError::BadChallenge(
                "the token's EIP-712 name and version are missing",
            ));
        };
        let domain = domain_separator(name, version, token.chain_id, &token.asset);
        let mut authorization = EvmAuthorization {
            from: self.evm_address(),
            to,
            value: offer.amount,
            valid_after,
            valid_before: at.now.seconds().saturating_add(u64::from(*max_timeout_seconds)),
            nonce: random_32(at.entropy),
            signature: [0; 65].into(),
        };
        self.sign_transfer(&domain, &mut authorization);
        Ok(authorization)
    }

    fn sign_on_solana(&self, offer: &Offer<'_>, mint: Pubkey, at: &SigningContext<'_>) -> Result<Vec<u8>, WalletError> {
        let extra = &offer.fields.extra;
        let key = |text: Option<&str>, missing: &'static str| -> Result<Pubkey, WalletError> {
            text.and_then(parse_pubkey).ok_or(WalletError::BadChallenge(missing))
        };
        let blockhash = match at.blockhash {
            Some(blockhash) => blockhash,
            None => key(
                extra.recent_blockhash.as_deref(),
                "it carries no recentBlockhash, and no Solana node was given",
            )?,
        };
        let memo = extra
            .memo
            .clone()
            .unwrap_or_else(|| format!("{:032x}", at.entropy.random()));
        let transfer = Transfer {
            fee_payer: key(extra.fee_payer.as_deref(), "feePayer is not an address")?,
            pay_to: key(Some(&offer.fields.pay_to), "payTo is not an address")?,
            mint,
            amount: offer.amount.atomic(),
            blockhash,
            memo: &memo,
        };
        let draft = self
            .draft_transfer(&transfer)
            .ok_or(WalletError::BadChallenge("payTo has no token account"))?;
        Ok(self.sign_draft(&draft))
    }
}

impl From<&SignedPayment> for PayloadJson {
    fn from(signed: &SignedPayment) -> Self {
        match signed {
            SignedPayment::Evm(authorization) => Self::Evm(EvmPayload::from(authorization)),
            SignedPayment::Solana(wire) => Self::Solana {
                transaction: STANDARD.encode(wire),
            },
        }
    }
}

fn encode(payload: &impl Serialize) -> Result<String, WalletError> {
    let json = serde_json::to_vec(payload).map_err(|_| WalletError::BadChallenge("it cannot be echoed"))?;
    Ok(STANDARD.encode(json))
}
