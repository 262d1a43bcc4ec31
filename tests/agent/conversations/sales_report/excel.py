import pandas as pd


def money(kopecks):
    return kopecks / 100


sheets = {
    "Итоги": pd.DataFrame(
        [("Строк в файле", rows), ("Дубликатов", duplicates), ("Отброшено строк", int(bad.sum())),
         ("Восстановлено сумм", filled), ("Оплат", len(paid)), ("Выручка, ₽", money(total))],
        columns=["Показатель", "Значение"],
    ),
    "По месяцам": pd.DataFrame({
        "Месяц": monthly.index, "Выручка, ₽": money(monthly["kopecks"]).to_numpy(), "Оплат": monthly["orders"].to_numpy(),
    }),
    "По регионам": pd.DataFrame({"Регион": regions.index, "Выручка, ₽": money(regions).to_numpy()}),
    "Топ-10": pd.DataFrame({
        "Товар": top10["product"], "Выручка, ₽": money(top10["kopecks"]), "Штук": top10["quantity"],
    }),
    "ABC": pd.DataFrame({
        "Товар": products["product"], "Выручка, ₽": money(products["kopecks"]),
        "Доля": products["share"], "Класс": products["class"],
    }),
    "Воронка": pd.DataFrame({"Этап": [words[stage] for stage in stages], "Контактов": funnel.to_numpy()}),
}
with pd.ExcelWriter("output/report.xlsx", engine="xlsxwriter") as book:
    for name, sheet in sheets.items():
        sheet.to_excel(book, sheet_name=name, index=False)
        page = book.sheets[name]
        page.set_column(0, 0, 24)
        page.set_column(1, len(sheet.columns) - 1, 18, book.book.add_format({"num_format": "#,##0.00"}))
        page.freeze_panes(1, 0)
print("sheets:", ", ".join(sheets))
