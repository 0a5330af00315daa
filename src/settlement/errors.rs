//! Errors of the settlement ports.

use purser_actors::port::{ErrorKind, PortError};

pub(crate) fn error(kind: ErrorKind, operation: &'static str, message: impl ToString) -> PortError {
    PortError {
        kind,
        operation,
        message: message.to_string(),
    }
}

pub(crate) fn temporary(operation: &'static str, message: impl ToString) -> PortError {
    error(ErrorKind::Temporary, operation, message)
}

pub(crate) fn permanent(operation: &'static str, message: impl ToString) -> PortError {
    error(ErrorKind::Permanent, operation, message)
}

pub(crate) fn unknown(operation: &'static str, message: impl ToString) -> PortError {
    error(ErrorKind::Unknown, operation, message)
}
