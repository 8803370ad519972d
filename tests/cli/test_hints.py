"""Every command that a text of the program or the documentation tells people to run exists, with its options."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from scopes.cli.command_docs import read_docs
from scopes.cli.command_line import LONG, SHORT, split_words
from scopes.cli.invocation import before_separator
from scopes.cli.table import TABLE

ROOT = Path(__file__).parent.parent.parent
PLACEHOLDER = "{}"
# `scopes gc`, or "hint: scopes gc" and ", or scopes gc": a command to run, as opposed to the name of the program.
MENTION = re.compile(r"(?:: |`|\$ |, or )scopes ([a-z-][^`,;\n()|#>]*)")
TO_RUN = re.compile(r"(?:[a-z]: |, or )scopes ([a-z-][^`,;\n()|#>]*)")  # not in backticks: these are also names
GROUPS_OF_VERBS = {("conversations",)}  # only there may a placeholder be the command: scopes conv {verb} --continue


def strings(path):
    """Yield the string literals of a module; placeholders of f-strings are `{}`.

    Of docstrings only the parts in backticks count, because "Invalid: scopes has no such setting" is prose.
    """
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            node.value.value = " ".join(re.findall(r"`[^`]*`", node.value.value))
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(v.value) if isinstance(v, ast.Constant) else PLACEHOLDER for v in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def mistakes(text):
    """Return the mentioned commands that do not exist, or have an option that does not exist."""
    return [mention for mention in MENTION.findall(text) if not is_command(mention.split())]


def incomplete(text):
    """Return the commands to run that lack a required argument; a lone placeholder may stand for several words."""
    whole = [mention for mention in TO_RUN.findall(text) if mention[-1] not in " ."]  # others: parts of an f-string
    return [mention for mention in whole if lacks_argument(mention.split())]


def lacks_argument(words):
    line = split_words(TABLE, words)
    if line.command is None or any("{" in word or word == "..." for word in line.rest):
        return False
    docs = read_docs(line.command.path)
    takes_value = {name for option in docs.options if option.value for name in option.names}
    given = [
        word
        for before, word in zip(["", *line.rest], line.rest, strict=False)
        if not word.startswith("-") and before not in takes_value
    ]
    return len(given) < sum(part.required for part in docs.arguments)


def is_command(words):
    line = split_words(TABLE, words)
    if line.path == ("config",) and line.unknown == "KEY":
        line = split_words(TABLE, ["config", "set", *words[1:]])  # config KEY VALUE, as in git
    if line.unknown is not None:
        placeholder = line.unknown in {PLACEHOLDER, "COMMAND"}
        return placeholder and (line.path in GROUPS_OF_VERBS or line.typed[0] == "ai")
    if line.command is None:
        return True  # a group, or the beginning of an f-string
    docs = read_docs(line.command.path)
    known = {name for option in docs.options for name in option.names} | set(LONG) | {f"-{name}" for name in SHORT}
    given = before_separator(line.rest)
    return all(re.sub(r"=.*|[.:'\"]+$", "", word) in known for word in given if re.match(r"--?[a-zA-Z]", word))


def walk_strings():
    """Yield the file and the text of every string of the program that mentions a command."""
    for path in sorted((ROOT / "scopes").rglob("*.py")):
        if "scopes " in path.read_text():
            yield from ((str(path.relative_to(ROOT)), text) for text in strings(path))


def test_every_command_in_a_string_of_the_program_exists():
    assert [(path, mistake) for path, text in walk_strings() for mistake in mistakes(text)] == []


def test_every_command_in_a_hint_has_its_required_arguments():
    """D13."""
    assert [(path, mention) for path, text in walk_strings() for mention in incomplete(text)] == []


@pytest.mark.parametrize("text", ["see: scopes conv amend", "list them: scopes tokens fetch, or scopes cat --raw"])
def test_a_command_without_its_required_argument_is_found(text):
    assert len(incomplete(text)) == 1


@pytest.mark.parametrize("name", ["README.md", "CHANGELOG.md"])
def test_every_command_in_the_documentation_exists(name):
    assert mistakes((ROOT / name).read_text()) == []


@pytest.mark.parametrize(
    "text",
    ["run: scopes conv lgo", "`scopes config {} VALUE`", "`scopes config KEY --frce`", "hint: scopes gc --expires now"],
)
def test_a_command_or_an_option_that_does_not_exist_is_found(text):
    assert len(mistakes(text)) == 1


@pytest.mark.parametrize(
    "text", ["scopes conv {} {} --continue", "see: scopes help", "a bug in scopes: sorry", "`scopes gc`"]
)
def test_commands_that_exist_and_prose_are_not_mistakes(text):
    assert mistakes(text) == []


def test_an_empty_query_has_no_caret(conversation):
    assert conversation.run_refused("search", "", code=2)["hint"].startswith("for example: parser")


def test_the_hint_of_invalid_data_is_an_example_of_its_kind(conversation):
    words = ("append", conversation.id, "--kind", "decision", "--data", "{topic: db}")
    error = conversation.run_refused(*words, code=2)
    assert error["message"].startswith("--data is not valid JSON")
    assert error["hint"] == """for example: --data '{"topic": "db", "decision": "SQLite"}'"""


def test_a_misspelled_kind_has_the_nearest_one_as_hint(conversation):
    error = conversation.run_refused("append", conversation.id, "x", "--kind", "decison", code=2)
    assert (error["message"], error["hint"]) == ("there is no kind 'decison'", "did you mean decision?")


def test_a_branch_from_a_message_of_another_conversation_names_that_conversation(conversation):
    other = conversation.run("new", "--json")["id"]
    error = conversation.run_refused("branch", other, "x", "--from", conversation.first, code=4)
    assert error["hint"].startswith(f"it is in {conversation.id}: ")


def test_head_in_a_log_has_the_branch_main_as_hint(conversation):
    error = conversation.run_refused("log", conversation.id, "HEAD~2", code=2)
    assert error["hint"] == f"did you mean scopes log {conversation.id}/main~2?"
