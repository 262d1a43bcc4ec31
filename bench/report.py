"""What was measured, for people (Markdown, SVG) and for programs (JSON)."""

import json

from hood import percentiles

BAR, LEFT, WIDTH, ROW = 18, 330, 900, 30
OURS, THEIRS = "#1f6f8b", "#b8b8b8"


def write(results, folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(json.dumps(_summed(results), indent=1) + "\n")
    (folder / "RESULTS.md").write_text(_markdown(results))
    for number, (title, race) in enumerate(results["races"].items()):
        (folder / _drawing(number)).write_text(_svg(title, race))


def _drawing(number):
    return f"row-{number + 1}.svg"


def _row(found):
    if "absent" in found or not found["seconds"]:
        return None
    p50, p95, p99 = percentiles(found["seconds"])
    count = len(found["seconds"])
    return {"n": count, "p50": p50, "p95": p95, "p99": p99, "success": count / (count + found["failed"])}


def _summed(results):
    races = {
        title: {name: _row(found) or {"absent": found.get("absent") or found.get("error")} for name, found in race.items()}
        for title, race in results["races"].items()
    }
    return {"host": results["host"], "milliseconds": races, "figures": results["figures"]}


def _markdown(results):
    host = results["host"]
    lines = [
        "# Measured",
        "",
        f"`cargo xtask bench` on {host['date']}: {host['cores']} cores, Linux {host['kernel']}, load {host['load before']} before "
        f"and {host['load after']} after. Milliseconds; what each number includes is said at the top of `run.py`. In one row all "
        "contenders took turns in the same run; seconds of another machine, or of this one on another day, say little beside the "
        "ratios.",
    ]
    for number, (title, race) in enumerate(results["races"].items()):
        lines += ["", f"## {title[0].upper()}{title[1:]}", ""]
        lines += ["| | n | p50 | p95 | p99 | success | p50 beside ours |", "|---|---|---|---|---|---|---|"]
        ours = _row(race["hood"]) if "hood" in race else None
        left_out = []
        for name, found in race.items():
            row = _row(found)
            if row is None:
                left_out.append(f"{name}: {found.get('absent') or found.get('error')}")
                continue
            ratio = f"{row['p50'] / ours['p50']:.2f} ×" if ours else ""
            numbers = " | ".join(f"{row[key]:.1f}" for key in ("p50", "p95", "p99"))
            lines.append(f"| {name} | {row['n']} | {numbers} | {row['success']:.0%} | {ratio} |")
        lines += [f"\nNot here: {text}" for text in left_out]
        lines += ["", f"![{title}]({_drawing(number)})"]
    lines += ["", "## Figures", ""]
    for title, figure in results["figures"].items():
        told = ", ".join(f"{name} {value:.1f}" if isinstance(value, float) else f"{name} {value}" for name, value in figure.items())
        lines.append(f"* {title[0].upper()}{title[1:]}: {told}.")
    return "\n".join(lines) + "\n"


def _svg(title, race):
    """Medians as bars, with a tick at p99, on a logarithmic scale from a tenth of a millisecond."""
    import math

    rows = [(name, row) for name, found in race.items() if (row := _row(found))]
    most = max((row["p99"] for _, row in rows), default=1)
    scale = lambda ms: (WIDTH - LEFT - 90) * math.log10(max(ms, 0.1) / 0.1) / math.log10(most / 0.1)  # noqa: E731
    parts = [f'<text x="10" y="22" font-size="15" font-weight="bold">{_safe(title)} (ms, logarithmic)</text>']
    for number, (name, row) in enumerate(rows):
        y = 40 + number * ROW
        color = OURS if name.startswith("hood") or "hood" not in race else THEIRS
        parts.append(f'<text x="{LEFT - 10}" y="{y + 14}" text-anchor="end">{_safe(name)}</text>')
        parts.append(f'<rect x="{LEFT}" y="{y}" width="{scale(row["p50"]):.1f}" height="{BAR}" fill="{color}"/>')
        tick = LEFT + scale(row["p99"])
        parts.append(f'<line x1="{tick:.1f}" x2="{tick:.1f}" y1="{y}" y2="{y + BAR}" stroke="#444"/>')
        parts.append(f'<text x="{tick + 6:.1f}" y="{y + 14}">{row["p50"]:.1f}</text>')
    height = 50 + len(rows) * ROW
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="13">'
    return head + '<rect width="100%" height="100%" fill="white"/>' + "".join(parts) + "</svg>\n"


def _safe(text):
    return text.replace("&", "&amp;").replace("<", "&lt;")
