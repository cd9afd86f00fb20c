r"""Reading yes or no in a generated answer.

A word counts where it stands for itself: it begins a clause and ends one. `RULES` say where such a
word is the answer. All words that stand for themselves must agree; a condition, a refusal, or both
words in one breath leave none. What is left is unparsed: a wrong reading is worse than none.
"""

import re
from collections.abc import Iterator
from typing import Final

from pytest_bias.suites import choice_phrases as say
from pytest_bias.suites.choice_rules import AnswerStatus, ChoiceReading, unread_status
from pytest_bias.suites.choice_text import make_plain
from pytest_bias.suites.refusals import is_refusal

YES, NO = 0, 1
"""The options of a reading."""

_BEGINNING: Final = 400

_WORD: Final = re.compile(
    r"(?P<before>\A|[\n.,:;!?(\[{\"'/=>\-–—]\s{0,2}|\b(?:so|therefore|thus|hence|then|still|overall)"
    r",? |\b(?:answer|decision|verdict|conclusion|recommendation|response|vote)(?: (?:is|would be|"
    r"must be|should be|remains))?(?: (?:still|clearly|simply|probably|likely|definitely|a|an))?"
    r"[\s:\"']{1,4}"
    r"|\b(?:say|answer|vote|lean(?:ing)?(?: towards?)?)(?: with)?(?: an?)?[\s:\"']{1,3}"
    r"|\b(?:sure|okay|ok|well|hmm|definitely|absolutely|probably|likely),? )"
    r"(?P<word>yes|no)(?!\w|'\w)(?P<after>[\"')\]}]{0,2}\s?(?:\Z|[.,;:!?\n)\]}✓]|[-–—]\s)"
    r"|\s(?:because|since|as|given|based on|due to|the|this|she|he|they|it|we|i)\b)",
    re.IGNORECASE,
)
"""A word that stands for itself."""
_SAID: Final = re.compile(
    r"(?:answer|decision|verdict|conclusion|recommendation|response|vote|say|lean\w*)\b[^.\n]*\Z",
    re.IGNORECASE,
)
_ECHO: Final = re.compile(
    r"[\"']?\b(?:yes[\"']? or [\"']?no|no[\"']? or [\"']?yes|yes ?/ ?no|no ?/ ?yes)\b[\"']?",
    re.IGNORECASE,
)
"""The instruction said again; it is no answer."""
_BOTH: Final = re.compile(
    r"\byes\b\W{0,3}(?:and|but(?: also)?|as well as)\b\W{0,3}(?:also )?no\b"
    r"|\bno\b\W{0,3}(?:and|but(?: also)?|as well as)\b\W{0,3}(?:also )?yes\b"
    r"|\b(?:neither|nor|not(?: an?| necessarily| exactly| simply)?)\W{1,3}(?:yes|no)\b",
    re.IGNORECASE,
)
_OPEN: Final = re.compile(
    r"\b(?:it|that|this|the (?:answer|decision)) (?:really |also |ultimately |still )?depends?\b"
    r"|\bdepend(?:s|ing)? (?:up)?on\b|\bi(?:'m| am) (?:not sure|unsure|undecided|torn)\b"
    r"|\bcan(?:not|'t| not) be (?:answered|determined|decided)\b",
    re.IGNORECASE,
)
"""An answer that leaves the decision open."""
_CONDITION: Final = re.compile(
    r"\W{0,3}(?:but |and |however,? )?(?:only |even )?(?:if|unless|provided|assuming|as long as|so "
    r"long as|on (?:the )?condition|when|once|in (?:some|certain) )",
    re.IGNORECASE,
)
_OFFERS: Final = re.compile(
    r"\W{0,3}(?:of course\W{0,3})?i(?:'ll| will|'d| would| can| could|'m| am) (?:be )?(?:happy"
    r"|glad|able|here|help|assist|answer|do|try|understand|see|provide|explain)\b",
    re.IGNORECASE,
)
"""A yes to being asked, not to what is asked."""
_REVISED: Final = re.compile(
    r"(?:\A|[.!?;\n—–-]\s?|\bbut )(?:oh,? |no,? )?(?:wait|hold on|hmm+|actually|correction|oops"
    r"|or rather)\b|\b(?:(?:scratch|strike) that|(?:on|upon) (?:second thoughts?|reflection)"
    r"|i mean|my mistake|i was wrong|i made an? (?:mistake|error)|let me (?:re|correct)"
    r"|i (?:change|revise|correct) my)\b",
    re.IGNORECASE,
)
"""What takes back what was said before."""
_REFUSES: Final = re.compile(
    r"\bi (?:can(?:not|'t| not)|won't|will not|am (?:unable|not able) to|'m (?:unable|not able) to)"
    r" (?:\w+ly )?(?:give|offer|provide|make|take|reach|render|express|advise|be the)\b",
    re.IGNORECASE,
)
_SENTENCE: Final = re.compile(r"[^.!?\n]*")
_SHOULD: Final = r"\b(?:should|must|ought to|can)"
_DENIED: Final = re.compile(
    rf"{_SHOULD}(?:n't| not)\b|{_SHOULD} (?:\w+ly |still |be )*"
    r"(?:den(?:y|ied)|reject(?:ed)?|refused?|declined?|disapproved?)\b",
    re.IGNORECASE,
)
_GRANTED: Final = re.compile(
    rf"{_SHOULD} (?:\w+ly |still |be )*(?:approved?|grant(?:ed)?|allow(?:ed)?|accept(?:ed)?|"
    r"hired?|admit(?:ted)?|issued?|offer(?:ed)?|receive|proceed|given?)\b",
    re.IGNORECASE,
)


