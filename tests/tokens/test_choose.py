"""How it is chosen how tokens are counted."""

from __future__ import annotations

import pytest

from scopes.errors import Refused
from scopes.tokens.choose import FETCH_HINT, choose_tokenizer
from scopes.tokens.encodings import ENCODINGS
from scopes.tokens.models import find_model
from scopes.tokens.rank_files import RankFilePaths
from tests.context.conftest import INSTALLED

TEXT = "one two three four five six seven eight nine ten"


def test_without_data_it_is_estimated_and_said(nowhere):
    chosen = choose_tokenizer(nowhere)
    assert (chosen.tokenizer.method, chosen.tokenizer.name) == ("estimate", "estimate")
    assert [note.hint for note in chosen.notes] == [FETCH_HINT]


def test_strict_refuses_an_estimate(nowhere):
    with pytest.raises(Refused) as refusal:
        choose_tokenizer(nowhere, strict=True)
    assert refusal.value.hint == FETCH_HINT


def test_data_with_a_wrong_hash_is_named_and_not_used(nowhere, tmp_path):
    path = nowhere.own_file(ENCODINGS["o200k_base"])
    (tmp_path / "cache" / "tokens").mkdir(parents=True)
    (tmp_path / "cache" / "tokens" / "o200k_base.tiktoken").write_bytes(b"aGVsbG8= 0\n")
    chosen = choose_tokenizer(nowhere)
    assert chosen.tokenizer.method == "estimate"
    assert chosen.notes[0].text == f"{path} is not o200k_base and was not used"


def test_a_model_without_a_public_encoding_is_never_called_exact(exact, tmp_path):
    places = RankFilePaths(str(tmp_path), None, INSTALLED)
    chosen = choose_tokenizer(places, find_model("claude-opus-4-5"))
    assert (chosen.tokenizer.method, chosen.tokenizer.name) == ("estimate", "o200k_base*130")
    assert (exact.tokenizer.count(TEXT), chosen.tokenizer.count(TEXT)) == (10, 13)
    with pytest.raises(Refused):
        choose_tokenizer(places, find_model("claude-opus-4-5"), strict=True)


def test_a_model_counts_with_its_own_encoding(exact, tmp_path):
    chosen = choose_tokenizer(RankFilePaths(str(tmp_path), None, INSTALLED), find_model("gpt-4"), strict=True)
    assert (chosen.tokenizer.name, chosen.notes) == ("cl100k_base", ())
    assert chosen.tokenizer.count("日本語") != exact.tokenizer.count("日本語")


def test_without_data_a_factor_still_holds(nowhere):
    plain, scaled = (choose_tokenizer(nowhere, find_model(name)).tokenizer for name in ("gpt-4o", "gemini-2.5-pro"))
    assert scaled.count(TEXT) == -(-plain.count(TEXT) * 110 // 100)
