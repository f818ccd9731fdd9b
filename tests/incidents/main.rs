//! Incidents: `src/incidents` beside its executable specification.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

mod advice;
mod differences;
mod oracle;
mod stored;
