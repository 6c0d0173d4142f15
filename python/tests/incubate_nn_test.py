"""Fused parts of transformers against the layers that they are made of."""

import numpy as np
import pytest

import proa
from proa.incubate import nn as fused

RNG = np.random.default_rng(11)


def _like(layer, attention, plain):
    """Gives a FusedMultiHeadAttention the weights of a MultiHeadAttention and of a normalization."""
    e, h = layer.embed_dim, layer.num_heads
    qkv = [p.weight.T.reshape([h, e // h, e]) for p in (attention.q_proj, attention.k_proj, attention.v_proj)]
    layer.qkv_weight.set_value(proa.stack(qkv))
    bias = [p.bias.reshape([h, e // h]) for p in (attention.q_proj, attention.k_proj, attention.v_proj)]
    layer.qkv_bias.set_value(proa.stack(bias))
    layer.linear_weight.set_value(attention.out_proj.weight)
    layer.linear_bias.set_value(attention.out_proj.bias)
    scale, shift = (
        (layer.pre_ln_scale, layer.pre_ln_bias) if layer.normalize_before else (layer.ln_scale, layer.ln_bias)
    )
    scale.set_value(plain.weight)
    shift.set_value(plain.bias)


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_encoder_layer_is_that_of_nn(before, activation):
    proa.seed(1)
    plain = proa.nn.TransformerEncoderLayer(8, 2, 16, 0.0, activation, normalize_before=before)
    for p in plain.parameters():
        p.set_value(proa.to_tensor(RNG.normal(size=p.shape).astype("float32") * 0.5))
    ours = fused.FusedTransformerEncoderLayer(8, 2, 16, 0.0, activation, normalize_before=before)
    _like(ours.fused_attn, plain.self_attn, plain.norm1)
    ffn = ours.ffn
    for mine, theirs in (
        (ffn._linear1_weight, plain.linear1.weight), (ffn._linear1_bias, plain.linear1.bias),
        (ffn._linear2_weight, plain.linear2.weight), (ffn._linear2_bias, plain.linear2.bias),
        (ffn._ln1_scale if before else ffn._ln2_scale, plain.norm2.weight),
        (ffn._ln1_bias if before else ffn._ln2_bias, plain.norm2.bias),
    ):  # fmt: skip
        mine.set_value(theirs)
    x = proa.to_tensor(RNG.normal(size=(2, 5, 8)).astype("float32"), stop_gradient=False)
    mask = proa.to_tensor(RNG.normal(size=(2, 1, 5, 5)).astype("float32"))
    a, b = ours(x, mask), plain(x, mask)
    np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-5)
    (ga,), (gb,) = proa.grad((a * a).sum(), [x]), proa.grad((b * b).sum(), [x])
    np.testing.assert_allclose(ga.numpy(), gb.numpy(), rtol=1e-3, atol=1e-4)
    assert len(ours.parameters()) == 12


def test_cache_of_attention():
    """A step with what came before gives what the whole gives, under a mask that hides what comes."""
    proa.seed(2)
    layer = fused.FusedMultiHeadAttention(8, 2, 0.0, 0.0)
    layer.eval()
    x = proa.to_tensor(RNG.normal(size=(1, 4, 8)).astype("float32"))
    mask = proa.triu(proa.full([4, 4], -1e9), 1)
    whole = layer(x, attn_mask=mask)
    cache, steps = proa.zeros([2, 1, 2, 0, 4]), []
    for t in range(4):
        out, cache = layer(x[:, t : t + 1], cache=cache)
        steps.append(out)
    assert cache.shape == [2, 1, 2, 4, 4]
    np.testing.assert_allclose(proa.concat(steps, 1).numpy(), whole.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("transposed", [False, True])
def test_multi_transformer(before, transposed):
    """With caches step by step, and as a whole, and as layers of both parts."""
    proa.seed(3)
    layer = fused.FusedMultiTransformer(8, 2, 16, normalize_before=before, num_layers=2, trans_qkvw=transposed)
    layer.eval()
    for p in layer.parameters():
        p.set_value(proa.to_tensor(RNG.normal(size=p.shape).astype("float32") * 0.3))
    assert len(layer.parameters()) == 24 and len(layer.state_dict()) == 24
    x = proa.to_tensor(RNG.normal(size=(2, 4, 8)).astype("float32"))
    mask = proa.triu(proa.full([4, 4], -1e9), 1)
    whole = layer(x, mask)
    caches = [proa.zeros([2, 2, 2, 6, 4]) for _ in range(2)]
    out, same = layer(x[:, :2], mask[:2, :2], caches)
    steps = [out]
    assert same is caches
    for t in (2, 3):
        steps.append(layer(x[:, t : t + 1], None, caches, proa.to_tensor([t]))[0])
    np.testing.assert_allclose(proa.concat(steps, 1).numpy(), whole.numpy(), rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="beyond a cache"):
        layer(x[:, :1], None, caches, 6)
    f, y = fused.functional, x
    for i in range(2):
        weight = layer._qkv_weights[i] if transposed else layer._qkv_weights[i].transpose([1, 2, 3, 0])
        s, b = layer._ln_scales[i], layer._ln_biases[i]
        y = f.fused_multi_head_attention(
            y, weight, layer._linear_weights[i], before, s, b, s, b, 1e-5, layer._qkv_biases[i], layer._linear_biases[i],
            None, mask, 0.0, 0.0,
        )  # fmt: skip
        s, b = layer._ffn_ln_scales[i], layer._ffn_ln_biases[i]
        y = f.fused_feedforward(
            y, layer._ffn1_weights[i], layer._ffn2_weights[i], layer._ffn1_biases[i], layer._ffn2_biases[i], s, b, s, b,
            0.0, 0.0, "gelu", 1e-5, 1e-5, before,
        )  # fmt: skip
    np.testing.assert_allclose(y.numpy(), whole.numpy(), rtol=1e-4, atol=1e-5)


def test_dropout_in_training_only():
    proa.seed(4)
    layer = fused.FusedFeedForward(8, 64, 0.5)
    x = proa.ones([4, 8])
    assert (layer(x) != layer(x)).any().item()
    layer.eval()
    assert (layer(x) == layer(x)).all().item()


def test_errors():
    for call, says in (
        (lambda: fused.FusedMultiHeadAttention(8, 3), "3 heads do not divide embed_dim 8"),
        (lambda: fused.FusedMultiHeadAttention(8, 2, need_weights=True), "need_weights"),
        (lambda: fused.FusedMultiHeadAttention(8, 2, kdim=4), "kdim must be embed_dim"),
        (lambda: fused.FusedFeedForward(8, 0), "sizes must be positive"),
        (lambda: fused.FusedFeedForward(8, 8, activation="tanh")(proa.ones([1, 8])), "activation must be"),
        (lambda: fused.FusedMultiHeadAttention(8, 2)(proa.ones([3, 8])), r"x must be \[N, L, embed_dim\]"),
        (
            lambda: fused.functional.fused_multi_head_attention(
                proa.ones([1, 3, 8]), proa.ones([8, 8]), proa.ones([8, 8])
            ),
            "qkv_weight must be",
        ),
    ):
        with pytest.raises(ValueError, match=says):
            call()
