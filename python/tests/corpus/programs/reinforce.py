# Policy gradient with a baseline; log probabilities gathered over an episode.
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

rng = np.random.RandomState(81)


class Policy(nn.Layer):
    def __init__(self):
        super(Policy, self).__init__()
        self.affine1 = nn.Linear(4, 10)
        self.affine2 = nn.Linear(10, 2)
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.affine1(x))
        action_scores = self.affine2(x)
        return F.softmax(action_scores, axis=1)


policy = Policy()
optimizer = paddle.optimizer.Adam(learning_rate=1e-2, parameters=policy.parameters())
for episode in range(4):
    state = rng.randn(4)
    for t in range(7):
        probs = policy(paddle.to_tensor(state, dtype="float32").unsqueeze(0))
        action = int(rng.rand() > probs[0, 0].item())
        policy.saved_log_probs.append(paddle.log(probs[0][action]))
        policy.rewards.append(float(state[action] > 0))
        state = 0.5 * state + 0.5 * rng.randn(4)
    R, returns, policy_loss = 0, [], []
    for r in policy.rewards[::-1]:
        R = r + 0.99 * R
        returns.insert(0, R)
    returns = paddle.to_tensor(returns, dtype="float32")
    returns = (returns - returns.mean()) / (returns.std() + 1e-6)
    for log_prob, R in zip(policy.saved_log_probs, returns):
        policy_loss.append(-log_prob * R)
    optimizer.clear_grad()
    loss = paddle.stack(policy_loss).sum()
    loss.backward()
    optimizer.step()
    print("episode %d loss %.5f rewards %s" % (episode, loss.item(), policy.rewards))
    policy.saved_log_probs, policy.rewards = [], []
