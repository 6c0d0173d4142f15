"""The schema language: parser, typed model and generators (docs/schema.md)."""
