"""Show what agents did: their calls and how these ended, and messages as one line or with all their parts.

A pipe gets the names of tools as they were recorded. On a terminal calls have verbs (read, edit, bash), and signs say
whether they passed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scopes.history.messages import subject_of
from scopes.history.sessions import is_spawned, spawner_of
from scopes.model.tools import DIFFS, FILE_TOOLS, is_refused, is_shell, main_argument, tool_name
from scopes.render.phrases import format_duration, sub_agent_label, subject
from scopes.render.view import Span, View
from scopes.result import counted, format_size
from scopes.sanitize import SUBJECT_LENGTH, clean_line

if TYPE_CHECKING:
    from scopes.history.messages import MessageHeader
    from scopes.model.message import FileTouch, Message, Part
    from scopes.render.view import Style

INDENT = 4
MARKS: dict[str, tuple[str, Style]] = {
    "compaction": ("━━ compaction ━━ ", "dim"),
    "interrupt": ("■ interrupted ", "warn"),
    "error": ("▲ error ", "bad"),
}
_MAX_CHARACTERS = 1000  # of a text that becomes one line
_SHORT = 60
_LONG_SECONDS = 10  # that are worth telling beside a call which passed
_PREAMBLE = re.compile(  # of Codex
    r"(?s)\A(?:(?:Command: .*?\n)?Chunk ID: [^\n]*\n|Exit code: -?\d+\n)"
    r"(?:Wall time: (?P<seconds>[\d.]+) seconds?\n)?(?:(?!Output:\n)[^\n]*\n){0,3}Output:\n"
)
_MARKUP = re.compile(  # text in an output that the tool did not write: of Claude Code, Gemini CLI, Copilot CLI
    r"(?s)\AExit code -?\d+\n|</?tool_use_error>|<system-reminder>.*?</system-reminder>"
    r"|\A<untrusted_context>\n?|\n?</untrusted_context>\Z|\n?<exited with exit code -?\d+>\s*\Z"
)
_RUNNING = re.compile(r"^Process running with session ID", re.MULTILINE)
_DURATIONS = {"durationMs": 1000, "totalDurationMs": 1000, "durationSeconds": 1}  # units per second
_NUMBERED = re.compile(r"^\s*\d+(?:→|\t)", re.MULTILINE)
_HAS_CONTENT = re.compile(r"[^\W_]")
_SMALL = 1024
_SEARCHED = 4000  # characters searched for a line with content


# One line for each message: lists, `log --oneline`, `show`, `search` and the rows of a pipe.


def summarize_message(
    head: MessageHeader, message: Message | None, results: tuple[Part, ...] | None = None
) -> tuple[Span, ...]:
    """Return a message as one line; with `results`, as on a terminal, calls have verbs and outcomes.

    Compactions, interrupts and errors are marked.
    """
    text, style = MARKS.get(head.kind, ("", ""))
    mark = (Span(text, style),) if text else ()
    if message is None:
        return *mark, Span(subject(head))
    line = " ".join((head.title or tell_review(message.text) or message.text[:_MAX_CHARACTERS]).split())
    if is_folded(message) and (line or not message.parts or message.parts[0].type == "text"):
        much = format_extent(message.text)
        return *mark, Span(line or subject(head), "dim"), *((Span(f" · {much}", "dim"),) if much else ())
    if line:
        return *mark, Span(line), *_called_tools(message, results)
    return *mark, *_summarize_parts(head, message, results)


def summary_text(head: MessageHeader, message: Message) -> str:
    """Return the summary of a message without text, no longer than the subject of a commit."""
    line = clean_line("".join(span.text for span in summarize_message(head, message)))
    return line if len(line) <= SUBJECT_LENGTH else f"{line[: SUBJECT_LENGTH - 1]}…"


def is_folded(message: Message) -> bool:
    """Return True if a message was injected by the agent's program."""
    return message.author.kind == "injected" or message.kind == "compaction"


def spawn_mark(message: Message | None) -> tuple[Span, ...]:
    """Return a mark for the first message of a sub-agent, with the message that spawned it."""
    return () if message is None or not is_spawned(message) else (sub_agent_label(None, spawner_of(message)),)


def tell_review(text: str) -> str:
    """Return the JSON that a review of Codex ends with in words: `review: 2 findings, patch is incorrect: ...`."""
    if not (text.lstrip().startswith("{") and '"overall_correctness"' in text):
        return ""
    try:
        review = json.loads(text)
    except ValueError:
        return ""
    findings, verdict = review.get("findings"), review.get("overall_correctness")
    if not isinstance(findings, list) or not isinstance(verdict, str):
        return ""
    number = counted(len(findings), "finding") if findings else "no findings"
    titles = [str(each.get("title")) for each in findings if isinstance(each, Mapping) and each.get("title")]
    return f"review: {number}, {verdict}" + (f": {'; '.join(titles)}" if titles else "")


