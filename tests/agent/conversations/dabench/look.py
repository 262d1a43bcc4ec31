import pandas as pd

df = pd.read_csv("{{file:0}}")
print(df.shape, "duplicates:", int(df.duplicated().sum()))
print(pd.DataFrame({"type": df.dtypes.astype(str), "missing": df.isna().sum()}).to_string())
df.head()
