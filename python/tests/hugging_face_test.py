"""proa.hugging_face: folders as the transformers package writes them give the results that it gives."""

import json
import sys

import numpy as np
import pytest

import proa
from proa import hugging_face
from python.tests import hugging_face_checkpoints as checkpoints

_SAVED = json.loads(checkpoints.FILE.read_text())


def _folder(path, kind, change=lambda state: state, **settings):
    """A folder with a network's configuration and weights."""
    saved = _SAVED[kind]
    (path / "config.json").write_text(json.dumps({**saved["config"], **settings}))
    state = change(checkpoints.values(saved["shapes"]))
    proa.save({name: proa.to_tensor(value) for name, value in state.items()}, str(path / "model.safetensors"))
    return str(path)


def _results(net, kind):
    given = {k: proa.to_tensor(v) for k, v in checkpoints.inputs(_SAVED[kind]["config"]["model_type"]).items()}
    out = net(given.pop("images")) if "images" in given else net(**given)
    return list(out) if isinstance(out, tuple) else [out]


@pytest.mark.parametrize("kind", _SAVED)
def test_the_results_of_transformers(kind, tmp_path):
    net = hugging_face.from_pretrained(_folder(tmp_path, kind))
    assert not net.training
    results, wanted = _results(net, kind), _SAVED[kind]["results"]
    assert len(results) == len(wanted)
    for got, want in zip(results, wanted):
        np.testing.assert_allclose(got.numpy(), want, atol=2e-5, rtol=2e-5)
    # Trained further, as any layer.
    net.train()
    sum(result.square().mean() for result in _results(net, kind)).backward()
    assert all(p.grad is not None for p in net.parameters() if not p.stop_gradient)


