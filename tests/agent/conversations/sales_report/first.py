import pandas as pd

df = pd.read_csv("{{file:0}}")
print(df.shape)
df["date"] = pd.to_datetime(df["date"])
monthly = df.groupby(df["date"].dt.to_period("M"))["amount"].sum()
print(monthly)
