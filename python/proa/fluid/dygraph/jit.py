"""See proa.jit."""

from proa.framework.names import missing as _missing
from proa.jit import *
from proa.jit import to_static
from proa.jit.save_hooks import clear_save_pre_hooks as _clear_save_pre_hooks
from proa.jit.save_hooks import register_save_pre_hook as _register_save_pre_hook
from proa.jit.save_hooks import remove_save_pre_hook as _remove_save_pre_hook

__getattr__ = _missing(__name__)

declarative = to_static
