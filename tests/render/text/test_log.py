from __future__ import annotations

from dataclasses import replace

import pytest

from scopes.conversation.log import Log, LogEntry
from scopes.merge.lanes import LaneMark
from scopes.model.message import Part
from scopes.render.dispatch import render_text
from scopes.render.view import PlainView
from scopes.render.view_options import ViewOptions
from tests.render.rendering import piped, seen, seen_lines
from tests.render.results import CALL, CALL_BODY, DECIDED, DECIDED_BODY, ENTRIES, LONG, PROMPT, SAMPLES, body, head
from tests.render.with_options import WithOptions

LOG = SAMPLES["log"]
WHERE = "(scopes cat length22)"


def one(of, *parts, width=80, **fields):
    """The lines below the header of a message in a log."""
    entry = LogEntry(head=of, message=body(of, *parts, **fields), branches=())
    lines = seen_lines(entry, width)
    return lines[lines.index("") + 1 :] if "" in lines else lines[1:]


def text(value):
    """A part that is text."""
    return Part("text", {"text": value})


def test_a_piped_log_is_a_row_each():
    rows = [row.split("\t") for row in piped(LOG["log"]).splitlines()]
    assert rows[3] == [CALL.id, "2025-12-31T22:31:00Z", "planner", "answer", "I will look at the form first."]
    assert len(rows) == 5


def test_a_piped_oneline_log_is_short_id_and_subject():
    assert piped(LOG["oneline"]).splitlines()[4] == "prompt22 Why does the login fail on Safari?"
    assert piped(LOG["oneline"], nul=True).count("\0") == 5


def test_a_log_has_the_layout_of_git_log(at_one_moment):
    lines = seen_lines(LOG["log"])
    start = lines.index("message prompt22")
    assert lines[start:] == [
        "message prompt22",
        "Author: carol",
        "Kind:   prompt",
        "Date:   2025-12-31T22:30:00Z (1h ago)",
        "",
        "    Why does the login fail on Safari?",
    ]
    assert lines[start - 1] == ""


def test_tips_are_decorated_with_their_branches(at_one_moment):
    assert seen_lines(LOG["log"])[0] == "message length22 (main, fix)"
    assert seen_lines(LOG["oneline"])[0].startswith("length22 1h ago     writer        (main, fix) line 1 and so on")


def test_a_oneline_log_has_a_line_each_that_fits(at_one_moment):
    assert len(seen_lines(LOG["oneline"])) == 5
    assert all(len(line) <= 40 for line in seen_lines(LOG["oneline"], 40))
    assert seen_lines(LOG["oneline"], 50)[4] == "prompt22 1h ago     carol         Why does the lo…"


@pytest.mark.parametrize(("width", "subject"), [(80, 34), (200, 43)])
def test_a_oneline_log_has_the_subjects_in_one_column(width, subject):
    rows = seen_lines(LOG["oneline"], width)
    assert [row[subject - 1] for row in rows] == [" "] * 5
    assert " " not in {row[subject] for row in rows}


def test_a_long_branch_name_leaves_room_for_author_and_subject():
    of = head("word", "carol", "the subject")
    long = Log(items=[LogEntry(head=of, message=None, branches=("x" * 150, "y"))], conversation="c")
    line = seen_lines(WithOptions(long, ViewOptions(oneline=True)), 80)[0]
    assert "carol" in line
    assert line.endswith("… and 1 more branch) the subject")
    assert len(seen_lines(long, 80)[0]) <= 80


def test_both_names_are_shown_if_the_line_has_room_for_them():
    """At 80 columns it read `(main, 1 more)`."""
    entry = LogEntry(head=head("word", "carol", "short"), message=None, branches=("main", "fix/of-the-server"))
    line = seen_lines(WithOptions(Log(items=[entry], conversation="c"), ViewOptions(oneline=True)), 80)[0]
    assert line.endswith("(main, fix/of-the-server) short")


