"""Spans as OTLP writes them in JSON: ids in hex, times as text, enumerations as numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

from scopes.exporters.otel_values import attribute

_KINDS: Final = {"internal": 1, "client": 3}
_ERROR: Final = 2
_TRACE_DIGITS, _SPAN_DIGITS = 32, 16


@dataclass(slots=True)
class Span:
    """A span; `start` and `end` are nanoseconds since 1970."""

    trace: str
    id: str
    start: int
    end: int = 0
    parent: str | None = None
    name: str = ""
    kind: str = "internal"
    failure: str | None = None
    attributes: dict[str, Any] = field(default_factory=dict)

    def set(self, name: str, value: Any) -> None:
        """Set an attribute; None sets nothing."""
        if value is not None:
            self.attributes[name] = value

    def get(self, name: str) -> Any:
        """Return an attribute; None if there is none."""
        return self.attributes.get(name)

    def fail(self, failure: str | None) -> None:
        """Mark the span as failed, unless `failure` is None."""
        if failure is not None:
            self.failure = failure
            self.set("error.type", failure)

    def document(self) -> dict[str, Any]:
        """Return the span as OTLP JSON."""
        document: dict[str, Any] = {"traceId": self.trace, "spanId": self.id}
        if self.parent is not None:
            document["parentSpanId"] = self.parent
        document |= {
            "name": self.name,
            "kind": _KINDS[self.kind],
            "startTimeUnixNano": str(max(self.start, 0)),
            "endTimeUnixNano": str(max(self.end, self.start, 0)),
            "attributes": [attribute(name, value) for name, value in self.attributes.items()],
        }
        return document if self.failure is None else {**document, "status": {"code": _ERROR, "message": self.failure}}


def trace_id(*names: str) -> str:
    """Return the same id for the same names."""
    return _digits(names, _TRACE_DIGITS)


def span_id(*names: str) -> str:
    """Return the same id for the same names."""
    return _digits(names, _SPAN_DIGITS)


def _digits(names: tuple[str, ...], length: int) -> str:
    return sha256("\0".join(names).encode("utf-8", "surrogatepass")).hexdigest()[:length]
