"""What a command prints with `--at` is what it printed at that time, whatever happened since."""

from __future__ import annotations

import re
import shutil
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopes import clock
from scopes.cli.table import TABLE
from tests.cli.conversation import Conversation
from tests.support.examples import examples, sample
from tests.support.random_ids import hashed_counter
from tests.support.store import files_of

MARK = "3" * 30  # of the fences around recorded text: a random one would differ in every output
READS = {
    "list": ("list",),
    "list as JSON": ("list", "--json"),
    "list with hidden ones": ("list", "--all"),
    "list of a participant": ("list", "--agent", "bob"),
    "show": ("show", "conv-001"),
    "show as JSON": ("show", "conv-001", "--json"),
    "log": ("log", "conv-001/main"),
    "log of all branches": ("log", "conv-001", "--all", "--oneline"),
    "log of a range": ("log", "conv-001", "main..fix"),
    "log as a graph": ("log", "conv-001", "--graph"),
    "log of one author": ("log", "conv-001/main", "--author", "alice"),
    "cat": ("cat", "conv-001"),
    "cat of an earlier message": ("cat", "conv-001/main~1", "--json"),
    "search": ("search", "parser"),
    "search by a field": ("search", "author:bob"),
    "grep": ("search", "--regex", "pars[a-z]r"),
    "files": ("files", "conv-001"),
    "decisions": ("decisions", "conv-001"),
    "decisions of a branch": ("decisions", "conv-001/fix", "--json"),
    "diff": ("diff", "conv-001", "main", "fix"),
    "range-diff": ("range-diff", "conv-001", "main", "fix"),
    "blame of a decision": ("why", "conv-001", "--topic", "cache"),
    "changes": ("changes", "conv-001"),
    "stats of a conversation": ("stats", "conv-001"),
    "usage": ("usage", "--by", "model"),
    "stats of a branch": ("stats", "conv-001/fix", "--json"),
    "export": ("export", "conv-001", "--format", "jsonl"),
    "export of a branch": ("export", "conv-001/fix", "--format", "markdown"),
    "context": ("context", "conv-001"),
    "context of a small budget": ("context", "conv-001", "--max-tokens", "90"),
    "context for a prompt": ("context", "conv-001", "--for-prompt"),
    "branch": ("branch", "conv-001"),
    "branch with hidden ones": ("branch", "conv-001", "--all", "--json"),
    "tag": ("tag", "conv-001"),
    "conflicts list": ("conflicts", "list", "conv-001"),
    "conflicts show": ("conflicts", "show", "conv-001", "1"),
    "mr list": ("mr", "list", "conv-001", "--state", "all"),
    "mr show": ("mr", "show", "1"),
    "operations list": ("operations", "-a"),
    "operations show": ("operations", "{operation}"),
    "tokens count": ("tokens", "conv-001"),
    "agents list": ("agents", "list"),
    "agents show": ("agents", "show", "alice"),
    "agents export": ("agents", "show", "1", "--card"),
    "inbox": ("inbox", "alice"),
    "proposals list": ("proposals", "list", "conv-001"),
    "proposals show": ("proposals", "show", "conv-001", "{proposal}"),
    "proposals test": ("proposals", "test", "conv-001", "{proposal}"),
    "collaborate status": ("collaborate", "list", "--all"),
    "collaborate show": ("collaborate", "show", "conv-001/collaboration/consensus"),
    "facts list": ("facts", "list", "conv-001"),
    "facts show": ("facts", "show", "conv-001", "quick"),
    "facts log": ("facts", "log", "conv-001", "--json"),
    "facts eligible": ("facts", "run", "conv-001", "--dry-run"),
    "memory list": ("memory", "list"),
    "memory search": ("memory", "list", "redis"),
    "memory context": ("memory", "context"),
    "memory actions": ("memory", "actions"),
    "memory stats": ("memory", "list", "--stat"),
}
CHANGES = (
    ("proposals", "create", "conv-001/main", "task/42", "status=done", "--as", "alice"),
    (
        "append",
        "conv-001/main",
        "--as",
        "alice",
        "the parser is slow",
        "--data",
        '{"files": [{"op": "edit", "path": "src/parser.py"}]}',
    ),
    ("append", "conv-001/fix", "--as", "bob", "--kind", "decision", "--topic", "cache", "none"),
    ("tag", "conv-001", "v1"),
    ("append", "conv-001/main", "--as", "alice", "--kind", "decision", "--topic", "cache", "redis"),
    ("memory", "add", "the cache is redis", "--topic", "redis", "--action", "measure it"),
    ("agents", "register", "alice", "--capability", "parse", "--depends-on", "Seeds"),
    ("collaborate", "conv-001", "--type", "consensus", "--agents", "alice", "--task", "look"),
    ("collaborate", "argue", "conv-001", "it is quick", "--as", "alice"),
    ("facts", "propose", "conv-001", "Seeds", "the parser is quick", "--data", '{"id": "quick"}'),
    ("facts", "accept", "conv-001", "quick"),
    ("facts", "run", "conv-001", "--agent", "alice=true"),
    ("facts", "propose", "conv-001", "Seeds", "the parser is small", "--data", '{"id": "small"}'),
    ("facts", "accept", "conv-001", "small"),
    ("send", "conv-001/main", "--as", "bob", "--to", "@parse", "see the parser"),
    ("mr", "open", "conv-001", "fix", "-m", "Fix"),
    ("merge", "conv-001", "--source", "fix", "--target", "main"),
    ("new", "another"),
    ("append", "conv-002", "--as", "bob", "hello parser"),
    ("merge", "conv-001", "--abort"),
    ("rename", "conv-002", "--title", "a better title"),
    ("summarize", "conv-001/main", "--compact", "--all"),
    ("append", "conv-001/main", "after the compaction"),
    ("undo",),
    ("delete", "conv-002"),
    ("delete-branch", "conv-001", "fix", "--force"),
)
COPIED_AFTER = 16, 22, 23  # the merge that stops, the append after the compaction, the undo


