"""Text: tokens, decoding of tags, and data sets."""

from proa.framework.names import invert as _invert
from proa.framework.names import lazy as _lazy

_HOMES = _invert({
    "proa.text.viterbi": "ViterbiDecoder viterbi_decode",
    "proa.text.conll05": "Conll05st",
    "proa.text.datasets": "Imdb UCIHousing",
    "proa.text.imikolov": "Imikolov",
    "proa.text.movielens": "Movielens",
    "proa.text.translation": "WMT14 WMT16",
    "proa.text.wordpiece": "FasterTokenizer WordPieceTokenizer",
})  # fmt: skip

__all__ = sorted(_HOMES)

__getattr__, __dir__ = _lazy(__name__, _HOMES, ("datasets", "viterbi"))
