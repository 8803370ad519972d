"""Secrets are found by fixed prefixes and keys, and never by how random a text looks."""

from __future__ import annotations

from base64 import b64encode
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes import secret_patterns
from scopes.secret_patterns import find_secrets, redact, redact_value
from tests.support.examples import amount

LETTERS = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zAcDfGhJkLmNpQrStVwXyZ2345678901bCdE"
SECRETS = [
    ("aws-access-key", "AKIA" + "QWERTYUIOPASDFGH"),
    ("github-token", "ghp_" + LETTERS[:36]),
    ("github-token", "github_pat_" + LETTERS[:40]),
    ("gitlab-token", "glpat-" + LETTERS[:20]),
    ("anthropic-key", "sk-ant-api03-" + LETTERS[:40]),
    ("openai-key", "sk-proj-" + LETTERS[:48]),
    ("google-key", "AIza" + LETTERS[:35]),
    ("slack-token", "xoxb-" + "1234567890-" + LETTERS[:24]),
    ("stripe-key", "sk_live_" + LETTERS[:24]),
    ("npm-token", "npm_" + LETTERS[:36]),
    ("digitalocean-token", "dop_v1_" + "0123456789abcdef" * 4),
    ("jwt", "eyJ" + LETTERS[:20] + ".eyJ" + LETTERS[:20] + "." + LETTERS[:30]),
    ("telegram-token", "123456789:AA" + LETTERS[:33]),
    ("discord-token", "MTA4MjczNjQ1NTYzNzI4MTk0NQ.GaB3dE." + LETTERS[:38]),
]


@pytest.mark.parametrize(("kind", "secret"), SECRETS)
@pytest.mark.parametrize("around", ["{}", "token: {}", '{{"key": "{}"}}', "export X={}\n", "see {}, please"])
def test_each_kind_is_found_wherever_it_is_written(kind, secret, around):
    text = around.format(secret)
    (found,) = find_secrets(text)
    assert (found.kind, text[found.start : found.end]) == (kind, secret)
    assert redact(text) == around.format(f"[redacted {kind}]")


@pytest.mark.parametrize("number", ["28273645563728194", "508273645563728194", "1082736455637281945"])
def test_the_token_of_a_bot_begins_with_its_number_in_base64(number):
    begin = b64encode(number.encode()).decode().rstrip("=")
    token = f"{begin}.GaB3dE.{LETTERS[:27]}"
    (found,) = find_secrets(f'"token": "{token}", x')
    assert (found.kind, found.start, found.end) == ("discord-token", 10, 10 + len(token))


@pytest.mark.parametrize(
    "begin", [b"1082736455637281", b"108273645563728194x", b"not the number here", b"108273645563728194599"]
)
def test_what_is_no_number_begins_no_token_of_a_bot(begin):
    assert find_secrets(f"{b64encode(begin).decode().rstrip('=')}.GaB3dE.{LETTERS[:38]}") == []


def test_a_private_key_is_found_with_its_body():
    text = "x\n-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEow" * 40 + "\n-----END RSA PRIVATE KEY-----\ny"
    assert redact(text) == "x\n[redacted private-key]\ny"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("postgres://shop:s3cretPass@db.example.net/x", "s3cretPass"),
        ("Authorization: Bearer " + LETTERS[:40], LETTERS[:40]),
        ('password = "aB3dE5gH7jK9mN1pQ2rS4t"', "aB3dE5gH7jK9mN1pQ2rS4t"),
        ("API_KEY=0f9e8d7c6b5a43210f9e8d7c6b5a4321", "0f9e8d7c6b5a43210f9e8d7c6b5a4321"),
    ],
)
def test_a_value_behind_a_key_is_found(text, secret):
    (found,) = find_secrets(text)
    assert text[found.start : found.end] == secret


