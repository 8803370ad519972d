"""An address is checked before git sees it."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.errors import Invalid
from scopes.sync.addresses import parse_address

ALLOWED = {
    "https://host/talks.git": ("https://host/talks.git", "https"),
    "HTTPS://carol@host:8443/a/b.git": ("https://carol@host:8443/a/b.git", "https"),
    "ssh://git@host:2222/talks.git": ("ssh://git@host:2222/talks.git", "ssh"),
    "ssh://[::1]:22/talks.git": ("ssh://[::1]:22/talks.git", "ssh"),
    "git@host:team/talks.git": ("git@host:team/talks.git", "ssh"),
    "host:talks.git": ("host:talks.git", "ssh"),
    "http://localhost:8080/talks.git": ("http://localhost:8080/talks.git", "http"),
    "http://127.0.0.1/talks.git": ("http://127.0.0.1/talks.git", "http"),
    "http://[::1]/talks.git": ("http://[::1]/talks.git", "http"),
    "git://127.0.0.1:9418/talks.git": ("git://127.0.0.1:9418/talks.git", "git"),
    "/srv/talks.git": ("/srv/talks.git", "directory"),
    "file:///srv/my%20talks.git": ("/srv/my talks.git", "directory"),
    "file://localhost/srv/talks.git": ("/srv/talks.git", "directory"),
    "talks.git": ("/work/talks.git", "directory"),
    "../talks.git": ("/talks.git", "directory"),
    "./host:talks.git": ("/work/host:talks.git", "directory"),
}
REFUSED = {
    "": "1 to 2000 characters",
    "x" * 2001: "1 to 2000 characters",
    "--upload-pack=touch x": "begins with '-'",
    "-oProxyCommand=x": "begins with '-'",
    "ext::sh -c 'touch x'": "ext:: run a program",
    "fd::7": "fd:: run a program",
    "foo::https://host/x": "foo:: run a program",
    "ext::ssh://host/x": "ext:: run a program",
    "git://host/talks.git": "git is not encrypted",
    "git://127.0.0.1.evil.example/x": "git is not encrypted",
    "git://host/-x": "must not begin with '-'",
    "ftp://host/talks.git": "ftp:// are not allowed",
    "http://host/talks.git": "http is not encrypted",
    "http://127.0.0.1.evil.example/x": "http is not encrypted",
    "http://localhost.evil.example/x": "http is not encrypted",
    "http://localhost@evil.example/x": "http is not encrypted",
    "https://carol:hunter2@host/x": "contains a password",
    "https://:hunter2@host/x": "contains a password",
    "ssh://carol:hunter2@host/x": "contains a password",
    "carol:hunter2@host:talks.git": "contains a password",
    "https://ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8@host/x": "contains a password",
    "https://host/x.git?access_token=hunter2": "contains a password",
    "https://host/x.git?a=b&api%5Fkey=x": "contains a password",
    "https://host/x.git?private_token=glpat-a1B2c3D4e5F6g7H8i9J0": "contains a password",
    "https://host/glpat%2Da1B2c3D4e5F6g7H8i9J0/x.git": "contains a password",
    "git@host:ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8/x.git": "contains a password",
    "ssh://-oProxyCommand=x/y": "no valid host",
    "ssh://-l@host/x": "no valid host",
    "ssh://%2DoProxyCommand=x/y": "no valid host",
    "ssh://host:22x/y": "no valid host",
    "ssh:///talks.git": "no valid host",
    "https://ho st/x": "no valid host",
    "ssh://host/-x": "must not begin with '-'",
    "ssh://host/%2Dx": "must not begin with '-'",
    "host:-x": "must not begin with '-'",
    "https://host": "no repository on it",
    "https://host//": "no repository on it",
    "https://host/a%0Ab": "control character",
    "https://host/a\nb": "control character",
    "/srv/a\0b": "control character",
    "file:///a%00b": "control character",
    "file://host/srv/x": "names another host",
    "https://ho\u200bst/x": "invisible",
    "/srv/\u202etig.sklat": "invisible",
    "https://host/\udc80": "control character",
}


@pytest.mark.parametrize("text", ALLOWED)
def test_an_address_is_allowed(text):
    assert parse_address(text, "/work") == (*ALLOWED[text], False, False)


@pytest.mark.parametrize("text", REFUSED, ids=ascii)
def test_an_address_is_refused_with_its_reason(text):
    with pytest.raises(Invalid) as caught:
        parse_address(text, "/work")
    assert REFUSED[text] in caught.value.message
    assert "hunter2" not in caught.value.message
    assert "ghp_" not in caught.value.message


def test_a_tilde_is_the_home_directory():
    assert parse_address("~/talks.git", "/work").text == os.path.expanduser("~/talks.git")


@given(st.text(max_size=40))
def test_what_is_allowed_is_no_option_and_runs_no_helper(text):
    try:
        address = parse_address(text, "/work")
    except Invalid:
        return
    assert not address.text.startswith("-")
    assert "::" not in address.text.partition("/")[0].partition("[")[0]
    assert min(address.text) >= " "
    assert address == parse_address(address.text, "/elsewhere")
