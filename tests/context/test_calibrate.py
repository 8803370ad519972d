"""The token factor of a model without a public encoding is measured from recorded usage."""

from __future__ import annotations

import pytest

from scopes.context.calibrate import calibrate
from scopes.context.count import count_conversation
from scopes.conversation.new_rename_delete import new
from scopes.history.names import resolve_revision
from scopes.tokens.count import RankFilePaths, choose_tokenizer, resolve_model
from tests.context.building import built
from tests.support.history import say
from tests.tokens.conftest import INSTALLED
from tests.tokens.test_models import setting

WORDS = "the login fails because the session cookie is dropped by the browser " * 20


@pytest.fixture
def claude(exact, tmp_path):
    """Return the tokenizer for Claude, with the real o200k."""
    return choose_tokenizer(RankFilePaths(str(tmp_path / "cache"), None, INSTALLED), resolve_model("claude-opus-4-5"))


def answered(repository, exact, turns=8, *, times=1.5, model="claude-opus-4-5", **usage):
    """Append turns with recorded usage: the provider counts `times` as many tokens as o200k."""
    new(repository)
    sent = 10_000.0
    for number in range(turns):
        question, answer = f"{number} {WORDS}", f"answer {number} {WORDS}"
        say(repository, "conv-001", question)
        sent += times * exact.tokenizer.count(question)
        used = {"input_uncached": int(sent) - 4000, "cache_read": 4000, "output": 1, **usage}
        say(repository, "conv-001", answer, model=model, usage=used)
        sent += times * exact.tokenizer.count(answer)


def name_of(repository, choice):
    return calibrate(repository, resolve_revision(repository, "conv-001"), choice).tokenizer.name


def test_the_factor_is_measured_from_the_growth_of_input_tokens(repository, exact, claude):
    """It replaces the factor of the table, and the method is still not exact."""
    answered(repository, exact)
    result = calibrate(repository, resolve_revision(repository, "conv-001"), claude)
    assert result.tokenizer.name in {"o200k_base*150", "o200k_base*151", "o200k_base*152"}
    assert result.tokenizer.method == "estimate"
    assert "as this conversation records" in result.notes[-1].text
    assert len(result.notes) == len(claude.notes)


@pytest.mark.parametrize(
    ("turns", "options"),
    [
        (3, {}),
        (8, {"times": 0.4}),
        (8, {"times": 9.0}),
        (8, {"model": "gpt-5"}),
        (8, {"input_uncached": 6000}),
        (8, {"input_uncached": None, "cache_read": None}),
        (8, {"input_uncached": "many", "cache_read": -1}),
    ],
    ids=["too few", "too small", "too large", "another model", "never grows", "no usage", "nonsense"],
)
def test_too_little_or_invalid_usage_keeps_the_factor_of_the_table(repository, exact, claude, turns, options):
    answered(repository, exact, turns, **options)
    assert name_of(repository, claude) == "o200k_base*130"


def test_a_step_with_much_unrecorded_text_hardly_changes_the_factor(repository, exact, claude):
    answered(repository, exact)
    usage = {"input_uncached": 500_000, "cache_read": 0, "output": 1}
    say(repository, "conv-001", "a skill was loaded", model="claude-opus-4-5", usage=usage)
    assert name_of(repository, claude) in {"o200k_base*150", "o200k_base*151", "o200k_base*152"}


def test_an_empty_conversation_keeps_the_factor_of_the_table(repository, claude):
    new(repository)
    assert name_of(repository, claude) == "o200k_base*130"


def test_a_factor_set_by_the_user_is_kept(repository, exact, tmp_path):
    answered(repository, exact)
    model = resolve_model("claude-opus-4-5", [setting("scopes.model.claude.factor", "1.2")])
    assert (
        name_of(repository, choose_tokenizer(RankFilePaths(str(tmp_path), None, INSTALLED), model)) == "o200k_base*120"
    )


def test_a_model_with_a_public_encoding_is_not_calibrated(repository, exact):
    answered(repository, exact, model="gpt-4o")
    assert name_of(repository, exact) == "o200k_base"


def test_the_answer_after_a_compaction_is_not_a_step(repository, exact, claude):
    """Fewer input tokens were sent then, so the growth says nothing about the text."""
    answered(repository, exact, 6)
    say(repository, "conv-001", WORDS * 50, kind="compaction", context_root=True)
    usage = {"input_uncached": 900_000, "cache_read": 0, "output": 1}
    say(repository, "conv-001", "after", model="claude-opus-4-5", usage=usage)
    assert name_of(repository, claude) in {"o200k_base*150", "o200k_base*151", "o200k_base*152"}


def test_an_estimate_is_calibrated_too(repository, exact, nowhere):
    answered(repository, exact)
    name = name_of(repository, choose_tokenizer(nowhere, resolve_model("claude")))
    assert 120 < int(name.removeprefix("estimate*")) < 150


def test_count_and_context_use_the_measured_factor_and_note_it_also_from_the_cache(repository, exact, claude, tmp_path):
    answered(repository, exact)
    counted = count_conversation(repository, "conv-001", claude, str(tmp_path / "cache"))
    result = [built(repository, claude, tmp_path, max_tokens=900) for _ in range(2)]
    assert result[0] == result[1]
    assert counted.encoding == result[0].metadata["encoding"] != claude.tokenizer.name
    assert all("as this conversation records" in each.notes[0].text for each in (counted, *result))
    assert result[0].tokens_used <= 900


def test_a_context_with_scaled_counts_never_exceeds_the_budget(repository, exact, claude, tmp_path):
    """S1-5: counted with the tokenizer that is reported."""
    answered(repository, exact)
    for tokens in range(0, 3000, 97):
        result = built(repository, claude, tmp_path, max_tokens=tokens)
        recorded = calibrate(repository, resolve_revision(repository, "conv-001"), claude).tokenizer
        assert recorded.name == result.metadata["encoding"]
        assert recorded.count(result.formatted_history) <= result.tokens_used <= tokens
