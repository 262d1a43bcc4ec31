"""Every ceiling of the kernel, with what happens when it is met."""

MIB = 1024 * 1024

#: Longest frame sent to the guest. A larger display loses its largest parts, and its text
#: says so.
MAX_FRAME = 64 * MIB

#: Longest message read from the guest. A longer one is skipped and answered by a fault.
MAX_MESSAGE = 64 * MIB

#: Longest error value and traceback, in characters. The middle is cut, and the cut is marked.
MAX_ERROR_VALUE = 64 * 1024
MAX_TRACEBACK = 1024 * 1024

#: Most cells of a table that are sent as `e2b/data`. A larger table is sent as text and
#: HTML only, with a note on stderr.
MAX_TABLE_CELLS = 2_000_000

#: Deepest nesting of a value that is turned into JSON. Deeper values have no JSON form.
MAX_JSON_DEPTH = 100

#: Seconds that a cancelled coroutine has to end after an interrupt, before it is abandoned.
CANCEL_GRACE = 2.0

#: The kernel keeps its own descriptors at or above this number, out of the way of user code
#: that closes "everything from 3 to 255".
PRIVATE_FD = 600
