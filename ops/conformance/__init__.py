"""The conformance suite: every op of the registry against its samples and reference."""
