"""Adapters: merged into their base, known by their own digests, refused where they do not fit."""

import json
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import peft
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer

import ours
import plain
import tiny_models
from commands import Command, Ran, finish, headline, start, statuses
from hub_server import Hub, Repository, serving
from made import report, result
from pytest_bias.errors import ModelError, UsageError
from pytest_bias.models import ModelRef, describe, load
from pytest_bias.models.file_digests import files_of
from pytest_bias.reports.measured_files import measured_files, weights

NATS = 1e-5
TEXTS = ["The nurse said that she was late.", "He is a carpenter.", "Old people are good."]
TARGETS = {
    "gpt2": ["c_attn", "c_proj"],
    "bert": ["query", "value"],
    "llama": ["q_proj", "v_proj", "down_proj"],
}
WEIGHTS = "adapter_model.safetensors"

Build = Callable[..., Path]


@contextmanager
def quiet() -> Iterator[None]:
    """Let peft warn of what a test means to do."""
    with warnings.catch_warnings(action="ignore"):
        yield


def classes(kind: str) -> Any:
    return AutoModelForMaskedLM if kind == "bert" else AutoModelForCausalLM


def lora(kind: str, **more: Any) -> peft.PeftConfig:
    task = None if kind == "bert" else "CAUSAL_LM"
    common = {"r": 4, "target_modules": TARGETS[kind], "task_type": task}
    return peft.LoraConfig(**{**common, "init_lora_weights": False, **more})


@pytest.fixture
def adapter(tiny: Callable[[str], Path], tmp_path: Path) -> Build:
    """Return a function that writes an adapter for a tiny model and returns its folder."""

    @quiet()
    def build(
        kind: str,
        config: peft.PeftConfig | None = None,
        *,
        name: str = "adapter",
        change: Callable[[Any, Any], None] = lambda network, tokenizer: None,
        base: Path | None = None,
        **saved: Any,
    ) -> Path:
        torch.manual_seed(1)
        base = base or tiny(kind)
        network, tokenizer = (
            classes(kind).from_pretrained(base),
            AutoTokenizer.from_pretrained(base),
        )
        change(network, tokenizer)
        made = peft.get_peft_model(network, config or lora(kind))
        with torch.no_grad():
            for key, weight in made.named_parameters():
                if "modules_to_save" in key or "trainable_tokens_delta" in key:
                    weight.add_(torch.randn_like(weight) * 0.3)
        folder = tmp_path / name
        made.save_pretrained(folder, **saved)
        if len(tokenizer) != network.config.vocab_size or saved:
            tokenizer.save_pretrained(folder)
        return folder

    return build


@quiet()
def by_peft(kind: str, base: Path, adapter: Path, rows: int | None = None) -> plain.Plain:
    """Load a base with its adapter as peft does, not merged."""
    network = classes(kind).from_pretrained(base)
    if rows:
        network.resize_token_embeddings(rows)
    source = adapter if (adapter / "tokenizer_config.json").is_file() else base
    tokenizer = AutoTokenizer.from_pretrained(source)
    return plain.Plain(tokenizer, peft.PeftModel.from_pretrained(network, adapter).eval())


def differences(kind: str, model: Any, slow: plain.Plain) -> list[float]:
    """Return how far our scores are from those of a loop, in nats a token."""
    loop = plain.pseudo_log_likelihood if kind == "bert" else plain.log_likelihood
    scores = zip(model.score(TEXTS), TEXTS, strict=True)
    return [(s.total - loop(slow, t)) / s.n_tokens for s, t in scores]


def edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "plain": {},
    "dora": {"use_dora": True},
    "scaled": {"use_rslora": True, "lora_alpha": 16},
    "some": {"rank_pattern": {"0.*": 2}, "layers_to_transform": [1]},
}


@pytest.mark.by_day(variant=("plain", "some"))
@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_merged_adapter_gives_the_numbers_of_peft(
    kind: str, variant: str, adapter: Build, tiny: Callable[[str], Path]
) -> None:
    folder = adapter(kind, lora(kind, **VARIANTS[variant]))
    model = load(f"{tiny(kind)}+{folder}", device="cpu")
    assert max(map(abs, differences(kind, model, by_peft(kind, tiny(kind), folder)))) < NATS
    base = classes(kind).from_pretrained(tiny(kind)).eval()
    without = plain.Plain(AutoTokenizer.from_pretrained(tiny(kind)), base)
    assert max(map(abs, differences(kind, model, without))) > 0.01


