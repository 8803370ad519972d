"""Settings from several files: precedence, command settings, and invalid values."""

from __future__ import annotations

import os

import pytest

from scopes.errors import Busy, Corrupt, Inaccessible, Invalid
from scopes.store import config as config_write
from scopes.store import locks
from scopes.store.config import (
    COMMANDS,
    SETTINGS,
    Config,
    Setting,
    check_key,
    is_read_from_store,
    user_config,
    write_setting,
)
from scopes.store.locks import DEFAULT_TIMEOUT_SECONDS
from tests.support.store import git, open_store, read_bytes, write_bytes


def at_store(repository, text):
    with open(os.path.join(repository.path, "config"), "ab") as file:
        file.write(text.encode("utf-8", "surrogateescape"))
    return open_store(repository, {}).config


@pytest.fixture
def user_file(sealed_world):
    return lambda text: (sealed_world / ".gitconfig").write_bytes(text.encode("utf-8", "surrogateescape"))


def flag(key, value, origin="flag"):
    return {key: Setting(key, value, origin)}


# Precedence


def test_a_higher_level_overrides_a_lower_one(repository, user_file):
    """User, store, environment and flag."""
    assert open_store(repository).config.find("scopes.author") is None
    user_file("[scopes]\n\tauthor = user\n")
    assert open_store(repository).config.find("scopes.author") == "user"
    assert at_store(repository, "[scopes]\n\tauthor = store\n").find("scopes.author") == "store"
    assert open_store(repository, flag("scopes.author", "flag")).config.find("scopes.author") == "flag"
    assert open_store(repository, flag("SCOPES.AUTHOR", "flag")).config.find("scopes.author") == "flag"


def test_settings_are_listed_lowest_level_first_with_their_origin(repository, user_file):
    user_file("[scopes]\n\tauthor = user\n[user]\n\tname = other\n")
    config = at_store(repository, "[scopes]\n\tauthor = store\n\tauthor = again\n")
    assert [(s.key, s.value, s.origin) for s in config.walk() if "author" in s.key] == [
        ("scopes.author", "user", "user"),
        ("scopes.author", "store", "store"),
        ("scopes.author", "again", "store"),
    ]
    assert config.find("scopes.author") == "again"


def test_a_setting_from_the_environment_is_listed_with_its_variable(repository):
    config = open_store(repository, flag("scopes.hints", "false", "SCOPES_HINTS")).config
    assert list(config.walk())[-1] == ("scopes.hints", "false", "SCOPES_HINTS")


# Settings that name a program


@pytest.mark.parametrize("key", sorted(COMMANDS))
@pytest.mark.parametrize("spelling", [str, str.upper, str.title])
def test_a_command_setting_of_the_store_is_ignored(repository, tmp_path, key, spelling):
    """I-72, P14: also with another spelling, or in an included file."""
    section, name = key.split(".")
    config = at_store(repository, f"[{section}]\n\t{name} = touch pwned\n")
    assert open_store(repository).config.find(spelling(key)) is None
    assert config.find(key) is None
    write_bytes(tmp_path / "more", f"[{section}]\n\t{name} = touch pwned\n".encode())
    assert at_store(repository, f"[include]\n\tpath = {tmp_path}/more\n").find(key) is None


def test_the_store_cannot_lower_the_threshold_at_which_it_packs_itself(repository, user_file):
    """P14: packing starts git; only the user, the environment and flags decide when."""
    key = "scopes.packThreshold"
    assert at_store(repository, "[scopes]\n\tpackThreshold = 1\n").find_integer(key, 6000) == 6000
    user_file("[scopes]\n\tpackThreshold = 70\n")
    assert open_store(repository).config.find_integer(key, 6000) == 70
    for origin in ("environment", "flag"):
        assert open_store(repository, flag(key, "7", origin)).config.find_integer(key, 6000) == 7


@pytest.mark.parametrize(("key", "strict", "lax"), [("hookFailure", "closed", "open"), ("hookUnread", "deny", "ask")])
def test_the_store_cannot_let_calls_run_that_the_user_wants_denied(repository, user_file, key, strict, lax):
    user_file(f'[scopes "check"]\n\t{key} = {strict}\n')
    assert at_store(repository, f'[scopes "check"]\n\t{key} = {lax}\n').find(f"scopes.check.{key}") == strict


