"""Split a command line of a POSIX shell into its simple commands, in linear time, without running anything.

A word is a text without its quotes. What the shell would compute stays in it as one character: `STAR` and `ONE` for
globs, `ANY` for an expansion; `$name` is kept between `NAME` and `END`, so that a later step can look it up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

STAR, ONE, ANY, NAME, END = "\x01", "\x02", "\x03", "\x04", "\x05"
MAX_DEPTH = 12  # of commands in commands
_MAX_BRACKET = 200  # characters
_MAX_VALUES = 50  # of a variable
TEMPORARY = "/tmp/mktemp"  # noqa: S108 - stands for the output of `mktemp`
_PLAIN = re.compile(r"[^\s\\'\"`$;&|<>(){}#*?\[]+")
_QUOTED = re.compile(r"[^\"\\$`]+")
_VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})")
_SPECIAL = re.compile(r"\$[0-9@*#?$!-]")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=")
_OPENERS = frozenset(
    {"if", "then", "elif", "else", "while", "until", "do", "!", "{", "}", "fi", "done", "esac", "coproc"}
)
_REDIRECTIONS = ("&>>", "<<<", "<<-", "&>", ">>", ">|", ">&", "<<", "<>", "<&", ">", "<")


class Unreadable(Exception):
    """A command line that is not complete, or too deep."""


@dataclass(slots=True)
class SimpleCommand:
    """One command of a command line.

    words: the program and its arguments; assignments are in `variables`
    outputs: the files that it is redirected to
    texts: here documents and here strings
    scope: the subshells that it runs in, the outermost first
    piped: it reads the output of the command before it
    """

    words: list[str] = field(default_factory=list)
    variables: list[tuple[str, str]] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    scope: tuple[int, ...] = ()
    piped: bool = False


def split_command(text: str) -> list[SimpleCommand]:
    """Return the simple commands of a command line in order, also those in subshells and substitutions.

    Raises:
        Unreadable: the command line has an open quote or bracket, or is nested too deeply.
    """
    reader = _Reader(text)
    reader.read_list(())
    return reader.commands


class _Reader:
    def __init__(self, text: str) -> None:
        self.commands: list[SimpleCommand] = []
        self._text = text
        self._at = 0
        self._scopes = 0
        self._documents: list[tuple[str, SimpleCommand]] = []

    def read_list(self, scope: tuple[int, ...], end: str = "") -> None:
        """Read commands up to the closing character `end`, or to the end of the text."""
        if len(scope) > MAX_DEPTH:
            raise Unreadable
        outer, depth = scope, 0
        command = SimpleCommand(scope=scope)
        text = self._text
        while self._at < len(text):
            letter = text[self._at]
            if letter in " \t\r":
                self._at += 1
            elif letter == "\n":
                self._at += 1
                command = self._finish(command, scope)
                self._read_documents()
            elif letter == end and depth == 0:
                self._at += 1
                self._finish(command, scope)
                return
            elif letter == "#":
                stop = text.find("\n", self._at)
                self._at = len(text) if stop < 0 else stop
            elif operator := self._find_redirection(command):
                self._read_redirection(command, operator)
            elif letter in "<>" and command.words[:1] == ["[["]:
                self._at += 1
            elif letter in ";&|":
                piped = letter == "|" and text[self._at : self._at + 2] != "||"
                self._at += 1 if text[self._at : self._at + 2] not in {"||", "&&", ";;", "|&"} else 2
                command = self._finish(command, scope, piped=piped)
            elif letter == "(":
                self._at += 1
                self._scopes += 1
                depth += 1
                scope = (*scope, self._scopes)
                if len(scope) > MAX_DEPTH:
                    raise Unreadable
                command = self._finish(command, scope)
            elif letter == ")":
                self._at += 1
                if depth:  # else the end of a pattern of `case`
                    depth, scope = depth - 1, scope[:-1]
                command = self._finish(command, scope)
            else:
                self._add_word(command)
        if end or scope != outer:
            raise Unreadable
        self._finish(command, scope)

    def _finish(self, command: SimpleCommand, scope: tuple[int, ...], *, piped: bool = False) -> SimpleCommand:
        if command.words or command.variables or command.outputs or command.texts:
            self.commands.append(command)
        return SimpleCommand(scope=scope, piped=piped)

    def _find_redirection(self, command: SimpleCommand) -> str:
        found = self._text[self._at : self._at + 3]
        if found[:1] not in {"<", ">", "&"} or found[1:2] == "(" or command.words[:1] == ["[["]:
            return ""
        return next((each for each in _REDIRECTIONS if found.startswith(each)), "")

    def _read_redirection(self, command: SimpleCommand, operator: str) -> None:
        self._at += len(operator)
        while self._text[self._at : self._at + 1] in {" ", "\t"}:
            self._at += 1
        word = self._read_word(command.scope)
        if operator in {"<<", "<<-"}:
            self._documents.append((word, command))
        elif operator == "<<<":
            command.texts.append(word)
        elif operator not in {"<", "<&"} and not (operator == ">&" and (word.isdigit() or word == "-")):
            command.outputs.append(word)

    def _read_documents(self) -> None:
        for delimiter, command in self._documents:
            lines = []
            while self._at < len(self._text):
                stop = self._text.find("\n", self._at)
                stop = len(self._text) if stop < 0 else stop
                line = self._text[self._at : stop]
                self._at = stop + 1
                if line.strip() == delimiter:
                    break
                lines.append(line)
            command.texts.append("\n".join(lines))
        self._documents.clear()
        self._at = min(self._at, len(self._text))

    def _add_word(self, command: SimpleCommand) -> None:
        start = self._at
        word = self._read_word(command.scope)
        if self._at == start:
            raise Unreadable
        raw = self._text[start : self._at]
        if word.isdigit() and raw == word and self._text[self._at : self._at + 1] in {"<", ">"}:
            return  # the number of a file descriptor
        match = _ASSIGNMENT.match(raw)
        if match is not None and not command.words:
            command.variables.append((match[1], word[match.end() :]))
        elif command.words or raw not in _OPENERS:
            command.words.append(word)

    def _read_word(self, scope: tuple[int, ...]) -> str:
        """Return the next word; empty if there is none here."""
        text = self._text
        pieces: list[str] = []
        if text[self._at : self._at + 2] == "~/":
            pieces.append(ANY)
            self._at += 1
        while self._at < len(text):
            letter = text[self._at]
            match = _PLAIN.match(text, self._at)
            if match is not None:
                pieces.append(match[0])
                self._at = match.end()
            elif letter.isspace() or letter in ";&|)" or (letter in "<>" and text[self._at + 1 : self._at + 2] != "("):
                break
            elif letter == "(":
                if not pieces or not pieces[-1].endswith("="):
                    break
                self._at += 1  # an array
                self.read_list((*scope, 0), ")")
                pieces.append(ANY)
            elif letter in "<>":
                self._at += 2
                self._read_nested(scope)
                pieces.append(ANY)
            else:
                pieces.append(self._read_special(letter, scope, quoted=False))
        return "".join(pieces)

    def _read_special(self, letter: str, scope: tuple[int, ...], *, quoted: bool) -> str:
        text = self._text
        if letter == "'" and not quoted:
            return self._read_until("'")
        if letter == '"' and not quoted:
            self._at += 1
            return self._read_double(scope)
        if letter == "\\":
            self._at += 2
            found = text[self._at - 1 : self._at]
            return "" if found == "\n" else f"\\{found}" if quoted and found not in '"\\$`' else found
        if letter == "`":
            inner = _Reader(self._read_until("`"))
            inner.read_list((*scope, -1))
            self.commands += inner.commands
            return ANY
        if letter == "$":
            return self._read_expansion(scope, quoted=quoted)
        self._at += 1
        if letter == "*":
            return STAR
        if letter == "?":
            return ONE
        if letter in "[{":
            return self._read_bracket(letter)
        return letter

    def _read_bracket(self, letter: str) -> str:
        """Return what `[a-z]` or `{a,b}` matches; the bracket itself if it is none of them."""
        close = "]" if letter == "[" else "}"
        stop = self._at
        longest = min(len(self._text), self._at + _MAX_BRACKET)
        while stop < longest and self._text[stop] not in f"{close} \t\n'\"\\$`;&|<>()":
            stop += 1
        found = self._text[self._at : stop]
        if self._text[stop : stop + 1] != close:
            # a quote or an expansion between braces: `{"a",b}`
            return STAR + ANY if letter == "{" and "," in found else letter
        if not found or (letter == "{" and "," not in found and ".." not in found):
            return letter
        self._at = stop + 1
        return ONE if letter == "[" else ANY if "/" in found else STAR

    def _read_double(self, scope: tuple[int, ...]) -> str:
        pieces: list[str] = []
        while self._at < len(self._text):
            letter = self._text[self._at]
            if letter == '"':
                self._at += 1
                return "".join(pieces)
            if letter in "\\$`":
                pieces.append(self._read_special(letter, scope, quoted=True))
                continue
            match = _QUOTED.match(self._text, self._at)
            pieces.append(match[0] if match is not None else letter)
            self._at = match.end() if match is not None else self._at + 1
        raise Unreadable

    def _read_expansion(self, scope: tuple[int, ...], *, quoted: bool) -> str:
        text = self._text
        if text.startswith("$((", self._at):
            self._skip_balanced("(", ")", self._at + 1)
            return ANY
        if text.startswith("$(", self._at):
            self._at += 2
            return self._read_nested(scope)
        if not quoted and text.startswith("$'", self._at):
            self._at += 1
            return _unescape(self._read_until("'", escapes=True))
        if not quoted and text.startswith('$"', self._at):
            self._at += 2
            return self._read_double(scope)
        match = _VARIABLE.match(text, self._at)
        if match is not None:
            self._at = match.end()
            return f"{NAME}{match[1] or match[2]}{END}"
        if text.startswith("${", self._at):
            self._skip_balanced("{", "}", self._at + 1)
            return ANY
        match = _SPECIAL.match(text, self._at)
        if match is not None:
            self._at = match.end()
            return ANY
        self._at += 1
        return "$"

    def _read_nested(self, scope: tuple[int, ...]) -> str:
        """Read the commands of a substitution; return what stands for its output."""
        self._scopes += 1
        first = len(self.commands)
        documents, self._documents = self._documents, []
        self.read_list((*scope, self._scopes), ")")
        self._documents = documents
        nested = self.commands[first:]
        is_temporary = len(nested) == 1 and nested[0].words[:1] == ["mktemp"]
        return TEMPORARY if is_temporary else ANY

    def _read_until(self, quote: str, *, escapes: bool = False) -> str:
        """Return the text up to the next quote, after the one here."""
        start = stop = self._at + 1
        while stop < len(self._text) and self._text[stop] != quote:
            stop += 2 if self._text[stop] == "\\" and (escapes or quote == "`") else 1
        if stop >= len(self._text):
            raise Unreadable
        self._at = stop + 1
        return self._text[start:stop]

    def _skip_balanced(self, opening: str, closing: str, start: int) -> None:
        depth = 0
        for position in range(start, len(self._text)):
            if self._text[position] == opening:
                depth += 1
            elif self._text[position] == closing:
                depth -= 1
                if depth == 0:
                    self._at = position + 1
                    return
        raise Unreadable


def _unescape(text: str) -> str:
    return text.replace("\\'", "'").replace("\\\\", "\\")


def read_variable(words: Iterable[str], values: dict[str, tuple[str, ...]]) -> list[str]:
    """Return words with the values of the variables in them: one word for each value, `ANY` for an unknown one."""
    found: list[str] = []
    for word in words:
        start = word.find(NAME)
        stop = word.find(END, start)
        if start < 0 or stop < 0:
            found.append(word)
            continue
        rest = re.sub(f"{NAME}[^{END}]*{END}", ANY, word[stop + 1 :])
        known = values.get(word[start + 1 : stop], (ANY,))
        found += [f"{word[:start]}{value}{rest}" for value in (known if len(known) <= _MAX_VALUES else (ANY,))]
    return found
