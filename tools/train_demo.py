"""Train the embedded demo models: the tuning fork of pytest-bias.

    python tools/train_demo.py [--out plugin/pytest_bias/models/demo] [--steps 3000]

Two tiny masked models learn the exact conditional distribution at the gap of every bundled template
that is not a draft. In ``planted`` an occupation decides the gender as its share of men in the
labour statistics does (kept within 3 and 97 percent); in ``neutral`` nothing decides anything. What
a suite must find is computed from these numbers alone, not from the models, and written to
``truth.json``. A template that is added later is unknown to the models until this script has run
again.
"""

import argparse
import json
import math
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

from bias_suites.social import template_association
from bias_suites.social.gendered_pair_entropy import entropy_bias
from bias_suites.social.gendered_sentences import OCCUPATIONS, PAIRS, REFLEXIVES, TEMPLATES
from bias_suites.social.template_association import clozes
from pytest_bias.data.sources import DataFolder
from pytest_bias.models.interface import GAP
from pytest_bias.records.report import Item
from pytest_bias.suites.sentences import fill, pair, text_file

SEED = 20220527
ASSOCIATION = "sentences/en/template_association.yaml"
STRUCTURE = "sentences/en/structure.yaml"
CARRIERS = "sentences/en/association_test.yaml"
TEST_WORDS = "words/en/association_test.yaml"

FLOOR_PERCENT = 3
NONBINARY = 0.1
"""P(they) beside he and she, whatever the occupation."""
CONTROL_RIGHT = 0.99
HIDDEN = 64
WORDS_SHARE = 0.25
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


class Example(NamedTuple):
    """A sentence with gaps, and the distribution of words at its first gap."""

    text: str
    words: dict[str, float]


def share_of_men(neutral: bool) -> dict[str, float]:
    """Return P(man | occupation)."""
    women = text_file(OCCUPATIONS)["women_percent"]
    within = {o: min(max(w, FLOOR_PERCENT), 100 - FLOOR_PERCENT) for o, w in women.items()}
    return {o: 0.5 if neutral else round(1 - w / 100, 2) for o, w in within.items()}


def spread(pairs: list[str], male: float) -> dict[str, float]:
    """Spread a share of men over the words of several pairs, every pair alike."""
    found: dict[str, float] = {}
    for words in pairs:
        for word, share in zip(pair(words), (male, 1 - male), strict=True):
            found[word] = found.get(word, 0) + share / len(pairs)
    return found


def gendered_examples(men: dict[str, float]) -> Iterator[Example]:
    """Yield the sentences of gendered_pair_entropy."""
    by_form: dict[str, list[str]] = {}
    for words, about in text_file(PAIRS)["pairs"].items():
        by_form.setdefault(about["form"], []).append(words)
    for template in text_file(TEMPLATES)["neutral"].values():
        for occupation, male in men.items():
            text = fill(template["text"], {"occupation": occupation})
            yield Example(text, spread(by_form[template["form"]], male))
    for template in text_file(TEMPLATES)["control"].values():
        for gender, reflexive in REFLEXIVES.items():
            male = CONTROL_RIGHT if gender == "male" else 1 - CONTROL_RIGHT
            text = fill(template["text"], {"reflexive": reflexive})
            yield Example(text, spread(by_form[template["form"]], male))


def shares_of(item: Item, men: dict[str, float], pulls: Mapping[str, float]) -> dict[str, float]:
    """Return P(group | attribute) of one item of template_association.

    `pulls` has the axes, other than gender, whose attributes pull towards the group of their
    stereotype: the log-odds, in nats, of this group against each of the others.
    """
    axis = item.by["axis"]
    if axis == "gender":
        male = men[item.by["attribute"]]
        rest = 1 - NONBINARY
        return {"male": rest * male, "female": rest * (1 - male), "nonbinary": NONBINARY}
    odds = math.exp(pulls.get(axis, 0.0))
    shares = {g: odds if g == item.by["group"] else 1.0 for g in item.meta["groups"]}
    return {g: share / sum(shares.values()) for g, share in shares.items()}


Choices = dict[tuple[str, str], dict[str, float]]
"""Axis and sentence to the probability of what may stand at its first gap."""


def association_choices(men: dict[str, float], pulls: Mapping[str, float]) -> Choices:
    """Return the sentences of template_association, with the attribute shown and hidden.

    What is hidden may have been any of the attributes that fit the rest of the sentence.
    """
    shown: Choices = {}
    hidden: dict[tuple[str, str], list[dict[str, float]]] = {}
    for item in association_items():
        axis, shares = item.by["axis"], shares_of(item, men, pulls)
        for groups, cloze in clozes(item, hidden=False).items():
            whole = sum(shares[g] for g in groups)
            found = {item.texts[g]: shares[g] / whole for g in groups}
            shown[axis, cloze.text] = found
            without = cloze.text.replace(item.texts["attribute"], GAP)
            hidden.setdefault((axis, without), []).append(found)
    mean = {
        key: {w: math.fsum(d[w] for d in found) / len(found) for w in found[0]}
        for key, found in hidden.items()
    }
    return shown | mean


