"""Read from a tool call and its result what the tool did to files: whole texts, replacements, and hunks of patches.

The names of arguments and fields are in `agent_tools`. All input was written by others: a field of another type counts
as absent.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from scopes.lazy_patterns import compile_lazily
from scopes.model.agent_tools import (
    CHANGE_LISTS,
    COMMANDS,
    CREATIONS,
    DELETED,
    DIFFS,
    DIRECTORIES,
    EDIT_LISTS,
    FILE_COMMANDS,
    FILE_PATHS,
    FILE_TOOLS,
    HUNK_LISTS,
    PATCH_MARKS,
    READ_FILES,
    REPLACEMENTS,
    TEXTS_BEFORE,
    TITLE,
    USER_CHANGES,
    WHOLE_TEXTS,
    is_shell,
)
from scopes.model.message import FileTouch, Part

MAX_EDITS = 200  # of one call
MAX_RESULT = 8 << 20  # characters of a text after a replacement: three of "a" by 3,000 letters each would need 27 GB
_BEGINNING, _MOVE = "*** Begin Patch", "*** Move to: "
_END_OF_FILE, _END = "*** End of File", "*** End Patch"
_OPERATIONS = {"add": "create", "edit": "edit", "delete": "delete"}  # by the verbs of PATCH_MARKS
_HEADING = compile_lazily(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_CREATED = "File created"
_CREATED_ANY = (_CREATED, "Successfully created")  # of Claude Code, Gemini CLI


class Hunk(NamedTuple):
    """One hunk of a patch, with line numbers from 1; each line begins with a blank, `-` or `+`."""

    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    lines: tuple[str, ...]


class Replacement(NamedTuple):
    """A text that was replaced by another one: its first occurrence or all.

    A `block` consists of whole lines below those of the block before it, and below the line `heading` if it is given;
    the last lines of the file if `at_end`.
    """

    old: str
    new: str
    all: bool = False
    block: bool = False
    heading: str = ""
    at_end: bool = False


class FileEdit(NamedTuple):
    """What one call did to one file; `before` and `after` are whole texts, None if they are not recorded."""

    path: str
    op: str
    before: str | None = None
    after: str | None = None
    replacements: tuple[Replacement, ...] = ()
    hunks: tuple[Hunk, ...] = ()
    source: str | None = None  # the old path of a rename
    target: str | None = None  # the new path of a file that was deleted by a rename


def touches_of_call(call: Part, result: Part) -> tuple[FileTouch, ...]:
    """Return the files that a successful call read or changed."""
    output = result.fields.get("output")
    created = isinstance(output, str) and output.startswith(_CREATED)
    touches = []
    for edit in edits_of_call(call, _object(result.fields.get("structured"))):
        operation = "create" if created and edit.op == "edit" else edit.op
        touches.append(
            FileTouch(edit.path, operation, None if edit.op == "delete" else hash_text(edit.after), edit.source)
        )
    return tuple(dict.fromkeys(touches))


def edits_of_call(call: Part | None, structured: Mapping[str, Any]) -> list[FileEdit]:
    """Return what a call did to files, from its arguments and the structured result, if there is one."""
    edits = _edits_of_arguments(call, structured)
    if any(edit.op not in {"edit", "create"} or _has_text(edit) for edit in edits):
        return edits
    return list(_read_diffs(structured)) or edits  # arguments may only name the file


def _has_text(edit: FileEdit) -> bool:
    """Return True if it is known what an edit wrote."""
    return edit.after is not None or bool(edit.replacements) or bool(edit.hunks)


def _read_diffs(structured: Mapping[str, Any]) -> Iterator[FileEdit]:
    """Yield what an agent reported to its editor (ACP): pieces of a file, all of a new one, or that it is deleted."""
    for diff in _list(structured.get(DIFFS))[:MAX_EDITS]:
        match diff:
            case {"path": str(path), "oldText": str(old), "newText": str(new)} if old:
                yield FileEdit(path, "edit", replacements=(Replacement(old, new),))
            case {"path": str(path), "newText": str(new)}:
                yield FileEdit(path, "create", "", new)
    for path in _list(structured.get(DELETED))[:MAX_EDITS]:
        if isinstance(path, str) and path:
            yield FileEdit(path, "delete")


def _edits_of_arguments(call: Part | None, structured: Mapping[str, Any]) -> list[FileEdit]:
    arguments = {} if call is None else _object(call.fields.get("input"))
    reported = [each for name in CHANGE_LISTS for each in _read_changes(_object(structured.get(name)))]
    if reported:
        return reported[:MAX_EDITS]
    if call is None:
        return []
    path = next((text for name in FILE_PATHS if (text := _text_or_none(arguments.get(name)))), None)
    operation = FILE_TOOLS.get(_text_or_none(call.fields.get("name")) or "")
    operation = operation and FILE_COMMANDS.get(_text_or_none(arguments.get("command")) or "", operation)
    if operation is None or path is None:
        return [] if operation else list(_read_patch(_patch_of(call)))[:MAX_EDITS]
    if operation == "read":
        return [FileEdit(path, operation, after=_read_whole(structured))]
    before = next((text for name in TEXTS_BEFORE if (text := structured.get(name)) is not None), None)
    replacements = tuple(_read_replacements(arguments))
    created = any(structured.get(name) == value for name, value in CREATIONS.items())
    if created or any(not replacement.old for replacement in replacements[:1]):
        operation, before = "create", before or ""
    after = next((text for name in WHOLE_TEXTS if isinstance(text := arguments.get(name), str)), None)
    if any(structured.get(name) is True for name in USER_CHANGES):
        after, replacements = None, ()  # only the hunks are what was written
    return [
        FileEdit(
            path,
            operation,
            before if isinstance(before, str) else None,
            after,
            replacements,
            tuple(hunk for name in HUNK_LISTS for hunk in _read_hunks(structured.get(name))),
        )
    ]


def edits_of_result(call: Part, result: Part | None) -> list[FileEdit]:
    """Return what a call did to files, given its result; the text before is empty if the output says "created"."""
    if result is None:
        return edits_of_call(call, {})
    edits = edits_of_call(call, _object(result.fields.get("structured")))
    if not (_text_or_none(result.fields.get("output")) or "").startswith(_CREATED_ANY):
        return edits
    is_new = [each.op == "edit" and each.before is None and each.after is not None for each in edits]
    return [each._replace(op="create", before="") if new else each for each, new in zip(edits, is_new, strict=True)]


def pieces_of_edit(edit: FileEdit) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the old and the new lines of each hunk, of each replacement, or of the whole file.

    The lines have `-` and `+` in front, those around the change in a hunk a blank. Yield nothing if they are unknown.
    """
    if edit.hunks:
        for hunk in edit.hunks:
            yield [line for line in hunk.lines if line[:1] in " -"], [line for line in hunk.lines if line[:1] in " +"]
    elif edit.replacements:
        for each in edit.replacements:
            yield _marked(each.old, "-"), _marked(each.new, "+")
    elif edit.before is not None and edit.after is not None:
        yield _marked(edit.before, "-"), _marked(edit.after, "+")


