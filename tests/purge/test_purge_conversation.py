"""`purge` of a conversation, of what messages hold of a file, and of the hits of a search."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scopes.code_links import edit_index
from scopes.conversation.branch import switch, tag
from scopes.conversation.list import list_conversations
from scopes.conversation.merge import merge
from scopes.conversation.new_rename_delete import delete, delete_branch, new, rename_branch
from scopes.conversation.undo import list_operations, undo
from scopes.conversation.verify import verify
from scopes.errors import Ambiguous, NotFound
from scopes.history.names import conversation_ids
from scopes.history.sources import read_purged
from scopes.importers.purged_texts import Quotes
from scopes.index import caches, full_text
from scopes.index.sqlite_files import list_abandoned
from scopes.purge.leftovers import delete_caches, delete_in_store
from scopes.purge.proof import prove
from scopes.purge.purge import Places, drop_unreachable, plan_purge, purge
from scopes.purge.selection import PurgeRequest
from scopes.search.run import search
from scopes.store.projects import index_directory
from scopes.store.repository import Caller
from scopes.store.transactions import exclusive_write
from scopes.usage import usage as usages
from tests.support.decisions import decide
from tests.support.every_byte import find_word
from tests.support.history import history, say, texts
from tests.support.store import make_store, open_store

WORD = "Xylophone-Quarantine-4711"


def everywhere(repository, places):
    return find_word(WORD, repository.path, *filter(os.path.isdir, places.derived))


def test_nothing_of_a_purged_conversation_is_left_and_others_are_as_they_were(repository, places):
    first = history(repository, f"main: {WORD} a", "fix@a: b", conversation=f"secret-{WORD}")
    decide(repository, first.conversation, WORD)
    merge(repository, first.conversation, "fix", target="main")
    history(repository, "main: x y", "more@x: z")
    search(repository, WORD, index_directory=places.index_directory)
    before = repository.list_refs("refs/heads/conv-001")
    done = purge(repository, PurgeRequest((first.conversation,)), places)
    assert everywhere(repository, places) == []
    assert (done.conversations, done.left) == (1, ())
    assert conversation_ids(repository) == ["conv-001"]
    assert repository.list_refs("refs/heads/conv-001") == before
    assert verify(repository).exit_code == 0


def test_operations_that_only_name_a_purged_conversation_do_so_no_more(repository, places):
    drawn = history(repository, "main: a", "fix@a: b", conversation=f"deal-{WORD}")
    kept = history(repository, "main: x")
    rename_branch(repository, drawn.conversation, "fix", f"lay-off-{WORD}")
    repository.caller = Caller("carol", f"scopes switch deal-{WORD} main")
    for branch in (f"lay-off-{WORD}", "main"):
        switch(repository, drawn.conversation, branch)
    repository.caller = Caller("carol", f"scopes push deal-{WORD} {kept.conversation}")
    tag(repository, kept.conversation, "v1")  # as an operation that changes something else, or nothing
    purge(repository, PurgeRequest((drawn.conversation,)), places)
    assert everywhere(repository, places) == []
    assert [each.summary for each in list_operations(repository).operations if "v1" in each.summary] == []
    assert verify(repository).exit_code == 0


def test_a_conversation_in_the_trash_can_be_purged_after_its_return(repository, places):
    drawn = history(repository, f"main: a {WORD}")
    history(repository, "main: x")
    delete(repository, drawn.conversation)
    undo(repository)
    purge(repository, PurgeRequest((drawn.conversation,)), places)
    assert everywhere(repository, places) == []
    assert texts(repository, "conv-002") == ["x"]


def test_the_operation_log_keeps_its_entries_without_what_they_did_to_it(repository, places):
    drawn = history(repository, f"main: {WORD}")
    history(repository, "main: x")
    before = len(list_operations(repository).operations)
    purge(repository, PurgeRequest((drawn.conversation,)), places)
    rows = list_operations(repository).operations
    assert len(rows) == before + 1
    assert [row.kind for row in rows].count("new") == 2
    assert [row.summary for row in rows if row.kind == "new"] == ["create conv-002", "[purged]"]


def test_the_list_has_a_hash_and_no_id(repository, places):
    drawn = history(repository, "main: a b")
    other = history(repository, "main: x")
    purge(repository, PurgeRequest(conversation=drawn.conversation, messages=(drawn.ids["a"],)), places)
    purge(repository, PurgeRequest((other.conversation,)), places)
    purged = read_purged(repository)
    assert purged.has_message(drawn.ids["a"])
    assert not purged.has_message(drawn.ids["b"])
    assert purged.has_conversation(other.root)
    assert find_word(other.root, repository.path) == []


def test_what_messages_hold_of_a_file_goes_and_their_words_stay(repository, places):
    drawn = history(repository, "main: a")
    call = {"type": "tool_call", "call_id": "c1", "name": "Read", "input": {"file_path": "/work/app/.env"}}
    parts = [{"type": "text", "text": "I read the settings."}, call]
    say(repository, drawn.conversation, "", author={"name": "claude", "kind": "agent"}, parts=parts)
    result = {"type": "tool_result", "call_id": "c1", "output": f"KEY={WORD}"}
    say(repository, drawn.conversation, "", author={"name": "tool", "kind": "tool"}, parts=[result])
    done = purge(repository, PurgeRequest(file=".env"), places)
    assert everywhere(repository, places) == []
    assert done.messages == 2
    assert [text.strip() for text in texts(repository, drawn.conversation)[:2]] == ["a", "I read the settings."]


def test_results_of_other_calls_with_the_same_id_stay(repository, places):
    """Agents number the calls of each turn: `call_0` of the next turn reads another file."""
    names = [history(repository, "main: a").conversation for _ in range(2)]
    for name, path, output in (
        (names[0], "/work/.env", f"KEY={WORD}"),
        (names[0], "/work/README.md", "how to begin"),
        (names[1], "/work/program.py", "the program"),
    ):
        call = {"type": "tool_call", "call_id": "call_0", "name": "Read", "input": {"file_path": path}}
        say(repository, name, "", author={"name": "claude", "kind": "agent"}, parts=[call])
        result = {"type": "tool_result", "call_id": "call_0", "output": output}
        say(repository, name, "", author={"name": "tool", "kind": "tool"}, parts=[result])
    done = purge(repository, PurgeRequest(file=".env"), places)
    assert (done.messages, done.left) == (2, ())
    assert everywhere(repository, places) == []
    assert find_word("how to begin", repository.path)
    assert find_word("the program", repository.path)


def test_a_file_that_no_message_holds_is_an_error(repository, places):
    history(repository, "main: a")
    with pytest.raises(NotFound, match="no message holds the file 'app"):
        plan_purge(repository, PurgeRequest(file="app.env"), places)


@pytest.mark.parametrize(("path", "found"), [("env", False), ("app/.env", True), (".envrc", False), ("./.env", True)])
def test_a_file_is_named_by_its_path_or_the_end_of_it(repository, places, path, found):
    drawn = history(repository, "main: a")
    call = {"type": "tool_call", "call_id": "c1", "name": "Bash", "input": {"command": "cat /work/app/.env | head"}}
    say(repository, drawn.conversation, "", author={"name": "claude", "kind": "agent"}, parts=[call])
    try:
        assert bool(plan_purge(repository, PurgeRequest(file=path), places).messages) == found
    except NotFound:
        assert not found


def test_all_hits_of_a_search_go(repository, places):
    first = history(repository, f"main: a {WORD} b")
    say(repository, first.conversation, f"again {WORD}")
    second = history(repository, f"main: {WORD} c")
    done = purge(repository, PurgeRequest(query=f'"{WORD}"'), places)
    assert done.messages == 3
    assert texts(repository, first.conversation) == ["a", "[purged]", "b", "[purged]"]
    assert texts(repository, second.conversation) == ["[purged]", "c"]
    assert everywhere(repository, places) == []


def test_a_search_that_finds_nothing_purges_nothing(repository, places):
    history(repository, "main: a")
    with pytest.raises(NotFound, match="finds no message"):
        purge(repository, PurgeRequest(query="nowhere"), places)


def test_a_beginning_that_fits_several_lost_messages_is_refused(repository, places):
    drawn = history(repository, "main: a")
    with pytest.raises((NotFound, Ambiguous)):
        purge(repository, PurgeRequest(conversation=drawn.conversation, messages=("zzzz",)), places)


def test_a_proof_names_what_is_left_and_does_not_hide_it(repository, places, tmp_path):
    drawn = history(repository, f"main: a {WORD}")
    quotes = Quotes()
    quotes.add(WORD)
    os.makedirs(places.index_directory)
    (tmp_path / "index" / "old.json").write_text(WORD.lower())
    commit = drawn.oids[WORD]
    with exclusive_write(repository):
        found = prove(repository, [commit], quotes, places.derived)
    assert found.left[0] == f"object {commit}"
    assert str(tmp_path / "index" / "old.json") in found.left
    assert [each.message for each in found.copies] == [drawn.ids[WORD]]


def test_an_object_that_nothing_reaches_is_left(repository, places):
    history(repository, "main: a")
    oid = repository.write("blob", b"nothing reaches this")
    with exclusive_write(repository):
        found = prove(repository, [], Quotes(), ())
    assert found.left == (f"object {oid}, which nothing reaches",)
    with exclusive_write(repository):
        drop_unreachable(repository)
        assert prove(repository, [], Quotes(), ()).left == ()


def test_caches_are_emptied_but_for_locks_which_others_may_hold(tmp_path):
    for name in ("a.sqlite", "deep/b.json", "index-lock"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    assert delete_caches([str(tmp_path), str(tmp_path / "missing")]) == {}
    assert [path.name for path in tmp_path.iterdir()] == ["index-lock"]


def test_what_cannot_be_a_cache_keeps_its_files(tmp_path, monkeypatch):
    home = tmp_path / "home"
    (home / "notes").mkdir(parents=True)
    (home / "notes" / "a.md").write_text("mine")
    (tmp_path / "contexts").symlink_to(home)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home)
    named = [str(home), str(tmp_path), str(tmp_path / "contexts"), "notes", ""]
    errors = delete_caches(named)
    assert errors == {each: f"{each} is not a cache of scopes: nothing in it was deleted" for each in named}
    assert (home / "notes" / "a.md").read_text() == "mine"


def test_directories_of_refs_that_are_gone_go_and_those_of_git_stay(repository):
    drawn = history(repository, "main: a", "deep/er@a: b")
    delete_branch(repository, drawn.conversation, "deep/er", force=True)
    os.makedirs(os.path.join(repository.path, "refs", "heads", "left", "over"))
    with exclusive_write(repository):
        delete_in_store(repository)
    assert not os.path.exists(os.path.join(repository.path, "refs", "heads", "left"))
    assert os.path.isdir(os.path.join(repository.path, "refs", "heads"))
    assert verify(repository).exit_code == 0


def test_the_indexes_of_a_store_that_was_moved_and_of_deleted_ones_are_emptied_and_no_others(repository, tmp_path):
    """The name of a directory is a hash of the path, so that of before is left behind."""
    drawn = history(repository, f"main: {WORD}")
    other = make_store(tmp_path / "other.git")
    history(other, "main: a")
    cache = tmp_path / "cache"
    for store in (repository, other):
        search(store, "a", index_directory=index_directory(str(cache), store.path))
        list_conversations(store, index_directory(str(cache), store.path))
    assert find_word(WORD, cache)
    os.rename(repository.path, moved := str(tmp_path / "moved.git"))
    purge(open_store(moved), PurgeRequest((drawn.conversation,)), Places(index_directory(str(cache), moved)))
    assert find_word(WORD, cache) == []
    assert os.path.exists(os.path.join(index_directory(str(cache), other.path), "index.sqlite"))


def test_a_directory_of_another_program_in_the_cache_keeps_its_files(repository, tmp_path):
    """It may have a name like the directory of an index."""
    drawn = history(repository, f"main: {WORD}")
    cache = tmp_path / "cache"
    index = Path(index_directory(str(cache), repository.path))
    search(repository, "a", index_directory=str(index))
    foreign, broken = cache / "0123456789abcdef", cache / "fedcba9876543210"
    for directory, name in ((foreign, "notes.sqlite"), (broken, "index.sqlite")):
        directory.mkdir()
        (directory / name).write_text(WORD)
    purge(repository, PurgeRequest((drawn.conversation,)), Places(str(index)))
    assert ((foreign / "notes.sqlite").exists(), (broken / "index.sqlite").exists()) == (True, False)


@pytest.mark.parametrize(
    "layout",
    [
        full_text.LAYOUT, edit_index.CODE_LINES, caches.CONVERSATIONS,
        caches.SESSIONS, usages.LAYOUT,
    ],
    ids=lambda layout: layout.file,
)  # fmt: skip
def test_each_file_of_the_index_shows_that_its_directory_is_ours(tmp_path, layout):
    directory = tmp_path / "0123456789abcdef"
    directory.mkdir()
    assert list_abandoned(str(tmp_path)) == []
    (directory / layout.file).write_text("damaged")
    assert list_abandoned(str(tmp_path)) == [str(directory)]


def test_the_result_of_a_call_that_was_purged_before_it_came_goes_with_the_file(repository, places):
    """A live session is imported in the middle of a turn."""
    name = history(repository, "main: a").conversation
    call = {"type": "tool_call", "call_id": "c1", "name": "Read", "input": {"file_path": "/work/app/.env"}}
    say(repository, name, "", author={"name": "claude", "kind": "agent"}, parts=[call])
    assert purge(repository, PurgeRequest(file=".env"), places).messages == 1
    result = {"type": "tool_result", "call_id": "c1", "output": WORD}
    say(repository, name, "", author={"name": "tool", "kind": "tool"}, parts=[result])
    assert purge(repository, PurgeRequest(file=".env"), places).messages == 1
    assert everywhere(repository, places) == []


FILE = "/work/shop/conf/.env"


@pytest.mark.every_case("each is another way to name a file")
@pytest.mark.parametrize(
    ("wanted", "given", "is_held"),
    [
        (FILE, {"file_path": FILE}, True),
        (FILE, {"command": "cat conf/.env"}, True),
        (FILE, {"command": "cat ./conf/.env | head"}, True),
        (FILE, {"command": "cat .env", "workdir": "/work/shop/conf"}, True),
        (FILE, {"command": "cat .env", "workdir": "conf"}, True),
        (FILE, {"command": "cat /srv/conf/.env"}, False),
        (FILE, {"command": "cat .env"}, False),
        (FILE, {"command": "cat .env", "workdir": "/work/shop/other"}, False),
        ("conf/.env", {"file_path": FILE}, True),
        ("conf/.env", {"command": "cat .env", "workdir": "/work/shop/conf"}, True),
        ("conf/.env", {"command": "cat .env", "workdir": "/work/shop"}, False),
        (".env", {"command": ".env/bin/python run.py"}, False),
        (".env", {"command": "cat .env~"}, False),
    ],
)
def test_a_file_is_also_named_in_the_directory_of_the_conversation_or_the_call(
    repository, places, wanted, given, is_held
):
    name = new(repository, directory="/work/shop").id
    call = {"type": "tool_call", "call_id": "c1", "name": "Bash", "input": given}
    say(repository, name, "", author={"name": "claude", "kind": "agent"}, parts=[call])
    result = {"type": "tool_result", "call_id": "c1", "output": WORD}
    say(repository, name, "", author={"name": "tool", "kind": "tool"}, parts=[result])
    if is_held:
        assert purge(repository, PurgeRequest(file=wanted), places).messages == 2
        assert everywhere(repository, places) == []
    else:
        with pytest.raises(NotFound, match="no message holds the file"):
            plan_purge(repository, PurgeRequest(file=wanted), places)
