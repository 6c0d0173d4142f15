"""What fleet is made of."""

from proa.framework.names import lazy as _lazy

__getattr__, __dir__ = _lazy(
    __name__,
    submodules=(
        "distributed_strategy",
        "fleet_base",
        "private_helper_function",
        "role_maker",
        "topology",
        "util_factory",
    ),
)
