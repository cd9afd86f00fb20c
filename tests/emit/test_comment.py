"""The comment on a pull request: one sentence, short tables, and nothing that a name could do."""

import re
from dataclasses import replace

import pytest
from markdown_it import MarkdownIt

from made import (
    HOSTILE,
    endless,
    endless_comparison,
    endless_decision,
    mean_effect,
    record,
    report,
    result,
    score,
)
from pytest_bias.emit import comment
from pytest_bias.emit.change import summary_dict
from pytest_bias.emit.comment import Links
from pytest_bias.emit.verdict import STATUS_SENTENCES
from pytest_bias.records.report import Report, Withheld
from pytest_bias.reports.comparison import Change, Comparison, SuiteComparison
from pytest_bias.reports.decision import Decision, Outcome
from pytest_bias.reports.limits import decide, read_limits
from pytest_bias.reports.withholding import withheld, without_numbers
from pytest_bias.scoring.statistics import Estimate

CROWS = result(scores=[score()], records=[record("crows/0001", 100.0)])
SEAT = result(
    "seat",
    title="SEAT",
    scores=[mean_effect(floor=None, interval_reason="an unsigned mean")],
)
QUALITY = result(
    "general_quality",
    kind="quality",
    title="General quality",
    scores=[score("accuracy", 67.5, ideal=100)],
)
SKIPPED = result("honest", "it", title="HONEST", status="skipped", reason="licence | not accepted")
FAILED = result("bbq", status="error", reason="no data")
OTHER = result("winobias", status="not_applicable", reason="it is no causal model")
MADE = report(CROWS, SEAT, QUALITY, SKIPPED, FAILED, OTHER)
LINKS = Links("https://github.com/org/training/actions/runs/1", "https://org.github.io/bias/")


def compared(made: Report = MADE, name: str = "org/before") -> Comparison:
    """Return a comparison in which the first suite rose and the second cannot be compared."""
    now = made.suites[0].scores[0]
    moved = Estimate(6.1, (3.0, 9.2))
    change = Change(
        *(now, replace(now, value=54.38), moved, moved, moved, "worse"),
        n=1508,
        n_changed=210,
        items=("crows/0001",),
        family="decision",
        p_adjusted=0.001,
    )
    suites = (
        SuiteComparison("crows_pairs[en]", "CrowS-Pairs", (change,)),
        SuiteComparison("seat[en]", "SEAT", reason="other items"),
    )
    return Comparison(made, replace(made, model=replace(made.model, reference=name)), suites)


def rendered(
    made: Report | None = None,
    decision: Decision | None = None,
    comparison: Comparison | None = None,
    links: Links | None = None,
    **more: str,
) -> str:
    """Render a comment, with what changed in the decision, where `run` puts it."""
    if decision and comparison:
        decision = replace(decision, change=summary_dict(comparison))
    return comment.render(made, decision, links, **more)


def page(*given: object, **more: object) -> str:
    """Render to HTML as GitHub would, with HTML passed through."""
    markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
    return markdown.render(rendered(*given, **more))