def outcome(done):
    """Return the exit code and the output of a command, without marks, and times such as `2m ago`, which go on."""
    text = re.sub(r"\b\d{30}\b", MARK, done.stdout)
    return done.returncode, re.sub(r"^\[(?:just now|in \d+\w+|\d+\w+ ago)\] ", "", text, flags=re.MULTILINE)


def make_conversation(path, patch):
    """Create a conversation with main and fix; the times in its reflogs come from the clock of the sealed world."""
    patch.setattr(clock, "random_bytes", hashed_counter())
    patch.setattr("scopes.store.operations.wall_nanoseconds", clock.now_nanoseconds)
    made = Conversation(path)
    made.fork()
    return made


def read_newest(made):
    return made.run("operations", "-a", "--json")["operations"][0]["id"]


@pytest.fixture(scope="module", autouse=True)
def estimated_tokens():
    """Estimate tokens: building an encoding takes longer than a read."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scopes.tokens.count.find_ranks", lambda paths, encoding: (None, ()))
        yield


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    """A store after many changes, and copies of it from earlier times."""
    with pytest.MonkeyPatch.context() as patch:
        ticks = iter(range(1_767_225_600 * 10**9, 1 << 62, 10**9))
        patch.setattr(clock, "read_clock", lambda: next(ticks))
        path = tmp_path_factory.mktemp("past")
        made = make_conversation(path, patch)
        copies, first = {}, read_newest(made)
        for number, words in enumerate(CHANGES):
            done = made.run_main(*words)
            assert done.returncode == (3 if words[0] == "merge" and "--source" in words else 0), (words, done.stderr)
            if number in COPIED_AFTER:
                copies[clock.now()] = shutil.copytree(made.store, path / f"{number}.git")
        entry = made.run("memory", "list", "--json")["entries"][0]["id"]
        (proposal,) = made.run("proposals", "list", "conv-001", "--json")["proposals"]
        ids = {"entry": entry, "operation": first, "proposal": proposal["id"]}
        yield SimpleNamespace(conversation=made, copies=copies, ids=ids)


@pytest.mark.parametrize("name", READS)
@pytest.mark.cases(12)
def test_a_read_prints_what_it_prints_in_a_copy_of_the_store_of_that_time(changed, name):
    """The times include an unfinished merge, a compaction, an undo, and those before deletions."""
    words = [word.format_map(changed.ids) for word in READS[name]]
    outputs = []
    for point, copy in sample(list(changed.copies.items()), 2):
        now = changed.conversation.run_main(*words, "--at", point)
        then = changed.conversation.run_main("--store", str(copy), *words)
        assert outcome(now) == outcome(then), (point, now.stderr)
        outputs.append(now.stdout)
    assert any(outputs)


def test_every_command_that_accepts_the_option_is_compared():
    accepting = {" ".join(path) for path, row in TABLE.commands.items() if row.reads_past}
    compared = {name for name in accepting if any(" ".join(words).startswith(name) for words in READS.values())}
    assert accepting - compared == set()


def test_reading_the_past_changes_no_byte(changed):
    """S1-27."""
    before = files_of(changed.conversation.store)
    for name in "list", "show", "search", "context", "conflicts list", "memory search", "export":
        changed.conversation.run_main(*READS[name], "--at", next(iter(changed.copies)))
    assert files_of(changed.conversation.store) == before


@pytest.mark.parametrize(
    "options", [("--format", r"{id}\t{title}"), ("--format", "{id} {branches}"), ("--json",), ("-z",)]
)
def test_the_output_options_apply_to_an_earlier_state(changed, options):
    """The list of now has one conversation; that of the time before the deletion had two."""
    then = changed.conversation.run_main("list", *options, "--at", list(changed.copies)[-1]).stdout
    assert ("conv-002" in then, "conv-002" in changed.conversation.run_main("list", *options).stdout) == (True, False)


RANDOM_CHANGES = (
    ("append", "conv-001/main", "--as", "alice", "the parser is slow"),
    ("append", "conv-001/fix", "--as", "bob", "it is not"),
    ("append", "conv-001/main", "--kind", "decision", "--topic", "cache", "redis"),
    ("append", "conv-001/fix", "--kind", "decision", "--topic", "cache", "none"),
    ("branch", "conv-001", "side"),
    ("append", "conv-001/side", "aside"),
    ("delete-branch", "conv-001", "side", "--force"),
    ("merge", "conv-001", "--source", "fix", "--target", "main"),
    ("merge", "conv-001", "--abort"),
    ("rebase", "conv-001/fix", "--onto", "main"),
    ("rewind", "conv-001/main~1"),
    ("amend", "conv-001/main", "say it again"),
    ("summarize", "conv-001/main", "--compact", "--all"),
    ("memory", "add", "remember this"),
    ("new", "another"),
    ("append", "conv-002", "hello"),
    ("delete", "conv-002"),
    ("delete", "conv-001", "--yes"),
    ("undo",),
    ("redo",),
    ("gc",),
)
RANDOM_READS = (
    ("list",),
    ("log", "conv-001", "--all", "--json"),
    ("log", "conv-002", "--oneline"),
    ("show", "conv-001"),
    ("branch", "conv-001", "--all"),
    ("stats", "conv-001"),
    ("usage", "conv-001"),
    ("decisions", "conv-001"),
    ("conflicts", "list", "conv-001"),
    ("files", "conv-001"),
    ("why", "conv-001", "--topic", "cache"),
    ("tokens", "conv-001"),
    ("memory", "list"),
    ("operations", "-a"),
)


@settings(max_examples=examples(20))
@given(
    st.lists(st.sampled_from(RANDOM_CHANGES), min_size=2, max_size=6),
    st.lists(st.sampled_from(RANDOM_READS), min_size=2, max_size=3, unique=True),
)
@pytest.mark.slow
def test_after_any_commands_every_earlier_state_can_be_read(tmp_path_factory, changes, reads):
    """Each state is named by its time, and by the operation if the command was one."""
    with pytest.MonkeyPatch.context() as patch:
        made = make_conversation(tmp_path_factory.mktemp("past"), patch)
        points, newest = [], read_newest(made)
        for words in changes:
            made.run_main(*words)
            before, newest = newest, read_newest(made)
            outputs = [made.run_main(*read) for read in reads]
            points.append((clock.now(), outputs))
            if newest != before:
                points.append((newest, outputs))
        for name, outputs in points:
            for read, then in zip(reads, outputs, strict=True):
                done = made.run_main(*read, "--at", name)
                assert outcome(done) == outcome(then), (name, read, done.stderr)


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A conversation whose reflogs have the times of the sealed world."""
    return make_conversation(tmp_path, monkeypatch)


