"""Seq2seq models, classifiers and question answering against one plain forward a text."""

import json
import random

import numpy as np
import pytest
import torch
from transformers import MBart50Tokenizer, MBartConfig, MBartForConditionalGeneration

import ours
import plain
import tiny_architectures
import tiny_models
from loops import TEXTS, greedy, threads
from pytest_bias.models.interface import Outputs, Question
from pytest_bias.records.report import records_digest
from tiny_architectures import CLASSIFIER, DECODERS, QA, SEQ2SEQ, head

NATS = 1e-4
PROBABILITY = 1e-5
PAIRS = [
    ("My uncle and my aunt are doctors.", "They work at the hospital in the town!"),
    ("Old people are good with computers.", "young people are not"),
    ("He", "is a carpenter, and he was late."),
]
QUESTIONS = [
    Question("Who was late?", TEXTS[0]),
    Question("Where do they work?", TEXTS[2]),
    Question("Why?", TEXTS[4]),
    Question("Who is good with computers?", TEXTS[3]),
]
LABELS = {0: "sad", 1: "<b>glad</b>\n|", 2: "none"}


# Sequence to sequence


@pytest.mark.usefixtures("_head")
@pytest.mark.by_day(
    model_type=(
        "t5",
        "bart",
    )
)
@pytest.mark.parametrize("model_type", SEQ2SEQ)
def test_seq2seq(model_type, tmp_path, measured):
    folder = head(SEQ2SEQ, model_type, tmp_path / model_type)
    model, slow = ours.model(folder), plain.seq2seq(folder)
    scores = model.log_likelihood(TEXTS)
    expected = [plain.written(slow, t) for t in TEXTS]
    assert [s.reason for s in scores] == [None] * len(TEXTS)
    assert [s.n_tokens for s in scores] == [
        len(slow.tokenizer(t, add_special_tokens=False).input_ids) for t in TEXTS
    ]
    assert max(map(abs, expected)) > 10
    difference = max(abs(s.total - e) for s, e in zip(scores, expected, strict=True))
    measured(model_type, difference)
    assert difference < NATS
    with torch.no_grad():
        encoder = slow.network.get_encoder()
        ids = slow.tokenizer(TEXTS[0], return_tensors="pt").input_ids
        hidden = encoder(input_ids=ids).last_hidden_state[0].mean(0)
    assert np.abs(model.embed(TEXTS).vectors[0] - hidden.numpy()).max() < 1e-5
    written = model.generate(TEXTS, max_new_tokens=4)
    assert [w.text for w in written] == [greedy(slow, model, t, 4) for t in TEXTS]
    assert model.generate(TEXTS[1:2], max_new_tokens=4) == written[1:2]
    drawn = [model.generate(TEXTS, max_new_tokens=9, sample=True, seed=s) for s in (1, 1, 2, 3)]
    assert drawn[0] == drawn[1]
    assert drawn[2:] != [drawn[0], drawn[0]]


def test_final_bias_and_scaling_of_the_head_count(tmp_path):
    # What these models add behind the decoder is random here, so that leaving it out would show.
    folder = head(SEQ2SEQ, "bart", tmp_path / "bart")
    slow = plain.seq2seq(folder)
    slow.network.final_logits_bias.normal_(generator=torch.Generator().manual_seed(0))
    slow.network.save_pretrained(folder)
    assert plain.seq2seq(folder).network.final_logits_bias.abs().max() > 1
    (score,) = ours.model(folder).log_likelihood(TEXTS[:1])
    assert abs(score.total - plain.written(slow, TEXTS[0])) < NATS
    for tied in (True, False):
        folder = head(SEQ2SEQ, "t5", tmp_path / f"t5-{tied}", tie_word_embeddings=tied)
        slow = plain.seq2seq(folder)
        assert slow.network.config.scale_decoder_outputs is tied
        (score,) = ours.model(folder).log_likelihood(TEXTS[:1])
        assert abs(score.total - plain.written(slow, TEXTS[0])) < NATS


