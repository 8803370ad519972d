"""Rules about the run itself: that there is one, that it did something, that it ended, and that it succeeded."""

from __future__ import annotations

from collections.abc import Iterable

from scopes.check.findings import Finding
from scopes.check.rules.base import Parameter, Rule, Settings, Unknown, event_of, event_of_text
from scopes.check.run import Run


def _judge_empty(run: Run, settings: Settings) -> Iterable[Finding] | Unknown:
    wanted = int(settings.parameters["min_calls"])
    if (run.final_text is not None or run.calls) and len(run.calls) >= wanted:
        return []
    what = "no answer and no tool call" if not run.calls else f"{len(run.calls)} tool calls, at least {wanted} wanted"
    return [Finding(EMPTY.id, settings.level, f"the run has {what}", cure="see why the agent did nothing")]


def _judge_incomplete(run: Run, settings: Settings) -> Iterable[Finding] | Unknown:
    later = [call.number for call in run.calls if call.outcome != "open"]
    later += [text.number for text in run.texts if text.author_kind == "agent"]
    unanswered = [call for call in run.calls if call.outcome == "open" and call.number > max(later, default=0)]
    if unanswered:
        message = "a tool call has no result: the run was cut off"
        return [Finding(INCOMPLETE.id, settings.level, message, (event_of(unanswered[-1]),))]
    if run.end is None and run.is_stream_only:
        return [Finding(INCOMPLETE.id, settings.level, "the event stream has no end record: the run was cut off")]
    return []


def _judge_failed(run: Run, settings: Settings) -> Iterable[Finding] | Unknown:
    if run.end is None or run.end.status == "success":
        return []
    text = run.final_text
    message = f"the run ended with an error: {run.end.detail or run.end.status}"
    return [Finding(FAILED.id, settings.level, message, (event_of_text(text),) if text else ())]


def _judge_lossy(run: Run, settings: Settings) -> Iterable[Finding] | Unknown:
    if not run.is_stream_only:
        return []
    message = "there is only an event stream, which may lack calls: rules that need all calls are unknown"
    return [Finding(LOSSY.id, settings.level, message, cure="check the session file that the agent kept as well")]


EMPTY = Rule(
    "run/empty",
    "error",
    "The run has an answer or a tool call",
    "An agent can end with success without having done anything. `min_calls` asks for tool calls as well.",
    _judge_empty,
    (Parameter("min_calls", 0, "the least number of tool calls"),),
    needs_calls=False,
)
INCOMPLETE = Rule(
    "run/incomplete",
    "error",
    "The run came to its end",
    "An event stream must have its end record, and the last tool call a result. A call without a result after which "
    "the run went on is no breach: agents drop results at a compaction, and of some tools they record none.",
    _judge_incomplete,
    needs_calls=False,
)
FAILED = Rule(
    "run/failed",
    "error",
    "The run did not end with an error",
    "Decided from the end record of the event stream, an answer that is only an API error, and `--agent-exit`.",
    _judge_failed,
    needs_calls=False,
)
LOSSY = Rule(
    "run/lossy",
    "warning",
    "The run has a session file",
    "What a headless agent prints leaves out refused calls, and with some agents exit codes or all calls.",
    _judge_lossy,
    needs_calls=False,
)
RULES = (EMPTY, INCOMPLETE, FAILED, LOSSY)
