//! A bridge elsewhere. It holds the key of the treasury's account that it burns from.

use purser_actors::port::{
    Attestation, Attested, BoxFuture, Bridge, Crossing, Lookup, Minting, PortError, SignedBurn, SignedMint, Submitted,
};
use serde_json::json;

use super::{Remote, unreadable};
use crate::provider::wire::Unreadable;
use crate::provider::wire::bridge::{BridgeBurn, BridgeBurned, BridgeCrossing, BridgeFound, BridgeSigned};
use crate::provider::wire::messages::{
    BridgeAskedAgain, BridgeAttestation, BridgeMessage, BridgeMint, BridgeMintSigned, BridgeMinted,
};

/// A bridge over HTTP.
pub struct RemoteBridge(pub Remote);

impl Bridge for RemoteBridge {
    fn sign_burn<'a>(&'a self, crossing: &'a Crossing) -> BoxFuture<'a, Result<SignedBurn, PortError>> {
        const CALL: &str = "sign burn";
        Box::pin(async move {
            let wanted = BridgeCrossing::from(crossing);
            let said: BridgeSigned = self.0.post(CALL, &["bridge-crossings"], None, &wanted).await?;
            said.read(crossing).map_err(unreadable(CALL))
        })
    }

    fn burn<'a>(&'a self, burn: &'a SignedBurn) -> BoxFuture<'a, Result<Submitted, PortError>> {
        const CALL: &str = "burn";
        Box::pin(async move {
            let said: BridgeBurned = self
                .0
                .post(CALL, &["bridge-burns"], None, &BridgeBurn::from(burn))
                .await?;
            said.read(burn).map_err(unreadable(CALL))
        })
    }

    fn find_burn<'a>(&'a self, burn: &'a SignedBurn) -> BoxFuture<'a, Result<Lookup, PortError>> {
        const CALL: &str = "find burn";
        Box::pin(async move {
            let path = ["bridge-burns", "find"];
            let said: BridgeFound = self.0.post(CALL, &path, None, &BridgeBurn::from(burn)).await?;
            said.read(&burn.transaction).map_err(unreadable(CALL))
        })
    }

    fn attestation<'a>(&'a self, burn: &'a SignedBurn) -> BoxFuture<'a, Result<Attestation, PortError>> {
        const CALL: &str = "attestation";
        Box::pin(async move {
            let path = ["bridge-burns", "attestation"];
            let said: BridgeAttestation = self.0.post(CALL, &path, None, &BridgeBurn::from(burn)).await?;
            said.read(&burn.transaction).map_err(unreadable(CALL))
        })
    }

    fn attest_again<'a>(&'a self, nonce: &'a [u8; 32]) -> BoxFuture<'a, Result<(), PortError>> {
        const CALL: &str = "attest again";
        Box::pin(async move {
            let nonce = hex::encode(nonce);
            let path = ["bridge-messages", &nonce, "attest-again"];
            let said: BridgeAskedAgain = self.0.post(CALL, &path, None, &json!({})).await?;
            match said.nonce == nonce {
                true => Ok(()),
                false => Err(unreadable(CALL)(Unreadable("it is about another message"))),
            }
        })
    }

    fn sign_mint<'a>(&'a self, attested: &'a Attested) -> BoxFuture<'a, Result<SignedMint, PortError>> {
        const CALL: &str = "sign mint";
        Box::pin(async move {
            let path = ["bridge-messages", "mint"];
            let said: BridgeMintSigned = self.0.post(CALL, &path, None, &BridgeMessage::from(attested)).await?;
            said.read(attested).map_err(unreadable(CALL))
        })
    }

    fn mint<'a>(&'a self, mint: &'a SignedMint) -> BoxFuture<'a, Result<Minting, PortError>> {
        const CALL: &str = "mint";
        Box::pin(async move {
            let said: BridgeMinted = self
                .0
                .post(CALL, &["bridge-mints"], None, &BridgeMint::from(mint))
                .await?;
            said.read(mint).map_err(unreadable(CALL))
        })
    }

    fn find_mint<'a>(&'a self, attested: &'a Attested) -> BoxFuture<'a, Result<Lookup, PortError>> {
        const CALL: &str = "find mint";
        Box::pin(async move {
            let path = ["bridge-mints", "find"];
            let said: BridgeFound = self.0.post(CALL, &path, None, &BridgeMessage::from(attested)).await?;
            said.read(&hex::encode(attested.nonce)).map_err(unreadable(CALL))
        })
    }
}
