"""A plot comes back as numbers too: what it shows, not only how it looks."""

import pytest
from helpers import ok

PLOT = "import matplotlib.pyplot as plt, numpy as np, datetime\nfig, ax = plt.subplots()\n"


@pytest.fixture
def chart(interpreter):
    def draw(code):
        execution = ok(interpreter.run_code(PLOT + code + "\nplt.show()"))
        [result] = [r for r in execution.results if r.png]
        return result.chart

    return draw


def test_line(chart):
    drawn = chart(
        "ax.plot([1, 2, 3], [4, 5, 6], label='grows')\nax.set(title='Growth', xlabel='Time (s)', ylabel='Value [m]')"
    )
    assert (drawn.type, drawn.title) == ("line", "Growth")
    assert (drawn.x_label, drawn.x_unit, drawn.y_unit) == ("Time (s)", "s", "m")
    assert drawn.x_scale == "linear"
    assert drawn.elements[0].label == "grows" and drawn.elements[0].points == [(1, 4), (2, 5), (3, 6)]


def test_line_over_dates(chart):
    drawn = chart("ax.plot([datetime.date(2024, 1, d) for d in (1, 2)], [1, 2])")
    assert drawn.x_scale == "datetime"
    assert drawn.elements[0].points[0][0].startswith("2024-01-01")


def test_log_scale(chart):
    assert chart("ax.plot([1, 10, 100], [1, 2, 3])\nax.set_xscale('log')").x_scale == "log"


def test_scatter(chart):
    drawn = chart("ax.scatter([1, 2], [3, 4], label='dots')\nax.set_title('Dots')")
    assert (drawn.type, drawn.title) == ("scatter", "Dots")
    assert drawn.elements[0].points == [(1, 3), (2, 4)]


def test_bar(chart):
    drawn = chart("ax.bar(['Яблоки', 'Груши'], [10, 20])\nax.set_title('Фрукты')")
    assert (drawn.type, drawn.title) == ("bar", "Фрукты")
    assert [(e.label, e.value) for e in drawn.elements] == [("Яблоки", 10), ("Груши", 20)]


def test_pie(chart):
    drawn = chart("ax.pie([25, 75], labels=['a', 'b'])\nax.set_title('Shares')")
    assert (drawn.type, drawn.title) == ("pie", "Shares")
    assert [e.label for e in drawn.elements] == ["a", "b"]
    assert [round(e.angle) for e in drawn.elements] == [90, 270]


def test_box_and_whisker(chart):
    drawn = chart(
        "ax.boxplot([[1, 2, 3, 4, 5], [2, 4, 6, 8, 9, 30]], tick_labels=['a', 'b'], patch_artist=True)\nax.set_title('Boxes')"
    )
    assert (drawn.type, drawn.title) == ("box_and_whisker", "Boxes")
    first = drawn.elements[0]
    assert (first.label, first.min, first.median, first.max) == ("a", 1, 3, 5)


def test_several_axes_are_a_superchart(interpreter):
    code = (
        "import matplotlib.pyplot as plt\nfig, (a, b) = plt.subplots(1, 2)\na.plot([1, 2], [3, 4]); a.set_title('L')\n"
        "b.bar(['x'], [1]); b.set_title('B')\nfig.suptitle('Both')\nplt.show()"
    )
    [result] = ok(interpreter.run_code(code)).results
    assert (result.chart.type, result.chart.title) == ("superchart", "Both")
    assert [(c.type, c.title) for c in result.chart.elements] == [("line", "L"), ("bar", "B")]


def test_what_has_no_type_is_unknown(chart):
    assert chart("ax.imshow(np.zeros((2, 2)))").type == "unknown"


def test_pandas_plot_is_a_chart(interpreter):
    code = "import pandas as pd, matplotlib.pyplot as plt\npd.Series([1, 2], index=['a', 'b']).plot.bar(title='S')\nplt.show()"
    [result] = [r for r in ok(interpreter.run_code(code)).results if r.png]
    assert (result.chart.type, result.chart.title) == ("bar", "S")
