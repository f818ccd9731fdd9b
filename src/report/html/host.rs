//! The charts of the host.

use super::chart::{Area, Chart, ChartTime, Line, Look, ScaleKind, push_areas};
use super::data::{Group, Values};
use super::scale::Unit;
use crate::intervals::series::Extent;
use crate::intervals::{History, HostQuantity};

/// Appends the charts; nothing without values.
pub(super) fn push_host_charts(history: &History, time: ChartTime<'_>, out: &mut String) {
    let area = |label: &str, quantity: HostQuantity, class: &'static str| Area {
        label: label.to_owned(),
        key: quantity.name().to_owned(),
        class,
        values: history.host(quantity).iter().map(Extent::mean).collect(),
    };
    let cpu = [
        area("system", HostQuantity::CpuSystemPct, "a2"),
        area("user", HostQuantity::CpuUserPct, "a1"),
        area("stolen", HostQuantity::CpuStealPct, "a4"),
        area("available", HostQuantity::CpuAvailablePct, "rest"),
    ];
    push_areas("CPU", "Is there CPU left? ", &cpu, "", time, out);
    let line =
        |label, quantity: HostQuantity, look| Line::new(label, quantity.name(), look, history.host(quantity));
    let pressure = vec![
        line("some task waits", HostQuantity::PressureSomePct, Look::Read),
        line("all tasks wait", HostQuantity::PressureFullPct, Look::Write),
    ];
    let blocked = vec![line("blocked on I/O", HostQuantity::Blocked, Look::All)];
    let memory = vec![line("some task waits for memory", HostQuantity::MemoryPressureSomePct, Look::All)];
    let charts = [
        Chart::new("I/O pressure", "Do tasks wait for I/O? ", Unit::Percent, ScaleKind::Percent, pressure),
        Chart::new("Blocked tasks", "How many wait? ", Unit::Count, ScaleKind::Linear, blocked)
            .counting("tasks"),
        Chart::new("Memory pressure", "Is memory short? ", Unit::Percent, ScaleKind::Percent, memory),
    ];
    charts.iter().for_each(|chart| chart.push(time, out));
}

pub(super) fn host_data(history: &History) -> Group<'_> {
    let series = HostQuantity::all()
        .filter(|quantity| !history.host(*quantity).is_empty())
        .map(|quantity| (quantity.name().to_owned(), Values::Extents(history.host(quantity))));
    Group { name: "host", verdicts: &[], series: series.collect() }
}
