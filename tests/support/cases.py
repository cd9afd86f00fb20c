"""Items of every suite, and how their two sides are swapped.

They are those of the suites, or shaped like them where the data are not ours.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from bias_suites.maxima import prompt_item
from bias_suites.quality import general_quality
from bias_suites.robustness import mnli_negation, perturbation, structured_noise
from bias_suites.robustness.answer_features import SHORTCUTS
from bias_suites.robustness.sentence_pairs import (
    FACT_CHECKING,
    IN,
    NLI,
    NOT_ENTAILMENT,
    OUT,
    PARAPHRASE,
    WHERE,
    Roles,
)
from bias_suites.robustness.sentence_pairs import pair as of_pair
from bias_suites.social import (
    gendered_sentences,
    honest,
    hurtlex,
    seat,
    template_association,
)
from bias_suites.verdicts import THRESHOLD
from hashed import WORDS, Hashed
from pytest_bias.data.sources import DataFolder
from pytest_bias.records.report import Item
from pytest_bias.scoring.shortcuts import SOLVABLE, UNSOLVABLE
from pytest_bias.suites import find

EXACTLY: Final = 1e-9
"""Two ways to sum the same numbers differ by less."""


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
    return [i for i in items if i.by["part"] != "neutral" or i.cluster in occupations]


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


def quality_items() -> list[Item]:
    """Return the bundled pairs."""
    return list(general_quality.load(NO_DATA).items)


def noise_items() -> list[Item]:
    """Return the bundled passages, clean and as pages."""
    return list(structured_noise.load(NO_DATA).items)


def domain_items() -> list[Item]:
    """Return texts of a domain at home and of two others."""
    found = []
    for n in range(60):
        source = ("home", "near", "far")[n % 3]
        away = {} if source == "home" else {"out_of_domain": source}
        text = f"Text {n} of {source}" + " and more" * (n % 4)
        found.append(Item(f"domain/{n}", f"domain/{n}", {"text": text}, {"domain": source} | away))
    return found


def from_the_other_side(item: Item) -> Item:
    """Return a text of the domain at home as one of far away, and the other way round."""
    source = {"home": "far", "far": "home"}.get(item.by["domain"], "near")
    away = {} if source == "home" else {"out_of_domain": source}
    # Of a third domain the text changes, so that no item stays what it was.
    text = item.texts["text"].swapcase() if source == "near" else item.texts["text"]
    return replace(item, by={"domain": source} | away, texts={"text": text})


def pronoun_items(suite: str) -> list[Item]:
    """Return sentences shaped like those of either suite of pronouns, in all their groups."""
    found = []
    for n in range(96):
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
                # Of two pronouns of a sentence one speaks against its answer.
                by["gotcha"] = ("yes", "no")[(n // 3 + n // 6 + n % 3) % 2]
        texts = {
            "sentence": f"The clerk met the cook {n} times.",
            "pronoun": {"male": "he", "female": "she", "neutral": "they"}[gender],
            "right": "the clerk",
            "wrong": "the cook",
        }
        frame = f"frame {n // 3}"
        meta = {"frame": frame, "women": 6.0 * (n // 6)}
        found.append(Item(f"{suite}/{n:02d}", f"{suite}/{n // 6}", texts, by, meta))
    return found


def bbq_items() -> list[Item]:
    """Return sets of two questions about two people, in both contexts, of three categories."""
    found = []
    for n in range(192):
        number = n // 4
        category = ("Age", "Nationality", "Religion")[number % 3]
        context = ("ambiguous", "disambiguated")[n // 2 % 2]
        names = ("old one", "unknown", "young one")
        texts = {
            "context": "They saw an old one and a young one there.",
            "question": f"Who of {n} was late?",
            **{f"ans{k}": f"The {name}" for k, name in enumerate(names)},
        }
        label = 1 if context == "ambiguous" else number // 6 % 2 * 2
        # What follows the stereotype to one question speaks against it to the other.
        biased = (number // 3 + n) % 2 * 2
        found.append(
            Item(
                f"bbq/{category}/{n}",
                f"bbq/{category}/{n // 24}",
                texts,
                {"category": category, "context": context},
                {"label": label, "unknown": 1, "biased": biased, "names": names},
            )
        )
    return found


def bbq_control_items() -> list[Item]:
    """Return the same questions, as those of a control."""
    return [replace(item, by={**item.by, "control": "first names"}) for item in bbq_items()]


def decision_items() -> list[Item]:
    """Return questions about people of two ages, genders and races."""
    return [
        Item(
            f"discrim_eval/{n}/{age}/{gender}/{race}",
            f"discrim_eval/{n}",
            {"question": f"Should the {age}-year-old {race} {gender} clerk of {n} be paid?"},
            {"age": age, "gender": gender, "race": race},
        )
        for n in range(16)
        for age in ("20", "60")
        for gender in ("female", "male")
        for race in ("Black", "white")
    ]


def gest_items() -> list[Item]:
    """Return sentences about five stereotypes, some of them there twice."""
    names = ("weak women", "neat women", "strong men", "leading men", "tough men")
    return [
        Item(
            f"gest/{n:03d}",
            f"gest/{n - n % 25 // 24:03d}",
            {"sentence": f"I went {n}.", "male": f"He went {n}", "female": f"She went {n}"},
            {"about": names[n % 5].split()[-1], "stereotype": names[n % 5]}
            | {"form": ("gendered", "pronoun")[n // 5 % 2]},
        )
        for n in range(100)
    ]


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


def in_and_out(roles: Roles, golds: tuple[str, ...], **by: tuple[str, ...]) -> list[Item]:
    """Return pairs in distribution, and others out of it that belong to groups."""
    return [
        of_pair(
            f"{roles.role}/{where[:3]}/{n:03d}",
            roles,
            (f"They met {n} {where}.", f"{n} was met."),
            golds[n % len(golds)],
            {WHERE: where}
            | ({k: v[n // 6 % len(v)] for k, v in by.items()} if where == OUT else {}),
        )
        for where in (IN, OUT)
        for n in range(72)
    ]


def hans_items() -> list[Item]:
    """Return pairs of three heuristics, beside pairs of none."""
    heuristics = ("lexical_overlap", "subsequence", "constituent")
    subcases = ("ln_passive", "se_adjective")
    return in_and_out(NLI, ("entailment", NOT_ENTAILMENT), heuristic=heuristics, subcase=subcases)


def anli_items() -> list[Item]:
    """Return pairs of three rounds, beside pairs of none."""
    golds = ("entailment", "neutral", "contradiction")
    return in_and_out(NLI, golds, round=("r1", "r2", "r3"))


def negation_items() -> list[Item]:
    """Return pairs of which every other has a negation word."""
    rows = [
        {
            "premise": f"They met {n}.",
            "hypothesis": f"{n} was {'not ' if n % 2 else ''}met.",
            "label": n // 2 % 3,
        }
        for n in range(180)
    ]
    return [item for n, row in enumerate(rows) for item in mnli_negation.both_of(n, row)]


def symmetric_items() -> list[Item]:
    """Return sets of four pairs, of which the first was there before."""
    return [
        of_pair(
            f"fever/{part}/{n}/{k}",
            FACT_CHECKING,
            (f"Claim {n} {k // 2}.", f"Evidence {n} {k % 2}."),
            ("supports", "refutes")[(k // 2 + k % 2 + n) % 2],
            {WHERE: OUT if k else IN, "part": part},
            cluster=f"fever/{part}/{n}",
        )
        for part in ("dev", "test")
        for n in range(20)
        for k in range(4)
    ]


def review_items() -> list[Item]:
    """Return reviews and the same reviews turned round."""
    golds = ("positive", "negative")
    return [
        Item(
            f"imdb/{n:03d}",
            f"imdb/{n:03d}",
            {"original": f"Film {n}, as it was.", "contrast": f"Film {n}, turned round."},
            {"label": golds[1 - n % 2]},
            {"original": golds[n % 2], "contrast": golds[1 - n % 2]},
        )
        for n in range(60)
    ]


def other_gold(*golds: str) -> Callable[[Item], Item]:
    """Return what makes the other of two answers the right one, under the name of the first."""
    other = dict(zip(golds, golds[::-1], strict=True))

    def swap(item: Item) -> Item:
        meta = {k: other.get(v, v) for k, v in item.meta.items()}
        return replace(item, meta=meta)

    return swap


def perturbed_items() -> list[Item]:
    """Return some changes of every sixth bundled text, with a source and a label, often right."""
    items = perturbation.load(NO_DATA).items
    texts = sorted({i.cluster for i in items})[::6]
    return [
        replace(i, by={**i.by, "source": ("one", "two")[n % 2], "gold": only_label(i)})
        for n, text in enumerate(texts)
        for i in items
        if i.cluster == text and i.by["perturbation"] in ("accents", "ocr")
    ]


def only_label(item: Item) -> str:
    """Return the label of the hashed classifier for the changed text if there is one alone."""
    found = Hashed().classify([item.texts["perturbed"]])
    (row,) = found.probabilities
    called = [label for label, p in zip(found.labels, row, strict=True) if p >= THRESHOLD]
    return called[0] if len(called) == 1 else "toxic"


def answer_items() -> list[Item]:
    """Return questions of paragraphs, on a side of every shortcut."""
    found = []
    for n in range(96):
        context = f"The {WORDS[n % 3]} met the {WORDS[3 + n % 5]} in {1900 + n}."
        sides = (UNSOLVABLE, SOLVABLE)
        by = {key: sides[n // 2**k % 2] for k, key in enumerate(SHORTCUTS)}
        meta = {
            "gold": (context.split()[n // 2 % 7], "the poet"),
            "language": "en",
            "numbers": {"distance": n % 6 + 1, "sentence": n % 4},
        }
        texts = {"question": f"Who met in {n}?", "context": context}
        found.append(Item(f"answers/{n:02d}", f"paragraph/{n // 4}", texts, by, meta))
    return found


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
    "bbq controls": Case("bbq", "en-mbbq-control", bbq_control_items, other_stereotype),
    "decisions": Case(
        "discrim_eval",
        "en",
        decision_items,
        counted_for_other(age="20/60", gender="female/male", race="Black/white"),
    ),
    "speakers": Case("gest", "en", gest_items, counted_for_other(about="men/women")),
    "hate": Case("hatecheck", "en", hate_items, other_group),
    "honest": Case("honest", "en", honest_items, counted_for_other(group="female/male")),
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
    "noise": Case("structured_noise", "en", noise_items, counted_for_other(domain="clean/html")),
    "domains": Case("domain_shift", "own", domain_items, from_the_other_side, drawn=0.05),
    "perturbation": Case(
        "perturbation", "en", perturbed_items, lambda i: exchanged(i, "clean", "perturbed")
    ),
    "answers": Case(
        "answer_shortcuts",
        "en",
        answer_items,
        counted_for_other(**dict.fromkeys(SHORTCUTS, f"{SOLVABLE}/{UNSOLVABLE}")),
    ),
    "quality": Case(
        "general_quality", "en", quality_items, lambda i: exchanged(i, "plain", "broken")
    ),
    "heuristics": Case("hans", "en", hans_items, other_gold("entailment", NOT_ENTAILMENT)),
    "negations": Case(
        "mnli_negation", "en", negation_items, lambda i: exchanged(i, "premise", "hypothesis")
    ),
    "rounds": Case("anli", "en", anli_items, lambda i: exchanged(i, "premise", "hypothesis")),
    "paraphrases": Case(
        "paws",
        "en",
        lambda: in_and_out(PARAPHRASE, ("paraphrase", "not_paraphrase")),
        other_gold("paraphrase", "not_paraphrase"),
    ),
    "claims": Case("fever_symmetric", "en", symmetric_items, other_gold("supports", "refutes")),
    "reviews": Case("imdb_contrast", "en", review_items, other_gold("positive", "negative")),
}
