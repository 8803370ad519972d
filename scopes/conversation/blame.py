"""`blame`: find the message that last set each claim of the state: a decision, a finding, a priority, a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from scopes.errors import Invalid, NotFound
from scopes.history.messages import MessageHeader, header_of, read_body, read_root, with_subject
from scopes.history.revisions import Revision, read_active_branch, resolve_revision
from scopes.history.tool_calls import TOOL_RESULTS, find_call_message
from scopes.ids import Oid
from scopes.merge.apply_resolution import BOTH
from scopes.merge.attribution import blame_paths, blob_at, claim_value
from scopes.merge.conflict_keys import agent_of, decoded_key, folded_key, key_of_path
from scopes.merge.divergence import state_of
from scopes.model import encoding
from scopes.model.claims import CONFLICTS, FILES, MESSAGES, PARTICIPANTS
from scopes.model.message import Part
from scopes.model.path_encoding import encode_component, file_leaf
from scopes.result import Result
from scopes.store.graph import walk_newest_first
from scopes.store.repository import Repository, read_commit
from scopes.store.trees import read_blob, walk_blobs


@dataclass(frozen=True, slots=True, kw_only=True)
class BlameRow:
    """One claim of the state and the message that set it; a merge that resolved a conflict counts as its message.

    If that message holds the result of a tool, `call_message` is the message with the `call`.
    """

    key: str
    agent: str | None
    value: Any
    head: MessageHeader
    call_message: MessageHeader | None = None
    call: Part | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BlameList(Result):
    """The claims of one key, or of a group of keys, sorted by key."""

    revision: Revision
    rows: tuple[BlameRow, ...]
    on_active_branch: bool = False


def blame(repository: Repository, where: str, *, key: str | None = None, file: str | None = None) -> BlameList:
    """Find the message that last set a key (`decisions/auth`, or all of `decisions`) or wrote a file, across merges.

    Raises:
        NotFound: the state has no such key or file.
        Invalid: neither or both of key and file are given.
    """
    if (key is None) == (file is None):
        raise Invalid("name a key or a file", hint="for example: scopes blame conv-001 --key decisions/auth")
    revision = resolve_revision(repository, where)
    state = state_of(repository, revision.oid)
    claims = {} if state is None else dict(walk_blobs(repository, state))
    matching = _match_key(claims, key) if key is not None else _match_file(repository, revision, claims, file or "")
    if not matching:
        name = key if key is not None else file
        raise NotFound(f"the state of {where} has no {name!a}", hint=_similar_keys(claims, name or ""))
    rows = (_with_call(repository, row) for row in _walk_rows(repository, revision.oid, matching))
    active = read_active_branch(repository, revision.conversation)
    return BlameList(revision=revision, rows=tuple(rows), on_active_branch=revision.branch == active)


def _walk_rows(repository: Repository, tip: Oid, claims: Mapping[str, Oid]) -> Iterator[BlameRow]:
    """Yield a row for every claim; if a merge kept the values of both sides, a row for each value."""
    found = blame_paths(repository, walk_newest_first(repository, [tip]), claims)
    setters = {**found.authors, **found.resolvers}
    for path, blob in sorted(claims.items()):
        claim: Any = encoding.load(read_blob(repository, blob))
        commit = read_commit(repository, setters[path]) if path in setters else None
        if commit is None:
            continue
        if len(commit.parents) > 1 and isinstance(claim, dict) and claim.keys() == {BOTH}:
            for parent in commit.parents:
                value = blob_at(repository, state_of(repository, parent), path)
                yield from _walk_rows(repository, parent, {} if value is None else {path: value})
        else:
            key = key_of_path(path)
            head = with_subject(repository, header_of(commit))
            yield BlameRow(key=key, agent=agent_of(path), value=claim_value(key, claim), head=head)


def _with_call(repository: Repository, row: BlameRow) -> BlameRow:
    """Add the call to a claim that a tool's result made: of several calls the one that names the file."""
    call_message = find_call_message(repository, row.head) if row.head.kind == TOOL_RESULTS else None
    if call_message is None:
        return row
    results = [part for part in read_body(repository, row.head).parts if part.type == "tool_result"]
    answered = {part.fields.get("call_id") for part in results}
    parts = read_body(repository, call_message).parts
    calls = [part for part in parts if part.type == "tool_call" and part.fields.get("call_id") in answered]
    path = decoded_key(row.key).partition("/")[2]
    for name in (path, path.rpartition("/")[2], ""):
        call = next((call for call in calls if name in str(call.fields)), None)
        if call is not None:
            return replace(row, call_message=call_message, call=call)
    return replace(row, call_message=call_message)


def _match_key(claims: Mapping[str, Oid], key: str) -> dict[str, Oid]:
    """Return the claims of a key, or of all keys below it; the key may be given as it is shown or as it is stored.

    A topic is found in any spelling.
    """
    given = key.strip("/").removesuffix("=")
    encoded = "/".join(map(encode_component, given.split("/")))
    wanted = {given, folded_key(given), folded_key(encoded)}
    below = tuple(f"{name}/" for name in wanted)
    matching: dict[str, Oid] = {}
    for path, blob in claims.items():
        for name in (key_of_path(path), path.removesuffix("=")):
            if {name, decoded_key(name)} & wanted or name.startswith(below) or decoded_key(name).startswith(below):
                matching[path] = blob
    return matching


def _match_file(repository: Repository, revision: Revision, claims: Mapping[str, Oid], file: str) -> dict[str, Oid]:
    root = read_root(repository, read_commit(repository, revision.oid), None)
    path = f"{FILES}/{file_leaf(file, root.cwd)}"
    return {path: claims[path]} if path in claims else _match_end(claims, file)


def _match_end(claims: Mapping[str, Oid], file: str) -> dict[str, Oid]:
    """Return the claim of the only file whose path ends with `/file`; an empty dict if there are none or several."""
    end = "/" + file.removeprefix("./")
    found = {
        path: blob
        for path, blob in claims.items()
        if path.startswith(f"{FILES}/") and decoded_key(key_of_path(path)).endswith(end)
    }
    several = len({key_of_path(path) for path in found}) > 1
    return {} if several or not file else found


def _similar_keys(claims: Mapping[str, Oid], name: str) -> str:
    """Return a hint with the keys of a similar name, or else with the groups that there are."""
    keys = {key: key.rpartition("/")[2].casefold() for key in map(decoded_key, map(key_of_path, claims))}
    last = name.rpartition("/")[2].casefold()
    similar = get_close_matches(last, keys.values(), n=3)
    found = sorted(key for key, each in keys.items() if each in similar)[:3]
    if found:
        return f"did you mean {' or '.join(key.removeprefix(f'{FILES}/') for key in found)}?"
    groups = sorted({path.partition("/")[0] for path in claims} - {PARTICIPANTS, CONFLICTS, MESSAGES})
    return f"there are: {', '.join(groups)}" if groups else "nothing was decided, proposed or written there"
