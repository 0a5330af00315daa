//! Selects an offer from a server's terms. Pins that the agent has set only ever restrict the choice.

use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::WalletAddresses;
use purser_storage::mutants::{self, Mutant};

use crate::payment::chains::Chains;
use crate::payment::evm::checksummed;
use crate::payment::solana::address::{associated_token_account, base58};
use crate::payment::terms::{Token, can_own_usdc};
use crate::wallet::PaymentRequired;

/// Restrictions that the agent has set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PaymentPins {
    pub max_amount: Option<Usdc>,
    /// Address of a token contract or a mint.
    pub asset: Option<String>,
    pub network: Option<Network>,
    pub pay_to: Option<Wallet>,
}

/// All addresses at which this service receives payments, in every form a server may use.
#[derive(Clone, Debug, Default)]
pub struct OwnAddresses(Vec<Wallet>);

impl OwnAddresses {
    /// The treasuries, and the account of each that holds USDC on Solana.
    pub fn of(treasuries: impl IntoIterator<Item = Wallet>) -> Self {
        let with_accounts = |treasury| match treasury {
            Wallet::Solana(owner) => {
                let account = associated_token_account(&owner, &Chains::configured().solana.mint).map(Wallet::Solana);
                [Some(treasury), account]
            }
            Wallet::Evm(_) => [Some(treasury), None],
        };
        Self(treasuries.into_iter().flat_map(with_accounts).flatten().collect())
    }

    /// Whether this address belongs to the service.
    pub fn has(&self, to: &Wallet) -> bool {
        self.0.contains(to)
    }
}

/// An offer that may be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SelectedOffer {
    /// Its index among the USDC offers.
    pub index: usize,
    pub to: Wallet,
    pub amount: Usdc,
}

/// Why none of a server's offers may be taken; nothing is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OfferRejection {
    /// No plain USDC payment on a supported network.
    #[error("The server asks for no USDC payment on Base or Solana that this wallet can make.")]
    None,
    /// Only offers with a zero amount.
    #[error("The server asks for a payment of 0 USDC, and nothing is signed for nothing.")]
    Zero,
    /// Only offers that expire before they are signed.
    #[error("The server's terms leave no time to pay: `maxTimeoutSeconds` is 0.")]
    NoTime,
    /// Only offers under another token's EIP-712 domain: the signature could be used on another chain.
    #[error("The server asks for a signature for another token than `{0}`, which this wallet pays with.")]
    Domain(&'static str),
    /// Only offers that pay this service: another server replays our own terms and would receive the purchase's result.
    #[error("The server asks for a payment to this service itself. To buy from it, name its `route`.")]
    OwnTerms,
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

impl OfferRejection {
    /// Machine-readable reason, except for a pin that the agent has set.
    pub const fn reason(self) -> Option<&'static str> {
        match self {
            Self::OwnTerms => Some("own_terms"),
            _ => None,
        }
    }
}