def test_the_language_of_a_multilingual_decoder(tmp_path):
    vocabulary = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    vocabulary += [(f"▁{w}", -float(i)) for i, w in enumerate(("she", "is", "a", "nurse"))]
    languages = ["en_XX", "de_DE", "<mask>"]
    tokenizer = MBart50Tokenizer(vocab=[*vocabulary, *((t, 0.0) for t in languages)])
    config = MBartConfig(
        vocab_size=len(tokenizer), decoder_start_token_id=2, **tiny_architectures.BART
    )
    folder = tmp_path / "mbart"
    tiny_models.save(MBartForConditionalGeneration, config, tokenizer, folder, seed=0)
    text = "she is a nurse"
    totals = []
    for language in (None, "de_DE"):
        model = ours.model(folder)
        if language:
            model.body.tokens.tokenizer.tgt_lang = language
        code = tokenizer.convert_tokens_to_ids(language or "en_XX")
        english = tokenizer.convert_tokens_to_ids("en_XX")
        ids = tokenizer(text, add_special_tokens=False).input_ids
        slow = plain.seq2seq(folder)
        with torch.no_grad():
            output = slow.network(
                input_ids=torch.tensor([[english, 2]]),
                decoder_input_ids=torch.tensor([[2, code, *ids[:-1]]]),
            )
        log_p = output.logits[0].log_softmax(-1)
        expected = sum(float(log_p[i + 1, t]) for i, t in enumerate(ids))
        (score,) = model.log_likelihood([text])
        assert score.n_tokens == 4
        assert abs(score.total - expected) < NATS
        totals.append(score.total)
        assert model.generate([text], max_new_tokens=3)[0].reason is None
    assert f"encoder reads {[english, 2]}, decoder starts with {[2, english]}" == (
        ours.model(folder).identity.prefix_token
    )
    assert totals[0] != totals[1]


@pytest.mark.parametrize("model_type", ["bart", "led"])
def test_a_text_longer_than_the_decoder_has_a_reason(model_type, tmp_path):
    model = ours.model(head(SEQ2SEQ, model_type, tmp_path / "model"))
    texts = ["a " * n for n in range(110, 135)]
    scores = model.log_likelihood(texts)
    assert max(s.n_tokens for s in scores) == 126
    assert "tokens, the model takes 128" in scores[-1].reason
    assert model.log_likelihood([" "])[0].reason == "empty text"


@pytest.mark.by_day(model_type=("t5",))
@pytest.mark.parametrize("model_type", ["t5", "bart"])
def test_nothing_about_batches_changes_a_bit_of_a_seq2seq_model(model_type, tmp_path, data_dir):
    folder = head(SEQ2SEQ, model_type, tmp_path / model_type)
    items = ours.items("crows_pairs", "en", data_dir)[::30]

    def digest(budget, items=items):
        return records_digest(ours.records("crows_pairs", ours.model(folder, budget), items))

    expected = digest(8192)
    assert digest(64, random.Random(7).sample(items, len(items))) == expected
    with threads(2):
        assert digest(512) == expected
    model = ours.model(folder)
    texts = [t for i in items for t in i.texts.values()][:12]
    assert [model.log_likelihood([t])[0] for t in texts] == model.log_likelihood(texts)


# Classifiers


def probabilities(slow, texts, types):
    found = [plain.head(slow, *([t] if isinstance(t, str) else t), types=types) for t in texts]
    return torch.stack(found).softmax(-1).numpy()


@pytest.mark.by_day(model_type=("bert", "roberta", "gpt2", "llama", "bart", "t5"))
@pytest.mark.parametrize(
    ("model_type", "more"),
    [(m, {}) for m in CLASSIFIER] + [(m, {"pad_token_id": None}) for m in DECODERS],
)
def test_classifier(model_type, more, tmp_path, measured):
    folder = head(CLASSIFIER, model_type, tmp_path / model_type, id2label=LABELS, **more)
    model, slow = ours.model(folder), plain.classifier(folder)
    if more:
        assert slow.network.config.pad_token_id is None
    # The first ids of the vocabulary are tried as padding, and end a text here.
    texts = [*TEXTS, *PAIRS, *(slow.tokenizer.decode([i]) for i in range(5, 12))]
    texts = [t for t in texts if isinstance(t, tuple) or t.strip()]
    found = model.classify(texts)
    assert found.labels == tuple(LABELS.values())
    assert found.outputs is Outputs.SINGLE_LABEL
    assert found.probabilities.dtype == np.float64
    assert found.reasons == (None,) * len(texts)
    assert np.abs(found.probabilities.sum(1) - 1).max() < 1e-12
    expected = probabilities(slow, texts, types=model_type in {"bert", "electra", "albert"})
    assert expected.std(0).max() > 0.01
    difference = np.abs(found.probabilities - expected).max()
    measured(f"{model_type} {more or ''}", difference, "of 1")
    assert difference < PROBABILITY
    assert model.embed(TEXTS).vectors.shape == (len(TEXTS), 32)


