"""Interface events add exit codes and changes to tool results, but no content."""

from __future__ import annotations

import pytest

from scopes.importers.identity import content_bytes
from scopes.model.message import FileTouch
from tests.importers.formats.codex.rollouts import PATCH, Rollout, messages_of, read
from tests.importers.reading import drafts, states

CHANGES = {"/shop/tea.py": {"type": "add", "content": "PRICE = 4\n"}}
READ = [{"type": "read", "cmd": "cat tea.py", "name": "tea.py", "path": "tea.py"}, {"type": "unknown", "cmd": "ls"}]


def result(rollout):
    """Return the fields of the only result and the files of its message."""
    (found,) = [draft for draft in messages_of(rollout) if draft.kind == "tool-results"]
    return dict(found.parts[0].fields), found.files


def patched(**fields):
    return (
        Rollout()
        .patch("c1")
        .event("patch_apply_end", call_id="c1", **fields)
        .output("c1", "Done", "custom_tool_call_output")
    )


def test_the_exit_code_of_a_command_is_taken():
    rollout = Rollout().call("c1").event("exec_command_end", call_id="c1", exit_code=2).output("c1")
    assert result(rollout)[0] == {"call_id": "c1", "output": "tea.py\n", "exit_code": 2, "is_error": True}


def test_a_report_after_the_output_is_used_while_the_results_are_open():
    rollout = Rollout().call("c1").output("c1").event("exec_command_end", call_id="c1", exit_code=2)
    assert result(rollout)[0]["exit_code"] == 2


def test_a_report_that_comes_too_late_is_a_state():
    """A background process ends after later answers."""
    events = read(Rollout().call("c1").output("c1").say("Done").event("exec_command_end", call_id="c1", exit_code=2))
    assert states(events)[-1] == "event_msg/exec_command_end"
    assert "exit_code" not in drafts(events)[1].parts[0].fields


def test_reports_on_calls_without_results_are_states_at_the_end():
    events = read(Rollout().patch("c1").event("patch_apply_end", call_id="c1", success=True, changes=CHANGES))
    assert states(events) == ["session_meta", "event_msg/patch_apply_end"]


def test_files_read_by_a_command_are_recorded():
    rollout = (
        Rollout()
        .call("c1")
        .event("exec_command_end", call_id="c1", exit_code=0, cwd="/shop", parsed_cmd=READ)
        .output("c1")
    )
    assert result(rollout)[1] == (FileTouch("/shop/tea.py", "read"),)


def test_a_reported_change_overrides_the_patch():
    """Structured results and diffs first."""
    fields, files = result(patched(success=True, changes=CHANGES))
    assert [(touch.path, touch.op) for touch in files] == [("/shop/tea.py", "create")]
    assert files[0].content_hash.startswith("sha256:")
    assert (fields["structured"], fields["is_error"]) == ({"changes": CHANGES}, False)


def test_without_a_report_the_files_are_those_of_the_patch():
    rollout = (
        Rollout().patch("c1").output("c1", '{"output":"Success","metadata":{"exit_code":0}}', "custom_tool_call_output")
    )
    assert [(touch.path, touch.op) for touch in result(rollout)[1]] == [("tea.py", "create")]


def test_the_newer_items_have_the_same_reports():
    """Codex 0.169: item_completed."""
    item = {"type": "CommandExecution", "id": "c1", "exit_code": 2, "cwd": "file:///shop", "parsed_cmd": READ}
    assert result(Rollout().call("c1").event("item_completed", item=item).output("c1"))[0]["exit_code"] == 2
    item = {"type": "CommandExecution", "id": "c1", "exit_code": 0, "cwd": "file:///shop", "parsed_cmd": READ}
    assert result(Rollout().call("c1").event("item_completed", item=item).output("c1"))[1] == (
        FileTouch("/shop/tea.py", "read"),
    )
    item = {"type": "FileChange", "id": "c1", "status": "completed", "changes": CHANGES}
    assert result(Rollout().patch("c1").event("item_completed", item=item).output("c1"))[1][0].path == "/shop/tea.py"


@pytest.mark.parametrize(
    ("outcome", "failed"),
    [({"Ok": {"content": [], "isError": True}}, True), ({"Err": "gone"}, True), ({"Ok": {"isError": False}}, False)],
)
def test_a_remote_tool_reports_success_or_failure(outcome, failed):
    rollout = Rollout().call("c1", "mail").event("mcp_tool_call_end", call_id="c1", result=outcome).output("c1")
    assert result(rollout)[0]["is_error"] is failed


def test_a_spawn_reports_the_thread_that_it_made():
    event = {"call_id": "c1", "new_thread_id": "t2", "new_agent_nickname": "Emmy", "prompt": "Look"}
    rollout = Rollout().call("c1", "spawn_agent").event("collab_agent_spawn_end", **event).output("c1")
    assert result(rollout)[0]["structured"] == {"new_thread_id": "t2", "new_agent_nickname": "Emmy"}


def test_reports_do_not_change_content_bytes():
    """Copies of a history have no reports, and must be the same messages."""
    plain = Rollout().patch("c1", PATCH).output("c1", kind="custom_tool_call_output")
    rollout = Rollout().patch("c1", PATCH).event("patch_apply_end", call_id="c1", success=True, changes=CHANGES)
    rollout.output("c1", kind="custom_tool_call_output")
    assert [content_bytes(draft) for draft in messages_of(plain)] == [
        content_bytes(draft) for draft in messages_of(rollout)
    ]
