monthly = paid.groupby("month").agg(kopecks=("kopecks", "sum"), orders=("order_id", "size"))
regions = paid.groupby("region")["kopecks"].sum().sort_values(ascending=False)
products = paid.groupby("product").agg(kopecks=("kopecks", "sum"), quantity=("quantity", "sum")).reset_index()
products = products.sort_values(["kopecks", "product"], ascending=[False, True], ignore_index=True)
running = products["kopecks"].cumsum()
products["class"] = np.select([running * 100 <= total * 80, running * 100 <= total * 95], ["A", "B"], "C")
products["share"] = products["kopecks"] / total
top10 = products.head(10)

stages = ["visit", "lead", "order", "paid"]
counts = df["stage"].value_counts()
funnel = pd.Series({stage: int(sum(counts.get(later, 0) for later in stages[n:])) for n, stage in enumerate(stages)})

abc = products.groupby("class").agg(kopecks=("kopecks", "sum"), products=("product", "size"))
print(monthly, abc, funnel, sep="\n")
print(json.dumps({
    "best_month": monthly["kopecks"].idxmax(),
    "best_month_revenue": rubles(int(monthly["kopecks"].max())),
    "leader": top10["product"].iloc[0],
    "leader_revenue": rubles(int(top10["kopecks"].iloc[0])),
    "a": int(abc["products"].get("A", 0)), "b": int(abc["products"].get("B", 0)), "c": int(abc["products"].get("C", 0)),
    "visits": int(funnel["visit"]), "paid": int(funnel["paid"]),
    "conversion": f"{100 * funnel['paid'] / funnel['visit']:.1f}",
}, ensure_ascii=False))
