"""Scores sentences with one library, in a process of its own and perhaps in its own environment.

    python benchmarks/child/scores.py JOB.json SCORES.json

It stands in a folder of its own, where no file shadows a package that it imports.
"""

import importlib.metadata
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch

WARM_UP = {"cpu": 2, "cuda": 500}
"""Sentences scored before the time is taken: on a GPU, enough for most shapes."""

Job = dict[str, Any]


class Answer(NamedTuple):
    """Sums of log-probabilities in nats; what the forwards took, where the library tells."""

    scores: list[float]
    model_seconds: float | None = None


class Library(NamedTuple):
    """A package, and how it is loaded and asked."""

    package: str
    load: Callable[[Job], Callable[[list[str]], Answer]]


def ours(job: Job) -> Callable[[list[str]], Answer]:
    """pytest-bias, with whichever log-likelihood the model has."""
    from pytest_bias.models import load

    model = load(job["model"], device=job["device"], dtype="float32")

    def score(texts: list[str]) -> Answer:
        before = model.meter.seconds
        scores = model.score(texts)
        if reasons := {s.reason for s in scores} - {None}:
            raise ValueError(f"unscored: {reasons}")
        return Answer([s.total for s in scores], model.meter.seconds - before)

    return score


def minicons(job: Job) -> Callable[[list[str]], Answer]:
    """minicons: pseudo-log-likelihoods of Salazar et al., in batches of sentences."""
    from minicons.scorer import MaskedLMScorer

    scorer, size = MaskedLMScorer(job["model"], job["device"]), job["batch"]

    def score(texts: list[str]) -> Answer:
        found: list[float] = []
        for start in range(0, len(texts), size):
            found += scorer.sequence_score(
                texts[start : start + size],
                reduction=lambda x: x.sum(0).item(),
                PLL_metric="original",
            )
        return Answer(found)

    return score


def harness(job: Job) -> Callable[[list[str]], Answer]:
    """lm-evaluation-harness: its requests for log-likelihoods, with an empty context."""
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    model = HFLM(job["model"], device=job["device"], batch_size=job["batch"], dtype="float32")

    def score(texts: list[str]) -> Answer:
        requests = [Instance("loglikelihood", {}, ("", text), n) for n, text in enumerate(texts)]
        return Answer([total for total, _ in model.loglikelihood(requests, disable_tqdm=True)])

    return score


LIBRARIES = {
    "pytest-bias": Library("pytest-bias", ours),
    "minicons": Library("minicons", minicons),
    "harness": Library("lm_eval", harness),
}


def main() -> None:
    """Load, warm up, score; the time is that of the fastest of the repeats."""
    job = json.loads(Path(sys.argv[1]).read_text())
    torch.set_num_threads(job["threads"])
    package, load = LIBRARIES[job["library"]]
    score = load(job)
    score(job["texts"][: WARM_UP[job["device"]]])
    found: Job = {"seconds": float("inf")}
    for _ in range(job["repeats"]):
        wall, cpu = time.perf_counter(), time.process_time()
        answer = score(job["texts"])
        seconds, cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
        if seconds < found["seconds"]:
            found = {"seconds": seconds, "cpu_seconds": cpu_seconds, **answer._asdict()}
    names = (package, "torch", "transformers")
    found["versions"] = {name: importlib.metadata.version(name) for name in names}
    if torch.cuda.is_available():
        found["gpu_bytes"] = torch.cuda.max_memory_allocated()
    Path(sys.argv[2]).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
