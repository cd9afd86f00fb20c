"""What lm-evaluation-harness logged for a tiny model is what our own code finds for the sentences.

The logs are committed (tests/data/answer_logs); the models are built in code, with seeded weights.
"""

from pathlib import Path

import pytest

import ours
import tiny_models
from pytest_bias.data.answer_logs import read_answers

LOGS = Path(__file__).parents[1] / "data" / "answer_logs" / "lm_eval"
NATS = 1e-4


@pytest.mark.parametrize("begin", [False, True], ids=["EOS", "BOS"])
def test_logged_log_likelihoods_are_ours(begin, tmp_path, measured):
    """The first token is conditioned on the token that is named in the test's id."""
    model = tiny_models.gpt2(tmp_path, begin=begin)
    (path,) = (LOGS / ("gpt2_begin" if begin else "gpt2") / "crows_pairs_english").glob(
        "samples_*.jsonl"
    )
    logged = [(t, v) for a in read_answers([path]).answers for t, v in a.values.items()]
    assert len(logged) == 8
    found = ours.model(model).log_likelihood([text for text, _ in logged])
    differences = [
        abs(theirs - score.total) for (_, theirs), score in zip(logged, found, strict=True)
    ]
    measured(f"{len(logged)} sentences", max(differences))
    assert max(differences) < NATS
