"""What was purged of a session that `scopes acp` recorded does not come back with the transcript of the agent."""

from __future__ import annotations

import pytest

from scopes.conversation.verify import verify
from scopes.purge.purge import purge
from scopes.purge.selection import PurgeRequest
from tests.importers.test_live_records import Live, spread_ids
from tests.support.every_byte import find_word

__all__ = ["spread_ids"]

WORD = "Xylophone-Quarantine-4711"


@pytest.mark.every_case("each is another place of the record")
@pytest.mark.parametrize("turn", [("hide", WORD), (f"hide {WORD}", "done")], ids=["answer", "prompt"])
def test_the_transcript_comes_without_it(repository, places, tmp_path, turn):
    live = Live(repository, tmp_path)
    live.turn(*turn)
    live.turn("and the tests?", "they pass")
    purge(repository, PurgeRequest(query=WORD), places)
    assert find_word(WORD, repository.path) == []
    live.save()
    assert find_word(WORD, repository.path) == []
    assert "they pass" in live.texts()[-1]
    assert verify(repository).exit_code == 0
