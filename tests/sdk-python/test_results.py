"""Every kind of value that IPython can show comes back as what it is."""

import base64
import io
import struct

import pytest
from helpers import ok


def only(execution):
    """The one result of a cell."""
    assert len(ok(execution).results) == 1, execution
    return execution.results[0]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("html", "<b>bold</b>"),
        ("markdown", "# title"),
        ("svg", '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'),
        ("latex", "$x^2$"),
        ("javascript", "console.log(1)"),
    ],
)
def test_text_kinds(interpreter, kind, value):
    name = {"html": "HTML", "svg": "SVG"}.get(kind, kind.capitalize())
    result = only(interpreter.run_code(f"from IPython.display import {name}\n{name}({value!r})"))
    assert result[kind].strip() == value
    assert kind in result.formats()


def test_json_kind(interpreter):
    result = only(interpreter.run_code("from IPython.display import JSON\nJSON({'a': [1, 2, {'b': None}]})"))
    assert result.json == {"a": [1, 2, {"b": None}]}


def test_plain_containers_are_json_too(interpreter):
    result = only(interpreter.run_code("{'a': [1, 2.5, True, None], 'б': 'текст'}"))
    assert result.json == {"a": [1, 2.5, True, None], "б": "текст"}
    assert "'a'" in result.text


def test_repr_methods_of_an_object(interpreter):
    code = (
        "class Thing:\n"
        "    def _repr_html_(self): return '<i>thing</i>'\n"
        "    def _repr_markdown_(self): return '*thing*'\n"
        "    def _repr_latex_(self): return '$thing$'\n"
        "    def __repr__(self): return 'Thing!'\n"
        "Thing()"
    )
    result = only(interpreter.run_code(code))
    assert (result.html, result.markdown, result.latex, result.text) == ("<i>thing</i>", "*thing*", "$thing$", "Thing!")


def test_unknown_kinds_are_extra(interpreter):
    code = "from IPython.display import display\ndisplay({'text/plain': 'x', 'application/vnd.tests+json': {'n': 1}}, raw=True)"
    assert only(interpreter.run_code(code)).extra == {"application/vnd.tests+json": {"n": 1}}


def test_pictures_by_hand(interpreter):
    code = (
        "from PIL import Image as I\nimport io\nfrom IPython.display import Image\n"
        "b = io.BytesIO(); I.new('RGB', (30, 20), 'red').save(b, 'JPEG')\nImage(b.getvalue(), format='jpeg')"
    )
    assert base64.b64decode(only(interpreter.run_code(code)).jpeg).startswith(b"\xff\xd8")
    png = only(interpreter.run_code("I.new('RGB', (30, 20), 'blue')")).png
    assert struct.unpack(">II", base64.b64decode(png)[16:24]) == (30, 20)


def test_pdf_kind(interpreter):
    code = (
        "import io\nfrom reportlab.pdfgen import canvas\nb = io.BytesIO(); c = canvas.Canvas(b); c.drawString(9, 9, 'x'); c.save()\n"
        "display({'application/pdf': b.getvalue()}, raw=True)"
    )
    assert base64.b64decode(only(interpreter.run_code(code)).pdf).startswith(b"%PDF")


def test_formula(interpreter):
    result = only(interpreter.run_code("import sympy\nsympy.sqrt(sympy.Symbol('x'))"))
    assert "sqrt{x}" in result.latex


def test_data_frame(interpreter):
    code = "import pandas as pd\npd.DataFrame({'n': [1, 2], 's': ['a', 'б'], 't': pd.to_datetime(['2024-01-01', '2024-02-01'])})"
    result = only(interpreter.run_code(code))
    assert result.data["n"] == [1, 2] and result.data["s"] == ["a", "б"]
    assert result.data["t"][0].startswith("2024-01-01T00:00:00")
    assert "<table" in result.html and "2024-01-01" in result.text


def test_data_frame_with_holes_is_valid_json(interpreter):
    result = only(interpreter.run_code("import pandas as pd, numpy as np\npd.DataFrame({'x': [1.5, np.nan, np.inf]})"))
    assert result.data["x"][0] == 1.5 and len(result.data["x"]) == 3


def test_serialised_as_the_package_does(interpreter):
    execution = interpreter.run_code("import pandas as pd\ndisplay(pd.DataFrame({'a': [1]}))\n'end'")
    assert '"end"' in ok(execution).to_json()


def test_a_display_of_ten_megabytes(interpreter):
    result = only(interpreter.run_code("from IPython.display import HTML\nHTML('x' * 10_000_000)"))
    assert len(result.html) == 10_000_000


def test_an_excel_file_made_inside(interpreter):
    ok(interpreter.run_code("import pandas as pd\npd.DataFrame({'a': [1, 2]}).to_excel('t.xlsx', index=False)"))
    assert io.BytesIO(interpreter.files.read("t.xlsx", format="bytes")).read(2) == b"PK"
