"""Recognize files that may hold secrets by their names: keys, credentials, environments, states of tools.

Names are not enough: this does not look at contents, which pass a gate of their own (`project_files`).
"""

from __future__ import annotations

import re

from scopes.lazy_patterns import compile_lazily

_DIRECTORIES = frozenset(
    {".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".password-store", "gcloud", ".gcloud", ".oci", ".secrets"}
)
_BACKUP_SUFFIX = compile_lazily(  # of the reversed name: a search for the end of a long name takes quadratic time
    r"\n?(?:(?:kab|pukcab|dlo|giro|ypoc|evas|lacol|[0-9]+)[._-]|~)+", re.IGNORECASE
)
_TEMPLATE_SUFFIX = compile_lazily(r"[._-](?:example|sample|template|dist)(?:\.[a-z]+)?$", re.IGNORECASE)
_WORDS = compile_lazily(
    r"(?:^|[._-])(?:secrets?|credentials?|creds|passwords?|passwd|tokens?|auth|keys?|api[_-]?keys?|sa"
    r"|service[_-]?account|kube[_-]?config)(?:[._-]|$)",
    re.IGNORECASE,
)
_DATA_FILE = compile_lazily(
    r"(?:^[^.]*|\.(?:ya?ml|json|toml|ini|txt|properties|conf|cfg|env|csv|xml|plist))$", re.IGNORECASE
)
_NAMES = compile_lazily(
    r"\.env(?:rc|\..+)?|.+\.env|env|id_(?:rsa|dsa|ecdsa|ed25519)(?:_.*)?"
    r"|.+\.(?:pem|key|p8|p12|pfx|jks|bks|jceks|keystore|kdbx?|ppk|pgp|gpg|asc|age|agekey|ovpn|mobileprovision)(?:\.txt)?"
    r"|.+\.(?:tfstate|tfvars|rdp|pkcs12|publishsettings)|wg[0-9]+\.conf|wireguard.*\.conf"
    r"|[._](?:netrc|my\.cnf|mylogin\.cnf|npmrc|yarnrc(?:\.yml)?|pypirc|pgpass|git-credentials|htpasswd|vault-token|s3cfg|boto)"
    r"|\.(?:dockercfg|dockerconfigjson|terraformrc|smbcredentials|.*_history)|rclone\.conf|my\.cnf"
    r"|(?:.+[._-])?kube[._-]?config|appsettings\..+\.json|(?:local|parameters)\.settings\.json"
    r"|google-services\.json|GoogleService-Info\.plist|(?:(?!firebase-adminsdk).)*firebase-adminsdk.*\.json|wp-config\.php|shadow|secring\..+",
    re.IGNORECASE,
)


def may_hold_secrets(path: str) -> bool:
    """Return True if a file may hold secrets by its name; templates such as `.env.example` do not."""
    *directories, name = path.split("/")
    suffix = _BACKUP_SUFFIX.match(name[::-1])
    name = name if suffix is None else name[: len(name) - suffix.end()]
    if not _DIRECTORIES.isdisjoint(map(str.lower, directories)):
        return True
    if _TEMPLATE_SUFFIX.search(name):
        return False
    if _NAMES.fullmatch(name):
        return True
    return _WORDS.search(name) is not None and _DATA_FILE.search(name) is not None
