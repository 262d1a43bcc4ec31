#!/usr/bin/env python3
"""What a user of the official package writes: upload a table, analyse it with pandas, bring a chart back.

    eval "$(hood env)"; official_sdk.py sales.csv OUT

Uses e2b-code-interpreter as it comes; nothing here knows of hood.
"""

import base64
import sys
import time
from pathlib import Path

from e2b_code_interpreter import Sandbox

CLEAN = """
import pandas as pd
sales = pd.read_csv("sales.csv").drop_duplicates()
paid = sales[(sales["stage"] == "paid") & sales["date"].notna()].copy()
paid["month"] = paid["date"].str[:7]
print(f"{len(sales):,} rows without duplicates, {len(paid):,} payments")
"""
TOTALS = """
months = paid.groupby("month", as_index=False)["revenue"].sum().round(2)
months
"""
WRONG = """
paid["amount"].max()
"""
CHART = """
import matplotlib.pyplot as plt
best = paid.groupby("product")["revenue"].sum().nlargest(10).sort_values()
best.plot.barh(title="Десять лучших товаров", figsize=(9, 5))
plt.tight_layout()
plt.show()
"""


def run(sandbox, code, notes):
    began = time.monotonic()
    execution = sandbox.run_code(code)
    took = (time.monotonic() - began) * 1000
    lines = ["".join(execution.logs.stdout).rstrip()]
    lines += [result.text for result in execution.results if result.text]
    lines += [f"{execution.error.name}: {execution.error.value}"] if execution.error else []
    text = "\n".join(line for line in lines if line)
    print(f"[{took:7.1f} ms] {code.strip().splitlines()[0]}")
    print("    " + text.replace("\n", "\n    "))
    notes.append(f">>> {code.strip()}\n{text}\n")
    return execution


def main():
    table, out = Path(sys.argv[1]), Path(sys.argv[2])
    began = time.monotonic()
    with Sandbox.create() as sandbox:
        print(f"[{(time.monotonic() - began) * 1000:7.1f} ms] created {sandbox.sandbox_id}")
        with table.open("rb") as file:
            sandbox.files.write("sales.csv", file)
        notes = []
        assert run(sandbox, CLEAN, notes).error is None
        assert run(sandbox, TOTALS, notes).results[0].text
        assert run(sandbox, WRONG, notes).error.name == "KeyError", "an error is an answer like any other"
        chart = run(sandbox, CHART, notes).results[0]
        (out / "chart.png").write_bytes(base64.b64decode(chart.png))
        (out / "cells.txt").write_text("\n".join(notes), encoding="utf-8")
    print(f"chart.png: {(out / 'chart.png').stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
