//! What a gas key sends: a payment, or a message for the bridge's transmitter. Both have a row before they are sent.

use purser_chains::evm::Address;
use purser_storage::codec::{self, DecodeError, Stored};

use super::rows::{Key, Payment, TransactionPayments, WaitingPayment};

/// A bridge message with its attestation, ready to send. It is alone in its transaction.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) struct Mint {
    /// Address of MessageTransmitterV2.
    pub(super) contract: [u8; 20],
    /// Nonce of the message: the transmitter accepts each once.
    pub(super) nonce: [u8; 32],
    /// Calldata of `receiveMessage`.
    pub(super) call: Vec<u8>,
}

impl Mint {
    /// Whether `receiveMessage` returned `true`. A missing contract returns nothing.
    pub(super) fn is_accepted(returned: &[u8]) -> bool {
        let is_true = |word: &[u8; 32]| word[31] == 1 && word[..31].iter().all(|byte| *byte == 0);
        <&[u8; 32]>::try_from(returned).is_ok_and(is_true)
    }

    pub(super) fn key(&self) -> Key {
        Key {
            from: self.contract.into(),
            nonce: self.nonce.into(),
        }
    }
}

/// Storage form of a mint in a transaction.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
struct CarriedMint(Mint);

impl Stored for CarriedMint {
    const SCHEMA: u16 = 506;
}

/// Storage form of a mint that was removed from a transaction and waits for another one.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
struct WaitingMint(Mint);

impl Stored for WaitingMint {
    const SCHEMA: u16 = 507;
}

/// A payment or a mint; see the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Job {
    Payment(Payment),
    Mint(Mint),
}

impl Job {
    /// Keys of payments and mints never collide: no payer is a contract's address with the nonce of one of its
    /// messages.
    pub(super) fn key(&self) -> Key {
        match self {
            Self::Payment(payment) => payment.key(),
            Self::Mint(mint) => mint.key(),
        }
    }

    /// The address whose code decides whether it may share a transaction. For a mint this is the contract itself, so it
    /// never does.
    pub(super) fn payer(&self) -> Address {
        self.key().from
    }

    /// The second from which it can no longer settle, if there is one.
    pub(super) const fn valid_before(&self) -> Option<u64> {
        match self {
            Self::Payment(payment) => Some(payment.valid_before),
            Self::Mint(_) => None,
        }
    }

    pub(super) const fn is_mint(&self) -> bool {
        matches!(self, Self::Mint(_))
    }

    /// Whether it never shares a transaction, even if an endpoint reports no code for its payer.
    pub(super) fn is_sent_alone(&self) -> bool {
        match self {
            Self::Payment(payment) => payment.deploys(),
            Self::Mint(_) => true,
        }
    }

    /// Encodes the row for the jobs of a transaction.
    pub(super) fn encode_carried<'a>(jobs: impl Iterator<Item = &'a Self>) -> Vec<u8> {
        let mut payments = Vec::new();
        for job in jobs {
            match job {
                Self::Payment(payment) => payments.push(payment.clone()),
                // A mint is alone in its transaction.
                Self::Mint(mint) => return codec::encode(&CarriedMint(mint.clone())),
            }
        }
        codec::encode(&TransactionPayments(payments))
    }

    pub(super) fn decode_carried(bytes: &[u8]) -> Result<Vec<Self>, DecodeError> {
        match codec::decode(bytes) {
            Ok(TransactionPayments(payments)) => Ok(payments.into_iter().map(Self::Payment).collect()),
            Err(DecodeError::Schema { .. }) => {
                let CarriedMint(mint) = codec::decode(bytes)?;
                Ok(vec![Self::Mint(mint)])
            }
            Err(error) => Err(error),
        }
    }

    /// Encodes the row of a job that waits for another transaction.
    pub(super) fn encode_waiting(&self) -> Vec<u8> {
        match self {
            Self::Payment(payment) => codec::encode(&WaitingPayment(payment.clone())),
            Self::Mint(mint) => codec::encode(&WaitingMint(mint.clone())),
        }
    }

    pub(super) fn decode_waiting(bytes: &[u8]) -> Result<Self, DecodeError> {
        match codec::decode(bytes) {
            Ok(WaitingPayment(payment)) => Ok(Self::Payment(payment)),
            Err(DecodeError::Schema { .. }) => {
                let WaitingMint(mint) = codec::decode(bytes)?;
                Ok(Self::Mint(mint))
            }
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]
    use purser_actors::money::Usdc;

    use super::*;

    fn payment(n: u8) -> Payment {
        Payment {
            from: [n; 20],
            to: [2; 20],
            value: Usdc::from_atomic(3),
            valid_after: 4,
            valid_before: 5,
            nonce: [6; 32],
            signature: vec![7; 65],
        }
    }

    fn mint() -> Mint {
        Mint {
            contract: [8; 20],
            nonce: [9; 32],
            call: vec![1; 700],
        }
    }

    // Checks: rows of payments have the same bytes as before mints were added, and rows of mints round-trip. A row of
    // one kind never decodes as the other.
    #[test]
    fn rows_of_both_kinds_read_back() {
        let payments = [payment(1), payment(2)];
        let jobs = payments.clone().map(Job::Payment);
        assert_eq!(
            Job::encode_carried(jobs.iter()),
            codec::encode(&TransactionPayments(payments.to_vec()))
        );
        assert_eq!(jobs[0].encode_waiting(), codec::encode(&WaitingPayment(payment(1))));
        for jobs in [jobs.to_vec(), vec![Job::Mint(mint())]] {
            assert_eq!(Job::decode_carried(&Job::encode_carried(jobs.iter())).unwrap(), jobs);
            assert_eq!(Job::decode_waiting(&jobs[0].encode_waiting()).unwrap(), jobs[0]);
        }
        assert!(codec::decode::<TransactionPayments>(&Job::encode_carried([Job::Mint(mint())].iter())).is_err());
        assert!(Job::decode_carried(&jobs[0].encode_waiting()).is_err());
        assert!(Job::decode_waiting(b"").is_err());
        let key = Job::Mint(mint()).key();
        assert_eq!((key.from, key.nonce), ([8; 20].into(), [9; 32].into()));
    }
}
