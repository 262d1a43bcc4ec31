"""Plots come back as pictures, in every alphabet."""

import base64
import struct

import pytest
from helpers import ok


def size(png):
    data = base64.b64decode(png)
    assert data.startswith(b"\x89PNG\r\n\x1a\n") and b"IEND" in data[-12:]
    return struct.unpack(">II", data[16:24])


def pictures(execution):
    return [r for r in ok(execution).results if r.png]


def test_figure_has_the_size_asked_for(interpreter):
    code = "import matplotlib.pyplot as plt\nplt.figure(figsize=(4, 3), dpi=100)\nplt.plot([1, 2, 3])\nplt.savefig('f.png')\nplt.show()"
    # Saving shows the picture, too: a figure that is saved and closed would not be seen otherwise.
    [_, shown] = pictures(interpreter.run_code(code))
    width, height = size(shown.png)
    # The inline picture is cut to its contents; the saved one is not.
    assert 250 < width <= 420 and 200 < height <= 320
    saved = bytes(interpreter.files.read("f.png", format="bytes"))
    assert struct.unpack(">II", saved[16:24]) == (400, 300)


@pytest.mark.parametrize("end", ["plt.show()", "plt.tight_layout()", "ax"], ids=["show", "layout", "axes"])
def test_one_picture_whatever_the_last_line(interpreter, end):
    code = (
        f"import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.plot([1, 2], [3, 4])\nax.set_title('T')\n{end}"
    )
    [picture] = pictures(interpreter.run_code(code))
    assert picture.chart is not None and picture.chart.title == "T"


def test_several_figures(interpreter):
    code = "import matplotlib.pyplot as plt\nfor i in range(3):\n    plt.figure(); plt.plot([i, 1]); plt.show()"
    assert len(pictures(interpreter.run_code(code))) == 3


def test_no_figure_is_left_for_the_next_cell(interpreter):
    assert len(pictures(interpreter.run_code("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"))) == 1
    assert pictures(interpreter.run_code("1")) == []


@pytest.mark.parametrize("label", ["Выручка по месяцам", "売上高の推移", "销售额", "매출", "Ärger Ωß"])
def test_every_alphabet_has_glyphs(interpreter, label):
    code = (
        f"import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.bar(['{label}'], [1], label='{label}')\n"
        f"ax.set_title('{label}'); ax.set_xlabel('{label}'); ax.legend()\nplt.show()"
    )
    execution = interpreter.run_code(code)
    assert len(pictures(execution)) == 1
    assert execution.logs.stderr == []


def test_seaborn(interpreter):
    code = (
        "import seaborn as sns, pandas as pd, matplotlib.pyplot as plt\nsns.set_theme()\n"
        "sns.heatmap(pd.DataFrame({'январь': [1, 2], 'февраль': [3, 4]}), annot=True)\nplt.title('Карта')\nplt.show()"
    )
    execution = interpreter.run_code(code)
    assert len(pictures(execution)) == 1
    assert "Glyph" not in "".join(execution.logs.stderr)


def test_plotly_is_one_small_result(interpreter):
    code = "import plotly.express as px\npx.bar(x=['a', 'b'], y=[1, 2], title='P')"
    [result] = ok(interpreter.run_code(code)).results
    assert result.html or result.extra
    assert result.html is None or len(result.html) < 1_000_000
    if result.extra:
        [(kind, figure)] = [(k, v) for k, v in result.extra.items() if "plotly" in k]
        assert figure["data"][0]["type"] == "bar"


def test_pil_picture(interpreter):
    [picture] = pictures(interpreter.run_code("from PIL import Image\nImage.new('RGB', (64, 48), (10, 20, 30))"))
    assert size(picture.png) == (64, 48)


def test_interactive_windows_do_not_hang(interpreter):
    ok(interpreter.run_code("from PIL import Image\nImage.new('RGB', (4, 4)).show()", timeout=20))
