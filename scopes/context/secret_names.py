"""Names of files that usually hold secrets: a history that names one does not bring it into a context.

The history may be somebody else's. The names are those that ssh, gpg, cloud and package tools keep their keys in.
"""

from __future__ import annotations

import re

_DIRECTORIES = frozenset({".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".password-store", "gcloud"})
_BACKUP = re.compile(r"(?:[._-](?:bak|backup|old|orig|copy|save|local|[0-9]+)|~)+$", re.IGNORECASE)
_TEMPLATE = re.compile(r"[._-](?:example|sample|template|dist)(?:\.[a-z]+)?$", re.IGNORECASE)
_WORDS = re.compile(
    r"(?:^|[._-])(?:secrets?|credentials?|passwords?|passwd|tokens?|auth|service[_-]?account)(?:[._-]|$)", re.IGNORECASE
)
_DATA = re.compile(r"(?:^[^.]*|\.(?:ya?ml|json|toml|ini|txt|properties|conf|cfg|env|csv|xml))$", re.IGNORECASE)
_FILE = re.compile(
    r"\.env(?:rc|\..+)?|.+\.env|id_(?:rsa|dsa|ecdsa|ed25519)(?:_.*)?|.+\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk|tfstate|tfvars)"
    r"|\.(?:netrc|npmrc|pypirc|pgpass|git-credentials|htpasswd|vault-token|dockercfg|dockerconfigjson|.*_history)|kubeconfig",
    re.IGNORECASE,
)


def may_hold_secrets(path: str) -> bool:
    """Tell by its name whether a file may hold secrets; what is called an example holds none."""
    *directories, name = path.split("/")
    plain = _BACKUP.sub("", name)
    if not _DIRECTORIES.isdisjoint(directories):
        return True
    if _TEMPLATE.search(plain):
        return False
    return _FILE.fullmatch(plain) is not None or (_WORDS.search(plain) is not None and _DATA.search(plain) is not None)
