"""StepTimer: what steps cost: reading, the whole, throughput. The `timer_only` part of a Profiler."""

import time


class _Mean:
    """Mean, extremes and number of some seconds."""

    def __init__(self):
        self.count, self.total, self.least, self.most = 0, 0.0, float("inf"), 0.0

    def add(self, value):
        self.count += 1
        self.total += value
        self.least = min(self.least, value)
        self.most = max(self.most, value)

    @property
    def mean(self):
        return self.total / self.count if self.count else 0.0


class _Costs:
    def __init__(self):
        self.reader, self.batch, self.speed = _Mean(), _Mean(), _Mean()
        self.samples = 0
        self.counts_samples = False

    def add(self, reader, batch, samples):
        self.reader.add(reader)
        self.batch.add(batch)
        if samples is not None:
            self.counts_samples = True
            self.samples += samples
        if batch > 0:
            self.speed.add((samples if samples is not None else 1) / batch)

    @property
    def per_second(self):
        """Over all steps; not the mean of their speeds, in which slow ones count too little."""
        done = self.samples if self.counts_samples else self.batch.count
        return done / self.batch.total if self.batch.total > 0 else 0.0


class StepTimer:
    """Times steps. An observer of readers (`proa.io.reader_cost`).

    Args:
        clock (Callable): gives seconds.
    """

    def __init__(self, clock=time.perf_counter):
        self._clock = clock
        self._since = None  # the beginning of this step
        self._read_since = None
        self._reading = 0.0  # within this step
        self.recent = _Costs()  # since the last info()
        self.all = _Costs()

    def start(self):
        self._since = self._clock()
        self._reading = 0.0

    def before_read(self):
        self._read_since = self._clock()

    def after_read(self):
        if self._read_since is not None:
            self._reading += self._clock() - self._read_since
            self._read_since = None

    def step(self, num_samples=None):
        if self._since is None:
            return
        now = self._clock()
        for costs in (self.recent, self.all):
            costs.add(self._reading, max(now - self._since, 0.0), num_samples)
        self._since, self._reading = now, 0.0

    def info(self, unit=None):
        """Means since the last call, as text."""
        recent, self.recent = self.recent, _Costs()
        if not recent.batch.count:
            return ""
        unit = f"{unit or 'samples'}/s" if recent.counts_samples else "steps/s"
        return (
            f" reader_cost: {recent.reader.mean:.5f} s batch_cost: {recent.batch.mean:.5f} s"
            f" ips: {recent.per_second:.3f} {unit}"
        )

    def report(self):
        """A table over all steps."""
        costs = self.all
        if not costs.batch.count:
            return "No steps were timed."
        unit = "samples/s" if costs.counts_samples else "steps/s"
        share = costs.reader.total / costs.batch.total if costs.batch.total > 0 else 0.0
        rule = "-" * 60
        lines = [
            "Perf Summary".center(60, "="),
            f"Steps: {costs.batch.count}   Reader Ratio: {100 * share:.3f}%",
            f"Time Unit: s, IPS Unit: {unit}",
            rule,
            f"{'':<12}{'avg':>16}{'max':>16}{'min':>16}",
        ]
        for name, m, mean in (
            ("reader_cost", costs.reader, costs.reader.mean),
            ("batch_cost", costs.batch, costs.batch.mean),
            ("ips", costs.speed, costs.per_second),
        ):
            least = m.least if m.count else 0.0
            lines.append(f"{name:<12}{mean:>16.5f}{m.most:>16.5f}{least:>16.5f}")
        return "\n".join([*lines, rule])
