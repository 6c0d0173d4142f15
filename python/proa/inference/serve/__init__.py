"""A small HTTP server for saved models: `python -m proa.inference.serve MODEL`.

It speaks the KServe v2 protocol (also known as Open Inference Protocol) with JSON and binary tensors, and has health,
readiness, metadata, Prometheus metrics, dynamic batching, and bounds on the size of requests, on how many wait and for
how long. It needs aiohttp and prometheus-client, which `pip install aiohttp prometheus-client` brings.
"""

__all__ = []
