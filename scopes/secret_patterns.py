"""Find secrets in text by patterns with a fixed prefix or a key in front of them, and redact them.

There is no rule by entropy: ids, hashes, signatures and paths look as random as keys. Unknown kinds are not found.
Repetitions are bounded, or end where the next may begin, so that the time is linear in the text.
"""

from __future__ import annotations

import re
from base64 import b64decode
from bisect import bisect_right
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits
from typing import NamedTuple

from scopes.lazy_patterns import compile_lazily

GENERAL = frozenset(
    {"assigned-secret", "auth-header", "curl-password", "docker-auth", "netrc-password", "url-password", "url-token"}
)  # kinds that a more exact one replaces
_MAX_PASSWORD = 120  # characters
_MIN_DISTINCT = 10  # characters of a value behind a key such as `password =`


class Secret(NamedTuple):
    """A possible secret: its kind, and its place in the text."""

    kind: str
    start: int
    end: int


class Rule(NamedTuple):
    """A pattern that is tried where one of the anchors occurs; group 1, if there is one, is the secret.

    It is compiled when it is first tried: compiling all of them takes 8 ms, and a hook has 100 ms.
    """

    kind: str
    anchors: tuple[str, ...]
    pattern: str
    before: int = 0  # characters before the anchor where the pattern may begin
    lead: str = ""  # what has to be right before the anchor, of a fixed length: without it no place before is tried


def _rule(kind: str, anchors: str, pattern: str, before: int = 0, lead: str = "") -> Rule:
    return Rule(kind, tuple(anchors.split()), pattern, before, lead)


