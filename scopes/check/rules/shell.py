"""Rules about commands that reach beyond the workspace: downloaded code, other users, installing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from scopes.check.calls import Call, has_unread_command
from scopes.check.findings import Finding
from scopes.check.globs import matches_one
from scopes.check.rules.base import Parameter, Rule, Settings, Unknown, event_of
from scopes.check.rules.commands import ALLOW, judge_commands, matches_any
from scopes.check.rules.publish import PUBLISH
from scopes.check.run import Run
from scopes.check.shell_command import Command
from scopes.lazy_patterns import compile_lazily

_FETCHERS: Final = ["curl", "wget", "fetch", "aria2c", "http", "https", "xh", "lynx", "w3m"]
_OTHER_USERS: Final = frozenset(
    {"sudo", "doas", "pkexec", "run0", "su", "runuser", "gosu", "su-exec", "sudoedit", "sg", "newgrp", "gsudo", "dzdo",
     "runas", "psexec", "machinectl", "systemd-run", "please", "sudo-rs"}
)  # fmt: skip
_HARMLESS: Final = frozenset({"-l", "-v", "-k", "-K", "-V", "-n", "--version", "-nv", "-vn", "-ln", "-nl"})
_CONTAINERS: Final = frozenset({"docker", "podman", "nerdctl", "docker-compose"})
_HOST_ROOT: Final = compile_lazily(r"/:.*|(?:.*,)?(?:source|src)=/(?:,.*)?")
_INSTALLING: Final = [
    "npm install **", "npm i **", "npm ci **", "npm add **", "pnpm install **", "pnpm i **", "pnpm add **",
    "yarn", "yarn install **", "yarn add **", "bun install **", "bun add **", "pip* install **",
    "python* -m pip install **", "uv add **", "uv pip install **", "uv tool install **", "pipx install **",
    "poetry add **", "poetry install **", "pdm add **", "conda install **", "mamba install **", "apt install **",
    "apt-get install **", "dnf install **", "yum install **", "apk add **", "brew install **", "pacman -S* **",
    "zypper install **", "cargo install **", "cargo add **", "gem install **", "bundle install **", "go install **",
    "go get **", "composer install **", "composer require **", "dotnet add package **", "nix-env -i* **",
    "winget install **", "choco install **",
]  # fmt: skip
_LIMITS: Final = ("it is longer than ", "it is nested too deeply", "it runs too many ", "it takes too long ")
_READABLE: Final = ["source *bin/activate **", ". *bin/activate **"]


def _decide_pipe_to_shell(command: Command, _: Call, __: Run, settings: Settings) -> str | None:
    fetchers = [name for name in command.code_from if name in settings.parameters["programs"]]
    if not fetchers or matches_any(settings.parameters["allow"], command):
        return None
    return f"runs what {fetchers[0]} prints, unread"


def _decide_privilege(command: Command, _: Call, __: Run, settings: Settings) -> str | None:
    user = next((name for name in command.wrappers if name in _OTHER_USERS), None)
    if user is None and command.program in _OTHER_USERS:
        user = None if _is_question(command) else command.program
    if user in {"systemd-run", "machinectl"} and "--user" in command.text.split():
        user = None
    if (user is None and not _has_host_root(command)) or matches_any(settings.parameters["allow"], command):
        return None
    return "a container gets the rights of root on this machine" if user is None else f"runs as another user ({user})"


def _is_question(command: Command) -> bool:
    """Return True if a command only prints what is allowed or running."""
    words = set(command.argv[1:])
    if command.program == "machinectl":
        return not words & {"shell", "login"}
    if command.program in {"newgrp", "sg", "systemd-run"}:
        return words <= {"--version", "--help"} and (bool(words) or command.program != "newgrp")
    return words <= {*_HARMLESS, "--help"} and command.argv != ("su",)


def _has_host_root(command: Command) -> bool:
    """Return True if a container can change all files of this machine, or run with its rights."""
    words = command.argv
    if command.program not in _CONTAINERS or not {"run", "create", "exec"} & {*words[1:8]}:
        return False
    if "--privileged" in words or "--pid=host" in words:
        return True
    values = [words[n + 1] for n, word in enumerate(words[:-1]) if word in {"-v", "--volume", "--mount"}]
    values += [word.partition("=")[2] for word in words if word and word.startswith(("--volume=", "--mount="))]
    values += [word[2:] for word in words if word and word.startswith("-v/")]
    return any(value is not None and _HOST_ROOT.fullmatch(value) for value in values)


def _decide_install(command: Command, _: Call, __: Run, settings: Settings) -> str | None:
    if not matches_any(settings.parameters["commands"], command):
        return None
    return None if matches_any(settings.parameters["allow"], command) else "installs packages"


def _decide_opaque(command: Command, _: Call, __: Run, settings: Settings) -> str | None:
    if command.opaque is None:
        return None
    as_written = command._replace(argv=command.words)
    return None if matches_one(settings.parameters["allow"], as_written) else command.opaque


_judge_unread = judge_commands("shell/opaque", _decide_opaque, "write the commands out, or add the command to `allow`")


def _judge_opaque(run: Run, settings: Settings) -> Iterable[Finding] | Unknown:
    """Judge what cannot be read; a line that exceeds a limit is an error: all commands of it may be hidden."""
    found = _judge_unread(run, settings)
    if isinstance(found, Unknown):
        return found
    unread = [call for call in run.calls if has_unread_command(call.call)]
    message, cure = "the command of the call is not a text", "see what the agent ran"
    return [
        *map(_with_level, found),
        *(Finding("shell/opaque", settings.level, message, (event_of(call),), cure=cure) for call in unread),
    ]


def _with_level(finding: Finding) -> Finding:
    return finding._replace(level="error") if finding.message.startswith(_LIMITS) else finding


PIPE_TO_SHELL = Rule(
    "shell/pipe-to-shell",
    "error",
    "Nothing from the network runs unread",
    "Decided from shells and interpreters that run the output of a download program: `curl ... | sh`, "
    '`sh -c "$(curl ...)"`, `eval`, `source <(curl ...)`. `curl ... | python3 -c TEXT` is none: there the output is '
    "data. It cannot see a download to a file that runs later. `programs` are the download programs; `allow` are "
    "patterns of the command that runs the code, such as `sh -s -- -y`.",
    judge_commands("shell/pipe-to-shell", _decide_pipe_to_shell, "download to a file, read it, then run it"),
    (ALLOW, Parameter("programs", _FETCHERS, "programs that print what they download")),
)
PRIVILEGE = Rule(
    "shell/privilege",
    "error",
    "Nothing runs as another user",
    "Decided from commands below sudo, doas, su, pkexec, run0, runuser, gosu, sg and systemd-run, from these without a "
    "command, and from containers that get `/` of this machine or --privileged. It cannot see whether the "
    "agent is root already, nor programs with the set-user-id bit. `allow` are patterns of the command below: "
    "`apt-get install **`.",
    judge_commands(
        "shell/privilege", _decide_privilege, "run it without, or add the inner command to `allow`", help_counts=True
    ),
    (ALLOW,),
)
INSTALL = Rule(
    "shell/install",
    "note",
    "Packages are not installed",
    "Decided from the patterns of `commands`. It cannot see what a script installs. `allow` accepts single commands, "
    "such as `npm ci`.",
    judge_commands("shell/install", _decide_install, "prepare the packages before the agent runs, or use `allow`"),
    (ALLOW, Parameter("commands", _INSTALLING, "patterns of commands that install")),
    strict="warning",
    read_only="error",
)
OPAQUE = Rule(
    "shell/opaque",
    "note",
    "Every command can be read",
    "Other rules see only what the command line states. Reported are commands that it does not state: a program in a "
    "variable, text for another language (`python -c`, `node -e`), scripts that a shell reads from a file or a pipe, "
    "`source`, other machines and containers, PowerShell, and syntax errors. So are commands that another rule cannot "
    "judge: an option, a subcommand or a refspec that the shell computes (`rm $flags x y`, `git $verb`, `git push "
    "origin $ref`), a program named by a pattern (`/bin/r?`), a file or a link that the same line makes, and a "
    "recursive deletion in a directory that is not known or behind a `cd` that may fail. A call of a shell "
    "whose command is not text is reported as well. A computed word that no rule "
    "asks for, as in `echo $x`, is none. `allow` are patterns of the words as written. "
    "A line that is too long, too deeply nested, or takes too long to read is an error at every level: it can "
    "hide any command. A hook asks the user about all that it cannot read.",
    _judge_opaque,
    (Parameter("allow", _READABLE, "commands that are known to be harmless"),),
    strict="warning",
    read_only="warning",
)
RULES = (PIPE_TO_SHELL, PRIVILEGE, PUBLISH, INSTALL, OPAQUE)