def test_after_gc_every_earlier_state_can_still_be_read(made):
    made.append("main", "one")
    made.run("tag", made.id, "v1")
    operation = read_newest(made)
    made.append("main", "two")
    made.run("delete", made.id, "--yes")
    then = made.run("log", made.id, "--oneline", "--at", operation)
    assert (then.count("\n"), "one" in then, "two" in then) == (2, True, False)
    made.run("gc")
    assert made.run("log", made.id, "--oneline", "--at", operation) == then


def test_an_operation_that_has_expired_is_not_found(made):
    """The hint of the error lists the operations that are left."""
    made.run("tag", made.id, "v1")
    expired = read_newest(made)
    made.append("main", "later")
    made.run("gc", "--expire", "now", "--yes")
    error = made.run_refused("log", made.id, "--at", expired, code=4)
    assert f"no operation {expired!a}" in error["message"]
    assert error["hint"].endswith("scopes op -a")
    assert "later" in made.run("log", made.id, "--oneline", "--at", "@")


def test_a_conversation_that_was_deleted_for_good_is_gone_from_the_past_too(made):
    made.run("new", "secret")
    created = read_newest(made)
    made.run("delete", "conv-002")
    assert "secret" in made.run("list", "--at", created)
    made.run("gc", "--expire", "now", "--yes")
    assert made.run_refused("list", "--at", created, code=4)["message"].startswith("there is no operation")
    assert made.run_refused("show", "conv-002", "--at", "@", code=4)


