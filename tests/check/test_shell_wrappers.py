"""Programs that run another command: which words are that command, for every wrapper that the reader knows."""

from __future__ import annotations

import pytest

from scopes.check.shell import parse_commands
from scopes.check.shell_state import Word
from scopes.check.shell_wrappers import WRAPPERS, is_abbreviation, split_options, unwrap_program

TABLE = {
    "sudo": [
        ("sudo git push", "git push"),
        ("sudo -u bob -H git push", "git push"),
        ("sudo -nu bob -- git push", "git push"),
        ("sudo --user=bob --chdir /x git push", "git push"),
        ("sudo -E A=1 B=2 git push -f", "git push -f"),
        ("/usr/bin/sudo git push", "git push"),
    ],
    "doas": [("doas git push", "git push"), ("doas -u bob git push", "git push"), ("doas -n git push", "git push")],
    "pkexec": [("pkexec git push", "git push"), ("pkexec --user bob git push", "git push")],
    "run0": [("run0 git push", "git push"), ("run0 -u bob --unit x git push", "git push")],
    "gosu": [("gosu bob git push", "git push"), ("gosu bob:staff git push -f", "git push -f")],
    "su-exec": [("su-exec bob git push", "git push")],
    "runuser": [("runuser -u bob -c 'git push'", "git push"), ("runuser --command 'git push' bob", "git push")],
    "env": [
        ("env git push", "git push"),
        ("env -i A=1 B=2 git push", "git push"),
        ("env -u HOME -- git push", "git push"),
        ("env -S 'git push' -f", "git push -f"),
        ("env -i -vS'git push' -f x", "git push -f x"),
        ("env --split-string='git -C x push' -f", "git push -f"),
        ("env --unset=A -C x git push", "git push"),
    ],
    "nice": [("nice git push", "git push"), ("nice -n 10 git push", "git push"), ("nice -10 git push", "git push")],
    "ionice": [("ionice -c 3 git push", "git push"), ("ionice -c2 -n0 git push", "git push")],
    "chrt": [("chrt -i 0 git push", "git push")],
    "taskset": [("taskset 0x3 git push", "git push"), ("taskset -c 0,1 git push", "git push")],
    "cpulimit": [("cpulimit -l 50 git push", "git push"), ("cpulimit -l 50 -- git push", "git push")],
    "nohup": [("nohup git push &", "git push")],
    "setsid": [("setsid git push", "git push"), ("setsid -f git push", "git push")],
    "caffeinate": [("caffeinate -i git push", "git push"), ("caffeinate -t 60 git push", "git push")],
    "timeout": [
        ("timeout 5 git push", "git push"),
        ("timeout -k 1 -s KILL 5m git push", "git push"),
        ("timeout --preserve-status --signal=INT 5 git push", "git push"),
    ],
    "gtimeout": [("gtimeout -k 1 5 git push", "git push")],
    "time": [("/usr/bin/time -f %e -o x git push", "git push"), ("time -p git push", "git push")],
    "stdbuf": [("stdbuf -oL -e 0 git push", "git push"), ("stdbuf --output=L git push", "git push")],
    "unbuffer": [("unbuffer git push", "git push")],
    "command": [("command git push", "git push"), ("command -p git push", "git push")],
    "exec": [("exec git push", "git push"), ("exec -a x git push", "git push"), ("exec -cl git push", "git push")],
    "builtin": [("builtin git push", "git push")],
    "coproc": [("coproc git push", "git push")],
    "setarch": [("setarch x86_64 git push", "git push"), ("setarch -R git push", "git push")],
    "linux32": [("linux32 git push", "git push")],
    "linux64": [("linux64 -R git push", "git push")],
    "i386": [("i386 git push", "git push")],
    "x86_64": [("x86_64 git push", "git push")],
    "prlimit": [("prlimit --nofile=99 git push", "git push")],
    "choom": [("choom -n 0 -- git push", "git push")],
    "setpriv": [("setpriv --nnp git push", "git push"), ("setpriv --reuid 1 git push", "git push")],
    "nsenter": [("nsenter -t 1 -m git push", "git push"), ("nsenter -t1 -m git push", "git push")],
    "capsh": [("capsh -- --version", "bash --version")],
    "start-stop-daemon": [
        ("start-stop-daemon -S -x /usr/bin/git -- push", "/usr/bin/git push"),
        ("start-stop-daemon --start --exec /usr/bin/git -- push", "/usr/bin/git push"),
        ("start-stop-daemon --start -b --chuid bob --start --startas /usr/bin/git push", "/usr/bin/git push"),
        ("start-stop-daemon --starta /usr/bin/git --pidf x -- push", "/usr/bin/git push"),
    ],
    "ip netns exec": [("ip netns exec foo git push", "git push")],
    "ip vrf exec": [("ip vrf exec foo git push", "git push")],
    "systemd-run": [("systemd-run --uid=0 git push", "git push"), ("systemd-run --user -p A=b git push", "git push")],
    "sg": [("sg root -c 'git push'", "git push")],
    "gsudo": [("gsudo -u bob git push", "git push")],
    "dzdo": [("dzdo -u bob git push", "git push")],
    "ssh-agent": [("ssh-agent git push", "git push"), ("ssh-agent -t 60 git push", "git push")],
    "fakeroot": [("fakeroot -- git push", "git push")],
    "eatmydata": [("eatmydata git push", "git push")],
    "chronic": [("chronic git push", "git push")],
    "ifne": [("ifne -n git push", "git push")],
    "rlwrap": [("rlwrap git push", "git push")],
    "dumb-init": [("dumb-init -- git push", "git push")],
    "tini": [("tini -- git push", "git push")],
    "numactl": [("numactl -m 0 git push", "git push")],
    "cgexec": [("cgexec -g cpu:x git push", "git push")],
    "faketime": [("faketime '2020-01-01' git push", "git push")],
    "catchsegv": [("catchsegv git push", "git push")],
    "ld.so": [("/lib64/ld-linux-x86-64.so.2 --library-path /x git push", "git push"), ("ld.so git push", "git push")],
    "sem": [("sem -j 2 git push", "git push")],
    "hyperfine": [("hyperfine -w 3 'git push'", "git push")],
    "concurrently": [("concurrently 'git push'", "git push")],
    "pee": [("pee 'git push'", "git push")],
    "corepack": [("corepack npm publish", "npm publish"), ("corepack pnpm@9 publish", "pnpm publish")],
    "aws-vault exec": [("aws-vault exec dev -- git push", "git push"), ("aws-vault exec dev git push", "git push")],
    "op run": [("op run --env-file x -- git push", "git push")],
    "doppler run": [("doppler run -- git push", "git push"), ("doppler run --command='git push'", "git push")],
    "infisical run": [("infisical run --env dev -- git push", "git push")],
    "perf stat": [("perf stat -e x git push", "git push")],
    "perf record": [("perf record -o x git push", "git push")],
    "busybox": [("busybox rm -rf x", "rm -rf x")],
    "toybox": [("toybox rm -rf x", "rm -rf x")],
    "chroot": [("chroot /x git push", "git push"), ("chroot --userspec=bob /x git push", "git push")],
    "unshare": [("unshare -n git push", "git push"), ("unshare -S 0 -R /x git push", "git push")],
    "strace": [("strace -f -o x -e trace=file git push", "git push")],
    "ltrace": [("ltrace -c git push", "git push")],
    "valgrind": [("valgrind --leak-check=full git push", "git push")],
    "xvfb-run": [("xvfb-run -a git push", "git push"), ("xvfb-run -s '-screen 0' git push", "git push")],
    "dbus-run-session": [("dbus-run-session -- git push", "git push")],
    "proxychains": [("proxychains -q -f x git push", "git push")],
    "torsocks": [("torsocks git push", "git push")],
    "ccache": [("ccache gcc -c x.c", "gcc -c x.c")],
    "watch": [("watch -n 5 git push", "git push"), ("watch -d 'git push'", "git push"), ("watch -x git push", "git push")],
    "flock": [
        ("flock x git push", "git push"),
        ("flock -w 5 x git push", "git push"),
        ("flock x -c 'git push'", "git push"),
        ("flock -n /tmp/x --command 'git push'", "git push"),
    ],
    "script": [("script -q -c 'git push' log", "git push"), ("script --command 'git push'", "git push")],
    "su": [
        ("su -c 'git push'", "git push"),
        ("su - bob -c 'git push'", "git push"),
        ("su -l bob -c 'git push'", "git push"),
        ("su bob -c 'git push'", "git push"),
        ("su bob --command='git push'", "git push"),
        ("su -s /bin/sh -c 'git push' bob", "git push"),
    ],
    "npx": [
        ("npx rimraf dist", "rimraf dist"),
        ("npx -y -p rimraf rimraf dist", "rimraf dist"),
        ("npx jest -c jest.config.js", "jest -c jest.config.js"),
        ("npx --package=x -c 'git push'", "git push"),
    ],
    "bunx": [("bunx rimraf dist", "rimraf dist"), ("bunx -p x git push", "git push")],
    "uvx": [("uvx twine upload x", "twine upload x"), ("uvx --from twine twine upload x", "twine upload x")],
    "direnv exec": [("direnv exec . git push", "git push")],
    "dotenv": [("dotenv -f .env git push", "git push"), ("dotenv -- git push", "git push")],
    "nix-shell": [("nix-shell -p git --run 'git push'", "git push"), ("nix-shell --command 'git push'", "git push")],
    "uv run": [
        ("uv run pytest -q", "pytest -q"),
        ("uv run --with x -p 3.12 -- pytest -q", "pytest -q"),
        ("uv run --directory x pytest", "pytest"),
        ("uv run --no-sync -m pytest", None),
    ],
    "uv tool run": [("uv tool run --from twine twine upload x", "twine upload x")],
    "pipx run": [("pipx run --spec x git push", "git push")],
    "poetry run": [("poetry run pytest", "pytest"), ("poetry run -C x pytest", "pytest")],
    "pipenv run": [("pipenv run pytest", "pytest")],
    "pdm run": [("pdm run -p x pytest", "pytest")],
    "hatch run": [("hatch run pytest", "pytest")],
    "rye run": [("rye run pytest", "pytest")],
    "bundle exec": [("bundle exec rspec x", "rspec x")],
    "conda run": [("conda run -n x pytest", "pytest"), ("conda run --cwd x -p y pytest", "pytest")],
    "mise exec": [("mise exec -- pytest", "pytest"), ("mise exec -C x pytest", "pytest")],
    "asdf exec": [("asdf exec pytest", "pytest")],
    "npm exec": [("npm exec -- rimraf x", "rimraf x"), ("npm exec -c 'git push'", "git push")],
    "npm x": [("npm x -- rimraf x", "rimraf x"), ("npm --prefix . x -c 'git push'", "git push")],
    "cmake -E": [("cmake -E rm -rf x", "rm -rf x"), ("cmake -E remove_directory x", "rm -r x")],
    "pnpm exec": [("pnpm exec jest x", "jest x"), ("pnpm exec --filter x jest", "jest")],
    "pnpm dlx": [("pnpm dlx --package x rimraf y", "rimraf y")],
    "yarn dlx": [("yarn dlx -p x rimraf y", "rimraf y")],
    "yarn exec": [("yarn exec jest", "jest")],
}  # fmt: skip


