"""Complete a command line: commands from the table, options and choices from the parser, names from the store."""

from __future__ import annotations

import os
import sys

from scopes.cli.command_line import CommandLine, split_words
from scopes.cli.table import GLOBAL_OPTIONS, Table
from scopes.loading import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import NoReturn

    from scopes.cli.command_help import Parameter
    from scopes.cli.table import GlobalOption
    from scopes.ids import ConversationId, Oid
    from scopes.store.repository import Repository

    Option = Parameter | GlobalOption

Candidate = tuple[str, str]

NO_FILES = 1  # the exit code if the word cannot be the name of a file
_MAX_MESSAGES = 50
_MAX_READ = 1000  # messages that are compared with what was typed
_ID_LETTERS = 8
_SAFE = frozenset("-_./@:+,=%")  # beside letters and digits: a shell must not run the name of a branch
# Words in placeholders: of conversations, branches and messages, and of files.
_NAMES = frozenset({"WHERE", "CONV", "MESSAGE", "BRANCH", "SOURCE", "A", "B", "ANYTHING", "OPERATION", "REMOTE"})
_FILES = frozenset({"FILE", "PATH", "DIR", "FOLDER"})
# Values of options whose parser takes any text, because the operation checks them.
_CHOICES = {
    "--kind": "scopes.model.message:KINDS",
    "--purpose": "scopes.model.conversation:PURPOSES",
    "--state": "scopes.proposals.proposal:STATES",
    "--status": "scopes.model.conflicts:STATUSES",
    "--take": "scopes.model.conflicts:SIDES",
    "--in": "scopes.handover.agent_programs:PROGRAMS",
    "--memory": "scopes.context.history_block:MEMORY",
    "--fail-on": "scopes.check.policy:FAIL_ON",
    "--preset": "scopes.check.policy:PRESETS",
    "--hook": "scopes.check.hook:AGENTS",
}


def answer(table: Table, arguments: list[str], environ: Mapping[str, str]) -> NoReturn:
    """Print the candidates for the last word after `--`, and end the process with exit code 0, or NO_FILES.

    Errors print nothing, because a completion must not disturb the line being typed. `os._exit` avoids the
    interpreter's shutdown, which would take longer than the completion.
    """
    code = NO_FILES
    try:
        words = arguments[1:] if arguments[:1] == ["--"] else arguments
        found, may_be_file = complete(table, words or [""], environ)
        lines = "".join(f"{word}\t{text}\n" for word, text in found if _is_safe(word) and text.isprintable())
        code = 0 if lines or may_be_file else NO_FILES
        sys.stdout.buffer.write(lines.encode())
        sys.stdout.buffer.flush()
    finally:
        os._exit(code)


def _is_safe(word: str) -> bool:
    return all(letter.isalnum() or letter in _SAFE for letter in word)


class _Words:
    """The words before the current one: how many are arguments, and the option that still needs its value."""

    def __init__(self, line: CommandLine, options: list[Option]) -> None:
        self.arguments: list[str] = []
        self.values: dict[str, str] = {}
        self.ended = False
        self.open: Option | None = None
        for word in (*line.leading, *line.rest):
            name, equals, value = word.partition("=")
            if self.open is not None:
                self.values[self.open.names[-1]] = word
                self.open = None
            elif word == "--" and not self.ended:
                self.ended = True
            elif self.ended or not word.startswith("-") or word == "-":
                self.arguments.append(word)
            elif equals:
                self.values[name] = value
            else:
                option = find_option(options, word)
                self.open = option if option is not None and option.value is not None else None


def find_option(options: list[Option], word: str) -> Option | None:
    """Return the option that a word names; of short ones combined, such as `-vm`, the last one."""
    name = word if word.startswith("--") else f"-{word[-1]}"
    found = next((option for option in options if name in option.names), None)
    return None if getattr(found, "is_optional", False) else found


def complete(table: Table, words: list[str], environ: Mapping[str, str]) -> tuple[list[Candidate], bool]:
    """Return the candidates for the last word, with descriptions, and whether it may be the name of a file."""
    *before, current = words
    line = split_words(table, before)
    if line.unknown is not None:
        return [], True
    options, arguments = _parameters(line)
    parsed = _Words(line, options)
    part, prefix = parsed.open, ""
    if part is None and current.startswith("-") and not parsed.ended:
        name, equals, value = current.partition("=")
        if not equals:
            return _starting(current, [(name, each.help) for each in options for name in each.names]), False
        part, prefix, current = find_option(options, name), f"{name}=", value
    elif part is None:
        members = [(node.path[-1], node.summary) for node in table.members(line.path)] if not line.rest else []
        if line.command is None:
            return _starting(current, members), False
        if line.command.path == ("help",):
            path = split_words(table, parsed.arguments).path
            return _starting(current, [(node.path[-1], node.summary) for node in table.members(path)]), False
        if parsed.ended:
            return [], True
        if members and (found := _starting(current, members)):
            return found, False
        number = len(parsed.arguments)
        if number < len(arguments) or (arguments and arguments[-1].repeated):
            part = arguments[min(number, len(arguments) - 1)]
    if part is None:
        return [], False
    found = _starting(current, _values(part, current, parsed, environ))
    return [(prefix + word, text) for word, text in found], not _FILES.isdisjoint(_words_of(part))