def test_a_cut_subject_ends_in_an_ellipsis_in_a_pipe():
    """Piped logs cut subjects at 72 characters without a mark, also within the name of a tag."""
    for subject, shown in (
        ("x" * 72, "x" * 72 + "…"),
        ("y" * 70, "y" * 70),
        ("y" * 71, "y" * 71 + "…"),
        ("z" * 55 + "</a> <command-mess", "z" * 55 + "</a>…"),
    ):
        log = Log(
            items=[LogEntry(head=head("word", "carol", subject[:72]), message=None, branches=())], conversation="c"
        )
        assert piped(log).splitlines()[0].split("\t")[4] == shown
        assert piped(WithOptions(log, ViewOptions(oneline=True))).splitlines()[0].endswith(f" {shown}")


def test_main_is_the_first_name_and_a_conflict_resolution_branch_the_last():
    names = ("a", "conflict-resolution/a-into-main", "main")
    entry = LogEntry(head=head("word", "carol", "x"), message=None, branches=names, tags=("v1",))
    line = seen_lines(Log(items=[entry], conversation="c"), 200)[0]
    assert "(main, a, tag: v1, conflict-resolution/a-into-main)" in line


def test_a_subject_that_the_commit_cut_shows_it():
    of = head("word", "carol", "x" * 72)
    log = Log(items=[LogEntry(head=of, message=None, branches=())], conversation="c")
    assert seen_lines(WithOptions(log, ViewOptions(oneline=True)), 200) == [
        f"word2222 2025-12-31 23:58 carol            {'x' * 72}…"
    ]


def test_the_author_of_a_system_message_is_system():
    of = head("word", "scopes", "started", author_kind="system")
    assert "Author: SYSTEM" in seen_lines(LogEntry(head=of, message=None, branches=()))


def test_twenty_rows_are_shown_whole():
    assert one(LONG, text("\n".join(map(str, range(20))))) == [f"    {n}" for n in range(20)]


def test_a_longer_text_prints_how_many_lines_are_left_out():
    assert one(LONG, text("\n".join(map(str, range(22)))))[19:] == ["    19", f"    … 2 more lines {WHERE}"]
    assert one(LONG, text("\n".join(map(str, range(1520)))))[20] == f"    … 1,500 more lines {WHERE}"


def test_one_more_line_is_shown_itself():
    """`… 1 more line (scopes cat …)` took a line to hide one."""
    assert one(LONG, text("\n".join(map(str, range(21)))))[19:] == ["    19", "    20"]


def test_wrapped_rows_count_and_a_cut_line_counts_as_left_out():
    long_line = " ".join(["word"] * 500)
    rows = one(LONG, text(f"{long_line}\nlast"))
    assert len(rows) == 21
    assert rows[20] == f"    … 2 more lines {WHERE}"
    assert all(len(row) <= 80 for row in rows)


def test_one_word_of_a_megabyte_is_cut_without_wrapping_all_of_it():
    rows = one(LONG, text("x" * 1_000_000))
    assert rows[0] == "    " + "x" * 76
    assert rows[20:] == [f"    … 1 more line {WHERE}"]


def test_blank_lines_inside_a_text_have_no_blanks():
    assert one(PROMPT, text("a\n\nb\n")) == ["    a", "", "    b"]


def test_tabs_are_expanded_and_controls_are_visible():
    assert one(PROMPT, text("a\tb\x1b[2J")) == ["    a       b^[[2J"]


def test_each_part_is_one_line():
    lines = one(CALL, *CALL_BODY.parts)
    assert lines[0] == "    thinking, 52 characters: Safari blocks third-party cookies. …"
    assert "    → Bash grep -rn cookie src" in lines
    assert "    ← src/login.py:3: cookie · 2 lines" in lines
    assert "    ← exit 2: no such file" in lines
    assert lines[-3:] == ["    [edit src/login.py]", "    [image image/png shot.png]", "    [hologram]"]


