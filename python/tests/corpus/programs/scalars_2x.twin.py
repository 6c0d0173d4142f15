# scalars_2x.py for releases with 0-d tensors.
import numpy as np
import paddle
import paddle.nn as nn

rng = np.random.RandomState(151)
x, y = paddle.to_tensor(rng.randn(8, 3).astype("float32")), paddle.to_tensor(rng.randn(8, 1).astype("float32"))
net = nn.Linear(3, 1)
opt = paddle.optimizer.SGD(0.1, parameters=net.parameters())
history = []
for step in range(4):
    avg_loss = paddle.mean(nn.functional.square_error_cost(net(x), y))
    avg_loss.backward()
    opt.step()
    opt.clear_grad()
    history.append(avg_loss.numpy())
    print("step %d loss %.5f %.5f" % (step, avg_loss.numpy(), float(avg_loss)))
print("mean %.5f" % np.mean(history), (1,), "%.5f" % (avg_loss + x.max()).item())
