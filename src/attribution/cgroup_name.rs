//! The names by which people know cgroups: systemd units, containers, pods, virtual machines, user sessions.

/// The number of characters of a container's id that container tools print.
const SHORT_ID: usize = 12;
/// The lengths of a container's id.
const ID_LENGTHS: [usize; 2] = [32, 64];
/// The shortest id of a pod: a UUID, whose hyphens may be missing.
const MIN_POD_ID: usize = 32;

/// A function that names one component of a path, given the components above it; `None` for a component of another
/// form.
type NamePart = fn(&str, &[&str]) -> Option<String>;

/// Returns the name by which people know a cgroup, given its path: `db.service`, `docker 3f2a9c1b7d5e`, `pod 1a2b...
/// burstable`. The path below a named component is appended; a cgroup without such a component keeps its path. Names
/// are not escaped.
///
/// A container, pod or machine has precedence over units, because it may contain units itself.
pub fn cgroup_name(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    if parts.is_empty() {
        return "(root)".to_owned();
    }
    let forms: [&[NamePart]; 2] = [&[container, pod, machine], &[session, unit]];
    for names in forms {
        for (at, part) in parts.iter().enumerate().rev() {
            let Some(name) = names.iter().find_map(|name| name(part, &parts[..at])) else {
                continue;
            };
            return match &parts[at + 1..] {
                [] => name,
                below => format!("{name}/{}", below.join("/")),
            };
        }
    }
    path.to_owned()
}

/// Names a container: `docker-ID.scope`, `cri-containerd-ID.scope`, `crio-ID.scope`, `libpod-ID.scope`, as systemd
/// manages them, or `/docker/ID` and `/kubepods/.../ID` without it.
fn container(part: &str, above: &[&str]) -> Option<String> {
    let name = part.strip_suffix(".scope").unwrap_or(part);
    // containerd's own form is `SLICE:cri-containerd:ID`.
    let (prefix, id) = name.rsplit_once([':', '-']).unwrap_or(("", name));
    let is_id = ID_LENGTHS.contains(&id.len()) && id.bytes().all(|b| b.is_ascii_hexdigit());
    if !is_id {
        return None;
    }
    let engine = match prefix.rsplit(':').next().unwrap_or(prefix) {
        "docker" => "docker",
        "cri-containerd" | "containerd" | "nerdctl" => "containerd",
        "crio" => "cri-o",
        "libpod" => "podman",
        // Helpers of an engine, which do I/O themselves.
        "crio-conmon" => "conmon of cri-o",
        "libpod-conmon" => "conmon of podman",
        "" => match above.last() {
            Some(&"docker") => "docker",
            Some(&"libpod_parent") => "podman",
            Some(&"default" | &"k8s.io" | &"moby") => "containerd",
            Some(parent) if parent.starts_with("libpod") => "podman",
            Some(parent) if pod(parent, &above[..above.len() - 1]).is_some() => "container",
            _ => return None,
        },
        _ => return None,
    };
    let short = format!("{engine} {}", &id[..SHORT_ID]);
    if let Some((slice, _)) = name.split_once(':')
        && let Some(pod) = pod(slice, &[])
    {
        return Some(format!("{pod} {short}"));
    }
    for (at, part) in above.iter().enumerate().rev() {
        if let Some(pod) = pod(part, &above[..at]) {
            return Some(format!("{pod} {short}"));
        }
    }
    Some(short)
}

/// Names a Kubernetes pod by its unique id and its class of service: `kubepods-burstable-podUID.slice`, or `podUID` in
/// `kubepods/burstable`. A pod without a class is guaranteed.
fn pod(part: &str, above: &[&str]) -> Option<String> {
    let name = part.strip_suffix(".slice").unwrap_or(part);
    let (class, id) = match name.rsplit_once("-pod") {
        Some((prefix, id)) if prefix.contains("kubepods") => (prefix, id),
        Some(_) => return None,
        None => (
            above.last().copied().unwrap_or_default(),
            name.strip_prefix("pod")?,
        ),
    };
    // systemd would take a hyphen for a level of the hierarchy, so ids are written with underscores.
    let id = id.replace('_', "-");
    let is_id = id.len() >= MIN_POD_ID && id.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    if !is_id {
        return None;
    }
    for name in ["besteffort", "burstable"] {
        if class.ends_with(name) {
            return Some(format!("pod {id} {name}"));
        }
    }
    Some(format!("pod {id} guaranteed"))
}

/// Names a virtual machine of libvirt: `machine-qemu\x2d3\x2dweb.scope`, or `3-web.libvirt-qemu`.
fn machine(part: &str, above: &[&str]) -> Option<String> {
    if let Some((name, "libvirt-qemu" | "libvirt-lxc")) = part.rsplit_once('.') {
        return Some(format!("vm {}", without_number(name)));
    }
    if above.last() != Some(&"machine.slice") {
        return None;
    }
    let scope = part.strip_suffix(".scope")?.strip_prefix("machine-")?;
    let full = unescape(scope);
    let name = match full.split_once('-') {
        Some(("qemu" | "lxc", name)) => name,
        _ => &full,
    };
    Some(format!("vm {}", without_number(name)))
}

/// Returns the name of a machine without the number that libvirt puts before it.
fn without_number(name: &str) -> &str {
    match name.split_once('-') {
        Some((number, rest)) if number.bytes().all(|b| b.is_ascii_digit()) => rest,
        _ => name,
    }
}

/// Names a session of a user: `session-3.scope` in `user-1000.slice`.
fn session(part: &str, above: &[&str]) -> Option<String> {
    let number = part.strip_suffix(".scope")?.strip_prefix("session-")?;
    let user = above
        .last()?
        .strip_suffix(".slice")?
        .strip_prefix("user-")?;
    Some(format!("session {number} of user {user}"))
}