@pytest.mark.parametrize(
    "text",
    [
        "toolu_01CR4GHdCvzQ27BTRDRa3ASu",
        "sha512-" + LETTERS * 2,
        "commit 4e14fce1b11081b993d83c3a5505822c4e14fce1",
        "api_key = os.environ['API_KEY']",
        "password: hunter",
        "token = response.accessToken.replace(/x/)",
        "secret_key: xxxxxxxxxxxxxxxxxxxxxxxx1",
        "AKIAIOSFODNN7EXAMPLE",
        "https://user:${PASSWORD}@host/",
        "key: 5a3b1e0c-0f5e-4d7b-9a57-3c0d5b1f2e64",
    ],
)
def test_ids_hashes_code_and_placeholders_are_no_secrets(text):
    assert find_secrets(text) == []


@pytest.mark.parametrize("before", ["password=", "API_KEY: ", "Authorization: Bearer "])
def test_the_kind_of_a_prefix_is_preferred_to_that_of_the_key_in_front_of_it(before):
    """Two patterns that match the same characters were ordered by chance."""
    assert [each.kind for each in find_secrets(before + "sk_live_" + LETTERS[:24])] == ["stripe-key"]


@given(st.text(max_size=300))
def test_other_text_is_returned_unchanged(text):
    if not find_secrets(text):
        assert redact(text) == text


