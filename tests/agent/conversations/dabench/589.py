import json

# Several headings end in a blank.
df.columns = df.columns.str.strip()
df["timestamp"] = pd.to_datetime(df["timestamp"].str.replace(r"\s+", " ", regex=True), format="%b %d %Y %I:%M:%S %p")
df["calls"] = df["num. calls answered"] + df["num. calls abandoned"]
df["abandonment rate"] = (100 * df["num. calls abandoned"] / df["calls"]).where(df["calls"] > 0)
moment = pd.to_datetime("20170413_080000", format="%Y%m%d_%H%M%S")
row = df.loc[df["timestamp"] == moment].iloc[0]
print(row)
print(json.dumps({"rate": f"{row['abandonment rate']:.2f}"}))
