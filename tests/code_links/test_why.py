"""`why`: from a line to the prompt, over real repositories and sessions that really changed them."""

from __future__ import annotations

import re

import pytest

from scopes.code_links.project_commits import read_project_commits
from scopes.code_links.why import WhyRequest, why
from scopes.errors import Inaccessible, Invalid, NotFound
from tests.support.store import files_of

OLD = """\
import json


def load(path):
    return json.loads(path.read_text())
"""
STATUS = """\
def run_status(store):
    branches = store.list_branches()
    print("branches:", len(branches))
    for branch in sorted(branches):
        print("  ", branch.name, branch.tip)
"""


def begin(project, name="app.py", text=OLD):
    """Commit a file that a person wrote, long before the sessions."""
    project.write(name, text)
    project.commit("Begin")
    project.clock.skip(days=1)


def add(session, text=STATUS):
    """Let a session add a function at the end of the file; its lines are 8 to 12."""
    return session.edit("app.py", "read_text())\n", f"read_text())\n\n\n{text}")


def work(world, prompt="add a status command", **options):
    """Let a session add the status command and commit it."""
    session = world.claude(**options).prompt(prompt).say("I will add it.")
    return add(session).commit("Add status command")


def test_a_line_leads_to_the_prompt_of_the_session_that_wrote_and_committed_it(world, project):
    begin(project)
    found = world.line("app.py:9", work(world))
    assert (found.level, found.commit.id, found.commit.author) == ("certain", project.head, "Alice")
    (answer,) = found.answers
    assert (answer.conversation, answer.turn, answer.prompt) == ("conv-001", 1, "add a status command")
    assert answer.how == "line + 4/4 neighbours, Edit"
    assert (answer.made, answer.share) == (True, 1.0)


def test_the_message_and_the_call_of_the_edit_are_named(world, project):
    begin(project)
    session = work(world)
    (answer,) = world.line("app.py:9", session).answers
    calls = [block["id"] for record in session.records for block in record["message"]["content"] if "id" in block]
    assert answer.call_id == calls[0]
    assert answer.seconds_before == 20.0


def test_a_line_of_a_person_has_no_answer(world, project):
    begin(project)
    found = world.line("app.py:5", work(world))
    assert (found.level, found.answers) == ("none", ())
    assert found.commit.subject == "Begin"


def test_a_short_prompt_comes_with_what_it_agreed_to_and_the_longer_prompt_before_it(world, project):
    begin(project)
    session = world.claude().prompt("can we have a command that lists the branches?")
    session.say("Yes. I would add run_status to app.py. Shall I?").prompt("yes")
    add(session).commit("Add status command")
    (answer,) = world.line("app.py:9", session).answers
    assert (answer.turn, answer.prompt) == (2, "yes")
    assert answer.agreed_to == "Yes. I would add run_status to app.py. Shall I?"
    assert answer.longer_prompt == "can we have a command that lists the branches?"


def test_a_prompt_with_an_instruction_of_its_own_agreed_to_nothing(world, project):
    """Whatever the answer before it says: the prompt itself is the reason for the line."""
    begin(project)
    session = world.claude().prompt("does the program have a version?").say("No. I would add a file VERSION.")
    session.prompt("add a command that shows the status, and do not touch anything else")
    add(session).commit("Add status command")
    (answer,) = world.line("app.py:9", session).answers
    assert (answer.turn, answer.agreed_to, answer.longer_prompt) == (2, None, None)


def test_the_turn_that_wrote_a_line_counts_and_not_the_one_that_committed_it(world, project):
    begin(project)
    session = world.claude().prompt("add a status command, please, to app.py")
    add(session).say("Done.")
    session.prompt("commit this").commit("Add status command")
    (answer,) = world.line("app.py:9", session).answers
    assert (answer.turn, answer.made) == (1, True)


def test_a_slash_command_begins_a_turn_and_is_shown_as_it_was_typed(world, project):
    begin(project)
    text = "<command-name>/feature</command-name> <command-message>feature</command-message> <command-args>status</command-args>"
    (answer,) = world.line("app.py:9", work(world, prompt=text)).answers
    assert (answer.turn, answer.prompt) == (1, "/feature status")


