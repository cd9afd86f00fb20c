"""One note on a merge request, which later runs update.

It is found by a hidden marker in its first line, and only among the notes of the same account: a
note by somebody else that copies the marker is neither edited nor deleted.
"""

import re
from typing import Any, Final

from pytest_bias.ci.gitlab.api import Client, GitLabError
from pytest_bias.emit.bounds import within

MOST_CHARACTERS: Final = 900_000
"""Characters of a note; GitLab refuses more than 1,000,000."""
_OWN_LINK: Final = re.compile(r"(\]\(https?://[^)\s]*\))")


def write_note(client: Client, project: str, merge_request: int, mark: str, text: str) -> None:
    """Write the note of a merge request, replacing the previous one.

    Parameters
    ----------
    project : str
        Number of the project that the merge request belongs to.
    merge_request : int
        Its number in the project.
    mark : str
        An HTML comment, which is not shown.

    Raises
    ------
    GitLabError
        If the token may not write it, or GitLab does not answer.
    """
    path = f"projects/{project}/merge_requests/{merge_request}/notes"
    body = within(f"{mark}\n{inert(text)}", MOST_CHARACTERS)
    author = client.get("user")["id"]
    if not _rewritten(client, path, mark, body, author):
        try:
            client.send("POST", path, {"body": body})
        except GitLabError as error:
            # Reading again shows whether it was written.
            if not error.unsure or not _rewritten(client, path, mark, body, author):
                raise


def _rewritten(client: Client, path: str, mark: str, body: str, author: int) -> bool:
    """Put the text into our oldest note and delete the others; returns whether there was one."""
    listed = client.pages(path, sort="asc", order_by="created_at")
    ours = [note for note in listed if _is_ours(note, mark, author)]
    if not ours:
        return False
    first, *others = ours
    for other in others:
        client.send("DELETE", f"{path}/{other['id']}")
    if first["body"].strip() != body.strip():
        client.send("PUT", f"{path}/{first['id']}", {"body": body})
    return True


def _is_ours(note: dict[str, Any], mark: str, author: int) -> bool:
    is_written = not note.get("system") and (note.get("author") or {}).get("id") == author
    return is_written and str(note.get("body")).partition("\n")[0].strip() == mark


def inert(text: str) -> str:
    """Escape Markdown so that GitLab finds neither quick actions nor references in it.

    A line that begins with a slash is a quick action, such as ``/merge``. `emit.comment` escapes
    the references that GitHub knows as well; this escapes those to merge requests, labels,
    milestones, alerts and epics.
    """
    parts = _OWN_LINK.split(text)
    parts[::2] = map(_without_references, parts[::2])
    return re.sub(r"(?m)^([ \t]*)/", r"\1&#47;", "".join(parts))


def _without_references(text: str) -> str:
    text = re.sub(r'\\?([!~%^])(?=[\w"])', "\\1&#8203;", text)
    return re.sub(r'&amp;(?=[\w"])', "&amp;&#8203;", text)
