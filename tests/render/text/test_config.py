from __future__ import annotations

from tests.render.rendering import piped, seen, seen_lines
from tests.render.results import SAMPLES

CONFIG = SAMPLES["config"]


def test_a_setting_is_its_value_wherever_it_is_read():
    assert seen(CONFIG["get"]) == piped(CONFIG["get"]) == "carol\n"


def test_a_written_setting_prints_its_level():
    assert seen_lines(CONFIG["set"]) == ["scopes.author = carol (store)"]
    assert seen_lines(CONFIG["unset"]) == ["removed scopes.author (user)"]
    assert piped(CONFIG["set"]) == "carol\n"


def test_settings_are_rows_and_show_their_origin_when_asked():
    assert piped(CONFIG["list"]) == "scopes.author\tcarol\nscopes.hints\tfalse\n"
    assert piped(CONFIG["list-origins"]) == "scopes.author\tcarol\tuser\n"
    assert "Origin" in seen(CONFIG["list-origins"])
    assert "Origin" not in seen(CONFIG["list"])


def test_without_settings_a_sentence_is_printed_on_a_terminal():
    assert seen_lines(CONFIG["list-nothing"]) == ["Nothing is set."]
    assert piped(CONFIG["list-nothing"]) == ""
