from __future__ import annotations

from dataclasses import replace

from scopes.conversation.verify import Check
from tests.render.rendering import piped, seen, seen_lines
from tests.render.results import SAMPLES

STORE = SAMPLES["store"]


def test_init_is_the_path_in_a_pipe():
    assert piped(STORE["init"]) == piped(STORE["init-again"]) == "/home/carol/store.git\n"


def test_init_prints_whether_it_created_the_store():
    assert seen_lines(STORE["init"])[:1] == ["created an empty store: /home/carol/store.git"]
    assert seen_lines(STORE["init-again"]) == ["the store exists already: /home/carol/store.git"]


def test_a_sound_store_prints_nothing_in_a_pipe():
    """As with git fsck; the exit code tells the rest."""
    assert piped(STORE["sound"]) == ""


def test_a_sound_store_prints_how_much_was_checked():
    assert seen_lines(STORE["sound"]) == ["sound: 2 conversations, 1 branch, 1,234 messages in /s.git"]


def test_every_defect_is_named_with_its_cure():
    assert seen_lines(STORE["damaged"]) == [
        "error: conv-001/main: its history breaks off",
        "    restore it from a backup",
        "warning: conv-002/main: no operation created it: a git command did",
        "damaged (1 error): 2 conversations, 3 branches, 9 messages in /s.git",
    ]
    assert piped(STORE["damaged"]).splitlines()[0].split("\t") == [
        "error", "conv-001/main", "its history breaks off", "restore it from a backup",
    ]  # fmt: skip


def test_warnings_alone_leave_a_store_sound():
    warned = replace(STORE["damaged"], findings=STORE["damaged"].findings[1:])
    assert seen_lines(warned)[-1].startswith("sound: ")


def test_damage_is_red_and_soundness_green():
    assert seen(STORE["damaged"], color=True).startswith("\x1b[1;31merror:\x1b[0m")
    assert seen(STORE["sound"], color=True).startswith("\x1b[32msound: \x1b[0m")


def test_packing_shows_the_size_before_and_after():
    assert seen_lines(STORE["gc"]) == ["packed /s.git: 12.0 MiB → 900 B"]
    assert piped(STORE["gc"]) == "/s.git\t12582912\t900\t0\t0\n"


def test_expired_operations_and_refs_are_counted():
    assert seen_lines(STORE["gc-expired"])[1] == "expired 1 operation and 2 deleted refs"
    assert piped(STORE["gc-expired"]).endswith("\t1\t2\n")


def test_doctor_aligns_what_it_found():
    assert seen_lines(STORE["doctor"]) == [
        "ok      scopes        1.0",
        "warning loose objects about 20000",
        "                      scopes gc",
        "failed  format        2, newer than 1",
        "                      update scopes",
    ]


def test_a_long_finding_of_doctor_goes_on_below_its_beginning():
    """Two paths do not fit into 80 columns."""
    text = "/home/carol/.local/bin/claude, transcripts in /home/carol/.claude/projects"
    lines = seen_lines(replace(STORE["doctor"], checks=(Check("hooks of git", "ok", text),)))
    assert lines == [
        "ok      hooks of git /home/carol/.local/bin/claude, transcripts in",
        "                     /home/carol/.claude/projects",
    ]


def test_doctor_in_a_pipe_prints_one_row_per_check():
    assert piped(STORE["doctor"]).splitlines()[1] == "loose objects\twarning\tabout 20000\tscopes gc"


def test_doctor_without_checks_prints_nothing():
    assert seen(replace(STORE["doctor"], checks=())) == ""
