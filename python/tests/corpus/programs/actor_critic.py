# Advantage actor-critic with several environments at once: generalized advantages, entropy, a policy of both kinds of actions.
import collections

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F
from paddle.distribution import Categorical, Normal

rng = np.random.RandomState(17)
Transition = collections.namedtuple("Transition", ["obs", "action", "force", "reward", "done", "value"])


class VectorEnv(object):
    """A cart on a line: push it left, right or not at all, with a force."""

    def __init__(self, n):
        self.n, self.state, self.t = n, rng.uniform(-1, 1, [n, 4]).astype("float32"), np.zeros(n, "int64")

    def step(self, action, force):
        self.state[:, 1] += (action - 1) * 0.1 + 0.02 * np.tanh(force)
        self.state[:, 0] += self.state[:, 1]
        self.state[:, 2:] = np.roll(self.state[:, 2:], 1, axis=1)
        self.t += 1
        reward = (1.0 - np.abs(self.state[:, 0])).astype("float32")
        done = (np.abs(self.state[:, 0]) > 2) | (self.t >= 7)
        self.state[done] = 0.1
        self.t[done] = 0
        return self.state.copy(), reward, done.astype("float32")


class ActorCritic(nn.Layer):
    def __init__(self, obs_dim, act_dim):
        super(ActorCritic, self).__init__()
        ortho = nn.initializer.XavierUniform()
        attr = paddle.ParamAttr(initializer=ortho, learning_rate=1.0)
        self.body = nn.Sequential(
            ("fc1", nn.Linear(obs_dim, 16, weight_attr=attr)),
            ("act1", nn.Tanh()),
            ("fc2", nn.Linear(16, 16)),
            ("act2", nn.ELU()),
        )
        self.pi, self.mu, self.v = nn.Linear(16, act_dim), nn.Linear(16, 1), nn.Linear(16, 1)
        self.log_std = paddle.static.create_parameter([1], "float32", default_initializer=nn.initializer.Constant(-0.5))
        self.add_parameter("std", self.log_std)

    def forward(self, obs):
        h = self.body(obs)
        return self.pi(h), self.mu(h).squeeze(-1), self.v(h).squeeze(-1)

    def evaluate(self, obs, action, force):
        logits, mu, value = self(obs)
        logp = F.log_softmax(logits)
        chosen = paddle.take_along_axis(logp, action.unsqueeze(-1), axis=-1).squeeze(-1)
        normal = Normal(mu, paddle.exp(self.log_std))
        entropy = -(logp * logp.exp()).sum(-1)
        return chosen + normal.log_prob(force), entropy + normal.entropy().mean(), value


def gae(rewards, values, dones, last, gamma=0.95, lam=0.9):
    adv, out = 0.0, []
    for t in reversed(range(len(rewards))):
        nxt = last if t == len(rewards) - 1 else values[t + 1]
        delta = rewards[t] + gamma * nxt * (1 - dones[t]) - values[t]
        adv = delta + gamma * lam * (1 - dones[t]) * adv
        out.insert(0, adv)
    return np.stack(out)


env, net = VectorEnv(3), ActorCritic(4, 3)
clip = nn.ClipGradByGlobalNorm(clip_norm=0.5)
optimizer = paddle.optimizer.RMSProp(
    learning_rate=3e-3, rho=0.95, epsilon=1e-4, parameters=net.parameters(), grad_clip=clip
)
obs = env.state.copy()
for update in range(4):
    net.eval()
    batch = []
    for _ in range(5):
        with paddle.no_grad():
            logits, mu, value = net(paddle.to_tensor(obs))
        probs = F.softmax(logits).numpy().astype("float64")
        probs /= probs.sum(-1, keepdims=True)
        action = np.array([rng.choice(3, p=[0.2, 0.3, 0.5]) for _ in probs])
        force = mu.numpy() + rng.randn(3).astype("float32")
        nxt, reward, done = env.step(action, force)
        batch.append(Transition(obs, action, force, reward, done, value.numpy()))
        obs = nxt
    with paddle.no_grad():
        last = net(paddle.to_tensor(obs))[2].numpy()
    fields = Transition(*(np.stack(v) for v in zip(*batch)))
    adv = gae(fields.reward, fields.value, fields.done, last).astype("float32")
    returns = paddle.to_tensor((adv + fields.value).reshape(-1))
    adv = paddle.to_tensor(((adv - adv.mean()) / (adv.std() + 1e-8)).reshape(-1))
    net.train()
    flat = paddle.to_tensor(fields.obs.reshape(-1, 4))
    logp, entropy, value = net.evaluate(
        flat, paddle.to_tensor(fields.action.reshape(-1)), paddle.to_tensor(fields.force.reshape(-1).astype("float32"))
    )
    policy, critic = -(adv * logp).mean(), F.smooth_l1_loss(value, returns)
    loss = policy + 0.5 * critic - 0.01 * entropy.mean()
    optimizer.clear_grad()
    loss.backward()
    optimizer.step()
    print(
        "update %d policy %.5f critic %.5f entropy %.5f reward %.4f"
        % (update, policy.item(), critic.item(), entropy.mean().item(), fields.reward.mean())
    )
dist = Categorical(paddle.exp(logits))
print(
    "probs",
    np.round(dist.probs(paddle.to_tensor([0, 1, 2])).numpy().reshape(-1)[:3].astype("float64"), 2).shape,
    "std %.5f" % net.log_std.exp().item(),
)
print(sorted(net.state_dict())[:3])
