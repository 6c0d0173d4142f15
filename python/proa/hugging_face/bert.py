"""BERT (Devlin et al., 2018)."""

from proa import _C, nn
from proa.hugging_face.blocks import activation_of, encoder, number
from proa.nn import functional as F

__all__ = ["NAMES", "Bert"]

# Patterns of names in checkpoints, and what they are here, applied one after the other.
NAMES = (
    (r"^bert\.", ""),
    (r"\.gamma$", ".weight"),
    (r"\.beta$", ".bias"),
    (r"LayerNorm", "norm"),
    (r"^encoder\.layer\.(\d+)\.attention\.self\.(query|key|value)", lambda m: f"encoder.layers.{m[1]}.self_attn.{m[2][0]}_proj"),
    (r"^encoder\.layer\.(\d+)\.attention\.output\.dense", r"encoder.layers.\1.self_attn.out_proj"),
    (r"^encoder\.layer\.(\d+)\.attention\.output\.norm", r"encoder.layers.\1.norm1"),
    (r"^encoder\.layer\.(\d+)\.intermediate\.dense", r"encoder.layers.\1.linear1"),
    (r"^encoder\.layer\.(\d+)\.output\.dense", r"encoder.layers.\1.linear2"),
    (r"^encoder\.layer\.(\d+)\.output\.norm", r"encoder.layers.\1.norm2"),
    (r"^cls\.predictions\.transform\.", "head."),
    (r"^cls\.predictions\.bias", "head.bias"),
    # The table of words once more, numbers of positions, and the head of the second task of pre-training.
    (r"^cls\.predictions\.decoder\..*|^embeddings\.position_ids|^cls\.seq_relationship\..*", None),
)  # fmt: skip


class _Embeddings(nn.Layer):
    """Words, places and kinds of tokens, summed and normalized."""

    def __init__(self, config, size, epsilon):
        super().__init__()
        self.word_embeddings = nn.Embedding(number(config, "vocab_size"), size)
        self.position_embeddings = nn.Embedding(number(config, "max_position_embeddings", 512), size)
        self.token_type_embeddings = nn.Embedding(number(config, "type_vocab_size", 2), size)
        self.norm = nn.LayerNorm(size, epsilon)
        self.dropout = nn.Dropout(config.get("hidden_dropout_prob", 0.1))

    def forward(self, input_ids, token_type_ids):
        x = self.word_embeddings(input_ids)
        x = x + self.position_embeddings(_C.ops.arange(0, input_ids.shape[1], 1, _C.int64))
        kinds = _C.ops.full_like(input_ids, 0) if token_type_ids is None else token_type_ids
        return self.dropout(self.norm(x + self.token_type_embeddings(kinds)))


class _MaskedHead(nn.Layer):
    """Scores of all words: a dense layer, and the table of words again."""

    def __init__(self, config, size, epsilon):
        super().__init__()
        self.dense = nn.Linear(size, size)
        self.activation = activation_of(config.get("hidden_act", "gelu"))
        self.norm = nn.LayerNorm(size, epsilon)
        self.bias = self.create_parameter([number(config, "vocab_size")], is_bias=True)

    def forward(self, x, words):
        return _C.ops.matmul(self.norm(self.activation(self.dense(x))), words, False, True) + self.bias


class _Pooler(nn.Layer):
    """The first token's vector through a dense layer."""

    def __init__(self, size):
        super().__init__()
        self.dense = nn.Linear(size, size)

    def forward(self, x):
        return F.tanh(self.dense(x[:, 0]))


class Bert(nn.Layer):
    """BERT, with the head that a configuration names.

    Args:
        config (dict): of config.json: vocab_size, hidden_size, num_hidden_layers, num_attention_heads, intermediate_size and so on.

    Calling it:
        input_ids [N, T] int64; token_type_ids [N, T], zeros unless given; attention_mask [N, T], 0 for what may not be seen.
        Gives (vectors [N, T, hidden], pooled [N, hidden]) of BertModel; scores of words [N, T, vocab] of BertForMaskedLM; of
        classes [N, labels] of BertForSequenceClassification.

    Examples:
        >>> config = dict(vocab_size=30, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16)
        >>> vectors, pooled = proa.hugging_face.Bert(config)(proa.to_tensor([[2, 7, 9], [4, 1, 0]]))
        >>> vectors.shape, pooled.shape
        ([2, 3, 8], [2, 8])
    """

    def __init__(self, config):
        super().__init__()
        size, epsilon = number(config, "hidden_size"), config.get("layer_norm_eps", 1e-12)
        kind = (config.get("architectures") or ["BertModel"])[0]
        self.embeddings = _Embeddings(config, size, epsilon)
        self.encoder = encoder(
            size,
            number(config, "num_attention_heads"),
            number(config, "intermediate_size"),
            number(config, "num_hidden_layers"),
            config.get("hidden_act", "gelu"),
            epsilon,
            config.get("hidden_dropout_prob", 0.1),
            config.get("attention_probs_dropout_prob", 0.1),
            False,
        )
        self.head = self.pooler = self.classifier = None
        if kind in ("BertForMaskedLM", "BertForPreTraining"):
            self.head = _MaskedHead(config, size, epsilon)
        elif kind in ("BertModel", "BertForSequenceClassification"):
            self.pooler = _Pooler(size)
        else:
            raise _C.located(
                NotImplementedError(
                    f"Bert: {kind} is not here; BertModel, BertForMaskedLM and BertForSequenceClassification are"
                )
            )
        if kind == "BertForSequenceClassification":
            self.dropout = nn.Dropout(config.get("classifier_dropout") or config.get("hidden_dropout_prob", 0.1))
            self.classifier = nn.Linear(size, len(config.get("id2label") or (0, 1)))

    def forward(self, input_ids, token_type_ids=None, attention_mask=None):
        mask = None
        if attention_mask is not None:
            mask = attention_mask.astype("bool").unsqueeze([1, 2])  # [N, 1, 1, T]
        x = self.encoder(self.embeddings(input_ids, token_type_ids), mask)
        if self.head is not None:
            return self.head(x, self.embeddings.word_embeddings.weight)
        pooled = self.pooler(x)
        return (x, pooled) if self.classifier is None else self.classifier(self.dropout(pooled))
