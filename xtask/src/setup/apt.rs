//! Debian's packages.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::process::{bounded, is_there, run};

/// A slow mirror is waited for.
const LIMIT: Duration = Duration::from_secs(20 * 60);

/// How to see that a package is there already, whoever put it there.
enum Sign {
    Program(&'static str),
    File(&'static str),
    PythonModule(&'static str),
}

/// One package: how to see it, its name, what it is for.
type Need = (Sign, &'static str, &'static str);

const NEEDS: [Need; 12] = [
    (Sign::Program("cc"), "build-essential", "compiling SQLite and linking"),
    (Sign::Program("git"), "git", "listing the repository's files for lint"),
    (Sign::File("/etc/ssl/certs/ca-certificates.crt"), "ca-certificates", "HTTPS to package registries"),
    (Sign::Program("mmdebstrap"), "mmdebstrap", "building the templates' root filesystems"),
    (
        Sign::File("/usr/share/keyrings/debian-archive-keyring.gpg"),
        "debian-archive-keyring",
        "checking Debian's signatures",
    ),
    (Sign::Program("mkfs.btrfs"), "btrfs-progs", "the file system of the sandboxes' writable layers"),
    (Sign::Program("nft"), "nftables", "network rules of sandboxes"),
    (Sign::Program("newuidmap"), "uidmap", "servers without root, in tests"),
    (Sign::Program("ip"), "iproute2", "looking at network namespaces in tests"),
    (Sign::Program("python3"), "python3", "the tests and the demonstration"),
    (Sign::PythonModule("ensurepip"), "python3-venv", "the official SDK packages, apart from the system's"),
    (Sign::Program("pdftotext"), "poppler-utils", "reading the PDF report"),
];

/// What `bench` measures us against.
const RIVALS: [Need; 4] = [
    (Sign::Program("bwrap"), "bubblewrap", "a rival in the bench, and part of another"),
    (Sign::Program("dockerd"), "docker.io", "a rival in the bench"),
    (Sign::Program("runsc"), "runsc", "a rival in the bench"),
    (Sign::Program("busybox"), "busybox-static", "the smallest image for Docker"),
];

/// Installs what is missing.
pub(super) fn install() -> Result<()> {
    install_all(&NEEDS)
}

/// Installs what is missing for the bench.
pub(super) fn install_rivals() -> Result<()> {
    install_all(&RIVALS)
}

fn install_all(needs: &[Need]) -> Result<()> {
    let missing: Vec<_> = needs.iter().filter(|(sign, ..)| !sign.is_seen()).collect();
    if missing.is_empty() {
        println!("Debian packages: all {} are there", needs.len());
        return Ok(());
    }
    for (_, package, why) in &missing {
        println!("Debian package {package}: {why}");
    }
    if !is_there("apt-get") {
        bail!("this is no Debian; install what is named above, or what your distribution calls it");
    }
    run(apt().args(["update", "--quiet=2"]))?;
    let names = missing.iter().map(|(_, package, _)| *package);
    run(apt().args(["install", "--yes", "--quiet=2", "--no-install-recommends"]).args(names))
}

fn apt() -> Command {
    let mut command = bounded(LIMIT, "apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

impl Sign {
    fn is_seen(&self) -> bool {
        match self {
            Self::Program(name) => is_there(name),
            Self::File(path) => Path::new(path).exists(),
            Self::PythonModule(name) => {
                let seen = Command::new("python3").arg("-c").arg(format!("import {name}")).output();
                seen.is_ok_and(|output| output.status.success())
            }
        }
    }
}
