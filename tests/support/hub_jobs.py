"""Jobs and webhooks of a Hub on this machine: kept, not run; a test plays the machine that runs."""

import json
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from hub_contents import FORBIDDEN, Answer, Hub

HARDWARE = [
    {
        "name": name,
        "prettyName": pretty,
        "cpu": "4 vCPU",
        "ram": "15 GB",
        "ephemeralStorage": "50 GB",
        "accelerator": accelerator,
        "unitCostMicroUSD": micro,
        "unitCostUSD": micro / 1e6,
        "unitLabel": "minute",
    }
    for name, pretty, accelerator, micro in (
        ("cpu-basic", "CPU Basic", None, 167),
        (
            "t4-small",
            "Nvidia T4 - small",
            {
                "type": "gpu",
                "model": "T4",
                "quantity": "1",
                "vram": "16 GB",
                "manufacturer": "Nvidia",
            },
            6667,
        ),
        ("a10g-small", "Nvidia A10G - small", None, 16667),
    )
]
_COPIED = ("command", "arguments", "environment", "flavor", "dockerImage", "labels")


def may_manage(hub: Hub, token: str) -> Answer | None:
    """Return a refusal unless a token allows jobs and webhooks."""
    if hub.tokens.get(token) == "write":
        return None
    return Answer.refusal(403, "", FORBIDDEN) if token else Answer.refusal(401, "", "Unauthorized")


def start(hub: Hub, owner: str, body: bytes) -> Answer:
    """Take a job; it runs until it is cancelled."""
    asked = json.loads(body)
    number = f"{len(hub.jobs) + 1:024x}"
    hub.jobs[number] = {**asked, "owner": owner, "stage": "SCHEDULING"}
    return Answer.of(_shown(number, hub.jobs[number]))


def listed(hub: Hub, owner: str, labels: list[str], stages: list[str]) -> Answer:
    """List the jobs of an owner that have labels and are in one of some stages."""
    wanted = dict(label.split("=", 1) for label in labels)
    found = [
        _shown(number, job)
        for number, job in hub.jobs.items()
        if job["owner"] == owner
        and (not stages or job["stage"] in stages)
        and wanted.items() <= job.get("labels", {}).items()
    ]
    return Answer.of(found)


def cancel(hub: Hub, owner: str, number: str) -> Answer:
    """End a job."""
    if number not in hub.jobs or hub.jobs[number]["owner"] != owner:
        return Answer.refusal(404, "", "Job not found")
    hub.jobs[number]["stage"] = "CANCELED"
    return Answer.of({})


def _shown(number: str, job: Mapping[str, Any]) -> dict[str, Any]:
    """Return a job as it is shown: without the values of its secrets."""
    return {
        **{k: v for k, v in job.items() if k in _COPIED},
        "id": number,
        "createdAt": "2026-11-01T00:00:00.000Z",
        "owner": {"id": "0" * 24, "name": job["owner"], "type": "user"},
        "status": {"stage": job["stage"], "message": None},
        "secrets": dict.fromkeys(job.get("secrets", {})),
    }


def hooks(hub: Hub) -> Answer:
    """List the webhooks."""
    return Answer.of([_hook_shown(number, hook) for number, hook in hub.webhooks.items()])


def hook(hub: Hub, number: str | None, body: bytes) -> Answer:
    """Make a webhook, or change the one of a number; it keeps a copy of its source job."""
    asked = json.loads(body)
    if number is not None and number not in hub.webhooks:
        return Answer.refusal(404, "", "Webhook not found")
    found = deepcopy(hub.webhooks[number]) if number else {"disabled": False, "secrets": {}}
    if source := asked.pop("jobSourceId", None):
        if source not in hub.jobs:
            return Answer.refusal(404, "", "Job not found")
        found["job"] = {k: v for k, v in hub.jobs[source].items() if k in _COPIED}
    found["secrets"] |= asked.pop("secrets", {})
    found |= {k: v for k, v in asked.items() if v != []}
    number = number or f"{len(hub.webhooks) + 1:x}".rjust(24, "a")
    hub.webhooks[number] = found
    return Answer.of({"webhook": _hook_shown(number, found)})


def enable(hub: Hub, number: str) -> Answer:
    """Wake a webhook."""
    hub.webhooks[number]["disabled"] = False
    return Answer.of({"webhook": _hook_shown(number, hub.webhooks[number])})


def _hook_shown(number: str, hook: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in hook.items() if k != "secrets"} | {"id": number}


def environment(hub: Hub, number: str, payload: Mapping[str, Any]) -> dict[str, str]:
    """Return the variables of the job that a webhook starts for an event."""
    hook = hub.webhooks[number]
    return {
        **hook["job"]["environment"],
        **hook["secrets"],
        "WEBHOOK_PAYLOAD": json.dumps(payload),
        "WEBHOOK_REPO_ID": payload["repo"]["name"],
        "WEBHOOK_REPO_TYPE": payload["repo"]["type"],
        "WEBHOOK_SECRET": hook["secret"],
        "WEBHOOK_ID": "delivery-1",
    }


def push(name: str, ref: str, old: str | None, new: str | None) -> dict[str, Any]:
    """Return what a webhook sends when a branch moved."""
    return {
        "event": {"action": "update", "scope": "repo.content"},
        "repo": {
            "type": "model",
            "name": name,
            "id": "6" * 24,
            "private": False,
            "url": {"web": f"https://huggingface.co/{name}"},
            "headSha": new,
            "owner": {"id": "7" * 24},
        },
        "updatedRefs": [{"ref": ref, "oldSha": old, "newSha": new}],
        "webhook": {"id": "8" * 24, "version": 3},
    }