@pytest.mark.parametrize(
    "config",
    [
        peft.IA3Config(target_modules=["c_attn", "mlp.c_proj"], feedforward_modules=["mlp.c_proj"],
                       init_ia3_weights=False),
        peft.LoHaConfig(r=2, target_modules="all-linear", init_weights=False),
        peft.OFTConfig(oft_block_size=4, r=0, target_modules="all-linear", init_weights=False),
    ],
    ids=lambda c: c.peft_type.value,
)  # fmt: skip
def test_relatives_of_lora_are_merged_too(
    config: peft.PeftConfig, adapter: Build, tiny: Callable[[str], Path]
) -> None:
    kind = "gpt2" if config.peft_type == "IA3" else "llama"
    folder = adapter(kind, config)
    model = load(f"{tiny(kind)}+{folder}", device="cpu")
    assert max(map(abs, differences(kind, model, by_peft(kind, tiny(kind), folder)))) < 1e-4


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
@pytest.mark.parametrize("both", [False, True], ids=["head", "both"])
def test_modules_that_are_saved_whole_are_used(
    kind: str, both: bool, adapter: Build, tiny: Callable[[str], Path]
) -> None:
    embeddings = {"gpt2": "wte", "llama": "embed_tokens"}[kind]
    saved = ["lm_head", *([embeddings] if both else [])]
    folder = adapter(kind, lora(kind, modules_to_save=saved))
    model = load(f"{tiny(kind)}+{folder}", device="cpu")
    assert max(map(abs, differences(kind, model, by_peft(kind, tiny(kind), folder)))) < NATS


def grow(network: Any, tokenizer: Any) -> None:
    tokenizer.add_tokens(["carpenter", "nurse"])
    network.resize_token_embeddings(len(tokenizer))


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_a_tokenizer_with_more_words_brings_its_embeddings(
    kind: str, adapter: Build, tiny: Callable[[str], Path]
) -> None:
    folder = adapter(kind, change=grow, save_embedding_layers=True)
    model = load(f"{tiny(kind)}+{folder}", device="cpu")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert "nurse" in tokenizer.get_vocab()
    slow = by_peft(kind, tiny(kind), folder, len(tokenizer))
    assert max(map(abs, differences(kind, model, slow))) < NATS
    base = describe(str(tiny(kind))).identity
    assert model.identity.tokenizer_sha256 != base.tokenizer_sha256


def test_a_tokenizer_with_more_words_and_no_embeddings_is_refused(
    adapter: Build, tiny: Callable[[str], Path]
) -> None:
    folder = adapter("llama", change=grow, save_embedding_layers=False)
    with pytest.raises(ModelError, match="has 602 tokens, and the model embeds 600"):
        load(f"{tiny('llama')}+{folder}", device="cpu")


# What it is called, and what it depends on


def test_identity_names_base_and_adapter(adapter: Build, tiny: Callable[[str], Path]) -> None:
    folder, base = adapter("gpt2"), tiny("gpt2")
    found = load(f"{base}+{folder}", device="cpu").identity
    alone = load(str(base), device="cpu").identity
    assert (found.reference, found.base_model) == ("gpt2+adapter", "gpt2")
    assert found.weights_sha256 == alone.weights_sha256
    assert found.adapter is not None
    assert found.adapter.reference == "adapter"
    assert found.adapter.weights_sha256
    before = found.adapter
    edit(folder / "adapter_config.json", base_model_name_or_path="/elsewhere", peft_version="9")
    assert describe(f"{base}+{folder}").identity.adapter == before
    edit(folder / "adapter_config.json", lora_alpha=3)
    changed = describe(f"{base}+{folder}").identity.adapter
    assert changed is not None
    assert changed.config_sha256 != before.config_sha256
    assert changed.weights_sha256 == before.weights_sha256


def test_a_report_names_the_files_of_base_and_adapter(
    adapter: Build, tiny: Callable[[str], Path]
) -> None:
    name = f"{tiny('gpt2')}+{adapter('gpt2')}"
    files = files_of(describe(name))
    made = replace(report(result()), model=load(name, device="cpu").identity)
    # They give the digests of both, or this would raise.
    assert measured_files(replace(made, run={"files": files})) == files
    assert [*weights(replace(made, run={"files": files}))] == ["model.safetensors", WEIGHTS]
    assert "adapter_config.json" in files["adapter"]["configuration"]


