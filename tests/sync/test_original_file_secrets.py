"""No secret of an original file leaves, in any record of it; what has none leaves all the same."""

from __future__ import annotations

import pytest

from scopes.secrets.allow import allow
from scopes.secrets.gates import gate_of
from scopes.secrets.list import explain
from scopes.sync.bundles import create_bundle
from scopes.sync.local_conversations import Selection
from scopes.sync.outgoing_sources import _inspect_chunk, find_source_secrets
from tests.importers.stores import import_demo
from tests.support.every_byte import find_word
from tests.support.original_files import exported, files_there, import_session, write_session
from tests.support.planted import FORMS, KINDS
from tests.support.remotes import add, connection, fetch_from, machine, push_to

TOKEN = KINDS[1][1]


@pytest.fixture
def alice(repository, bare):
    add(repository, bare)
    return repository


def plant(store, tmp_path, secret=TOKEN):
    """Import a session in which a record that is no message has a secret."""
    import_session(store, tmp_path / "session.jsonl", "a b c", more=({"environment": {"KEY": secret}},))


def send(store, **options):
    return push_to(store, with_sources=True, **options)


def test_the_conversation_leaves_and_its_files_are_refused(alice, bare, tmp_path):
    plant(alice, tmp_path)
    pushed = send(alice)
    assert [row.status for row in pushed.conversations] == ["new"]
    ((name, status, _, reason),) = pushed.sources
    assert (name, status, pushed.exit_code) == ("conv-001", "refused", 1)
    assert "would leave the store: the original file s1" in reason
    assert TOKEN not in reason
    assert (
        pushed.notes[0].text
        == "original files with a possible secret were not pushed; their conversations do not need them"
    )
    assert files_there(bare) == []
    assert find_word(TOKEN, bare) == []


def test_they_leave_if_secrets_are_allowed_this_time(alice, bare, tmp_path):
    plant(alice, tmp_path)
    pushed = send(alice, allow_secrets=True)
    assert ([row.status for row in pushed.sources], pushed.exit_code) == (["new"], 0)
    bob = machine(tmp_path / "bob", bare)
    fetch_from(bob)
    assert exported(bob) == exported(alice)


def test_the_id_that_a_push_names_can_be_explained_and_allowed_for_good(alice, tmp_path):
    plant(alice, tmp_path)
    (reason,) = [row.reason for row in send(alice).sources]
    name = reason.rpartition("(")[2].partition(")")[0]
    options = {"index_directory": str(tmp_path / "index"), "find_elsewhere": find_source_secrets}
    assert {place.conversation for place in explain(alice, name, **options).places} == {"conv-001"}
    allow(alice, name, **options)
    assert [row.status for row in send(alice).sources] == ["new"]


def test_a_dry_run_says_that_they_would_be_refused(alice, tmp_path):
    plant(alice, tmp_path)
    pushed = send(alice, dry_run=True)
    assert ([row.status for row in pushed.sources], pushed.exit_code) == (["refused"], 1)


def test_files_of_a_conversation_that_is_refused_stay_here(alice, bare, tmp_path):
    import_session(alice, tmp_path / "session.jsonl", "a b c", session=TOKEN)
    pushed = send(alice)
    assert {row.status for row in (*pushed.conversations, *pushed.sources)} == {"refused"}
    assert files_there(bare) == []


def test_a_bundle_has_the_conversation_without_such_files(alice, tmp_path):
    plant(alice, tmp_path)
    chosen, options = Selection(("conv-001",)), {"with_sources": True}
    done = create_bundle(alice, str(tmp_path / "a.bundle"), chosen, connection(), **options)
    assert [row.status for row in (*done.conversations, *done.sources)] == ["included", "refused"]
    assert done.exit_code == 1


@pytest.mark.parametrize("form", FORMS)
def test_every_kind_of_secret_is_found_in_every_form(alice, tmp_path, form):
    sources = []
    for number, (_, secret) in enumerate(KINDS):
        session = f"session{number}"
        more = ({"out": FORMS[form](secret)},)
        sources.append(write_session(tmp_path / f"{session}.jsonl", f"w{number} v", session=session, more=more))
    import_demo(alice, *sources)
    refused = {row.conversation for row in send(alice, dry_run=True).sources if row.status == "refused"}
    assert len(refused) == len(KINDS)


def test_a_secret_with_escapes_is_found_in_a_record_of_several_lines(repository, alice, tmp_path):
    """In a file that is one document, a line is no JSON, and the secret is there only after its text was decoded."""
    escaped = "".join(f"\\u{ord(each):04x}" for each in TOKEN)
    gate = gate_of(alice, "refuse")
    _inspect_chunk(b'[\n{"a":\n"b"},\n{"out": [\n"%s"]}\n]' % escaped.encode(), [2, 15], "a file", gate)
    assert len(gate.leaks) == 1


def test_a_secret_in_many_records_of_a_line_is_found(alice):
    """A record may be a part of a line, even a single byte."""
    data = b'{"out": "%s"}\n' % TOKEN.encode()
    gate = gate_of(alice, "refuse")
    _inspect_chunk(data, [*range(len(data))], "a file", gate)
    assert len(gate.leaks) == 1
