"""The values that completion offers: choices, settings and names from the store."""

from __future__ import annotations

import os

import pytest

from scopes.cli.completion import OptionRow, ParsedWords, complete, members, read_keys, read_rows, values
from scopes.cli.table import TABLE
from scopes.store.discovery import list_operations
from tests.cli.conftest import SETTINGS
from tests.cli.sample import TABLE as SAMPLE


@pytest.fixture
def parsed(store):
    """A command line without arguments, in an environment that selects the store."""
    return ParsedWords({"SCOPES_STORE": store})


def row(value, choices=""):
    return OptionRow("1", value, choices, "")


def names(found):
    return [word for word, _ in found]


def test_the_top_level_offers_groups_with_aliases_and_lifted_commands():
    found = names(members(TABLE, ()))
    assert {"conv", "conversations", "undo", "redo", "operations", "config", "init", "ai"} <= set(found)
    assert len(found) == len(set(found))


def test_every_word_offered_at_the_top_level_exists():
    paths = [TABLE.extend((), name) for name in names(members(TABLE, ())) if name != "ai"]
    assert [path for path in paths if path not in TABLE.commands and path not in TABLE.groups] == []


def test_a_nested_group_offers_only_its_commands():
    assert names(members(TABLE, ("conversations", "operations"))) == ["list", "show"]
    assert names(members(TABLE, ("version",))) == []


def test_choices_take_precedence_over_store_names(parsed):
    assert values(row("BRANCH", "a,b"), "", parsed) == [("a", ""), ("b", "")]


@pytest.mark.parametrize("value", ["CONV", "CONV[/BRANCH]", "WHERE", "MESSAGE", "BRANCH"])
def test_without_a_conversation_all_of_them_are_offered(parsed, value):
    assert names(values(row(value), "", parsed)) == ["conv-001", "conv-002", "login-bug"]


@pytest.mark.parametrize("value", ["BRANCH", "MESSAGE"])
def test_after_a_conversation_its_branches_are_offered(parsed, value):
    parsed.arguments = ["conv-001"]
    assert names(values(row(value), "", parsed)) == ["analysis/security", "main"]


def test_branches_are_offered_after_a_conversation_with_branch(parsed):
    parsed.arguments = ["conv-002/main"]
    assert values(row("BRANCH"), "", parsed) == [("main", "branch of conv-002")]


def test_a_conversation_with_a_slash_offers_whole_words(parsed):
    assert names(values(row("CONV[/BRANCH]"), "login", parsed))[-1] == "login-bug"
    assert names(values(row("CONV[/BRANCH]"), "login/", parsed)) == ["login/main"]


@pytest.mark.parametrize("value", ["TEXT", "FILE", "N", ""])
def test_other_values_are_left_to_the_shell(parsed, value):
    assert values(row(value), "", parsed) == []


def test_the_last_store_option_wins(parsed, store):
    parsed.options = [("--store", "/nowhere"), ("--store", store)]
    assert names(values(row("CONV"), "", parsed)) == ["conv-001", "conv-002", "login-bug"]
    parsed.options.reverse()
    assert values(row("CONV"), "", parsed) == []


def test_the_directory_option_is_respected(parsed, tmp_path, monkeypatch):
    monkeypatch.chdir("/")
    parsed.environ = {"SCOPES_STORE": "store.git"}
    parsed.options = [("-C", str(tmp_path))]
    assert names(values(row("CONV"), "", parsed)) == ["conv-001", "conv-002", "login-bug"]


@pytest.mark.usefixtures("sample_options")
def test_settings_complete_with_their_description(parsed):
    assert values(row("KEY"), "", parsed) == list(SETTINGS.items()) == read_keys()


@pytest.mark.usefixtures("sample_options")
def test_the_rows_of_a_command_are_its_own():
    assert [r.name for r in read_rows(SAMPLE.commands["conversations", "answer"])] == ["1"]
    assert read_rows(SAMPLE.commands["conversations", "many"]) == []


def test_the_product_has_rows_for_its_commands():
    found = {r.name: r for r in read_rows(TABLE.commands["completion",])}
    assert found["1"].choices == ["bash", "zsh", "fish"]
    assert "scopes.durability" in [key for key, _ in read_keys()]


def test_operations_are_offered_newest_first_with_their_summaries(parsed, store):
    """Ids of operations were not completed."""
    folder = os.path.join(store, "logs/refs/scopes")
    os.makedirs(folder)
    line = f"{'0' * 40} {'1' * 40} carol <c@actors.scopes> 7 +0000\t"
    with open(os.path.join(folder, "operations"), "w", encoding="utf-8") as file:
        file.write(f"{line}new: create conv-001 [aaaa2222]\n{line}older line\n{line}tag: tag [x] in y [bbbb3333]\n")
    assert values(row("OPERATION"), "", parsed) == [
        ("bbbb3333", "tag: tag [x] in y"),
        ("aaaa2222", "new: create conv-001"),
    ]
    assert names(values(row("OPERATION|CONV"), "", parsed))[1:3] == ["aaaa2222", "conv-001"]


def test_the_reflog_of_a_real_store_has_what_completion_reads(conversation):
    listed = conversation.run("conv", "operations", "list", "--json")["operations"]
    assert list_operations(conversation.store) == [
        (each["id"], f"{each['kind']}: {each['summary']}") for each in listed
    ]


def test_projects_agents_models_and_tags_are_offered_from_the_index(conversation, tmp_path, monkeypatch):
    """The values of `list --project`, `--agent`, `--model` and `--tag`."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    conversation.run("conv", "tag", conversation.id, "good", "--json")
    conversation.run("conv", "new", "--project", str(tmp_path / "shop"), "--json")
    conversation.run("conv", "append", "conv-002", "x", "--as", "zoe", "--json")
    parsed = ParsedWords({"SCOPES_STORE": conversation.store, "XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert values(row("AGENT"), "", parsed) == []
    conversation.run("conv", "list", "--json")
    assert names(values(row("AGENT"), "", parsed)) == ["carol", "zoe"]
    assert "shop" in names(values(row("PROJECT"), "", parsed))
    assert values(row("PROJECT"), "../", parsed) == []
    assert values(row("TAG"), "", parsed) == [("good", "tag")]
    assert values(row("MODEL"), "", parsed) == []


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("append conv-001 --kind dec", ["decision"]),
        ("log conv-001 --kind dec", ["decision"]),
        ("memory search x --kind a", ["action"]),
        ("append conv-001 --author-kind h", ["human"]),
        ("merge conv-001 --strategy t", ["theirs"]),
        ("branch conv-001 x --purpose v", ["verification"]),
        ("config set scopes.durability f", ["full", "fast"]),
        ("config scopes.color a", ["auto", "always"]),
        ("config scopes.dur", ["scopes.durability"]),
        ("config get scopes.dur", ["scopes.durability"]),
        ("config set scopes.author c", []),
        ("config set scopes.hints true --level s", ["store"]),
    ],
)
def test_known_values_of_options_and_settings_are_offered(words, expected):
    """Completion had nothing for kinds, strategies, purposes and the values of settings."""
    assert names(complete(TABLE, words.split(), {})) == expected


@pytest.mark.parametrize("words", ["log conv-001 --author ", "append conv-001 --as ", "branch conv-001 x --agent "])
def test_names_of_agents_are_offered_for_authors(conversation, tmp_path, monkeypatch, words):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    conversation.run("conv", "append", conversation.id, "x", "--as", "zoe", "--json")
    conversation.run("conv", "list", "--json")
    environ = {"SCOPES_STORE": conversation.store, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert "zoe" in names(complete(TABLE, words.split(" "), environ))
