"""Between the commits of a project and the turns of conversations, in both directions."""

from __future__ import annotations

import time

import pytest

from scopes.code_links.session_turn import record_last_turn
from scopes.code_links.why import WhyRequest, why
from scopes.conversation.branch import branch, rewind
from scopes.conversation.commits import RevisionRequest, diff_commit, find_commit_turns, show_commits, with_commit_turns
from scopes.conversation.log import LogFilter, log
from scopes.errors import NotFound
from scopes.history.handles import StoreHandle
from scopes.render.document import make_document
from tests.code_links.agent_session import ClaudeSession
from tests.code_links.hooked import Hooked
from tests.support.store import make_store

OTHER = "99999999-2222-4333-8444-555555555555"


@pytest.fixture
def store(tmp_path):
    return make_store(tmp_path / "store.git")


@pytest.fixture
def project(tmp_path, store):
    """A project whose hooks are installed; a store that has them recorded calls `record`."""
    made = Hooked(tmp_path / "project", store)
    made.commit("base")
    return made


def session_in(project, tmp_path, **names):
    session = ClaudeSession(project, tmp_path / "session.jsonl", **names)
    session.path = tmp_path / f"{session.session}.jsonl"
    return session


@pytest.fixture
def places(project, tmp_path):
    return {"directory": project.directory, "index_directory": str(tmp_path / "index")}


def two_turns(project, tmp_path):
    """A session that edits in its first turn, and is told to commit in its second one."""
    session = session_in(project, tmp_path)
    session.prompt("Write the greeting function")
    session.edit("greeting.py", "def greeting_of(name):\n    return f'good morning, {name}'\n")
    session.say("Shall I commit?")
    session.prompt("yes")
    session.shell("git add -A && git commit -q -m 'Add a greeting'")
    session.say("Done.")
    session.import_now(project.repository)
    return project.head()


def turns_of(store, revision, **options):
    return find_commit_turns(store, RevisionRequest(revision=revision, **options))


def account_of(store, revision, **options):
    return diff_commit(store, RevisionRequest(revision=revision, **options))


def texts_of(store, turns):
    only = LogFilter(messages=turns.messages)
    found = log(store, turns.conversation, all_branches=True, only=only, oldest_first=True)
    return [entry.head.subject for entry in found.items if entry.head.author_kind == "human"]


def test_the_log_of_a_commit_has_the_turn_that_wrote_it_and_the_one_that_made_it(project, store, places, tmp_path):
    made = two_turns(project, tmp_path)
    project.record()
    for revision in (made, "HEAD", "main", made[:10]):
        turns = turns_of(store, revision, **places)
        assert (turns.conversation, texts_of(store, turns)) == ("conv-001", ["Write the greeting function", "yes"])


def test_a_commit_of_a_turn_that_goes_on_is_of_no_earlier_turn(project, store, places, tmp_path):
    """`log --commit` showed the prompt of the turn before, and `show --commits` was certain of it."""
    session = session_in(project, tmp_path)
    session.prompt("Write the login form")
    session.commit("login form")
    session.say("Done.")
    session.import_now(store)
    session.prompt("Now write the billing report")
    _, made = session.commit("billing report")
    project.record()
    (link,) = show_commits(store, "conv-001", **places).commits[-1].links
    assert (link.commit, link.role, link.level, link.turn, link.message) == (made, "made", "certain", None, None)
    with pytest.raises(NotFound, match=r"was made by conv-001, in a turn that is not recorded yet") as error:
        turns_of(store, made, **places)
    assert "scopes import" in error.value.hint
    request = WhyRequest(target="billing.py:1", cwd=project.directory)
    (found,) = why(store, places["index_directory"], request).items
    assert (found.level, found.answers[0].conversation, found.answers[0].prompt) == ("commit-only", "conv-001", None)
    assert "scopes import" in found.answers[0].how
    session.import_now(store)
    assert texts_of(store, turns_of(store, made, **places)) == ["Now write the billing report"]


