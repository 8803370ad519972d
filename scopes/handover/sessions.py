"""Which session of an agent a branch is a record of, and whether the agent still has it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import takewhile
from typing import Any, NamedTuple

from scopes.errors import CannotImport, Corrupt, NotFound
from scopes.handover.agent_programs import AgentProgram, find_agent_program
from scopes.history.handles import BranchHandle
from scopes.history.messages import read_body
from scopes.history.names import MAIN
from scopes.history.sources import SOURCES, TRACKING, SourceRecord, find_source_record, source_key, with_last_path
from scopes.ids import Oid
from scopes.importers.archive import StoredCopy
from scopes.importers.discovery import find_standard_folders
from scopes.importers.formats.base import read_session
from scopes.importers.formats.registry import DATABASES, FORMATS
from scopes.model.conversation import ACP, Root
from scopes.model.encoding import encode_component
from scopes.store.graph import walk_first_parents
from scopes.store.objects import read_commit


class AgentSession(NamedTuple):
    """A session of an agent.

    file: its transcript when it was imported last, empty if not on this machine; None if `scopes acp` recorded it.
    tip: where the record of it ends. The branch may have gone on since, or back.
    directory: where it ran, if that is known.
    """

    agent: AgentProgram
    id: str
    file: str | None
    tip: Oid | None
    directory: str | None = None


def find_session(branch: BranchHandle, root: Root, root_commit: Oid) -> AgentSession | None:
    """Return the session that a branch records; None if there is none, or its agent is not known.

    It is the session of `scopes acp` that wrote the branch last, else the imported one that the branch follows.
    """
    live = _find_live(branch)
    return live if live is not None else _find_imported(branch, root, root_commit)


def _find_live(branch: BranchHandle) -> AgentSession | None:
    entry = _mapping(branch.entry.extra.get(ACP))
    agent, session, directory = find_agent_program(_text(entry.get("agent"))), entry.get("session"), entry.get("cwd")
    if agent is None or not isinstance(session, str):
        return None
    newest = read_body(branch.repository, read_commit(branch.repository, branch.tip))
    tip = branch.tip if ACP in newest.extra else None
    return AgentSession(agent, session, None, tip, _text(directory))


def _find_imported(branch: BranchHandle, root: Root, root_commit: Oid) -> AgentSession | None:
    for key, tip in _walk_tracked(branch, root):
        record = find_source_record(branch.repository, key)
        agent = None if record is None else find_agent_program(record.format)
        if record is not None and agent is not None and root_commit in {record.root, *record.more_roots}:
            path, directory = with_last_path(branch.repository, record).path, _directory_of(branch, key, record)
            return AgentSession(agent, record.native_id, path, tip, directory)
    return None


def _directory_of(branch: BranchHandle, key: str, record: SourceRecord) -> str | None:
    """Return the directory that a session was written for, which may be another one than that of the conversation."""
    known = next((each for each in FORMATS if each.name == record.format), None)
    commit = branch.repository.find_ref(SOURCES + key)
    if record.handover is None or known is None or commit is None:
        return None
    with suppress(CannotImport, Corrupt, NotFound):
        session = read_session(known, StoredCopy(record.file_name, record.size, branch.repository, Oid(commit)))
        return None if session is None else session.cwd
    return None


def _walk_tracked(branch: BranchHandle, root: Root) -> Iterator[tuple[str, Oid]]:
    """Yield the keys of sources that have this branch, with where it was at the last import; the likely one first.

    The last ones are of sources that have it by another name: it is the `import/` branch of their new messages.
    """
    suffix = f"/{encode_component(branch.name)}"
    repository = branch.repository
    own = source_key(root.format, root.native_id, None) if root.format and root.native_id else None
    first = None if own is None else repository.find_ref(f"{TRACKING}{own}{suffix}")
    if own is not None and first is not None:
        yield own, Oid(first)
    tracked = repository.list_refs(TRACKING)
    for ref, oid in tracked.items():
        key = ref[len(TRACKING) :].removesuffix(suffix)
        if ref.endswith(suffix) and "/" not in key and key != own:
            yield key, Oid(oid)
    if branch.name != MAIN and branch.entry.fork is not None:
        keys = {oid: ref[len(TRACKING) :].partition("/")[0] for ref, oid in tracked.items()}
        for commit in takewhile(branch.entry.fork.__ne__, walk_first_parents(repository, branch.tip)):
            if commit in keys:
                yield keys[commit], commit


def is_kept(session: AgentSession, environ: Mapping[str, str], home: str) -> bool:
    """Return False if the agent no longer has a session: its file is gone, or was imported from elsewhere.

    Only agents with a file for each session in known folders can be asked; of others, such as those with a database,
    this is True.
    """
    known = next((each for each in FORMATS if each.name == session.agent.name), None)
    if session.file is None or known is None or known.standard_folders is None:
        return True
    if any(each.format == known.name for each in DATABASES):
        return True
    file = os.path.realpath(session.file)
    folders = [top for tops in find_standard_folders([known], environ, home).values() for top in tops]
    return os.path.isfile(file) and any(file.startswith(os.path.join(os.path.realpath(top), "")) for top in folders)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
