"""`blame`: the message that set each claim, across merges and resolutions."""

from __future__ import annotations

import pytest

from scopes.clock import new_id
from scopes.conversation.append import append
from scopes.conversation.changes import blame
from scopes.conversation.conflicts import resolve_conflict
from scopes.conversation.merge import MergeOptions, continue_merge, merge
from scopes.errors import NotFound
from scopes.model.message import Author, FileTouch, Message, Part
from tests.render.rendering import piped, seen_lines
from tests.support.history import history, say


def decide(repository, where, word, author="carol", topic="auth"):
    document = {"topic": topic, "decision": word}
    return say(repository, where, f"we use {word}", author=author, kind="decision", decision=document).id


def rows(found):
    return [(row.key, row.value, row.head.id) for row in found.rows]


def test_blame_names_the_last_message_that_set_the_claim(repository):
    history(repository, "main: a")
    decide(repository, "conv-001", "jwt")
    second = decide(repository, "conv-001", "sessions")
    say(repository, "conv-001", "more")
    assert rows(blame(repository, "conv-001", key="decisions/auth")) == [("decisions/auth", "sessions", second)]


def test_a_merge_does_not_change_the_blamed_message(repository):
    history(repository, "main: a", "fix@a:")
    appended = decide(repository, "conv-001/fix", "jwt", author="dave")
    say(repository, "conv-001/main", "meanwhile")
    merge(repository, "conv-001", "fix", target="main")
    assert rows(blame(repository, "conv-001/main", key="decisions/auth")) == [("decisions/auth", "jwt", appended)]


def test_a_conflict_resolution_is_the_blamed_message(repository):
    history(repository, "main: a", "fix@a:")
    decide(repository, "conv-001/main", "jwt")
    decide(repository, "conv-001/fix", "sessions")
    merge(repository, "conv-001", "fix", target="main")
    result = resolve_conflict(repository, "conv-001", "1", take="source", author=Author("erin", "human"))
    continue_merge(repository, "conv-001")
    assert rows(blame(repository, "conv-001/main", key="decisions/auth")) == [
        ("decisions/auth", "sessions", result.message)
    ]


def test_a_group_of_keys_selects_every_key_below_it(repository):
    history(repository, "main: a")
    ids = [decide(repository, "conv-001", "jwt", topic=topic) for topic in ("auth", "data/base")]
    found = blame(repository, "conv-001", key="decisions")
    assert rows(found) == [("decisions/auth", "jwt", ids[0]), ("decisions/data%2Fbase", "jwt", ids[1])]
    assert rows(blame(repository, "conv-001", key="decisions/data/base")) == rows(found)[1:]


def test_a_file_is_blamed_by_its_path(repository):
    history(repository, "main: a")
    files = [{"path": "src/app.py", "op": "edit", "content_hash": "sha256:1"}]
    appended = say(repository, "conv-001", "edited", files=files).id
    (row,) = blame(repository, "conv-001", key="files/src/app.py").rows
    assert (row.key, row.value["operation"], row.head.id) == ("files/src/app.py", "edit", appended)


def test_the_result_of_a_tool_is_blamed_on_the_agent_that_called_it(repository):
    """D7: `blame --file` named the author `tool` and no call."""
    history(repository, "main: a")
    calls = [
        Part("tool_call", {"call_id": path, "name": "Edit", "input": {"file_path": path}})
        for path in ("a/app.py", "b/app.py")
    ]
    result = Part("tool_result", {"call_id": "a/app.py", "output": "done"})
    other = Part("tool_result", {"call_id": "b/app.py", "output": "done"})
    for message in (
        Message(id=new_id(), author=Author("planner"), kind="answer", parts=tuple(calls)),
        Message(
            id=new_id(), author=Author("tool", "tool"), kind="tool-results", parts=(result, other),
            files=(FileTouch("a/app.py", "edit"), FileTouch("b/app.py", "edit")),
        ),
    ):  # fmt: skip
        append(repository, "conv-001", message)
    found = blame(repository, "conv-001", key="files/b/app.py")
    (row,) = found.rows
    assert (row.head.author, row.call_message.author, row.call.fields["name"]) == ("tool", "planner", "Edit")
    assert row.call.fields["input"] == {"file_path": "b/app.py"}
    (line,) = piped(found).splitlines()
    assert line.split("\t")[1:7:2] == ["planner", "files/b/app.py", "edit"]
    assert line.endswith("→ Edit b/app.py")
    lines = seen_lines(found)
    assert lines[0] == "On conv-001/main:"
    assert lines[1] == "files/b/app.py: edit"
    assert lines[2].endswith("→ Edit b/app.py")
    assert "planner" in lines[2]


def test_the_names_of_hidden_files_are_decoded(repository):
    """D7: `files/%2Egitignore`."""
    history(repository, "main: a")
    say(repository, "conv-001", "edited", files=[{"path": ".gitignore", "op": "edit"}])
    assert "\tfiles/.gitignore\t" in piped(blame(repository, "conv-001", key="files/.gitignore"))


def test_an_unknown_key_is_not_found(repository):
    history(repository, "main: a")
    with pytest.raises(NotFound, match="the state of conv-001 has no 'decisions/auth'"):
        blame(repository, "conv-001", key="decisions/auth")


def test_a_file_that_both_sides_of_a_merge_wrote_has_two_writers(repository):
    history(repository, "main: a", "fix@a:")
    appended = [
        say(repository, f"conv-001/{name}", "edited", author=name, files=[{"path": "p.py", "op": "edit"}]).id
        for name in ("main", "fix")
    ]
    merge(repository, "conv-001", "fix", target="main")
    found = blame(repository, "conv-001/main", key="files/p.py")
    assert [row.head.id for row in found.rows] == appended


def test_a_file_of_which_both_versions_were_taken_has_both_values(repository):
    """A report of a user: the value was `None`."""
    history(repository, "main: a", "fix@a:")
    for name, digest in (("main", "11"), ("fix", "22")):
        touch = {"path": "src/a.py", "op": "edit", "content_hash": f"sha256:{digest}"}
        say(repository, f"conv-001/{name}", "edited", author=name, files=[touch])
    merge(repository, "conv-001", "fix", target="main", options=MergeOptions(strategy="manual"))
    resolve_conflict(repository, "conv-001", "1", take="both", author=Author("erin", "human"))
    continue_merge(repository, "conv-001")
    found = blame(repository, "conv-001/main", key="files/src/a.py")
    assert "\tedit, sha256:11 | edit, sha256:22\t" in piped(found)
    assert "src/a.py: edit, sha256:11 | edit, sha256:22" in "\n".join(seen_lines(found))


@pytest.mark.parametrize(
    "key", ["decisions/Data Base", "decisions/data base", "decisions/DATA%20BASE", "decisions/data base "]
)
def test_a_topic_is_found_in_any_spelling(repository, key):
    history(repository, "main: a")
    appended = decide(repository, "conv-001", "jwt", topic="Data Base")
    assert rows(blame(repository, "conv-001", key=key)) == [("decisions/data%20base", "jwt", appended)]
