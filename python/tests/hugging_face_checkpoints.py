"""Checkpoints of Hugging Face's networks, whose numbers follow from their names, and what the transformers package makes of them.

hugging_face.json holds for each network its config.json, the names and shapes of its weights as the package writes them, and the
results. It is written, in an environment that has PyTorch and transformers, by

    python -m python.tests.hugging_face_checkpoints
"""

import json
import pathlib

import numpy as np

FILE = pathlib.Path(__file__).parent / "hugging_face.json"


def values(shapes):
    """{name: array} of weights, from {name: shape}."""
    found = {}
    for i, name in enumerate(sorted(shapes)):
        shape = shapes[name]
        drawn = np.random.RandomState(i).uniform(-1, 1, shape).astype("float32")
        if name.endswith("num_batches_tracked"):
            drawn = np.array(3)
        elif len(shape) > 1:
            drawn *= np.float32((3 / np.prod(shape[1:])) ** 0.5)
        elif name.endswith(("running_var", "weight")):
            drawn = 1 + drawn / 2
        found[name] = drawn
    return found


def inputs(model_type):
    """Keyword arguments of a call."""
    draw = np.random.RandomState(7)
    if model_type in ("vit", "resnet"):
        return {"images": draw.uniform(-1, 1, [2, 3, *((8, 8) if model_type == "vit" else (64, 64))]).astype("float32")}
    tokens = {"input_ids": draw.randint(0, 24, [2, 7])}
    if model_type == "bert":
        tokens["token_type_ids"] = draw.randint(0, 2, [2, 7])
        tokens["attention_mask"] = np.array([[1] * 7, [1] * 4 + [0] * 3])
    return tokens


def _written():
    """{name: what hugging_face.json holds of it}."""
    import tempfile

    import torch
    import transformers
    from safetensors.numpy import load_file

    bert = dict(vocab_size=24, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=20,
                max_position_embeddings=12)  # fmt: skip
    gpt2 = dict(vocab_size=24, n_embd=16, n_layer=2, n_head=4, n_positions=12, bos_token_id=1, eos_token_id=2)
    vit = dict(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=20, image_size=8, patch_size=4
    )
    resnet = dict(layer_type="basic", depths=[2, 2, 2, 2], hidden_sizes=[64, 128, 256, 512], num_labels=3)
    found = {}
    for kind, arguments in (
        ("BertModel", bert), ("BertForMaskedLM", bert), ("BertForSequenceClassification", {**bert, "num_labels": 3}),
        ("GPT2Model", gpt2), ("GPT2LMHeadModel", gpt2), ("ViTModel", vit),
        ("ViTForImageClassification", {**vit, "num_labels": 5}), ("ResNetForImageClassification", resnet),
    ):  # fmt: skip
        network = getattr(transformers, kind)
        net = network(network.config_class(**arguments)).eval()
        with tempfile.TemporaryDirectory() as folder:
            net.save_pretrained(folder)
            shapes = {n: list(v.shape) for n, v in load_file(f"{folder}/model.safetensors").items()}
            from safetensors.numpy import save_file

            save_file(values(shapes), f"{folder}/model.safetensors", {"format": "pt"})
            net = network.from_pretrained(folder).eval()
            config = json.loads(pathlib.Path(folder, "config.json").read_text())
        given = {k: torch.from_numpy(v) for k, v in inputs(config["model_type"]).items()}
        with torch.no_grad():
            out = net(**{("pixel_values" if k == "images" else k): v for k, v in given.items()})
        if "logits" in out:
            results = [out.logits]
        else:
            results = [out.last_hidden_state] + ([out.pooler_output] if "pooler_output" in out else [])
        found[kind] = {
            "config": config,
            "shapes": shapes,
            "results": [np.round(r.numpy().astype("float64"), 6).tolist() for r in results],
        }
    return found


if __name__ == "__main__":
    FILE.write_text("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in _written().items()) + "\n}\n")
