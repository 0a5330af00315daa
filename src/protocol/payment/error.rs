//! Why a payment is rejected, with the reason texts that stock x402 clients know (@x402 2.27).

use std::borrow::Cow;
use std::fmt;

macro_rules! define_reasons {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        /// A machine-readable reason: `invalidReason` of x402, also the `error` of a fresh challenge.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum InvalidReason {
            $($(#[$doc])* $name,)*
        }

        impl InvalidReason {
            /// In the order of the table below.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The reason's wire form.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

define_reasons! {
    /// Not base64 of valid JSON, or too large.
    Malformed = "invalid_payload";
    /// `x402Version` is neither 1 nor 2.
    Version = "invalid_x402_version";
    /// A scheme other than `exact`.
    Scheme = "unsupported_scheme";
    /// A network that was not offered.
    Network = "invalid_network";
    /// The echoed terms were never offered, and no other reason is more specific.
    Terms = "invalid_payment_requirements";
    /// The token is not the one offered.
    Asset = "asset_mismatch";
    /// An echoed extension does not contain what was advertised.
    ExtensionEcho = "extension_echo_mismatch";
    /// A payload type that is not accepted: Permit2, ERC-7710, ERC-6492 with a factory that is not allowlisted, or a
    /// type that does not fit its network.
    PayloadType = "unsupported_payload_type";
    /// The client signs for another EIP-712 name.
    EvmTokenName = "invalid_exact_evm_token_name_mismatch";
    /// The client signs for another EIP-712 version.
    EvmTokenVersion = "invalid_exact_evm_token_version_mismatch";
    /// Not hex, too long, or made neither by the key of `from` (65 bytes, low s, v 27 or 28) nor accepted by its
    /// contract.
    EvmSignature = "invalid_exact_evm_signature";
    /// `to` is not our address.
    EvmRecipient = "invalid_exact_evm_recipient_mismatch";
    /// `value` is not exactly the price.
    EvmValue = "invalid_exact_evm_payload_authorization_value_mismatch";
    /// Expired, about to expire, or valid for longer than we watch.
    EvmValidBefore = "invalid_exact_evm_payload_authorization_valid_before";
    /// Not valid yet.
    EvmValidAfter = "invalid_exact_evm_payload_authorization_valid_after";
    /// Not one well-formed wire transaction.
    SvmUndecodable = "invalid_exact_svm_payload_transaction_could_not_be_decoded";
    /// Account lists that the chain, or our fee payer, must not accept.
    SvmTransaction = "invalid_exact_svm_payload_transaction";
    /// Uses address lookup tables.
    SvmLookupTables = "invalid_exact_svm_smart_wallet_alt_resolution_not_available";
    /// More required signatures than fee payer and payer.
    SvmSigners = "invalid_exact_svm_payload_excessive_signers";
    /// Fewer than three or more than seven instructions.
    SvmInstructionCount = "invalid_exact_svm_payload_transaction_instructions_length";
    /// The first instruction does not set the compute unit limit.
    SvmUnitLimit = "invalid_exact_svm_payload_transaction_instructions_compute_limit_instruction";
    /// The compute unit limit is above our cap.
    SvmUnitLimitTooHigh = "invalid_exact_svm_payload_transaction_instructions_compute_limit_instruction_too_high";
    /// The second instruction does not set the compute unit price.
    SvmUnitPrice = "invalid_exact_svm_payload_transaction_instructions_compute_price_instruction";
    /// The compute unit price is above our cap.
    SvmUnitPriceTooHigh = "invalid_exact_svm_payload_transaction_instructions_compute_price_instruction_too_high";
    /// The third instruction is not `TransferChecked` of the token program.
    SvmNoTransfer = "invalid_exact_svm_payload_no_transfer_instruction";
    /// The fourth instruction is neither Memo nor Lighthouse.
    SvmFourthInstruction = "invalid_exact_svm_payload_unknown_fourth_instruction";
    /// The fifth instruction is neither Memo nor Lighthouse.
    SvmFifthInstruction = "invalid_exact_svm_payload_unknown_fifth_instruction";
    /// The sixth instruction is neither Memo nor Lighthouse.
    SvmSixthInstruction = "invalid_exact_svm_payload_unknown_sixth_instruction";
    /// The seventh instruction is neither Memo nor Lighthouse.
    SvmSeventhInstruction = "invalid_exact_svm_payload_unknown_seventh_instruction";
    /// The number of memos is not one although a memo was requested.
    SvmMemoCount = "invalid_exact_svm_payload_memo_count";
    /// The memo is not the requested one.
    SvmMemo = "invalid_exact_svm_payload_memo_mismatch";
    /// Account key 0, or the echoed fee payer, is not the one we offered.
    SvmFeePayer = "invalid_exact_svm_fee_payer_mismatch";
    /// The fee payer appears in an instruction: it could be made to pay more than the fee.
    SvmFeePayerUsed = "invalid_exact_svm_payload_transaction_fee_payer_transferring_funds";
    /// The mint is not USDC.
    SvmMint = "invalid_exact_svm_payload_mint_mismatch";
    /// The destination is not our token account.
    SvmRecipient = "invalid_exact_svm_payload_recipient_mismatch";
    /// Not exactly the price.
    SvmAmount = "invalid_exact_svm_payload_amount_mismatch";
    /// The payer's signature does not verify.
    SvmSignature = "invalid_exact_svm_payload_signature_invalid";
}

impl fmt::Display for InvalidReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A rejected payment: answered with status 402, a fresh challenge and the code `payment_invalid`. Nothing was charged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}: {message}")]
pub struct VerificationError {
    pub reason: InvalidReason,
    /// Human-readable. Contains nothing that the client did not send or was not offered.
    pub message: Cow<'static, str>,
}

impl VerificationError {
    /// A rejection for `reason` with a text for people.
    pub fn new(reason: InvalidReason, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            reason,
            message: message.into(),
        }
    }
}

/// Why a request's payment cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PaymentHeaderError {
    /// Several payments that differ: status 400 and no challenge, because it is unclear which one is meant.
    #[error("the request carries more than one payment: {0}")]
    Ambiguous(&'static str),
    /// One payment that was rejected: status 402.
    #[error(transparent)]
    Invalid(#[from] VerificationError),
}
