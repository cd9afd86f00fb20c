"""Jobs of the Hugging Face Hub and the webhooks that start them: look up, register, replace.

A webhook starts a copy of a source job, with the image, command, environment and hardware of that
job and secrets of its own. Either both are registered or neither: a job without its webhook is
cancelled. The environment of each holds the model's name, which identifies it as ours, and the
registration's number, which finds it if the answer of the Hub was lost.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any, Final

from pytest_bias.errors import PublishError, UnknownName, UsageError
from pytest_bias.http.failures import Kind
from pytest_bias.hub.refusals import Subject, may_have_arrived, reason
from pytest_bias.hub.repository import asked

if TYPE_CHECKING:
    from huggingface_hub import HfApi, JobInfo, WebhookInfo

MODEL: Final = "PYTEST_BIAS_HUB_MODEL"
"""Variable of a job that names the model to measure."""
REGISTRATION: Final = "PYTEST_BIAS_HUB_REGISTRATION"
"""Variable of a job with the number of its registration."""
SECRET: Final = "PYTEST_BIAS_HUB_SECRET"
"""Secret of a job, which the webhook must send as well."""
TOKEN: Final = "HF_TOKEN"

LABEL: Final = "pytest-bias"
"""Name of jobs, and the label that holds the number of their registration."""
LIVE: Final = ("RUNNING", "SCHEDULING")

WEBHOOKS_PAGE: Final = "https://huggingface.co/settings/webhooks"
JOBS_PAGE: Final = "https://huggingface.co/settings/jobs"
_RIGHTS: Final = (
    "The token has to be allowed to write to {name} (repo.write), to start jobs (job.write) and to "
    "manage webhooks (user.webhooks.write): https://huggingface.co/settings/tokens"
)
_HELPS: Final[Mapping[Kind, str]] = {
    401: f"{{login}} {_RIGHTS}",
    **dict.fromkeys((403, 404, "gated", "repository"), _RIGHTS),
}
_TYPES: Final = ("KeyError", "TypeError", "JSONDecodeError")
"""Errors of the client for an invalid answer to a request that did arrive."""


@dataclass(frozen=True, slots=True)
class Flavor:
    """Hardware on which a job can run.

    Parameters
    ----------
    name : str
        Its name in requests.
    about : str
        Description; empty if only the name is known.
    micro_usd : int, optional
        Price per `unit` in millionths of a dollar; None if the Hub did not state it.
    unit : str
        ``minute``.
    """

    name: str
    about: str = ""
    micro_usd: int | None = None
    unit: str = "minute"


@dataclass(frozen=True, slots=True)
class Hook:
    """A webhook of ours that watches a model."""

    id: str
    flavor: str
    registration: str
    disabled: bool = False


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The state before a registration.

    Parameters
    ----------
    namespace : str
        User or organization that runs the job and pays for it.
    flavors : mapping of str to Flavor
        Hardware by name.
    hooks : tuple of Hook
        Our webhooks for this model; there should be one at most.
    notices : tuple of str
        What could not be found out.
    """

    namespace: str
    flavors: Mapping[str, Flavor]
    hooks: tuple[Hook, ...] = ()
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """A registration to make; `environment` has `MODEL` and `REGISTRATION`, and no secret."""

    name: str
    namespace: str
    image: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    flavor: str
    timeout_s: int

    @property
    def registration(self) -> str:
        """Number of the registration."""
        return self.environment[REGISTRATION]


@dataclass(frozen=True, slots=True)
class Registered:
    """A completed registration: the job that runs now, its page, and the webhook."""

    job: str
    page: str
    hook: str
    notices: tuple[str, ...] = ()


def survey(
    name: str, namespace: str | None, job_token: str | None, *, offline: bool
) -> Surroundings:
    """Find out, without writing anything, whether and where a job for a model can be registered.

    Raises
    ------
    PublishError
        If the run is offline, or the Hub cannot be reached or refuses; with what helps.
    """
    subject = _subject(f"no job is registered for {name}", name)
    with asked(subject, offline=offline, to_write=True) as api:
        _require_secrets(api)
        api.auth_check(name, write=True)
        if job_token:
            api.auth_check(name, write=True, token=job_token)
        owner = namespace or str(api.whoami()["name"])
        hooks = tuple(_own(api.list_webhooks(), name))
        flavors, notices = _flavors(api)
    return Surroundings(owner, flavors, hooks, notices)


