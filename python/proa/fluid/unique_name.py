"""See proa.utils.unique_name."""

from proa.framework.names import missing as _missing
from proa.utils.unique_name import generate, guard, switch

__all__ = ["generate", "generate_with_ignorable_key", "guard", "switch"]

__getattr__ = _missing(__name__)

generate_with_ignorable_key = generate
