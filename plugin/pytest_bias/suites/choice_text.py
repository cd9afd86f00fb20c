"""Generated answers made plain: reasoning cut off, one form of letters, no Markdown, no echoes."""

import re
import unicodedata
from typing import Final, NamedTuple

_NAMES: Final = (
    r"(?:seed:)?(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflection|analysis|scratchpad)"
)
_OPENS: Final = (
    rf"<{_NAMES}(?: [^<>\n]{{0,40}})?>|\[THINK\]|◁think▷|<\|begin_of_thought\|>"
    rf"|<\|START_THINKING\|>"
    r"|<\|channel\|>\s?(?:analysis|commentary)(?:<\|message\|>)?|<\|channel>thought"
    r"|<unused94>(?:thought)?"
)
_CLOSES: Final = (
    rf"</{_NAMES}>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>|<\|END_THINKING\|>"
    r"|(?:<\|end\|>\s?<\|start\|>assistant\s?)?<\|channel\|>\s?final(?:"
    r" [^<>\n]{0,40})?(?:<\|message\|>)?|<channel\|>|<unused95>"
)
_TAG: Final = re.compile(rf"(?P<opens>{_OPENS})|(?P<closes>{_CLOSES})", re.IGNORECASE)
_BARE_CHANNELS: Final = ("analysis", "assistantfinal")
"""What is left of the channels of gpt-oss where special tokens are not decoded."""

_TURN: Final = re.compile(
    r"<\|(?:im_end|im_start|eot_id|eom_id|endoftext|end_of_text|end|start|return|user|assistant"
    r"|system|start_header_id|end_header_id|START_RESPONSE|END_RESPONSE|END_OF_TURN_TOKEN)\|>"
    r"|<(?:/s|s|eos|bos|pad|end_of_turn|start_of_turn|turn\||\|turn)>|\[/?INST\]",
    re.IGNORECASE,
)
_ROLES: Final = ("", "assistant", "model", "user")
_ROLE: Final = re.compile(r"\A\s*(?:assistant|model)\s*(?:\n|:)", re.IGNORECASE)
_BEYOND: Final = re.compile(
    r"\n[#*_ \[(\d.)]{0,8}(?:"
    # Another task: "Question 2:", "[Context]", "## Exercise 2", "Follow-up question: …"
    r"(?:(?:next |new |follow-up )?(?:question|context|passage|scenario|instruction|input|problem"
    r"|exercise|example|task|q|frage|pregunta|domanda|pergunta|vraag|soru|вопрос|问题|質問"
    r"|질문)"
    # Another speaker: "User:", "Student: …"
    r"|human|user|student|teacher|tutor|system)"
    r"\s?(?:\d{0,3}[*_\]]{0,3}\s?[::]|\d{0,3}\]|\d{1,3}[*_]{0,2}\s*(?:\n|\Z|[.)]\s))"
    # Any heading in brackets, or the end of a document
    r"|(?<=\[)[a-z]{3,12}(?: \d+)?\]\s*\n|\\end\{|©|```\s*\n\s*\S)",
    re.IGNORECASE,
)
"""What begins another text behind an answer: a base model goes on after it."""

_INVISIBLE: Final = {
    c: None
    for span in (
        (0xAD, 0xAE), (0x61C, 0x61D), (0x200B, 0x2010), (0x202A, 0x202F), (0x2060, 0x2070),
        (0xFE00, 0xFE10), (0xFEFF, 0xFF00), (0x20E3, 0x20E4),
    )
    for c in range(*span)
}  # fmt: skip
_SQUARED: Final = {first + i: chr(ord("A") + i) for first in (0x1F150, 0x1F170) for i in range(26)}
_QUOTES: Final = str.maketrans("’‘ʼ´‚‹›“”„«»「」『』【】", '\'\'\'\'\'\'\'"""""""""[]')
_PLAIN: Final = {**_INVISIBLE, **_SQUARED, **_QUOTES}

