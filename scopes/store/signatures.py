"""Check signatures of commits with git, which gets only these commits and nothing else of a store.

Anybody can write a signature into a commit. It is good only if git accepts it with keys that this user trusts.
The owner named by a key is untrusted text, which is sanitized when it is read.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from typing import Final

from scopes.ids import Oid
from scopes.model.signature import (
    BAD,
    EXPIRED,
    EXPIRED_KEY,
    GOOD,
    REVOKED_KEY,
    UNCHECKED,
    UNKNOWN_KEY,
    UNTRUSTED,
    Signature,
)
from scopes.sanitize import clean_line, cut
from scopes.store.git_program import find_git, git_environment
from scopes.store.repository import Objects, read_data
from scopes.store.signing import is_signed, list_options, read_signing_settings, scratch_repository, write_loose

_STATES: Final = {"G": GOOD, "B": BAD, "X": EXPIRED, "Y": EXPIRED_KEY, "R": REVOKED_KEY, "E": UNKNOWN_KEY}
_FORMAT: Final = "%H%x00%G?%x00%GK%x00%GF%x00%GS"
_FIELDS: Final = 5
_AT_ONCE: Final = 200  # commits; git starts a program for each
_SECONDS_EACH: Final = 20
_MAX_NAME: Final = 200
_SSH: Final = b"-----BEGIN SSH SIGNATURE-----"


def check_signatures(
    objects: Objects, commits: Iterable[Oid], directory: str, settings: Mapping[str, str] | None = None
) -> dict[Oid, Signature]:
    """Return git's verdicts about the signatures of commits; commits without a signature are left out.

    directory: the current directory, for conditional settings of git

    Raises:
        Corrupt, NotFound: a commit cannot be read.
    """
    signed = {oid: data for oid in commits if is_signed(data := read_data(objects, oid, "commit"))}
    if not signed:
        return {}
    known = read_signing_settings(directory) if settings is None else settings
    oids = list(signed)
    options = list_options(
        {key: value for key, value in known.items() if key.startswith("gpg.") and key != "gpg.format"}
    )
    found: dict[Oid, Signature] = {}
    for start in range(0, len(oids), _AT_ONCE):
        found |= _check({oid: signed[oid] for oid in oids[start : start + _AT_ONCE]}, options)
    return found


def _check(signed: Mapping[Oid, bytes], options: list[str]) -> dict[Oid, Signature]:
    """Ask git about some commits; those missing in its output get the state `not checked`."""
    output = _ask_git(signed, options)
    fields = output.decode("utf-8", "replace").split("\0")
    found = dict.fromkeys(signed, Signature(UNCHECKED))
    for start in range(0, len(fields) - _FIELDS, _FIELDS):
        oid, letter, key, fingerprint, signer = fields[start : start + _FIELDS]
        name = Oid(oid.strip("\n"))
        if name in found:
            found[name] = _signature(letter, key or fingerprint, signer, is_ssh=_SSH in signed[name])
    return found


def _signature(letter: str, key: str, signer: str, *, is_ssh: bool) -> Signature:
    """Return the signature for the letter that git prints as its verdict (%G?).

    For an ssh key that is not in the list of allowed signers git prints U (good, unknown validity), as for a gpg key in
    the keyring that is not trusted. If there is no list, it has no letter for ssh signatures.
    """
    state = _STATES.get(letter, UNCHECKED)
    if letter == "U" or (letter == "N" and is_ssh):
        state = UNKNOWN_KEY if is_ssh else UNTRUSTED
    who = None if state in {UNKNOWN_KEY, UNCHECKED} else _safe(signer)
    return Signature(state, who, _safe(key))


def _safe(text: str) -> str | None:
    return cut(clean_line(text), _MAX_NAME) or None


def _ask_git(signed: Mapping[Oid, bytes], options: list[str]) -> bytes:
    """Run git on a repository that has only these commits; return nothing if it fails or takes too long."""
    program = find_git()
    if program is None:
        return b""
    with scratch_repository() as directory:
        for oid, data in signed.items():
            write_loose(directory, oid, b"commit %d\0" % len(data) + data)
        words = ["log", "--no-walk=unsorted", "--stdin", "-z", "--no-color", f"--format=tformat:{_FORMAT}"]
        try:
            done = subprocess.run(
                [program, "--no-pager", *options, *words],
                cwd=directory,
                env=git_environment(directory),
                input="".join(f"{oid}\n" for oid in signed).encode(),
                capture_output=True,
                check=False,
                start_new_session=True,
                timeout=_SECONDS_EACH * len(signed),
            )
        except (OSError, subprocess.TimeoutExpired):
            return b""
    return done.stdout
