"""A model name matches the longest row of the table; settings change and add rows."""

from __future__ import annotations

import pytest

from scopes.errors import Invalid
from scopes.store.config import Setting, check_key, check_value
from scopes.tokens.count import MODELS, resolve_model


def setting(key, value):
    return Setting(key, value, "store")


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("gpt-4o-mini", "gpt-4o"), ("openai/gpt-4.1-nano", "gpt-4.1"), ("GPT-4", "gpt-4"), ("claude-opus-4-5", "claude"),
        ("gpt-4-turbo-2024", "gpt-4-turbo"), ("gpt-5.4", "gpt-5"),
    ],
)  # fmt: skip
def test_the_longest_matching_prefix_wins(name, row):
    assert resolve_model(name).name == row


@pytest.mark.parametrize("name", ["", "gtp-4o", "llama-3", "/"])
def test_an_unknown_model_is_refused_with_a_hint_how_to_add_it(name):
    with pytest.raises(Invalid) as refusal:
        resolve_model(name)
    assert "scopes config scopes.model." in (refusal.value.hint or "")


def test_the_hint_names_similar_models():
    with pytest.raises(Invalid) as refusal:
        resolve_model("gtp-4o")
    assert "gpt-4o" in (refusal.value.hint or "")


def test_a_setting_adds_a_model():
    rows = [setting("scopes.model.llama-3.window", "8192"), setting("scopes.model.llama-3.factor", "1.15")]
    assert resolve_model("llama-3-70b", rows)[1:] == (8192, "o200k_base", 115, True)


def test_a_setting_changes_a_model():
    rows = [setting("scopes.model.claude.window", "1000000"), setting("scopes.model.gpt-4.1.encoding", "cl100k_base")]
    assert resolve_model("claude-sonnet-4-5", rows).window == 1_000_000
    assert resolve_model("gpt-4.1", rows).encoding == "cl100k_base"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("window", "many"),
        ("window", "0"),
        ("factor", "-1"),
        ("factor", "nan"),
        ("factor", "inf"),
        ("encoding", "morse"),
    ],
)
def test_an_invalid_setting_is_refused_with_its_key(field, value):
    with pytest.raises(Invalid, match=rf"scopes\.model\.x\.{field}"):
        resolve_model("x", [setting(f"scopes.model.x.{field}", value)])


def test_a_row_without_a_window_does_not_match():
    with pytest.raises(Invalid):
        resolve_model("x", [setting("scopes.model.x.factor", "2")])


def test_every_row_matches_its_own_name():
    assert [row for row in MODELS if resolve_model(row.name) != row] == []


@pytest.mark.parametrize("key", ["scopes.model.gpt-4.1.window", "scopes.model.x.factor", "SCOPES.MODEL.x.Encoding"])
def test_keys_of_models_are_valid_settings(key):
    assert check_key(key) == key


@pytest.mark.parametrize(
    ("key", "value"),
    [("scopes.model.x.window", "0"), ("scopes.model.x.factor", "a"), ("scopes.model.x.encoding", "morse")],
)
def test_an_invalid_value_is_not_written(key, value):
    with pytest.raises(Invalid) as refusal:
        check_value(key, value)
    assert (refusal.value.hint or "").startswith("it is ")