def require_flavor(given: str, flavors: Mapping[str, Flavor]) -> Flavor:
    """Return hardware by its name, or raise `UnknownName` with the nearest match."""
    if given not in flavors:
        raise UnknownName.among("--flavor", given, flavors, "Prices: hf jobs hardware")
    return flavors[given]


def register(plan: Plan, found: Surroundings, secrets: Mapping[str, str]) -> Registered:
    """Start a job and have every push to the model start it again.

    Our first webhook for this model is changed; if there is none, one is created. Jobs of an
    earlier registration that still run are cancelled.

    Parameters
    ----------
    secrets : mapping of str to str
        What jobs get beside their environment; `SECRET` goes to the webhook as well. `TOKEN` is by
        default the one that the client finds.

    Raises
    ------
    PublishError
        If nothing was registered, or it is unknown whether it was; with the cause and what helps.
    """
    subject = _subject(f"nothing was registered for {plan.name}", plan.name)
    with asked(subject, offline=False, to_write=True) as api:
        sent = _Sent(api, plan, {TOKEN: str(api.token), **secrets}, subject)
        job = sent.started()
        hook, notices = sent.hooked(job, found.hooks[0] if found.hooks else None)
        for old in found.hooks[:1]:
            notices += [*sent.woken(old), *sent.ended(old)]
    return Registered(job.id, job.url, hook, tuple(notices))


@dataclass(frozen=True, slots=True)
class _Sent:
    """A registration in progress."""

    api: "HfApi"
    plan: Plan
    secrets: Mapping[str, str]
    subject: Subject

    def started(self) -> "JobInfo":
        """Start the source job; if the answer is lost, find and cancel it."""
        plan = self.plan
        try:
            return self.api.run_job(
                image=plan.image,
                command=list(plan.command),
                env=dict(plan.environment),
                secrets=dict(self.secrets),
                flavor=plan.flavor,
                timeout=plan.timeout_s,
                name=LABEL,
                labels={LABEL: plan.registration},
                namespace=plan.namespace,
            )
        except BaseException as error:
            if not _may_have_arrived(error, "/api/jobs/"):
                raise
            try:
                told = [self._cancelled(j) for j in self._jobs(plan.registration)]
            except Exception as other:
                if reason(other) is None:
                    raise
                raise self._failed(
                    error, "Whether a job was started is not known.", f"Look at {JOBS_PAGE}"
                ) from None
            if not isinstance(error, Exception):
                raise
            raise self._failed(error, " ".join(told)) from None

    def hooked(self, job: "JobInfo", old: Hook | None) -> tuple[str, list[str]]:
        """Create the webhook or change the existing one; if that fails, cancel the job."""
        try:
            made = self._hook(job, old)
        except BaseException as error:
            notice = "The answer to the webhook was lost: {}. It is there, and starts this job."
            unknown = ""
            if _may_have_arrived(error, "/api/settings/webhooks"):
                try:
                    hooks = _own(self.api.list_webhooks(), self.plan.name)
                    there = [h for h in hooks if h.registration == self.plan.registration]
                except Exception as other:
                    if reason(other) is None:
                        raise
                    there, unknown = [], "Whether the webhook is there is not known."
                if there:
                    return there[0].id, [notice.format(reason(error) or error)]
            stays = f"The webhook {old.id} is as it was." if old and not unknown else ""
            done = " ".join(filter(None, (unknown, stays, self._cancelled(job))))
            if not isinstance(error, Exception):
                raise
            hint = f"Look at {WEBHOOKS_PAGE}" if unknown else ""
            raise self._failed(error, done, hint) from None
        return made.id, []

    def _hook(self, job: "JobInfo", old: Hook | None) -> "WebhookInfo":
        given: dict[str, Any] = {
            "job_id": job.id,
            "watched": [{"type": "model", "name": self.plan.name}],
            "domains": ["repo"],
            "secret": self.secrets[SECRET],
            "secrets": dict(self.secrets),
        }
        if old is None:
            return self.api.create_webhook(**given)
        return self.api.update_webhook(old.id, **given)

    def woken(self, old: Hook) -> list[str]:
        """Enable a webhook that was disabled; returns what helps if that fails."""
        if not old.disabled:
            return []
        try:
            self.api.enable_webhook(old.id)
        except Exception as error:
            if (why := reason(error)) is None:
                raise
            return [
                f"The webhook is disabled, and enabling it failed ({why}): "
                f"hf webhooks enable {old.id}"
            ]
        return []

    def ended(self, old: Hook) -> list[str]:
        """Cancel jobs of an older registration that still run; returns what happened."""
        if not old.registration or old.registration == self.plan.registration:
            return []
        try:
            return [self._cancelled(j) for j in self._jobs(old.registration)]
        except Exception as error:
            if reason(error) is None:
                raise
            return [f"Whether a job on {old.flavor} still runs is not known: {JOBS_PAGE}"]

    def _jobs(self, registration: str) -> list["JobInfo"]:
        jobs = self.api.list_jobs(
            status=list(LIVE), labels={LABEL: registration}, namespace=self.plan.namespace
        )
        return [j for j in jobs if (j.labels or {}).get(LABEL) == registration]

    def _cancelled(self, job: "JobInfo") -> str:
        named = f"{job.owner.name}/{job.id}"
        try:
            self.api.cancel_job(job_id=job.id, namespace=job.owner.name)
        except Exception as error:
            if (why := reason(error)) is None:
                raise
            return f"The job {named} could not be cancelled ({why}): hf jobs cancel {named}"
        return f"The job {named} was cancelled."

    def _failed(self, error: BaseException, done: str = "", hint: str = "") -> PublishError:
        """Return the error: nothing was registered, why, and what was undone."""
        refusal = self.subject.refusal(error)
        if refusal is None:
            refusal = PublishError(f"{self.subject.text}: {type(error).__name__}.")
        message = " ".join(filter(None, (refusal.message, done)))
        return PublishError(message, hint or refusal.hint)


