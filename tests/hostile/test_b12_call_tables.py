"""B12. `int 0x80` and x32 number calls differently: a filter for one table would let them through."""

from programs import probe


def test_other_tables_are_closed(sandbox, trial, who):
    found = probe(sandbox, """
import mmap
page = mmap.mmap(-1, 4096, prot=7)
page.write(bytes.fromhex("b814000000cd80c3"))  # mov eax, 20 (getpid); int 0x80; ret
entry = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
child = os.fork()
if child == 0:
    entry()
    os._exit(0)
seen["int80"] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
for number in (39, 520, 165, 272):
    seen[f"x32 {number}"] = call(0x40000000 + number)
""", who)  # fmt: skip
    assert found.pop("int80") == -31
    assert set(found.values()) == {"ENOSYS"}
    trial.saw = "int 0x80: killed by SIGSYS; x32: ENOSYS"
