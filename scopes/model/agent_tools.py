"""How each agent words its tool calls and results: the table for code that shows or summarizes them.

Importers store calls and results as the agent wrote them. An agent that is not in the table is shown without extras.
Everything else that is special to an agent is in its format (`scopes.importers.formats`). This table is here because
memory, a lower layer than the importers, reads it, and because showing a log must not import the formats.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class AgentTools(NamedTuple):
    """The wording of one agent's tools.

    step_lists: arguments that hold a to-do list
    step_texts: fields of a step that hold its text
    patch_marks: start of a patch line that names a file, and the verb to show for it
    preamble: regular expression (DOTALL) of text before a tool's output; group `seconds` is the duration
    markup: regular expression (DOTALL) of text in an output that the tool did not write
    running: regular expression (MULTILINE) of an output whose process still runs
    durations: fields of a structured result, with their units per second
    """

    step_lists: tuple[str, ...] = ()
    step_texts: tuple[str, ...] = ()
    patch_marks: Mapping[str, str] = {}
    preamble: str = ""
    markup: str = ""
    running: str = ""
    durations: Mapping[str, int] = {}


AGENT_TOOLS = {  # by format name
    "claude-code": AgentTools(
        step_lists=("todos",),
        step_texts=("content",),
        markup=r"\AExit code -?\d+\n|</?tool_use_error>|<system-reminder>.*?</system-reminder>",
        durations={"durationMs": 1000, "totalDurationMs": 1000, "durationSeconds": 1},
    ),
    "codex": AgentTools(
        step_lists=("plan",),
        step_texts=("step",),
        patch_marks={"*** Add File: ": "add ", "*** Update File: ": "edit ", "*** Delete File: ": "delete "},
        preamble=r"\A(?:(?:Command: .*?\n)?Chunk ID: [^\n]*\n|Exit code: -?\d+\n)"
        r"(?:Wall time: (?P<seconds>[\d.]+) seconds?\n)?(?:(?!Output:\n)[^\n]*\n){0,3}Output:\n",
        running=r"^Process running with session ID",
    ),
}

# the entries of all agents: a stored call does not say which agent's tool it is
_ALL = tuple(AGENT_TOOLS.values())
STEP_LISTS = tuple(name for tools in _ALL for name in tools.step_lists)
STEP_TEXTS = tuple(name for tools in _ALL for name in tools.step_texts)
PATCH_MARKS = {mark: verb for tools in _ALL for mark, verb in tools.patch_marks.items()}
DURATIONS = {name: units for tools in _ALL for name, units in tools.durations.items()}
PREAMBLES = tuple(tools.preamble for tools in _ALL if tools.preamble)  # one pattern each: all may use `seconds`
MARKUPS = tuple(tools.markup for tools in _ALL if tools.markup)
RUNNING = tuple(tools.running for tools in _ALL if tools.running)
