"""Recurrent layers and transformers against NumPy."""

import numpy as np
import pytest
from scipy.special import expit, softmax

import proa
from proa import nn

random = np.random.default_rng(23)


def array(*shape):
    return random.normal(size=shape).astype("float32")


def close(actual, expected, tolerance=1e-4):
    np.testing.assert_allclose(actual.numpy(), expected, rtol=tolerance, atol=tolerance)


def step(kind, cell, x, state):
    wi, wh, bi, bh = (getattr(cell, n).numpy() for n in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
    a, b = x @ wi.T + bi, (state[0] if kind == "LSTM" else state) @ wh.T
    b = b + bh
    if kind == "SimpleRNN":
        return (np.tanh(a + b),) * 2
    size = wh.shape[1]
    if kind == "LSTM":
        i, f, g, o = np.split(a + b, 4, -1)
        c = expit(f) * state[1] + expit(i) * np.tanh(g)
        h = expit(o) * np.tanh(c)
        return h, (h, c)
    r, z = expit(a[:, :size] + b[:, :size]), expit(a[:, size : 2 * size] + b[:, size : 2 * size])
    n = np.tanh(a[:, 2 * size :] + r * b[:, 2 * size :])
    h = z * state + (1 - z) * n
    return h, h


def loop(kind, cell, x, state, reverse, lengths):
    out = np.zeros((x.shape[0], x.shape[1], cell.hidden_size))
    for t in reversed(range(x.shape[1])) if reverse else range(x.shape[1]):
        h, new = step(kind, cell, x[:, t], state)
        on = (t < lengths)[:, None]
        out[:, t] = np.where(on, h, 0)
        if kind == "LSTM":
            state = tuple(np.where(on, a, b) for a, b in zip(new, state))
        else:
            state = np.where(on, new, state)
    return out, state


@pytest.mark.parametrize("kind", ["SimpleRNN", "LSTM", "GRU"])
@pytest.mark.parametrize("direction", ["forward", "bidirect"])
@pytest.mark.parametrize("time_major", [False, True])
def test_recurrent(kind, direction, time_major):
    x, lengths = array(3, 5, 4), np.array([5, 2, 4])
    both = direction == "bidirect"
    net = getattr(nn, kind)(4, 6, num_layers=2, direction=direction, time_major=time_major)
    starts = array(4 if both else 2, 3, 6)
    cells_start = array(*starts.shape)
    given = (proa.to_tensor(starts), proa.to_tensor(cells_start)) if kind == "LSTM" else proa.to_tensor(starts)
    out, end = net(
        proa.to_tensor(np.ascontiguousarray(x.swapaxes(0, 1)) if time_major else x), given, proa.to_tensor(lengths)
    )
    expected, ends = x, []
    for i, layer in enumerate(net):
        parts = []
        for d, cell in enumerate([layer.cell_fw, layer.cell_bw] if both else [layer.cell]):
            n = i * (2 if both else 1) + d
            state = (starts[n], cells_start[n]) if kind == "LSTM" else starts[n]
            part, state = loop(kind, cell, expected, state, d == 1, lengths)
            parts.append(part)
            ends.append(state)
        expected = np.concatenate(parts, -1)
    close(out, expected.swapaxes(0, 1) if time_major else expected)
    if kind == "LSTM":
        close(end[0], np.stack([h for h, _ in ends]))
        close(end[1], np.stack([c for _, c in ends]))
    else:
        close(end, np.stack(ends))


def test_states_start_as_zeros():
    net = nn.LSTM(4, 6)
    x = proa.to_tensor(array(3, 5, 4))
    zeros = proa.zeros([1, 3, 6])
    close(net(x)[0], net(x, (zeros, zeros))[0].numpy())
    cell = nn.GRUCell(4, 6)
    close(cell(x[:, 0])[0], cell(x[:, 0], proa.zeros([3, 6]))[0].numpy())


def test_own_cell():
    class Sum(nn.RNNCellBase):
        @property
        def state_shape(self):
            return (4,)

        def forward(self, inputs, states):
            total = inputs + states
            return total, total

    x = array(2, 5, 4)
    out, state = nn.RNN(Sum())(proa.to_tensor(x))
    close(out, np.cumsum(x, 1))
    out, _ = nn.RNN(Sum(), is_reverse=True)(proa.to_tensor(x))
    close(out, np.cumsum(x[:, ::-1], 1)[:, ::-1])


def test_recurrent_gradients_reach_everything():
    net = nn.LSTM(4, 6, 2, "bidirect", dropout=0.2)
    net(proa.to_tensor(array(3, 5, 4)))[0].sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum().item() > 0 for p in net.parameters())


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.LSTM(4, 0),
        lambda: nn.LSTM(4, 5, direction="backward"),
        lambda: nn.GRU(4, 5, num_layers=0),
        lambda: nn.GRU(4, 5, dropout=1.5),
        lambda: nn.SimpleRNN(4, 5, activation="sine"),
        lambda: nn.GRU(4, 5)(proa.ones([2, 3, 4]), proa.ones([2, 2, 5])),
    ],
)
def test_recurrent_errors(make):
    with pytest.raises(ValueError):
        make()


def attention(layer, q, k, v, mask):
    def project(x, name):
        p = getattr(layer, name)
        return x @ p.weight.numpy() + p.bias.numpy()

    def heads(x):
        return x.reshape(*x.shape[:2], layer.num_heads, -1).swapaxes(1, 2)

    q, k, v = heads(project(q, "q_proj")), heads(project(k, "k_proj")), heads(project(v, "v_proj"))
    weights = softmax(q @ k.swapaxes(2, 3) / np.sqrt(layer.head_dim) + mask, -1)
    out = (weights @ v).swapaxes(1, 2)
    return project(out.reshape(*out.shape[:2], -1), "out_proj"), weights


