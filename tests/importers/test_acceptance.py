"""Acceptance tests with real transcripts: format, importer, store and export of the original."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter

import pytest

from scopes.conversation.verify import verify
from scopes.exporters.export import StoredSource, list_sources, walk_bytes
from scopes.history.messages import read_message, walk_headers_oldest_first
from scopes.history.names import MAIN, Revision, conversation_ids, list_branch_tips
from scopes.history.sources import SOURCES, read_source_record, with_last_path
from scopes.ids import Oid
from scopes.importers.archive import walk_segments
from scopes.importers.discovery import find_sources
from scopes.importers.formats.records import walk_records
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import import_sources
from scopes.store.repository import open_repository
from tests.importers.reading import TRANSCRIPTS, real_transcript, source_of
from tests.importers.stores import count_objects
from tests.support.examples import is_thorough
from tests.support.store import make_store

FOLDERS = ("claude-code", "codex", "openai-messages")
SMALL = 700_000
FORK = ("codex", "v0.118_subagent-fork_2-session_meta.jsonl")
PAGED = [
    ("codex", "gen_v0.169__rollout-2026-11-21T06-47-41-01a1fcdc-597e-7b10-a37b-5487ce78cba6.jsonl"),
    ("codex", "gen_v0.169__rollout-2026-11-21T06-50-18-01a1fcde-be4a-74d1-806c-34a44f6727bc.jsonl"),
]
ELSEWHERE = """
import sys
from scopes.importers.discovery import find_sources
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import import_sources
from scopes.store.repository import create_store
from scopes.store.repository import open_repository
create_store(sys.argv[1])
store = open_repository(sys.argv[1])
import_sources(store, [source for path in sys.argv[2:] for source in find_sources(path)], FORMATS)
for ref, oid in sorted(store.list_refs("refs/heads/", "refs/scopes/tracking/", "refs/scopes/sources/").items()):
    print(ref, oid)