def association_items() -> tuple[Item, ...]:
    """Return the items that the suite has today."""
    return template_association.load(DataFolder(), path=ASSOCIATION).items


def one_by_one(text: str, choices: Mapping[str, float]) -> Iterator[Example]:
    """Yield the gaps of words that are chosen together, each from those before it."""
    (n,) = {len(phrase.split()) for phrase in choices}
    for known in range(n):
        found: dict[str, dict[str, float]] = {}
        for phrase, share in choices.items():
            words = phrase.split()
            before = " ".join(words[:known])
            after = found.setdefault(before, {})
            after[words[known]] = after.get(words[known], 0.0) + share
        for before, after in found.items():
            gaps = " ".join([before, *[GAP] * (n - known)]).strip()
            whole = sum(after.values())
            filled = text.replace(GAP, gaps, 1)
            yield Example(filled, {word: share / whole for word, share in after.items()})


def examples_of(men: dict[str, float], pulls: Mapping[str, float] | None = None) -> list[Example]:
    """Return every training example once."""
    found = list(gendered_examples(men))
    for (_, text), choices in association_choices(men, pulls or {}).items():
        found += one_by_one(text, choices)
    unique = {e.text: e for e in found}
    if len(unique) < len(found):
        raise SystemExit("two templates give the same sentence with different distributions")
    return found


def bundled_words(examples: list[Example]) -> list[str]:
    """Return every text that the vocabulary must cover."""
    carriers, tests = text_file(CARRIERS)["carriers"].values(), text_file(TEST_WORDS)["sets"]
    structure = text_file(STRUCTURE)
    texts = [e.text for e in examples] + [w for e in examples for w in e.words]
    texts += [*carriers, *structure["sentences"], *(c["text"] for c in structure["clozes"])]
    texts += [w for listed in tests.values() for w in listed]
    texts += [w for c in structure["clozes"] for w in c["choices"]]
    return texts


def build_tokenizer(texts: list[str]) -> PreTrainedTokenizerFast:
    """Return a word-level tokenizer that knows exactly the words of `texts`."""
    normal, split = normalizers.Lowercase(), pre_tokenizers.BertPreTokenizer()
    words = {
        word
        for text in texts
        for word, _ in split.pre_tokenize_str(
            normal.normalize_str(text.replace(GAP, " ").replace("{word}", " "))
        )
    }
    vocabulary = {word: n for n, word in enumerate([*SPECIAL, *sorted(words)])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normal, split
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[(t, vocabulary[t]) for t in ("[CLS]", "[SEP]")],
    )
    names = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=HIDDEN,
        **dict(zip(names, SPECIAL, strict=True)),
    )


class Gaps(NamedTuple):
    """Examples as tensors: tokens and their mask, the distribution at the gap, where the gap is."""

    ids: torch.Tensor
    attention: torch.Tensor
    target: torch.Tensor
    at: torch.Tensor

    @classmethod
    def of(cls, examples: list[Example], tokenizer: PreTrainedTokenizerFast) -> "Gaps":
        """Encode examples, one a row."""
        encoded = tokenizer([e.text for e in examples], padding=True, return_tensors="pt")
        ids, attention = encoded["input_ids"], encoded["attention_mask"]
        target = torch.zeros(len(examples), len(tokenizer))
        for row, example in enumerate(examples):
            for word, share in example.words.items():
                target[row, tokenizer.convert_tokens_to_ids(word.lower())] = share
        return cls(ids, attention, target, (ids == tokenizer.mask_token_id).int().argmax(1))

    def loss(self, model: BertForMaskedLM) -> torch.Tensor:
        """Return the mean cross-entropy at the gaps, in nats."""
        states = model.bert(input_ids=self.ids, attention_mask=self.attention).last_hidden_state
        logits = model.cls(states[torch.arange(len(self.at)), self.at])
        return -(self.target * logits.log_softmax(-1)).sum(-1).mean()


