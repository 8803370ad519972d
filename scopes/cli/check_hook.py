"""`scopes check --hook`: read a tool call from standard input and answer in the form of the agent.

The agent waits for the answer before every call, so this path imports neither typer nor rich, and opens no store. A
broken input, a mistake in the policy and any other failure deny the call, unless `scopes.check.hookFailure` is `open`:
agents let a call run if its hook fails.
"""

from __future__ import annotations

import os
import select
import sys
import time
from dataclasses import replace

from scopes.check.hook import AGENTS, MAX_INPUT, Decision, format_answer, judge_call, parse_input
from scopes.check.policy import FAIL_ON, PRESETS, Policy, parse_policy
from scopes.check.policy_sources import CommittedTree, PolicySource, WorkingTree
from scopes.check.rules.base import FILE_NAME
from scopes.check.rules.registry import PARAMETERS
from scopes.errors import Invalid, NotFound, ScopesError
from scopes.regular_file import read_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scopes.store.config import Setting

_FLAGS = {"--hook": "agent", "--rules": "rules", "--preset": "preset"}
_MAX_POLICY = 1 << 20
_SECONDS = 10.0  # to wait for the input
_BLOCK = 2  # the exit code with which a hook of each agent blocks a call; the reason is on standard error


def parse_words(words: Sequence[str]) -> dict[str, str] | None:
    """Return the values of `check --hook AGENT` and its options; None if there are words for the ordinary parser."""
    if not words or words[0] != "check":
        return None
    values: dict[str, str] = {}
    rest = iter(words[1:])
    for word in rest:
        name, equals, value = word.partition("=")
        if name not in _FLAGS:
            return None
        given = value if equals else next(rest, None)
        if given is None or _FLAGS[name] in values:
            return None
        values[_FLAGS[name]] = given
    return values if values.get("agent") in AGENTS else None


def split_rules(text: str | None) -> tuple[str | None, str | None]:
    """Split `[REV:]FILE` into the path of a policy and the commit that it is read from; None for what is not given.

    Raises:
        Invalid: it is empty.
    """
    if text == "":  # would be taken for an option that is not given, and the policy for another one
        raise Invalid("--rules is empty", hint="leave it out, or set the variable that it comes from")
    revision, colon, path = (text or "").partition(":")
    if not revision or not colon or revision.split() != [revision] or os.path.lexists(text or ""):
        return text, None
    return path or None, revision


def check_choices(preset: str | None, fail_on: str | None = None) -> None:
    """Raise Invalid if the value of --preset or --fail-on is not one of the words that it can be."""
    for option, value, choices in (("--fail-on", fail_on, FAIL_ON), ("--preset", preset, PRESETS)):
        if value is not None and value not in choices:
            raise Invalid(f"{option} {value!a} is not possible: use one of {', '.join(choices)}")


def run_hook(
    environ: Mapping[str, str],
    agent: str,
    rules: str | None = None,
    revision: str | None = None,
    preset: str | None = None,
    *,
    overrides: Mapping[str, Setting] | None = None,
) -> int:
    """Answer the hook of an agent, and return the exit code; a failure is an answer too.

    The policy is read from the project directory of the input, a repository around it first, or from the commit
    `revision` of these repositories. `overrides` are the settings of the command line and the environment.

    Raises:
        Invalid: there is no such agent.
    """
    if agent not in AGENTS:
        raise Invalid(f"--hook {agent!a} is not possible: use one of {', '.join(AGENTS)}")
    try:
        wanted = parse_input(agent, _read_input(), environ)
        policy = _read_policy(wanted.policy_directories, rules, revision, preset)
        decision = judge_call(wanted, policy)
        if decision.action == "ask" and _read_setting("scopes.check.hookUnread", environ, overrides) != "ask":
            decision = judge_call(wanted, policy, denies_unread=True)
    except (ScopesError, OSError, ValueError, RecursionError) as error:
        return answer_failure(environ, agent, error, overrides)
    return _write(agent, decision)


def answer_failure(
    environ: Mapping[str, str], agent: str, error: BaseException, overrides: Mapping[str, Setting] | None = None
) -> int:
    """Answer the hook of an agent if the call could not be judged, and return the exit code."""
    text = error.message if isinstance(error, ScopesError) else f"{type(error).__name__}: {error}"
    reason = f"scopes check --hook failed: {text}"
    if _read_setting("scopes.check.hookFailure", environ, overrides) == "open":
        return _write(agent, Decision("warn", f"{reason}; the call was not checked"))
    return _write(agent, Decision("deny", f"{reason}; the call has not run: ask the user"))


def _write(agent: str, decision: Decision) -> int:
    try:
        sys.stdout.write(format_answer(agent, decision) + "\n")
        sys.stdout.flush()
    except (OSError, ValueError):
        sys.stderr.write("scopes check --hook could not write its answer\n")
        return _BLOCK
    return 0


def _read_setting(name: str, environ: Mapping[str, str], overrides: Mapping[str, Setting] | None) -> str | None:
    """Return a setting of the user, or its default; None if the configuration cannot be read."""
    try:
        if overrides is None:
            from scopes.cli.invocation import Invocation

            overrides = Invocation([], environ).overrides
        from scopes.store.config import Config, user_config

        config = Config(user_config(), overrides, "")
        found = config.find(name)
        from scopes.store.config import DEFAULTS

        return str(DEFAULTS[name] if found is None else found)
    except (ScopesError, OSError, ValueError):
        return None


def _read_input() -> bytes:
    """Read standard input to its end, or one byte more than is allowed; wait for at most ten seconds."""
    descriptor = sys.stdin.fileno()
    end = time.monotonic() + _SECONDS
    content = b""
    while len(content) <= MAX_INPUT:
        ready, _, _ = select.select([descriptor], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            raise Invalid(f"the input did not end within {_SECONDS:.0f} seconds")
        chunk = os.read(descriptor, MAX_INPUT + 1 - len(content))
        if not chunk:
            break
        content += chunk
    return content


def _read_policy(directories: Sequence[str], rules: str | None, revision: str | None, preset: str | None) -> Policy:
    """Return the policy of the first directory that has one; the defaults if none has and none was named."""
    check_choices(preset)
    path = rules or FILE_NAME
    found = _find_policy(directories, path, revision)
    if found is None and (rules is not None or revision is not None):
        name = os.path.join(directories[-1], path) if revision is None else f"{revision[:12]}:{path}"
        raise NotFound(f"there is no policy {name}")
    if found is None:
        policy = Policy()
    else:
        data, name, source = found
        policy = parse_policy(data.decode("utf-8-sig"), name, PARAMETERS, source)
    return policy if preset is None else replace(policy, preset=preset)


def _find_policy(directories: Sequence[str], path: str, revision: str | None) -> tuple[bytes, str, PolicySource] | None:
    """Return the bytes, the name and the source of the first policy in one of the directories, or in their commits."""
    missing: NotFound | None = None
    for directory in directories:
        name = os.path.join(directory, path)
        try:
            if revision is None:
                return read_regular(name, _MAX_POLICY), name, WorkingTree(name)
            from scopes.check.committed_files import CommittedFiles

            commit = CommittedFiles(directory, revision)
            source = CommittedTree(path, revision, commit.read)
            data = commit.read(source.path)
            if data is not None:
                return data, f"{revision[:12]}:{path}", source
        except FileNotFoundError:
            continue
        except NotFound as error:  # an outer repository need not have the revision
            missing = error
    if missing is not None:
        raise missing
    return None
