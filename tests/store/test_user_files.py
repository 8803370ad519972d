"""Whether a setting may be there, without libgit2."""

from __future__ import annotations

import pytest

from scopes.store.config import user_config
from scopes.store.user_files import may_set

KEY = "scopes.prices"


def test_without_a_file_and_a_variable_a_setting_is_not_there(tmp_path):
    assert not may_set(KEY, {}, str(tmp_path))
    (tmp_path / ".gitconfig").write_text("[scopes]\n\tauthor = carol\n")
    assert not may_set(KEY, {"SCOPES_AUTHOR": "x"}, str(tmp_path))


@pytest.mark.parametrize(
    "text",
    ["[scopes]\n\tprices = x\n", "[SCOPES]\n\tPrices = x\n", "[scopes] prices = x", "[include]\n\tpath = other\n"],
)
def test_a_file_with_the_word_or_with_others_may_have_it(tmp_path, text):
    (tmp_path / ".gitconfig").write_text(text)
    assert may_set(KEY, {}, str(tmp_path))


def test_every_place_that_libgit2_reads_is_looked_at(tmp_path, monkeypatch):
    folder = tmp_path / "config" / "git"
    folder.mkdir(parents=True)
    (folder / "config").write_text("[scopes]\n\tprices = x\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert user_config() is not None
    assert may_set(KEY, {"XDG_CONFIG_HOME": str(tmp_path / "config")}, str(tmp_path))
    assert may_set(KEY, {"SCOPES_PRICES": ""}, str(tmp_path))


def test_a_file_that_cannot_be_read_may_have_it(tmp_path):
    (tmp_path / ".gitconfig").mkdir()
    assert may_set(KEY, {}, str(tmp_path))
