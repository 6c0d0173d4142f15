"""What the server counts, as Prometheus reads it."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

__all__ = ["Metrics"]

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """Counters of one server, in a registry of its own.

    Args:
        pending: gives how many requests wait or are computed.
    """

    content_type = CONTENT_TYPE_LATEST

    def __init__(self):
        self._registry = CollectorRegistry()
        make = {"registry": self._registry}
        self._answers = Counter("proa_requests", "Answers to inference requests", ["code"], **make)
        self._seconds = Histogram("proa_request_seconds", "From request to answer", buckets=_SECONDS, **make)
        self._queued = Histogram("proa_queue_seconds", "Waiting for a run", buckets=_SECONDS, **make)
        self._computed = Histogram("proa_compute_seconds", "Runs of the model", buckets=_SECONDS, **make)
        self._rows = Histogram("proa_batch_rows", "Rows of a run", buckets=_ROWS, **make)
        self._pending = Gauge("proa_pending_requests", "Requests that wait or are computed", **make)

    def watch(self, pending):
        self._pending.set_function(pending)

    def answered(self, code, seconds):
        self._answers.labels(str(code)).inc()
        self._seconds.observe(seconds)

    def queued(self, seconds):
        self._queued.observe(seconds)

    def computed(self, seconds, rows):
        self._computed.observe(seconds)
        self._rows.observe(rows)

    def text(self):
        return generate_latest(self._registry)
