//! Families of metrics: a name, a type and a description for all metrics that differ only in their labels.

#[derive(Debug)]
pub(super) struct Family {
    /// Its name: that of its metrics, or what the names of a histogram's metrics begin with.
    pub(super) name: &'static str,
    /// Its type, as the text format names it.
    pub(super) kind: &'static str,
    pub(super) help: &'static str,
}

impl Family {
    pub(super) const fn counter(name: &'static str, help: &'static str) -> Self {
        Self { name, kind: "counter", help }
    }

    pub(super) const fn gauge(name: &'static str, help: &'static str) -> Self {
        Self { name, kind: "gauge", help }
    }

    pub(super) const fn histogram(name: &'static str, help: &'static str) -> Self {
        Self { name, kind: "histogram", help }
    }
}
