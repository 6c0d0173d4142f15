"""What `import paddle` finds where this folder is in PYTHONPATH: Proa; see proa.as_paddle."""

import proa.as_paddle  # noqa: F401 (puts Proa in the place of this module)
