"""Counters of an engine's `/metrics` by the process they belong to, for differences between two moments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from console.engines.base import Reply
from console.engines.metrics import Metrics
from console.schema.traffic import Counted, Counters
from console.untrusted import decode


def tallies(reply: Reply, names: Mapping[str, str], labels: Sequence[str]) -> Counters:
    """`names`: field of Counted → metric. Samples that share the values of `labels` are of one process.

    Only the metric itself and its `_total` count: a `_created` beside it is a time.
    """
    if reply.status != 200:
        return Counters()
    metrics = Metrics.parse(decode(reply.body))
    found: dict[str, dict[str, float]] = {}
    for field, name in names.items():
        for sample in (*metrics.samples.get(name, ()), *metrics.samples.get(f"{name}_total", ())):
            label = ",".join(f"{key}={sample.labels[key]}" for key in labels if key in sample.labels)
            values = found.setdefault(label, {})
            values[field] = values.get(field, 0.0) + sample.value
    return Counters({label: Counted(**values) for label, values in found.items()})
