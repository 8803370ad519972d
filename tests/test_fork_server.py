"""Programs in forked children behave as in a new interpreter; the tests of the command line depend on it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.support.fork_server import PIPE, listen, run_program
from tests.support.large_pages import LARGE_PAGES
from tests.support.store import ROOT

REPORT = """
import json, os, sys, time
import pygit2
from pygit2.enums import ConfigLevel
print(json.dumps([
    sys.argv, os.getcwd(), os.environ.get("HOME"), os.environ.get("ONLY_HERE"), time.tzname[0], sys.stdin.read(),
    [os.isatty(n) for n in range(3)], pygit2.settings.search_path[ConfigLevel.GLOBAL], sys.stdout.encoding,
]))
sys.stderr.write("warned\\n")
"""
ENDINGS = {
    "returns": ("pass", 0),
    "exits": ("import sys; sys.exit(5)", 5),
    "exits with a text": ("import sys; sys.exit('no')", 1),
    "raises": ("raise ValueError('no')", 1),
    "ends at once": ("import os; os._exit(9)", 9),
    "is killed": ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -9),
    "is interrupted by another signal": ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -15),
}


def in_a_new_interpreter(program, *words, environment, **keywords):
    return subprocess.run(
        [sys.executable, "-c", program, *words],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        **keywords,
    )


def test_a_child_sees_its_request_and_nothing_of_the_server(tmp_path):
    environment = {**os.environ, "HOME": str(tmp_path), "ONLY_HERE": "1", "TZ": "Asia/Tokyo"}
    forked = run_program(REPORT, ["a", "b c"], environment, input="typed", cwd=tmp_path)
    started = in_a_new_interpreter(REPORT, "a", "b c", environment=environment, input="typed", cwd=tmp_path)
    assert (forked.returncode, forked.stdout, forked.stderr) == (started.returncode, started.stdout, started.stderr)
    assert "Tokyo" not in forked.stdout
    assert "JST" in forked.stdout


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_child_ends_as_a_process_does(ending):
    program, code = ENDINGS[ending]
    forked = run_program(program, [], os.environ)
    assert forked.returncode == code == in_a_new_interpreter(program, environment=os.environ).returncode


def test_one_child_leaves_nothing_for_the_next():
    run_program("import sys, os, scopes.clock; scopes.clock.mark = 1; os.environ['LEFT'] = '1'", [], os.environ)
    done = run_program(
        "import os, scopes.clock; print(hasattr(scopes.clock, 'mark'), 'LEFT' in os.environ)", [], os.environ
    )
    assert done.stdout == "False False\n"


def test_much_input_and_output_passes():
    program = "import sys; data = sys.stdin.read(); sys.stderr.write(data[::-1]); sys.stdout.write(data)"
    data = "ab" * 300_000
    done = run_program(program, [], os.environ, input=data)
    assert (done.stdout, done.stderr) == (data, data[::-1])


def test_a_child_that_reads_nothing_ends():
    done = run_program("print('done')", [], os.environ, input="x" * 1_000_000)
    assert done.stdout == "done\n"


def test_a_child_that_does_not_end_is_killed():
    with pytest.raises(subprocess.TimeoutExpired):
        run_program("import os, time; print(os.getpid(), flush=True); time.sleep(60)", [], os.environ, timeout=0.3)
    assert run_program("print('the server goes on')", [], os.environ).returncode == 0


def test_streams_can_be_files(tmp_path):
    path = tmp_path / "out"
    with path.open("wb") as file:
        done = run_program("print('text')", [], os.environ, stdout=file, stderr=PIPE)
    assert (path.read_text(), done.stdout, done.stderr) == ("text\n", None, "")


@pytest.mark.parametrize("name", ["PYTHONHASHSEED", "LC_ALL", "LANG"])
def test_what_python_reads_at_its_start_starts_an_interpreter(name):
    """A forked child would have the server's own."""
    value = {"PYTHONHASHSEED": "7", "LC_ALL": "C", "LANG": "C"}[name]
    program = "import os, sys; print(os.getppid(), 'scopes.cli.main' in sys.modules)"
    done = run_program(program, [], {**os.environ, name: value})
    assert done.stdout == f"{os.getpid()} False\n"
    assert run_program(program, [], os.environ).stdout.endswith(" True\n")


def test_the_memory_settings_of_the_server_are_not_those_of_its_children():
    program = f"""
import os
server = dict(line.split("=", 1) for line in open(f"/proc/{{os.getppid()}}/environ").read().split("\\0") if line)
print(*(server.get(name) == value and name not in os.environ for name, value in {LARGE_PAGES!r}.items()))
"""
    assert run_program(program, [], os.environ).stdout == "True True\n"


def test_a_client_that_is_killed_leaves_no_error_behind(tmp_path):
    """Its program ends later, and there is nobody to tell; this happened on a busy machine."""
    client = os.path.join(ROOT, "tests", "support", "fork_client.py")
    with listen(tmp_path / "socket", "import sys; print('runs', flush=True); sys.stdin.read()"):
        command = [sys.executable, "-I", "-S", client, str(tmp_path / "socket")]
        with subprocess.Popen(command, stdin=PIPE, stdout=PIPE) as process:
            assert process.stdout.readline() == b"runs\n"
            process.kill()
