"""Predictors of decoders with a cache: attention reads the cache and what is behind it where they lie."""

import numpy as np
import pytest

import proa
from proa import nn
from python.tests.saved_predictors import predictor_of, random, randomize

_HEADS, _SIZE = 3, 8
_WIDTH = _HEADS * _SIZE


class _Decoder(nn.Layer):
    """A layer of a decoder; gives the joined cache as well where `grows`."""

    def __init__(self, grows=False, heads_first=False, masked=False):
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(_WIDTH, _WIDTH) for _ in range(4))
        self.grows, self.heads_first, self.masked = grows, heads_first, masked

    def forward(self, x, keys, values, mask):
        q, k, v = (f(x).reshape([0, 0, _HEADS, _SIZE]) for f in (self.query, self.key, self.value))
        if self.heads_first:
            k, v = k.transpose([0, 2, 1, 3]), v.transpose([0, 2, 1, 3])
        k, v = (
            proa.concat([keys, k], 2 if self.heads_first else 1),
            proa.concat([values, v], 2 if self.heads_first else 1),
        )
        grown = (k, v)
        if self.heads_first:
            k, v = k.transpose([0, 2, 1, 3]), v.transpose([0, 2, 1, 3])
        y = nn.functional.scaled_dot_product_attention(q, k, v, mask if self.masked else None)
        y = self.out(y.reshape([0, 0, _WIDTH]))
        return (y, *grown) if self.grows else y


def _given(net, batch, words, past):
    cache = [batch, _HEADS, past, _SIZE] if net.heads_first else [batch, past, _HEADS, _SIZE]
    mask = random([batch, 1, words, past + words], 4)
    return [random([batch, words, _WIDTH], 1), random(cache, 2), random(cache, 3), mask]


def _predictor(net, folder, change=lambda config: None):
    cache = [None, _HEADS, None, _SIZE] if net.heads_first else [None, None, _HEADS, _SIZE]
    shapes = {"x": [None, None, _WIDTH], "keys": cache, "values": cache, "mask": [None, 1, None, None]}
    specs = [proa.static.InputSpec(shape, "float32", name) for name, shape in shapes.items()]
    return predictor_of(net, specs, folder, change)


def _run(predictor, net, given):
    return predictor.run(
        [x for x, name in zip(given, ("x", "keys", "values", "mask")) if name in predictor.get_input_names()]
    )


@pytest.mark.parametrize("heads_first", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_the_cache_is_read_where_it_lies(heads_first, masked, tmp_path):
    net = _Decoder(heads_first=heads_first, masked=masked)
    randomize(net)
    net.eval()
    predictor = _predictor(net, tmp_path)
    plan = predictor._engine.plan
    assert plan.count(" attention_cached(") == 1 and " concat(" not in plan, plan
    for batch, words, past in [
        (1, 1, 1),
        (1, 1, 128),
        (2, 1, 33),
        (3, 2, 16),
        (2, 4, 17),
        (2, 9, 40),
        (1, 1, 0),
        (2, 3, 0),
    ]:
        given = _given(net, batch, words, past)
        want = net(*map(proa.to_tensor, given)).numpy()
        np.testing.assert_allclose(_run(predictor, net, given)[0].numpy(), want, rtol=1e-4, atol=2e-5)


def test_threads_change_no_bit(tmp_path):
    net = _Decoder()
    randomize(net)
    net.eval()
    given = _given(net, 3, 2, 300)
    results = []
    for threads in (1, 2, 5):
        predictor = _predictor(net, tmp_path, lambda config: config.set_cpu_math_library_num_threads(threads))
        results.append(_run(predictor, net, given)[0].numpy())
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)


def test_a_cache_that_grows_is_joined_once(tmp_path):
    net = _Decoder(grows=True)
    randomize(net)
    net.eval()
    predictor = _predictor(net, tmp_path)
    plan = predictor._engine.plan
    assert " attention_cached(" not in plan and plan.count(" concat(") == 2, plan
    given = _given(net, 2, 1, 5)
    want = net(*map(proa.to_tensor, given))
    for got, expected in zip(_run(predictor, net, given), want):
        np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=1e-4, atol=2e-5)


def test_bfloat16(tmp_path):
    net = _Decoder()
    randomize(net)
    net.eval()
    predictor = _predictor(net, tmp_path, lambda config: config.enable_mkldnn_bfloat16())
    plan = predictor._engine.plan
    assert plan.count("= cast(%0, ") == 1, plan  # the rows, for queries, keys and values
    given = _given(net, 2, 1, 30)
    want = net(*map(proa.to_tensor, given)).numpy()
    got = _run(predictor, net, given)[0].numpy().astype("float32")
    np.testing.assert_allclose(got, want, atol=0.05 * abs(want).max())


@pytest.mark.parametrize("low", [False, True])
@pytest.mark.parametrize("batch", [1, 2, 17])
def test_products_of_few_rows_are_one(batch, low, tmp_path):
    """Queries, keys and values of rows that are known to be few; weights that stay in the file are left there."""
    net = _Decoder()
    randomize(net)
    net.eval()
    shapes = {"x": [batch, 1, _WIDTH], **{name: [batch, 5, _HEADS, _SIZE] for name in ("keys", "values")}}
    specs = [proa.static.InputSpec(shape, "float32", name) for name, shape in shapes.items()]
    given = [random(shape, i) for i, shape in enumerate(shapes.values())]
    mask = proa.zeros([batch, 1, 1, 6])
    want = net(*map(proa.to_tensor, given), mask).numpy()
    for mapped in (True, False):

        def change(config, mapped=mapped):
            config.enable_memory_optim(mapped)
            if low:
                config.enable_mkldnn_bfloat16()

        predictor = predictor_of(
            net, [*specs, proa.static.InputSpec([batch, 1, 1, 6], "float32", "mask")], tmp_path, change
        )
        plan = predictor._engine.plan
        joins = batch < 17 and (low or not mapped)  # in bfloat16 weights are copies
        assert plan.count(" linear(") == (2 if joins else 4), plan
        got = _run(predictor, net, [*given, mask.numpy()])[0].numpy().astype("float32")
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=0.05 * abs(want).max() if low else 1e-5)
