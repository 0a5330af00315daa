//! USDC on Base: calldata, EIP-712 digests and logs of FiatTokenV2_2 (ERC-20, EIP-3009).

mod logs;
#[cfg(test)]
mod tests;

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_sol_types::{Eip712Domain, SolCall as _, SolStruct as _};

use super::key::Signature;

pub use logs::{Log, Movement, MovementKind, TOPICS, TransferRef, UnpairedAuthorization, movements};

/// Maximum signature size of a smart account, in bytes.
pub const MAX_SIGNATURE_LEN: usize = 4096;

pub(crate) mod abi {
    #![allow(missing_docs, reason = "generated; the standard is EIP-3009")]

    alloy_sol_types::sol! {
        struct TransferWithAuthorization {
            address from;
            address to;
            uint256 value;
            uint256 validAfter;
            uint256 validBefore;
            bytes32 nonce;
        }

        struct CancelAuthorization {
            address authorizer;
            bytes32 nonce;
        }

        interface FiatToken {
            event Transfer(address indexed from, address indexed to, uint256 value);
            event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);
            event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce);

            function transferWithAuthorization(
                address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce,
                uint8 v, bytes32 r, bytes32 s
            ) external;
            function transferWithAuthorization(
                address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce,
                bytes signature
            ) external;
            function cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s) external;
            function cancelAuthorization(address authorizer, bytes32 nonce, bytes signature) external;
            function authorizationState(address authorizer, bytes32 nonce) external view returns (bool);
            function balanceOf(address account) external view returns (uint256);
            function transfer(address to, uint256 value) external returns (bool);
        }
    }
}

use abi::FiatToken;

/// The signed fields of EIP-3009.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Authorization {
    /// The paying address.
    pub from: Address,
    /// The receiving address.
    pub to: Address,
    /// Amount in base units (10^-6 USDC).
    pub value: U256,
    /// Not valid at or before this second since the epoch.
    pub valid_after: U256,
    /// Not valid at or after this second since the epoch.
    pub valid_before: U256,
    /// Chosen by the payer; the token accepts each nonce once.
    pub nonce: B256,
}

/// The signature is longer than [`MAX_SIGNATURE_LEN`]; the value is its length in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the signature has {0} bytes, at most {MAX_SIGNATURE_LEN} are allowed")]
pub struct SignatureTooLong(pub usize);

/// The token of one chain: its address, and the content of its EIP-712 domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    chain_id: u64,
    address: Address,
    separator: B256,
}

impl Token {
    /// Creates a token from name and version of the contract's EIP-712 domain: `USD Coin` and `2` on Base, `USDC` and
    /// `2` on Base Sepolia.
    pub fn new(chain_id: u64, address: Address, name: &str, version: &str) -> Self {
        let domain = Eip712Domain::new(
            Some(name.to_owned().into()),
            Some(version.to_owned().into()),
            Some(U256::from(chain_id)),
            Some(address),
            None,
        );
        Self {
            chain_id,
            address,
            separator: domain.separator(),
        }
    }

    /// EIP-155 chain id.
    pub const fn chain_id(&self) -> u64 {
        self.chain_id
    }

    /// Address of the contract.
    pub const fn address(&self) -> Address {
        self.address
    }

    /// EIP-712 domain separator, computed once.
    pub const fn domain_separator(&self) -> B256 {
        self.separator
    }

    /// EIP-712 digest of `TransferWithAuthorization`.
    pub fn transfer_digest(&self, authorization: &Authorization) -> B256 {
        let Authorization {
            from,
            to,
            value,
            valid_after,
            valid_before,
            nonce,
        } = *authorization;
        let message = abi::TransferWithAuthorization {
            from,
            to,
            value,
            validAfter: valid_after,
            validBefore: valid_before,
            nonce,
        };
        self.digest(message.eip712_hash_struct())
    }