def _marked(text: str, mark: str) -> list[str]:
    return [mark + line for line in text.splitlines()]


def command_of(call: Part) -> str | None:
    """Return the command line of a call that runs one in a shell, else None."""
    if not is_shell(_text_or_none(call.fields.get("name")) or ""):
        return None
    arguments = _object(call.fields.get("input"))
    for name in COMMANDS:
        value = arguments.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            return value[2] if len(value) == 3 and value[1] in {"-c", "-lc"} else shlex.join(value)
    # Gemini CLI names no arguments in the Agent Client Protocol: the title of the call is the command.
    return _text_or_none(arguments.get(TITLE)) if len(arguments) == 1 else None


def directories_of_command(call: Part) -> list[str]:
    """Return the directories that the arguments of a shell call name, usually one or none; the first one counts."""
    arguments = _object(call.fields.get("input"))
    return [text for name in DIRECTORIES if (text := _text_or_none(arguments.get(name)))]


def apply_edit(edit: FileEdit, text: str | None) -> str | None:
    """Return the text of a file after an edit, given the text before it; None if that is unknown."""
    if edit.op == "delete" or edit.after is not None:
        return edit.after or ""
    text = text if edit.before is None else edit.before
    if text is None or not (edit.replacements or edit.hunks):
        return text if edit.op == "rename" else None
    replaced = _replace(text, edit.replacements) if edit.replacements else None
    if replaced is not None and edit.hunks and any(not each.new for each in edit.replacements):
        # Claude Code removes the newline after a removed text that does not end with one
        lines = tuple(
            each if each.new or each.old.endswith("\n") else each._replace(old=f"{each.old}\n")
            for each in edit.replacements
        )
        added = sum(hunk.new_lines - hunk.old_lines for hunk in edit.hunks)
        if replaced.count("\n") - text.count("\n") != added:
            without = _replace(text, lines)
            fits = without is not None and without.count("\n") - text.count("\n") == added
            replaced = without if fits else replaced
    return apply_hunks(text, edit.hunks) if replaced is None and edit.hunks else replaced


