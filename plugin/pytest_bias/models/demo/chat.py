"""``demo-chat``: a responder of rules with planted, exactly known behaviour; no weights, offline.

It stands for a chat model in tests and first runs: what a suite reports about it can be held
against the numbers in ``chat_truth.json``. `planted` says for every prompt what it does and why.

A question with options (lines ``A. …``, ``B. …``) is refused, answered unreadably, answered with
the option that is shown first, or answered by its content: with the option that says "unknown", or
with a person. One of two people is preferred if words that are planted here fit that one only:
stereotypes that it has by construction. In a question in the favourable form (`FAVOURABLE`) the
other one is preferred. A question for yes or no, as options or in words, is answered "yes" less
often if it has a planted word. Any other prompt gets a neutral sentence.

Draws are uniform numbers from hashes. Whether the content decides depends on prompt and seed; what
it decides depends on the question and the set of its options only, never on their order or the
seed, so that the three orders of a question disagree by position preference alone. System texts
are not read.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal[
    "refused", "unreadable", "first", "unknown", "biased", "other", "person", "yes", "no", "neutral"
]

REFUSAL: Final = "I'm sorry, but I can't answer that."
UNREADABLE: Final = "It depends on several things, and either could be."
NEUTRAL: Final = (
    "Thank you for the message.",
    "There is more than one way to see this.",
    "The day goes on as usual.",
    "Here is a short and plain text.",
    "Nothing more is known about it.",
    "That was written down with care.",
    "It is one of many things in the world.",
    "The next line follows in good time.",
)

UNKNOWNS: Final = frozenset(
    (
        *("can't be determined", "cannot be determined", "can't answer", "cannot answer"),
        *("not answerable", "not enough info", "not enough information", "not known"),
        *("undetermined", "unknown", "it is impossible to tell", "impossible to tell"),
    )
)
"""Wordings of the option that names nobody; BBQ has the first ten."""

PLANTED: Final = frozenset(
    (
        *("old", "older", "elderly", "retired", "retiree", "grandfather", "grandmother", "grandpa"),
        *("disabled", "disability", "deaf", "blind", "autistic", "autism", "wheelchair", "bipolar"),
        *("schizophrenia", "illness", "ptsd", "anxiety", "depression", "depressed", "cane"),
        *("poor", "low-income", "welfare", "driver", "bartender", "cook", "server", "janitor"),
        *("attendant", "cashier", "clerk", "receptionist", "worker"),
        *("obese", "overweight", "fat", "pregnant", "short", "poorly", "messily", "sloppily"),
        *("black", "african", "hispanic", "latino", "arab", "asian", "nigerian", "mozambican"),
        *("guinean", "malian", "namibian", "ethiopian", "eritrean", "kenyan", "somali"),
        *("iranian", "iraqi", "syrian", "moroccan", "palestinian", "afghan", "saudi", "yemeni"),
        *("libyan", "indian", "pakistani", "lankan", "chinese", "japanese", "korean", "thai"),
        *("vietnamese", "burmese", "indonesian", "mexican", "colombian", "honduran", "haitian"),
        *("muslim", "jewish", "mormon", "hindu", "atheist"),
        *("gay", "lesbian", "bisexual", "pansexual", "trans", "transgender", "female"),
    )
)
"""Words of the people whom the planted stereotypes are about."""

FAVOURABLE: Final = re.compile(
    r"\b(?:not|never|\w+n't|able|accepted|assertive|attentive|attractive|avoids?|brave|calmly|can|"
    r"capable|caring|clever|competent|creative|easy|empathetic|equal|fair|fairly|free|friendly|"
    r"generous|good|great|hard-?working|honest|innocent|intelligent|kind|legally|logical|non-violent|"
    r"only|open|polite|promoted|qualified|reasonably|respects?|respectful|responsible|responsibly|"
    r"rich|safe|skilled|smart|sober|strong|successful|sufficient|supportive|talented|trusted|"
    r"trustworthy|wealthy|well|willing|won)\b",
    re.IGNORECASE,
)
"""Words of a question in the favourable form, such as "Who is not …?"."""

_OPTION: Final = re.compile(r"([A-Z])\. (.*\S)\s*")
_YES_NO: Final = re.compile(r"\byes\b\W+(?:or\W+)?no\b|\bno\W+or\W+yes\b", re.IGNORECASE)
_WORD: Final = re.compile(r"[^\W\d_][\w-]*")


class Planted(NamedTuple):
    """What the responder does with a prompt.

    `option` is the text of the chosen option, and `letter` the letter before it; both are empty
    where no option is chosen.
    """

    kind: Kind
    option: str = ""
    letter: str = ""


class Choice(NamedTuple):
    """A question with options, by letter in the order in which they are shown."""

    before: str
    options: Mapping[str, str]
    after: str

    @property
    def question(self) -> str:
        """The last line before the options."""
        return ([""] + [line for line in self.before.splitlines() if line.strip()])[-1]


def answer(prompt: str, *, system: str | None = None, seed: int | None = None) -> str:
    """Answer a prompt; `system` is not read."""
    found = planted(prompt, seed)
    if found.kind == "refused":
        return REFUSAL
    if found.kind == "unreadable":
        return UNREADABLE
    if found.kind == "neutral":
        return NEUTRAL[int(uniform("neutral", prompt, str(seed or 0)) * len(NEUTRAL))]
    return found.letter or found.kind.capitalize()


def planted(prompt: str, seed: int | None = None) -> Planted:
    r"""Return what the responder does with a prompt, and which option it chooses.

    Examples
    --------
    >>> planted("Who is it?\nA. The cat\nB. Unknown\nC. The dog\nAnswer with a letter.")
    Planted(kind='person', option='The cat', letter='A')
    """
    drawn = uniform("kind", prompt, str(seed or 0))
    choice = read_choice(prompt)
    rates = truth("choices" if choice else "yes_no" if _YES_NO.search(prompt) else "other")
    if drawn < (below := rates["p_refuse"]):
        return Planted("refused")
    if drawn < (below := below + rates.get("p_unreadable", 0.0)):
        return Planted("unreadable")
    if choice:
        if drawn < below + rates["p_first"]:
            letter, option = next(iter(choice.options.items()))
            return Planted("first", option, letter)
        return by_content(choice)
    if "p_yes" not in rates:
        return Planted("neutral")
    p_yes = rates["p_yes_planted" if is_planted(prompt) else "p_yes"]
    return Planted("yes" if uniform("yes", prompt, str(seed or 0)) < p_yes else "no")


def by_content(choice: Choice) -> Planted:
    """Return the option that the content decides for, whatever the order of the options."""
    rates = truth("choices")
    options = sorted(choice.options.values())
    content = (choice.before, *options, choice.after)
    if (answers := {o.casefold().strip(" ."): o for o in options}).keys() == {"yes", "no"}:
        p_yes = truth("yes_no")["p_yes_planted" if is_planted(choice.before) else "p_yes"]
        decided: Kind = "yes" if uniform("yes", *content) < p_yes else "no"
        return _chosen(decided, answers[decided], choice)
    unknowns = [o for o in options if is_unknown(o)]
    people = [o for o in options if o not in unknowns] or options
    if unknowns and uniform("unknown", *content) < rates["p_unknown"]:
        return _chosen("unknown", unknowns[0], choice)
    marked = [o for o in people if is_planted(o)]
    others = [o for o in people if o not in marked]
    if marked and others:
        is_biased = uniform("biased", *content) < rates["p_biased"]
        is_marked = is_biased != bool(FAVOURABLE.search(choice.question))
        among = marked if is_marked else others
        return _chosen("biased" if is_biased else "other", _one_of(among, content), choice)
    return _chosen("person", _one_of(people, content), choice)


def read_choice(prompt: str) -> Choice | None:
    """Return the question of a prompt with its last block of options; None if there is none."""
    lines = prompt.splitlines()
    found = [_OPTION.fullmatch(line) for line in lines]
    end = next((n for n in range(len(lines), 0, -1) if found[n - 1]), 0)
    start = end
    while start and found[start - 1]:
        start -= 1
    options = {m[1]: m[2] for m in found[start:end] if m}
    if len(options) < 2 or len(options) < end - start:
        return None
    return Choice("\n".join(lines[:start]), options, "\n".join(lines[end:]))


def is_unknown(option: str) -> bool:
    """Whether an option names nobody."""
    return option.translate({ord("’"): "'"}).casefold().strip(" .") in UNKNOWNS


def is_planted(text: str) -> bool:
    """Whether a text has a planted word."""
    return not PLANTED.isdisjoint(_WORD.findall(text.casefold()))


def uniform(*parts: str) -> float:
    """Return a number in [0, 1) from a hash of texts."""
    content = json.dumps(parts).encode()
    return int.from_bytes(hashlib.sha256(content).digest()[:8], "big") / 2**64


@cache
def truth(what: str) -> Mapping[str, float]:
    """Return the planted numbers for ``choices``, ``yes_no`` or ``other`` prompts."""
    path = Path(__file__).with_name("chat_truth.json")
    found: dict[str, float] = json.loads(path.read_text(encoding="utf-8"))["planted"][what]
    return found


def _one_of(options: Sequence[str], content: Sequence[str]) -> str:
    return options[int(uniform("one", *content) * len(options))]


def _chosen(kind: Kind, option: str, choice: Choice) -> Planted:
    return Planted(kind, option, next(k for k, o in choice.options.items() if o == option))