def test_attention():
    layer = nn.MultiHeadAttention(8, 2, kdim=6, vdim=5, need_weights=True)
    q, k, v = array(2, 3, 8), array(2, 4, 6), array(2, 4, 5)
    seen = random.random((2, 1, 3, 4)) > 0.3
    seen[..., 0] = True
    additive = np.where(seen, 0.0, -1e9).astype("float32")
    expected, weights = attention(layer, q, k, v, additive)
    for mask in (seen, seen.astype("int32"), additive):
        out, w = layer(*map(proa.to_tensor, (q, k, v)), attn_mask=proa.to_tensor(mask))
        close(out, expected)
        close(w, weights)
    with pytest.raises(ValueError, match="divisible"):
        nn.MultiHeadAttention(8, 3)


@pytest.mark.parametrize("before", [False, True])
def test_encoder_layer(before):
    layer = nn.TransformerEncoderLayer(8, 2, 16, normalize_before=before)
    layer.eval()
    x = array(2, 3, 8)

    def norm(v):
        return (v - v.mean(-1, keepdims=True)) / np.sqrt(v.var(-1, keepdims=True) + 1e-5)

    def feed(v):
        w1, w2 = layer.linear1, layer.linear2
        hidden = np.maximum(v @ w1.weight.numpy() + w1.bias.numpy(), 0)
        return hidden @ w2.weight.numpy() + w2.bias.numpy()

    def attend(v):
        return attention(layer.self_attn, v, v, v, 0.0)[0]

    if before:
        expected = x + attend(norm(x))
        expected = expected + feed(norm(expected))
    else:
        expected = norm(x + attend(x))
        expected = norm(expected + feed(expected))
    close(layer(proa.to_tensor(x)), expected)


def test_stacks_have_layers_of_their_own():
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 3)
    assert len({id(p) for p in encoder.parameters()}) == len(encoder.parameters()) == 3 * 16
    names = [p.name for p in encoder.parameters()]
    assert len(set(names)) == len(names)


def test_stacks_without_layers():
    """As in the reference, where a Transformer may have an encoder or a decoder only."""
    x, memory = proa.to_tensor(array(2, 3, 4)), proa.to_tensor(array(2, 5, 4))
    assert nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 0)(x).equal_all(x)
    assert nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8), 0)(x, memory).equal_all(x)
    for encoders, decoders in ((0, 1), (1, 0), (0, 0)):
        net = nn.Transformer(4, 2, encoders, decoders, 8, dropout=0.0)
        assert len(net.encoder.layers) == encoders and len(net.decoder.layers) == decoders
        assert net(memory, x).shape == [2, 3, 4]
    with pytest.raises(ValueError, match="num_decoder_layers must be 0 or more, not -1"):
        nn.Transformer(4, 2, 1, -1)


def test_decoding_step_by_step():
    net = nn.Transformer(8, 2, 2, 2, 16)
    net.eval()
    memory = net.encoder(proa.to_tensor(array(2, 4, 8)))
    target = proa.to_tensor(array(2, 5, 8))
    whole = net.decoder(target, memory, net.generate_square_subsequent_mask(5))
    cache, parts = net.decoder.gen_cache(memory), []
    for t in range(5):
        part, cache = net.decoder(target[:, t : t + 1], memory, cache=cache)
        parts.append(part)
    close(proa.concat(parts, 1), whole.numpy())
    encoder, cache, parts = net.encoder, net.encoder.gen_cache(target), []
    for t in range(5):
        part, cache = encoder(target[:, t : t + 1], cache=cache)
        parts.append(part)
    close(proa.concat(parts, 1), encoder(target, net.generate_square_subsequent_mask(5)).numpy())


def test_transformer_trains():
    proa.seed(1)
    net = nn.Transformer(8, 2, 1, 1, 16, weight_attr=nn.initializer.XavierUniform())
    opt = proa.optimizer.Adam(0.01, parameters=net.parameters())
    src, tgt = proa.to_tensor(array(4, 3, 8)), proa.to_tensor(array(4, 2, 8))
    losses = []
    for _ in range(30):
        loss = nn.functional.mse_loss(net(src, tgt), tgt * 0.5)
        loss.backward()
        opt.step()
        opt.clear_grad()
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0]


@pytest.mark.parametrize("kind", ["none", "growing", "static"])
def test_a_subclass_that_computes_attention_itself(kind):
    """As programs for the reference do, from `_prepare_qkv`."""

    class Own(nn.MultiHeadAttention):
        def forward(self, query, key=None, value=None, attn_mask=None, cache=None):
            q, k, v, *cache = self._prepare_qkv(query, query, query, cache)
            weights = nn.functional.softmax(proa.matmul(q * self.head_dim**-0.5, k, transpose_y=True))
            out = proa.matmul(weights, v).transpose([0, 2, 1, 3])
            out = self.out_proj(out.reshape([out.shape[0], out.shape[1], self.embed_dim]))
            return (out, *cache) if cache else out

    own, plain = Own(8, 2), nn.MultiHeadAttention(8, 2)
    own.set_state_dict(plain.state_dict())
    x, memory = proa.randn([2, 3, 8]), proa.randn([2, 5, 8])
    caches = {
        "none": lambda layer: None,
        "growing": lambda layer: layer.gen_cache(*layer.compute_kv(memory, memory)),
        "static": lambda layer: layer.gen_cache(memory, type=layer.StaticCache),
    }
    got, want = (layer(x, x, x, cache=caches[kind](layer)) for layer in (own, plain))
    if kind != "none":
        (got, after), (want, wanted) = got, want
        for one, other in zip(after, wanted):
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-5, atol=1e-6)