def test_the_trash_of_an_earlier_time_is_listed(made):
    made.run("new", "thrown away")
    before = clock.now()
    made.run("delete", "conv-002")
    deleted = clock.now()
    made.run("undo")
    assert made.run("list", "--deleted") == ""
    assert made.run("list", "--deleted", "--at", before) == ""
    assert "thrown away" in made.run("list", "--deleted", "--at", deleted)
    error = made.run_refused("show", "conv-002", "--at", deleted, code=4)
    assert "is in the trash" in error["message"]


def test_a_deleted_message_of_a_deleted_conversation_is_read_by_its_id(made):
    message = made.append("fix", "only here")
    operation = read_newest(made)
    then = clock.now()
    made.run("delete", made.id, "--yes")
    assert made.run("cat", message, "--json", "--at", then)["text"] == "only here"
    made.run_refused("cat", message, code=4)
    made.run_refused("cat", message, "--at", operation, code=4)  # that operation came before the message


def test_names_with_positions_count_from_the_earlier_state(made):
    """`main@{1}` and `@` mean what they meant then."""
    made.append("main", "one")
    made.run("tag", made.id, "v1")
    operation = read_newest(made)
    made.run("new", "another")
    made.append("main", "two")
    for name, words, expected in (
        ("conv-001/main@{1}", (), "one"),
        ("conv-001/main@{1}", ("--at", operation), "How shall we do it?"),
        ("@/main", ("--at", operation), "one"),
    ):
        assert made.run("cat", name, "--json", *words)["text"] == expected


def test_a_read_that_fails_now_may_work_in_the_past_and_the_other_way_round(made):
    before = clock.now()
    made.run("branch", made.id, "side")
    made.append("side", "aside")
    between = clock.now()
    made.run("delete-branch", made.id, "side", "--force")
    for time, code in (before, 4), (between, 0):
        assert made.run_main("log", f"{made.id}/side", "--at", time).returncode == code
    made.run_refused("log", f"{made.id}/side", code=4)