def hash_text(text: str | None) -> str | None:
    """Return the hash of the text of a file as claims have it; None for None."""
    if text is None:
        return None
    from hashlib import sha256

    digest = sha256(text.encode("utf-8", "surrogatepass"))
    return f"sha256:{digest.hexdigest()}"


def _replace(text: str, replacements: Iterable[Replacement]) -> str | None:
    """Replace texts one after the other; None if one of them is not there, or the text would become too long."""
    crlf = "\r\n" in text
    position = 0
    for replacement in replacements:
        old, new = replacement.old, replacement.new
        if crlf and old not in text:  # agents send LF for a file with CRLF
            old, new = (value.replace("\r\n", "\n").replace("\n", "\r\n") for value in (old, new))
        if replacement.block:
            text = text if not text or text.endswith("\n") else f"{text}\r\n" if crlf else f"{text}\n"
            position = _find_heading(text, replacement.heading, position)
            if replacement.at_end and old and text.endswith(old):
                position = max(position, len(text) - len(old))
            position = _find_block(text, old, position)
            if position < 0:
                return None
            text = text[:position] + new + text[position + len(old) :]
            position += len(new)
        elif (
            old not in text
            or (text and not old)
            or len(text) + (text.count(old) if replacement.all else 1) * (len(new) - len(old)) > MAX_RESULT
        ):
            return None
        else:
            text = text.replace(old, new, -1 if replacement.all else 1)
    return text


def _find_heading(text: str, heading: str, start: int) -> int:
    """Return the position below the next line with a text, as Codex looks for it; `start` if there is none.

    The whole text is searched for the same line before it is searched for one with other blanks around it.
    """
    if not heading.strip():
        return start
    patterns = (
        re.escape(heading),
        rf"{re.escape(heading.rstrip())}[ \t\r]*",
        rf"[ \t]*{re.escape(heading.strip())}[ \t\r]*",
    )
    found = (re.compile(rf"^{pattern}\n", re.MULTILINE).search(text, start) for pattern in patterns)
    return next((each.end() for each in found if each is not None), start)


def _find_block(text: str, lines: str, start: int) -> int:
    """Return the position of whole lines at or after a position; the end for no lines; -1 if they are not there."""
    if not lines:
        return len(text)
    position = text.find(lines, start)
    while position > 0 and text[position - 1] != "\n":
        position = text.find(lines, position + 1)
    return position


def apply_hunks(text: str, hunks: tuple[Hunk, ...]) -> str | None:
    """Apply hunks in ascending order; None if the text has other lines at their places."""
    lines = text.split("\n")
    result: list[str] = []
    position = 0
    for hunk in hunks:
        start = hunk.old_start - 1 if hunk.old_lines else hunk.old_start
        old = [line[1:] for line in hunk.lines if line[:1] in {" ", "-"}]
        if start < position or lines[start : start + len(old)] != old:
            return None
        result += lines[position:start]
        result += [line[1:] for line in hunk.lines if line[:1] in {" ", "+"}]
        position = start + len(old)
        ends_without = [_ends_without_newline(hunk, marks) for marks in (" -", " +")]
        if any(ends_without):
            rest = lines[position:]
            if rest != ([] if ends_without[0] else [""]):
                return None
            return "\n".join([*result, *([] if ends_without[1] else [""])])
    return "\n".join([*result, *lines[position:]])


def _ends_without_newline(hunk: Hunk, marks: str) -> bool:
    r"""Return True if `\ No newline at end of file` follows the last line with one of some marks."""
    last = max((at for at, line in enumerate(hunk.lines) if line[:1] and line[0] in marks), default=None)
    return last is not None and hunk.lines[last + 1 : last + 2] != () and hunk.lines[last + 1][:1] == "\\"


def parse_unified(patch: str) -> tuple[Hunk, ...]:
    """Parse the hunks of a unified diff of one file; a line that belongs to no hunk is left out."""
    hunks: list[tuple[re.Match[str], list[str]]] = []
    for line in patch.split("\n"):
        heading = _HEADING.match(line)
        if heading is not None:
            hunks.append((heading, []))
        elif hunks and line[:1] in {" ", "-", "+", "\\"}:
            hunks[-1][1].append(line)
    return tuple(
        Hunk(
            int(heading[1]), int(heading[2] or 1), int(heading[3]), int(heading[4] or 1), tuple(lines)
        )
        for heading, lines in hunks
    )  # fmt: skip


