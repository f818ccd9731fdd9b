//! The machine as its firmware identifies itself.

use serde::{Deserialize, Serialize};

/// The most characters that are kept of a text from firmware or from a device: more than any text compared here has.
const MAX_TEXT_CHARS: usize = 64;
/// The asset tag of every Azure machine, which other Hyper-V hosts do not have.
const AZURE_ASSET_TAG: &str = "7783-7084-3265-9085-8269-3286-77";
/// The vendor of machines of Hyper-V, of Azure or not.
const HYPER_V_VENDOR: &str = "Microsoft Corporation";

/// The machine as its firmware identifies itself (`/sys/class/dmi/id`). Values that are not known are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    pub sys_vendor: Option<String>,
    pub product_name: Option<String>,
    /// The asset tag of the chassis (`chassis_asset_tag`).
    pub chassis_asset_tag: Option<String>,
}

impl Machine {
    /// Limits the length of the texts and removes control characters.
    #[must_use]
    pub fn bounded(self) -> Self {
        Self {
            sys_vendor: self.sys_vendor.as_deref().map(bounded_text),
            product_name: self.product_name.as_deref().map(bounded_text),
            chassis_asset_tag: self.chassis_asset_tag.as_deref().map(bounded_text),
        }
    }

    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether a provider, and not the owner of the machine, chose its asset tag.
    pub fn has_tag_of_provider(&self) -> bool {
        let tag = self.chassis_asset_tag.as_deref();
        tag == Some("Amazon EC2") || tag == Some(AZURE_ASSET_TAG)
    }

    /// A machine of AWS, Azure or Google, whose disks are volumes on a network unless their model is that of a local one.
    pub(super) fn is_of_cloud(&self) -> bool {
        let vendor = self.sys_vendor.as_deref().unwrap_or_default();
        let product = self.product_name.as_deref().unwrap_or_default();
        let tag = self.chassis_asset_tag.as_deref().unwrap_or_default();
        let is_aws = vendor == "Amazon EC2" || tag == "Amazon EC2";
        let is_azure = vendor == HYPER_V_VENDOR && tag == AZURE_ASSET_TAG;
        let is_google = vendor == "Google" || product == "Google Compute Engine";
        is_aws || is_azure || is_google
    }

    /// A virtual machine of a cloud or of Hyper-V, whose disks are not what their models say.
    pub(super) fn is_virtual(&self) -> bool {
        self.is_of_cloud() || self.sys_vendor.as_deref() == Some(HYPER_V_VENDOR)
    }
}

/// Returns the beginning of a text without control characters.
pub fn bounded_text(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control())
        .take(MAX_TEXT_CHARS)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(sys_vendor: &str, product_name: &str, chassis_asset_tag: &str) -> Machine {
        let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Machine {
            sys_vendor: known(sys_vendor),
            product_name: known(product_name),
            chassis_asset_tag: known(chassis_asset_tag),
        }
    }

    #[test]
    fn the_firmware_identifies_clouds_and_virtual_machines() {
        let (vendor, product) = ("Microsoft Corporation", "Virtual Machine");
        for (machine, is_of_cloud, is_virtual) in [
            (machine("Amazon EC2", "m5.large", ""), true, true),
            (machine("Xen", "HVM domU", "Amazon EC2"), true, true),
            (machine(vendor, product, AZURE_ASSET_TAG), true, true),
            (machine(vendor, product, "None"), false, true),
            (machine("Google", "Google Compute Engine", ""), true, true),
            (machine("QEMU", "Standard PC", ""), false, false),
            (Machine::default(), false, false),
        ] {
            let found = (machine.is_of_cloud(), machine.is_virtual());
            assert_eq!(found, (is_of_cloud, is_virtual), "{machine:?}");
        }
    }

    #[test]
    fn texts_are_bounded_and_safe() {
        assert_eq!(bounded_text("a\u{1b}[1m\nb"), "a[1mb");
        assert_eq!(
            bounded_text(&"ä".repeat(100_000)).chars().count(),
            MAX_TEXT_CHARS
        );
    }
}