@pytest.mark.parametrize("key", sorted(COMMANDS))
def test_a_command_setting_of_the_user_or_a_flag_is_used(repository, user_file, key):
    section, name = key.split(".")
    user_file(f"[{section}]\n\t{name} = mine\n\t{name} = better\n")
    assert at_store(repository, f"[{section}]\n\t{name} = touch pwned\n").find(key) == "better"
    assert open_store(repository, flag(key, "flag")).config.find(key) == "flag"
    assert open_store(repository, flag(key, "project", ".scopes.toml")).config.find(key) == "better"


AGENT_NAMES = ["ann", "foo bar", 'q"x', "back\\slash", "x" * 120, "a.timeout", "dot.ted", "Ünïcode", "tab\there"]


@pytest.mark.parametrize("name", AGENT_NAMES)
@pytest.mark.parametrize("field", ["delivery", "command", "Delivery"])
def test_no_name_of_an_agent_lets_a_store_choose_its_program(repository, name, field):
    """I-72, P14: every name that the registry accepts."""
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    config = at_store(repository, f'[scopes "agent.{quoted}"]\n\t{field} = touch pwned\n')
    assert config.find(f"scopes.agent.{name}.{field.lower()}") is None
    assert not is_read_from_store(f"scopes.agent.{name}.{field}")


@pytest.mark.parametrize("name", AGENT_NAMES)
def test_the_program_of_an_agent_is_that_of_the_user_whatever_its_name(repository, user_file, name):
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    user_file(f'[scopes "agent.{quoted}"]\n\tdelivery = mine\n')
    assert open_store(repository).config.find(f"scopes.agent.{name}.delivery") == "mine"


@pytest.mark.parametrize(("given", "asked"), [("r", "R"), ("R", "r"), ("Rev", "rev")])
def test_agents_whose_names_differ_in_case_have_different_programs(repository, user_file, given, asked):
    """Git keeps the case of this part of a key."""
    user_file(f'[scopes "agent.{given}"]\n\tdelivery = mine\n')
    flags = flag(f"scopes.agent.{given}.command", "mine")
    config = open_store(repository, flags).config
    for field in ("delivery", "command"):
        assert config.find(f"scopes.agent.{given}.{field}") == "mine"
        assert config.find(f"scopes.agent.{asked}.{field}") is None


# Invalid values


@pytest.mark.parametrize("value", ["", "x", "-1", "1.5", "1k", "9" * 10, "9" * 5000, "²", "\u0663", " 7 x"])
def test_a_value_that_is_not_a_whole_number_gives_the_default(repository, value):
    git(repository, "config", "scopes.lockTimeout", value)
    config = open_store(repository).config
    assert config.find_integer("scopes.lockTimeout", DEFAULT_TIMEOUT_SECONDS) == DEFAULT_TIMEOUT_SECONDS
    assert config.find_integer("scopes.absent", 7) == 7


def test_a_whole_number_is_returned(repository):
    git(repository, "config", "scopes.lockTimeout", "7")
    assert open_store(repository).config.find_integer("scopes.lockTimeout", 30) == 7


def test_a_value_that_is_not_utf_8_is_refused_with_its_key(repository):
    config = at_store(repository, "[scopes]\n\tauthor = J\udcf6rg\n")
    with pytest.raises(Corrupt, match=r"the setting scopes\.author is not UTF-8 text"):
        config.find("scopes.author")
    assert "scopes.author" not in [setting.key for setting in config.walk()]


def test_settings_of_other_programs_in_another_encoding_are_ignored(repository, user_file):
    """The user's file is shared with git."""
    user_file(
        '[user]\n\tname = J\udcf6rg\n[branch "b\udcf6se"]\n\tremote = x\n[scopes]\n\tauthor = me\n\tpager = more\n'
    )
    config = open_store(repository).config
    assert config.find("scopes.author") == "me"
    assert config.find("scopes.pager") == "more"
    assert [setting.key for setting in config.walk() if setting.origin == "user"] == ["scopes.author", "scopes.pager"]


def test_a_key_without_a_value_is_skipped(repository):
    config = at_store(repository, "[scopes]\n\tauthor\n")
    assert "scopes.author" not in [setting.key for setting in config.walk()]