def _starting(current: str, found: list[Candidate]) -> list[Candidate]:
    return list(dict.fromkeys(row for row in found if row[0].startswith(current)))


def _parameters(line: CommandLine) -> tuple[list[Option], tuple[Parameter, ...]]:
    """Return the options of a command and those that are global, and its arguments."""
    if line.command is None:
        return [*GLOBAL_OPTIONS], ()
    from scopes.cli.command_help import read_docs

    docs = read_docs(line.command)
    own = {name for option in docs.options for name in option.names}
    is_past = line.command.reads_past
    others = [each for each in GLOBAL_OPTIONS if (is_past or not each.reads_past) and own.isdisjoint(each.names)]
    return [*docs.options, *others], docs.arguments


def _values(part: Option, current: str, parsed: _Words, environ: Mapping[str, str]) -> list[Candidate]:
    """Return the possible values of an option or argument, as far as they are known."""
    source = next((_CHOICES[name] for name in part.names if name in _CHOICES), None)
    choices = part.choices or (() if source is None else load(source))
    words = _words_of(part)
    if choices:
        return [(str(choice), "") for choice in choices]
    if "KEY" in words:
        from scopes.store.config import SETTINGS

        return [(name, text) for name, text in SETTINGS.items() if "<" not in name]
    return [] if _NAMES.isdisjoint(words) else _stored_names(words, current, parsed, environ)


def _words_of(part: Option) -> list[str]:
    return "".join(letter if letter.isalpha() else " " for letter in part.value or "").split()


def _stored_names(words: list[str], current: str, parsed: _Words, environ: Mapping[str, str]) -> list[Candidate]:
    """Return names of the store that the words select; none if it cannot be opened, as that of another user."""
    if "-C" in parsed.values:
        os.chdir(os.path.expanduser(parsed.values["-C"]))
    from scopes.errors import ScopesError
    from scopes.store.projects import choose_store, find_project
    from scopes.store.repository import open_repository

    try:
        repository = open_repository(choose_store(environ, os.getcwd(), parsed.values.get("--store")))
        repository.caller = repository.caller._replace(
            find_project=lambda: find_project(os.getcwd(), os.path.expanduser("~"))
        )
        remotes = _remotes(repository) if "REMOTE" in words and not parsed.arguments else []
        return remotes if words == ["REMOTE"] else [*remotes, *_names(repository, words, current, parsed.arguments)]
    except ScopesError:
        return []


def _remotes(repository: Repository) -> list[Candidate]:
    from scopes.store.config import read_addresses

    return sorted(read_addresses(repository.path).items())


def _names(repository: Repository, words: list[str], current: str, arguments: list[str]) -> Iterator[Candidate]:
    """Yield conversations, and the branches and newest messages of one: that before `/`, the one named before, or `@`.

    After `A..` the candidates are those for B.
    """
    from scopes.history.names import list_branch_tips, list_latest

    start = current.rfind("..") + 2 if ".." in current else 0
    head, slash, _ = current[start:].partition("/")
    named = _find_conversation(repository, head if slash else arguments[0].partition("/")[0] if arguments else "")
    if not slash and (named is None or "CONV" in words):
        yield from ((current[:start] + name, "conversation") for name in list_latest(repository))
    conversation = named or _find_conversation(repository, "@")
    if conversation is None or words == ["CONV"]:
        return
    prefix = current[:start] + (f"{head}/" if slash else "")
    tips = list_branch_tips(repository, conversation)
    yield from ((prefix + name, f"branch of {conversation}") for name in sorted(tips))
    if current and not slash:
        yield from _messages(repository, [*tips.values()], prefix, current[start:])


def _messages(repository: Repository, tips: list[Oid], prefix: str, typed: str) -> Iterator[Candidate]:
    from itertools import islice

    from scopes.history.messages import shown_author, walk_headers_newest_first
    from scopes.sanitize import clean_line

    heads = islice(walk_headers_newest_first(repository, tips), _MAX_READ)
    for head in islice((head for head in heads if head.id.startswith(typed)), _MAX_MESSAGES):
        shown = head.id[: max(_ID_LETTERS, len(typed))]
        yield prefix + shown, clean_line(f"{shown_author(head)}: {head.subject}")


def _find_conversation(repository: Repository, text: str) -> ConversationId | None:
    from scopes.errors import ScopesError
    from scopes.history.names import resolve_conversation

    try:
        return resolve_conversation(repository, text) if text else None
    except ScopesError:
        return None
