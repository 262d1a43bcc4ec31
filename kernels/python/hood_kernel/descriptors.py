"""Private copies of descriptors, which user code does not meet by accident."""

import fcntl
import os
import resource

from .limits import PRIVATE_FD


def private_copy(fd):
    """A close-on-exec copy of `fd` with a high number."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = PRIVATE_FD
    if soft != resource.RLIM_INFINITY and soft <= PRIVATE_FD + 16:
        lowest = max(10, soft - 16)
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, lowest)


def same_file(first, second):
    """Whether two descriptors lead to the same file; False when one of them is closed."""
    try:
        one, other = os.fstat(first), os.fstat(second)
    except OSError:
        return False
    return (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