def test_a_tool_call_is_cut_to_the_terminal():
    call = Part("tool_call", {"name": "Bash", "input": {"command": "x" * 100_000}})
    (line,) = one(CALL, call, width=60)
    assert len(line) == 60
    assert line.startswith("    → Bash xxx")
    assert line.endswith("x…")


def test_a_document_and_files_follow_the_text():
    lines = one(DECIDED, text("So be it."), payload=DECIDED_BODY.payload, files=CALL_BODY.files)
    assert lines == [
        "    So be it.",
        "    topic: cookies",
        "    decision: SameSite=Lax",
        "    weight: [1, 2]",
        "    files: edit src/login.py, rename new.py from old.py",
    ]


@pytest.mark.parametrize("parts", [(), (text(""),)])
def test_an_empty_message_shows_its_subject(parts):
    of = head("word", "carol", "(no text)")
    entry = LogEntry(head=of, message=replace(body(of), parts=parts), branches=())
    assert seen_lines(entry)[-2:] == ["", "    (no text)"]


def test_recipients_are_named():
    assert "To:     carol, reviewer" in seen_lines(ENTRIES[3])


@pytest.mark.parametrize("width", [1, 10, 20, 80])
def test_no_width_is_too_narrow(width):
    assert "look" in seen(LOG["log"], width)
    assert seen_lines(LOG["graph"], width)


@pytest.mark.parametrize("oneline", [True, False])
def test_a_graph_streams(oneline):
    """The second message is drawn before the fourth is read."""
    read: list[str] = []

    def entries():
        for entry in ENTRIES:
            read.append(entry.head.id)
            yield entry

    def write(text):
        if "decide22" in text:
            raise BrokenPipeError

    view = PlainView(write, options=ViewOptions(graph=True, oneline=oneline))
    with pytest.raises(BrokenPipeError):
        render_text(replace(LOG["log"], items=entries()), view)
    assert len(read) == 2


def test_an_empty_log_is_empty():
    nothing = replace(LOG["log"], items=())
    assert piped(nothing) == seen(nothing) == seen(WithOptions(nothing, ViewOptions(graph=True))) == ""


def test_a_log_streams():
    """The first row is written before the second message is read."""
    read: list[str] = []

    def entries():
        for entry in ENTRIES:
            read.append(entry.head.id)
            yield entry

    def write(_text):
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        render_text(replace(LOG["log"], items=entries()), PlainView(write))
    assert read == [LONG.id]


SILENT = LogEntry(
    head=head("silent", "codex", "(no text)", kind="answer"),
    message=body(
        head("silent", "codex", "(no text)", kind="answer"),
        Part("tool_call", {"name": "Bash", "input": {"command": "make test " * 20}}),
    ),
    branches=(),
)


def test_a_row_of_a_message_without_text_summarizes_its_parts():
    """Command line, output 2: a subject is as short as any other."""
    subject = piped(SILENT).rstrip().split("\t")[4]
    assert subject.startswith("→ Bash make test make")
    assert (len(subject), subject[-1]) == (72, "…")
    assert "→ Bash make test" in piped(LOG["oneline"].replaced(items=[SILENT]))
    assert piped(replace(SILENT, message=None)).split("\t")[4] == "(no text)\n"


def test_the_digest_of_a_merge_is_wrapped_between_words():
    """A terminal cut it within a word."""
    digest = "fix: 2 messages; changed src/login.py; tests failed (python -m pytest -q tests/test_login.py)"
    lane = LaneMark("fix", "main", LONG.id, PROMPT.id, 7, 2, ("planner", "a-very-long-name-of-an-agent"), (digest,))
    entries = (ENTRIES[0], replace(ENTRIES[2], lanes=(lane,)))
    lines = seen_lines(Log(items=iter(entries), conversation="conv-001"), 80)
    assert max(map(len, lines)) <= 80
    assert digest in " ".join(line.strip() for line in lines)
    assert "a-very-long-name-of-an-agent" in " ".join(line.strip() for line in lines)
