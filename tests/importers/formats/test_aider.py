"""Chat histories of Aider: many runs in one file, which only an exact header begins."""

from __future__ import annotations

import pytest

from scopes.importers.formats.aider import Aider
from scopes.importers.formats.events import ByteRange, Ending, Session
from scopes.importers.formats.registry import FORMATS
from scopes.model.message import FileTouch
from tests.importers.reading import drafts, events_of, real_transcript, states, unparsed
from tests.importers.streams import import_paths
from tests.support.store import make_store

FIRST = """
# aider chat started at 2026-03-01 10:00:00

> aider app.py~
> Model: gpt-x with diff edit format~
> Added app.py to the chat.~

#### Add a port.~
#### Use 80.~

Here is the change:

# A heading of the answer

app.py

> Tokens: 1,200 sent, 30 received.~
> Applied edit to app.py~
> Commit 1a2b3c4 feat: Add a port~
""".replace("~", "  ")
EMPTY = "\n# aider chat started at 2026-03-01 11:00:00\n\n> aider --lint  \n"
LAST = """
# aider chat started at 2026-03-02 09:30:00

> aider~
> Main model: gpt-y with whole edit format~

#### Explain.~

It listens.

> ^C KeyboardInterrupt~

#### # Fix any errors below, if possible.~
#### E501 line too long~

#### /add b.py~

> Added b.py to the chat.~
""".replace("~", "  ")
FILE = (FIRST + EMPTY + LAST).encode()


def read(text):
    return events_of(Aider(), text.encode() if isinstance(text, str) else text)


def texts(events):
    return [(draft.kind, draft.author.kind, draft.parts[0].fields["text"]) for draft in drafts(events)]


def names(data):
    return [event.native_id for event in read(data) if isinstance(event, Session)]


def test_prompts_answers_and_notices_are_messages():
    assert texts(read(FIRST)) == [
        ("prompt", "human", "Add a port.\nUse 80."),
        ("answer", "agent", "Here is the change:\n\n# A heading of the answer\n\napp.py"),
        (
            "notice",
            "system",
            "Tokens: 1,200 sent, 30 received.\nApplied edit to app.py\nCommit 1a2b3c4 feat: Add a port",
        ),
    ]


def test_a_run_with_a_message_is_a_session_named_by_its_start():
    events = read(FILE)
    found = [event for event in events if isinstance(event, Session)]
    assert [session.created for session in found] == ["2026-03-01T10:00:00Z", "2026-03-02T09:30:00Z"]
    assert found[0].native_id.startswith("2026-03-01T10:00:00-")
    assert found[0].details == {"fidelity": "inferred"}
    assert [event.active for event in events if isinstance(event, Ending)] == [drafts(events)[at].key for at in (2, -1)]


def test_messages_are_marked_as_inferred_and_have_no_time():
    for draft in drafts(read(FILE)):
        assert (draft.time, draft.precision, draft.extra["fidelity"]) == (None, "none", "inferred")


def test_an_answer_has_the_model_tokens_and_files_of_the_notices_around_it():
    prompt, answer, notice = drafts(read(FIRST))
    assert (answer.model, answer.usage["input_uncached"], answer.usage["output"]) == ("gpt-x", 1200, 30)
    assert (prompt.files, answer.files) == ((FileTouch("app.py", "mention"),), (FileTouch("app.py", "edit"),))
    assert (notice.files, notice.usage) == ((), None)


def test_a_model_that_is_changed_during_a_run_counts_from_there():
    text = LAST + "> Model: gpt-z with diff edit format  \n\nNow I am another.\n"
    assert [draft.model for draft in drafts(read(text)) if draft.kind == "answer"] == ["gpt-y", "gpt-z"]


def test_an_interrupted_answer_and_a_prompt_that_aider_wrote_are_known():
    found = drafts(read(LAST))
    assert [(draft.kind, draft.author.kind, draft.status) for draft in found] == [
        ("prompt", "human", None),
        ("answer", "agent", "interrupted"),
        ("notice", "system", None),
        ("prompt", "injected", None),
        ("prompt", "human", None),
        ("notice", "system", None),
    ]
    assert found[-1].files == (FileTouch("b.py", "mention"),)


def test_the_messages_of_a_run_are_one_chain():
    found = drafts(read(LAST))
    assert [draft.parent for draft in found] == [None, *(draft.key for draft in found[:-1])]


@pytest.mark.parametrize(
    "line",
    [
        "## aider chat started at 2026-03-01 10:00:00\n",
        "# aider chat started at {current_time}\n",
        " # aider chat started at 2026-03-01 10:00:00\n",
        "# aider chat started at 2026-03-01 10:00:00 by me\n",
        '    f"# aider chat started at 2026-03-01 10:00:00\n',
        "# Aider chat started at 2026-03-01 10:00:00\n",
    ],
)
def test_only_the_exact_header_begins_a_run(line):
    assert not Aider().sniff(line.encode())
    assert len(names(FIRST + "\n" + line + LAST)) == 2


@pytest.mark.parametrize("end", [" \t\n", "\r\n"])
def test_a_header_may_end_in_blanks(end):
    assert Aider().sniff(f"# aider chat started at 2026-03-01 10:00:00{end}".encode())


def test_no_other_format_takes_a_history():
    assert [each.name for each in FORMATS if each.sniff(FILE)] == ["aider"]


