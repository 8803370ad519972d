"""`config`: read and write settings."""

from __future__ import annotations

import os

import pytest

from scopes.conversation.store import get_setting, list_settings, set_setting
from scopes.errors import Invalid, NotFound
from scopes.store.config import DEFAULTS, SETTINGS, Setting, check_value
from scopes.store.repository import open_repository
from tests.support.store import git, open_store


@pytest.fixture
def home(tmp_path):
    """Return a directory for the configuration file of the user."""
    path = tmp_path / "home"
    path.mkdir()
    return str(path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("scopes.author", "value"),
        ("scopes.hints", "false"),
        ("scopes.memoryEvery", "7"),
        ("scopes.merge.rule.add-add", "skip"),
    ],
)
def test_a_store_setting_is_written_read_and_removed(repository, home, key, value):
    written = set_setting(repository, home, key, value, level="store")
    assert (written.key, written.value, written.origin, written.written) == (key, value, "store", True)
    seen = get_setting(open_store(repository.path).config, key)
    assert (seen.value, seen.written) == (value, False)
    assert git(repository, "config", key) == f"{value}\n"
    assert set_setting(repository, home, key, None, level="store").value is None
    with pytest.raises(NotFound, match=f"{key} is not set"):
        get_setting(open_store(repository.path).config, key)


@pytest.mark.parametrize(
    "value",
    ["", "two words", "a;b#c", 'quo"te', "back\\slash", "tab\there", "new\nline", "日本", "[core]\n\tpager = x"],
)
def test_a_value_may_be_any_text_and_cannot_inject_another_setting(repository, home, value):
    set_setting(repository, home, "scopes.author", value, level="store")
    assert get_setting(open_store(repository.path).config, "scopes.author").value == value
    assert [s.key for s in list_settings(open_store(repository.path).config).settings] == [
        "scopes.formatversion", "scopes.author", "scopes.durability",
    ]  # fmt: skip


def test_a_user_setting_needs_no_store(home):
    written = set_setting(None, home, "scopes.pager", "less", level="user")
    assert written.origin == "user"
    with open(os.path.join(home, ".gitconfig"), encoding="utf-8") as file:
        assert "pager = less" in file.read()


def test_a_store_setting_needs_a_store(home):
    with pytest.raises(NotFound, match="there is no store") as refusal:
        set_setting(None, home, "scopes.author", "x", level="store")
    assert refusal.value.hint == "create one: scopes init, or use --level user"


@pytest.mark.parametrize("key", ["scopes.pager", "scopes.summarizer", "Scopes.PAGER"])
def test_a_setting_that_names_a_command_is_refused_at_the_store_level(repository, home, key):
    """I-72: a store may come from another user."""
    with pytest.raises(Invalid, match="names a command") as refusal:
        set_setting(repository, home, key, "evil", level="store")
    assert refusal.value.hint == "set it with --level user"
    assert set_setting(repository, home, key, "less", level="user").written


def test_a_command_in_the_configuration_of_a_store_is_ignored(repository):
    """I-72."""
    git(repository, "config", "scopes.pager", "evil")
    with pytest.raises(NotFound, match=r"scopes\.pager is not set") as refusal:
        get_setting(open_store(repository.path).config, "scopes.pager")
    assert refusal.value.hint == f"it is {SETTINGS['scopes.pager']}"


@pytest.mark.parametrize("key", ["", "core.pager", "user.name", "scopes", "scopes.", "xscopes.author"])
def test_a_key_outside_of_scopes_is_refused(repository, home, key):
    for use in (
        lambda: get_setting(repository.config, key),
        lambda: set_setting(repository, home, key, "x", level="store"),
    ):
        with pytest.raises(Invalid, match="unknown setting") as refusal:
            use()
        assert "scopes.author" in refusal.value.hint


@pytest.mark.parametrize("level", ["", "system", "Store", "global"])
def test_an_unknown_level_is_refused(repository, home, level):
    with pytest.raises(Invalid, match="is not a valid config level") as refusal:
        set_setting(repository, home, "scopes.author", "x", level=level)
    assert refusal.value.hint == "levels: store, user"


def test_removing_an_unset_setting_is_refused(repository, home):
    for level in ("store", "user"):
        with pytest.raises(NotFound, match=f"scopes.author is not set at the level {level}") as refusal:
            set_setting(repository, home, "scopes.author", None, level=level)
        assert refusal.value.hint == "see: scopes config --show-origin"


def test_the_refusal_for_an_unset_setting_describes_it(repository):
    with pytest.raises(NotFound) as refusal:
        get_setting(repository.config, "scopes.hints")
    assert refusal.value.hint == f"it is {SETTINGS['scopes.hints']}"
    with pytest.raises(NotFound) as refusal:
        get_setting(repository.config, "scopes.durabilty")
    assert refusal.value.hint == "did you mean scopes.durability?"
    with pytest.raises(NotFound) as refusal:
        get_setting(repository.config, "scopes.unheard")
    assert refusal.value.hint == "list what is set: scopes config"


