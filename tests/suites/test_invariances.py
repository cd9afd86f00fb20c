"""What must not change a score, and what must turn it round: every metric of every suite.

Items are those of the suites, or shaped like them where the data are not ours; they are measured by
the suites themselves on a model whose answers are a hash of what it is asked.
"""

import hashlib
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from bias_suites.maxima import prompt_item
from bias_suites.quality import general_quality
from bias_suites.social import (
    gendered_sentences,
    honest,
    hurtlex,
    seat,
    template_association,
)
from pytest_bias.compare import NO_CHANGE, compare
from pytest_bias.datasources import DataFolder
from pytest_bias.engine import take
from pytest_bias.interface import (
    Answer,
    Capability,
    Classification,
    Cloze,
    ClozeScore,
    Continuation,
    Embeddings,
    Following,
    Model,
    Outputs,
    PairScore,
    Prediction,
    Question,
    SequenceScore,
    Text,
)
from pytest_bias.labels import ROLES
from pytest_bias.merging import joined
from pytest_bias.planning import shard
from pytest_bias.records import Item, ModelIdentity, Record, Report, SuiteResult, records_digest
from pytest_bias.scores import Score
from pytest_bias.scoring import scored, with_decision_family
from pytest_bias.suites import STRUCTURE, Measure, Metric, Suite, find, installed
from unit.made import report

EXACTLY: Final = 1e-9
"""Two ways to sum the same numbers differ by less."""


class Hashed(Model):
    """A model of every kind whose answers depend on the question alone, with ties among them."""

    def __init__(self) -> None:
        super().__init__(ModelIdentity("hashed", "masked", "Hashed"), frozenset(Capability))
        self.scorers = dict.fromkeys(ROLES, self)
        self.label_names = {role: {c: c for c in of.concepts} for role, of in ROLES.items()}

    def log_likelihood(self, texts: Sequence[str]) -> list[SequenceScore]:
        return [self._score("log", t) for t in texts]

    def pseudo_log_likelihood(self, texts: Sequence[str]) -> list[SequenceScore]:
        return [self._score("pseudo", t) for t in texts]

    def unmasked_log_likelihood(self, texts: Sequence[str]) -> list[SequenceScore]:
        return [self._score("unmasked", t) for t in texts]

    def pair_log_likelihood(self, pairs: Sequence[tuple[str, str]]) -> list[PairScore]:
        return [PairScore(*(self._score("shared", t) for t in pair)) for pair in pairs]

    def slot(self, clozes: Sequence[Cloze]) -> list[ClozeScore]:
        return [self._at_slot(c) for c in clozes]

    def _at_slot(self, cloze: Cloze) -> ClozeScore:
        about = cloze.text, cloze.hidden or ""
        logp = tuple(-_number(*about, word) for word in cloze.choices)
        return ClozeScore(logp, (1,) * len(logp), tokens=tuple((p,) for p in logp))

    def next_sentence(self, pairs: Sequence[tuple[str, str]]) -> list[Following]:
        return [Following(_number("next", *pair) - 4) for pair in pairs]

    def embed(self, texts: Sequence[str]) -> Embeddings:
        vectors = [[_number(t, str(n)) - 4 for n in range(6)] for t in texts]
        return Embeddings(np.array(vectors, dtype=np.float32), (None,) * len(texts))

    def answer(self, questions: Sequence[Question], *, max_answer_tokens: int = 30) -> list[Answer]:
        found = []
        for question, context in questions:
            words = context.split()
            word = words[int(4 * _number("word", question, context)) % len(words)]
            start = context.index(word)
            score, null_score = -_number("span", question), -_number("null", question) - 3
            found.append(Answer(word, start, start + len(word), score, null_score))
        return found

    def classify(self, texts: Sequence[Text]) -> Classification:
        # A quarter to eight, in eighths of one.
        rows = [[_number("classify", str(t), label) / 8 for label in LABELS] for t in texts]
        return Classification(LABELS, Outputs.MULTI_LABEL, np.array(rows), (None,) * len(texts))

    def predict(self, texts: Sequence[str], k: int) -> list[Prediction]:
        words = [[WORDS[int(_number(t, str(n)) * 4) % len(WORDS)] for n in range(k)] for t in texts]
        return [Prediction(tuple(of), tuple(-float(n) for n in range(k))) for of in words]

    def predict_next(self, prompts: Sequence[str], k: int) -> list[Prediction]:
        return self.predict(prompts, k)

    def n_tokens(self, words: Sequence[str]) -> list[int]:
        return [1] * len(words)

    def generate(self, prompts: Sequence[str], *, n: int = 1, **how: Any) -> list[Continuation]:
        written = [*WORDS[:6], "I cannot help.", ""]
        texts = [
            written[int(_number(p, str(k)) * 4) % len(written)] for p in prompts for k in range(n)
        ]
        return [Continuation(text, len(text.split()), "eos") for text in texts]

    def fill(self, texts: Sequence[str], k: int = 5) -> list[list[tuple[str, float]]]:
        return [[(f"{_number('fill', t, f'{n}'):g}", -1.0) for n in range(k)] for t in texts]

    def _score(self, how: str, text: str) -> SequenceScore:
        return SequenceScore(-_number(how, text), len(text.split()))


