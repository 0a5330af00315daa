//! Sign-in with a wallet (x402's sign-in-with-x, CAIP-122): the message, its signature and the proof header.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use purser_actors::id::Network;
use serde::{Deserialize, Serialize};

use super::keys::TestWallet;
use super::{PaymentRequired, WalletError};

/// The `info` of the challenge's extension.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SiwxInfo {
    /// Host, with the port if there is one.
    pub domain: String,
    /// Absolute URL of the same origin.
    pub uri: String,
    /// Version of the message: `1`.
    pub version: String,
    /// Chosen by the server, used once.
    pub nonce: String,
    /// Issue time (RFC 3339).
    pub issued_at: String,
    /// Expiration time (RFC 3339).
    #[serde(default)]
    pub expiration_time: Option<String>,
    /// Start of validity (RFC 3339).
    #[serde(default)]
    pub not_before: Option<String>,
    /// The server's reference.
    #[serde(default)]
    pub request_id: Option<String>,
    /// Text shown to the signer.
    #[serde(default)]
    pub statement: Option<String>,
    #[serde(default)]
    pub resources: Option<Vec<String>>,
    /// The chains that the server accepts, as CAIP-2. Empty: those of this process.
    #[serde(skip)]
    pub chains: Vec<String>,
}

#[derive(Deserialize)]
struct Extensions {
    #[serde(rename = "sign-in-with-x")]
    siwx: Option<Extension>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Extension {
    info: SiwxInfo,
    #[serde(default)]
    supported_chains: Vec<SupportedChain>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SupportedChain {
    chain_id: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SiwxProof<'a> {
    domain: &'a str,
    address: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    statement: Option<&'a str>,
    uri: &'a str,
    version: &'a str,
    chain_id: &'a str,
    r#type: &'a str,
    nonce: &'a str,
    issued_at: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    expiration_time: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_before: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resources: Option<&'a [String]>,
    signature: String,
}

impl PaymentRequired {
    /// The sign-in challenge that came with this response.
    ///
    /// # Errors
    /// [`WalletError::BadChallenge`] when there is none or it is incomplete.
    pub fn sign_in(&self) -> Result<SiwxInfo, WalletError> {
        self.extensions()
            .and_then(|text| serde_json::from_str::<Extensions>(text).ok()?.siwx)
            .map(|extension| SiwxInfo {
                chains: extension
                    .supported_chains
                    .into_iter()
                    .map(|chain| chain.chain_id)
                    .collect(),
                ..extension.info
            })
            .ok_or(WalletError::BadChallenge("it carries no sign-in challenge"))
    }
}

impl SiwxInfo {
    /// Rejects a challenge for another site. The domain must be the called host and port, the URI must have its origin,
    /// and no field may break out of its line.
    ///
    /// # Errors
    /// [`WalletError::BadChallenge`].
    pub fn check_origin(&self, scheme: &str, authority: &str) -> Result<(), WalletError> {
        let origin = format!("{scheme}://{authority}");
        let same_origin = self
            .uri
            .strip_prefix(&origin)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']));
        if self.domain != authority || !same_origin {
            return Err(WalletError::BadChallenge("it asks to sign in to another site"));
        }
        let optional = [
            &self.expiration_time,
            &self.not_before,
            &self.request_id,
            &self.statement,
        ];
        let required = [&self.domain, &self.uri, &self.version, &self.nonce, &self.issued_at];
        let resources = self.resources.iter().flatten();
        if required
            .into_iter()
            .chain(optional.into_iter().flatten())
            .chain(resources)
            .any(|text| text.contains(['\n', '\r']))
        {
            return Err(WalletError::BadChallenge("a field of the sign-in message spans lines"));
        }
        Ok(())
    }

    /// CAIP-2 of the sign-in chain: that of this process, or the server's chain of the same family, a test network.
    fn chain(&self, network: Network) -> &str {
        let own = network.caip2();
        let family = own.split_once(':').map_or(own, |(family, _)| family);
        let of_family = |chain: &&String| chain.split_once(':').is_some_and(|(one, _)| one == family);
        match self.chains.iter().any(|chain| chain == own) {
            true => own,
            false => self.chains.iter().find(of_family).map_or(own, String::as_str),
        }
    }

    /// The text to sign: lines joined by LF, none at the end. Without a statement, Ethereum's form has one more empty
    /// line than Solana's.
    pub fn message(&self, network: Network, address: &str) -> String {
        let (name, chain, without_statement) = match network {
            Network::Base => ("Ethereum", self.chain(network).trim_start_matches("eip155:"), "\n"),
            Network::Solana => ("Solana", self.chain(network).trim_start_matches("solana:"), ""),
        };
        let mut text = format!(
            "{} wants you to sign in with your {name} account:\n{address}\n\n",
            self.domain
        );
        match &self.statement {
            // Writing to a String cannot fail.
            Some(statement) => drop(write!(text, "{statement}\n\n")),
            None => text.push_str(without_statement),
        }
        let _ = write!(
            text,
            "URI: {}\nVersion: {}\nChain ID: {chain}\nNonce: {}\nIssued At: {}",
            self.uri, self.version, self.nonce, self.issued_at
        );
        let optional = [
            ("Expiration Time", &self.expiration_time),
            ("Not Before", &self.not_before),
            ("Request ID", &self.request_id),
        ];
        for (label, value) in optional {
            if let Some(value) = value {
                let _ = write!(text, "\n{label}: {value}");
            }
        }
        if let Some(resources) = &self.resources {
            text.push_str("\nResources:");
            for resource in resources {
                let _ = write!(text, "\n- {resource}");
            }
        }
        text
    }
}

impl TestWallet {
    /// The value of `SIGN-IN-WITH-X` that answers this challenge. Check its origin first.
    ///
    /// # Errors
    /// [`WalletError::BadChallenge`] if the proof does not serialize.
    pub fn sign_in(&self, info: &SiwxInfo, network: Network) -> Result<String, WalletError> {
        let address = self.address(network);
        let message = info.message(network, &address);
        let (kind, signature) = match network {
            Network::Base => ("eip191", format!("0x{}", hex::encode(self.sign_text(&message)))),
            Network::Solana => (
                "ed25519",
                bs58::encode(self.sign_message(message.as_bytes())).into_string(),
            ),
        };
        let proof = SiwxProof {
            domain: &info.domain,
            address: &address,
            statement: info.statement.as_deref(),
            uri: &info.uri,
            version: &info.version,
            chain_id: info.chain(network),
            r#type: kind,
            nonce: &info.nonce,
            issued_at: &info.issued_at,
            expiration_time: info.expiration_time.as_deref(),
            not_before: info.not_before.as_deref(),
            request_id: info.request_id.as_deref(),
            resources: info.resources.as_deref(),
            signature,
        };
        let json = serde_json::to_vec(&proof).map_err(|_| WalletError::BadChallenge("the proof cannot be written"))?;
        Ok(STANDARD.encode(json))
    }
}
