"""A17. `io_uring` does the work of system calls that no filter sees, in threads that belong to the kernel."""

from programs import probe, shell


def test_there_is_none(sandbox, trial, who):
    found = probe(sandbox, """
params = ctypes.create_string_buffer(120)
seen["setup"] = call(425, 8, params)
params[8] = 2  # IORING_SETUP_SQPOLL
seen["polling"] = call(425, 8, params)
seen["enter"] = call(426, 0, 1, 1, 0, 0, 0)
seen["register"] = call(427, 0, 0, 0, 0)
""", who)  # fmt: skip
    assert set(found.values()) == {"ENOSYS"}, "as on a kernel without it: libraries fall back"
    trial.saw = "ENOSYS"


def test_node_falls_back(sandbox, trial, who):
    assert (
        shell(
            sandbox, 'UV_USE_IO_URING=1 node -e \'require("fs").readFile("/etc/hostname", e => console.log(!e))\'', who
        )
        == "true\n"
    )
    trial.saw = "Node reads files without it"