def test_a_commit_by_a_call_that_has_not_ended_is_of_its_turn(project, store, places, tmp_path):
    session = session_in(project, tmp_path)
    session.prompt("Write the login form")
    session.commit("login form")
    session.prompt("Commit slowly")
    command = {"command": "git commit -q --allow-empty -m 'slow commit'"}
    call = {"type": "tool_use", "id": "toolu_open", "name": "Bash", "input": command}
    session._add("assistant", session._answer(call))
    session.import_now(store)
    project.run(["sh", "-c", command["command"]], **session.environment)
    project.record()
    assert texts_of(store, turns_of(store, "HEAD", **places)) == ["Commit slowly"]


def test_the_call_that_names_a_commit_tells_its_turn_whatever_the_clock_of_its_record_says(
    project, store, places, tmp_path
):
    """Agent and git had one clock, which fell back by two days; the files of the hooks have that of the disk."""
    session = session_in(project, tmp_path)
    session.prompt("Clock right")
    session.commit("gamma value")
    session.behind = 172_800
    session.environment |= dict.fromkeys(
        ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), f"{int(time.time()) - session.behind} +0000"
    )
    session.prompt("Two days behind")
    call, made = session.commit("delta value")
    session.say("Done.")
    session.import_now(store)
    project.record()
    links = next(row.links for row in show_commits(store, "conv-001", **places).commits if row.commit == made)
    assert [(link.role, link.turn) for link in links] == [("made", 2), ("wrote", 2)]
    assert call in str(store_message(store, links[0].message).parts)
    assert texts_of(store, turns_of(store, made, **places)) == ["Two days behind"]


def test_the_message_of_a_commit_that_the_end_of_a_turn_recorded_is_that_of_its_call(project, store, places, tmp_path):
    session = session_in(project, tmp_path)
    session.prompt("Add one")
    call, made = session.commit("one function", "--quiet")
    session.say("Done.")
    session.import_now(store)
    for record in (lambda: record_last_turn(store, "claude-code", session.session, project.directory), project.record):
        record()
        links = show_commits(store, "conv-001", **places).commits[-1].links
        (link,) = [link for link in links if link.role == "made"]
        assert (link.commit, call in str(store_message(store, link.message).parts)) == (made, True)


def store_message(store, name):
    messages = StoreHandle(store).conversation("conv-001").branch().messages()
    return next(message for message in messages if message.id == name)


def test_without_a_record_the_call_and_the_content_are_enough(project, store, places, tmp_path):
    project.target.remove(project.place())
    made = two_turns(project, tmp_path)
    assert project.pending() == []
    assert texts_of(store, turns_of(store, made, **places)) == ["Write the greeting function", "yes"]


def test_the_other_turns_of_the_conversation_are_left_out(project, store, places, tmp_path):
    session = session_in(project, tmp_path)
    for subject in ("first thing", "second thing", "third thing"):
        session.prompt(f"Do the {subject}")
        _, made = session.commit(subject)
    session.import_now(store)
    assert texts_of(store, turns_of(store, f"{made}~1", **places)) == ["Do the second thing"]


def test_every_message_says_how_its_turn_is_linked_with_the_commit(project, store, places, tmp_path):
    made = two_turns(project, tmp_path)
    found = turns_of(store, made, **places)
    shown = log(store, found.conversation, only=LogFilter(messages=found.messages))
    entries = [*with_commit_turns(shown, found.messages).items]
    assert {(each.commit_turn.conversation, each.commit_turn.branch) for each in entries} == {("conv-001", "main")}
    assert {each.commit_turn.commit for each in entries} == {made}
    turns = {each.head.subject: each.commit_turn.links for each in entries}
    assert turns["Write the greeting function"] == (("wrote", "certain", 1),)
    assert turns["yes"] == (("made", "certain", 2),)
    rows = [make_document(each)["commit_turn"] for each in entries]
    assert rows[-1]["links"] == [{"role": "wrote", "level": "certain", "turn": 1}]


def test_a_message_that_is_only_on_another_branch_names_that(project, store, places, tmp_path):
    made = two_turns(project, tmp_path)
    branch(store, "conv-001", name="elsewhere", switch=False)
    rewind(store, "conv-001", count=3)
    found = turns_of(store, made, **places)
    branches = {each.branch: {link.turn for link in each.links} for each in found.messages.values()}
    assert set(branches) == {"main", "elsewhere"}
    assert branches["elsewhere"] == {2}


