"""What the manifest of a conversation on a remote says: its title or first prompt, its branches and tips. Pure data.

`sync.manifest` writes and reads the commits that manifests are in.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from scopes.errors import Corrupt, Invalid, TooNew
from scopes.ids import BranchName, Oid, is_oid, parse_branch_name
from scopes.lazy_patterns import compile_lazily
from scopes.model import encoding

MANIFEST_FILE: Final = "manifest.json"
VERSION: Final = 1
MAX_BRANCHES: Final = 9_999  # with the manifest before them, ten thousand parents
MAX_TITLE: Final = 10_000  # characters
MAX_PROMPT: Final = 200  # characters; scopes writes fewer
_RANDOM_ID = compile_lazily(r"[0-9a-f]{12}")
_NAME: Final = "name:"
_MAX_COUNT: Final = 10**9
_MAX_TIME: Final = 64  # characters
_PROJECT = compile_lazily(r"[0-9a-f]{12}")


class ManifestBranch(NamedTuple):
    """A branch in a manifest, with the number of its messages."""

    name: BranchName
    tip: Oid
    messages: int


class Manifest(NamedTuple):
    """What a manifest says; branches by id. Earlier versions wrote neither a prompt nor the number of all messages.

    prompt: the beginning of the first prompt, if there is no title
    messages: those of all branches, each once
    """

    title: str | None
    project: str
    created: str
    newest: str
    branches: Mapping[str, ManifestBranch]
    prompt: str | None = None
    messages: int | None = None


def tips_of(branches: Mapping[str, ManifestBranch]) -> tuple[Oid, ...]:
    """Return the tips of branches, each once, sorted by the ids of the branches."""
    return tuple(dict.fromkeys(branches[key].tip for key in sorted(branches)))


def encode_manifest(manifest: Manifest) -> bytes:
    """Encode a manifest as canonical JSON."""
    document: dict[str, Any] = {
        "v": VERSION,
        "project": manifest.project,
        "created": manifest.created,
        "newest": manifest.newest,
        "branches": {
            key: {"name": branch.name, "tip": branch.tip, "count": branch.messages}
            for key, branch in manifest.branches.items()
        },
    }
    optional = {"title": manifest.title, "prompt": manifest.prompt, "count": manifest.messages}
    return encoding.dump({**document, **{name: value for name, value in optional.items() if value is not None}})


def decode_manifest(data: bytes) -> Manifest:
    """Decode a manifest, which somebody else may have written; every field is checked.

    Raises:
        TooNew: a newer version of scopes wrote it.
        Corrupt: it is damaged, or a name in it is not allowed.
    """
    document: Any = encoding.load_distinct(data)
    if isinstance(document, dict) and isinstance(document.get("v"), int) and document["v"] > VERSION:
        raise TooNew("a newer version of scopes wrote the manifest of a conversation", hint="update scopes")
    match document:
        case {
            "v": 1,
            "project": str(project),
            "created": str(created),
            "newest": str(newest),
            "branches": dict(branches),
            **rest,
        } if (
            _PROJECT.fullmatch(project)
            and max(len(created), len(newest)) <= _MAX_TIME
            and 0 < len(branches) <= MAX_BRANCHES
        ):
            title, prompt = _check_text(rest.get("title"), MAX_TITLE), _check_text(rest.get("prompt"), MAX_PROMPT)
            count = None if rest.get("count") is None else _check_count(rest["count"])
            found = {_check_id(key): _decode_branch(value) for key, value in branches.items()}
            return Manifest(title, project, created, newest, found, prompt, count)
    raise _damaged()


def _check_text(value: object, limit: int) -> str | None:
    if value is None or (isinstance(value, str) and len(value) <= limit):
        return value
    raise _damaged()


def _check_count(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MAX_COUNT:
        return value
    raise _damaged()


def _check_id(key: str) -> str:
    """Check the id of a branch: random digits, or the name that it had first."""
    if not _RANDOM_ID.fullmatch(key):
        _check_name(key.removeprefix(_NAME) if key.startswith(_NAME) else "")
    return key


@lru_cache(maxsize=1000)  # most branches have one of a few names
def _check_name(name: str) -> BranchName:
    try:
        return parse_branch_name(name)
    except Invalid as error:
        raise Corrupt(f"a branch of the conversation has a name that is not allowed: {error.message}") from error


def _decode_branch(value: object) -> ManifestBranch:
    match value:
        case {"name": str(name), "tip": str(tip), "count": count} if is_oid(tip):
            return ManifestBranch(_check_name(name), Oid(tip), _check_count(count))
    raise _damaged()


def _damaged() -> Corrupt:
    return Corrupt("the manifest of a conversation is damaged", hint="see who wrote it to the remote")
