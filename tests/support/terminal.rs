//! Opens pseudo-terminals.

use std::fs::File;

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};

/// Opens a pseudo-terminal. Returns the side of the user and the side of the program.
pub(crate) fn open_terminal() -> (File, File) {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let user = openpt(flags).unwrap();
    grantpt(&user).unwrap();
    unlockpt(&user).unwrap();
    let program = ioctl_tiocgptpeer(&user, flags).unwrap();
    (user.into(), program.into())
}