impl PaymentPins {
    /// The offers that every pin allows, that are signed under the domain of `token` and that pay none of
    /// `own`. They stay in the server's order. For our own routes `own` is empty.
    ///
    /// # Errors
    /// [`OfferRejection`]: the check that the last of them failed.
    pub fn select(
        &self,
        required: &PaymentRequired,
        wallet: &WalletAddresses,
        own: &OwnAddresses,
        token: &Token,
    ) -> Result<Vec<SelectedOffer>, OfferRejection> {
        let mut left: Vec<_> = required
            .offers()
            .enumerate()
            .filter(|(_, offer)| offer.is_plain(&wallet.on(offer.network)))
            .filter_map(|(index, offer)| Some((index, offer.pay_to()?, offer)))
            .filter(|(_, to, offer)| *to != wallet.on(offer.network) && can_own_usdc(to))
            .collect();
        if left.is_empty() {
            return Err(OfferRejection::None);
        }
        left.retain(|(_, _, offer)| offer.amount > Usdc::ZERO);
        if left.is_empty() {
            return Err(OfferRejection::Zero);
        }
        left.retain(|(_, _, offer)| offer.seconds() > 0);
        if left.is_empty() {
            return Err(OfferRejection::NoTime);
        }
        left.retain(|(_, _, offer)| offer.is_signed_as(token));
        if left.is_empty() {
            return Err(OfferRejection::Domain(token.name));
        }
        left.retain(|(_, to, _)| !own.has(to) || mutants::is_enabled(Mutant::ForeignOfferToTreasuryPaid));
        if left.is_empty() {
            return Err(OfferRejection::OwnTerms);
        }
        left.retain(|(_, _, offer)| self.network.is_none_or(|network| offer.network == network));
        if left.is_empty() {
            return Err(OfferRejection::Network);
        }
        left.retain(|(_, _, offer)| self.asset.as_ref().is_none_or(|asset| is_usdc(asset, offer.network)));
        if left.is_empty() {
            return Err(OfferRejection::Asset);
        }
        left.retain(|(_, to, _)| self.pay_to.is_none_or(|pinned| *to == pinned));
        if left.is_empty() {
            return Err(OfferRejection::PayTo);
        }
        left.retain(|(_, _, offer)| self.max_amount.is_none_or(|most| offer.amount <= most));
        if left.is_empty() {
            return Err(OfferRejection::Amount);
        }
        let taken = left.into_iter().map(|(index, to, offer)| SelectedOffer {
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
        Network::Base => asset.eq_ignore_ascii_case(&checksummed(&Chains::configured().base.token.asset)),
        Network::Solana => asset == base58(&Chains::configured().solana.mint),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::{Value, json};

    use super::*;
    use crate::payment::terms::{BASE_USDC, SOLANA_USDC};

    const SELLER: &str = "0x340b1dcb17d6c08cba513c4a769b97dafbac400a";
    const SELLER_ON_SOLANA: &str = "DjFZ8KRj9asdhHfK8LShTQroF4bCbSmJZRb6HMAANZ21";

    fn wallet() -> WalletAddresses {
        WalletAddresses {
            base: [7; 20],
            solana: [9; 32],
        }
    }

    fn own_addresses() -> OwnAddresses {
        OwnAddresses::of([Wallet::Evm([3; 20]), Wallet::Solana([4; 32])])
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

    fn select_all(pins: &PaymentPins, accepts: &[Value]) -> Result<Vec<usize>, OfferRejection> {
        let found = pins.select(&required(accepts), &wallet(), &own_addresses(), &Token::USDC)?;
        Ok(found.iter().map(|offer| offer.index).collect())
    }

    // Checks: without pins, every plain USDC offer is accepted in the server's order. Any other scheme, token, network
    // or transfer method is not, and neither is an offer where the wallet pays itself or the transaction fee.
    #[test]
    fn only_plain_usdc_is_paid() {
        let none = PaymentPins::default();
        assert_eq!(select_all(&none, &[solana("5"), base("7")]), Ok(vec![0, 1]));
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
            with(base("5"), "/amount", json!("+5")),
            with(base("5"), "/amount", json!("0005")),
            with(solana("5"), "/amount", json!("00")),
            with(base("5"), "/amount", json!("")),
            with(base("5"), "/payTo", json!("not-an-address")),
            with(base("5"), "/payTo", json!("0x0000000000000000000000000000000000000000")),
            with(base("5"), "/payTo", json!(checksummed(&BASE_USDC))),
            with(solana("5"), "/payTo", json!(base58(&SOLANA_USDC))),
            with(base("5"), "/payTo", json!(SELLER_ON_SOLANA)),
            with(base("5"), "/payTo", json!(own(Network::Base))),
            with(solana("5"), "/payTo", json!(own(Network::Solana))),
            with(solana("5"), "/extra/feePayer", json!(own(Network::Solana))),
            permit,
        ] {
            assert_eq!(
                select_all(&none, std::slice::from_ref(&foreign)),
                Err(OfferRejection::None),
                "{foreign}"
            );
        }
    }

    // Checks: an offer with a zero amount or without time is rejected with that reason; a payable one beside it is
    // accepted.
    #[test]
    fn an_offer_has_an_amount_and_time() {
        let none = PaymentPins::default();
        let mut timeless = base("5");
        timeless["maxTimeoutSeconds"] = json!(0);
        assert_eq!(select_all(&none, &[base("0"), solana("0")]), Err(OfferRejection::Zero));
        assert_eq!(
            select_all(&none, &[base("0"), timeless.clone()]),
            Err(OfferRejection::NoTime)
        );
        assert_eq!(select_all(&none, &[base("0"), timeless, solana("5")]), Ok(vec![2]));
    }

    // Checks: only the domain of the settlement's token is signed, whichever part differs; an offer on Solana names
    // none.
    #[test]
    fn only_the_settlements_token_is_signed_for() {
        let sandbox = |accepts: &[Value]| {
            let found =
                PaymentPins::default().select(&required(accepts), &wallet(), &own_addresses(), &Token::SANDBOX)?;
            Ok(found.iter().map(|offer| offer.index).collect::<Vec<_>>())
        };
        let domain = |extra: Value| {
            let mut offer = base("5");
            offer["extra"] = extra;
            offer
        };
        let ours = domain(json!({"name": "Purser Sandbox USDC", "version": "2"}));
        for foreign in [
            base("5"),
            domain(json!({"name": "Purser Sandbox USDC", "version": "1"})),
            domain(json!({"name": "Purser Sandbox USDC"})),
            domain(json!({"version": "2"})),
            domain(json!({})),
        ] {
            assert_eq!(
                sandbox(std::slice::from_ref(&foreign)),
                Err(OfferRejection::Domain("Purser Sandbox USDC")),
                "{foreign}"
            );
            assert_eq!(sandbox(&[foreign, ours.clone(), solana("5")]), Ok(vec![1, 2]));
        }
        assert_eq!(
            select_all(&PaymentPins::default(), &[ours]),
            Err(OfferRejection::Domain("USD Coin")),
            "and the other way round"
        );
    }

    // Checks: an offer that pays this service at any of its addresses is rejected; another one beside it is accepted.
    #[test]
    fn own_terms_match_only_the_own_service() {
        let none = PaymentPins::default();
        let account = associated_token_account(&[4; 32], &SOLANA_USDC).unwrap();
        let to = |mut offer: Value, wallet: Wallet| {
            offer["payTo"] = json!(wallet.address());
            offer
        };
        let own = [
            to(base("5"), Wallet::Evm([3; 20])),
            to(solana("5"), Wallet::Solana([4; 32])),
            to(solana("5"), Wallet::Solana(account)),
        ];
        for offer in &own {
            assert_eq!(
                select_all(&none, std::slice::from_ref(offer)),
                Err(OfferRejection::OwnTerms),
                "{offer}"
            );
        }
        assert_eq!(select_all(&none, &own), Err(OfferRejection::OwnTerms));
        assert_eq!(select_all(&none, &[own[0].clone(), solana("5")]), Ok(vec![1]));
    }

    // Checks: each pin only removes offers, and the error names the pin.
    #[test]
    fn pins_only_tighten() {
        let both = [solana("5000000"), base("7000000")];
        let pinned = |pins: PaymentPins| select_all(&pins, &both);
        let network = Some(Network::Base);
        assert_eq!(
            pinned(PaymentPins {
                network,
                ..PaymentPins::default()
            }),
            Ok(vec![1])
        );
        let asset = Some(checksummed(&BASE_USDC).to_lowercase());
        assert_eq!(
            pinned(PaymentPins {
                asset,
                ..PaymentPins::default()
            }),
            Ok(vec![1])
        );
        let asset = Some(SELLER.to_owned());
        assert_eq!(
            pinned(PaymentPins {
                asset,
                ..PaymentPins::default()
            }),
            Err(OfferRejection::Asset)
        );
        let pay_to = Some(SELLER_ON_SOLANA.parse().unwrap());
        assert_eq!(
            pinned(PaymentPins {
                pay_to,
                ..PaymentPins::default()
            }),
            Ok(vec![0])
        );
        let pay_to = Some(Wallet::Evm([1; 20]));
        assert_eq!(
            pinned(PaymentPins {
                pay_to,
                ..PaymentPins::default()
            }),
            Err(OfferRejection::PayTo)
        );
        let max_amount = Some(Usdc::from_atomic(5_000_000));
        assert_eq!(
            pinned(PaymentPins {
                max_amount,
                ..PaymentPins::default()
            }),
            Ok(vec![0])
        );
        let max_amount = Some(Usdc::from_atomic(4_999_999));
        assert_eq!(
            pinned(PaymentPins {
                max_amount,
                ..PaymentPins::default()
            }),
            Err(OfferRejection::Amount)
        );
        let only = PaymentPins {
            network,
            ..PaymentPins::default()
        };
        assert_eq!(select_all(&only, &[solana("5")]), Err(OfferRejection::Network));
    }
}
