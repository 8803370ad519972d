"""What the builtins of a shell change: its directory, variables and aliases."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from scopes.check.shell_state import Input, State, Word, read_number, unknown_value
from scopes.check.shell_words import WordReader
from scopes.lazy_patterns import compile_lazily

if TYPE_CHECKING:
    from tree_sitter import Node

_READS = {"read", "mapfile", "readarray", "getopts"}
_EXPORTS = {"export", "declare", "typeset"}
_ASSIGNMENT = compile_lazily(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_CHANGED = compile_lazily(
    r"(?<![-\w$./])(?:\+\+|--)?([A-Za-z_]\w*)(?:\[[^\]\s]{0,80}\])?[ ]?(?:\+\+|--|[-+*/%&|^]?=(?!=))"
    r"|(?:\+\+|--)([A-Za-z_]\w*)"
)


def run_builtin(words: tuple[Word, ...], state: State, given: Input | None) -> None:
    """Change the state as a builtin does; other commands change nothing."""
    name = words[0].value if words else None
    if name in {"cd", "pushd", "popd", "chdir"}:
        _change_directory(name, [word for word in words[1:] if not _is_option(word)], state)
    elif name in _READS:
        script = given.script if given is not None else None
        read = words if name == "getopts" else () if script is None else (script,)
        more = ("REPLY",) if name == "read" else ("MAPFILE",) if name in {"mapfile", "readarray"} else ("OPTARG",)
        for variable in (*(word.text for word in words[1:]), *more):
            if variable.isidentifier():
                state.assign(variable, given.item if given and given.item else unknown_value(variable, *read))
    elif name in _BUILTINS:
        _BUILTINS[name](words[1:], state)


def _alias(words: tuple[Word, ...], state: State) -> None:
    state.aliases |= {word.text.split("=", 1)[0] for word in words if "=" in word.text}


def _hash(words: tuple[Word, ...], state: State) -> None:
    if len(words) > 2 and words[0].text == "-p":
        state.aliases |= {word.text for word in words[2:]}


def _unalias(words: tuple[Word, ...], state: State) -> None:
    removed = {word.text for word in words}
    state.aliases = frozenset() if "-a" in removed else state.aliases - removed


def _set(words: tuple[Word, ...], state: State) -> None:
    if words and words[0].text == "--":
        state.arguments = (Word("set", "set"), *words[1:])
    elif words and (re.fullmatch(r"-[a-z]*e[a-z]*", words[0].text) or "errexit" in {word.text for word in words}):
        state.stops_at_errors = not words[0].text.startswith("+")
    elif words and not words[0].text.startswith(("-", "+")):
        state.arguments = (Word("set", "set"), *words)


def _shift(words: tuple[Word, ...], state: State) -> None:
    count = words[0].value if words else "1"
    if state.arguments is None or count is None or not count.isdecimal():
        state.arguments = None
    else:
        state.arguments = (*state.arguments[:1], *state.arguments[1 + read_number(count) :])


def _let(words: tuple[Word, ...], state: State) -> None:
    forget_changed(" ".join(word.text for word in words), state)


def _export_words(words: tuple[Word, ...], state: State) -> None:
    for word in words:
        _declare_word(word, state, is_export=True)


def _shopt(words: tuple[Word, ...], state: State) -> None:
    options = "".join(word.text for word in words if word.text.startswith("-"))
    if any(word.text == "lastpipe" for word in words):
        state.pipes_here = "s" in options


def _trap(words: tuple[Word, ...], state: State) -> None:
    """Remember what runs later: then its variables and its directory may be others."""
    names = {word.text.upper().removeprefix("SIG") for word in words[1:]}
    if len(words) > 1 and words[0].text not in {"", "-", "-l", "-p"} and names - {"DEBUG"}:
        state.traps = tuple(dict.fromkeys((*state.traps, words[0])))[:20]


def _printf(words: tuple[Word, ...], state: State) -> None:
    if len(words) > 1 and words[0].text == "-v":
        state.assign(words[1].text, unknown_value(words[1].text, *words[2:]))


_BUILTINS: dict[str, Callable[[tuple[Word, ...], State], None]] = {
    "alias": _alias,
    "hash": _hash,
    "unalias": _unalias,
    "set": _set,
    "shopt": _shopt,
    "trap": _trap,
    "shift": _shift,
    "let": _let,
    "export": _export_words,
    "printf": _printf,
}


def _is_option(word: Word) -> bool:
    return re.fullmatch(r"-[LPe@q]+|--", word.text) is not None


def _change_directory(name: str, operands: list[Word], state: State) -> None:
    if name in {"pushd", "popd"} and any(re.fullmatch(r"[-+]\d+|-n", word.text) for word in operands):
        state.previous, state.directory, state.stack = state.directory, None, ()
        return
    if name == "popd":
        before = state.places
        state.previous, state.directory = state.directory, state.stack[-1] if state.stack else None
        state.stack = state.stack[:-1]
        state.may_have_failed(before)
        return
    if name == "pushd":
        state.stack = (*state.stack[-20:], state.directory)
    target = operands[0].text if operands else "~" if name != "pushd" else None
    if len(operands) > 1:  # an error in bash, another directory in zsh
        state.previous, state.directory, state.others = None, None, state.places
    elif target == "-":
        state.go_back()
    else:
        state.change_directory(target)


def assign(node: Node, state: State, reader: WordReader) -> tuple[str, Word | list[Word]]:
    """Read `NAME=value` into the state; return name and value."""
    name_node, value_node = node.child_by_field_name("name"), node.child_by_field_name("value")
    name = reader.source_of(name_node) if name_node is not None else ""
    value: Word | list[Word] = Word("", "")
    if value_node is not None and value_node.type == "array":
        value = [word for child in value_node.named_children for word in reader.expand(child)][:100]
    elif value_node is not None:
        value = reader.read(value_node)
    if name_node is not None and name_node.type == "subscript":
        reader.run_inner(name_node)
        name, value = name.split("[", 1)[0], Word(None, f"${name.split('[', 1)[0]}")
    elif any(child.type == "+=" for child in node.children):
        before = state.variables.get(name)
        if isinstance(before, list) and isinstance(value, list):
            value = [*before, *value][:100]
        elif isinstance(before, Word) and isinstance(value, Word):
            known = before.value is not None and value.value is not None
            text = before.text + value.text
            value = Word(text if known else None, text, (before.programs + value.programs)[:8])
        else:
            value = Word(None, f"${name}")
    state.assign(name, value)
    return name, value


def declare(node: Node, state: State, reader: WordReader) -> None:
    """Read `export`, `local`, `declare`, `readonly` and `typeset`."""
    keyword = node.children[0].type if node.children else ""
    options = [reader.source_of(child) for child in node.named_children if child.type == "word"]
    is_export = keyword == "export" or (keyword in _EXPORTS and any("x" in each for each in options))
    for child in node.named_children:
        if child.type == "variable_assignment":
            name, value = assign(child, state, reader)
            if is_export:
                _export(name, value, state)
        elif child.type == "variable_name":
            name = reader.source_of(child)
            if "-n" in options:
                state.exported.pop(name, None)
            elif is_export and name in state.variables:
                _export(name, state.variables[name], state)
        elif child.type != "word":
            for word in reader.expand(child):
                _declare_word(word, state, is_export=is_export)


def _declare_word(word: Word, state: State, *, is_export: bool) -> None:
    """Read a word such as `NAME=value` or `NAME` of a declaration."""
    match = _ASSIGNMENT.fullmatch(word.text)
    if match is not None:
        state.assign(match[1], Word(None if word.value is None else match[2], match[2], word.programs))
    name = word.text if match is None else match[1]
    if is_export and name in state.variables:
        _export(name, state.variables[name], state)


def _export(name: str, value: Word | list[Word], state: State) -> None:
    state.exported[name] = value.value if isinstance(value, Word) else None


def forget_changed(text: str, state: State) -> None:
    """Forget the variables that a text seems to assign: the body of a loop, or an arithmetic expression."""
    for match in _CHANGED.finditer(text):
        name = match[1] or match[2]
        if name in state.variables:
            state.assign(name, unknown_value(name, state.variables[name]))


def unset(node: Node, state: State, reader: WordReader) -> None:
    """Read `unset`: a name is that of a variable, else of a function."""
    names = [reader.source_of(child).strip("'\"") for child in node.named_children]
    for name in names:
        if name in state.variables and "-f" not in names:
            state.variables.pop(name)
            state.exported.pop(name, None)
        elif "-v" not in names:
            state.functions.pop(name, None)
