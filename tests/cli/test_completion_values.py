"""The values that completion offers: choices, settings and names from the store."""

from __future__ import annotations

import json
import os

import pytest

from scopes.cli.completion import ParsedWords, complete, members, values
from scopes.cli.option_rows import OptionRow, read_keys, read_rows
from scopes.cli.table import TABLE
from scopes.store.projects import list_operations
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
    assert names(members(TABLE, ("operations",))) == ["list", "show"]
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
    assert found["1"].choices == ["bash", "zsh", "fish", "fzf", "fzf-fish"]
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
    listed = conversation.run("conv", "operations", "-a", "--json")["operations"]
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
    assert names(values(row("AGENT"), "", parsed)) == ["carol", "zoe"]  # from the store, there is no index yet
    assert values(row("PROJECT"), "", parsed) == []
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
        ("conflicts resolve conv-001 1 --take b", ["base", "both"]),
        ("branch conv-001 x --purpose v", ["verification"]),
        ("config set scopes.durability f", ["full", "fast"]),
        ("decisions w", ["withdraw"]),
        ("config scopes.color a", ["auto", "always"]),
        ("config scopes.dur", ["scopes.durability"]),
        ("config get scopes.dur", ["scopes.durability"]),
        ("config set scopes.author c", []),
        ("blame conv-001 --key scopes.", []),
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


@pytest.fixture
def offered(conversation, tmp_path):
    """Complete a line in the store of the conversation; return the words, or with their descriptions."""

    def offered(line, *, described=False):
        found = complete(TABLE, line.split(" "), {"SCOPES_STORE": conversation.store, "HOME": str(tmp_path)})
        return found if described else names(found)

    return offered


@pytest.mark.parametrize(
    "words",
    [
        "amend conv-001 ",
        "retract conv-001 ",
        "cherry-pick conv-001 ",
        "tag conv-001 x ",
        "merge conv-001 ",
        "diff conv-001 ",
        "branch conv-001 x --from ",
        "branch @ x --from ",
        "rewind conv-001/main --to ",
        "rebase conv-001 --onto ",
        "context conv-001 --at ",
        "append conv-001 --reply-to ",
        "cat --in conv-001 ",
    ],
)
def test_branches_and_message_ids_are_offered_where_a_revision_is_expected(conversation, offered, words):
    """Completion had nothing for message ids."""
    assert offered(words) == ["fix", "main", conversation.first[:8]]


def test_message_ids_come_newest_first_with_author_and_subject(conversation, offered):
    second = conversation.append("fix", "a\u202eb\nmore", author="zoe")
    found = offered("cat ", described=True)
    assert found == [
        ("conv-001", "conversation"),
        (second[:8], "zoe: a<U+202E>b more"),
        (conversation.first[:8], "carol: How shall we do it?"),
    ]
    assert offered(f"cat {second[:3]}") == [second[:8]]
    assert offered(f"cat {second[:9]}") == [second]


def test_a_path_is_left_to_the_shell_in_log(offered):
    for words in ("log -- ", "log conv-001 -- ", "log conv-001 main "):
        assert offered(words) == []


def test_message_ids_of_other_conversations_are_offered_if_none_of_the_latest_matches(conversation, offered):
    other = conversation.run("conv", "new", "--json")["id"]
    second = conversation.run("conv", "append", other, "newest", "--json")["id"]
    assert offered(f"cat {second[:2]}") == [second[:8]]
    assert offered(f"cat {conversation.first[:3]}", described=True) == [
        (conversation.first[:8], "conv-001, carol: How shall we do it?")
    ]
    assert offered(f"cat --in {other} {conversation.first[:3]}") == []


def test_message_ids_are_offered_after_a_conversation_and_a_slash(conversation, offered):
    assert offered("cat conv-001/") == ["conv-001/fix", "conv-001/main", f"conv-001/{conversation.first[:8]}"]
    assert offered(f"cat @/{conversation.first[:3]}") == [f"@/{conversation.first[:8]}"]


@pytest.mark.parametrize(
    ("words", "prefix"),
    [
        ("log conv-001/main..", "conv-001/main.."),
        ("log conv-001/main...", "conv-001/main..."),
        ("log conv-001/main..conv-001/", "conv-001/main..conv-001/"),
        ("diff main..", "main.."),
        ("diff conv-001 main..", "main.."),
        ("diff conv-001 ..", ".."),
        ("log conv-001 main..", "main.."),
        ("log main..", "main.."),
        ("log conv-001 ", ""),
        ("diff conv-001 main ", ""),
    ],
)
def test_the_second_revision_of_a_range_completes(conversation, offered, words, prefix):
    assert offered(words) == [f"{prefix}{name}" for name in ("fix", "main", conversation.first[:8])]


