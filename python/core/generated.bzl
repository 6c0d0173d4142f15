"""The Python files that are generated from the schemas."""

# Public namespaces that hold functions of ops (`python: {module: ...}`, dots as `_`).
GENERATED_MODULES = [
    "fft",
    "incubate",
    "linalg",
    "nn_functional",
    "root",
    "signal",
]

GENERATED_FILES = ["__init__.py", "aliases.py"] + [m + ".py" for m in GENERATED_MODULES] + [m + ".pyi" for m in GENERATED_MODULES]