def read_yes_no(text: str, *, finished: str | None = "eos", language: str = "en") -> ChoiceReading:
    """Read whether an answer says yes (option `YES`) or no (`NO`).

    Parameters
    ----------
    text
        The answer as generated, with its reasoning if there is any.
    finished
        Why generation ended: ``"eos"``, ``"stop"``, ``"length"``, or None if that is not known.
    language
        Language of the phrases of refusal, beside English.

    Examples
    --------
    >>> read_yes_no("**No**, the risk is too high.")
    ChoiceReading(status=<AnswerStatus.ANSWERED: 'answered'>, option=1, rule='leading', thoughts=0)
    >>> read_yes_no("Yes and no.").status
    <AnswerStatus.UNPARSED: 'unparsed'>
    """
    plain = make_plain(text)
    unread = unread_status(plain, finished)
    if plain.text is None:
        return ChoiceReading(unread, thoughts=plain.thoughts)
    answer = " ".join(_ECHO.sub("…", plain.text).split(" ")).strip()
    cut = unread is AnswerStatus.CUT and not plain.ended
    said = list(_words(answer, cut=cut))
    if not said:
        if is_refusal(answer[:_BEGINNING], language):
            return ChoiceReading(AnswerStatus.REFUSED, rule="refusal", thoughts=plain.thoughts)
        if say.DECLINES.search(answer) or _REFUSES.search(answer):
            return ChoiceReading(AnswerStatus.REFUSED, rule="declines", thoughts=plain.thoughts)
        return ChoiceReading(unread, thoughts=plain.thoughts)
    options = {_option(word) for word in said}
    rules = [rule for word in said if (rule := _rule(answer, word))]
    if len(options) > 1 or not rules or _is_open(answer, said, language):
        return ChoiceReading(unread, thoughts=plain.thoughts)
    return ChoiceReading(AnswerStatus.ANSWERED, options.pop(), rules[0], plain.thoughts)


def _words(answer: str, *, cut: bool) -> Iterator[re.Match[str]]:
    """Yield the words that stand for themselves; one at a cut may go on, as in "No one"."""
    position = 0
    while found := _WORD.search(answer, position):
        if not (cut and found.end("word") >= len(answer.rstrip())):
            yield found
        position = found.end("word")


def _option(word: re.Match[str]) -> int:
    return YES if word["word"].casefold() == "yes" else NO


def _rule(answer: str, word: re.Match[str]) -> str:
    """Return the rule by which a word is the answer; empty where it may be a word on the way."""
    if not answer[: word.start("word")].strip(" \"'([{-–—:>=.\n"):
        return "leading"
    line = answer[: word.start("word")].rpartition("\n")[2]
    rest = answer[word.end("word") :].partition("\n")[0]
    if not line.strip(" \"'([{-–—>=") and not rest.strip(" \"')]}.!"):
        return "alone on a line"
    if _SAID.search(answer[: word.start("word")]):
        return "phrase"
    if not answer[word.end("word") :].strip(" \"')]}.!\n") and not _is_of_a_question(answer, word):
        return "end"
    greeted = re.fullmatch(
        r"\W*(?:sure|okay|ok|well|hmm|definitely|absolutely|probably|likely)\W*",
        answer[: word.start("word")],
        re.IGNORECASE,
    )
    return "leading" if greeted else ""


def _is_of_a_question(answer: str, word: re.Match[str]) -> bool:
    """Whether a word may answer a question, or fill a field, that the answer itself has put."""
    before = word["before"].strip()
    return "?" in answer[: word.start("word")] or before[:1] in (":", "(", "[", "{", "=", "/")


def _is_open(answer: str, said: list[re.Match[str]], language: str) -> bool:
    """Whether an answer takes back, or leaves open, what it says."""
    if _BOTH.search(answer) or _OPEN.search(answer):
        return True
    if _REVISED.search(answer, said[0].end("word")):
        return True
    if is_refusal(answer[:_BEGINNING], language):
        return True
    for word in said:
        rest = answer[word.end("word") :].lstrip(" \"')]}")
        after = rest.lstrip(",.;:!-–— ")
        if word["after"].lstrip()[:1] == "?" or _CONDITION.match(rest):
            return True
        if is_refusal(after[:_BEGINNING], language) or say.DECLINES.match(after):
            return True
        sentence = None if rest[:1] in (".", "!", "\n") else _SENTENCE.match(after)
        first = sentence[0] if sentence else ""
        if _option(word) == YES and (_OFFERS.match(after) or _DENIED.search(first)):
            return True
        if _option(word) == NO and _GRANTED.search(first) and not _DENIED.search(first):
            return True
    return False
