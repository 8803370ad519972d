"""Rollouts in a store: forks share their parents' messages, and nothing is written twice."""

from __future__ import annotations

from scopes.history.messages import read_message, walk_headers_oldest_first
from scopes.history.names import list_branch_tips
from scopes.importers.formats.codex import Codex
from scopes.importers.import_sources import import_sources
from scopes.store.repository import create_store, open_repository
from tests.importers.formats.codex.rollouts import NEW_TURN, PARENT, THREAD, Rollout, tokens
from tests.importers.formats.codex.test_fork_copies import continue_thread, fork, parent
from tests.importers.reading import real_transcript, source_of

PAGES = ("019d0002-5555-7555-8555-555555555555", "019d0003-6666-7666-8666-666666666666")


def write(path, rollout):
    path.write_bytes(rollout if isinstance(rollout, bytes) else rollout.data())
    return source_of(path)


def import_files(repository, *sources):
    return import_sources(repository, sources, (Codex(),))


def lengths(repository, conversation="conv-001"):
    """Return how many messages each branch has."""
    tips = list_branch_tips(repository, conversation)
    return {name: len(list(walk_headers_oldest_first(repository, [tip]))) for name, tip in tips.items()}


def test_a_copied_history_makes_no_second_commit(repository, tmp_path):
    """The fork adds no commit for a message of its parent."""
    done = import_files(
        repository, write(tmp_path / "fork.jsonl", fork(continue_thread)), write(tmp_path / "parent.jsonl", parent())
    )
    assert len(done.conversations) == 1
    assert done.conversations[0].messages == 4 + 2
    assert sorted(lengths(repository).values()) == [4, 6]


def test_a_fork_without_copies_continues_its_base(repository, tmp_path):
    data = parent().data()
    end = len(data)
    data += Rollout(None, start=60).user("Something else").data()
    base = {"thread_id": PARENT, "end_ordinal_exclusive": 9, "end_byte_offset": end}
    rollout = Rollout(THREAD, forked_from_id=PARENT, history_base=base).turn(NEW_TURN).user("And milk").say("Yes")
    import_files(repository, write(tmp_path / "fork.jsonl", rollout), write(tmp_path / "parent.jsonl", data))
    assert sorted(lengths(repository).values()) == [5, 6]


def test_a_rollout_without_its_base_is_imported_with_a_note(repository, tmp_path):
    """There is a note, and the fork's own messages are imported."""
    done = import_files(repository, write(tmp_path / "fork.jsonl", fork(continue_thread)))
    assert done.conversations[0].messages == 6
    assert PARENT in done.notes[0].text


def test_a_rollout_imported_in_steps_equals_one_imported_whole(repository, tmp_path):
    """Only new commits are added, and they are the same."""
    data = fork(continue_thread).data()
    path = tmp_path / "a.jsonl"
    ends = [place + 1 for place, byte in enumerate(data) if byte == ord("\n")]
    for end in ends[5::3] + ends[-1:]:
        import_files(repository, write(path, data[:end]))
    grown = list_branch_tips(repository, "conv-001")
    create_store(str(tmp_path / "other.git"))
    other = open_repository(str(tmp_path / "other.git"))
    import_files(other, write(path, data))
    assert set(list_branch_tips(other, "conv-001").values()) <= set(grown.values())
    assert lengths(repository)["main"] == 6


def first_message(repository, branch):
    """Return the first message of a branch."""
    tip = list_branch_tips(repository, "conv-001")[branch]
    return read_message(repository, next(walk_headers_oldest_first(repository, [tip])).oid)


def page(tmp_path, name, base, text):
    """Write a page of PARENT's thread that continues another file of the thread."""
    thread, end = base
    position = {"thread_id": thread, "end_ordinal_exclusive": 9, "end_byte_offset": end}
    rollout = Rollout(PARENT, start=90, history_mode="paginated", history_base=position).user(text).say("Yes")
    return write(tmp_path / f"rollout-2026-04-11T11-00-00-{PARENT}_{name}.jsonl", rollout)


