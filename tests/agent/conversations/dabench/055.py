import json

# "630308[495000-801000]": the estimate stands before its interval.
estimate = df["No. of cases"].astype("string").str.extract(r"^\s*([\d,]+)", expand=False).str.replace(",", "")
cases = pd.to_numeric(estimate, errors="coerce").dropna().astype("int64")
print(f"{len(cases)} of {len(df)} rows have a number of cases")
print(json.dumps({"mean": round(cases.mean())}))