    /// EIP-712 digest of `CancelAuthorization`.
    pub fn cancel_digest(&self, authorizer: Address, nonce: B256) -> B256 {
        self.digest(abi::CancelAuthorization { authorizer, nonce }.eip712_hash_struct())
    }

    fn digest(&self, struct_hash: B256) -> B256 {
        let mut bytes = [0; 66];
        bytes[..2].copy_from_slice(&[0x19, 0x01]);
        bytes[2..34].copy_from_slice(self.separator.as_slice());
        bytes[34..].copy_from_slice(struct_hash.as_slice());
        keccak256(bytes)
    }
}

/// Calldata of `transferWithAuthorization` with v, r and s: for payers without code.
pub fn transfer_call(authorization: &Authorization, signature: Signature) -> Vec<u8> {
    let a = authorization;
    FiatToken::transferWithAuthorization_0Call {
        from: a.from,
        to: a.to,
        value: a.value,
        validAfter: a.valid_after,
        validBefore: a.valid_before,
        nonce: a.nonce,
        v: signature.v(),
        r: signature.r,
        s: signature.s,
    }
    .abi_encode()
}

/// Calldata of `transferWithAuthorization` with the signature as bytes, for every payer, including ERC-1271 wallets.
///
/// # Errors
/// [`SignatureTooLong`].
pub fn transfer_bytes_call(authorization: &Authorization, signature: &[u8]) -> Result<Vec<u8>, SignatureTooLong> {
    let a = authorization;
    let call = FiatToken::transferWithAuthorization_1Call {
        from: a.from,
        to: a.to,
        value: a.value,
        validAfter: a.valid_after,
        validBefore: a.valid_before,
        nonce: a.nonce,
        signature: checked(signature)?,
    };
    Ok(call.abi_encode())
}

/// Calldata of `cancelAuthorization` with v, r and s.
pub fn cancel_call(authorizer: Address, nonce: B256, signature: Signature) -> Vec<u8> {
    let (v, r, s) = (signature.v(), signature.r, signature.s);
    FiatToken::cancelAuthorization_0Call {
        authorizer,
        nonce,
        v,
        r,
        s,
    }
    .abi_encode()
}

/// Calldata of `cancelAuthorization` with the signature as bytes.
///
/// # Errors
/// [`SignatureTooLong`].
pub fn cancel_bytes_call(authorizer: Address, nonce: B256, signature: &[u8]) -> Result<Vec<u8>, SignatureTooLong> {
    let signature = checked(signature)?;
    Ok(FiatToken::cancelAuthorization_1Call {
        authorizer,
        nonce,
        signature,
    }
    .abi_encode())
}

/// Calldata of `transfer`, which debits the sender of the transaction.
pub fn plain_transfer_call(to: Address, value: U256) -> Vec<u8> {
    FiatToken::transferCall { to, value }.abi_encode()
}

/// Calldata of `authorizationState`: true once a nonce is used or cancelled.
pub fn authorization_state_call(authorizer: Address, nonce: B256) -> Vec<u8> {
    FiatToken::authorizationStateCall { authorizer, nonce }.abi_encode()
}

/// Decodes the result of `authorizationState`; `None` for anything but one canonical bool.
pub fn decode_authorization_state(data: &[u8]) -> Option<bool> {
    FiatToken::authorizationStateCall::abi_decode_returns_validate(data).ok()
}

/// Calldata of `balanceOf`.
pub fn balance_call(account: Address) -> Vec<u8> {
    FiatToken::balanceOfCall { account }.abi_encode()
}

/// Decodes the result of `balanceOf`, in base units; `None` for anything but one word.
pub fn decode_balance(data: &[u8]) -> Option<U256> {
    FiatToken::balanceOfCall::abi_decode_returns_validate(data).ok()
}

fn checked(signature: &[u8]) -> Result<Bytes, SignatureTooLong> {
    match signature.len() {
        0..=MAX_SIGNATURE_LEN => Ok(Bytes::copy_from_slice(signature)),
        len => Err(SignatureTooLong(len)),
    }
}
