"""What well-known libraries need, done at the moment when user code imports them.

A finder at the head of `sys.meta_path` lets the usual finders do their work and runs our
function after the module's own code. So nothing heavy is imported by the kernel, and a
module that is never imported costs nothing.
"""

import functools
import os
import sys

#: Fonts in the order in which matplotlib looks for a glyph: the style's own, then the one
#: with Chinese, Japanese and Korean, then the one that every matplotlib has.
FONTS = ["sans-serif", "Noto Sans CJK JP", "DejaVu Sans"]

INLINE_BACKEND = "module://matplotlib_inline.backend_inline"


class _HookedLoader:
    """A module's loader, followed by a function of ours."""

    def __init__(self, loader, hook):
        self._loader = loader
        self._hook = hook

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        # From now on the module belongs to its own loader, for reload and for resources.
        module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        try:
            self._hook(module)
        except Exception as error:
            print(f"note: {module.__name__} could not be set up: {error!r}", file=sys.stderr)

    def __getattr__(self, name):
        return getattr(self._loader, name)


class ImportHooks:
    """The finder."""

    def __init__(self, hooks):
        self._hooks = dict(hooks)

    def find_spec(self, name, path=None, target=None):
        """Wrap the loader of a module that has a hook."""
        hook = self._hooks.get(name)
        if hook is None:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _HookedLoader(spec.loader, hook)
                return spec
        return None


def install(session, asker):
    """Put the hooks in place; modules that are loaded already get theirs now."""
    hooks = {
        "getpass": functools.partial(_getpass, asker),
        "matplotlib": _matplotlib,
        "matplotlib.font_manager": _fonts,
        "PIL.Image": functools.partial(_pillow_save, session),
        "PIL.ImageShow": _pillow_show,
        "plotly.io._renderers": _plotly,
    }
    sys.meta_path.insert(0, ImportHooks(hooks))
    for name, hook in hooks.items():
        if name in sys.modules:
            hook(sys.modules[name])


def close_files():
    """In the nursery, after its warm-up: a fork starts with every file closed, and what finds its
    own so complains."""
    fonts = getattr(sys.modules.get("matplotlib.font_manager"), "_get_font", None)
    if hasattr(fonts, "cache_clear"):
        fonts.cache_clear()


def _getpass(asker, module):
    module.getpass = asker.getpass


def _matplotlib(module):
    # Not through MPLBACKEND: the user's child processes would inherit that, and they may
    # run a Python without matplotlib-inline.
    if not os.environ.get("MPLBACKEND"):
        module.rcParams["backend"] = INLINE_BACKEND


def _fonts(module):
    import matplotlib

    installed = {font.name for font in module.fontManager.ttflist}
    # A font that is not there would be complained about at every drawing.
    family = [name for name in FONTS if name == "sans-serif" or name in installed]
    for parameters in (matplotlib.rcParams, matplotlib.rcParamsDefault):
        if list(parameters["font.family"]) == ["sans-serif"]:
            parameters["font.family"] = family


def _pillow_save(session, module):
    save = module.Image.save

    @functools.wraps(save)
    def save_and_display(self, fp, format=None, **params):
        save(self, fp, format, **params)
        # Files only: IPython saves to memory to display, which must not display again.
        if isinstance(fp, (str, bytes, os.PathLike)) and session.is_live():
            _display(self)

    module.Image.save = save_and_display


def _pillow_show(module):
    def show(image, title=None, **_):
        """Display the image; there is no screen for a viewer."""
        _display(image)
        return True

    module.show = show
    # A viewer that is called directly opens nothing.
    module.Viewer.show_file = lambda self, path, **options: 0
    module.UnixViewer.show_file = lambda self, path, **options: 0


def _plotly(module):
    """One result a figure: small HTML and plotly's own JSON.

    Plotly's defaults put its whole script (almost 5 MB) before the first figure, or into
    each, and want nbformat. Ours is an external renderer, for which plotly asks no nbformat;
    its HTML loads the script from the address that plotly itself names, so that a page saved
    from it works on its own, and who has no such access draws the JSON.
    """
    if os.environ.get("PLOTLY_RENDERER"):
        return

    class HoodRenderer(module.ExternalRenderer):
        """Displays figures as results of the cell."""

        def render(self, fig_dict):
            """Send the bundle."""
            from IPython.display import display

            display(_plotly_bundle(fig_dict), raw=True)

    module.renderers["hood"] = HoodRenderer()
    module.renderers.default = "hood"


def _plotly_bundle(fig_dict):
    from plotly.io import to_html, to_json

    from .protocol import decode

    html = to_html(
        fig_dict,
        include_plotlyjs="cdn",
        include_mathjax=False,
        full_html=False,
        default_width="100%",
        default_height=525,
        validate=False,
    )
    kinds = sorted({str(trace.get("type", "scatter")) for trace in fig_dict.get("data", [])})
    return {
        "text/plain": f"<plotly figure: {', '.join(kinds) or 'empty'}>",
        "text/html": html,
        "application/vnd.plotly.v1+json": decode(
            to_json(fig_dict, validate=False, remove_uids=False)
        ),
    }


def _display(obj):
    from IPython.core.display_functions import display

    display(obj)
