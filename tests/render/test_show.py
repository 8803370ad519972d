from __future__ import annotations

from dataclasses import replace

import pytest
from rich.cells import cell_len

from scopes.conversation.branch import BranchList
from scopes.conversation.log import LogEntry
from scopes.conversation.show import Continued, OpenMerge, branch_reason
from scopes.history.sessions import SubAgent
from scopes.ids import ConversationId
from scopes.model.message import Part
from scopes.render.document import make_document
from scopes.render.view import ViewOptions
from tests.render.rendering import piped, seen, seen_lines
from tests.render.results import BRANCHES, EMPTY_VIEW, VIEW, body, branch, head
from tests.render.with_options import WithOptions

SPECIFIED = """\
Conversation: conv-001
Participants: code-analyzer, test-runner
Active Branch: analysis/conflict-resolution

Branches:
├─ main (3 messages)
├─ analysis/security-review (5 messages)
└─ analysis/conflict-resolution (2 messages) *ACTIVE*

Recent Activity:
[2m ago] code-analyzer: Security analysis complete
[2m ago] test-runner: Test coverage recommendations ready
[1m ago] SYSTEM: Conflict detected, creating resolution branch
"""


def alone(row):
    """A branch whose own messages are all that it reaches, and which is not merged."""
    return replace(row, total=row.messages, status="active")


@pytest.mark.parametrize("show", [piped, seen])
def test_show_looks_as_specified(show, at_one_moment):
    """S4-54: the example of the specification, to the character."""
    assert show(replace(VIEW, branches=tuple(map(alone, BRANCHES)))).startswith(f"{SPECIFIED}\n")


def activity(lines):
    """Return the last line of the recent activity."""
    return next(line for line in reversed(lines) if line.startswith("["))


KNOWN = replace(
    VIEW, directory="/home/carol/shop", models=("m1", "m2"), started="2025-12-31T22:00:00Z",
    last_activity="2025-12-31T23:59:00Z", messages=1234, branch_count=3, tokens=85_123,
    source="codex", native_id="01a1fcdc",
)  # fmt: skip


def test_the_last_line_has_title_project_time_and_messages_and_verbose_the_rest(at_one_moment):
    known = replace(KNOWN, title="Login fails", project="shop")
    assert seen_lines(known)[-1] == "Login fails · shop · 31 Dec 2025 22:00 to 23:59 · 1,234 messages"
    lines = seen_lines(WithOptions(known, ViewOptions(details=True)))
    assert lines[lines.index("Details:") + 1 :] == [
        "Directory: /home/carol/shop",
        "Models:    m1, m2",
        "Time:      2025-12-31T22:00:00Z to 2025-12-31T23:59:00Z",
        "Messages:  1,234 messages on 3 branches",
        "Tokens:    85,123 in the last context, as the agent recorded it",
        f"UUID:      {VIEW.uuid}",
        "Session:   01a1fcdc (codex)",
    ]


def test_what_is_in_progress_is_above_the_commands_that_end_it(at_one_moment):
    merge = OpenMerge("merge", "fix", "main", BRANCHES[0].name, 1, "3f2a" * 10)
    assert seen_lines(replace(KNOWN, in_progress=(merge,)))[-5:] == [
        "merge of fix into main in progress, 1 open conflict",
        "  scopes conflicts show conv-001 3f2a3f2a",
        "  scopes conflicts resolve conv-001 3f2a3f2a --take source",
        "  scopes merge conv-001 --continue",
        "  scopes merge conv-001 --abort",
    ]
    resolved = replace(KNOWN, in_progress=(merge._replace(kind="rebase", open_conflicts=0, conflict=None),))
    assert "rebase of fix onto main in progress, no open conflicts\n" in piped(resolved)
    assert "  scopes rebase conv-001 --continue\n" in seen(resolved)


def test_one_branch_tells_how_many_there_are(at_one_moment):
    """D7."""
    lines = piped(replace(KNOWN, branch="main", branches=BRANCHES[:1])).splitlines()
    assert "Branch (1 of 3):" in lines
    assert "Messages:  1,234 messages on main, 1 of 3 branches" in lines


def test_no_line_is_wider_than_the_terminal(at_one_moment):
    wide = branch("会話" * 30, 3, 1234, parent="main", compactions=9, interrupts=9, newer=5, reason="interrupted")
    title = "a title that goes on and on " * 5
    shown = seen_lines(replace(KNOWN, branches=(wide,), title=title, directory="/deep" * 40), 80)
    assert all(cell_len(line) <= 80 for line in shown)
    assert any("3 messages" in line for line in shown)


def test_sub_agents_compactions_and_interrupts_are_named(at_one_moment):
    sub_agent = SubAgent("explorer", "k3x9abcdefgh")
    row = branch("subagent/a1", 3, 3, parent="main", compactions=1, interrupts=2, sub_agent=sub_agent)
    shown = seen(replace(VIEW, branches=(row,)), 120)
    assert (
        "subagent/a1 (3 messages) · 1 compaction · 2 interrupts · ⮡ sub-agent explorer of k3x9abcd · from main\n"
        in shown
    )
    unknown = replace(row, compactions=0, interrupts=0, sub_agent=SubAgent(None, None))
    assert "subagent/a1 (3 messages) · ⮡ sub-agent\n" in seen(replace(VIEW, branches=(unknown,)))


