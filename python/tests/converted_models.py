"""Parts of models whose control flow depends on tensors: recurrent nets, decoding, detection, training steps."""

import math

import proa as paddle
from proa import nn
from python.tests.converted_registry import supported

F = nn.functional


def _linear(rows, columns, scale=0.1):
    """A layer with weights that are all different."""
    layer = nn.Linear(rows, columns)
    values = paddle.arange(rows * columns, dtype="float32").reshape([rows, columns])
    layer.weight.set_value(paddle.sin(values) * scale * 5)
    layer.bias.set_value(paddle.cos(paddle.arange(columns, dtype="float32")) * scale)
    return layer


class _Cell(nn.Layer):
    def __init__(self):
        super().__init__()
        self.of_input, self.of_state = _linear(4, 4), _linear(4, 4)

    def forward(self, x, h):
        return paddle.tanh(self.of_input(x) + self.of_state(h))


_CELL = _Cell()


@supported
def dynamic_rnn(x):
    """A dynamic RNN over the rows of a tensor"""
    h = paddle.zeros([1, 4])
    states = []
    for t in range(x.shape[0]):
        h = _CELL(x[t : t + 1], h)
        states.append(h)
    return paddle.concat(states, axis=0), h


@supported
def masked_rnn(x):
    """An RNN over as many steps as a length says"""
    length = (x[:, 0] > 0).astype("int64").sum()
    h, t = paddle.zeros([1, 4]), paddle.to_tensor(0)
    while t < length:
        h = _CELL(x[t].unsqueeze(0), h)
        t += 1
    return h


@supported
def bidirectional_rnn(x):
    """An RNN in both directions"""
    forward, backward = paddle.zeros([1, 4]), paddle.zeros([1, 4])
    for t in range(len(x)):
        forward = _CELL(x[t : t + 1], forward)
    for t in reversed(range(len(x))):
        backward = _CELL(x[t : t + 1], backward)
    return paddle.concat([forward, backward], axis=-1)


@supported
def lstm_by_hand(x):
    """An LSTM with a state of a tuple"""
    state = paddle.zeros([4]), paddle.zeros([4])
    for row in x:
        h, c = state
        gates = _CELL.of_input(row) + _CELL.of_state(h)
        c = F.sigmoid(gates) * c + F.sigmoid(gates * 2) * paddle.tanh(gates)
        state = F.sigmoid(gates * 3) * paddle.tanh(c), c
    return state


@supported
def adaptive_computation(x):
    """Steps until a halting probability is reached (adaptive computation time)"""
    halted, h, steps = paddle.zeros([]), x[:1], 0
    while halted < 0.99 and steps < 8:
        h = _CELL(x[:1], h)
        halted = halted + F.sigmoid(h.mean()) * 0.3
        steps += 1
    return h * steps


@supported
def greedy_decoding(x):
    """Greedy decoding until the end token"""
    token, tokens, h = paddle.zeros([1], "int64"), [], x[:1]
    for _ in range(12):
        h = _CELL(F.one_hot(token, 4), h)
        token = h.argmax(axis=-1)
        tokens.append(token)
        if (token == 3).all():
            break
    return paddle.concat(tokens), h


@supported
def sampled_or_greedy(x):
    """Teacher forcing chosen by the data"""
    h, out = x[:1], []
    token = paddle.zeros([1], "int64")
    for t in range(3):
        if x[t].sum() > 0:
            token = x[t : t + 1].argmax(axis=-1)
        h = _CELL(F.one_hot(token, 4), h)
        token = h.argmax(axis=-1)
        out.append(h)
    return paddle.stack(out, axis=1)


@supported
def beam_search(x):
    """Seq2seq decoding with beam search, ended when all beams are"""
    beams, vocabulary, end = 2, 4, 3
    h = paddle.concat([x[:1], x[1:2]], axis=0)
    scores = paddle.to_tensor([0.0, -1.0])
    tokens = paddle.zeros([beams, 1], "int64")
    finished = paddle.zeros([beams], "bool")
    step = paddle.to_tensor(0)
    while step < 6 and not finished.all():
        h = _CELL(F.one_hot(tokens[:, -1], vocabulary), h)
        steps = F.log_softmax(h * 3, axis=-1)
        stay = paddle.to_tensor([[-1e4, -1e4, -1e4, 0.0]])
        steps = paddle.where(finished.unsqueeze(-1), stay, steps)
        total = (scores.unsqueeze(-1) + steps).flatten()
        scores, index = paddle.topk(total, beams)
        parent, token = index // vocabulary, index % vocabulary
        tokens = paddle.concat([tokens.index_select(parent), token.unsqueeze(-1)], axis=-1)
        h = h.index_select(parent)
        finished = paddle.logical_or(finished.astype("int64").index_select(parent).astype("bool"), token == end)
        step = step + 1
    return tokens, scores, h


