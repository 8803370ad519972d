"""Find what a command line may change: known writers with their operands, and programs that are no known readers."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from scopes.model.shell_effects import Action
from scopes.model.shell_programs import FORMATTING, READERS, read_git, read_program
from scopes.model.shell_words import ANY, SimpleCommand, Unreadable, read_variable, split_command

MAY_CHANGE_UNNAMED = re.compile(
    rb"\bgit [^\"]{0,200}"
    rb"(?:checkout|restore|reset|stash|clean|merge|rebase|pull|pick|revert|apply|am|switch|rm|mv|bisect)\b"
    rb"|\b(?:rm|mv|sed|perl|xargs|find|patch|black|isort|ruff|gofmt|prettier|eslint|rsync|cp) "
    rb"|--(?:fix|write)|\b(?:fmt|format)\b"
)
"""What the stored bytes of a message have if a command in it may change a file that it does not name."""
MAX_COMMAND = 100_000  # characters that are parsed
MAX_LEVELS = 8  # of scripts in scripts
_BEGIN, _END = "*** Begin Patch\n", "*** End Patch"
SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh"})
_WRAPPERS = frozenset(
    [
        "sudo",
        "env",
        "time",
        "nohup",
        "nice",
        "command",
        "exec",
        "builtin",
        "stdbuf",
        "setsid",
        "timeout",
        "xargs",
        "npx",
        "bunx",
        "pipx",
        "uvx",
        "parallel",
    ]
)
_RUNNERS = {"uv": "run", "poetry": "run", "pdm": "run", "hatch": "run", "rye": "run", "bundle": "exec", "npm": "exec",
            "pnpm": "exec", "yarn": "exec"}  # fmt: skip
_VALUED = frozenset(
    ["-n", "-P", "-I", "-L", "-d", "-s", "-k", "-u", "-E", "--with", "--python", "--group", "--extra", "--signal"]
)


@lru_cache(maxsize=64)
def read_actions(command: str, directory: str = "") -> tuple[Action, ...]:
    """Return the parts of a command line that may change files, given the directory in which it begins."""
    text = without_patches(command)
    if len(text) > MAX_COMMAND:
        return (Action(cause="a long command", text=text, directory=directory),)
    return tuple(_read_script(text, directory, 0))


def _read_script(script: str, directory: str, level: int) -> Iterator[Action]:
    try:
        commands = split_command(script) if level <= MAX_LEVELS else None
    except (Unreadable, RecursionError):
        commands = None
    if commands is None:
        yield Action(cause="a command that cannot be parsed", text=script, directory=directory)
        if any(word in script for word in ("git ", "rm ", "mv ", "sed ", "*")):
            yield Action(cause="a command that cannot be parsed", everything=True, directory=directory)
        return
    yield from _Script(directory, level, commands).read()


def without_patches(command: str) -> str:
    """Return a command line without the patches in it, whose lines are read as edits."""
    pieces, at = [], 0
    while (begin := command.find(_BEGIN, at)) >= 0 and (end := command.find(_END, begin)) >= 0:
        pieces.append(command[at:begin])
        at = end + len(_END)
    return "".join(pieces) + command[at:]


class _Script:
    """Reads the commands of one command line; knows its variables, directories, and the scripts that it writes."""

    def __init__(self, directory: str, level: int, commands: list[SimpleCommand]) -> None:
        self._commands = commands
        self._level = level
        self._values: dict[str, tuple[str, ...]] = {}
        self._directories: dict[tuple[int, ...], str] = {(): directory}
        self._scripts: dict[str, str] = {}
        self._found: tuple[str, ...] = ()  # the names that a `find` before a pipe prints

    def read(self) -> Iterator[Action]:
        stashes = [each.words[2:3] for each in self._commands if each.words[:2] == ["git", "stash"]]
        is_restored = len(stashes) > 1 and stashes[-1] in (["pop"], ["apply"])
        for command in self._commands:
            directory = self._directory_of(command.scope)
            for name, value in command.variables:
                known = tuple(read_variable([value], self._values))
                self._values[name] = tuple(dict.fromkeys((*self._values.get(name, ()), *known)))
            words = read_variable(command.words, self._values)
            if words[:1] == ["for"] and len(words) > 3 and words[2] == "in":
                self._values[words[1]] = tuple(words[3:])
            if words[:1] in (["cd"], ["pushd"], ["popd"]):
                target = next((word for word in words[1:] if not word.startswith("-")), ANY)
                self._directories[command.scope] = posixpath.join(directory, target)
            outputs = tuple(read_variable(command.outputs, self._values))
            for output in outputs:
                name = posixpath.basename(output)
                yield Action(
                    cause=f"> {name if name.isprintable() else 'a file'}", operands=(output,), directory=directory
                )
                self._scripts[name] = " ".join((*words, *command.texts))
            if is_restored and words[:2] == ["git", "stash"]:
                continue
            yield from self._read_words(words, command, directory, self._level)
            self._found = _names_found(words) if not command.piped or words[:1] == ["find"] else self._found

    def _directory_of(self, scope: tuple[int, ...]) -> str:
        size = next(size for size in range(len(scope), -1, -1) if scope[:size] in self._directories)
        return self._directories.setdefault(scope, self._directories[scope[:size]])

    def _read_words(self, words: Sequence[str], command: SimpleCommand, directory: str, level: int) -> Iterator[Action]:
        names: tuple[str, ...] = ()
        words, is_fed = unwrap(list(words))
        if not words or level > MAX_LEVELS:
            return
        if is_fed:
            words, names = [*words, ANY], self._found
        program, rest = posixpath.basename(words[0]), words[1:]
        texts = "\n".join(command.texts)
        written = [self._scripts[name] for word in words if (name := posixpath.basename(word)) in self._scripts]
        if written and program not in READERS and program not in {"rm", "chmod", "git"}:
            yield Action(cause=program, text="\n".join(written), directory=directory)
        if program in SHELLS or program == "eval":
            script = next((rest[at + 1] for at, word in enumerate(rest[:-1]) if word in {"-c", "-lc", "-ec"}), None)
            script = " ".join(rest) if program == "eval" else script
            for text in filter(None, (script, texts)):
                yield from _read_script(text.replace(ANY, "$_"), directory, level + 1)
            if script is None and rest:
                yield Action(cause=program, text=" ".join(rest[1:]), directory=directory)
        elif program == "find":
            yield from self._read_find(rest, command, directory, level)
        elif program == "git":
            yield from read_git(rest, texts, directory)
        else:
            for action in read_program(program, rest, texts, directory):
                yield replace(action, names=names) if names else action

    def _read_find(self, rest: list[str], command: SimpleCommand, directory: str, level: int) -> Iterator[Action]:
        names = _names_found(["find", *rest])
        roots = []
        for word in rest:
            if word.startswith(("-", "(", "!")):
                break
            roots.append(word)
        if "-delete" in rest:
            yield Action(
                cause="find -delete", operands=tuple(roots or ["."]), trees=True, names=names, directory=directory
            )
        for option in ("-exec", "-execdir", "-ok", "-okdir"):
            if option in rest:
                inner = rest[rest.index(option) + 1 :]
                stop = next((at for at, word in enumerate(inner) if word in {";", "+"}), len(inner))
                words = [ANY if word == "{}" else word.replace("{}", ANY) for word in inner[:stop]]
                for action in self._read_words(words, command, directory, level + 1):
                    yield replace(action, names=names) if names and not action.text else action
        yield from (
            Action(cause="find -fprint", operands=(rest[at + 1],), directory=directory)
            for at, word in enumerate(rest[:-1])
            if word.startswith("-fprint")
        )


def _names_found(words: Sequence[str]) -> tuple[str, ...]:
    """Return the names that a `find` looks for; empty if it finds any file."""
    if words[:1] != ["find"] or ("-o" in words and "-name" not in words):
        return ()
    return tuple(words[at + 1] for at, word in enumerate(words[:-1]) if word == "-name")


def unwrap(words: list[str]) -> tuple[list[str], bool]:
    """Return the command that `sudo`, `xargs`, `uv run` and the like run, and whether it gets operands of a pipe."""
    is_fed = False
    while words:
        program = posixpath.basename(words[0])
        runs = program in _WRAPPERS or (len(words) > 1 and _RUNNERS.get(program) == words[1])
        if program == "xargs":
            is_fed = True
        elif program in {"yarn", "pnpm"} and words[1:2] and words[1] in FORMATTING:
            words = words[1:]
            continue
        elif program.startswith("python") and len(words) > 2 and words[1] == "-m":
            words = words[2:]
            continue
        if not runs:
            return words, is_fed
        at = 1 if program in _WRAPPERS else 2
        while at < len(words) and (words[at].startswith("-") or "=" in words[at]):
            at += 2 if words[at] in _VALUED else 1
        words = words[at + 1 if program == "timeout" else at :]
    return words, is_fed
