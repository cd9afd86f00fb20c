"""Tables of selection rates: which scores they hold, small categories, and hostile names."""

from pytest_bias.emit.selection import SMALL_MARK, selection
from pytest_bias.records.report import SuiteResult
from pytest_bias.records.score import Score


def score(metric: str, value: float | None, n: int, **by: str) -> Score:
    return Score(
        metric=metric, value=value, ideal=1, bounds=(0, 1), unit="" if "ratio" in metric else "%",
        tolerance=0.5, by=by, n=n, interval=(0.25, 1.0) if "ratio" in metric else None,
    )  # fmt: skip


def suite(*scores: Score) -> SuiteResult:
    return SuiteResult("mine", "en", "1", "downstream", "", "", scores=scores)


def test_a_row_has_what_was_asked_answered_and_selected() -> None:
    found = selection(
        suite(
            score("impact_ratio", 0.5, 300),
            score("impact_ratio", 0.5, 300, group="women"),
            score("impact_ratio", None, 300, group="men"),
            score("selected", 25.0, 90, group="women"),
            score("selected", None, 0, group="men"),
            score("unknown", 10.0, 100, group="women"),
            score("unknown", 100.0, 200, group="men"),
        )
    )
    assert [(t.title, t.rows) for t in found] == [
        (
            "Group",
            (
                ("women", "100", "10", "22.5", "25.0 %", "0.50", "0.25 – 1.00"),
                ("men", "200", "200", "–", "–", "–", "0.25 – 1.00"),
            ),
        )
    ]


def test_of_scores_the_rate_is_that_above_the_median() -> None:
    (found,) = selection(
        suite(
            score("impact_ratio_sex", 0.5, 300, sex="women"),
            score("above_median_sex", 40.0, 100, sex="women"),
            score("unknown", 0.0, 100, sex="women"),
        )
    )
    assert found.head[:5] == ("Sex", "Asked", "No answer", "Above the median", "Scoring rate")
    assert found.rows[0][3] == "40"


def test_a_category_below_two_percent_stays_and_is_marked() -> None:
    scores = []
    for group, n in (("few", 1), ("many", 99)):
        scores += [
            score("impact_ratio", 1.0, 100, group=group),
            score("selected", 50.0, n, group=group),
            score("unknown", 0.0, n, group=group),
        ]
    (found,) = selection(suite(*scores))
    assert [row[0] for row in found.rows] == [f"few ({SMALL_MARK})", "many"]


def test_suites_without_impact_ratios_have_no_table() -> None:
    assert selection(suite(score("selected", 50.0, 9, group="a"))) == []
