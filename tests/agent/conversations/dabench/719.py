import json

mpg = df["mpg"].astype(float)
print(json.dumps({"mean": f"{mpg.mean():.2f}", "median": f"{mpg.median():.2f}"}))