def test_the_second_text_of_a_pair_has_its_own_token_type(tmp_path):
    model = ours.model(head(CLASSIFIER, "bert", tmp_path / "bert", id2label=LABELS))
    first = model.classify(PAIRS).probabilities
    with torch.no_grad():
        model.body.network.bert.embeddings.token_type_embeddings.weight[1, ::2] += 3
    assert np.abs(model.classify(PAIRS).probabilities - first).max(1).min() > 1e-3
    # As saved by version 4 of transformers, which stated nothing where types were given.
    stated = tmp_path / "bert" / "tokenizer_config.json"
    content = json.loads(stated.read_text())
    assert content.pop("model_input_names")[1] == "token_type_ids"
    stated.write_text(json.dumps(content))
    model = ours.model(tmp_path / "bert")
    assert (model.classify(PAIRS).probabilities == first).all()
    swapped = model.classify([pair[::-1] for pair in PAIRS]).probabilities
    assert np.abs(swapped - first).max(1).min() > 1e-3


@pytest.mark.by_day(model_type=("bert",))
@pytest.mark.parametrize("model_type", ["bert", "roberta", "bart", "gpt2"])
def test_nothing_about_batches_changes_a_bit_of_a_classifier(model_type, tmp_path):
    folder = head(CLASSIFIER, model_type, tmp_path / model_type, id2label=LABELS)
    texts = [f"{'he works ' * n}as a nurse." for n in (0, 1, 5, 20, 35)] * 2
    texts += [*TEXTS, *PAIRS, *("a " * n for n in range(118, 131))]
    expected = ours.model(folder, 8192).classify(texts)
    assert sum(r is not None for r in expected.reasons) >= 2
    assert "tokens, the model takes 128" in expected.reasons[-1]
    order = random.Random(7).sample(range(len(texts)), len(texts))
    with threads(2):
        shuffled = ours.model(folder, 64).classify([texts[i] for i in order])
    assert (shuffled.probabilities == expected.probabilities[order])[
        [shuffled.reasons[i] is None for i in range(len(order))]
    ].all()
    model = ours.model(folder)
    for text, reason, row in zip(texts, expected.reasons, expected.probabilities, strict=True):
        alone = model.classify([text])
        assert alone.reasons == (reason,)
        assert reason or (alone.probabilities[0] == row).all()


def test_every_text_is_forwarded_once(tmp_path):
    model = ours.model(head(CLASSIFIER, "bert", tmp_path / "bert"))
    before = model.meter.forwards
    found = model.classify([TEXTS[0], PAIRS[0], TEXTS[0], PAIRS[0], TEXTS[0]])
    assert model.meter.forwards - before == 2
    assert (found.probabilities[[0, 1]] == found.probabilities[[2, 3]]).all()


@pytest.mark.parametrize(
    ("more", "outputs"),
    [
        ({"problem_type": "multi_label_classification", "num_labels": 3}, Outputs.MULTI_LABEL),
        ({"problem_type": "regression", "num_labels": 3}, Outputs.REGRESSION),
        ({"num_labels": 1}, Outputs.REGRESSION),
        ({"num_labels": 1, "problem_type": "multi_label_classification"}, Outputs.MULTI_LABEL),
        ({"num_labels": 2, "problem_type": "single_label_classification"}, Outputs.SINGLE_LABEL),
    ],
)
def test_what_the_numbers_are(more, outputs, tmp_path):
    folder = head(CLASSIFIER, "bert", tmp_path / "bert", **more)
    found = ours.model(folder).classify(TEXTS)
    slow = plain.classifier(folder)
    raw = torch.stack([plain.head(slow, t, types=True) for t in TEXTS])
    rule = {
        Outputs.SINGLE_LABEL: lambda x: x.softmax(-1),
        Outputs.MULTI_LABEL: torch.sigmoid,
        Outputs.REGRESSION: lambda x: x,
    }[outputs]
    assert found.outputs is outputs
    assert np.abs(found.probabilities - rule(raw).numpy()).max() < PROBABILITY


