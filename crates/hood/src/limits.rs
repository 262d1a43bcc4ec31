//! Every ceiling of the command line and of the server's wiring: the constants, and the table for `LIMITS.md`.

use std::time::Duration;

use hood_driver_api::Bytes;

hood_limits::limits! {
    PIDS: u32 = 1024, "processes and threads of a sandbox when nothing is said", "fork fails with EAGAIN", "create call (`hood.pids`)";
    DISK: Bytes = Bytes::gib(5), "writable layer of a sandbox when nothing is said", "EDQUOT: `Disk quota exceeded`", "create call (`hood.diskMB`)";
    SMALLEST_LAYERS: Bytes = Bytes::gib(4), "least size of the image for writable layers, which otherwise gets half of what is free", "ENOSPC for all sandboxes together";
    DRAIN: Duration = Duration::from_secs(5), "time that requests may take to end when the server stops", "they are cut";
    SANDBOXES_OF_A_COMMAND: usize = 8, "sandboxes of the server inside `hood run` and `hood ask`", "create is refused", "start a server: `hood serve`";

    ROOT_BUNDLE: u64 = 8 << 20, bytes, "a template's bundle of root certificates", "sandboxes of the template do not trust the gate, which the log says";
    CERTIFICATE_LIFE: Duration = Duration::from_secs(90 * 86_400), "life of the server's certificate from its own authority", "it is renewed after `CERTIFICATE_FRESH`";
    CERTIFICATE_FRESH: Duration = Duration::from_secs(30 * 86_400), "how long such a certificate is used", "the next handshake makes a new one";
    CERTIFICATE_LOOK: Duration = Duration::from_secs(30), "time between two looks whether the files of `--tls-cert` and `--tls-key` have changed", "a new certificate is taken at the next look";

    SECRET_INPUT: u64 = 64 << 10, bytes, "a value that `hood secret set` reads", "it is refused";
    ACME_FIRST_LOOK: Duration = Duration::from_secs(1), "time between two looks whether the first certificate by ACME is there", "it is served from then on";
    ACME_LOOK: Duration = Duration::from_secs(3600), "time between two looks whether a certificate by ACME is due", "it is looked at then";
    ACME_RENEW: Duration = Duration::from_secs(30 * 86_400), "age at which a certificate by ACME is renewed", "a new one is asked for";
    ACME_AGAIN: Duration = Duration::from_secs(60), "time until a failed attempt at a certificate is repeated; twice as long each time", "the server keeps the certificate that it has";
    ACME_AGAIN_LONGEST: Duration = Duration::from_secs(6 * 3600), "the same, at most", "the server keeps the certificate that it has";
    AUDIT_QUEUE: usize = 16_384, "audit entries on their way to the store", "further ones are counted as lost, in the log and in `/metrics`";
    AUDIT_BATCH: usize = 512, "audit entries written at once", "the rest is written next";
    AUDIT_PRUNE: Duration = Duration::from_secs(600), "time between two looks for audit entries that are too old", "they are forgotten then";

    RUN_AROUND: Duration = Duration::from_secs(600), "life of the sandbox of `hood run` beyond the program's own limit", "it ends";
    RUN_FAREWELL: Duration = Duration::from_secs(10), "time to end the sandbox of an interrupted `hood run`", "its deadline ends it";
    RUN_PROGRAM: u64 = 16 << 20, bytes, "a program on standard input of `hood run`", "it is refused";
    RUN_OUTPUT: usize = 16 << 20, bytes, "each output that `hood run --json` holds", "the rest is left out, and said";
    RUN_LEVELS: u32 = 32, "levels of folders that `hood run` fetches files from", "what lies deeper is left";
    RUN_FILES: usize = 1000, "files that `hood run` fetches", "the others are counted in a warning";
    RUN_BYTES: u64 = 2 << 30, bytes, "what `hood run` fetches", "what goes beyond is named in a warning";
    RUN_NAME: usize = 120, bytes, "one part of the name of a file that `hood run` saves", "it is shortened";
}
