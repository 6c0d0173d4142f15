"""Programs of 1.8 (`paddle.fluid`) as programs of 2.x: `python -m proa.upgrade old.py`.

Calls, names and imports are rewritten where the meaning stays; the rest of the text stays as it is, and what could not be
rewritten is listed with its line and why. Parameters are moved by the signatures of `proa.fluid`, which has the functions of
1.8, and of their successors; which successor each has is the table in names.py.
"""

from proa.framework.names import missing as _missing
from proa.upgrade.rewrite import Upgraded, upgrade

__all__ = ["Upgraded", "upgrade"]

__getattr__ = _missing(__name__)
