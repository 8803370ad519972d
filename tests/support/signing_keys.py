"""Keys to sign with, in the home directory of a test: for ssh, and for gpg if it is installed."""

from __future__ import annotations

import os
import subprocess

from scopes.store.git_program import Signer


def run(*words, **keywords):
    """Run a program and return what it printed; fail if it does."""
    done = subprocess.run(words, capture_output=True, check=False, stdin=subprocess.DEVNULL, **keywords)
    assert done.returncode == 0, done.stderr
    return done.stdout


def configure(home, **settings):
    """Write settings of git: `user_signingkey` is `user.signingkey`, `gpg_ssh_program` is `gpg.ssh.program`."""
    for name, value in settings.items():
        run("git", "config", "--file", f"{home}/.gitconfig", name.replace("_", "."), str(value))


def make_ssh_key(home, name="key", passphrase=""):
    """Make an ssh key and return the path of its public half."""
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", name, "-f", f"{home}/{name}")
    return f"{home}/{name}.pub"


def allow(home, key, principal="carol@example.com"):
    """Add an ssh key to the list of those that git trusts."""
    with open(key, encoding="ascii") as public, open(f"{home}/allowed", "a", encoding="utf-8") as file:
        file.write(f"{principal} {public.read()}")
    configure(home, gpg_ssh_allowedSignersFile=f"{home}/allowed")


def sign_with_ssh(home):
    """Let git sign with a new ssh key that it trusts, and return its public half."""
    key = make_ssh_key(home)
    configure(home, commit_gpgsign="true", gpg_format="ssh", user_signingkey=key)
    allow(home, key)
    return key


def signer(directory):
    """Return a signer as the command line makes one, without a terminal."""
    return Signer(str(directory), terminal=False)


def with_signer(repository, directory):
    """Let an open store sign as the command line does."""
    repository.caller = repository.caller._replace(sign=signer(directory).sign)
    return repository


def verify_commit(store, home, oid):
    """Return what `git verify-commit` in the store says: its exit code and its text."""
    words = ["git", f"--git-dir={store}", "-c", "safe.directory=*", "verify-commit", oid]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, "HOME": str(home)})
    return done.returncode, done.stderr
