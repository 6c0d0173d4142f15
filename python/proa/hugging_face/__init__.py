"""Networks with the weights of folders that Hugging Face's libraries write: BERT, GPT-2, ViT and ResNet.

    net = proa.hugging_face.from_pretrained("path/to/bert-base-uncased")

A folder holds config.json and the weights, as safetensors (of one file or of several) or as PyTorch's pytorch_model.bin. It is read
as it is: nothing is downloaded, and nothing in it is executed. Neither PyTorch nor the transformers package is needed.
`tokenizer_of` the same folder makes tensors of texts.

| `model_type` | the network | its head, by `architectures` |
|---|---|---|
| bert | `Bert` | Model, ForMaskedLM, ForSequenceClassification |
| gpt2 | `GPT2` | Model, LMHeadModel |
| vit | `ViT` | Model, ForImageClassification |
| resnet | `vision.models.ResNet` | ForImageClassification |
"""

from proa.framework.names import invert as _invert
from proa.framework.names import lazy as _lazy

_HOMES = _invert({
    "proa.hugging_face.bert": "Bert",
    "proa.hugging_face.gpt2": "GPT2",
    "proa.hugging_face.vit": "ViT",
    "proa.hugging_face.loading": "from_pretrained network_of renamed",
    "proa.hugging_face.tokenizing": "tokenizer_of",
})  # fmt: skip

__all__ = ["Bert", "GPT2", "ViT", "from_pretrained", "network_of", "renamed", "tokenizer_of"]

__getattr__, __dir__ = _lazy(__name__, _HOMES)
