//! What recovery makes of every kind of damage.
