"""Every ceiling of `LIMITS.md` has a trial, or a reason why it has none here."""

import importlib

import page

MODULES = ["test_sandboxes", "test_walls", "test_processes", "test_files", "test_contexts", "test_kept"]

#: section -> reason -> names
UNTRIED = {
    "Sandboxes": {
        "needs a node full of sandboxes; crates/engine/tests/it/creating.rs, with two": "MAX_SANDBOXES",
        "needs a driver or store that hangs or fails; crates/engine/tests/it": (
            "BUILD DIAL USAGE STORE DESTROY DESTROY_ATTEMPTS DESTROY_PAUSE DESTROYS REMAINS STOP DRIVER_EVENTS JOURNAL"
            " JOURNAL_BATCH SAMPLES_AT_ONCE FREEZE CAPTURE"
        ),
        "needs a day, or ten thousand sandboxes; crates/engine/tests/it, where time is wound by hand": (
            "TOMBSTONE TOMBSTONES PRUNE_EVERY LIST_PAGE AUTO_RESUME"
        ),
        "needs a thousand of them; crates/engine/tests/it": "SNAPSHOTS VOLUMES",
        "needs a guest that floods its log; crates/engine/tests/it/logs.rs": "LOG_LINES LOG_MESSAGE LOG_PAGE",
    },
    "Walls": {
        "needs thirty templates, or two thousand sandboxes": "MAX_TEMPLATES MAX_SLOTS",
        "shows only as time; bench": "MAX_AT_ONCE NETWORKS_AHEAD",
        "needs a guest or builder that hangs, or one that is forged": "READY END HELPER_ANSWER DIALS_WAITING EVENT",
        "needs minutes; kernels/tests/test_python_fork.py forks": "FORKS PARENT_AGE PARENT_PAUSE",
        "a fence behind `hood.pids`, which is met first": "PROCESSES_SHARE",
        "needs a server without root; tests/faults/test_rootless.py has one": "SHARED_SLOTS SHARED_RANGE INOTIFY_SHARE",
        "needs a template that opens them; tests/hostile/test_b01_namespaces.py": "NESTED_NAMESPACES",
        "network of the driver; crates/drivers/native/src/network/tests.rs": (
            "CONNECTIONS QUESTIONS REFUSED REFUSED_WAITING BACKLOG ADDRESS"
        ),
    },
    "The gate": {
        "needs an internet of its own; crates/gate/tests, unit tests of crates/gate, tests/gate": (
            "CONNECTIONS FAREWELL FIRST_BYTES HELLO DIAL BUFFER BUFFERS CA_LIFE LEAF_LIFE LEAVES HANDSHAKE HEAD STREAMS"
            " SHORTEST_SCRUBBED QUESTION DATAGRAM STREAM_ANSWER ANSWER_RECORDS QUESTIONS_PER_SECOND QUESTIONS_AT_ONCE"
            " QUESTIONS_OPEN QUESTION_STREAMS QUESTION_PAUSE UPSTREAM_TRY UPSTREAM ANSWERS ANSWER_LIFE NO_ANSWER_LIFE"
            " LOOKUPS LOOKUP_LIFE_MIN LOOKUP_LIFE RECORDED"
        ),
    },
    "Network policies": {
        "crates/policy/src/validate": (
            "ALLOW_LINES DENY_LINES LINE_PORTS DNS_SERVERS HOST_RULES HOST_BYTES HEADERS HEADER_NAME_BYTES"
            " HEADER_VALUE_BYTES REQUESTS METHODS PATH_BYTES PROXY_WORD_BYTES PROXY_CA_BYTES NAME_BYTES LABEL_BYTES"
        ),
    },
    "Inside a sandbox": {
        "needs minutes; unit tests of crates/guest, where time is wound": (
            "WRITE_LIMIT SIGN_OF_LIFE WATCH_SIGN_OF_LIFE WATCHER_IDLE UPLOAD_IDLE UPLOAD_DRAIN AWAY_LIMIT START_LIMIT"
            " REQUEST_END"
        ),
        "a race or a moment that cannot be seen from outside; unit tests of crates/guest": (
            "MAX_ENDED MAX_HELD MAX_DIRTY LATE_OUTPUT UNREAD_PAUSE KILL_WAIT KILL_GRACE EXEC_SECONDS MAX_REPLACED"
            " MAX_LINKS MAX_RACES MAX_DOFFINGS"
            " KIN_ROUNDS MAX_REMOVAL_ROUNDS MAX_EVENTS_AT_ONCE MAX_QUEUED_RESTARTS EXIT_AFTER_CLOSE"
        ),
        "between host and guest": "MAX_BOOT_CONFIG FORK_ANSWER",
        "needs a kernel that misbehaves; crates/guest/src/contexts/tests.rs, kernels/tests": (
            "INTERRUPTS INTERRUPT_GRACE MAX_OPEN_REQUESTS MAX_ANSWERED MAX_REQUEST_NAME MAX_FRAME LAST_WORDS MAX_LOG_LINE"
        ),
    },
    "E2B's protocol": {
        "needs half a minute of a slow client; crates/dialects/e2b/tests": (
            "JSON_BODY_TIME UNREAD_BODY UNREAD_BODY_TIME VOLUME_SILENCE"
        ),
        "cannot be seen from outside": "VOLUME_PIECE",
        "needs an hour or thousands of keys; crates/dialects/e2b/src/idempotency.rs": "IDEMPOTENCY_KEYS IDEMPOTENCY_AGE",
        "needs a guest that dies in the middle of an answer; tests/faults": "END_NOTICE",
        "crates/dialects/e2b/tests/it/secrets.rs": (
            "SECRETS_PAGE SECRET_NAME SECRET_VALUE SECRET_LABELS SECRET_LABEL_NAME SECRET_LABEL_VALUE SECRET_LABELS_BYTES"
        ),
    },
    "The store": {
        "needs a disk that is slow, or a second writer; crates/store/tests": "QUEUE BUSY",
        "crates/store/tests/it": "AUDIT_PAGE SECRETS SECRETS_PAGE",
    },
    "The server and the command line": {
        "needs a full disk or a client that stays": "SMALLEST_LAYERS DRAIN",
        "needs nine sandboxes in one command, which no command makes": "SANDBOXES_OF_A_COMMAND",
        "needs ten minutes, or a server that hangs": "RUN_AROUND RUN_FAREWELL",
        "needs 2 GiB to be fetched": "RUN_BYTES",
        "needs hours, or a store that is slow": "AUDIT_QUEUE AUDIT_BATCH AUDIT_PRUNE CERTIFICATE_LIFE CERTIFICATE_FRESH",
        "needs an authority, or weeks; tests/faults/test_acme.py has one": (
            "ACME_FIRST_LOOK ACME_LOOK ACME_RENEW ACME_AGAIN ACME_AGAIN_LONGEST"
        ),
        "unit tests of crates/hood": "CERTIFICATE_LOOK ROOT_BUNDLE SECRET_INPUT",
    },
    "The client of the command line": {
        "needs a server that misbehaves; unit tests of crates/client": (
            "CONNECT CALL CAPTURE PROBE KEEPALIVE SILENCE TRANSFER ANSWER ERROR MESSAGE PAGES INPUT"
        ),
    },
    "Building templates": {
        "needs a recipe that misbehaves; unit tests of crates/images": (
            "STEP_TIME FREE_MIN OUTPUT_LINES LINE_BYTES LINES_WAITING MANIFEST_BYTES"
        ),
    },
    "The agent": {
        "needs a model that misbehaves; crates/agent/tests and tests/agent": (
            "ROUNDS MAX_ROUNDS CALLS_PER_TURN CODE_BYTES STDOUT_BYTES STDERR_BYTES RESULT_BYTES TRACEBACK_BYTES"
            " RECORD_BYTES UPLOAD_BYTES CHARTS CHART_BYTES FILES FILE_BYTES FILES_BYTES NAME_BYTES NAME_DEPTH ATTEMPTS"
            " BACKOFF_FIRST BACKOFF_LONGEST RETRY_AFTER_LONGEST CONNECT IDLE TURN ANSWER_TOKENS EVENT_BYTES ERROR_BYTES"
            " SAID_BYTES"
        ),
    },
    "The Python kernel": {"kernels/tests": "MAX_FRAME MAX_MESSAGE CANCEL_GRACE"},
}


def untried():
    return {(section, name) for section, reasons in UNTRIED.items() for names in reasons.values() for name in names.split()}


def test_every_name_has_a_trial_or_a_reason():
    for module in MODULES:
        importlib.import_module(module)
    names = set(page.ceilings())
    assert names - page.TRIALS - untried() == set(), "neither tried nor excused"
    assert (page.TRIALS | untried()) - names == set(), "not on the page"
    assert page.TRIALS & untried() == set(), "tried and excused"
