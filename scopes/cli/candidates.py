"""Where completion finds its words: the table, the generated options file, and the names in the store."""

from __future__ import annotations

import os

from scopes.store.names import choose_store, data_home, list_branches, list_conversations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from scopes.cli.table import Command, Table

Candidates = list[tuple[str, str]]

OPTIONS_FILE = os.path.join(os.path.dirname(__file__), "options.tsv")
# Value names that stand for, or begin with, the name of a conversation.
NAMED = {"CONV", "CONV[/BRANCH]", "WHERE", "BRANCH", "MESSAGE"}


class Row:
    """One line of the options file: an option's name, or the number of an argument (`1`, `2...`)."""

    __slots__ = ("choices", "help", "name", "value")

    def __init__(self, name: str, value: str, choices: str, about: str) -> None:
        self.name = name
        self.value = value
        self.choices = choices.split(",") if choices else []
        self.help = about


class Place:
    """Where in the command line the current word stands: what was given, and the option that waits for a value."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = environ
        self.arguments: list[str] = []
        self.given: list[tuple[str, str]] = []
        self.row: Row | None = None
        self.options_ended = False


def members(table: Table, path: tuple[str, ...]) -> Candidates:
    """Return the commands and groups under a path, under every name that they have."""
    found = [(node.path[-1], node.summary) for node in table.members(path)]
    if not path:
        nodes = table.commands | table.groups
        found += [(name, nodes[target].summary) for name, target in table.aliases.items() if (name,) != target]
        found.append(("ai", "The long form of every group"))
    return found


def values(row: Row, current: str, place: Place) -> Candidates:
    """Return what a value may be: a choice or a name from the store; nothing else, and shells then offer files."""
    if row.choices:
        return [(choice, "") for choice in row.choices]
    if row.value == "KEY":
        return read_keys()
    if row.value not in NAMED:
        return []
    store = _store(place)
    conversations = list_conversations(store)
    if row.value in {"BRANCH", "MESSAGE"} and place.arguments:
        conversation = _whole_name(conversations, place.arguments[0].partition("/")[0])
        return [(branch, f"branch of {conversation}") for branch in list_branches(store, conversation)]
    name, slash, _ = current.partition("/")
    if slash:
        return [(f"{name}/{branch}", "branch") for branch in list_branches(store, _whole_name(conversations, name))]
    return [(conversation, "conversation") for conversation in conversations]


def _whole_name(names: list[str], typed: str) -> str:
    """Return the one name that begins with what was typed; an exact name wins."""
    fitting = [name for name in names if name.startswith(typed)]
    return fitting[0] if len(fitting) == 1 else typed


def _store(place: Place) -> str:
    """Find the store that the words before mean, as `Invocation.store_path` would."""
    for name, value in place.given:
        if name == "-C":
            os.chdir(os.path.expanduser(value))
    stores = [value for name, value in place.given if name == "--store"]
    return choose_store(
        explicit=stores[-1] if stores else None,
        environment=place.environ.get("SCOPES_STORE"),
        cwd=os.getcwd(),
        data_home=data_home(place.environ),
    )


def read_rows(command: Command) -> list[Row]:
    """Read the options and arguments of one verb, in the order of its help."""
    start = " ".join(command.path) + "\t"
    return [Row(*line.rstrip("\n").split("\t")[1:]) for line in _lines() if line.startswith(start)]


def read_keys() -> Candidates:
    """Read the names of the settings and what they mean."""
    return [
        (row.name, row.help) for row in (Row(*line.rstrip("\n").split("\t")[1:]) for line in _lines() if line[0] == "=")
    ]


def _lines() -> list[str]:
    with open(OPTIONS_FILE, encoding="utf-8") as file:
        return file.readlines()