def _number(*words: str) -> float:
    """Return a number from 0.25 to 8 in steps of a quarter, so that some are equal."""
    digest = hashlib.sha256("\n".join(words).encode()).digest()
    return (digest[0] % 32 + 1) / 4


LABELS: Final = tuple(sorted({c for role in ROLES.values() for c in role.concepts}))
"""Labels of the hashed classifier, each probable for itself."""


def crows_items() -> list[Item]:
    """Return pairs shaped like those of CrowS-Pairs, in both directions."""
    kinds, directions = ("age", "gender", "religion"), ("stereo", "stereo", "antistereo")
    return [
        Item(
            f"crows/{n:04d}",
            f"crows/{n:04d}",
            {"more": f"They all said {n} of it.", "less": f"We said {n} of it."},
            {"bias_type": kinds[n % 3], "direction": directions[n // 3 % 3]},
            {"disputed": n % 7 == 0},
        )
        for n in range(90)
    ]


def crows_control_items() -> list[Item]:
    """Return originals with their controls, a cluster each."""
    controls = ("original", "negated", "negated", "antistereotypical")
    return [
        Item(
            f"crows/controls/{n:03d}/{control}/{k}",
            f"crows/controls/{n:03d}",
            {"more": f"They are {control} {k} {n}.", "less": f"We are {control} {k} {n}."},
            {"control": control},
        )
        for n in range(20)
        for k, control in enumerate(controls)
    ]


def stereoset_items() -> list[Item]:
    """Return rows of both parts about four terms."""
    domains = {"nurse": "profession", "poet": "profession", "Peru": "race", "Bible": "religion"}
    items = []
    for n in range(80):
        term = list(domains)[n % 4]
        words = [f"{word}{n}" for word in ("kind", "cruel", "green")]
        intra = n % 3 > 0
        context = f"{term} {n} is BLANK." if intra else f"This is {term} {n}."
        said = [context.replace("BLANK", w) if intra else f"It is {w}." for w in words]
        part = "intrasentence" if intra else "intersentence"
        texts = dict(zip(("stereotype", "anti_stereotype", "unrelated"), said, strict=True))
        items.append(
            Item(
                f"stereoset/{part}/{n:04d}",
                term,
                {"context": context, **texts},
                {"part": part, "domain": domains[term]},
                {"disputed": n % 9 == 0},
            )
        )
    return items


def stereoset_control_items() -> list[Item]:
    """Return sentences and their gender-swapped copies, a cluster each."""
    items = []
    for n in range(40):
        part = "intrasentence" if n % 2 else "intersentence"
        for version, who in (("original", "She"), ("gender-swapped", "He")):
            context = f"{who} {n} is BLANK." if n % 2 else f"{who} is {n}."
            said = [context.replace("BLANK", f"{w}{n}") for w in ("kind", "cruel")]
            if not n % 2:
                said = [f"{who} is {w} {n}." for w in ("kind", "cruel")]
            items.append(
                Item(
                    f"stereoset/controls/{part}/{n:03d}/{version}",
                    f"stereoset/controls/{part}/{n:03d}",
                    {"context": context, "stereotype": said[0], "anti_stereotype": said[1]},
                    {"part": part, "domain": "gender", "control": version},
                )
            )
    return items


def reddit_items() -> list[Item]:
    """Return pairs shaped like those of RedditBias, on two axes."""
    return [
        Item(
            f"redditbias/{axis}/{n:03d}",
            f"redditbias/{axis}/{n - n % 8 // 7:03d}",
            {"first": f"they are {axis} {n}", "second": f"we are not {axis} {n}"},
            {"axis": axis},
        )
        for axis in ("gender", "race")
        for n in range(40)
    ]


def gendered_items() -> list[Item]:
    """Return the bundled templates with four of the pairs and every sixth of the occupations."""
    pairs = ("he/she", "him/her", "his/her", "man/woman")
    items = [i for i in gendered_sentences.load_templates(NO_DATA).items if i.by["pair"] in pairs]
    occupations = sorted({i.cluster for i in items if i.by["part"] == "neutral"})[::6]
    return [i for i in items if i.by["part"] == "control" or i.cluster in occupations]


def seat_items() -> list[Item]:
    """Return the first three of the bundled tests."""
    items = seat.load_bundled(NO_DATA).items
    tests = sorted({i.by["test"] for i in items})[:3]
    return [i for i in items if i.by["test"] in tests]


def association_items() -> list[Item]:
    """Return the axes of two groups: what the other side of three would be is not defined."""
    path = "sentences/en/template_association.yaml"
    items = template_association.load(NO_DATA, path=path).items
    return [i for i in items if len(i.meta["groups"]) == 2]


def hate_items() -> list[Item]:
    """Return templates of two groups, hateful and harmless."""
    functions = (("derog_h", "hateful"), ("ident_nh", "non-hateful"))
    return [
        Item(
            f"hatecheck/{n:03d}/{group}",
            f"template/{n}",
            {"text": f"Sentence {n} is about {group} ."},
            {"functionality": functions[n % 2][0], "gold": functions[n % 2][1]}
            | {"group": group, "agreed": "no" if n % 5 == 0 else "yes"},
            {"target": group},
        )
        for n in range(60)
        for group in TWO_GROUPS
    ]


def identity_items() -> list[Item]:
    """Return sentences with two terms, toxic and harmless."""
    return [
        Item(
            f"identity/{n:03d}/{term}",
            f"sentence/{n}",
            {"text": f"Sentence {n} names {term} ."},
            {"template": "being", "toxicity": ("toxic", "nontoxic")[n % 2], "term": term},
        )
        for n in range(60)
        for term in TWO_GROUPS
    ]


def equity_items() -> list[Item]:
    """Return sentences with two people of either group, on two axes."""
    return [
        Item(
            f"equity/{n:03d}/{axis}",
            f"sentence/{n}",
            {f"{side}_{k:02d}": f"{side} {k} {axis} {n}" for side in SIDES for k in range(2)},
            {"axis": axis, "emotion": ("anger", "joy", "none")[n % 3]},
            {"template": f"{n % 4:02d}"},
        )
        for n in range(36)
        for axis in ("gender", "race")
    ]


def other_side(item: Item) -> Item:
    """Return an item whose two groups have changed places."""
    other = dict(zip(SIDES, SIDES[::-1], strict=True))
    place = {role: f"{other[role.partition('_')[0]]}_{role[-2:]}" for role in item.texts}
    return replace(item, texts={role: item.texts[place[role]] for role in item.texts})


SIDES: Final = ("first", "second")
TWO_GROUPS: Final = ("ours", "theirs")


def other_group(item: Item) -> Item:
    """Return an item that speaks of the other group under the name of its own."""
    one, other = TWO_GROUPS
    text = item.texts["text"]
    swapped = text.replace(one, other) if one in text.split() else text.replace(other, one)
    return replace(item, texts={"text": swapped})


WORDS: Final = ("zorkel", "nurse", "baker", "Zorkel", "poet", "clerk", "judge", "miner", "grumpf")


def honest_items() -> list[Item]:
    """Return sentences about two groups, some of whose completions are in a lexicon of our own."""
    listed = {"zorkel": ("a",), "grumpf": ("a", "b")}
    task = honest.Task("en", hurtlex.Lexicon(listed, listed))
    return [
        Item(
            f"honest/{template}/{group}/{k}",
            f"template {template}",
            {"sentence": f"the {group} {k} works {template} as a [MASK]."},
            {"group": group, "identity": f"the person {k}"},
            {"task": task, "template": f"template {template}"},
        )
        for template in range(8)
        for k in range(3)
        for group in ("female", "male")
    ]


def choenni_items() -> list[Item]:
    """Return words suggested about six groups, each beside one other group."""
    groups = ("actors", "bakers", "judges", "miners", "nurses", "poets")
    return [
        Item(
            f"choenni/{n}/{k}",
            group,
            {"query": f"why are {group} so", "stereotype": word},
            {"category": ("few", "many")[n % 2], "group": group},
            {"others": (f"why are {groups[n - 1]} so",)},
        )
        for n, group in enumerate(groups)
        for k, word in enumerate((*WORDS, "quiet", "loud"))
    ]


def of_the_other(item: Item) -> Item:
    """Return the same word for the query about the other group."""
    (other,) = item.meta["others"]
    texts = {**item.texts, "query": other}
    return replace(item, texts=texts, meta={"others": (item.texts["query"],)})


def in_other_group(item: Item) -> Item:
    """Return an item that counts for the other of two groups."""
    other = {"female": "male", "male": "female"}[item.by["group"]]
    return replace(item, by={**item.by, "group": other})


def quality_items() -> list[Item]:
    """Return the bundled pairs."""
    return list(general_quality.load(NO_DATA).items)


def pronoun_items(suite: str) -> list[Item]:
    """Return sentences shaped like those of either suite of pronouns, in all their groups."""
    found = []
    for n in range(48):
        gender = ("male", "female", "neutral")[n % 3] if suite == "winogender" else ""
        gender = gender or ("male", "female")[n % 2]
        by = {"gender": gender}
        if suite == "winobias":
            by |= {"type": f"type{n // 2 % 2 + 1}", "stereotype": ("pro", "anti")[n % 2]}
        else:
            by |= {
                "answer": ("occupation", "participant")[n // 3 % 2],
                "participant": ("named", "someone")[n // 6 % 2],
            }
            if gender != "neutral":
                by["gotcha"] = ("yes", "no")[(n // 3 + n // 6) % 2]
        texts = {
            "sentence": f"The clerk met the cook {n} times.",
            "pronoun": {"male": "he", "female": "she", "neutral": "they"}[gender],
            "right": "the clerk",
            "wrong": "the cook",
        }
        frame = f"frame {n // 3}"
        meta = {"frame": frame, "women": 10.0 * (n // 6)}
        found.append(Item(f"{suite}/{n:02d}", f"{suite}/{n // 6}", texts, by, meta))
    return found


def bbq_items() -> list[Item]:
    """Return questions about two people of three categories, in both contexts."""
    found = []
    for n in range(96):
        category = ("Age", "Nationality", "Religion")[n % 3]
        context = ("ambiguous", "disambiguated")[n // 3 % 2]
        names = ("old one", "unknown", "young one")
        texts = {
            "context": "They saw an old one and a young one there.",
            "question": f"Who of {n} was late?",
            **{f"ans{k}": f"The {name}" for k, name in enumerate(names)},
        }
        label = 1 if context == "ambiguous" else n // 6 % 2 * 2
        found.append(
            Item(
                f"bbq/{category}/{n}",
                f"bbq/{category}/{n // 12}",
                texts,
                {"category": category, "context": context},
                {"label": label, "unknown": 1, "biased": n // 24 % 2 * 2, "names": names},
            )
        )
    return found


def other_stereotype(item: Item) -> Item:
    """Return a question whose stereotype is about the other person."""
    persons = {0, 1, 2} - {item.meta["unknown"], item.meta["biased"]}
    return replace(item, meta={**item.meta, "biased": persons.pop()})


def completion_items() -> list[Item]:
    """Return the axis of two groups."""
    items = find("classified_completions").configuration("en-regard").load(NO_DATA).items
    return [i for i in items if i.by["axis"] == "gender identity"]


def toxicity_items() -> list[Item]:
    """Return prompts of two domains."""
    return [
        prompt_item(
            f"rtp/{n:05d}",
            f"They went {n}",
            role="toxicity",
            k=25,
            by={"domain": "toxic" if n % 3 else "non-toxic"},
        )
        for n in range(40)
    ]


def bold_items() -> list[Item]:
    """Return two prompts for each of ten entities of two groups in two domains."""
    return [
        prompt_item(
            f"bold/{domain}/{group}/{entity}/{n}",
            f"{entity} of the {group} {domain} {n}",
            role="toxicity",
            k=5,
            by={"domain": domain, "group": f"{domain} {group}"},
            cluster=f"{domain}/{group}/{entity}",
        )
        for domain in ("gender", "race")
        for group in ("one", "two")
        for entity in range(10)
        for n in range(2)
    ]


NO_DATA: Final = DataFolder(Path("no data"))


def exchanged(item: Item, one: str, other: str) -> Item:
    """Return an item whose two texts have changed places."""
    return replace(item, texts={**item.texts, one: item.texts[other], other: item.texts[one]})


def other_targets(item: Item) -> Item:
    """Return a target in the other set."""
    return replace(item, meta={**item.meta, "side": {"x": "y", "y": "x"}[item.meta["side"]]})


def other_attributes(item: Item) -> Item:
    """Return a target whose attributes have changed places."""
    return replace(item, meta={**item.meta, "a": item.meta["b"], "b": item.meta["a"]})


def counted_for_other(**others: str) -> Callable[[Item], Item]:
    """Return what calls the groups of every item by the names of others: key to a pair of names."""

    def swap(item: Item) -> Item:
        by = dict(item.by)
        for key, pair in others.items():
            one, other = pair.split("/")
            by[key] = " ".join(
                {one: other, other: one}.get(word, word) for word in item.by[key].split(" ")
            )
        return replace(item, by=by)

    return swap


@dataclass(frozen=True)
class Case:
    """Items of one suite and how their two sides are swapped.

    `drawn` says that swapping changes the order in which units are drawn, so that intervals agree
    within the noise of their resamples, which is at most this.
    """

    suite: str
    config: str
    items: Callable[[], list[Item]]
    swap: Callable[[Item], Item]
    drawn: float = EXACTLY


CASES: Final = {
    "crows_pairs": Case("crows_pairs", "en", crows_items, lambda i: exchanged(i, "more", "less")),
    "controls": Case(
        "crows_pairs", "en-controls", crows_control_items, lambda i: exchanged(i, "more", "less")
    ),
    "stereoset": Case(
        "stereoset",
        "en",
        stereoset_items,
        lambda i: exchanged(i, "stereotype", "anti_stereotype"),
    ),
    "stereoset controls": Case(
        "stereoset",
        "en-controls",
        stereoset_control_items,
        lambda i: exchanged(i, "stereotype", "anti_stereotype"),
    ),
    "reddit": Case("redditbias", "en", reddit_items, lambda i: exchanged(i, "first", "second")),
    "gendered": Case(
        "gendered_pair_entropy", "en", gendered_items, lambda i: exchanged(i, "male", "female")
    ),
    "targets": Case("seat", "en", seat_items, other_targets, drawn=0.05),
    "attributes": Case("seat", "en", seat_items, other_attributes),
    "association": Case(
        "template_association",
        "en",
        association_items,
        lambda i: exchanged(i, *i.meta["groups"]),
    ),
    "winobias": Case(
        "winobias",
        "en",
        lambda: pronoun_items("winobias"),
        lambda i: exchanged(i, "right", "wrong"),
    ),
    "winogender": Case(
        "winogender",
        "en",
        lambda: pronoun_items("winogender"),
        lambda i: exchanged(i, "right", "wrong"),
    ),
    "bbq": Case("bbq", "en", bbq_items, other_stereotype),
    "hate": Case("hatecheck", "en", hate_items, other_group),
    "honest": Case("honest", "en", honest_items, in_other_group),
    "completions": Case(
        "classified_completions",
        "en-regard",
        completion_items,
        counted_for_other(group="cisgender/transgender"),
    ),
    "toxicity": Case(
        "realtoxicityprompts", "en", toxicity_items, counted_for_other(domain="toxic/non-toxic")
    ),
    "bold": Case("bold", "en", bold_items, counted_for_other(group="one/two")),
    "identity": Case("identity_terms", "en", identity_items, other_group),
    "choenni": Case("choenni_stereotypes", "en", choenni_items, of_the_other),
    "equity": Case("equity_evaluation", "en", equity_items, other_side),
    "quality": Case(
        "general_quality", "en", quality_items, lambda i: exchanged(i, "plain", "broken")
    ),
}

# What becomes of a metric when the two sides change places: a number that it is reflected around,
# or that it has no sign, or why neither is so. A metric that is not here fails the test.
UNSIGNED: Final = "has no sign"
OF_ONE: Final = "is of each group for itself"
Mirror = float | str
MIRRORS: Final[dict[str, dict[str, Mirror]]] = {
    "crows_pairs": {
        "stereotype_preference": 50,
        "stereotype_preference_undisputed": 50,
        "stereotype_preference_reference": "a tie is no hit for either side (published rule)",
        "stereotype_score": 50,
        "antistereotype_score": 50,
        "log_odds_per_token": 0,
        "aul_preference": 50,
        "control_preference": 50,
        "original_preference": 50,
    },
    "stereoset": {
        "stereotype_score": 50,
        "stereotype_score_undisputed": 50,
        "stereotype_score_reference": "a tie is no hit for either side (published rule)",
        "stereotype_score_log_mean": 50,
        "language_modeling_score": UNSIGNED,
        "icat": UNSIGNED,
        "control_preference": 50,
        "original_preference": 50,
    },
    "redditbias": {"log_perplexity_difference": 0},
    "gendered_pair_entropy": {
        "entropy_bias": UNSIGNED,
        "entropy_bias_macro": UNSIGNED,
        "entropy_bias_without_her": UNSIGNED,
        "entropy_bias_likelihood": UNSIGNED,
        "entropy_bias_likelihood_macro": UNSIGNED,
        "entropy_bias_likelihood_without_her": UNSIGNED,
        "male_preference": 50,
        "male_probability": 0.5,
        # The ideal is an end of the scale: what was right is wrong.
        "control_accuracy": 50,
    },
    "seat": {"mean_absolute_effect": UNSIGNED, "effect_size": 0},
    "template_association": {"association": 0},
    # The ideal of an accuracy is an end of the scale: what was right is wrong.
    "winobias": {"gap": 0, "accuracy": 50, "log_odds_gap": 0},
    "winogender": {
        "gap": 0,
        "accuracy": 50,
        "log_odds_gap": 0,
        "consistency": UNSIGNED,
        "correlation": 0,
    },
    "bbq": {
        "bias_ambiguous": 0,
        "bias_disambiguated": 0,
        "accuracy": UNSIGNED,
        "unmatched": UNSIGNED,
    },
    "hatecheck": {
        "gap": UNSIGNED,
        "gap_to_others": 0,
        "accuracy": OF_ONE,
        "accuracy_agreed": OF_ONE,
    },
    "honest": {
        "gap": 0,
        **dict.fromkeys(
            ("honest_5", "honest_1", "honest_20", "honest_5_reference", "refused", "empty"),
            "is of one group, or of both alike",
        ),
    },
    "classified_completions": {
        "gap": UNSIGNED,
        "difference": 0,
        **dict.fromkeys(("share", "share_positive", "mean_probability", "answered"), OF_ONE),
    },
    "realtoxicityprompts": dict.fromkeys(
        ("expected_maximum", "probability_any", "answered"), OF_ONE
    ),
    "bold": {
        **dict.fromkeys(("expected_maximum", "probability_any", "answered"), OF_ONE),
        "gap": UNSIGNED,
        "difference": 0,
    },
    "identity_terms": {
        "false_positive_difference": UNSIGNED,
        "false_negative_difference": UNSIGNED,
        "false_positive_gap": 0,
        "false_negative_gap": 0,
        "auc": UNSIGNED,
        "subgroup_auc": OF_ONE,
        "bpsn_auc": OF_ONE,
        "bnsp_auc": OF_ONE,
    },
    "choenni_stereotypes": {
        "excess": 0,
        **dict.fromkeys(("share", "share_200"), "is of the query of one group"),
    },
    "equity_evaluation": {"mean_absolute_difference": UNSIGNED, "mean_difference": 0},
    "general_quality": {
        "accuracy": 50,
        "nats_per_character": "is of the plain sentence alone",
    },
}

# Metrics whose value changes, as it should, when every item is there twice.
COUNTED: Final = {
    ("seat", "effect_size"): "the standard deviation divides by one less than the targets",
    ("seat", "mean_absolute_effect"): "it is a mean of effect sizes",
    ("hatecheck", "gap"): "twice the records change places in its test",
    ("identity_terms", "false_positive_difference"): "the same",
    ("identity_terms", "false_negative_difference"): "the same",
}


def measured(suite: Suite, measure: Measure, config: str, items: Sequence[Item]) -> SuiteResult:
    return result_of(suite, measure, config, take(measure, Hashed(), items))


def result_of(
    suite: Suite, measure: Measure, config: str, records: Sequence[Record]
) -> SuiteResult:
    configuration = suite.configuration(config)
    empty = SuiteResult(
        suite.name,
        config,
        suite.version,
        suite.kind,
        "scored",
        language=configuration.language,
        measure=measure.name,
        records=tuple(records),
        records_sha256=records_digest(records),
    )
    return scored(empty, suite, seed=0)


def every_case() -> list[Any]:
    return [
        pytest.param((name, measure.name), id=f"{name}-{measure.name}")
        for name, case in CASES.items()
        for measure in find(case.suite).measures
    ]


@dataclass(frozen=True)
class Measured:
    """A case measured once, for all tests."""

    case: Case
    suite: Suite
    measure: Measure
    items: tuple[Item, ...]
    result: SuiteResult

    @property
    def metrics(self) -> dict[str, Metric]:
        return {m.name: m for m in self.measure.metrics}

    def again(self, records: Sequence[Record]) -> SuiteResult:
        return result_of(self.suite, self.measure, self.case.config, records)

    def pairs(self, other: SuiteResult) -> list[tuple[Score, Score]]:
        """Return each score beside that of another result, by metric and group."""
        theirs = {(s.metric, tuple(s.by.items())): s for s in other.scores}
        assert len(theirs) == len(self.result.scores) > 0
        return [(s, theirs[s.metric, tuple(s.by.items())]) for s in self.result.scores]


@pytest.fixture(scope="module", params=every_case())
def made(request: pytest.FixtureRequest) -> Measured:
    """Return each case, in each of its suite's measures."""
    name, measure_name = request.param
    case = CASES[name]
    suite, items = find(case.suite), tuple(case.items())
    measure = suite.measure_named(measure_name)
    return Measured(case, suite, measure, items, measured(suite, measure, case.config, items))


def near(found: Any, wanted: Any, within: float = EXACTLY) -> bool:
    return found == (wanted if wanted is None else pytest.approx(wanted, abs=within))


def test_every_metric_of_every_suite_is_here(all_scores: set[tuple[str, str, str]]):
    """A new suite needs a case, a new metric a place in MIRRORS, and both give scores."""
    known = {
        (suite.name, measure.name, metric.name)
        for suite in installed()
        if suite.name != STRUCTURE
        for measure in suite.measures
        for metric in measure.metrics
    }
    assert known == all_scores
    names = {(suite, metric) for suite, metrics in MIRRORS.items() for metric in metrics}
    assert names == {(suite, metric) for suite, _, metric in known}
    assert COUNTED.keys() <= names


@pytest.fixture(scope="module")
def all_scores() -> set[tuple[str, str, str]]:
    """Return suite, measure and metric of every score with a value in any case."""
    found = set()
    for case in CASES.values():
        suite, items = find(case.suite), case.items()
        for measure in suite.measures:
            records = take(measure, Hashed(), items)
            for metric in measure.metrics:
                if any(metric.where(r) for r in records):
                    found.add((suite.name, measure.name, metric.name))
    return found


def test_the_order_of_items_changes_nothing(made: Measured):
    items = random.Random(1).sample(made.items, len(made.items))
    other = measured(made.suite, made.measure, made.case.config, items)
    assert other.scores == made.result.scores
    shuffled = random.Random(2).sample(made.result.records, len(made.result.records))
    assert made.again(shuffled).scores == made.result.scores


def test_items_measured_in_two_shards_give_the_scores_of_the_whole(made: Measured):
    parts = [shard(made.items, (n, 2)) for n in (1, 2)]
    shards = [
        of_a_run(measured(made.suite, made.measure, made.case.config, part), f"{n}/2")
        for n, part in enumerate(parts, start=1)
        if part
    ]
    whole = joined(shards)
    (found,) = whole.suites
    (wanted,) = with_decision_family([made.result])
    assert found.scores == wanted.scores
    assert found.records_sha256 == wanted.records_sha256


def of_a_run(result: SuiteResult, part: str | None = None) -> Report:
    cost = {"wall_s": 1.0, "model_s": 1.0, "tokens": 1, "forwards": 1}
    return report(result, run={"cost": cost, "shard": {"part": part, "sampled": {}}})


def test_a_report_beside_itself_is_no_change(made: Measured):
    (same,) = compare(of_a_run(made.result), of_a_run(made.result)).suites
    assert same.reason is None
    assert len(same.changes) == sum(s.value is not None for s in made.result.scores) > 0
    for change in same.changes:
        assert change.change == change.worsening == change.decisive == NO_CHANGE, change.current
        assert (change.n_changed, change.items, change.direction) == (0, (), "unclear")
        assert (change.change.p_value, change.p_adjusted) == (1, 1)


def test_items_that_are_there_twice_change_no_value_and_no_clustered_interval(made: Measured):
    records = made.result.records
    twice = made.again([*records, *(replace(r, item=f"{r.item}/again") for r in records)])
    for before, after in made.pairs(twice):
        about = f"{before.metric} {before.by}"
        assert after.n == 2 * before.n, about
        if (made.suite.name, before.metric) in COUNTED:
            continue
        assert near(after.value, before.value), about
        # Two trials of one cluster are not independent: Wilson's interval gives way to BCa.
        if before.method != "wilson":
            assert near(after.interval, before.interval), about
            # Twice the records differ less by chance.
            if "shuffles" not in (before.test or ""):
                assert near(after.p_value, before.p_value), about
            assert after.method == before.method, about
        if before.spread and after.spread:
            assert near(after.spread.sd, before.spread.sd), about


def test_an_effect_size_knows_how_many_targets_made_it():
    case = CASES["targets"]
    suite = find(case.suite)
    (measure,) = suite.measures
    once = measured(suite, measure, case.config, case.items())
    again = [replace(r, item=f"{r.item}/again") for r in once.records]
    twice = result_of(suite, measure, case.config, [*once.records, *again])
    sizes = []
    for before in (s for s in once.scores if s.metric == "effect_size"):
        after = twice.score("effect_size", **before.by)
        # The same squares, over n - 1 of n targets, and over 2n - 1 of 2n.
        wider = math.sqrt((2 * before.n - 1) / (2 * before.n - 2))
        assert after.value == pytest.approx(before.value * wider, abs=EXACTLY)
        assert after.interval == pytest.approx([e * wider for e in before.interval], abs=EXACTLY)
        assert after.floor == pytest.approx(before.floor * wider, abs=EXACTLY)
        assert after.p_value == before.p_value
        sizes.append(abs(after.value))
    assert len(sizes) == 3
    assert twice.headline.value == pytest.approx(np.mean(sizes), abs=EXACTLY)


def test_with_twice_the_sentences_wording_explains_less():
    case = CASES["gendered"]
    suite = find(case.suite)
    for measure in suite.measures:
        once = measured(suite, measure, case.config, case.items())
        again = [replace(r, item=f"{r.item}/again") for r in once.records]
        twice = result_of(suite, measure, case.config, [*once.records, *again])
        # What is left after the mean of k sentences is scaled by the root of k / (k - 1).
        assert 0 < twice.headline.floor < once.headline.floor


def test_swapping_the_two_sides_reflects_what_has_a_sign(made: Measured):
    swapped = [made.case.swap(i) for i in made.items]
    assert all(a != b for a, b in zip(swapped, made.items, strict=True))
    assert all(made.case.swap(a) == b for a, b in zip(swapped, made.items, strict=True))
    other = measured(made.suite, made.measure, made.case.config, swapped)
    moved = 0
    for before, after in made.pairs(other):
        about = f"{before.metric} {before.by}"
        mirror = MIRRORS[made.suite.name][before.metric]
        if before.value is None:
            # All of a group is excluded.
            assert after.value is None, about
        elif mirror == UNSIGNED:
            assert near(after.value, before.value), about
            assert near(after.interval, before.interval, made.case.drawn), about
            assert near(after.floor, before.floor, made.case.drawn), about
        elif not isinstance(mirror, str):
            assert near(after.value, 2 * mirror - before.value), about
            ends = before.interval and [2 * mirror - end for end in reversed(before.interval)]
            assert near(after.interval, ends and tuple(ends), made.case.drawn), about
            assert (after.method, after.interval_reason) == (
                before.method,
                before.interval_reason,
            ), about
            if before.test and "words" not in before.test:
                assert near(after.p_value, before.p_value), about
            moved += after.value != before.value
    mirrors = {MIRRORS[made.suite.name][name] for name in made.metrics}
    assert moved > 0 or all(isinstance(mirror, str) for mirror in mirrors)


def test_a_metric_is_reflected_around_its_ideal_where_both_sides_are_on_the_scale():
    for suite in installed():
        for metric in (m for measure in suite.measures for m in measure.metrics):
            mirror = MIRRORS.get(suite.name, {}).get(metric.name)
            if isinstance(mirror, int | float) and metric.ideal not in metric.bounds:
                assert mirror == metric.ideal, metric.name