@supported
def attention_over_history(x):
    """Attention over a history that grows"""
    history, h = x[:1], x[1:2]
    while history.shape[0] < 4 if isinstance(history.shape[0], int) else paddle.shape(history)[0] < 4:
        weights = F.softmax(h @ history.t() / math.sqrt(4.0), axis=-1)
        h = _CELL(weights @ history, h)
        history = paddle.concat([history, h], axis=0)
    return history.sum(0), h


class _Attention(nn.Layer):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.out = (_linear(4, 4) for _ in range(4))
        self.norm = nn.LayerNorm(4)

    def forward(self, x, mask=None, cache=None):
        q, k, v = self.q(x), self.k(x), self.v(x)
        if cache is not None:
            k, v = paddle.concat([cache[0], k]), paddle.concat([cache[1], v])
        scores = q @ k.t() / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores + mask
        return self.norm(x + self.out(F.softmax(scores, axis=-1) @ v)), (k, v)


class _Bert(nn.Layer):
    def __init__(self, depth=2):
        super().__init__()
        self.blocks = nn.LayerList([_Attention() for _ in range(depth)])
        self.wide, self.narrow, self.pooler = _linear(4, 8), _linear(8, 4), _linear(4, 4)

    def forward(self, x, mask=None, pooled=True):
        if mask is None:
            mask = (x[:, 0] < -1).astype("float32") * -1e4
        for block in self.blocks:
            x, _ = block(x, mask)
            if x.abs().max() > 3:
                x = x * 0.5
            x = x + self.narrow(F.gelu(self.wide(x)))
        if not pooled:
            return x
        return x, paddle.tanh(self.pooler(x[0]))


_BERT = _Bert()


class _Translator(nn.Layer):
    """An encoder, a decoder with caches, and words: the numbers 0 to 3, of which 3 ends a sentence."""

    def __init__(self):
        super().__init__()
        self.net = nn.Transformer(4, 2, 1, 1, 8, dropout=0.0)
        for i, p in enumerate(self.net.parameters()):
            if len(p.shape) == 2:
                values = paddle.arange(p.shape[0] * p.shape[1], dtype="float32").reshape(p.shape)
                p.set_value(paddle.sin(values + i) * 0.6)
        self.words = _linear(4, 4, 0.3)

    def forward(self, source, beams=2, most=5, end=3):
        memory = self.net.encoder(source.unsqueeze(0))
        memory = memory.expand([beams, memory.shape[1], memory.shape[2]])
        caches = self.net.decoder.gen_cache(memory)
        scores = paddle.to_tensor([0.0, -1e4])
        tokens = paddle.zeros([beams, 1], "int64")
        finished = paddle.zeros([beams], "bool")
        step = paddle.to_tensor(0)
        while step < most:
            hidden, caches = self.net.decoder(F.one_hot(tokens[:, -1:], 4), memory, None, None, caches)
            log_probs = F.log_softmax(self.words(hidden[:, -1]) * 2, axis=-1)
            log_probs = paddle.where(finished.unsqueeze(-1), paddle.to_tensor([[-1e4, -1e4, -1e4, 0.0]]), log_probs)
            scores, index = paddle.topk((scores.unsqueeze(-1) + log_probs).flatten(), beams)
            parent, token = index // 4, index % 4
            tokens = paddle.concat([tokens.index_select(parent), token.unsqueeze(-1)], axis=-1)
            caches = [
                (type(own)(own.k.index_select(parent), own.v.index_select(parent)), other) for own, other in caches
            ]
            finished = paddle.logical_or(finished.astype("int64").index_select(parent).astype("bool"), token == end)
            step = step + 1
            if finished.all():
                break
        return tokens, scores


_TRANSLATOR = _Translator()


@supported
def transformer_with_beam_search(x):
    """A Transformer whose decoder has caches, and a beam search that ends when all beams do"""
    return _TRANSLATOR(x)


