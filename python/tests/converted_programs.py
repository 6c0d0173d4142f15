"""Whole programs of the kinds that users convert: decoding, detection, reinforcement learning, steps of training, samplers."""

import collections

import proa as paddle
from proa import nn
from python.tests.converted_models import _linear
from python.tests.converted_registry import supported

F = nn.functional


@supported
def boxes_of_classes(x):
    """Post-processing of a detector: of each class what stays, `continue` where nothing does, `if not found` behind the loop"""
    boxes, found = paddle.concat([x[:, :2], x[:, :2] + x[:, 2:].abs() + 0.5], 1).detach(), []
    scores = F.sigmoid(x)
    for c in range(scores.shape[1]):
        score = scores[:, c]
        kept = paddle.nonzero(score > 0.45).flatten()
        if kept.shape[0] == 0:
            continue
        rows, score = paddle.gather(boxes, kept), paddle.gather(score, kept)
        best = paddle.vision.ops.nms(rows, 0.5, score.detach())
        if best.shape[0] > 2:
            best = best[:2]
        rows, score = rows[best], score[best]
        found.append(paddle.concat([paddle.full_like(rows[:, :1], float(c)), score.unsqueeze(1), rows], 1))
    if not found:
        return paddle.zeros([0, 6])
    return paddle.concat(found, 0)


@supported
def truth_of_a_made_list(x):
    """`if`, `not`, `while` and `bool` of a list that a branch or loop appended to"""
    rows = []
    for row in x:
        if row.sum() > 0:
            rows.append(row)
    total = x.sum() if rows else x.mean()
    if not rows:
        return total * 2
    while rows:
        total = total + rows.pop().max()
    return total * (2.0 if bool(rows) else 3.0)


class _Computing(nn.Layer):
    def __init__(self):
        super().__init__()
        self.of_input, self.of_state, self.halt = _linear(4, 4), _linear(4, 4), _linear(4, 1)

    def forward(self, x, most=6):
        h, out, total = paddle.zeros_like(x), paddle.zeros_like(x), paddle.zeros_like(x[:, :1])
        cost, steps = 0.0, 0
        while steps < most:
            h = paddle.tanh(self.of_input(x) + self.of_state(h))
            p = paddle.minimum(F.sigmoid(self.halt(h) + 0.5), 1 - total)
            out, total, cost = out + p * h, total + p, cost + p.mean()
            steps += 1
            if (total > 0.99).all():
                break
        return out, cost, steps * total


_COMPUTING = _Computing()


@supported
def adaptive_computation(x):
    """A recurrent net that decides how many steps it takes, with a cost for them"""
    return _COMPUTING(x)


class _Tree(nn.Layer):
    def __init__(self):
        super().__init__()
        self.join, self.gate = _linear(8, 4), _linear(8, 1)

    def encode(self, tree, x):
        if isinstance(tree, int):
            return x[tree : tree + 1]
        left, right = (self.encode(part, x) for part in tree)
        both = paddle.concat([left, right], -1)
        gate = F.sigmoid(self.gate(both))
        if gate.mean() > 0.5:
            return paddle.tanh(self.join(both))
        return gate * left + (1 - gate) * right

    def forward(self, tree, x):
        return self.encode(tree, x)


_TREE = _Tree()


@supported
def tree_of_parts(x):
    """A recursive net over a tree of Python, whose nodes choose by tensors"""
    return _TREE(((0, 1), (2, (1, 0))), x)


def _tokens(text, vocabulary, most=4):
    ids, i = [], 0
    while i < len(text):
        for j in range(min(len(text), i + most), i, -1):
            if text[i:j] in vocabulary:
                ids.append(vocabulary[text[i:j]])
                i = j
                break
        else:
            ids.append(0)
            i += 1
    return ids


@supported
def longest_tokens(x):
    """A tokenizer by longest match, and rows of what it found that count"""
    vocabulary = {word: k for k, word in enumerate(["", "a", "ab", "abc", "b", "c"])}
    ids = paddle.to_tensor(_tokens("abcaxbxab", vocabulary))
    table = paddle.sin(paddle.arange(24, dtype="float32").reshape([6, 4]))
    counts, total = ids != 0, paddle.zeros_like(x[0])
    for k, row in enumerate(table[ids]):
        if not counts[k]:
            continue
        if (row * x[0]).sum() > 0:
            total += row * (k + 1) / len(ids)
    return x + total


_MAKER = nn.Sequential(_linear(4, 6), nn.LeakyReLU(0.2), _linear(6, 3))
_JUDGE = nn.Sequential(_linear(3, 6), nn.Tanh(), _linear(6, 1))


