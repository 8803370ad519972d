"""What an export writes passes a gate here: stored messages, original lines, and at the end every piece of the text.

Messages are redacted as they are read, before they are formatted: in Markdown a key may have backslashes in it. Every
piece passes the gate again, for titles, names and everything else that is not a message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from scopes.errors import Refused
from scopes.exporters.selection import ExportSelection
from scopes.history.messages import read_stored_body
from scopes.model import encoding
from scopes.secret_scan.clearance import Cleared, Gate
from scopes.secrets.gates import redacting
from scopes.store.repository import Repository


def inspect_selection(repository: Repository, selection: ExportSelection, gate: Gate) -> None:
    """Refuse an export with secrets before anything of it is written.

    Raises:
        SecretsFound: a message, the title or a name has one.
    """
    if gate.mode != "refuse":
        return
    view = selection.view
    names: list[encoding.Json] = [view.title, *map(str, view.participants)]
    names += [str(field) for row in view.branches for field in (row.name, row.purpose, row.agent)]
    gate.inspect(encoding.dump(names), f"the title or a name of {view.id}")
    for head in selection.heads:
        gate.inspect(read_stored_body(repository, head), f"message {head.id[:8]}")
    gate.refuse_leaks()


def clear_names(selection: ExportSelection, gate: Gate) -> None:
    """Replace secrets in the title and in what branches are called; a limit may have cut them, as it cuts subjects.

    Raises:
        SecretsFound: one is there, and it is refused.
    """
    view, where = selection.view, f"the title or a name of {selection.view.id}"

    def clear(text: str | None) -> str | None:
        return None if text is None else gate.clear_name(text, where)

    branches = tuple(replace(row, purpose=clear(row.purpose)) for row in view.branches)
    selection.versions = {oid: gate.clear_name(text, where) for oid, text in selection.versions.items()}
    selection.view = replace(view, title=clear(view.title), branches=branches)


def clear_pieces(repository: Repository, gate: Gate, pieces: Iterable[bytes], place: str) -> Iterator[Cleared]:
    """Yield the pieces of a text that is written from stored messages.

    Raises:
        SecretsFound: one has a secret, and it is refused.
    """
    with redacting(repository, gate):
        for piece in pieces:
            yield gate.clear(piece, place)


def inspect_source(chunks: Iterable[bytes], label: str, gate: Gate) -> None:
    """Remember the secrets in an original file; `refuse_leaks` of the gate names them."""
    for number, line in enumerate(_lines(chunks), 1):
        gate.inspect(line, f"line {number} of {label}")


def clear_source(chunks: Iterable[bytes], label: str, gate: Gate) -> Iterator[Cleared]:
    """Yield the lines of an original file; a line of JSON is parsed to be redacted, and written again.

    Raises:
        SecretsFound: one has a secret, and it is refused.
        Refused: it is to be redacted, but is not text.
    """
    for number, line in enumerate(_lines(chunks), 1):
        cleared = gate.clear_line(line, f"line {number} of {label}")
        if cleared is not line and b"\0" in line:
            raise Refused(f"{label} is not text, so nothing in it can be replaced", hint="leave it out, with --source")
        yield gate.clear(cleared, f"line {number} of {label}")


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield lines with their ends."""
    pieces: list[bytes] = []
    for chunk in chunks:
        *ended, last = chunk.split(b"\n")
        for line in ended:
            yield b"".join((*pieces, line, b"\n"))
            pieces = []
        pieces.append(last)
    rest = b"".join(pieces)
    if rest:
        yield rest
