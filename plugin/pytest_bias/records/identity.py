"""What exactly was measured: a model, and what was merged into it."""

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version


@dataclass(frozen=True, slots=True)
class AdapterIdentity:
    """What exactly was merged into a model."""

    reference: str
    revision: str | None = None
    weights_sha256: str | None = None
    config_sha256: str | None = None


@dataclass(frozen=True, slots=True)
class ScorerIdentity:
    """What exactly scored the texts that a model wrote, in which role."""

    role: str
    reference: str
    revision: str | None = None
    weights_sha256: str | None = None
    config_sha256: str | None = None


@dataclass(frozen=True, slots=True)
class ServedIdentity:
    """What is known of a model that a server answered for: which weights it has is not.

    Parameters
    ----------
    api : str
        Protocol of the server.
    model : str
        Name by which the server was asked, without folders of its machine.
    likelihood : str or None
        How log-probabilities of texts were had; null where there are none.
    fingerprint : str
        Digest of what the server said of the model and answered to a few fixed questions.
    owned_by, root : str or None
        The server's own words about the model: untrusted text.
    max_length : int or None
        Tokens that the model takes, as the server says.
    """

    api: str
    model: str
    likelihood: str | None
    fingerprint: str
    owned_by: str | None = None
    root: str | None = None
    max_length: int | None = None


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """What exactly was measured. Digests are SHA-256 in hexadecimal.

    `code_sha256` is that of the code which the model brings along; null where it brings none.
    `served` is null unless a server answered, whose weights nobody has seen.
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


def tool_version() -> str:
    """Version of the installed distribution."""
    try:
        return version("pytest-bias")
    except PackageNotFoundError:
        return "unknown"