"""


def import_files(store, sources):
    return import_sources(store, sources, FORMATS)


def all_sources():
    """Return the real transcripts, in an ordinary run without the large ones."""
    found = [source for folder in FOLDERS for source in find_sources(real_transcript(folder))]
    return found if is_thorough() else [source for source in found if source.size < SMALL]


def imported_refs(store):
    """Return the refs whose values are equal on every machine."""
    return store.list_refs("refs/heads/", "refs/scopes/tracking/", SOURCES)


def messages(store, branch="main", conversation="conv-001"):
    """Return the messages of a branch, oldest first."""
    tip = list_branch_tips(store, conversation)[branch]
    return [read_message(store, head.oid) for head in walk_headers_oldest_first(store, [tip])]


@pytest.fixture
def store(tmp_path):
    """An empty store."""
    return make_store(tmp_path / "store.git")


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """A store with every real transcript, and the result of the import."""
    if not os.path.isdir(TRANSCRIPTS):
        pytest.skip("no real transcripts here")
    path = make_store(tmp_path_factory.mktemp("everything") / "store.git").path
    subprocess.run(["git", "--git-dir", path, "config", "scopes.durability", "fast"], check=True)
    store = open_repository(path)
    return store, import_files(store, all_sources())


def test_a_second_import_of_everything_creates_nothing(everything):
    store, first = everything
    before, where = count_objects(store), store.list_refs()
    second = import_files(open_repository(store.path), all_sources())
    assert (second.operation, count_objects(store), store.list_refs()) == (None, before, where)
    assert [c.messages for c in second.conversations] == [c.messages for c in first.conversations]
    assert [s.message_bytes for s in second.sources] == [s.message_bytes for s in first.sources]


@pytest.mark.parametrize("names", [("claude-code",), ("codex",)])
@pytest.mark.slow
def test_another_machine_makes_the_same_objects(tmp_path, store, names):
    """With any time zone, locale and hash seed."""
    paths = [source.path for source in find_sources(real_transcript(*names)) if source.size < SMALL]
    import_files(store, [source_of(path) for path in paths])
    here = "".join(f"{ref} {oid}\n" for ref, oid in sorted(imported_refs(store).items()))
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    world = {"TZ": "Pacific/Apia", "LC_ALL": "tr_TR.UTF-8", "PYTHONHASHSEED": "4711", "HOME": str(tmp_path)}
    command = [sys.executable, "-c", ELSEWHERE, str(tmp_path / "elsewhere.git"), *paths[::-1]]
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": root, **world}
    assert subprocess.run(command, env=environ, capture_output=True, check=True, text=True).stdout == here


def growing(data, path, store, ends):
    """Import a file again and again while it grows."""
    for end in ends:
        path.write_bytes(data[:end])
        import_files(store, [source_of(path)])


def test_a_claude_session_imported_in_steps_equals_one_imported_whole(tmp_path, store):
    snapshots = [real_transcript("claude-code", f"prefix-{number}of3.jsonl") for number in (1, 2, 3)]
    with open(snapshots[2], "rb") as stream:
        data = stream.read()
    growing(data, tmp_path / "a.jsonl", store, [os.path.getsize(path) for path in snapshots])
    check_grown(store, tmp_path, data)


def test_a_codex_rollout_imported_in_steps_equals_one_imported_whole(tmp_path, store):
    """Also where the last line was cut in the middle."""
    with open(real_transcript("codex", "v0.118_exec.jsonl"), "rb") as stream:
        data = stream.read()
    growing(data, tmp_path / "a.jsonl", store, [len(data) // 3, 2 * len(data) // 3, len(data)])
    check_grown(store, tmp_path, data)


def check_grown(store, tmp_path, data):
    """Assert that a store equals one that imported the whole source, and exports the same bytes."""
    whole = make_store(tmp_path / "whole.git")
    import_files(whole, [source_of(tmp_path / "a.jsonl")])
    ref_lists = [found.list_refs("refs/heads/", "refs/scopes/tracking/") for found in (store, whole)]
    assert ref_lists[0] == ref_lists[1]
    trees = [
        subprocess.check_output(["git", "-C", s.path, "rev-parse", f"{ref}^{{tree}}"])
        for s, ref in records(store, whole)
    ]
    assert trees[0] == trees[1]
    place = Revision(conversation_ids(store)[0], MAIN, list_branch_tips(store, "conv-001")[MAIN])
    (source,) = list_sources(store, place)
    assert b"".join(walk_bytes(store, source)) == data


def records(*stores):
    """Yield every store with the ref of its only source."""
    return [(store, *store.list_refs(SOURCES)) for store in stores]


def test_two_documents_on_one_line_are_both_read(store):
    """242 records on 241 lines, in one unbroken chain of parents."""
    source = source_of(real_transcript("claude-code", "concat-json-line_115.jsonl"))
    with source.open() as stream:
        found = list(walk_records(stream, source.size))
    answer, snapshot = (record for record in found if record.line == 115)
    assert len(found) == 242
    done = import_files(store, [source])
    assert (done.sources[0].unparsed, done.notes) == (0, ())
    kept = list(walk_segments(store, Oid(next(iter(store.list_refs(SOURCES).values())))))
    assert any(answer.value["uuid"] in segment.native_ids for segment in kept)
    assert any((segment.span, segment.state) == (snapshot.span, "file-history-snapshot") for segment in kept)
    (root,) = {oid for head in headers_of(store) for oid in head.parents} - {head.oid for head in headers_of(store)}
    assert sum(root in head.parents for head in headers_of(store)) == 1


def headers_of(store):
    return list(walk_headers_oldest_first(store, sorted(list_branch_tips(store, "conv-001").values())))


def test_messages_copied_by_a_fork_are_its_parents_messages(tmp_path, store):
    """744 records are copies; none becomes a second commit, and their tokens are counted once."""
    with open(real_transcript(*FORK), "rb") as stream:
        lines = stream.read().splitlines(keepends=True)
    (tmp_path / "parent.jsonl").write_bytes(b"".join(lines[1:745]))
    import_files(store, [source_of(real_transcript(*FORK)), source_of(tmp_path / "parent.jsonl")])
    tips = list_branch_tips(store, "conv-001")
    (fork,) = (name for name in tips if name != MAIN)
    parent, copied = (list(walk_headers_oldest_first(store, [tips[name]])) for name in (MAIN, fork))
    assert [head.oid for head in copied[: len(parent)]] == [head.oid for head in parent]
    assert len({head.id for head in headers_of(store)}) == len(copied)
    assert b'"turn_context"' in lines[747]
    own = [read_message(store, head.oid).extra for head in copied[len(parent) :]]
    assert all(extra["precision"] == "exact" for extra in own)
    assert "spawned_by" in own[0]


def test_a_fork_without_copies_continues_its_base(store):
    """42 records are the parent's, 65 its own."""
    done = import_files(store, [source_of(real_transcript(*names)) for names in PAGED])
    assert sorted(source.records for source in done.sources) == [42, 65]
    tips = list_branch_tips(store, "conv-001")
    parent = [head.oid for head in walk_headers_oldest_first(store, [tips[MAIN]])]
    fork = [head.oid for head in walk_headers_oldest_first(store, [tips[next(n for n in tips if n != MAIN)]])]
    assert (fork[: len(parent)], done.notes) == (parent, ())


