//! The causes of a second.

use std::sync::Arc;

use crate::attribution::Limit;

/// The cause of a second: the seconds of one device with the same cause are one episode.
#[derive(Clone, Debug)]
pub(super) enum SecondCause {
    Suspended(Arc<str>),
    Stall,
    Frozen,
    Limit(Arc<Limit>),
    Sync(Arc<str>),
    Queue,
    Capped,
    Cpu,
    Used,
}

impl PartialEq for SecondCause {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Suspended(one), Self::Suspended(other))
            | (Self::Sync(one), Self::Sync(other)) => one == other,
            // The members of an array have a limit each.
            (Self::Limit(one), Self::Limit(other)) => {
                (&one.owner, one.rate_name(), one.value)
                    == (&other.owner, other.rate_name(), other.value)
            }
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

impl SecondCause {
    /// Returns whether the device itself is short of what it can do: such causes change from second to second.
    pub(super) fn is_of_load(&self) -> bool {
        matches!(self, Self::Queue | Self::Cpu | Self::Used | Self::Capped)
    }

    /// Returns whether nothing completes.
    pub(super) fn is_stall(&self) -> bool {
        matches!(self, Self::Stall | Self::Suspended(_) | Self::Frozen)
    }

    /// Returns whether it is a fact by itself, wherever it is seen.
    pub(super) fn is_stated(&self) -> bool {
        matches!(self, Self::Sync(_) | Self::Limit(_) | Self::Suspended(_))
    }
}