def test_a_later_turn_that_writes_a_line_again_is_the_answer_and_the_earlier_one_is_also_named(world, project):
    begin(project)
    session = world.claude().prompt("add a status command, please")
    add(session)
    session.prompt("take it out again, and write it anew")
    add(session.edit("app.py", f"\n\n{STATUS}", "")).commit("Add status command")
    found = world.line("app.py:9", session)
    assert (found.level, found.answers[0].turn, found.also) == ("certain", 2, (1,))


def test_a_commit_by_a_person_is_linked_by_its_content(world, project):
    begin(project)
    session = world.claude().prompt("add a status command")
    add(session)
    project.clock.skip(hours=3)
    project.commit("Status")
    found = world.line("app.py:9", session)
    assert (found.level, found.answers[0].made) == ("certain", False)


def test_a_codex_session_is_found_by_its_patch(world, project):
    begin(project)
    session = world.codex().prompt("add a status command").patch("status.py", "", STATUS)
    session.bash('git add -A && git commit -m "Add status command"')
    found = world.line("status.py:3", session)
    assert (found.level, found.answers[0].prompt) == ("certain", "add a status command")
    assert found.answers[0].how == "line + 4/4 neighbours, apply_patch"


def test_a_line_that_another_conversation_wrote_than_committed_is_of_the_other_one(world, project):
    begin(project)
    first = world.claude("first").prompt("add a status command")
    add(first)
    second = world.claude("second").prompt("add a log and commit everything")
    second.write("log.py", STATUS.replace("status", "log").replace("branch", "entry")).commit("Add commands")
    found = world.line("app.py:9", first, second)
    assert (found.level, found.answers[0].conversation) == ("other-session", "conv-001")
    assert world.line("log.py:2").answers[0].conversation == "conv-002"


def one_line_among_many(world, project):
    """One session writes a line of a file, and another one much around it, which it commits; return both."""
    begin(project)
    first = world.claude("first").prompt("limit the number of branches")
    first.edit("app.py", "read_text())\n", "read_text())\n\n\nMOST_BRANCHES_AT_ONCE = 250\n")
    second = world.claude("second").prompt("add commands and commit")
    words = [STATUS.replace("status", name).replace("branch", f"{name}_item") for name in ("list", "count", "drop")]
    second.edit("app.py", "read_text())\n", f"read_text())\n\n\n{words[0]}")
    second.edit("app.py", "= 250\n", f"= 250\n\n\n{words[1]}\n\n{words[2]}").commit("Add commands")
    return first, second


def test_the_only_edit_with_a_line_is_its_owner_also_if_another_conversation_has_all_around_it(world, project):
    both = one_line_among_many(world, project)
    number = project.read("app.py").split("\n").index("MOST_BRANCHES_AT_ONCE = 250") + 1
    found = world.line(f"app.py:{number}", *both)
    (answer,) = found.answers
    assert (found.level, answer.conversation, answer.prompt) == ("likely", "conv-001", "limit the number of branches")
    assert answer.how.endswith("Edit; conv-002 made the commit")


def test_an_edit_of_another_conversation_long_before_the_commit_is_no_owner(world, project):
    begin(project)
    first = world.claude("first").prompt("limit the number of branches")
    first.edit("app.py", "read_text())\n", "read_text())\n\n\nMOST_BRANCHES_AT_ONCE = 250\n")
    project.clock.skip(days=3)
    second = world.claude("second").prompt("add commands and commit")
    second.edit("app.py", "= 250\n", f"= 250\n\n\n{STATUS}").commit("Add commands")
    assert world.line("app.py:8", first, second).level in {"near", "commit-only"}


def test_a_line_that_was_changed_after_the_edit_is_near_it(world, project):
    begin(project)
    session = world.claude().prompt("add a status command")
    add(session)
    project.write("app.py", project.read("app.py").replace("for branch in sorted(", "for branch in reversed("))
    project.commit("Status")
    found = world.line("app.py:11", session)
    assert (found.level, found.answers[0].how) == ("near", "4/4 neighbours, Edit")


def test_a_line_that_a_command_wrote_is_found_by_the_command(world, project):
    begin(project)
    session = world.claude().prompt("rename load to read_document")
    session.bash("sed -i s/load\\(path/read_document\\(path/ app.py").commit("Rename load")
    found = world.line("app.py:4", session)
    assert (found.level, found.answers[0].how) == ("commit-only", "by a command in this turn")
    assert found.answers[0].command == "sed -i s/load\\(path/read_document\\(path/ app.py"
    assert (found.answers[0].turn, found.answers[0].prompt) == (1, "rename load to read_document")


