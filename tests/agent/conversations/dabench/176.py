import json

chosen = df[(df["Sex"] == "male") & (df["Survived"] == 1) & (df["Fare"] > df["Fare"].mean())]
ages = chosen["Age"].dropna()
print(f"{len(chosen)} passengers, {len(ages)} with an age")
print(json.dumps({"median": f"{ages.median():.2f}"}))
