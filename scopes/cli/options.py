"""How commands declare arguments and options, those that several of them share, and how their values are read.

An option is declared as help shows it: `option("-n, --limit N", "At most N")`. A shared one has one name, one type and
one help text, wherever it is taken.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeAlias

import typer

from scopes.cli.input import open_input
from scopes.cli.invocation import Invocation
from scopes.errors import Invalid
from scopes.store.projects import Project, read_project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scopes.model.message import Author
    from scopes.tokens.count import Model, TokenizerChoice

LATEST = "@"
STANDARD_OUTPUT = "-"
ALL_PROJECTS = "all"
_LABEL = re.compile(r"((?:-\S+, )*-\S+)(?: (.+))?")
_SHARE = re.compile(r"[0-9]{1,20}(?:\.[0-9]{0,20})?|\.[0-9]{1,20}", re.ASCII)
_SIZE = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)([kM]?)", re.ASCII)
_TIMES = {"": 1, "k": 1_000, "M": 1_000_000}


def argument(label: str = "", text: str = "", *, hidden: bool = False) -> Any:
    """Declare an argument: its placeholder, in brackets if it may be left out, and its help text."""
    return typer.Argument(metavar=label or None, help=text or None, hidden=hidden)


def option(
    label: str, text: str = "", *, hidden: bool = False, least: int | None = None,
    parser: Callable[[str], object] | None = None,
) -> Any:  # fmt: skip
    """Declare an option: its names and the placeholder of its value as `-n, --limit N`, and its help text.

    `least` is the smallest number that is taken, and `parser` reads the value.
    """
    found = _LABEL.fullmatch(label)
    if found is None:
        raise ValueError(f"not the label of an option: {label}")
    names = reversed(found[1].split(", "))  # typer shows them in this order
    return typer.Option(*names, metavar=found[2], help=text or None, hidden=hidden, min=least, parser=parser)


def read_size(text: str) -> int:
    """Return a number of tokens, which may be written as people do: 8000, 10k, 1.5M.

    Raises:
        Invalid: it is no number.
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise Invalid(f"{text!a} is not a number of tokens", hint="for example: 8000, 10k, 1.5M")
    return int(float(found[1]) * _TIMES[found[2]])


Text: TypeAlias = str | None
Texts: TypeAlias = list[str] | None

Conversation: TypeAlias = Annotated[str, argument("CONV", "The conversation: its id or a unique prefix")]
OptionalConversation: TypeAlias = Annotated[Text, argument("[CONV]", "The conversation (default: all)")]
LatestConversation: TypeAlias = Annotated[
    str, argument("CONV", "The conversation: its id or a unique prefix (default: @)")
]
LatestScope: TypeAlias = Annotated[str, argument("CONV[/BRANCH]", "The conversation, or one branch of it (default: @)")]
OnBranch: TypeAlias = Annotated[Text, option("-b, --branch NAME", "The branch (default: the active one)")]
WhereBranch: TypeAlias = Annotated[Text, option("-b, --branch NAME", hidden=True)]
Limit: TypeAlias = Annotated[int | None, option("-n, --limit N", "At most N", least=0)]
Since: TypeAlias = Annotated[Text, option("--since WHEN", "From then on: today, '2 hours ago', 2026-01-31")]
Until: TypeAlias = Annotated[Text, option("--until WHEN", "Not after; a day includes all of it")]
OfProjects: TypeAlias = Annotated[Texts, option("--project WHAT", "Only this project: directory, name or address; all")]
OnlyAgent: TypeAlias = Annotated[Text, option("--agent NAME", "Only this agent")]
OnlyModel: TypeAlias = Annotated[Text, option("--model NAME", "Only this model")]
CountedModel: TypeAlias = Annotated[Text, option("--model NAME", "Count tokens as this model does")]
MaxTokens: TypeAlias = Annotated[int | None, option("--max-tokens N", "Its size at most: 8000, 10k", parser=read_size)]
TextOption: TypeAlias = Annotated[Text, option("-m, --message TEXT", "The text")]
Data: TypeAlias = Annotated[Text, option("--data JSON", "All fields, also those without an option; @FILE reads")]
To: TypeAlias = Annotated[Texts, option("--to WHOM", "An agent, @capability, or all (may be repeated)")]
Queue: TypeAlias = Annotated[bool, option("--queue", "Send even if nobody is available")]
Reason: TypeAlias = Annotated[str, option("--reason TEXT", "Why, for those who read it later")]
Confidence: TypeAlias = Annotated[Text, option("--confidence SHARE", "How sure you are: 0.85 or 85%")]
Output: TypeAlias = Annotated[str, option("-o, --output FILE", "Write to this file; - is standard output")]
Force: TypeAlias = Annotated[bool, option("-f, --force", "Do it although it replaces something")]
Continue: TypeAlias = Annotated[bool, option("--continue", "Go on after conflicts or an interruption")]
Abort: TypeAlias = Annotated[bool, option("--abort", "Stop, and restore the state from before")]
Skip: TypeAlias = Annotated[bool, option("--skip", "Leave this message out, and continue")]