def test_the_command_may_be_in_an_earlier_turn_than_the_commit(world, project):
    begin(project)
    session = world.claude().prompt("rename load to read_document")
    session.bash("sed -i s/load\\(path/read_document\\(path/ app.py").say("Done.")
    session.prompt("commit it now").commit("Rename load")
    (answer,) = world.line("app.py:4", session).answers
    assert (answer.turn, answer.prompt) == (1, "rename load to read_document")


def test_an_uncommitted_line_is_looked_up_in_the_edits_since_head(world, project):
    begin(project)
    session = world.claude().prompt("add a status command")
    add(session)
    found = world.line("app.py:9", session)
    assert (found.level, found.commit) == ("likely", None)
    assert found.answers[0].prompt == "add a status command"


def test_an_edit_before_the_last_commit_of_the_file_does_not_explain_an_uncommitted_line(world, project):
    begin(project)
    session = world.claude().prompt("add a status command")
    add(session)
    project.git("checkout", "-q", "app.py")
    remark = "# a remark of a person about this\n"
    project.write("app.py", f"{OLD}{remark}")
    project.commit("Something else")
    project.write("app.py", f"{OLD}{remark}\n\n{STATUS}")
    assert world.line("app.py:10", session).level == "unsure"


def test_committed_lines_below_uncommitted_ones_keep_their_commit(world, project):
    begin(project)
    session = work(world)
    project.write("app.py", "# a comment on top, by hand\n" + project.read("app.py"))
    assert world.line("app.py:11", session).level == "certain"
    assert world.line("app.py:1").level == "none"


def test_a_line_of_a_revision_is_asked_for_with_the_numbers_of_that_revision(world, project):
    begin(project)
    session = work(world)
    project.git("tag", "v1")
    project.write("app.py", "# one\n# two\n" + project.read("app.py"))
    project.commit("Comments")
    assert world.line("app.py:9", session, revision="v1").level == "certain"
    assert world.line("app.py:9", session, revision="HEAD@{0}~0").level == "certain"
    with pytest.raises(Invalid, match="has 5 lines, not 9"):
        world.line("app.py:9", revision="v1~1")
    project.write("one.py", "value_of_one_line = 1\n")
    with pytest.raises(Invalid, match=r"one.py has 1 line, not 2"):
        world.line("one.py:2")


def test_a_moved_line_leads_to_where_it_was_written(world, project):
    begin(project)
    session = work(world)
    project.write("status.py", STATUS)
    project.write("app.py", OLD)
    project.commit("Move status")
    found = world.line("status.py:3", session)
    assert (found.level, found.commit.path, found.commit.line) == ("certain", "app.py", 10)


def test_a_rebased_commit_keeps_its_conversation(world, project):
    begin(project)
    project.git("checkout", "-q", "-b", "topic")
    session = work(world)
    project.git("checkout", "-q", "main")
    project.write("other.py", OLD)
    project.commit("Elsewhere")
    project.clock.skip(days=1)
    project.git("rebase", "-q", "main", "topic")
    found = world.line("app.py:9", session)
    assert (found.level, found.answers[0].made) == ("certain", True)


def test_a_squashed_merge_is_explained_line_by_line(world, project):
    begin(project)
    project.git("checkout", "-q", "-b", "topic")
    first = work(world, name="first")
    second = world.claude("second").prompt("add a log").write("log.py", STATUS.replace("status", "log"))
    second.commit("Add log")
    project.git("checkout", "-q", "main")
    project.git("merge", "-q", "--squash", "topic")
    project.commit("Topic")
    assert world.line("app.py:9", first, second).answers[0].conversation == "conv-001"
    assert world.line("log.py:1").answers[0].conversation == "conv-002"


def test_a_whole_file_has_one_answer_for_adjacent_lines_of_one_turn(world, project):
    begin(project)
    found = world.why("app.py", work(world))
    assert [(each.line, each.last_line, each.level) for each in found.items] == [(1, 5, "none"), (6, 12, "certain")]
    assert found.whole
    assert found.exit_code == 0