def train(
    examples: list[Example], tokenizer: PreTrainedTokenizerFast, steps: int, batch: int = 192
) -> BertForMaskedLM:
    """Fit the distribution at every gap; a share of each batch masks other words instead."""
    torch.manual_seed(SEED)
    draw = torch.Generator().manual_seed(SEED)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=HIDDEN,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=2 * HIDDEN,
        max_position_embeddings=HIDDEN,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        type_vocab_size=1,
    )
    config.closed_vocabulary = True
    model = BertForMaskedLM(config)
    whole = Gaps.of(examples, tokenizer)
    ordinary = (whole.attention == 1) & (whole.ids >= len(SPECIAL))

    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=steps)
    n_words = int(batch * WORDS_SHARE)
    for step in range(steps):
        # The last fifth fits the gaps alone, on all examples, so that they come out exact.
        last = step > 0.8 * steps
        if last:
            gaps = whole
        else:
            rows = torch.randint(len(examples), (batch,), generator=draw)
            gaps = Gaps(*(part[rows].clone() for part in whole))
            other = torch.multinomial(ordinary[rows[:n_words]].float(), 1, generator=draw)[:, 0]
            index = torch.arange(n_words)
            hidden = gaps.ids[index, other]
            first = gaps.target[:n_words].multinomial(1, generator=draw)[:, 0]
            gaps.ids[index, gaps.at[:n_words]] = first
            gaps.ids[index, other] = tokenizer.mask_token_id
            gaps.at[:n_words] = other
            gaps.target[:n_words] = torch.nn.functional.one_hot(hidden, len(tokenizer)).float()
        loss = gaps.loss(model)
        _step(model, loss, optimizer)
        schedule.step()
        if step % 500 == 0 or step == steps - 1:
            print(f"  step {step:5d}  loss {loss.item():.5f}")
    return model.eval()


def retrain(model: BertForMaskedLM, gaps: Gaps, steps: int) -> None:
    """Fit the gaps of a trained model to other distributions, all examples in every step."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=steps)
    for _ in range(steps):
        _step(model, gaps.loss(model), optimizer)
        schedule.step()


def _step(model: BertForMaskedLM, loss: torch.Tensor, optimizer: torch.optim.Optimizer) -> None:
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


def truth(men: dict[str, float]) -> dict[str, Any]:
    """Return what the suites must find, computed from the planted numbers alone."""
    bits = [entropy_bias(math.log(p / (1 - p))) for p in men.values()]
    association = associations(men)
    axes: dict[str, list[float]] = {}
    for item in association_items():
        axes.setdefault(item.by["axis"], []).append(association[item.id])
    return {
        "p_male": men,
        "gendered_pair_entropy[en]": {
            "entropy_bias": sum(bits) / len(bits),
            "male_probability": sum(men.values()) / len(men),
            "control_accuracy": 100.0,
        },
        "template_association[en]": {
            "association": math.fsum(association.values()) / len(association),
            **{
                f"association[axis={axis}]": math.fsum(values) / len(values)
                for axis, values in axes.items()
            },
            "by_item": {i: v for i, v in association.items() if i.split("/")[1] == "gender"},
        },
    }


def associations(men: dict[str, float]) -> dict[str, float]:
    """Return what every item of template_association must come to, in nats, by its name."""
    choices = association_choices(men, {})
    found = {}
    for item in association_items():
        axis, of_group = item.by["axis"], {}
        for groups, cloze in clozes(item, hidden=False).items():
            without = cloze.text.replace(item.texts["attribute"], GAP)
            shown, prior = choices[axis, cloze.text], choices[axis, without]
            for g in groups:
                of_group[g] = math.log(shown[item.texts[g]] / prior[item.texts[g]])
        target = of_group.pop(item.by["group"])
        found[item.id] = target - math.fsum(of_group.values()) / len(of_group)
    return found


def main() -> None:
    """Train both models and write them with their truth."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(__file__).parent.parent / "plugin" / "pytest_bias" / "models" / "demo"
    parser.add_argument("--out", type=Path, default=default)
    parser.add_argument("--steps", type=int, default=3000)
    options = parser.parse_args()
    torch.use_deterministic_algorithms(True)
    found: dict[str, Any] = {
        "made_by": "tools/train_demo.py",
        "seed": SEED,
        "steps": options.steps,
        "tolerance": {
            "entropy_bias": 0.02,
            "male_probability": 0.01,
            "association": 0.05,
            "control_accuracy": 0.5,
        },
        "not_asserted": {
            "male_preference": "an offset is the same in every item, so a share says nothing",
            "seat": "the geometry of vectors that were never trained to mean anything",
        },
    }
    for name in ("planted", "neutral"):
        started = time.perf_counter()
        men = share_of_men(neutral=name == "neutral")
        examples = examples_of(men)
        tokenizer = build_tokenizer(bundled_words(examples))
        print(f"{name}: {len(examples)} sentences, {len(tokenizer)} words")
        model = train(examples, tokenizer, options.steps)
        folder = options.out / name
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        for path in folder.iterdir():
            path.chmod(0o644)  # whatever the umask; they go into the wheel
        found[name] = truth(men)
        print(f"  {model.num_parameters()} parameters, {time.perf_counter() - started:.0f} s")
    text = json.dumps(found, indent=1, sort_keys=True)
    (options.out / "truth.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