def test_recent_activity_prints_what_was_called(at_one_moment):
    call = Part("tool_call", {"name": "Bash", "input": {"command": "make test"}})
    of = head("word", "planner", "(no text)")
    view = replace(VIEW, recent=(LogEntry(head=of, message=body(of, call)),))
    assert activity(seen_lines(view)) == activity(piped(view).splitlines()) == "[2m ago] planner: → Bash make test"


def test_the_title_is_below_the_id_in_a_pipe_and_one_line():
    assert piped(replace(VIEW, title="Login\nfails")).splitlines()[:2] == [
        "Conversation: conv-001",
        "Title: Login fails",
    ]


def test_one_message_is_singular(at_one_moment):
    view = replace(VIEW, branches=(branch("main", 1, 1, active=True),))
    assert "└─ main (1 message) *ACTIVE*\n" in seen(view)


def test_the_total_is_shown_if_it_differs(at_one_moment):
    view = replace(VIEW, branches=(branch("main", 3, 3), branch("fix", 2, 1234, active=True)))
    assert seen_lines(view)[5:7] == ["├─ main (3 messages)", "└─ fix (2 messages) *ACTIVE* · 1,234 in all"]


@pytest.mark.parametrize("status", ["merged", "abandoned"])
def test_the_status_of_an_inactive_branch_is_shown(status, at_one_moment):
    view = replace(VIEW, branches=(branch("main", 3, 3, status=status),))
    assert f"└─ main (3 messages) · {status}\n" in seen(view)


def test_a_wide_terminal_also_shows_the_purpose_of_a_branch(at_one_moment):
    line = "├─ analysis/security-review (5 messages) · 8 in all · merged"
    assert seen_lines(VIEW, 99)[6] == line
    assert seen_lines(VIEW, 100)[6] == f"{line} · analysis · code-analyzer · from main"
    assert line in piped(VIEW).splitlines()


def test_recent_activity_is_cut_to_the_terminal_and_whole_in_a_pipe(at_one_moment):
    long = replace(VIEW, recent=(LogEntry(head=head("long", "writer", "x" * 72)),))
    assert activity(seen_lines(long, 60)) == f"[2m ago] writer: {'x' * 42}…"
    assert activity(piped(long).splitlines()) == f"[2m ago] writer: {'x' * 72}…"


def test_a_conversation_without_messages_has_no_recent_activity(at_one_moment):
    shown = seen(EMPTY_VIEW)
    assert "Recent Activity" not in shown
    assert "Participants: none yet\n" in shown
    assert "└─ main (0 messages) *ACTIVE*\n\n" in shown


def test_an_old_message_shows_its_date(at_one_moment):
    view = replace(
        VIEW,
        recent=(LogEntry(head=head("old", "code-analyzer", "long ago", minutes=40 * 24 * 60)),),
    )
    assert activity(seen_lines(view)) == "[22 Nov 2025] code-analyzer: long ago"


def test_a_long_branch_name_hides_the_total():
    name = "conflict-resolution/analysis-security-review-into-main"
    view = replace(VIEW, branches=(branch(name, 10, 17, status="merged"),))
    assert f"└─ {name} (10 messages) · merged" in seen_lines(view, 80)
    assert f"└─ {name} (10 messages) · 17 in all · merged" in seen(view, 120)


@pytest.mark.parametrize(
    ("reason", "words", "brief"),
    [
        ("synthetic", "no user or agent messages", "nobody wrote on it"),
        ("interrupted", "was interrupted", "interrupted"),
        ("edited", "the prompt was edited or sent again in the session, before an answer", "prompt edited"),
        ("rewound", "the session was rewound to before this prompt", "session rewound"),
        ("answered-again", "answered again from the same message", "answered again"),
        ("other-session", "from session 019d-77", "another session"),
        ("a-later-version", "a-later-version", "a-later-version"),
    ],
)
def test_a_branch_that_an_import_made_prints_why_it_exists(reason, words, brief, at_one_moment):
    """In `show` and in `branch`, in a pipe in full and on a narrow terminal briefly."""
    session = "019d-77" if reason == "other-session" else None
    row = branch("fork/a1", 3, 3, parent="main", reason=reason, session=session)
    view = replace(VIEW, branches=(row,))
    listed = BranchList(conversation=ConversationId("conv-001"), branches=(branch("main", 1, 1), row))
    assert words in piped(view)
    assert piped(listed).splitlines()[1].endswith(f"\tmain\t{branch_reason(reason, session)}")
    assert words in seen(view, 160)
    assert brief in seen(view, 80)


@pytest.mark.parametrize(
    ("conversation", "name"), [("conv-001", "conv-001"), (None, "a conversation of another store")]
)
def test_a_conversation_names_the_one_that_it_continues(conversation, name):
    message = "a" * 26
    view = replace(VIEW, native_id="s1", source="codex", continues=Continued(conversation, message))
    assert piped(view).splitlines()[-1] == f"Continues: {name}, up to message {message}"
    known = {} if conversation is None else {"conversation": conversation}
    assert make_document(view)["continues"] == {**known, "message": message}
