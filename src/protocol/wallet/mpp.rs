//! From an MPP challenge to a signed credential: method `evm`, intent `charge`, USDC on Base.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use purser_actors::money::Usdc;
use purser_actors::port::{EvmAuthorization, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::WalletError;
use super::keys::TestWallet;
use crate::payment::decode::{EvmFields, EvmPayload};
use crate::payment::evm::{checksummed, parse_address};
use crate::payment::mpp::params::{AuthChallenge, challenges};
use crate::payment::mpp::{INTENT, METHOD, nonce};
use crate::payment::terms::Token;
use crate::rfc3339;

/// The `payload` of a credential.
#[derive(Serialize)]
struct ChargePayload {
    r#type: &'static str,
    #[serde(flatten)]
    authorization: EvmFields,
    signature: String,
}

/// A charge that this wallet can pay, from `WWW-Authenticate`.
#[derive(Clone, Debug)]
pub struct MppOffer {
    /// Amount with fees.
    pub amount: Usdc,
    pay_to: [u8; 20],
    token: Token,
    expires: Timestamp,
    /// The parameters, returned to the server unchanged.
    echo: Map<String, Value>,
    nonce: [u8; 32],
}

/// The parameter `request`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    amount: String,
    currency: String,
    recipient: String,
    method_details: Details,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Details {
    chain_id: u64,
    #[serde(default)]
    credential_types: Vec<String>,
    splits: Option<Value>,
}

impl MppOffer {
    /// The first charge of USDC on Base among the challenges of a field. Unknown challenges are skipped.
    ///
    /// # Errors
    /// [`WalletError::BadChallenge`] when the field cannot be parsed, [`WalletError::NotOffered`].
    pub fn from_header(field: &str) -> Result<Self, WalletError> {
        let all = challenges(field).ok_or(WalletError::BadChallenge("WWW-Authenticate cannot be read"))?;
        all.into_iter()
            .find_map(Self::read)
            .ok_or(WalletError::NotOffered("base by MPP"))
    }

    fn read(challenge: AuthChallenge) -> Option<Self> {
        let params = &challenge.params;
        let text = |name: &str| params.get(name).map(String::as_str);
        // Credentials in another field than `Authorization` are not supported.
        let known = challenge.scheme.eq_ignore_ascii_case("payment")
            && (text("method"), text("intent"), text("header")) == (Some(METHOD), Some(INTENT), None);
        let json = URL_SAFE_NO_PAD.decode(text("request")?).ok()?;
        let request: Request = serde_json::from_slice(&json).ok().filter(|_| known)?;
        let details = request.method_details;
        let token = Token::charged(&parse_address(&request.currency)?)?;
        let payable = details.chain_id == token.chain_id
            && details.credential_types.iter().any(|kind| kind == "authorization")
            && details.splits.is_none();
        let nonce = nonce(text("id")?, text("realm")?);
        let offer = Self {
            amount: Usdc::from_atomic(request.amount.parse().ok()?),
            pay_to: parse_address(&request.recipient)?,
            token,
            expires: rfc3339::parse(text("expires")?)?,
            nonce,
            echo: challenge
                .params
                .into_iter()
                .map(|(name, value)| (name, value.into()))
                .collect(),
        };
        payable.then_some(offer)
    }
}

impl TestWallet {
    /// The value of `Authorization` that pays this charge. It is valid until the challenge expires.
    pub fn pay_mpp(&self, offer: &MppOffer) -> String {
        let mut signed = EvmAuthorization {
            from: self.evm_address(),
            to: offer.pay_to,
            value: offer.amount,
            valid_after: 0,
            valid_before: offer.expires.seconds(),
            nonce: offer.nonce,
            signature: [0; 65].into(),
        };
        self.sign_transfer(&offer.token.mpp_domain(), &mut signed);
        let EvmPayload {
            authorization,
            signature,
        } = EvmPayload::from(&signed);
        let credential = json!({
            "challenge": offer.echo,
            "payload": ChargePayload {
                r#type: "authorization",
                authorization,
                signature,
            },
            "source": format!("did:pkh:eip155:{}:{}", offer.token.chain_id, checksummed(&signed.from)),
        });
        format!("Payment {}", URL_SAFE_NO_PAD.encode(credential.to_string()))
    }
}
