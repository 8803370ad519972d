"""Names of files that may hold secrets: laws of spelling, backups and templates, and the time that long names take."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.context.secret_files import may_hold_secrets

SECRET = [
    ".env",
    "server.pem",
    "id_ed25519",
    "credentials.json",
    "prod.env",
    ".npmrc",
    "kubeconfig",
    "terraform.tfstate",
]
PLAIN = [
    "main.py",
    "README.md",
    "notes.txt",
    "Makefile",
    "keyboard.json",
    "tokenizer.json",
    "environment",
    "authors.txt",
]
DIRECTORIES = [".ssh", ".aws", ".gnupg", ".kube", "gcloud", ".secrets"]
BACKUPS = [".bak", "-old", "_copy", "~", ".1", ".orig", ".backup", ".save", ".local"]
TEMPLATES = [".example", "-sample", "_template", ".dist", ".example.json"]
SUFFIXES = st.lists(st.sampled_from(BACKUPS), max_size=4).map("".join)
AS_A_SEARCH = re.compile(r"(?:[._-](?:bak|backup|old|orig|copy|save|local|[0-9]+)|~)+$", re.IGNORECASE)


@pytest.mark.parametrize("name", [*SECRET, *PLAIN])
def test_the_case_of_a_name_and_the_directory_above_do_not_matter(name):
    """Disks may ignore case."""
    expected = name in SECRET
    for path in (name, name.upper(), name.title(), f"a/b/{name}", f"/{name}", f"main.py/{name}"):
        assert may_hold_secrets(path) is expected, path


@given(st.sampled_from(SECRET), SUFFIXES)
def test_a_backup_of_a_secret_file_is_one_too(name, suffixes):
    assert may_hold_secrets(name + suffixes)


@given(st.sampled_from(PLAIN), SUFFIXES)
def test_a_backup_of_another_file_is_none(name, suffixes):
    assert not may_hold_secrets(name + suffixes)


@given(st.sampled_from([*SECRET, *PLAIN]), st.sampled_from(TEMPLATES), SUFFIXES)
def test_a_template_is_none_whatever_it_is_of(name, template, suffixes):
    """It is written to be shared; so is an old one."""
    assert not may_hold_secrets(name + template + suffixes)


@pytest.mark.parametrize("directory", DIRECTORIES)
def test_every_file_in_a_directory_of_credentials_may_hold_secrets(directory):
    for name in (*PLAIN, ".env.example", "any.dist", ""):
        assert may_hold_secrets(f"home/{directory.upper()}/{name}")
        assert may_hold_secrets(f"{directory}/deeper/{name}")
    for name in (f"{directory}-docs/a.md", f"not{directory}/a.md", f"docs/{directory}.md"):
        assert not may_hold_secrets(name), name


@given(st.sampled_from(["", "token", "id_rsa", ".env", "a.pem"]), st.text("aAb.~-_1kold", max_size=12))
def test_a_name_is_judged_without_the_suffixes_that_a_search_from_the_front_finds(name, rest):
    for full in (name + rest, f"{name}{rest}.old.~.2~", f"{name}.txt{rest}"):
        assert may_hold_secrets(full) == may_hold_secrets(AS_A_SEARCH.sub("", full))


@pytest.mark.parametrize("name", ["my-firebase-adminsdk-1.json", "firebase-adminsdk.firebase-adminsdk.json"])
def test_a_key_of_a_service_account_is_found_by_a_word_anywhere_in_its_name(name):
    assert may_hold_secrets(name)
    assert not may_hold_secrets(name.replace(".json", ".jsonl"))
    assert not may_hold_secrets(name.replace("adminsdk", "admin"))


@pytest.mark.parametrize(
    "part",
    [
        "~",
        ".1",
        "_1",
        "-bak",
        ".old",
        "a.",
        ".env",
        "-kube",
        "_",
        ".example",
        ".json",
        "key.",
        "firebase-adminsdk",
        "appsettings.",
    ],
)
@pytest.mark.parametrize("end", ["", "x", "!", ".json", "\n"])
def test_a_name_of_any_length_is_judged_at_once(part, end):
    """Names come from command lines that agents wrote, of up to a megabyte; the hook waits for the answer."""
    began = time.process_time()
    may_hold_secrets(part * 20_000 + end)
    assert time.process_time() - began < 2  # in quadratic time: minutes
