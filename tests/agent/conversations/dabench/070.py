import json
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import train_test_split

features = ["exper", "looks", "union", "goodhlth", "black", "female", "married", "south", "bigcity", "smllcity",
            "service", "educ"]
train_x, test_x, train_y, test_y = train_test_split(df[features], df["wage"], test_size=0.3, random_state=42)
model = LinearRegression().fit(train_x, train_y)
print(pd.Series(model.coef_, features).round(3).to_string())
rmse = mean_squared_error(test_y, model.predict(test_x)) ** 0.5
print(json.dumps({"rmse": f"{rmse:.2f}", "rows": len(test_x)}))