@pytest.mark.parametrize("with_config", [False, True])
def test_an_adapter_alone_is_put_on_the_base_that_it_names(
    with_config: bool, adapter: Build, tiny: Callable[[str], Path]
) -> None:
    folder = adapter("gpt2")
    if with_config:
        shutil.copy(tiny("gpt2") / "config.json", folder)
    found = describe(str(folder))
    named = describe(f"{tiny('gpt2')}+{folder}")
    assert found.identity == named.identity
    assert f"adapter is an adapter: measured on its base, {tiny('gpt2')}." in found.notices
    assert named.notices == ()


def test_another_base_than_it_was_made_for_is_told(
    adapter: Build, tiny: Callable[[str], Path], tmp_path: Path
) -> None:
    other = tiny_models.gpt2(tmp_path / "other", seed=5)
    found = describe(f"{other}+{adapter('gpt2')}")
    assert found.notices == (f"adapter was made for {tiny('gpt2')}, and is applied to other.",)


@pytest.mark.parametrize(
    ("text", "base", "on_it"),
    [
        ("org/a+org/b", ("org/a", None), ("org/b", None)),
        ("org/a@v1+org/b@v2", ("org/a", "v1"), ("org/b", "v2")),
        ("demo+org/b", ("demo", None), ("org/b", None)),
        ("org/a@v1.0+build.5", ("org/a", "v1.0+build.5"), None),
    ],
)
def test_names(text: str, base: tuple[str, Any], on_it: tuple[str, Any] | None) -> None:
    ref = ModelRef.parse(text)
    assert (ref.name, ref.revision) == base
    assert (ref.adapter and (ref.adapter.name, ref.adapter.revision)) == on_it
    assert str(ref) == text


def test_a_folder_may_have_a_plus_in_its_name(
    tiny: Callable[[str], Path], adapter: Build, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(tiny("gpt2"), tmp_path / "a+org" / "b+c"))
    assert ModelRef.parse(str(folder)).adapter is None
    on_it = ModelRef.parse(f"{folder}+{adapter('gpt2')}").adapter
    assert on_it is not None
    assert on_it.name == "adapter"


@pytest.mark.parametrize(
    "text", ["org/a+", "+org/b", "org/a+b", "org/a+org/b+org/c", "org/a+x.gguf/"]
)
def test_what_is_no_pair_is_refused(text: str) -> None:
    with pytest.raises((UsageError, ModelError)):
        ModelRef.parse(text)


# The whole command


@pytest.mark.slow
def test_a_run_and_the_comparison_with_its_base(
    bias: Command, adapter: Build, tiny: Callable[[str], Path], tmp_path: Path
) -> None:
    pair = f"{tiny('bert')}+{adapter('bert')}"
    suites = ("--suite", "structure", "--suite", "template_association")
    bias("run", tiny("bert"), *suites, "--out", "base").done()
    ran = bias("run", pair, *suites, "--out", "new", "--baseline", "base").done()
    assert "bert+adapter" in ran.said
    reports = {n: json.loads((tmp_path / n / "report.json").read_text()) for n in ("base", "new")}
    assert set(statuses(reports["new"]).values()) == {"scored"}
    assert reports["new"]["model"]["base_model"] == "bert"
    assert reports["new"]["run"]["environment"]["peft"] == peft.__version__
    values = [headline(r, "template_association")["value"] for r in reports.values()]
    assert values[0] != values[1]
    assert "association" in bias("compare", "new", "base").done().out
    bias("verify", "new").done()
    again = bias("run", pair, *suites, "--out", "again").done()
    assert (
        json.loads((again.folder / "again/report.json").read_text())["digest"]
        == (reports["new"]["digest"])
    )


@pytest.mark.slow
def test_the_base_of_an_adapter_is_its_baseline(
    bias: Command, adapter: Build, tiny: Callable[[str], Path]
) -> None:
    folder = adapter("bert")
    words = ("--suite", "template_association", "--baseline", "base", "--out", "out", "--fresh")
    first = bias("run", f"{tiny('bert')}+{folder}", *words).done()
    assert "Measuring the baseline bert …" in first.out
    (base,) = first.folder.glob("bias-report/*")
    assert json.loads((base / "report.json").read_text())["model"]["adapter"] is None
    # By itself it is put on the same base, which is measured already.
    second = bias("run", folder, *words).done()
    assert f"Baseline bert: bias-report/{base.name} is reused." in second.out
    assert "Since bert" in second.said
    assert "no item changed" not in second.said


