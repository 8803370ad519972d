"""`scopes import --watch` as a process: beside an agent that writes, with signals, damaged stores and hooks."""

from __future__ import annotations

import copy
import json
import os
import resource
import shutil
import signal
import subprocess
import time

import pytest

from scopes.store.repository import create_store
from scopes.store.transactions import exclusive_write
from tests.cli.running import PRODUCT, PROGRAM, command_line, environment, scopes
from tests.importers.formats.claude_code.logs import Log
from tests.support.examples import amount
from tests.support.fork_server import StartedProgram
from tests.support.hook_agent import HookAgent, texts_of
from tests.support.store import open_store

SECONDS = 60


class Watch:
    """A running `scopes import --watch`; with words before it or options, in an interpreter of its own."""

    def __init__(self, *words, cwd=None, before=(), program=PROGRAM, **options):
        streams = {"stdin": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
        if before or options:
            command = [*before, *command_line("import", "--watch", *words, table=PRODUCT, program=program)]
            streams["stdout"] = subprocess.PIPE
            self.process = subprocess.Popen(command, env=environment(), cwd=cwd, **streams, **options)
        else:
            self.process = StartedProgram(
                program, [PRODUCT, "import", "--watch", *words], environment(), cwd=str(cwd or os.getcwd()), **streams
            )

    def begin(self):
        """Wait until what is there is imported, and return the rest of the line that says so."""
        words = self.process.stderr.readline()
        assert words.startswith("watching "), words
        return words.removeprefix("watching ").strip()

    def row(self):
        """Return the next line of JSON."""
        return json.loads(self.process.stdout.readline())

    def end(self, number=signal.SIGTERM):
        """Send a signal; return the exit code and what was written to standard error."""
        self.process.send_signal(number)
        _, problems = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, problems


@pytest.fixture
def agent(sealed_world, tmp_path):
    return HookAgent(sealed_world, tmp_path)


@pytest.fixture
def watch():
    started = []

    def start(*words, **options):
        started.append(Watch(*words, **options))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.process.kill()
        if not each.process.stdout.closed:
            each.process.communicate()


def test_every_turn_is_a_line_and_in_the_store(agent, watch):
    agent.turn(1)
    running = watch("--json")
    first = running.row()
    assert (first["kind"], first["conversation"], first["messages"]) == ("source-recorded", "conv-001", 2)
    for number in (2, 3):
        agent.turn(number)
        row = running.row()
        assert (row["conversation"], row["messages"], row["source"]) == ("conv-001", 2, str(agent.session))
        assert agent.texts() == texts_of(*range(1, number + 1))
    assert running.end() == (0, f"watching {agent.session.parent.parent}\n")


def test_an_agent_that_begins_later_is_found(sealed_world, tmp_path, watch):
    """No folder of an agent exists when the watch begins."""
    running = watch("--json")
    assert running.begin() == "for the first session of an agent"
    agent = HookAgent(sealed_world, tmp_path)
    agent.turn(1)
    row = running.row()
    assert (row["messages"], row["source"]) == (2, str(agent.session))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_with_success(agent, watch, number):
    agent.turn(1)
    running = watch("--json")
    running.row()
    running.begin()
    assert running.end(number) == (0, "")


@pytest.mark.slow
def test_in_the_background_of_a_script_only_a_term_signal_ends_it(agent, watch):
    """A shell that is not interactive starts what ends with `&` with SIGINT ignored."""
    agent.turn(1)
    running = watch("--json", preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    running.row()
    running.begin()
    running.process.send_signal(signal.SIGINT)
    agent.turn(2)
    assert running.row()["messages"] == 2
    assert running.end(signal.SIGTERM) == (0, "")


def test_a_signal_that_the_parent_ignores_stays_ignored(agent, watch):
    """`nohup scopes watch`."""
    agent.turn(1)
    running = watch("--json", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    running.begin()
    running.process.send_signal(signal.SIGHUP)
    agent.turn(2)
    assert running.row()["messages"] == 2


def test_a_named_file_that_is_no_transcript_yet_is_watched_with_a_note(agent, watch, tmp_path):
    (tmp_path / "later.jsonl").write_text("hello\n")
    running = watch(str(tmp_path / "later.jsonl"), "--json")
    assert running.process.stderr.readline() == f"note: {tmp_path}/later.jsonl: unknown format\n"
    assert running.process.stderr.readline().startswith("hint: ")
    running.begin()
    agent.turn(1)
    shutil.copy(agent.session, tmp_path / "later.jsonl")
    assert running.row()["messages"] == 2


def test_a_second_watch_for_the_store_is_refused_with_the_number_of_the_first(agent, watch):
    agent.turn(1)
    running = watch("--json")
    running.row()
    done = scopes("import", "--watch", table=PRODUCT)
    assert done.returncode == 6
    assert f"process {running.process.pid} watches for this store already" in done.stderr
    running.process.kill()
    running.process.wait()
    watch("--json")
    agent.turn(2)
    agent.wait_for_texts(*texts_of(1, 2))


def test_half_a_line_is_left_until_it_is_complete(agent, watch):
    running = watch("--json")
    agent.turn(1)
    assert running.row()["messages"] == 2
    agent.log.user("prompt 2")
    agent.flush(cut=20)
    agent.log.answer("msg_2", {"type": "text", "text": "answer 2"})
    agent.flush()
    agent.wait_for_texts(*texts_of(1, 2))


@pytest.mark.slow
def test_half_a_line_at_the_end_is_no_damage_to_a_watch_and_is_to_an_import(agent, watch):
    agent.turn(1)
    agent.log.user("prompt 2")
    agent.flush(cut=20)
    running = watch("--json")
    running.row()
    agent.log.answer("msg_2", {"type": "text", "text": "answer 2"})
    agent.log.user("prompt 3")
    agent.flush(cut=20)
    running.row()
    assert running.end() == (0, f"watching {agent.session.parent.parent}\n")
    for words in (("import", str(agent.session)), ("import",)):
        assert "truncated (incomplete last record)" in scopes(*words, table=PRODUCT).stderr


@pytest.mark.slow
def test_files_that_vanish_and_come_back_lose_nothing_of_the_store(agent, watch):
    """Agents delete old sessions, and some the ones in use."""
    running = watch("--json")
    agent.turn(1)
    running.row()
    kept = agent.session.read_bytes()
    shutil.rmtree(agent.session.parent)
    agent.session.parent.mkdir()
    agent.session.write_bytes(kept)
    agent.turn(2)
    assert running.row()["messages"] == 2
    assert agent.texts() == texts_of(1, 2)


def test_a_store_that_cannot_be_written_is_one_note_and_written_later(agent, watch, monkeypatch):
    agent.turn(1)
    assert scopes("import", table=PRODUCT).returncode == 0
    limit = (0, resource.RLIM_INFINITY)  # every write to a file fails, as on a full disk
    running = watch(
        "--json", program=f"from scopes.live import watch; watch.RETRY_SECONDS = 1; {PROGRAM}",
        preexec_fn=lambda: (signal.signal(signal.SIGXFSZ, signal.SIG_IGN), resource.setrlimit(resource.RLIMIT_FSIZE, limit)),
    )  # fmt: skip
    running.begin()
    agent.turn(2)
    line = running.process.stderr.readline()
    assert "tried again" in line
    assert agent.texts() == texts_of(1)
    resource.prlimit(running.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert running.row()["messages"] == 2
    assert agent.texts() == texts_of(1, 2)


@pytest.mark.slow
def test_hooks_and_a_watch_together_record_each_turn_once(agent, watch):
    assert scopes("setup", "claude-code", "--only", "hooks", table=PRODUCT).returncode == 0
    watch("--json")
    for number in range(1, 6):
        agent.turn(number)
        agent.stop()
    agent.wait_for_texts(*texts_of(*range(1, 6)))
    agent.close()
    assert agent.conversations(open_store(agent.store)) == ["conv-001"]


def second_session(agent):
    """Return the writer of another session of the same agent."""
    other = copy.copy(agent)
    name = "22222222-2222-4333-8444-555555555555"
    other.session, other.log, other.written = agent.session.with_name(f"{name}.jsonl"), Log(session=name), 0
    return other


def test_kills_at_any_moment_lose_nothing_and_double_nothing(agent, watch):
    """The files of agents are the record until a watch has imported them: the next one takes all."""
    other, rounds = second_session(agent), amount(20, 3)
    for number in range(1, rounds + 1):
        running = watch("--json")
        agent.turn(number)
        other.turn(100 + number)
        time.sleep(0.7 * number / rounds)
        running.process.kill()
        running.process.wait()
    assert scopes("import", table=PRODUCT).returncode == 0
    first, second = sorted((agent.texts(each) for each in ("conv-001", "conv-002")), key=lambda texts: len(texts[0]))
    assert (first, second) == (texts_of(*range(1, rounds + 1)), texts_of(*range(101, 101 + rounds)))
    assert agent.conversations(open_store(agent.store)) == ["conv-001", "conv-002"]
    assert scopes("verify", table=PRODUCT).returncode == 0


def test_imports_during_a_watch_record_each_turn_once(agent, watch):
    agent.turn(1)
    watch("--json").begin()
    for number in range(2, 8):
        agent.turn(number)
        assert scopes("import", table=PRODUCT).returncode == 0
    assert agent.texts() == texts_of(*range(1, 8))
    assert agent.conversations(open_store(agent.store)) == ["conv-001"]


def test_a_session_file_that_is_renamed_and_started_anew_loses_nothing(agent, watch):
    """As programs that rotate logs do."""
    agent.turn(1)
    running = watch("--json")
    running.row()
    running.begin()
    os.rename(agent.session, f"{agent.session}.1")
    other = second_session(agent)
    other.turn(101)
    os.rename(other.session, agent.session)
    assert running.row()["source"] == str(agent.session)
    assert (agent.texts(), agent.texts("conv-002")) == (texts_of(1), texts_of(101))


def without_watches(limit, number):
    """Return the words that start a program in a user namespace with a limit of inotify; skip where there is none."""
    words = [
        "unshare",
        "--user",
        "--map-root-user",
        "sh",
        "-c",
        f'echo {number} >/proc/sys/user/{limit} && exec "$@"',
        "-",
    ]
    if shutil.which("unshare") is None or subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this user cannot make a namespace")
    return words


@pytest.mark.parametrize(("limit", "number"), [("max_inotify_watches", 3), ("max_inotify_instances", 0)])
@pytest.mark.slow
def test_files_are_looked_at_if_the_system_has_no_watches_left(agent, watch, limit, number):
    """Thousands of folders may be more than fs.inotify.max_user_watches."""
    for name in range(10):
        (agent.session.parent.parent / f"-home-carol-{name}").mkdir()
    agent.turn(1)
    running = watch("--json", before=without_watches(limit, number))
    note, begin = sorted(running.process.stderr.readline() for _ in range(2))  # two threads say them
    assert begin.startswith("watching ")
    assert "the system does not report which files change" in note
    assert "every 2 seconds" in note
    running.row()
    agent.turn(2)
    assert running.row()["messages"] == 2
    assert agent.texts() == texts_of(1, 2)


def test_the_store_of_a_project_takes_only_its_sessions(agent, watch, tmp_path, monkeypatch):
    monkeypatch.delenv("SCOPES_STORE")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    assert scopes("-C", str(tmp_path), "init", table=PRODUCT).returncode == 0
    agent.store = str(tmp_path / ".git/scopes")
    running = watch("--json", cwd=tmp_path)
    running.begin()
    agent.turn(1)  # of /home/carol/shop
    for record in agent.log.records:
        record["cwd"], record["sessionId"] = str(tmp_path), "22222222-2222-4333-8444-555555555555"
    agent.session, agent.written = agent.session.with_name("22222222-2222-4333-8444-555555555555.jsonl"), 0
    agent.flush()
    assert running.row()["source"] == str(agent.session)
    assert running.end()[0] == 0
    assert agent.conversations(open_store(agent.store)) == ["conv-001"]


def test_a_file_that_was_named_is_taken_whatever_its_project(agent, watch, tmp_path, monkeypatch):
    monkeypatch.delenv("SCOPES_STORE")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    assert scopes("-C", str(tmp_path), "init", table=PRODUCT).returncode == 0
    running = watch(str(agent.session), "--json", cwd=tmp_path)
    running.begin()
    agent.turn(1)  # of /home/carol/shop
    assert running.row()["source"] == str(agent.session)


def test_a_folder_can_be_named_and_one_that_is_not_there_is_an_error(agent, watch, tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    running = watch(str(folder), "--json")
    assert running.begin() == str(folder)
    agent.turn(1)
    shutil.copy(agent.session, folder / "copy.jsonl")
    assert running.row()["source"] == str(folder / "copy.jsonl")
    assert scopes("import", "--watch", str(tmp_path / "nowhere"), table=PRODUCT).returncode == 4
    assert scopes("import", "--watch", "--dry-run", table=PRODUCT).returncode == 2


def test_a_reader_that_goes_away_ends_it_in_silence(agent, watch):
    agent.turn(1)
    running = watch("--json")
    running.row()
    running.begin()
    running.process.stdout.close()
    agent.turn(2)
    assert running.process.wait(SECONDS) == 141
    assert running.process.stderr.read() == ""
    running.process.stderr.close()


@pytest.mark.parametrize("words", [("summarize", "--ratio")])
def test_a_value_that_is_no_number_is_named_in_plain_words(words):
    done = scopes(*words, "abc", table=PRODUCT)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[0] == f"error: invalid value for '{words[1]}': 'abc' is not a number"


@pytest.mark.slow
def test_what_once_says_about_a_file_a_running_watch_says_once_too(agent, watch):
    running = watch("--json")
    running.begin()
    agent.turn(1)
    running.row()
    with open(agent.session, "ab") as file:
        file.write(b'{"type": "user", "message": \n')
    agent.turn(2)
    running.row()
    agent.turn(3)
    running.row()
    code, problems = running.end()
    assert (code, problems.count("could not be read")) == (0, 1), problems


@pytest.mark.slow
def test_a_new_file_of_an_unknown_format_is_named_once(agent, watch):
    running = watch("--json")
    running.begin()
    other = agent.session.with_name("notes.jsonl")
    other.write_text("no transcript\n")
    assert f"skipped {other}: unknown format" in running.process.stderr.readline()
    other.write_text("no transcript\nat all\n")
    agent.turn(1)
    running.row()
    code, problems = running.end()
    assert (code, "notes.jsonl" in problems) == (0, False)


def test_a_signal_during_the_first_import_says_at_once_what_happens(agent, watch):
    """The import waits for a store that another process has locked."""
    agent.turn(1)
    create_store(agent.store)
    with exclusive_write(open_store(agent.store)):
        running = watch("--json")
        while "waiting" not in (words := running.process.stderr.readline()):
            assert words
        running.process.send_signal(signal.SIGTERM)
        assert running.process.stderr.readline() == "finishing this import; repeat the signal to stop at once\n"
    _, problems = running.process.communicate(timeout=SECONDS)
    assert running.process.returncode == 0, problems
    assert agent.texts() == texts_of(1)
