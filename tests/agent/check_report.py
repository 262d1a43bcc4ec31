#!/usr/bin/env python3
"""Holds a report against an independent computation.

    check_report.py OUT sales.csv      OUT is the directory that `hood ask` filled

The workbook is read with zipfile and xml only, so that neither the library that wrote it nor pandas is asked; the
PDF with poppler (pdftotext, pdfimages, pdffonts), or with pypdf where poppler is missing. Prints what was compared;
exit code 1 and a line for each difference otherwise.
"""

import json
import re
import shutil
import subprocess
import sys
import zipfile
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from xml.etree import ElementTree

import make_sales

SPACE = {"x": "http://schemas.openxmlformats.org/spreadsheetml/2006/main"}
RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
STAGE_WORDS = {"visit": "Визит", "lead": "Заявка", "order": "Заказ", "paid": "Оплата"}
HEADINGS = ["Анализ продаж", "Динамика по месяцам", "Десять лучших товаров", "ABC-анализ", "Воронка продаж"]
CHARTS = 4


class Check:
    def __init__(self):
        self.compared, self.wrong = 0, []

    def equal(self, what, found, expected):
        self.compared += 1
        if found != expected:
            self.wrong.append(f"{what}: found {found!r}, expected {expected!r}")

    def holds(self, what, condition):
        self.compared += 1
        if not condition:
            self.wrong.append(what)


def sheets_of(path):
    """Every sheet as a list of rows of texts, by name."""
    with zipfile.ZipFile(path) as book:
        strings = []
        if "xl/sharedStrings.xml" in book.namelist():
            for item in ElementTree.fromstring(book.read("xl/sharedStrings.xml")).findall("x:si", SPACE):
                strings.append("".join(part.text or "" for part in item.iter(f"{{{SPACE['x']}}}t")))
        targets = {r.get("Id"): r.get("Target") for r in ElementTree.fromstring(book.read("xl/_rels/workbook.xml.rels"))}
        sheets = {}
        for sheet in ElementTree.fromstring(book.read("xl/workbook.xml")).iterfind("x:sheets/x:sheet", SPACE):
            target = targets[sheet.get(RELATION)].lstrip("/").removeprefix("xl/")
            page = ElementTree.fromstring(book.read(f"xl/{target}"))
            sheets[sheet.get("name")] = [
                [value_of(cell, strings) for cell in row.findall("x:c", SPACE)]
                for row in page.iterfind("x:sheetData/x:row", SPACE)
            ]
        return sheets


def value_of(cell, strings):
    value = cell.find("x:v", SPACE)
    if cell.get("t") == "inlineStr":
        return "".join(part.text or "" for part in cell.iter(f"{{{SPACE['x']}}}t"))
    if value is None or value.text is None:
        return ""
    return strings[int(value.text)] if cell.get("t") == "s" else value.text


def money(text):
    """To the kopeck: 49513094.030000001 is how a spreadsheet stores 49513094.03."""
    return Decimal(text).quantize(Decimal("0.01"), ROUND_HALF_UP)


def check_workbook(check, path, expected):
    sheets = sheets_of(path)
    rows = {name: lines[1:] for name, lines in sheets.items()}
    totals = {line[0]: line[1] for line in rows["Итоги"]}
    check.equal("total", money(totals["Выручка, ₽"]), Decimal(expected["total"]))
    for label, key in [("Строк в файле", "rows"), ("Дубликатов", "duplicates"), ("Отброшено строк", "dropped"),
                       ("Восстановлено сумм", "filled")]:  # fmt: skip
        check.equal(label, int(Decimal(totals[label])), expected[key])
    check.equal("paid", int(Decimal(totals["Оплат"])), expected["funnel"]["paid"])
    months = {line[0]: (money(line[1]), int(Decimal(line[2]))) for line in rows["По месяцам"]}
    check.equal("months", months, {m: (Decimal(v["revenue"]), v["orders"]) for m, v in expected["months"].items()})
    regions = {line[0]: money(line[1]) for line in rows["По регионам"]}
    check.equal("regions", regions, {name: Decimal(value) for name, value in expected["regions"].items()})
    top = [(line[0], money(line[1]), int(Decimal(line[2]))) for line in rows["Топ-10"]]
    check.equal("top 10", top, [(t["product"], Decimal(t["revenue"]), t["quantity"]) for t in expected["top10"]])
    abc = {line[0]: (money(line[1]), line[3]) for line in rows["ABC"]}
    check.equal("ABC", abc, {p: (Decimal(v["revenue"]), v["class"]) for p, v in expected["abc"].items()})
    check.equal("sum of ABC", sum(value for value, _ in abc.values()), Decimal(expected["total"]))
    funnel = {line[0]: int(Decimal(line[1])) for line in rows["Воронка"]}
    check.equal("funnel", funnel, {STAGE_WORDS[stage]: count for stage, count in expected["funnel"].items()})


