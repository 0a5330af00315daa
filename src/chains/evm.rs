//! Base.
