"""Waivers: what is read, which runs they let through, and that they hide nothing."""

import io
import json
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from rich.console import Console

from made import report, result, score
from pytest_bias.ci.github.provider import GitHub
from pytest_bias.ci.steps.measure import worst
from pytest_bias.ci.steps.tell import annotations
from pytest_bias.emit import comment, page, summary, terminal
from pytest_bias.emit.verdict import because, decided
from pytest_bias.errors import UsageError
from pytest_bias.forms.yaml_with_lines import Marked, as_texts
from pytest_bias.records.report import Report
from pytest_bias.records.score import Score
from pytest_bias.reports.decision import Decision, read_decision
from pytest_bias.reports.limits import decide, limits_of, read_limits
from pytest_bias.reports.withholding import withheld, without_numbers
from pytest_bias.settings.settings import Settings, from_json, read_settings, to_json
from pytest_bias.settings.waivers import WAIVERS, Waiver

PREFERENCE: Final = "crows_pairs.stereotype_preference"
UNTIL: Final = date(2027, 3, 1)
WHY: Final = "known since January; retraining is planned"
EXCEEDED: Final = score(value=70, interval=(65, 75))
UNDECIDED: Final = score(value=60, interval=(55, 65))
HELD: Final = score(value=50, interval=(45, 55))


def waiver(**more: Any) -> dict[str, Any]:
    return {"limit": PREFERENCE, "reason": WHY, "until": UNTIL} | more


def policy(waive: Sequence[Any] | None = None, **limits: Any) -> Settings:
    limits = limits or {PREFERENCE: {"max_distance": 10}}
    return Settings(limits=limits, waive=tuple([waiver()] if waive is None else waive))


def made(*scores: Score) -> Report:
    return report(result(scores=scores))


def decision(
    found: Score, settings: Settings | None = None, day: date = UNTIL, **more: Any
) -> Decision:
    return decide(made(found), limits_of(settings or policy()), today=day, **more)


# What is read


def read_waivers(given: Any) -> tuple[Waiver, ...]:
    return WAIVERS(Marked(), ("waive",), as_texts(given))


@pytest.mark.parametrize("until", [UNTIL, "2027-03-01", " 2027-03-01 "])
def test_a_day_is_a_date_or_a_text(until):
    (read,) = read_waivers([waiver(until=until)])
    assert (read.limit, read.reason, read.until, read.rule) == (PREFERENCE, WHY, UNTIL, None)


FILES: Final = {
    "pytest-bias.yaml": f"""
limits: {{{PREFERENCE}: {{max_distance: 10}}}}
waive:
  - {{limit: {PREFERENCE}, reason: "{WHY}", until: 2027-03-01}}
""",
    "pyproject.toml": f"""
[tool.pytest-bias.limits]
"{PREFERENCE}" = {{max_distance = 10}}
[[tool.pytest-bias.waive]]
limit = "{PREFERENCE}"
reason = "{WHY}"
until = 2027-03-01
""",
}


@pytest.mark.parametrize("name", FILES)
def test_every_settings_file_and_every_process_reads_the_same(tmp_path: Path, name):
    (tmp_path / name).write_text(FILES[name], encoding="utf-8")
    settings = read_settings({}, environment={}, folder=tmp_path)
    for read in (settings, from_json(to_json(settings))):
        (limit,) = limits_of(read)
        assert limit.waiver("max_distance") == read_waivers([waiver()])[0]


@pytest.mark.parametrize(
    ("waive", "message"),
    [
        ({"limit": PREFERENCE}, "must be a list of waivers"),
        ("all", "must be a list of waivers"),
        ([PREFERENCE], "waive[1]: a waiver must be a table, not 'crows_pairs.stereotype_pref"),
        ([waiver(), {"reason": WHY, "until": UNTIL}], "waive[2]: a waiver lacks limit"),
        ([waiver(limit=[3])], "limit: must be a text, not a list"),
        ([waiver(reason=None)], "a waiver lacks reason"),
        ([waiver(reason="  ")], "reason: must be a text, not '  '"),
        ([waiver(until=None)], "until: the last day on which it is waived"),
        ([waiver(until="soon")], "until: must be a day, not 'soon': as in 2027-03-01"),
        ([waiver(until="2027-02-30")], "until: must be a day, not '2027-02-30': day "),
        ([waiver(until="20270301")], "until: must be a day, not '20270301'"),
        ([waiver(until=20270301)], "until: must be a day, not '20270301'"),
        ([waiver(until=True)], "until: must be a day, not 'true'"),
        ([waiver(untill=UNTIL)], "'untill' is not known. Did you mean 'until'?"),
        ([waiver(rule="max_distanse")], "Did you mean 'max_distance'?"),
    ],
)
def test_what_is_no_waiver_is_refused_where_it_stands(tmp_path: Path, waive, message):
    file = tmp_path / "pytest-bias.yaml"
    file.write_text(json.dumps({"waive": waive}, default=str), encoding="utf-8")
    for read in (lambda: read_waivers(waive), lambda: read_settings({"config": file})):
        with pytest.raises(UsageError) as caught:
            read()
        assert message in str(caught.value)
    assert f"{file}, line 1: waive" in caught.value.message