def check_pdf(check, path, expected):
    text, images, embedded = read_pdf(path)
    check.holds(f"the PDF has {images} charts, expected at least {CHARTS}", images >= CHARTS)
    for heading in HEADINGS:
        check.holds(f"the PDF's text lacks {heading!r}", heading in text)
    check.holds("the PDF's fonts are not embedded", embedded)
    # A missing glyph comes out of the text as a box or nothing at all; the total stands among Cyrillic words.
    whole, kopecks = expected["total"].split(".")
    flat = re.sub(r"\s", "", text)
    check.holds(f"the PDF's text lacks the total {expected['total']}", f"{whole},{kopecks}₽" in flat)


def read_pdf(path):
    """Its text, the number of its pictures, and whether every font is embedded."""
    if all(map(shutil.which, ["pdftotext", "pdfimages", "pdffonts"])):
        text = tool("pdftotext", "-layout", path, "-")
        lines = [line.split() for line in tool("pdfimages", "-list", path).splitlines()[2:]]
        # A picture with transparency is listed twice: the picture, and its mask.
        images = sum(line[2] == "image" and int(line[3]) > 300 for line in lines)
        fonts = [line for line in tool("pdffonts", path).splitlines()[2:] if "DejaVu" in line]
        return text, images, bool(fonts) and all(" yes " in line for line in fonts)
    try:
        import pypdf
    except ImportError:
        sys.exit("no program reads a PDF here: install poppler-utils (apt-get) or pypdf (pip)")
    pages = pypdf.PdfReader(path).pages
    resources = [page["/Resources"].get_object() for page in pages]
    fonts = [f.get_object() for r in resources for f in r.get("/Font", {}).get_object().values()]
    dejavu = [font for font in fonts if "DejaVu" in font["/BaseFont"]]
    embedded = bool(dejavu) and all("/FontFile2" in font["/FontDescriptor"] for font in dejavu)
    return "\n".join(page.extract_text() for page in pages), sum(len(page.images) for page in pages), embedded


def tool(*arguments):
    return subprocess.run([str(a) for a in arguments], check=True, capture_output=True, text=True).stdout


def check_charts(check, folder):
    charts = sorted((folder / "charts").glob("*.png"))
    check.holds(f"{len(charts)} charts were shown, expected at least {CHARTS}", len(charts) >= CHARTS)
    for chart in charts:
        check.holds(f"{chart.name} is no PNG", chart.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n")


def differences(folder, table):
    """What is wrong with the report in `folder`, and how many things were compared."""
    folder, check, expected = Path(folder), Check(), make_sales.expect(table)
    check_workbook(check, folder / "report.xlsx", expected)
    check_pdf(check, folder / "report.pdf", expected)
    check_charts(check, folder)
    answer = (folder / "answer.md").read_text(encoding="utf-8")
    check.holds(f"the answer lacks the total {expected['total']}", expected["total"] in answer)
    run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    check.equal("outcome", run["outcome"]["kind"], "answered")
    return check.wrong, check.compared


def main():
    if len(sys.argv) != 3:
        sys.exit(f"usage: {sys.argv[0]} OUT sales.csv")
    wrong, compared = differences(sys.argv[1], sys.argv[2])
    for line in wrong:
        print(line)
    print(f"{compared - len(wrong)} of {compared} comparisons hold")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
