"""Identity of the model that was measured, and of what was merged into it."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version


@dataclass(frozen=True, slots=True)
class AdapterIdentity:
    """Identity of an adapter that was merged into a model."""

    reference: str
    revision: str | None = None
    weights_sha256: str | None = None
    config_sha256: str | None = None


@dataclass(frozen=True, slots=True)
class ScorerIdentity:
    """Identity of a classifier that scored generated texts, and its role."""

    role: str
    reference: str
    revision: str | None = None
    weights_sha256: str | None = None
    config_sha256: str | None = None


@dataclass(frozen=True, slots=True)
class ServedIdentity:
    """What is known about a model behind a server; its weights are not.

    Parameters
    ----------
    api : str
        Protocol of the server.
    model : str
        Name by which the server was asked, without folders of its machine.
    likelihood : str or None
        How log-probabilities of texts were obtained; None if they were not.
    fingerprint : str
        Digest of the server's description of the model and its answers to fixed requests.
    owned_by, root : str or None
        The server's own description of the model: untrusted text.
    max_length : int or None
        Context length in tokens, as reported by the server.
    """

    api: str
    model: str
    likelihood: str | None
    fingerprint: str
    owned_by: str | None = None
    root: str | None = None
    max_length: int | None = None


@dataclass(frozen=True, slots=True)
class ApplicationIdentity:
    """What is known about an application; whatever it asks in turn is not.

    Parameters
    ----------
    fingerprint : str
        Digest of the function's name, source file and distribution; or of address and mapping.
    module, function : str or None
        Where a function is imported from.
    distribution : str or None
        Name and version of the installed distribution that the module belongs to.
    seeded : bool
        Whether it takes a seed.
    url, method : str or None
        Address and method of an application behind HTTP.
    """

    fingerprint: str
    module: str | None = None
    function: str | None = None
    distribution: str | None = None
    seeded: bool = False
    url: str | None = None
    method: str | None = None


@dataclass(frozen=True, slots=True)
class AnswersIdentity:
    """Where scored answers come from; which model gave them is what their log says.

    Parameters
    ----------
    format : str
        Format of the files, such as ``lm-eval``.
    sha256 : mapping of str to str
        Name of each file to the SHA-256 of its content.
    tool, version, task : str or None
        Tool that wrote the files, its version and its name for the task: untrusted texts.
    model : str or None
        The model as the files name it: untrusted text.
    orders : str
        Orders of the options in which questions were asked: ``every``, ``some`` of them,
        ``unknown``, or empty where there are no options.
    read : str
        Where options were chosen by log-likelihoods: of ``letters`` or of ``texts``; else empty.
    n_answers, n_matched : int
        Answers in the files, and those that belong to items of the suite.
    n_without : int
        Items without an answer.
    partial : bool
        Whether ``--partial`` let items without an answer out.
    unfinished : str or None
        Why the tool did not finish, where the files say so.
    """

    format: str
    sha256: Mapping[str, str]
    tool: str | None = None
    version: str | None = None
    task: str | None = None
    model: str | None = None
    orders: str = ""
    read: str = ""
    n_answers: int = 0
    n_matched: int = 0
    n_without: int = 0
    partial: bool = False
    unfinished: str | None = None


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """Identity of the model that was measured. Digests are SHA-256 in hexadecimal.

    `code_sha256` is the digest of the model's own code, or of the source file of an application;
    None if there is none. `served` is None unless the model was measured through a server,
    `application` unless an application of the user's answered, `answers_from` unless answers of a
    log were scored; in these cases weights are unknown.
    """

    reference: str
    kind: str
    architecture: str
    parameters: int | None = None
    revision: str | None = None
    weights_sha256: str | None = None
    config_sha256: str | None = None
    tokenizer_sha256: str | None = None
    dtype: str = "float32"
    base_model: str | None = None
    lowercases: bool | None = None
    prefix_token: str | None = None
    pooling: str | None = None
    chat_template_sha256: str | None = None
    code_sha256: str | None = None
    adapter: AdapterIdentity | None = None
    served: ServedIdentity | None = None
    application: ApplicationIdentity | None = None
    answers_from: AnswersIdentity | None = None

    @property
    def asked(self) -> str:
        """Who answered for a model whose weights are unknown; empty for a checkpoint."""
        if self.answers_from:
            return "a log"
        if self.served:
            return "a server"
        return "an application" if self.application else ""


def tool_version() -> str:
    """Version of the installed distribution."""
    try:
        return version("pytest-bias")
    except PackageNotFoundError:
        return "unknown"
