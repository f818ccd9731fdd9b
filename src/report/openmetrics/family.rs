//! Families of metrics: a name, a type, a unit and a description for all metrics that differ only in their labels.

/// The type of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FamilyKind {
    /// A value that only grows.
    Counter,
    /// A value that rises and falls.
    Gauge,
    /// Counts by bucket.
    Histogram,
    /// Labels that do not change while the subject exists.
    Info,
}

impl FamilyKind {
    /// The name of the type in OpenMetrics.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
            Self::Info => "info",
        }
    }

    /// The name of the type in the classic format, which lacks `info`.
    pub(super) fn classic_name(self) -> &'static str {
        if self == Self::Info { "gauge" } else { self.name() }
    }
}

/// A family of metrics.
#[derive(Debug)]
pub(super) struct Family {
    /// Its name without `_total` and `_info`.
    pub(super) name: &'static str,
    /// Its type.
    pub(super) kind: FamilyKind,
    /// Its description.
    pub(super) help: &'static str,
}

impl Family {
    pub(super) const fn counter(name: &'static str, help: &'static str) -> Self {
        Self { name, kind: FamilyKind::Counter, help }
    }

    pub(super) const fn gauge(name: &'static str, help: &'static str) -> Self {
        Self { name, kind: FamilyKind::Gauge, help }
    }

    pub(super) const fn histogram(name: &'static str, help: &'static str) -> Self {
        Self { name, kind: FamilyKind::Histogram, help }
    }

    pub(super) const fn info(name: &'static str, help: &'static str) -> Self {
        Self { name, kind: FamilyKind::Info, help }
    }

    /// The ending of the names of its metrics.
    pub(super) fn suffix(&self) -> &'static str {
        match self.kind {
            FamilyKind::Counter => "_total",
            FamilyKind::Info => "_info",
            FamilyKind::Gauge | FamilyKind::Histogram => "",
        }
    }

    /// The name of its metrics.
    pub(super) fn metric_name(&self) -> String {
        format!("{}{}", self.name, self.suffix())
    }

    /// The unit that its name ends with; `None` if it has none.
    pub(super) fn unit(&self) -> Option<&'static str> {
        ["seconds", "bytes"]
            .into_iter()
            .find(|unit| self.name.strip_suffix(unit).is_some_and(|rest| rest.ends_with('_')))
    }
}
