"""A scan finds secrets in messages, titles and names, reads nothing twice, and keeps no secret."""

from __future__ import annotations

import pytest

from scopes import clock
from scopes.conversation.append import amend, append
from scopes.conversation.branch import branch, rewind
from scopes.conversation.new_rename_delete import delete, rename_title
from scopes.errors import NotFound
from scopes.history.messages import plain_message
from scopes.model.message import Author
from scopes.secret_scan import scan as rules
from scopes.secrets import scan_cache
from scopes.secrets.identity import KEY_FILE, fingerprint, identify_with
from scopes.secrets.scan import scan
from tests.support.history import history, say
from tests.support.planted import KINDS
from tests.support.random_ids import hashed_counter
from tests.support.store import make_store, open_store

TOKEN, KEY = KINDS[1][1], KINDS[10][1]


@pytest.fixture
def repository(tmp_path, monkeypatch):
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())
    return make_store(tmp_path / "store")


@pytest.fixture
def look(repository, tmp_path):
    """Scan with one index."""

    def scan_here(*names):
        return scan(repository, names, index_directory=str(tmp_path / "index"))

    return scan_here


def found(result):
    return [(row.rule, row.conversation, row.field, row.line) for row in result.secrets]


def test_every_place_of_a_secret_is_a_row(repository, look):
    history(repository, "main: a b", "fix@a: c")
    say(repository, "conv-001/main", f"one\ntwo {TOKEN}")
    say(repository, "conv-001/fix", f"{TOKEN} and {KEY}")
    result = look()
    assert found(result) == [
        ("github-token", "conv-001", "parts[0].text", 2),
        ("github-token", "conv-001", "parts[0].text", 1),
        ("stripe-key", "conv-001", "parts[0].text", 1),
    ]
    assert len({row.id for row in result.secrets}) == 2
    assert (result.exit_code, result.conversations, result.messages) == (1, 1, 5)


def test_titles_tags_and_purposes_are_scanned(repository, look):
    history(repository, "main: a")
    rename_title(repository, "conv-001", f"use {TOKEN}")
    branch(repository, "conv-001", name=KEY, switch=False)
    assert {(row.rule, row.message) for row in look().secrets} == {("github-token", None), ("stripe-key", None)}


def test_a_second_scan_reads_nothing(repository, look):
    history(repository, "main: a b c")
    say(repository, "conv-001/main", TOKEN)
    first, second = look(), look()
    assert second.secrets == first.secrets
    assert (second.messages, second.size_bytes, second.unchanged) == (0, 0, 1)


def test_of_a_grown_conversation_the_new_messages_are_read(repository, look):
    history(repository, "main: a b c")
    say(repository, "conv-001/main", TOKEN)
    look()
    say(repository, "conv-001/main", KEY)
    result = look()
    assert [rule for rule, *_ in found(result)] == ["github-token", "stripe-key"]
    assert result.messages == 1
    assert look().unchanged == 1


def test_a_new_branch_reads_what_it_has_alone(repository, look):
    history(repository, "main: a b c")
    look()
    branch(repository, "conv-001", name="fix", start="main~1", switch=False)
    say(repository, "conv-001/fix", TOKEN)
    result = look()
    assert [rule for rule, *_ in found(result)] == ["github-token"]
    assert result.messages == 1


def test_what_a_branch_no_longer_has_is_no_longer_found(repository, look):
    history(repository, "main: a b")
    say(repository, "conv-001/main", TOKEN)
    assert look().exit_code == 1
    rewind(repository, "conv-001", count=1)
    assert look().secrets == ()


def test_a_deleted_conversation_is_forgotten(repository, look):
    history(repository, "main: a")
    say(repository, "conv-001/main", TOKEN)
    look()
    delete(repository, "conv-001")
    history(repository, "main: x")
    assert look().secrets == ()


def test_an_amended_message_still_has_its_first_text(repository, look):
    """The history keeps it: only purge takes it away."""
    history(repository, "main: a")
    message = say(repository, "conv-001/main", TOKEN)
    amend(repository, "conv-001", message.id, "harmless", author=Author("carol"))
    assert [rule for rule, *_ in found(look())] == ["github-token"]


