"""Two agents work in one directory, and one of them commits the edits of both."""

from __future__ import annotations

import time

import pytest

from scopes.code_links.why import WhyRequest, why
from tests.code_links.agent_session import ClaudeSession

OTHERS = ("22222222-2222-4333-8444-555555555555", "33333333-2222-4333-8444-555555555555")
BEGIN = """\
def orders(request):
    limit = int(request.args.get('limit', 50))
    rows = query('select * from orders limit ?', limit)
    return [dict(row) for row in rows]
"""
LOGGING = """\
import logging

log = logging.getLogger(__name__)


def orders(request):
    log.info('orders asked by %s', request.user)
"""
CHECK = """\
    if limit < 1 or limit > 500:
        raise BadRequest('limit must be between 1 and 500')
"""
FIRST, _, QUERY, _ = BEGIN.splitlines(keepends=True)
VALIDATED = (9, 10)  # the lines of CHECK in the file


def replace_text(session, path, old, new):
    """Edit a file as an agent does, by the text that it replaces."""
    with open(f"{session.project.directory}/{path}", encoding="utf-8") as file:
        text = file.read()
    full = session.project.write(path, text.replace(old, new, 1))
    added = [f"+{line}" for line in new.splitlines() if line not in old.splitlines()]
    patch = [{"oldStart": 1, "oldLines": 0, "newStart": 1, "newLines": len(added), "lines": added}]
    given = {"file_path": full, "old_string": old, "new_string": new}
    session._call("Edit", given, "done", {"filePath": full, "structuredPatch": patch})


def sessions_in(project, tmp_path, behind=(0, 0)):
    """Return three sessions; the clocks of the first one and of the others may be behind."""
    found = []
    for session, seconds in zip((None, *OTHERS), (behind[0], behind[1], behind[1]), strict=True):
        made = ClaudeSession(project, "") if session is None else ClaudeSession(project, "", session)
        made.path = tmp_path / f"{made.session}.jsonl"
        made.behind = seconds
        found.append(made)
    return found


def commit_by_its_clock(session, command):
    date = f"{int(time.time()) - session.behind} +0000"
    session.environment |= {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    session.shell(command)


def work(project, tmp_path, **options):
    """Let one session write a file, and two others edit it; the second one commits both edits."""
    writer, logger, checker = sessions_in(project, tmp_path, **options)
    writer.prompt("Add an orders endpoint")
    writer.edit("orders.py", BEGIN)
    commit_by_its_clock(writer, "git add -A && git commit -qm 'orders endpoint'")
    logger.prompt("Add logging to the orders endpoint")
    checker.prompt("Validate the limit of the orders endpoint")
    replace_text(logger, "orders.py", FIRST, LOGGING)
    replace_text(checker, "orders.py", QUERY, CHECK + QUERY)
    commit_by_its_clock(logger, "git commit -qam 'log who asks for orders'")
    for session in (writer, logger, checker):
        session.say("Done.")
        session.import_now(project.repository)
    if project.pending():
        project.record()


def prompts_of(project, tmp_path, lines=VALIDATED):
    """Return level and prompt of some lines."""
    found = []
    for line in lines:
        request = WhyRequest(target=f"orders.py:{line}", cwd=project.directory)
        (item,) = why(project.repository, str(tmp_path / "index"), request).items
        found.append((item.level, item.answers[0].prompt.split()[0]))
    return found


def is_answered(found, word="Validate"):
    return all(level in {"likely", "other-session"} and first == word for level, first in found)


@pytest.fixture(params=["with hooks of git", "without hooks"])
def project(request, hooked_with_base):
    if request.param == "without hooks":
        hooked_with_base.target.remove(hooked_with_base.place())
    return hooked_with_base


@pytest.mark.every_case("hooks record what is searched without them")
def test_lines_that_another_agent_committed_are_of_the_one_that_edited_them(project, tmp_path):
    """An edit that was made in the second of the commit is before it."""
    work(project, tmp_path)
    assert is_answered(prompts_of(project, tmp_path))


def test_neighbours_that_other_agents_wrote_are_no_evidence_against_an_edit(hooked_with_base, tmp_path):
    """Without hooks, and with edits before the author time of the joined commit."""
    project = hooked_with_base
    project.target.remove(project.place())
    work(project, tmp_path, behind=(-600, 0))
    project.git("commit", "--amend", "-q", "-m", "fixup! orders endpoint")
    project.git("-c", "sequence.editor=:", "rebase", "-q", "-i", "--autosquash", "HEAD~2")
    assert is_answered(prompts_of(project, tmp_path))
    assert is_answered(prompts_of(project, tmp_path, (3, 7)), "Add")


@pytest.mark.every_case("commits that were made within seconds are joined, too")
@pytest.mark.parametrize("behind", [(7200, 3600), (2, 0)])
def test_edits_count_until_the_newest_commit_that_was_joined(hooked_with_base, tmp_path, behind):
    """The joined commit keeps the author time of the first one, which is older than these edits by an hour."""
    work(hooked_with_base, tmp_path, behind=behind)
    hooked_with_base.git("commit", "--amend", "-q", "-m", "fixup! orders endpoint")
    hooked_with_base.git("-c", "sequence.editor=:", "rebase", "-q", "-i", "--autosquash", "HEAD~2")
    assert is_answered(prompts_of(hooked_with_base, tmp_path))
