"""Judge one tool call before it runs, for the hooks of agents (`scopes check --hook`).

Only rules that one call decides are judged: those about commands, files, tools and hosts, and own rules of the form
`never A`. Where a path leads through symbolic links of the disk, that place counts too; `links` has what it cannot see.
What needs the history of the run (its order, cost or end) is judged by `scopes check` afterwards.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final, Literal, NamedTuple, TypeAlias

from scopes.check.calls import Call, command_line_of, edits_of, has_unread_command
from scopes.check.findings import Finding, is_at_least, redacted
from scopes.check.judge import Judge
from scopes.check.links import Links
from scopes.check.policy import Policy
from scopes.check.run import Run
from scopes.check.workspace import find_checkout, is_workspace, relative_to, resolve
from scopes.errors import Invalid
from scopes.ids import MessageId
from scopes.model.message import Part
from scopes.model.tools import directories_of_command

AGENTS = ("claude-code", "codex", "gemini")
MAX_INPUT = 1 << 20  # bytes
_EVENTS = {"claude-code": "PreToolUse", "codex": "PreToolUse", "gemini": "BeforeTool"}
# Variables with the directory in which the agent was started; `cwd` of the input follows its `cd`.
_PROJECTS = {"claude-code": "CLAUDE_PROJECT_DIR", "gemini": "GEMINI_PROJECT_DIR"}
_RULES = ("shell/", "files/", "tools/undeclared", "net/", "secrets/read")
_UNREAD = "shell/opaque"
_MAX_FINDINGS, _MAX_REASON = 5, 2000
_HEADING = "This call has not run: it breaks a rule of the project."
# What to do instead of what a rule forbids. The `cure` of a finding is for people: it says how to change the policy.
ADVICE: Final = {
    "files/changes": "only read, and report what should change",
    "files/outside-workspace": "write inside the workspace",
    "files/protected": "leave the file as it is, and ask the user to change it",
    "files/tests-weakened": "keep what the tests check, and mend the code that they test",
    "net/host": "do without this host",
    "secrets/read": "do without this file or value",
    "shell/force-push": "push without force",
    "shell/history-loss": "commit or stash first",
    "shell/install": "use the packages that are there",
    "shell/no-verify": "let the hooks run, and mend what they report",
    _UNREAD: "write the commands out, one plain command at a time",
    "shell/pipe-to-shell": "download to a file, and read it",
    "shell/privilege": "run it without other rights",
    "shell/publish": "leave publishing to the user",
    "shell/push": "leave the push to the user",
    "shell/recursive-delete": "delete inside the workspace, and name each path",
    "tools/undeclared": "use the tools and commands that are declared",
}
_OTHERWISE: Final = "reach the goal without it"

Action: TypeAlias = Literal["pass", "ask", "deny", "warn"]


class HookInput(NamedTuple):
    """The call that an agent is about to make.

    project: the workspace
    policy_directories: where the policy is looked for, in this order
    checkout: the directory of the checkout, if a CI system states it
    """

    agent: str
    project: str
    policy_directories: tuple[str, ...]
    directory: str
    call: Part
    checkout: str | None = None


class Decision(NamedTuple):
    """The answer about a call; `warn` lets it run and shows the reason to the user."""

    action: Action
    reason: str = ""


def parse_input(agent: str, data: bytes, environ: Mapping[str, str]) -> HookInput:
    """Parse what an agent writes to the standard input of its hook before a tool call.

    Raises:
        Invalid: it is too large, not a JSON object in UTF-8, the input of another hook, or lacks a field.
    """
    if len(data) > MAX_INPUT:
        raise Invalid(f"the input is larger than {MAX_INPUT >> 20} MiB")
    try:
        document = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise Invalid("the input is not one JSON object in UTF-8") from error
    if not isinstance(document, dict):
        raise Invalid("the input is not a JSON object")
    event = document.get("hook_event_name")
    if event != _EVENTS[agent]:
        raise Invalid(f"the input is not that of the hook {_EVENTS[agent]} of {agent}")
    name, given, directory = (document.get(key) for key in ("tool_name", "tool_input", "cwd"))
    if not isinstance(name, str) or not name or not isinstance(given, (dict, str)):
        raise Invalid("the input has no tool_name with a tool_input")
    if not isinstance(directory, str) or not os.path.isabs(directory) or "\0" in directory:
        raise Invalid("the input has no absolute cwd")
    key = "input" if isinstance(given, dict) else "input_text"
    call = Part("tool_call", {"call_id": "hook", "name": name, key: given})
    checkout = find_checkout(environ)
    project = environ.get(_PROJECTS.get(agent, ""), "")
    if not os.path.isabs(project) or "\0" in project:
        project = next((each for each in _walk_repositories(directory) if is_workspace(each, checkout)), directory)
    return HookInput(agent, project, find_policy_directories(project), directory, call, checkout)


def find_policy_directories(project: str) -> tuple[str, ...]:
    """Return the directories in which the policy of a project is looked for: an outer repository before an inner one.

    An agent can make a repository in its project, work in it, and give it a policy. That of the repository around it
    comes first, unless somebody else may have written that: it must belong to the owner of the project or to the user.
    """
    owners = {os.geteuid(), *(found.st_uid for found in map(_stat, [project]) if found is not None)}
    outer = []
    for folder in _walk_repositories(project):
        status = _stat(folder)
        if folder != project and status is not None and status.st_uid in owners and not status.st_mode & stat.S_IWOTH:
            outer.append(folder)
    return (*reversed(outer), project)


def judge_call(wanted: HookInput, policy: Policy, *, denies_unread: bool = False) -> Decision:
    """Judge a call by the rules of a policy that one call decides.

    A finding at the level `fail_on` or of the level error denies the call, a warning asks the user. What cannot be read
    never passes: the user is asked, or with `denies_unread` the call is denied.

    Raises:
        Invalid: it is a call of a shell, and its command is no text.
    """
    if has_unread_command(wanted.call):
        raise Invalid("the command of the call is not a text")
    run = _run_of(wanted)
    own = {rule.id for rule in policy.own_rules if rule.expectation.form == "never"}
    verdicts = Judge(policy).verdicts(run, lambda rule: rule in own or rule.startswith(_RULES))
    findings = [finding for verdict in verdicts for finding in verdict.findings if finding.counts]
    denied = [each for each in findings if each.level == "error" or is_at_least(each.level, policy.fail_on)]
    if denied:
        return Decision("deny", _explain(denied))
    warnings = [each for each in findings if each.level == "warning" or each.rule == _UNREAD]
    if denies_unread and any(each.rule == _UNREAD for each in warnings):
        return Decision("deny", _explain(warnings))
    return Decision("ask", _explain(warnings)) if warnings else Decision("pass")


def format_answer(agent: str, decision: Decision) -> str:
    """Return the JSON object that the agent reads from the standard output of its hook.

    A call that passes gets no decision: `allow` would skip the agent's own permissions. Codex cannot ask the user in
    a hook and ignores an answer that does, so that it gets a message.
    """
    action, reason = decision
    if action == "pass":
        return "{}"
    if action == "warn" or (action == "ask" and agent == "codex"):
        return json.dumps({"systemMessage": reason})
    if agent == "gemini":
        return json.dumps({"decision": action, "reason": reason, "systemMessage": reason})
    answer = {"permissionDecision": action, "permissionDecisionReason": reason}
    return json.dumps({"hookSpecificOutput": {"hookEventName": _EVENTS[agent], **answer}})


class _CallRun(Run):
    """A run of one call, whose directory may be the result of an earlier `cd`: the project is the only workspace."""

    @cached_property
    def workspaces(self) -> tuple[str, ...]:
        top = self.directory
        return (top,) if top is not None and is_workspace(top, self.checkout) else ()

    @cached_property
    def _links(self) -> Links:
        return Links()

    def find_places(self, path: str, directory: str | None, *, follows_last: bool = True) -> Sequence[str]:
        """Return where links of the disk lead a path now; the workspace can itself be below a link.

        A tool may take `..` behind a link for the directory of the link, or as the kernel does: both are returned.

        Raises:
            Invalid: there are too many paths.
        """
        written = resolve(path, directory)
        if written is None or not written.startswith("/"):
            return ()
        top = self.directory
        real_top = None if top is None else self._links.follow(top)
        places = []
        for each in dict.fromkeys((written, os.path.join(directory or "/", path))):
            real = self._links.follow(each, follows_last=follows_last)
            inside = relative_to(real, real_top)
            places.append(real if inside is None or top is None else os.path.normpath(os.path.join(top, inside)))
        return [each for each in dict.fromkeys(places) if each != written]


def _walk_repositories(directory: str) -> Iterator[str]:
    """Yield the top directories of the working trees that a directory is in, the innermost first."""
    folder = os.path.normpath(directory)
    while True:
        if os.path.lexists(os.path.join(folder, ".git")):
            yield folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except (OSError, ValueError):
        return None


def _run_of(wanted: HookInput) -> Run:
    """Return a run with the one call, which has no result yet."""
    directory = wanted.directory
    shell = command_line_of(wanted.call)
    if shell is not None:
        resolved = (resolve(named, directory) for named in directories_of_command(wanted.call))
        directory = next(filter(None, resolved), directory)
    message = MessageId("hook")
    call = Call(
        number=1,
        message=message,
        agent=wanted.agent,
        sub_agent=False,
        call=wanted.call,
        result=None,
        outcome="open",
        exit_code=None,
        directory=directory,
        shell=shell,
        edits=edits_of(wanted.call),
    )
    return _CallRun("hook", None, None, wanted.project, (call,), (), (), checkout=wanted.checkout)


def _explain(findings: list[Finding]) -> str:
    """Return a heading, and one line for each finding: the rule, what is wrong, what it matched, what to do instead.

    The agent reads it: how to allow the call is not in it.
    """
    lines = [_HEADING]
    for finding in map(redacted, findings[:_MAX_FINDINGS]):
        match = f" [{finding.match}]" if finding.match and finding.match not in finding.message else ""
        wrapper = f" in {finding.wrapper}" if finding.wrapper else ""
        advice = ADVICE.get(finding.rule, _OTHERWISE)
        lines.append(f"{finding.rule}: {finding.message}{match}{wrapper}; instead: {advice}, or ask the user")
    if len(findings) > _MAX_FINDINGS:
        lines.append(f"and {len(findings) - _MAX_FINDINGS} more")
    return "\n".join("".join(c if c.isprintable() else " " for c in line)[:_MAX_REASON] for line in lines)