def test_at_most_fifty_messages_are_offered_and_older_ones_by_their_first_letters(conversation, offered):
    lines = "".join(f'{{"author": "carol", "text": "{number}"}}\n' for number in range(60))
    conversation.run("conv", "append", conversation.id, "--jsonl", "-", "--json", given=lines)
    assert len(offered("amend conv-001 ")) == 2 + 50
    assert conversation.first[:8] not in offered("amend conv-001 ")
    assert offered(f"amend conv-001 {conversation.first[:6]}") == [conversation.first[:8]]


def test_conflicts_are_offered_by_number_and_by_the_first_letters_of_their_id(conversation, offered):
    """Completion had nothing for conflicts."""
    conversation.append_on_both("decision", {"topic": "db", "decision": "SQLite"}, {"topic": "db", "decision": "files"})
    assert offered("conflicts show conv-001 ") == []
    conversation.merge(code=3)
    conflict = conversation.list_conflicts()[0]["id"]
    for command in ("show", "resolve", "intervene", "escalate"):
        assert offered(f"conflicts {command} conv-001 ", described=True) == [
            ("1", "decision-disagreement: decisions/db (open)")
        ]
        assert offered(f"conflicts {command} ") == ["1", "conv-001"]
    letters = next(conflict[:length] for length in range(1, 9) if not conflict[:length].isdecimal())
    assert offered(f"conflicts resolve conv-001 {letters}") == [conflict[:8]]
    assert offered(f"conflicts resolve {letters}") == [conflict[:8]]
    assert offered("conflicts resolve conv-001 decisions/") == offered("conflicts show decisions/") == ["decisions/db"]


def test_resolved_conflicts_are_offered_to_show_only(conversation, offered):
    conversation.append_on_both("decision", {"topic": "db", "decision": "SQLite"}, {"topic": "db", "decision": "files"})
    conversation.merge(code=3)
    conversation.resolve(conversation.list_conflicts()[0], "--take", "source")
    assert offered("conflicts resolve conv-001 ") == []
    resolved = [("1", "decision-disagreement: decisions/db (resolved)")]
    assert offered("conflicts show conv-001 1", described=True) == resolved
    conversation.continue_merge()
    assert offered("conflicts show conv-001 1", described=True) == resolved
    assert offered("conflicts show conv-001 ") == []  # the history is not read before something is typed


def test_the_sides_that_a_conflict_can_take_are_offered_with_their_values(conversation, offered):
    conversation.append_on_both("decision", {"topic": "db", "decision": "SQLite"}, {"topic": "db", "decision": "files"})
    ours, theirs = ({"subject": "login", "aspect": "security", "finding": word} for word in ("safe", "leaky"))
    conversation.append_on_both("analysis", ours, theirs)
    conversation.merge(code=3)
    analysis, decision = ("source", "target", "both"), ("source", "target")
    assert offered("conflicts resolve conv-001 2 --take ", described=True) == [
        ("source", "bob: files"), ("target", "alice: SQLite"),
    ]  # fmt: skip
    assert offered("conflicts intervene conv-001 1 --take b") == ["both"]
    conflict = conversation.list_conflicts()[1]["id"]
    every = ("source", "target", "base", "both")
    for words, sides in (("1", analysis), ("2", decision), (conflict, decision), ("conv-001 9", every)):
        assert offered(f"conflicts resolve {words} --take ") == [*sides]


def test_keys_of_the_state_are_offered_after_key(conversation, offered):
    """Completion had nothing for `blame --key`."""
    conversation.append_typed("main", "decision", {"topic": "data base", "decision": "SQLite"}, "alice")
    conversation.append_typed("fix", "method", {"goal": "speed", "approach": "cache"}, "bob")
    conversation.append("main", "wrote", "--file", "edit:src/app.py")
    assert offered("blame conv-001 --key ") == ["decisions", "files", "decisions/data base"]
    assert offered("blame --key de") == ["decisions", "decisions/data base"]
    assert offered("blame conv-001 --key files/") == ["files/src/app.py"]
    assert offered("blame conv-001/fix --key m") == ["methods", "methods/speed"]
    assert offered("blame conv-001/nothing --key ") == []