def test_every_wrapper_has_a_row_here():
    assert set(TABLE) == set(WRAPPERS)


@pytest.mark.parametrize(
    ("name", "line", "inner"), [(name, line, inner) for name, rows in TABLE.items() for line, inner in rows if inner]
)
def test_the_command_below_a_wrapper_is_read(name, line, inner):
    command = parse_commands(line, "/w")[-1]
    assert " ".join(command.argv) == inner
    assert command.wrappers == (name,)
    assert command.opaque is None


@pytest.mark.parametrize(
    "line",
    [
        "sudo -l", "sudo -v", "sudo -e /etc/hosts", "sudo -k", "doas -L", "command -v git", "command -V git", "env",
        "env A=1", "nohup", "timeout 5", "nice -n 3", "gosu bob", "exec", "su - bob", "flock -u 9", "watch -n 5",
        "uv sync", "uv run", "uv tool install x", "poetry install", "bundle install", "npm run exec", "mise install",
        "sudo --version", "script log", "nix-shell -p git", "conda install x", "sudo -u bob",
    ],
)  # fmt: skip
def test_a_wrapper_that_runs_nothing_is_the_command_itself(line):
    (command,) = parse_commands(line, "/w")
    assert (" ".join(command.argv), command.wrappers) == (line, ())


