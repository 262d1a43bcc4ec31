import json
import matplotlib.pyplot as plt

ages = df.dropna(subset=["Age"]).groupby(["Sex", "Pclass"])["Age"].mean().unstack()
ages.T.plot.bar(figsize=(7, 4), rot=0, title="Average age by class", ylabel="Years")
plt.show()

print(ages.round(2))
print(json.dumps({sex: {f"class{n}": f"{age:.2f}" for n, age in row.items()} for sex, row in ages.iterrows()}))