def test_the_default_folder_and_the_key_are_of_both(
    bias: Command, adapter: Build, tiny: Callable[[str], Path]
) -> None:
    words = ("--suite", "structure")
    first = bias("run", f"{tiny('gpt2')}+{adapter('gpt2')}", *words).done().at
    assert first.name.startswith("gpt2-adapter-")
    folder = adapter("gpt2", lora("gpt2", r=2), name="adapter")
    bias("run", f"{tiny('gpt2')}+{folder}", *words, "--out", first).refused(2, "something else")


def test_no_adapter_is_served_the_answers_of_another(
    adapter: Build, tiny: Callable[[str], Path], tmp_path: Path
) -> None:
    models = [
        load(f"{tiny('gpt2')}+{adapter('gpt2', lora('gpt2', r=r), name=f'r{r}')}", device="cpu")
        for r in (2, 4)
    ]
    models += [ours.model(tiny("gpt2"))]
    apart = [m.score(TEXTS) for m in models]
    for model in models:
        model.keep(tmp_path / "kept")
    assert [m.score(TEXTS) for m in models] == apart
    assert len({a[0] for a in apart}) == 3


# What is refused


def test_what_is_no_adapter_is_refused(bias: Command, tiny: Callable[[str], Path]) -> None:
    bias("run", f"{tiny('gpt2')}+{tiny('llama')}").refused(
        3, "llama is not an adapter", "MODEL+ADAPTER"
    )


@pytest.mark.parametrize(
    "config",
    [
        peft.PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=4),
        peft.PrefixTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=4),
        peft.PromptEncoderConfig(task_type="CAUSAL_LM", num_virtual_tokens=4),
    ],
    ids=lambda c: c.peft_type.value,
)
def test_what_cannot_be_merged_is_refused(
    config: peft.PeftConfig, bias: Command, adapter: Build
) -> None:
    ran = bias("run", adapter("gpt2", config))
    ran.refused(3, config.peft_type.value, "learned vectors", "cannot be merged")


def test_an_adapter_for_another_model_is_refused(
    bias: Command, adapter: Build, tiny: Callable[[str], Path]
) -> None:
    folder = adapter("gpt2")
    edit(folder / "adapter_config.json", task_type=None)
    for other in ("llama", "bert"):
        ran = bias("run", f"{tiny(other)}+{folder}", "--suite", "structure", "--out", "o")
        ran.refused(3, "does not fit its base", "It was made for")


