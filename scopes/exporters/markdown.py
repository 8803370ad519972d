"""Export format `markdown`: a transcript to read. Reasoning and tool calls are folded; nothing is truncated.

People paste transcripts into prompts, so recorded text goes through `sanitize`: no line of a message looks like another
speaker, and no character is invisible. Inputs of tools, patches and documents are code, and are treated like files.

A message begins below a horizontal rule with a heading line that message text cannot imitate, because all HTML outside
of code is written by this module: the author in bold, the other facts as `<sub>`, whose id is the target of links.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from scopes.clock import in_seconds
from scopes.conversation.show import BranchRow
from scopes.exporters.json_export import utf8
from scopes.exporters.markdown_escape import code_block, code_span, escape_block, escape_html, escape_inline
from scopes.exporters.selection import BranchSlice, ExportSelection, Transcript, read_transcript
from scopes.history.messages import MessageHeader, latest, read_body
from scopes.merge.lanes import lane_changes
from scopes.model.message import FileTouch, Message, Part
from scopes.model.tools import is_refused
from scopes.sanitize import file_for_prompt, for_prompt, line_for_prompt, visible
from scopes.store.repository import Repository

_SHORT_ID = 8
_NOT_IN_ID = re.compile(r"[^a-z0-9]")
_UNLABELED_KINDS = frozenset({"human", "agent"})  # kinds of author that a heading does not show
_COMPACTED = "<sub>the model's context begins here: what came before was compacted</sub>"
_MAX_PREVIEW_LENGTH = 80


def write_markdown(repository: Repository, selection: ExportSelection) -> Iterator[bytes]:
    """Yield a heading, the messages oldest first and, if selected, the other branches."""
    transcript = read_transcript(repository, selection)
    yield utf8(visible(_title_section(selection)))
    for number, branch_slice in enumerate(selection.slices):
        if number:
            yield utf8(visible(_branch_heading(selection, branch_slice, transcript, number)))
        lanes: tuple[int, ...] = ()
        for head in branch_slice.heads:
            before, lanes = lanes, branch_slice.lanes.lanes_of(head.oid)
            for mark in _walk_marks(repository, branch_slice, before, lanes, transcript):
                yield utf8(visible(mark))
            yield utf8(visible(_message_section(head, read_body(repository, head), transcript)))
        for mark in _walk_marks(repository, branch_slice, lanes, (), transcript):
            yield utf8(visible(mark))


def write_part(part: Part) -> str:
    """Return one part as Markdown; empty if it holds nothing to read."""
    fields = part.fields
    match part.type:
        case "text":
            markdown = _write_text(part.text)
        case "reasoning":
            markdown = _fold("Reasoning", part.text, _write_text(part.text)) if part.text else ""
        case "tool_call":
            markdown = _fold_value(f"Tool call: {_as_text(fields.get('name'))}", _field_or_text(fields, "input"))
        case "tool_result":
            markdown = _fold_value(_result_label(part), _field_or_text(fields, "output"), is_code=False)
        case "image" | "file":
            facts = (part.type, fields.get("media_type"), fields.get("path"))
            markdown = f"*[{escape_inline(' '.join(_as_text(fact) for fact in facts if fact))}]*"
        case "file_ref":
            markdown = _write_file_reference(fields)
        case _:
            markdown = _fold_value(part.type, dict(fields))
    return markdown


def write_document(kind: str, document: Mapping[str, Any]) -> str:
    """Return the document of a typed message, folded."""
    return _fold(f"Document: {kind}", "", _code(_as_text(dict(document)), "json"))


def write_files(files: tuple[FileTouch, ...]) -> str:
    """Return one line with the files that a message touched."""
    touched = (
        f"{escape_inline(touch.op)} {code_span(touch.path)}"
        + (f" from {code_span(touch.source)}" if touch.source is not None else "")
        for touch in files
    )
    return f"Files: {', '.join(touched)}"


def _title_section(selection: ExportSelection) -> str:
    view, branch = selection.view, selection.slices[0].branch
    facts = {
        "Conversation": f"{escape_inline(view.id)} ({code_span(view.uuid)})",
        "Branch": escape_inline(branch.name) if branch is not None else "",
        "Participants": ", ".join(map(escape_inline, view.participants)),
        "Begun": escape_inline(in_seconds(view.created_at or "")),
        "Imported from": escape_inline(view.source or ""),
    }
    lines = [f"- {name}: {value}" for name, value in facts.items() if value]
    title = escape_inline(line_for_prompt(view.title or ""))
    return "\n".join([f"# {title or escape_inline(view.id)}", "", *lines, ""])


def _branch_heading(selection: ExportSelection, branch_slice: BranchSlice, transcript: Transcript, number: int) -> str:
    """Return the heading of a further branch, with its fork point and purpose."""
    branch = branch_slice.branch
    if branch is None:
        return ""
    fork = selection.ids.get(branch.fork) if branch.fork is not None else None
    facts = [
        f"from {_message_link(fork, transcript)}" if fork is not None else "",
        escape_inline(branch.purpose or ""),
        escape_inline(branch.agent or ""),
        escape_inline(branch.status),
        "" if branch_slice.heads else "no messages that are not above",
    ]
    joined = " · ".join(filter(None, facts))
    return f'\n---\n\n## {escape_inline(branch.name)} <sub id="b-{number}">{joined}</sub>\n'


def _walk_marks(
    repository: Repository,
    branch_slice: BranchSlice,
    before: tuple[int, ...],
    after: tuple[int, ...],
    transcript: Transcript,
) -> Iterator[str]:
    """Yield the headings between two messages where merged branches end, innermost first, and where others begin."""

    def read(head: MessageHeader) -> Message | None:
        return latest(read_body(repository, head), transcript.amendments)

    left, entered = lane_changes(before, after)
    for lane in left:
        mark = branch_slice.lanes.mark(lane, read)
        into = "" if mark.into is None else f" <sub>back on {_inline(mark.into)}</sub>"
        digest = "".join(f"- {_inline(line)}\n" for line in mark.digest)
        yield f"\n---\n\n## End of branch {_inline(mark.branch)}{into}\n\n{digest}"
    for lane in entered:
        mark = branch_slice.lanes.mark(lane)
        place = f"{_message_link(mark.fork, transcript)} (fork point)" if mark.fork and mark.fork_number else ""
        facts = " · ".join(filter(None, (place and f"from {place}", _inline(mark.content()))))
        yield f"\n---\n\n## Parallel branch {_inline(mark.branch)} <sub>{facts}</sub>\n"


def _inline(text: str) -> str:
    return escape_inline(line_for_prompt(text))


def _message_section(head: MessageHeader, message: Message, transcript: Transcript) -> str:
    """Return one message: a rule, the heading line and everything that it contains."""
    author = escape_inline(message.author.name) or "unknown"
    facts = " · ".join(filter(None, _message_facts(head, message, transcript)))
    blocks = [f'**{author}** <sub id="{_anchor(head.id)}">{facts}</sub>']
    if message.kind == "compaction" or message.extra.get("context_root") is True:
        blocks.append(_COMPACTED)
    content = [write_part(part) for part in message.parts]
    if message.payload is not None:
        content.append(write_document(message.kind, message.payload))
    if message.files:
        content.append(write_files(message.files))
    blocks += list(filter(None, content)) or ["*(no text)*"]
    branches = [_branch_link(branch, transcript) for branch in transcript.forks.get(head.oid, ())]
    if branches:
        blocks.append(f"<sub>branches begin here: {', '.join(branches)}</sub>")
    return "\n---\n\n" + "\n\n".join(blocks) + "\n"


def _message_facts(head: MessageHeader, message: Message, transcript: Transcript) -> Iterator[str]:
    """Yield the facts of the heading line after the author; those that do not apply are empty."""
    yield escape_inline(in_seconds(message.time or ""))
    yield "" if message.kind == "plain" else escape_inline(message.kind)
    yield "" if message.author.kind in {*_UNLABELED_KINDS, message.kind} else escape_inline(message.author.kind)
    yield escape_inline(head.id[:_SHORT_ID])
    yield f"to {', '.join(map(escape_inline, message.to))}" if message.to else ""
    spawned_by = message.extra.get("spawned_by")
    relations = {
        "reply to": message.reply_to,
        "called by": spawned_by.get("message") if isinstance(spawned_by, dict) else None,
        "amends": message.amends,
        "retracts": message.retracts,
    }
    for relation, other in relations.items():
        yield f"{relation} {_message_link(other, transcript)}" if isinstance(other, str) else ""
    yield escape_inline(message.model or "")
    yield escape_inline(message.status or "") if message.status != "ok" else ""
    amendment = transcript.amendments.get(head.id)
    if amendment is not None:
        word = "retracted" if amendment.retracted else "amended"
        yield f"**{word} by {_message_link(amendment.by.id, transcript)}**"


def _anchor(message_id: str) -> str:
    return f"m-{_NOT_IN_ID.sub('-', message_id[:_SHORT_ID])}"


def _message_link(message_id: str, transcript: Transcript) -> str:
    """Return a short message id, as a link if the transcript contains the message."""
    name = escape_inline(message_id[:_SHORT_ID])
    return f"[{name}](#{_anchor(message_id)})" if message_id in transcript.shown else name


def _branch_link(branch: BranchRow, transcript: Transcript) -> str:
    number = transcript.branch_numbers.get(branch.name)
    name = escape_inline(branch.name)
    return name if number is None else f"[{name}](#b-{number})"


def _write_file_reference(fields: Mapping[str, Any]) -> str:
    line = write_files((FileTouch(_as_text(fields.get("path")), _as_text(fields.get("op"))),))
    patch = _as_text(fields.get("patch"))
    return f"{line}\n\n{_fold('Patch', '', _code(patch, 'diff'))}" if patch else line


def _result_label(part: Part) -> str:
    fields = part.fields
    label = "Refused" if is_refused(part) else "Error" if fields.get("is_error") is True else "Result"
    return label if fields.get("exit_code") is None else f"{label} (exit code {_as_text(fields['exit_code'])})"


def _write_text(text: str) -> str:
    return escape_block(for_prompt(text, strip=False)).strip("\n")


def _code(text: str, language: str = "") -> str:
    return code_block(file_for_prompt(text), language)


def _fold_value(label: str, value: Any, *, is_code: bool = True) -> str:
    """Fold the input or output of a tool: text as it is, any other value as JSON."""
    if isinstance(value, list) and value and all(isinstance(b, dict) and isinstance(b.get("text"), str) for b in value):
        value = "\n".join(block["text"] for block in value)
    if value is None or isinstance(value, str):
        text = value or ""
        return _fold(label, text, _code(text) if is_code else code_block(for_prompt(text, strip=False)))
    return _fold(label, json.dumps(value, ensure_ascii=False), _code(_as_text(value), "json"))


def _fold(label: str, preview: str, body: str) -> str:
    first_line = preview.strip().partition("\n")[0]
    shown = f"{first_line[:_MAX_PREVIEW_LENGTH]}…" if len(first_line) > _MAX_PREVIEW_LENGTH else first_line
    summary = escape_html(f"{label}: {shown}" if shown else label)
    return f"<details>\n<summary>{summary}</summary>\n\n{body}\n\n</details>"


def _field_or_text(fields: Mapping[str, Any], name: str) -> Any:
    """Return a field, or its `_text` form, which holds values that are not valid JSON."""
    return fields.get(name, fields.get(f"{name}_text"))


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
