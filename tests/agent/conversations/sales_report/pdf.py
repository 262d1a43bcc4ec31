import os
import matplotlib
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.platypus import Image, PageBreak, Paragraph, SimpleDocTemplate, Spacer, Table, TableStyle

fonts = os.path.join(matplotlib.get_data_path(), "fonts", "ttf")
pdfmetrics.registerFont(TTFont("DejaVuSans", os.path.join(fonts, "DejaVuSans.ttf")))
pdfmetrics.registerFont(TTFont("DejaVuSans-Bold", os.path.join(fonts, "DejaVuSans-Bold.ttf")))
title = ParagraphStyle("title", fontName="DejaVuSans-Bold", fontSize=20, leading=26, spaceAfter=6 * mm)
heading = ParagraphStyle("heading", fontName="DejaVuSans-Bold", fontSize=13, leading=18, spaceBefore=6 * mm, spaceAfter=2 * mm)
plain = ParagraphStyle("plain", fontName="DejaVuSans", fontSize=10, leading=14)


def count(number):
    return f"{number:,}".replace(",", " ")


def grouped(kopecks):
    return f"{count(kopecks // 100)},{kopecks % 100:02} ₽"


def table(lines, widths):
    made = Table(lines, colWidths=[width * mm for width in widths], hAlign="LEFT")
    made.setStyle(TableStyle([
        ("FONT", (0, 0), (-1, -1), "DejaVuSans", 9),
        ("FONT", (0, 0), (-1, 0), "DejaVuSans-Bold", 9),
        ("LINEBELOW", (0, 0), (-1, 0), 0.8, colors.HexColor("#3b6ea5")),
        ("LINEBELOW", (0, 1), (-1, -1), 0.2, colors.lightgrey),
        ("ALIGN", (1, 0), (-1, -1), "RIGHT"),
    ]))
    return made


def picture(name):
    pictures[name].seek(0)
    image = Image(pictures[name])
    image.drawWidth, image.drawHeight = 160 * mm, 160 * mm * image.imageHeight / image.imageWidth
    return image


story = [
    Paragraph("Анализ продаж за II квартал 2025 года", title),
    Paragraph(
        f"В файле {count(rows)} строк; удалено дубликатов: {duplicates}, отброшено неполных строк: {int(bad.sum())}, "
        f"восстановлено сумм: {filled}. Выручка за квартал — <b>{grouped(total)}</b>, оплат — {count(len(paid))}.",
        plain,
    ),
    Paragraph("Динамика по месяцам", heading), picture("months"),
    table([["Месяц", "Выручка", "Оплат"]] + [[m, grouped(int(r.kopecks)), r.orders] for m, r in monthly.iterrows()], [40, 60, 30]),
    PageBreak(),
    Paragraph("Динамика по дням", heading), picture("days"),
    Paragraph("Десять лучших товаров", heading), picture("top10"),
    PageBreak(),
    table([["Товар", "Выручка", "Штук"]] + [[r.product, grouped(int(r.kopecks)), r.quantity] for r in top10.itertuples()], [60, 50, 25]),
    Paragraph("ABC-анализ", heading), picture("abc"),
    PageBreak(),
    Paragraph("Воронка продаж", heading), picture("funnel"), Spacer(1, 4 * mm),
    table([["Этап", "Контактов", "От визитов"]] + [[words[s], int(funnel[s]), f"{funnel[s] / funnel['visit']:.1%}"] for s in stages], [40, 40, 40]),
]
SimpleDocTemplate("output/report.pdf", pagesize=A4, title="Анализ продаж", author="").build(story)
print(os.path.getsize("output/report.pdf"), "bytes")
