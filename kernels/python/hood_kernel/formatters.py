"""The MIME types that E2B's clients expect beyond those of IPython.

Formatters run for every displayed object, so each asks `sys.modules` first: a DataFrame can
only exist when pandas is loaded, and importing it here would cost a second. Types are looked
up with `type()`: `isinstance` believes an object's own `__class__`.
"""

import sys

from IPython.core.formatters import BaseFormatter, JSONFormatter
from traitlets import ObjectName, Unicode

from .jsonable import TooDeep, jsonable
from .limits import MAX_TABLE_CELLS


class DataFormatter(BaseFormatter):
    """`e2b/data`: the columns of a table, or what `_repr_e2b_data_` returns."""

    format_type = Unicode("e2b/data")
    print_method = ObjectName("_repr_e2b_data_")
    _return_type = (dict, list, str)

    def __call__(self, obj):
        """The columns as lists, dates as ISO text, missing values as null."""
        if not _is_a(obj, "pandas", "DataFrame"):
            return super().__call__(obj)
        if obj.size > MAX_TABLE_CELLS:
            print(
                f"note: a table of {obj.size} cells is shown without its data: "
                f"at most {MAX_TABLE_CELLS} cells are sent; write it to a file instead",
                file=sys.stderr,
            )
            return None
        try:
            return jsonable(_columns(obj))
        except Exception:
            return None  # text and HTML still show the table


class ChartFormatter(BaseFormatter):
    """`e2b/chart`: a matplotlib figure as numbers, or what `_repr_e2b_chart_` returns."""

    format_type = Unicode("e2b/chart")
    print_method = ObjectName("_repr_e2b_chart_")
    _return_type = (dict, list, str)

    def __call__(self, obj):
        """The chart; none for a blank figure or one that e2b_charts cannot read."""
        if not _is_a(obj, "matplotlib.figure", "Figure"):
            return super().__call__(obj)
        try:
            from e2b_charts import chart_figure_to_dict

            return jsonable(chart_figure_to_dict(obj)) or None
        except Exception:
            return None  # the picture still shows it


class DataJsonFormatter(JSONFormatter):
    """`application/json` for plain lists and dicts, numpy values included."""

    def __call__(self, obj):
        """The value with a hint to show it unfolded; none when JSON cannot hold it."""
        if not issubclass(type(obj), (list, dict)):
            return super().__call__(obj)
        try:
            return _exact(obj), {"expanded": True}
        except Exception:
            return None


def install(shell):
    """Add the formatters to a shell."""
    display = shell.display_formatter
    for formatter in (DataFormatter, ChartFormatter, DataJsonFormatter):
        made = formatter(parent=display)
        display.formatters[made.format_type] = made
    # A figure shows as a picture with any backend; the inline backend replaces this.
    display.formatters["image/png"].for_type_by_name("matplotlib.figure", "Figure", _figure_png)


def _figure_png(figure):
    from IPython.core.pylabtools import print_figure

    return print_figure(figure, fmt="png", base64=True)


def _is_a(obj, module, name):
    loaded = sys.modules.get(module)
    kind = getattr(loaded, name, None)
    return isinstance(kind, type) and issubclass(type(obj), kind)


def _columns(frame):
    # By position, because column names may repeat.
    columns = {}
    for place, name in enumerate(frame.columns):
        columns[name] = frame.iloc[:, place].tolist()
    return columns


def _exact(obj):
    """`obj` as JSON, raising when that would change what it says (orjson's rules)."""
    try:
        import orjson
    except ImportError:
        return _exact_slowly(obj)
    return orjson.loads(
        orjson.dumps(obj, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)
    )


def _exact_slowly(obj):
    for item in _leaves(obj):
        if not issubclass(type(item), (str, int, float, bool, type(None))):
            raise TypeError(f"{type(item).__name__} has no JSON form")
    return jsonable(obj)


def _leaves(obj, depth=0):
    if depth > 100:
        raise TooDeep("nested too deep")
    if issubclass(type(obj), dict):
        obj = dict.values(obj)
    elif not issubclass(type(obj), (list, tuple)):
        yield obj
        return
    for item in obj:
        yield from _leaves(item, depth + 1)
