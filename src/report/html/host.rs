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
    let line = |label, quantity: HostQuantity, look| Line {
        label,
        key: quantity.name(),
        look,
        values: history.host(quantity),
    };
    let chart = |title, question, unit, counted, scale, lines| Chart {
        title,
        question,
        unit,
        counted,
        scale,
        lines,
        references: Vec::new(),
        shades: "",
    };
    chart(
        "I/O pressure",
        "Do tasks wait for I/O? ",
        Unit::Percent,
        "",
        ScaleKind::Percent,
        vec![
            line("some task waits", HostQuantity::PressureSomePct, Look::Read),
            line("all tasks wait", HostQuantity::PressureFullPct, Look::Write),
        ],
    )
    .push(time, out);
    chart(
        "Blocked tasks",
        "How many wait? ",
        Unit::Count,
        "tasks",
        ScaleKind::Linear,
        vec![line("blocked on I/O", HostQuantity::Blocked, Look::All)],
    )
    .push(time, out);
    chart(
        "Memory pressure",
        "Is memory short? ",
        Unit::Percent,
        "",
        ScaleKind::Percent,
        vec![line("some task waits for memory", HostQuantity::MemoryPressureSomePct, Look::All)],
    )
    .push(time, out);
}

/// The data of the host.
pub(super) fn host_data(history: &History) -> Group<'_> {
    let series = HostQuantity::ALL
        .into_iter()
        .filter(|quantity| !history.host(*quantity).is_empty())
        .map(|quantity| (quantity.name().to_owned(), Values::Extents(history.host(quantity))));
    Group { name: "host", verdicts: &[], series: series.collect() }
}
