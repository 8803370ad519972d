"""Export format `parquet`: a table with one row a message, for analysis with DuckDB, Polars or pandas.

Columns have one type each, so a value that is not text is JSON there. Rows are written in groups, and nothing but one
group is in memory. pyarrow is an extra: nothing else imports it.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final

from scopes.clock import parse_time
from scopes.errors import Refused
from scopes.exporters.json_export import json_text, utf8
from scopes.exporters.selection import BranchSlice, ExportSelection
from scopes.history.activity import Tokens, tokens_of
from scopes.history.messages import MessageHeader, read_body
from scopes.model.message import Message, Part, file_operations, payload_key
from scopes.secret_scan.clearance import Cleared, Gate
from scopes.secrets.gates import redacting
from scopes.store.repository import Repository

_GROUP_ROWS: Final = 5_000
_GROUP_BYTES: Final = 32 << 20
_TOKENS: Final = ("input_uncached", "cache_read", "cache_write", "output", "reasoning")


def write_parquet(repository: Repository, selection: ExportSelection, gate: Gate) -> Iterator[Cleared]:
    """Yield a Parquet file in pieces; every row passes the gate before it is encoded.

    Raises:
        Refused: pyarrow is not installed.
        SecretsFound: a row has a secret, and it is refused.
    """
    arrow, parquet = _load("pyarrow"), _load("pyarrow.parquet")
    schema = _schema(arrow)
    sink = _Sink()
    with redacting(repository, gate), parquet.ParquetWriter(sink, schema, compression="zstd") as writer:
        for rows in _walk_groups(repository, selection, gate):
            writer.write_table(arrow.Table.from_pylist(rows, schema))
            yield gate.clear_encoded(sink.take())
    yield gate.clear_encoded(sink.take())


def require_pyarrow() -> None:
    """Raise Refused unless pyarrow is installed."""
    _load("pyarrow.parquet")


def _load(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        hint = "pip install 'scopes-ai[parquet]'"
        raise Refused("a Parquet file needs a package that is not installed: pyarrow", hint=hint) from error


class _Sink:
    """A file that gives back what was written to it."""

    closed = False

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._position = 0

    def write(self, data: Any) -> int:
        """Keep some bytes."""
        piece = bytes(data)
        self._pieces.append(piece)
        self._position += len(piece)
        return len(piece)

    def tell(self) -> int:
        """Return how much was written."""
        return self._position

    def flush(self) -> None:
        """Do nothing: nothing is behind it."""

    def close(self) -> None:
        """Do nothing: the end of the file is taken after it."""

    def take(self) -> bytes:
        """Return what was written since the last time."""
        data = b"".join(self._pieces)
        self._pieces = []
        return data


def _schema(arrow: Any) -> Any:
    """Return the columns; a name that ends in `_json` holds JSON."""
    text, number, flag = arrow.string(), arrow.int64(), arrow.bool_()
    call = arrow.struct([("call_id", text), ("name", text), ("input_json", text)])
    result = arrow.struct([("call_id", text), ("output", text), ("is_error", flag), ("exit_code", number)])
    file = arrow.struct([("path", text), ("operation", text)])
    columns: list[tuple[str, Any]] = [
        *((name, text) for name in ("conversation", "uuid", "title", "branch", "message", "commit")),
        ("parents", arrow.list_(text)),
        ("position", number),
        ("time", arrow.timestamp("us", "UTC")),
        *((name, text) for name in ("author", "author_kind", "kind", "model", "status", "stop_reason")),
        ("to", arrow.list_(text)),
        *((name, text) for name in ("reply_to", "amends", "retracts", "text", "reasoning", "document_json")),
        ("tool_calls", arrow.list_(call)),
        ("tool_results", arrow.list_(result)),
        ("files", arrow.list_(file)),
        *((f"{name}_tokens", number) for name in _TOKENS),
    ]
    return arrow.schema(columns)


def _walk_groups(repository: Repository, selection: ExportSelection, gate: Gate) -> Iterator[list[dict[str, Any]]]:
    """Yield groups of rows that passed the gate."""
    rows: list[dict[str, Any]] = []
    size = position = 0
    for branch_slice in selection.slices:
        for head in branch_slice.heads:
            position += 1
            row = _row(selection, branch_slice, head, read_body(repository, head))
            row = gate.clear_document({**row, "position": position}, f"message {head.id[:8]}")
            size += sum(len(value) for value in row.values() if isinstance(value, str))
            rows.append(_valid(row))
            if len(rows) >= _GROUP_ROWS or size >= _GROUP_BYTES:
                yield rows
                rows, size = [], 0
    if rows:
        yield rows


def _row(
    selection: ExportSelection, branch_slice: BranchSlice, head: MessageHeader, message: Message
) -> dict[str, Any]:
    view, branch = selection.view, branch_slice.branch
    document = None if message.payload is None else {payload_key(message.kind): message.payload}
    return {
        "conversation": view.id, "uuid": view.uuid, "title": view.title,
        "branch": None if branch is None else branch.name, "message": message.id, "commit": head.oid,
        "parents": selection.parents_of(head), "time": _microseconds(message), "author": message.author.name,
        "author_kind": message.author.kind, "kind": message.kind, "model": message.model, "status": message.status,
        "stop_reason": message.stop_reason, "to": list(message.to), "reply_to": message.reply_to,
        "amends": message.amends, "retracts": message.retracts, "text": message.text or None,
        "reasoning": "\n\n".join(part.text for part in message.parts if part.type == "reasoning" and part.text) or None,
        "document_json": None if document is None else json_text(document),
        "tool_calls": [_call(part) for part in message.parts if part.type == "tool_call"],
        "tool_results": [_result(part) for part in message.parts if part.type == "tool_result"],
        "files": [{"path": path, "operation": operation} for path, operation in file_operations(message)],
        **{f"{name}_tokens": getattr(tokens_of(message) or Tokens(), name) for name in _TOKENS},
    }  # fmt: skip


def _microseconds(message: Message) -> int | None:
    nanoseconds = None if message.time is None else parse_time(message.time)
    return None if nanoseconds is None else nanoseconds // 1000


def _call(part: Part) -> dict[str, Any]:
    value = part.fields.get("input")
    text = part.fields.get("input_text") if value is None else json_text(value)
    return {
        "call_id": _text(part.fields.get("call_id")),
        "name": _text(part.fields.get("name")),
        "input_json": _text(text),
    }


def _result(part: Part) -> dict[str, Any]:
    fields = part.fields
    code, is_error = fields.get("exit_code"), fields.get("is_error")
    return {
        "call_id": _text(fields.get("call_id")),
        "output": _text(fields.get("output", fields.get("output_text"))),
        "is_error": is_error if isinstance(is_error, bool) else None,
        "exit_code": code if type(code) is int and abs(code) < 1 << 63 else None,
    }


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json_text(value)


def _valid(value: Any) -> Any:
    """Return a value whose texts are UTF-8, and whose counts have 64 bits."""
    if isinstance(value, str):
        return utf8(value).decode()
    if isinstance(value, dict):
        return {name: _valid(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_valid(item) for item in value]
    return None if type(value) is int and abs(value) >= 1 << 63 else value
