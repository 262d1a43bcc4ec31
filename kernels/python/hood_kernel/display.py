"""IPython's two ways out, `display()` and the value of a cell, led to the session."""

import tokenize

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher


class Publisher(DisplayPublisher):
    """`display()`, `update_display()` and `clear_output()`.

    Nothing is remembered: IPython's own publisher keeps every bundle for a history that
    nobody reads here, so a loop that updates one display would eat the memory.
    """

    def publish(
        self, data, metadata=None, source=None, *, transient=None, update=False, **_
    ):
        """Send a bundle."""
        self._validate_data(data, metadata)
        self.shell.session.display(
            data,
            metadata,
            display_id=(transient or {}).get("display_id"),
            update=update,
        )

    def clear_output(self, wait=False):
        """Forget what the cell has displayed so far."""
        self.shell.session.clear(wait)


class ResultHook(DisplayHook):
    """The value of a cell's last expression."""

    def quiet(self):
        """Whether a semicolon silences the value; cheap for cells that have none."""
        history = self.shell.history_manager.input_hist_parsed
        if not history or ";" not in history[-1]:
            return False
        try:
            return super().quiet()
        except (tokenize.TokenError, SyntaxError):
            return False

    def write_output_prompt(self):
        """There is no prompt."""

    def write_format_data(self, format_dict, md_dict=None):
        """Send the bundle as the cell's result."""
        self.shell.session.display(format_dict, md_dict, main=True)

    def update_user_ns(self, result):
        """Keep `_` and `Out`, unless the user has deleted them."""
        try:
            super().update_user_ns(result)
        except KeyError:
            return

    def log_output(self, format_dict):
        """Results are kept in `Out`; their renderings are not kept."""

    def finish_displayhook(self):
        """Nothing was written to stdout, so nothing is to be closed there."""
        self._is_active = False