def test_a_time_is_no_day(tmp_path: Path):
    file = tmp_path / "pytest-bias.yaml"
    text = f"waive: [{{limit: {PREFERENCE}, reason: x, until: 2027-03-01 10:00:00}}]"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match="until: must be a day, not '2027-03-01 10:00:00'"):
        read_settings({"config": file})


@pytest.mark.parametrize(
    ("waive", "message"),
    [
        (waiver(limit="crows_pairs.stereotype_prefrence"), f"Did you mean '{PREFERENCE}'?"),
        (waiver(limit="seat.mean_absolute_effect"), "limit 'seat.mean_absolute_effect' is not k"),
        (waiver(limit=f"{PREFERENCE}[bias_type=age]"), "is not known"),
        (waiver(limit="crows_pairs[en].stereotype_preference"), "is not known"),
        (waiver(rule="max_regression"), "has no max_regression"),
    ],
)
def test_a_waiver_names_a_limit_of_the_project(tmp_path: Path, waive, message):
    with pytest.raises(UsageError) as caught:
        limits_of(policy([waive]))
    assert message in caught.value.message
    file = tmp_path / "pytest-bias.yaml"
    lines = f"limits:\n  {PREFERENCE}: {{max_distance: 10}}\nwaive:\n- "
    file.write_text(lines + json.dumps(waive, default=str), encoding="utf-8")
    with pytest.raises(type(caught.value)) as placed:
        limits_of(read_settings({"config": file}))
    assert placed.value.message == f"{file}, line 4: {caught.value.message}"


def test_a_waiver_without_limits_and_two_of_one_limit_are_refused():
    with pytest.raises(UsageError, match="this project sets no limits"):
        read_limits({}, read_waivers([waiver()]))
    for other in (waiver(), waiver(rule="max_distance")):
        with pytest.raises(UsageError, match="waived twice"):
            limits_of(policy([waiver(), other]))


def test_spaces_and_order_do_not_make_another_limit():
    text = "template_association.association[axis=gender, group=male]"
    written = "template_association.association[group=male,axis=gender]"
    settings = policy([waiver(limit=written)], **{text: {"max_distance": 1}})
    assert limits_of(settings)[0].waiver("max_distance")


# What it does


def test_a_known_excess_does_not_fail_and_hides_nothing():
    found = decision(EXCEEDED)
    (outcome,) = found.outcomes
    assert (found.status, found.exit_code, outcome.fails) == ("waived", 0, False)
    assert (outcome.verdict, outcome.value, outcome.interval) == ("exceeded", 70, (65, 75))
    assert (outcome.waiver.state, outcome.waiver.days_left) == ("waives", 0)


@pytest.mark.parametrize(("days", "code"), [(-400, 0), (-1, 0), (0, 0), (1, 1), (400, 1)])
def test_it_holds_through_its_last_day_and_no_longer(days, code):
    found = decision(EXCEEDED, day=UNTIL + timedelta(days))
    assert found.exit_code == code
    told = because(found.outcomes[0])
    assert ("its waiver has expired, it ended with 2027-03-01" in told) is (code == 1)
    assert WHY in told


@pytest.mark.parametrize(
    ("days", "said"),
    [
        (0, "ends today"),
        (1, "ends tomorrow"),
        (14, "ends in 14 days"),
        (15, None),
    ],
)
def test_its_end_is_said_beforehand(days, said):
    found = decision(EXCEEDED, day=UNTIL - timedelta(days))
    for text in (because(found.outcomes[0]), decided(found)):
        assert (said in text) if said else ("ends" not in text)


@pytest.mark.parametrize(
    ("undecided", "state", "status"), [("fail", "waives", "waived"), ("warn", "idle", "undecided")]
)
def test_an_undecided_limit_is_waived_where_it_would_fail(undecided, state, status):
    rules = {PREFERENCE: {"max_distance": 10, "undecided": undecided}}
    found = decision(UNDECIDED, policy(**rules))
    assert (found.status, found.exit_code) == (status, 0)
    assert found.outcomes[0].waiver.state == state
    after = decision(UNDECIDED, policy(**rules), UNTIL + timedelta(1))
    assert after.exit_code == (3 if undecided == "fail" else 0)


def test_what_was_not_measured_is_never_waived():
    for suite in (result("seat"), result(status="skipped", reason="no data")):
        found = decide(report(suite), limits_of(policy()), today=UNTIL)
        assert (found.status, found.exit_code) == ("could-not-measure", 3)
        assert found.outcomes[0].waiver.state == "idle"
    regression = policy(**{PREFERENCE: {"max_regression": {"points": 2}}})
    found = decision(EXCEEDED, regression)
    assert (found.status, found.exit_code) == ("no-baseline", 3)


