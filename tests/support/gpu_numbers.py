"""What a GPU may change of a record."""

SPLIT_NOISE = 1e-4
"""The same between two token budgets: the kernels of a GPU depend on the number of rows."""


def numbers(record, other):
    """Return what two records of an item have in common that is a number."""
    both = [("value", record.value, other.value)]
    both += [(k, v, other.detail[k]) for k, v in record.detail.items()]
    return [(k, a, b) for k, a, b in both if isinstance(a, float) and isinstance(b, float)]


def gap(record):
    """Return how far the two sentences of a pair are apart."""
    return record.detail["more"] - record.detail["less"]
