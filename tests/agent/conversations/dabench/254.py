import json

gdp = df.set_index("country")["gdpPercap_1982"]
q1, q3 = gdp.quantile([0.25, 0.75])
spread = 1.5 * (q3 - q1)
outliers = gdp[(gdp < q1 - spread) | (gdp > q3 + spread)]
print(outliers)
print(json.dumps({"countries": ", ".join(sorted(outliers.index))}))