END = r"(?![A-Za-z0-9_-])"
SSH2_BEGIN = "---- BEGIN SSH2"
_USER = r"(?:[^\s:/?#@'\"<>${}%]|%[0-9A-Fa-f]{2}){0,64}"  # in a URL, where `%40` is the `@` of an address
WORD_END = r"(?![A-Za-z0-9])"  # where `_` and `-` behind a secret belong to what follows
_VALUE = r",(?:\s|\\{1,7}n){0,30}\\{0,7}[\"'](?i:value)\\{0,7}[\"']\s{0,3}:"  # `"name": "token", "value": "..."`
_PAIR = r"\\{0,7}[\"'],(?=\s{0,30}\\{0,7}[\"'])\s{0,30}"  # `["token", "..."]`
_TO_VALUE = rf"(?:{_PAIR}|\\{{0,7}}[\"']?[ \t]{{0,3}}(?::=|=>|=|:|>|\(|{_VALUE}))[ \t]{{0,3}}"  # from a name
_DIGITS = "[MNO][DTjz][AEIMQUYcgk][w-z0-5]"  # three of them in base64
RULES = (
    _rule(
        "private-key", "-----BEGIN",
        r"-----BEGIN (?:[A-Z]{2,12} ){0,2}PRIVATE KEY(?: BLOCK)?-----"
        # Up to its end, or all that follows if there is none; headers and the beginnings of lines may have a `-`.
        r"(?:(?s:.{0,400}?)[A-Za-z0-9+/=]{40}(?s:.*?)(?:-----END[^-]{0,40}-----|\Z)"
        r"|[^-]{40,8000}-----END[^-]{0,40}-----|[^-]{40,4000})",
    ),
    _rule(
        "private-key", SSH2_BEGIN,
        rf"{SSH2_BEGIN} (?:[A-Z]{{2,12}} ){{0,2}}PRIVATE KEY ----"
        r"(?:(?s:.{0,400}?)[A-Za-z0-9+/=]{40}(?s:.*?)(?:---- END[^-]{0,40}----|\Z)"
        r"|[^-]{40,8000}---- END[^-]{0,40}----|[^-]{40,4000})",
    ),
    _rule(
        "private-key", "Private-Lines:",  # of PuTTY
        r"Private-Lines: \d{1,3}((?:(?:\s|\\{1,7}[rn]){1,6}[A-Za-z0-9+/]{16,64}={0,2}(?![A-Za-z0-9+/:-])){1,400})",
    ),
    _rule("aws-access-key", "AKIA ASIA", rf"A(?:KIA|SIA)[A-Z2-7]{{16}}{WORD_END}"),
    _rule("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", rf"gh[pousr]_[A-Za-z0-9]{{36,251}}{WORD_END}"),
    _rule("github-token", "github_pat_", rf"github_pat_[A-Za-z0-9_]{{22,244}}{WORD_END}"),
    _rule(
        "gitlab-token", "glpat- glptt- gldt- glrt- glcbt- glsoat- glft-",
        rf"gl(?:pat|ptt|dt|rt|cbt|soat|ft)-[A-Za-z0-9_.-]{{20,120}}{END}",
    ),
    _rule("anthropic-key", "sk-ant-", rf"sk-ant-[a-z]{{2,8}}\d\d-[A-Za-z0-9_-]{{20,200}}{END}"),
    _rule("openai-key", "sk-", rf"sk-(?:proj-|svcacct-|admin-)[A-Za-z0-9_-]{{40,200}}{END}"),
    _rule("openai-key", "sk-", rf"sk-[A-Za-z0-9]{{48}}{WORD_END}"),
    _rule("openrouter-key", "sk-or-v1-", rf"sk-or-v1-[0-9a-f]{{64}}{WORD_END}"),
    _rule("google-key", "AIza", rf"AIza[A-Za-z0-9_-]{{35}}{WORD_END}"),
    _rule("google-oauth", "GOCSPX-", rf"GOCSPX-[A-Za-z0-9_-]{{28}}{WORD_END}"),
    _rule(
        "slack-token", "xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-",
        rf"(?:xox[abcdeoprs]|xapp)-[A-Za-z0-9-]{{20,200}}{WORD_END}",
    ),
    _rule(
        "slack-webhook", "hooks.slack.com/services/",
        r"hooks\.slack\.com/services/(T[A-Z0-9]{6,12}/B[A-Z0-9]{6,12}/[A-Za-z0-9]{20,40})",
    ),
    _rule(
        "stripe-key", "sk_live_ rk_live_ sk_test_ rk_test_ whsec_",
        rf"(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9]{{16,120}}{WORD_END}",
    ),
    _rule("npm-token", "npm_", rf"npm_[A-Za-z0-9]{{36}}{WORD_END}"),
    _rule("pypi-token", "pypi-AgE", r"pypi-AgE[A-Za-z0-9_-]{50,300}"),
    _rule("huggingface-token", "hf_", rf"hf_[A-Za-z]{{34}}{WORD_END}"),
    _rule("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", rf"do[opr]_v1_[0-9a-f]{{64}}{WORD_END}"),
    _rule("sendgrid-key", "SG.", rf"SG\.[A-Za-z0-9_-]{{22}}\.[A-Za-z0-9_-]{{43}}{WORD_END}"),
    _rule("twilio-key", "SK", rf"SK[0-9a-f]{{32}}{WORD_END}"),
    _rule("supabase-key", "sbp_ sb_secret_", rf"(?:sbp_[0-9a-f]{{40}}|sb_secret_[A-Za-z0-9_-]{{20,60}}){WORD_END}"),
    _rule("vault-token", "hvs. hvb.", rf"hv[sb]\.[A-Za-z0-9_-]{{24,200}}{END}"),
    _rule(
        "terraform-token", ".atlasv1.",
        rf"[A-Za-z0-9]{{14}}\.atlasv1\.[A-Za-z0-9_-]{{60,80}}{END}", 14, "[A-Za-z0-9]{14}",
    ),
    _rule("age-key", "AGE-SECRET-KEY-1", rf"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{{58}}{WORD_END}"),
    _rule("linear-key", "lin_api_", rf"lin_api_[A-Za-z0-9]{{40}}{WORD_END}"),
    _rule("notion-token", "ntn_", rf"ntn_[0-9]{{11}}[A-Za-z0-9]{{35}}{WORD_END}"),
    _rule("shopify-token", "shpat_ shpca_ shppa_ shpss_", rf"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{{32}}{WORD_END}"),
    _rule("square-token", "sq0atp- sq0csp-", rf"sq0(?:atp|csp)-[A-Za-z0-9_-]{{22,43}}{END}"),
    _rule("databricks-token", "dapi", rf"dapi[0-9a-f]{{32}}(?:-\d)?{WORD_END}"),
    _rule("grafana-token", "glsa_", rf"glsa_[A-Za-z0-9]{{32}}_[A-Fa-f0-9]{{8}}{WORD_END}"),
    _rule("sentry-token", "sntrys_ sntryu_", r"sntry(?:s_eyJ[A-Za-z0-9+/=_-]{40,400}|u_[0-9a-f]{64})"),
    _rule("postman-key", "PMAK-", rf"PMAK-[0-9a-f]{{24}}-[0-9a-f]{{34}}{WORD_END}"),
    _rule("newrelic-key", "NRAK-", rf"NRAK-[A-Z0-9]{{27}}{WORD_END}"),
    _rule("doppler-token", "dp.pt. dp.st. dp.ct. dp.sa.", rf"dp\.(?:pt|st|ct|sa)\.[A-Za-z0-9_.-]{{40,60}}{END}"),
    _rule(
        "planetscale-token", "pscale_tkn_ pscale_oauth_ pscale_pw_",
        rf"pscale_(?:tkn|oauth|pw)_[A-Za-z0-9_.=-]{{32,64}}{END}",
    ),
    _rule("pulumi-token", "pul-", rf"pul-[0-9a-f]{{40}}{WORD_END}"),
    _rule("rubygems-key", "rubygems_", rf"rubygems_[0-9a-f]{{48}}{WORD_END}"),
    _rule("docker-token", "dckr_pat_ dckr_oat_", rf"dckr_[po]at_[A-Za-z0-9_-]{{27,40}}{END}"),
    _rule("discord-webhook", "/api/webhooks/", r"/api/webhooks/(\d{17,20}/[A-Za-z0-9_-]{60,80})"),
    _rule("groq-key", "gsk_", rf"gsk_[A-Za-z0-9]{{52}}{WORD_END}"),
    _rule("xai-key", "xai-", rf"xai-[A-Za-z0-9]{{80}}{WORD_END}"),
    _rule("perplexity-key", "pplx-", rf"pplx-[A-Za-z0-9]{{48}}{WORD_END}"),
    _rule("replicate-token", "r8_", rf"r8_[A-Za-z0-9]{{37}}{WORD_END}"),
    _rule("atlassian-token", "ATATT3", rf"ATATT3[A-Za-z0-9_=-]{{150,220}}{END}"),
    _rule("tailscale-key", "tskey-", rf"tskey-[a-z]{{3,8}}-[A-Za-z0-9]{{6,30}}-[A-Za-z0-9]{{20,60}}{WORD_END}"),
    _rule("langsmith-key", "lsv2_pt_ lsv2_sk_", rf"lsv2_(?:pt|sk)_[0-9a-f]{{32}}_[0-9a-f]{{10}}{WORD_END}"),
    _rule("figma-token", "figd_", rf"figd_[A-Za-z0-9_-]{{38,44}}{END}"),
    _rule("telegram-token", ":AA", rf"\d{{8,10}}:AA[A-Za-z0-9_-]{{33}}{WORD_END}", 10, r"\d{8}"),
    _rule(  # of a bot: the digits of its number in base64, a time, and a hash
        "discord-token", "MT Mj Mz ND NT Nj Nz OD OT",
        rf"{_DIGITS * 5}[MNO][DTjz][AEIMQUYcgk][w-z0-5]?[MNO]?[AQgw]?"
        rf"\.[A-Za-z0-9_-]{{6}}\.[A-Za-z0-9_-]{{27,40}}{END}",
    ),
    _rule(
        "azure-secret", "Q~",
        rf"[A-Za-z0-9_~.]{{3}}\dQ~[A-Za-z0-9_~.-]{{30,33}}[A-Za-z0-9_~-]{WORD_END}", 4, r"[A-Za-z0-9_~.]{3}\d",
    ),
    _rule("jwt", "eyJ", rf"eyJ[A-Za-z0-9_-]{{10,2000}}\.eyJ[A-Za-z0-9_-]{{10,4000}}\.[A-Za-z0-9_-]{{20,1000}}{END}"),
    _rule("azure-secret", "sig=", r"[?&;]sig=([A-Za-z0-9+/]{43}=)", 1),  # of a shared access signature
    _rule("url-password", "://", rf"://{_USER}:([^\s:/?#@'\"<>${{}}]{{6,120}})@"),
    _rule(
        "url-token", "://",
        r"://(?=[A-Za-z0-9_.~+=-]{0,120}\d)(?=[A-Za-z0-9_.~+=-]{0,120}[A-Za-z])([A-Za-z0-9_.~+=-]{20,120})@",
    ),
    _rule(
        "curl-password", "curl",
        r"curl(?:\s|\\{0,7}[\"'],\s{0,30})(?:(?!curl\s)(?:[^\n;|&]|,\n)){0,400}?(?:-u|-U|--user|--proxy-user)"
        r"(?:[ =]?\\{0,7}[\"']?|\\{0,7}[\"'],\s{0,30}\\{0,7}[\"'])"
        r"[^\s:\"'=$/\\]{1,64}:(?!(?i:pass|secret|token|pwd))([^\s\"'$:/\\][^\s\"':\\]{5,120})(?=\\{0,7}[\"'\s]|\Z)",
    ),
    _rule("google-oauth", "ya29.", rf"ya29\.[A-Za-z0-9_-]{{30,400}}{END}"),
    _rule("auth-header", "Bearer Basic", r"(?:Bearer|Basic)\s{1,3}([A-Za-z0-9_+/=.-]{24,2000})(?![A-Za-z0-9_+/=.-])"),
    _rule(
        "auth-header", "bearer BEARER",
        r"(?:bearer|BEARER)\s{1,3}(?=[^\s\"']{0,120}\d)([A-Za-z0-9_+/=.-]{24,2000})(?![A-Za-z0-9_+/=.-])",
    ),
    _rule(
        "auth-header", "uthorization UTHORIZATION",
        rf"(?i:authorization)(?:{_PAIR}|\\{{0,7}}[\"']?\s{{0,3}}(?:[:=]|{_VALUE})\s{{0,3}})\\{{0,7}}[\"']?"
        r"(?:(?i:token|basic)\s{1,3}|(?=[^\s\"']{0,120}\d)(?=[^\s\"']{0,120}[A-Za-z]))"
        r"([A-Za-z0-9_+/=.-]{24,2000})(?![A-Za-z0-9_+/=.-])", 1,
    ),
    _rule(
        "docker-auth", '"auth',
        r"\"auth\\{0,7}\"\s{0,3}:\s{0,3}\\{0,7}\"([A-Za-z0-9+/]{12,800}={0,2})\\{0,7}\"",
    ),
    _rule(
        "netrc-password", "machine",
        r"machine(?:\s|\\n){1,9}[!#-\[\]-~]{1,100}(?:\s|\\n){1,9}login(?:\s|\\n){1,9}[!#-\[\]-~]{1,100}(?:\s|\\n){1,9}"
        r"password(?:\s|\\n){1,9}([!#-\[\]-~]{4,100})",
    ),
)  # fmt: skip
_ANCHORS = tuple(dict.fromkeys(anchor for rule in RULES for anchor in rule.anchors))
_ALPHANUMERIC = frozenset(ascii_letters + digits)
_LONGEST_ESCAPE = 48  # characters
_ESCAPE_END = compile_lazily(  # also of what a terminal does not show, such as `ESC ( B`, and `^I` of `cat -A`
    r"(?:\\(?:c?[A-Za-z]|[0-7]{1,3}|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8})|%(?:u[0-9A-Fa-f]{2})?[0-9A-Fa-f]{2}"
    r"|=(?:[189A-F][0-9A-F]|0[0-9A-F]|2[0-9A-F]|3[A-F]|5[B-F]|60|7[B-F])|\^[A-Z]"
    r"|(?:\x1b|\ufffd|\^\[|\\(?:u001[bB]|x1[bB]|033|e|E))(?:\[[0-9:;<=>?]{0,40}[ !$']?[A-Za-z]|[()* #%]?[0-9A-Za-z])"
    r"|(?:\x9b|\\(?:x9[bB]|u009[bB]|233))[0-9:;<=>?]{0,40}[A-Za-z])\Z"
)
_SHORT = 400  # characters; of a shorter text a search for each anchor is as fast
_LONG = 1 << 20  # of a longer text the list of places could take too much memory
_NAME = (
    r"(?:(?:api|access|account|secret|private|preshared)[_-]?key|secret"
    r"|(?:auth|access|private|refresh|api)[_-]?token|(?<![a-z0-9])token|password|passwd|passphrase"
    r"|(?<![a-z])pwd(?!\\{0,7}[\"']?[ \t]{0,3}[=:][ \t]{0,3}\\{0,7}[\"']?[/~.]))"  # not PWD=/a/directory
)
_KEY = compile_lazily(
    rf"(?i){_NAME}"
    rf"{_TO_VALUE}\\{{0,7}}[\"']?"
    r"(?=[A-Za-z0-9_+/.-]{0,119}\d)(?=[A-Za-z0-9_+/.-]{0,119}[A-Za-z])"
    r"([A-Za-z0-9_+/-]{20,120}={0,2})(?![A-Za-z0-9_+/.(\[-])"
)
_QUOTED_KEY = compile_lazily(  # a value in quotes that has other signs than those of tokens
    rf"(?i){_NAME}"
    rf"{_TO_VALUE}\\{{0,7}}(?P<quote>[\"'])"
    r"(?=[^\s\"']{0,119}\d)(?=[^\s\"']{0,119}[A-Za-z])(?=[^\s\"']{0,119}[!@#%^&*~?])"
    r"(?P<value>[A-Za-z0-9_+/=.~!@#%^&*?-]{20,119}(?=\\{0,7}(?P=quote))|[A-Za-z0-9_+/=.~!@#%^&*?-]{120})"
)
_HEADER_KEY = compile_lazily(  # the same in quotes that are around the name, too, as curl -H has it
    rf"(?i){_NAME}:[ \t]{{0,3}}"
    r"(?=[^\s\"']{0,119}\d)(?=[^\s\"']{0,119}[A-Za-z])(?=[^\s\"']{0,119}[!@#%^&*~?])"
    r"(?P<value>[A-Za-z0-9_+/=.~!@#%^&*?-]{20,120})(?=\\{0,7}[\"'])"
)
_WITH_SIGNS = (_QUOTED_KEY, _HEADER_KEY)
_QUOTE = compile_lazily(r"\\{0,7}[\"']")
_REST_IN_QUOTES = compile_lazily(r"[^\s\"'\\]++(?=\\{0,7}[\"'])")  # of a long value, or of one with other signs
KEY_WORDS = ("key", "secret", "token", "password", "passwd", "passphrase", "pwd")
_BEHIND_KEY = compile_lazily(_TO_VALUE)
_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)
_UUID = compile_lazily(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_SAMPLE_KEY = 200  # characters of a private key from which on it is no sample; a real one has more
_PLACEHOLDER = compile_lazily(r"(?i)example|your[_-]|xxxx|\*\*\*\*|placeholder|changeme|dummy|redacted")

# Only for redaction: values that log in somewhere, however short they are and whatever they look like.
_CREDENTIALS = (
    ("auth-header", compile_lazily(
        r"(?i)authorization\\{0,4}[\"']?\s{0,3}[:=]\s{0,3}\\{0,4}[\"']?(?:[a-z][a-z0-9-]{0,20}[ \t]{1,3})?"
        r"([^\s\"'\\,;]{1,4000})"
    )),
    ("auth-header", compile_lazily(
        r"\b(?i:bearer|basic|token)[ \t]{1,3}(?=[^\s\"']{0,120}\d)([A-Za-z0-9_+/=.~-]{16,4000})"
    )),
    ("cookie", compile_lazily(r"(?i)\b(?:set-)?cookie[\"']?\s{0,3}[:=]\s{0,3}[\"']?([^\r\n\"']{1,4000})")),
    ("cookie", compile_lazily(
        r"(?<!\S)(?:-b|--cookie)[ =]"
        r"(?:[\"']([^\s\"'=]{1,200}=[^\r\n\"']{1,4000})|([^\s\"'=]{1,200}=[^\s\"']{1,4000}))"
    )),
    ("password", compile_lazily(
        r"\b(?:curl|wget|xh|https?)\s(?:[^\n;|&]{0,400}?\s)?(?:-u|-U|--user|--proxy-user)[ =]?[\"']?"
        r"[^\s:\"'=$/]{1,200}:([^\s\"'$:/][^\s\"':/]{0,200})(?=[\s\"']|$)"
    )),
    ("password", compile_lazily(
        r"(?<![\w-])--(?:[a-z]{1,20}-){0,3}pass(?:word|wd|phrase)?(?:[ \t]{1,3}|=|[\"'],\s{0,3})\\{0,4}[\"']?"
        r"(?=[^\s\"'\\]{6}|[^\s\"'\\]{0,5}\d)([^\s\"'\\$<-][^\s\"'\\]{0,200})"
    )),
    ("password", compile_lazily(r"\bsshpass[ \t]{1,3}-p[ \t]{0,3}[\"']?([^\s\"'$]{1,200})")),
    ("password", compile_lazily(
        r"\b(?:mysql|mariadb)[a-z-]{0,12}[ \t](?:[^\n;|&]{0,300}?[ \t])?-p[\"']?([^\s\"'$]{1,200})"
    )),
    ("url-password", compile_lazily(r"://[^\s:/?#@'\"<>]{0,200}:([^\s/?#'\"<>]{1,400})@")),
    ("url-password", compile_lazily(r"://([^\s:/?#@'\"<>$]{20,400})@")),
    ("assigned-secret", compile_lazily(
        r"(?i)(?:password|passwd|passphrase|pwd|secret)\\{0,4}[\"']?[ \t]{0,3}[:=]=?[ \t]{0,3}"
        r"(?:\"(?=[^\s\"]{0,119}\d)([^\s\"]{8,120})\"|'(?=[^\s']{0,119}\d)([^\s']{8,120})'"
        r"|\\{0,4}[\"']?(?=[^\s\"'\\,;]{0,119}\d)([^\s\"'\\,;]{8,120})(?![^\s\"'\\,;]))"
    )),
    ("assigned-secret", compile_lazily(  # in quotes it needs no digit
        r"(?i)(?:password|passwd|passphrase|pwd)\\{0,4}[\"']?[ \t]{0,3}[:=]=?[ \t]{0,3}"
        r"(?:\\{0,4}\"([^\s\"\\$<{(%][^\s\"\\]{7,119})\\{0,4}\"|'([^\s'$<{(%][^\s']{7,119})')"
    )),
    ("assigned-secret", compile_lazily(
        r"(?i)(?:(?<![a-z0-9])|_)pass(?:=[\"']?|[\"'][ \t]{0,3}:[ \t]{0,3}[\"'])"
        r"(?=[^\s\"'\\,;&]{0,119}\d)([^\s\"'\\,;&$<][^\s\"'\\,;&]{7,119})"
    )),
)  # fmt: skip
_BASE64 = compile_lazily(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{24,8000}={0,2}")
_SPLITTING = compile_lazily(
    r"\\{1,4}x(?P<hex>[0-9A-Fa-f]{2})|\\{1,4}u\{?00(?P<unicode>[0-9A-Fa-f]{2})\}?|\\{1,4}(?P<octal>[0-7]{3})"
    r"|\\{1,4}(?:\r?\n|n(?=[A-Za-z0-9_-]))?|\$(?=\\{0,4}['\"])|[\"'`]|[\u00ad\u180e\u200b-\u200f\u2060-\u2064\ufeff]"
)
_ESCAPES = (("hex", 16), ("unicode", 16), ("octal", 8))


def find_secrets(text: str, borders: Container[int] = ()) -> list[Secret]:
    """Return the possible secrets of a text, in order; they do not overlap. Placeholders are left out.

    borders: places where something was taken out of the text, so that a word may begin there
    """
    found = sorted(
        {*_walk_prefixes(text, borders), *_walk_assigned(text)},
        key=lambda each: (each.start, -each.end, each.kind in GENERAL, each.kind),
    )
    kept: list[Secret] = []
    for each in found:
        if not kept or each.start >= kept[-1].end:
            kept.append(each)
    return kept


def redact(text: str) -> str:
    """Return the text with each secret replaced by `[redacted KIND]`, more than `find_secrets` finds.

    What is shown loses every value that is used as a credential, however short, what base64 hides, and secrets that
    quotes, backslashes, escapes or invisible characters split.
    """
    found = sorted(
        {*find_secrets(text), *_walk_credentials(text), *_walk_encoded(text), *_walk_split(text)},
        key=lambda each: (each.start, -each.end, each.kind in GENERAL, each.kind),
    )
    pieces, position = [], 0
    for secret in found:
        if secret.start >= position:
            pieces += [text[position : secret.start], f"[redacted {secret.kind}]"]
        position = max(position, secret.end)
    return "".join([*pieces, text[position:]])


def redact_value(name: str, value: str) -> str:
    """Return the value of a member of a document as `redact` does, also if only its name says that it is a secret."""
    shown, quote = redact(value), "'" if '"' in value else '"'
    before = f"{name}={quote}"
    if shown == value and len(value) <= _MAX_PASSWORD:
        assigned = redact(f"{before}{value}{quote}")
        if assigned.startswith(before) and assigned.endswith(quote):
            return assigned[len(before) : -1]
    return shown


def _walk_credentials(text: str) -> Iterator[Secret]:
    """Yield the values of headers, options and URLs that log in somewhere."""
    for kind, pattern in _CREDENTIALS:
        for match in pattern.finditer(text):
            group = match.lastindex or 0
            if not match[group].startswith(("$", "[redacted", "<")):
                yield Secret(kind, match.start(group), match.end(group))


def _walk_encoded(text: str) -> Iterator[Secret]:
    """Yield words in base64 that hold a secret."""
    for match in _BASE64.finditer(text):
        whole = match[0].replace("-", "+").replace("_", "/").rstrip("=")
        for shift in range(4):  # what is in front of it may look like a part of it: the `n` of `\\n`
            word = whole[shift : len(whole) - ((len(whole) - shift) % 4 == 1)]
            decoded = b64decode(word + "=" * (-len(word) % 4)).decode("latin-1")
            if decoded.isascii() and find_secrets(decoded):
                yield Secret("encoded-secret", match.start() + shift, match.end())


def _walk_split(text: str) -> Iterator[Secret]:
    """Yield secrets that are whole once a shell has removed quotes and read escapes, by their places in the text."""
    joined, starts, at, length = [], [0], [0], 0
    position = 0
    for match in _SPLITTING.finditer(text):
        code = next((int(match[name], base) for name, base in _ESCAPES if match[name]), None)
        character = "" if code is None or not 32 < code < 127 else chr(code)
        joined += [text[position : match.start()], character]
        length += match.start() - position
        starts.append(length)
        at.append(match.start())
        length += len(character)
        starts.append(length)
        at.append(match.end())
        position = match.end()
    if position == 0:
        return
    joined.append(text[position:])

    def original(place: int) -> int:
        number = bisect_right(starts, place) - 1
        return at[number] + place - starts[number]

    for secret in find_secrets("".join(joined)):
        yield Secret(secret.kind, original(secret.start), original(secret.end - 1) + 1)


def _walk_prefixes(text: str, borders: Container[int]) -> Iterator[Secret]:
    places = find_anchors(text)
    for rule in RULES:
        for anchor in rule.anchors:
            end = 0  # of the match before
            for at in places.get(anchor, ()):
                match = match_at(rule, text, at, borders) if at >= end else None
                if match is not None:
                    group = match.lastindex or 0
                    if not is_sample(rule.kind, match[group]):
                        end = match.end()
                        yield Secret(rule.kind, match.start(group), match.end(group))


def find_anchors(text: str) -> Mapping[str, Sequence[int]]:
    """Return where each anchor that a text has occurs, in order; occurrences may overlap.

    ahocorasick_rs, if it is installed, finds all of them in one pass, in an eighth of the time.
    """
    found: dict[str, list[int]] = {}
    find_all = _matcher() if _SHORT < len(text) <= _LONG else None
    if find_all is not None:
        with suppress(UnicodeError):  # a lone surrogate
            for number, start, _ in find_all(text, overlapping=True):
                found.setdefault(_ANCHORS[number], []).append(start)
            return found
    for anchor in _ANCHORS:
        at = text.find(anchor)
        while at >= 0:
            found.setdefault(anchor, []).append(at)
            at = text.find(anchor, at + 1)
    return found


@cache
def _matcher() -> Callable[..., list[tuple[int, int, int]]] | None:
    """Return the function that finds all anchors as (number, start, end); None without ahocorasick_rs."""
    try:
        from ahocorasick_rs import AhoCorasick

        make = AhoCorasick
    except ImportError:
        return None
    find: Callable[..., list[tuple[int, int, int]]] = make(_ANCHORS).find_matches_as_indexes
    return find


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def match_at(rule: Rule, text: str, at: int, borders: Container[int] = ()) -> re.Match[str] | None:
    """Return a match that contains the anchor; it begins there, or up to `before` characters earlier.

    borders: as for `find_secrets`
    """
    if rule.lead and _compiled(f"(?<={rule.lead})").match(text, at) is None:
        return None
    for start in range(max(at - rule.before, 0), at + 1):
        is_inside = start not in borders and _is_inside_word(text, start)
        match = None if is_inside else _compiled(rule.pattern).match(text, start)
        if match is not None and match.end() > at:
            return match
    return None


def without_end(pattern: str) -> str:
    """Return the pattern of a rule without what may not follow."""
    return pattern.removesuffix(END).removesuffix(WORD_END)


def _is_inside_word(text: str, start: int) -> bool:
    """Return True between two letters or digits of ASCII, unless an escape such as `%0A` or a color ends there."""
    if start == 0 or not (text[start] in _ALPHANUMERIC and text[start - 1] in _ALPHANUMERIC):
        return False
    return _ESCAPE_END.search(text, max(start - _LONGEST_ESCAPE, 0), start) is None


def _walk_assigned(text: str) -> Iterator[Secret]:
    for start, end in walk_keys(text):
        match = _KEY.search(text, max(start - 10, 0), end + 140)
        group: int | str = 1
        for pattern in () if match is not None else _WITH_SIGNS:
            match, group = match or pattern.search(text, max(start - 10, 0), end + 140), "value"
        if match is None or is_placeholder(match[group]):
            continue
        if _UUID.fullmatch(match[group]) and "_authToken" not in text[max(match.start() - 1, 0) : match.start(group)]:
            continue
        if len(set(match[group])) >= _MIN_DISTINCT:
            stop = _end_in_quotes(text, *match.span(group))
            if group == 1 or _QUOTE.match(text, stop):
                yield Secret("assigned-secret", match.start(group), stop)


def _end_in_quotes(text: str, start: int, end: int) -> int:
    """Return where a value ends: one in quotes goes on to the next quote, whatever signs it has and however long."""
    rest = _REST_IN_QUOTES.match(text, end) if text[start - 1 : start] in {'"', "'"} else None
    return end if rest is None else rest.end()


def walk_keys(text: str) -> Iterator[tuple[int, int]]:
    """Yield where a word such as `token` begins, and where the `=` or `:` behind it ends.

    Searching for each word is five times as fast as one expression for all, which has no fixed beginning.
    """
    lower = text.lower()
    if len(lower) != len(text):  # of some letters the small form is longer
        lower = text.translate(_LOWER)
    for word in KEY_WORDS:
        at = lower.find(word)
        while at >= 0:
            behind = _BEHIND_KEY.match(text, at + len(word))
            if behind is not None:
                yield at, behind.end()
            at = lower.find(word, at + len(word))


def is_sample(kind: str, value: str) -> bool:
    """Return True if a value stands for a secret in an example; of private keys only a short text can be one.

    A real key may have a comment such as `alice@example.com`, and by chance "xxxx" among its letters.
    """
    return is_placeholder(value) and (kind != "private-key" or len(value) < _SAMPLE_KEY)


def is_placeholder(text: str) -> bool:
    """Return True if a value stands for a secret in an example."""
    return _PLACEHOLDER.search(text) is not None or text.lower().count("x") > len(text) // 2