def test_a_commit_that_nobody_knows_is_refused(project, store, places, tmp_path):
    two_turns(project, tmp_path)
    project.commit("by hand")
    for more in ({}, {"conversation": "conv-001"}):
        with pytest.raises(
            NotFound, match=r"no session is known to have written commit [0-9a-f]{8} 'by hand'"
        ) as found:
            turns_of(store, "HEAD", **more, **places)
        assert found.value.hint == "if an agent wrote it, import its session: scopes import"
    with pytest.raises(NotFound, match="the project has no commit 'nowhere'"):
        turns_of(store, "nowhere", **places)


@pytest.mark.parametrize("revision", ["--all", "-h", "HEAD..main", ":/base", "HEAD^{tree}", "a\nb", "\udcff", ""])
def test_what_is_no_commit_is_refused(project, store, places, revision):
    """`:/base` is a commit for git: it is allowed, but nobody is linked to it."""
    with pytest.raises(NotFound):
        turns_of(store, revision, **places)


def test_the_session_of_a_commit_that_is_not_imported_is_named(project, store, places, tmp_path):
    session = session_in(project, tmp_path)
    session.prompt("Do it")
    session.commit("first thing")
    with pytest.raises(
        NotFound, match=f"was made by the session {session.session} of claude-code, which is not in the"
    ):
        turns_of(store, "HEAD", **places)


def test_outside_of_a_repository_there_are_no_commits_to_ask_for(store, tmp_path):
    with pytest.raises(NotFound, match="is not in a git repository"):
        turns_of(store, "HEAD", directory=str(tmp_path), index_directory=str(tmp_path / "index"))


def test_a_commit_of_two_conversations_is_shown_of_the_surest_with_a_note(project, store, places, tmp_path):
    writer = session_in(project, tmp_path)
    writer.prompt("Write the greeting function")
    writer.edit("greeting.py", "def greeting_of(name):\n    return f'good morning, {name}'\n")
    writer.import_now(store)
    other = session_in(project, tmp_path, session=OTHER)
    other.prompt("commit what is there")
    other.shell("git add -A && git commit -q -m 'Add a greeting'")
    other.import_now(store)
    turns = turns_of(store, "HEAD", **places)
    assert texts_of(store, turns) == ["commit what is there"]
    assert turns.notes[-1].text == "also linked to the commit: conv-001"
    assert turns.notes[-1].hint == "show it: scopes log conv-001 --commit HEAD"
    assert turns.notes[0].text.endswith("'Add a greeting': made in turn 1")
    named = turns_of(store, "HEAD", conversation="conv-001", **places)
    assert texts_of(store, named) == ["Write the greeting function"]


def roles(result):
    return [(row.subject, [(link.role, link.level, link.turn) for link in row.links]) for row in result.commits]


def test_a_conversation_shows_the_commits_that_it_made_and_wrote(project, store, places, tmp_path):
    two_turns(project, tmp_path)
    project.commit("by hand")
    project.record()
    result = show_commits(store, "conv-001", **places)
    assert roles(result) == [("Add a greeting", [("made", "certain", 2), ("wrote", "certain", 1)])]
    kinds = [evidence.kind for link in result.commits[0].links for evidence in link.evidence]
    assert kinds[0] == "recorded"
    assert "content" in kinds


def test_what_is_recorded_is_shown_without_the_project(project, store, places, tmp_path):
    two_turns(project, tmp_path)
    project.record()
    result = show_commits(store, "conv-001", directory=str(tmp_path), index_directory=places["index_directory"])
    assert roles(result) == [("Add a greeting", [("made", "certain", 2)])]
    assert result.commits[0].is_gone
    assert "only recorded commits are shown" in result.notes[0].text


def write_in_two_turns(project, tmp_path):
    """A session that adds a function in each of two turns, and commits both in the second one."""
    session = session_in(project, tmp_path)
    session.prompt("Write the greeting function")
    session.edit("greeting.py", "def greeting_of(name):\n    return f'good morning, {name}'\n")
    session.prompt("Write the parting function as well, and commit everything")
    session.edit("parting.py", "def parting_of(name):\n    return f'good night, {name}'\n")
    session.shell("git add -A && git commit -q -m 'Add a greeting and a parting'")
    session.import_now(project.repository)
    return session