@pytest.mark.parametrize(
    ("line", "wrappers", "inner"),
    [
        ("sudo timeout 5 nice -n 3 git push", ("sudo", "timeout", "nice"), "git push"),
        ("sudo -u bob bash -c 'nohup git push'", ("sudo", "bash -c", "nohup"), "git push"),
        ("env A=1 env B=2 git push", ("env", "env"), "git push"),
        ("uv run uvx git push", ("uv run", "uvx"), "git push"),
        ("echo x | xargs sudo git push", ("xargs", "sudo"), "git push x"),
        ("sudo su - bob -c 'sudo git push'", ("sudo", "su", "sudo"), "git push"),
        ("time sudo git push", ("time", "sudo"), "git push"),
        ("watch 'sudo git push; true'", ("watch", "sudo"), "git push"),
        ("f() { sudo git push; }; nice f", ("nice", "f()", "sudo"), "git push"),
    ],
)
def test_wrappers_below_each_other_are_named_outermost_first(line, wrappers, inner):
    command = next(each for each in parse_commands(line, "/w") if each.program == "git")
    assert (command.wrappers, " ".join(command.argv)) == (wrappers, inner)


@pytest.mark.parametrize(
    ("line", "directory"),
    [
        ("env -C x git push", "/w/x"),
        ("env --chdir=/x git push", "/x"),
        ("sudo -D x git push", "/w/x"),
        ("sudo --chdir ../x git push", "/x"),
        ("uv run --directory x pytest", "/w/x"),
        ("env -C $x git push", None),
        ("env -C x -C y git push", "/w/y"),
        ("cd y; env -C x git push", "/w/y/x"),
    ],
)
def test_an_option_that_changes_the_directory_is_followed(line, directory):
    assert parse_commands(line, "/w")[-1].directory == directory


