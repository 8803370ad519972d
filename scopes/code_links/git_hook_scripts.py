"""The scripts of the hooks that scopes adds to a repository, for any POSIX shell.

Each first runs the hook that was there before, with its arguments and input, and ends with its exit code. What scopes
adds runs two processes of git, writes a file of some lines and starts scopes in the background: a commit takes some
hundredths of a second longer, and cannot fail because of it. Only the trailer is waited for, because it is part of the
commit.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from hashlib import sha256
from typing import Final, NamedTuple

from scopes.code_links.agent_environment import AGENT_VARIABLES, VARIABLES
from scopes.code_links.pending_commits import DIRECTORY, END, HEADING, PENDING, STARTING

KEPT_SUFFIX: Final = ".before-scopes"
RECORDING_HOOKS: Final = ("post-commit", "post-rewrite")
TRAILER: Final = "prepare-commit-msg"
TRAILER_NAME: Final = "Scopes-Turn"
RUN: Final = "git"  # the target of `hooks run` that records what the scripts have written
TURN: Final = "git-turn"  # prints the message id for the trailer
_MARK: Final = "# scopes setup git: "
_ANY = "".join(f"${{{name}-}}" for name in dict.fromkeys(name for agent in AGENT_VARIABLES for name in agent.present))
_VALUES = "\n".join(f'\t\tscopes_value {name} "${{{name}-}}"' for name in VARIABLES)

_HEAD = """\
# Records which session of an agent made a commit. Take it out with: scopes setup git --remove
scopes_kept="${{0%/*}}/{name}{kept}"
scopes_status=0
"""
_RUN_KEPT = """\
if [ -x "$scopes_kept" ]; then
	"$scopes_kept" "$@"
	scopes_status=$?
fi
"""
_RUN_KEPT_WITH_INPUT = """\
scopes_pairs=$(cat)
if [ -x "$scopes_kept" ]; then
	printf '%s\\n' "$scopes_pairs" | "$scopes_kept" "$@"
	scopes_status=$?
fi
"""
_TAIL = """\
scopes_note "$@" </dev/null >/dev/null 2>&1
exit $scopes_status
"""
# A second later, so that commits in a row start one process; the number is that of one that has not begun to work.
# After a minute, or if it is younger than the file that was just written, it may be that of any other process.
# The git directory may come from somebody else: nothing is written through a link in it, nor read from a pipe.
_START = """\
scopes_is_real() {{
	[ -d "$scopes_left" ] && [ ! -h "$scopes_left" ] && [ ! -h "$scopes_shared/{directory}" ]
}}
scopes_is_recent() {{
	[ -n "$(find "$scopes_file" ! -mmin +1 ! -newer "$scopes_left")" ]
}}
scopes_start() {{
	scopes_file="$scopes_shared/{directory}/{starting}"
	if [ -e "$scopes_file" ] || [ -h "$scopes_file" ]; then
		[ -f "$scopes_file" ] && [ ! -h "$scopes_file" ] || return
		read -r scopes_number <"$scopes_file"
		case $scopes_number in '' | 0* | *[!0-9]*) ;; *) scopes_is_recent && kill -0 "$scopes_number" && return ;; esac
	fi
	(sleep 1 && exec {command}) &
	echo $! >"$scopes_file"
}}
"""
_POST_COMMIT = """\
scopes_value() {{
	case $2 in '') ;; *[!0-9A-Za-z_.:-]*) echo "$1=?" ;; *) echo "$1=$2" ;; esac
}}
scopes_note() {{
	[ -n "{any}" ] || return
	scopes_shared=$(git rev-parse --git-common-dir) || return
	scopes_left="$scopes_shared/{directory}/{pending}"
	scopes_is_real || return
	scopes_commit=$(git rev-parse --verify HEAD) || return
	{{
		printf '%s\\n' '{heading}' "commit $scopes_commit"
{values}
		echo {end}
	}} >"$scopes_left/$scopes_commit.$$"
	[ -d "${{GIT_DIR:-.git}}/rebase-merge" ] || scopes_start
}}
"""
_POST_REWRITE = """\
scopes_note() {{
	scopes_shared=$(git rev-parse --git-common-dir) || return
	scopes_left="$scopes_shared/{directory}/{pending}"
	scopes_is_real || return
	printf '%s\\n' '{heading}' "rewrite $1" "$scopes_pairs" {end} >"$scopes_left/rewrite.$$"
	scopes_start
}}
"""
_PREPARE_MESSAGE = """\
scopes_note() {{
	[ $scopes_status = 0 ] && [ -n "{any}" ] || return
	case $2 in merge | squash | commit) return ;; esac
	scopes_own=$(git rev-parse --git-dir) || return
	for scopes_doing in rebase-merge rebase-apply CHERRY_PICK_HEAD; do
		[ ! -e "$scopes_own/$scopes_doing" ] || return
	done
	scopes_turn=$({command})
	case $scopes_turn in '' | *[!a-z2-7]*) return ;; esac
	git interpret-trailers --in-place --if-exists addIfDifferent --trailer "{trailer}: $scopes_turn" "$1"
}}
"""
_COMMAND = re.compile(r"^\t(?:\(sleep 1 && exec (.+)\) &|scopes_turn=\$\((.+)\))$", re.MULTILINE)


class Script(NamedTuple):
    """A hook of ours, as it was found in a file: whether somebody changed it, and the rest of its text."""

    text: str
    is_changed: bool


def make_script(name: str, command: Sequence[str], store: str | None) -> str:
    """Return the script of a hook; `command` are the words that start scopes, from any directory."""
    words = [*command, "hooks", "run", TURN if name == TRAILER else RUN]
    fields = {
        "any": _ANY, "command": shlex.join([*words, "--store", store] if store is not None else words), "end": END,
        "directory": DIRECTORY, "pending": PENDING, "heading": HEADING, "values": _VALUES, "trailer": TRAILER_NAME,
        "starting": STARTING,
    }  # fmt: skip
    parts = {
        "post-commit": (_RUN_KEPT, _START + _POST_COMMIT),
        "post-rewrite": (_RUN_KEPT_WITH_INPUT, _START + _POST_REWRITE),
        TRAILER: (_RUN_KEPT, _PREPARE_MESSAGE),
    }
    run_kept, function = parts[name]
    body = _HEAD.format(name=name, kept=KEPT_SUFFIX) + run_kept + function.format_map(fields) + _TAIL
    return f"#!/bin/sh\n{_MARK}{_digest(body)}\n{body}"


def parse_script(data: bytes) -> Script | None:
    """Return a hook of ours; None for one of somebody else."""
    text = data.decode("utf-8", "surrogateescape")
    first, _, rest = text.partition("\n")
    mark, _, body = rest.partition("\n")
    if first != "#!/bin/sh" or not mark.startswith(_MARK):
        return None
    return Script(text, mark.removeprefix(_MARK) != _digest(body))


def find_command(script: str) -> list[str] | None:
    """Return the words with which a hook of ours starts scopes; None if they cannot be found."""
    found = _COMMAND.search(script)
    try:
        return None if found is None else shlex.split(found[1] or found[2])
    except ValueError:
        return None


def _digest(body: str) -> str:
    return sha256(body.encode("utf-8", "surrogateescape")).hexdigest()[:32]
