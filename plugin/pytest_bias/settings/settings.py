"""Settings of a run, merged in this precedence: options, environment, file, defaults."""

import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from pytest_bias.environment import FILE_NAME
from pytest_bias.errors import UnknownName, UsageError
from pytest_bias.forms.yaml_with_lines import Marked, as_texts, bare_in, read_marked, text_of
from pytest_bias.models.interface import ANSWER_TOKENS
from pytest_bias.records.report import sha256
from pytest_bias.settings.budget import Budget, budget
from pytest_bias.settings.options import OPTIONS, Option
from pytest_bias.settings.values import READ, SETTINGS, TYPES, is_address
from pytest_bias.suites.catalogue import Catalogue
from pytest_bias.suites.files.reading import with_files

NO_LANGUAGE: Final = ("multilingual", "code", "mul", "und")


@dataclass(frozen=True)
class Settings:
    """All settings of a run, with the defaults of the command."""

    model: str | None = None
    suites: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    profile: str = "standard"
    budget: Budget | None = None
    """Limits of time, calls and money for the whole run; what does not fit is not measured."""
    device: str = "auto"
    devices: str | None = None
    device_map: str | None = None
    dtype: str = "auto"
    chat: str = "auto"
    system: str | None = None
    """System text before every chat turn: the content, where a file was named."""
    answers: str = "auto"
    """How the options of multiple-choice questions are chosen: auto, letters or text."""
    answer_tokens: int = ANSWER_TOKENS
    """Maximum number of tokens of an answer in generated text."""
    answer_samples: int = 1
    """Answers in generated text per presentation of a question: more than one are sampled."""
    scorers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Role to the classifier that scores generated text."""
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: MappingProxyType({}))
    """Role to concept to the classifier's label for it."""
    data_dir: Path | None = None
    out: Path | None = None
    junit: Path | None = None
    config: Path | None = None
    store: str | None = None
    """Address that ``--out`` names, where it is not a folder."""
    baseline: str | None = None
    models: Path | None = None
    engine: str = "local"
    ray_address: str | None = None
    first_run: bool = False
    seed: int = 0
    fresh: bool = False
    offline: bool = False
    allow_missing_data: bool = False
    """Whether suites whose data are unavailable are left out without failing the run."""
    shard: str | None = None
    show_items: bool = False
    with_texts: bool = False
    timings: bool = False
    withhold_scores: bool = False
    trust_remote_code: bool = False
    allow_pickle: bool = False
    accept_licences: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    texts: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    """Suite to the user's texts that it reads, each source with a name."""
    limits: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: MappingProxyType({}))
    waive: tuple[Mapping[str, str], ...] = ()
    """Known excesses of limits, each with the limit, the reason and the last day; see `waivers`."""
    context: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    energy: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    fleet: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """For a run of many models: seconds per `part`, `cpus` per process."""
    served: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """Requests to a server, or calls of an application; see `models.served.settings`."""
    application: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """How an application behind HTTP is asked; see `models.applications.mapping`."""
    cost: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """What a server or an application costs; see `models.spending`."""
    collected: tuple[str, ...] = ()
    """Suite files that pytest collects beside a project's other tests; not set in a file."""
    stated: Marked = field(default_factory=Marked, compare=False, repr=False)
    """Content of the settings file, for messages with line numbers."""

    @property
    def catalogue(self) -> Catalogue:
        """The installed suites, and those of the files among `suites` and `collected`."""
        return self._with_files[0]

    @property
    def requested(self) -> tuple[str, ...]:
        """The entries of `suites`, with suite names in place of files."""
        return self._with_files[1][: len(self.suites)]

    @property
    def beside(self) -> tuple[str, ...]:
        """The names of the suites whose files were `collected`."""
        return self._with_files[1][len(self.suites) :]

    def as_given(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return entries of `suites` for the names that a report has, with files in their place."""
        words = (*self.suites, *self.collected)
        named = zip(words, self._with_files[1], strict=True)
        files = {name: said for said, name in named if name != said}
        found = (files.get(name.partition("[")[0], name) for name in names)
        return tuple(dict.fromkeys(found))

    @cached_property
    def _with_files(self) -> tuple[Catalogue, tuple[str, ...]]:
        return with_files([*self.suites, *self.collected])


def read_settings(
    given: Mapping[str, Any],
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Settings:
    """Merge options, environment and file into settings.

    Parameters
    ----------
    given : mapping
        Options as typed; a value of None or an empty tuple means not given.
    environment : mapping, optional
        Environment variables; by default those of the process.
    folder : Path, optional
        Where to look for the file; by default the current folder.

    Raises
    ------
    UsageError
        If a name is unknown or a value is of the wrong type; states where it was set.
    """
    environment = os.environ if environment is None else environment
    typed = {k: v for k, v in given.items() if not (v is None or v is False or v in ((), []))}
    read = {o.name: (READ[o.type], f"--{o.flag}") for o in OPTIONS if o.type in READ}
    typed |= {k: read[k][0](v, read[k][1]) for k, v in typed.items() if k in read}
    from_environment = {
        o.name: _from_text(o, environment[o.variable])
        for o in OPTIONS
        if environment.get(o.variable)
    }
    if environment.get("PYTEST_BIAS_MODEL"):
        from_environment["model"] = environment["PYTEST_BIAS_MODEL"]
    chosen = typed.get("config") or from_environment.get("config")
    marked = _file(Path(chosen) if chosen else None, folder or Path.cwd())
    merged = {**_checked(marked), **from_environment, **typed, "stated": marked}
    # A model or a list given as an option replaces both settings of the file.
    for typed_one, other in (("model", "models"), ("models", "model")):
        if typed_one in typed and other not in typed:
            merged.pop(other, None)
    if marked.name:
        merged["config"] = Path(marked.name)
    settings = replace(Settings(), **_plain(merged))
    for option in OPTIONS:
        value = getattr(settings, option.name)
        if option.choices and value not in (None, *option.choices):
            where = option.variable if option.name in from_environment else f"--{option.flag}"
            raise UnknownName.among(where, str(value), option.choices)
    _check_together(settings)
    return settings


_OF_EACH: Final = "Each model of a list is measured on a device with enough memory."

EXCLUSIVE: Final = (
    ("models", "model", "Write it into the list."),
    ("models", "device_map", _OF_EACH),
    ("models", "devices", _OF_EACH),
    ("models", "shard", "--engine ray shares the models, and the parts of each."),
    ("models", "budget", "--profile quick uses the same sample for all models."),
    ("models", "show_items", "Run one model to see its items."),
    ("models", "junit", "One file is of one model: render writes it from a report."),
    ("models", "withhold_scores", "A table of models shows scores; withhold those of one model."),
    ("junit", "shard", "A shard decides nothing: pytest-bias merge … --junit FILE"),
    ("devices", "device", "--devices names all of them."),
    ("devices", "shard", "--device selects the one that measures a shard."),
    ("devices", "budget", "--profile quick uses one sample on all devices."),
    ("device_map", "device", "--device-map selects them; CUDA_VISIBLE_DEVICES restricts it."),
    ("device_map", "devices", "One splits the model over devices, the other the items."),
    ("withhold_scores", "show_items", "A run that withholds its scores does not show items."),
    ("withhold_scores", "with_texts", "A run that withholds its scores keeps no records."),
    (
        "withhold_scores",
        "shard",
        "Scores come from the records of all shards; merge withholds them.",
    ),
)
"""Pairs of settings that exclude each other, with a hint."""


def _check_together(settings: Settings) -> None:
    flags = {o.name: f"--{o.flag} " for o in OPTIONS} | {"model": "the model "}
    usual = Settings()
    for one, other, hint in EXCLUSIVE:
        values = [(name, getattr(settings, name)) for name in (one, other)]
        if all(value != getattr(usual, name) for name, value in values):
            given = " and ".join(
                (flags[name] + ("" if value is True else str(value))).strip()
                for name, value in values
            )
            raise UsageError(f"{given} cannot be given together.", hint)
    if settings.models is None:
        for name, hint in ONLY_OF_LISTS.items():
            if (value := getattr(settings, name)) != getattr(usual, name):
                raise UsageError(f"{flags.get(name, '--out ')}{value} requires --models.", hint)
    if settings.answer_tokens < 1:
        raise UsageError(
            f"--answer-tokens {settings.answer_tokens}: an answer has at least one token."
        )
    if settings.answer_samples < 1:
        raise UsageError(
            f"--answer-samples {settings.answer_samples}: at least 1, a greedy answer."
        )
    if settings.answer_samples > 1 and settings.answers == "letters":
        raise UsageError(
            f"--answer-samples {settings.answer_samples} and --answers letters: the probabilities "
            "of letters are not sampled.",
            "--answers text, or auto",
        )
    if settings.ray_address and settings.engine != "ray":
        raise UsageError(f"--ray-address {settings.ray_address} requires --engine ray.")


ASKING: Final = ("system", "answers", "answer_tokens", "answer_samples")
"""Settings of how a model is asked, besides ``chat``; a report has those that are not usual."""


def asked_as(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return how a model was asked, from the settings of a report."""
    usual = Settings()
    return {name: found.get(name, getattr(usual, name)) for name in ASKING}


def asked_otherwise(settings: Settings) -> dict[str, Any]:
    """Return the settings of how a model is asked that are not the usual ones."""
    usual = asked_as({})
    found = {name: getattr(settings, name) for name in ASKING}
    return {name: value for name, value in found.items() if value != usual[name]}


ONLY_OF_LISTS: Final = {
    "engine": "One model: --devices splits it over GPUs, --shard over machines.",
    "ray_address": "One model: --shard and merge split it over machines.",
    "store": "One model is written to a folder.",
}
"""Settings that require a list of models, with the equivalent for one model."""


def to_json(settings: Settings) -> str:
    """Return settings as JSON, for another process with the same settings; see `from_json`."""
    plain = {f.name: getattr(settings, f.name) for f in fields(settings) if f.name != "stated"}
    return json.dumps(plain, default=lambda v: dict(v) if isinstance(v, Mapping) else str(v))


def from_json(text: str) -> Settings:
    """Read settings from the output of `to_json`."""
    given = {k: v for k, v in json.loads(text).items() if v is not None}
    if "budget" in given:
        given["budget"] = budget(given["budget"], "--budget")
    return Settings(**_plain(given))


def _file(chosen: Path | None, folder: Path) -> Marked:
    if chosen is not None:
        if not chosen.is_file():
            raise UsageError(f"--config {chosen}: there is no such file.")
        return read_file(chosen)
    files = (path for path in (folder / FILE_NAME, folder / "pyproject.toml") if path.is_file())
    return next((marked for path in files if (marked := read_file(path)).value), Marked())


def read_file(path: Path) -> Marked:
    """Read a settings file, with line numbers where it is YAML, without checking its content.

    Raises
    ------
    UsageError
        If it cannot be read, or is not well-formed.
    """
    text, name = text_of(path), str(path)
    digest = sha256(path.read_bytes())
    if path.suffix != ".toml":
        return replace(read_marked(text, name, full=True), sha256=digest)
    try:
        tools = tomllib.loads(text).get("tool")
        own = tools.get("pytest-bias") if isinstance(tools, dict) else None
        return Marked(name, as_texts(own), bare=frozenset(bare_in(own)), sha256=digest)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not well-formed: {error}") from None


def _checked(marked: Marked) -> dict[str, Any]:
    if marked.value is None:
        return {}
    found: dict[str, Any] = SETTINGS(marked, (), marked.value)
    if "waive" in found:
        found["waive"] = tuple(waiver.to_plain() for waiver in found["waive"])
    if languages := found.get("context", {}).get("languages"):
        found.setdefault("languages", languages)
    return found


def _from_text(option: Option, text: str) -> Any:
    if option.type in ("flag", "number"):
        return TYPES[option.type](Marked(option.variable), (), text)
    several = tuple(text.replace(",", " ").split())
    if option.type in READ:
        given = several if option.type == "pairs" else text
        return READ[option.type](given, option.variable)
    return several if option.type == "texts" else text


def _plain(merged: Mapping[str, Any]) -> dict[str, Any]:
    paths = {o.name for o in OPTIONS if o.type in ("path", "path-or-address")}
    found: dict[str, Any] = {}
    for name, value in merged.items():
        if name == "out" and is_address("path-or-address", value):
            found["store"] = str(value)
        elif name in paths:
            found[name] = Path(value).expanduser()
        elif isinstance(value, list):
            found[name] = tuple(value)
        else:
            found[name] = value
    return found


def require_model(settings: Settings) -> str:
    """Return the model to measure, or raise `UsageError` with how to name one."""
    if settings.model:
        return settings.model
    raise UsageError(
        "no model was named.",
        f"pytest-bias run org/name, a folder, or demo; or `model: org/name` in {FILE_NAME}.",
    )


def require_data_dir(settings: Settings) -> None:
    """Raise `UsageError` if the folder with the user's own data is named but missing."""
    if settings.data_dir is None or settings.data_dir.is_dir():
        return
    what = "is not a folder" if settings.data_dir.exists() else "does not exist"
    raise UsageError(
        f"--data-dir {settings.data_dir} {what}.",
        "Name an existing folder. Without the option, data are downloaded to the cache.",
    )


def languages_of(settings: Settings, stated: Sequence[str]) -> tuple[str, ...]:
    """Return the languages to test in: those requested, else those of the model card, else en.

    Only the language of a tag counts: ``en-US`` is ``en``. Entries of a card that are not languages
    (``multilingual``, ``code``) are ignored.
    """
    asked = settings.languages or tuple(tag for tag in stated if tag.lower() not in NO_LANGUAGE)
    return tuple(dict.fromkeys(re.split("[-_]", tag.lower())[0] for tag in asked)) or ("en",)
