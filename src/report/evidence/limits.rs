//! Known limits in words: as facts if the provider of the volume is known, otherwise with a condition.

use crate::analysis::{CloudLimit, CloudVolume, LimitMatch, NearLimit, RateUnit};
use crate::report::layout::sentence_numbers::number;
use crate::topology::Provider;

/// The limit that a rate matches, as text that follows the rate: `the limit of an AWS gp3 volume without more
/// provisioned`, or `if this is AWS, the limit of a gp3 volume with default settings`.
pub(super) fn limit_text(limit: &LimitMatch) -> String {
    match limit {
        LimitMatch::Stated => "the stated cap".to_owned(),
        LimitMatch::Cloud(limits) => clauses(limits, |_| String::new()),
    }
}

/// The name of the limit that a rate matches, as in machine formats: `AWS gp3 (base)`.
pub(crate) fn limit_name(limit: &LimitMatch) -> String {
    match limit {
        LimitMatch::Stated => "the stated cap".to_owned(),
        LimitMatch::Cloud(limits) => {
            let names = |provider| {
                let of_provider = limits_of(limits, provider);
                (!of_provider.is_empty()).then(|| {
                    format!("{} {}", provider_name(provider), volume_names(&of_provider).join(" or "))
                })
            };
            PROVIDERS.into_iter().filter_map(names).collect::<Vec<_>>().join(" or ")
        }
    }
}

/// The rate near a known limit, as a sentence without a period.
pub(super) fn near_limit_text(near: &NearLimit) -> String {
    let unit = match near.unit {
        RateUnit::Requests => "requests/s",
        RateUnit::Kib => "MiB/s",
    };
    let value = |limit: &CloudLimit| format!("{} is ", number(limit.value));
    format!("near a known limit: {} {unit}; {}", number(near.rate), clauses(&near.limits, value))
}

/// The providers whose volumes have fixed limits.
const PROVIDERS: [Provider; 2] = [Provider::Aws, Provider::Azure];

fn provider_name(provider: Provider) -> &'static str {
    match provider {
        Provider::Aws => "AWS",
        Provider::Azure => "Azure",
        Provider::Google => "Google Cloud",
        Provider::Other => "another",
    }
}

fn limits_of(limits: &[CloudLimit], provider: Provider) -> Vec<CloudLimit> {
    limits.iter().copied().filter(|limit| limit.volume.provider() == provider).collect()
}

/// A clause for each provider, which begins with the `subject` of its limits.
fn clauses(limits: &[CloudLimit], subject: impl Fn(&CloudLimit) -> String) -> String {
    let mut text = String::new();
    for provider in PROVIDERS {
        let of_provider = limits_of(limits, provider);
        let Some(first) = of_provider.first() else { continue };
        let (name, volumes) = (provider_name(provider), volume_texts(&of_provider).join(" or "));
        if first.is_provider_known {
            text += &format!("{}the limit of an {name} {volumes}", subject(first));
        } else {
            let condition = if text.is_empty() { "if this is" } else { "; if it is" };
            text += &format!("{condition} {name}, {}the limit of a {volumes}", subject(first));
        }
    }
    text
}

/// The volumes of one provider, the first without its article.
fn volume_texts(limits: &[CloudLimit]) -> Vec<String> {
    let text = |volume| match volume {
        CloudVolume::Gp3Base => "gp3 volume with default settings".to_owned(),
        CloudVolume::Gp2 { gib } => format!("gp2 volume of {} GiB", number(gib as f64)),
        CloudVolume::Gp2Burst => "gp2 volume with burst credits".to_owned(),
        CloudVolume::PremiumSsd(tier) => format!("Premium SSD {tier}"),
    };
    let texts = shorten_tiers(limits.iter().map(|limit| text(limit.volume)));
    let with_article = |(index, text): (usize, String)| match index {
        1.. if text.contains(' ') => format!("a {text}"),
        _ => text,
    };
    texts.into_iter().enumerate().map(with_article).collect()
}

/// The names of the volumes of one provider.
fn volume_names(limits: &[CloudLimit]) -> Vec<String> {
    let name = |volume| match volume {
        CloudVolume::Gp3Base => "gp3 (base)".to_owned(),
        CloudVolume::Gp2 { gib } => format!("gp2 ({gib} GiB)"),
        CloudVolume::Gp2Burst => "gp2 (burst)".to_owned(),
        CloudVolume::PremiumSsd(tier) => format!("Premium SSD {tier}"),
    };
    shorten_tiers(limits.iter().map(|limit| name(limit.volume)))
}

/// Shortens names to `Premium SSD P40`, `P50`: further tiers without the kind of volume.
fn shorten_tiers(names: impl Iterator<Item = String>) -> Vec<String> {
    let shorten = |(index, name): (usize, String)| match name.strip_prefix("Premium SSD ") {
        Some(tier) if index > 0 => tier.to_owned(),
        _ => name,
    };
    names.enumerate().map(shorten).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(volumes: &[CloudVolume], value: f64, is_provider_known: bool) -> Vec<CloudLimit> {
        volumes.iter().map(|volume| CloudLimit { volume: *volume, value, is_provider_known }).collect()
    }

    #[test]
    fn a_limit_is_a_fact_only_where_the_provider_is_known() {
        let gp3 = |is_known| LimitMatch::Cloud(limits(&[CloudVolume::Gp3Base], 3000.0, is_known));
        assert_eq!(limit_text(&gp3(true)), "the limit of an AWS gp3 volume with default settings");
        assert_eq!(
            limit_text(&gp3(false)),
            "if this is AWS, the limit of a gp3 volume with default settings"
        );
        assert_eq!([gp3(true), gp3(false)].map(|one| limit_name(&one)), ["AWS gp3 (base)"; 2]);
    }

    #[test]
    fn several_volumes_are_named_by_provider() {
        let tiers = ["P40", "P50"].map(CloudVolume::PremiumSsd);
        let tiers = LimitMatch::Cloud(limits(&tiers, 7500.0, true));
        assert_eq!(limit_text(&tiers), "the limit of an Azure Premium SSD P40 or P50");
        assert_eq!(limit_name(&tiers), "Azure Premium SSD P40 or P50");
        let both = [CloudVolume::Gp3Base, CloudVolume::PremiumSsd("P15")];
        let both = limits(&both, 125.0, false);
        assert_eq!(limit_name(&LimitMatch::Cloud(both.clone())), "AWS gp3 (base) or Azure Premium SSD P15");
        assert_eq!(
            near_limit_text(&NearLimit { unit: RateUnit::Kib, rate: 124.6, limits: both }),
            "near a known limit: 125 MiB/s; if this is AWS, 125 is the limit of a gp3 volume with default settings; \
             if it is Azure, 125 is the limit of a Premium SSD P15"
        );
        let burst = LimitMatch::Cloud(limits(&[CloudVolume::Gp3Base, CloudVolume::Gp2Burst], 3000.0, true));
        assert_eq!(
            limit_text(&burst),
            "the limit of an AWS gp3 volume with default settings or a gp2 volume with burst credits"
        );
        let gp2 = [CloudVolume::Gp2 { gib: 1000 }];
        let near = NearLimit { unit: RateUnit::Requests, rate: 3012.0, limits: limits(&gp2, 3000.0, true) };
        assert_eq!(
            near_limit_text(&near),
            "near a known limit: 3,012 requests/s; 3,000 is the limit of an AWS gp2 volume of 1,000 GiB"
        );
    }
}
