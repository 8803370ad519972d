"""Tool calls of agents and their results: what is shown of them, and what they did to files.

Importers store calls and results as the agent wrote them, and a stored call does not say which agent's tool it is: the
tables have the words of all agents that scopes imports. Everything else that is special to an agent is in its format
(`scopes.importers.formats`).
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from scopes.lazy_patterns import compile_lazily
from scopes.model.message import FileTouch, Message, Part
from scopes.result import plural

# Arguments of calls.
STEP_LISTS: Final = ("todos", "plan")  # hold a to-do list
STEP_TEXTS: Final = ("content", "step")  # fields of a step that hold its text
FILE_PATHS: Final = (  # also of a structured result
    "file_path", "notebook_path", "filePath", "absolute_path", "path", "target_file", "targetFile",
    "relativeWorkspacePath",
)  # fmt: skip
_WHOLE_TEXTS: Final = ("content", "file_text", "contents")  # hold the whole new text of a file
_REPLACEMENTS: Final = (  # hold the old text, the new text, and whether to replace all occurrences
    ("old_string", "new_string", "replace_all"), ("oldString", "newString", "replaceAll"), ("oldText", "newText", ""),
    ("old_str", "new_str", ""),
)  # fmt: skip
_COMMANDS: Final = ("command", "cmd")  # hold the command of a shell
_DIRECTORIES: Final = ("workdir", "dir_path", "directory", "cwd")  # hold the directory of a command
_PATCH_VERBS: Final = {"*** Add File: ": "add ", "*** Update File: ": "edit ", "*** Delete File: ": "delete "}
# Fields of structured results.
READ_FILE: Final = "file"  # the file that was read; its text is `content`
_TEXTS_BEFORE: Final = ("originalFile", "originalFileContents")  # the whole text before the edit
_DENIALS: Final = compile_lazily(  # the beginning of an output that says that the call was refused
    r"(?s)Claude requested permissions to .{1,2000}, but you haven't granted it yet"  # Claude Code
    r"|(?:[^\n]{1,500}\n?)?This (?:Bash )?command (?:contains multiple operations\. The following parts? requires?"
    r"|requires) approval|[^\n]{1,4000} was blocked\. For security, Claude Code"
    r"|Permission to use .{1,200} has been denied|The user doesn't want to (?:proceed with|take) this"
    r"|(?:exec command|patch|command) rejected\b|rejected(?: by user|: )|unsupported call: "  # Codex
    r"|exec_command failed for .{1,4000}(?:rejected by|Sandbox\(Denied|sandbox denied)"
    r"|This action was rejected due to unacceptable risk"
    r"|(?:Error: )?Tool execution (?:for .{1,200} )?denied by policy|User (?:denied|did not allow)"  # Gemini CLI
    r"|Qwen Code requires permission to use .{1,200}, but that permission was declined"
    r"|(?:PermissionRejectedError: )?The user (?:has specified a rule which prevents you from using"  # OpenCode
    r"|rejected permission to use) this specific tool call"
)
_DENIAL_LENGTH: Final = 5000  # characters at the beginning of an output
# Names of tools.
FILE_TOOLS: Final = {  # with what they do to the file
    **dict.fromkeys(("Read", "read_file", "read", "read_file_v2", "view"), "read"),
    **dict.fromkeys(
        ("Write", "Edit", "MultiEdit", "NotebookEdit", "write_file", "replace", "edit", "write", "str_replace_editor",
         "file_editor", "edit_file", "edit_file_v2", "search_replace", "StrReplace", "create"),
        "edit",
    ),
    **dict.fromkeys(("delete_file", "Delete"), "delete"),
}  # fmt: skip
SHELLS: Final = frozenset({
    "Bash", "Shell", "bash", "container.exec", "exec_command", "execute_bash", "local_shell", "powershell",
    "run_shell_command", "run_terminal_cmd", "run_terminal_command", "run_terminal_command_v2", "shell",
    "shell_command", "terminal",
})  # fmt: skip
# Names of shells among the tools of MCP servers and of agents that have none of these. `execute` is a kind of tool in
# the Agent Client Protocol, which is recorded as the name if the agent gives none.
_SHELL_TOOL: Final = compile_lazily(
    r"execute|(?:.*(?:__|[./:]))?(?:(?:run|execute|exec)_?(?:in_?)?)?(?:ba|z|power)?(?:sh|shell|command|terminal|exec)"
    r"(?:_?(?:exec|execute|command|tool|run|cmd))?",
    re.IGNORECASE,
)
# In the structured result of a call that `scopes acp` recorded: what the agent showed of its edits, and which files it
# deleted by a call of that kind. The name of the latter is in no result of another program.
DIFFS, DELETED = "diffs", "acp_deleted"
_TITLE = "title"  # what `scopes acp` records of a call to which the agent names no arguments


def is_shell(name: str) -> bool:
    """Return True for the name of a tool that runs a command line, also of one that an MCP server provides."""
    return name.strip() in SHELLS or _SHELL_TOOL.fullmatch(name.strip()) is not None


_ARGUMENTS = (
    "command", "cmd", "file_path", "filePath", "notebook_path", "pattern", "query", "url", "path", "skill",
    "subject", "title", "plan", "description", "chars", "message", "prompt", "question", "name", "server",
)  # fmt: skip
_PATHS = frozenset({"file_path", "filePath", "notebook_path", "path"})
_WITHIN = frozenset({"pattern", "query"})  # arguments that are searched for in a path


def summarize_calls(message: Message) -> str:
    """Return the first tool call of a message and the number of further ones; empty if it has none."""
    calls = [part for part in message.parts if part.type == "tool_call"]
    if not calls:
        return ""
    more = f" · {len(calls) - 1} more" if len(calls) > 1 else ""
    return " ".join(f"→ {tool_name(calls[0])} {main_argument(calls[0])[0]}".split()) + more


def tool_name(part: Part) -> str:
    """Return the name of the tool that a call names."""
    return _text(part.fields.get("name")) or "unknown tool"


def main_argument(part: Part) -> tuple[str, bool]:
    """Return the most informative argument of a call, and whether it is a path (truncated at its start)."""
    value = part.fields.get("input")
    if not isinstance(value, Mapping):
        return _first_line(_patched_files(_text(value if value is not None else part.fields.get("input_text")))), False
    for name in STEP_LISTS:
        if isinstance(value.get(name), list):
            return _todo_progress(value[name]), False
    if isinstance(value.get("questions"), list):
        return _questions(value["questions"]), False
    for name in _ARGUMENTS:
        if value.get(name):
            text = _first_line(_argument_text(value[name]))
            within = value.get("path") if name in _WITHIN else value.get("subagent_type")
            if name == "description" and isinstance(within, str):
                return f"{within}: {text}", False
            return (f"{text} in {within}" if name in _WITHIN and within else text), name in _PATHS
    arguments = {name: _first_line(_argument_text(given)) for name, given in value.items()}
    return ", ".join(f"{name}: {text}" for name, text in arguments.items() if text), False


def is_refused(result: Part) -> bool:
    """Return True if a tool result says that the user, or a rule, refused the call: the tool did not run."""
    if result.fields.get("is_error") is False or result.fields.get("exit_code") == 0:
        return False
    output = result.fields.get("output")
    blocks = output if isinstance(output, list) else [output]
    texts = [block.get("text") if isinstance(block, Mapping) else block for block in blocks[:1]]
    beginning = "".join(text[:_DENIAL_LENGTH] for text in texts if isinstance(text, str))
    return _DENIALS.match(beginning) is not None


def _todo_progress(steps: list[Any]) -> str:
    """Return the progress of a to-do list: `2 of 5 steps done, now: ...`."""
    known = [step for step in steps if isinstance(step, Mapping)]
    done = sum(step.get("status") == "completed" for step in known)
    now = next((step for step in known if step.get("status") == "in_progress"), {})
    progress = f"{done} of {len(steps):,} {plural(len(steps), 'step')} done"
    current = _text(next(filter(None, map(now.get, STEP_TEXTS)), None))
    return f"{progress}, now: {_first_line(current)}" if current else progress


def _questions(asked: list[Any]) -> str:
    """Return the first question to the user and the number of further ones."""
    texts = [_text(each.get("question")) for each in asked if isinstance(each, Mapping)]
    more = f" · {len(texts) - 1} more" if len(texts) > 1 else ""
    return f"{_first_line(texts[0])}{more}" if texts else ""


def _patched_files(text: str) -> str:
    """Return the files that a patch touches; other text is returned unchanged."""
    if not text.startswith("*** Begin Patch"):
        return text
    lines = text.splitlines()
    return ", ".join(
        word + line[len(mark) :] for line in lines for mark, word in _PATCH_VERBS.items() if line.startswith(mark)
    )


def _argument_text(value: Any) -> str:
    """Return a command given as a list joined by blanks, without a wrapping shell."""
    if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        return value[2] if len(value) == 3 and value[1] in {"-c", "-lc"} else " ".join(value)
    return _text(value)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _first_line(text: str) -> str:
    first, _, rest = text.strip().partition("\n")
    return f"{first} …" if rest else first


MAX_EDITS = 200  # of one call
MAX_RESULT = 8 << 20  # characters of a text after a replacement: three of "a" by 3,000 letters each would need 27 GB
_BEGINNING, _MOVE = "*** Begin Patch", "*** Move to: "
_END_OF_FILE, _END = "*** End of File", "*** End Patch"
_OPERATIONS = {"add": "create", "edit": "edit", "delete": "delete"}  # by the verbs of _PATCH_VERBS
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


def edits_of_call(call: Part, structured: Mapping[str, Any]) -> list[FileEdit]:
    """Return what a call did to files, from its arguments and the structured result, if there is one."""
    edits = _edits_of_arguments(call, structured)
    if any(e.op not in {"edit", "create"} or e.after is not None or e.replacements or e.hunks for e in edits):
        return edits
    return list(_read_diffs(structured)) or edits  # arguments may only name the file


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


def _edits_of_arguments(call: Part, structured: Mapping[str, Any]) -> list[FileEdit]:
    arguments = _object(call.fields.get("input"))
    reported = list(_read_changes(_object(structured.get("changes"))))[:MAX_EDITS]
    if reported:
        return reported
    path = next((text for name in FILE_PATHS if (text := _text_or_none(arguments.get(name)))), None)
    operation = FILE_TOOLS.get(_text_or_none(call.fields.get("name")) or "")
    if operation and arguments.get("command") == "view":  # of a tool that does several things
        operation = "read"
    if operation is None or path is None:
        return [] if operation else list(_read_patch(_patch_of(call)))[:MAX_EDITS]
    if operation == "read":
        return [FileEdit(path, operation, after=_read_whole(structured))]
    before = next((text for name in _TEXTS_BEFORE if (text := structured.get(name)) is not None), None)
    replacements = tuple(_read_replacements(arguments))
    if structured.get("type") == "create" or any(not replacement.old for replacement in replacements[:1]):
        operation, before = "create", before or ""
    after = next((text for name in _WHOLE_TEXTS if isinstance(text := arguments.get(name), str)), None)
    if structured.get("userModified") is True:
        after, replacements = None, ()  # only the hunks are what was written
    hunks = tuple(_read_hunks(structured.get("structuredPatch")))
    return [FileEdit(path, operation, _string(before), after, replacements, hunks)]


def edits_of_result(call: Part, result: Part | None) -> list[FileEdit]:
    """Return what a call did to files, given its result; the text before is empty if the output says "created"."""
    if result is None:
        return edits_of_call(call, {})
    edits = edits_of_call(call, _object(result.fields.get("structured")))
    if not (_text_or_none(result.fields.get("output")) or "").startswith(_CREATED_ANY):
        return edits
    is_new = [each.op == "edit" and each.before is None and each.after is not None for each in edits]
    return [each._replace(op="create", before="") if new else each for each, new in zip(edits, is_new, strict=True)]


def command_of(call: Part) -> str | None:
    """Return the command line of a call that runs one in a shell, else None."""
    if not is_shell(_text_or_none(call.fields.get("name")) or ""):
        return None
    arguments = _object(call.fields.get("input"))
    for name in _COMMANDS:
        value = arguments.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            return value[2] if len(value) == 3 and value[1] in {"-c", "-lc"} else shlex.join(value)
    # Gemini CLI names no arguments in the Agent Client Protocol: the title of the call is the command.
    return _text_or_none(arguments.get(_TITLE)) if len(arguments) == 1 else None


def directories_of_command(call: Part) -> list[str]:
    """Return the directories that the arguments of a shell call name, usually one or none; the first one counts."""
    arguments = _object(call.fields.get("input"))
    return [text for name in _DIRECTORIES if (text := _text_or_none(arguments.get(name)))]


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
        mark = next((mark for mark in _PATCH_VERBS if line.startswith(mark)), None)
        if mark is not None:
            path = line[len(mark) :].strip()
            sections.append((path, _OPERATIONS.get(_PATCH_VERBS[mark].strip(), "edit"), []))
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
    for document in [arguments, *_list(arguments.get("edits"))[:MAX_EDITS]]:
        for old_name, new_name, every in _REPLACEMENTS:
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
    file = _object(structured.get(READ_FILE))
    is_whole = file.get("startLine") == 1 and file.get("numLines") == file.get("totalLines")
    return _string(file.get("content")) if is_whole else None


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _string(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
