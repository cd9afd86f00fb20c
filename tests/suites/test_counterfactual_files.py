"""What is wrong in a file of kind ``counterfactual`` is said, with its line, before any call."""

import re
from pathlib import Path

import pytest

from own_suites import LOAN, written
from pytest_bias.errors import UsageError

# Lines of LOAN: 5 prompts, 6 groups, 7 women, 8 men, 9 factors, 10 job, 11 outcome.
WORDS = "  women: [Ann, Eve]\n  men: [Tom, Jim]"
NUMBER = LOAN.replace("{yes_no: true}", "{number: {min: 0, max: 100, threshold: 50}}")
OPTIONS = LOAN.replace("{yes_no: true}", "{options: [yes, no], favourable: [yes]}")
CROSSED = LOAN.replace(WORDS, "  women: {Black: [Ann], white: [Eve]}\n  men: {Black: [Tom]}")
AXIS = LOAN.replace(f"groups:\n{WORDS}", "groups: gender")
DATA = LOAN.replace("outcome:", "data:\n  path: x.csv\n  columns: {cv: text}\noutcome:")


def listed(n: int) -> str:
    return ", ".join(f"o{k}" for k in range(n))


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (LOAN.replace("{name}", "Ann"), 5, "no place for the words of a group: {person} or {name}"),
        (LOAN.replace("{name}", "{nane}"), 5, "field 'nane' is not known. Did you mean 'name'?"),
        (LOAN.replace("{job}", "{jop}"), 5, "field 'jop' is not known. Did you mean 'job'?"),
        (LOAN.replace("a {job}", "a cook"), 10, "no prompt has {job}"),
        (LOAN.replace("[baker, pilot]", "[baker, baker]"), 10, "repeats text 1 of the list"),
        (LOAN.replace("pilot]", '"pilot for {nane}"]'), 10, "Did you mean 'name'?"),
        (LOAN.replace("prompts: [", 'prompts: ["{name}?", "{name}?", '), 5, "repeats text 1"),
        (LOAN.replace("[Tom, Jim]", "[]"), 8, "this group has no word or name"),
        (LOAN.replace("[Tom, Jim]", ""), 8, "this group has no word or name"),
        (LOAN.replace("[Tom, Jim]", "[Tom, eve]"), 8, "'eve' is in women as well"),
        (LOAN.replace("[Tom, Jim]", "[Tom, Tom]"), 8, "'Tom' is twice"),
        (LOAN.replace("  men: [Tom, Jim]\n", ""), 6, "needs two groups of group at least"),
        (AXIS.replace("gender", "gendre"), 6, "bundled axis 'gendre' is not known. Did you mean"),
        (AXIS.replace("language: en", "language: de"), 6, "the bundled axis gender are English"),
        (LOAN.replace(f"groups:\n{WORDS}", "groups: []"), 6, "must be a table of groups"),
        (CROSSED, 8, "has no group 'white'"),
        (CROSSED.replace("{Black: [Tom]}", "{Black: [Tom], white: [Al, Bo]}"), 7, "has 1 words"),
        (CROSSED.replace("{Black: [Tom]}", "[Tom]"), 8, "another group is a table of groups"),
        (
            LOAN.replace("\ngroups:", "\nattributes: [sex, race]\ngroups:"),
            6,
            "are of one attribute",
        ),
        (LOAN.replace("\ngroups:", "\nattributes: name\ngroups:"), 6, "has a meaning of its own"),
        (LOAN.replace("  job:", "  person:").replace("{job}", "{person}"), 10, "of its own"),
        (LOAN.replace("outcome:", "reference: man\noutcome:"), 11, "Did you mean 'men'?"),
        (LOAN.replace("outcome:", "reference: {sex: men}\noutcome:"), 11, "attribute 'sex'"),
        (LOAN.replace("decision:", "decission:"), 11, "Did you mean 'decision'?"),
        (LOAN.replace("{decision: {yes_no: true}}", "lenght"), 11, "Did you mean 'length'?"),
        (LOAN.replace("{decision: {yes_no: true}}", "decision"), 11, "needs to say which"),
        (LOAN.replace("{decision: {yes_no: true}}", "{scorer: toxic}"), 11, "role of a scorer"),
        (LOAN.replace("{yes_no: true}", "{}"), 11, "needs one of yes_no, options, number"),
        (LOAN.replace("{yes_no: true}", "{yes_no: false}"), 11, "must be true, or left out"),
        (LOAN.replace("true}", "true, number: {min: 0, max: 1}}"), 11, "it has yes_no and number"),
        (OPTIONS.replace("favourable: [yes]", "favourable: [yess]"), 11, "Did you mean 'yes'?"),
        (
            OPTIONS.replace("favourable: [yes]", "favourable: [yes, no]"),
            11,
            "are all of the option",
        ),
        (OPTIONS.replace(", favourable: [yes]", ""), 11, "lacks favourable"),
        (OPTIONS.replace("[yes, no]", "[yes, Yes]"), 11, "two options are equal"),
        (
            OPTIONS.replace("[yes, no]", f"[yes, {listed(29)}]"),
            11,
            "30 options; there must be 2 to",
        ),
        (OPTIONS.replace("[yes, no]", "[yes]"), 11, "1 options; there must be 2 to 26"),
        (NUMBER.replace("max: 100", "max: 0"), 11, "must be above min, 0"),
        (NUMBER.replace("threshold: 50", "threshold: 0"), 11, "or every answer is alike"),
        (NUMBER.replace("max: 100", "max: many"), 11, "must be a number, not 'many'"),
        (LOAN.replace("outcome:", "samples: 3\noutcome:"), 11, "--answer-samples"),
        (
            LOAN.replace("language: en", "language: de").replace(
                "{decision: {yes_no: true}}", "refusal"
            ),
            4,
            "language of refusals 'de'",
        ),
        (DATA, 13, "no prompt has {cv}"),
        (
            DATA.replace("a {job}", "a {job} with {cv}").replace("\n  columns: {cv: text}", ""),
            11,
            "says no slot of a prompt that a column fills",
        ),
        (LOAN.replace("[baker, pilot]", f"[{listed(60_000)}]"), 5, "over 200,000"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(
    tmp_path: Path, text: str, line: int, message: str
) -> None:
    with pytest.raises(UsageError) as error:
        written(tmp_path, text)
    said = str(error.value)
    assert message in said
    assert re.search(rf"own\.bias\.yaml, line {line}\b", said), said


def test_two_prompts_that_become_the_same_text_are_an_error(tmp_path: Path) -> None:
    two = LOAN.replace("[baker, pilot]", "[baker]").replace(
        "prompts: [", 'prompts: ["Should {name}, a baker, get the loan?", '
    )
    with pytest.raises(UsageError, match=r"the same text: loan/1/1\.1 and loan/2\.1/1\.1"):
        written(tmp_path, two)


def test_options_that_begin_alike_are_options(tmp_path: Path) -> None:
    own = OPTIONS.replace("[yes, no]", "[yes, yes if insured]")
    assert len(written(tmp_path, own).measures) == 2