@supported
def bert(x):
    """Blocks of BERT with an optional mask"""
    return _BERT(paddle.where(x > -1, x, x * 0.5), mask=x[:, 0] * 0)


@supported
def bert_with_cache(x):
    """Attention with a cache, step by step"""
    cache, out = None, []
    for t in range(3):
        y, cache = _BERT.blocks[0](x[t : t + 1], cache=cache)
        if y.sum() > 0:
            y = y * 2
        out.append(y)
    return paddle.concat(out, axis=0)


@supported
def early_exit(x):
    """Layers that are left out when the result is sure enough"""
    y = x
    for block in _BERT.blocks:
        y, _ = block(y)
        if F.softmax(y, axis=-1).max() > 0.6:
            break
    return y


@supported
def mixture_of_experts(x):
    """A mixture of experts chosen by the data"""
    gate = (x.sum(0)[:3]).argmax()
    if gate == 0:
        y = _CELL.of_input(x)
    elif gate == 1:
        y = _CELL.of_state(x)
    else:
        y = x * 0.5
    return y + x


def _corners(x):
    low = paddle.minimum(x[:, :2], x[:, 2:])
    return paddle.concat([low, low + (x[:, :2] - x[:, 2:]).abs() + 0.1], axis=-1)


def _overlaps(box, boxes):
    low, high = paddle.maximum(box[:2], boxes[:, :2]), paddle.minimum(box[2:], boxes[:, 2:])
    inner = F.relu(high - low).prod(-1)
    area = lambda b: (b[..., 2:] - b[..., :2]).prod(-1)
    return inner / (area(box) + area(boxes) - inner)


@supported
def suppression_of_boxes(x):
    """Suppression of boxes that overlap, the best first (NMS)"""
    boxes, scores = _corners(x), F.sigmoid(x[:, 0])
    kept, count = paddle.zeros_like(scores), paddle.to_tensor(0)
    left = scores
    while left.max() > 0.2:
        best = left.argmax()
        kept = kept + F.one_hot(best, scores.shape[0])
        left = paddle.where(_overlaps(boxes[best], boxes) > 0.3, left * 0, left)
        count = count + 1
    return kept * scores, count


@supported
def soft_suppression(x):
    """Soft suppression: scores that decay"""
    boxes, scores = _corners(x), F.sigmoid(x[:, 1])
    out = scores * 0
    for _ in range(3):
        best = scores.argmax()
        if scores.max() < 0.3:
            break
        out = out + F.one_hot(best, scores.shape[0]) * scores
        scores = scores * paddle.exp(-_overlaps(boxes[best], boxes)) * (1 - F.one_hot(best, scores.shape[0]))
    return out


@supported
def yolo_decoding(x):
    """YOLO decoding of several levels, with a threshold"""
    out = []
    for level, stride in enumerate([8.0, 16.0]):
        grid = paddle.arange(x.shape[0], dtype="float32").unsqueeze(-1)
        centers = (F.sigmoid(x[:, :2]) + grid) * stride
        sizes = paddle.exp(x[:, 2:].clip(max=2.0)) * (level + 1)
        boxes = paddle.concat([centers - sizes / 2, centers + sizes / 2], axis=-1)
        if boxes.max() > 40:
            boxes = boxes.clip(0.0, 40.0)
        out.append(boxes)
    return paddle.concat(out)


@supported
def filtered_detections(x):
    """Detections above a threshold, or none"""
    scores = F.sigmoid(x).max(axis=-1)
    keep = scores > 0.7
    if keep.astype("int64").sum() == 0:
        return x * 0, scores
    return x * keep.astype("float32").unsqueeze(-1), scores


@supported
def detections_of_classes(x):
    """Boxes that stay of each class, as many as there are, put together: a list of tensors of different sizes"""
    found = []
    for label in range(4):
        scores = F.sigmoid(x[:, label])
        keep = paddle.nonzero(scores > 0.6).flatten()
        if keep.shape[0] == 0:
            continue
        best = paddle.argsort(paddle.gather(scores, keep), descending=True)[:2]
        keep = paddle.gather(keep, best)
        labels = paddle.full([keep.shape[0], 1], float(label))
        found.append(paddle.concat([labels, paddle.gather(x, keep)], axis=1))
    if len(found) == 0:
        return paddle.full([1, 5], -1.0)
    return paddle.concat(found, axis=0)