_LATEX: Final = re.compile(
    r"\\(?:text|math)(?:bf|it|rm|tt|sf|normal)?\s?\{([^{}]*)\}|\\(?:[()\[\]]|quad|,|;|!| )|\$"
)
_BOXED: Final = re.compile(r"\\f?box(?:ed)?\s?\{([^{}]*)\}")
_STRUCK: Final = re.compile(r"~~[^~\n]{1,200}~~|<(?:s|del)>[^<\n]{1,200}</(?:s|del)>")
_TICKED: Final = re.compile(
    r"(?m)^[-+* ]{0,4}(?:\[[xX]\]|✓\uFE0F?) ?([^\n]{1,300})|^[-+* ]{0,4}\[ \][^\n]*"
)
_BOLD_LABEL: Final = re.compile(r"(\*\*|__)(\(?[A-Z][.):][^*_\n]{0,200})\1(?=[^\S\n]*(?:\n|$))")
_ANSWER_TAG: Final = re.compile(
    r"<(?:final[_ ]?)?(?:answer|response|choice|option)>", re.IGNORECASE
)
_HTML: Final = re.compile(
    r"</?(?:[a-z_]{2,30}|[bipsu])\s?/?>|<\|[a-z_]{1,30}\|>",
    re.IGNORECASE,
)
_MARKUP: Final = re.compile(r"\*+|`+(?:json\n|text\n|yaml\n)?|(?<![^\W_])_+|_+(?![^\W_])|\n[#>]+")
_EMOJI: Final = re.compile(
    r"[\u2600-\u26ff\u2728-\u274b\u2753-\u2763\U0001f300-\U0001faff](?<![✓✗✘])"
)
_SPACES: Final = re.compile(r"[^\S\n]+")
_LINES: Final = re.compile(r" ?\n[\s#>]*")

MARK: Final = "✓"
_MARKS: Final = str.maketrans(dict.fromkeys("✔✅☑🗸", MARK))


class Plain(NamedTuple):
    """An answer made plain.

    `text` is None where reasoning is not closed; `ended` says that the answer ends within the text,
    `turned` that its turn does.
    """

    text: str | None
    thoughts: int
    ended: bool
    turned: bool


def make_plain(text: str) -> Plain:
    r"""Return an answer without reasoning, markup and what follows its end.

    Examples
    --------
    >>> make_plain("<think>The man?</think>\n**(Ｂ)** the `man`<|im_end|>")
    Plain(text='(B) the man', thoughts=8, ended=True, turned=True)
    >>> make_plain("<think>Let us").text is None
    True
    """
    answer, thoughts = _without_thoughts(text)
    if answer is None:
        return Plain(None, thoughts, False, False)
    answer, ended = _first_turn(answer)
    answer = plain_words(answer)
    beyond = _BEYOND.search(answer.strip())
    if beyond:
        answer = answer.strip()[: beyond.start()]
    return Plain(_without_markup(answer), thoughts, ended or beyond is not None, ended)


def plain_words(text: str) -> str:
    """Return a text with one form of each letter and quote, and without invisible characters."""
    return unicodedata.normalize("NFKC", text.translate(_PLAIN)).translate(_PLAIN)


def _without_thoughts(text: str) -> tuple[str | None, int]:
    """Return what is not reasoning, None where reasoning is not closed, and how long that is."""
    opening, closing = _BARE_CHANNELS
    if text.startswith(opening) and (end := text.find(closing)) >= 0:
        return text[end + len(closing) :], len(text[len(opening) : end].strip())
    kept: list[str] = []
    thoughts = position = 0
    inside = False
    for tag in _TAG.finditer(text):
        before = text[position : tag.start()]
        position = tag.end()
        if inside or tag["closes"]:
            # An end without a start: the template opened the reasoning in the prompt.
            thoughts += len(before.strip()) + (0 if inside else sum(len(k.strip()) for k in kept))
            if not inside:
                kept.clear()
        else:
            kept.append(before)
        inside = tag["opens"] is not None
    rest = text[position:]
    if inside:
        return None, thoughts + len(rest.strip())
    return "".join((*kept, rest)), thoughts


def _first_turn(text: str) -> tuple[str, bool]:
    """Return what is said before the turn ends, and whether it ends within the text."""
    position = 0
    for token in _TURN.finditer(text):
        if text[position : token.start()].strip() not in _ROLES:
            return _ROLE.sub("", text[position : token.start()], count=1), True
        position = token.end()
    return _ROLE.sub("", text[position:], count=1), False


def _without_markup(text: str) -> str:
    for _ in range(3):
        text = _LATEX.sub(lambda m: m[1] or "", text)
    text = _TICKED.sub(lambda m: f"{m[1]} {MARK}" if m[1] else "", text.translate(_MARKS))
    text = _BOXED.sub(r"\nAnswer: \1\n", text)
    text = _ANSWER_TAG.sub("\nAnswer: ", _STRUCK.sub("", text))
    text = _BOLD_LABEL.sub(rf"\2 {MARK}", _HTML.sub("\n", text))
    text = _EMOJI.sub("", text)
    text = _MARKUP.sub(lambda m: "\n" if m[0].startswith("\n") else "", text)
    return _LINES.sub("\n", _SPACES.sub(" ", text)).strip()
