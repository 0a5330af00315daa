//! Checks whether the client means terms that we offered.
//!
//! Only the known v2 fields are compared. Addresses are compared by value. The echo must contain the `extra` that we
//! offered, except for values that change from minute to minute: Solana's blockhash hint is ignored.

use serde_json::{Map, Value};

use super::decode::EchoedTerms;
use super::error::{InvalidReason, VerificationError};
use super::evm::parse_address;
use super::solana::address::parse as parse_pubkey;
use super::terms::{Payee, Terms};

/// An extension that our challenge carried.
#[derive(Clone, Copy, Debug)]
pub struct AdvertisedExtension<'a> {
    /// Its key in `extensions`.
    pub name: &'a str,
    /// The extension's `info`.
    pub info: &'a Value,
    /// Members of `info` that differ with each challenge and are not compared.
    pub dynamic: &'a [&'a str],
}

/// Checks that the echoed terms are these.
///
/// # Errors
/// The reason names the first field that differs.
pub fn matches(accepted: &EchoedTerms, terms: &Terms) -> Result<(), VerificationError> {
    if accepted.network != terms.caip2() {
        return Err(mismatch(InvalidReason::Network, "this network is not offered"));
    }
    match &terms.payee {
        Payee::Base(payee) => {
            if parse_address(&accepted.asset) != Some(payee.asset) {
                return Err(mismatch(
                    InvalidReason::Asset,
                    "`accepted.asset` is not the token in the challenge",
                ));
            }
            if parse_address(&accepted.pay_to) != Some(payee.pay_to) {
                return Err(mismatch(
                    InvalidReason::EvmRecipient,
                    "`accepted.payTo` is not the recipient in the challenge",
                ));
            }
            let extra = accepted.extra.as_ref();
            check_echo(extra, "name", Some(&payee.name), InvalidReason::EvmTokenName)?;
            check_echo(extra, "version", Some(&payee.version), InvalidReason::EvmTokenVersion)?;
            amount(accepted, terms, InvalidReason::EvmValue)?;
        }
        Payee::Solana(payee) => {
            if parse_pubkey(&accepted.asset) != Some(payee.mint) {
                return Err(mismatch(
                    InvalidReason::SvmMint,
                    "`accepted.asset` is not the token in the challenge",
                ));
            }
            if parse_pubkey(&accepted.pay_to) != Some(payee.pay_to) {
                return Err(mismatch(
                    InvalidReason::SvmRecipient,
                    "`accepted.payTo` is not the recipient in the challenge",
                ));
            }
            let fee_payer = accepted
                .extra
                .as_ref()
                .and_then(|extra| extra.get("feePayer")?.as_str());
            if !fee_payer
                .and_then(parse_pubkey)
                .is_some_and(|key| payee.fee_payers.contains(&key))
            {
                return Err(mismatch(
                    InvalidReason::SvmFeePayer,
                    "`extra.feePayer` is not the one in the challenge",
                ));
            }
            check_echo(
                accepted.extra.as_ref(),
                "memo",
                payee.memo.as_deref(),
                InvalidReason::SvmMemo,
            )?;
            amount(accepted, terms, InvalidReason::SvmAmount)?;
        }
    }
    if accepted.max_timeout_seconds != u64::from(terms.max_timeout_seconds) {
        return Err(mismatch(
            InvalidReason::Terms,
            "`accepted.maxTimeoutSeconds` is not the one in the challenge",
        ));
    }
    Ok(())
}

/// The exact text that we wrote; other notations of the number are rejected.
fn amount(accepted: &EchoedTerms, terms: &Terms, reason: InvalidReason) -> Result<(), VerificationError> {
    if accepted.amount == terms.amount.atomic().to_string() {
        return Ok(());
    }
    Err(mismatch(
        reason,
        "`accepted.amount` is not an amount offered for this request",
    ))
}

/// A member of `extra` that we offered must be returned unchanged; other members may have any value.
fn check_echo(
    extra: Option<&Map<String, Value>>,
    key: &str,
    wanted: Option<&str>,
    reason: InvalidReason,
) -> Result<(), VerificationError> {
    let echoed = extra.and_then(|extra| extra.get(key)?.as_str());
    match wanted {
        Some(wanted) if echoed != Some(wanted) => Err(VerificationError::new(
            reason,
            format!("`accepted.extra.{key}` is not the one in the challenge"),
        )),
        _ => Ok(()),
    }
}

/// Each echoed extension that we advertised must contain the advertised `info`. A payment without extensions is valid,
/// and extensions that we never advertised are ignored.
///
/// # Errors
/// [`InvalidReason::ExtensionEcho`].
pub fn extensions_echo(
    echoed: Option<&Map<String, Value>>,
    advertised: &[AdvertisedExtension<'_>],
) -> Result<(), VerificationError> {
    let Some(echoed) = echoed else { return Ok(()) };
    for extension in advertised {
        let Some(value) = echoed.get(extension.name) else {
            continue;
        };
        let info = value.get("info").unwrap_or(&Value::Null);
        if !contains(info, extension.info, extension.dynamic) {
            return Err(mismatch(
                InvalidReason::ExtensionEcho,
                "an echoed extension differs from the one in the challenge",
            ));
        }
    }
    Ok(())
}

/// Objects contain an object's members; everything else must be equal. `skip` applies to the outermost level only.
fn contains(outer: &Value, inner: &Value, skip: &[&str]) -> bool {
    match (outer, inner) {
        (Value::Object(outer), Value::Object(inner)) => inner.iter().all(|(key, value)| {
            skip.contains(&key.as_str()) || outer.get(key).is_some_and(|found| contains(found, value, &[]))
        }),
        _ => outer == inner,
    }
}

fn mismatch(reason: InvalidReason, message: &'static str) -> VerificationError {
    VerificationError::new(reason, message)
}