def test_what_other_releases_write(tmp_path):
    """The old names of normalizations, positions and masks beside the weights, half precision, several files."""
    olds = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}

    def old(state):
        state = {next((n.replace(a, b) for a, b in olds.items() if a in n), n): v for n, v in state.items()}
        return {**state, "bert.embeddings.position_ids": np.arange(12)[None], "cls.seq_relationship.bias": np.zeros(2)}

    (tmp_path / "bert").mkdir()
    net = hugging_face.from_pretrained(_folder(tmp_path / "bert", "BertForMaskedLM", old))
    np.testing.assert_allclose(
        _results(net, "BertForMaskedLM")[0].numpy(), _SAVED["BertForMaskedLM"]["results"][0], atol=2e-5
    )

    (tmp_path / "gpt").mkdir()
    masks = {
        "transformer.h.0.attn.bias": np.ones([1, 1, 12, 12], "bool"),
        "transformer.h.0.attn.masked_bias": np.array(-1e4),
    }
    folder = _folder(tmp_path / "gpt", "GPT2LMHeadModel", lambda state: {**state, **masks})
    state = proa.load(folder + "/model.safetensors")
    halves = [dict(list(state.items())[i::2]) for i in range(2)]
    for i, half in enumerate(halves):
        proa.save(half, f"{folder}/model-{i}.safetensors")
    weight_map = {name: f"model-{i}.safetensors" for i, half in enumerate(halves) for name in half}
    (tmp_path / "gpt" / "model.safetensors").unlink()
    (tmp_path / "gpt" / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    want = np.array(_SAVED["GPT2LMHeadModel"]["results"][0])
    np.testing.assert_allclose(
        _results(hugging_face.from_pretrained(folder), "GPT2LMHeadModel")[0].numpy(), want, atol=2e-5
    )

    (tmp_path / "half").mkdir()
    half = _folder(tmp_path / "half", "GPT2LMHeadModel", lambda s: {n: v.astype("float16") for n, v in s.items()})
    net = hugging_face.from_pretrained(half)
    assert net.wte.weight.dtype == proa.float32
    np.testing.assert_allclose(_results(net, "GPT2LMHeadModel")[0].numpy(), want, atol=0.02 * np.abs(want).max())


def test_names_of_transformers_5_in_memory(tmp_path):
    """What torch.save of a ViT's state_dict has; files of save_pretrained keep the older names."""
    news = (
        ("encoder.layer.", "layers."), ("attention.attention.query", "attention.q_proj"), ("attention.attention.key", "attention.k_proj"),
        ("attention.attention.value", "attention.v_proj"), ("attention.output.dense", "attention.o_proj"),
        ("intermediate.dense", "mlp.fc1"), ("output.dense", "mlp.fc2"),
    )  # fmt: skip

    def new(state):
        renamed = {}
        for name, value in state.items():
            for old, now in news:
                name = name.replace(old, now)
            renamed[name] = value
        assert "vit.layers.1.mlp.fc2.weight" in renamed
        return renamed

    net = hugging_face.from_pretrained(_folder(tmp_path, "ViTForImageClassification", new))
    want = _SAVED["ViTForImageClassification"]["results"][0]
    np.testing.assert_allclose(_results(net, "ViTForImageClassification")[0].numpy(), want, atol=2e-5)


def test_the_body_of_a_network_with_a_head(tmp_path):
    """BertModel out of what BertForSequenceClassification wrote: the head is left."""
    folder = _folder(tmp_path, "BertForSequenceClassification", architectures=["BertModel"])
    x, pooled = _results(hugging_face.from_pretrained(folder), "BertModel")
    want = np.array(_SAVED["BertForSequenceClassification"]["results"][0])
    state = checkpoints.values(_SAVED["BertForSequenceClassification"]["shapes"])
    np.testing.assert_allclose(
        pooled.numpy() @ state["classifier.weight"].T + state["classifier.bias"], want, atol=2e-5
    )
    assert x.shape == [2, 7, 16]


def test_tokens_one_by_one(tmp_path):
    net = hugging_face.from_pretrained(_folder(tmp_path, "GPT2LMHeadModel"))
    tokens = proa.to_tensor(checkpoints.inputs("gpt2")["input_ids"])
    cache = net.gen_cache(tokens)
    parts = []
    for start, end in ((0, 3), (3, 4), (4, 7)):
        scores, cache = net(tokens[:, start:end], cache)
        parts.append(scores)
    np.testing.assert_allclose(proa.concat(parts, 1).numpy(), _SAVED["GPT2LMHeadModel"]["results"][0], atol=2e-5)
    with pytest.raises(ValueError, match="13 tokens, but n_positions is 12"):
        net(proa.zeros([1, 13], "int64"))


class _Step(proa.nn.Layer):
    """A step of decoding with the cache as two tensors, [layers, N, heads, tokens, size]."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, ids, keys, values):
        Cache = proa.nn.MultiHeadAttention.Cache
        scores, cache = self.net(ids, [Cache(keys[i], values[i]) for i in range(keys.shape[0])])
        return scores, proa.stack([c.k for c in cache]), proa.stack([c.v for c in cache])


def test_a_saved_step_of_decoding(tmp_path):
    net = hugging_face.from_pretrained(_folder(tmp_path, "GPT2LMHeadModel"))
    tokens = checkpoints.inputs("gpt2")["input_ids"]
    empty = net.gen_cache(proa.to_tensor(tokens))
    layers, (n, heads, _, size) = len(empty), empty[0].k.shape
    cache_spec = [layers, None, heads, None, size]
    specs = [proa.static.InputSpec([None, None], "int64", "ids")]
    specs += [proa.static.InputSpec(cache_spec, "float32", name) for name in ("keys", "values")]
    path = str(tmp_path / "step")
    step = _Step(net)
    step.eval()
    proa.jit.save(step, path, specs)
    predictor = proa.inference.create_predictor(proa.inference.Config(path + ".pdmodel", path + ".pdiparams"))
    keys = values = np.zeros([layers, n, heads, 0, size], "float32")
    parts = []
    for start, end in ((0, 3), (3, 4), (4, 7)):
        scores, keys, values = predictor.run([tokens[:, start:end], keys, values])
        parts.append(scores.numpy())
    np.testing.assert_allclose(np.concatenate(parts, 1), _SAVED["GPT2LMHeadModel"]["results"][0], atol=2e-5)
    # There are no more positions: the table says so when the program runs.
    with pytest.raises(IndexError, match="embedding"):
        predictor.run([np.zeros([n, 6], "int64"), keys, values])


def _without(name):
    return lambda state: {n: v for n, v in state.items() if n != name}


@pytest.mark.parametrize("change, settings, error, says", [
    (_without("vit.layernorm.bias"), {}, ValueError, "it has no encoder.norm.bias"),
    (lambda s: {**s, "vit.more.weight": np.zeros(2)}, {}, ValueError, "it has more.weight"),
    (lambda s: {**s, "vit.layernorm.bias": np.zeros(7)}, {}, ValueError, r"encoder.norm.bias \[16\] is \[7\]"),
    (lambda s: s, {"hidden_size": "16"}, ValueError, "hidden_size of the configuration must be a positive int, not '16'"),
    (lambda s: s, {"hidden_act": "mish"}, ValueError, "the activation must be one of"),
    (lambda s: s, {"model_type": "llama"}, NotImplementedError, "model_type 'llama' is not here; bert, gpt2, resnet, vit are"),
    (lambda s: s, {"architectures": ["ViTForMaskedImageModeling"]}, NotImplementedError, "ViTForMaskedImageModeling is not here"),
])  # fmt: skip
def test_what_does_not_fit(change, settings, error, says, tmp_path):
    with pytest.raises(error, match=says):
        hugging_face.from_pretrained(_folder(tmp_path, "ViTForImageClassification", change, **settings))


def test_folders_that_are_none(tmp_path):
    with pytest.raises(FileNotFoundError):
        hugging_face.from_pretrained(str(tmp_path))
    (tmp_path / "config.json").write_text("[1]")
    with pytest.raises(ValueError, match="it holds a list, not a dict"):
        hugging_face.from_pretrained(str(tmp_path))
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ValueError, match="config.json"):
        hugging_face.from_pretrained(str(tmp_path))
    (tmp_path / "config.json").write_text(json.dumps(_SAVED["ViTModel"]["config"]))
    with pytest.raises(FileNotFoundError, match="has none of model.safetensors"):
        hugging_face.from_pretrained(str(tmp_path))


def test_images_of_another_size(tmp_path):
    net = hugging_face.from_pretrained(_folder(tmp_path, "ViTModel"))
    with pytest.raises(ValueError, match=r"images must be \[N, C, 8, 8\], not \[1, 3, 9, 8\]"):
        net(proa.zeros([1, 3, 9, 8]))


_WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "a",
    "dog",
    "##s",
    "bark",
    "##ed",
    "!",
    ",",
    "\u4e2d",
    "caf",
    "##e",
]


def _tokenized(folder):
    encode = hugging_face.tokenizer_of(str(folder))
    return [
        {name: tensor.tolist() for name, tensor in encode(*given).items()}
        for given in (
            (["A dog, dogs!", "Caf\u00e9 barked", "", "cats [MASK] \u4e2da"],),
            (["a dog", "dogs"], ["barked!", "a a a a"]),
            (["a dog dogs barked", "dogs"], ["barked! a a a", "a"], 7),
            ("A dog",),
        )
    ]


def test_texts(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(_WORDS))
    single, pairs, cut, one = _tokenized(tmp_path)
    assert single["input_ids"] == [
        [2, 5, 6, 11, 6, 7, 10, 3], [2, 13, 14, 8, 9, 3, 0, 0], [2, 3, 0, 0, 0, 0, 0, 0], [2, 1, 4, 12, 5, 3, 0, 0]]  # fmt: skip
    assert [sum(row) for row in single["attention_mask"]] == [8, 6, 2, 6]
    assert (
        pairs["token_type_ids"] == [[0, 0, 0, 0, 1, 1, 1, 1, 0], [0, 0, 0, 0, 1, 1, 1, 1, 1]][: len(pairs["input_ids"])]
    )
    assert len(cut["input_ids"][0]) == 7 and one["input_ids"] == [[2, 5, 6, 3]]
    with pytest.raises(ValueError, match="2 texts and 1 to pair them with"):
        hugging_face.tokenizer_of(str(tmp_path))(["a", "a"], ["a"])
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": False}))
    assert hugging_face.tokenizer_of(str(tmp_path))("A dog")["input_ids"].tolist() == [[2, 1, 6, 3]]
    net = hugging_face.network_of({**_SAVED["BertModel"]["config"]})
    assert net(**hugging_face.tokenizer_of(str(tmp_path))(["a dog", "dogs"]))[1].shape == [2, 16]


def test_folders_without_a_tokenizer(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match="neither tokenizer.json nor vocab.txt"):
        hugging_face.tokenizer_of(str(tmp_path))
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ModuleNotFoundError, match="pip install tokenizers"):
        hugging_face.tokenizer_of(str(tmp_path))
    (tmp_path / "vocab.txt").write_text("\n".join(_WORDS))
    assert hugging_face.tokenizer_of(str(tmp_path))("dogs")["input_ids"].tolist() == [[2, 6, 7, 3]]


def test_the_tokenizers_package_gives_the_same(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "vocab.txt").write_text("\n".join(_WORDS))
    tokenizers.BertWordPieceTokenizer(str(tmp_path / "own" / "vocab.txt")).save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"pad_token": "[PAD]"}))
    assert _tokenized(tmp_path) == _tokenized(tmp_path / "own")
