"""Raw system calls that must be refused, for the tests of the items they belong to."""

from programs import probe

# What says no: the filter, the ids, or a kernel that acts as if it had never heard of it.
REFUSALS = {"EPERM", "ENOSYS", "EACCES", "EAFNOSUPPORT", "EPROTONOSUPPORT", "ESRCH"}


def refused(sandbox, calls, who):
    """Makes each of `calls` (name: number and arguments), and hands back what was said; nothing may have been granted.

    One call that is forgotten is a way out; a call that kills its caller breaks programs that only ask.
    """
    source = "\n".join(f"seen[{name!r}] = call(*{arguments!r})" for name, arguments in calls.items())
    said = probe(sandbox, source, who)
    assert {name: word for name, word in said.items() if word not in REFUSALS} == {}
    return ", ".join(sorted(set(said.values())))


def unwritable(sandbox, paths, who):
    """Tries to open each for writing."""
    said = probe(sandbox, f"for path in {paths!r}.split(): seen[path] = attempt(os.open, path, os.O_WRONLY)", who)
    assert {path: word for path, word in said.items() if word not in ("EACCES", "EROFS", "ENOENT", "EPERM")} == {}
    return ", ".join(sorted(set(said.values())))
