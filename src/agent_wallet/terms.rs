//! Which of a server's terms are taken: pins that the agent has set only ever tighten them.

use purser_actors::agent_wallet::Addresses;
use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;

use crate::payment::evm::checksummed;
use crate::payment::solana::address::base58;
use crate::payment::terms::{BASE_USDC, SOLANA_USDC};
use crate::wallet::PaymentRequired;

/// What the agent insists on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pins {
    /// At most this.
    pub max_amount: Option<Usdc>,
    /// This token: the address of a contract or a mint.
    pub asset: Option<String>,
    /// On this network.
    pub network: Option<Network>,
    /// To this address.
    pub pay_to: Option<Wallet>,
}

/// An offer that may be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acceptable {
    /// Its place among the offers that are USDC.
    pub index: usize,
    /// Who is paid.
    pub to: Wallet,
    /// How much.
    pub amount: Usdc,
}

/// Why none of a server's offers may be taken; nothing is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoOffer {
    /// No plain USDC payment on a network that we know.
    #[error("The server asks for no USDC payment on Base or Solana that this wallet can make.")]
    None,
    /// None on the pinned network.
    #[error("The server offers no payment on the network of `expectedNetwork`.")]
    Network,
    /// None in the pinned token.
    #[error("The server asks for another asset than `expectedAsset`.")]
    Asset,
    /// None to the pinned address.
    #[error("The server asks for a payment to another address than `expectedPayTo`.")]
    PayTo,
    /// All above the pinned amount.
    #[error("The server asks for more than `maxAmountUsdc`.")]
    Amount,
}

impl Pins {
    /// The offers that every pin allows, in the server's order.
    ///
    /// # Errors
    /// [`NoOffer`]: the pin that the last of them failed at.
    pub fn acceptable(&self, required: &PaymentRequired, wallet: &Addresses) -> Result<Vec<Acceptable>, NoOffer> {
        let mut left: Vec<_> = required
            .offers()
            .enumerate()
            .filter(|(_, offer)| offer.is_plain(&wallet.on(offer.network)))
            .filter_map(|(index, offer)| Some((index, offer.pay_to()?, offer)))
            .filter(|(_, to, offer)| *to != wallet.on(offer.network))
            .collect();
        if left.is_empty() {
            return Err(NoOffer::None);
        }
        left.retain(|(_, _, offer)| self.network.is_none_or(|network| offer.network == network));
        if left.is_empty() {
            return Err(NoOffer::Network);
        }
        left.retain(|(_, _, offer)| self.asset.as_ref().is_none_or(|asset| is_usdc(asset, offer.network)));
        if left.is_empty() {
            return Err(NoOffer::Asset);
        }
        left.retain(|(_, to, _)| self.pay_to.is_none_or(|pinned| *to == pinned));
        if left.is_empty() {
            return Err(NoOffer::PayTo);
        }
        left.retain(|(_, _, offer)| self.max_amount.is_none_or(|most| offer.amount <= most));
        if left.is_empty() {
            return Err(NoOffer::Amount);
        }
        let taken = left.into_iter().map(|(index, to, offer)| Acceptable {
            index,
            to,
            amount: offer.amount,
        });
        Ok(taken.collect())
    }
}

