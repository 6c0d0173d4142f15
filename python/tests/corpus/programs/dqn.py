# Deep Q-learning with a replay buffer and a target network, on a corridor.
import collections
import random

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F
import paddle.optimizer as optim

random.seed(0)
rng = np.random.RandomState(0)


class Corridor:
    def reset(self):
        self.x = 3
        return self.observe()

    def observe(self):
        out = np.zeros(7, "float32")
        out[self.x] = 1
        return out

    def step(self, action):
        self.x += 1 if action else -1
        done = self.x in (0, 6)
        return self.observe(), 1.0 if self.x == 6 else (-1.0 if done else -0.01), done


class DQN(nn.Layer):
    def __init__(self, outputs):
        super(DQN, self).__init__()
        self.linear1 = nn.Linear(7, 16)
        self.linear2 = nn.Linear(16, 24)
        self.linear3 = nn.Linear(24, outputs)

    def forward(self, x):
        x = F.relu(self.linear1(x))
        x = F.relu(self.linear2(x))
        return self.linear3(x)


policy_net, target_net = DQN(2), DQN(2)
target_net.set_state_dict(policy_net.state_dict())
target_net.eval()
optimizer = optim.RMSProp(parameters=policy_net.parameters(), learning_rate=1e-3, rho=0.9, epsilon=1e-2)
memory = collections.deque(maxlen=200)
env, state, total = Corridor(), None, 0
state = env.reset()
for step in range(60):
    epsilon = max(0.1, 1 - step / 40)
    if rng.rand() > epsilon:
        with paddle.no_grad():
            action = policy_net(paddle.to_tensor(state).unsqueeze(0)).argmax(1).item()
    else:
        action = rng.randint(2)
    next_state, reward, done = env.step(action)
    memory.append((state, action, reward, next_state, done))
    state = env.reset() if done else next_state
    if len(memory) < 16:
        continue
    batch = random.sample(memory, 12)
    s, a, r, ns, d = map(np.array, zip(*batch))
    q = policy_net(paddle.to_tensor(s))
    q = paddle.gather_nd(q, paddle.to_tensor(np.stack([np.arange(12), a], 1)))
    next_q = target_net(paddle.to_tensor(ns)).max(axis=1).detach()
    expected = paddle.to_tensor(r, dtype="float32") + 0.9 * next_q * (1 - paddle.to_tensor(d.astype("float32")))
    loss = F.smooth_l1_loss(q, expected)
    optimizer.clear_grad()
    loss.backward()
    for param in policy_net.parameters():
        param.grad.set_value(paddle.clip(param.grad, -1, 1))
    optimizer.step()
    if step % 10 == 0:
        target_net.set_state_dict(policy_net.state_dict())
        print("step %d loss %.6f" % (step, loss.item()))
table = policy_net(paddle.eye(7)).numpy()
for row in table[1:6]:
    print("%.4f %.4f" % tuple(row))
