"""Which sources a session may have begun from, or be a part of: names of sources, made from what the session says."""

from __future__ import annotations

from scopes.importers.identity import source_key
from scopes.importers.projection import Session


def key_of(session: Session) -> str:
    """Name the source of a session."""
    return source_key(session.format, session.native_id, session.part)


def earlier_keys(session: Session) -> list[str]:
    """Name the sources that a session may go on from, the likeliest first.

    A base is a session, or a part of one: of this session, or of the one that `details.forked_from` names. A part
    otherwise belongs to its session's own source.
    """
    names: list[tuple[str, str | None]] = []
    if session.base is not None:
        forked_from = session.details.get("forked_from", session.native_id)
        names = [(session.base, None), (session.native_id, session.base), (str(forked_from), session.base)]
    if session.part is not None:
        names.append((session.native_id, None))
    keys = dict.fromkeys(source_key(session.format, native_id, part) for native_id, part in names)
    return [key for key in keys if key != key_of(session)]
