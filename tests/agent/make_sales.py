#!/usr/bin/env python3
"""Makes the sales table of the demonstration, and says what a right analysis of it must find.

    make_sales.py --out sales.csv            45,000 rows from a seed, the same on every machine
    make_sales.py --expect sales.csv         the expected totals as JSON, computed with csv and decimal only

One row is one contact with the shop: a visit, which may have become a lead, an order, a payment. Only payments have
revenue. The table has what real ones have: exact duplicates, missing values, blanks around words.

The rules of the computation, which the report's code follows with other tools:
  1. exact duplicate rows count once;
  2. a row without date or product is dropped, and so is a payment without quantity;
  3. a missing discount is 0, a missing region is "Не указан";
  4. a payment's missing revenue is quantity × price × (1 − discount), rounded half up to the kopeck;
  5. ABC: products by falling revenue; A while the running share is at most 80 %, B at most 95 %, C the rest.
"""

import argparse
import csv
import json
import random
import sys
from collections import defaultdict
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal

ROWS, SEED = 45_000, 20_250_401
FIRST_DAY, DAYS = date(2025, 4, 1), 91
COLUMNS = [
    "order_id", "date", "product", "category", "region", "customer_id", "channel", "stage",
    "quantity", "unit_price", "discount", "revenue",
]  # fmt: skip
STAGES = ["visit", "lead", "order", "paid"]
REGIONS = ["Москва", "Санкт-Петербург", "Урал", "Сибирь", "Поволжье", "Юг"]
CHANNELS = ["сайт", "приложение", "магазин", "маркетплейс"]
CATALOGUE = {
    "Кофе": ["Арабика 1 кг", "Робуста 1 кг", "Эспрессо-смесь 1 кг", "Без кофеина 250 г", "Молотый 250 г", "Капсулы 10 шт."],
    "Чай": ["Ассам 100 г", "Сенча 100 г", "Улун 100 г", "Пуэр 357 г", "Эрл Грей 100 г", "Травяной сбор 80 г"],
    "Техника": ["Кофемашина Соло", "Кофемашина Дуо", "Кофемолка", "Чайник 1,5 л", "Капучинатор", "Весы"],
    "Посуда": ["Чашка 200 мл", "Кружка 350 мл", "Френч-пресс", "Турка медная", "Воронка", "Термос 0,5 л"],
    "Сладости": ["Пастила 200 г", "Шоколад 90 г", "Печенье 300 г", "Халва 250 г", "Зефир 250 г", "Мармелад 200 г"],
    "Аксессуары": ["Фильтры 100 шт.", "Темпер", "Питчер", "Щётка", "Банка для хранения", "Подарочный набор"],
}
PRICES = {"Кофе": (490, 2290), "Чай": (190, 1490), "Техника": (1990, 24900), "Посуда": (290, 3990),
          "Сладости": (120, 690), "Аксессуары": (150, 4900)}  # fmt: skip
CALENDAR = [FIRST_DAY + timedelta(days=n) for n in range(DAYS)]
# Weekends and the quarter's end sell better.
BUSY = [(1 + n / 200) * (1.35 if day.weekday() >= 5 else 1) for n, day in enumerate(CALENDAR)]
KOPECK = Decimal("0.01")


def make(path, rows, seed):
    chance = random.Random(seed)
    products = []
    for category, names in CATALOGUE.items():
        for name in names:
            low, high = PRICES[category]
            products.append((name, category, Decimal(chance.randrange(low * 100, high * 100)) / 100))
    weights = [1 / (place + 1) ** 0.8 for place in range(len(products))]
    chance.shuffle(weights)
    duplicates = rows * 13 // 1000
    table = [row(chance, number, products, weights) for number in range(rows - duplicates)]
    table += [list(chance.choice(table)) for _ in range(duplicates)]
    chance.shuffle(table)
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(table)


