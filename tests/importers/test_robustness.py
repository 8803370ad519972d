"""Any transcript imported into a real store is refused, or every byte of it is kept.

Each format has such tests of its own; these also check ids, refs, commits and printed text.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scopes.conversation.log import log
from scopes.conversation.show import show, stats
from scopes.conversation.verify import verify
from scopes.errors import CannotImport
from scopes.history.names import conversation_ids, list_branch_tips
from scopes.ids import parse_branch_name
from scopes.importers.discovery import find_sources
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import import_sources
from scopes.importers.verify_source import verify_source
from tests.importers.damage import BYTES, damaged, lines, odd_records
from tests.importers.formats.claude_code.logs import Log, call, text
from tests.importers.formats.codex.rollouts import NEW_TURN, PARENT, Rollout, tokens
from tests.importers.reading import real_transcript
from tests.render.hostile import forbidden
from tests.render.rendering import document, piped, seen
from tests.support.history import texts
from tests.support.store import git, make_store

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
REAL = (
    "claude-code/v2.1.7_3compactions_6interrupts.jsonl",
    "claude-code/v2.1.138_attachments.jsonl",
    "codex/v0.118_subagent-fork_2-session_meta.jsonl",
    "codex/v0.126a8_orphan-call.jsonl",
    "openai-messages/tau-bench_gpt-4o-airline.json",
)
each_depth = pytest.mark.parametrize("examples", [6, pytest.param(1000, marks=pytest.mark.sweep)])


def claude_records():
    """A session with parallel calls, a fork, a sub-agent and a compaction."""
    session = Log()
    session.state("summary", summary="A shop", leafUuid="u003")
    session.user("Sell tea")
    first = session.answer("m1", text("Hm"), tokens=1)
    session.answer("m1", call("c1", "Write", file_path="a", content="tea"), tokens=5)
    session.result("c1", toolUseResult={"filePath": "a", "structuredPatch": [], "content": "tea"})
    session.answer("m2", call("c2", "Task", prompt="Look"), tokens=9)
    session.user("Look", isSidechain=True, parent=None)
    session.answer("s1", text("Found"), isSidechain=True)
    session.result("c2", parent=session.records[5]["uuid"])
    session.boundary(session.last)
    session.summary()
    session.user("Rather not", parent=first)
    return session.records


def codex_records():
    """A fork with its parent's history, calls, a patch, tokens, a rollback and a compaction."""
    rollout = (
        Rollout(forked_from_id=PARENT).meta(PARENT).turn().user("Sell tea").think().say("Hm").patch("c1").output("c1")
    )
    rollout.count(tokens(10, 5), tokens(10, 5)).turn(NEW_TURN).user("More").call("c2").output("c2").count(tokens(30, 9))
    rollout.event("thread_rolled_back", num_turns=1).user("Else").event("turn_aborted", reason="interrupted")
    rollout.add("compacted", {"message": "m", "replacement_history": [{"a": 1.0}]}).say("On")
    return rollout.records


def openai_records():
    """Two lists of messages with a call."""
    function = {"name": "price", "arguments": '{"of": "tea"}'}
    session_log = [
        {"role": "system", "content": "You sell tea."},
        {"role": "user", "content": [{"type": "text", "text": "How much?"}]},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "c1", "content": "4"},
        {"role": "assistant", "content": "Four."},
    ]
    return [{"messages": session_log}, {"messages": session_log[1:2], "model": "m1"}]


RECORDS = {"claude-code": claude_records(), "codex": codex_records(), "openai-messages": openai_records()}
each_format = pytest.mark.parametrize("name", RECORDS)


def objects(repository):
    """List the files of the object database."""
    return sorted(os.path.join(top, name) for top, _, names in os.walk(f"{repository.path}/objects") for name in names)


def import_bytes(repository, folder, data, name="a.jsonl"):
    """Import bytes and check the properties of every import; return the result, or None if refused."""
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(data)
    before = repository.list_refs()
    try:
        done = import_sources(repository, find_sources(path), FORMATS)
    except CannotImport:
        assert repository.list_refs() == before
        return None
    if any(skipped.reason == "contains no message" for skipped in done.skipped):
        assert repository.list_refs() == before
        return None
    for source in done.sources:
        assert source.accounted_bytes == source.size == len(data)
    refs, written = repository.list_refs(), objects(repository)
    again = import_sources(repository, find_sources(path), FORMATS)
    assert again.operation is None
    assert (repository.list_refs(), objects(repository)) == (refs, written)
    proof = verify_source(repository, path, FORMATS)
    older = "cut" if done.skipped else "equal"  # a prefix of the stored source is an older copy
    assert (proof.whole, proof.comparison, len(proof.findings)) == (True, older, len(done.skipped))
    check_printing(repository, done)
    return done