def test_a_range_of_lines_ends_at_the_end_of_the_file(world, project):
    begin(project)
    found = world.why("app.py:9-99", work(world))
    assert [(each.line, each.last_line) for each in found.items] == [(9, 12)]


def test_of_a_list_of_lines_all_are_explained_once_and_in_order(world, project):
    begin(project)
    found = world.why("app.py:11-99,8,2-3,8-9", work(world))
    assert [(each.line, each.last_line) for each in found.items] == [(2, 3), (8, 9), (11, 12)]
    assert not found.whole


def test_a_list_with_a_line_that_the_file_lacks_is_refused(world, project):
    begin(project)
    with pytest.raises(Invalid, match=r"app.py has 12 lines, not 40"):
        world.why("app.py:3,40-50", work(world))


def test_the_fragment_of_a_link_names_lines(world, project):
    begin(project)
    assert [(each.line, each.last_line) for each in world.why("app.py#L9-L10", work(world)).items] == [(9, 10)]


def test_the_exit_code_is_one_if_no_line_has_an_answer(world, project):
    begin(project)
    assert world.why("app.py:5", work(world)).exit_code == 1


def test_candidates_name_further_turns_on_request(world, project):
    begin(project)
    other = add(world.claude("other").prompt("try a status command"))
    project.git("checkout", "-q", "app.py")
    project.clock.skip(days=3)
    session = work(world)
    found = world.line("app.py:9", other, session, candidates=2)
    assert (found.answers[0].conversation, found.answers[0].prompt) == ("conv-002", "add a status command")
    assert [each.conversation for each in found.candidates] == ["conv-001"]
    assert world.line("app.py:9").candidates == ()


def test_of_files_with_one_name_the_edits_of_the_file_itself_come_first(world, project):
    """The last of equal edits was the answer, and the first candidate."""
    begin(project)
    session = world.claude()
    for name in ("shop", "cart", "mail"):
        session.prompt(f"write the command of {name} in a package of its own").write(f"{name}/command.py", STATUS)
    session.commit("Commands")
    found = world.line("cart/command.py:4", session, candidates=3)
    assert (found.level, found.answers[0].turn, [each.turn for each in found.candidates]) == ("certain", 2, [3, 1])
    assert [world.line(f"{name}/command.py:4").answers[0].turn for name in ("shop", "mail")] == [1, 3]


def test_a_candidate_of_the_file_itself_comes_before_those_of_others_with_its_name(world, project):
    begin(project)
    for name in ("shop/app.py", "app.py", "mail/app.py"):
        world.take(world.claude(name).prompt(f"idea for {name}, which is not committed").write(name, STATUS))
        project.git("clean", "-qfd")
    project.clock.skip(days=30)
    project.write("app.py", STATUS)
    project.commit("By hand")
    found = world.line("app.py:4")
    assert found.level == "unsure"
    assert [each.conversation for each in found.answers] == ["conv-002", "conv-003", "conv-001"]


def test_a_candidate_by_its_other_lines_says_that_they_are_of_the_commit(world, project):
    begin(project)
    session = add(world.claude("1").prompt("add a status command to the program"))
    more = world.claude("2").prompt("add it in a second file too").write("more.py", STATUS.replace("branch", "tag"))
    project.clock.skip(hours=2)
    project.write("other.py", "written_by_hand = 'by a person, and by nobody else'\n")
    project.commit("Status, and more")
    (candidate,) = world.line("other.py:1", session, more, candidates=3).candidates
    assert re.fullmatch(r"about the commit: \d+ lines of 1 edit, 2 hours after .* last active", candidate.how)


def test_an_unsure_line_names_up_to_three_candidates(world, project):
    begin(project)
    for number in range(4):
        session = world.claude(f"{number}").prompt(f"idea {number}, which is not committed")
        add(session)
        project.git("checkout", "-q", "app.py")
        world.take(session)
    project.clock.skip(days=30)
    project.write("app.py", f'{OLD}    print("branches:", len(branches))\n')
    project.commit("By hand")
    found = world.line("app.py:6")
    assert (found.level, len(found.answers)) == ("unsure", 3)
    assert found.answers[0].prompt == "idea 3, which is not committed"


