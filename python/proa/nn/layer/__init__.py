"""The layers, a file each kind."""