def row(chance, number, products, weights):
    name, category, price = chance.choices(products, weights)[0]
    day = chance.choices(CALENDAR, BUSY)[0]
    stage = chance.choices(STAGES, [40, 22, 10, 28])[0]
    quantity, discount, revenue = "", "", ""
    if stage in ("order", "paid"):
        quantity = chance.choices([1, 2, 3, 4, 5, 10], [60, 20, 8, 5, 4, 3])[0]
        discount = chance.choices(["0", "0.05", "0.1", "0.15", "0.2"], [60, 15, 12, 8, 5])[0]
    if stage == "paid":
        revenue = str(amount(quantity, price, discount))
    fields = {
        "order_id": f"R{number:06}",
        "date": day.isoformat(),
        "product": name if chance.random() > 0.02 else f" {name} ",
        "category": category,
        "region": chance.choices(REGIONS, [34, 20, 14, 12, 11, 9])[0],
        "customer_id": f"C{chance.randrange(9000):05}",
        "channel": chance.choices(CHANNELS, [40, 25, 20, 15])[0],
        "stage": stage,
        "quantity": quantity,
        "unit_price": f"{price:.2f}",
        "discount": discount,
        "revenue": revenue,
    }
    for column, share in [("region", 0.02), ("discount", 0.015), ("revenue", 0.012), ("quantity", 0.004),
                          ("date", 0.003), ("product", 0.003), ("customer_id", 0.01)]:  # fmt: skip
        if chance.random() < share:
            # Taking the discount away from a row that keeps its revenue loses nothing; from one that loses both
            # the rules make a full price. Both happen in real tables.
            fields[column] = ""
    return list(fields.values())


def amount(quantity, price, discount):
    exact = Decimal(quantity) * Decimal(price) * (1 - Decimal(discount or 0))
    return exact.quantize(KOPECK, ROUND_HALF_UP)


def expect(path):
    with open(path, encoding="utf-8", newline="") as file:
        rows = [tuple(row.values()) for row in csv.DictReader(file)]
    unique = list(dict.fromkeys(rows))
    found = {"rows": len(rows), "duplicates": len(rows) - len(unique), "dropped": 0, "filled": 0}
    months, regions, products = defaultdict(Decimal), defaultdict(Decimal), defaultdict(Decimal)
    pieces, stages, orders = defaultdict(int), defaultdict(int), defaultdict(int)
    for values in unique:
        entry = dict(zip(COLUMNS, map(str.strip, values)))
        paid = entry["stage"] == "paid"
        if not entry["date"] or not entry["product"] or (paid and not entry["quantity"]):
            found["dropped"] += 1
            continue
        stages[entry["stage"]] += 1
        if not paid:
            continue
        revenue = entry["revenue"]
        if not revenue:
            found["filled"] += 1
            revenue = amount(entry["quantity"], entry["unit_price"], entry["discount"])
        revenue = Decimal(revenue)
        month = entry["date"][:7]
        months[month] += revenue
        orders[month] += 1
        regions[entry["region"] or "Не указан"] += revenue
        products[entry["product"]] += revenue
        pieces[entry["product"]] += int(entry["quantity"])
    total = sum(products.values())
    ranked = sorted(products, key=lambda name: (-products[name], name))
    found["total"] = str(total)
    found["months"] = {m: {"revenue": str(months[m]), "orders": orders[m]} for m in sorted(months)}
    found["regions"] = {r: str(regions[r]) for r in sorted(regions)}
    found["top10"] = [{"product": p, "revenue": str(products[p]), "quantity": pieces[p]} for p in ranked[:10]]
    found["abc"] = {p: {"revenue": str(products[p]), "class": c} for p, c in zip(ranked, classes(ranked, products, total))}
    # Whoever paid has ordered, whoever ordered was a lead, and so on: the funnel counts all who got that far.
    reached = [sum(stages[later] for later in STAGES[n:]) for n in range(len(STAGES))]
    found["funnel"] = dict(zip(STAGES, reached))
    return found


def classes(ranked, products, total):
    running = Decimal(0)
    for name in ranked:
        running += products[name]
        yield "A" if running * 100 <= total * 80 else "B" if running * 100 <= total * 95 else "C"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--out", help="write the table to this file")
    what.add_argument("--expect", metavar="FILE", help="print what a right analysis of this table finds")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--seed", type=int, default=SEED)
    arguments = parser.parse_args()
    if arguments.out:
        make(arguments.out, arguments.rows, arguments.seed)
    else:
        json.dump(expect(arguments.expect), sys.stdout, ensure_ascii=False, indent=1)
        print()


if __name__ == "__main__":
    main()
