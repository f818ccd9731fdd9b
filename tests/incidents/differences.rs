//! Where incidents are told otherwise than by the reference, and why: the beginning of the differences, and the reason.

pub(crate) const DIFFERENCES: &[(&str, &str)] = &[
    (
        "restic cut at 1795882446 loop0 1795882441: ",
        "Without CPU, the queue that there was goes on. The reference knows what follows, or takes such a second back",
    ),
    (
        "siblings cut at 1795883444 dm-0 1795883419: ",
        "A limit holds until a scan shows that it does not; in the reference, until the last scan that shows that it does",
    ),
    (
        "siblings cut at 1795883444 dm-0 1795883441: ",
        "The seconds after that scan, which belong to the limit here, are a queue there",
    ),
];
