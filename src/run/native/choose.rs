//! Which devices are shown, in which order, and what they are called.

use std::collections::HashMap;

use anyhow::{Result, anyhow};
use regex_lite::Regex;

use super::leaves::{Share, shares};
use crate::counters::{Counters, Device};
use crate::metrics::IntervalStats;
use crate::plan::DeviceSelection;
use crate::run::device_lookup::{find_device, strip_dev_dir};
use crate::run::suggest::{nearest_name, unknown_device};
use crate::sanitize::sanitize;
use crate::source::DeviceResolver;
use crate::topology::{Kind, Node, Topology, natural_key};

/// What is known of a device as long as the names stay the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    /// What people call it.
    pub(super) shown: String,
    /// Where it is mounted.
    pub(super) mounts: String,
    /// The kernel does not count what it does.
    pub(super) accounting_off: bool,
    /// Whether it counts in the total.
    pub(super) share: Share,
    /// Shown only where it works.
    only_working: bool,
    /// Asked for, by name or by pattern.
    asked_for: bool,
}

/// Chooses devices.
pub(super) struct Chooser<'a> {
    choice: &'a DeviceSelection,
    regex: Option<Regex>,
    /// Of each device that was named, whether it was found.
    found: Vec<bool>,
    /// Whether the pattern matched a device.
    matched: bool,
}

impl<'a> Chooser<'a> {
    /// A chooser for a plan's choice.
    ///
    /// # Errors
    /// When the pattern is none.
    pub(super) fn new(choice: &'a DeviceSelection) -> Result<Self> {
        let regex = choice.regex.as_ref().map(|pattern| {
            Regex::new(pattern)
                .map_err(|error| anyhow!("--devices-regex is '{}': {error}", sanitize(pattern)))
        });
        Ok(Self {
            choice,
            regex: regex.transpose()?,
            found: vec![false; choice.devices.len()],
            matched: false,
        })
    }

    /// The facts of each device, and the order of all: whole devices before what is stacked on them, then by name.
    pub(super) fn facts(
        &mut self,
        devices: &[Device],
        stack: &Topology,
        names: Option<&DeviceResolver>,
    ) -> (Vec<Facts>, Vec<usize>) {
        let nodes: HashMap<&str, &Node> =
            stack.nodes().iter().map(|node| (node.name.as_str(), node)).collect();
        let asked_for = self.asked_for(devices, &nodes, names);
        let chosen = self.is_restricted().then_some(asked_for.as_slice());
        let shares = shares(devices, stack, chosen);
        let facts: Vec<Facts> = devices
            .iter()
            .zip(asked_for.into_iter().zip(shares))
            .map(|(device, (asked_for, share))| Facts {
                asked_for,
                share,
                ..self.fact(device, nodes.get(device.name.as_str()).copied())
            })
            .collect();
        let mut order: Vec<usize> = (0..devices.len()).collect();
        order.sort_by_cached_key(|at| (stack.depth(&devices[*at].name), natural_key(&facts[*at].shown)));
        (facts, order)
    }

    fn fact(&self, device: &Device, node: Option<&Node>) -> Facts {
        let kind = node.map_or_else(|| Kind::from_name(&device.name), |node| node.kind);
        let alias = node.and_then(|node| node.alias.clone());
        let is_partition = kind == Kind::Partition;
        let often_idle = kind.is_memory() || kind == Kind::Loop || is_partition;
        Facts {
            shown: alias.unwrap_or_else(|| device.name.clone()),
            mounts: node.map(|node| node.mountpoints.join(",")).unwrap_or_default(),
            accounting_off: node.is_some_and(|node| node.is_accounting_off()),
            only_working: often_idle && !(is_partition && self.choice.partitions),
            ..Facts::default()
        }
    }

    /// Which of the devices were asked for by a name of theirs or by the pattern.
    fn asked_for(
        &mut self,
        devices: &[Device],
        nodes: &HashMap<&str, &Node>,
        names: Option<&DeviceResolver>,
    ) -> Vec<bool> {
        let alias = |device: &Device| nodes.get(device.name.as_str()).and_then(|node| node.alias.as_deref());
        let mut asked_for: Vec<bool> = devices
            .iter()
            .map(|device| {
                let is_match = |regex: &Regex| {
                    regex.is_match(&device.name) || alias(device).is_some_and(|name| regex.is_match(name))
                };
                self.regex.as_ref().is_some_and(is_match)
            })
            .collect();
        self.matched |= asked_for.contains(&true);
        for (word, found) in self.choice.devices.iter().zip(&mut self.found) {
            if let Some(at) = find_device(word, devices, alias, names) {
                asked_for[at] = true;
                *found = true;
            }
        }
        asked_for
    }

    /// Whether some devices were asked for, so that no others are shown.
    fn is_restricted(&self) -> bool {
        self.regex.is_some() || !self.choice.devices.is_empty()
    }

    /// Whether a device is shown in an interval; `figures` where there are any.
    pub(super) fn is_shown(
        &self,
        facts: &Facts,
        counters: &Counters,
        figures: Option<&IntervalStats>,
    ) -> bool {
        if self.is_restricted() {
            return facts.asked_for;
        }
        let works = figures.is_some_and(|figures| !figures.is_idle());
        let ever_worked = counters.completed().iter().any(|count| *count > 0) || counters.in_flight > 0;
        self.choice.all || works || !facts.only_working && (ever_worked || facts.accounting_off)
    }

    /// Whether news of a device are told.
    pub(super) fn is_news(&self, facts: &Facts) -> bool {
        !self.is_restricted() || facts.asked_for
    }

    /// The same of a device of which no more than the name is known.
    pub(super) fn is_news_by_name(&self, name: &str) -> bool {
        let is_match = self.regex.as_ref().is_some_and(|regex| regex.is_match(name));
        !self.is_restricted()
            || is_match
            || self.choice.devices.iter().any(|word| strip_dev_dir(word) == name)
    }

    /// What was asked for and never found, in words: with the nearest name, or, where no more than so many intervals
    /// of a capture were `looked_at`, that it was not in these.
    pub(super) fn missing(
        &self,
        devices: &[Device],
        facts: &[Facts],
        looked_at: Option<u64>,
    ) -> Option<String> {
        let named = self.choice.devices.iter().zip(&self.found).filter(|(_, found)| !**found);
        let words: Vec<&str> = named.map(|(word, _)| word.as_str()).collect();
        let within = looked_at.map(|count| {
            let intervals = if count == 1 { "interval".to_owned() } else { format!("{count} intervals") };
            format!(" in the first {intervals}, and COUNT looks no further")
        });
        let Some(first) = words.first() else {
            let pattern = self.choice.regex.as_ref().filter(|_| !self.matched)?;
            return Some(format!("no device matches '{}'{}", sanitize(pattern), within.unwrap_or_default()));
        };
        if let Some(within) = within {
            let is = if words.len() == 1 { "is" } else { "are" };
            let words: Vec<_> = words.iter().map(|word| sanitize(word)).collect();
            return Some(format!("'{}' {is} not{within}", words.join("' and '")));
        }
        let names = devices.iter().map(|device| &device.name).chain(facts.iter().map(|facts| &facts.shown));
        // Of several words a hint would not tell which it is for.
        let nearest = nearest_name(first, names.filter(|_| words.len() == 1));
        Some(unknown_device(&words, nearest))
    }

    /// Whether any device that was asked for was ever there.
    pub(super) fn found_any(&self) -> bool {
        !self.is_restricted() || self.matched || self.found.contains(&true)
    }
}
