"""Export format `atif`: one branch as a trajectory of ATIF 1.7 (Agent Trajectory Interchange Format, Harbor RFC 0001).

A step is a message; the results of the calls of an answer belong to its step. The sub-agents that the branch started
are embedded as trajectories, and the results of the calls that started them refer to them. The messages that a branch
shares with its parent are copied context. Only fields of the specification are used; what else there is, is in `extra`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from scopes.clock import parse_time
from scopes.exporters.json_export import json_text, utf8
from scopes.exporters.selection import BranchSlice, ExportSelection, walk_with_heads
from scopes.history.activity import tokens_of
from scopes.history.messages import read_body
from scopes.model.canonical_json import without_none
from scopes.model.message import COPIED, Message, Part, payload_key
from scopes.store.repository import Repository

SCHEMA_VERSION: Final = "ATIF-v1.7"
_UNKNOWN: Final = "unknown"
_MAX_WAITING: Final = 64  # steps between a call and its result
_TOTALS: Final = {"prompt_tokens", "completion_tokens", "cached_tokens"}
_SOURCES: Final = {"human": "user", "agent": "agent"}  # every other kind of author is the system
_PICTURES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_AGENT: Final = "agent"


def write_atif(repository: Repository, selection: ExportSelection) -> Iterator[bytes]:
    """Yield a trajectory as one JSON document, one step per line."""
    sub_agents = _find_sub_agents(repository, selection)
    for text in _write_trajectory(repository, selection, selection.slices[0], sub_agents):
        yield utf8(text)
    yield b"\n"


@dataclass(frozen=True, slots=True)
class _SubAgents:
    """The slices of sub-agents.

    `by_call` maps the message and the call that started them to the ids of their trajectories; `by_starter` maps the
    message alone to the slices.
    """

    by_call: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    by_starter: dict[str, list[BranchSlice]] = field(default_factory=dict)


def _find_sub_agents(repository: Repository, selection: ExportSelection) -> _SubAgents:
    found = _SubAgents()
    for branch_slice in selection.slices[1:]:
        spawned_by = read_body(repository, branch_slice.heads[0]).extra["spawned_by"] if branch_slice.heads else {}
        starter = spawned_by.get("message")
        if isinstance(starter, str):
            call = starter, str(spawned_by.get("call_id"))
            found.by_call.setdefault(call, []).append(_trajectory_id(selection, branch_slice))
            found.by_starter.setdefault(starter, []).append(branch_slice)
    return found


def _trajectory_id(selection: ExportSelection, branch_slice: BranchSlice) -> str:
    branch = branch_slice.branch
    return f"{selection.view.uuid}/{branch_slice.tip if branch is None else branch.name}"


def _write_trajectory(
    repository: Repository, selection: ExportSelection, branch_slice: BranchSlice, sub_agents: _SubAgents
) -> Iterator[str]:
    """Yield the text of a trajectory, and within it those of its sub-agents."""
    view, branch = selection.view, branch_slice.branch
    head = {
        "schema_version": SCHEMA_VERSION,
        "session_id": view.uuid,
        "trajectory_id": _trajectory_id(selection, branch_slice),
    }
    yield json_text(head)[:-1] + ',"steps":['
    totals: Counter[str] = Counter()
    models: Counter[str | None] = Counter()
    separator, number = "\n", 0
    for number, step in enumerate(_walk_steps(repository, selection, branch_slice, sub_agents), 1):
        if step.get("is_copied_context") is not True:
            totals.update({name: n for name, n in step.get("metrics", {}).items() if name in _TOTALS})
        models.update([step.get("model_name")] if step["source"] == "agent" else [])
        yield separator + json_text({"step_id": number, **step})
        separator = ",\n"
    final = {f"total_{name}": totals[name] for name in sorted(totals)} | {"total_steps": number}
    extra = without_none(
        conversation=view.id, branch=None if branch is None else branch.name, title=view.title, directory=view.directory
    )
    agent = _agent(selection, branch_slice, models)
    yield f'\n],"agent":{json_text(agent)},"final_metrics":{json_text(final)},"extra":{json_text(extra)}'
    started = [each for row in branch_slice.heads for each in sub_agents.by_starter.get(row.id, ())]
    if started:
        separator = ',"subagent_trajectories":[\n'
        for each in started:
            yield separator
            yield from _write_trajectory(repository, selection, each, sub_agents)
            separator = ",\n"
        yield "\n]"
    yield "}"


def _agent(selection: ExportSelection, branch_slice: BranchSlice, models: Counter[str | None]) -> dict[str, Any]:
    """Return the agent with most messages, its version and its model, if all of its answers name one."""
    names = Counter(head.author for head in branch_slice.heads if head.author_kind == "agent")
    name = names.most_common(1)[0][0] if names else selection.view.source or _UNKNOWN
    model = models.most_common(1)[0][0] if models and None not in models else None
    return without_none(name=name, version=_version_of(name, selection, branch_slice), model_name=model)


def _version_of(name: str, selection: ExportSelection, branch_slice: BranchSlice) -> str:
    """Return the version of an agent in the newest session of its own that was imported."""
    author, version = None, _UNKNOWN
    for head in branch_slice.heads:
        author = head.author if head.author_kind == "agent" else author
        if author == name:
            version = selection.versions.get(head.oid, version)
    return version


def _walk_steps(
    repository: Repository, selection: ExportSelection, branch_slice: BranchSlice, sub_agents: _SubAgents
) -> Iterator[Mapping[str, Any]]:
    """Yield the steps without their numbers.

    An answer waits for the results of its calls, and other messages wait behind it, until all results are there, or
    until a person or an agent writes the next message.
    """
    fork = None if branch_slice.branch is None else branch_slice.branch.fork
    is_before_fork = fork is not None and any(head.oid == fork for head in branch_slice.heads)
    waiting: list[Step] = []
    for head, message in walk_with_heads(repository, selection, branch_slice):
        step = make_step(message, is_copied=is_before_fork or message.extra.get("precision") == COPIED)
        is_empty = bool(waiting) and waiting[0].takes_results_of(step) and not step.has_content
        if step.begins_turn:
            yield from (each.document(sub_agents.by_call) for each in waiting)
            waiting = []
        waiting += [] if is_empty else [step]
        if waiting and (not waiting[0].open_calls or len(waiting) > _MAX_WAITING):
            yield from (each.document(sub_agents.by_call) for each in waiting)
            waiting = []
        is_before_fork = is_before_fork and (head is None or head.oid != fork)
    yield from (each.document(sub_agents.by_call) for each in waiting)


@dataclass(slots=True)
class Step:
    """A step that may still get results. `open_calls` are the ids of its calls that have none so far."""

    message: Message
    source: str
    is_copied: bool
    calls: list[dict[str, Any]]
    open_calls: set[str]
    results: list[Part] = field(default_factory=list)

    @property
    def has_content(self) -> bool:
        """Whether there is more in it than results that another step has taken."""
        return bool(self.results or self.calls) or any(part.type != "tool_result" for part in self.message.parts)

    @property
    def begins_turn(self) -> bool:
        """Whether a person or an agent wrote it."""
        return self.source != "system"

    def takes_results_of(self, other: Step) -> bool:
        """Take the results of own calls out of another step; return whether there were any."""
        names = {call["tool_call_id"] for call in self.calls}
        taken = [part for part in other.results if part.call_id in names]
        if taken:
            self.results += taken
            other.results = [part for part in other.results if part not in taken]
            self.open_calls -= {str(part.call_id) for part in taken}
        return bool(taken)

    def document(self, sub_agents: Mapping[tuple[str, str], list[str]]) -> dict[str, Any]:
        """Return the step as the specification has it, without `step_id`."""
        message, is_agent = self.message, self.source == _AGENT
        document: dict[str, Any] = {"source": self.source}
        if message.time is not None and parse_time(message.time) is not None:
            document["timestamp"] = message.time
        reasoning = "\n\n".join(part.text for part in message.parts if part.type == "reasoning" and part.text)
        if is_agent and message.model is not None:
            document["model_name"] = message.model
        document["message"] = _content(message)
        if is_agent and reasoning:
            document["reasoning_content"] = reasoning
        if self.calls:
            document["tool_calls"] = self.calls
        results = [self._result(part, sub_agents) for part in self.results]
        if results:
            document["observation"] = {"results": results}
        metrics = _metrics(message) if is_agent else {}
        if metrics:
            document["metrics"] = metrics
        if self.is_copied:
            document["is_copied_context"] = True
        document["extra"] = _extra(message)
        return document

    def _result(self, part: Part, sub_agents: Mapping[tuple[str, str], list[str]]) -> dict[str, Any]:
        call_id, fields = part.call_id, part.fields
        is_own = any(call["tool_call_id"] == call_id for call in self.calls)
        extra = {name: fields[name] for name in ("is_error", "exit_code") if fields.get(name) not in (None, False)}
        if not is_own and call_id is not None:
            extra["call_id"] = call_id  # of a call in another step, which `source_call_id` may not name
        result: dict[str, Any] = {"source_call_id": call_id} if is_own else {}
        result["content"] = _result_content(fields.get("output", fields.get("output_text")))
        started = sub_agents.get((self.message.id, str(call_id)), ()) if is_own else ()
        if started:
            result["subagent_trajectory_ref"] = [{"trajectory_id": name} for name in started]
        return {**result, "extra": extra} if extra else result


def make_step(message: Message, *, is_copied: bool) -> Step:
    """Return the step of a message; the results that it has of its own calls are its own."""
    source = _SOURCES.get(message.author.kind, "system")
    parts = [part for part in message.parts if part.type == "tool_call"]
    if parts:
        source = _AGENT
    calls = [_call(part, number) for number, part in enumerate(parts, 1)]
    results = [part for part in message.parts if part.type == "tool_result"]
    answered = {part.call_id for part in results}
    open_calls = {call["tool_call_id"] for call in calls} - answered
    return Step(message, source, is_copied, calls, open_calls, results)


def _call(part: Part, number: int) -> dict[str, Any]:
    call_id, name = part.call_id, part.fields.get("name")
    return {
        "tool_call_id": call_id if call_id is not None else f"call-{number}",
        "function_name": name if isinstance(name, str) else _UNKNOWN,
        "arguments": _arguments(part),
    }


def _arguments(part: Part) -> Mapping[str, Any]:
    """Return the input of a call as the object that the specification wants; anything else is its `input`."""
    value, text = part.fields.get("input"), part.fields.get("input_text")
    if isinstance(text, str):
        try:
            value = json.loads(text, parse_constant=_refuse)
        except (ValueError, RecursionError):
            value = text
        value = value if isinstance(value, dict) else text
    if isinstance(value, Mapping):
        return value
    return {} if value is None else {"input": value}


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


def _content(message: Message) -> Any:
    """Return the message of a step: a text or, with images, a list; a typed document replaces a missing text."""
    parts = [part for part in message.parts if part.type in {"text", "image", "file"}]
    blocks = [block for part in parts if (block := _block(part)) is not None]
    if message.payload is not None and not any(block.get("text") for block in blocks):
        blocks.append(_text_block(json_text({payload_key(message.kind): message.payload})))
    return _joined(blocks)


def _joined(blocks: list[dict[str, Any]]) -> Any:
    if all(block["type"] == "text" for block in blocks):
        return "\n".join(block["text"] for block in blocks)
    return blocks


def _block(part: Part) -> dict[str, Any] | None:
    if part.type == "text":
        return _text_block(part.text) if part.text else None
    path, data, media = (part.fields.get(name) for name in ("path", "data", "media_type"))
    return _picture(media, data, path) or _text_block(f"[{part.type}: {path or media or _UNKNOWN}]")


def _picture(media: object, data: object, path: object) -> dict[str, Any] | None:
    """Return an image; one that is stored in the message becomes a `data:` URL."""
    where = f"data:{media};base64,{data}" if isinstance(data, str) else path
    if not isinstance(media, str) or media not in _PICTURES or not isinstance(where, str):
        return None
    return {"type": "image", "source": {"media_type": media, "path": where}}


def _text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _result_content(output: object) -> Any:
    """Return an output: a text as it is, a list of texts and images as such, anything else as JSON."""
    if output is None or isinstance(output, str):
        return output or ""
    blocks = list(map(_result_block, output)) if isinstance(output, list) else [None]
    known = [block for block in blocks if block is not None]
    return _joined(known) if known and len(known) == len(blocks) else json_text(output)


def _result_block(block: object) -> dict[str, Any] | None:
    match block:
        case {"type": "text" | "input_text" | "output_text", "text": str(text)}:
            return _text_block(text)
        case {"type": "image", "source": {"type": "base64", "media_type": media, "data": data}}:
            return _picture(media, data, None)
    return None


def _metrics(message: Message) -> dict[str, Any]:
    """Return the tokens of an answer; `prompt_tokens` includes the cached ones."""
    tokens = tokens_of(message)
    if tokens is None:
        return {}
    counts = {"prompt_tokens": tokens.input, "completion_tokens": tokens.output, "cached_tokens": tokens.cache_read}
    extra = {"cache_write_tokens": tokens.cache_write, "reasoning_tokens": tokens.reasoning}
    more = _known(extra.items())
    return {**_known(counts.items()), **({"extra": more} if more else {})}


def _extra(message: Message) -> dict[str, Any]:
    """Return what a step has no field for."""
    facts = {
        "message_id": message.id,
        "author": message.author.name,
        "author_kind": message.author.kind,
        "kind": message.kind,
        "to": list(message.to) or None,
        "reply_to": message.reply_to,
        "stop_reason": message.stop_reason,
        "status": message.status,
    }
    return _known(facts.items())


def _known(facts: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    return {name: value for name, value in facts if value is not None}
