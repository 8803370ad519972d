"""`scopes resume` and `scopes skills` as commands: printed in a pipe, run on a terminal."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.cli.conversation import Conversation
from tests.cli.running import PRODUCT, command_line, environment, scopes
from tests.handover.sessions import Home
from tests.importers.formats.claude_code.logs import SESSION, Log
from tests.support.store import open_store

FAKE = '#!/bin/sh\nprintf "in %s:" "$PWD"\nprintf " %s" "$@"\nprintf "\\n"\nexit 7\n'


@pytest.fixture
def shop(tmp_path):
    """A store with a session of Claude Code, the program claude, and a function that runs scopes there."""
    conversation = Conversation(tmp_path)
    home = Home(tmp_path, open_store(conversation.store))
    os.makedirs(tmp_path / "bin")
    (tmp_path / "bin" / "claude").write_text(FAKE)
    os.chmod(tmp_path / "bin" / "claude", 0o755)
    home.conversation = "conv-002"
    home.run = conversation
    home.environ = environment(HOME=home.path, PATH=f"{tmp_path}/bin:/usr/bin:/bin")
    return home


def on_terminal(shop, *words):
    """Run scopes on a terminal; return its exit code and what it showed."""
    main, side = os.openpty()
    line = command_line("--store", shop.run.store, "resume", *words, table=PRODUCT)
    done = subprocess.Popen(line, stdin=side, stdout=side, stderr=side, env=shop.environ)
    os.close(side)
    text = b""
    try:
        while data := os.read(main, 4096):
            text += data
    except OSError:
        os.close(main)
    return done.wait(30), text.decode().replace("\r\n", "\n")


def in_pipe(shop, *words):
    return scopes("--store", shop.run.store, *words, table=PRODUCT, env=shop.environ)


def test_on_a_terminal_the_agent_takes_over(shop):
    code, shown = on_terminal(shop, shop.conversation)
    assert code == 7
    assert shown.endswith(f"in {shop.project}: --resume {SESSION}\n")
    words = " ".join(shown.split())  # the terminal breaks lines
    assert f"opening conv-002/main in claude-code: its session in {shop.project}"[:60] in words


def test_on_a_terminal_with_print_nothing_is_started(shop):
    code, shown = on_terminal(shop, shop.conversation, "--print")
    assert (code, shown) == (0, f"cd {shop.project} && claude --resume {SESSION}\n")


def test_a_program_that_is_not_installed_is_an_error(shop):
    code, shown = on_terminal(shop, shop.conversation, "--in", "codex")
    assert code == 4
    assert "error: codex is not in PATH" in shown
    assert "repeat the command with --print to see what to run" in " ".join(shown.split())


def test_in_a_pipe_the_line_is_printed_and_nothing_is_started(shop):
    done = in_pipe(shop, "resume", shop.conversation)
    assert (done.returncode, done.stdout) == (0, f"cd {shop.project} && claude --resume {SESSION}\n")


def test_without_a_name_the_newest_conversation_of_the_project_goes_on(shop):
    done = in_pipe(shop, "-C", shop.project, "resume", "--new", "--in", "codex")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"cd {shop.project} && codex resume ")


@pytest.mark.parametrize("place", ["elsewhere", "home", "shop/..", "shop/src"])
def test_without_a_name_no_conversation_of_another_project_is_taken(shop, tmp_path, place):
    """An agent would start in that project, and nobody asked for it. A folder around projects is none of them."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "shop/src").mkdir()
    done = in_pipe(shop, "-C", str(tmp_path / place), "resume")
    assert (done.returncode, done.stdout) == (4, "")
    name = (tmp_path / place).resolve().name
    assert done.stderr.splitlines() == [
        f"error: no conversation of this project ({name}); the newest of all is conv-002",
        "hint: list them: scopes list --project all",
    ]
    assert in_pipe(shop, "-C", str(tmp_path / place), "resume", "conv-002").returncode == 0


