# Off-policy control with two critics, target networks that follow slowly, a temperature that is learned, a replay buffer.
import copy

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

rng = np.random.RandomState(31)
LOG_SIG_MIN, LOG_SIG_MAX = -20.0, 2.0


class Actor(nn.Layer):
    def __init__(self, obs_dim, action_dim):
        super().__init__()
        self.l1, self.l2 = nn.Linear(obs_dim, 12), nn.Linear(12, 12)
        self.mean_linear, self.std_linear = nn.Linear(12, action_dim), nn.Linear(12, action_dim)

    def forward(self, obs, noise):
        x = F.relu(self.l2(F.relu(self.l1(obs))))
        mean, log_std = self.mean_linear(x), paddle.clip(self.std_linear(x), min=LOG_SIG_MIN, max=LOG_SIG_MAX)
        normal = paddle.distribution.Normal(mean, log_std.exp())
        x_t = mean + log_std.exp() * noise
        action = paddle.tanh(x_t)
        log_prob = normal.log_prob(x_t) - paddle.log((1 - action.pow(2)) + 1e-6)
        return action, log_prob.sum(axis=-1, keepdim=True)


class Critic(nn.Layer):
    def __init__(self, obs_dim, action_dim):
        super().__init__()
        make = lambda: nn.Sequential(nn.Linear(obs_dim + action_dim, 12), nn.ReLU(), nn.Linear(12, 1))
        self.q1, self.q2 = make(), make()

    def forward(self, obs, action):
        x = paddle.concat([obs, action], axis=1)
        return self.q1(x), self.q2(x)


class ReplayMemory(object):
    def __init__(self, size, obs_dim, act_dim):
        self.data = [np.zeros((size, d), "float32") for d in (obs_dim, act_dim, 1, obs_dim, 1)]
        self.n = 0

    def append(self, *items):
        for store, item in zip(self.data, items):
            store[self.n % len(store)] = item
        self.n += 1

    def sample(self, k):
        pick = rng.randint(min(self.n, len(self.data[0])), size=k)
        return [paddle.to_tensor(d[pick]) for d in self.data]


class SAC:
    def __init__(self, gamma=0.9, tau=0.1):
        self.gamma, self.tau = gamma, tau
        self.actor, self.critic = Actor(3, 2), Critic(3, 2)
        self.target = copy.deepcopy(self.critic)
        for p in self.target.parameters():
            p.stop_gradient = True
        self.log_alpha = paddle.to_tensor([0.0], stop_gradient=False)
        self.target_entropy = -float(np.prod([2]))
        self.actor_opt = paddle.optimizer.Adam(1e-2, parameters=self.actor.parameters())
        self.critic_opt = paddle.optimizer.Adam(learning_rate=1e-2, parameters=self.critic.parameters(), beta1=0.8)
        self.alpha_opt = paddle.optimizer.Adam(parameters=[self.log_alpha], learning_rate=1e-2)

    def noise(self, n):
        return paddle.to_tensor(rng.randn(n, 2).astype("float32"))

    def learn(self, obs, action, reward, nxt, done):
        n = obs.shape[0]
        alpha = self.log_alpha.exp().detach()
        with paddle.no_grad():
            next_action, next_logp = self.actor(nxt, self.noise(n))
            q = paddle.minimum(*self.target(nxt, next_action)) - alpha * next_logp
            target = reward + self.gamma * (1.0 - done) * q
        q1, q2 = self.critic(obs, action)
        critic_loss = F.mse_loss(q1, target) + F.mse_loss(q2, target)
        self.critic_opt.clear_grad()
        critic_loss.backward()
        self.critic_opt.step()
        act, logp = self.actor(obs, self.noise(n))
        actor_loss = (alpha * logp - paddle.minimum(*self.critic(obs, act))).mean()
        self.actor_opt.clear_grad()
        actor_loss.backward()
        self.actor_opt.step()
        alpha_loss = -(self.log_alpha * (logp + self.target_entropy).detach()).mean()
        self.alpha_opt.clear_grad()
        alpha_loss.backward()
        self.alpha_opt.step()
        self.sync()
        return critic_loss, actor_loss

    def sync(self):
        own = dict(self.critic.named_parameters())
        for name, param in self.target.named_parameters():
            param.set_value(self.tau * own[name] + (1 - self.tau) * param)


agent, memory = SAC(), ReplayMemory(40, 3, 2)
obs = rng.randn(3).astype("float32")
for t in range(30):
    action = rng.uniform(-1, 1, 2).astype("float32")
    nxt = (0.9 * obs + np.array([action[0], action[1], 0.1], "float32")).astype("float32")
    memory.append(obs, action, -np.abs(nxt).sum(), nxt, float(t % 10 == 9))
    obs = nxt if t % 10 != 9 else rng.randn(3).astype("float32")
for step in range(4):
    critic_loss, actor_loss = agent.learn(*memory.sample(8))
    print(
        "step %d critic %.4f actor %.4f alpha %.4f"
        % (step, critic_loss.item(), actor_loss.item(), agent.log_alpha.exp().item())
    )
print(
    "target %.4f" % sum(float(p.abs().sum()) for p in agent.target.parameters()),
    all(p.grad is None for p in agent.target.parameters()),
)
