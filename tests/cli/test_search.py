"""`scopes search`: output and exit codes."""

from __future__ import annotations

import json

import pytest

from tests.cli.running import PRODUCT, imported, scopes


@pytest.fixture
def searchable(conversation, monkeypatch, tmp_path):
    """A conversation with something to find on two branches."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    conversation.reply = conversation.append("fix", "The parser overflows its stack.", author="planner")
    conversation.other = conversation.append("main", "Nothing to see here.")
    return conversation


def found(searchable, *words, code=0):
    """Search, and return the hits and the coverage."""
    done = searchable.run_main("conv", "search", "--json", *words)
    assert (done.returncode, done.stderr) == (code, "")
    *hits, coverage = map(json.loads, done.stdout.splitlines())
    return hits, coverage


def test_with_json_each_hit_is_a_line_and_the_coverage_the_last(searchable):
    hits, coverage = found(searchable, "parser stack")
    assert [hit["message"]["id"] for hit in hits] == [searchable.reply]
    assert (hits[0]["conversation"], hits[0]["branch"], hits[0]["part"]) == (searchable.id, "fix", "text")
    assert [piece["text"] for piece in hits[0]["snippet"] if piece.get("found")] == ["parser", "stack"]
    assert (
        coverage.items()
        >= {"kind": "search", "hits": 1, "messages": 3, "branches": 2, "conversations": 1, "index": "built"}.items()
    )


def test_a_second_search_indexes_nothing(searchable):
    found(searchable, "parser")
    assert found(searchable, "parser")[1].items() >= {"index": "fresh", "commits_read": 0}.items()


def test_the_name_of_a_hit_works_in_cat_and_branch(searchable):
    name = searchable.run_main("conv", "search", "overflows", "--format", "{id}").stdout.strip()
    assert searchable.run("conv", "cat", name, "--json")["text"] == "The parser overflows its stack."
    assert searchable.run("conv", "switch", "-c", searchable.id, "again", name, "--json")["name"] == "again"


def test_in_a_pipe_each_hit_is_a_row(searchable):
    done = searchable.run_process("conv", "search", "parser")
    assert done.stdout.split("\t")[:3] == [searchable.id, "fix", searchable.reply]
    assert done.stdout.rstrip("\n").endswith("\tThe parser overflows its stack.")
    assert (done.returncode, done.stderr) == (0, "")


def test_nothing_found_is_exit_code_1(searchable):
    hits, coverage = found(searchable, "xyzzy", code=1)
    assert (hits, coverage["hits"]) == ([], 0)


def test_one_conversation_can_be_searched(searchable):
    elsewhere = searchable.run("conv", "new", "--json")["id"]
    searchable.run("conv", "append", elsewhere, "--as", "carol", "parser again", "--json")
    assert found(searchable, "parser")[1]["hits"] == 2
    hits, coverage = found(searchable, "parser", "--in", elsewhere)
    assert [hit["conversation"] for hit in hits] == [elsewhere]
    assert (coverage["conversation"], coverage["messages"]) == (elsewhere, 1)


def test_messages_around_a_hit_are_shown(searchable):
    hits, _ = found(searchable, "overflows", "--context", "1")
    assert [head["id"] for head in hits[0]["before"]] == [searchable.first]
    assert "after" not in hits[0]


def test_in_a_pipe_the_coverage_is_on_standard_error(searchable):
    for words, note in ((("parser", "-n", "0"), "0 of 1: -n"), (("xyzzy",), "0 found")):
        done = searchable.run_process("conv", "search", *words)
        assert (done.returncode, done.stdout) == (1, "")
        assert f"note: {note} · searched 3 messages of 1 conversation" in done.stderr
        assert searchable.run_process("conv", "search", *words, "--quiet").stderr == ""


def test_in_a_pipe_messages_around_a_hit_are_rows(searchable):
    rows = searchable.run_process("conv", "search", "overflows", "--context", "1").stdout.splitlines()
    assert [row.split("\t")[:1] + row.split("\t")[3:4] for row in rows] == [
        ["-1", searchable.first],
        ["0", searchable.reply],
    ]


def test_tool_calls_around_a_hit_are_shown(searchable):
    """A message without text is read for it."""
    call = {"type": "tool_call", "call_id": "1", "name": "Bash", "input": {"command": "pytest -q"}}
    line = json.dumps({"author": {"name": "planner", "kind": "agent"}, "parts": [call]})
    searchable.run("conv", "append", searchable.id, "--branch", "fix", "--jsonl", "-", "--json", given=line + "\n")
    assert "pytest -q" in searchable.run_process("conv", "search", "overflows", "--context", "1").stdout


@pytest.mark.parametrize(
    "query", ["", "AND", "( )", "-", '"', '""', "***", "a OR", "in:text", "kind:nonsense", "after:nonsense"]
)
def test_an_invalid_query_is_refused_with_its_position(searchable, query):
    error = searchable.run_refused("conv", "search", query, code=2)
    assert "at character" in error["message"]


def test_a_query_may_begin_with_a_minus(searchable):
    assert "scopes search -- -parser" in searchable.run_refused("conv", "search", "-parser", code=2)["hint"]
    assert "scopes search -- -nothing" in searchable.run_refused("conv", "search", "-nothing", code=2)["hint"]
    assert "-- -n" not in searchable.run_refused("conv", "search", "x", "-n", "many", code=2)["hint"]
    assert {hit["message"]["id"] for hit in found(searchable, "--", "-overflows")[0]} == {
        searchable.first,
        searchable.other,
    }


def test_one_word_can_be_enough(searchable):
    assert "find them with --any" in searchable.run_main("conv", "search", "parser nothing").stderr
    hits, _ = found(searchable, "parser nothing overflows", "--any")
    assert [hit["message"]["id"] for hit in hits][:2] == [searchable.reply, searchable.other]
    assert "leave out" in searchable.run_refused("conv", "search", "--any", "--regex", "x", code=2)["hint"]


def test_a_regular_expression_takes_the_whole_query(searchable):
    hits, coverage = found(searchable, r"over\w+s its", "--regex")
    assert [piece["text"] for piece in hits[0]["snippet"] if piece.get("found")] == ["overflows its"]
    assert (coverage["hits"], coverage["query"]) == (1, r"over\w+s its")
    assert "regular expression" in searchable.run_refused("conv", "search", "--regex", "(", code=2)["message"]
    assert "without lookaround" in searchable.run_refused("conv", "search", "--regex", "(?<!x)its", code=2)["hint"]


def test_a_damaged_index_is_built_again_with_a_note(searchable, tmp_path):
    found(searchable, "parser")
    (index,) = (tmp_path / "cache").glob("scopes/*/index.sqlite")
    index.write_bytes(index.read_bytes()[:5000] + b"\x55" * 5000)
    done = searchable.run_main("conv", "search", "--json", "parser")
    hit, coverage = map(json.loads, done.stdout.splitlines())
    assert (hit["message"]["id"], coverage["index"]) == (searchable.reply, "rebuilt")
    assert "it was rebuilt; nothing was lost" in done.stderr


def test_a_cache_that_cannot_be_written_is_a_note(searchable, monkeypatch, tmp_path):
    (tmp_path / "cache").write_text("in the way")
    done = searchable.run_main("conv", "search", "parser", "--json")
    assert (done.returncode, json.loads(done.stdout.splitlines()[-1])["index"]) == (0, "in-memory")
    assert "the search index cannot be kept" in done.stderr


def test_a_search_loads_no_terminal_library():
    assert "rich" not in imported("conv", "search", "x")


def test_without_a_store_a_note_is_printed(tmp_path):
    done = scopes("--store", str(tmp_path / "none.git"), "conv", "search", "x", table=PRODUCT)
    assert (done.returncode, done.stdout) == (4, "")


def test_a_snippet_is_plain_text_with_any_other_field(searchable):
    [hit] = found(searchable, "overflows")[0]
    assert isinstance(hit["snippet"], list)
    plain = searchable.run("search", "overflows", "--format", "{snippet}")
    assert plain.startswith("The parser")
    for form in (["--format", r"{snippet}\t{retracted}"], ["--format", "{snippet}\t{retracted}"]):
        assert searchable.run("search", "overflows", *form) == plain.replace("\n", "\t\n")
    searchable.run("conv", "retract", searchable.id, hit["message"]["id"], "--branch", hit["branch"], "--json")
    rows = [
        searchable.run("search", "overflows", *form)
        for form in (["--format", "{snippet}"], ["--format", "{snippet}"], ["--format", "{snippet}{also}"])
    ]
    assert rows == [f"(retracted) {plain}"] * 3


def test_a_relative_directory_finds_the_files_below_it(searchable):
    line = json.dumps({"author": "carol", "text": "x", "files": [{"path": "/w/internal/git/push.go", "op": "edit"}]})
    searchable.run("conv", "append", searchable.id, "--jsonl", "-", "--json", given=line + "\n")
    for path in ("internal/git", "internal/git/", "./internal", "/w/internal/git/", "push.go"):
        assert found(searchable, f"file:{path}")[1]["hits"] == 1, path
        assert len(searchable.run("log", searchable.id, "--", path).splitlines()) == 1, path
    assert found(searchable, "file:/internal", code=1)[1]["hits"] == 0


def test_a_title_is_found_with_its_conversation(searchable):
    searchable.run("rename", searchable.id, "--title", "Fix the git sync error", "--json")
    done = searchable.run_main("search", "git sync")
    assert (done.returncode, done.stdout) == (0, "")
    assert f"note: title: {searchable.id}: Fix the git sync error" in done.stderr
    assert found(searchable, "sync nothing", "--any")[1]["titles"] == [
        {"conversation": searchable.id, "title": "Fix the git sync error"}
    ]
    for words in (["sync kind:answer"], ["syn"], ["sync", "--in", searchable.id]):
        assert "titles" not in found(searchable, *words, code=1)[1]
    done = searchable.run_main("conv", "search", "--json", "sync", "--until", "1999-01-01")
    assert (done.returncode, "titles" in done.stdout) == (1, False)
    assert done.stderr == "note: no message of that time matches\nhint: messages: from 2026-01-01 to 2026-01-01\n"