def links_of(result):
    return [
        (link.role, link.level, [turn.number for turn in link.turns]) for row in result.commits for link in row.links
    ]


def test_all_turns_that_wrote_lines_of_a_commit_are_named_and_the_one_that_made_it(project, store, places, tmp_path):
    write_in_two_turns(project, tmp_path)
    assert links_of(show_commits(store, "conv-001", **places)) == [
        ("made", "certain", [2]),
        ("wrote", "certain", [1, 2]),
    ]
    turns = turns_of(store, "HEAD", **places)
    prompts = ["Write the greeting function", "Write the parting function as well, and commit everything"]
    assert texts_of(store, turns) == prompts


def test_the_log_of_a_commit_says_which_turn_made_it_and_which_wrote_it(project, store, places, tmp_path):
    write_in_two_turns(project, tmp_path)
    (note,) = turns_of(store, "HEAD", **places).notes
    name = f"commit {project.head()[:8]} 'Add a greeting and a parting'"
    assert note.text == f"{name}: made in turn 2; lines written in turns 1, 2"
    assert note.hint == "the evidence: scopes show conv-001 --commits"


def test_the_turns_of_a_commit_are_those_that_why_answers_with(project, store, places, tmp_path):
    write_in_two_turns(project, tmp_path)
    answered = set()
    for name in ("greeting.py", "parting.py"):
        request = WhyRequest(target=name, cwd=project.directory)
        found = why(store, places["index_directory"], request)
        answered |= {answer.turn for lines in found.items for answer in lines.answers}
    (_, wrote) = show_commits(store, "conv-001", **places).commits[0].links
    assert {turn.number for turn in wrote.turns} == answered == {1, 2}


def test_the_turn_whose_command_wrote_a_file_is_named_and_also_the_one_that_committed(project, store, places, tmp_path):
    session = session_in(project, tmp_path)
    session.prompt("Write the version into a file")
    session.shell("echo 'version 1.2.3 of this program' > VERSION")
    session.prompt("commit it")
    session.shell("git add -A && git commit -m 'Add the version'")
    session.import_now(store)
    result = show_commits(store, "conv-001", **places)
    assert links_of(result) == [("made", "certain", [2]), ("wrote", "likely", [1])]
    (evidence,) = result.commits[0].links[1].evidence
    assert (evidence.kind, evidence.text) == ("command", "a command may have written lines of VERSION")
    assert texts_of(store, turns_of(store, "HEAD", **places)) == ["Write the version into a file", "commit it"]


def test_files_that_edits_have_completely_are_not_those_of_a_command(project, store, places, tmp_path):
    session = session_in(project, tmp_path)
    session.prompt("Write the greeting function")
    session.edit("greeting.py", "def greeting_of(name):\n    return f'good morning, {name}'\n\n\nx = 1\n")
    session.shell("touch greeting.py && git add -A && git commit -m 'Add a greeting'")
    session.import_now(store)
    assert links_of(show_commits(store, "conv-001", **places)) == [("made", "certain", [1]), ("wrote", "certain", [1])]


def test_an_amended_commit_names_the_one_that_replaced_it(project, store, places, tmp_path):
    """Git keeps the replaced commit for weeks, and no branch has it."""
    made = two_turns(project, tmp_path)
    project.git("commit", "-q", "--amend", "-m", "Greet people")
    project.record()
    new = project.head()
    rows = {row.commit: (row.is_gone, row.replaced_by) for row in show_commits(store, "conv-001", **places).commits}
    assert rows == {made: (True, new), new: (False, None)}


def test_a_replaced_commit_is_known_before_its_hook_is_taken_over(project, store, places, tmp_path):
    made = two_turns(project, tmp_path)
    project.git("commit", "-q", "--amend", "-m", "Greet people")
    rows = {row.commit: row.replaced_by for row in show_commits(store, "conv-001", **places).commits}
    assert rows == {made: project.head(), project.head(): None}