def test_pages_continue_each_other(repository, tmp_path):
    """A base is named by its rollout: the thread for the first one, its own id for a page."""
    first = write(tmp_path / f"rollout-2026-04-11T10-00-00-{PARENT}.jsonl", parent())
    second = page(tmp_path, PAGES[0], (PARENT, first.size), "And milk")
    third = page(tmp_path, PAGES[1], (PAGES[0], second.size), "And bread")
    done = import_files(repository, third, second, first)
    assert lengths(repository) == {"main": 8, f"page/{PAGES[0][-8:]}": 6, f"page/{PAGES[1][-8:]}": 8}
    assert (len(done.conversations), import_files(repository, first, second, third).operation) == (1, None)


def test_a_fork_of_a_page_continues_that_page(repository, tmp_path):
    first = write(tmp_path / f"rollout-2026-04-11T10-00-00-{PARENT}.jsonl", parent())
    second = page(tmp_path, PAGES[0], (PARENT, first.size), "And milk")
    base = {"thread_id": PAGES[0], "end_ordinal_exclusive": 12, "end_byte_offset": second.size}
    fork_of_page = Rollout(THREAD, start=120, forked_from_id=PARENT, history_base=base).user("And salt")
    import_files(repository, write(tmp_path / "fork.jsonl", fork_of_page), first, second)
    assert lengths(repository)[f"fork/{THREAD[-8:]}"] == 7


def spawned(parent_thread=PARENT):
    """Return a sub-agent without a copy of its parent's history."""
    spawn = {"subagent": {"thread_spawn": {"parent_thread_id": parent_thread, "agent_nickname": "Emmy"}}}
    return Rollout(THREAD, start=60, source=spawn).turn(NEW_TURN).user("Look").say("I did")


def spawner():
    """Return the parent of a sub-agent."""
    rollout = Rollout(PARENT).turn().user("Sell tea").call("c1", "spawn_agent")
    return rollout.event("collab_agent_spawn_end", call_id="c1", new_thread_id=THREAD).output("c1").say("Done")


def test_a_sub_agent_names_the_message_that_started_it(repository, tmp_path):
    import_files(repository, write(tmp_path / "agent.jsonl", spawned()), write(tmp_path / "parent.jsonl", spawner()))
    call = list(walk_headers_oldest_first(repository, [list_branch_tips(repository, "conv-001")["main"]]))[1]
    origin = first_message(repository, "subagent/emmy").extra["spawned_by"]
    assert origin == {"thread": PARENT, "call_id": "c1", "message": call.id}


def test_a_late_usage_belongs_to_the_answer_also_after_repeated_imports(repository, tmp_path):
    """Codex 0.139 writes the usage after the results."""
    rollout = Rollout().turn().user("Hi").call("c1").output("c1").count(tokens(10)).say("Done").count(tokens(30))
    data = rollout.data()
    ends = [place + 1 for place, byte in enumerate(data) if byte == ord("\n")]
    for end in ends:
        import_files(repository, write(tmp_path / "a.jsonl", data[:end]))
    create_store(str(tmp_path / "other.git"))
    other = open_repository(str(tmp_path / "other.git"))
    import_files(other, write(tmp_path / "a.jsonl", data))
    tips = list_branch_tips(repository, "conv-001")
    assert tips == list_branch_tips(other, "conv-001")
    heads = walk_headers_oldest_first(repository, [tips["main"]])
    used = [read_message(repository, head.oid).extra.get("usage", {}).get("input_uncached") for head in heads]
    assert used == [None, 10, None, 20]


def test_real_forks_share_a_conversation(repository):
    """Transcripts acceptance 5: 42 records of the parent and 65 of its own."""
    names = [
        "gen_v0.169__rollout-2026-11-21T06-47-41-01a1fcdc-597e-7b10-a37b-5487ce78cba6.jsonl",
        "gen_v0.169__rollout-2026-11-21T06-50-18-01a1fcde-be4a-74d1-806c-34a44f6727bc.jsonl",
    ]
    done = import_files(repository, *(source_of(real_transcript("codex", name)) for name in names))
    assert sorted(source.records for source in done.sources) == [42, 65]
    assert done.conversations[0].messages == 12 + 16
