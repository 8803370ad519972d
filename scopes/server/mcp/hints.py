"""Say the hints of errors and notes in the words of the tools: an agent cannot follow one about the command line.

A command or an option that a tool stands for becomes the tool or its parameter. A clause with another one is dropped.
"""

from __future__ import annotations

import re

_TOOLS = {
    r"scopes branch(?= \S+ [^\s-])": "conversation_branch",  # with a name it makes one
    "scopes list": "conversation_list",
    "scopes log": "conversation_read",
    "scopes show": "conversation_show",
    "scopes search": "conversation_search",
    "scopes decisions": "decision_list",
    "scopes branch": "conversation_show",
}
_PARAMETERS = {
    "--action": "actions", "--agent": "agent", "--any": "any_word", "--as": "author", "--confidence": "confidence",
    "--data": "data", "--decision": "decisions", "--dry-run": "dry_run", "--from": "start",
    "--importance": "importance",
    "--kind": "kind", "--max-tokens": "max_tokens", "--queue": "queue", "--reply-to": "reply_to", "--rev": "revision",
    "--source": "source", "--strategy": "strategy", "--target": "target", "--task": "task", "--title": "title",
    "--to": "to", "--topic": "topics", "-n": "limit",
}  # fmt: skip
_COMMAND = re.compile("|".join(rf"({name}(?=$|[\s,;])(?! --))" for name in _TOOLS))
_NAMES = tuple(_TOOLS.values())
_OPTION = re.compile(r"(?<![\w'-])(--[a-z][a-z-]*|-[a-zA-Z])(?![\w-])(?:[ =](?=[A-Z@'\"0-9]|[a-z]\S*$))?")
_USES_COMMAND_LINE = re.compile(r"\bscopes (?:-|[a-z])|\b(?:pip|cd|git) [a-z/~.-]|(?<![\w'-])--?[a-zA-Z]")
_FOR_THE_USER = "ask the user"


def agent_hint(hint: str) -> str | None:
    """Return the clauses of a hint that an agent can follow; None if there are none."""
    lines = [_join(clauses) for line in hint.split("\n") if (clauses := _translate(line))]
    return "\n".join(lines) or None


def agent_note(text: str) -> str:
    """Return the text of a note without the hints that follow it."""
    head, *tail = text.split("; ")
    return "; ".join([head, *(clause for each in tail for clause in _translate(each))])


def agent_text(text: str) -> str:
    """Return the text of an error or a note with parameters in place of options, but for what is in quotes."""
    return _OPTION.sub(lambda match: _PARAMETERS.get(match[1], match[1]) + match[0][len(match[1]) :], text)


def _translate(line: str) -> list[str]:
    if line.startswith(_FOR_THE_USER) or f", or {_FOR_THE_USER}" in line:
        return [line]
    clauses = (_name_tools(clause) for clause in re.split(r"; |(?<=\?) ", line))
    return [clause for clause in clauses if _USES_COMMAND_LINE.search(clause) is None]


def _name_tools(clause: str) -> str:
    named = _COMMAND.sub(lambda match: _NAMES[(match.lastindex or 1) - 1], clause)
    return _OPTION.sub(_name_parameter, named)


def _name_parameter(match: re.Match[str]) -> str:
    name = _PARAMETERS.get(match[1])
    if name is None:
        return match[0]
    has_value = match[0] != match[1]
    return f"{name}=" if has_value else name


def _join(clauses: list[str]) -> str:
    return (
        " ".join(f"{each};" if not each.endswith("?") else each for each in clauses[:-1])
        + " " * (len(clauses) > 1)
        + clauses[-1]
    )
