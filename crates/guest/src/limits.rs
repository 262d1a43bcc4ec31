//! Every ceiling of the guest, declared once: the constants, and the table for `LIMITS.md`.

use std::time::Duration;

hood_limits::limits! {
    MAX_PROCESSES: usize = 1024, "processes started by clients that live at once", "one more is refused (`resource_exhausted`)";
    MAX_CONFIGS: usize = 32 << 20, bytes, "arguments and environments of all processes that clients have started", "one more process is refused (`resource_exhausted`)";
    /// Beyond it the kernel would say E2BIG, less clearly.
    MAX_ARGUMENTS: usize = 1 << 20, bytes, "arguments and environment of one process", "it is refused (`invalid_argument`)";
    MAX_TAG: usize = 1024, bytes, "a process's tag", "it is refused (`invalid_argument`)";
    /// Reference `e2b.md` 3.2.
    ENDS_KEPT: Duration = Duration::from_secs(30), "time in which the end of a process can be asked for", "it is forgotten";
    MAX_ENDED: usize = 4096, "ends of processes that are kept", "the oldest is forgotten";
    MAX_HELD: usize = 1024, "pipes read on after the end of their process, for what lives on", "more are closed";
    MAX_WRITES_WAITING: usize = 8, "writes that wait for one process to read", "one more is refused (`resource_exhausted`)";
    WRITE_LIMIT: Duration = Duration::from_secs(60), "time that a write waits for a process to read", "the write has failed (`deadline_exceeded`)", "the call (`connect-timeout-ms`)";
    MAX_READERS: usize = 16, "readers of one process", "one more is refused (`resource_exhausted`)";
    /// With [`PIPE_PIECE`] this is 256 KiB a reader.
    READER_QUEUE: usize = 8, "pieces of output that wait for one reader", "the process waits for the reader that came first; others are cut off, and told what they missed";
    READER_PATIENCE: Duration = Duration::from_secs(5), "time that one reader may hold up a process that others read too", "it is cut off, and told what it missed";
    /// As E2B's own (reference `e2b.md` 3.2).
    PIPE_PIECE: usize = 32 * 1024, bytes, "one piece of a pipe's output", "the next piece follows";
    TERMINAL_PIECE: usize = 16 * 1024, bytes, "one piece of a terminal's output", "the next piece follows";
    /// A `tee` at the end of a shell's process substitution still writes then.
    LATE_OUTPUT: Duration = Duration::from_millis(20), "time after a process's end in which what it started may still add to its output", "the stream ends";
    /// A program that prints for ever cannot occupy the guest: about 6 MB/s are read and thrown away.
    UNREAD_PAUSE: Duration = Duration::from_millis(5), "pause between two reads of output that nobody wants", "it is dropped and counted";
    /// Who asked sees it gone.
    KILL_WAIT: Duration = Duration::from_secs(1), "time that the answer to SIGKILL waits for the process to be gone", "the answer comes before";
    KILL_GRACE: Duration = Duration::from_secs(2), "time that a process past its deadline may take to be gone", "its stream ends without it";
    SIGN_OF_LIFE: Duration = Duration::from_secs(90), "silence on a process's stream", "a sign of life is sent", "the call (`keepalive-ping-interval`)";
    /// Under a full CPU quota it may wait for some periods.
    EXEC_SECONDS: i64 = 2, secs, "time until a started program runs", "it is left to start by itself, and is reported as running";
    MAX_MESSAGE: usize = 16 << 20, bytes, "one message of a Connect call", "it is refused (`resource_exhausted`)";
    REQUEST_END: Duration = Duration::from_secs(10), "time until a stream's request has ended", "the connection ends with the answer";
    /// The kernel's `PATH_MAX`.
    MAX_PATH: usize = 4096, bytes, "a path", "it is refused (`invalid_argument`)";
    /// A sandbox may write what it likes into its own.
    MAX_ACCOUNTS: u64 = 4 << 20, bytes, "`/etc/passwd` and `/etc/group` as far as they are read", "what follows is not seen";
    /// Environment and filter, with room to spare.
    MAX_BOOT_CONFIG: u64 = 4 << 20, bytes, "what the host tells a guest at its start", "create fails";
    FORK_ANSWER: Duration = Duration::from_secs(5), "time until the host has forked an interpreter", "one is started without it, more slowly";

    /// The kernel's own.
    MAX_LINKS: usize = 40, "symbolic links at the end of a path that is written to", "the upload fails (400)";
    MAX_RACES: usize = 32, "times that a path is looked up anew because something on it was being renamed", "the call fails";
    MAX_DOFFINGS: usize = 1000, "times that a thread of the guest tries to become itself again after work for an account, in a sandbox without memory", "the sandbox ends";
    MAX_UPLOADS: usize = 4096, "files in one upload", "the upload is refused (400); those before stay written";
    UPLOAD_IDLE: Duration = Duration::from_secs(300), "silence in the middle of an upload", "it fails (408)";
    /// A client that is sending sees the answer only when it is done.
    UPLOAD_DRAIN: Duration = Duration::from_secs(60), "time that the rest of a refused upload is still read", "the connection is closed";
    MAX_PART_HEAD: usize = 16 << 10, bytes, "headers of one part of a multipart upload", "the upload is refused (400)";
    /// RFC 2046, 5.1.1.
    MAX_BOUNDARY: usize = 70, bytes, "a multipart boundary", "the upload is refused (400)";
    MAX_REPLACED: usize = 16, "times that a file may be replaced while it is being opened for an upload", "the upload fails";
    /// The kernel allows 255 for a name, the namespace included.
    MAX_METADATA_KEY: usize = 246, bytes, "name of one piece of a file's metadata", "the upload is refused (400)";
    /// What ext4 keeps beside an inode.
    MAX_METADATA: usize = 4096, bytes, "names and values of a file's metadata", "the upload is refused (400)";
    MAX_ENTRIES: usize = 100_000, "entries of one listing of a directory", "it is refused (`resource_exhausted`)";
    /// The guest shares the sandbox's memory.
    MAX_LISTING: usize = 48 << 20, bytes, "one listing of a directory, about", "it is refused (`resource_exhausted`)";
    /// Each look-up reads an account file that the sandbox may have blown up.
    MAX_OWNERS: usize = 256, "different owners in one answer whose names are looked up", "numbers are shown";
    MAX_OPEN_DIRECTORIES: usize = 64, "directories held open while a tree is removed", "deeper ones are first moved up";
    /// Each moved-up directory may need one.
    MAX_REMOVAL_ROUNDS: usize = 100_000, "rounds over one directory that programs refill while it is removed", "the call fails";
    /// Each costs up to [`MAX_CHANGED_NAMES`].
    MAX_WATCHERS: usize = 64, "watches of a sandbox", "one more is refused (`resource_exhausted`)";
    MAX_WATCHED: usize = 8192, "directories below one recursive watch", "it is refused (`resource_exhausted`)";
    /// Four kernel queues full.
    MAX_EVENTS_AT_ONCE: usize = 65_536, "events of a watch taken at one go", "the guest does something else in between";
    MAX_CHANGES: usize = 4096, "changes kept for a watcher", "further ones are lost, and it is told so";
    MAX_CHANGED_NAMES: usize = 512 << 10, bytes, "names in the changes kept for a watcher", "further ones are lost, and it is told so";
    MAX_DIRTY: usize = 1024, "files written to and not reported yet", "all are reported";
    HOLD: Duration = Duration::from_millis(500), "time that a file is written to before it is reported", "it is reported";
    WATCHER_IDLE: Duration = Duration::from_secs(30 * 60), "time that a polled watcher is not asked", "it is removed";
    WATCH_SIGN_OF_LIFE: u64 = 90, secs, "silence on a watch's stream", "a sign of life is sent", "the call (`keepalive-ping-interval`)";

    /// Each is a process with its libraries loaded.
    MAX_CONTEXTS: usize = 64, "contexts of one sandbox", "one more is refused (429)";
    MAX_QUEUED_CELLS: usize = 64, "cells that wait in one context", "one more is refused (429)";
    MAX_WAITING_CELLS: usize = 64, "open cells of one sandbox whose requests their client answers", "one more is refused (429)";
    MAX_BODY: usize = 8 << 20, bytes, "one request: code, or the answer to a cell", "it is refused (413)";
    MAX_ENV_VARS: usize = 4096, "environment variables of one cell", "it is refused (400)";
    START_LIMIT: Duration = Duration::from_secs(60), "time until a kernel is ready", "it is ended, and the call fails with what it printed";
    INTERRUPTS: u32 = 2, "interrupts that an abandoned cell gets", "its kernel is ended";
    INTERRUPT_GRACE: Duration = Duration::from_secs(4), "time that each interrupt may take to end the cell", "the next follows";
    /// Proxies cut what is silent, and a write that fails is the surest sign of a client that is gone.
    CELL_SIGN_OF_LIFE: Duration = Duration::from_secs(5), "silence on a cell's stream", "a sign of life is sent";
    AWAY_LIMIT: Duration = Duration::from_secs(600), "time that a cell waits for an answer, or for its client to come back", "it is interrupted";
    MAX_QUEUED_RESTARTS: usize = 4, "restarts that wait in one context", "the caller of one more waits";
    /// Threads of a cell may ask at once.
    MAX_OPEN_REQUESTS: usize = 16, "requests of one cell that wait for answers", "one more is answered with an error";
    /// So that a second answer is told from one to nothing.
    MAX_ANSWERED: usize = 256, "answered requests of a cell that are remembered", "the oldest is forgotten";
    MAX_REQUEST_NAME: usize = 256, bytes, "name of a cell's request", "it is answered with an error";
    /// A 64 MiB display with the words around it.
    MAX_FRAME: usize = (64 << 20) + (64 << 10), bytes, "one message of a kernel", "it is dropped, and the log says so";
    /// One event more may arrive.
    CELL_ROOM: usize = 256 << 10, bytes, "output of a cell kept for its client", "the cell waits";
    /// A flood of one-byte writes is no flood of lines.
    MERGED_TEXT: usize = 64 << 10, bytes, "texts that wait together and become one line", "another line begins";
    LAST_WORDS: usize = 2 << 10, bytes, "what a kernel printed before it was ready, as kept for the error", "the beginning is left out";
    MAX_LOG_LINE: usize = 1 << 10, bytes, "one line about a context in the log", "the rest is cut";
    /// The socket closes a moment before the process can be reaped, and only the exit tells why.
    EXIT_AFTER_CLOSE: Duration = Duration::from_secs(2), "time that a kernel may live without its socket", "it is ended";
    /// Anybody in the sandbox may have replaced it.
    MAX_MANIFEST: u64 = 1 << 20, bytes, "the list of kernels in a template", "what follows is not read";
    KIN_ROUNDS: usize = 16, "rounds of looking for what a killed command has started, where the host has no groups for it", "what forks faster ends with the sandbox";
}
