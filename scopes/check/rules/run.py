"""Rules about the run itself: that there is one, that it did something, that it ended, and that it succeeded."""

from __future__ import annotations

from collections.abc import Iterable

from scopes.check.findings import Event, Finding
from scopes.check.rules.base import MAX_TEXT, Parameter, Rule, Settings, Unknown, event_of, event_of_text
from scopes.check.run import Run
from scopes.ids import MessageId
from scopes.secret_scan.shown import hide_secrets

AGENT_EXIT = "the agent's exit code is"


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
    findings = [Finding(INCOMPLETE.id, settings.level, text) for text in run.damage]
    if unanswered:
        message = "a tool call has no result: the run was cut off"
        findings.insert(0, Finding(INCOMPLETE.id, settings.level, message, (event_of(unanswered[-1]),)))
    elif run.end is None and run.is_stream_only:
        message = "the event stream has no end record: the run was cut off"
        findings.insert(0, Finding(INCOMPLETE.id, settings.level, message))
    elif run.unfinished is not None and (run.end is None or run.end.status == "success"):
        message = f"{run.unfinished.reason}: the run was cut off, or still goes on"
        findings.insert(0, Finding(INCOMPLETE.id, settings.level, message, (_last_event(run, run.unfinished.message),)))
    return findings


def _last_event(run: Run, message: MessageId) -> Event:
    """Return the event of the last message of a session file: its last call or text, else what its last part is."""
    last = next((part for part in reversed(run.parts) if part.message == message), None)
    if last is None:
        return Event(len(run.calls), message, "")
    call = next((call for call in reversed(run.calls) if call.message == message), None)
    if last.part.type == "tool_call" and call is not None:
        return event_of(call)
    text = hide_secrets(last.part.text)[:MAX_TEXT] if last.part.type == "text" else ""
    return Event(last.number, message, text or f"({last.part.type.replace('_', ' ')})")


def _judge_failed(run: Run, settings: Settings) -> Iterable[Finding] | Unknown:
    if run.end is None or run.end.status == "success":
        return []
    detail = run.end.detail or run.end.status
    text = None if detail.startswith(AGENT_EXIT) else run.final_text  # which may tell of success
    message = f"the run ended with an error: {detail}"
    events = (event_of_text(text),) if text else ()
    return [Finding(FAILED.id, settings.level, message, events, cure="see why the agent failed, and run it again")]


def _judge_lossy(run: Run, settings: Settings) -> Iterable[Finding] | Unknown:
    if not run.is_stream_only:
        return []
    message = "there is only an event stream, which may lack calls: rules that need all calls are unknown"
    folder = next((_SESSION_FOLDERS[each.format] for each in run.sources if each.format in _SESSION_FOLDERS), None)
    where = "" if folder is None else f", below {folder}"
    return [
        Finding(LOSSY.id, settings.level, message, cure=f"check the session file that the agent kept as well{where}")
    ]


# Where an agent keeps its session files, unless it is configured otherwise.
_SESSION_FOLDERS = {"codex": "~/.codex/sessions", "claude-code": "~/.claude/projects", "gemini": "~/.gemini/tmp"}
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
    "the run went on is not a breach: agents drop results at a compaction, and of some tools they record none. A "
    "session file must end with an answer or an error, and with Codex at the end of a turn, or with a message that it "
    "marks as the final answer. It makes up for a stream without "
    "an end only if it records why its last answer stopped, which those of Gemini do not. With Claude Code the record "
    "of a Stop hook after the last message ends a turn as well. A run that the user interrupted is a breach, unless a "
    "later turn follows and ends. A record that is not JSON, or a last one that was "
    "cut off, is a breach too, since the calls in it are missing, and so are a second session in one file, a record or "
    "a call that has the id of another one and another content, and a tool result whose call is missing.",
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
