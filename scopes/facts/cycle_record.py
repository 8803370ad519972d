"""The JSON form of a cycle, as it is stored."""

from __future__ import annotations

import json
from typing import cast, get_args

from scopes.errors import Corrupt
from scopes.facts.cycle import Applied, Cycle, Outcome, Ran
from scopes.model import canonical_json


def encode_cycle(cycle: Cycle) -> bytes:
    """Encode a cycle as JSON; the proposals and questions of it are stored elsewhere."""
    document = {"v": 1, **cycle.document()}
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")


def decode_cycle(data: bytes) -> Cycle:
    """Decode a cycle; damaged items are left out.

    Raises:
        Corrupt: it has no number.
    """
    match canonical_json.load(data):
        case {"cycle": int(number), "version": int(version), "ran": list(ran), "applied": list(applied), **rest}:
            dirty = rest.get("dirty")
            return Cycle(
                number=number,
                version=version,
                ran=tuple(each for each in map(_decode_ran, ran) if each is not None),
                applied=tuple(each for each in map(_decode_applied, applied) if each is not None),
                dirty=frozenset(map(str, dirty)) if isinstance(dirty, list) else frozenset(),
                is_full=rest.get("is_full") is True,
            )
    raise Corrupt("a cycle of a run is damaged", hint="see: scopes verify")


def _decode_ran(value: object) -> Ran | None:
    match value:
        case {"agent": int(agent), "name": str(name), "because": list(because), **rest}:
            problem, traces = rest.get("problem"), rest.get("traces")
            return Ran(
                agent,
                name,
                tuple(map(str, because)),
                problem if isinstance(problem, str) else None,
                tuple(map(str, traces)) if isinstance(traces, list) else (),
            )
    return None


def _decode_applied(value: object) -> Applied | None:
    match value:
        case {
            "agent": int(agent),
            "name": str(name),
            "position": int(position),
            "key": str(key),
            "id": str(fact_id),
            "outcome": str(outcome),
            **rest,
        } if outcome in get_args(Outcome):
            reason = rest.get("reason")
            text = reason if isinstance(reason, str) else ""
            return Applied(agent, name, position, key, fact_id, cast("Outcome", outcome), text)
    return None
