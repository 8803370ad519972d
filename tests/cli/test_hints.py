"""Every command that a text of the program or the documentation tells people to run exists, with its options."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from scopes.cli.command_help import read_docs
from scopes.cli.command_line import LONG, SHORT, before_separator, expand_words, split_words
from scopes.cli.parser import build_parser
from scopes.cli.table import TABLE
from tests.cli.running import PRODUCT, scopes

ROOT = Path(__file__).parent.parent.parent
PLACEHOLDER = "{}"
# `scopes gc`, or "hint: scopes gc" and ", or scopes gc": a command to run, as opposed to the name of the program.
MENTION = re.compile(r"(?:: |`|\$ |, or )scopes ([a-z-][^`,;\n()|#>]*)")
TO_RUN = re.compile(r"(?:[a-z]: |, or )scopes ([a-z-][^`,;\n()|#>]*)")  # not in backticks: these are also names
MORE_WORDS = re.compile(r"(?<=[a-z])\{\}(?![^ ;`])")  # f"scopes pull{option}": more words or none


def strings(path):
    """Yield the string literals of a module; placeholders of f-strings are `{}`.

    Of docstrings only the parts in backticks count, because "Invalid: scopes has no such setting" is prose.
    """
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            node.value.value = " ".join(re.findall(r"`[^`]*`", node.value.value))
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(v.value) if isinstance(v, ast.Constant) else PLACEHOLDER for v in node.values)
            yield MORE_WORDS.sub("", text)
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
    line = expand_words(TABLE, words)[1]
    if line.command is None or any("{" in word or word == "..." for word in line.rest):
        return False
    docs = read_docs(line.command)
    takes_value = {name for option in docs.options if option.value for name in option.names}
    given = [
        word
        for before, word in zip(["", *line.rest], line.rest, strict=False)
        if not word.startswith("-") and before not in takes_value
    ]
    return len(given) < sum(part.required for part in docs.arguments)


def is_command(words):
    line = split_words(TABLE, words)
    if line.unknown is not None and not line.path:
        return line.unknown in {PLACEHOLDER, "COMMAND"}  # scopes {verb} --continue
    line = expand_words(TABLE, words)[1]
    if line.command is None or line.unknown is not None:
        return line.unknown is None  # the beginning of an f-string
    docs = read_docs(line.command)
    known = {name for option in docs.options for name in option.names} | set(LONG) | {f"-{name}" for name in SHORT}
    known |= {name for parameter in build_parser(line.command).params for name in parameter.opts}  # also hidden ones
    given = before_separator(line.rest)
    return all(re.sub(r"=.*|[.:'\"]+$", "", word) in known for word in given if re.match(r"--?[a-zA-Z]", word))


@cache
def all_strings():
    """Return the file and the text of every string of the program that mentions a command."""
    paths = [path for path in sorted((ROOT / "scopes").rglob("*.py")) if "scopes " in path.read_text()]
    return [(str(path.relative_to(ROOT)), text) for path in paths for text in strings(path) if "scopes " in text]


def test_every_command_in_a_string_of_the_program_exists():
    assert [(path, mistake) for path, text in all_strings() for mistake in mistakes(text)] == []


def test_every_command_in_a_hint_has_its_required_arguments():
    """D13."""
    assert [(path, mention) for path, text in all_strings() for mention in incomplete(text)] == []


@pytest.mark.parametrize("text", ["see: scopes amend", "list them: scopes tokens fetch, or scopes cat --raw"])
def test_a_command_without_its_required_argument_is_found(text):
    assert len(incomplete(text)) == 1


@pytest.mark.parametrize("name", ["README.md", "CHANGELOG.md"])
def test_every_command_in_the_documentation_exists(name):
    assert mistakes((ROOT / name).read_text()) == []


@pytest.mark.parametrize(
    "text",
    ["run: scopes lgo", "`scopes config set KEY VALUE`", "`scopes config KEY --frce`", "hint: scopes gc --expires now"],
)
def test_a_command_or_an_option_that_does_not_exist_is_found(text):
    assert len(mistakes(text)) == 1


@pytest.mark.parametrize(
    "text", ["scopes {} {} --continue", "see: scopes help", "a bug in scopes: sorry", "`scopes gc`"]
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


@pytest.mark.parametrize("words", [(), ("--topic", "db")])
def test_a_misspelled_kind_has_the_nearest_one_as_hint(conversation, words):
    error = conversation.run_refused("append", conversation.id, "x", "--kind", "decison", *words, code=2)
    assert (error["message"], error["hint"]) == ("there is no kind 'decison'", "did you mean decision?")


def test_head_is_the_active_branch_of_the_conversation(conversation):
    newest = conversation.append("main", "newest")
    assert conversation.run("log", conversation.id, "HEAD", "-1", "--json")["id"] == newest
    error = conversation.run_refused("log", conversation.id, "src/app.py", code=4)
    assert error["hint"] == f"for a path: scopes log {conversation.id} -- src/app.py"


def test_an_invalid_tag_is_called_a_tag(conversation):
    error = conversation.run_refused("tag", conversation.id, "a b", code=2)
    assert error["message"].startswith("'a b' is not a valid tag name: it contains a space")


def test_an_empty_log_says_so_and_names_the_values_that_there_are(conversation):
    for words, text in (
        (("--author", "clod"), "note: no message matches\nhint: authors: carol\n"),
        (("--kind", "priority"), "note: no message matches\nhint: kinds: plain\n"),
        (("--", "nowhere"), f"note: no message touched 'nowhere'\nhint: see: scopes show {conversation.id} --files\n"),
    ):
        done = conversation.run_main("log", conversation.id, *words)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", text)
    assert conversation.run_main("log", conversation.id, "-n", "0").stderr == ""
    assert conversation.run_main("log", conversation.id, "--author", "carol").stderr == ""


def test_the_hint_about_a_missing_store_keeps_the_given_path(tmp_path):
    done = scopes("--store", str(tmp_path / "a b"), "log", table=PRODUCT)
    assert done.returncode == 4
    command = f"scopes --store '{tmp_path}/a b'"
    assert done.stderr.splitlines()[-1] == f"hint: create one: {command} import, or: {command} new"


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        ("cherry-pick nonsense", 4, "there is no message 'nonsense'"),
        ("log main conv-001", 2, "name it first: scopes log conv-001 main"),
        ("amend conv-001 fix", 2, "for example: scopes amend conv-001 fix 'the new text'"),
        ("branch conv-001 --from main", 2, "scopes branch conv-001 NAME --from main, or give --purpose or --agent"),
        ("search tea --since 2026-02-28 --until 2026-02-01", 2, "--since '2026-02-28' is after --until '2026-02-01'"),
        ("list --since 2026-02-28 --until 2026-02-01", 2, "--since '2026-02-28' is after --until '2026-02-01'"),
        ("log --since 2026-02-28 --until 2026-02-01", 2, "--since '2026-02-28' is after --until '2026-02-01'"),
        ("find tea", 2, "did you mean scopes search?"),
        ("conflicts conv-001", 2, "did you mean scopes conflicts list conv-001?"),
    ],
)
def test_a_word_too_few_or_in_the_wrong_place_has_the_ready_command(conversation, words, code, text):
    """Findings of the fourth day, B6 to B9 and C11."""
    error = conversation.run_refused(*words.split(), code=code)
    assert text in (error["message"], *error["hint"].split("\n"))
