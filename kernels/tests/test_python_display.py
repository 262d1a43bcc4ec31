"""What the Python kernel displays: MIME bundles, tables, charts, images, limits."""

import base64
import unittest

from harness import Kernel, has


@unittest.skipUnless(has("IPython"), "needs IPython")
class Displays(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kernel = Kernel()

    @classmethod
    def tearDownClass(cls):
        cls.kernel.close()

    def run_cell(self, code):
        return self.kernel.run(code)

    def test_raw_bundles_and_unknown_types_arrive_as_they_are(self):
        outcome = self.run_cell("display({'text/latex': r'\\text{x}'}, raw=True)")
        self.assertEqual(outcome.displays, [{"text/latex": "\\text{x}"}])
        self.assertFalse(outcome.of("display")[0]["main"])
        outcome = self.run_cell("display({'image/png': b'PNG', 'application/x-my': {'a': 1}}, raw=True)")
        png = base64.b64encode(b"PNG").decode()
        self.assertEqual(outcome.displays, [{"image/png": png, "application/x-my": {"a": 1}}])

    def test_updates_and_clear_output(self):
        outcome = self.run_cell(
            "from IPython.display import clear_output\n"
            "shown = display(1, display_id='d1')\nshown.update(2)\nclear_output(wait=True)"
        )
        first, second = outcome.of("display")
        self.assertEqual((first["display_id"], "update" in first), ("d1", False))
        self.assertEqual((second["display_id"], second["update"]), ("d1", True))
        self.assertTrue(outcome.of("clear")[0]["wait"])

    def test_lists_and_dicts_have_json(self):
        result = self.run_cell("{'a': [1, float('nan'), None], 2: (3,)}").result
        self.assertEqual(result["application/json"], {"a": [1, None, None], "2": [3]})
        for code in ("[object()]", "x = []; x.append(x); x", "{'a': {1, 2}}", "['\\udc80']"):
            outcome = self.run_cell(code)
            self.assertEqual(outcome.status, "ok", code)
            self.assertNotIn("application/json", outcome.result, code)

    def test_long_values_are_not_shortened(self):
        self.assertNotIn("...", self.run_cell("list(range(5000))").text)

    def test_lone_surrogates_do_not_break_anything(self):
        outcome = self.run_cell("print('a\\udc80b')\ndisplay({'text/plain': 'a\\ud800b'}, raw=True)")
        self.assertEqual(outcome.stdout, "a\\udc80b\n")
        self.assertEqual(outcome.displays, [{"text/plain": "a\\ud800b"}])

    def test_objects_with_e2b_methods(self):
        result = self.run_cell(
            "class Thing:\n"
            "    def _repr_e2b_data_(self): return {'a': [1, float('inf')]}\n"
            "    def _repr_e2b_chart_(self): return {'type': 'line'}\n"
            "    def _repr_pdf_(self): return b'%PDF'\n"
            "Thing()"
        ).result
        self.assertEqual(result["e2b/data"], {"a": [1, None]})
        self.assertEqual(result["e2b/chart"], {"type": "line"})
        self.assertEqual(result["application/pdf"], base64.b64encode(b"%PDF").decode())

    def test_a_result_beyond_the_limit_says_so(self):
        result = self.run_cell("'a' * 70_000_000").result
        self.assertIn("at most 64 MiB", result["text/plain"])
        self.assertLess(len(result["text/plain"]), 300)

    @unittest.skipUnless(has("pandas"), "needs pandas")
    def test_tables_have_data(self):
        result = self.run_cell(
            "import pandas as pd\n"
            "pd.DataFrame({'a': [1, None], 'b': pd.to_datetime(['2020-01-02', None]), 3: ['x', None]})"
        ).result
        self.assertEqual(
            result["e2b/data"],
            {"a": [1.0, None], "b": ["2020-01-02T00:00:00", None], "3": ["x", None]},
        )
        self.assertIn("<table", result["text/html"])

    @unittest.skipUnless(has("PIL"), "needs Pillow")
    def test_images_are_displayed_once(self):
        made = "from PIL import Image\nimage = Image.new('RGB', (4, 4))\n"
        for code in ("image.show()", "image", "image.save('t.png')"):
            displays = self.run_cell(made + code).displays
            self.assertEqual(len(displays), 1, code)
            self.assertTrue(base64.b64decode(displays[0]["image/png"]).startswith(b"\x89PNG"))

    @unittest.skipUnless(has("plotly"), "needs plotly")
    def test_plotly_gives_one_small_result(self):
        made = "import plotly.graph_objects as go\nfigure = go.Figure(go.Bar(x=[1], y=[2]))\n"
        for code in ("figure", "figure.show()"):
            displays = self.run_cell(made + code).displays
            self.assertEqual(len(displays), 1, code)
            self.assertLess(len(displays[0]["text/html"]), 20_000)
            self.assertEqual(displays[0]["application/vnd.plotly.v1+json"]["data"][0]["type"], "bar")


@unittest.skipUnless(has("matplotlib") and has("e2b_charts"), "needs matplotlib and e2b-charts")
class Charts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kernel = Kernel()
        cls.kernel.run("import matplotlib.pyplot as plt")

    @classmethod
    def tearDownClass(cls):
        cls.kernel.close()

    def only(self, code):
        displays = self.kernel.run(code).displays
        self.assertEqual(len(displays), 1, displays)
        return displays[0]

    def test_every_way_to_show_gives_picture_and_chart(self):
        for ending in ("plt.show()", "plt.tight_layout()", "plt.tight_layout(); plt.show()", "pass"):
            shown = self.only(f"plt.bar(['a', 'b'], [1, 2])\nplt.title('T')\n{ending}")
            self.assertEqual(set(shown), {"text/plain", "image/png", "e2b/chart"}, ending)
            self.assertEqual((shown["e2b/chart"]["type"], shown["e2b/chart"]["title"]), ("bar", "T"))

    def test_a_blank_figure_is_no_chart(self):
        self.assertNotIn("e2b/chart", self.only("figure = plt.figure()"))

    def test_a_figure_of_another_backend_has_a_picture(self):
        result = self.kernel.run(
            "from matplotlib.figure import Figure\nf = Figure(); f.add_subplot().plot([1, 2])\nf"
        ).result
        self.assertIn("image/png", result)
        self.assertEqual(result["e2b/chart"]["type"], "line")

    def test_child_processes_do_not_get_the_backend(self):
        self.assertIsNone(self.kernel.run("import os; os.environ.get('MPLBACKEND')").result)

    def test_cyrillic_is_drawn_without_complaint(self):
        self.assertEqual(self.kernel.run("plt.title('Продажи'); plt.show()").stderr, "")


if __name__ == "__main__":
    unittest.main()
