"""How each agent words its tool calls and results: the table for code that shows or summarizes them.

Importers store calls and results as the agent wrote them. An agent that is not in the table is shown without extras.
Everything else that is special to an agent is in its format (`scopes.importers.formats`). This table is here because
memory, a lower layer than the importers, reads it, and because showing a log must not import the formats.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from scopes.lazy_patterns import compile_lazily


class AgentTools(NamedTuple):
    """The wording of one agent's tools.

    step_lists: arguments that hold a to-do list
    step_texts: fields of a step that hold its text
    patch_marks: start of a patch line that names a file, and the verb to show for it
    preamble: regular expression (DOTALL) of text before a tool's output; group `seconds` is the duration
    markup: regular expression (DOTALL) of text in an output that the tool did not write
    running: regular expression (MULTILINE) of an output whose process still runs
    durations: fields of a structured result, with their units per second
    file_tools: operations on files, by the name of the tool
    file_commands: operations of a tool that does several, by its argument `command`
    file_paths: arguments, and fields of a structured result, that hold a path
    whole_texts: arguments with the whole new text of a file
    replacements: arguments with the old text, the new text, and whether to replace all occurrences
    edit_lists: arguments with a list of replacements in one file
    texts_before: fields of a structured result with the whole text before the edit
    creations: fields of a structured result, with the values that mean that the file did not exist
    result_records: fields of a source record with the structured result
    hunk_lists: fields of a structured result with the hunks of a patch
    user_changes: fields of a structured result that are true if the user changed the edit, so the arguments do not hold
    read_files: fields of a structured result with the file that was read, and its text
    change_lists: fields of a structured result that map paths to changes
    shells: tools that run a command
    commands: arguments with the command of a shell
    question_lists: fields of a structured result with the answers of the user, by question
    denial: regular expression (DOTALL) of the beginning of an output that says that the call was refused
    """

    step_lists: tuple[str, ...] = ()
    step_texts: tuple[str, ...] = ()
    patch_marks: Mapping[str, str] = {}
    preamble: str = ""
    markup: str = ""
    running: str = ""
    durations: Mapping[str, int] = {}
    file_tools: Mapping[str, str] = {}
    file_commands: Mapping[str, str] = {}
    file_paths: tuple[str, ...] = ()
    whole_texts: tuple[str, ...] = ()
    replacements: tuple[tuple[str, str, str], ...] = ()
    edit_lists: tuple[str, ...] = ()
    texts_before: tuple[str, ...] = ()
    creations: Mapping[str, str] = {}
    result_records: tuple[str, ...] = ()
    hunk_lists: tuple[str, ...] = ()
    user_changes: tuple[str, ...] = ()
    read_files: tuple[tuple[str, str], ...] = ()
    change_lists: tuple[str, ...] = ()
    shells: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    question_lists: tuple[str, ...] = ()
    denial: str = ""


AGENT_TOOLS = {  # by format name
    "claude-code": AgentTools(
        step_lists=("todos",),
        step_texts=("content",),
        markup=r"\AExit code -?\d+\n|</?tool_use_error>|<system-reminder>.*?</system-reminder>",
        durations={"durationMs": 1000, "totalDurationMs": 1000, "durationSeconds": 1},
        file_tools={"Read": "read", "Write": "edit", "Edit": "edit", "MultiEdit": "edit", "NotebookEdit": "edit"},
        file_paths=("file_path", "notebook_path", "filePath"),
        whole_texts=("content",),
        replacements=(("old_string", "new_string", "replace_all"),),
        edit_lists=("edits",),
        texts_before=("originalFile", "originalFileContents"),
        creations={"type": "create"},
        result_records=("toolUseResult",),
        hunk_lists=("structuredPatch",),
        user_changes=("userModified",),
        read_files=(("file", "content"),),
        shells=("Bash",),
        commands=("command",),
        question_lists=("answers",),
        denial=r"Claude requested permissions to .{1,2000}, but you haven't granted it yet"
        r"|(?:[^\n]{1,500}\n?)?This (?:Bash )?command (?:contains multiple operations\. The following parts? requires?"
        r"|requires) approval|[^\n]{1,4000} was blocked\. For security, Claude Code"
        r"|Permission to use .{1,200} has been denied|The user doesn't want to (?:proceed with|take) this",
    ),
    "codex": AgentTools(
        step_lists=("plan",),
        step_texts=("step",),
        patch_marks={"*** Add File: ": "add ", "*** Update File: ": "edit ", "*** Delete File: ": "delete "},
        preamble=r"\A(?:(?:Command: .*?\n)?Chunk ID: [^\n]*\n|Exit code: -?\d+\n)"
        r"(?:Wall time: (?P<seconds>[\d.]+) seconds?\n)?(?:(?!Output:\n)[^\n]*\n){0,3}Output:\n",
        running=r"^Process running with session ID",
        change_lists=("changes",),
        shells=("shell", "local_shell", "container.exec", "exec_command", "shell_command"),
        commands=("command", "cmd"),
        denial=r"(?:exec command|patch|command) rejected\b|rejected(?: by user|: )|unsupported call: "
        r"|exec_command failed for .{1,4000}(?:rejected by|Sandbox\(Denied|sandbox denied)"
        r"|This action was rejected due to unacceptable risk",
    ),
    "gemini": AgentTools(
        file_tools={"read_file": "read", "write_file": "edit", "replace": "edit"},
        file_paths=("file_path", "absolute_path"),
        whole_texts=("content",),
        replacements=(("old_string", "new_string", "replace_all"),),
        markup=r"\A<untrusted_context>\n?|\n?</untrusted_context>\Z",
        shells=("run_shell_command",),
        commands=("command",),
        denial=r"(?:Error: )?Tool execution (?:for .{1,200} )?denied by policy|User (?:denied|did not allow)",
    ),
    "qwen": AgentTools(
        file_tools={"read_file": "read", "write_file": "edit", "edit": "edit"},
        file_paths=("file_path",),
        whole_texts=("content",),
        replacements=(("old_string", "new_string", "replace_all"),),
        shells=("run_shell_command",),
        commands=("command",),
        denial=r"Qwen Code requires permission to use .{1,200}, but that permission was declined",
    ),
    "opencode": AgentTools(
        file_tools={"read": "read", "write": "edit", "edit": "edit"},
        file_paths=("filePath",),
        whole_texts=("content",),
        replacements=(("oldString", "newString", "replaceAll"),),
        shells=("bash",),
        commands=("command",),
        denial=r"(?:PermissionRejectedError: )?The user (?:has specified a rule which prevents you from using"
        r"|rejected permission to use) this specific tool call",
    ),
    "pi": AgentTools(
        file_tools={"read": "read", "write": "edit", "edit": "edit"},
        file_paths=("path",),
        whole_texts=("content",),
        replacements=(("oldText", "newText", ""),),
        edit_lists=("edits",),
        shells=("bash",),
        commands=("command",),
    ),
    "swe-agent": AgentTools(
        file_tools={"str_replace_editor": "edit"},
        file_commands={"view": "read"},
        file_paths=("path",),
        whole_texts=("file_text",),
        replacements=(("old_str", "new_str", ""),),
        shells=("bash",),
        commands=("command",),
    ),
    "openhands": AgentTools(
        file_tools={"file_editor": "edit", "str_replace_editor": "edit"},
        file_commands={"view": "read"},
        file_paths=("path",),
        whole_texts=("file_text",),
        replacements=(("old_str", "new_str", ""),),
        shells=("terminal", "execute_bash"),
        commands=("command",),
    ),
    "cursor": AgentTools(  # of the editor, which has versions of some, and of the command line
        file_tools={
            "read_file": "read",
            "read_file_v2": "read",
            "edit_file": "edit",
            "edit_file_v2": "edit",
            "search_replace": "edit",
            "write": "edit",
            "delete_file": "delete",
            "Read": "read",
            "Write": "edit",
            "StrReplace": "edit",
            "Delete": "delete",
        },
        file_paths=("target_file", "file_path", "path", "targetFile", "relativeWorkspacePath"),
        whole_texts=("contents",),
        replacements=(("old_string", "new_string", "replace_all"),),
        shells=("run_terminal_cmd", "run_terminal_command", "run_terminal_command_v2", "Shell"),
        commands=("command",),
    ),
    "copilot-cli": AgentTools(
        file_tools={"view": "read", "create": "edit", "edit": "edit"},
        file_paths=("path",),
        whole_texts=("file_text",),
        replacements=(("old_str", "new_str", ""),),
        markup=r"\n?<exited with exit code -?\d+>\s*\Z",
        shells=("bash", "powershell"),
        commands=("command",),
    ),
    "kimi": AgentTools(
        file_tools={"Read": "read", "Write": "edit", "Edit": "edit"},
        file_paths=("path",),
        whole_texts=("content",),
        replacements=(("old_string", "new_string", "replace_all"),),
        shells=("Bash",),
        commands=("command",),
    ),
    "grok": AgentTools(
        file_tools={"read_file": "read", "search_replace": "edit"},
        file_paths=("target_file", "file_path"),
        replacements=(("old_string", "new_string", "replace_all"),),
        shells=("run_terminal_cmd",),
        commands=("command",),
    ),
    "iflow": AgentTools(
        file_tools={"read_file": "read", "write_file": "edit", "replace": "edit"},
        file_paths=("file_path", "absolute_path"),
        whole_texts=("content",),
        replacements=(("old_string", "new_string", "replace_all"),),
        shells=("run_shell_command",),
        commands=("command",),
    ),
}

DIRECTORIES = ("workdir", "dir_path", "directory", "cwd")  # arguments of any agent with the directory of a command

# the entries of all agents: a stored call does not say which agent's tool it is
_ALL = tuple(AGENT_TOOLS.values())
STEP_LISTS = tuple(dict.fromkeys(name for tools in _ALL for name in tools.step_lists))
STEP_TEXTS = tuple(dict.fromkeys(name for tools in _ALL for name in tools.step_texts))
PATCH_MARKS = {mark: verb for tools in _ALL for mark, verb in tools.patch_marks.items()}
DURATIONS = {name: units for tools in _ALL for name, units in tools.durations.items()}
PREAMBLES = tuple(tools.preamble for tools in _ALL if tools.preamble)  # one pattern each: all may use `seconds`
MARKUPS = tuple(tools.markup for tools in _ALL if tools.markup)
RUNNING = tuple(tools.running for tools in _ALL if tools.running)
FILE_TOOLS = {name: operation for tools in _ALL for name, operation in tools.file_tools.items()}
FILE_COMMANDS = {name: operation for tools in _ALL for name, operation in tools.file_commands.items()}
FILE_PATHS = tuple(dict.fromkeys(name for tools in _ALL for name in tools.file_paths))
WHOLE_TEXTS = tuple(dict.fromkeys(name for tools in _ALL for name in tools.whole_texts))
REPLACEMENTS = tuple(dict.fromkeys(names for tools in _ALL for names in tools.replacements))
EDIT_LISTS = tuple(dict.fromkeys(name for tools in _ALL for name in tools.edit_lists))
TEXTS_BEFORE = tuple(dict.fromkeys(name for tools in _ALL for name in tools.texts_before))
CREATIONS = {name: value for tools in _ALL for name, value in tools.creations.items()}
RESULT_RECORDS = tuple(dict.fromkeys(name for tools in _ALL for name in tools.result_records))
USER_CHANGES = tuple(dict.fromkeys(name for tools in _ALL for name in tools.user_changes))
HUNK_LISTS = tuple(dict.fromkeys(name for tools in _ALL for name in tools.hunk_lists))
READ_FILES = tuple(dict.fromkeys(names for tools in _ALL for names in tools.read_files))
CHANGE_LISTS = tuple(dict.fromkeys(name for tools in _ALL for name in tools.change_lists))
# Names of shells among the tools of MCP servers and of agents that scopes has no table for. `execute` is a kind of tool
# in the Agent Client Protocol, which is recorded as the name if the agent gives none.
_SHELL_TOOL = compile_lazily(
    r"execute|(?:.*(?:__|[./:]))?(?:(?:run|execute|exec)_?(?:in_?)?)?(?:ba|z|power)?(?:sh|shell|command|terminal|exec)"
    r"(?:_?(?:exec|execute|command|tool|run|cmd))?",
    re.IGNORECASE,
)
SHELLS = frozenset(name for tools in _ALL for name in tools.shells)
# In the structured result of a call that `scopes acp` recorded: what the agent showed of its edits, and which files it
# deleted by a call of that kind. The name of the latter is in no result of another program.
DIFFS, DELETED = "diffs", "acp_deleted"
TITLE = "title"  # what `scopes acp` records of a call to which the agent names no arguments
COMMANDS = tuple(dict.fromkeys(name for tools in _ALL for name in tools.commands))
QUESTION_LISTS = tuple(dict.fromkeys(name for tools in _ALL for name in tools.question_lists))
DENIALS = tuple(tools.denial for tools in _ALL if tools.denial)


def is_shell(name: str) -> bool:
    """Return True for the name of a tool that runs a command line, also of one that an MCP server provides."""
    return name.strip() in SHELLS or _SHELL_TOOL.fullmatch(name.strip()) is not None
