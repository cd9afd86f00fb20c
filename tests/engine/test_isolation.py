"""What goes wrong with one suite when a report is made costs that suite alone."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from made import record, report, result, score, unscored
from pytest_bias.engine import session
from pytest_bias.engine.isolation import isolated
from pytest_bias.engine.planning import describe_for, plan
from pytest_bias.reports.folder import read_report
from pytest_bias.reports.limits import read_limits
from pytest_bias.runs.finishing import finish
from pytest_bias.settings.settings import read_settings

SOUND = result(scores=[score()], records=[record("a/1", 50.0), unscored("a/2")])
SEAT = result(
    "seat",
    title="SEAT",
    measure="cosine of pooled hidden states",
    scores=[score("mean_absolute_effect", 0.4, ideal=0, unit="d", interval=None)],
    records=[record("w/1", 0.4)],
)
LONE = "\ud800"
"""Half of a letter, which a JSON file can hold and no other file."""

BROKEN = {
    "records that no table holds": {"records": (record("w/1", 0.4, by={"test": ["a"]}),)},
    "a number that no text is made of": {"scores": (replace(SEAT.scores[0], n="many"),)},
    "letters that no file holds": {"scores": (replace(SEAT.scores[0], note=LONE),)},
    "a value that is none": {"scores": (replace(SEAT.scores[0], value=float("inf")),)},
    "a kind that nobody draws": {"scores": (replace(SEAT.scores[0], interval=(0.1,)),)},
}


@pytest.mark.parametrize("changes", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("withholds", [False, True], ids=["", "withheld"])
def test_the_report_of_the_other_suites_is_written(tmp_path, changes, withholds):
    sound = report(SOUND, SEAT)
    given = replace(sound, suites=(sound.suites[0], replace(sound.suites[1], **changes)))
    settings = read_settings({"model": "demo", "withhold_scores": withholds})
    limits = read_limits({"crows_pairs.stereotype_preference": {"max_distance": 30}})
    done = finish(given, settings, limits, None, tmp_path, {}, 0.95)
    done.show(Console(file=io.StringIO(), width=120))
    sound, broken = read_report(tmp_path).suites
    # Where scores are withheld, nothing of what is broken is written.
    if not withholds or broken.status == "error":
        assert broken.status == "error"
        assert broken.reason
        assert "while it was written" in broken.reason
        assert done.exit_code == 3
        assert any("seat[en]: " in problem for problem in done.decision.problems)
        assert "while it was written" in (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert sound.status == ("withheld" if withholds else "scored")
    assert [o.verdict for o in done.decision.outcomes] == ["held"]
    assert (tmp_path / "report.html").is_file()


def test_of_a_hidden_suite_no_message_is_told(tmp_path):
    data = replace(SEAT.data, visibility="hidden")
    hidden = replace(SEAT, data=data, scores=(replace(SEAT.scores[0], n="my aunt"),))
    assert hidden.is_hidden
    finish(report(SOUND, hidden), read_settings({"model": "demo"}), (), None, tmp_path, {}, 0.95)
    assert "aunt" not in "".join(p.read_text("utf-8", "replace") for p in tmp_path.glob("*.*"))
    assert "TypeError, more of which is not disclosed" in (
        read_report(tmp_path).suites[1].reason or ""
    )


def test_a_fault_that_is_of_no_suite_is_raised():
    def make(report):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        isolated(report(), make)


@pytest.mark.by_day("KeyError('x')-measured", "SystemExit(1)-measured", "KeyError('x')-scored")
@pytest.mark.parametrize("where", ["read", "measured", "scored"])
@pytest.mark.parametrize("error", [KeyError("x"), RecursionError(), SystemExit(1)], ids=repr)
def test_a_suite_that_raises_is_an_error_and_the_next_one_is_measured(where, error):
    if where != "measured" and isinstance(error, SystemExit):
        pytest.skip("only code of a model ends a process")

    def raises(*_):
        raise error

    settings = read_settings(
        {"model": "demo", "suites": ["template_association[en]", "gendered_pair_entropy[en]"]}
    )
    settings = replace(settings, profile="quick")
    planned = plan(describe_for(settings, "demo"), settings)
    entries = []
    for one in planned.entries:
        entry, measure = one.entry, one.measure
        if entry.suite.name == "template_association":
            if where == "read":
                broken = replace(entry.configuration, load=raises)
                entry = replace(entry, configuration=broken)
            if where == "measured":
                measure = replace(measure, measure_items=raises)
            if where == "scored":
                metrics = tuple(replace(m, estimate=raises) for m in measure.metrics)
                measures = (replace(measure, metrics=metrics),)
                entry = replace(entry, suite=replace(entry.suite, measures=measures))
        entries.append(replace(one, entry=entry, measure=measure))
    made = session.run(session.Session(replace(planned, entries=tuple(entries))))
    broken, sound = (made.suite(n) for n in ("template_association", "gendered_pair_entropy"))
    assert (broken.status, sound.status) == ("error", "scored")
    assert (broken.reason or "").startswith(type(error).__name__)
