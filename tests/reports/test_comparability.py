"""When two reports cannot be compared, why, what to do, and what a regression limit makes of it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from made import record, report, result, score
from pytest_bias.records.report import DataInfo, Record, Report, SuiteResult
from pytest_bias.records.score import Score
from pytest_bias.reports.comparison import SuiteComparison, compare
from pytest_bias.reports.decision import Outcome
from pytest_bias.reports.limits import decide, named_by, read_limits
from pytest_bias.scoring.statistics import benjamini_hochberg
from pytest_bias.suites import find
from pytest_bias.suites.results import scored

DATA = DataInfo("made/up", "CC-BY-4.0", sha256="aaaa", n_items=8)
STEPS = [0.5, 0.0, 1.0, 0.25, 0.0, 0.75, -0.25, 0.0] * 4


def records(values: Sequence[float]) -> tuple[Record, ...]:
    return tuple(
        record(f"association/{n:04d}", v, by={"axis": "gender"}, text_sha256=f"{n:04x}")
        for n, v in enumerate(values)
    )


def association(values: Sequence[float] = STEPS, **more: Any) -> SuiteResult:
    """Return a measured template association, then changed as asked."""
    suite = find("template_association")
    made = result(
        suite.name,
        title=suite.title,
        data=DATA,
        measure=suite.measures[0].name,
        records=records(values),
    )
    return replace(scored(made, suite, seed=0), **more)


NOW = association()


def of_kind(kind: str, **more: Any) -> Report:
    made = report(NOW, **more)
    return replace(made, model=replace(made.model, kind=kind))


def against(baseline: Report) -> SuiteComparison:
    return next(s for s in compare(report(NOW), baseline).suites if s.entry == NOW.entry)


@pytest.mark.parametrize(
    ("baseline", "reason"),
    [
        (
            report(),
            "the baseline did not measure it; measure the baseline again with this suite",
        ),
        (
            report(replace(NOW, config="fr")),
            "the baseline did not measure it; measure the baseline again with this suite",
        ),
        (report(replace(NOW, status="skipped")), "in the baseline it is skipped"),
        (report(replace(NOW, status="not_applicable")), "in the baseline it is not applicable"),
        (report(replace(NOW, status="inconclusive")), "in the baseline it is inconclusive"),
        (report(replace(NOW, status="withheld")), "in the baseline it is withheld"),
        (
            report(replace(NOW, version="0")),
            "another version of the suite (0, now 3); measure the baseline again",
        ),
        (
            report(replace(NOW, measure="by guess")),
            "another measure (by guess, now log-probability ratio at one mask); "
            "measure the baseline again",
        ),
        (
            of_kind("causal"),
            "another kind of model (causal, now masked); measure the baseline again",
        ),
        (
            report(replace(NOW, data=replace(DATA, sha256="bbbb"))),
            "other data (bbbb, now aaaa); measure the baseline again",
        ),
        (
            report(replace(NOW, data=None)),
            "other data (None, now aaaa); measure the baseline again",
        ),
        (
            report(replace(NOW, records=())),
            "the records are missing; both reports need their records folder",
        ),
        (
            report(association(STEPS[:-2])),
            "another set of items (2 are in one report only); "
            "measure both with the same --profile and --seed, without --budget",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_compared_is_refused_with_the_reason(baseline, reason):
    found = against(baseline)
    assert (found.entry, found.title) == ("template_association[en]", "Template association")
    assert (found.reason, found.changes) == (reason, ())


def test_another_seed_that_drew_other_items_is_refused_either_way():
    drawn = (association(records=NOW.records[:20]), association(records=NOW.records[12:]))
    for ours, theirs in (drawn, drawn[::-1]):
        (found,) = compare(report(ours), report(theirs)).suites
        # Twelve are in the one only, and twelve in the other.
        assert "another set of items (24 are in one report only)" in found.reason


def test_items_with_other_texts_are_other_items():
    other = replace(NOW, records=(replace(NOW.records[0], text_sha256="ffff"), *NOW.records[1:]))
    found = against(report(other))
    assert found.changes == ()
    assert found.reason == "1 items have another text; measure the baseline again"


@pytest.mark.parametrize(
    ("ours", "reason"),
    [
        ((), "only the baseline measured it; measure the model again with this suite"),
        ((replace(NOW, status="error"),), "it is error now"),
        ((replace(NOW, status="not_applicable"),), "it is not applicable now"),
    ],
    ids=["gone", "error", "not applicable"],
)
def test_a_suite_that_only_the_baseline_measured_is_named(ours, reason):
    (found,) = compare(report(*ours), report(NOW)).suites
    assert (found.entry, found.reason, found.changes) == (NOW.entry, reason, ())


def test_what_neither_measured_is_no_news():
    skipped = replace(NOW, status="skipped")
    assert compare(report(skipped), report(skipped)).suites == ()


def test_records_of_another_version_are_not_read_by_the_rules_of_this_one():
    old = replace(NOW, version="0")
    (found,) = compare(report(old), report(old)).suites
    assert found.reason == (
        "both are of version 0 of the suite, 3 is installed; measure both again"
    )


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"measure": "by guess"}, "by guess"),
        ({"scores": (replace(NOW.scores[0], metric="old_metric"),)}, "no metric old_metric"),
    ],
    ids=["measure", "metric"],
)
def test_what_the_installed_suite_does_not_know_is_refused_for_that_suite(more, reason):
    made = replace(NOW, **more)
    (found,) = compare(report(made), report(made)).suites
    assert reason in found.reason
    assert found.changes == ()


def test_a_headline_without_a_value_is_noted():
    void = replace(NOW.headline, value=None, interval=None, note="6 of 32 items unscored")
    scores = tuple(void if s.headline else s for s in NOW.scores)
    found = against(report(replace(NOW, scores=scores)))
    assert found.note == "no headline before: 6 of 32 items unscored"


def test_a_suite_that_is_not_installed_here_is_refused_by_name():
    made = replace(NOW, name="template_asociation")
    (found,) = compare(report(made), report(made)).suites
    assert found.changes == ()
    assert "'template_asociation' is not known" in found.reason
    assert "'template_association'" in found.reason


def test_one_refused_suite_leaves_the_others():
    other = replace(NOW, config="de", language="de")
    found = compare(report(NOW, other), report(replace(NOW, version="0"), other))
    assert [(s.entry, bool(s.changes)) for s in found.suites] == [
        ("template_association[en]", False),
        ("template_association[de]", True),
    ]
    assert found.reason(NOW.entry).startswith("another version")
    assert found.reason(other.entry) == "the baseline has no such score"


def test_only_what_was_scored_now_is_compared_and_structure_never():
    checks = result("structure", "all", kind="structure", scores=NOW.scores)
    skipped = replace(NOW, config="fr", status="skipped")
    made = report(checks, skipped, NOW)
    assert [s.entry for s in compare(made, made).suites] == [NOW.entry]


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        ({"revision": "abc", "weights_sha256": "w", "parameters": 1}, {}),
        ({"reference": "other/name", "architecture": "RobertaForMaskedLM"}, {}),
        ({"config_sha256": "c", "tokenizer_sha256": "t"}, {}),
        ({}, {"profile": "full", "requested": ["template_association"]}),
        ({}, {"seed": 9}),
    ],
    ids=["weights", "architecture", "tokenizer", "profile", "seed"],
)
def test_another_model_of_the_kind_on_the_same_items_is_comparable(model, settings):
    before = report(association([0.0] * 32))
    before = replace(
        before,
        model=replace(before.model, **model),
        settings={**before.settings, **settings},
    )
    found = against(before)
    assert (found.reason, found.note) == (None, None)
    assert found.changes[0].change.value == pytest.approx(0.28125)


def test_another_precision_is_compared_and_said():
    before = report(NOW)
    before = replace(before, model=replace(before.model, dtype="bfloat16"))
    found = against(before)
    assert (found.reason, found.note) == (None, "bfloat16 before, float32 now")
    assert found.changes[0].n == 32


def test_a_change_is_found_by_entry_and_score():
    made = compare(report(NOW), report(association([0.0] * 32)))
    gender = NOW.score("association", axis="gender")
    assert made.change(NOW.entry, gender).current == gender
    assert made.change(NOW.entry, NOW.headline).current == NOW.headline
    assert made.change("template_association[de]", NOW.headline) is None
    assert made.change(NOW.entry, replace(gender, by={"axis": "age"})) is None
    assert made.change(NOW.entry, replace(gender, metric="other")) is None
    assert made.reason(NOW.entry) == "the baseline has no such score"
    refused = compare(report(NOW), report())
    assert refused.change(NOW.entry, NOW.headline) is None
    assert refused.reason(NOW.entry).startswith("the baseline did not measure it")


def regression(points: float, before: Report, **rules: Any) -> tuple[Outcome, int]:
    limit = {"template_association.association": {"max_regression": {"points": points}} | rules}
    now = report(NOW)
    decision = decide(now, read_limits(limit), compare(now, before))
    (outcome,) = decision.outcomes
    return outcome, decision.exit_code


# From nothing to 0.28 nats, give or take 0.15.
WORSE = report(association([0.0] * 32))


@pytest.mark.parametrize(
    ("points", "verdict", "code"), [(1, "held", 0), (0.28, "undecided", 0), (0.1, "exceeded", 1)]
)
def test_the_whole_interval_of_the_worsening_decides_on_a_regression(points, verdict, code):
    outcome, exit_code = regression(points, WORSE)
    assert (outcome.verdict, exit_code) == (verdict, code)
    assert outcome.value == pytest.approx(0.28125)
    assert outcome.interval[0] < 0.28 < outcome.interval[1]


def test_an_undecided_regression_fails_where_the_project_says_so():
    assert regression(0.28, WORSE, undecided="fail")[1] == 3


def test_an_improvement_is_held_however_large():
    before = report(association([s + 9 for s in STEPS[::-1]]))
    outcome, code = regression(0, before)
    assert (outcome.verdict, code) == ("held", 0)
    assert outcome.value == pytest.approx(-9)


def test_no_change_at_all_is_held():
    outcome, code = regression(0, report(NOW))
    assert (outcome.verdict, code) == ("held", 0)
    assert (outcome.value, outcome.interval) == (0, (0, 0))


def test_a_regression_without_an_interval_is_undecided_with_the_reason():
    outcome, code = regression(0.1, report(association([s + 9 for s in STEPS])))
    assert (outcome.verdict, code) == ("undecided", 0)
    assert outcome.reason == "no interval: all items changed by the same"


def test_what_cannot_be_compared_is_never_held():
    outcome, code = regression(99, report(replace(NOW, version="0")))
    assert (outcome.verdict, code) == ("not_measured", 3)
    assert outcome.reason.startswith("not comparable: another version of the suite (0, now 3)")


def test_a_score_that_the_baseline_lacks_is_never_held():
    before: tuple[Score, ...] = tuple(s for s in NOW.scores if s.by)
    outcome, code = regression(99, report(replace(NOW, scores=before)))
    assert (outcome.verdict, code) == ("not_measured", 3)
    assert outcome.reason == "not comparable: the baseline has no such score"


def test_headlines_are_one_family_and_groups_another():
    rng = np.random.default_rng(8)
    then = rng.normal(size=60)
    now = then + rng.normal(0.1, 0.5, 60)
    made = [association(list(v)) for v in (now, then)]
    twin = [replace(s, config="fr", language="fr") for s in made]
    (alone,) = compare(report(made[0]), report(made[1])).suites
    both = compare(report(made[0], twin[0]), report(made[1], twin[1])).suites
    (headline,) = [c for c in alone.changes if c.current.headline]
    assert headline.family == "decision"
    assert headline.p_adjusted == headline.change.p_value
    first, second = (c for s in both for c in s.changes if c.current.headline)
    # Another seed by its configuration: the p-values differ a little, the smaller counts twice.
    p_values = sorted((first.change.p_value, second.change.p_value))
    assert max(first.p_adjusted, second.p_adjusted) == pytest.approx(
        max(2 * p_values[0], p_values[1])
    )
    groups = [c for c in alone.changes if c.current.by]
    assert {c.family for c in groups} == {"exploratory"}
    assert [c.p_adjusted for c in groups] == benjamini_hochberg([c.change.p_value for c in groups])


def test_a_group_that_a_limit_names_is_decided_on():
    now, then = association(STEPS), association([0.0] * 32)
    group = next(s for s in now.scores if s.by)
    limit = ",".join(f"{k}={v}" for k, v in group.by.items())
    limits = read_limits(
        {f"template_association.association[{limit}]": {"max_regression": {"points": 1}}}
    )
    (found,) = compare(report(now), report(then), named_by(limits), 0.99).suites
    (named,) = [c for c in found.changes if c.current == group]
    assert named.family == "decision"
    # The interval that decides is wider, from the same resamples.
    wide, narrow = named.decisive.interval, named.worsening.interval
    assert wide[0] < narrow[0] < narrow[1] < wide[1]
    others = [c for c in found.changes if c.current != group]
    assert all(c.decisive == c.worsening for c in others)


def test_a_control_is_compared_but_not_decided_on():
    now, then = (replace(association(v), control_of="de") for v in (STEPS, [0.0] * 32))
    (found,) = compare(report(now), report(then)).suites
    assert {c.family for c in found.changes} == {"exploratory"}


def bbq(measure: int, **settings: Any) -> SuiteComparison:
    """Compare a result of BBQ with one that was asked by other settings."""
    suite = find("bbq")
    found = result(
        "bbq",
        "en-options",
        measure=suite.measures_of("en-options")[measure].name,
        scores=[
            score("bias_ambiguous"),
            score(("label_mass", "answered")[measure], headline=False),
        ],
        records=records([0.5] * 8),
    )
    plain = report(found)
    other = replace(plain, settings={**plain.settings, **settings})
    (compared,) = compare(plain, other).suites
    return compared


LETTERS, TEXT = 0, 1


@pytest.mark.parametrize("measure", [LETTERS, TEXT])
def test_prompts_with_another_template_or_system_text_are_other_prompts(measure: int) -> None:
    assert bbq(measure, chat="on").reason == "chat on, now off; measure both with --chat off"
    told = "another system text; measure both with the same --system"
    assert bbq(measure, system="Be brief.").reason == told


def test_a_greedy_answer_is_not_compared_with_samples() -> None:
    told = "answers sampled, now decoded greedily; measure both with --answer-samples 1"
    assert bbq(TEXT, answer_samples=5).reason == told
