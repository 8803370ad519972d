"""Commits whose author time is older than their edits: amended ones, squashed fixups, and `git commit --date`.

Their hooks saw which session made or amended them and when, so the edits of these sessions count until then.
"""

from __future__ import annotations

import pytest

from scopes.code_links.why import WhyRequest, why
from scopes.conversation.commits import RevisionRequest, diff_commit, show_commits
from tests.code_links.agent_session import ClaudeSession
from tests.code_links.hooked import Hooked
from tests.support.store import make_store

YESTERDAY = "--date='1 day ago'"
FIRST = "".join(f"def function_number_{number}(value):\n    return value + {number}_000\n" for number in range(3))
MORE = "".join(f"def addition_number_{number}(value):\n    return value * {number}_000\n" for number in range(3))


@pytest.fixture
def project(tmp_path):
    made = Hooked(tmp_path / "project", make_store(tmp_path / "store.git"))
    made.commit("base")
    return made


@pytest.fixture
def start(project, tmp_path):
    """Start a session with a prompt; the first one becomes conv-001."""

    def start(digit, prompt):
        name = f"{digit * 8}-2222-4333-8444-555555555555"
        session = ClaudeSession(project, tmp_path / f"{name}.jsonl", name)
        session.prompt(prompt)
        return session

    return start


@pytest.fixture
def explain(project, tmp_path):
    """Return level, conversation and turn of the answer for a line."""

    def explain(target, *sessions):
        for session in sessions:
            session.say("Done.")
            session.import_now(project.repository)
        (found,) = why(
            project.repository, str(tmp_path / "index"), WhyRequest(target=target, cwd=project.directory)
        ).items
        answer = found.answers[0]
        return found.level, answer.conversation, answer.turn

    return explain


def links_of(project, tmp_path, conversation):
    """Return role, level and evidence of the links of the last commit with a conversation."""
    index = str(tmp_path / "index")
    found = show_commits(project.repository, conversation, directory=project.directory, index_directory=index)
    rows = [row for row in found.commits if row.commit == project.head()]
    return [(link.role, link.level, link.evidence[0].text) for row in rows for link in row.links]


def commit_first(session):
    session.edit("app.py", FIRST)
    session.shell(f"git add -A && git commit -q -m First {YESTERDAY}")


def amend(session, words="--no-edit"):
    session.add("app.py", MORE)
    session.shell(f"git commit -q -a --amend {words}")


def test_a_line_that_another_session_amended_into_a_commit_is_its_own(project, start, explain):
    first, second = start("1", "Write the functions"), start("2", "Review them and amend the commit")
    commit_first(first)
    amend(second)
    assert explain("app.py:8", first, second) == ("certain", "conv-002", 1)
    assert explain("app.py:2") == ("certain", "conv-001", 1)


def test_both_sessions_are_linked_to_a_commit_that_one_made_and_the_other_amended(project, start, explain, tmp_path):
    first, second = start("1", "Write the functions"), start("2", "Review them and amend the commit")
    commit_first(first)
    amend(second)
    explain("app.py:8", first, second)
    roles = {name: [link[:2] for link in links_of(project, tmp_path, name)] for name in ("conv-001", "conv-002")}
    assert roles["conv-001"] == [("made", "certain"), ("wrote", "certain")]
    assert roles["conv-002"] == [("wrote", "certain"), ("made", "likely")]


def test_a_commit_by_hand_that_a_session_amended_has_its_lines(project, start, explain, tmp_path):
    project.write("app.py", FIRST)
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "By hand", "--date=1 day ago")
    session = start("1", "Add the additions and amend my commit")
    session.add("app.py", MORE)
    session.shell("git commit -q -a --amend --no-edit")
    assert explain("app.py:8", session) == ("certain", "conv-001", 1)
    texts = [text for *_, text in links_of(project, tmp_path, "conv-001")]
    assert texts == ["6 lines of 1 edit", "recorded in a shell of this session"]


def test_a_fixup_that_was_squashed_into_the_commit_of_another_session_has_its_lines(project, start, explain, tmp_path):
    first, second = start("1", "Write the functions"), start("2", "Add to them, as a fixup")
    commit_first(first)
    second.add("app.py", MORE)
    second.shell("git commit -q -a --fixup HEAD")
    project.git("rebase", "-q", "-i", "--autosquash", "HEAD~2", GIT_SEQUENCE_EDITOR="true")
    assert explain("app.py:8", first, second) == ("certain", "conv-002", 1)
    assert explain("app.py:2") == ("certain", "conv-001", 1)
    assert ("wrote", "certain", "6 lines of 1 edit") in links_of(project, tmp_path, "conv-002")


def test_a_commit_with_an_older_date_has_the_lines_of_its_session(project, start, explain, tmp_path):
    session = start("1", "Write the functions, with the date of yesterday")
    commit_first(session)
    assert explain("app.py:2", session) == ("certain", "conv-001", 1)
    assert [link[0] for link in links_of(project, tmp_path, "conv-001")] == ["made", "wrote"]
    request = RevisionRequest(
        revision="HEAD", directory=project.directory, index_directory=str(tmp_path / "index"), conversation="conv-001"
    )
    account = diff_commit(project.repository, request)
    assert (account.exit_code, account.files[0].edited) == (0, 6)


def test_an_edit_counts_before_the_amend_by_how_long(project, start, explain, tmp_path):
    first, second = start("1", "Write the functions"), start("2", "Amend the commit")
    commit_first(first)
    amend(second)
    explain("app.py:8", first, second)
    request = WhyRequest(target="app.py:8", cwd=project.directory)
    (found,) = why(project.repository, str(tmp_path / "index"), request).items
    assert 0 <= found.answers[0].seconds_before < 3600


def test_an_edit_of_a_session_that_only_looked_on_does_not_count_after_the_author_time(project, start, explain):
    """It wrote the same lines elsewhere, later; only the session in whose shell the commit was amended did it."""
    first, second = start("1", "Write the functions"), start("2", "Write the same in another folder")
    commit_first(first)
    second.edit("other/app.py", FIRST + MORE)
    amend(first)
    assert explain("app.py:8", first, second)[:2] == ("certain", "conv-001")


def test_a_session_that_only_rebased_a_commit_has_no_lines_of_it(project, start, explain, tmp_path):
    first, second = start("1", "Write the functions"), start("2", "Rebase the branch")
    commit_first(first)
    second.edit("other/app.py", FIRST)
    second.shell("git commit -q --allow-empty -m Empty && git rebase -q --force-rebase HEAD~2")
    assert explain("app.py:2", first, second)[:2] == ("certain", "conv-001")
    last = project.git("rev-parse", "HEAD~1").strip()
    index = str(tmp_path / "index")
    found = show_commits(project.repository, "conv-002", directory=project.directory, index_directory=index)
    assert last not in [row.commit for row in found.commits]


def test_a_turn_that_an_older_commit_leads_to_has_its_prompt(project, start, explain):
    """No edit has the line: the record names the turn, which began after the author time."""
    session = start("1", "Look at the folder")
    session.say("It is empty.")
    session.prompt("Generate the table of values")
    session.shell(f"seq -f 'VALUE_NUMBER_%g = True' 5 > table.py; git add -A; git commit -q -m Table {YESTERDAY}")
    assert explain("table.py:3", session) == ("commit-only", "conv-001", 2)
