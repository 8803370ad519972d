"""The tokens of a model without a public encoding are told from what its provider recorded."""

from __future__ import annotations

import pytest

from scopes.context.calibrate import calibrate
from scopes.context.count import count_conversation
from scopes.conversation.new import new
from scopes.history.revparse import resolve_revision
from scopes.tokens.choose import choose_tokenizer
from scopes.tokens.models import find_model
from scopes.tokens.rank_files import RankFilePaths
from tests.context.building import built
from tests.support.history import say
from tests.tokens.conftest import INSTALLED
from tests.tokens.test_models import setting

WORDS = "the login fails because the session cookie is dropped by the browser " * 20


@pytest.fixture
def claude(exact, tmp_path):
    """The way to count for Claude, with the real o200k."""
    return choose_tokenizer(RankFilePaths(str(tmp_path / "cache"), None, INSTALLED), find_model("claude-opus-4-5"))


def answered(repository, exact, turns=8, *, times=1.5, model="claude-opus-4-5", **usage):
    """Let a provider count so many times what o200k counts of what was said."""
    new(repository)
    sent = 10_000.0
    for number in range(turns):
        question, answer = f"{number} {WORDS}", f"answer {number} {WORDS}"
        say(repository, "conv-001", question)
        sent += times * exact.tokenizer.count(question)
        used = {"input_uncached": int(sent) - 4000, "cache_read": 4000, "output": 1, **usage}
        say(repository, "conv-001", answer, model=model, usage=used)
        sent += times * exact.tokenizer.count(answer)


def name_of(repository, chosen):
    return calibrate(repository, resolve_revision(repository, "conv-001"), chosen).tokenizer.name


def test_the_factor_is_how_the_providers_count_grew(repository, exact, claude):
    """Recorded usage comes first, and it is still never called exact."""
    answered(repository, exact)
    found = calibrate(repository, resolve_revision(repository, "conv-001"), claude)
    assert found.tokenizer.name in {"o200k_base*150", "o200k_base*151", "o200k_base*152"}
    assert found.tokenizer.method == "estimate"
    assert "as this conversation records" in found.notes[-1].text
    assert len(found.notes) == len(claude.notes)


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
    ids=["too few", "too small", "too large", "another model", "never grows", "not told", "nonsense"],
)
def test_what_tells_too_little_leaves_the_factor_of_the_table(repository, exact, claude, turns, options):
    answered(repository, exact, turns, **options)
    assert name_of(repository, claude) == "o200k_base*130"


def test_a_step_that_brings_what_is_in_no_record_does_not_count_for_much(repository, exact, claude):
    answered(repository, exact)
    usage = {"input_uncached": 500_000, "cache_read": 0, "output": 1}
    say(repository, "conv-001", "a skill was loaded", model="claude-opus-4-5", usage=usage)
    assert name_of(repository, claude) in {"o200k_base*150", "o200k_base*151", "o200k_base*152"}


def test_an_empty_conversation_leaves_it_too(repository, claude):
    new(repository)
    assert name_of(repository, claude) == "o200k_base*130"


def test_a_factor_that_a_person_has_set_stays(repository, exact, tmp_path):
    answered(repository, exact)
    model = find_model("claude-opus-4-5", [setting("scopes.model.claude.factor", "1.2")])
    assert (
        name_of(repository, choose_tokenizer(RankFilePaths(str(tmp_path), None, INSTALLED), model)) == "o200k_base*120"
    )


def test_a_model_with_a_public_encoding_is_counted_and_not_calibrated(repository, exact):
    answered(repository, exact, model="gpt-4o")
    assert name_of(repository, exact) == "o200k_base"


def test_what_the_provider_was_not_sent_again_is_not_counted(repository, exact, claude):
    """After a compaction the next answer was sent less, and that is no step."""
    answered(repository, exact, 6)
    say(repository, "conv-001", WORDS * 50, kind="compaction", context_root=True)
    usage = {"input_uncached": 900_000, "cache_read": 0, "output": 1}
    say(repository, "conv-001", "after", model="claude-opus-4-5", usage=usage)
    assert name_of(repository, claude) in {"o200k_base*150", "o200k_base*151", "o200k_base*152"}


def test_it_works_over_an_estimate_too(repository, exact, nowhere):
    answered(repository, exact)
    name = name_of(repository, choose_tokenizer(nowhere, find_model("claude")))
    assert 120 < int(name.removeprefix("estimate*")) < 150


def test_tokens_count_and_context_use_it_and_say_so_from_the_cache_too(repository, exact, claude, tmp_path):
    answered(repository, exact)
    counted = count_conversation(repository, "conv-001", claude, str(tmp_path / "cache"))
    seen = [built(repository, claude, tmp_path, max_tokens=900) for _ in range(2)]
    assert seen[0] == seen[1]
    assert counted.encoding == seen[0].metadata["encoding"] != claude.tokenizer.name
    assert all("as this conversation records" in each.notes[0].text for each in (counted, *seen))
    assert seen[0].tokens_used <= 900


def test_the_parts_of_a_scaled_count_never_exceed_the_budget(repository, exact, claude, tmp_path):
    """S1-5: measured with the tokenizer that is reported."""
    answered(repository, exact)
    for tokens in range(0, 3000, 97):
        found = built(repository, claude, tmp_path, max_tokens=tokens)
        recorded = calibrate(repository, resolve_revision(repository, "conv-001"), claude).tokenizer
        assert recorded.name == found.metadata["encoding"]
        assert recorded.count(found.formatted_history) <= found.tokens_used <= tokens
