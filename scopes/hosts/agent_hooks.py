"""The hooks of agents that keep them in a JSON file: which events end a turn, and the shape of an entry.

Sources: code.claude.com/docs/en/hooks (Claude Code), developers.openai.com/codex/hooks (Codex, run with 0.169), the
hooks reference of Gemini CLI (docs/hooks/reference.md, run with 0.61), cursor.com/docs/agent/hooks (Cursor, not run). A
hook is one shell command, so it has no data in it: what it needs comes on its standard input.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from scopes.errors import Inaccessible, Refused
from scopes.hosts.agents import AGENTS, config_directory
from scopes.hosts.config_file import (
    FileChange,
    State,
    advise_removal,
    format_json,
    keep_copy,
    parse_json,
    read_text,
    read_to_change,
    save,
)
from scopes.hosts.hook_target import (
    HookEnvironment,
    HooksChanged,
    HookState,
    describe_outdated,
    hook_words,
    recorded_store,
)
from scopes.hosts.json_entries import has_entries, take_out
from scopes.hosts.program import GUARD, RUN, guarded, is_hook_run, split_command

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class JsonHooks:
    """An agent with a JSON file that has hooks below the key `hooks`, a list for each event.

    name: the name of the agent
    file: the file in its configuration directory
    entry: makes the entry of an event for a command
    nested: an entry has a list of hooks of its own, below `hooks`
    head: the fields of a new file besides the hooks
    shorter: the longest timeout that the agent takes of events where it is less than that of the entry
    """

    name: str
    summary: str
    file: str
    events: tuple[str, ...]
    entry: Callable[[str], Document]
    nested: bool = True
    head: tuple[tuple[str, Any], ...] = ()
    shorter: tuple[tuple[str, int], ...] = ()
    advice: str | None = None

    def install(self, environment: HookEnvironment, *, print_only: bool = False) -> HooksChanged:
        """Add the hooks, or bring them up to date; as `HookTarget.install`."""
        path, command = self._path(environment), self._command(environment)
        text = json.dumps({"hooks": {event: [self._entry(event, command)] for event in self.events}}, indent=2)
        if print_only:
            return HooksChanged(target=self.name, changes=(FileChange(path, "shown", text),), shown=True)
        before = read_to_change(path)
        document = parse_json(before, path)
        found = list(self._commands(document, path))
        if sorted(found) == sorted((event, command) for event in self.events):
            return HooksChanged(target=self.name, changes=(FileChange(path, "unchanged", text),))
        after = self._add(document, path, command)
        copy = keep_copy(path, before) if before is not None and self._has_more(document, path) else None
        backup = save(path, before, after, keep=not has_entries(document)) or copy
        state: State = "replaced" if found else "added"
        return HooksChanged(target=self.name, changes=(FileChange(path, state, text, backup),), advice=self.advice)

    def status(self, environment: HookEnvironment) -> HookState:
        """Return the state of the hooks."""
        path, command = self._path(environment), self._command(environment)
        try:
            found = list(self._commands(parse_json(read_text(path), path), path))
        except (Refused, Inaccessible) as error:
            return HookState(self.name, "unreadable", path, error.message)
        if not found:
            return HookState(self.name, "missing", path)
        if sorted(found) != sorted((event, command) for event in self.events):
            others = [other for _, other in found if other != command]
            missing = [event for event in self.events if event not in dict(found)]
            is_old = any(not other.endswith(GUARD) for other in others)
            detail = describe_outdated(environment, map(split_command, others), missing, is_old_form=is_old)
            store = recorded_store(environment, map(split_command, others))
            return HookState(self.name, "outdated", path, detail, store=store)
        return HookState(self.name, "installed", path, store=environment.store)

    def remove(self, environment: HookEnvironment) -> HooksChanged:
        """Remove the hooks; as `HookTarget.remove`."""
        path = self._path(environment)
        with advise_removal(f"the hooks in {path} whose command has `{' '.join(RUN)} {self.name}`"):
            before = read_to_change(path)
            document = parse_json(before, path)
            if before is None or not any(self._commands(document, path)):
                return HooksChanged(target=self.name, changes=(FileChange(path, "absent"),))
            after, loses = self._without(document, path), self._has_more(document, path)
            backup = take_out(path, before, after, dict(self.head), loses=loses)
        return HooksChanged(target=self.name, changes=(FileChange(path, "removed", backup=backup),))

    def _path(self, environment: HookEnvironment) -> str:
        return os.path.join(config_directory(AGENTS[self.name], environment.environ, environment.home), self.file)

    def _command(self, environment: HookEnvironment) -> str:
        return guarded(hook_words(environment, self.name))

    def _entry(self, event: str, command: str) -> Document:
        entry = self.entry(command)
        for hook in self._hooks(entry):
            self._shorten(event, hook)
        return entry

    def _shorten(self, event: str, hook: Document) -> None:
        """Give a hook the longest timeout that the agent takes, which warns of a longer one at each start."""
        longest, timeout = dict(self.shorter).get(event), hook.get("timeout")
        if longest is not None and isinstance(timeout, int) and timeout > longest:
            hook["timeout"] = longest

    def _add(self, document: Document, path: str, command: str) -> str:
        """Return the text of the file with the hooks; of those that it has, only the command changes."""
        document = deepcopy(document)
        for key, value in self.head:
            document.setdefault(key, value)
        hooks = document["hooks"] = _hooks_of(document, path)
        for event in self.events:
            entries = hooks.setdefault(event, [])
            if not isinstance(entries, list):
                raise Refused(f"{event!a} of the hooks in {path} is not a list", hint="show what to add: --dry-run")
            hooks[event] = list(self._with_command(entries, command))
            ours = [hook for entry in hooks[event] for hook in self._hooks(entry) if self._is_ours(hook)]
            for hook in ours:
                self._shorten(event, hook)
            if not ours:
                hooks[event].append(self._entry(event, command))
        for event in [event for event, _ in _events(document, path) if event not in self.events]:
            hooks[event] = list(self._with_command(hooks[event], None))
        return format_json(document)

    def _commands(self, document: Document, path: str) -> Iterator[tuple[str, str]]:
        """Yield event and command of each hook that runs this program."""
        for event, entries in _events(document, path):
            for hook in (hook for entry in entries for hook in self._hooks(entry)):
                if self._is_ours(hook):
                    yield event, hook["command"]

    def _without(self, document: Document, path: str) -> Document:
        """Return a document without our hooks; the lists of the events stay."""
        document = deepcopy(document)
        for event, entries in _events(document, path):
            document["hooks"][event] = list(self._with_command(entries, None))
        return document

    def _with_command(self, entries: list[Any], command: str | None) -> Iterator[Any]:
        """Yield entries with a command in the first of our hooks, and without the others; without all for None."""
        for entry in entries:
            left = []
            for hook in self._hooks(entry):
                if not self._is_ours(hook):
                    left.append(hook)
                elif command is not None:
                    left.append({**hook, "command": command})
                    command = None
            if not any(map(self._is_ours, self._hooks(entry))):
                yield entry
            elif not self.nested:
                yield from left
            elif left:
                yield {**entry, "hooks": left}

    def _has_more(self, document: Document, path: str) -> bool:
        """Return True if an entry of ours has something that we did not write, such as another timeout."""
        for event, entry in ((event, entry) for event, entries in _events(document, path) for entry in entries):
            hooks = self._hooks(entry)
            written = [self._entry(event, hook["command"]) for hook in hooks if self._is_ours(hook)]
            if not self.nested or len(hooks) == len(written):
                if any(entry != each for each in written):
                    return True
            elif any(hook not in hooks for each in written for hook in each["hooks"]):
                return True
        return False

    def _hooks(self, entry: Any) -> list[Any]:
        if not self.nested:
            return [entry]
        hooks = entry.get("hooks") if isinstance(entry, dict) else None
        return hooks if isinstance(hooks, list) else []

    def _is_ours(self, hook: Any) -> bool:
        command = hook.get("command") if isinstance(hook, dict) else None
        return isinstance(command, str) and is_hook_command(command, self.name)


def is_hook_command(command: str, name: str) -> bool:
    """Return True if a shell command runs the hook of this program for a target, and nothing else."""
    return is_hook_run(split_command(command), name)


def _hooks_of(document: Document, path: str) -> Document:
    """Return the object with the events.

    Raises:
        Refused: the file has something else there.
    """
    hooks = document.get("hooks", {})
    if not isinstance(hooks, dict):
        raise Refused(f"'hooks' in {path} is not an object", hint="show what to add: --dry-run")
    return hooks


def _events(document: Document, path: str) -> Iterator[tuple[str, list[Any]]]:
    """Yield the events with their lists; other settings may be among them."""
    return ((event, entries) for event, entries in _hooks_of(document, path).items() if isinstance(entries, list))


def _command_hook(command: str, **fields: Any) -> Document:
    return {"hooks": [{"type": "command", "command": command, **fields}]}


AGENT_HOOKS = (
    JsonHooks(
        "claude-code",
        "Record every turn of Claude Code",
        "settings.json",
        ("Stop", "SubagentStop", "SessionEnd"),
        lambda command: _command_hook(command, timeout=10),
        advice="sessions of Claude Code that are running may not have the hooks: start them again",
    ),
    JsonHooks(
        "codex",
        "Record every turn of Codex",
        "hooks.json",
        ("Stop", "SubagentStop", "SessionEnd"),
        lambda command: _command_hook(command, timeout=10),
        shorter=(("SessionEnd", 3),),
        advice="Codex runs new hooks only after you have trusted them: start it, and answer its question or use /hooks",
    ),
    JsonHooks(
        "gemini",
        "Record every turn of Gemini CLI",
        "settings.json",
        ("AfterAgent", "SessionEnd"),
        lambda command: _command_hook(command, name="scopes", timeout=10_000),
        advice="sessions of Gemini CLI that are running do not have the hooks: start them again",
    ),
    JsonHooks(
        "cursor",
        "Record every turn of Cursor",
        "hooks.json",
        (
            "beforeSubmitPrompt",
            "afterAgentThought",
            "afterAgentResponse",
            "afterFileEdit",
            "afterShellExecution",
            "afterMCPExecution",
            "stop",
        ),
        lambda command: {"command": command},
        nested=False,
        head=(("version", 1),),
        advice="windows of Cursor that are open do not have the hooks: start them again; the hooks follow its "
        "documentation and were not run with it: scopes setup --status shows whether a turn was recorded",
    ),
)
