"""A minimal Python kernel for the example: one JSON line in, JSON lines out.

In:  {"code": "..."}
Out: {"stdout": "..."} | {"stderr": "..."} while it runs, then {"done": {"results": [...], "error": null | {...}}}

It has no walls. The sandbox's kernel is another program, on IPython's machinery.
"""

import ast
import base64
import io
import json
import os
import sys
import traceback

os.environ["MPLBACKEND"] = "agg"
wire = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what a subprocess prints must not end up between the lines


def send(message):
    wire.write(json.dumps(message) + "\n")
    wire.flush()


class Stream(io.TextIOBase):
    def __init__(self, name):
        self.name = name

    def writable(self):
        return True

    def write(self, text):
        if text:
            send({self.name: text})
        return len(text)


results = []


def show_figures(*_args, **_kwargs):
    from matplotlib import pyplot

    for number in pyplot.get_fignums():
        figure = pyplot.figure(number)
        picture = io.BytesIO()
        figure.savefig(picture, format="png", bbox_inches="tight")
        results.append({"image/png": base64.b64encode(picture.getvalue()).decode(), "text/plain": repr(figure)})
        pyplot.close(figure)


def bundle(value):
    shown = {"text/plain": repr(value)}
    for mime, method in (("text/html", "_repr_html_"), ("image/svg+xml", "_repr_svg_")):
        content = getattr(value, method, lambda: None)()
        if content:
            shown[mime] = content
    return shown


def run(code, names):
    tree = ast.parse(code, "<cell>")
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec"), names)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
        if value is not None:
            results.append(bundle(value))


names = {"__name__": "__main__"}
sys.stdout, sys.stderr = Stream("stdout"), Stream("stderr")
for line in sys.stdin:
    results, error = [], None
    try:
        if "matplotlib.pyplot" in sys.modules:
            sys.modules["matplotlib.pyplot"].show = show_figures
        else:
            import importlib.util

            if importlib.util.find_spec("matplotlib"):
                import matplotlib.pyplot

                matplotlib.pyplot.show = show_figures
        run(json.loads(line)["code"], names)
        if "matplotlib.pyplot" in sys.modules:
            show_figures()
    except BaseException as raised:  # noqa: BLE001 - the cell's exception, SystemExit included, is its result
        error = {"name": type(raised).__name__, "value": str(raised), "traceback": traceback.format_exc()}
    send({"done": {"results": results, "error": error}})
