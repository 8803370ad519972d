"""What an agent repeats of a session while it forks it is a replay: it is not recorded, as when it loads one (S3-23)."""

from __future__ import annotations

PROFILE = {"resume": True, "fork": True, "fork_replays": True}
OLD = ["first", "echo: first"]


def update_kinds(editor, session):
    """Return the kinds of the updates of a session that the editor got before its prompt was answered."""
    found = [each["params"] for each in editor.notifications if each["params"].get("sessionId") == session]
    return [each["update"]["sessionUpdate"] for each in found]


def forked(desk, *options):
    """Fork a session of one prompt, ask once more, and return the editor and the new session."""
    desk.run("first", **PROFILE)
    editor = desk.editor("--fork", *options, **PROFILE)
    session = editor.open(desk.project)
    editor.prompt(session, "second")
    editor.close()
    return editor, session


def test_the_replay_of_a_fork_is_neither_recorded_nor_shown(desk):
    """OpenCode sends it before its answer, with the id that only the answer tells: it became a conversation."""
    editor, session = forked(desk)
    assert desk.branches() == ["conv-001/fork/stub", "conv-001/main"]
    assert desk.texts("conv-001/fork/stub") == [*OLD, "second", "echo: second"]
    assert "".join(editor.chunks(session)) == "echo: second"
    assert desk.events("replay-differs") == []


def test_what_is_no_replay_reaches_the_editor_and_the_record(desk):
    """The mode of the forked session is one that the editor has to know."""
    editor, session = forked(desk)
    assert update_kinds(editor, session)[:2] == ["current_mode_update", "available_commands_update"]
    assert desk.messages("conv-001/fork/stub")[2].extra["acp"]["mode"] == "build"


def test_a_replay_of_a_fork_that_differs_from_the_record_is_logged(desk):
    desk.run("first", **PROFILE)
    desk.run("aside", options=["--continue", "never"], **PROFILE)
    (desk.folder / "session-agent-1").write_text('["user", "another prompt"]\n')
    desk.run("second", options=["--fork", "--conversation", "conv-001"], **PROFILE)
    [event] = desk.events("replay-differs")
    assert (event["recorded"], event["replayed"], event["same"]) == (2, 1, 0)


def test_the_replay_of_a_fork_by_the_editor_is_shown_and_not_recorded(desk):
    """It has asked for it itself, so nothing is held back."""
    editor = desk.editor(**PROFILE)
    first = editor.open(desk.project)
    editor.prompt(first, "first")
    request = {"sessionId": first, "cwd": str(desk.project), "mcpServers": []}
    session = editor.ask("session/fork", request)["sessionId"]
    editor.prompt(session, "second")
    editor.prompt(first, "old")
    editor.close()
    assert "".join(editor.chunks(session)) == "echo: firstecho: second"
    assert desk.branches() == ["conv-001/fork/stub", "conv-001/main"]
    assert desk.texts("conv-001/fork/stub") == [*OLD, "second", "echo: second"]
    assert desk.texts("conv-001/main") == [*OLD, "old", "echo: old"]


def test_messages_of_another_session_are_recorded_while_the_editor_waits_for_a_fork(desk):
    """Only sessions that nobody knows yet are those of the fork."""
    editor = desk.editor(**PROFILE, hang=["session/fork"])
    first = editor.open(desk.project)
    editor.begin("session/fork", {"sessionId": first, "cwd": str(desk.project), "mcpServers": []})
    editor.prompt(first, "first")
    assert desk.texts("conv-001/main") == OLD
