"""Expand the words of a command as a shell does, as far as the command line alone decides them."""

from __future__ import annotations

import re
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence

from tree_sitter import Node

from scopes.check.shell_braces import expand_braces, mark_braces, unmark_braces
from scopes.check.shell_state import MAX_TEXT, State, Word, read_number, unknown_value
from scopes.lazy_patterns import compile_lazily

# Runs a command substitution, or the text between backquotes; the value is None unless the output is known.
Substitute = Callable[[Node | bytes], Word]

_LITERALS = {"word", "number", "brace_expression", "extglob_pattern", "regex", "test_operator", "heredoc_content"}
_CONTAINERS = {"command_name", "concatenation", "translated_string"}
_EXPANSIONS = {"simple_expansion", "expansion"}
_UNQUOTED = {"simple_expansion", "expansion", "command_substitution"}
_WITH_BRACES = {"word", "concatenation", "brace_expression", "command_name"}
_COMPUTED = compile_lazily(r"[$`]")
_SUBSTITUTIONS = {"command_substitution", "process_substitution"}
_BACKQUOTED = compile_lazily(rb"(?:[^`\\]|\\.)+|`((?:[^`\\]|\\.)*)`", re.DOTALL)
_IN_BACKQUOTES = compile_lazily(rb"[\\`$]")
_IN_QUOTES = compile_lazily(r'\\([\\"$`])|\\\n')
_IN_HEREDOC = compile_lazily(r"\\([\\$`])|\\\n")
_BARE = compile_lazily(r"\\(?:\n|(.))", re.DOTALL)
_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "0": "\0",
}
_ANSI_C = compile_lazily(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|.)", re.DOTALL)
_SPECIAL = compile_lazily(r"""[\\'"$`<>(]""")
_PRINTERS = {"echo", "printf", "mktemp"}
_ALL_ITEMS = compile_lazily(r"\$\{?(?:(?P<array>\w+)\[)?(?P<all>[@*])\]?\}?")
_ITEM = compile_lazily(r"\$\{([A-Za-z_]\w*)\[(\d{1,3})\]\}")
_FIRST_NAME = compile_lazily(r"\$\{?[!#]?([A-Za-z_]\w*)")
_WITH_ASSIGNMENT = compile_lazily(r"\$\{([A-Za-z_]\w*):?=.*\}", re.DOTALL)
_NAME = compile_lazily(r"\$\{?(\w+|[@*#?$!-])\}?")
_WITH_DEFAULT = compile_lazily(r"\$\{([A-Za-z_]\w*)(:?)[-=].*\}", re.DOTALL)


def text_of(node: Node, source: bytes) -> str:
    """Return the source text of a node."""
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace")