def test_a_failed_edit_wrote_nothing(world, project):
    begin(project)
    session = world.claude().prompt("add a status command").fail("app.py", "nowhere", STATUS)
    project.write("app.py", f"{OLD}\n\n{STATUS}")
    project.commit("By hand")
    assert world.line("app.py:9", session).level == "none"


def test_a_file_that_is_not_in_head_has_uncommitted_lines_only(world, project):
    begin(project)
    session = world.claude().prompt("add a status command").write("status.py", STATUS)
    found = world.why("status.py:2", session)
    assert (found.items[0].level, found.items[0].answers[0].prompt) == ("likely", "add a status command")
    assert [note.text for note in found.notes] == ["status.py is not in HEAD: its lines are not committed yet"]


def test_a_repository_without_a_commit_is_asked_for_its_working_tree(world, project):
    session = world.claude().prompt("begin the project with a status command").write("status.py", STATUS)
    assert world.line("status.py:2", session).answers[0].turn == 1


def test_the_same_file_in_another_repository_is_not_taken_for_this_one(world, project, tmp_path):
    """Both have the lines; the directory of the other one still exists and is another repository."""
    begin(project)
    elsewhere = type(project)(tmp_path / "elsewhere", project.clock)
    begin(elsewhere)
    session = world.claude("elsewhere", elsewhere).prompt("add a status command there")
    add(session).commit("Add status command")
    project.write("app.py", elsewhere.read("app.py"))
    project.commit("Copied by hand")
    assert world.line("app.py:9", session).level == "none"


def test_a_worktree_and_a_clone_are_the_same_repository(world, project, tmp_path):
    begin(project)
    project.git("clone", "-q", str(project.path), str(tmp_path / "clone"))
    clone = type(project)(tmp_path / "clone", project.clock)
    session = world.claude("clone", clone).prompt("add a status command in the clone")
    add(session).commit("Add status command")
    project.git("pull", "-q", str(clone.path), "main")
    assert world.line("app.py:9", session).level == "certain"


def test_a_file_of_a_linked_worktree_is_blamed_at_its_own_head(world, project, tmp_path):
    begin(project)
    project.git("worktree", "add", "-q", "-b", "topic", str(tmp_path / "tree"))
    (tmp_path / "tree" / "app.py").write_text(OLD + "\n\n" + STATUS)
    project.git("-C", str(tmp_path / "tree"), "commit", "-q", "-a", "-m", "In the tree")
    world.take(world.claude().prompt("something else entirely"))
    found = world.line(f"{tmp_path}/tree/app.py:9")
    assert (found.commit.subject, project.read("app.py")) == ("In the tree", OLD)


def test_a_directory_without_a_repository_is_an_error_with_a_cure(world, tmp_path):
    (tmp_path / "alone").mkdir()
    with pytest.raises(NotFound, match="is not in a git repository") as error:
        world.why(f"{tmp_path}/alone/app.py:3")
    assert "scopes -C DIR" in error.value.hint


def test_a_file_that_does_not_exist_is_an_error(world, project):
    begin(project)
    with pytest.raises(NotFound, match=r"there is no file gone.py in HEAD, nor in the working tree"):
        world.why("gone.py:3")


def test_a_file_that_the_revision_lacks_is_an_error(world, project):
    begin(project)
    project.write("new.py", STATUS)
    with pytest.raises(NotFound, match=r"there is no file new.py in HEAD"):
        world.why("new.py", revision="HEAD")


def test_an_unknown_revision_is_an_error(world, project):
    begin(project)
    with pytest.raises(NotFound, match="there is no commit v9"):
        world.why("app.py", revision="v9")
    with pytest.raises(NotFound, match="there is no commit --all"):
        world.why("app.py", revision="--all")


def test_a_line_beyond_the_end_is_an_error_that_tells_the_number_of_lines(world, project):
    begin(project)
    with pytest.raises(Invalid, match=r"app.py has 5 lines, not 50"):
        world.why("app.py:50")


def test_a_file_without_lines_is_an_error_that_names_it(world, project):
    begin(project, "empty", "")
    world.take(world.claude().prompt("hello"))
    with pytest.raises(Invalid, match="the file empty has no lines"):
        world.why("empty")


def test_an_empty_store_is_an_error_that_names_the_import(world, project):
    begin(project)
    with pytest.raises(NotFound, match="no conversation") as error:
        world.why("app.py:1")
    assert "scopes import" in error.value.hint


