from __future__ import annotations

from tests.render.rendering import piped, seen, seen_lines
from tests.render.results import SAMPLES

CONFIG = SAMPLES["config"]


def test_a_setting_is_its_value_wherever_it_is_read():
    assert seen(CONFIG["get"]) == piped(CONFIG["get"]) == "carol\n"


def test_a_written_setting_prints_its_level():
    assert seen_lines(CONFIG["set"])[0] == "scopes.author = carol (store)"
    assert seen_lines(CONFIG["unset"])[0] == "removed scopes.author (user)"
    assert piped(CONFIG["set"]) == "carol\n"


def test_a_written_setting_prints_how_to_restore_the_value_before():
    """`config set` had no such hint."""
    assert seen_lines(CONFIG["set"])[1:] == ["undo with: scopes config scopes.author --unset --level store"]
    assert seen_lines(CONFIG["set-again"])[1:] == ["undo with: scopes config scopes.author 'Carol B.' --level store"]
    assert seen_lines(CONFIG["unset"])[1:] == ["undo with: scopes config scopes.author carol --level user"]


def test_init_prints_how_to_remove_the_new_store():
    assert seen_lines(SAMPLES["store"]["init"])[1:] == [
        "undo with: rm -r /home/carol/store.git (as long as the store is empty)"
    ]
    assert len(seen_lines(SAMPLES["store"]["init-again"])) == 1


def test_settings_are_rows_and_show_their_origin_when_asked():
    assert piped(CONFIG["list"]) == "scopes.author\tcarol\nscopes.hints\tfalse\n"
    assert piped(CONFIG["list-origins"]) == "scopes.author\tcarol\tuser\n"
    assert "Origin" in seen(CONFIG["list-origins"])
    assert "Origin" not in seen(CONFIG["list"])


def test_without_settings_a_sentence_is_printed_on_a_terminal():
    assert seen_lines(CONFIG["list-nothing"]) == ["Nothing is set."]
    assert piped(CONFIG["list-nothing"]) == ""