def test_a_header_with_an_impossible_time_begins_a_run_without_a_time():
    session = read(FIRST.replace("03-01 10:00:00", "13-41 25:99:99"))[0]
    assert (session.created, session.native_id[:19]) == (None, "2026-13-41T25:99:99")


def test_text_before_the_first_header_is_a_run_of_its_own():
    events = read("-*- mode: fundamental -*-\n> lint  \n\n#### Go.  \n\nDone.\n" + FIRST)
    assert [event.native_id[:9] for event in events if isinstance(event, Session)] == ["beginning", "2026-03-0"]
    assert texts(events)[:2] == [("prompt", "human", "Go."), ("answer", "agent", "Done.")]


def test_a_run_without_a_message_is_no_session_and_keeps_its_bytes():
    events = read(FILE)
    spans = [span for event in events if not isinstance(event, Session | Ending) for span in event.spans]
    assert b"".join(FILE[o : o + n] for o, n in sorted(spans)) == FILE
    assert (states(events), unparsed(events)) == (["run"] * 4, [])
    assert states(read(EMPTY)) == ["run", "run"]
    assert drafts(read(EMPTY)) == []


def test_a_notice_may_have_lines_without_a_mark():
    text = FIRST + "> Commit 12 fix: a\nbuild: b  \n\nAn answer.\n"
    assert [text for _, _, text in texts(read(text))][-2:] == [
        "Tokens: 1,200 sent, 30 received.\nApplied edit to app.py\nCommit 1a2b3c4 feat: Add a port\nCommit 12 fix: a\nbuild: b",
        "An answer.",
    ]  # fmt: skip


def test_two_prompts_with_a_blank_line_between_them_are_two():
    text = "# aider chat started at 2026-03-01 10:00:00\n\n#### /add a  \n\n#### Go  \n####   \n#### on.  \n"
    assert [text for _, _, text in texts(read(text))] == ["/add a", "Go\n\non."]


def test_the_name_of_a_run_does_not_change_while_it_grows():
    begin = FIRST.index("#### ") + len("#### Add a port.  \n")
    found = {name for size in range(begin, len(FIRST), 7) for name in names(FIRST[:size])}
    assert found == set(names(FIRST))


def test_runs_that_began_in_the_same_second_have_different_names():
    assert names(FIRST) != names(FIRST.replace("app.py", "b.py"))
    assert names(FIRST) != names(FIRST.replace("Add a port", "Remove it"))


def test_a_run_that_is_in_the_file_twice_is_two_sessions(tmp_path):
    assert names(FIRST * 2) == [names(FIRST)[0], f"{names(FIRST)[0]}#2"]
    (tmp_path / "twice.md").write_text(FIRST * 2)
    store = make_store(tmp_path / "a.git")
    assert len(import_paths(store, tmp_path / "twice.md").conversations) == 2
    assert import_paths(store, tmp_path / "twice.md").operation is None


def test_a_last_line_that_is_cut_may_be_the_beginning_of_anything():
    whole = texts(read(LAST))
    for cut in ("#", "####", "> Tok", "# aider chat started at 2026-03-03 1", "An answ"):
        events = read(LAST + "\n" + cut)
        assert (texts(events), unparsed(events)) == (whole, ["truncated (incomplete last record)"])
    assert texts(read(FIRST[: FIRST.index("change:")]))[-1] == ("prompt", "human", "Add a port.\nUse 80.")
    assert texts(read("# aider chat started at 2026-03-01 10:00:00\n\nOne\ntw"))[-1][-1] == "One\ntw"


def test_the_last_answer_and_notice_may_still_change():
    opened = {text: read(text)[-1].open for text in (FIRST, LAST, FIRST.partition("> Tokens")[0], FILE)}
    assert opened[FIRST] == drafts(read(FIRST))[1].key
    assert opened[LAST] == drafts(read(LAST))[-1].key
    assert opened[FIRST.partition("> Tokens")[0]] == drafts(read(FIRST))[1].key
    assert next(event for event in read(FILE) if isinstance(event, Ending)).open is None


def test_bytes_that_are_no_text_are_noted_and_shown():
    events = read(FIRST.encode().replace(b"Here", b"H\xffre"))
    assert "H\ufffdre" in texts(events)[1][-1]
    assert unparsed(events) == ["not valid UTF-8, shown with replacement characters"]


def test_the_real_history_is_read_whole():
    """1,133 headers and the text before them; three lines of code that look like a header are none."""
    path = real_transcript("aider", "paul-gauthier_chat-history.md")
    with open(path, "rb") as stream:
        data = stream.read()
    events = events_of(Aider(), data)
    found = [event for event in events if isinstance(event, Session)]
    assert (states(events), unparsed(events)) == (["run"] * 1134, [])
    assert (len(found), len({session.native_id for session in found}), len(drafts(events))) == (695, 695, 4509)
    assert sum((event.usage or {}).get("output", 0) for event in drafts(events)) > 300_000
    assert ByteRange(0, 1547) in {
        span for event in events[:2] if not isinstance(event, Session) for span in event.spans
    }


def test_a_request_without_an_answer_has_its_tokens_in_the_notice():
    """What was sent was paid for, also if the model answered nothing."""
    before, _, _ = FIRST.partition("Here is the change:")
    found = drafts(read(f"{before}> Tokens: 1,169 sent, 0 received.~\n".replace("~", "  ")))
    assert [(each.kind, each.model, each.usage and each.usage["input_uncached"]) for each in found] == [
        ("prompt", None, None),
        ("notice", "gpt-x", 1169),
    ]