def _called_tools(message: Message, results: tuple[Part, ...] | None) -> tuple[Span, ...]:
    """Return the tools that a message with text also called, and how many of the calls failed or were refused."""
    calls = [part for part in message.parts if part.type == "tool_call"]
    names = [clean_line(str(part.fields.get("name") or "unknown tool")) for part in calls]
    if results is not None:
        names = [verb_of(part) for part in calls]
    counts = {name: names.count(name) for name in names}
    called = ", ".join(name if count == 1 else f"{count} {name}" for name, count in counts.items())
    return (Span(f" → {called}", "dim"), *_failures(calls, results or ())) if called else ()


def _summarize_parts(head: MessageHeader, message: Message, results: tuple[Part, ...] | None) -> tuple[Span, ...]:
    """Return the tool calls, results, reasoning or other parts of a message without text."""
    calls = [part for part in message.parts if part.type == "tool_call"]
    answers = [part for part in message.parts if part.type == "tool_result"]
    if calls:
        more = (Span(f" · {len(calls) - 1} more", "dim"),) if len(calls) > 1 else ()
        if results is None:
            return *call_line(calls[0]), *more
        ended = outcome_of(calls[0], results)
        return *verb_line(calls[0]), *((Span(" "), ended) if ended else ()), *more, *_failures(calls[1:], results)
    if answers:
        rest = (Span(f" · {len(answers) - 1} more", "dim"),) if len(answers) > 1 else ()
        return *result_line(answers[0]), *rest
    thinking = next((part.text for part in message.parts if part.type == "reasoning" and part.text.strip()), "")
    if thinking:
        return (Span(format_reasoning(thinking), "dim"),)
    if message.payload:
        return (Span(subject_of(head, message)),)
    other = next((part for part in message.parts if part.type not in {"text", "reasoning"}), None)
    return (Span(subject(head)),) if other is None else part_line(other)


# Calls and how they ended.


def call_line(part: Part) -> tuple[Span, ...]:
    """Return a call as one line, with the name of its tool as it was recorded."""
    argument = clean_line(main_argument(part)[0])[:_MAX_CHARACTERS]
    return Span("→ "), Span(tool_name(part)), *((Span(f" {argument}"),) if argument else ())


def verb_line(part: Part, directory: str | None = None) -> tuple[Span, ...]:
    """Return a call as people read it: `→ read src/app.py`; paths in a directory are relative to it."""
    return Span(f"→ {verb_of(part)} ", "dim"), Span(argument_of(part, directory), "dim")


def verb_of(part: Part) -> str:
    """Return what a call does: read, edit, delete or bash; otherwise the name of its tool."""
    name = tool_name(part)
    return FILE_TOOLS.get(name) or ("bash" if is_shell(name) else clean_line(name))


def argument_of(part: Part, directory: str | None = None) -> str:
    """Return the most informative argument of a call; a path in a directory is relative to it."""
    argument = clean_line(main_argument(part)[0])[:_MAX_CHARACTERS]
    return argument.replace(f"{directory.rstrip('/')}/", "") if directory and directory != "/" else argument


def outcome_of(call: Part, results: Iterable[Part]) -> Span | None:
    """Return how a call ended, with its sign: `✗ 3 failed, 38 passed`, `✓ +4 -1`, `✗ exit 2`; None if it is unknown."""
    found = _find_result(call.fields.get("call_id"), results)
    if found is None:
        return None
    output, status = output_of(found), _status(found)
    if status.text in {"running", "refused"}:
        return Span(f"{'?' if status.text == 'running' else '✗'} {status.text}", "warn")
    if is_shell(tool_name(call)):
        from scopes.check.runner_summaries import find_summary

        summary = find_summary(output)
        if summary is not None and not (status.style == "bad" and not summary[1]):
            return Span(f"✗ {summary[0]}", "bad") if summary[1] else Span(f"✓ {summary[0]}", "good")
    if status.style == "bad":
        return Span(f"✗ {status.text}", "bad")
    changed, seconds = _changed_lines(found), _seconds(found)
    fact = changed or (format_duration(seconds) if seconds >= _LONG_SECONDS else "")
    worth_telling = fact or is_shell(tool_name(call))
    return Span(f"✓ {fact}".rstrip(), "good") if worth_telling and (status.text == "ok" or changed) else None


def _failures(calls: Iterable[Part], results: tuple[Part, ...]) -> tuple[Span, ...]:
    """Return how many of some calls failed and how many were refused; empty if none."""
    found = (_find_result(call.fields.get("call_id"), results) for call in calls)
    ended = [_status(result) for result in found if result is not None]
    failed, refused = sum(each.style == "bad" for each in ended), sum(each.text == "refused" for each in ended)
    return (
        *((Span(f", {failed} failed", "bad"),) if failed else ()),
        *((Span(f", {refused} refused", "warn"),) if refused else ()),
    )