@supported
def adversarial_losses(x):
    """Losses of a GAN: of both sides, with a penalty on the judge's gradient, which is differentiated itself"""
    made, real = _MAKER(x), paddle.cos(x[:, :3].detach())
    of_judge = F.softplus(-_JUDGE(real)).mean() + F.softplus(_JUDGE(made.detach())).mean()
    between = 0.3 * real + 0.7 * made.detach()
    between.stop_gradient = False
    (slope,) = paddle.grad(_JUDGE(between).sum(), [between], create_graph=True)
    penalty = ((slope.norm(2, axis=1) - 1) ** 2).mean()
    if penalty > 0.1:
        of_judge = of_judge + 10 * penalty
    return of_judge, F.softplus(-_JUDGE(made)).mean()


_POLICY = nn.Sequential(_linear(4, 8), nn.Tanh(), _linear(8, 2))


def _moved(state, action):
    force = paddle.where(action == 1, paddle.ones_like(state[:, 0]), -paddle.ones_like(state[:, 0]))
    place, speed, angle, turn = state.unbind(-1)
    turn = turn + 0.1 * (paddle.sin(angle) - force * paddle.cos(angle))
    angle, speed = angle + 0.1 * turn, speed + 0.1 * force
    place = place + 0.1 * speed
    return paddle.stack([place, speed, angle, turn], -1), (angle.abs() > 0.25) | (place.abs() > 2.4)


@supported
def rollout(x):
    """Reinforcement learning: a policy is rolled out until all have fallen, returns from the last step back"""
    state, alive = x * 0.1, paddle.ones_like(x[:, 0])
    rewards, logs = [], []
    for _ in range(8):
        scores = _POLICY(state)
        action = scores.argmax(-1)
        chosen = F.log_softmax(scores).take_along_axis(action.unsqueeze(-1), -1).squeeze(-1)
        state, fallen = _moved(state, action)
        rewards.append((~fallen).astype("float32") * alive)
        logs.append(chosen * alive)
        alive = alive * (1.0 - fallen.astype("float32"))
        if alive.sum() == 0:
            break
    after, loss = paddle.zeros_like(x[:, 0]), 0.0
    for reward, chosen in zip(reversed(rewards), reversed(logs)):
        after = reward + 0.9 * after
        loss = loss - (chosen * after).mean()
    return loss, after


@supported
def conjugate_gradients(x):
    """Conjugate gradients with a search along the line that a closure measures, until the rest is small"""
    matrix, right = x.T @ x + paddle.eye(4), x.sum(0)

    def value(at):
        nonlocal calls
        calls += 1
        return 0.5 * (at * (matrix @ at)).sum() - (right * at).sum()

    calls, at, turns = 0, paddle.zeros_like(right), 0
    rest = right - matrix @ at
    along, size = rest, (rest * rest).sum()
    while size > 1e-3 and turns < 6:
        product = matrix @ along
        far, step = size / (along * product).sum(), 1.0
        while value(at + step * far * along) > value(at) and step > 0.01:
            step = step * 0.5
        at = at + step * far * along
        rest = right - matrix @ at
        now = (rest * rest).sum()
        along, size, turns = rest + now / size * along, now, turns + 1
    return at


_Mixed = collections.namedtuple("_Mixed", "out balance load")
_EXPERTS, _ROUTER = nn.LayerList([_linear(4, 4, 0.1 * k) for k in range(1, 4)]), _linear(4, 3)


@supported
def mixture_of_experts(x):
    """A mixture of experts: rows go to two of three, experts without rows do nothing, a named tuple comes back"""
    weights = F.softmax(_ROUTER(x))
    top, chosen = paddle.topk(weights, 2)
    top = top / top.sum(-1, keepdim=True)
    out, load = paddle.zeros_like(x), []
    for number, expert in enumerate(_EXPERTS):
        hit = chosen == number
        rows = hit.any(-1).nonzero().flatten()
        load.append(hit.astype("float32").sum())
        if rows.shape[0] > 0:
            part = (top * hit.astype("float32")).sum(-1, keepdim=True)
            out = paddle.scatter(out, rows, paddle.gather(out, rows) + expert(x[rows]) * part[rows])
    return _Mixed(out, (weights.mean(0) * paddle.stack(load)).sum(), paddle.stack(load))


_NOISE, _KEPT = _linear(5, 4), [0.9, 0.6, 0.3, 0.1]


@supported
def denoising(x):
    """A sampler of a diffusion model with guidance, which stops with an error where numbers are lost"""

    def noise(at, t):
        return _NOISE(paddle.concat([at, paddle.full_like(at[:, :1], t / len(_KEPT))], 1))

    at = x
    for t in reversed(range(len(_KEPT))):
        found = noise(at, t)
        if at.mean() > 0:
            found = 1.5 * noise(at + 0.1, t) - 0.5 * found
        kept, before = _KEPT[t], _KEPT[t - 1] if t > 0 else 1.0
        clean = ((at - (1 - kept) ** 0.5 * found) / kept**0.5).clip(-1, 1)
        at = before**0.5 * clean + (1 - before) ** 0.5 * found
        if not paddle.isfinite(at).all():
            raise ValueError("the numbers are lost")
    return at