def test_in_a_repository_a_conversation_of_its_project_goes_on(shop, tmp_path):
    subprocess.run(["git", "init", "-q", shop.project], check=True)
    (tmp_path / "shop/src").mkdir()
    done = in_pipe(shop, "-C", f"{shop.project}/src", "resume")
    assert (done.returncode, done.stdout) == (0, f"cd {shop.project} && claude --resume {SESSION}\n")


def test_in_the_home_directory_a_conversation_from_there_goes_on(shop):
    shop.project = shop.path
    shop.log = Log("22222222-2222-4333-8444-555555555555")
    shop.user(None, "tidy up")
    shop.file = shop.file.replace(SESSION, "22222222-2222-4333-8444-555555555555")
    shop.write()
    done = in_pipe(shop, "-C", shop.path, "resume", "--new")
    assert "context conv-003/main --for-prompt" in done.stdout


def test_in_an_empty_store_there_is_nothing_to_go_on_with(tmp_path):
    line = command_line("--store", str(tmp_path / "new.git"), "init", table=PRODUCT)
    subprocess.run(line, check=True, env=environment(), capture_output=True)
    line = command_line("--store", str(tmp_path / "new.git"), "resume", table=PRODUCT)
    done = subprocess.run(line, capture_output=True, text=True, env=environment(), check=False)
    assert done.returncode == 4
    assert "there is no conversation in this store" in done.stderr


def test_the_line_of_a_new_session_runs_in_a_shell(shop, tmp_path):
    """The history is read by the command in the line."""
    line = command_line("--store", shop.run.store, "resume", shop.conversation, "--new", table=PRODUCT)
    scopes = " ".join(f"'{word}'" for word in command_line(table=PRODUCT))
    (tmp_path / "bin" / "scopes").write_text(f'#!/bin/sh\nexec {scopes} "$@"\n')
    os.chmod(tmp_path / "bin" / "scopes", 0o755)
    shown = subprocess.run(line, capture_output=True, text=True, env=shop.environ, check=True).stdout
    done = subprocess.run(["sh", "-c", shown], capture_output=True, text=True, env=shop.environ, check=False)
    assert done.returncode == 7, done.stderr
    assert done.stdout.startswith(f"in {shop.project}: -- <conversation_history>")
    assert "User: hide the prices" in done.stdout


@pytest.mark.parametrize("new", [(), ("--new",)])
@pytest.mark.slow
def test_a_template_has_the_command_as_the_line_for_a_shell(shop, new):
    shown = in_pipe(shop, "resume", shop.conversation, *new).stdout
    assert shown.startswith("cd ")
    for words in (("--format", "{command}"), ("--format", "{shell}")):
        assert in_pipe(shop, "resume", shop.conversation, *new, *words).stdout == shown


def test_as_json_the_command_is_a_list_of_words(shop):
    made = shop.run.run("resume", shop.conversation, "--new", "--prompt", "go on", "--json")
    assert (made["kind"], made["session"], made["command"][0]) == ("resumption", "new", "claude")
    assert made["command"][-1].endswith("go on")


def test_a_skill_is_installed_for_a_project_and_for_a_user(shop):
    for options, top in (((), shop.path), (("--here",), shop.project)):
        done = in_pipe(shop, "-C", shop.project, "setup", "claude-code", "--only", "skill", *options)
        assert done.stdout == f"{top}/.claude/skills/scopes/SKILL.md\n"
        assert os.path.isfile(done.stdout.strip())
        assert (
            in_pipe(
                shop, "-C", shop.project, "setup", "claude-code", "--only", "skill", "--remove", *options
            ).returncode
            == 0
        )
        assert not os.path.exists(done.stdout.strip())


def test_in_a_pipe_a_skill_that_others_have_too_has_a_note(shop):
    assert "note: agents read their skills" in in_pipe(shop, "setup", "codex", "--only", "skill").stderr
    done = in_pipe(shop, "setup", "codex", "--only", "skill", "--remove")
    assert done.stderr == "note: it was also the skill of agents\n"