def _read_changes(changes: Mapping[str, Any]) -> Iterator[FileEdit]:
    """Yield the edits of a reported change, which maps paths to what was done."""
    for path, change in changes.items():
        match change:
            case {"type": "add", **rest}:
                yield FileEdit(path, "create", "", _string(rest.get("content")))
            case {"type": "delete", **rest}:
                yield FileEdit(path, "delete", _string(rest.get("content")))
            case {"type": "update", **rest}:
                hunks = parse_unified(_text_or_none(rest.get("unified_diff")) or "")
                moved = _text_or_none(rest.get("move_path"))
                if moved is None:
                    yield FileEdit(path, "edit", hunks=hunks)
                else:
                    yield FileEdit(moved, "rename", hunks=hunks, source=path)


def _patch_of(call: Part) -> str:
    """Return the patch in the arguments of a call; empty if it has none."""
    given = call.fields.get("input", call.fields.get("input_text"))
    for value in given.values() if isinstance(given, Mapping) else [given]:
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and _BEGINNING in text:
                return text[text.index(_BEGINNING) :]
    return ""


def _read_patch(patch: str) -> Iterator[FileEdit]:
    """Yield the edits of a patch in the `apply_patch` notation, whose hunks have no line numbers."""
    sections: list[tuple[str, str, list[str]]] = []
    is_open = False
    for line in patch.split("\n"):
        mark = next((mark for mark in PATCH_MARKS if line.startswith(mark)), None)
        if mark is not None:
            path = line[len(mark) :].strip()
            sections.append((path, _OPERATIONS.get(PATCH_MARKS[mark].strip(), "edit"), []))
            is_open = True
        elif line.startswith(_END):
            is_open = False
        elif is_open:
            sections[-1][2].append(line.removesuffix("\r"))
    for path, operation, lines in sections:
        moved = next((line.removeprefix(_MOVE).strip() for line in lines if line.startswith(_MOVE)), None)
        if operation == "create":
            yield FileEdit(path, operation, "", "".join(f"{line[1:]}\n" for line in lines if line.startswith("+")))
        elif moved is not None:
            yield FileEdit(moved, "rename", replacements=tuple(_read_blocks(lines)), source=path)
        else:
            yield FileEdit(path, operation, replacements=tuple(_read_blocks(lines)))


def _read_blocks(lines: list[str]) -> Iterator[Replacement]:
    """Yield the old and the new lines of each hunk of a patch without line numbers."""
    blocks: list[tuple[str, list[str]]] = [("", [])]
    for number, line in enumerate(lines):
        if line.startswith("@@"):
            blocks.append((line[2:].removeprefix(" ").rstrip(), []))
        elif line.startswith(_END_OF_FILE):
            blocks[-1][1].append(_END_OF_FILE)
        elif line[:1] in {" ", "-", "+"}:
            blocks[-1][1].append(line)
        elif not line and blocks[-1][1] and any(lines[number:]) and not _begins_block(lines, number):
            blocks[-1][1].append(" ")  # an empty line of the file
    for heading, block in blocks:
        changed = [line for line in block if line != _END_OF_FILE]
        if changed:
            old = "".join(f"{line[1:]}\n" for line in changed if line[0] != "+")
            new = "".join(f"{line[1:]}\n" for line in changed if line[0] != "-")
            yield Replacement(old, new, block=True, heading=heading, at_end=_END_OF_FILE in block)


def _begins_block(lines: list[str], number: int) -> bool:
    """Return True if a heading is the next line that is not empty: empty lines separate blocks."""
    return next((line.startswith(("@@", "***")) for line in lines[number:] if line), True)


def _read_replacements(arguments: Mapping[str, Any]) -> Iterator[Replacement]:
    documents = [each for name in EDIT_LISTS for each in _list(arguments.get(name))]
    for document in [arguments, *documents[:MAX_EDITS]]:
        for old_name, new_name, every in REPLACEMENTS:
            fields = _object(document)
            old, new = _string(fields.get(old_name)), _string(fields.get(new_name))
            if old is not None and new is not None:
                yield Replacement(old, new, fields.get(every) is True)


def _read_hunks(hunks: object) -> Iterator[Hunk]:
    for hunk in _list(hunks):
        match hunk:
            case {
                "oldStart": int(old), "oldLines": int(removed), "newStart": int(new), "newLines": int(added),
                "lines": list(lines),
            } if all(isinstance(line, str) for line in lines):  # fmt: skip
                yield Hunk(old, removed, new, added, tuple(lines))


def _read_whole(structured: Mapping[str, Any]) -> str | None:
    """Return the text of a file that was read completely; None if only a part of it was read."""
    for name, content in READ_FILES:
        file = _object(structured.get(name))
        if file.get("startLine") == 1 and file.get("numLines") == file.get("totalLines"):
            return _string(file.get(content))
    return None


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _string(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