def test_agents_are_offered_for_the_recipient_too(conversation, offered, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for words in ("append conv-001 --to ", "conflicts escalate conv-001 1 --to ", "list --agent ", "log --author "):
        assert offered(words) == ["carol"]


def test_memory_entries_and_open_action_items_are_offered(conversation, offered):
    """Completion had nothing for memory entries."""
    words = ("memory", "add", "Cookies are gone", "--agent", "bob", "--action", "write it down", "--json")
    entry = conversation.run(*words)["id"]
    assert offered("memory show ", described=True) == [(entry[:8], "bob: Cookies are gone")]
    assert offered(f"memory show {entry[:2]}") == [entry[:8]]
    assert offered(f"memory show {entry[:10]}") == [entry]
    action = conversation.run("memory", "actions", "--json")["actions"][0]["id"]
    short = f"{entry[:8]}.{action.rpartition('.')[2]}"
    assert offered("memory done ", described=True) == [(short, "write it down")]
    assert offered(f"memory done {short[:9]}") == [short]
    conversation.run("memory", "done", action, "--json")
    assert offered("memory done ") == []


@pytest.mark.parametrize("words", ["cat ", "conflicts show conv-001 ", "memory show ", "log conv-001/main.."])
def test_a_store_that_cannot_be_read_offers_no_messages(store, words):
    """The files of the fixture are refs alone."""
    found = names(complete(TABLE, words.split(" "), {"SCOPES_STORE": store}))
    assert [name for name in found if name.partition("/")[0] not in ("conv-001", "conv-002", "login-bug")] == []


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("list --fields i", ["id"]),
        ("list --fields id,titl", ["id,title", "id,title_source"]),
        ("list --fields=id,title_", ["--fields=id,title_source"]),
        ("list --fields title,titl", ["title,title_source"]),
        ("list --format {titl", ["{title}", "{title_source}"]),
        ("list --format {id}:{uu", ["{id}:{uuid}"]),
        ("--porcelain list --agen", ["--agent"]),
        ("-c scopes.colo", ["scopes.color="]),
        ("-c scopes.color=a", ["scopes.color=auto", "scopes.color=always"]),
    ],
)
def test_names_of_fields_and_settings_are_offered_within_a_word(words, expected):
    """Completion had nothing for --fields, --format and -c."""
    assert names(complete(TABLE, words.split(), {})) == expected


def test_a_template_completes_field_by_field():
    every = names(complete(TABLE, ["list", "--format", ""], {}))
    assert "{id}" in every
    assert names(complete(TABLE, ["list", "--format", "{id}\t"], {})) == [f"{{id}}\t{name}" for name in every]


@pytest.mark.usefixtures("user_configuration")
def test_aliases_of_the_user_are_offered_as_commands_and_completed_as_what_they_stand_for(conversation):
    """Aliases were not completed."""
    conversation.run("config", "set", "scopes.alias.looong", "conv --porcelain log @ -5")
    conversation.run("config", "set", "scopes.alias.log", "never used")
    assert complete(TABLE, ["lo"], {}) == [
        ("log", "Show the messages of a branch"),
        ("looong", "alias: conv --porcelain log @ -5"),
    ]
    assert names(complete(TABLE, ["looong", "--grap"], {})) == ["--graph"]
    assert names(complete(TABLE, ["nothing", "--grap"], {})) == []


@pytest.mark.usefixtures("user_configuration")
def test_an_alias_may_hold_an_option_whose_value_is_optional(conversation):
    """`--porcelain` in an alias took the next word as its version."""
    conversation.run("config", "set", "scopes.alias.rows", "log --porcelain")
    assert conversation.run("rows", "@") == conversation.run("log", "@", "--porcelain")


def test_the_source_of_a_merge_is_a_branch_before_it_is_a_message(conversation, offered):
    for number in range(6):
        conversation.append("main", str(number))
    assert offered("merge conv-001 ")[:2] == ["fix", "main"]
    assert len(offered("merge conv-001 ")) == 2 + 5
    assert offered("merge conv-001 f") == ["fix"]
    assert conversation.first[:8] in offered(f"merge conv-001 {conversation.first[:3]}")


def test_recorded_files_are_offered_to_blame(conversation, offered):
    line = json.dumps({"author": "carol", "text": "x", "files": [{"path": "src/app.py", "op": "edit"}]})
    conversation.run("append", conversation.id, "--jsonl", "-", "--json", given=line + "\n")
    for words in ("conv-001", "conv-001/main", "conv-001 --file", "--file"):
        assert offered(f"blame {words} s") == ["src/app.py"], words
    assert offered("blame conv-001/fix s") == []
    assert offered("export conv-001 --output s") == []


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["hooks", "install", ""], ["claude-code", "codex", "cursor", "gemini", "git", "opencode"]),
        (["hooks", "remove", "g"], ["gemini", "git"]),
        (["hooks", "status", "codex", "cur"], ["cursor"]),
        (["skills", "install", "a"], ["agents"]),
        (["skills", "remove", "op"], ["opencode"]),
        (["mcp", "install", "vs"], ["vscode"]),
        (["mcp", "remove", "c"], ["claude-code", "codex"]),
        (["watch", "--print-unit", ""], ["launchd", "systemd"]),
        (["acp", "--continue", ""], ["always", "first", "never"]),
        (["acp", "--inject", ""], ["always", "auto", "never"]),
        (["resume", "--session", ""], ["auto", "new", "own"]),
        (["resume", "--in", "q"], ["qwen"]),
        (["acp", "--memory", ""], ["all", "none", "project"]),
        (["history", "conv-001", "--memory", "a"], ["all"]),
    ],
    ids=" ".join,
)
def test_targets_are_offered_and_not_the_participants_of_conversations(store, typed, offered):
    """`hooks install` offered who has written in the store: its value was called AGENT as an author is."""
    assert sorted(names(complete(TABLE, typed, {"SCOPES_STORE": store}))) == offered
