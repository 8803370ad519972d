"""Generate the files derived from the command table: completions, manual pages, options.tsv, command_docs.json.

`python -m scopes.cli.generate` writes them into this checkout; `--check` only lists the files that differ.
"""

from __future__ import annotations

import os
import sys
from typing import get_args

from scopes.check.compare import MODES
from scopes.check.hook import AGENTS
from scopes.check.policy import FAIL_ON, PRESETS
from scopes.cli.command_docs import DOCS_FILE, CommandDocs, ParameterDocs, dump_docs
from scopes.cli.completion_scripts import SCRIPTS
from scopes.cli.inspect_command import inspect_command, inspect_types
from scopes.cli.man_pages import command_page, page_name, read_manual, root_page
from scopes.cli.option_rows import OPTIONS_FILE
from scopes.cli.table import TABLE, Table
from scopes.context.bisect_command import INPUTS
from scopes.context.history_block import MEMORY
from scopes.handover.agent_programs import PROGRAMS
from scopes.handover.native.registry import WRITERS
from scopes.handover.skills import FOLDERS
from scopes.hosts.mcp_servers import HOSTS
from scopes.live.hook_targets import TARGETS
from scopes.model.conflicts import CONFLICT_TYPES, STATUSES
from scopes.model.conversation import PURPOSES, REQUEST_STATES
from scopes.model.message import AUTHOR_KINDS, KINDS
from scopes.model.validation import Category, RequestType, Risk
from scopes.proposals.proposal import REJECTION_REASONS, STATES
from scopes.server.acp.options import CONTINUE, INJECT
from scopes.store.config import CHOICES, SETTINGS

PAGES = "man/man1"
# Values that completion offers for options whose parser takes any text, because the operation checks them.
_CHOICES: dict[str, tuple[str, ...]] = {
    "--kind": KINDS,
    "memory search --kind": ("decision", "action", "summary"),
    "--author-kind": AUTHOR_KINDS,
    "--strategy": ("automatic", "ours", "theirs", "manual"),
    "conflicts list --status": STATUSES,
    "bisect --input": INPUTS,
    "--state": (*REQUEST_STATES, "all"),
    "proposals list --state": STATES,
    "proposals reject --reason": REJECTION_REASONS,
    "proposals create --category": get_args(Category),
    "proposals create --risk": get_args(Risk),
    "proposals create --request-type": get_args(RequestType),
    "--purpose": PURPOSES,
    "--level": ("store", "user"),
    "check --hook": AGENTS,
    "check --compare-mode": MODES,
    "check --preset": PRESETS,
    "check --fail-on": FAIL_ON,
    "--memory": MEMORY,
    "acp --continue": CONTINUE,
    "acp --inject": INJECT,
    "resume --in": tuple(dict.fromkeys((*WRITERS, *PROGRAMS))),
    "hooks install 1": tuple(TARGETS),
    "hooks remove 1": tuple(TARGETS),
    "hooks status 1...": tuple(TARGETS),
    "mcp install 1": tuple(HOSTS),
    "mcp remove 1": tuple(HOSTS),
    "mcp status 1...": tuple(HOSTS),
    "skills install 1": tuple(FOLDERS),
    "skills remove 1": tuple(FOLDERS),
    "skills status 1...": tuple(FOLDERS),
}
_AGENT_OPTIONS = {"--as", "--author", "--agent", "--to", "--participant"}
SCRIPT_NAMES = {"bash": "scopes.bash", "zsh": "_scopes", "fish": "scopes.fish"}


def generate(table: Table, settings: dict[str, str]) -> dict[str, str]:
    """Return the generated files: path in the checkout -> text."""
    docs = {path: inspect_command(command) for path, command in table.commands.items()}
    files = {f"completions/{SCRIPT_NAMES[shell]}": script for shell, script in SCRIPTS.items()}
    files[f"{PAGES}/scopes.1"] = root_page(table, settings.items())
    for path, each in docs.items():
        name = page_name(path)
        files[f"{PAGES}/{name}.1"] = command_page(name, each, read_manual(path))
    rows = [
        row for path, each in docs.items() for row in _rows(" ".join(path), each, inspect_types(table.commands[path]))
    ]
    rows += [
        "\t".join(("=", key, "", ",".join(CHOICES.get(name, ())), about))
        for name, about in settings.items()
        for key in _keys(name)
    ]
    files["scopes/cli/" + os.path.basename(OPTIONS_FILE)] = "".join(f"{row}\n" for row in rows)
    files["scopes/cli/" + os.path.basename(DOCS_FILE)] = dump_docs(docs)
    return files


def _keys(name: str) -> list[str]:
    """Expand `<type>` to one key for each conflict type; keys with a `<name>` of the user's choice cannot be listed."""
    if "<name>" in name:
        return []
    return [name.replace("<type>", kind) for kind in CONFLICT_TYPES] if "<type>" in name else [name]


def _rows(path: str, docs: CommandDocs, types: dict[str, str]) -> list[str]:
    """Return one row per argument and option name: command, name or position, placeholder, choices, help, parameter."""
    rows = [
        _row(path, f"{position}{'...' * part.repeated}", part, types[str(position)])
        for position, part in enumerate(docs.arguments, start=1)
    ]
    return rows + [_row(path, name, part, types.get(name, "")) for part in docs.options for name in part.names]


def _row(path: str, name: str, part: ParameterDocs, parameter: str) -> str:
    choices = part.choices or _CHOICES.get(f"{path} {name}") or _CHOICES.get(name, ())
    value = "AGENT" if name in _AGENT_OPTIONS and part.value == "NAME" else part.value or ""
    return "\t".join((path, name, value, ",".join(choices), part.help, parameter))


def main(arguments: list[str]) -> int:
    """Write the files and list the changed ones; with `--check` only list them, and return 1 if there are any."""
    check = "--check" in arguments
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    files: dict[str, str | None] = {**generate(TABLE, SETTINGS)}
    for name in _existing_pages(root):
        files.setdefault(name, None)
    outdated = [name for name, text in files.items() if _read(os.path.join(root, name)) != text]
    for name in outdated:
        sys.stdout.write(f"{name}\n")
        if not check:
            _write(os.path.join(root, name), files[name])
    return 1 if check and outdated else 0


def _existing_pages(root: str) -> list[str]:
    pages = os.path.join(root, PAGES)
    return [f"{PAGES}/{name}" for name in sorted(os.listdir(pages))] if os.path.isdir(pages) else []


def _write(path: str, text: str | None) -> None:
    if text is None:
        os.unlink(path)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _read(path: str) -> str | None:
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return file.read()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