def check_store(repository):
    """Assert that git and scopes find nothing wrong with a store."""
    assert git(repository, "fsck", "--strict", "--full", "--no-dangling", "--no-progress") == ""
    assert verify(repository).findings == ()


def check_printing(repository, done):
    """Assert that no imported text can control a terminal."""
    shown = [done, stats(repository)]
    for conversation in conversation_ids(repository):
        shown += [show(repository, conversation), log(repository, conversation, all_branches=True)]
    for result in shown:
        assert forbidden(seen(result, 80)) == []
        assert forbidden(piped(result).replace("\t", "")) == []
    assert document(done)["kind"] == "import"


def import_states(*contents):
    """Import the successive states of one file into a new store."""
    with tempfile.TemporaryDirectory() as folder:
        repository = make_store(os.path.join(folder, "store.git"))
        done = [import_bytes(repository, folder, data) for data in contents]
        check_store(repository)
        return done


def try_many(examples, contents):
    """Import as many files, or successive states of a file, as a strategy draws."""

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(contents)
    def check_property(states):
        import_states(*(states if isinstance(states, list) else [states]))

    check_property()


@each_depth
@each_format
def test_records_with_odd_values_are_kept_or_refused(name, examples):
    """C-28, C-29, C-32."""
    try_many(examples, odd_records(RECORDS[name]).map(lines))


@each_depth
@each_format
def test_damaged_bytes_are_kept_or_refused(name, examples):
    """C-21, C-22, C-27."""
    try_many(examples, damaged(lines(RECORDS[name])))


@each_depth
@each_format
def test_a_file_that_changes_in_any_way_is_imported_again(name, examples):
    """C-31: an intact file, then a damaged one, then a longer one; the session id is in the first record."""
    begin, sound = lines(RECORDS[name][:2]), lines(RECORDS[name][2:])
    states = st.tuples(st.just(sound), damaged(sound), BYTES.map(lambda more: sound + more))
    try_many(examples, states.map(lambda drawn: [begin + rest for rest in drawn]))


def group():
    """Return records by file name: a thread, a fork that copies it, a sub-agent; a session and its sub-agent."""
    spawn = {"subagent": {"thread_spawn": {"parent_thread_id": PARENT, "depth": 1, "agent_nickname": "Ada"}}}
    helper = Log("s1")
    helper.user("Look", isSidechain=True, agentId="a1")
    helper.answer("h1", text("Found"), isSidechain=True, agentId="a1")
    return {
        "thread.jsonl": Rollout(PARENT).turn().user("Sell tea").say("Hm").records,
        "fork.jsonl": RECORDS["codex"],
        "spawned.jsonl": Rollout("019d0009-2222-7222-8222-222222222222", source=spawn)
        .turn()
        .user("x")
        .say("y")
        .records,
        "s1.jsonl": session_log("a", "b").records,
        "agent-a1.jsonl": helper.records,
    }


@each_depth
def test_related_files_survive_damage_to_one_of_them(examples):
    """C-28, C-29, C-31: the base or the calling session of others may be missing or odd."""
    whole = {name: lines(records) for name, records in group().items()}
    changed = st.sampled_from(list(whole)).flatmap(
        lambda name: st.tuples(st.just(name), damaged(whole[name]) | odd_records(group()[name]).map(lines))
    )

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(changed, st.booleans())
    def check_property(change, intact_first):
        with tempfile.TemporaryDirectory() as folder:
            repository = make_store(os.path.join(folder, "store.git"))
            for contents in ([whole] if intact_first else []) + [whole | dict([change])]:
                import_folder(repository, os.path.join(folder, "transcripts"), contents)
            check_store(repository)

    check_property()


def import_folder(repository, folder, contents):
    """Import several files at once, twice."""
    os.makedirs(folder, exist_ok=True)
    for name, data in contents.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)
    done = import_sources(repository, find_sources(folder), FORMATS)
    for source in done.sources:
        assert source.accounted_bytes == source.size == len(contents[os.path.basename(source.path)])
    refs, written = repository.list_refs(), objects(repository)
    assert import_sources(repository, find_sources(folder), FORMATS).operation is None
    assert (repository.list_refs(), objects(repository)) == (refs, written)
    check_printing(repository, done)


