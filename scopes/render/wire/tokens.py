"""Token counts as JSON."""

from __future__ import annotations

from scopes.context.count import TokenCount
from scopes.render.wire.dispatch import to_wire
from scopes.render.wire.fields import known
from scopes.tokens.fetch import RanksFetched
from scopes.tokens.status import TokenStatus


@to_wire.register(TokenCount)
def token_count(result: TokenCount) -> dict[str, object]:
    """Lay out a count and how it was made."""
    return known(
        kind="tokens",
        what=result.what,
        tokens=result.tokens,
        characters=result.characters,
        method=result.method,
        encoding=result.encoding,
        messages=result.messages,
        parts=None if result.parts is None else dict(result.parts),
    )


@to_wire.register(TokenStatus)
def token_status(result: TokenStatus) -> dict[str, object]:
    """Lay out every encoding with the files found for it."""
    rows = [
        {
            "name": row.name,
            "method": "exact" if row.exact else "estimate",
            "files": [{"path": file.path, "origin": file.origin, "valid": file.right} for file in row.files],
        }
        for row in result.encodings
    ]
    return {"kind": "token-status", "encodings": rows}


@to_wire.register(RanksFetched)
def ranks_fetched(result: RanksFetched) -> dict[str, object]:
    """Lay out what was fetched."""
    return {"kind": "token-data", "encoding": result.encoding, "path": result.path, "bytes": result.size}
