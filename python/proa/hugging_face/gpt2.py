"""GPT-2 (Radford et al., 2019)."""

from proa import _C, nn
from proa.framework.size import Size
from proa.hugging_face.blocks import encoder, number

__all__ = ["NAMES", "GPT2"]

NAMES = (
    (r"^transformer\.", ""),
    # The masks that older releases kept among the weights, and the table of words once more.
    (r"^h\.\d+\.attn\.(masked_)?bias$|^lm_head\.weight$", None),
    (r"^h\.(\d+)\.ln_1", r"encoder.layers.\1.norm1"),
    (r"^h\.(\d+)\.ln_2", r"encoder.layers.\1.norm2"),
    # One matrix for queries, keys and values.
    (r"^h\.(\d+)\.attn\.c_attn", tuple(rf"encoder.layers.\1.self_attn.{part}_proj" for part in "qkv")),
    (r"^h\.(\d+)\.attn\.c_proj", r"encoder.layers.\1.self_attn.out_proj"),
    (r"^h\.(\d+)\.mlp\.c_fc", r"encoder.layers.\1.linear1"),
    (r"^h\.(\d+)\.mlp\.c_proj", r"encoder.layers.\1.linear2"),
    (r"^ln_f", "encoder.norm"),
)


class GPT2(nn.Layer):
    """GPT-2: each token sees those before it.

    Args:
        config (dict): of config.json: vocab_size, n_embd, n_layer, n_head, n_positions and so on.

    Calling it:
        input_ids [N, T] int64, T at most n_positions. Gives the scores of the next words [N, T, vocab] of GPT2LMHeadModel, or
        vectors [N, T, n_embd] of GPT2Model. With `cache` (see `gen_cache`), which holds the tokens so far, gives (result, cache).

    Raises:
        ValueError: more tokens than there are positions.

    Examples:
        >>> config = dict(vocab_size=30, n_embd=8, n_layer=2, n_head=2, n_positions=16, architectures=["GPT2LMHeadModel"])
        >>> net = proa.hugging_face.GPT2(config)
        >>> _ = net.eval()
        >>> tokens = proa.to_tensor([[2, 7, 9]])
        >>> scores = net(tokens)
        >>> scores.shape
        [1, 3, 30]
        >>> cache = net.gen_cache(tokens)
        >>> for i in range(3):  # one by one
        ...     last, cache = net(tokens[:, i : i + 1], cache)
        >>> bool(proa.allclose(last[:, 0], scores[:, 2], atol=1e-5))
        True
    """

    def __init__(self, config):
        super().__init__()
        size, self._positions = number(config, "n_embd"), number(config, "n_positions", 1024)
        kind = (config.get("architectures") or ["GPT2Model"])[0]
        if kind not in ("GPT2Model", "GPT2LMHeadModel"):
            raise _C.located(NotImplementedError(f"GPT2: {kind} is not here; GPT2Model and GPT2LMHeadModel are"))
        if config.get("scale_attn_by_inverse_layer_idx"):
            raise _C.located(NotImplementedError("GPT2: scale_attn_by_inverse_layer_idx is not here"))
        self._scores = kind == "GPT2LMHeadModel"
        self.wte = nn.Embedding(number(config, "vocab_size"), size)
        self.wpe = nn.Embedding(self._positions, size)
        self.drop = nn.Dropout(config.get("embd_pdrop", 0.1))
        self.encoder = encoder(
            size,
            number(config, "n_head"),
            config.get("n_inner") or 4 * size,
            number(config, "n_layer"),
            config.get("activation_function", "gelu_new"),
            config.get("layer_norm_epsilon", 1e-5),
            config.get("resid_pdrop", 0.1),
            config.get("attn_pdrop", 0.1),
            True,
        )

    def gen_cache(self, input_ids):
        """An empty cache for decoding a batch like this one step by step."""
        return self.encoder.gen_cache(self.wte(input_ids))

    def forward(self, input_ids, cache=None):
        before = 0 if cache is None else cache[0].k.shape[2]
        count = input_ids.shape[1]
        # Of sizes that a program leaves open the table of positions finds out when it runs.
        if not isinstance(before + count, Size) and before + count > self._positions:
            raise _C.located(ValueError(f"GPT2: {before + count} tokens, but n_positions is {self._positions}"))
        places = _C.ops.arange(before, before + count, 1, _C.int64)
        x = self.drop(self.wte(input_ids) + self.wpe(places))
        seen = places.unsqueeze(1) >= _C.ops.arange(0, before + count, 1, _C.int64)  # [T, all]
        result = self.encoder(x, seen, cache)
        x, cache_after = (result, None) if cache is None else result
        if self._scores:
            x = _C.ops.matmul(x, self.wte.weight, False, True)
        return x if cache is None else (x, cache_after)
