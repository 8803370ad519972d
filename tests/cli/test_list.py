"""`scopes list`: a list from the index is printed without opening the store."""

from __future__ import annotations

import json

import pytest

from scopes.clock import parse_time
from tests.cli.running import PRODUCT, imported, scopes
from tests.cli.test_import_projects import write_session
from tests.support.store import git

LIST = ("conv", "list")


@pytest.fixture
def cache(conversation, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return str(tmp_path / "cache")


@pytest.mark.parametrize(
    "options", [(), ("--json",), ("-n", "3", "-z"), ("--format", r"{id}\t{title}"), ("-qz", "--color=never")]
)
def test_a_list_from_the_index_loads_neither_rich_nor_pydantic(conversation, cache, options):
    """Start-up budget: 6x from the index."""
    words = ("--store", conversation.store, *LIST, *options)
    assert "pygit2" in imported(*words)
    assert imported(*words) & {"rich", "pydantic"} == set()


def test_without_an_index_a_list_writes_nothing(conversation, tmp_path):
    (tmp_path / "file").touch()  # in it there is no room for an index
    names = imported("--store", conversation.store, *LIST, env={"XDG_CACHE_HOME": str(tmp_path / "file")})
    assert "pygit2" in names
    assert names & {"scopes.store.transactions", "rich", "pydantic"} == set()


def test_the_list_is_the_same_with_and_without_the_index(conversation, cache):
    first, second = conversation.run_main(*LIST), conversation.run_main(*LIST)
    assert (first.stdout, first.returncode) == (second.stdout, 0)
    assert first.stdout.startswith("conv-001\t")
    assert conversation.run_main(*LIST, "--json").stdout == conversation.run_main(*LIST, "--json").stdout


def add_branches(conversation, amount):
    """Add conversations whose only branch is that of the first one."""
    tip = git(conversation.store, "rev-parse", "conv-001/main").strip()
    refs = (f"create refs/heads/more-{number}/main {tip}\n" for number in range(amount))
    git(conversation.store, "update-ref", "--stdin", stdin="".join(refs).encode())
    git(conversation.store, "pack-refs", "--all")


@pytest.fixture
def shop(conversation, tmp_path):
    """The conversation, and another one of the project shop with the title Tea."""
    (tmp_path / "shop").mkdir()
    conversation.run("conv", "new", "Tea", "--project", str(tmp_path / "shop"), "--json")
    conversation.run("conv", "tag", conversation.id, "good", "--json")
    return conversation


def listed(conversation, *words):
    return [row["id"] for row in conversation.run(*LIST, *words, "--json")["conversations"]]


def test_the_list_is_narrowed_by_options(shop, cache, tmp_path):
    """D11."""
    assert sorted(listed(shop)) == sorted(listed(shop, "--project", "all")) == ["conv-001", "conv-002"]
    assert listed(shop, "--project", "shop") == listed(shop, "--project", str(tmp_path / "shop")) == ["conv-002"]
    assert listed(shop, "--agent", "carol") == listed(shop, "tag:good") == ["conv-001"]
    assert listed(shop, "model:gpt") == listed(shop, "--since", "2100-01-01") == []
    assert len(listed(shop, "-n", "1")) == 1
    assert shop.run(*LIST, "-n", "1", "--json")["more"] == 1
    assert listed(shop, "-n", "0") == []
    assert len(listed(shop, "--all")) == len(listed(shop, "-a")) == 2
    assert shop.run_refused(*LIST, "--all", "-n", "1", code=2)["hint"] == "leave out one of them"


def test_a_filter_matches_the_beginning_of_a_word_and_names_the_values_if_none_does(shop, cache):
    shop.append("main", "x", author="claude-code")
    assert listed(shop, "--agent", "claude") == listed(shop, "--agent", "CODE") == ["conv-001"]
    assert listed(shop, "--agent", "laude") == []
    for _ in range(2):  # from the store, and from the index
        done = shop.run_main(*LIST, "--agent", "nobody", "tag:bad")
        assert (done.returncode, done.stdout) == (0, "")
        assert "note: no conversation matches\nhint: agents: carol, claude-code\n" in done.stderr
        shop.run_main(*LIST, "--json")


def test_an_exact_name_comes_before_its_beginnings(shop, cache):
    shop.append("main", "x", author="carol-2")
    other = shop.run("new", "--json")["id"]
    shop.run("append", other, "x", "--as", "carol-2", "--json")
    assert listed(shop, "--agent", "carol") == ["conv-001"]
    assert sorted(listed(shop, "--agent", "caro")) == ["conv-001", other]


def test_words_narrow_the_list_as_in_search(shop, cache):
    assert listed(shop, "tea") == listed(shop, "TEA", "project:shop") == ["conv-002"]
    assert listed(shop, "shall", "do") == listed(shop, "branch:fix") == listed(shop, "agent:carol") == ["conv-001"]
    assert listed(shop, "branch:nowhere") == listed(shop, "tea", "tag:good") == []
    assert shop.run_main(*LIST, "-n", "-1").returncode == 2


def test_json_tells_title_and_project_of_each_conversation(shop, cache):
    """D12: a title that was not given is the first prompt, and `title_source` tells which it is."""
    rows = {row["id"]: row for row in shop.run(*LIST, "--json")["conversations"]}
    assert (rows["conv-002"]["title"], rows["conv-002"]["title_source"]) == ("Tea", "title")
    assert (rows["conv-001"]["title"], rows["conv-001"]["title_source"]) == ("How shall we do it?", "prompt")
    assert rows["conv-002"]["project"] == "shop"
    shown = shop.run("conv", "show", "conv-002", "--json")
    assert (shown["project"], shown["title_source"]) == ("shop", "title")


def test_a_pipe_has_the_first_prompt_in_the_column_of_the_title(shop, cache):
    """D12."""
    titles = {row.split("\t")[0]: row.split("\t")[4] for row in shop.run(*LIST).splitlines()}
    assert titles == {"conv-001": "How shall we do it?", "conv-002": "Tea"}


def test_a_new_conversation_belongs_to_the_project_of_the_current_directory(conversation, cache, tmp_path, monkeypatch):
    (tmp_path / "site" / "src").mkdir(parents=True)
    (tmp_path / "site" / ".git").mkdir()
    monkeypatch.chdir(tmp_path / "site" / "src")
    conversation.run("conv", "new", "--json")
    rows = {row["id"]: row for row in conversation.run(*LIST, "--json")["conversations"]}
    assert (rows["conv-002"]["project"], rows["conv-002"]["directory"]) == ("site", str(tmp_path / "site" / "src"))
    assert listed(conversation, "--project", ".") == ["conv-002"]


def test_deleted_conversations_are_listed_on_request(shop, cache):
    shop.run("delete", "conv-002", "--json")
    [row] = shop.run("list", "--deleted", "--json")["deleted"]
    assert (row["id"], row["title"], row["branches"]) == ("conv-002", "Tea", 1)
    assert shop.run("list", "--deleted", "--format", r"{id}\t{operation}") == f"conv-002\t{row['operation']}\n"
    error = shop.run_refused("log", "conv-002", code=4)
    assert error["hint"].startswith(f"restore it: scopes undo {row['operation']}")
    shop.run("undo", row["operation"], "--json")
    assert shop.run("list", "--deleted") == ""
    assert shop.run_refused("list", "--deleted", "-n", "1", code=2)["hint"] == "leave them out"


def test_a_pipe_and_json_have_one_order_and_one_last_activity(tmp_path):
    """S4-53: messages may be older than their conversation, which may have begun in another time zone."""
    store = ("--store", str(tmp_path / "store.git"))

    def run(*words):
        done = scopes(*store, *words, table=PRODUCT, env={"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": ""})
        assert done.returncode == 0, done.stderr
        return done.stdout

    for name, time in (
        ("a", "2026-05-01T12:00:00.900+02:00"),
        ("b", "2026-05-01T11:00:00.5Z"),
        ("c", "2026-05-01T09:00:00Z"),
    ):
        run("import", str(write_session(tmp_path, name, f"s-{name}", "/gone/shop", name, timestamp=time)))
    run("new")
    run("append", "conv-004", "earlier", "--time", "2020-01-01T00:00:00Z")
    piped = [line.split("\t") for line in run("list").splitlines()]
    rows = json.loads(run("list", "--json"))["conversations"]
    assert [(line[0], line[3]) for line in piped] == [(row["id"], row["last_activity"]) for row in rows]
    assert [row["id"] for row in rows] == ["conv-004", "conv-002", "conv-001", "conv-003"]
    assert parse_time(rows[2]["last_activity"]) == parse_time("2026-05-01T10:00:00.9Z")
    assert rows[2]["last_activity"].endswith("Z")
