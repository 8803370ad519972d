"""Read the user's settings for signing with git itself, which knows every place, condition and spelling of settings.

Only settings of the system, the user and the environment are used. A store or a project may come from another person,
and some of these settings are programs to run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from scopes.errors import Invalid
from scopes.store.git_program import find_git
from scopes.store.settings import BOOLEANS

_KEYS = r"^(commit\.gpgsign|gpg\..*|user\.(name|email|signingkey))$"
_TRUSTED_SCOPES = frozenset({"system", "global", "command"})
_SECONDS = 10
_PROGRAMS = {"openpgp": "gpg", "x509": "gpgsm", "ssh": "ssh-keygen"}
_FORMAT_HINT = f"gpg.format is one of: {', '.join(_PROGRAMS)}"


class SigningSettings(NamedTuple):
    """The settings by key, section and name in lower case; git prints them so."""

    values: Mapping[str, str]

    @property
    def is_on(self) -> bool:
        """Whether git signs commits without being asked; a key without a value is true, as in git."""
        return BOOLEANS.get(self.values.get("commit.gpgsign", "no").lower(), False)

    @property
    def format(self) -> str:
        """The kind of signature.

        Raises:
            Invalid: git knows no such kind.
        """
        name = self.values.get("gpg.format", "openpgp")
        if name not in _PROGRAMS:
            raise Invalid(f"gpg.format of git is {name!a}, which is no kind of signature", hint=_FORMAT_HINT)
        return name

    @property
    def key(self) -> str | None:
        """The value of `user.signingKey`; None if it is not set."""
        return self.values.get("user.signingkey") or None

    @property
    def identity(self) -> str | None:
        """Name and address of the user, by which gpg finds a key; None if git does not know both."""
        name, email = self.values.get("user.name"), self.values.get("user.email")
        return f"{name} <{email}>" if name and email else None

    def program(self, kind: str) -> str:
        """Return the program for a kind of signature, as git is told to call it."""
        given = self.values.get(f"gpg.{kind}.program")
        if given is None and kind == "openpgp":
            given = self.values.get("gpg.program")
        return os.path.expanduser(given or _PROGRAMS[kind])

    def walk_for_checks(self) -> Iterator[str]:
        """Yield `key=value` of what git needs to check signatures."""
        for key, value in self.values.items():
            if key.startswith("gpg.") and key != "gpg.format":
                yield f"{key}={value}"


def read_signing_settings(directory: str) -> SigningSettings:
    """Ask git for the settings that hold in a directory; there are none if git is not installed or cannot read them."""
    program = find_git()
    if program is None:
        return SigningSettings({})
    try:
        done = subprocess.run(
            [program, "--no-pager", "config", "--show-scope", "--null", "--get-regexp", _KEYS],
            cwd=directory,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return SigningSettings({})
    return SigningSettings(dict(_parse(done.stdout.decode("utf-8", "surrogateescape"))))


def find_program(name: str) -> str | None:
    """Return the path of a program; only absolute directories of PATH are searched."""
    if os.sep in name:
        return name if os.path.isabs(name) and os.access(name, os.X_OK) else None
    directories = filter(os.path.isabs, os.environ.get("PATH", os.defpath).split(os.pathsep))
    return shutil.which(name, path=os.pathsep.join(directories))


def _parse(output: str) -> Iterator[tuple[str, str]]:
    """Yield key and value of what `git config --show-scope --null` printed; later ones win."""
    fields = output.split("\0")
    for scope, entry in zip(fields[::2], fields[1::2], strict=False):
        key, separator, value = entry.partition("\n")
        if scope in _TRUSTED_SCOPES:
            yield key, value if separator else "true"