/// Names a unit of systemd, with its escapes decoded.
fn unit(part: &str, _above: &[&str]) -> Option<String> {
    const KINDS: [&str; 6] = [".service", ".scope", ".slice", ".socket", ".mount", ".swap"];
    KINDS
        .iter()
        .any(|kind| part.len() > kind.len() && part.ends_with(kind))
        .then(|| unescape(part))
}

/// Decodes the escapes of systemd, such as `\x2d` for a hyphen (systemd-escape(1)). A byte that is not ASCII stays
/// escaped.
fn unescape(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\\x") {
        decoded.push_str(before);
        if let Some(digits) = after.get(..2)
            && let Ok(byte) = u8::from_str_radix(digits, 16)
            && byte.is_ascii()
        {
            decoded.push(char::from(byte));
            rest = &after[2..];
        } else {
            decoded.push_str("\\x");
            rest = after;
        }
    }
    decoded.push_str(rest);
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "3f2a9c1b7d5e4f60a1b2c3d4e5f60718293a4b5c6d7e8f901a2b3c4d5e6f7081";
    const POD: &str = "0f1e2d3c_4b5a_6978_8796_a5b4c3d2e1f0";

    #[track_caller]
    fn assert_names(cases: &[(&str, &str)]) {
        for (path, name) in cases {
            let fill = |text: &str| {
                text.replace("IDSHORT", &ID[..12])
                    .replace("ID", ID)
                    .replace("PODNAME", &POD.replace('_', "-"))
                    .replace("POD", POD)
            };
            assert_eq!(cgroup_name(&fill(path)), fill(name), "{path}");
        }
    }

    #[test]
    fn units_have_their_own_names() {
        assert_names(&[
            ("/system.slice/db.service", "db.service"),
            (
                "/system.slice/system-getty.slice/getty@tty1.service",
                "getty@tty1.service",
            ),
            ("/system.slice/mnt-a\\x2db.mount", "mnt-a-b.mount"),
            ("/system.slice", "system.slice"),
            ("/init.scope", "init.scope"),
            ("/system.slice/db.service/worker", "db.service/worker"),
            (
                "/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.scope",
                "app-x.scope",
            ),
            (
                "/user.slice/user-1000.slice/session-3.scope",
                "session 3 of user 1000",
            ),
        ]);
    }

    #[test]
    fn containers_have_their_short_id() {
        assert_names(&[
            ("/system.slice/docker-ID.scope", "docker IDSHORT"),
            ("/docker/ID", "docker IDSHORT"),
            (
                "/docker/ID/system.slice/db.service",
                "docker IDSHORT/system.slice/db.service",
            ),
            ("/docker/ID/init", "docker IDSHORT/init"),
            ("/system.slice/crio-ID.scope", "cri-o IDSHORT"),
            ("/machine.slice/libpod-ID.scope", "podman IDSHORT"),
            (
                "/machine.slice/libpod-ID.scope/container",
                "podman IDSHORT/container",
            ),
            (
                "/machine.slice/libpod-conmon-ID.scope",
                "conmon of podman IDSHORT",
            ),
            ("/libpod_parent/libpod-ID", "podman IDSHORT"),
            ("/system.slice/nerdctl-ID.scope", "containerd IDSHORT"),
            ("/default/ID", "containerd IDSHORT"),
        ]);
    }

    #[test]
    fn pods_have_their_id_and_class() {
        let besteffort =
            "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podPOD.slice";
        assert_names(&[
            (besteffort, "pod PODNAME besteffort"),
            (
                &format!("{besteffort}/cri-containerd-ID.scope"),
                "pod PODNAME besteffort containerd IDSHORT",
            ),
            (
                "/kubepods.slice/kubepods-podPOD.slice/crio-ID.scope",
                "pod PODNAME guaranteed cri-o IDSHORT",
            ),
            (
                "/kubepods/burstable/podPODNAME/ID",
                "pod PODNAME burstable container IDSHORT",
            ),
            ("/kubepods/podPODNAME", "pod PODNAME guaranteed"),
            (
                "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/\
                 kubelet-kubepods-burstable-podPOD.slice",
                "pod PODNAME burstable",
            ),
            (
                "/system.slice/containerd.service/kubepods-burstable-podPOD.slice:cri-containerd:ID",
                "pod PODNAME burstable containerd IDSHORT",
            ),
        ]);
    }

    #[test]
    fn machines_have_the_name_that_libvirt_knows() {
        assert_names(&[
            (
                "/machine.slice/machine-qemu\\x2d3\\x2dweb\\x2dserver.scope",
                "vm web-server",
            ),
            (
                "/machine.slice/machine-qemu\\x2d3\\x2dweb.scope/libvirt/emulator",
                "vm web/libvirt/emulator",
            ),
            ("/machine/3-web.libvirt-qemu/vcpu0", "vm web/vcpu0"),
        ]);
    }

    #[test]
    fn other_cgroups_keep_their_paths() {
        assert_names(&[
            ("/", "(root)"),
            ("", "(root)"),
            ("/capped.1234", "/capped.1234"),
            ("/batch/nightly", "/batch/nightly"),
            ("/ID", "/ID"),
            ("/podcast", "/podcast"),
            ("/my-pod", "/my-pod"),
            ("/.service", "/.service"),
            ("/a\\x/b\u{e9}\\x9", "/a\\x/b\u{e9}\\x9"),
            ("/docker/IDx", "/docker/IDx"),
        ]);
    }

    #[test]
    fn escapes_that_are_not_ascii_stay() {
        assert_eq!(unescape("a\\xffb\\x2dc\\x\u{e9}"), "a\\xffb-c\\x\u{e9}");
    }
}
