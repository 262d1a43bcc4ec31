import json
import numpy as np
import matplotlib.pyplot as plt

trips = pd.to_numeric(df["Trips over the past 24-hours (midnight to 11:59pm)"], errors="coerce")
members = pd.to_numeric(df["Total Annual Memberships Sold"], errors="coerce")
df["Trips per Membership"] = (trips / members).replace([np.inf, -np.inf], 0)

fig, axes = plt.subplots(2, 1, figsize=(8, 5), sharex=True)
for ax, column, title in zip(axes, [trips, df["Trips per Membership"]], ["Trips a day", "Trips per membership"]):
    ax.plot(pd.to_datetime(df["Date"]), column)
    ax.set_title(title)
plt.show()

print(json.dumps({
    "per_member": {"mean": f"{df['Trips per Membership'].mean():.2f}", "median": f"{df['Trips per Membership'].median():.2f}"},
    "per_day": {"mean": f"{trips.mean():.2f}", "median": f"{trips.median():.2f}"},
}))
