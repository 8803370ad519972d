"""The tokenizer is exact if the rank file of a model's encoding is found, otherwise an estimate."""

from __future__ import annotations

import pytest

from scopes.errors import Refused
from scopes.tokens.count import ENCODINGS, FETCH_HINT, RankFilePaths, choose_tokenizer, resolve_model
from tests.tokens.conftest import INSTALLED

TEXT = "one two three four five six seven eight nine ten"


def test_without_a_rank_file_tokens_are_estimated_with_a_note(nowhere):
    choice = choose_tokenizer(nowhere)
    assert (choice.tokenizer.method, choice.tokenizer.name) == ("estimate", "estimate")
    assert [note.hint for note in choice.notes] == [FETCH_HINT]


def test_strict_refuses_an_estimate(nowhere):
    with pytest.raises(Refused) as refusal:
        choose_tokenizer(nowhere, strict=True)
    assert refusal.value.hint == FETCH_HINT


def test_a_rank_file_with_a_wrong_hash_is_not_used_and_noted(nowhere, tmp_path):
    path = nowhere.own_file(ENCODINGS["o200k_base"])
    (tmp_path / "cache" / "tokens").mkdir(parents=True)
    (tmp_path / "cache" / "tokens" / "o200k_base.tiktoken").write_bytes(b"aGVsbG8= 0\n")
    choice = choose_tokenizer(nowhere)
    assert choice.tokenizer.method == "estimate"
    assert choice.notes[0].text == f"{path} is not o200k_base and was not used"


def test_a_model_without_a_public_encoding_is_never_exact(exact, tmp_path):
    paths = RankFilePaths(str(tmp_path), None, INSTALLED)
    choice = choose_tokenizer(paths, resolve_model("claude-opus-4-5"))
    assert (choice.tokenizer.method, choice.tokenizer.name) == ("estimate", "o200k_base*130")
    assert (exact.tokenizer.count(TEXT), choice.tokenizer.count(TEXT)) == (10, 13)
    with pytest.raises(Refused):
        choose_tokenizer(paths, resolve_model("claude-opus-4-5"), strict=True)


def test_a_model_counts_with_its_own_encoding(exact, tmp_path):
    choice = choose_tokenizer(RankFilePaths(str(tmp_path), None, INSTALLED), resolve_model("gpt-4"), strict=True)
    assert (choice.tokenizer.name, choice.notes) == ("cl100k_base", ())
    assert choice.tokenizer.count("日本語") != exact.tokenizer.count("日本語")


def test_the_factor_of_a_model_also_scales_an_estimate(nowhere):
    plain, scaled = (choose_tokenizer(nowhere, resolve_model(name)).tokenizer for name in ("gpt-4o", "gemini-2.5-pro"))
    assert scaled.count(TEXT) == -(-plain.count(TEXT) * 110 // 100)
