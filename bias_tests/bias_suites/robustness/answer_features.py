"""Position of an answer in its context: the features that question answering shortcuts use.

Plain rules on words and sentences, without a model or grammar, so that anybody can check them. The
definitions of a sentence, a name and a date are stated with each rule.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from pytest_bias.scoring import side

NEAR: Final = 3
"""Most words from the answer to the nearest word of the question for an answer that is near;
the median in XQuAD, in each of English, German, Spanish and Romanian."""

QUESTION_WORDS, POSITION, ENTITY, OVERLAP = "question_words", "position", "entity", "overlap"
SHORTCUTS: Final = (QUESTION_WORDS, POSITION, ENTITY, OVERLAP)

NO_WORD: Final = "no word of the question"
ONE_SENTENCE: Final = "one sentence"
NO_TYPE: Final = "no type asked"

SHORTEST: Final = 4
"""Fewest letters of a content word; numbers are content words at any length."""

FUNCTION_WORDS: Final[Mapping[str, frozenset[str]]] = {
    language: frozenset(words.split())
    for language, words in {
        "en": """what when where which whom whose does were have been this that these those with
            from into than then they them their there many much long about after before between
            during over under also some such will would could should must being because while upon
            other only more most very each both same often""",
        "de": """wann welche welcher welches welchem welchen warum wieso woher wohin wurde wurden
            wird werden worden haben hatte hatten sind waren sein seine seinen seiner seinem ihre
            ihren ihrer ihrem eine einen einer einem eines dieser diese dieses diesem diesen nach
            über unter zwischen während durch gegen nicht auch oder aber dass viele viel mehr sich
            beim gibt kann konnte könnte können""",
        "es": """qué quién quiénes cuál cuáles cuándo cuánto cuántos cuánta cuántas dónde cómo para
            desde hasta entre sobre como está están estaba fueron había habían tiene tenía esta
            este esto estos estas unos unas pero sino según durante antes después también otro otra
            otros otras hace hizo cuando donde""",
        "ro": """cine care când unde cum câte câți câtă pentru prin după despre între este sunt era
            erau fost avut avea aveau acest această aceste acestea acesta acestui asupra într dintr
            printr pentru către fără mult multe mulți numit numită""",
    }.items()
}
"""Words of four letters and more that occur in questions and contexts of any content."""

NUMBER, TIME, NAME = "number", "time", "name"

ASKED: Final[Mapping[str, Mapping[str, str]]] = {
    "en": {
        NUMBER: r"how (?:many|much|old|long|far|large|high|tall|big)|what (?:percent\w*|number)",
        TIME: r"when|(?:what|which) (?:\w+ )?(?:year|date|day|month|century|decade)s?",
        NAME: r"who|whom|whose|where",
    },
    "de": {
        NUMBER: r"wie ?(?:viele?|alt|lange|weit|groß|hoch)|wieviele?",
        TIME: r"wann|(?:welche[mnrs]?) (?:jahr\w*|datum|tag|monat|jahrhundert)",
    },
    "es": {
        NUMBER: r"cuánt[oa]s?|qué (?:porcentaje|número)",
        TIME: r"cuándo|qué (?:año|fecha|día|mes|siglo|década)",
        NAME: r"quién(?:es)?|dónde",
    },
    "ro": {
        NUMBER: r"câ(?:te|ți|t|tă)|ce (?:procent\w*|număr)",
        TIME: r"când|ce (?:an|dată|zi|lună|secol|deceniu)",
        NAME: r"cine|cui|unde",
    },
}
"""Answer type of a question, by its words. German writes every noun with a capital letter, so that
names cannot be recognised there."""

MONTHS: Final[Mapping[str, str]] = {
    "en": "January|February|March|April|May|June|July|August|September|October|November|December",
    "de": "Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember",
    "es": "enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre"
    "|diciembre",
    "ro": "ianuarie|februarie|martie|aprilie|mai|iunie|iulie|august|septembrie|octombrie|noiembrie"
    "|decembrie",
}

_WORD: Final = re.compile(r"\w+")
_END: Final = re.compile(r"[.!?]+[\"'”’»)\]]*\s+(?=[\"'“„«(\[¿¡]*(\w))")
_SHORT: Final = re.compile(r"(?<!\w)(?:[^\W\d_]|[A-Z][a-z])$")
_YEAR: Final = re.compile(r"(?:1\d|20)\d\d")
_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)*")


class Span(NamedTuple):
    """A part of a text, ``text[start:end]``."""

    start: int
    end: int

    def meets(self, other: "Span") -> bool:
        """Whether two parts of a text share a character."""
        return self.start < other.end and other.start < self.end


class Features(NamedTuple):
    """Features of one question that the shortcuts use.

    `distance` counts the words from the answer to the nearest word of the question, 1 for a
    neighbour; None where the context has none outside the answer. `sentence` is the number of the
    answer's sentence, from 0, of `n_sentences`. `highest`: whether the first sentence with most
    words of the question is the answer's. `first`: whether the first entity of the requested type
    is the answer, or is part of it; None where no type is requested.
    """

    distance: int | None
    sentence: int
    n_sentences: int
    highest: bool
    first: bool | None

    @property
    def by(self) -> dict[str, str]:
        """Side of the question for every shortcut, or why it has none."""
        many = self.n_sentences > 1
        return {
            QUESTION_WORDS: NO_WORD if self.distance is None else side(self.distance <= NEAR),
            POSITION: side(self.sentence == 0) if many else ONE_SENTENCE,
            ENTITY: NO_TYPE if self.first is None else side(self.first),
            OVERLAP: side(self.highest) if many else ONE_SENTENCE,
        }


def features(question: str, context: str, answer: Span, language: str) -> Features:
    """Return the features that the shortcuts use.

    Parameters
    ----------
    question, context : str
        The texts.
    answer : Span
        Position of the answer in the context, in characters.
    language : str
        BCP 47 tag; for a language without word lists only the rules without them are applied.
    """
    asked = content_words(question, language)
    parts = sentences(context)
    home = next(n for n, part in enumerate(parts) if answer.start < part.end)
    counts = [len(asked & content_words(context[p.start : p.end], language)) for p in parts]
    wanted = asked_type(question, language)
    first = None
    if wanted is not None:
        entity = next(entities(context, wanted, language, question), None)
        first = entity is not None and entity.meets(answer)
    return Features(
        _distance(asked, context, answer),
        home,
        len(parts),
        counts[home] > 0 and counts.index(max(counts)) == home,
        first,
    )


def content_words(text: str, language: str) -> frozenset[str]:
    """Return the content words of a text: long enough or with a digit, and not listed."""
    words = {m.group().casefold() for m in _WORD.finditer(text)}
    common = FUNCTION_WORDS.get(language, frozenset())
    return frozenset(
        w for w in words if w not in common and (len(w) >= SHORTEST or any(c.isdigit() for c in w))
    )


def sentences(text: str) -> list[Span]:
    """Return the sentences of a text, which together cover it.

    One ends with a full stop, exclamation or question mark where a capital letter or a digit
    follows after a space; not behind a single letter, as in an initial, or a capital and a small
    one, as in "Mr". A longer abbreviation before a name ends one too.
    """
    ends = []
    for match in _END.finditer(text):
        if not (_SHORT.search(text[: match.start()]) or match.group(1).islower()):
            ends.append(match.end())
    starts = [0, *ends]
    return [Span(a, b) for a, b in zip(starts, [*ends, len(text)], strict=True) if a < b]


def asked_type(question: str, language: str) -> str | None:
    """Return the answer type of a question: number, time or name; None if none of them."""
    found = {}
    for name, pattern in ASKED.get(language, {}).items():
        if match := re.search(rf"\b(?:{pattern})\b", question.casefold()):
            found[match.start()] = name
    return found[min(found)] if found else None


def entities(context: str, wanted: str, language: str, question: str) -> Iterator[Span]:
    """Yield the entities of a type in a context, in order, without those that the question names.

    A time is a month's name or four digits from 1000 to 2099; a number is other digits; a name is a
    run of words with capital letters, of two words at least where it begins a sentence.
    """
    known = {m.group().casefold() for m in _WORD.finditer(question)}
    for span in _OF_TYPE[wanted](context, language):
        words = {m.group().casefold() for m in _WORD.finditer(context[span.start : span.end])}
        if not words <= known:
            yield span


def _numbers(context: str, language: str) -> Iterator[Span]:
    found = (Span(*m.span()) for m in _NUMBER.finditer(context))
    yield from (s for s in found if not _YEAR.fullmatch(context, *s))


def _times(context: str, language: str) -> Iterator[Span]:
    pattern = rf"(?<![\d.,]){_YEAR.pattern}(?!\d|[.,]\d)|\b(?:{MONTHS[language]})\b"
    yield from (Span(*m.span()) for m in re.finditer(pattern, context))


def _names(context: str, language: str) -> Iterator[Span]:
    for sentence in sentences(context):
        run: list[re.Match[str]] = []
        words = list(_WORD.finditer(context, *sentence))
        for word in [*words, None]:
            near = run and word and context[run[-1].end() : word.start()].strip("-'’. ") == ""
            if word and word.group()[0].isupper() and (near or not run):
                run.append(word)
                continue
            if len(run) > 1 or (run and run[0] is not words[0]):
                yield Span(run[0].start(), run[-1].end())
            run = [word] if word and word.group()[0].isupper() else []


_OF_TYPE: Final = {NUMBER: _numbers, TIME: _times, NAME: _names}


def _distance(asked: frozenset[str], context: str, answer: Span) -> int | None:
    words = list(_WORD.finditer(context))
    first = next((n for n, w in enumerate(words) if w.end() > answer.start), len(words))
    last = max((n for n, w in enumerate(words) if w.start() < answer.end), default=-1)
    found = [
        first - n if n < first else n - last
        for n, w in enumerate(words)
        if not first <= n <= last and w.group().casefold() in asked
    ]
    return min(found, default=None)
