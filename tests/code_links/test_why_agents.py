"""`why` for what agents really do: rewrites, formatters, moves, reverts, forks, sub-agents, several tools."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from scopes.code_links.why_answers import AnswerWriter
from scopes.conversation.branch import branch, rewind
from scopes.ids import MessageId
from tests.render.rendering import piped

OLD = "first_value = 1\n"
FUNCTION = """\
def list_branches(store):
    names = [branch.name for branch in store.branches]
    return sorted(names, key=str.casefold)
"""


@pytest.fixture
def started(project):
    """A project with one commit of a person, long ago."""
    project.write("app.py", OLD)
    project.commit("Begin")
    project.clock.skip(days=3)
    return project


def add(session, name="app.py", text=FUNCTION):
    return session.edit(name, OLD, f"{OLD}\n\n{text}")


def answer(world, target, *sessions):
    found = world.line(target, *sessions)
    return found.level, found.answers[0].turn if found.answers else None


def test_white_space_that_a_formatter_changed_does_not_matter(world, started):
    session = add(world.claude().prompt("please list the branches, sorted"))
    session.bash("sed -i 's/^    /\\t/' app.py").commit("List branches")
    assert answer(world, "app.py:5", session) == ("certain", 1)


def test_a_file_that_was_written_again_as_a_whole_keeps_the_turn_of_its_old_lines(world, started):
    session = add(world.claude().prompt("please list the branches, sorted"))
    session.prompt("write the whole file again, with a comment")
    session.write("app.py", f"# values and branches\n{started.read('app.py')}").commit("List branches")
    assert answer(world, "app.py:6", session) == ("certain", 1)
    assert answer(world, "app.py:1") == ("likely", 2)


def test_an_edit_that_was_undone_and_made_again_is_of_the_last_turn(world, started):
    session = add(world.claude().prompt("please list the branches, sorted"))
    session.prompt("no, take it back").edit("app.py", f"\n\n{FUNCTION}", "")
    add(session.prompt("sorry, I want it after all")).commit("List branches")
    assert answer(world, "app.py:5", session) == ("certain", 3)


def test_a_function_that_the_session_itself_moved_to_another_file(world, started):
    session = add(world.claude().prompt("please list the branches, sorted")).commit("List branches")
    session.prompt("move it to a file of its own").write("branches.py", FUNCTION)
    session.edit("app.py", f"\n\n{FUNCTION}", "").commit("Move it")
    found = world.line("branches.py:2", session)
    assert (found.level, found.commit.subject, found.answers[0].turn) == ("certain", "List branches", 1)


def test_a_file_that_was_renamed_after_the_edit(world, started):
    session = add(world.claude().prompt("please list the branches, sorted")).commit("List branches")
    session.bash("git mv app.py store.py").commit("Rename the file")
    assert answer(world, "store.py:5", session) == ("certain", 1)


def test_a_reverted_commit_that_was_reverted_again(world, started):
    session = add(world.claude().prompt("please list the branches, sorted")).commit("List branches")
    name = started.head
    started.clock.skip(hours=2)
    started.git("revert", "--no-edit", name)
    started.clock.skip(hours=2)
    started.git("revert", "--no-edit", "HEAD")
    found = world.line("app.py:5", session)
    assert found.commit.subject.startswith(("Reapply", 'Revert "Revert'))
    assert (found.level, found.answers[0].turn) == ("certain", 1)


def test_a_cherry_picked_commit(world, started):
    started.git("checkout", "-q", "-b", "topic")
    session = add(world.claude().prompt("please list the branches, sorted")).commit("List branches")
    started.git("checkout", "-q", "main")
    started.clock.skip(days=30)
    started.git("cherry-pick", "topic")
    assert answer(world, "app.py:5", session) == ("certain", 1)


def test_an_amended_commit(world, started):
    session = add(world.claude().prompt("please list the branches, sorted")).commit("List branches")
    session.prompt("add the tags to it as well").edit(
        "app.py", "return sorted(", "tags = store.tags_of(names)\n    return sorted("
    )
    session.bash("git commit -q -a --amend -m 'List branches and tags'")
    assert answer(world, "app.py:5", session) == ("certain", 1)
    assert answer(world, "app.py:6") == ("likely", 2)
    assert world.line("app.py:6").answers[0].seconds_before is None


def test_an_edit_after_a_rebased_commit_is_not_taken_for_its_origin(world, started):
    """The committer's time of a rebased commit is that of the rebase: later edits have equal lines by accident."""
    started.write("app.py", f"{OLD}\n\n{FUNCTION}")
    started.commit("By hand")
    started.clock.skip(hours=5)
    started.write("other/app.py", OLD)
    session = add(world.claude().prompt("please copy the function"), "other/app.py")
    started.git("commit", "-q", "--amend", "--no-edit")
    assert answer(world, "app.py:5", session) == ("none", None)


def test_several_replacements_of_one_call(world, started):
    session = world.claude().prompt("please list the branches, sorted")
    path, text = str(started.path / "app.py"), f"{OLD}\n\n{FUNCTION}"
    edits = [{"old_string": OLD, "new_string": f"{OLD}\n\n"}, {"old_string": "\n\n", "new_string": f"\n\n{FUNCTION}"}]
    session._call("MultiEdit", {"file_path": path, "edits": edits})
    started.write("app.py", text)
    session._result("Applied 2 edits", None).commit("List branches")
    assert answer(world, "app.py:5", session) == ("certain", 1)


