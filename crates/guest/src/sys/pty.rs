//! Pseudo terminals of the sandbox's own devpts.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::pty::OpenptFlags;
use rustix::termios::Winsize;

/// A fresh terminal pair: (master, slave). Neither becomes a controlling terminal here.
pub(crate) fn open(cols: u16, rows: u16) -> io::Result<(OwnedFd, OwnedFd)> {
    let master = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&master, true)?;
    rustix::pty::unlockpt(&master)?;
    let name = rustix::pty::ptsname(&master, Vec::new())?;
    let slave = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
    resize(&master, cols, rows)?;
    Ok((master, slave))
}

/// Sets the size; the foreground process group gets SIGWINCH.
pub(crate) fn resize(terminal: impl AsFd, cols: u16, rows: u16) -> io::Result<()> {
    let size = Winsize { ws_row: rows, ws_col: cols, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(terminal, size)?;
    Ok(())
}
