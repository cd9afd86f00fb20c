"""Scorers: classifiers named by the user that score the texts of the model under test."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pytest_bias.errors import BiasError, UsageError
from pytest_bias.models import Described, ModelRef, Trust, describe, load
from pytest_bias.models.interface import Model, ModelKind
from pytest_bias.models.labels import ROLES, labels_for
from pytest_bias.records.identity import ScorerIdentity
from pytest_bias.settings.settings import Settings


@dataclass(frozen=True)
class Scorer:
    """A classifier with a role, described before its weights are read."""

    role: str
    model: Described
    labels: Mapping[str, str]

    def identity(self, loaded: Model | None = None) -> ScorerIdentity:
        """Return the scorer's identity; the digest of its weights is known once they are loaded."""
        about = (loaded or self.model).identity
        return ScorerIdentity(
            self.role, about.reference, about.revision, about.weights_sha256, about.config_sha256
        )

    def depends_on(self) -> list[str | None]:
        """Return what its scores depend on; no weight is loaded."""
        about = self.model.identity
        return [
            about.reference,
            about.revision,
            self.model.weights_digest(),
            about.config_sha256,
            about.tokenizer_sha256,
            *sorted(self.labels.values()),
        ]


def described(settings: Settings, roles: Iterable[str]) -> dict[str, Scorer]:
    """Describe the classifiers that the settings name for these roles; a role may have none.

    Raises
    ------
    UsageError
        If a model is not a classifier, or has no label for the role.
    """
    return {
        role: _described(settings, role, settings.scorers[role])
        for role in sorted(set(roles))
        if role in settings.scorers
    }


def _described(settings: Settings, role: str, name: str) -> Scorer:
    trust = Trust(settings.allow_pickle, settings.trust_remote_code)
    try:
        ref = ModelRef.parse(name)
        if ref.asked:
            raise UsageError(f"{ref.asked} is no classifier.")
        model = describe(ref, offline=settings.offline, trust=trust)
    except BiasError as error:
        message = f"the scorer of {ROLES[role].title}, {name}: {error.message}"
        raise type(error)(message, error.hint) from None
    if model.kind is not ModelKind.CLASSIFIER:
        raise UsageError(
            f"--scorer {role}={name}: this is {model.kind.facts.words}, not a text classifier.",
            f"Name a text-classification model of {ROLES[role].title}.",
        )
    chosen = settings.labels.get(role, {})
    return Scorer(role, model, labels_for(role, model.labels, chosen, name))


def loaded(scorers: Mapping[str, Scorer], settings: Settings) -> dict[str, Model]:
    """Load each classifier once, on the device of the run, even if it has several roles."""
    models: dict[str, Model] = {}
    for scorer in scorers.values():
        name = str(scorer.model.ref)
        if name not in models:
            models[name] = load(scorer.model, device=settings.device, dtype=settings.dtype)
        models[name].label_names = {**models[name].label_names, scorer.role: scorer.labels}
    return {role: models[str(s.model.ref)] for role, s in scorers.items()}
