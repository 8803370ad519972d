"""A message as a commit: its tree, header and trailers."""

from __future__ import annotations

import json

import pytest

from scopes.conversation.new_rename_delete import new
from scopes.errors import Invalid
from scopes.history.messages import (
    read_below,
    split_message_tree,
    write_message_blob,
    write_message_commit,
    write_message_over,
    write_root_commit,
)
from scopes.model.conversation import Root
from scopes.model.message import Author, FileTouch, Message, text_parts
from scopes.store.objects import TreeEntry, format_tree
from tests.support.history import history, say
from tests.support.store import git

ROOT = Root(uuid="u", created="2026-01-01T00:00:00.000Z")


def tree_of(repository, commit):
    """Return every path in a commit's tree with its blob."""
    lines = git(repository, "ls-tree", "-r", commit).splitlines()
    return {line.split("\t")[1]: line.split()[2] for line in lines}


def message(identity="a" * 26, text="x", **fields):
    return Message(id=identity, author=Author("carol"), parts=text_parts(text), **fields)


def put(repository, parent, stored, base=None):
    return write_message_commit(repository, parent, stored, write_message_blob(repository, stored), base)


def test_a_root_holds_its_document_and_the_participants(repository):
    commit = write_root_commit(repository, ROOT, {"carol": "human", "a b": "agent"})
    assert sorted(tree_of(repository, commit)) == [
        "message.json",
        "state/participants/a%20b=",
        "state/participants/carol=",
    ]
    assert json.loads(git(repository, "show", f"{commit}:message.json")) == {
        "conversation": {"created": ROOT.created, "uuid": "u"}, "kind": "root", "v": 1,
    }  # fmt: skip
    assert git(repository, "show", f"{commit}:state/participants/carol=") == '{"kind":"human"}\n'
    assert list(tree_of(repository, write_root_commit(repository, ROOT, {}))) == ["message.json"]


def test_a_message_has_one_parent_its_line_and_trailers(repository):
    """Storage format."""
    root = write_root_commit(repository, ROOT, {})
    commit = put(repository, root, message(to=("dave", "erin"), kind="prompt", time="2026-02-01T12:00:00+01:00"))
    raw = git(repository, "cat-file", "-p", commit)
    assert f"parent {root}\n" in raw
    assert (
        "author carol <carol@agents.scopes> 1769943600 +0000\ncommitter carol <carol@agents.scopes> 1769943600 +0000\n"
        in raw
    )
    assert raw.endswith(f"\n\nx\n\nScopes-Message: {'a' * 26}\nScopes-Kind: prompt\nScopes-To: dave, erin\n")


def test_a_message_without_a_time_has_that_of_the_one_before(repository):
    """Storage format: the nearest earlier one."""
    root = write_root_commit(repository, ROOT, {})
    first = put(repository, root, message(time="2026-02-01T12:00:00Z"))
    second = put(repository, first, message("b" * 26))
    assert git(repository, "log", "-1", "--format=%at", second) == git(repository, "log", "-1", "--format=%at", first)
    third = put(repository, root, message("c" * 26))
    assert git(repository, "log", "-1", "--format=%at", third) == "1767225600\n"


@pytest.mark.parametrize(
    ("time", "seconds"), [("1960-01-01T00:00:00Z", 0), ("2200-01-01T00:00:00Z", 2**32 - 1), ("nonsense", 0)]
)
def test_a_time_that_git_cannot_hold_is_clamped_and_kept_in_the_message(repository, time, seconds):
    """B-19."""
    commit = put(repository, write_root_commit(repository, ROOT, {}), message(time=time))
    assert git(repository, "log", "-1", "--format=%at", commit) == f"{seconds}\n"
    assert json.loads(git(repository, "show", f"{commit}:message.json"))["time"] == time


@pytest.mark.parametrize("name", ["a\nauthor evil <e@e> 1 +0000", "<>", "\0", "a\x1b[31m", "", "..", "日本"])
def test_an_author_cannot_forge_a_header(repository, name):
    """B-18."""
    stored = Message(id="a" * 26, author=Author(name, "agent\nx"), parts=text_parts("x"))
    commit = put(repository, write_root_commit(repository, ROOT, {}), stored)
    raw = git(repository, "cat-file", "-p", commit)
    assert len([line for line in raw.splitlines() if line.startswith(("author ", "committer ", "parent "))]) == 3
    assert git(repository, "fsck", "--strict", commit) == ""
    assert json.loads(git(repository, "show", f"{commit}:message.json"))["author"]["name"] == name


def test_a_recipient_cannot_forge_a_trailer(repository):
    commit = put(repository, write_root_commit(repository, ROOT, {}), message(to=("x\nScopes-Kind: root",)))
    assert git(repository, "log", "-1", "--format=%(trailers:key=Scopes-Kind,valueonly)", commit).strip() == "plain"


