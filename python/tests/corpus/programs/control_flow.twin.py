# What control_flow.py computes, in NumPy.
import numpy as np

i, total = 0, 0.0
while i < 5:
    total = total + i if i % 2 == 0 else total * 2
    i += 1
print(i, total)

for values, count in (([1.0, 2.0, 3.0], 3), ([-1.0, -2.0, 0.5], 1), ([0.0, 0.0, 1.0], 7)):
    x = np.array(values, "float32")
    bigger = x * 2 if x.sum() > 0 else x - 1
    k, acc = 0, np.float32(1.0)
    while k < count:
        k, acc = k + 1, acc + x.sum() * np.float32(k)
    picked = x + 10 if count < 2 else x + 20 if count < 5 else x + 30
    switched = x * {1: 1, 3: 3}.get(count, 0)
    print(bigger.tolist(), [k], [float(acc)], picked.tolist(), switched.tolist())
