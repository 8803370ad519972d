from __future__ import annotations

from dataclasses import replace

import pytest

from scopes.model.message import Author, Part
from scopes.render.table import render_text
from scopes.render.view import View
from tests.render.rendering import piped, seen, seen_lines
from tests.render.results import CALL, CALL_BODY, PROMPT, SAMPLES, body, head

MESSAGE = SAMPLES["message"]
CAT = MESSAGE["cat"]


def cat_of(text, author_kind="agent"):
    """A message of one text, as `cat` has it."""
    of = head("word", "carol", "x", author_kind=author_kind)
    return replace(CAT, head=of, message=body(of, Part("text", {"text": text})))


def test_an_append_is_the_id_in_a_pipe_and_names_the_place_to_people():
    assert piped(MESSAGE["appended"]) == f"{CALL.id}\n"
    assert seen_lines(MESSAGE["appended"])[:-1] == ["recorded callit22 on conv-001/main"]


def test_an_append_says_how_to_take_it_back_to_people_only():
    """Of many lines of one command, none says it."""
    for name in ("appended", "amended", "retracted"):
        assert seen_lines(MESSAGE[name])[-1] == "undo with: scopes undo"
        assert "undo" not in seen(MESSAGE[name], hints=False)
        assert "undo" not in piped(MESSAGE[name])
    assert seen_lines(MESSAGE["appended-line"]) == ["recorded callit22 on conv-001/main"]


def test_amending_names_both_messages():
    assert seen_lines(MESSAGE["amended"], hints=False) == ["amended prompt22 on conv-001/main by callit22"]
    assert seen_lines(MESSAGE["retracted"], hints=False) == ["retracted prompt22 on conv-001/main by callit22"]
    assert piped(MESSAGE["retracted"]) == f"{CALL.id}\n"


def test_cat_starts_with_author_time_and_branch(at_one_moment):
    lines = seen_lines(CAT)
    assert lines[:6] == [
        f"Message: {CALL.id}",
        f"Commit: {CALL.oid}",
        "Place: conv-001/main",
        "Author: planner (agent)",
        "Time: 31 Dec 2025 22:31",
        "Kind: answer",
    ]


def test_the_time_is_as_the_author_gave_it_and_alone_in_a_pipe(at_one_moment):
    assert "\nTime: 2025-12-31T23:31:00+01:00\n" in piped(CAT)


def test_a_message_without_a_time_shows_its_commits_time():
    timeless = replace(CAT, message=replace(CALL_BODY, time=None))
    assert "\nTime: 2025-12-31T22:31:00Z\n" in piped(timeless)


def test_only_known_fields_are_shown():
    shown = piped(CAT)
    assert "\nModel: some-model-1\n" in shown
    assert "\nWork item: W-7\n" in shown
    assert "\nFiles: edit src/login.py, rename new.py from old.py\n" in shown
    assert "Task:" not in shown
    assert "Status:" not in shown


def test_an_answer_is_markdown_on_a_terminal_and_as_written_in_a_pipe():
    assert "\n • the cookie\n" in seen(CAT)
    assert "\n- the cookie\n" in piped(CAT)
    assert "**form**" in piped(CAT)
    assert "**" not in seen(CAT)


def test_text_of_a_person_keeps_its_lines():
    """Markdown would join them: a pasted log becomes one paragraph."""
    pasted = "Traceback:\n  File a.py\n  * not a list"
    assert pasted in seen(cat_of(pasted, "human"))


def test_parts_are_below_their_headings():
    lines = piped(CAT).splitlines()
    assert lines[lines.index("→ Bash") + 1 :][:2] == ["    command: grep -rn cookie src", "    timeout: 10"]
    assert lines[lines.index("← result:") + 1] == "    src/login.py:3: cookie"
    assert lines[lines.index("← error (exit code 2):") + 1] == "    no such file"
    assert lines[lines.index("[edit src/login.py]") + 2] == "    +SameSite=Lax"
    assert "[image image/png shot.png]" in lines


def test_a_part_of_a_newer_version_is_shown_with_all_its_fields():
    lines = piped(CAT).splitlines()
    assert lines[lines.index("[hologram]") + 1 :] == ["    {", '      "depth": 3', "    }"]


def test_a_typed_document_follows_the_text():
    shown = piped(MESSAGE["cat-decision"])
    assert "\n\ntopic: cookies\ndecision: SameSite=Lax\nweight:\n    [\n      1,\n      2\n    ]\n" in shown


def test_a_message_outside_a_branch_names_its_conversation_alone():
    assert "\nPlace: conv-001\n" in piped(MESSAGE["cat-decision"])


def test_raw_is_the_stored_line_to_the_byte_where_no_terminal_reads_it():
    hostile = body(PROMPT, Part("text", {"text": "\x9b2J \u202e \u00e9"}))
    stored = MESSAGE["cat-raw"].result.stored.replace(b"Safari", "\x9b2J \u202e é".encode())
    raw = MESSAGE["cat-raw"].replaced(stored=stored, message=hostile)
    pieces: list[str] = []
    render_text(raw.result, View(pieces.append, unchanged=True, options=raw.options))
    assert "".join(pieces).encode() == stored
    assert "\x9b" not in seen(raw)
    assert "<U+009B>2J <U+202E> é" in seen(raw)


def test_raw_is_not_folded():
    assert seen(MESSAGE["cat-raw"], 40).count("\n") == 1


def test_an_empty_text_leaves_no_blank_line():
    assert piped(cat_of("")).splitlines()[-1] == "Kind: plain"


@pytest.mark.parametrize(("kind", "shown"), [("human", "\x1b[1mcarol\x1b[0m"), ("agent", "carol"), ("tool", "carol")])
def test_the_names_of_people_are_bold_and_those_of_agents_plain(kind, shown, at_one_moment):
    result = cat_of("x")
    message = replace(result.message, author=Author("carol", kind))
    assert f" {shown} ({kind})" in seen(replace(result, message=message), color=True)
