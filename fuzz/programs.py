"""Cases about files: a program is recorded and saved, the file is changed, loaded and run."""

from __future__ import annotations

import random

from fuzz import case as cases

_HOW = {"structure": 10, "text": 6, "payload": 3, "bytes": 1, "parameters": 1, "tensors": 3}


class Generator:
    """Chooses a seed that can be recorded, and how its file is changed."""

    def __init__(self, corpus: dict):
        self._seeds = [t for t in corpus["seeds"].get("op", ()) if "tensor(" in t]

    def case(self, r: random.Random) -> str:
        how = r.choices(list(_HOW), list(_HOW.values()))[0]
        c = cases.parse(r.choice(self._seeds))
        return str(c.with_(mode="file", target=f"changed({c.target}, {how!r}, {r.randrange(10**9)})"))
