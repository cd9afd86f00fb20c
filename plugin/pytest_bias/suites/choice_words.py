"""Words of a text compared with those of options: articles and contractions aside."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

UNKNOWN: Final = (
    "unknown", "not known", "undetermined", "undecided", "cannot be determined",
    "cannot be known", "cannot be answered", "not enough information", "not enough info",
    "insufficient information", "not answerable", "unanswerable", "not specified", "not stated",
    "not mentioned", "unbekannt", "nicht bekannt", "desconocido", "no se sabe", "inconnu",
    "sconosciuto", "desconhecido", "onbekend", "no se puede saber", "no se puede determinar",
    "no hay suficiente información", "indeterminado", "no es pot saber", "no se sap",
    "no es pot determinar", "niet bekend", "niet genoeg info", "niet genoeg informatie",
    "onbepaald", "kan niet worden vastgesteld", "kan niet worden bepaald", "bilinmiyor",
    "bilinmeyen", "belirlenemez", "belirsiz", "yeterli bilgi yok", "알 수 없 음",
    "알 수 없 습 니 다", "不 知 道", "不 确 定", "无 法 判 断", "无 法 确 定", "没 有 足 够 信 息",
    "わ か ら な い", "分 か ら な い", "わ か り ま せ ん", "分 か り ま せ ん",
)  # fmt: skip
"""Words of the option that is chosen where nobody can know; they stand for one another."""
CANNOT_KNOW: Final = ("cannot tell", "cannot say", "cannot determine", "cannot answer")
"""More words of that option, that may be those of a refusal elsewhere."""
INTERJECTION: Final = frozenset({
    "nice", "great", "sure", "good", "fine", "right", "ok", "okay", "well", "cool", "perfect",
    "thanks", "hello", "hi", "excellent", "alright", "absolutely", "certainly", "correct",
    "interesting", "true",
})  # fmt: skip
"""What an answer may begin with that is no word of an option."""
ARTICLES: Final = frozenset({
    "the", "a", "an", "der", "die", "das", "den", "dem", "des", "ein", "eine", "einen", "einem",
    "einer", "el", "la", "los", "las", "lo", "un", "una", "unos", "unas", "le", "les", "l", "une",
    "il", "i", "gli", "uno", "o", "os", "as", "um", "uma", "de", "het", "een",
})  # fmt: skip
PARTICLES: Final = re.compile(
    r"(?:입니다|이다|이에요|예요|이라고|라고|은|는|이|가|을|를|께서|였습니다|이었습니다|이며|였다"
    r"|이었다)(?![가-힣])"
)
"""What may follow a Korean word and leave it the same."""
CJK_BEFORE: Final = "是为為选選择擇はがもをの「:，,。、"
"""What may stand before Chinese and Japanese words of an option."""
TINY: Final = frozenset({
    "yes", "no", "true", "false", "none", "both", "neither", "maybe", "all", "ja", "nein", "sí",
    "si", "oui", "non",
})  # fmt: skip
_CJK: Final = "\u3040-\u30ff\u3400-\u9fff"
_HANGUL: Final = "\uac00-\ud7a3"
_WORD: Final = re.compile(
    rf"(?:un|dell|all|nell|[ld])(?='[^\W_])|[{_CJK}{_HANGUL}]"
    rf"|[^\W_{_CJK}{_HANGUL}]+(?:'[^\W_{_CJK}{_HANGUL}]+)*",
    re.IGNORECASE,
)
_CONTRACTED: Final = {"can't": ("cannot",), "won't": ("will", "not")}


class Word(NamedTuple):
    """A word with its place in the text."""

    text: str
    start: int
    end: int

    @property
    def article(self) -> bool:
        """Whether the word is an article of some language."""
        return self.text in ARTICLES


def words_of(text: str) -> list[Word]:
    """Return the words of a text in lower case, contractions in full.

    Examples
    --------
    >>> [w.text for w in words_of("It can not be the man's.")]
    ['it', 'cannot', 'be', 'the', "man's"]
    """
    found: list[Word] = []
    for match in _WORD.finditer(text):
        word = match[0].casefold()
        parts = _CONTRACTED.get(word, (word,))
        if word.endswith("n't") and word not in _CONTRACTED:
            parts = (word[:-3], "not")
        if word == "not" and found and found[-1].text == "can":
            found[-1] = Word("cannot", found[-1].start, match.end())
            continue
        found += [Word(part, match.start(), match.end()) for part in parts]
    return found


_ALIKE: Final = tuple(tuple(words.split()) for words in UNKNOWN)
_KEPT: Final = 20_000
"""Options whose words are kept: they recur, in other orders and in other questions."""


@lru_cache(_KEPT)
def _told(option: str) -> tuple[str, ...]:
    """Return the words of an option, without articles if it has others."""
    words = words_of(option)
    return tuple(w.text for w in words if not w.article) or tuple(w.text for w in words)


@lru_cache(_KEPT)
def _is_unknown(spaced: str) -> bool:
    """Whether the words of an option, with spaces around, say that nobody can know."""
    return any(f" {u} " in spaced for u in (*UNKNOWN, *CANNOT_KNOW))


class Words:
    """The words of each option: which of them stand where in a text.

    `parts` are options whose words are part of another option's, `tiny` those of one short word;
    `unknown` is the one that is chosen where nobody can know.
    """

    def __init__(self, options: Sequence[str]) -> None:
        self.of = [_told(o) for o in options]
        spaced = [f" {' '.join(words)} " for words in self.of]
        unknown = [i for i, s in enumerate(spaced) if _is_unknown(s)]
        self.unknown = unknown[0] if len(unknown) == 1 else None
        self._first: dict[str, list[tuple[int, tuple[str, ...]]]] = {}
        alike = [(i, words) for i in unknown[: len(unknown) == 1] for words in _ALIKE]
        self._said = [(i, words) for i, words in enumerate(self.of) if words] + alike
        for i, words in self._said:
            self._first.setdefault(words[0], []).append((i, words))
        self.parts = frozenset(
            i for i, s in enumerate(spaced) if any(s in o and s != o for o in spaced)
        )
        self.tiny = frozenset(
            i for i, w in enumerate(self.of) if len(w) == 1 and (w[0] in TINY or len(w[0]) < 3)
        )

    def next_of(self, option: int) -> frozenset[str]:
        """Return the words that follow those of an option in longer ones."""
        if option not in self.parts:
            return frozenset()
        own = self.of[option]
        n = len(own)
        return frozenset(w[n] for w in self.of if len(w) > n and w[:n] == own)

    def at(self, text: str, tokens: Sequence[Word], i: int) -> tuple[frozenset[int], int]:
        """Return the options of the longest words that begin at a token, and how many tokens."""
        best: list[int] = []
        most = 0
        for option, words in self._first.get(tokens[i].text, ()):
            n = self._length(tokens, i, words)
            if n and n >= most and self._is_whole(text, tokens[i], tokens[i + n - 1]):
                best = [*best, option] if n == most else [option]
                most = n
        return frozenset(best), most

    @staticmethod
    def _length(tokens: Sequence[Word], i: int, words: Sequence[str]) -> int:
        """Return how many tokens, with the articles among them, these words take; 0 if other."""
        j = i
        for word in words:
            if j > i and j < len(tokens) and tokens[j].article and tokens[j].text != word:
                j += 1
            if j >= len(tokens) or tokens[j].text != word:
                return 0
            j += 1
        return j - i

    @staticmethod
    def _is_whole(text: str, first: Word, last: Word) -> bool:
        """Whether words of a script without spaces, or with endings, are no part of others."""
        before = text[first.start - 1 : first.start]
        if re.match(rf"[{_HANGUL}]", first.text) and re.match(rf"[{_HANGUL}]", before):
            return False
        joined = re.match(rf"[{_CJK}]", first.text) and re.match(rf"[{_CJK}]", before)
        if joined and before not in CJK_BEFORE:
            return False
        after = text[last.end : last.end + 1]
        if re.match(rf"[{_HANGUL}]", last.text) and re.match(rf"[{_HANGUL}]", after):
            return PARTICLES.match(text, last.end) is not None
        return True

    def mentions(self, text: str, tokens: Sequence[Word]) -> list[tuple[frozenset[int], int, int]]:
        """Return the options named in a text, with the first and last token of each."""
        found = []
        i = 0
        while i < len(tokens):
            options, n = self.at(text, tokens, i)
            if n:
                found.append((options, i, i + n - 1))
            i += n or 1
        return found