def test_an_edit_that_the_user_changed_before_it_was_made_counts_as_it_was_made(world, started):
    session = add(world.claude().prompt("please list the branches, sorted"))
    result = next(each["toolUseResult"] for each in session.records if "toolUseResult" in each)
    result["userModified"] = True
    result["structuredPatch"][0]["lines"][-1] = "+    return sorted(names, key=natural_order)"
    started.write("app.py", started.read("app.py").replace("str.casefold", "natural_order"))
    session.commit("List branches")
    assert answer(world, "app.py:6", session) == ("certain", 1)


def test_a_patch_of_codex_in_a_shell_command(world, started):
    session = world.codex().prompt("please list the branches, sorted")
    lines = "\n".join(f"+{line}" for line in FUNCTION.splitlines())
    patch = f"*** Begin Patch\n*** Add File: branches.py\n{lines}\n*** End Patch"
    session._count += 1
    arguments = json.dumps({"cmd": f"apply_patch <<'EOF'\n{patch}\nEOF", "workdir": str(started.path)})
    call = {"type": "function_call", "name": "exec_command", "arguments": arguments, "call_id": session._call_id}
    session._add("response_item", call)
    started.write("branches.py", FUNCTION)
    output = {
        "type": "function_call_output",
        "call_id": session._call_id,
        "output": "Success. Updated the following files:",
    }
    session._add("response_item", output)
    session.bash("git add -A && git commit -m 'List branches'")
    assert answer(world, "branches.py:2", session) == ("certain", 1)


def test_a_sub_agent_wrote_the_line_for_the_turn_of_its_call(world, started):
    session = world.claude().prompt("what is in here?").say("One value.").prompt("let a sub-agent list the branches")
    session._call("Task", {"description": "list", "prompt": "list them", "subagent_type": "general-purpose"})
    call_id = session._call_id
    agent = world.claude("agent")
    agent.id = session.id
    add(agent.prompt("list them")).say("done")
    session._result("done", {"status": "completed", "agentId": "a1b2c3d", "prompt": "list them"}).commit(
        "List branches"
    )
    world.take_with_sub_agent(session, agent, call_id)
    found = world.line("app.py:5")
    assert (found.level, found.answers[0].turn) == ("certain", 2)
    assert found.answers[0].prompt == "let a sub-agent list the branches"


def test_a_fork_that_repeats_the_calls_of_a_session_is_not_the_answer(world, started):
    session = add(world.claude().prompt("please list the branches, sorted")).say("Done.").commit("List branches")
    fork = world.claude("fork")
    fork.records = [{**record, "sessionId": fork.id} for record in session.records]
    fork.records[0] = {**fork.records[0], "message": {"role": "user", "content": "the same from another prompt"}}
    world.take(session)
    found = world.line("app.py:5", fork)
    assert (found.level, found.answers[0].conversation) == ("certain", "conv-001")
    assert found.answers[0].prompt == "please list the branches, sorted"


def test_a_session_that_goes_on_is_read_again(world, started):
    session = add(world.claude().prompt("please list the branches, sorted")).commit("List branches")
    assert answer(world, "app.py:5", session) == ("certain", 1)
    session.prompt("and the tags, please, in the same way")
    session.edit("app.py", FUNCTION, FUNCTION + FUNCTION.replace("branch", "tag")).commit("List tags")
    assert answer(world, "app.py:8", session) == ("certain", 2)
    assert answer(world, "app.py:5") == ("certain", 1)


def test_generated_files_are_of_the_command_that_generated_them(world, started):
    session = world.claude().prompt("please generate the list of values")
    session.bash('for n in 1 2 3; do echo "generated_value_$n = compute($n)"; done > values.py').commit(
        "Generate values"
    )
    found = world.line("values.py:2", session)
    assert (found.level, found.answers[0].command[:8]) == ("commit-only", "for n in")


def test_an_answer_names_the_branch_of_its_turn(world, started):
    """Turn 2 of two branches of one conversation are two turns."""
    session = world.claude().prompt("what is there?").say("Two files.").prompt("list the branches, sorted")
    world.take(add(session).commit("List branches"))
    assert [each.branch for each in world.line("app.py:5").answers] == ["main"]
    branch(world.repository, "conv-001", name="listing", switch=False)
    rewind(world.repository, "conv-001", count=4)
    found = world.why("app.py", candidates=3)
    assert {each.branch for lines in found.items for each in lines.answers} == {"listing"}
    view_rows = piped(found).splitlines()
    assert {row.rpartition("\t")[2] for row in view_rows if "list the branches" in row} == {"listing"}


def test_an_answer_of_an_unknown_message_has_no_branch(world, started):
    session = add(world.claude().prompt("list the branches, sorted")).commit("List branches")
    found = world.line("app.py:5", session)
    answers = [found.answers[0]._replace(message=message) for message in (None, MessageId("a" * 26))]
    (named,) = AnswerWriter(world.repository, None, 0).with_branches([replace(found, answers=tuple(answers))])
    assert [each.branch for each in named.answers] == [None, None]
