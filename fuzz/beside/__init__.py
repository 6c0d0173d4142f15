"""Random calls of public functions, methods and layers in two packages beside each other; see fuzz/README.md."""