def test_commits_that_were_amended_twice_name_the_last_one(project, store, places, tmp_path):
    session = session_in(project, tmp_path)
    session.prompt("Write the greeting function")
    _, first = session.commit("greeting function")
    session.shell("git commit -q --amend -m 'greeting function of people'")
    second = project.head()
    session.shell("git commit -q --amend -m 'greeting function of all people'")
    session.import_now(store)
    project.record()
    rows = {row.commit: row.replaced_by for row in show_commits(store, "conv-001", **places).commits}
    assert rows == {first: project.head(), second: project.head(), project.head(): None}


def test_a_commit_that_a_branch_still_has_is_not_replaced(project, store, places, tmp_path):
    made = two_turns(project, tmp_path)
    project.git("branch", "backup")
    project.git("commit", "-q", "--amend", "-m", "Greet people")
    project.record()
    rows = {row.commit: (row.is_gone, row.replaced_by) for row in show_commits(store, "conv-001", **places).commits}
    assert rows[made] == (False, None)


def test_a_recorded_commit_of_a_deleted_branch_is_gone_and_replaced_by_none(project, store, places, tmp_path):
    project.git("switch", "-q", "-c", "topic")
    made = two_turns(project, tmp_path)
    project.record()
    project.git("switch", "-q", "main")
    project.git("branch", "-q", "-D", "topic")
    (row,) = show_commits(store, "conv-001", **places).commits
    assert (row.commit, row.is_gone, row.replaced_by) == (made, True, None)


def commit_in(project, tmp_path, session, subject):
    """Let a session of one project commit in the working tree of another one, with hooks."""
    session.project = project
    session.commit(subject)
    session.import_now(project.repository)
    project.record()
    return project.head()


def test_commits_of_another_repository_are_left_out_and_not_gone(project, store, places, tmp_path):
    """All commits of the other repository were listed as gone, as if this one had lost them."""
    other = Hooked(tmp_path / "other", store)
    session = session_in(project, tmp_path)
    session.prompt("Write both functions")
    here = commit_in(project, tmp_path, session, "first function")
    there = commit_in(other, tmp_path, session, "second function")
    result = show_commits(store, "conv-001", **places)
    assert [(row.commit, row.is_gone) for row in result.commits] == [(here, False)]
    assert [note.text for note in result.notes] == ["1 commit of other repositories left out"]
    assert result.notes[0].hint == f"show them: scopes -C {other.directory} show conv-001 --commits"
    result = show_commits(store, "conv-001", **places | {"directory": other.directory})
    assert [(row.commit, row.is_gone) for row in result.commits] == [(there, False)]


@pytest.mark.parametrize("is_merged", [True, False])
def test_commits_of_a_working_tree_that_was_deleted_are_gone_if_others_of_it_are_here(
    project, store, places, tmp_path, is_merged
):
    project.git("worktree", "add", "-q", str(tmp_path / "linked"), "-b", "topic")
    linked = Hooked(tmp_path / "linked", store, create=False, install=False)
    session = session_in(project, tmp_path)
    session.prompt("Write both functions")
    first = commit_in(linked, tmp_path, session, "first function")
    second = commit_in(linked, tmp_path, session, "second function")
    if is_merged:
        project.git("merge", "-q", "--ff-only", first)
    project.git("worktree", "remove", "--force", linked.directory)
    project.git("branch", "-q", "-D", "topic")
    project.git("reflog", "expire", "--expire=now", "--all")
    project.git("gc", "-q", "--prune=now")
    result = show_commits(store, "conv-001", **places)
    expected = [(first, False), (second, True)] if is_merged else []
    assert [(row.commit, row.is_gone) for row in result.commits] == expected
    assert len(result.notes) == (not is_merged)


def test_a_commit_of_a_detached_head_is_not_gone(project, store, places, tmp_path):
    project.git("checkout", "-q", "--detach")
    two_turns(project, tmp_path)
    project.record()
    (row,) = show_commits(store, "conv-001", **places).commits
    assert not row.is_gone


def test_a_commit_that_git_made_again_is_shown_as_it_is_now(project, store, places, tmp_path):
    made = two_turns(project, tmp_path)
    project.git("commit", "-q", "--amend", "-m", "Greet people")
    project.record()
    project.git("reflog", "expire", "--expire=now", "--all")
    project.git("gc", "-q", "--prune=now")
    rows = {row.subject: row for row in show_commits(store, "conv-001", **places).commits}
    assert not rows["Greet people"].is_gone
    replaced = rows["Add a greeting"]
    assert (replaced.commit, replaced.is_gone, replaced.replaced_by) == (made, True, project.head())


