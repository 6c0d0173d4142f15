"""Vision transformers (Dosovitskiy et al., 2020)."""

from proa import _C, nn
from proa.hugging_face.blocks import encoder, number

__all__ = ["NAMES", "ViT"]

NAMES = (
    (r"^vit\.", ""),
    (r"^embeddings\.patch_embeddings\.projection", "patches"),
    (r"^embeddings\.", ""),
    (r"^encoder\.layer\.(\d+)\.attention\.attention\.(query|key|value)", lambda m: f"encoder.layers.{m[1]}.self_attn.{m[2][0]}_proj"),
    (r"^encoder\.layer\.(\d+)\.attention\.output\.dense", r"encoder.layers.\1.self_attn.out_proj"),
    (r"^encoder\.layer\.(\d+)\.layernorm_before", r"encoder.layers.\1.norm1"),
    (r"^encoder\.layer\.(\d+)\.layernorm_after", r"encoder.layers.\1.norm2"),
    (r"^encoder\.layer\.(\d+)\.intermediate\.dense", r"encoder.layers.\1.linear1"),
    (r"^encoder\.layer\.(\d+)\.output\.dense", r"encoder.layers.\1.linear2"),
    # As transformers 5 has them in memory.
    (r"^layers\.(\d+)\.attention\.([qkv])_proj", r"encoder.layers.\1.self_attn.\2_proj"),
    (r"^layers\.(\d+)\.attention\.o_proj", r"encoder.layers.\1.self_attn.out_proj"),
    (r"^layers\.(\d+)\.layernorm_before", r"encoder.layers.\1.norm1"),
    (r"^layers\.(\d+)\.layernorm_after", r"encoder.layers.\1.norm2"),
    (r"^layers\.(\d+)\.mlp\.fc([12])", r"encoder.layers.\1.linear\2"),
    (r"^layernorm", "encoder.norm"),
    (r"^pooler\.dense", "pooler"),
)  # fmt: skip


class ViT(nn.Layer):
    """A vision transformer, with the head that a configuration names.

    Args:
        config (dict): of config.json: hidden_size, num_hidden_layers, image_size, patch_size and so on.

    Calling it:
        images [N, channels, image_size, image_size]. Gives scores [N, labels] of ViTForImageClassification; of ViTModel
        (vectors [N, 1 + patches, hidden], pooled [N, hidden]).

    Raises:
        ValueError: images of another size.

    Examples:
        >>> config = dict(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, image_size=8,
        ...               patch_size=4, id2label={"0": "cat", "1": "dog"}, architectures=["ViTForImageClassification"])
        >>> proa.hugging_face.ViT(config)(proa.ones([2, 3, 8, 8])).shape
        [2, 2]
    """

    def __init__(self, config):
        super().__init__()
        size, self._side = number(config, "hidden_size"), number(config, "image_size", 224)
        patch, epsilon = number(config, "patch_size", 16), config.get("layer_norm_eps", 1e-12)
        kind = (config.get("architectures") or ["ViTModel"])[0]
        if kind not in ("ViTModel", "ViTForImageClassification"):
            raise _C.located(
                NotImplementedError(f"ViT: {kind} is not here; ViTModel and ViTForImageClassification are")
            )
        self.patches = nn.Conv2D(number(config, "num_channels", 3), size, patch, patch)
        self.cls_token = self.create_parameter([1, 1, size])
        self.position_embeddings = self.create_parameter([1, 1 + (self._side // patch) ** 2, size])
        dropout = config.get("hidden_dropout_prob", 0.0)
        self.dropout = nn.Dropout(dropout)
        self.encoder = encoder(
            size,
            number(config, "num_attention_heads"),
            number(config, "intermediate_size"),
            number(config, "num_hidden_layers"),
            config.get("hidden_act", "gelu"),
            epsilon,
            dropout,
            config.get("attention_probs_dropout_prob", 0.0),
            True,
        )
        labelled = kind == "ViTForImageClassification"
        self.classifier = nn.Linear(size, len(config.get("id2label") or (0, 1))) if labelled else None
        self.pooler = None if labelled else nn.Linear(size, size)

    def forward(self, images):
        if list(images.shape[2:]) != [self._side, self._side]:
            raise _C.located(ValueError(f"ViT: images must be [N, C, {self._side}, {self._side}], not {images.shape}"))
        x = self.patches(images).flatten(2).transpose([0, 2, 1])
        first = self.cls_token.expand([x.shape[0], 1, x.shape[2]])
        x = self.encoder(self.dropout(_C.ops.concat([first, x], 1) + self.position_embeddings))
        if self.classifier is not None:
            return self.classifier(x[:, 0])
        return x, nn.functional.tanh(self.pooler(x[:, 0]))
