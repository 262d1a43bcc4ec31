"""The environment of one cell, as two scripts that run before and after it, apart from it."""

import re
import shlex

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


class BadEnvironment(ValueError):
    """A variable that a shell cannot hold."""


def scripts(variables):
    """A script that exports `variables`, and one that puts back what was there: unset, or
    the old value with its attributes, as `declare -p` tells it."""
    before, after = [], []
    for name, value in variables.items():
        if not _NAME.match(name) or not isinstance(value, str) or "\0" in value:
            raise BadEnvironment(
                f"cannot export the environment variable `{name}`: a shell variable has a name "
                "of letters, digits and `_`, and a text without NUL"
            )
        kept = f"__hood_was_{name}"
        before.append(f"{kept}=$(declare -p {name} 2>/dev/null) || :")
        before.append(f"export {name}={shlex.quote(value)}")
        # Can be run again after an interrupt, and does not trip a `set -e` of the user's.
        after.append(
            f"if [[ -v {kept} ]]; then "
            f'unset {name} 2>/dev/null || :; eval "${kept}" || :; unset {kept}; fi'
        )
    return "\n".join(before), "\n".join(after)
