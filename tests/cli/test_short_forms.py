"""Short forms: every verb at the top level, second names, `-3`, the latest conversation, aliases of the user."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def alias(conversation, user_configuration):
    """Return a function that defines an alias."""
    return lambda name, value: conversation.run("config", f"scopes.alias.{name}", value)


def log_texts(conversation, *words):
    return [entry["parts"][0]["text"] for entry in documents(conversation.run("log", "--json", *words))]


def documents(output):
    return output if isinstance(output, list) else [output]


def test_the_latest_conversation_has_a_name_and_is_the_default(conversation):
    other = conversation.run("new", "--json")["id"]
    conversation.append("main", "newest")
    assert conversation.run("show", "--json")["id"] == conversation.id
    assert conversation.run("show", "@", "--json")["id"] == conversation.id
    assert conversation.run("show", "@-", "--json")["id"] == other
    assert conversation.run("show", "@{1}", "--json")["id"] == other
    assert conversation.run_refused("show", "@{2}", code=4)["message"] == "there is no conversation @{2}"
    conversation.run("delete", other)
    refused = conversation.run_refused("show", "@-", code=4)
    assert (refused["message"], refused["hint"]) == ("there is no conversation @-", "there is only one: @")


def test_the_latest_conversation_begins_revisions(conversation):
    conversation.append("main", "one")
    conversation.append("main", "two")
    assert log_texts(conversation, "@~1", "-1") == ["one"]
    assert log_texts(conversation, "@/main", "-1") == ["two"]
    assert log_texts(conversation, "@/fix..main") == ["two", "one"]


def test_the_latest_conversation_is_one_of_the_project_if_there_is_any(conversation, tmp_path, monkeypatch):
    """G3: imported sessions of this repository come before newer ones of others."""
    session = tmp_path / "session.jsonl"
    record = {
        "type": "user",
        "uuid": "u1",
        "sessionId": "s",
        "cwd": str(tmp_path / "shop"),
        "version": "2.1.7",
        "isSidechain": False,
        "parentUuid": None,
    }
    record |= {"timestamp": "2020-01-01T00:00:00.000Z", "message": {"role": "user", "content": "old and of the shop"}}
    session.write_text(json.dumps(record) + "\n")
    conversation.run("import", str(session))
    conversation.append("main", "newer and of no project")
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    for directory, text in (("shop", "old and of the shop"), ("elsewhere", "newer and of no project")):
        monkeypatch.chdir(tmp_path / directory)
        assert log_texts(conversation, "-1") == [text]


def test_without_any_conversation_the_error_says_how_to_start(conversation):
    conversation.run("delete", conversation.id, "--yes")
    refusal = conversation.run_refused("log", code=4)
    assert (refusal["message"], "scopes new" in refusal["hint"]) == (
        "there is no conversation in this store",
        True,
    )


def test_a_count_is_an_option_as_in_git(conversation):
    for text in "abcd":
        conversation.append("main", text)
    assert log_texts(conversation, "-2") == ["d", "c"]
    assert log_texts(conversation, conversation.id, "-3", "--reverse") == log_texts(
        conversation, "-n", "3", "--reverse"
    )
    assert conversation.run("log", "--", "-2") == ""


def test_a_conversation_is_named_by_its_uuid_which_is_the_same_in_every_store(conversation):
    uuid = conversation.run("show", "--json")["uuid"]
    conversation.run("new")
    for name in (uuid, uuid[:8], uuid[:10]):
        assert conversation.run("show", name, "--json")["id"] == conversation.id
        assert conversation.run("log", name, "-1", "--json")["id"]
        assert conversation.run("log", f"{name}/fix~0", "-1", "--json")["id"]


def test_branches_are_switched_created_compared_and_merged_by_name_alone(conversation):
    conversation.run("branch", "try")
    conversation.append("try", "tried")
    assert conversation.run_main("diff", "main", "try", "--stat").returncode == 1
    conversation.run("switch", "main")
    assert conversation.run("merge", "try", "--json")["result"] == "fast-forward"
    assert log_texts(conversation, "-1") == ["tried"]


def test_a_source_is_also_named_after_its_conversation(conversation):
    conversation.append("fix", "fixed")
    assert conversation.run("merge", f"{conversation.id}/fix", "--json")["result"] == "fast-forward"
    conversation.append("fix", "again")
    assert conversation.run("merge", conversation.id, "fix", "--json")["result"] == "fast-forward"
    assert conversation.run_refused("merge", conversation.id, code=2)["message"] == "merge needs a branch to merge"
    assert conversation.run_refused("merge", conversation.id, "fix", "--source", "fix", code=2)


def test_a_branch_of_the_latest_conversation_comes_before_the_beginning_of_another_name(conversation):
    """A conversation `mainline` hid the branch `main` of the latest conversation."""
    conversation.run("new", "--id", "mainline")
    conversation.run("append", "mainline", "older", "--as", "carol")
    conversation.append("main", "newest")
    assert log_texts(conversation, "main", "-1") == ["newest"]
    assert conversation.run("switch", "main", "--json")["conversation"] == conversation.id
    assert log_texts(conversation, "mainl", "-1") == ["older"]
    conversation.run("rename", "mainline", "main")
    assert log_texts(conversation, "main", "-1") == ["older"]


def test_one_word_is_compared_with_the_active_branch_of_the_latest_conversation(conversation):
    conversation.append("fix", "fixed")
    conversation.run("tag", conversation.id, "v1", "fix")
    for name in ("fix", "v1"):
        assert [each["subject"] for each in conversation.run("diff", name, "--json", code=1)["only_right"]] == ["fixed"]
    assert "name two revisions" in conversation.run_refused("diff", conversation.id, code=2)["message"]
    assert "name two revisions" in conversation.run_refused("diff", conversation.first, code=2)["message"]


def test_a_mistyped_conversation_does_not_become_a_branch(conversation):
    assert conversation.run_refused("branch", "conv-999", code=4)


def test_messages_of_a_file_are_listed_without_naming_the_conversation(conversation):
    conversation.append("main", "wrote it", "--data", '{"files": [{"op": "edit", "path": "src/app.py"}]}')
    conversation.append("main", "more")
    assert log_texts(conversation, "--", "src/app.py") == ["wrote it"]
    assert log_texts(conversation, "--author", "src/app.py", "--", "src/app.py") == []  # was taken for a conversation


def test_an_alias_stands_for_words_of_a_command(conversation, alias):
    conversation.append("main", "newest")
    alias("last", "log -1")
    alias("short", "last --oneline")
    assert conversation.run("last", "--json") == conversation.run("log", "-1", "--json")
    assert conversation.run("short").endswith(" newest\n")


def test_an_alias_never_replaces_a_command(conversation, alias):
    alias("list", "delete @ --yes")
    conversation.run("list")
    assert conversation.run("show", "--json")["id"] == conversation.id


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("!rm -r /", "the alias odd runs the shell; an alias runs commands of scopes only"),
        ("odd --json", "the alias odd refers to itself: odd -> odd"),
        ("log 'open", "the alias odd cannot be split into words: No closing quotation"),
        ("   ", "the alias odd is empty"),
    ],
)
def test_a_broken_alias_is_refused(conversation, alias, value, message):
    alias("odd", value)
    assert conversation.run_refused("odd", code=2)["message"] == message


def test_an_alias_in_the_configuration_of_a_store_is_ignored(conversation):
    """A store may come from another person."""
    with open(f"{conversation.store}/config", "a", encoding="utf-8") as file:
        file.write('[scopes "alias"]\n\tpwn = delete @ --yes\n')
    assert conversation.run_refused("pwn", code=2)["message"] == "scopes has no command 'pwn'"
    refusal = conversation.run_refused("config", "scopes.alias.x", "log", "--level", "store", code=2)
    assert "is read from your own settings only" in refusal["message"]


def test_a_conversation_may_have_the_name_with_which_another_one_begins(conversation):
    """`new --id main` said that `main` exists, if there was a conversation `mainline`."""
    conversation.run("new", "--id", "mainline", "has metadata")
    assert conversation.run("new", "--id", "main", "--json")["id"] == "main"
    conversation.run("rename", "main", "mainl")
    assert conversation.run_refused("rename", "mainl", "mainline", code=1)["message"].endswith("already exists")
