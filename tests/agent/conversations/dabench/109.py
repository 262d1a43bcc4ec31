import json
from scipy import stats

loans = {name: group["LoanAmount"].dropna() for name, group in df.groupby("Education")}
graduate, other = loans["Graduate"], loans["Not Graduate"]
test = stats.ttest_ind(graduate, other)
print(f"t = {test.statistic:.3f}, p = {test.pvalue:.2e}")
print(json.dumps({
    "graduate": f"{graduate.mean():.2f}",
    "not_graduate": f"{other.mean():.2f}",
    "significance": "significant" if test.pvalue < 0.05 else "no significant",
}))