def test_texts_that_cannot_be_classified(tmp_path):
    model = ours.model(head(CLASSIFIER, "bert", tmp_path / "bert"))
    found = model.classify(["", ("a nurse", " "), "a nurse", ("the " * 70, "the " * 70)])
    assert found.reasons[:3] == ("empty text", "empty text", None)
    assert "143 tokens, the model takes 128" in found.reasons[3]
    nothing = model.classify([])
    assert nothing.probabilities.shape == (0, 2)
    assert nothing.reasons == ()


# Question answering


@pytest.mark.by_day(
    model_type=(
        "bert",
        "roberta",
        "t5",
    )
)
@pytest.mark.parametrize("model_type", QA)
def test_answers(model_type, tmp_path, measured):
    folder = head(QA, model_type, tmp_path / model_type)
    model, slow = ours.model(folder), plain.answerer(folder)
    types = model_type in {"bert", "electra", "albert"}
    difference = 0.0
    for longest in (1, 5, 30):
        for asked, found in zip(
            QUESTIONS, model.answer(QUESTIONS, max_answer_tokens=longest), strict=True
        ):
            text, score, null = plain.pointed(slow, *asked, longest, types=types)
            assert found.reason is None
            assert found.text == text == asked.context[found.start : found.end]
            difference = max(difference, abs(found.score - score))
            if found.null_score is not None:
                difference = max(difference, abs(found.null_score - null))
    assert (found.null_score is None) == (slow.tokenizer.cls_token_id is None)
    measured(model_type, difference)
    assert difference < NATS
    assert model.embed(TEXTS).vectors.shape == (len(TEXTS), 32)


def test_a_long_context_is_read_in_windows(tmp_path):
    """Against the windows that transformers makes itself, and a softmax over all of them."""
    folder = head(QA, "bert", tmp_path / "bert")
    model, slow = ours.model(folder), plain.answerer(folder)
    question = Question("Who was late?", " ".join(TEXTS * 9))
    n = len(slow.tokenizer(question.question).input_ids) + 1
    room = 128 - n
    inputs = slow.tokenizer(
        *question,
        truncation="only_second",
        max_length=128,
        stride=room // 2,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
        verbose=False,
    )
    assert len(inputs["input_ids"]) > 5
    first, last = [], []
    with torch.no_grad():
        for ids, types in zip(inputs["input_ids"], inputs["token_type_ids"], strict=True):
            output = slow.network(torch.tensor([ids]), token_type_ids=torch.tensor([types]))
            first.append(output.start_logits[0].double())
            last.append(output.end_logits[0].double())
    whole = float(torch.cat(first).logsumexp(0) + torch.cat(last).logsumexp(0))
    best = max(
        (float(first[w][i] + last[w][j]), w, i, j)
        for w in range(len(first))
        for i in range(n, len(first[w]) - 1)
        for j in range(i, min(i + 30, len(first[w]) - 1))
    )
    null = min(float(f[0] + e[0]) for f, e in zip(first, last, strict=True))
    (found,) = model.answer([question])
    offsets = inputs["offset_mapping"][best[1]]
    assert (found.start, found.end) == (offsets[best[2]][0], offsets[best[3]][1])
    assert found.text == question.context[found.start : found.end]
    assert abs(found.score - (best[0] - whole)) < NATS
    assert abs(found.null_score - (null - whole)) < NATS


@pytest.mark.by_day(model_type=("bert",))
@pytest.mark.parametrize("model_type", ["bert", "roberta"])
def test_nothing_about_batches_changes_a_bit_of_an_answer(model_type, tmp_path):
    folder = head(QA, model_type, tmp_path / model_type)
    questions = [*QUESTIONS, Question("Who?", " ".join(TEXTS * 5)), QUESTIONS[0]]
    questions += [Question("Who?", "a " * n) for n in (1, 7, 100, 119, 120, 121, 122, 300)]
    expected = ours.model(folder, 8192).answer(questions)
    assert [a.reason for a in expected] == [None] * len(questions)
    with threads(2):
        assert ours.model(folder, 64).answer(questions[::-1]) == expected[::-1]
    model = ours.model(folder)
    assert [model.answer([q])[0] for q in questions] == expected