class WordReader:
    """Expands words; command substitutions are given to `substitute`."""

    def __init__(self, source: bytes, state: State, substitute: Substitute) -> None:
        self._source = source
        self._state = state
        self._substitute = substitute

    def expand(self, node: Node) -> list[Word]:
        """Return the words that a word of the source becomes: none, one or several."""
        kind = node.type
        if kind == "command_name" and node.named_child_count == 1:
            return self.expand(node.named_children[0])
        if kind in {"word", "raw_string", "command_name"}:  # most words: nothing is expanded in them
            raw = text_of(node, self._source)
            if not _SPECIAL.search(raw) and not _may_have_braces(raw):
                return [Word(raw, raw)]
            if kind == "raw_string":
                return [Word(raw[1:-1], raw[1:-1])]
        elif kind in {"string", "simple_expansion", "expansion"} and (spliced := self._splice(node)) is not None:
            return spliced
        if kind in _WITH_BRACES and _may_have_braces(text_of(node, self._source)):
            return self._expand_braces(node)
        return self._expand_pieces(node)

    def _expand_pieces(self, node: Node) -> list[Word]:
        word = self.read(node)
        if node.type != "concatenation":
            return self._split(word, node) if node.type in _UNQUOTED else [word]
        computed = [child for child in node.children if child.type in _UNQUOTED]
        if word.value is None:
            return [word._replace(splits=bool(computed))]
        return self._split(word, node) if any(self._has_separator(child) for child in computed) else [word]

    def _expand_braces(self, node: Node) -> list[Word]:
        builder = _Builder(marks_braces=True)
        self._add(node, builder)
        word = builder.word()
        texts = expand_braces(word.text)
        computed = any(child.type in _UNQUOTED for child in node.children)
        if texts is None:
            text = unmark_braces(word.text)
            return [Word(None, text, word.programs, splits=True)]
        is_known = word.value is not None
        if is_known and any(self._has_separator(child) for child in node.children if child.type in _UNQUOTED):
            return [piece for text in texts for piece in self._split(Word(text, text), node)]
        return [
            Word(text, text)
            if is_known or not _COMPUTED.search(text)
            else Word(None, text, word.programs, splits=computed)
            for text in texts
        ]

    def source_of(self, node: Node) -> str:
        """Return the source text of a node."""
        return text_of(node, self._source)

    def read(self, node: Node) -> Word:
        """Return a word without splitting it."""
        builder = _Builder()
        self._add(node, builder)
        return builder.word()

    def read_heredoc(self, body: Node) -> Word:
        """Return the body of a heredoc whose delimiter is not quoted; the grammar knows no backquotes in it."""
        builder = _Builder()
        position, children = body.start_byte, body.children
        starts = [child.start_byte for child in children]
        for match in _BACKQUOTED.finditer(self._source, position, body.end_byte):
            if match[1] is not None:
                before = children[bisect_left(starts, position) : bisect_left(starts, match.start())]
                self._add_between(before, position, match.start(), _IN_HEREDOC, builder)
                builder.add(self._substitute(match[1]))
                position = match.end()
        rest = children[bisect_left(starts, position) :]
        self._add_between(rest, position, body.end_byte, _IN_HEREDOC, builder)
        return builder.word()

    def _add(self, node: Node, builder: _Builder) -> None:
        kind = node.type
        raw = text_of(node, self._source)
        if kind in _LITERALS or (not node.is_named and kind not in {'"', "``"}):
            builder.bare(raw)
        elif kind == "raw_string":
            builder.literal(raw[1:-1])
        elif kind == "ansi_c_string":
            builder.literal(_ANSI_C.sub(_unescape, raw[2:-1]))
        elif kind == "string":
            self._add_between(node.children, node.start_byte + 1, node.end_byte - 1, _IN_QUOTES, builder)
        elif kind in _CONTAINERS:
            self._add_children(node, builder)
        elif kind in _EXPANSIONS:
            self._add_variable(node, raw, builder)
        elif kind in _SUBSTITUTIONS:
            builder.add(self._substitute(node))
        elif kind != "``":
            builder.unknown(raw, self.run_inner(node))

    def _add_children(self, node: Node, builder: _Builder) -> None:
        for child in node.children:
            if child.is_named or child.type != "$" or node.type != "translated_string":
                self._add(child, builder)

    def _add_between(
        self, children: Sequence[Node], start: int, end: int, escapes: re.Pattern[str], builder: _Builder
    ) -> None:
        """Add a text with expansions in it; what is between them is literal."""
        position = start
        for child in children:
            if child.type in _EXPANSIONS or child.type in _SUBSTITUTIONS or child.type == "arithmetic_expansion":
                self._add_text(position, child.start_byte, escapes, builder)
                self._add(child, builder)
                position = child.end_byte
        self._add_text(position, end, escapes, builder)

    def _add_text(self, start: int, end: int, escapes: re.Pattern[str], builder: _Builder) -> None:
        if start < end:
            text = self._source[start:end].decode("utf-8", "replace")
            builder.literal(escapes.sub(lambda match: match[1] or "", text) if "\\" in text else text)

    def _add_variable(self, node: Node, raw: str, builder: _Builder) -> None:
        programs = self.run_inner(node) if node.type == "expansion" else ()
        value = self._value_of(raw)
        if isinstance(value, list):
            value = value[0] if value else None
        if value is None:
            builder.unknown(self._unknown(raw), programs)
        else:
            builder.add(value)

    def _unknown(self, raw: str) -> str:
        """Return the text for an expansion that is not known: as written, or `${NAME:-..}` if `..` may be in it."""
        if (assigned := _WITH_ASSIGNMENT.fullmatch(raw)) is not None and assigned[1] not in self._state.variables:
            self._state.assign(assigned[1], Word(None, raw))
        match = None if ".." in raw else _FIRST_NAME.match(raw)
        text = "" if match is None else unknown_value(match[1], self._state.variables.get(match[1])).text
        return text if ".." in text else raw

    def _value_of(self, raw: str) -> Word | list[Word] | None:
        """Return the value of `$NAME` or `${NAME}`; None for other expansions and for unknown values.

        `${NAME:-WORD}` is the value of NAME if a command of the line set it; else the environment may have it or not.
        """
        if (default := _WITH_DEFAULT.fullmatch(raw)) is not None:
            value = self._state.variables.get(default[1])
            is_empty = isinstance(value, Word) and value.value == "" and default[2] == ":"
            return None if is_empty else value
        if (item := _ITEM.fullmatch(raw)) is not None:
            return self._item(item[1], int(item[2]))
        match = _NAME.fullmatch(raw[:-3] + "}" if raw.endswith((":?}",)) else raw)
        return None if match is None else self._variable(match[1])

    def _variable(self, name: str) -> Word | list[Word] | None:
        """Return the value of a variable or an argument; None if it is not known."""
        arguments, directory = self._state.arguments, self._state.directory
        if name in self._state.variables:
            return self._state.variables[name]
        if name == "PWD":
            return Word(directory, directory) if directory and directory.startswith("/") else None
        if name.isdecimal() and arguments is not None:
            number = read_number(name)
            return arguments[number] if number < len(arguments) else Word("", "")
        if name in "@*" and arguments is not None:
            return self._join(arguments[1:]) if name == "*" else _joined(arguments[1:])
        return Word(" \t\n", " \t\n") if name == "IFS" else None

    def _item(self, name: str, number: int) -> Word | None:
        """Return an item of an array; None if it is not known."""
        items = self._state.variables.get(name)
        if not isinstance(items, list) or number >= len(items):
            return None
        is_plain = not any(each.splits or each.text.startswith("[") for each in items)
        return items[number] if is_plain else None

    def _has_separator(self, node: Node) -> bool:
        """Return True if an expansion may have several words."""
        if node.type not in _EXPANSIONS:
            return True
        value = self._value_of(text_of(node, self._source))
        is_changed = "IFS" in self._state.variables
        return isinstance(value, Word) and (is_changed or any(char.isspace() for char in value.text))

    def _split(self, word: Word, node: Node) -> list[Word]:
        """Return the words that a value without quotes becomes: it is split at the characters of IFS."""
        separators = self._state.variables.get("IFS")
        if separators is None or word.value is None:
            return _split(word)
        characters = separators.value if isinstance(separators, Word) else None
        if characters is None:
            return [Word(None, text_of(node, self._source), word.programs, splits=True)]
        pieces = re.split(f"[{re.escape(characters)}]", word.value) if characters else [word.value]
        return [Word(piece, piece, word.programs) for piece in pieces if piece]

    def _join(self, words: tuple[Word, ...]) -> Word:
        """Return what `"$*"` is: the words, with the first character of IFS between them."""
        separators = self._state.variables.get("IFS")
        if separators is None:
            return _joined(words)
        characters = separators.value if isinstance(separators, Word) else None
        return Word(None, "$*") if characters is None else _joined(words, characters[:1])

    def _splice(self, node: Node) -> list[Word] | None:
        """Return the items of `"$@"` and `"${ARRAY[@]}"`; None for other words.

        Without quotes items are split at blanks; `"$*"` and `"${ARRAY[*]}"` are one word.
        """
        raw = text_of(node, self._source) if node.end_byte - node.start_byte < 200 else ""
        quoted = raw.startswith('"') and raw.endswith('"')
        match = _ALL_ITEMS.fullmatch(raw[1:-1] if quoted else raw)
        if match is None:
            return None
        value = self._state.variables.get(match["array"]) if match["array"] else self._state.arguments
        if value is None or isinstance(value, Word):
            return None
        items = tuple(value) if match["array"] else tuple(value[1:])
        if quoted:
            return list(items) if match["all"] == "@" else [self._join(items)]
        return [piece for item in items for piece in self._split(item, node)]

    def run_inner(self, node: Node) -> tuple[str, ...]:
        """Run the command substitutions inside a node of any type; return their programs."""
        programs: tuple[str, ...] = ()
        for found in _find_substitutions(node):
            programs += self._substitute(found).programs
        for leaf in _find_patterns(node):
            programs += self._substitute(_IN_BACKQUOTES.sub(rb"\\\g<0>", b': "' + leaf + b'"')).programs
        if not programs and node.type == "expansion":  # the grammar knows no backquotes in `${x:-...}`
            for match in _BACKQUOTED.finditer(self._source, node.start_byte, node.end_byte):
                programs += self._substitute(match[1]).programs if match[1] is not None else ()
        return programs


