"""Files with which systemd or launchd keep a command of this program running for a user; they are printed only."""

from __future__ import annotations

import plistlib
from collections.abc import Sequence
from dataclasses import dataclass

from scopes.errors import Invalid
from scopes.result import Result

MANAGERS = ("systemd", "launchd")
_SYSTEMD = """\
[Unit]
Description=Record coding agents with scopes

[Service]
ExecStart={command}
Restart=on-failure
RestartSec=30
Nice=5

[Install]
WantedBy=default.target
"""
_SYSTEMD_HINT = "save it as {file}, then: systemctl --user enable --now scopes-watch"
_LAUNCHD_HINT = "save it as {file}, then: launchctl bootstrap gui/$(id -u) {file}"
_LABEL = "dev.scopes.watch"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceUnit(Result):
    """The text of a unit, and how to use it."""

    manager: str
    text: str
    hint: str

    @property
    def answer(self) -> str:
        """The unit."""
        return self.text

    @property
    def next_step(self) -> str:
        """How to use it."""
        return self.hint


def describe_service(manager: str, command: Sequence[str]) -> ServiceUnit:
    """Return the unit that runs a command for `systemd` or `launchd`.

    Raises:
        Invalid: it is another manager, or a word has a line break.
    """
    if any("\n" in word or "\0" in word for word in command):
        raise Invalid("a path with a line break cannot be written into a unit")
    if manager == "systemd":
        text = _SYSTEMD.format(command=" ".join(map(_quote_systemd, command)))
        hint = _SYSTEMD_HINT.format(file="~/.config/systemd/user/scopes-watch.service")
    elif manager == "launchd":
        document = {
            "Label": _LABEL,
            "ProgramArguments": list(command),
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "ProcessType": "Background",
        }
        text = plistlib.dumps(document, sort_keys=False).decode()
        hint = _LAUNCHD_HINT.format(file=f"~/Library/LaunchAgents/{_LABEL}.plist")
    else:
        raise Invalid(f"{manager!a} is not a known service manager", hint=f"managers: {', '.join(MANAGERS)}")
    return ServiceUnit(manager=manager, text=text, hint=hint)


def _quote_systemd(word: str) -> str:
    """Quote a word of a command line as systemd.service(5) and systemd.syntax(7) have it."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'