def test_the_flag_overrides_the_environment_which_overrides_the_store(repository):
    git(repository, "config", "scopes.author", "from the store")
    for origin in ("environment", "flag"):
        override = {"scopes.author": Setting("scopes.author", f"from the {origin}", origin)}
        seen = get_setting(open_repository(repository.path, override).config, "scopes.author")
        assert (seen.value, seen.origin) == (f"from the {origin}", origin)
    assert get_setting(open_repository(repository.path).config, "scopes.author").origin == "store"


def test_settings_are_listed_lowest_precedence_first_with_their_origin(repository):
    git(repository, "config", "scopes.author", "carol")
    override = {"scopes.author": Setting("scopes.author", "dave", "flag")}
    listed = list_settings(open_repository(repository.path, override).config)
    assert [s for s in listed.settings if s.key == "scopes.author"] == [
        ("scopes.author", "carol", "store"), ("scopes.author", "dave", "flag"),
    ]  # fmt: skip
    assert not [s for s in listed.settings if s.key.startswith("core.")]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("scopes.durability", "banana"),
        ("scopes.lockTimeout", "abc"),
        ("scopes.hints", "maybe"),
        ("scopes.packThreshold", "-1"),
    ],
)
def test_an_invalid_value_is_refused(repository, home, key, value):
    with pytest.raises(Invalid, match="is not a valid value of") as refusal:
        set_setting(repository, home, key, value, level="store")
    assert refusal.value.hint.startswith("it is ")


@pytest.mark.parametrize(
    "key", ["scopes.formatVersion", "scopes.bad_key", "scopes.a b", "scopes.\x1b", "scopes.", "core.bare"]
)
def test_a_key_that_is_not_a_user_setting_is_refused(repository, home, key):
    with pytest.raises(Invalid, match="unknown setting"):
        set_setting(repository, home, key, "1", level="store")


def test_a_merge_rule_for_an_unknown_conflict_type_is_refused(repository, home):
    with pytest.raises(Invalid, match="'nonsense' is not a valid conflict type") as refusal:
        set_setting(repository, home, "scopes.merge.rule.nonsense", "first", level="store")
    assert "edit-edit" in refusal.value.hint
    with pytest.raises(Invalid, match="'third' is not a valid value of ") as refusal:
        set_setting(repository, home, "scopes.merge.rule.edit-edit", "third", level="store")
    assert "first" in refusal.value.hint


def test_the_pack_threshold_is_refused_at_the_level_of_the_store(repository, home):
    """P14: a store may not start work by itself."""
    with pytest.raises(Invalid, match="starts work by itself") as refusal:
        set_setting(repository, home, "scopes.packThreshold", "7", level="store")
    assert refusal.value.hint == "set it with --level user"
    assert set_setting(repository, home, "scopes.packThreshold", "7", level="user").value == "7"


def test_an_unknown_key_is_refused_with_the_nearest_one(repository, home):
    """D9."""
    with pytest.raises(Invalid, match="unknown setting") as refusal:
        set_setting(repository, home, "scopes.summariser", "x", level="user")
    assert refusal.value.hint == "did you mean scopes.summarizer?"
    set_setting(repository, home, "scopes.hints", "false", level="store", dry_run=True)
    assert repository.config.find("scopes.hints") is None


@pytest.mark.parametrize("key", ["scopes.budgetWindow", "scopes.budgetContent"])
def test_percentages_must_sum_to_100(repository, home, key):
    """D9."""
    with pytest.raises(Invalid, match="is not a valid value") as refusal:
        set_setting(repository, home, key, "70/20/20", level="store")
    assert refusal.value.hint == "the three percentages must sum to 100"
    assert set_setting(repository, home, key, "70/20/10", level="store").written


def test_defaults_are_listed_below_every_level(repository):
    git(repository, "config", "scopes.lockTimeout", "3")
    listed = list_settings(open_store(repository.path).config, defaults=True).settings
    values = [(s.value, s.origin) for s in listed if s.key.lower() == "scopes.locktimeout"]
    assert values == [("30", "default"), ("3", "store")]
    assert "default" not in {s.origin for s in list_settings(repository.config).settings}


def test_every_default_is_a_valid_value_of_a_known_setting():
    assert set(DEFAULTS) <= set(SETTINGS)
    assert [check_value(key, value) for key, value in DEFAULTS.items()] == list(DEFAULTS.values())


@pytest.mark.parametrize(
    ("value", "expected"), [("no", False), ("Off", False), ("0", False), ("yes", True), ("1", True)]
)
def test_a_boolean_has_the_spellings_of_git(repository, home, value, expected):
    set_setting(repository, home, "scopes.hints", value, level="store")
    assert open_store(repository.path).config.find_boolean("scopes.hints", default=not expected) is expected


@pytest.mark.parametrize(
    ("value", "expected"), [("always", "always"), ("never", "never"), ("false", "never"), ("true", "auto")]
)
def test_the_color_setting_has_the_spellings_of_git(repository, home, value, expected):
    assert repository.config.find_color() == "auto"
    set_setting(repository, home, "scopes.color", value, level="store")
    assert open_store(repository.path).config.find_color() == expected


def test_the_color_of_git_is_taken_from_the_user_only(repository, user_configuration, sealed_world):
    git(repository, "config", "color.ui", "always")
    assert open_store(repository.path).config.find_color() == "auto"
    (sealed_world / ".gitconfig").write_text("[color]\n\tui = always\n")
    assert open_store(repository.path).config.find_color() == "always"
