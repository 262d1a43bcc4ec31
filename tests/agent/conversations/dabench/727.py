import json
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import train_test_split

x, y = df[["weight", "acceleration"]].astype(float), df["mpg"].astype(float)
train_x, test_x, train_y, test_y = train_test_split(x, y, test_size=0.2, random_state=42)
model = LinearRegression().fit(train_x, train_y)
print(json.dumps({"mse": f"{mean_squared_error(test_y, model.predict(test_x)):.2f}", "rows": len(test_x)}))
