"""Names of files that usually hold secrets: a history that names one does not bring it into a context.

The history may be somebody else's. The names are those that ssh, gpg, cloud and package tools keep their keys in.
"""

from __future__ import annotations

import re

_DIRECTORIES = frozenset({".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".password-store", "gcloud"})
_FILE = re.compile(
    r"\.env(?!\.(?:example|sample|template|dist)$)(?:\..+)?|id_(?:rsa|dsa|ecdsa|ed25519)|.+\.(?:pem|key|p12|pfx|jks|keystore|kdbx)"
    r"|\.(?:netrc|npmrc|pypirc|pgpass|git-credentials|htpasswd|vault-token)|(?:credentials|secrets?)(?:\.(?:ya?ml|json|toml|ini))?",
    re.IGNORECASE,
)


def may_hold_secrets(path: str) -> bool:
    """Tell by its name whether a file may hold secrets."""
    *directories, name = path.split("/")
    return not _DIRECTORIES.isdisjoint(directories) or _FILE.fullmatch(name) is not None