def test_a_fork_without_its_base_is_imported_with_a_note(store):
    done = import_files(store, [source_of(real_transcript(*PAGED[1]))])
    assert "continues 01a1fcdc" in done.notes[0].text
    assert done.conversations[0].messages == 16


def test_compactions_and_interrupts_stay_in_one_line(store):
    import_files(store, [source_of(real_transcript("claude-code", "v2.1.7_3compactions_6interrupts.jsonl"))])
    kinds = Counter(message.kind for message in messages(store))
    assert (kinds["compaction"], kinds["interrupt"]) == (3, 6)
    assert list(list_branch_tips(store, "conv-001")) == [MAIN]
    assert all(len(head.parents) == 1 for head in headers_of(store))


def test_every_source_can_be_exported_byte_for_byte(everything):
    """Every byte is counted too."""
    store, done = everything
    records = {oid: read_source_record(store, Oid(oid)) for oid in store.list_refs(SOURCES).values()}
    stored = [StoredSource(with_last_path(store, record), Oid(oid)) for oid, record in records.items()]
    assert len(stored) == len(done.sources) >= 20
    for source in stored:
        with open(source.record.path, "rb") as stream:
            assert b"".join(walk_bytes(store, source)) == stream.read()
    for account in done.sources:
        assert account.message_bytes + account.state_bytes + account.unparsed_bytes == account.size


def test_git_fsck_finds_no_problem(everything):
    """`git fsck` and `scopes verify` find nothing."""
    store, _ = everything
    command = ["git", "--git-dir", store.path, "fsck", "--strict", "--no-dangling", "--no-progress"]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    notices = [line for line in done.stderr.splitlines() if not line.startswith("notice: HEAD points to an unborn")]
    assert (done.returncode, done.stdout, notices) == (0, "", [])
    assert verify(store).findings == ()


def test_a_sub_agents_file_joins_its_session(store):
    """The records name only the agent; the folder names the session."""
    done = import_files(store, find_sources(real_transcript("claude-code", "subagent")))
    assert (len(done.conversations), done.notes) == (1, ())
    assert sorted(list_branch_tips(store, "conv-001")) == [MAIN, "subagent/a0ad4f44468bdf20d"]


def test_usage_written_late_belongs_to_the_answer(store):
    """Codex 0.139: five answers with the usage of each."""
    import_files(store, [source_of(real_transcript("codex", "v0.139_subagent-review_min.jsonl"))])
    used = [(message.kind, "usage" in message.extra) for message in messages(store)]
    assert [has_usage for kind, has_usage in used if kind == "answer"] == [True] * 5
    assert not any(has_usage for kind, has_usage in used if kind != "answer")
    with open(real_transcript("codex", "v0.139_subagent-review_min.jsonl"), encoding="utf-8") as stream:
        totals = [json.loads(line)["payload"].get("info") for line in stream if '"token_count"' in line]
    output = sum(message.extra["usage"]["output"] for message in messages(store) if "usage" in message.extra)
    assert output == totals[-1]["total_token_usage"]["output_tokens"]
