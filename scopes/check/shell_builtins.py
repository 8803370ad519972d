"""What the builtins of a shell change: its directory, variables and aliases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.check.shell_state import State, Word
from scopes.check.shell_unwrap import Input
from scopes.check.shell_words import WordReader

if TYPE_CHECKING:
    from tree_sitter import Node

_READS = {"read", "mapfile", "readarray", "getopts"}


def run_builtin(words: tuple[Word, ...], state: State, given: Input | None) -> None:
    """Change the state as a builtin does; other commands change nothing."""
    name = words[0].value if words else None
    if name in {"cd", "pushd", "popd", "chdir"}:
        _change_directory(name, [word for word in words[1:] if not _is_option(word)], state)
    elif name == "alias":
        state.aliases |= {word.text.split("=", 1)[0] for word in words[1:] if "=" in word.text}
    elif name == "set" and len(words) > 1 and words[1].text == "--":
        state.arguments = (words[0], *words[2:])
    elif name == "shift":
        state.arguments = None
    elif name in _READS:
        for word in words[1:]:
            if word.text.isidentifier():
                state.assign(word.text, given.item if given and given.item else Word(None, f"${word.text}"))
    elif name == "printf" and len(words) > 2 and words[1].text == "-v":
        state.assign(words[2].text, Word(None, f"${words[2].text}"))


def _is_option(word: Word) -> bool:
    return word.text in {"-L", "-P", "-e", "--", "-q"}


def _change_directory(name: str, operands: list[Word], state: State) -> None:
    if name == "popd":
        state.previous, state.directory = state.directory, state.stack[-1] if state.stack else None
        state.stack = state.stack[:-1]
        return
    if name == "pushd":
        state.stack = (*state.stack[-20:], state.directory)
    target = operands[0].text if operands else "~"
    if target == "-":
        state.previous, state.directory = state.directory, state.previous
    else:
        state.change_directory(target)


def assign(node: Node, state: State, reader: WordReader) -> tuple[str, Word | list[Word]]:
    """Read `NAME=value` into the state; return name and value."""
    name_node, value_node = node.child_by_field_name("name"), node.child_by_field_name("value")
    name = reader.source_of(name_node) if name_node is not None else ""
    is_element = name_node is not None and name_node.type == "subscript"
    value: Word | list[Word] = Word("", "")
    if value_node is not None and value_node.type == "array":
        value = [word for child in value_node.named_children for word in reader.expand(child)][:100]
    elif value_node is not None:
        value = reader.read(value_node)
    if is_element:
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
    is_export = bool(node.children) and node.children[0].type == "export"
    for child in node.named_children:
        if child.type == "variable_assignment":
            name, value = assign(child, state, reader)
            if is_export:
                state.exported[name] = value.value if isinstance(value, Word) else None
        elif child.type not in {"word", "variable_name"}:
            reader.read(child)


def unset(node: Node, state: State, reader: WordReader) -> None:
    """Read `unset`."""
    for child in node.named_children:
        name = reader.source_of(child)
        state.variables.pop(name, None)
        state.exported.pop(name, None)