def result_line(part: Part) -> tuple[Span, ...]:
    """Return a tool result as one line: the status unless it succeeded, the first line with content, the size."""
    status = _status(part)
    bad = (Span(status.text, status.style), Span(": ")) if status.style in {"bad", "warn"} else ()
    output, seconds = output_of(part), _seconds(part)
    facts = [format_duration(seconds)] if seconds >= 0.1 else []
    facts += filter(None, [_changed_lines(part) or format_extent(output)])
    measures = (Span(f" · {fact}", "dim") for fact in facts)
    return Span("← "), *bad, Span(first_content_line(output) or "(no output)", "dim"), *measures


def output_of(part: Part) -> str:
    """Return the output of a tool (its text, the text of its blocks, or JSON) without text added by the agent."""
    return _MARKUP.sub("", _PREAMBLE.sub("", _output(part.fields, indent=None)))


def first_content_line(text: str) -> str:
    """Return the first line with a letter or digit, without the line number of a file reader."""
    lines = [line.strip() for line in _NUMBERED.sub("", text[:_SEARCHED]).splitlines()]
    return next((line for line in lines if _HAS_CONTENT.search(line)), next(filter(None, lines), ""))


def format_extent(text: str) -> str:
    """Return the lines and bytes of a text, as far as they exceed one line or one KiB."""
    lines = text.rstrip("\n").count("\n") + 1
    length = len(text.encode("utf-8", "surrogatepass"))
    extent = [counted(lines, "line")] if lines > 1 else []
    return ", ".join(extent + ([format_size(length)] if length >= _SMALL else []))


def _find_result(call_id: object, results: Iterable[Part]) -> Part | None:
    return None if call_id is None else next((part for part in results if part.fields.get("call_id") == call_id), None)


def _status(part: Part) -> Span:
    fields = part.fields
    code = fields.get("exit_code")
    if _RUNNING.search(str(fields.get("output", ""))[:_SEARCHED]):
        return Span("running", "warn")
    if is_refused(part):
        return Span("refused", "warn")
    if fields.get("is_error") is True or code not in {None, 0}:
        return Span("error" if code in {None, 0} else f"exit {code}", "bad")
    known = code == 0 or fields.get("is_error") is False or isinstance(fields.get("structured"), Mapping)
    return Span("ok", "good") if known else Span("done", "dim")


def _structured(part: Part) -> Mapping[str, Any]:
    structured = part.fields.get("structured")
    return structured if isinstance(structured, Mapping) else {}


def _seconds(part: Part) -> float:
    found = _PREAMBLE.match(str(part.fields.get("output", "")))
    if found is not None and found["seconds"]:
        return float(found["seconds"])
    for name, units_per_second in _DURATIONS.items():
        value = _structured(part).get(name)
        if isinstance(value, int | float):
            return value / units_per_second
    return 0.0


def _changed_lines(part: Part) -> str:
    """Return `+4 -1` for a result that has patches."""
    patch, changes = _structured(part).get("structuredPatch"), _structured(part).get("changes")
    lines = [str(line) for hunk in (patch if isinstance(patch, list) else ()) if isinstance(hunk, Mapping)
             for line in hunk.get("lines", ())]  # fmt: skip
    for change in changes.values() if isinstance(changes, Mapping) else ():
        lines += str((change.get("unified_diff") if isinstance(change, Mapping) else None) or "").splitlines()
    added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
    return f"+{added} -{removed}" if lines else ""


# The parts of a message: as one line each, and in full.


def part_line(part: Part) -> tuple[Span, ...]:
    """Return a part as one line."""
    match part.type:
        case "reasoning":
            return (Span(format_reasoning(part.text), "dim"),)
        case "tool_call":
            return call_line(part)
        case "tool_result":
            return result_line(part)
        case "raw":
            return (Span(f"[raw, {format_size(len(_json(dict(part.fields), indent=None)))} of JSON]", "dim"),)
    return _heading(part)


def format_reasoning(text: str) -> str:
    """Return the first line of reasoning and its length; some agents do not record theirs."""
    if not text.strip():
        return "thinking: (not written down by its agent)"
    first, _, rest = text.strip().partition("\n")
    long = f", {counted(len(text), 'character')}" if rest or len(first) > _SHORT else ""
    return f"thinking{long}: {first[:_MAX_CHARACTERS]}{' …' if rest else ''}"


