import json
import numpy as np

print(df.dtypes.to_string())
print("missing:", df.isna().sum().loc[lambda n: n > 0].to_dict())
rows = len(df)
df = df.drop_duplicates().copy()
duplicates = rows - len(df)

for column in df.select_dtypes(exclude=["number", "datetime"]):
    df[column] = df[column].str.strip()
paid_without_quantity = df["stage"].eq("paid") & df["quantity"].isna()
bad = df["date"].isna() | df["product"].isna() | paid_without_quantity
df = df[~bad].copy()
df["region"] = df["region"].fillna("Не указан")
df["discount"] = df["discount"].fillna(0)

# Money in whole kopecks: sums of floats are not exact to the kopeck.
df["kopecks"] = df["revenue"].mul(100).round()
price = df["unit_price"].mul(100).round()
percent = (1 - df["discount"]).mul(100).round()
computed = np.floor((df["quantity"] * price * percent + 50) / 100)
paid = df[df["stage"] == "paid"].copy()
filled = int(paid["kopecks"].isna().sum())
paid["kopecks"] = paid["kopecks"].fillna(computed).astype("int64")
paid["quantity"] = paid["quantity"].astype("int64")
paid["month"] = paid["date"].dt.strftime("%Y-%m")


def rubles(kopecks):
    return f"{kopecks // 100}.{kopecks % 100:02}"


total = int(paid["kopecks"].sum())
print(json.dumps({
    "rows": rows, "duplicates": duplicates, "dropped": int(bad.sum()), "filled": filled,
    "payments": len(paid), "total": rubles(total),
}))
