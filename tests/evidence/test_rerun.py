"""Under which settings a report is run again, and which model that is."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from made import report, result, score
from pytest_bias.errors import ReportError, UsageError
from pytest_bias.evidence.locate import Named
from pytest_bias.evidence.rerun import settings_of
from pytest_bias.models import ModelRef
from pytest_bias.records.identity import ScorerIdentity
from pytest_bias.records.report import Report
from pytest_bias.settings.settings import Settings

SETTINGS = {"requested": ["crows_pairs"], "profile": "standard", "seed": 7, "chat": "off"}
ALONE = Named(report=Path("out"), is_run=True)


def made(model: str = "org/name", *suites: Any, **more: Any) -> Report:
    return report(*(suites or [result(scores=[score()])]), model=model, settings=SETTINGS, **more)


def again(one: Report, found: Named = ALONE, given: Settings | None = None) -> Settings:
    return settings_of(one, found, given or Settings(), "out")


def test_what_changes_scores_is_that_of_the_report():
    one = made(coverage={"languages": ["en", "fr"], "social_suites": ["crows_pairs"]})
    one = replace(one, model=replace(one.model, dtype="bfloat16"))
    found = again(one, given=Settings(suites=("seat",), languages=("de",), seed=1, profile="quick"))
    assert (found.suites, found.languages) == (("crows_pairs",), ("en", "fr"))
    assert (found.profile, found.seed, found.chat) == ("standard", 7, "off")
    assert (found.dtype, found.limits, found.baseline) == ("bfloat16", {}, None)


def test_what_is_of_this_machine_is_as_given():
    given = Settings(
        device="cuda:1", data_dir=Path("data"), out=Path("mine"), accept_licences={"seat": "CC"}
    )
    found = again(made(), given=given)
    assert (found.device, found.data_dir, found.out) == ("cuda:1", Path("data"), Path("mine"))
    assert found.accept_licences == {"seat": "CC"}


def test_the_folder_is_not_that_of_the_first_run():
    one = made()
    assert again(one).out == Path("bias-report") / f"org-name-again-{one.digest[7:14]}"


@pytest.mark.parametrize(
    ("reference", "revision", "model"),
    [
        ("demo", None, "demo"),
        ("org/name", "1" * 40, f"org/name@{'1' * 40}"),
        ("org/name", None, "org/name"),
    ],
)
def test_the_model_is_the_one_that_was_measured(reference, revision, model):
    one = made(reference)
    one = replace(one, model=replace(one.model, revision=revision))
    assert again(one).model == model


def test_a_folder_has_to_be_named():
    with pytest.raises(UsageError, match="which model is it here") as error:
        again(made("checkpoint"))
    assert "--model DIR" in str(error.value)
    assert again(made("checkpoint"), given=Settings(model="./there")).model == "./there"


def test_a_report_in_a_folder_is_of_the_model_that_lies_there(tmp_path):
    ref = ModelRef.parse(str(tmp_path))
    found = replace(ALONE, ref=ref)
    assert again(made("checkpoint"), found).model == str(tmp_path)


def test_scorers_and_labels_are_those_of_the_report():
    scorer = ScorerIdentity("toxicity", "org/toxic", revision="2" * 40)
    one = made(
        "org/name",
        result("realtoxicityprompts", scores=[score()], scorer=scorer, labels={"toxic": "LABEL_1"}),
    )
    found = again(one)
    assert found.scorers == {"toxicity": f"org/toxic@{'2' * 40}"}
    assert found.labels == {"toxicity": {"toxic": "LABEL_1"}}


def test_a_sample_by_time_cannot_be_taken_again():
    one = made("org/name", result(scores=[score()], sampled=100, n_available=1508))
    with pytest.raises(ReportError, match="--budget"):
        again(one)
    quick = replace(one, settings={**SETTINGS, "profile": "quick"})
    assert again(quick).profile == "quick"


@pytest.mark.parametrize("name", sorted(SETTINGS))
def test_a_report_that_does_not_say_how_it_was_made(name):
    one = replace(made(), settings={k: v for k, v in SETTINGS.items() if k != name})
    with pytest.raises(ReportError, match=f"does not say how it was made: {name}"):
        again(one)