def write_part(view: View, part: Part, *, indent: int = 0) -> None:
    """Write the whole content of a part below its heading."""
    fields = part.fields
    view.line(*_heading(part), indent=indent)
    texts: Iterable[str] = ()
    match part.type:
        case "reasoning":
            texts = (part.text,)
        case "tool_call":
            texts = _input_texts(fields.get("input", fields.get("input_text")))
        case "tool_result":
            texts = _result_texts(fields)
        case "file_ref":
            texts = (_text(fields.get("patch")),)
        case "image" | "file":
            pass
        case _:
            texts = (_json(dict(fields), indent=2),)
    for text in texts:
        view.body(text, indent=indent + INDENT, style="dim" if part.type == "reasoning" else "")


def document_lines(document: Mapping[str, Any]) -> list[tuple[Span, ...]]:
    """Return the payload of a message, one line per field."""
    return [(Span(f"{_label(name)}: ", "key"), Span(_first_line(_text(value)))) for name, value in document.items()]


def write_document(view: View, document: Mapping[str, Any], *, indent: int = 0) -> None:
    """Write the payload of a message with whole values."""
    for name, value in document.items():
        text = _text(value, indent=2)
        if "\n" in text:
            view.line(Span(f"{_label(name)}:", "key"), indent=indent)
            view.body(text, indent=indent + INDENT)
        else:
            view.hanging(text, start=(Span(f"{_label(name)}: ", "key"),), indent=indent)


def format_files(files: Sequence[FileTouch]) -> str:
    """Return the touched files: `edit a.py, rename b.py from c.py`."""
    return ", ".join(f"{t.op} {t.path}" + (f" from {t.source}" if t.source is not None else "") for t in files)


def _input_texts(value: Any) -> Iterator[str]:
    """Yield the input of a tool call: one text per field, multi-line values indented below the name."""
    if not isinstance(value, Mapping):
        yield _text(value, indent=2)
        return
    for name, given in value.items():
        text = _text(given, indent=2).rstrip("\n")
        lines = "\n".join(" " * INDENT + line if line else "" for line in text.split("\n"))
        yield f"{name}:\n{lines}" if "\n" in text else f"{name}: {text}".rstrip()


def _label(name: str) -> str:
    return name.replace("_", " ")


def _heading(part: Part) -> tuple[Span, ...]:
    fields = part.fields
    match part.type:
        case "reasoning":
            return (Span("thinking:" if part.text.strip() else format_reasoning(part.text), "dim"),)
        case "tool_call":
            return Span("→ "), Span(_text(fields.get("name")) or "unknown tool", "key")
        case "tool_result":
            is_bad = fields.get("is_error") is True
            word = "refused" if is_refused(part) else "error" if is_bad else "result"
            code = "" if fields.get("exit_code") is None else f" (exit code {_text(fields['exit_code'])})"
            return Span("← "), Span(f"{word}{code}:", "bad" if is_bad else "key")
    kind = None if part.type == "file_ref" else part.type
    known = (kind, fields.get("op"), fields.get("media_type"), fields.get("path"))
    return (Span(f"[{' '.join(_text(word) for word in known if word)}]", "dim"),)


def _result_texts(fields: Mapping[str, Any]) -> Iterator[str]:
    """Yield the output of a tool, and the changes of files that it reported as texts before and after."""
    output = _output(fields, indent=2)
    structured = fields.get("structured")
    diffs = structured.get(DIFFS) if isinstance(structured, Mapping) else None
    changes = [_change(diff) for diff in diffs if isinstance(diff, Mapping)] if isinstance(diffs, list) else []
    if output or not any(changes):
        yield output
    yield from filter(None, changes)


def _change(diff: Mapping[str, Any]) -> str:
    """Return a change of a file as a unified diff; empty if its texts are not known."""
    path, before, after = (diff.get(name) for name in ("path", "oldText", "newText"))
    if not (isinstance(path, str) and isinstance(after, str) and (before is None or isinstance(before, str))):
        return ""
    from difflib import unified_diff

    lines = unified_diff(
        (before or "").splitlines(), after.splitlines(), path if before is not None else "/dev/null", path, lineterm=""
    )
    return "\n".join(lines)


def _output(fields: Mapping[str, Any], *, indent: int | None) -> str:
    """Return the output of a tool: its text, the text of its blocks, or JSON."""
    value = fields.get("output", fields.get("output_text"))
    if isinstance(value, list) and value and all(isinstance(b, dict) and isinstance(b.get("text"), str) for b in value):
        return "\n".join(block["text"] for block in value)
    return _text(value, indent=indent)


def _text(value: Any, *, indent: int | None = None) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else _json(value, indent=indent)


def _json(value: Any, *, indent: int | None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _first_line(text: str) -> str:
    first, _, rest = text.strip().partition("\n")
    return f"{first[:_MAX_CHARACTERS]} …" if rest or len(first) > _MAX_CHARACTERS else first