def test_a_waiver_of_what_is_held_is_said_to_be_unneeded():
    found = decision(HELD)
    assert (found.status, found.exit_code) == ("held", 0)
    assert "is not needed and can go" in because(found.outcomes[0])
    assert decided(found) == (
        "Every limit of this project is held. Waivers that are not needed any more: 1."
    )


def test_other_limits_fail_as_ever():
    other = f"{PREFERENCE}[bias_type=age]"
    settings = policy(**{PREFERENCE: {"max_distance": 10}, other: {"max_distance": 10}})
    age = score(value=70, interval=(65, 75), by={"bias_type": "age"}, headline=False)
    found = decide(made(EXCEEDED, age), limits_of(settings), today=UNTIL)
    assert (found.status, found.exit_code) == ("exceeded", 1)
    assert [o.fails for o in found.outcomes] == [False, True]
    assert worst(found.outcomes)["limit"] == other
    assert decided(found) == (
        "A limit of this project is exceeded. WAIVED: 1 of 2 limits, until 2027-03-01, which ends "
        "today."
    )


def test_one_rule_of_a_limit_can_be_waived():
    rules = {PREFERENCE: {"max_distance": 10, "max_regression": {"points": 2}}}
    (limit,) = limits_of(policy([waiver(rule="max_distance")], **rules))
    assert limit.waiver("max_distance")
    assert limit.waiver("max_regression") is None


# Where it is seen


def surfaces(found: Report, taken: Decision, folder: Path) -> dict[str, str]:
    console = Console(width=400, record=True, file=io.StringIO())
    terminal.show(found, taken, console)
    environment = {"INPUT_CONFIG": str(folder / "none.yaml")}
    return {
        "terminal": console.export_text(),
        "summary": summary.render(found, taken),
        "comment": comment.render(found, taken),
        "page": page.render(found, taken),
        "annotation": "\n".join(
            a.text for a in annotations("warning", GitHub(environment), taken, "")
        ),
        "decision.json": taken.to_json(),
    }


def test_verdict_value_reason_and_day_stand_together_everywhere(tmp_path: Path):
    taken = decision(EXCEEDED, day=UNTIL - timedelta(3))
    for name, text in surfaces(made(EXCEEDED), taken, tmp_path).items():
        assert WHY in text, name
        assert "2027-03-01" in text, name
        if name != "decision.json":
            assert "EXCEEDED, waived" in text, name
            assert "measured 70.00 (65.00 to 75.00" in text, name
            assert "ends in 3 days" in text, name
    assert list(annotations("error", GitHub({"INPUT_CONFIG": "none.yaml"}), taken, "")) == []


def test_a_decision_with_a_waiver_is_read_back(tmp_path: Path):
    taken, file = decision(EXCEEDED), tmp_path / "decision.json"
    file.write_text(taken.to_json(), encoding="utf-8")
    assert read_decision(file) == taken
    assert json.loads(taken.to_json())["outcomes"][0]["waiver"] == {
        **{"reason": WHY, "until": "2027-03-01"},
        **{"days_left": 0, "state": "waives"},
    }


def test_where_scores_are_withheld_the_waiver_stands_and_no_number_does(tmp_path: Path):
    sealed = withheld(made(EXCEEDED), "ab" * 32)
    taken = without_numbers(decision(EXCEEDED), sealed)
    for name, text in surfaces(sealed, taken, tmp_path).items():
        assert WHY in text, name
        assert "75.0" not in text, name
        assert "65.0" not in text, name


def test_a_long_reason_of_anybody_is_plain_text_and_the_verdict_stays(tmp_path: Path):
    hostile = "<script>alert(1)</script> | `x` [a](http://b) @team " + "long " * 300
    taken = decision(EXCEEDED, policy([waiver(reason=hostile)]))
    for name, text in surfaces(made(EXCEEDED), taken, tmp_path).items():
        if name in ("summary", "comment", "page"):
            assert "<script>alert(1)" not in text, name
            assert "until 2027-03-01" in text, name
            assert len(text) < 400_000, name


def test_a_day_that_no_month_has_is_told_with_its_place(tmp_path: Path):
    file = tmp_path / "pytest-bias.yaml"
    limits = f"limits:\n  {PREFERENCE}: {{max_distance: 10}}\n"
    text = f"{limits}waive:\n- {{limit: {PREFERENCE}, reason: known, until: %s}}\n"
    file.write_text(text % "2026-13-40", encoding="utf-8")
    with pytest.raises(UsageError, match=r"line 4: waive\[1\]\.until: must be a day, not '2026-"):
        limits_of(read_settings({"config": file}))
    file.write_text(text % "2027-03-01", encoding="utf-8")
    (limit,) = limits_of(read_settings({"config": file}))
    assert limit.waivers[0].until == UNTIL
