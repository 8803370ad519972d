from __future__ import annotations

from tests.render.rendering import piped, seen_lines
from tests.render.results import CALL, PROMPT, SAMPLES

FILES = SAMPLES["files"]


def test_files_are_a_row_each_with_the_last_touch():
    """S1-20."""
    assert piped(FILES["files"]).split("\t") == [
        "src/login.py",
        "edit:2,read:1",
        "2",
        "2025-12-31T22:31:00Z",
        "planner\n",
    ]


def test_a_template_reads_which_messages_touched_a_file():
    """S1-20: file to messages."""
    assert piped(FILES["files"], template="{path} {message_ids}") == f"src/login.py {PROMPT.id},{CALL.id}\n"


def test_without_files_a_sentence_is_printed_on_a_terminal():
    assert seen_lines(FILES["no-files"]) == ["conv-001 touched no files."]
    assert piped(FILES["no-files"]) == ""
