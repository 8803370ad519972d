"""`scopes gc`: expired text is removed from all caches."""

from __future__ import annotations

import os

import pytest

SECRET = "hunter2swordfish"


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """The cache directory."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def cached(conversation, cache):
    """A conversation with a secret that every cache contains."""
    conversation.secret = conversation.run("conv", "new", "--json")["id"]
    conversation.run("conv", "append", conversation.secret, "--as", "carol", f"the password is {SECRET}", "--json")
    conversation.run("conv", "search", SECRET, "--json")
    conversation.run("conv", "list", "--json")
    conversation.run("conv", "log", conversation.secret, "--json")
    conversation.run_main("conv", "context", conversation.secret, "--max-tokens", "100")
    return conversation


def files(cache):
    """Return all files in the cache directory by name, with what they hold."""
    found = {}
    for top, _, names in os.walk(cache):
        for name in names:
            with open(os.path.join(top, name), "rb") as file:
                found[name] = file.read()
    return found


def holds_secret(cache):
    return [name for name, data in files(cache).items() if SECRET.encode() in data or name.endswith(".z")]


def test_expired_text_is_in_no_cache(cached, cache):
    assert "index.sqlite" in {name.removesuffix("-wal") for name in holds_secret(cache)}
    assert any(name.endswith(".z") for name in files(cache))
    cached.run("conv", "delete", cached.secret, "--yes", "--json")
    cached.run("gc", "--expire", "now", "--yes", "--json")
    assert holds_secret(cache) == []
    cached.run("conv", "search", "password", "--json", code=1)
    cached.run("conv", "list", "--json")
    assert holds_secret(cache) == []


def test_without_expire_the_caches_are_kept(cached, cache):
    before = files(cache).keys()
    cached.run("gc", "--json")
    assert files(cache).keys() == before


def test_no_cache_directory_is_created(conversation, cache):
    conversation.run("gc", "--expire", "now", "--yes", "--json")
    assert not cache.exists()
