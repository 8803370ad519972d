"""Merging forks of real transcripts: a Claude Code session with two answers, and a Codex copy with its parent."""

from __future__ import annotations

import json

import pytest

from scopes.conversation.append import append
from scopes.conversation.diff import diff
from scopes.conversation.merge import Merged, UpToDate, merge
from scopes.conversation.undo import undo
from scopes.history.messages import plain_message, walk_headers_oldest_first
from scopes.history.names import MAIN, list_branch_tips
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import import_sources
from tests.importers.reading import real_transcript, source_of
from tests.support.store import assert_sound, make_store

CLAUDE = ("claude-code", "v2.1.7_3compactions_6interrupts.jsonl")
CODEX = ("codex", "v0.118_subagent-fork_2-session_meta.jsonl")
COPIED = slice(1, 745)


@pytest.fixture
def store(tmp_path):
    """An empty store."""
    return make_store(tmp_path)


def lines_of(names):
    with open(real_transcript(*names), "rb") as stream:
        return stream.read().splitlines(keepends=True)


def answered_again(lines):
    """Add a second branch to a log: the user goes back to an answer in the middle and types another prompt."""
    records = [json.loads(line) for line in lines]
    typed = [r for r in records if r.get("type") == "user" and isinstance(r["message"]["content"], str)]
    before = typed[len(typed) // 2]
    known = {"sessionId": before["sessionId"], "timestamp": "2026-11-20T12:00:00.000Z", "cwd": before["cwd"]}
    prompt = {**known, "type": "user", "uuid": "f0f0", "parentUuid": before["parentUuid"]}
    answer = {**known, "type": "assistant", "uuid": "f1f1", "parentUuid": "f0f0"}
    answer_message = {"id": "msg_f", "role": "assistant", "content": [{"type": "text", "text": "The other way, then."}]}
    documents = (
        {**prompt, "message": {"role": "user", "content": "Try it the other way."}},
        {**answer, "message": answer_message},
    )
    return [*lines, *(json.dumps(document).encode() + b"\n" for document in documents)]


def import_files(store, tmp_path, **files):
    sources = []
    for name, lines in files.items():
        path = tmp_path / f"{name}.jsonl"
        path.write_bytes(b"".join(lines))
        sources.append(source_of(path))
    import_sources(store, sources, FORMATS)


def heads(store, name):
    tip = list_branch_tips(store, "conv-001")[name]
    return [head.id for head in walk_headers_oldest_first(store, [tip])]


def join(store, fork):
    """Merge a fork into main, check the result, and undo the merge."""
    before = list_branch_tips(store, "conv-001")
    ours, theirs = heads(store, MAIN), heads(store, fork)
    missing = diff(store, "conv-001", f"{MAIN}..{fork}").only_right
    done = merge(store, "conv-001", fork, target=MAIN)
    assert isinstance(done, Merged)
    assert list(done.messages) == [head.id for head in missing] == [name for name in theirs if name not in ours]
    after = heads(store, MAIN)
    assert len(after) == len(set(after)) == len(set(ours) | set(theirs)) + 1
    assert isinstance(merge(store, "conv-001", fork, target=MAIN), UpToDate)
    assert_sound(store)
    undo(store)
    assert list_branch_tips(store, "conv-001") == before


def test_a_session_with_two_answers_to_one_prompt_is_merged(store, tmp_path):
    import_files(store, tmp_path, session=answered_again(lines_of(CLAUDE)))
    (fork,) = (name for name in list_branch_tips(store, "conv-001") if name != MAIN)
    join(store, fork)


def test_a_copied_fork_is_merged_with_its_parent(store, tmp_path):
    """The parent continued after the copy; the copied messages are not a difference."""
    lines = lines_of(CODEX)
    import_files(store, tmp_path, fork=lines, parent=lines[COPIED])
    (fork,) = (name for name in list_branch_tips(store, "conv-001") if name != MAIN)
    append(store, "conv-001", plain_message("carol", "Meanwhile, in the parent."), branch=MAIN)
    join(store, fork)