@supported
def rows_of_different_sizes(x):
    """The same in a loop of tensors: appended, read, taken off, counted"""
    parts, k = [], paddle.to_tensor(0)
    while k < 3:
        parts.append(paddle.gather(x, paddle.nonzero(x[:, 0] > k.astype("float32") - 1.0).flatten()))
        k = k + 1
    last = parts.pop()
    return paddle.concat(parts, 0), last.sum(), parts[0], len(parts)


@supported
def anchor_targets(x):
    """Targets of anchors, row by row"""
    anchors = paddle.to_tensor([[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 2.0, 1.0]])
    total, positives = paddle.zeros([]), 0
    for row in _corners(x):
        overlap = _overlaps(row, anchors)
        if overlap.max() > 0.3:
            positives += 1
            total = total + (row - anchors[overlap.argmax()]).abs().sum()
    return total / (positives + 1)


@supported
def ctc_greedy(x):
    """A collapsed sequence of the best labels"""
    last, length = paddle.to_tensor(-1), paddle.to_tensor(0)
    for label in x.argmax(axis=-1):
        if label != last and label != 0:
            length = length + 1
        last = label
    return length, last


@supported
def viterbi(x):
    """Viterbi decoding"""
    scores, path = x[0], []
    moves = paddle.sin(paddle.arange(16, dtype="float32")).reshape([4, 4])
    for row in x:
        total = scores.unsqueeze(-1) + moves
        path.append(total.argmax(axis=0))
        scores = total.max(axis=0) + row
    return scores, paddle.stack(path)


@supported
def newton_iteration(x):
    """Newton's iteration until it converges"""
    target = x.abs().sum() + 1
    root, step = target * 0.5, 0
    while (root * root - target).abs() > 1e-2 and step < 30:
        root = 0.5 * (root + target / root)
        step += 1
    return root * x


@supported
def power_iteration(x):
    """Power iteration (spectral norm)"""
    u = paddle.ones([1, 4]) * 0.5
    matrix = x.t() @ x
    for k in range(20):
        v = F.normalize(u @ matrix, axis=-1)
        if k > 1 and (v - u).abs().max() < 1e-2:
            break
        u = v
    return (u @ matrix @ u.t()).sqrt()


@supported
def line_search(x):
    """A line search that halves its step"""
    step, loss = 4.0, (x * x).sum()
    gradient = 2 * x
    while ((x - step * gradient) ** 2).sum() > 0.9 * loss:
        step = step * 0.5
    return x - step * gradient


@supported
def conditional_loss(x):
    """A loss by parts: Huber, clipped, with a penalty"""
    loss = paddle.where(x.abs() < 1, 0.5 * x * x, x.abs() - 0.5).mean()
    if loss > 1:
        loss = paddle.log(loss) + 1
    penalty = x.abs().max()
    return loss + penalty if penalty > 2.5 else loss


@supported
def gradient_clipping(x):
    """Clipping by the norm of all"""
    parts = [x, x * 2, x[:2]]
    norm = sum((p * p).sum() for p in parts) ** 0.5
    if norm > 3:
        parts = [p * (3 / norm) for p in parts]
    return parts


@supported
def padded_batches(x):
    """Padding to a length of the data"""
    length = (x > 0).astype("int64").sum(axis=-1)
    out = []
    for k in range(3):
        row = x[k]
        if length[k] < 2:
            row = paddle.concat([row[:2], paddle.zeros([2])])
        out.append(row)
    return paddle.stack(out)


@supported
def binary_search(x):
    """A binary search in a sorted tensor"""
    values = x[0].sort()
    low, high = paddle.to_tensor(0), paddle.to_tensor(4)
    while low < high:
        middle = (low + high) // 2
        if values[middle] < 0.1:
            low = middle + 1
        else:
            high = middle
    return low, values * low.astype("float32")


@supported
def collatz(x):
    """A loop of integers"""
    n, steps = x.abs().sum().astype("int64") % 20 + 1, 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps + x * 0, n


@supported
def fibonacci_until(x):
    """Pairs that advance until a bound"""
    a, b = paddle.to_tensor(0.0), paddle.to_tensor(1.0)
    while b < x.abs().sum() * 5:
        a, b = b, a + b
    return x * a / b


@supported
def dropout_schedule(x):
    """A layer in training chosen by the data, without randomness"""
    layer = nn.Dropout(0.0)
    if x.sum() > 0 and layer.training:
        return layer(x) * 2
    return layer(x)