def test_some_conversations_are_scanned_and_others_kept(repository, look):
    for _ in range(2):
        say(repository, f"{history(repository, 'main: a').conversation}/main", TOKEN)
    assert {row.conversation for row in look("conv-002").secrets} == {"conv-002"}
    assert look().unchanged == 1
    with pytest.raises(NotFound):
        look("conv-009")


def test_other_rules_or_another_key_scan_again(repository, look, monkeypatch):
    history(repository, "main: a")
    say(repository, "conv-001/main", TOKEN)
    ids = [row.id for row in look().secrets]
    monkeypatch.setattr(scan_cache, "RULES_VERSION", rules.RULES_VERSION + 1)
    assert look().unchanged == 0
    (path_of_key(repository)).unlink()
    again = look()
    assert again.unchanged == 0
    assert [row.id for row in again.secrets] != ids


def path_of_key(repository):
    from pathlib import Path

    return Path(repository.path) / KEY_FILE


@pytest.mark.parametrize("damage", [b"", b"x", b"{}\n{}", None])
def test_a_damaged_index_is_made_again(repository, look, tmp_path, damage):
    history(repository, "main: a")
    say(repository, "conv-001/main", TOKEN)
    first, path = look(), tmp_path / "index" / "secrets.json"
    path.write_bytes(path.read_bytes()[:-5] if damage is None else damage)
    assert look().secrets == first.secrets
    assert look().unchanged == 1


def test_neither_the_index_nor_the_ids_tell_the_secret(repository, look, tmp_path):
    history(repository, "main: a")
    say(repository, "conv-001/main", TOKEN)
    (row,) = look().secrets
    kept = (tmp_path / "index" / "secrets.json").read_bytes()
    assert row.id.encode() in kept
    assert TOKEN.encode()[4:20] not in kept
    other = make_store(tmp_path / "other")
    assert identify_with(other)("github-token", TOKEN) != row.id


def test_a_store_without_secrets_gets_no_key(repository, look):
    history(repository, "main: a")
    assert look().exit_code == 0
    assert not path_of_key(repository).exists()
    assert look().unchanged == 1


def test_equal_secrets_have_equal_ids_for_every_process(repository):
    first = identify_with(repository)("jwt", "x")
    assert identify_with(open_store(repository.path))("jwt", "x") == first
    assert identify_with(repository)("jwt", "y") != first
    assert identify_with(repository)("other", "x") != first
    assert fingerprint(repository)


def test_progress_names_every_conversation(repository, tmp_path):
    for _ in range(3):
        history(repository, "main: a")
    seen = []
    scan(repository, index_directory=str(tmp_path), on_progress=lambda done, total: seen.append((done, total)))
    assert seen == [(0, 3), (1, 3), (2, 3)]


def test_a_secret_in_a_tool_result_is_found_in_its_field(repository, look):
    history(repository, "main: a")
    append(repository, "conv-001", plain_message("carol", "x\n" * 50 + TOKEN))
    assert found(look()) == [("github-token", "conv-001", "parts[0].text", 51)]


def test_a_value_that_a_reader_of_the_message_does_not_take_is_found(repository, look, monkeypatch):
    """A message of another program may have a key twice."""
    history(repository, "main: a")
    stored = f'{{"parts":[{{"text":"{TOKEN}","text":"harmless"}}]}}\n'.encode()
    monkeypatch.setattr("scopes.secrets.scan.read_stored_body", lambda *_: stored)
    assert {row.rule for row in look().secrets} == {"github-token"}


def test_a_secret_that_is_the_name_of_a_member_is_in_no_field_and_not_in_the_kept_scan(repository, look, tmp_path):
    history(repository, "main: a")
    call = {"type": "tool_call", "call_id": "1", "name": "n", "input": {f"x {TOKEN}": {"b": KEY}}}
    say(repository, "conv-001", "look", author="claude", parts=[call])
    by_rule = {row.rule: row.field for row in look().secrets}
    assert by_rule["stripe-key"].startswith("parts[1].input.x [redacted:github-token:")
    assert by_rule["stripe-key"].endswith("].b")
    for kept in (tmp_path / "index").iterdir():
        assert TOKEN.encode() not in kept.read_bytes()