@each_depth
@pytest.mark.parametrize("name", REAL)
@pytest.mark.slow
def test_damaged_stretches_of_real_transcripts_are_kept_or_refused(name, examples):
    """C-21, C-22, C-28: the beginning of a file, and forty records from anywhere in it."""
    with open(real_transcript(*name.split("/")), "rb") as file:
        records = [line for line in file.read(8 << 20).splitlines(keepends=True) if len(line) < 20_000]
    last = max(1, len(records) - 40)
    stretch = st.integers(1, last).map(lambda at: b"".join([*records[:1], *records[at : at + 40]]))
    try_many(examples, stretch.flatmap(damaged))


def session_log(*words, session="s1", **fields):
    """Return a Claude Code session with a prompt and an answer for each text."""
    drawn = Log(session)
    for number, word in enumerate(words):
        drawn.user(word, **fields)
        drawn.answer(f"m{number}", text(f"{word}: done"))
    return drawn


def test_a_truncated_last_line_is_imported_when_it_is_complete(repository, tmp_path):
    """C-21."""
    whole = session_log("a", "b").data()
    first = import_bytes(repository, tmp_path, whole[:-9])
    assert (first.sources[0].unparsed, texts(repository, "conv-001", all_branches=True)) == (1, ["a", "a: done", "b"])
    second = import_bytes(repository, tmp_path, whole)
    assert (second.sources[0].unparsed, texts(repository, "conv-001", all_branches=True)) == (
        0,
        ["a", "a: done", "b", "b: done"],
    )
    check_store(repository)


def test_a_session_known_by_its_summary_continues_in_its_conversation(repository, tmp_path):
    """Transcripts: a session file may begin with a record without time and directory."""
    begin = lines([{"type": "summary", "sessionId": "s1", "summary": "x", "leafUuid": "u1"}])
    assert import_bytes(repository, tmp_path, begin) is None
    assert conversation_ids(repository) == []
    first = import_bytes(repository, tmp_path, begin + session_log("a").data())
    second = import_bytes(repository, tmp_path, begin + session_log("a", "b").data())
    assert [done.conversations[0].id for done in (first, second)] == ["conv-001", "conv-001"]
    assert (second.notes, texts(repository, "conv-001", all_branches=True)) == ((), texts_of("a", "b"))
    check_store(repository)


def test_adjacent_records_are_both_imported(repository, tmp_path):
    done = import_bytes(repository, tmp_path, session_log("a", "b").data().replace(b"}\n{", b"}{"))
    assert (done.sources[0].unparsed, texts(repository, "conv-001", all_branches=True)) == (
        0,
        ["a", "a: done", "b", "b: done"],
    )


@each_format
@pytest.mark.parametrize("opening", [b"[", b'{"message":', b'{"payload":['])
def test_deep_nesting_is_kept_unparsed(repository, tmp_path, name, opening):
    """C-23: nested a hundred thousand times."""
    deep = lines(RECORDS[name]) + opening * 100_000 + b"\n"
    done = import_bytes(repository, tmp_path, deep)
    assert done.sources[0].unparsed == 1
    assert done.sources[0].unparsed_bytes == 100_000 * len(opening) + 1
    check_store(repository)


def test_a_file_of_deep_nesting_alone_is_refused(repository, tmp_path):
    assert import_bytes(repository, tmp_path, b"[" * 100_000) is None


def test_cycles_and_missing_parents_do_not_stop_an_import(repository, tmp_path):
    """C-29."""
    drawn = session_log("a", "b", "c")
    for record, parent in zip(drawn.records, ("u003", "u000", "gone", "u002", "u004", "u004"), strict=True):
        record["parentUuid"] = parent
    done = import_bytes(repository, tmp_path, drawn.data())
    assert (done.sources[0].messages, sorted(texts(repository, "conv-001", all_branches=True))) == (
        6,
        sorted(texts_of("a", "b", "c")),
    )
    check_store(repository)


def texts_of(*words):
    """Return the texts of a session."""
    return [text for word in words for text in (word, f"{word}: done")]


