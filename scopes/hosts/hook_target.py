"""The interface of a program with hooks: install them, remove them, return their state.

A target is an object, so that hooks of another kind, such as those of git, are one more class. The table of targets is
`server.hook_targets`.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Literal, NamedTuple, Protocol, TypeAlias

from scopes.hosts.config_file import FileChange
from scopes.hosts.program import RUN
from scopes.result import Result

HookCondition: TypeAlias = Literal["installed", "missing", "outdated", "unreadable"]


class HookEnvironment(NamedTuple):
    """Where hooks are installed, and what they run.

    home: the user's home directory
    cwd: the current directory, for hooks of a project
    environ: the environment, which may move a program's configuration
    command: the words that start this program
    store: the store that was named; None for that of the directory where a hook runs
    """

    home: str
    cwd: str
    environ: dict[str, str]
    command: tuple[str, ...]
    store: str | None = None


def hook_words(environment: HookEnvironment, name: str) -> list[str]:
    """Return the command that the hook of a target runs."""
    words = [*environment.command, *RUN, name]
    return words if environment.store is None else [*words, "--store", environment.store]


def describe_outdated(
    environment: HookEnvironment,
    commands: Iterable[Sequence[str]],
    missing: Iterable[str] = (),
    *,
    is_old_form: bool = False,
) -> str:
    """Return how hooks differ from those that `install` would write: other programs and stores, and missing hooks.

    commands: the words that the hooks run.
    is_old_form: the agent gets the exit code or the errors of what they run, also if that is gone.
    """
    parts = []
    wanted = [] if environment.store is None else ["--store", environment.store]
    for words in commands:
        position = next((at for at in range(len(words)) if tuple(words[at : at + 2]) == RUN), len(words))
        program, store = list(words[:position]), list(words[position + 3 :])
        if program != list(environment.command):
            parts.append(f"it starts {describe_program(program)}, not {describe_program(environment.command)}")
        if store != wanted:
            parts.append(f"it records into {describe_store(store)}, not {describe_store(wanted)}")
    parts += [f"the hook for {event} is missing" for event in missing]
    if is_old_form:
        parts.append("it has the old form, which stops the agent or prints errors if scopes is gone")
    return "; ".join(dict.fromkeys(parts)) or "it is of another version"


def recorded_store(environment: HookEnvironment, commands: Iterable[Sequence[str]]) -> str | None:
    """Return the store that hooks name, of which `commands` are the words, or the one that `install` would name."""
    named = [words[at + 1] for words in commands for at in range(len(words) - 1) if words[at] == "--store"]
    return named[0] if named else environment.store


def describe_program(words: Sequence[str]) -> str:
    """Return the interpreter and the program, without the options between them."""
    return shlex.join([*words[:1], *words[1:][-1:]])


def describe_store(options: Sequence[str]) -> str:
    """Return the store that options name."""
    return options[1] if len(options) > 1 else "the store of the agent's directory"


_SENTENCES = {
    "added": "Added the hooks of scopes to {file}",
    "replaced": "Brought the hooks of scopes in {file} up to date",
    "unchanged": "{file} has these hooks already",
    "removed": "Removed the hooks of scopes from {file}",
    "absent": "{file} has no hooks of scopes",
}
_SAME = frozenset({"unchanged", "absent"})


class HookState(NamedTuple):
    """How the hooks of one target are.

    condition: `outdated` if they run another command than `install` would write now, such as one that has moved
    detail: why it is not as it should be; empty if it is
    last: the time of the last turn that a hook has recorded, or tried to
    problem: why the last turn was not recorded, or the next one cannot be; None if it was, or if there are no hooks
        any more
    cure: what to do about `detail` and `problem`; None if there is neither
    trailers: of git, whether commits of agents get a trailer
    store: the store that the hooks name; None if they follow the agent's directory
    """

    target: str
    condition: HookCondition
    file: str
    detail: str = ""
    last: str | None = None
    problem: str | None = None
    trailers: bool | None = None
    cure: str | None = None
    store: str | None = None

    @property
    def problems(self) -> str:
        """Why it is not as it should be."""
        return "; ".join(filter(None, (self.detail, self.problem)))

    @property
    def has_trailers(self) -> str:
        """Whether commits get a trailer, as a word."""
        return "" if self.trailers is None else "on" if self.trailers else "off"

    def document(self) -> dict[str, object]:
        """Return the JSON object."""
        known = self._replace(store=None)._asdict()
        return {name: value for name, value in known.items() if value not in {None, ""}}


@dataclass(frozen=True, slots=True, kw_only=True)
class HooksChanged(Result):
    """What was done to the files of a target.

    shown: nothing was written; the changes are what would be added.
    advice: what is left to do in the other program; None if nothing is.
    """

    target: str
    shown: bool = False
    advice: str | None = None
    changes: tuple[FileChange, ...]

    @property
    def sentence(self) -> list[str]:
        """What was done to each file, and what is left to do."""
        done = [_SENTENCES.get(each.state, "").format(file=each.file) for each in self.changes]
        return [] if self.shown else [*done, self.advice or ""]

    @property
    def answer(self) -> str:
        """The files; of what would be added its text."""
        if not self.shown:
            return "\n".join(each.file for each in self.changes)
        several = len(self.changes) > 1
        return "\n".join(f"# {each.file}\n{each.text}" if several else each.text for each in self.changes)

    @property
    def remark(self) -> list[str]:
        """That a file is as before, and what is left to do."""
        same = [_SENTENCES[each.state].format(file=each.file) for each in self.changes if each.state in _SAME]
        return [*same, self.advice or ""]

    @property
    def next_step(self) -> list[str]:
        """Where the text goes, the file as it was, and how to remove the hooks."""
        if self.shown:
            return [f"goes into {each.file}" for each in self.changes]
        steps = [f"the file as it was: {each.backup}" for each in self.changes if each.backup is not None]
        is_added = any(each.state in {"added", "replaced"} for each in self.changes)
        return [
            *steps,
            *([f"to remove them: scopes setup {quote(self.target)} --only hooks --remove"] if is_added else []),
        ]


class HookTarget(Protocol):
    """A program with hooks."""

    @property
    def name(self) -> str:
        """The name as it is typed."""

    @property
    def summary(self) -> str:
        """What its hooks do, in a line."""

    def install(self, environment: HookEnvironment, *, print_only: bool = False) -> HooksChanged:
        """Add the hooks, or bring them up to date; with `print_only` return what would be written.

        Raises:
            Refused: something in its configuration would be lost.
            Busy: its configuration was changed meanwhile.
            Inaccessible: it cannot be read or written.
        """

    def status(self, environment: HookEnvironment) -> HookState:
        """Return the state of the hooks; a file that cannot be read is a condition, not an error."""

    def remove(self, environment: HookEnvironment) -> HooksChanged:
        """Remove the hooks; raises as `install`."""