def test_a_file_that_no_conversation_has_edited_has_a_note_that_names_the_import(world, project):
    begin(project)
    (note,) = world.why("app.py:1", world.claude().prompt("hello")).notes
    assert note.text == "no conversation in the store has edited a file called app.py"
    assert "scopes import" in note.hint


def test_a_file_that_cannot_be_read_is_an_error(world, project):
    begin(project)
    (project.path / "app.py").unlink()
    (project.path / "app.py").symlink_to("/dev/zero")
    with pytest.raises(Inaccessible, match=r"cannot read app.py"):
        world.why("app.py:1")


def test_asking_changes_neither_the_store_nor_the_project(world, project):
    begin(project)
    world.take(work(world))
    before = files_of(world.repository.path), files_of(str(project.path))
    assert world.line("app.py:9").level == "certain"
    assert world.why("app.py").exit_code == 0
    assert (files_of(world.repository.path), files_of(str(project.path))) == before


def test_the_progress_of_the_first_indexing_is_reported(world, project):
    begin(project)
    world.take(work(world))
    reported = []
    request = WhyRequest(target="app.py:9", cwd=str(project.path))
    for _ in range(2):
        why(world.repository, world.index_directory, request, lambda done, total: reported.append((done, total)))
    assert reported == [(0, 1)]


def test_a_line_of_a_merge_itself_has_the_merge_and_no_answer(world, project):
    begin(project)
    project.git("checkout", "-q", "-b", "topic")
    project.write("app.py", f"one = 1\n{OLD}")
    project.commit("One")
    project.git("checkout", "-q", "main")
    project.write("app.py", f"two = 2\n{OLD}")
    project.commit("Two")
    project.git("merge", "-q", "topic", check=False)
    project.write("app.py", f"three = one + two + three\n{OLD}")
    project.commit("Merge topic")
    found = world.line("app.py:1", world.claude().prompt("hello, is there anything to do?"))
    assert (found.level, found.commit.subject, found.commit.author) == ("none", "Merge topic", "Alice")


def test_commits_before_the_first_conversation_are_not_read(world, project, monkeypatch):
    """The import of a project may have millions of lines."""
    begin(project)
    world.take(work(world))
    read = []
    monkeypatch.setattr(
        "scopes.code_links.why.read_project_commits",
        lambda git, commits, whole: read.extend(commits) or read_project_commits(git, commits, whole),
    )
    assert [each.level for each in world.why("app.py").items] == ["none", "certain"]
    assert read == [project.head]


def test_a_bare_repository_is_asked_for_its_head(world, project, tmp_path):
    begin(project)
    world.take(work(world))
    project.git("clone", "-q", "--bare", str(project.path), str(tmp_path / "bare.git"))
    request = WhyRequest(target="app.py:9", cwd=str(tmp_path / "bare.git"))
    (lines,) = why(world.repository, world.index_directory, request).items
    assert (lines.level, lines.commit.id) == ("certain", project.head)


def test_a_shallow_clone_answers_for_the_commits_that_it_has(world, project, tmp_path):
    begin(project)
    world.take(work(world))
    project.git("clone", "-q", "--depth", "1", f"file://{project.path}", str(tmp_path / "clone"))
    request = WhyRequest(target=f"{tmp_path}/clone/app.py:9", cwd=str(tmp_path))
    (lines,) = why(world.repository, world.index_directory, request).items
    assert (lines.level, lines.commit.id) == ("likely", project.head)  # it may be of any commit before


def test_windows_line_ends_make_no_difference(world, project):
    begin(project)
    world.take(work(world))
    (project.path / "app.py").write_bytes(project.read("app.py").replace("\n", "\r\n").encode())
    assert world.line("app.py:9").level == "certain"


def test_a_short_line_between_written_ones_is_explained_with_them(world, project):
    begin(project, text="package main\n")
    text = "func runStatus(store Store) error {\n\tif err := store.Check(); err != nil {\n\t\treturn err\n\t}\n\treturn nil\n}\n"
    session = world.claude().prompt("add a status command").edit("app.py", "package main\n", f"package main\n\n{text}")
    session.commit("Add status command")
    found = world.line("app.py:6", session)
    assert (found.level, found.answers[0].turn) == ("certain", 1)