class _Builder:
    """Joins the pieces of a word."""

    def __init__(self, *, marks_braces: bool = False) -> None:
        self._marks_braces = marks_braces
        self._texts: list[str] = []
        self._known = True
        self._programs: tuple[str, ...] = ()

    def bare(self, source: str) -> None:
        """Add a text without quotes, which may have backslashes."""
        if self._marks_braces:
            self._texts.append(mark_braces(source))
        else:
            self._texts.append(_BARE.sub(lambda match: match[1] or "", source) if "\\" in source else source)

    def literal(self, text: str) -> None:
        self._texts.append(text)

    def unknown(self, text: str, programs: tuple[str, ...] = ()) -> None:
        self._texts.append(text)
        self._known = False
        self._programs += programs

    def add(self, word: Word) -> None:
        self._texts.append(word.text)
        self._known = self._known and word.value is not None
        self._programs += word.programs

    def word(self) -> Word:
        text = "".join(self._texts)
        return Word(text if self._known else None, text, self._programs[:8])


def add_words(words: list[Word], more: list[Word], gap: bytes) -> None:
    """Add the next words of a command; words without a blank between them are one.

    The grammar leaves a blank that is escaped out of the word: then it is in the gap.
    """
    gap = gap.replace(b"\\\n", b"")
    escaped = b"\\" in gap and re.fullmatch(rb"(\s*)((?:\\\s)+)", gap)
    if escaped and more:
        blanks = " " * (len(escaped[2]) // 2)
        more = [Word(None if more[0].value is None else blanks + more[0].value, blanks + more[0].text), *more[1:]]
    if words and more and (not gap or (escaped and not escaped[1])):
        last = words.pop()
        known = last.value is not None and more[0].value is not None
        text = last.text + more[0].text
        more = [Word(text if known else None, text, last.programs + more[0].programs), *more[1:]]
    words += more


def _may_have_braces(text: str) -> bool:
    return "{" in text and ("," in text or ".." in text)


def _find_substitutions(node: Node) -> Iterator[Node]:
    pending = [node]
    while pending:
        current = pending.pop()
        if current.type in _SUBSTITUTIONS and current is not node:
            yield current
        else:
            pending.extend(reversed(current.children))


def _find_patterns(node: Node) -> Iterator[bytes]:
    """Yield the patterns of an expansion with command substitutions in them, which the grammar reads as plain text."""
    for child in node.children if node.type == "expansion" else ():
        if child.type == "regex" and b"$(" in (text := child.text or b""):
            yield text


def _split(word: Word) -> list[Word]:
    """Return the words that a value without quotes becomes; an unknown value counts as one."""
    if word.value is not None and (not word.value or any(char.isspace() for char in word.value)):
        return [Word(piece, piece) for piece in word.value.split()]
    return [word._replace(splits=True)] if word.value is None else [word]


def _joined(words: tuple[Word, ...], separator: str = " ") -> Word:
    text = separator.join(word.text for word in words)[:MAX_TEXT]
    return Word(text if all(word.value is not None for word in words) else None, text)


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "xuU" and len(code) > 1:
        number = int(code[1:], 16)
        return chr(number) if number <= sys.maxunicode else "\ufffd"
    return chr(int(code, 8) & 255) if code.isdigit() else _ESCAPES.get(code, "\\" + code)


def known_output(words: list[Word]) -> Word | None:
    """Return what a command prints if its words decide it: `echo`, `printf` and `mktemp`."""
    if not words or words[0].text.rsplit("/", 1)[-1] not in _PRINTERS or any(word.programs for word in words):
        return None
    values = [word.text for word in words]
    program, arguments = values[0].rsplit("/", 1)[-1], values[1:]
    text = None
    if program == "mktemp":
        template = next((each for each in reversed(arguments) if not each.startswith("-")), "")
        directory = any(each.startswith(("-p", "--tmpdir")) for each in arguments)
        text = (template or "/tmp/tmp.XXXXXXXXXX") if not directory and template[:1] in {"", "/"} else None  # noqa: S108
    elif program == "echo":
        options = ""
        while arguments and re.fullmatch(r"-[neE]+", arguments[0]):
            options += arguments.pop(0)
        text = " ".join(arguments)
        text = _ANSI_C.sub(_unescape, text) if "e" in options else text
        text = text if "n" in options else f"{text}\n"
    elif program == "printf" and arguments and not arguments[0].startswith("-"):
        text = _formatted(_ANSI_C.sub(_unescape, arguments[0]), arguments[1:])
    if text is None:
        return None
    return Word(None if any(word.value is None for word in words) else text, text)


def _formatted(layout: str, values: list[str]) -> str | None:
    """Return a text as `printf` writes it; None if the layout has more than texts and numbers."""
    pieces = re.split(r"(%%|%[sbdq])", layout)
    slots = sum(1 for piece in pieces[1::2] if piece != "%%")
    rounds = max(1, -(-len(values) // slots)) if slots else 1
    if "%" in "".join(pieces[::2]) or rounds * len(layout) > MAX_TEXT:
        return None
    given = iter(values)
    text: list[str] = []
    for _ in range(rounds):
        for number, piece in enumerate(pieces):
            text.append(("%" if piece == "%%" else next(given, "")) if number % 2 else piece)
    return "".join(text)