def test_the_state_tree_exists_after_the_first_claim_and_is_carried_forward(repository):
    """Storage format: unchanged blobs cost nothing."""
    new(repository)
    say(repository, "conv-001", "a", author={"name": "bash", "kind": "tool"})
    assert list(tree_of(repository, "conv-001/main")) == ["message.json"]
    say(repository, "conv-001", "b", files=[{"path": "src/a.py", "op": "create", "content_hash": "sha256:1"}])
    first = tree_of(repository, "conv-001/main")
    assert sorted(first) == ["message.json", "state/files/src/a.py=", "state/participants/carol="]
    say(repository, "conv-001", "c")
    second = tree_of(repository, "conv-001/main")
    assert second.pop("message.json") != first.pop("message.json")
    assert second == first


def test_a_claim_already_in_the_state_writes_no_tree(repository):
    history(repository, "main: a b")
    trees = [git(repository, "rev-parse", f"conv-001/main~{n}:state").strip() for n in (0, 1)]
    assert trees[0] == trees[1]


CHANGE = {"field_path": "title", "operation": "update", "before": "a", "after": "b"}
CLAIMS = {
    "proposal": ({"entity_type": "task", "entity_id": "7", "changes": [CHANGE]}, "proposals/task/7/title/carol="),
    "analysis": ({"subject": "login", "aspect": "risk", "finding": "f"}, "analyses/login/risk/carol="),
    "decision": ({"topic": "a/b", "decision": "d"}, "decisions/a%2Fb="),
    "priority": ({"task": "t", "urgency": "high"}, "priorities/t/carol="),
    "method": ({"goal": "g", "approach": "a"}, "methods/g/carol="),
}


@pytest.mark.parametrize("kind", CLAIMS)
def test_a_typed_message_writes_a_claim_under_its_key(repository, kind):
    """S4-23; storage format: the claim alone, one line of canonical JSON."""
    new(repository)
    document, path = CLAIMS[kind]
    stored = say(repository, "conv-001", "x", kind=kind, **{kind: document})
    assert f"state/{path}" in tree_of(repository, stored.oid)
    claim = git(repository, "show", f"{stored.oid}:state/{path}")
    assert claim.endswith("}\n")
    assert stored.id not in claim
    assert "carol" not in claim


def test_file_paths_are_relative_to_the_first_working_directory(repository):
    root = write_root_commit(repository, ROOT, {})
    touches = tuple(FileTouch(path, "edit", "sha256:1") for path in ("/work/src/a.py", "/etc/b"))
    commit = put(repository, root, message(files=touches), base="/work")
    assert sorted(tree_of(repository, commit))[1:3] == ["state/files/%2Fetc%2Fb=", "state/files/src/a.py="]


def test_a_message_that_is_nested_too_deep_is_refused(repository):
    """P15."""
    deep = {"a": 1}
    for _ in range(300):
        deep = {"a": deep}
    with pytest.raises(Invalid) as refusal:
        write_message_blob(repository, message(extra={"deep": deep}))
    assert refusal.value.message


def test_a_chain_that_knows_the_state_below_has_the_commits_of_one_that_reads_it(repository):
    people = [Author("ada", "agent"), Author("ada", "human"), Author("bob", "agent"), Author("ada", "agent")]
    read = known = write_root_commit(repository, ROOT, {})
    below = read_below(repository, known)
    for number, author in enumerate(people):
        time = None if number % 2 else "1960-01-01T00:00:00Z"
        stored = Message(id=f"{number:026}", author=author, parts=text_parts("x"), time=time)
        blob = write_message_blob(repository, stored)
        read = write_message_commit(repository, read, stored, blob)
        known, below = write_message_over(repository, known, below, stored, blob)
        assert known == read
        assert below[:2] == read_below(repository, known)[:2]


@pytest.mark.parametrize("state", [None, "b" * 40])
def test_the_tree_of_a_message_is_split(state):
    entries = [TreeEntry("message.json", "a" * 40, is_tree=False)]
    entries += [] if state is None else [TreeEntry("state", state, is_tree=True)]
    assert split_message_tree(format_tree(entries)) == ("a" * 40, state)


ENTRY = b"100644 message.json\0" + bytes(20)


@pytest.mark.parametrize(
    "data",
    [b"", b"100644 message.json\0", ENTRY[:-1], ENTRY + b"x", b"100755" + ENTRY[6:], b"120000" + ENTRY[6:],
     b"40000 message.json\0" + bytes(20), ENTRY + b"100644 state\0" + bytes(20), ENTRY + b"40000 stat\0" + bytes(21),
     ENTRY + b"40000 state\0" + bytes(19), ENTRY + b"40000 state\0" + bytes(20) + b"100644 x\0" + bytes(20),
     b"100644 a\0" + bytes(20) + ENTRY],
    ids=lambda data: repr(data)[:30],
)  # fmt: skip
def test_any_other_tree_is_not_split(data):
    assert split_message_tree(data) is None
