import json

missing = df[["No. of cases_min", "No. of deaths_max"]].isna().mean().mul(100).round(2)
print(missing)
print(json.dumps({"cases_min": f"{missing.iloc[0]:.2f}", "deaths_max": f"{missing.iloc[1]:.2f}"}))