NAMES = [
    "../../x",
    "a/b",
    "/",
    "\x1b]0;t\x07",
    "\x00",
    "a..b",
    "x.lock",
    "@{",
    "HEAD",
    "\u202egpj",
    "é" * 400,
    " ",
    ".",
    "\ud800",
    "~^:",
    "y" * 39 + ".zz",
    "abc.12345678",
    "con",
]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_any_name_makes_legal_refs_and_clean_print(repository, tmp_path, name):
    """C-32, H-71: of a session, a sub-agent, an agent, a folder, a branch, a tool and a file."""
    drawn = session_log("a", session=name, cwd=name, gitBranch=name, slug=name)
    drawn.answer("m9", call(name, name, file_path=name, subagent_type=name), model=name)
    drawn.user("Look", isSidechain=True, parent=None, agentId=name)
    drawn.answer("s1", text(name), isSidechain=True, agentId=name)
    drawn.state("ai-title", aiTitle=name)
    done = import_bytes(repository, tmp_path, drawn.data())
    assert done is None or done.sources[0].messages == 5
    check_store(repository)
    for ref in repository.list_refs():
        git(repository, "check-ref-format", ref)


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_any_name_of_a_thread_makes_legal_refs_and_clean_print(repository, tmp_path, name):
    """C-32: also where the branch of a fork is named after it."""
    spawn = {
        "subagent": {
            "thread_spawn": {"parent_thread_id": PARENT, "depth": 1, "agent_nickname": name, "agent_role": name}
        }
    }
    parent = Rollout(PARENT).turn().user("Sell tea").say("Done")
    files = {"p": parent, "f": Rollout(name, forked_from_id=PARENT).turn().user("x").say("y")}
    files["s"] = Rollout(f"{name}2", source=spawn).turn().user("z").call(name, name).output(name)
    for file, rollout in files.items():
        (tmp_path / f"{file}.jsonl").write_bytes(rollout.data())
    done = import_sources(repository, find_sources(str(tmp_path)), FORMATS)
    assert [source.unparsed for source in done.sources] == [0] * len(done.sources)
    assert len(list_branch_tips(repository, "conv-001")) == 3
    for branch in list_branch_tips(repository, "conv-001"):
        assert parse_branch_name(branch) == branch
    assert import_sources(repository, find_sources(str(tmp_path)), FORMATS).operation is None
    check_store(repository)
    check_printing(repository, done)


def long_line(size):
    """A session with a long prompt and a truncated line."""
    drawn = session_log("a")
    drawn.user("x" * size)
    drawn.answer("m9", text("too long"))
    return drawn.data() + b"torn"


IMPORT = """
import sys
from scopes.importers.discovery import find_sources
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import import_sources
from scopes.store.repository import create_store
from scopes.store.repository import open_repository
create_store(sys.argv[1])
done = import_sources(open_repository(sys.argv[1]), find_sources(sys.argv[2]), FORMATS)
with open("/proc/self/status") as status:  # getrusage would also count the process that started this one
    peak = next(line.split()[1] for line in status if line.startswith("VmHWM"))
print(done.sources[0].unparsed, done.sources[0].accounted_bytes, peak)
"""


def measured(folder, data):
    """Import bytes in a subprocess; return the number of unread records, the counted bytes and the peak memory in KiB."""
    path = os.path.join(folder, "measured.jsonl")
    with open(path, "wb") as file:
        file.write(data)
    command = [sys.executable, "-c", IMPORT, os.path.join(folder, f"{len(data)}.git"), path]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return tuple(map(int, done.stdout.split()))


@pytest.mark.parametrize(
    "size", [8, pytest.param(60, marks=pytest.mark.sweep), pytest.param(100, marks=pytest.mark.sweep)]
)
def test_a_line_of_megabytes_is_kept_in_bounded_memory(tmp_path, size):
    """B-15: it becomes a message, or unparsed if it is longer than 64 MiB; memory holds a few copies of it at most.

    RE2, if it is installed, takes 8 MiB of the constant part.
    """
    data = long_line(size << 20)
    unparsed, accounted, peak = measured(tmp_path, data)
    assert (unparsed, accounted) == (1 if size <= 64 else 2, len(data))
    assert peak < (56 << 10) + 4 * (min(size, 64) << 10)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_records(tmp_path):
    """Storage, bulk: message bodies are freed; 20 MB take little more memory than 2 MB."""
    record = session_log("y" * 20_000).data().splitlines(keepends=True)
    small, large = (measured(tmp_path, b"".join(record[:1] * count)) for count in (100, 1000))
    assert large[2] - small[2] < 10 << 10