@pytest.mark.parametrize("piece", ["-eyJ", "eyJa.", "://a:", "sk-", "-----BEGIN ", "password=", ":AA", "Bearer ", "a1"])
@pytest.mark.cases(3)
@pytest.mark.timeout(amount(60, 20))
@pytest.mark.slow
def test_a_megabyte_that_begins_like_secrets_is_scanned_in_time(piece):
    """An expression without bounds took 5.8 seconds for 200 kB, and 25 times as long for five times as much."""
    assert find_secrets(piece * (amount(1_000_000, 400_000) // len(piece))) == []


TOKEN = "ghp_" + LETTERS[:36]


def encoded(text):
    return b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        (f"curl -H 'Authorization: Basic {encoded('u:' + TOKEN)}' x", encoded("u:" + TOKEN)),
        ("curl -H 'Authorization: Basic dTpw' x", "dTpw"),
        ('curl -H "authorization: token abc123" x', "abc123"),
        ("Proxy-Authorization: Bearer short1", "short1"),
        ("authorization=ApiKey k-17", "k-17"),
        ("'Authorization: k-17'", "k-17"),
        ('{"Authorization": "Bearer k-17"}', "k-17"),
        ('{\\"Authorization\\": \\"Bearer k-17\\"}', "k-17"),
        ("http GET x Authorization:k-17", "k-17"),
        ("send Token 0123456789abcdef0123", "0123456789abcdef0123"),
        ("send bearer 0123456789abcdef0123", "0123456789abcdef0123"),
        ("curl -u admin:s3cret https://h.io", "s3cret"),
        ("curl -uadmin:s3cret https://h.io", "s3cret"),
        ("curl --user 'admin:s3cret' https://h.io", "s3cret"),
        ("curl --user=admin:s3cret https://h.io", "s3cret"),
        ("curl --proxy-user admin:s3cret https://h.io", "s3cret"),
        ("curl -U admin:pw https://h.io", "pw"),
        ("git clone https://u:pw@h.io/x", "pw"),
        ("git clone https://:pw@h.io/x", "pw"),
        ("psql postgres://u:a:b@h.io/x", "a:b"),
        ("git clone https://0123456789abcdef0123@h.io/x", "0123456789abcdef0123"),
        ("curl -H 'Cookie: sid=abc; b=c' x", "sid=abc; b=c"),
        ("Set-Cookie: sid=abc; Path=/", "sid=abc; Path=/"),
        ("curl -b 'sid=abc' x", "sid=abc"),
        ("curl --cookie sid=abc x", "sid=abc"),
        ("password=hunter2hunter2", "hunter2hunter2"),
        ("DB_PASSWORD=hunter2hunter2", "hunter2hunter2"),
        ("password: Tr0ub4dor&3x9", "Tr0ub4dor&3x9"),
        ('{"password": "Zx9kQw73LmPt"}', "Zx9kQw73LmPt"),
        ('{\\"password\\": \\"Zx9kQw73LmPt\\"}', "Zx9kQw73LmPt"),
        ("mysql --password=hunter2hunter2 -h db", "hunter2hunter2"),
        ("connect(passwd='hunter2,hunter2', port=1)", "hunter2,hunter2"),
        ("Passphrase := 'correct;horse;9'", "correct;horse;9"),
        ("PGPWD=1234567a; psql", "1234567a"),
        ('DB_PASSWORD="correct-horse-battery-staple"', "correct-horse-battery-staple"),
        ("password: 'correct-horse-battery'", "correct-horse-battery"),
        ('{\\"password\\": \\"correct-horse\\"}', "correct-horse"),
        ("export DB_PASS=letmein123", "letmein123"),
        ('{"user": "a", "pass": "letmein123"}', "letmein123"),
        ("tool --password letmein -x", "letmein"),
        ("tool --db-password='correct horse'", "correct"),
        ('["tool", "--password", "letmein"]', "letmein"),
        ("sshpass -p letmein ssh root@h.io", "letmein"),
        ("sshpass -pletmein ssh root@h.io", "letmein"),
        ("mysql -u root -pletmein shop", "letmein"),
        ("mysqldump -pletmein shop > x", "letmein"),
        (f"secret = {'a1' * 60}", "a1" * 60),
        (f"echo {encoded('token ' + TOKEN)} | base64 -d", encoded("token " + TOKEN)),
        (f"echo {encoded(TOKEN).rstrip('=')} | base64 -d", encoded(TOKEN).rstrip("=")),
    ],
)
def test_what_logs_in_somewhere_is_not_shown(text, hidden):
    """A report shows no credential, even one that `find_secrets` leaves out because it is short or encoded."""
    shown = redact(text)
    assert hidden not in shown
    assert "[redacted " in shown
    before, _, after = text.partition(hidden)
    assert shown.startswith(before)
    assert shown.endswith(after)
    assert redact(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "git push git@github.com:me/repo.git",
        "ssh://git@github.com/me/repo.git",
        "curl https://h.io:8080/x",
        "https://h.io/a:b@c",
        "docker run -u 1000:1000 image",
        "docker run --user=app:app -v /a:/b image",
        "python -u server:app",
        "the token is missing",
        "basic auth is used",
        "a bearer of good news arrived",
        "the cookie is stale",
        "git log --author-date-order",
        "echo \"a\" 'b' c\\ d $'\\x41'",
        encoded("nothing that is secret is in this long text"),
        "password: hunter",
        'password = "$DB_PASSWORD"',
        'password: "<the password>"',
        'type="password" name="password-field"',
        "--- PASS: TestLogin2345 (0.01s)",
        "bypass=0123456789 and compass: 1",
        "--password-stdin",
        "use --password to log in",
        "mysql -u root -p shop",
        "docker run -p 3306:3306 mysql",
        "mysql -P 3306 -h db",
        "password: hunterhunter",
        "password: $DB_PASSWORD_1",
        "password: <the 1st password>",
        "password = os.environ['DB_PASSWORD_1']",
        "the password: must have 8 characters",
        "password_file=/etc/passwords/2026",
        f"secret = {'a1' * 61}",
        "Authorization: $TOKEN",
        "curl -u admin:$PASSWORD x",
        "sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    ],
)
def test_what_only_looks_like_a_credential_is_shown(text):
    assert redact(text) == text


@pytest.mark.parametrize("value", ["hunter2hunter2", "Tr0ub4dor&3x9", 'a,b;c"d12', "hunter2'hunter2"])
@pytest.mark.parametrize("name", ["password", "DB_PASSWORD", "adminPasswd", "passphrase", "client_secret"])
def test_a_value_is_not_shown_if_its_name_says_that_it_is_a_password(name, value):
    assert redact(value) == value
    assert redact_value(name, value) == "[redacted assigned-secret]"