def test_a_conversation_without_commits_shows_none(project, store, places, tmp_path):
    session = session_in(project, tmp_path)
    session.prompt("Say hello")
    session.say("Hello.")
    session.import_now(store)
    assert show_commits(store, "conv-001", **places).commits == ()


def test_edits_account_for_a_commit_that_nobody_touched(project, store, places, tmp_path):
    two_turns(project, tmp_path)
    result = account_of(store, "HEAD", **places)
    assert [(file.path, file.added, file.edited, file.others) for file in result.files] == [("greeting.py", 2, 2, ())]
    assert result.exit_code == 0


def test_log_and_diff_of_a_commit_after_the_end_of_a_session_say_that_it_is_only_likely_of_it(
    project, store, places, tmp_path
):
    session = session_in(project, tmp_path)
    session.prompt("Write the greeting function")
    session.edit("greeting.py", "def greeting_of(name):\n    return f'good morning, {name}'\n")
    session.import_now(store)
    project.git("add", "-A")
    date = f"{int(time.time()) + 5 * 3600} +0000"
    project.git("commit", "-q", "-m", "Add a greeting", GIT_AUTHOR_DATE=date, GIT_COMMITTER_DATE=date)
    text = "the link of the commit with conv-001 is only likely: 2 lines of 1 edit, 5 hours after the session was last active"
    (row,) = show_commits(store, "conv-001", **places).commits
    assert [link.level for link in row.links] == ["likely"]
    assert text in [note.text for note in turns_of(store, "HEAD", **places).notes]
    assert text in [note.text for note in account_of(store, "HEAD", **places).notes]


def test_lines_that_somebody_changed_before_the_commit_are_shown(project, store, places, tmp_path):
    session = session_in(project, tmp_path)
    session.prompt("Write the greeting function")
    session.edit("greeting.py", "def greeting_of(name):\n    return f'good morning, {name}'\n")
    text = "def greeting_of(name):\n    return f'good evening, {name}'\n\n\nMAXIMUM_OF_NAMES = 5\nx = 1\n"
    project.write("greeting.py", text)
    session.shell("git add -A && git commit -q -m 'Add a greeting'")
    session.import_now(store)
    result = account_of(store, "HEAD", conversation="conv-001", **places)
    (file,) = result.files
    assert (file.added, file.edited, file.short) == (6, 1, 2)
    assert file.others == ((2, "    return f'good evening, {name}'"), (5, "MAXIMUM_OF_NAMES = 5"), (6, "x = 1"))
    assert result.exit_code == 1


def test_a_short_line_that_a_person_changed_before_the_commit_is_shown(project, store, places, tmp_path):
    """A constant is what people tune; nothing was shown, and the exit code was 0."""
    session = session_in(project, tmp_path)
    session.prompt("Write the greeting function")
    session.edit("greeting.py", "SIZE = 40\ndef greeting_of(name):\n    w = 3\n    return f'hello, {name}'\n")
    session.edit("limit.py", "MAX = 5\n")
    project.write("greeting.py", "SIZE = 8\ndef greeting_of(name):\n    w = 3\n    return f'hello, {name}'\n")
    session.shell("git add -A && git commit -q -m 'Add a greeting'")
    session.import_now(store)
    result = account_of(store, "HEAD", conversation="conv-001", **places)
    assert [(file.path, file.short, file.others) for file in result.files] == [
        ("greeting.py", 1, ((1, "SIZE = 8"),)),
        ("limit.py", 1, ()),
    ]
    assert result.exit_code == 1


@pytest.mark.parametrize(
    ("variable", "hint"),
    [
        ("GEMINI_CLI", "import it: scopes import"),
        ("OPENCODE", "import it: scopes import"),
    ],
)
def test_a_commit_of_a_session_that_is_not_imported_says_how_that_is_imported(
    project, store, places, tmp_path, variable, hint
):
    two_turns(project, tmp_path)
    made = project.commit("by an agent", **{variable: "1"})
    project.record()
    with pytest.raises(NotFound, match="was made by a session of") as found:
        turns_of(store, made, **places)
    assert found.value.hint == hint
