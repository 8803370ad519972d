"""Match patterns of policies: words of a command line, and paths."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

from scopes.check.shell_command import Command
from scopes.lazy_patterns import compile_lazily

ANY = "**"
_MAX_STEPS = 1_000_000  # of a regular expression, whose time grows with the path to the power of the stars
_TOKEN = compile_lazily(r"\*\*/|\*\*|\*|\?|.", re.DOTALL)
_WILD = compile_lazily(r"[*?\[]")
_BETWEEN_STARS = compile_lazily(r"(?<!\*)\*([^*/]+)(?=\*(?!\*))")


def matches_command(pattern: str, command: Command) -> bool:
    """Return True if a pattern such as `go test **` matches the words of a command.

    `*` in a word matches characters of that word, the word `**` any number of words. The program is compared without
    its directory. A word that the shell computes matches `*` and `**` only.
    """
    return matches_one((pattern,), command)


def matches_one(patterns: Sequence[str], command: Command) -> bool:
    """Return True if one of the patterns matches the words of a command, each as in `matches_command`."""
    program = command.program
    fitting = () if program is None else patterns_for(tuple(patterns), program)
    return bool(fitting) and any(_match(each, (program, *command.argv[1:])) for each in fitting)


@lru_cache(maxsize=4096)
def patterns_for(patterns: tuple[str, ...], program: str) -> tuple[tuple[str, ...], ...]:
    """Return the words of the patterns that commands of a program may match."""
    split = map(str.split, patterns)
    return tuple(tuple(words) for words in split if words and (words[0] == ANY or matches_word(words[0], program)))


def matches_word(pattern: str, word: str) -> bool:
    """Return True if a pattern matches a whole word; `*` stands for any characters."""
    first, *others = _pieces(pattern)
    if not others:
        return word == first
    *middle, last = others
    position, end = len(first), len(word) - len(last)
    if end < position or not word.startswith(first) or not word.endswith(last):
        return False
    for piece in middle:
        position = word.find(piece, position, end)
        if position < 0:
            return False
        position += len(piece)
    return True


def matches_path(pattern: str, path: str) -> bool:
    """Return True if a pattern such as `src/**` or `*.py` matches a path; without a slash it matches the name."""
    if "/" not in pattern:
        path = path.rsplit("/", 1)[-1]
    stars = pattern.count("*") - pattern.count("**")
    if stars > 1 and len(path) ** stars > _MAX_STEPS:
        return _tokens(pattern).matches(path)
    return _path_expression(pattern).fullmatch(path) is not None


def may_match_below(pattern: str, directory: str) -> bool:
    """Return True if a pattern that begins with a name may match a file below a directory, which may be a glob.

    One that may match in any directory, such as `*.lock` and `**/.git/**`, tells nothing about a single one.
    """
    parts, names = pattern.split("/"), [] if directory == "." else directory.split("/")
    if _WILD.search(parts[0]) or len(names) >= len(parts) or ANY in "/".join(parts[: len(names)]):
        return False
    return all(_may_be(part, name) for part, name in zip(parts, names, strict=False))


def may_match_glob(pattern: str, path: str) -> bool:
    """Return True if a pattern that begins with a name may match a file that a glob of a shell names.

    A glob that says too little about the first name, such as `*` and `a*`, tells nothing.
    """
    parts, names = pattern.split("/"), path.split("/")
    if not _WILD.search(path) or _WILD.search(parts[0]) or _WILD.search(names[0][:2]):
        return False
    for number, part in enumerate(parts):
        if part == ANY:
            return number < len(names)
        if ANY in part or number >= len(names) or not _may_be(part, names[number]):
            return False
    return len(parts) == len(names)


def _may_be(part: str, name: str) -> bool:
    """Return True if a component of a pattern matches a name; as in a shell, a glob matches no hidden file by `*`."""
    if not _WILD.search(name):
        return matches_path(part, name)
    return fnmatchcase(part, name) and (name[0] == "." or part[0] != ".")


def _match(pattern: tuple[str, ...], words: tuple[str | None, ...]) -> bool:
    """Match word by word; a failed match goes on one word later at the last `**`."""
    place = position = 0
    last, restart = -1, 0
    while position < len(words):
        if place < len(pattern) and pattern[place] == ANY:
            last, restart, place = place, position, place + 1
        elif place < len(pattern) and _fits(pattern[place], words[position]):
            place, position = place + 1, position + 1
        elif last >= 0:
            restart += 1
            place, position = last + 1, restart
        else:
            return False
    return all(word == ANY for word in pattern[place:])


def _fits(pattern: str, word: str | None) -> bool:
    return pattern == "*" if word is None else matches_word(pattern, word)


@lru_cache(maxsize=1024)
def _pieces(pattern: str) -> tuple[str, ...]:
    return tuple(pattern.split("*"))


class _Tokens:
    """A path pattern as an automaton, whose states are bits of a number: the time is linear in the path.

    State n is before the n-th token. `**/` has a state of its own for the directories in it.
    """

    def __init__(self, pattern: str) -> None:
        self._characters: dict[str, int] = {}
        self._in_name = self._loops = self._name_loops = self._skips = self._groups = self._ends = 0
        bit = 1
        for piece in _TOKEN.findall(pattern):
            if piece == "**/":
                self._groups |= bit
                bit <<= 1
                self._loops |= bit
                self._ends |= bit
            elif piece == ANY:
                self._loops |= bit
                self._skips |= bit
            elif piece == "*":
                self._name_loops |= bit
                self._skips |= bit
            elif piece == "?":
                self._in_name |= bit
            else:
                self._characters[piece] = self._characters.get(piece, 0) | bit
            bit <<= 1
        self._final = bit

    def matches(self, path: str) -> bool:
        """Return True if the pattern matches a whole path."""
        active = self._expand(1)
        for character in path:
            moving = active & self._characters.get(character, 0)
            staying = active & self._loops
            if character == "/":
                moving |= active & self._ends
            else:
                moving |= active & self._in_name
                staying |= active & self._name_loops
            active = self._expand(staying | moving << 1)
            if not active:
                return False
        return bool(active & self._final)

    def _expand(self, active: int) -> int:
        """Add the states that are reached without a character."""
        before = 0
        while before != active:
            before = active
            groups = active & self._groups
            active |= (active & self._skips) << 1 | groups << 1 | groups << 2
        return active


@lru_cache(maxsize=1024)
def _tokens(pattern: str) -> _Tokens:
    return _Tokens(pattern)


@lru_cache(maxsize=1024)
def _path_expression(pattern: str) -> re.Pattern[str]:
    """Return the regular expression of a path pattern.

    What is between two `*` of a name is matched where it occurs first, for good: otherwise a pattern with many of
    them would try all ways to split a long name.
    """
    kinds = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}

    def translate(text: str) -> str:
        return "".join(kinds.get(piece, re.escape(piece)) for piece in re.split(r"(\*\*/|\*\*|\*|\?)", text))

    expression, position = "", 0
    for match in _BETWEEN_STARS.finditer(pattern):
        expression += f"{translate(pattern[position : match.start()])}(?>[^/]*?{translate(match[1])})"
        position = match.end()
    return re.compile(expression + translate(pattern[position:]), re.DOTALL)