def author_of(invocation: Invocation, name: str | None = None) -> Author:
    """Return the author of a message: the agent of `--as`, else the person in the settings, who may be asked.

    A registered name has the kind that the registry says. A name that is near a registered one gets a note.

    Raises:
        Invalid: the name is not valid.
    """
    from scopes.agents.authors import check_typed_author, note_misspelled, with_registered_kind
    from scopes.history.messages import default_author
    from scopes.model.message import Author
    from scopes.store.refs import AGENTS

    name = invocation.actor if name is None else name
    person = None if name is not None else invocation.ask_name()
    if name is not None:
        author = Author(name)
    else:
        author = default_author(invocation.config()) if person is None else Author(person, "human")
    author = check_typed_author(author)
    repository = invocation.repository()
    if repository.find_ref(AGENTS) is None:
        return author
    if name is not None:
        invocation.add_notes(note_misspelled(repository, name))
    return with_registered_kind(repository, author)


def read_data(invocation: Invocation, text: str) -> str:
    """Return the JSON of --data; `@FILE` is the content of that file.

    Raises:
        NotFound, Inaccessible, Invalid: the file cannot be read, or is not UTF-8.
    """
    if not text.startswith("@"):
        return text
    with open_input(invocation, text[1:]) as file:
        try:
            return file.read().decode()
        except UnicodeDecodeError as error:
            raise Invalid(f"{text[1:]!a} is not UTF-8 text", hint="convert it to UTF-8 first") from error


def read_fields(invocation: Invocation, text: str | None) -> dict[str, Any]:
    """Return the JSON object of --data, or of the file of @FILE; an empty one if it was not given.

    Raises:
        Invalid: it is not a JSON object.
    """
    if text is None:
        return {}
    from scopes.cli.append_input import parse_document

    document = parse_document(read_data(invocation, text), "--data", """--data '{"reasoning": ["it is there"]}'""")
    if not isinstance(document, dict):
        raise Invalid("--data is not a JSON object", hint="for example: --data @FILE, with {...} in it")
    return document


def choose_text(text: str | None, option: str | None) -> str | None:
    """Return the text of a message, given as an argument or with -m.

    Raises:
        Invalid: it is given twice.
    """
    if text is not None and option is not None:
        raise Invalid("the text is given twice", hint="leave out TEXT or -m")
    return text if option is None else option


def refuse_dry_run(invocation: Invocation, words: str) -> None:
    """Refuse --dry-run for what changes more than the store.

    Raises:
        Invalid: it is given.
    """
    if invocation.dry_run:
        raise Invalid(f"--dry-run cannot be combined with {words}", hint="it changes more than the store")


def choose_projects(invocation: Invocation, texts: Sequence[str] | None, *, stored: bool = True) -> tuple[Project, ...]:
    """Return the projects that were named; none for `all`, which narrows nothing.

    stored: what is asked about is in the store, which may be that of the project

    Raises:
        Invalid: one is empty, or the home directory.
    """
    names = texts or ()
    if ALL_PROJECTS in names:
        return ()
    store = invocation.store_path if stored else ""
    return tuple(read_project(text, invocation.cwd, store) for text in names)


def read_confidence(option: str, text: str | None) -> float | None:
    """Return the confidence that an option states, from 0 to 1, given as `0.85` or `85%`; None if it was not given.

    Raises:
        Invalid: it is something else.
    """
    if text is None:
        return None
    digits = text.strip().removesuffix("%")
    if _SHARE.fullmatch(digits):
        share = float(digits) / 100 if text.strip().endswith("%") else float(digits)
        if 0 <= share <= 1:
            return share
    hint = f"for example: {option} 0.8, or {option} 80%"
    raise Invalid(f"the confidence {text[:40]} is not between 0 and 1", hint=hint)


def known_model(invocation: Invocation, name: str | None) -> Model | None:
    """Look up a model in the table and the settings; None if no name is given."""
    from scopes.tokens.count import resolve_model

    return None if name is None else resolve_model(name, invocation.config(optional=True).walk())


def tokenizer_for(invocation: Invocation, model: str | None) -> TokenizerChoice:
    """Return the tokenizer for a model; with the setting scopes.tokens=exact it does not estimate."""
    from scopes.tokens.count import choose_tokenizer, rank_file_paths

    is_exact = invocation.config(optional=True).find("scopes.tokens") == "exact"
    return choose_tokenizer(rank_file_paths(invocation.environ), known_model(invocation, model), strict=is_exact)


def project_directory(invocation: Invocation) -> str:
    """Return the directory whose files may be read: the git repository around the current directory, or that itself.

    Without a repository, a home directory or a parent of it does not count as a project: the result is empty.
    """
    directory = cwd = os.path.realpath(invocation.cwd)
    while not os.path.lexists(os.path.join(directory, ".git")):
        parent = os.path.dirname(directory)
        if parent == directory:
            is_above_home = os.path.join(os.path.realpath(invocation.home), "").startswith(os.path.join(cwd, ""))
            return "" if is_above_home else cwd
        directory = parent
    return directory
