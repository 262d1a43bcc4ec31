moment = pd.to_datetime("20170413_080000", format="%Y%m%d_%H%M%S")
row = df[pd.to_datetime(df["timestamp"]) == moment].iloc[0]
calls = row["num. calls answered"] + row["num. calls abandoned"]
print(100 * row["num. calls abandoned"] / calls)
