"""Statistics of real transcripts equal the sums of their records, with each message counted once."""

from __future__ import annotations

import pytest

from scopes.conversation.stats import stats
from scopes.history.activity import Tokens
from scopes.importers.discovery import find_sources
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import import_sources
from tests.importers.formats.codex.rollouts import PARENT, THREAD, Rollout, tokens
from tests.importers.reading import real_transcript

KNOWN = {
    "claude-code/v2.1.7_3compactions_6interrupts.jsonl": Tokens(225, 13_818, 24_013_662, 1_618_146, 70_618),
    "claude-code/v2.1.32_188-fanouts_big.jsonl": Tokens(243, 237, 24_231_271, 519_043, 23_779),
    "codex/v0.118_big_compacted_aborted_concat.jsonl": Tokens(
        291, 38_764_250 - 36_680_704, 36_680_704, None, 145_638, 37_397
    ),
}


@pytest.mark.parametrize("name", KNOWN)
def test_the_tokens_of_a_real_transcript_are_the_recorded_ones(repository, name):
    import_sources(repository, find_sources(real_transcript(*name.split("/"))), FORMATS)
    seen = stats(repository, "conv-001")
    assert seen.tokens == KNOWN[name]
    assert sum(spent.answers for spent in seen.tokens_by_model.values()) == sum(seen.models.values())
    assert 0 < seen.active_seconds <= seen.duration_seconds
    assert 0 < sum(seen.tool_errors.values()) < seen.tool_calls == sum(seen.tools.values())


@pytest.mark.slow
def test_several_real_transcripts_add_up_to_the_store(repository):
    sources = [source for name in KNOWN for source in find_sources(real_transcript(*name.split("/")))]
    import_sources(repository, sources, FORMATS)
    whole = stats(repository)
    alone = [stats(repository, f"conv-{number:03d}") for number in (1, 2, 3)]
    assert whole.conversations == len(alone)
    assert whole.messages == sum(one.messages for one in alone)
    assert whole.tokens == Tokens(*(sum(filter(None, column)) for column in zip(*KNOWN.values(), strict=True)))
    assert whole.active_seconds == sum(one.active_seconds for one in alone)


def thread_with_usage(thread, *more):
    """Return a thread of several prompts; every answer uses 5 tokens."""
    rollout = Rollout(thread).turn()
    for number, text in enumerate(("Sell tea", *more), 1):
        rollout.user(text).say(f"{text}: done").count(tokens(5 * number, output=5 * number), tokens(5, output=5))
    return rollout


def test_a_copied_history_is_counted_once_in_the_whole_store(repository, tmp_path):
    """Transcripts, acceptance 4: the copies in a fork are messages of its parent, also if the base is not imported."""
    (tmp_path / "a.jsonl").write_bytes(thread_with_usage(PARENT).data())
    (tmp_path / "b.jsonl").write_bytes(thread_with_usage(THREAD, "And milk").data())
    import_sources(repository, find_sources(str(tmp_path)), FORMATS)
    one, two, whole = stats(repository, "conv-001"), stats(repository, "conv-002"), stats(repository)
    assert (one.messages, two.messages, whole.messages) == (2, 4, 4)
    assert [seen.tokens.output for seen in (one, two, whole)] == [5, 10, 10]
