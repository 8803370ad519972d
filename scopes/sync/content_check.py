"""Check single files that came from a remote: those of a state, and those of the metadata of a conversation."""

from __future__ import annotations

from typing import Any, Final

from scopes.errors import Corrupt
from scopes.history.metadata import decode_clock
from scopes.ids import Oid, is_oid, parse_branch_name, parse_tag_name
from scopes.model import canonical_json
from scopes.model import message as claims
from scopes.model.canonical_json import MAX_FILE_LEVELS, MAX_KEY_BYTES, decode_component, split_leaf
from scopes.model.conflicts import decode_conflict, encode_conflict
from scopes.model.conversation import decode_branch_entry

STATE_NAMES: Final = frozenset({
    claims.FILES, claims.MESSAGES, claims.PROPOSALS, claims.ENTITIES, claims.REVIEWS, claims.APPROVALS, claims.ANALYSES,
    claims.DECISIONS, claims.METHODS, claims.PRIORITIES, claims.CONFLICTS, claims.PARTICIPANTS,
})  # fmt: skip
_TOPIC_NAMES: Final = {claims.ANALYSES: 2, claims.DECISIONS: 1, claims.METHODS: 1, claims.PRIORITIES: 1}
"""How many names of a key are words, which have one spelling."""
CLOCKS: Final = "clocks/"
MAX_TITLE_BYTES: Final = 40_000
_FEW_BRACKETS: Final = canonical_json.MAX_DEPTH
_MAX_LEVELS: Final = canonical_json.MAX_DEPTH + 10  # those of a foreign value, such as a tool input, count from itself
_MAX_PATH: Final = MAX_KEY_BYTES + 200
_SINGLE: Final = frozenset({"title", "archived", "directory"})
_FOLDERS: Final = frozenset({"tags", "branches", "merge-requests", "dismissed-decisions"})


def check_depth(data: bytes) -> None:
    """Check that a JSON document is nested no deeper than scopes can write it, and has no key twice in an object.

    Raises:
        Corrupt: it is deeper, not JSON, or has a key twice.
    """
    load_shallow(data)


def load_shallow(data: bytes) -> Any:
    """Decode a JSON document that is not too deep; raises as `check_depth` does."""
    document = canonical_json.load_distinct(data)
    if data.count(b"[") + data.count(b"{") > _FEW_BRACKETS:
        check_levels(document)
    return document


def check_levels(document: Any) -> None:
    """Check a decoded document as `check_depth` does."""
    level: list[Any] = [document]
    for _ in range(_MAX_LEVELS):
        containers = (each.values() if isinstance(each, dict) else each for each in level)
        level = [item for each in containers for item in each if isinstance(item, (dict, list))]
        if not level:
            return
    raise Corrupt(f"it is nested deeper than {_MAX_LEVELS} levels")


def check_state_file(path: str, data: bytes) -> None:
    """Check a file of a state: its path must be the key of a claim, and its content a JSON document.

    Raises:
        Corrupt, Invalid: one of them is not.
    """
    _check_state_path(path)
    load_shallow(data)
    if path.startswith(f"{claims.CONFLICTS}/"):
        conflict = decode_conflict(data)
        if encode_conflict(conflict) != data or split_leaf(path)[1:] != (conflict.id,):
            raise Corrupt("the record of a conflict is not as scopes writes it")
        _check_state_path(f"{conflict.key}=")  # a resolution writes there


def _check_state_path(path: str) -> None:
    names = path.split("/")
    if names[0] not in STATE_NAMES or len(names) < 2:
        raise Corrupt("this version does not know this kind of claim", hint="update scopes")
    if len(path) > _MAX_PATH or len(names) > MAX_FILE_LEVELS + 2:
        raise Corrupt("the path is too long")
    keys = split_leaf(path)
    topics = keys[1 : 1 + _TOPIC_NAMES.get(names[0], 0)]
    if any(claims.folded(topic) != topic for topic in topics):
        raise Corrupt("the topic of a claim is not in the spelling of its key")


def check_metadata_file(path: str, data: bytes) -> None:
    """Check a file of the metadata: its path must be known, and its content valid for that path.

    Raises:
        Corrupt, Invalid: one of them is not.
    """
    if len(path) > _MAX_PATH:
        raise Corrupt("the path is too long")
    if path.startswith(CLOCKS):
        _check_place(path.removeprefix(CLOCKS))
        decode_clock(data)
        return
    folder, name = _check_place(path)
    match folder:
        case "tags":
            parse_tag_name(name)
            if not is_oid(data.decode("ascii", "replace").strip()):
                raise Corrupt("a tag does not name a commit")
        case "branches":
            parse_branch_name(name)
            check_depth(data)
            decode_branch_entry(data)
        case "merge-requests":
            check_depth(data)
            from scopes.model.conversation import decode_merge_request

            if decode_merge_request(data).id != name:
                raise Corrupt("a merge request has another id than its file")
        case "dismissed-decisions":
            load_shallow(data)
        case _:
            _check_line(data)


def fork_of(data: bytes) -> Oid | None:
    """Return the commit at which a branch began, as its entry says."""
    return decode_branch_entry(data).fork


def _check_place(path: str) -> tuple[str, str]:
    """Return folder and name of a file of the metadata; the folder is empty for a file at the top level."""
    folder, slash, name = path.partition("/")
    if not slash and folder in _SINGLE:
        return "", folder
    if folder not in _FOLDERS or "/" in name:
        raise Corrupt("this version does not know this kind of metadata", hint="update scopes")
    return folder, decode_component(name)


def _check_line(data: bytes) -> None:
    """Check a value that is one line of text, such as the title."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Corrupt("it is not UTF-8 text") from error
    if len(data) > MAX_TITLE_BYTES or "\n" in text.removesuffix("\n") or "\0" in text:
        raise Corrupt("it is not one line of text, or too long")
