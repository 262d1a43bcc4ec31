import json

temperature = df["TMAX_F"].dropna()
print(len(temperature), "observations")
print(json.dumps({"mean": f"{temperature.sum() / len(temperature):.2f}"}))
