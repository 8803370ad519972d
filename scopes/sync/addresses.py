"""Check the address of a remote before git sees it: git runs programs for some addresses, and reads options in others.

https, ssh, `host:path` and directories are allowed, http and git (of `git daemon`) to this machine only. The limits
that git itself is given (GIT_ALLOW_PROTOCOL, `--` before the address) hold as well, also for what the user's
`url.*.insteadOf` makes of it.
"""

from __future__ import annotations

import os
import re
from typing import Final, Literal, NamedTuple, TypeAlias

from scopes.characters import INVISIBLE
from scopes.errors import Invalid
from scopes.lazy_patterns import compile_lazily
from scopes.secret_patterns import find_secrets

Transport: TypeAlias = Literal["https", "http", "ssh", "git", "directory"]
MAX_LENGTH: Final = 2000
EXAMPLES: Final = (
    "for example: https://host/team/talks.git, ssh://git@host/talks.git, git@host:talks.git, /srv/talks.git"
)

_UNSAFE = compile_lazily(rf"[\x00-\x1f\x7f-\x9f\ud800-\udfff{INVISIBLE}]")
_PERCENT = compile_lazily(rb"%([0-9A-Fa-f]{2})")
_HELPER = compile_lazily(r"[A-Za-z0-9][A-Za-z0-9+.-]*::")
_SCHEME = compile_lazily(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<rest>.*)", re.DOTALL)
_SHORT_SSH = compile_lazily(r"(?P<authority>[^/:]+):(?P<path>.+)", re.DOTALL)
_AUTHORITY = compile_lazily(
    r"(?:(?P<user>[^@]*)@)?(?P<host>[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}))?"
)
_SECRET_FIELD = compile_lazily(r"[?&;][^=&;]*(?:token|secret|passw|key|auth|signature|sig)[^=&;]*=[^&;]", re.IGNORECASE)
_USER = compile_lazily(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_LOOPBACK = compile_lazily(r"localhost|127\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}|\[::1\]", re.IGNORECASE)


class Address(NamedTuple):
    """The checked address of a remote: what git is given and what people see; it has no password.

    as_branches: whether conversations are kept as branches there, because the host takes no other refs
    of_bundle: whether it is the directory into which a bundle was unpacked
    """

    text: str
    transport: Transport
    as_branches: bool = False
    of_bundle: bool = False


def parse_address(text: str, cwd: str = "/") -> Address:
    """Check an address; a relative directory begins at `cwd`.

    Raises:
        Invalid: git could run a program for it or take it for an option, it has a password, or it is not encrypted.
    """
    if not text or len(text) > MAX_LENGTH:
        raise Invalid(f"an address has 1 to {MAX_LENGTH} characters", hint=EXAMPLES)
    if _UNSAFE.search(text):
        raise Invalid("the address has a control character or an invisible one", hint=EXAMPLES)
    if text.startswith("-"):
        raise Invalid(f"{text!a} is not an address: it begins with '-'", hint=EXAMPLES)
    if _HELPER.match(text):
        program = text.partition("::")[0]
        raise Invalid(f"addresses of the form {program}:: run a program and are not allowed", hint=EXAMPLES)
    found = _SCHEME.fullmatch(text)
    if found is not None:
        return _parse_url(found["scheme"].lower(), found["rest"])
    short = _SHORT_SSH.fullmatch(text)
    if short is not None:
        if "@" in short["path"].partition("/")[0] and ":" in short["path"].partition("/")[0]:  # user:password@host:path
            raise _has_password()
        _check_authority(short["authority"], "ssh")
        if find_secrets(short["path"]):
            raise _has_password()
        if short["path"].startswith("-"):
            raise Invalid("the path of an address must not begin with '-'", hint=EXAMPLES)
        return Address(text, "ssh")
    return Address(os.path.abspath(os.path.join(cwd, os.path.expanduser(text))), "directory")


def _parse_url(scheme: str, rest: str) -> Address:
    authority, _, path = rest.partition("/")
    if scheme == "file":
        return _parse_file(authority, path)
    if scheme not in {"https", "http", "ssh", "git"}:
        raise Invalid(f"addresses that begin with {scheme}:// are not allowed", hint=EXAMPLES)
    host = _check_authority(authority, scheme)
    if find_secrets(path) or find_secrets(_unquote(path)) or _SECRET_FIELD.search(_unquote(path)):
        raise _has_password()
    if _unquote(path).startswith("-") or _UNSAFE.search(_unquote(path)):
        raise Invalid("the path of an address must not begin with '-' or have a control character", hint=EXAMPLES)
    if not path.strip("/"):
        raise Invalid("the address names a host and no repository on it", hint=EXAMPLES)
    if scheme in {"http", "git"} and not _LOOPBACK.fullmatch(host):
        hint = f"use https://{host}/..."
        raise Invalid(f"{scheme} is not encrypted and is allowed to this machine only, not to {host}", hint=hint)
    return Address(f"{scheme}://{rest}", scheme)  # type: ignore[arg-type] # one of the four


def _parse_file(authority: str, path: str) -> Address:
    if authority not in {"", "localhost"}:
        raise Invalid("the address file://HOST/... names another host", hint="for example: file:///srv/talks.git")
    directory = f"/{_unquote(path)}"
    if _UNSAFE.search(directory):
        raise Invalid("the address has a control character or an invisible one", hint=EXAMPLES)
    return Address(os.path.normpath(directory), "directory")


def _check_authority(authority: str, scheme: str) -> str:
    """Return the host of `user@host:port`; git decodes percent signs there, so they are not allowed."""
    user = authority.rpartition("@")[0]
    if ":" in user or find_secrets(user):
        raise _has_password()
    found = _AUTHORITY.fullmatch(authority)
    if found is None or (user and not _USER.fullmatch(user)) or (scheme == "ssh" and authority.startswith("@")):
        raise Invalid("the address has no valid host", hint=EXAMPLES)
    return str(found["host"])


def _has_password() -> Invalid:
    hint = "leave the password out: git asks for it, or takes it from its credential helper"
    return Invalid("the address contains a password", hint=hint)


def _unquote(path: str) -> str:
    """Decode the percent signs of a path, as git does."""
    data = path.encode("utf-8", "surrogatepass")
    return _PERCENT.sub(lambda found: bytes.fromhex(found[1].decode("ascii")), data).decode("utf-8", "surrogateescape")