@pytest.mark.parametrize(
    ("name", "value"),
    [("password_hint", "hunter2hunter2"), ("text", "hunter2hunter2"), ("password", "hunter"), ("password", ""), ("", "a"),
     ("password", "it must have 8 characters"), ("password", "$DB_PASSWORD_1"), (TOKEN, "hunter2hunter2")],
)  # fmt: skip
def test_another_value_is_shown(name, value):
    assert redact_value(name, value) == value


def test_a_value_that_is_a_secret_itself_is_not_shown_whatever_its_name_is():
    assert redact_value("text", f"use {TOKEN}") == "use [redacted github-token]"


SPLITS = [
    lambda key: f"{key[:12]}''{key[12:]}",
    lambda key: f'{key[:12]}""{key[12:]}',
    lambda key: f"{key[:4]}'{key[4:12]}'{key[12:]}",
    lambda key: f'{key[:4]}"{key[4:12]}"{key[12:]}',
    lambda key: f"{key[:12]}\\{key[12:]}",
    lambda key: f"{key[:12]}\\\n{key[12:]}",
    lambda key: f"{key[:4]}$'\\x{ord(key[4]):02x}'{key[5:]}",
    lambda key: f"{key[:4]}$'\\{ord(key[4]):03o}{key[5:]}'",
    lambda key: f"$'\\u00{ord(key[0]):02x}'{key[1:]}",
    lambda key: f"{key[:12]}\u200b{key[12:]}",
    lambda key: f"{key[:12]}\ufeff{key[12:20]}\u00ad{key[20:]}",
    lambda key: f"{key[:12]}``{key[12:]}",
    lambda key: "".join(f"{each}\\" for each in key[:-1]) + key[-1],
    "''".join,
    lambda key: f"{key[:12]}\\\\\n{key[12:]}",
    lambda key: f"{key[:4]}$\\'\\\\x{ord(key[4]):02x}\\'{key[5:]}",
]


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("around", ["{}", "rm -rf /o/{}/x", "curl https://u:{}@h.io | sh", "echo 'a' {} \"b\""])
@pytest.mark.parametrize("key", [TOKEN, "sk-ant-api03-" + LETTERS[:40], "AKIA" + "QWERTYUIOPASDFGH"])
def test_a_secret_that_is_split_inside_a_word_is_not_shown(split, around, key):
    """A reader could put the pieces together: every piece is hidden, and the text around them stays."""
    before, after = around.split("{}")
    shown = redact(around.format(split(key)))
    assert "[redacted " in shown
    assert not any(piece in shown for piece in (key[5:11], key[13:19], key[-6:]))
    assert shown.startswith(before)
    assert shown.endswith(after)


@given(st.text(max_size=60), st.text(max_size=60))
def test_redaction_keeps_what_is_around_a_secret(before, after):
    text = f"{before}\n {TOKEN} \n{after}"
    assert TOKEN not in redact(text)
    assert redact(text).endswith(redact(f"\n{after}")[-1:])


@pytest.mark.parametrize(
    "piece", ["'", "\\", "A", "://", "Authorization: ", "-u a:", "cookie: ", "bearer ", "A/", "$'"]
)
@pytest.mark.cases(3)
def test_redaction_takes_linear_time(piece):
    text = piece * (200_000 // len(piece))
    start = perf_counter()
    redact(text)
    assert perf_counter() - start < 5


pieces = st.sampled_from(
    [*secret_patterns._ANCHORS, *(secret for _, secret in SECRETS), "ASI", "AKI", " ", "\n", "é", "😀", "\ud800", "S"]
)


@given(st.lists(pieces, max_size=30).map("".join))
def test_secrets_are_the_same_without_ahocorasick(text):
    """The library finds anchors in long texts; both ways see each text here."""
    pytest.importorskip("ahocorasick_rs")
    found = []
    for is_found in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(secret_patterns, "_SHORT", -1)
            if not is_found:
                patch.setattr(secret_patterns, "_matcher", lambda: None)
            found.append(find_secrets(text))
    assert found[0] == found[1]
