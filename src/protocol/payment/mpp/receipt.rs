//! Result of a settled payment: `Payment-Receipt`, on a paid response only.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use purser_actors::port::Timestamp;

use super::METHOD;
use crate::payment::chains::Chains;
use crate::payment::challenge::push_json_string;
use crate::rfc3339;

#[derive(Clone, Copy, Debug)]
pub struct Receipt<'a> {
    /// Transaction id on the chain.
    pub transaction: &'a str,
    /// Id of the challenge that it answered.
    pub challenge: &'a str,
    /// When we knew that it settled.
    pub at: Timestamp,
}

impl Receipt<'_> {
    /// The header's value: base64url without padding.
    pub fn header(&self) -> Bytes {
        let mut json = String::from("{\"challengeId\":");
        push_json_string(&mut json, self.challenge);
        json.push_str(&format!(
            ",\"chainId\":{},\"method\":\"{METHOD}\",\"reference\":",
            Chains::configured().base.token.chain_id
        ));
        push_json_string(&mut json, self.transaction);
        json.push_str(&format!(
            ",\"status\":\"success\",\"timestamp\":\"{}\"}}",
            rfc3339::format(self.at)
        ));
        URL_SAFE_NO_PAD.encode(json).into()
    }
}
