"""Writing into our cache: whole files, for their owner alone."""

from __future__ import annotations

import os


def write_file(path: str, data: bytes) -> None:
    """Write a file that only its owner reads, whole or not at all."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    workplace = f"{path}.{os.getpid()}.new"
    descriptor = os.open(workplace, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(descriptor, "wb") as file:
        file.write(data)
    os.replace(workplace, path)