/// Whether a pinned asset is USDC on a network. Addresses on Base have no case.
fn is_usdc(asset: &str, network: Network) -> bool {
    match network {
        Network::Base => asset.eq_ignore_ascii_case(&checksummed(&BASE_USDC)),
        Network::Solana => asset == base58(&SOLANA_USDC),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::{Value, json};

    use super::*;

    const SELLER: &str = "0x340b1dcb17d6c08cba513c4a769b97dafbac400a";
    const SELLER_ON_SOLANA: &str = "DjFZ8KRj9asdhHfK8LShTQroF4bCbSmJZRb6HMAANZ21";

    fn wallet() -> Addresses {
        Addresses {
            base: [7; 20],
            solana: [9; 32],
        }
    }

    fn base(amount: &str) -> Value {
        json!({"scheme": "exact", "network": "eip155:8453", "amount": amount, "asset": checksummed(&BASE_USDC),
            "payTo": SELLER, "maxTimeoutSeconds": 300, "extra": {"name": "USD Coin", "version": "2"}})
    }

    fn solana(amount: &str) -> Value {
        json!({"scheme": "exact", "network": Network::Solana.caip2(), "amount": amount, "asset": base58(&SOLANA_USDC),
            "payTo": SELLER_ON_SOLANA, "maxTimeoutSeconds": 300, "extra": {"feePayer": SELLER_ON_SOLANA}})
    }

    fn required(accepts: &[Value]) -> PaymentRequired {
        let json = json!({"x402Version": 2, "resource": {"url": "https://shop.example.com/"}, "accepts": accepts});
        PaymentRequired::from_header(STANDARD.encode(json.to_string()).as_bytes()).unwrap()
    }

    fn taken(pins: &Pins, accepts: &[Value]) -> Result<Vec<usize>, NoOffer> {
        let found = pins.acceptable(&required(accepts), &wallet())?;
        Ok(found.iter().map(|offer| offer.index).collect())
    }

    // Aim: without pins every plain USDC offer is taken in the server's order, and nothing else is: no other scheme, token
    // or network, no other way of transfer, nothing that would have the wallet pay itself or a transaction's fee.
    #[test]
    fn only_plain_usdc_is_paid() {
        let none = Pins::default();
        assert_eq!(taken(&none, &[solana("5"), base("7")]), Ok(vec![0, 1]));
        let with = |mut offer: Value, pointer: &str, value: Value| {
            *offer.pointer_mut(pointer).unwrap() = value;
            offer
        };
        let mut permit = base("5");
        permit["extra"]["assetTransferMethod"] = json!("permit2");
        let own = |network: Network| wallet().on(network).address();
        for foreign in [
            with(base("5"), "/scheme", json!("upto")),
            with(base("5"), "/network", json!("eip155:1")),
            with(base("5"), "/asset", json!(SELLER)),
            with(base("5"), "/amount", json!("5.5")),
            with(base("5"), "/payTo", json!("nobody")),
            with(base("5"), "/payTo", json!(SELLER_ON_SOLANA)),
            with(base("5"), "/payTo", json!(own(Network::Base))),
            with(solana("5"), "/payTo", json!(own(Network::Solana))),
            with(solana("5"), "/extra/feePayer", json!(own(Network::Solana))),
            permit,
        ] {
            assert_eq!(
                taken(&none, std::slice::from_ref(&foreign)),
                Err(NoOffer::None),
                "{foreign}"
            );
        }
    }

    // Aim: each pin takes offers away and none adds one; the refusal names the pin.
    #[test]
    fn pins_only_tighten() {
        let both = [solana("5000000"), base("7000000")];
        let pinned = |pins: Pins| taken(&pins, &both);
        let network = Some(Network::Base);
        assert_eq!(
            pinned(Pins {
                network,
                ..Pins::default()
            }),
            Ok(vec![1])
        );
        let asset = Some(checksummed(&BASE_USDC).to_lowercase());
        assert_eq!(
            pinned(Pins {
                asset,
                ..Pins::default()
            }),
            Ok(vec![1])
        );
        let asset = Some(SELLER.to_owned());
        assert_eq!(
            pinned(Pins {
                asset,
                ..Pins::default()
            }),
            Err(NoOffer::Asset)
        );
        let pay_to = Some(SELLER_ON_SOLANA.parse().unwrap());
        assert_eq!(
            pinned(Pins {
                pay_to,
                ..Pins::default()
            }),
            Ok(vec![0])
        );
        let pay_to = Some(Wallet::Evm([1; 20]));
        assert_eq!(
            pinned(Pins {
                pay_to,
                ..Pins::default()
            }),
            Err(NoOffer::PayTo)
        );
        let max_amount = Some(Usdc::from_atomic(5_000_000));
        assert_eq!(
            pinned(Pins {
                max_amount,
                ..Pins::default()
            }),
            Ok(vec![0])
        );
        let max_amount = Some(Usdc::from_atomic(4_999_999));
        assert_eq!(
            pinned(Pins {
                max_amount,
                ..Pins::default()
            }),
            Err(NoOffer::Amount)
        );
        let only = Pins {
            network,
            ..Pins::default()
        };
        assert_eq!(taken(&only, &[solana("5")]), Err(NoOffer::Network));
    }
}
