"""Rows of models that do not exist: as many as a large fleet has, with all that can be missing."""

import random
from dataclasses import replace
from itertools import count, islice

from pytest_bias.fleet.rows import NO_BASE_NAMED, Cell, Row, failed
from pytest_bias.suites.catalogue import installed

STATUSES = (
    ("not_applicable", "the model cannot write texts, which {} asks for"),
    ("skipped", "the licence of {} was not accepted: accept_licences: {{{}: CC-BY-NC-SA-4.0}}"),
    ("error", "{}: the tokenizer has no mask token"),
    ("inconclusive", "{} of 12 items could not be scored"),
)
KINDS = ("masked", "causal", "seq2seq", "encoder")
FAMILIES = ("bert", "gpt", "llama", "roberta", "t5", "opt", "phi", "qwen")


def headlines() -> list[Cell]:
    """Return a cell for every configuration of the installed suites, without numbers."""
    found = []
    for suite in installed():
        metrics = [m for m in suite.measures[0].metrics if m.headline]
        for configuration in suite.configurations:
            cell = Cell(
                *(suite.name, configuration.name, suite.version, suite.kind, "scored"),
                title=suite.title,
                language=configuration.language,
                validity=suite.validity,
                metric=metrics[0].name,
                ideal=metrics[0].ideal,
                bounds=metrics[0].bounds,
                unit=metrics[0].unit,
                level=0.95,
            )
            found.append(cell)
    return found


def simulated(n_models: int = 500, n_entries: int = 30, seed: int = 0) -> list[Row]:
    """Return rows: one in 40 failed, one in 50 was interrupted, every third has a base model."""
    rng = random.Random(seed)
    every = headlines()
    step = max(1, len(every) // n_entries)
    entries = list(islice(every, 0, None, step))[:n_entries]
    if len(entries) < n_entries:
        raise ValueError(f"{len(every)} entries are installed")
    rows = []
    for i in islice(count(), n_models):
        name = f"org-{i % 17}/{rng.choice(FAMILIES)}-{i:03}"
        if i % 40 == 7:
            rows.append(failed(name, f"{name} has no safetensors, and pickle is not allowed"))
            continue
        base = f"org-{i % 17}/base-{i % 5}" if i % 3 == 0 else None
        interrupted = i % 50 == 9
        kept = entries[: n_entries // 2] if interrupted else entries
        row = Row(
            asked=name,
            status="interrupted" if interrupted else "measured",
            reason="the run was interrupted" if interrupted else None,
            reference=name,
            revision=f"{rng.getrandbits(160):040x}",
            kind=KINDS[i % 4],
            architecture="BertForMaskedLM",
            parameters=rng.randrange(10**6, 10**10) if i % 11 else None,
            weights=f"{rng.getrandbits(256):064x}",
            dtype="float32",
            digest=f"sha256:{rng.getrandbits(256):064x}",
            base_model=base,
            compared_with=base,
            report=f"{i:03}-model",
            cells=tuple(_filled(c, rng, base is not None) for c in kept),
        )
        rows.append(row)
    return rows


def _filled(cell: Cell, rng: random.Random, compared: bool) -> Cell:
    if rng.random() < 0.2:
        status, why = rng.choice(STATUSES)
        empty = {"metric": None, "ideal": None, "bounds": None, "unit": None, "level": None}
        reason = why.format(cell.suite, cell.suite)
        return replace(cell, **empty, status=status, reason=reason, change_reason="it has no value")
    ideal = cell.ideal or 0.0
    scale = {"%": 30.0}.get(cell.unit or "", 0.5)
    value = ideal + scale * (rng.random() - (1 if ideal == 100 else 0.2))
    half = scale * (0.05 + 0.1 * rng.random())
    moved = scale * (rng.random() - 0.5)
    has_interval = rng.random() > 0.05
    found = replace(
        cell,
        value=value,
        low=value - half if has_interval else None,
        high=value + half if has_interval else None,
        interval_reason=None if has_interval else "an unsigned mean",
        n=rng.randrange(20, 5000),
        n_unscored=rng.choice((0, 0, 0, 3)),
        sampled=rng.choice((None, None, None, 200)),
        n_available=1508,
    )
    if not compared:
        return replace(found, change_reason=NO_BASE_NAMED)
    if rng.random() < 0.1:
        return replace(found, change_reason="other data (1234567, now 7654321)")
    return replace(found, change=moved, change_low=moved - half, change_high=moved + half)
