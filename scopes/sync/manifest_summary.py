"""What a manifest says about the messages of its branches: the beginning of the first prompt, and their number.

Both depend only on the branches, so they are the same on every machine. Whoever has only the manifest chooses by them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from scopes.history.handles import first_prompt, walk_main
from scopes.ids import Oid
from scopes.model.conversation import Manifest
from scopes.sanitize import SUBJECT_LENGTH
from scopes.secret_scan.clearance import without_store
from scopes.store.objects import Commit
from scopes.store.repository import Repository
from scopes.sync.manifest import count_messages

PROMPT_PLACE: Final = "the first prompt"


def summarize(repository: Repository, manifest: Manifest, known: Mapping[Oid, Commit] | None = None) -> Manifest:
    """Return a manifest with the number of its messages and, if it has no title, the beginning of its first prompt.

    `known` are commits that were read before; they are not read again.

    Raises:
        Corrupt, NotFound: the history is damaged.
    """
    branches = list(manifest.branches.values())
    is_one = len({branch.tip for branch in branches}) == 1
    messages = branches[0].messages if is_one else count_messages(repository, manifest, known)
    prompt = _find_prompt(repository, manifest, known) if manifest.title is None else None
    return manifest._replace(prompt=prompt, messages=messages)


def has_lost_prompt(manifest: Manifest) -> bool:
    """Return True if a manifest may have had a first prompt that a purge has removed; the next one has another.

    One of an earlier version has no number of messages, and never had a prompt.
    """
    return manifest.messages is not None and manifest.title is None and manifest.prompt is None


def _find_prompt(repository: Repository, manifest: Manifest, known: Mapping[Oid, Commit] | None) -> str | None:
    named = sorted((branch.name, key) for key, branch in manifest.branches.items())
    tips = {name: manifest.branches[key].tip for name, key in named}
    prompt = first_prompt(repository, walk_main(repository, tips, known))
    if prompt is None:
        return None
    line = _without_secrets(prompt)
    return line if len(line) <= SUBJECT_LENGTH else _without_secrets(f"{line[: SUBJECT_LENGTH - 1].rstrip()}…")


def _without_secrets(text: str) -> str:
    """Return a text with placeholders for its secrets, and for what looks like the beginning of one that was cut."""
    gate = without_store()
    return gate.clear_text(text, PROMPT_PLACE) if gate.may_change(text.encode("utf-8", "surrogatepass")) else text
