"""`append`: add a message to a branch."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scopes import clock
from scopes.conversation import append as appending
from scopes.conversation.append import append, message_writers
from scopes.conversation.branch import append_to_new_branch, branch
from scopes.conversation.new_rename_delete import new
from scopes.conversation.show import cat
from scopes.conversation.undo import list_operations
from scopes.errors import Ambiguous, Invalid, NotFound, TooNew
from scopes.history.messages import plain_message
from scopes.history.names import list_branch_tips
from scopes.merge.compare import state_of
from scopes.model import message as codec
from scopes.model.message import Author
from scopes.model.validation import check_message
from tests.support.examples import examples
from tests.support.history import history, say, texts
from tests.support.store import git, make_store, open_store
from tests.support.tool_calls import checked


def test_a_message_goes_to_the_active_branch_or_to_the_named_one(repository):
    history(repository, "main: a", "fix: b")
    assert say(repository, "conv-001", "c").branch == "main"
    assert say(repository, "conv/fi", "d").branch == "fix"
    branch(repository, "conv-001", name="other")
    assert say(repository, "conv-001", "e").branch == "other"
    assert texts(repository, "conv-001/main") == ["a", "c"]
    assert texts(repository, "conv-001/fix") == ["a", "b", "d"]
    assert texts(repository, "conv-001/other") == ["a", "c", "e"]


def test_messages_in_one_process_have_the_commits_that_separate_processes_write(repository):
    """A process knows the state of the commit that it wrote last; here two branches are written by turns."""
    history(repository, "main: a")
    start = list_branch_tips(repository, "conv-001")["main"]

    def write_all(*, apart: bool) -> list[str]:
        tips = [start, start]
        for number in range(12):
            if apart:
                appending._newest.clear()
            branch, author = number % 5 % 2, Author("ab"[number % 3 % 2])
            message = replace(plain_message(author, "x"), id=f"{number:026}", time="2026-01-01T00:00:00Z")
            [write] = message_writers(repository, "conv-001", [message])
            tips[branch] = write(tips[branch])
        return tips

    assert write_all(apart=False) == write_all(apart=True)


def test_a_message_has_id_author_recipients_conversation_branch_and_time(repository):
    """S4-22."""
    new(repository)
    appended = say(repository, "conv-001", "hello", author="carol", to=["dave", "erin", "dave"])
    seen = cat(repository, "conv-001/main")
    assert (seen.head.id, seen.head.oid) == (appended.id, appended.oid)
    assert (seen.message.author.name, seen.message.to) == ("carol", ("dave", "erin"))
    assert (seen.conversation, seen.branch) == ("conv-001", "main")
    assert clock.parse_time(seen.message.time) == seen.head.time * 1_000_000_000


@pytest.mark.parametrize(
    "document",
    [
        {"text": "pg", "kind": "decision", "decision": {"topic": "database", "decision": "pg"}},
        {"text": "see it", "files": [{"path": "/home/carol/shop/a.py", "op": "edit"}]},
        {"parts": [{"type": "tool_result", "call_id": "call", "output": "done"}]},
    ],
    ids=["a topic in another spelling", "an absolute path", "the result of a call"],
)
def test_a_message_on_a_new_branch_makes_the_same_state_as_on_an_existing_one(repository, document):
    """A new branch kept the decision in the other spelling, and had an absolute path as a second file."""
    new(repository, directory="/home/carol/shop")
    say(repository, "conv-001", "sqlite", kind="decision", decision={"topic": "Database", "decision": "sqlite"})
    edit = {"file_path": "/home/carol/shop/b.py", "old_string": "a", "new_string": "b"}
    say(repository, "conv-001", "", parts=[{"type": "tool_call", "call_id": "call", "name": "Edit", "input": edit}])
    message = checked({"author": "carol", **document})
    alone = append_to_new_branch(repository, "conv-001", message, start="main", name="alt")
    plain = append(repository, "conv-001", message, branch="main")
    assert state_of(repository, alone.oid) == state_of(repository, plain.oid)


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"text": "x"}, "author: is required"),
        ({"author": "carol"}, "text or parts is required"),
        ({"author": "  ", "text": "x"}, "an author needs a name"),
        ({"author": "carol", "text": "x", "time": "yesterday"}, "not an RFC 3339 time"),
        ({"author": "carol", "text": "x", "to": [""]}, "to.0: an author needs a name"),
        ({"author": "carol", "text": "x", "kind": "root"}, "kind 'root' is not one of"),
        ({"author": "carol", "text": "x", "kind": "proposal"}, "needs the field 'proposal'"),
        ({"author": "carol", "text": "x", "kind": "analysis", "analysis": {"subject": "s"}}, "finding: is required"),
    ],
)
def test_an_incomplete_message_is_rejected(document, words):
    """S4-22, S4-23."""
    with pytest.raises(Invalid) as refusal:
        check_message(document, message_id=clock.new_id(), now=clock.now())
    assert words in refusal.value.message
    assert refusal.value.hint == "see: scopes help append"


CHANGE = {"field_path": "title", "operation": "update", "before": "a", "after": "b"}


@pytest.mark.parametrize(
    ("kind", "given", "default"),
    [
        ("proposal", {"entity_type": "task", "entity_id": "7", "changes": [CHANGE]}, {"request_type": "review"}),
        ("analysis", {"subject": "s", "finding": "f"}, {"requests_feedback": False, "aspect": "general"}),
        ("collaboration-request", {"type": "handoff", "context": "c"}, {"urgency": "normal"}),
        ("decision", {"topic": "t", "decision": "d"}, {}),
        ("priority", {"task": "t", "urgency": "high"}, {}),
        ("method", {"goal": "g", "approach": "a"}, {}),
    ],
)
def test_a_typed_message_is_stored_completely_with_its_defaults(repository, kind, given, default):
    """S4-23, S4-24, S4-25, S4-26."""
    new(repository)
    say(repository, "conv-001", "words", kind=kind, **{kind.replace("-", "_"): {**given, "ours": [1]}})
    message = cat(repository, "conv-001").message
    assert message.kind == kind
    assert message.payload == {**given, **default, "ours": [1]}


@pytest.mark.parametrize("kind", ["plain", "system", "tool-results", "merge", "summary", "prompt", "answer"])
def test_untyped_kinds_are_stored(repository, kind):
    """S4-23."""
    new(repository)
    say(repository, "conv-001", "x", kind=kind)
    assert cat(repository, "conv-001").head.kind == kind


def test_fields_of_a_newer_version_are_shown_and_kept(repository):
    """S4-28: an unknown kind, field and part are read back unchanged."""
    new(repository)
    line = b'{"author":{"kind":"agent","name":"carol"},"hue":[1,{"a":2}],"id":"%s","kind":"hologram","parts":[{"type":"smell","x":1}],"v":7}\n'
    message = codec.decode(line % clock.new_id().encode())
    append(repository, "conv-001", message)
    say(repository, "conv-001", "after")
    seen = cat(repository, "conv-001~1")
    assert (seen.head.kind, seen.message.kind, seen.message.parts[0].type) == ("hologram", "hologram", "smell")
    assert seen.message.extra == {"hue": [1, {"a": 2}], "v": 7}
    assert seen.stored == line % message.id.encode()


@given(text=st.text(alphabet=st.characters(exclude_categories=[]), max_size=60))
@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_text_is_read_back_unchanged(repository, text):
    """B-11, B-13, B-14, B-16, B-20; lone surrogates, NUL and line ends of every kind included."""
    if not repository.list_refs():
        new(repository)
    appended = say(repository, "conv-001", text)
    assert cat(repository, appended.id).message.text == text


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("", "(no text)"),
        (" \n\t ", "(no text)"),
        ("one\r\ntwo", "one two"),
        ("x" * 100, "x" * 72),
        ("a\0b\x1b[31m", r"a\x00b\x1b[31m"),
        ("Scopes-Kind: root", "Scopes-Kind: root"),
        ("head\n\nScopes-Kind: root", "head Scopes-Kind: root"),
    ],
)
def test_the_subject_is_one_safe_line_of_the_text(repository, text, subject):
    """Storage format; text that looks like a trailer is not parsed as one."""
    new(repository)
    appended = say(repository, "conv-001", text)
    assert git(repository, "log", "-1", "--format=%s", appended.oid) == subject + "\n"
    assert cat(repository, appended.id).head.kind == "plain"


def test_unknown_and_ambiguous_names_are_refused(repository):
    history(repository, "main: a", "fix-1:", "fix-2:")
    message = plain_message("carol", "x")
    with pytest.raises(NotFound, match="there is no conversation 'nope'"):
        append(repository, "nope", message)
    with pytest.raises(NotFound, match="there is no branch 'nope'") as refusal:
        append(repository, "conv-001", message, branch="nope")
    assert refusal.value.hint == "branches of conv-001: fix-1, fix-2, main"
    with pytest.raises(Ambiguous, match="fix-1, fix-2"):
        append(repository, "conv-001", message, branch="fix")
    assert texts(repository, "conv-001") == ["a"]


@pytest.mark.parametrize("author", ["", "  ", "x" * 201, "\udcff"])
def test_an_author_name_must_not_be_blank_or_too_long(author):
    with pytest.raises(Invalid, match="author"):
        plain_message(author, "x")


def test_a_message_over_the_size_limit_is_refused_and_not_recorded(repository, monkeypatch):
    """P15."""
    drawn = history(repository, "main: a")
    monkeypatch.setattr(codec, "MAX_MESSAGE_BYTES", 1 << 20)
    with pytest.raises(Invalid, match="the limit is 1 MiB") as refusal:
        say(repository, "conv-001", "x" * (1 << 20))
    assert refusal.value.hint == "store the large part as a file and mention it"
    say(repository, "conv-001", "x" * ((1 << 20) - 400))
    assert cat(repository, "conv-001~1").head.oid == drawn.oids["a"]


def test_a_store_of_a_newer_format_is_not_written(repository):
    """P17."""
    history(repository, "main: a")
    git(repository, "config", "scopes.formatVersion", "99")
    newer = open_store(repository.path)
    assert texts(newer, "conv-001") == ["a"]
    with pytest.raises(TooNew, match="format 99") as refusal:
        say(newer, "conv-001", "b")
    assert "update scopes" in refusal.value.hint
    assert texts(newer, "conv-001") == ["a"]


def test_two_processes_on_one_branch_lose_nothing(repository):
    """P5, in turns; the race itself is tested with the store."""
    history(repository, "main: a")
    other = open_store(repository.path)
    for number in range(6):
        say((repository, other)[number % 2], "conv-001", str(number))
    assert texts(repository, "conv-001") == ["a", "0", "1", "2", "3", "4", "5"]


def test_an_append_is_in_the_reflog_and_not_in_the_operation_log(repository):
    drawn = history(repository, "main: a")
    assert [operation.kind for operation in list_operations(repository).operations] == ["new"]
    reflog = git(repository, "log", "-g", "--format=%gs", "conv-001/main")
    assert reflog.splitlines()[0].startswith(f"append: {drawn.ids['a']} at ")


def test_two_stores_with_the_same_messages_have_the_same_commits(repository, tmp_path, monkeypatch):
    """Storage format, closed content: place, user, conversation id and branch name enter no commit."""
    other = make_store(tmp_path / "elsewhere" / "s.git")
    other = open_store(other.path, actor="somebody-else", command="other")
    drawn = []
    for store, name in ((repository, "conv-001"), (other, "login")):
        seconds, rolls = iter(range(10**18, 10**20, 10**9)), iter(range(1, 99))
        monkeypatch.setattr(clock, "read_clock", lambda seconds=seconds: next(seconds))
        monkeypatch.setattr(clock, "random_bytes", lambda size, rolls=rolls: next(rolls).to_bytes(size, "big"))
        drawn.append(
            history(store, "main: a b c", "fix@b: d" if store is repository else "repair@b: d", conversation=name)
        )
    assert drawn[0].oids == drawn[1].oids
    assert drawn[0].root == drawn[1].root
    assert list_branch_tips(other, drawn[1].conversation) == {"main": drawn[0].oids["c"], "repair": drawn[0].oids["d"]}


def test_the_claim_of_a_known_participant_is_compared_by_its_hash_and_not_read(repository, monkeypatch):
    new(repository)
    state = [state_of(repository, say(repository, "conv-001", text).oid) for text in "ab"]
    opened = open_store(repository)
    monkeypatch.setattr("scopes.store.objects.read_blob", lambda _objects, oid: pytest.fail(f"{oid} was read"))
    assert state_of(opened, say(opened, "conv-001", "c").oid) == state[0] == state[1]


def test_an_author_of_another_kind_changes_the_claim_of_a_participant(repository):
    new(repository)
    before, after = (
        append(repository, "conv-001", plain_message(Author("carol", kind), "a")).oid for kind in ("agent", "human")
    )
    changed = git(repository, "diff-tree", "-r", "--name-only", before, after, "--", "state").splitlines()
    assert changed == ["state/participants/carol="]