def test_without_a_store_the_settings_of_the_user_apply(user_file):
    user_file(
        "[scopes]\n\tauthor = me\n\tpager = more\n[core]\n\tpager = less\n\teditor = ed\n[user]\n\tname = J\udcf6rg\n"
    )
    found = Config(user_config(), {}, "/nowhere")
    assert [found.find(key) for key in ("scopes.author", "scopes.pager", "core.pager")] == ["me", "more", "less"]
    assert [(setting.key, setting.origin) for setting in found.walk()] == [
        ("scopes.author", "user"),
        ("scopes.pager", "user"),
    ]


def test_a_malformed_user_configuration_is_reported(user_file):
    user_file("[core\n")
    with pytest.raises(Corrupt, match=r"the configuration file .*\.gitconfig is malformed in line 1"):
        user_config()


@pytest.mark.parametrize(
    "key", [*list(SETTINGS)[:4], "scopes.anything", "scopes.merge.rule.edit-edit", "SCOPES.Author"]
)
def test_the_keys_of_scopes_are_accepted(key):
    assert check_key(key) == key


@pytest.mark.parametrize(
    "key", ["", "scopes", "scopes.", "core.hooksPath", "user.name", "xscopes.author", "merge.rule.x", "alias.x"]
)
def test_other_keys_are_refused_with_the_list_of_keys(key):
    with pytest.raises(Invalid, match="unknown setting") as caught:
        check_key(key)
    assert "scopes.author" in caught.value.hint


def write(repository, value):
    return write_setting(path_of(repository), "scopes.author", value)


def path_of(repository):
    return os.path.join(repository.path, "config")


def test_a_setting_is_written_and_removed(repository):
    assert write(repository, "carol") is True
    assert open_store(repository).config.find("scopes.author") == "carol"
    assert write(repository, None) is True
    assert write(repository, None) is False
    assert open_store(repository).config.find("scopes.author") is None


@pytest.mark.parametrize(
    "value", ["", " padded ", 'quo"te', "back\\slash", "new\nline", "# no comment", "; nor this", "é\U0001f600"]
)
def test_every_value_is_read_back_unchanged(repository, value):
    write(repository, value)
    assert open_store(repository).config.find("scopes.author") == value
    assert git(repository, "config", "-z", "scopes.author") == value + "\0"


def test_the_lock_file_of_a_dead_writer_is_removed(repository, monkeypatch):
    """P4: a lock file that does not change for a second belongs to no living writer."""
    monkeypatch.setattr(locks, "_ORPHAN_AFTER_SECONDS", 0.05)
    write_bytes(path_of(repository) + ".lock", b"half a configur")
    assert write(repository, "carol") is True
    assert open_store(repository).config.find("scopes.author") == "carol"


def test_a_file_locked_by_a_living_writer_is_busy_and_unchanged(repository, monkeypatch):
    before = read_bytes(path_of(repository))
    write_bytes(path_of(repository) + ".lock", b"")
    monkeypatch.setattr(config_write, "remove_orphans", lambda paths: [])
    with pytest.raises(Busy, match=r"cannot write the setting scopes\.author"):
        write(repository, "carol")
    assert read_bytes(path_of(repository)) == before


def test_the_file_is_synced_before_the_command_returns(repository, monkeypatch):
    """P1: an empty config after a power cut would hide every message."""
    synced = []
    monkeypatch.setattr(config_write, "sync", synced.append)
    write(repository, "carol")
    assert synced == [path_of(repository), repository.path]


def test_a_failed_sync_leaves_the_setting_and_is_reported(repository, monkeypatch):
    monkeypatch.setattr(config_write, "sync", lambda path: os.stat(path + "/gone"))
    with pytest.raises(Inaccessible, match="cannot write the setting"):
        write(repository, "carol")
    assert open_store(repository).config.find("scopes.author") == "carol"


def test_the_first_write_creates_the_user_configuration(tmp_path):
    write_setting(str(tmp_path / ".gitconfig"), "scopes.author", "carol")
    assert "author = carol" in (tmp_path / ".gitconfig").read_text()


def test_a_missing_directory_is_inaccessible(tmp_path):
    gone = tmp_path / "gone"
    with pytest.raises((Inaccessible, Corrupt)):
        write_setting(str(gone / ".gitconfig"), "scopes.author", "carol")
