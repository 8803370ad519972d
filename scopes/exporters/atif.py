"""Export format `atif`: one branch as a trajectory of ATIF 1.7 (Agent Trajectory Interchange Format, Harbor RFC 0001).

A step is a message; the results of the calls of an answer belong to its step. The sub-agents that the branch started
are embedded as trajectories, and the results of the calls that started them refer to them. The messages that a branch
shares with its parent are copied context. Only fields of the specification are used; what else there is, is in `extra`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from scopes.exporters.atif_steps import Step, make_step
from scopes.exporters.current_messages import walk_with_heads
from scopes.exporters.json_export import json_text, utf8
from scopes.exporters.selection import BranchSlice, ExportSelection
from scopes.history.messages import read_body
from scopes.model.encoding import without_none
from scopes.model.message import COPIED
from scopes.store.repository import Repository

SCHEMA_VERSION: Final = "ATIF-v1.7"
_UNKNOWN: Final = "unknown"
_MAX_WAITING: Final = 64  # steps between a call and its result
_TOTALS: Final = {"prompt_tokens", "completion_tokens", "cached_tokens"}


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
