"""A git server that sends any objects it likes, reached in place of ssh: `GIT_SSH` is the program that `install` writes.

It speaks the first protocol without extensions. It is given a plan: a directory, the refs that it advertises, the ids
of the objects in its pack, and what it does wrong.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time


def install(directory: object, bare: str, refs: dict[str, str], objects: list[str], fault: str = "") -> str:
    """Write the program and its plan, and return its path."""
    plan, program = os.path.join(str(directory), "plan.json"), os.path.join(str(directory), "ssh")
    with open(plan, "w") as file:
        json.dump({"bare": bare, "refs": refs, "objects": objects, "fault": fault}, file)
    with open(program, "w") as file:
        file.write(f'#!/bin/sh\nexec {sys.executable} {os.path.abspath(__file__)} {plan} "$@"\n')
    os.chmod(program, 0o755)
    return program


def main() -> None:
    with open(sys.argv[1]) as file:
        plan = json.load(file)
    if plan["fault"] == "silent":
        time.sleep(60)
    if plan["fault"] == "chatter":
        sys.stderr.write("\x1b]0;owned\x07\x1b[31mfatal: token ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8 is known\n" * 3)
        return
    advertise(plan)
    haves = False
    while True:
        line = read_line()
        if line is None:
            if haves:
                send(b"NAK\n")
            haves = True
        elif line.startswith(b"done"):
            break
    send(b"NAK\n")
    words = ["git", f"--git-dir={plan['bare']}", "pack-objects", "--stdout", "-q", "--window=0"]
    names = "".join(f"{oid}\n" for oid in plan["objects"]).encode()
    pack = bytearray(subprocess.run(words, input=names, capture_output=True, check=True).stdout)
    if plan["fault"] == "damaged":
        pack[len(pack) // 2] ^= 0xFF
    if plan["fault"] == "cut":
        del pack[len(pack) // 2 :]
    write(bytes(pack))


def advertise(plan: dict) -> None:
    """Send the refs; endless ones until somebody ends it."""
    for number, (name, oid) in enumerate(plan["refs"].items()):
        send(f"{oid} {name}".encode() + (b"" if number else b"\0agent=fake") + b"\n")
    number = 0
    while plan["fault"] == "endless":
        oid = next(iter(plan["refs"].values()))
        write(b"".join(line(f"{oid} refs/scopes/v1/c/{number + each:040}\n".encode()) for each in range(1000)))
        number += 1000
    write(b"0000")


def line(data: bytes) -> bytes:
    return b"%04x%s" % (len(data) + 4, data)


def send(data: bytes) -> None:
    write(line(data))


def write(data: bytes) -> None:
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        os._exit(0)


def read_line() -> bytes | None:
    """Read a line of the client; None at the end of a list."""
    length = sys.stdin.buffer.read(4)
    if len(length) < 4:
        os._exit(0)
    size = int(length, 16)
    return sys.stdin.buffer.read(size - 4) if size else None


if __name__ == "__main__":
    main()
