//! A remote bridge. It holds the key of the treasury account that it burns from.

use purser_actors::port;
use purser_actors::port::{
    AttestationStatus, AttestedMessage, BoxFuture, Bridge, BridgeTransfer, ChainStatus, MintResult, PortError,
    SubmitResult,
};
use serde_json::json;

use super::{RemoteClient, unreadable};
use crate::provider::wire::MalformedResponse;
use crate::provider::wire::bridge::{
    BridgeTransferRequest, ChainStatusResponse, SignedBurn, SignedBurnResponse, SubmitBurnResponse,
};
use crate::provider::wire::bridge_messages::{
    AttestationResponse, BridgeMessage, ReattestResponse, SignedMint, SignedMintResponse, SubmitMintResponse,
};

/// A bridge over HTTP.
pub struct RemoteBridge(pub RemoteClient);

impl Bridge for RemoteBridge {
    fn sign_burn<'a>(&'a self, transfer: &'a BridgeTransfer) -> BoxFuture<'a, Result<port::SignedBurn, PortError>> {
        const CALL: &str = "sign burn";
        Box::pin(async move {
            let wanted = BridgeTransferRequest::from(transfer);
            let said: SignedBurnResponse = self.0.post(CALL, &["bridge-transfers"], None, &wanted).await?;
            said.read(transfer).map_err(unreadable(CALL))
        })
    }

    fn burn<'a>(&'a self, burn: &'a port::SignedBurn) -> BoxFuture<'a, Result<SubmitResult, PortError>> {
        const CALL: &str = "burn";
        Box::pin(async move {
            let said: SubmitBurnResponse = self
                .0
                .post(CALL, &["bridge-burns"], None, &SignedBurn::from(burn))
                .await?;
            said.read(burn).map_err(unreadable(CALL))
        })
    }

    fn find_burn<'a>(&'a self, burn: &'a port::SignedBurn) -> BoxFuture<'a, Result<ChainStatus, PortError>> {
        const CALL: &str = "find burn";
        Box::pin(async move {
            let path = ["bridge-burns", "lookup"];
            let said: ChainStatusResponse = self.0.post(CALL, &path, None, &SignedBurn::from(burn)).await?;
            said.read(&burn.transaction).map_err(unreadable(CALL))
        })
    }

    fn attestation<'a>(&'a self, burn: &'a port::SignedBurn) -> BoxFuture<'a, Result<AttestationStatus, PortError>> {
        const CALL: &str = "attestation";
        Box::pin(async move {
            let path = ["bridge-burns", "attestation"];
            let said: AttestationResponse = self.0.post(CALL, &path, None, &SignedBurn::from(burn)).await?;
            said.read(&burn.transaction).map_err(unreadable(CALL))
        })
    }

    fn reattest<'a>(&'a self, nonce: &'a [u8; 32]) -> BoxFuture<'a, Result<(), PortError>> {
        const CALL: &str = "attest again";
        Box::pin(async move {
            let nonce = hex::encode(nonce);
            let path = ["bridge-messages", &nonce, "reattest"];
            let said: ReattestResponse = self.0.post(CALL, &path, None, &json!({})).await?;
            match said.nonce == nonce {
                true => Ok(()),
                false => Err(unreadable(CALL)(MalformedResponse("it is about another message"))),
            }
        })
    }

    fn sign_mint<'a>(&'a self, attested: &'a AttestedMessage) -> BoxFuture<'a, Result<port::SignedMint, PortError>> {
        const CALL: &str = "sign mint";
        Box::pin(async move {
            let path = ["bridge-messages", "mint"];
            let said: SignedMintResponse = self.0.post(CALL, &path, None, &BridgeMessage::from(attested)).await?;
            said.read(attested).map_err(unreadable(CALL))
        })
    }

    fn mint<'a>(&'a self, mint: &'a port::SignedMint) -> BoxFuture<'a, Result<MintResult, PortError>> {
        const CALL: &str = "mint";
        Box::pin(async move {
            let said: SubmitMintResponse = self
                .0
                .post(CALL, &["bridge-mints"], None, &SignedMint::from(mint))
                .await?;
            said.read(mint).map_err(unreadable(CALL))
        })
    }

    fn find_mint<'a>(&'a self, attested: &'a AttestedMessage) -> BoxFuture<'a, Result<ChainStatus, PortError>> {
        const CALL: &str = "find mint";
        Box::pin(async move {
            let path = ["bridge-mints", "lookup"];
            let said: ChainStatusResponse = self.0.post(CALL, &path, None, &BridgeMessage::from(attested)).await?;
            said.read(&hex::encode(attested.nonce)).map_err(unreadable(CALL))
        })
    }
}
