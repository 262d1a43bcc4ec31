"""Every ceiling of the kernel, with what happens when it is met. `LIMITS.md` is printed from the comments."""

MIB = 1024 * 1024

#: A frame sent to the guest. When met: a display loses its largest parts, and its text
#: says so.
MAX_FRAME = 64 * MIB

#: A message read from the guest. When met: it is skipped and answered by a fault.
MAX_MESSAGE = 64 * MIB

#: Characters of an error's value. When met: the middle is cut, and the cut is marked.
MAX_ERROR_VALUE = 65_536

#: Characters of a traceback. When met: the middle is cut, and the cut is marked.
MAX_TRACEBACK = 1_048_576

#: Cells of a table that are sent as `e2b/data`. When met: the table is sent as text and
#: HTML only, with a note on stderr.
MAX_TABLE_CELLS = 2_000_000

#: Levels of a value that is turned into JSON. When met: the value has no JSON form.
MAX_JSON_DEPTH = 100

#: Seconds that a cancelled coroutine has to end after an interrupt. When met: it is
#: abandoned.
CANCEL_GRACE = 2.0

#: The kernel keeps its own descriptors at or above this number, out of the way of user code
#: that closes "everything from 3 to 255".
PRIVATE_FD = 600
