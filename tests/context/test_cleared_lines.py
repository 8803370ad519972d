"""A message that has no secret is searched by the first context only; one that has a secret is searched by every one."""

from __future__ import annotations

import pytest

from scopes.context import cleared_lines
from scopes.conversation.new_rename_delete import new
from scopes.history.messages import read_message_bytes
from scopes.history.names import list_branch_tips
from scopes.secret_scan import prefilter
from scopes.secrets.allow import allow, disallow
from scopes.secrets.list import list_secrets
from scopes.secrets.scan import scan
from scopes.tokens.count import FILE
from tests.context.building import built, talk
from tests.support.history import say
from tests.support.planted import KINDS

TOKEN = KINDS[1][1]
TEXT = f"the deploy failed with {TOKEN} in the log"


@pytest.fixture(autouse=True)
def without_re2(monkeypatch):
    """With RE2 every message is searched."""
    monkeypatch.setattr(prefilter, "can_be_fast", lambda: False)


@pytest.fixture
def searched(monkeypatch):
    """Return the list that gets all bytes that are searched for secrets."""
    found, search = [], prefilter.may_hold_secret
    monkeypatch.setattr(prefilter, "may_hold_secret", lambda data: found.append(data) or search(data))
    return found


def stored_lines(repository):
    """Return the lines of the messages of the newest commits of conv-001."""
    [tip] = list_branch_tips(repository, "conv-001").values()
    return [read_message_bytes(repository, tip)]


def test_a_message_without_secrets_is_searched_once(repository, exact, tmp_path, searched):
    new(repository)
    talk(repository, 3)
    first = built(repository, exact, tmp_path)
    assert set(stored_lines(repository)) < set(searched)
    searched.clear()
    again = built(repository, exact, tmp_path, max_tokens=7999)  # not from the cache of contexts
    assert again.formatted_history == first.formatted_history
    assert not any(data.startswith(b'{"author"') for data in searched)


def test_with_re2_every_message_is_searched(repository, exact, tmp_path, searched, monkeypatch):
    monkeypatch.setattr(prefilter, "can_be_fast", lambda: True)
    new(repository)
    talk(repository, 2)
    for tokens in (8000, 7999):
        searched.clear()
        built(repository, exact, tmp_path, max_tokens=tokens)
        assert set(stored_lines(repository)) < set(searched)


def test_a_message_with_a_secret_is_replaced_in_every_context(repository, exact, tmp_path):
    new(repository)
    say(repository, "conv-001", TEXT)
    for tokens in (8000, 7999, 7998):
        text = built(repository, exact, tmp_path, max_tokens=tokens).formatted_history
        assert ("[redacted:github-token:" in text, TOKEN in text) == (True, False)


def test_a_secret_that_was_let_pass_is_replaced_when_it_is_no_longer_allowed(repository, exact, tmp_path):
    new(repository)
    say(repository, "conv-001", TEXT)
    index = str(tmp_path / "index")
    scan(repository, index_directory=index)
    [row] = list_secrets(repository, index_directory=index).secrets
    allow(repository, row.id, index_directory=index)
    assert TOKEN in built(repository, exact, tmp_path).formatted_history
    disallow(repository, row.id)
    assert TOKEN not in built(repository, exact, tmp_path).formatted_history


def test_what_leaves_without_a_search_is_not_known_as_clean(repository, exact, tmp_path):
    new(repository)
    say(repository, "conv-001", TEXT)
    assert TOKEN in built(repository, exact, tmp_path, secrets="allow").formatted_history
    assert TOKEN not in built(repository, exact, tmp_path).formatted_history


@pytest.mark.parametrize("change", ["rules", "search", "damage"])
def test_a_message_is_searched_again_if_its_entry_cannot_be_used(
    repository, exact, tmp_path, searched, monkeypatch, change
):
    new(repository)
    talk(repository, 2)
    built(repository, exact, tmp_path)
    searched.clear()
    if change == "damage":
        (tmp_path / "cache" / FILE).write_bytes(b"damaged" * 1000)
    else:
        monkeypatch.setattr(cleared_lines, "RULES_VERSION" if change == "rules" else "_VERSION", 99)
    built(repository, exact, tmp_path, max_tokens=7999)
    assert set(stored_lines(repository)) < set(searched)


def test_a_wrong_entry_lets_no_secret_leave(repository, exact, tmp_path, monkeypatch):
    """The text of the context is searched, too."""
    new(repository)
    say(repository, "conv-001", TEXT)
    monkeypatch.setattr(cleared_lines.ClearedLines, "clear", lambda _, data: data)
    text = built(repository, exact, tmp_path).formatted_history
    assert ("[redacted:github-token:" in text, TOKEN in text) == (True, False)