def test_questions_that_cannot_be_answered(tmp_path):
    model = ours.model(head(QA, "bert", tmp_path / "bert"))
    questions = [Question("", "a"), Question("a", " "), Question("nurse " * 130, "A nurse.")]
    reasons = [a.reason for a in model.answer(questions)]
    assert reasons[:2] == ["empty text", "empty text"]
    assert "leaves room for 0 tokens" in reasons[2]
    assert "takes 128" in reasons[2]
    with pytest.raises(ValueError, match="at least 1"):
        model.answer(QUESTIONS, max_answer_tokens=0)
    with pytest.raises(TypeError, match="a question-answering model has no classify"):
        model.classify(TEXTS)


def test_a_tokenizer_without_offsets_is_said(tmp_path, monkeypatch):
    model = ours.model(head(QA, "bert", tmp_path / "bert"))
    monkeypatch.setattr(type(model.body.tokens.tokenizer), "is_fast", False)
    (found,) = model.answer(QUESTIONS[:1])
    assert "no offsets" in found.reason


# What all of them share


def small(kind, tmp_path):
    """Return a model of a kind, and a function that asks it."""
    table, model_type, ask = {
        "seq2seq": (SEQ2SEQ, "t5", lambda m: m.log_likelihood(TEXTS * 3)),
        "classifier": (CLASSIFIER, "bert", lambda m: m.classify(TEXTS + PAIRS).probabilities),
        "answers": (QA, "bert", lambda m: m.answer([*QUESTIONS, Question("Who?", LONG)])),
    }[kind]
    return head(table, model_type, tmp_path / kind), ask


LONG = " ".join(TEXTS * 5)


@pytest.mark.parametrize("kind", ["seq2seq", "classifier", "answers"])
def test_memory_that_runs_out_costs_no_number(kind, tmp_path):
    folder, ask = small(kind, tmp_path)
    expected = ask(ours.model(folder))
    model, said, largest = ours.model(folder, 8192), [], []

    def full(_module, _inputs, named):
        ids = named.get("decoder_input_ids", named.get("input_ids"))
        largest.append(ids.numel())
        if ids.numel() > 400:
            raise torch.OutOfMemoryError("400 tokens fit")

    model.body.network.register_forward_pre_hook(full, with_kwargs=True)
    model.meter.on_notice = said.append
    # As many different texts as make a batch of more than 400 tokens.
    many = [f"{i} {t}" for t in TEXTS for i in range(99)]
    if kind == "seq2seq":
        model.log_likelihood(many)
    elif kind == "classifier":
        model.classify(many)
    else:
        model.answer([Question("Who?", t) for t in many])
    assert max(largest) > 400
    assert "at most 256 tokens" in said[-1]
    assert np.array_equal(ask(model), expected)


@pytest.mark.parametrize("kind", ["seq2seq", "classifier", "answers"])
def test_what_was_answered_before_is_not_asked_again(kind, tmp_path):
    folder, ask = small(kind, tmp_path)
    first = ours.model(folder)
    first.keep(tmp_path / "kept")
    expected = ask(first)
    second = ours.model(folder)
    second.keep(tmp_path / "kept")
    assert np.array_equal(ask(second), expected)
    assert first.meter.forwards > 0
    assert second.meter.forwards == 0


# What a run will take


ASK = {
    "t5": lambda model: model.log_likelihood(TEXTS),
    "bert": lambda model: model.classify(TEXTS),
    "roberta": lambda model: model.answer(QUESTIONS),
}


@pytest.mark.parametrize(
    ("table", "name"), [(SEQ2SEQ, "t5"), (CLASSIFIER, "bert"), (QA, "roberta")]
)
def test_forwards_can_be_counted_and_timed(table, name, tmp_path):
    model = ours.model(head(table, name, tmp_path / name))
    before = model.meter.forwards
    with model.counting() as work:
        ASK[name](model)
    assert work.tokens >= sum(len(text.split()) for text in TEXTS)
    assert (work.positions > 0) == (name == "t5")
    pace = model.pace()
    assert 0 < pace.seconds(work) < 10
    assert model.meter.forwards == before
    ASK[name](model)
    assert model.meter.forwards > before
