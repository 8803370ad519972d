"""What a model server for tests answers: for each prompt some tool calls, one a request, and then a text.

A request holds the whole conversation. The script finds the last prompt in it that it knows, and the results of calls
that came after it say how far the turn is. So the server keeps no state, and an agent may be restarted between prompts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple

TEXT = "understood"


class Call(NamedTuple):
    """A tool call; the arguments of a tool with a grammar of its own are a text."""

    id: str
    name: str
    arguments: Mapping[str, Any] | str


@dataclass(frozen=True, slots=True)
class ScriptedTurn:
    """What the model does for a prompt: calls by the names of the agent's tools, then an answer."""

    calls: tuple[tuple[str, Mapping[str, Any] | str], ...] = ()
    answer: str = TEXT


class Script:
    """The turns by their prompts; what is not asked with a known prompt is answered with one fixed text."""

    def __init__(self, turns: Mapping[str, ScriptedTurn] | None = None) -> None:
        self._turns = dict(turns or {})

    def next_step(self, request: Mapping[str, Any]) -> Call | str:
        """Return the next call of the turn that a request is in, or its text; a request without tools gets no call."""
        prompt, done = None, 0
        for text in _walk(request):
            if text is None:
                done += 1
            elif _bare(text) in self._turns:
                prompt, done = _bare(text), 0
        if prompt is None or not request.get("tools"):
            return TEXT
        turn = self._turns[prompt]
        if done >= len(turn.calls):
            return turn.answer
        name, arguments = turn.calls[done]
        return Call(f"call_{sha256(prompt.encode()).hexdigest()[:12]}_{done}", name, arguments)


def _bare(text: str) -> str:
    """Return a prompt without the quotation marks that an agent's command line puts around it."""
    return text.strip().strip('"')


def _walk(request: Mapping[str, Any]) -> Iterator[str | None]:
    """Yield the texts of the user in the order of a request, and None for each result of a call."""
    for item in request.get("input") or request.get("messages") or request.get("contents") or []:
        parts = item.get("parts") or item.get("content") or []
        if item.get("role") == "tool" or str(item.get("type", "")).endswith("_call_output"):
            yield None
        elif item.get("role") == "user":
            for part in [{"text": parts}] if isinstance(parts, str) else parts:
                yield None if "functionResponse" in part else str(part.get("text", ""))