def cells(html: str) -> list[list[str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", html, re.DOTALL)
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]


def first(html: str) -> str:
    return re.findall(r"<p>(.*?)</p>", html, re.DOTALL)[0]


# What it says


LIMITS = read_limits(
    {
        "crows_pairs.stereotype_preference": {"max_distance": 20},
        "seat.mean_absolute_effect": {"max_distance": 1},
        "general_quality.accuracy": {"max_distance": 30},
    }
)
REVISION = replace(MADE, model=replace(MADE.model, revision="abc1234" * 5))
HELD = replace(decide(MADE, []), status="held")
LOST = replace(compared(), suites=compared().suites[1:])
STATES = {
    "a change": (MADE, HELD, compared(), LINKS),
    "nothing to compare": (report(SEAT), HELD, LOST),
    "limits, a revision": (REVISION, decide(REVISION, LIMITS)),
    "a sample": (report(replace(CROWS, sampled=300, n_available=1508)),),
    "no report": (None, None, None, LINKS),
    "no score": (report(FAILED, SKIPPED), decide(report(FAILED, SKIPPED), [])),
}


@pytest.mark.parametrize("state", STATES)
def test_change_decision_and_headlines_are_told_in_a_comment(state, snapshot):
    made, *more = STATES[state]
    text = rendered(made, *more, problem="" if made else "org/name is not on the Hub.")
    assert text.replace(made.digest[7:19] if made else "none", "DIGEST") == snapshot


@pytest.mark.parametrize("status", STATUS_SENTENCES)
def test_without_a_baseline_it_opens_with_the_decision(status):
    html = page(MADE, replace(decide(MADE, []), status=status))
    assert first(html) == f"<strong>{STATUS_SENTENCES[status]}</strong>"
    assert html.count(STATUS_SENTENCES[status]) == 1


def test_no_item_is_shown():
    assert "crows/0001" not in page(MADE, decide(MADE, []), compared())


@pytest.mark.parametrize("address", ["javascript:alert(1)", "//x", "x", f"https://x/{'a' * 500}"])
def test_a_link_is_an_address_of_the_web(address):
    with pytest.raises(ValueError, match="no address"):
        Links(address)


def test_a_link_cannot_end_its_own_target():
    links = Links("https://x/a) [b](javascript:c) <i>\"'\n|`")
    html = page(MADE, None, None, links)
    assert re.findall(r'href="(.*?)"', html) == [
        "https://x/a%29%20%5Bb%5D%28javascript:c%29%20%3Ci%3E%22%27%0A%7C%60"
    ]


# Withheld scores


def test_withheld_scores_stay_withheld():
    sealed = withheld(MADE, "ab" * 32)
    limits = read_limits({"crows_pairs.stereotype_preference": {"max_distance": 5}})
    decision = without_numbers(decide(MADE, limits), sealed)
    text = rendered(sealed, decision, compared())
    assert isinstance(sealed.withheld, Withheld)
    assert "Measured, scores not published: CrowS-Pairs en, SEAT en, General quality en." in text
    assert "EXCEEDED" in text
    for number in ("60.5", "60.48", "54.38", "57.99", "0.62", "6.1", "+3.0", "210"):
        assert number not in text


# Hostile names


MENTIONS = {
    "mention": "@octocat",
    "team": "x/@github/security",
    "reference": "#123",
    "of another": "org/training#1",
    "short": "GH-123",
    "commit": "org/training@0123456789abcdef",
    "mail": "somebody@example.org",
    "escaped": "\\@octocat \\#12 \\\\@a",
    "entity": "&#64;octocat &#x40;octocat &commat;a",
    "address": "https://evil.example",
    "www": "www.evil.example",
    "link": "[x](https://evil.example)",
    "reference link": "[x]: https://evil.example",
    "angles": "<https://evil.example>",
    "image": "![x](https://evil.example/x.png)",
    "html": "<a href=//evil.example>x</a>",
    "marker": "--> <!-- pytest-bias:0123456789abcdef -->",
}
TEXTS = {**HOSTILE, **MENTIONS}


def in_place(place: str, text: str) -> tuple[Report, Decision | None, Comparison, str]:
    made, decision, comparison, problem = MADE, decide(MADE, []), compared(), ""
    if place == "model":
        made = report(*MADE.suites, model=text)
    elif place == "baseline":
        comparison = compared(name=text)
    elif place == "title":
        made = report(replace(CROWS, title=text), *MADE.suites[1:])
        suites = tuple(replace(s, title=text) for s in comparison.suites)
        comparison = replace(compared(made), suites=suites)
    elif place == "reason":
        made = report(*MADE.suites[:3], replace(SKIPPED, reason=text), FAILED)
        refused = replace(comparison.suites[1], entry=text, reason=text)
        comparison = replace(comparison, suites=(comparison.suites[0], refused))
    elif place == "limit":
        outcome = Outcome(text, "max_distance", "exceeded", text, 1.0, reason=text)
        decision = replace(decision, outcomes=(outcome,))
    elif place == "metric":
        made = report(replace(CROWS, scores=(replace(score(), metric=text, unit=text),)))
    else:
        problem = text
    return made, decision, comparison, problem


PLACES = ("model", "baseline", "title", "reason", "limit", "metric", "problem")
SAFE = {"p", "strong", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "sub"}
SAFE |= {"blockquote", "a"}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("place", PLACES)
def test_a_hostile_text_is_only_text(place, text):
    made, decision, comparison, problem = in_place(place, text)
    source = rendered(made, decision, comparison, LINKS, problem=problem)
    html = page(made, decision, comparison, LINKS, problem=problem)
    assert set(re.findall(r"<(\w+)", html)) <= SAFE
    assert re.findall(r'href="(.*?)"', html) == [LINKS.run, LINKS.page]
    assert "<!--" not in source
    assert {len(row) for row in cells(html)} <= {3, 5}
    # What GitHub looks for after it has read Markdown, in the text that is then there.
    shown = re.sub(r"<.*?>", "", html)
    assert not re.search(r"@\w", shown)
    assert not re.search(r"#\d|(?i:gh)-\d", shown)
    # What it looks for while it reads Markdown.
    bare = source.replace(LINKS.run, "").replace(LINKS.page, "")
    assert not re.search(r"(?i)https?://|\bwww\.", bare)


def test_unlinked_text_reads_the_same():
    text = "org/name@abc1234 \\@x #1 GH-2"
    shown = comment.unlinked(text).replace("&#8203;", "")
    assert shown == "org/name@abc1234 @x #1 GH-2"


# Its size


def many(n_suites: int = 60, n_items: int = 10_000, n_limits: int = 3_000):
    """Return what a large project measures: suites, changed items and limits."""
    suites = [
        replace(CROWS, name=f"suite_{i}", config="en-controls-of-another", title=f"A suite {i}")
        for i in range(n_suites)
    ]
    made = report(*suites, model="organization/a-model-with-a-name-of-usual-length")
    ids = tuple(f"suite/{i:06}" for i in range(n_items))
    base = compared().suites[0].changes[0]
    change = replace(base, n=n_items, n_changed=n_items, items=ids)
    moved = tuple(SuiteComparison(s.entry, s.title, (change,)) for s in suites)
    exceeded = Outcome(
        "suite_1.stereotype_preference[bias_type=religion]",
        *("max_distance", "exceeded", "suite_1", 60.48, (57.99, 62.92), 0.95, (45, 55)),
    )
    decision = Decision("exceeded", 1, (exceeded,) * n_limits, (), made.digest)
    return made, decision, Comparison(made, made, moved)


def test_a_large_project_has_a_short_comment():
    text = rendered(*many(), LINKS)
    assert len(text.encode()) < comment.COMMENT_LIMIT
    assert text.count("A suite ") == 60 + 1
    assert re.search(r"and \d{4} more in report\.json", text)
    assert "10000 of 10000 items changed" in text
    assert "suite/0" not in text


@pytest.fixture(scope="module")
def huge() -> tuple[Report, Decision, Comparison]:
    made = endless()
    return made, endless_decision(), endless_comparison(made)


@pytest.mark.by_day(character=("&",))
@pytest.mark.parametrize("character", ["&", "@", "#", "\N{GRINNING FACE}", "GH-1"])
def test_no_comment_is_too_long(huge, character):
    made, decision, comparison = huge
    name = character * 10_000
    made = replace(made, model=replace(made.model, reference=name), tool={"version": name})
    links = Links(f"https://x/{'a' * 480}", f"https://x/{'a' * 480}")
    text = rendered(made, decision, comparison, links, problem=name)
    assert 20_000 < len(text.encode()) < comment.COMMENT_LIMIT
    assert "the one that counts | **EXCEEDED**" in text


@pytest.mark.nightly
def test_no_comment_on_a_withheld_report_is_too_long(huge):
    made, decision, comparison = huge
    text = rendered(withheld(made, "ab" * 32), decision, comparison, problem="@" * 10_000)
    assert len(text.encode()) < comment.COMMENT_LIMIT


def test_a_table_says_what_it_leaves_out():
    made = report(*(replace(CROWS, name=f"s{i}", title="x" * 80) for i in range(300)))
    text = rendered(made)
    (left,) = re.findall(r"and (\d+) more in report\.json", text)
    assert text.count("x" * 80) + int(left) == 300
