"""The sums are those of a count by the agents' own ids of answers, that shares no code with the importer."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from scopes.importers.discovery import find_sources
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import import_sources
from scopes.usage.prices import read_prices
from scopes.usage.usage import UsageRequest, usage
from tests.importers.formats.claude_code.logs import Log, call, text
from tests.importers.reading import real_transcript
from tests.usage import independent_counts as independent


def counted(repository, *paths):
    """Import files and return what was used, in the form of the independent counts."""
    import_sources(repository, [each for path in paths for each in find_sources(str(path))], FORMATS)
    total = usage(repository, UsageRequest(), read_prices()).total
    return total.answers, total.input, total.cache_read, total.cache_write, total.output


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    ("names", "count"),
    [
        (("opencode", "gen_v1.18.33_opencode.db"), independent.count_opencode),
        (("gemini-cli", "gen_v0.61_2-after-resume"), independent.count_gemini),
        (("qwen-code", "gen_v0.15_973ee02d-7ffa-47c0-8b9b-b6380542994e.jsonl"), None),
        (("aider",), independent.count_aider),
    ],
)
def test_the_sums_of_real_transcripts_are_those_of_an_independent_count(repository, tmp_path, names, count):
    path = Path(real_transcript(*names))
    if count is None:
        os.symlink(path, tmp_path / path.name)
        expected = independent.count_qwen(tmp_path)
    else:
        expected = count(path)
    first = 1 if names == ("aider",) else 0  # several requests there are one answer
    assert expected[0] > 0
    assert counted(repository, path)[first:] == expected[first:]
    assert counted(repository, path)[first:] == expected[first:]


@pytest.mark.slow
def test_each_of_three_folders_adds_its_sum_to_that_of_the_ones_before(repository):
    counts = {
        "claude-code": independent.count_claude_code,
        "pi": independent.count_pi,
        "codex": independent.count_codex,
    }
    folders = [Path(real_transcript(name)) for name in counts]
    expected = (0, 0, 0, 0, 0)
    for folder, count in zip(folders, counts.values(), strict=True):
        alone = count(folder)
        assert alone[0] > 0
        expected = tuple(map(sum, zip(expected, alone, strict=True)))
        assert counted(repository, folder) == expected
    assert counted(repository, *folders) == expected


@pytest.fixture
def session(tmp_path):
    """A session with an answer on several lines, parallel calls, an interrupted edit of a prompt, and a sub-agent's copy."""
    log = Log()
    log.user("list the files")
    log.answer("msg_1", text("I look."), tokens=5)
    log.answer("msg_1", call("toolu_1"), tokens=20)
    calls = log.answer("msg_1", call("toolu_2"), tokens=40)
    log.result("toolu_1")
    log.result("toolu_2", parent=calls)
    log.answer("msg_2", text("Two files."), tokens=7)
    prompt = log.user("and now?")
    log.answer("msg_3", text("Nothing."), tokens=9)
    log.user("and then?", parent=prompt)
    log.answer("msg_4", text("Nothing else."), tokens=11)
    path = tmp_path / "session.jsonl"
    path.write_bytes(log.data())
    return path


def test_an_answer_on_many_lines_and_branches_counts_once_with_its_last_counts(repository, session):
    expected = (4, 4 * 3, 4 * 100, 4 * 20, 40 + 7 + 9 + 11)
    assert independent.count_claude_code(session.parent) == expected
    assert counted(repository, session) == expected


def test_a_session_that_grows_and_is_forked_counts_each_answer_once(repository, session, tmp_path):
    """The fork has the records of its parent under a session id of its own, and goes on in another way."""
    whole = session.read_bytes()
    lines = whole.splitlines(keepends=True)
    for end in (3, 7, len(lines)):
        session.write_bytes(b"".join(lines[:end]))
        counted(repository, session)
    fork = tmp_path / "fork.jsonl"
    own = Log("22222222-2222-4333-8444-555555555555")
    own.records = [json.loads(line) | {"sessionId": own.session} for line in lines[:7]]
    own.last = own.records[-1]["uuid"]
    own.answer("msg_9", text("Another end."), tokens=13)
    fork.write_bytes(own.data())
    assert counted(repository, session, fork) == independent.count_claude_code(tmp_path) == (5, 15, 500, 100, 80)
