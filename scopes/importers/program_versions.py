"""Find which version of its program an agent had: no message has it, but the stored bytes of most sessions do.

It is that of the beginning of a session. Some agents write none, such as Gemini CLI.
"""

from __future__ import annotations

from collections.abc import Container

from scopes.errors import CannotImport
from scopes.history.sources import SOURCES, TRACKING, find_source_record
from scopes.ids import Oid
from scopes.importers.archive import StoredCopy
from scopes.importers.formats.base import read_session
from scopes.importers.formats.registry import FORMATS
from scopes.store.repository import Repository

_MAX_LENGTH = 64  # of a version; a longer text is none


def find_program_versions(repository: Repository, commits: Container[Oid]) -> dict[Oid, str]:
    """Return the version by the commit of the last message of each session, as far as `commits` has that commit."""
    tips: dict[str, list[Oid]] = {}
    for ref, tip in repository.list_refs(TRACKING).items():
        if Oid(tip) in commits:
            tips.setdefault(ref.removeprefix(TRACKING).partition("/")[0], []).append(Oid(tip))
    versions = {key: _read_version(repository, key) for key in tips}
    return {tip: version for key, found in tips.items() for tip in found if (version := versions[key]) is not None}


def _read_version(repository: Repository, key: str) -> str | None:
    """Return the version in the bytes of a stored source; None if it has none, or cannot be read any more."""
    record, commit = find_source_record(repository, key), repository.find_ref(f"{SOURCES}{key}")
    chosen = None if record is None else next((each for each in FORMATS if each.name == record.format), None)
    if record is None or commit is None or chosen is None:
        return None
    try:
        session = read_session(chosen, StoredCopy(record.file_name, record.size, repository, Oid(commit)))
    except (CannotImport, OSError):
        return None
    version = None if session is None else session.details.get("version")
    return version if isinstance(version, str) and 0 < len(version) <= _MAX_LENGTH else None
