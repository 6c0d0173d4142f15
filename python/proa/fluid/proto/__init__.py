"""Kinds of variables in files of the reference."""