def test_the_directory_of_a_wrapper_ends_with_it():
    assert parse_commands("env -C x a; b", "/w")[-1].directory == "/w"


@pytest.mark.parametrize(
    ("words", "valued", "long", "given", "operands"),
    [
        ("a b", "", (), {}, "a b"),
        ("-x a", "", (), {"-x": None}, "a"),
        ("-x a b", "x", (), {"-x": "a"}, "b"),
        ("-xa b", "x", (), {"-x": "a"}, "b"),
        ("-vx a b", "x", (), {"-v": None, "-x": "a"}, "b"),
        ("--name a b", "", ("--name",), {"--name": "a"}, "b"),
        ("--name=a b", "", ("--name",), {"--name": "a"}, "b"),
        ("--name= b", "", ("--name",), {"--name": ""}, "b"),
        ("--other a b", "", ("--name",), {"--other": None}, "a b"),
        ("-- -x a", "x", (), {}, "-x a"),
        ("- a", "x", (), {}, "- a"),
        ("a -x b", "x", (), {}, "a -x b"),
        ("-x", "x", (), {"-x": ""}, ""),
        ("--name", "", ("--name",), {"--name": None}, ""),
        ("", "x", (), {}, ""),
    ],
)
def test_options_end_at_the_first_operand(words, valued, long, given, operands):
    options = split_options(tuple(Word(word, word) for word in words.split()), valued, long)
    assert {name: value and value.text for name, value in options.given} == given
    assert " ".join(word.text for word in options.operands) == operands


@pytest.mark.parametrize(
    ("given", "name", "expected"),
    [
        ("--force", "--force", True),
        ("--forc", "--force", True),
        ("--f", "--force", True),
        ("--", "--force", False),
        ("-f", "--force", False),
        ("--forced", "--force", False),
        ("--Force", "--force", False),
        ("", "--force", False),
    ],
)
def test_a_long_option_may_be_shortened(given, name, expected):
    assert is_abbreviation(given, name) is expected


def test_an_option_without_a_value_is_no_shortened_one():
    words = tuple(Word(word, word) for word in ("--start", "--starta", "x", "y"))
    options = split_options(words, "", ("--startas",), ("--start",))
    assert [name for name, _ in options.given] == ["--start", "--startas"]
    assert [word.text for word in options.operands] == ["y"]


def test_the_last_value_of_an_option_counts():
    options = split_options(tuple(Word(word, word) for word in ["-n", "1", "-n", "2", "a"]), "n")
    assert options.value(("-n",)) == Word("2", "2")
    assert options.value(("-m",)) is None
    assert (options.has("xn"), options.has("x")) == (True, False)


def test_a_program_whose_name_the_shell_computes_is_no_wrapper():
    assert unwrap_program((Word(None, "$sudo"), Word("a", "a"))) == []
    (step,) = unwrap_program((Word(None, "$bin/sudo"), Word("a", "a")))
    assert (step.wrapper, step.words) == ("sudo", (Word("a", "a"),))


REAL = [
    "env A=1 a b; env -i PATH=$PATH LOG=$LOG a 'c d'; env -u X a; env -- a b; env -S 'a b' c",
    "nice a b; nice -n 3 a b; nice -3 a; nice --adjustment=3 a",
    "nohup a b; setsid -w a b; stdbuf -oL a b; stdbuf -o L -e0 a b",
    "timeout 5 a b; timeout -k 1 5 a; timeout -s KILL 5 a b; timeout --signal=KILL 5 a; timeout --foreground 5 a",
    "command a b; command -p true; exec a b",
    "(exec -a x a b); (exec a c)",
    "time a b; time -p a",
    "flock lock a b; flock -n lock -c 'a b'; flock -w 1 lock a c",
    "taskset 1 a b; taskset -c 0 a; chrt -o 0 a b; ionice -c 3 a b; ionice -c3 a",
    "env nice -n 1 timeout 5 stdbuf -o0 a b",
    "env -C x nice a; env --chdir x a",
    "command env A=1 nice env B=2 a b",
]


@pytest.mark.parametrize("line", REAL)
def test_the_commands_are_those_that_the_real_wrappers_run(bash, line):
    assert bash.parsed(line) == bash.commands(line)