def test_an_adapter_of_another_size_is_refused(
    bias: Command, adapter: Build, tiny: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = adapter("gpt2")
    weights = {
        k: v[..., :16] if "lora_A" in k else v for k, v in load_file(folder / WEIGHTS).items()
    }
    save_file({k: v.contiguous() for k, v in weights.items()}, folder / WEIGHTS)
    ran = bias("run", f"{tiny('gpt2')}+{folder}", "--suite", "structure", "--out", "o")
    ran.refused(3, "does not fit its base", "size mismatch")


@pytest.mark.parametrize("change", ["missing", "unknown", "not saved"])
def test_weights_that_are_missing_or_unknown_are_refused(
    change: str, bias: Command, adapter: Build, tiny: Callable[[str], Path]
) -> None:
    folder = adapter("gpt2", lora("gpt2", modules_to_save=["lm_head"]))
    weights = load_file(folder / WEIGHTS)
    if change == "missing":
        weights.pop(next(k for k in weights if "lora_A" in k))
    elif change == "unknown":
        weights["base_model.model.transformer.h.7.attn.c_attn.lora_A.weight"] = torch.ones(4, 32)
    else:
        weights.pop(next(k for k in weights if "lm_head" in k))
    save_file(weights, folder / WEIGHTS)
    ran = bias("run", f"{tiny('gpt2')}+{folder}", "--suite", "structure", "--out", "o")
    ran.refused(3, "does not fit its base")


def test_an_adapter_for_a_task_that_is_not_measured_is_refused(
    bias: Command, adapter: Build, tiny: Callable[[str], Path]
) -> None:
    folder = adapter("bert")
    edit(folder / "adapter_config.json", task_type="SEQ_CLS")
    bias("run", f"{tiny('bert')}+{folder}").refused(3, "SEQ_CLS", "masked model")


def test_a_pickled_adapter_is_read_only_when_it_is_allowed(
    bias: Command, adapter: Build, tiny: Callable[[str], Path]
) -> None:
    folder = adapter("gpt2")
    safe = load(f"{tiny('gpt2')}+{folder}", device="cpu").score(TEXTS)
    torch.save(load_file(folder / WEIGHTS), folder / "adapter_model.bin")
    (folder / WEIGHTS).unlink()
    words = ("run", f"{tiny('gpt2')}+{folder}", "--suite", "structure", "--out", "o")
    bias(*words).refused(3, "adapter_model.bin", "--allow-pickle")
    bias(*words, "--allow-pickle").done()
    from pytest_bias.models import Trust

    described = describe(f"{tiny('gpt2')}+{folder}", trust=Trust(allow_pickle=True))
    assert load(described, device="cpu").score(TEXTS) == safe


def test_an_adapter_without_weights_is_refused(
    bias: Command, adapter: Build, tiny: Callable[[str], Path]
) -> None:
    folder = adapter("gpt2")
    (folder / WEIGHTS).unlink()
    bias("run", f"{tiny('gpt2')}+{folder}").refused(3, "adapter has no weights", WEIGHTS)


@pytest.mark.parametrize(
    ("named", "words"),
    [
        (None, ("names no base model",)),
        ("/made/elsewhere", ("/made/elsewhere", "no such folder")),
        ("no/such", ("no/such", "not in the cache")),
        ("org/a+org/b", ("an adapter itself",)),
    ],
)
def test_a_base_that_is_not_to_be_found_is_asked_for(
    named: str | None, words: tuple[str, ...], bias: Command, adapter: Build
) -> None:
    folder = adapter("gpt2")
    edit(folder / "adapter_config.json", base_model_name_or_path=named)
    bias("run", folder).refused(3, *words)


def test_an_adapter_of_an_adapter_is_refused(bias: Command, adapter: Build) -> None:
    first, second = adapter("gpt2", name="first"), adapter("gpt2", name="second")
    bias("run", f"{first}+{second}").refused(3, "first", "is an adapter itself")


def test_a_model_with_an_adapter_beside_its_weights_is_refused(
    bias: Command, adapter: Build, tiny: Callable[[str], Path], tmp_path: Path
) -> None:
    both = Path(shutil.copytree(tiny("gpt2"), tmp_path / "both"))
    for name in ("adapter_config.json", WEIGHTS):
        shutil.copy(adapter("gpt2") / name, both)
    bias("run", both).refused(3, "both holds the weights of a whole model and an adapter")


def test_without_peft_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, bias: Command, adapter: Build
) -> None:
    folder = adapter("gpt2")
    monkeypatch.setattr("pytest_bias.models.adapters.find_spec", lambda name: None)
    bias("run", folder).refused(3, "peft is not installed", "pytest-bias[adapters]")


# On the Hub


@pytest.mark.slow
def test_both_revisions_of_a_pair_on_the_hub_are_known(
    adapter: Build, tiny: Callable[[str], Path], tmp_path: Path
) -> None:
    def content(folder: Path) -> dict[str, bytes]:
        return {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}

    folder = adapter("gpt2")
    edit(folder / "adapter_config.json", base_model_name_or_path="org/base")
    repositories = {
        "org/base": Repository({"1" * 40: content(tiny("gpt2"))}, {"main": "1" * 40}),
        "org/adapter": Repository({"2" * 40: content(folder)}, {"v1": "2" * 40}),
    }

    def run(*words: str) -> Ran:
        env = {**hub.env, "HF_HOME": str(tmp_path / "home")} if hub else {}
        return finish(start("run", *words, folder=tmp_path, env=env), tmp_path)

    with serving(Hub(repositories)) as hub:
        ran = run("org/adapter@v1", "--suite", "structure", "--out", "one").done()
    model = ran.report["model"]
    assert (model["reference"], model["base_model"]) == ("org/base+org/adapter", "org/base")
    assert (model["revision"], model["adapter"]["revision"]) == ("1" * 40, "2" * 40)
    assert "org/base@1111111+org/adapter@2222222" in ran.said
    env = {"HF_HOME": str(tmp_path / "home")}
    words = ("run", "org/base+org/adapter@v1", "--offline", "--suite", "structure", "--out", "two")
    finish(start(*words, folder=tmp_path, env=env), tmp_path).done()
    reports = [json.loads((tmp_path / n / "report.json").read_text()) for n in ("one", "two")]
    assert reports[0]["digest"] == reports[1]["digest"]