def test_the_answer_of_a_whole_file_agrees_with_that_of_its_lines(world, project):
    begin(project)
    world.take(work(world))
    whole = {
        number: each.level for each in world.why("app.py").items for number in range(each.line, each.last_line + 1)
    }
    assert {number: world.line(f"app.py:{number}").level for number in (1, 5, 8, 9, 12)} == {
        number: whole[number] for number in (1, 5, 8, 9, 12)
    }


def test_a_change_that_is_not_committed_yet_stays_known_after_a_commit_of_another_file(world, project):
    project.write("app.py", "first_value = 1\n")
    project.commit("Begin")
    session = world.claude().prompt("please add a second value, but do not commit it")
    session.edit("app.py", "first_value = 1\n", "first_value = 1\nsecond_value = first_value + 1\n")
    world.take(session)
    project.clock.skip(minutes=5)
    project.write("notes.txt", "a note of a person\n")
    project.git("add", "notes.txt")
    project.git("commit", "-q", "-m", "Take a note")
    found = world.line("app.py:2")
    assert (found.level, found.commit, found.answers[0].turn) == ("likely", None, 1)


LIMITS = """\
SIZE = 40
def queue_of(items, weight):
    w = 3
    return sorted(items, key=lambda item: item.size * weight)[:SIZE]
"""


def limits(world, project):
    """Let a session write a file with short lines, which nobody has committed yet."""
    begin(project)
    return world.claude().prompt("write a queue with a limit").write("limits.py", LIMITS)


def test_a_constant_that_a_person_changed_before_the_commit_is_only_near(world, project):
    """It was certain: the lines around it are those of the session, and a short line was not compared."""
    session = limits(world, project)
    project.write("limits.py", LIMITS.replace("40", "8"))
    session.commit("Queue")
    assert world.line("limits.py:1", session).level == "near"
    assert world.line("limits.py:3").level == "certain"
    assert [(each.line, each.last_line, each.level) for each in world.why("limits.py").items] == [
        (1, 1, "near"), (2, 4, "certain"),
    ]  # fmt: skip


def test_a_constant_that_a_person_changed_and_did_not_commit_is_only_near(world, project):
    session = limits(world, project)
    project.write("limits.py", LIMITS.replace("w = 3", "zz = 11"))
    assert [world.line(f"limits.py:{number}", session).level for number in (1, 3)] == ["likely", "near"]


def test_a_constant_that_the_session_changed_itself_is_of_that_turn(world, project):
    session = limits(world, project)
    session.prompt("make the limit smaller").edit("limits.py", "SIZE = 40\n", "SIZE = 8\n").commit("Queue")
    found = world.line("limits.py:1", session)
    assert (found.level, found.answers[0].prompt) == ("likely", "make the limit smaller")
    assert world.line("limits.py:3").answers[0].prompt == "write a queue with a limit"


def test_the_short_lines_of_a_session_that_changed_are_read_again(world, project):
    session = limits(world, project)
    session.prompt("smaller").edit("limits.py", "SIZE = 40\n", "SIZE = 8\n")
    assert world.line("limits.py:1", session).answers[0].prompt == "smaller"
    session.prompt("even smaller").edit("limits.py", "SIZE = 8\n", "SIZE = 5\n").commit("Queue")
    assert world.line("limits.py:1", session).answers[0].prompt == "even smaller"


def test_lines_of_a_symbolic_link_are_those_of_its_file(world, project):
    """They were called uncommitted, of a file that no conversation has edited."""
    begin(project)
    (project.path / "link.py").symlink_to("app.py")
    project.git("add", "link.py")
    session = work(world)
    found = world.why("link.py", session)
    assert (found.file, found.items) == ("app.py", world.why("app.py").items)
    (line,) = world.why("link.py", revision="HEAD").items
    assert (line.file, line.last_line, line.commit.id) == ("link.py", 1, project.head)


@pytest.mark.parametrize("place", ["/etc/hostname", "../outside.py", "gone.py"])
def test_a_symbolic_link_out_of_the_project_or_to_nothing_is_asked_for_itself(world, project, place):
    begin(project)
    (project.path.parent / "outside.py").write_text(OLD)
    (project.path / "link.py").symlink_to(place)
    project.commit("Link")
    world.take(work(world))
    assert {each.file for each in world.why("link.py").items} == {"link.py"}