@supported
def accepted_draft(x):
    """Speculative decoding: a draft is accepted up to the first token that the model would not give"""
    draft, wanted = (x[:, :2].argmax(-1), x.argmax(-1))
    n = 0
    for mine, theirs in zip(draft, wanted):
        if mine != theirs:
            last = theirs
            break
        n = n + 1
    else:
        last = wanted[-1]
    return paddle.concat([draft[:n], last.reshape([1])]), x.sum() * n


_WORDS, _NEXT = nn.Embedding(7, 4), _linear(4, 7)
_WORDS.weight.set_value(paddle.sin(paddle.arange(28, dtype="float32").reshape([7, 4])))


@supported
def generated_words(x):
    """Generation that keeps the words of each step in a list behind the prompt, and joins them along their second dim"""
    words = (x > 0).astype("int64")[:, :3]
    out, last, n = [words], words[:, -1:], 0
    state = x.mean()
    while n < 5:
        state = paddle.tanh(_WORDS(last).mean() + state)
        last = _NEXT(_WORDS(last) + state).argmax(-1)
        out.append(last)
        n += 1
        if (last == last[0]).all():
            break
    return paddle.concat(out, 1), state, x.mean() * len(out)


@supported
def chunks_of_a_stream(x):
    """Chunks of other lengths, of which those that are silent are left out"""
    out, total, stream = [], x.mean(), x.sum(0, keepdim=True)
    for begin in range(0, 4, 3):
        chunk = stream[:, begin : begin + 3]
        if chunk.abs().mean() < 0.05:
            continue
        out.append(chunk * 2)
    for chunk in out:
        total = total + chunk.max()
    return (paddle.concat(out, 1) if out else stream[:, :0]), total


@supported
def list_of_tuples(x):
    """A list of tuples that a loop appends to: gone through, numbered, taken from both ends, `if pairs`"""
    pairs = []
    for i, row in enumerate(x):
        if row.sum() > 0:
            pairs.append((row, i, row.max()))
    total = x.sum()
    for row, i, most in pairs:
        total = total + (row * most).sum() * i
    if pairs:
        _, i, most = pairs[-1]
        first = pairs.pop(0)
        total = total + i * most + first[2]
    for k, (row, i, _) in enumerate(pairs):
        total = total + k * row[0] * i
    return total * len(pairs)


@supported
def stack_of_tuples(x):
    """A stack of tuples that a loop takes from and puts two on: a tree that is gone through without recursion"""
    waiting, total = [(x, 0)], paddle.zeros([])
    while waiting:
        part, depth = waiting.pop()
        total = total + part.sum()
        if part.abs().max() > 0.5 and depth < 3:
            waiting.append((part / 2, depth + 1))
            waiting.append((part * 0.25, depth + 1))
    return total


@supported
def rows_of_classes(x):
    """Rows of classes, as many as each has: gone through, numbered, from the end, by `zip`"""
    rows, counts = [], []
    for c in range(3):
        mine = paddle.nonzero(x[:, c] > 0).flatten()
        if mine.shape[0] == 0:
            continue
        rows.append(x[mine])
        counts.append(mine.shape[0])
    total = x.sum()
    for k, part in enumerate(rows):
        total = total + k * part.max()
    for part, count in zip(rows, counts):
        total = total + part.sum() / count
    for part in reversed(rows):
        total = total * 0.5 + part[0, 0]
    return total


@supported
def hypotheses_as_tuples(x):
    """A beam search over a list of tuples, which a list of another number of hypotheses replaces in each step"""
    beams = [(paddle.zeros([1], "int64"), x.sum() * 0)]
    for step in range(3):
        longer = []
        for words, score in beams:
            best, which = paddle.topk(x[step % 3], 2)
            for j in range(2):
                if best[j] > -0.4:
                    longer.append((paddle.concat([words, which[j].reshape([1])]), score + best[j]))
        if not longer:
            break
        beams = longer
    words, score = beams[0]
    return score, words, x.mean() * len(beams)


@supported
def list_replaced_in_one_way(x):
    """A list that one way alone replaces by one that a loop made"""
    rows, found = [x[0] * 2], []
    for row in x:
        if row.sum() > 0:
            found.append(row)
    if found:
        rows = found
    return paddle.stack(rows).sum(0) * len(rows)


@supported
def greedy_matches(x):
    """A greedy matching of rows to columns, and comprehensions over the pairs that it found"""
    cost, pairs = F.sigmoid(x), []
    used = paddle.zeros([4], "bool")
    for i in range(3):
        row = paddle.where(used, paddle.full_like(cost[i], 9.0), cost[i])
        j = row.argmin()
        if row[j] < 0.45:
            used = used | (paddle.arange(4) == j)
            pairs.append((i, j, row[j]))
    total = sum([price * (i + 1) for i, _, price in pairs], x.sum() * 0)
    columns = [j for _, j, price in pairs if price > 0.2]
    return total, paddle.stack(columns).sum() if columns else used.astype("int64").sum() * 0
