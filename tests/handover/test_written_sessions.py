"""What becomes of a written session when its conversation is purged, shared, rewritten, or is no longer there."""

from __future__ import annotations

import json

import pytest

from scopes.conversation.verify import verify
from scopes.errors import Busy, Corrupt
from scopes.handover import checkout as module
from scopes.handover.checkout import checkout
from scopes.importers.discovery import find_sources
from scopes.importers.formats.events import ByteRange, Draft
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import import_sources
from scopes.importers.session_commits import WrittenMessages
from scopes.model import canonical_json
from scopes.model.message import Author
from scopes.purge.purge import Places, purge
from scopes.purge.selection import PurgeRequest
from scopes.sync.bundles import create_bundle, import_bundle
from scopes.sync.source_check import check_description
from tests.handover.continued import go_on
from tests.handover.native_sessions import call, result, text
from tests.handover.test_checkout import Shop
from tests.support.every_byte import find_word
from tests.support.history import say
from tests.support.remotes import EVERYTHING, connection
from tests.support.store import git, make_store, open_store

WORD = "Xylophone-4711"


@pytest.fixture
def shop(tmp_path, repository):
    return Shop(tmp_path, repository)


@pytest.mark.parametrize("agent", ["codex", "pi"])
def test_what_was_purged_does_not_come_back_with_the_session_of_an_agent(shop, tmp_path, agent):
    say(shop.repository, "conv-001", f"the word is {WORD}")
    say(shop.repository, "conv-001", "forget it")
    found = shop.checkout(agent)
    purge(shop.repository, PurgeRequest(query=WORD), Places(str(tmp_path / "index"), (), None))
    assert find_word(WORD, shop.repository.path) == []
    go_on(agent, found.file)
    shop.import_file(found.file)
    assert find_word(WORD, shop.repository.path) == []
    assert shop.texts(f"conv-001/{agent}/1")[-3:] == ["forget it", "and the tests?", "they pass"]
    assert shop.branches() == sorted([f"{agent}/1", "main"])
    assert verify(shop.repository).exit_code == 0


def test_a_session_that_was_written_anew_is_known_by_the_ids_of_its_messages(shop):
    found = shop.checkout("pi")
    go_on("pi", found.file)
    with open(found.file) as file:
        records = [json.loads(line) for line in file]
    with open(found.file, "w") as file:
        file.writelines(json.dumps(record, indent=None, separators=(", ", ": ")) + "\n" for record in records)
    shop.import_file(found.file)
    assert shop.texts("conv-001/pi/1")[-3:] == ["they are gone", "and the tests?", "they pass"]
    assert shop.branches() == ["main", "pi/1"]


def test_what_an_agent_adds_to_an_answer_of_ours_is_not_taken_for_it(shop):
    """Codex: an answer goes on until the next prompt."""
    found = shop.checkout("codex")
    more = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "and in b.py"}]}
    with open(found.file, "a") as file:
        file.write(json.dumps({"timestamp": "2026-03-02T09:00:00Z", "type": "response_item", "payload": more}) + "\n")
    shop.import_file(found.file)
    assert "and in b.py" in "\n".join(shop.texts("conv-001/codex/1"))
    assert shop.texts("conv-001/main")[-1] == "they are gone"


def test_a_result_of_a_call_with_an_old_id_is_a_new_message():
    """Local models count their calls anew in every session."""
    commits = {"m1": "c1"}
    known = WrittenMessages("codex/1", commits, {}, {}, frozenset(["toolu_01"]), {})
    draft = Draft("9", "8", Author("tool", "tool"), "tool-results", (result("toolu_01"),), (ByteRange(9, 1),))
    assert known.is_repeated(draft, {"toolu_01": "m1"})
    assert not known.is_repeated(draft, {"toolu_01": "m9"})
    assert not known.is_repeated(draft._replace(parts=(result("toolu_02"),)), {"toolu_02": "m1"})
    assert not known.is_repeated(draft._replace(parts=(result("toolu_01"), text("more"))), {"toolu_01": "m1"})
    assert not known.is_repeated(draft._replace(parts=(call("toolu_01"),)), {"toolu_01": "m1"})


def test_another_store_gets_the_session_as_one_of_its_own(shop, tmp_path):
    """Nothing there tells that it belongs to a conversation, unless that has the same messages."""
    found = shop.checkout("codex")
    go_on("codex", found.file)
    other = make_store(tmp_path / "other.git")
    imported = import_sources(other, find_sources(found.file), FORMATS)
    assert [each.messages for each in imported.conversations] == [9]


def test_a_clone_knows_the_session_once_it_is_checked_out_there_too(shop, tmp_path):
    """Its id follows from the message and the agent, so that the file is found again."""
    found = shop.checkout("codex")
    create_bundle(shop.repository, str(tmp_path / "shop.bundle"), EVERYTHING, connection())
    shop.repository = make_store(tmp_path / "other.git")
    import_bundle(shop.repository, str(tmp_path / "shop.bundle"), EVERYTHING, connection())
    again = shop.checkout("codex")
    assert (again.state, again.file, again.new_branch) == ("unchanged", found.file, "codex/1")
    go_on("codex", found.file)
    shop.import_file(found.file)
    assert shop.texts("conv-001/codex/1")[-2:] == ["and the tests?", "they pass"]


def test_a_description_that_came_from_elsewhere_says_a_tip_and_a_branch_or_is_refused():
    known = {
        "v": 1, "format": "codex", "native_id": "s", "size": 1, "sha256": "0", "parser": 1, "essence": "h1",
        "root": "a" * 40,
    }  # fmt: skip
    check_description(canonical_json.dump({**known, "handover": {"tip": "a" * 26, "branch": "codex/1"}}))
    for bad in ({}, {"tip": "a" * 26}, {"tip": "a" * 26, "branch": "-x"}, {"tip": "a" * 26, "branch": "b", "more": 1}):
        with pytest.raises(Corrupt, match="does not name the session that it was written from"):
            check_description(canonical_json.dump({**known, "handover": bad}))


@pytest.mark.every_case("a session is a file, rows of a database, or what a program imports")
@pytest.mark.parametrize("agent", ["codex", "llm", "opencode"])
def test_what_was_purged_since_a_session_was_made_is_not_handed_over(shop, tmp_path, agent):
    """An open pack can be read after a purge has deleted it."""
    message = say(shop.repository, "conv-001", f"the code is {WORD}")
    git(shop.repository, "repack", "-adq")
    shop.repository.close()
    plan = shop.plan(agent)
    request = PurgeRequest(conversation="conv-001", messages=(message.id,))
    assert purge(open_store(shop.repository.path), request, Places(str(tmp_path / "index"))).left == ()
    with pytest.raises(Busy, match="has deleted objects"):
        checkout(plan, shop.user)
    assert find_word(WORD, tmp_path) == []
    assert shop.branches() == ["main"]
    assert shop.checkout(agent).state == "written"


def test_what_is_purged_while_the_program_of_an_agent_runs_is_not_registered(shop, tmp_path, monkeypatch):
    message = say(shop.repository, "conv-001", f"the code is {WORD}")
    plan = shop.plan("opencode")
    request = PurgeRequest(conversation="conv-001", messages=(message.id,))
    run = module.import_with_program

    def run_and_purge(*words):
        run(*words)
        assert purge(open_store(shop.repository.path), request, Places(str(tmp_path / "index"))).left == ()

    monkeypatch.setattr(module, "import_with_program", run_and_purge)
    with pytest.raises(Busy, match="has deleted objects"):
        checkout(plan, shop.user)
    assert find_word(WORD, shop.repository.path) == []
    assert shop.branches() == ["main"]