def _subject(text: str, name: str) -> Subject:
    helps = {status: hint.replace("{name}", name) for status, hint in _HELPS.items()}
    return Subject(text, name, PublishError, helps=helps)


def _may_have_arrived(error: BaseException, path: str) -> bool:
    # An interrupted request may or may not have arrived.
    given_up = isinstance(error, KeyboardInterrupt) or type(error).__name__ in _TYPES
    return given_up or may_have_arrived(error, path)


def _require_secrets(api: "HfApi") -> None:
    if "secrets" not in signature(api.create_webhook).parameters:
        raise UsageError(
            "this huggingface_hub cannot give secrets to the job of a webhook.",
            "pip install -U huggingface_hub",
        )


def _own(hooks: Sequence["WebhookInfo"], name: str) -> Iterator[Hook]:
    """Yield our webhooks that start a job for this model and no other."""
    for hook in hooks:
        environment = (hook.job and hook.job.environment) or {}
        watched = [(w.type, w.name) for w in hook.watched]
        if hook.job and environment.get(MODEL) == name and watched == [("model", name)]:
            number = str(environment.get(REGISTRATION, ""))
            yield Hook(hook.id, str(hook.job.flavor), number, hook.disabled)


def _flavors(api: "HfApi") -> tuple[dict[str, Flavor], tuple[str, ...]]:
    """Return the hardware that the Hub lists; if it does not answer, what the client knows."""
    from huggingface_hub import JobHardware

    try:
        listed = api.list_jobs_hardware()
    except Exception as error:
        if (why := reason(error)) is None:
            raise
        told = f"The Hub states neither its hardware nor the price: {why}."
        return {h.value: Flavor(h.value) for h in JobHardware}, (told,)
    return {
        h.name: Flavor(h.name, h.pretty_name, h.unit_cost_micro_usd, h.unit_label) for h in listed
    }, ()
