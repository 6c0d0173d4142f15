# Proximal policy optimization's update on recorded trajectories: clipped ratio, value, entropy.
import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.distribution import Categorical


class ActorCritic(nn.Layer):
    def __init__(self, state_dim=5, action_dim=3, hidden=16):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(state_dim, hidden), nn.Tanh(), nn.Linear(hidden, action_dim))
        self.critic = nn.Sequential(nn.Linear(state_dim, 12), nn.Tanh(), nn.Linear(12, 1))

    def evaluate(self, state, action):
        logits = self.actor(state)
        dist = Categorical(logits)
        log_probs = F.log_softmax(logits, axis=-1)
        action_log = (log_probs * F.one_hot(action, logits.shape[-1])).sum(-1)
        return action_log, self.critic(state).squeeze(-1), dist.entropy()


def returns_of(rewards, dones, gamma=0.95):
    out, running = [], 0.0
    for reward, done in zip(reversed(rewards), reversed(dones)):
        running = reward + gamma * running * (1 - done)
        out.insert(0, running)
    return np.array(out, "float32")


rng = np.random.RandomState(71)
states = rng.randn(24, 5).astype("float32")
actions = rng.randint(0, 3, 24)
rewards = (actions == (states[:, 0] > 0).astype(int)).astype("float32")
dones = (np.arange(24) % 8 == 7).astype("float32")
ret = returns_of(rewards, dones)
ret = (ret - ret.mean()) / (ret.std() + 1e-7)
policy = ActorCritic()
s, a, r = paddle.to_tensor(states), paddle.to_tensor(actions), paddle.to_tensor(ret)
with paddle.no_grad():
    old_log, _, _ = policy.evaluate(s, a)
optimizer = paddle.optimizer.Adam(parameters=policy.parameters(), learning_rate=0.01)
for epoch in range(6):
    log_prob, value, entropy = policy.evaluate(s, a)
    ratios = paddle.exp(log_prob - old_log.detach())
    advantages = r - value.detach()
    surr1 = ratios * advantages
    surr2 = paddle.clip(ratios, 0.8, 1.2) * advantages
    loss = -paddle.minimum(surr1, surr2) + 0.5 * F.mse_loss(value, r, reduction="none") - 0.01 * entropy
    loss = loss.mean()
    optimizer.clear_grad()
    loss.backward()
    optimizer.step()
    print("epoch %d loss %.5f ratio %.5f entropy %.5f" % (epoch, loss, ratios.max(), entropy.mean()))
