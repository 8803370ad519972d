"""Rules about tools: which may be used, which calls were refused, failed, or repeated."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from scopes.check.calls import Call
from scopes.check.findings import Finding
from scopes.check.globs import matches_command, matches_word
from scopes.check.rules.base import Parameter, Rule, Settings, Unknown, event_of
from scopes.check.run import Run
from scopes.check.shell_command import Command
from scopes.check.workspace import matches_in_workspaces
from scopes.lazy_patterns import compile_lazily
from scopes.model.tools import SHELLS
from scopes.secret_scan.shown import hide_secrets

_ALLOWED = compile_lazily(r"([\w*.-]+)(?:\((.*)\))?", re.DOTALL)
_SHELL = "Bash"  # stands for the shell tool of every agent, as in Claude Code's permissions


def _judge_undeclared(run: Run, settings: Settings) -> Iterable[Finding] | Unknown:
    allowed = [_ALLOWED.fullmatch(text.strip()) for text in settings.parameters["allow"]]
    pairs = [(match[1], match[2]) for match in allowed if match is not None]
    found = []
    for call in run.calls:
        for command in call.commands or (None,):
            if any(_allows(name, argument, call, command, run) for name, argument in pairs):
                continue
            text = call.name if command is None else command.text
            found.append(
                Finding(
                    UNDECLARED,
                    settings.level,
                    f"{hide_secrets(text).splitlines()[0][:80] if text else call.name} is not declared",
                    (event_of(call),),
                    match=text,
                    attempted=call.attempted,
                    wrapper=_wrapper(command),
                    cure=f'add a pattern to `allow` of [rules."{UNDECLARED}"], such as "{_suggest(call, command)}"',
                )
            )
    return found


def _allows(name: str, argument: str | None, call: Call, command: Command | None, run: Run) -> bool:
    """Return True if `NAME` or `NAME(ARGUMENT)` covers a call, or one command of a shell call."""
    is_shell = call.name in SHELLS or call.shell is not None
    if not (matches_word(name, call.name) or (name == _SHELL and is_shell)):
        return False
    if argument is None:
        return True
    if command is not None:
        pattern = argument.removesuffix(":*") + " **" if argument.endswith(":*") else argument
        words = pattern.split()
        pattern = " ".join([*words[:-1], "**"]) if words and words[-1] == "*" else pattern
        return matches_command(pattern, command) and command.opaque is None
    paths = [path for edit in call.edits for path in (edit.path, edit.source) if path is not None]
    return bool(paths) and all(matches_in_workspaces(argument, path, call.directory, run.workspaces) for path in paths)


def _suggest(call: Call, command: Command | None) -> str:
    if command is None:
        return call.name
    words = [word for word in command.argv[:2] if word is not None and not word.startswith("-")]
    return f"{_SHELL}({' '.join([*words, '*'])})"


def _wrapper(command: Command | None) -> str | None:
    return " ".join(command.wrappers) or None if command is not None else None


def _judge_denied(run: Run, settings: Settings) -> Iterable[Finding] | Unknown:
    found = [
        Finding(
            DENIED,
            settings.level,
            f"{call.name} was refused",
            (event_of(call),),
            match=event_of(call).text,
            cure="allow the call in the agent's permissions, or tell the agent not to try",
        )
        for call in run.calls
        if call.outcome == "denied"
    ]
    known = {str(call.call.fields.get("call_id")) for call in run.calls if call.outcome == "denied"}
    reported = [name for name in (run.end.denials if run.end is not None else ()) if name not in known]
    if reported and not found:
        found.append(Finding(DENIED, settings.level, f"the agent reports refused calls: {', '.join(reported[:8])}"))
    return found


def _judge_failures(run: Run, settings: Settings) -> Iterable[Finding] | Unknown:
    answered = [call for call in run.calls if call.outcome != "open"]
    failed = [call for call in answered if call.outcome == "failed"]
    if len(answered) < int(settings.parameters["min_calls"]):
        return []
    share = len(failed) / len(answered) if answered else 0.0
    if share <= float(settings.parameters["max_share"]):
        return []
    message = f"{len(failed)} of {len(answered)} calls failed"
    return [Finding(FAILURES, settings.level, message, tuple(event_of(call) for call in failed[:5]))]


def _judge_loop(run: Run, settings: Settings) -> Iterable[Finding] | Unknown:
    limit = int(settings.parameters["max_repeats"])
    found: list[Finding] = []
    repeated: list[Call] = []
    for call in [*run.calls, None]:
        if call is not None and repeated and _identity(call) == _identity(repeated[-1]):
            repeated.append(call)
            continue
        if len(repeated) > limit:
            message = f"the same call {len(repeated)} times in a row"
            found.append(Finding(LOOP, settings.level, message, (event_of(repeated[0]), event_of(repeated[-1]))))
        repeated = [] if call is None else [call]
    return found


def _identity(call: Call) -> Sequence[str]:
    given = call.call.fields.get("input", call.call.fields.get("input_text"))
    output = None if call.result is None else call.result.fields.get("output")
    return call.name, json.dumps(given, sort_keys=True, default=str), json.dumps(output, sort_keys=True, default=str)


UNDECLARED, DENIED, FAILURES, LOOP = "tools/undeclared", "tools/denied", "tools/failures", "tools/loop"
RULES = (
    Rule(
        UNDECLARED,
        "error",
        "Only declared tools are used",
        'Each call must be covered by a pattern of `allow`, such as "Read", "Bash(git log *)" or "Edit(src/**)"; each '
        "command of a command line by itself. Bash stands for the shell tool of every agent. It judges the calls, not "
        "what the agent says about its permissions. It applies only if `allow` is set.",
        _judge_undeclared,
        (Parameter("allow", [], "patterns of the allowed calls"),),
        requires="allow",
    ),
    Rule(
        DENIED,
        "warning",
        "No call was refused",
        "A refused call shows that the agent tried something that it may not do, or that it may do too little. Decided "
        "from the results of calls and from the end record of the event stream. It cannot see who refused: the user, "
        "the permissions, or a sandbox. A suppression accepts a finding.",
        _judge_denied,
    ),
    Rule(
        FAILURES,
        "warning",
        "Few calls fail",
        "Reports a run in which more than `max_share` of at least `min_calls` calls failed: the result is an error, or "
        "the exit code is not 0. It cannot see that a program such as grep fails when it finds nothing.",
        _judge_failures,
        (
            Parameter("max_share", 0.5, "the allowed share of failed calls, from 0 to 1"),
            Parameter("min_calls", 10, "calls from which on the share counts"),
        ),
    ),
    Rule(
        LOOP,
        "warning",
        "The agent does not repeat itself",
        "Reports a call that is made more than `max_repeats` times in a row with the same input and the same result. "
        "It cannot see a loop of several calls, nor one whose output has a time in it.",
        _judge_loop,
        (Parameter("max_repeats", 4, "how often in a row"),),
        strict="error",
    ),
)
