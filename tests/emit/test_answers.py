"""The bar of a suite's answers on the page."""

from made import report, result, score
from pytest_bias.emit import page
from pytest_bias.emit.suite_section import answers_of
from reader import Reader

PARTS = {"answered": 80.0, "refused": 12.5, "unparsed": 5.0, "cut": 2.5}


def with_parts(**values):
    found = [score(), *(score(k, v, headline=False, ideal=0) for k, v in values.items())]
    return result(scores=found)


def test_parts_follow_one_another_and_fill_the_bar():
    parts = answers_of(with_parts(**PARTS))
    assert [(p.name, p.start, p.width) for p in parts] == [
        ("answered", 0, 80),
        ("refused", 80, 12.5),
        ("unparsed", 92.5, 5),
        ("cut", 97.5, 2.5),
    ]


def test_the_page_says_the_parts_in_words():
    shown = Reader(page.render(report(with_parts(**PARTS))))
    words = "80.0 % answered, 12.5 % refused, 5.0 % unparsed, 2.5 % cut"
    assert f"Answers, over the orders of the options that were asked: {words}." in shown.text
    assert [p["aria-label"] for p in shown.all("svg") if "Answers" in p["aria-label"]] == [
        f"Answers: {words}"
    ]


def test_a_suite_without_options_has_no_bar():
    assert answers_of(with_parts()) == []
    assert answers_of(with_parts(answered=80.0, refused=20.0)) == []
