import io
import matplotlib.pyplot as plt

plt.rcParams.update({"figure.dpi": 120, "axes.spines.top": False, "axes.spines.right": False})
pictures = {}


def keep(name, fig):
    pictures[name] = io.BytesIO()
    fig.savefig(pictures[name], format="png", dpi=150, bbox_inches="tight")
    plt.show()


MILLION = 100 * 1_000_000
names = {"2025-04": "апрель", "2025-05": "май", "2025-06": "июнь"}

fig, ax = plt.subplots(figsize=(7, 4))
bars = ax.bar([names.get(month, month) for month in monthly.index], monthly["kopecks"] / MILLION, color="#3b6ea5")
ax.bar_label(bars, fmt="%.1f")
ax.set(title="Выручка по месяцам", xlabel="Месяц", ylabel="Млн ₽")
keep("months", fig)

fig, ax = plt.subplots(figsize=(7, 4))
daily = paid.groupby(paid["date"].dt.normalize())["kopecks"].sum() / MILLION
ax.plot(daily.index, daily, color="#bbbbbb", label="по дням")
ax.plot(daily.index, daily.rolling(7).mean(), color="#3b6ea5", label="среднее за 7 дней")
ax.set(title="Выручка по дням", xlabel="Дата", ylabel="Млн ₽")
ax.legend(frameon=False)
fig.autofmt_xdate()
keep("days", fig)

fig, ax = plt.subplots(figsize=(7, 4))
ax.barh(top10["product"][::-1], top10["kopecks"][::-1] / MILLION, color="#6a9f58")
ax.set(title="Десять лучших товаров", xlabel="Выручка, млн ₽")
keep("top10", fig)

fig, ax = plt.subplots(figsize=(7, 4))
colours = products["class"].map({"A": "#6a9f58", "B": "#e0b04a", "C": "#c0584f"})
ax.bar(range(len(products)), products["kopecks"] / MILLION, color=colours)
share = ax.twinx()
share.plot(range(len(products)), running / total * 100, color="#333333")
share.set(ylabel="Накопленная доля, %", ylim=(0, 105))
ax.set(title="ABC-анализ: зелёный — A, жёлтый — B, красный — C", xlabel="Товары по убыванию", ylabel="Млн ₽")
keep("abc", fig)

fig, ax = plt.subplots(figsize=(7, 3.5))
words = {"visit": "Визит", "lead": "Заявка", "order": "Заказ", "paid": "Оплата"}
bars = ax.barh([words[stage] for stage in stages][::-1], funnel[::-1], color="#8064a2")
ax.bar_label(bars, labels=[f"{n:,} ({n / funnel['visit']:.0%})".replace(",", " ") for n in funnel[::-1]], padding=3)
ax.set(title="Воронка продаж", xlim=(0, funnel.max() * 1.25))
keep("funnel", fig)
