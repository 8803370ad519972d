"""Forked conversations in which both sides edited one file, in the shapes of Claude Code and Codex."""

from __future__ import annotations

from scopes.conversation.branch import branch
from scopes.conversation.merge import merge
from scopes.conversation.new_rename_delete import new
from tests.support.history import say
from tests.support.tool_calls import call_tool

FILE = "src/app.py"
LINES = [f"line {number}\n" for number in range(1, 21)]
TEXT = "".join(LINES)


def forked(repository):
    new(repository, directory="/work")
    say(repository, "conv-001", "fix it")
    branch(repository, "conv-001", name="alt")
    branch(repository, "conv-001", name="other", start="main", switch=True)
    return repository


def edit(repository, where, old, new_text, before=None):
    """Append an edit as Claude Code records it, with the text before it unless that is None."""
    arguments = {"file_path": FILE, "old_string": old, "new_string": new_text}
    structured = {"filePath": FILE, "originalFile": before}
    return call_tool(repository, f"conv-001/{where}", "Edit", arguments, structured=structured)


def patch(repository, where, diff):
    """Append a patch as Codex reports it, with line numbers and without the text."""
    structured = {"changes": {f"/work/{FILE}": {"type": "update", "unified_diff": diff}}}
    call_tool(repository, f"conv-001/{where}", "apply_patch", "*** Begin Patch", agent="codex", structured=structured)


def compared(repository):
    [file] = merge(repository, "conv-001", "alt", target="main", dry_run=True).files
    return file


def changed(text, line, new_line):
    return text.replace(f"line {line}\n", f"{new_line}\n")


def write(repository, where, content, before=None):
    """Append a write of the whole file as Claude Code records it; it creates the file unless it had a text before."""
    structured = {"type": "create"} if before is None else {"type": "update", "originalFile": before}
    call_tool(repository, f"conv-001/{where}", "Write", {"file_path": FILE, "content": content}, structured=structured)


def delete(repository, where, path=FILE):
    call_tool(
        repository, f"conv-001/{where}", "apply_patch", f"*** Begin Patch\n*** Delete File: {path}\n*** End Patch\n"
    )


def read(repository, where, content):
    """Append a Read of the whole file as Claude Code records it."""
    count = len(content.split("\n"))
    file = {"filePath": FILE, "content": content, "numLines": count, "startLine": 1, "totalLines": count}
    call_tool(repository, f"conv-001/{where}", "Read", {"file_path": FILE}, structured={"type": "text", "file": file})


def rename(repository, where, old, new_path):
    changes = {f"/work/{old}": {"type": "update", "unified_diff": "", "move_path": f"/work/{new_path}"}}
    structured = {"changes": changes}
    call_tool(repository, f"conv-001/{where}", "apply_patch", "*** Begin Patch", agent="codex", structured=structured)
