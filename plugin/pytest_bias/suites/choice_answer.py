"""A generated answer to a multiple-choice question: its letters, words, lists and clauses."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property, lru_cache
from itertools import takewhile
from typing import Final, NamedTuple

from pytest_bias.suites import choice_phrases as say
from pytest_bias.suites.choice_text import MARK, plain_words
from pytest_bias.suites.choice_words import INTERJECTION, Word, Words, words_of


class Claim(NamedTuple):
    """An option said to be the answer; `SEVERAL` where more than one is, or none of those shown."""

    start: int
    end: int
    option: int
    final: bool = False
    in_words: bool = False
    listed: bool = False


SEVERAL: Final = -1
"""The option of a claim that names several options, or one that was not shown."""

_LETTER: Final = re.compile(
    rf"\s*(?:(?:(?:the|la|die|de|a) "
    rf"|l')?{say.LABEL_NOUN}\s?:?\s?(?![a-zà-ÿ]{{2}}))?(?P<open>[\"'(\[{{<]{{0,3}})\s?"
    r"(?P<letter>[A-Za-zАС]) ?(?P<close>[\"')\]}>]{0,3})(?P<dot>[.:)]?)"
    r"(?![A-Za-z0-9_\u00c0-\u024f\u0400-\u04ff])",
    re.IGNORECASE,
)
_FOLLOWS: Final = re.compile(
    r"\s?(?:$|[\n,;!)\]}—–/&|。、\""
    + MARK
    + r"]|\.(?![A-Za-z]\.)|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3])"
    r"|\s(?:-|because|since|as|given|due|based|and|or|for|which|denn|weil|da|porque|ya|car|parce"
    r"|perché|poiché|pois|omdat|want|çünkü|потому|так|لأن|though|but|entscheiden)(?![^\W_])"
    r"|'?(?:[dt][iıuü]r)(?![^\W_])|\s(?:şıkkı|seçeneği)(?=\W?$)|\s(?:here|(?:rather than"
    r"|instead of) [^.,;\n ]{1,12})(?=\s?(?:$|[.,;!\n]))"
)
_NEXT: Final = re.compile(
    r"[\s.):,;—–\-\"'(\[]{0,6}(?:(?:i\.e\.|that is|which is|namely|(?:it|this)(?:'s| is|"
    r" was)?)(?=[\s,:\"])[\s,:\"]{0,3})?",
    re.IGNORECASE,
)
_JOINED: Final = re.compile(
    rf"(?:\s?(?P<by>{say.AND_OR}|[–-])\s?"
    rf"(?:also |maybe |possibly |perhaps )?| ?)(?:{say.LABEL_NOUN} )?"
    r"[\"'(\[]{0,2}(?P<letter>[A-Z])(?(by)(?![A-Za-z0-9_'\u00c0-\u024f])(?<!A(?= [a-z]))"
    r"|(?:[\"')\].:,;](?![A-Za-z'])|(?=$|\n)|(?=\s(?![a-z]))))"
)
_IN_BRACKETS: Final = re.compile(r"\s?[(\[](?:option |choice )?([A-Z])[)\]]", re.IGNORECASE)
_JOINS: Final = re.compile(r",? (?:and|or|und|oder|y|o|et|ou|e|of|en|и|или)\s", re.IGNORECASE)
_BELOW: Final = re.compile(r"[.,;]?\n[-• ]*")
_ALL_OR_NUMBER: Final = re.compile(
    r"[.):]? ?(?:\d|(?:both|neither|either|none)\b(?! of the (?:text|context)))", re.IGNORECASE
)
_POSSIBLE: Final = re.compile(
    r"[.):]? ?(?:both|either|neither)\b[^.;\n]{1,80}\b(?:could|might|may)\b", re.IGNORECASE
)
_OR: Final = re.compile(r"\s?(?:or|oder|ou|veya|или|أو)(?![^\W_])", re.IGNORECASE)
_STOP: Final = re.compile(r"[\"']?\s?(?:$|[.!\n。" + MARK + r"])")
_PAUSE: Final = re.compile(
    r"[\"']?\s?(?:$|[.!;\n(\[。"
    + MARK
    + r"]|[—–-] |,? ?(?:because|since|as|given|denn|weil|porque|ya que"
    r"|parce que|car|perché|poiché|pois|omdat|çünkü|потому что|так как)(?![^\W_])|です|입니다)"
)
_IS_ONE: Final = re.compile(
    r" (?:is|was) (?:the|a) (?:one|person)\b|" + say.IS_RIGHT.pattern, re.IGNORECASE
)
_REPEATED: Final = re.compile(r"([A-Z])(?:[\s,.]{0,3}\1)+")
_I_REFUSE: Final = re.compile(
    r"[,.!] (?:sorry,? )?i (?:can't|cannot|won't|will not) ", re.IGNORECASE
)
_LABEL_BEFORE: Final = re.compile(r"(?<![\w'])[\"'(\[]{0,2}[A-Z][\"')\].]{0,2}$")
ITEM: Final = re.compile(
    r"(?m)(?P<line>^[-+•∙◦ ]{0,4}|^\d\. )?(?<![\w'])(?:(?i:option|choice)"
    r" )?[(\[\"]?(?P<letter>[A-Z])[)\]\"]?(?P<dot>[.):]|(?<=\))|(?= \())(?=[\s\w])"
)
_SUBJECT: Final = re.compile(
    r" (?:is|was|are|were|has|had|does|did|can|cannot|could|may|might|would|seems|appears)\b"
)
_SENTENCE_END: Final = re.compile(r"[.!?](?=\s|$)|[。!?]|\n")


@lru_cache(2_000)
def _words(shown: tuple[str, ...]) -> Words:
    return Words(shown)


class Answer:
    """A generated answer made plain, with the options that were shown."""

    def __init__(self, text: str, options: Sequence[str], cut: bool) -> None:
        self.shown = tuple(plain_words(o).strip() for o in options)
        self.words = _words(self.shown)
        self.cut = cut
        again = _REPEATED.match(text)
        if again and text not in self.shown and text[again.end() : again.end() + 1] in ("", "\n"):
            text = again[1] + text[again.end() :]
        self.text, self.marked = self._without_echo(text)
        self.tokens = words_of(self.text)
        self.starts = [t.start for t in self.tokens]

    # Letters

    def option_of(self, letter: str) -> int:
        """Return the option of a letter, `SEVERAL` if no option has it."""
        number = ord({"А": "A", "С": "C"}.get(letter.upper(), letter.upper())) - ord("A")
        return number if number < len(self.shown) else SEVERAL

    def letter_at(self, start: int, *, leads: bool = False, alone: bool = False) -> Claim | None:
        """Return the claim of the letter that stands at a position, if it is that of an option.

        `leads` is for the start of an answer, `alone` where its sentence must end with the option.
        """
        found = _LETTER.match(self.text, start)
        if not found or not self._is_letter(found, leads):
            return None
        end = found.end()
        rest = self.text[end : end + 120]
        option = self.option_of(found["letter"])
        own, after = self.own_words(option, end)
        behind = self.text[after : after + 120].removeprefix(")")
        if say.AFTER_NO_CHOICE.match(behind):
            return None
        right = say.IS_RIGHT.match(rest)
        closed = found["dot"] or _is_bracketed(found)
        if not closed and _SUBJECT.match(behind) and not say.IS_RIGHT.match(behind):
            return None
        if not (closed or own or right or _FOLLOWS.match(rest)):
            return None
        if re.match(r"\.[A-Za-z](?![\w'])", rest):
            return None
        if say.ITEM_WRONG.match(self.text, end + len(rest) - len(rest.lstrip(" :–—-"))):
            return None
        unknown = option == self.words.unknown
        if (
            _ALL_OR_NUMBER.match(self.text, end)
            and not own
            and not (unknown and _POSSIBLE.match(self.text, end))
        ):
            return Claim(found.start(), after, SEVERAL, listed=True)
        if alone and not right and not _STOP.match(self.text, after) and found["dot"] != ".":
            return None
        for position in {end, after}:
            joined = _JOINED.match(self.text, position)
            if joined and self.option_of(joined["letter"]) not in (option, SEVERAL):
                option = SEVERAL
            joins = _JOINS.match(self.text, position)
            if joins and self.words_at(joins.end())[0] - {option}:
                option = SEVERAL
            if _OR.match(self.text, position):
                option = SEVERAL
        listed = option == SEVERAL
        if own and self._goes_on(option, after):
            option = SEVERAL
        if not own and self._contradicted(option, end, leads):
            option = SEVERAL
        if not own and not unknown:
            gap = _NEXT.match(self.text, end)
            said = _SENTENCE_END.split(
                self.text[gap.end() if gap else end : end + 120], maxsplit=1
            )[0]
            if say.KNOWS_NOT.match(said) or (found["dot"] and say.NOBODY_KNOWS.search(said)):
                option = SEVERAL
        if not own and leads and found["dot"] and self._begins_other(option, end):
            option = SEVERAL
        return Claim(found.start(), after, option, listed=listed)

    def _is_letter(self, found: re.Match[str], leads: bool) -> bool:
        """Whether a single letter is that of an option and no article, pronoun or initial."""
        letter, dot = found["letter"], found["dot"]
        bracketed = _is_bracketed(found)
        rest = self.text[found.end() : found.end() + 40]
        ends = not rest.strip() or rest.startswith("\n")
        if re.match(r"'[a-z]", rest) and not re.match(r"'[dt][iıuü]r", rest):
            return False
        if letter in "АС" or letter in "ас":
            return letter in "АС" and (bracketed or bool(dot) or ends)
        if letter.islower():
            sure = bracketed or dot == ")" or ends or (leads and bool(dot))
            return sure or (letter not in "aieoyu" and (bool(dot) or rest[:1] in ",;"))
        if letter in "AI" and not (bracketed or dot or ends):
            if re.match(
                r"\s(?:is|-|because|since|as|given|due|based|and|or|which|i\.e|rather than|here"
                rf"|the {say.BEST})(?![^\W_])",
                rest,
            ):
                return True
            # "A The man" is a letter before words that have an article of their own.
            own = self.option_of(letter)
            shown = self.shown[own] if own >= 0 else ""
            return (
                not re.match(r"\s?[^\W_]", rest)
                or (not rest[1:2].islower() and bool(shown) and rest[1:].startswith(shown[:39]))
                or bool(re.match(r"\s?[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]", rest))
            )
        return True

    def _goes_on(self, option: int, end: int) -> bool:
        """Whether the words of an option go on as those of a longer one do."""
        i = bisect_left(self.starts, end)
        return i < len(self.tokens) and self.tokens[i].text in self.words.next_of(option)

    def _contradicted(self, option: int, end: int, leads: bool) -> bool:
        """Whether the words behind a letter are those of another option."""
        gap = _NEXT.match(self.text, end)
        start = gap.end() if gap else end
        others, after = self.words_at(start)
        if not others or option in others:
            return False
        new_sentence = "\n" in self.text[end:start] or not leads
        return not new_sentence or bool(
            _PAUSE.match(self.text, after) or _IS_ONE.match(self.text, after)
        )

    def _begins_other(self, option: int, end: int) -> bool:
        """Whether the first word behind a letter is one that only another option has."""
        gap = _NEXT.match(self.text, end)
        i = bisect_left(self.starts, gap.end() if gap else end)
        i += sum(1 for _ in takewhile(lambda t: t.article, self.tokens[i : i + 2]))
        first, following = ([t.text for t in self.tokens[i : i + 2]] + ["", ""])[:2]
        having = [o for o, words in enumerate(self.words.of) if first in words]
        return (
            len(having) == 1
            and having[0] != option
            and self.words.unknown not in having
            and (option != self.words.unknown or following == "one")
        )

    # Words

    def words_at(self, start: int) -> tuple[frozenset[int], int]:
        """Return the options whose words stand at a position, and where these end."""
        i = bisect_left(self.starts, start)
        # An article is no part of the words: at most two are passed over.
        i += sum(1 for _ in takewhile(lambda t: t.article, self.tokens[i : i + 2]))
        if i >= len(self.tokens) or self.text[start : self.tokens[i].start].count("\n") > 1:
            return frozenset(), start
        between = self.text[start : self.tokens[i].start]
        if re.search(r"[.;!?:=→)\]]|\s[-–—]\s", between):
            return frozenset(), start
        options, n = self.words.at(self.text, self.tokens, i)
        return options, self.tokens[i + n - 1].end if n else start

    def own_words(self, option: int, end: int) -> tuple[bool, int]:
        """Return whether the words of an option stand behind its letter, and where these end."""
        gap = _NEXT.match(self.text, end)
        options, after = self.words_at(gap.end() if gap else end)
        return (True, after) if option in options else (False, end)

    def words_claim(self, start: int, *, leads: bool = False) -> Claim | None:
        """Return the claim of the words that stand at a position, if their clause ends there."""
        options, end = self.words_at(start)
        if not options:
            return None
        option = next(iter(options)) if len(options) == 1 else SEVERAL
        if self.is_exclaimed(option, end):
            return None
        joins = _JOINS.match(self.text, end)
        if joins and self.words_at(joins.end())[0]:
            return Claim(start, end, SEVERAL, in_words=True, listed=True)
        below = _BELOW.match(self.text, end)
        others, after = self.words_at(below.end()) if below else (frozenset(), end)
        if others - {option} and _STOP.match(self.text, after):
            option = SEVERAL
        label = _IN_BRACKETS.match(self.text, end)
        if label and (self.option_of(label[1]) != option or _JOINS.match(self.text, label.end())):
            option = SEVERAL
        goes_on = label and not _PAUSE.match(self.text, label.end())
        if goes_on or _I_REFUSE.match(self.text, end):
            return None
        part = option in self.words.parts
        tiny = leads and option in self.words.tiny and self.text[end : end + 1] == ","
        if tiny or (_STOP if part else _PAUSE).match(self.text, end):
            return Claim(start, end, option, in_words=True)
        return None

    def is_exclaimed(self, option: int, end: int) -> bool:
        """Whether the word of an option that ends at a position may be said by the way."""
        own = self.words.of[option] if option >= 0 else ()
        return (
            len(own) == 1
            and own[0] in INTERJECTION
            and bool(self.text[end : end + 20].strip(" .!\n"))
        )

    # Lists

    def _without_echo(self, text: str) -> tuple[str, int | None]:
        """Return a text without all options repeated, and the one that is marked among them."""
        self.text, self.tokens = text, words_of(text)
        self.starts = [t.start for t in self.tokens]
        marked, kept, position = None, [], 0
        self.echoes = 0
        run: list[tuple[int, int]] = []
        for item in [*ITEM.finditer(text), None]:
            if item and self.option_of(item["letter"]) == len(run) < len(self.shown):
                own, after = self.own_words(len(run), item.end())
                if own:
                    run.append((item.start(), after))
                    continue
            if len(run) == len(self.shown):
                ends = [s for s, _ in run[1:]] + [run[-1][1] + 14]
                tails = [text[a:e] for (_, a), e in zip(run, ends, strict=True)]
                right = [i for i, t in enumerate(tails) if say.ITEM_RIGHT.search(t.split("\n")[0])]
                marked = right[0] if len(right) == 1 else marked
                kept.append(text[position : run[0][0]] + "\n")
                position = run[-1][1]
                self.echoes += 1
            elif run and not item and self.echoes:
                # The list once more, up to where the text ends.
                kept.append(text[position : run[0][0]])
                position = len(text)
            first = item and self.option_of(item["letter"]) == 0
            run = []
            if item and first:
                own, after = self.own_words(0, item.end())
                run = [(item.start(), after)] if own else []
        kept.append(text[position:])
        return "".join(kept).replace(MARK, "").strip(" .,;\n"), marked

    @cached_property
    def items(self) -> list[tuple[int, int, str]]:
        """Options that the answer lists: option, position, and what is said about it."""
        found = []
        for item in ITEM.finditer(self.text):
            option = self.option_of(item["letter"])
            before = self.text[max(0, item.start() - 2) : item.start()]
            inline = before == ". " or (item["dot"] == ":" and before in ("; ", ", "))
            if option >= 0 and (
                item["line"] is not None or inline or self.own_words(option, item.end())[0]
            ):
                found.append((option, item.start(), item.end()))
        ends = [start for _, start, _ in found[1:]] + [len(self.text)]
        return [
            (option, start, self.text[end : min(stop, end + 300)].split("\n")[0])
            for (option, start, end), stop in zip(found, ends, strict=False)
        ]

    def is_listed(self, option: int) -> bool:
        """Whether an option is listed among others that are not said to be wrong."""
        if option == SEVERAL:
            return False
        is_wrong = option in self._listed and option not in self._open
        return (is_wrong and len(self.items) > 1) or bool(self._open - {option})

    @cached_property
    def _listed(self) -> frozenset[int]:
        """Options listed."""
        return frozenset(option for option, _, _ in self.items)

    @cached_property
    def _open(self) -> frozenset[int]:
        """Options listed that are not said to be wrong."""
        return frozenset(o for o, _, said in self.items if not say.ITEM_WRONG.search(said))

    def is_quoted(self, start: int) -> bool:
        """Whether a position stands in a quotation or an example: that is no answer."""
        paragraph = self.text.rfind("\n", 0, start) + 1
        heading = self.text[max(0, paragraph - 40) : paragraph]
        quoted = self.text.count('"', paragraph, start) % 2 == 1
        return quoted or say.NO_EXAMPLE.search(heading) is not None

    def clause_before(self, start: int) -> str:
        """Return what stands before a position in its sentence, 120 characters at most."""
        before = self.text[max(0, start - 120) : start]
        return before[max((m.end() for m in _SENTENCE_END.finditer(before)), default=0) :]

    def sentence(self, inside: int) -> tuple[int, int]:
        """Return where the sentence around a position begins and ends."""
        start = max((m.end() for m in _SENTENCE_END.finditer(self.text, 0, inside)), default=0)
        end = _SENTENCE_END.search(self.text, inside)
        return start, end.start() if end else len(self.text)

    def is_asked(self, end: int) -> bool:
        """Whether the sentence at a position ends as a question."""
        stop = _SENTENCE_END.search(self.text, end, end + 120)
        return stop is not None and stop[0] == "?"

    def label_before(self, end: int) -> int | None:
        """Return where the letter begins that ends at a position."""
        found = _LABEL_BEFORE.search(self.text[max(0, end - 12) : end])
        return max(0, end - 12) + found.start() if found else None

    def tokens_between(self, start: int, end: int) -> list[Word]:
        """Return the words between two positions."""
        return self.tokens[bisect_left(self.starts, start) : bisect_left(self.starts, end)]


def _is_bracketed(found: re.Match[str]) -> bool:
    """Whether a letter stands in quotes or brackets, or before a closing one."""
    return bool(found["close"]) and (bool(found["open"]) or found["close"][0] in ")]")
