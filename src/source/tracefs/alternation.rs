//! Sets of triggers that take turns: each is replaced before its maps are full, and kept a while longer for the
//! requests that are still under way.

use super::error::TraceError;
use super::owner::Owner;
use super::trace_dir::TraceDir;
use super::trace_set::{SetKind, TraceSet};
use crate::counters::TracedIo;

/// Sets of one kind.
pub(super) struct Alternation {
    dir: TraceDir,
    owner: Owner,
    kind: SetKind,
    /// The number of sets built so far.
    built: u64,
    active: Option<TraceSet>,
    /// The previous set, which still counts the requests that began before it was paused.
    draining: Option<TraceSet>,
}

impl Alternation {
    /// Starts the first set.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub(super) fn start(dir: &TraceDir, owner: Owner, kind: SetKind, size: u32) -> Result<Self, TraceError> {
        let (active, draining) = (None, None);
        let mut alternation = Self { dir: dir.clone(), owner, kind, built: 0, active, draining };
        alternation.renew(None, size, &mut TracedIo::default())?;
        Ok(alternation)
    }

    /// Replaces the set by one with maps of `size` entries, and of another kind if one is given. Adds the requests that
    /// the sets have counted to `traced`. A few requests that begin between the end of one set and the start of the
    /// other are not counted.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub(super) fn renew(
        &mut self,
        kind: Option<SetKind>,
        size: u32,
        traced: &mut TracedIo,
    ) -> Result<(), TraceError> {
        self.collect(traced)?;
        self.draining = None;
        if let Some(kind) = kind {
            self.kind = kind;
        }
        let letter = match &self.kind {
            SetKind::Latencies(_) => 'l',
            SetKind::Users(_) => 'u',
        };
        let name = self.owner.name(&format!("{letter}{}", self.built));
        self.built += 1;
        let set = TraceSet::build(&self.dir, name, self.kind.clone(), size)?;
        if let Some(active) = &self.active {
            active.pause()?;
        }
        set.start()?;
        self.draining = self.active.replace(set);
        Ok(())
    }

    /// Stops counting new requests until the next set is started.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub(super) fn pause(&self) -> Result<(), TraceError> {
        self.active.as_ref().map_or(Ok(()), TraceSet::pause)
    }

    pub(super) fn kind(&self) -> &SetKind {
        &self.kind
    }

    /// The entries of each map of the active set.
    pub(super) fn size(&self) -> u32 {
        self.active.as_ref().map_or(0, |active| active.size)
    }

    /// The entries of the fullest histogram that was read.
    pub(super) fn entries(&self) -> usize {
        self.active.as_ref().map_or(0, |active| active.last.entries)
    }

    /// Adds the requests that were counted since the last call.
    ///
    /// # Errors
    /// If the histograms cannot be read.
    pub(super) fn collect(&mut self, traced: &mut TracedIo) -> Result<(), TraceError> {
        for set in self.draining.iter_mut().chain(&mut self.active) {
            let counts = set.read()?;
            for (key, histogram) in &counts.latencies {
                let before = set.last.latencies.remove(key).unwrap_or_default();
                let added = histogram.since(&before);
                if added.count() > 0 {
                    traced.latencies.entry(*key).or_default().merge(&added);
                }
            }
            let users = traced.users.get_or_insert_default();
            counts.users_since(&set.last).iter().for_each(|user| users.add(user));
            let dropped = counts.dropped.saturating_sub(set.last.dropped);
            traced.dropped = traced.dropped.saturating_add(dropped);
            set.last = counts;
        }
        Ok(())
    }
}
