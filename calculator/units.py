"""Bytes and token counts ↔ text, and the integer helpers everything else stands on."""

from __future__ import annotations

import re

from calculator.errors import InvalidInput, shown

KIB, MIB, GIB, TIB = 2**10, 2**20, 2**30, 2**40
KB, MB, GB, TB = 10**3, 10**6, 10**9, 10**12

MAX_TOKENS = 2**40
MAX_COUNT = 2**31
MAX_BYTES = 2**63 - 1

_BYTE_UNITS = {
    "": 1, "b": 1, "kb": KB, "mb": MB, "gb": GB, "tb": TB,
    "kib": KIB, "mib": MIB, "gib": GIB, "tib": TIB,
}  # fmt: skip
WHOLE = r"(?:\d{1,3}(?:,\d{3}){1,12}|\d{1,3}(?:_\d{3}){1,12}|\d{1,40})"
"""Digits, or groups of three: `1,5` is a decimal to some, so it is not 15."""
_NUMBER = rf"({WHOLE}(?:\.\d+)?)(?:e(\d{{1,3}}))?\s*([a-z]*)"


def ceil_div(a: int, b: int) -> int:
    """a ÷ b rounded up.

    >>> ceil_div(9, 4), ceil_div(8, 4)
    (3, 2)
    """
    return -(-a // b)


def round_up(a: int, multiple: int) -> int:
    """a rounded up to a multiple.

    >>> round_up(1000, 256)
    1024
    """
    return ceil_div(a, multiple) * multiple


def checked_int(field: str, value: object, *, at_least: int = 1, at_most: int = MAX_COUNT) -> int:
    """`value` if it really is an integer in range, else InvalidInput naming the field."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(
            f"{field} is {shown(value)}; expected a whole number from {at_least:,} to {at_most:,}.",
            field=field,
        )
    if not at_least <= value <= at_most:
        raise InvalidInput(
            f"{field} is {shown(value)}; expected {at_least:,} to {at_most:,}.", field=field
        )
    return value


def format_gib(num_bytes: int, decimals: int = 2) -> str:
    """Bytes as GiB (2³⁰), the unit that engines log.

    >>> format_gib(1_073_741_824)
    '1.00 GiB'
    """
    return f"{num_bytes / GIB:,.{decimals}f} GiB"


def format_gb(num_bytes: int, decimals: int = 2) -> str:
    """Bytes as GB (10⁹), the unit that vendors sell.

    >>> format_gb(1_073_741_824)
    '1.07 GB'
    """
    return f"{num_bytes / GB:,.{decimals}f} GB"


def format_bytes(num_bytes: int) -> str:
    """Bytes in the largest binary unit that leaves a number of at least 1.

    The unit is chosen after rounding, so 1,048,575 B is "1 MiB", never "1,024 KiB".

    >>> format_bytes(81_920), format_bytes(1_048_575), format_bytes(12)
    ('80 KiB', '1 MiB', '12 B')
    """
    value, unit = float(num_bytes), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB", "PiB"):
        if round(value, 2) < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:,.2f}".rstrip("0").rstrip(".") + f" {unit}"


def exact_bytes(num_bytes: int, short: str = "") -> str:
    """Bytes, and in brackets how large that is, by default in the unit that fits.

    >>> exact_bytes(131_072), exact_bytes(512)
    ('131,072 B (128 KiB)', '512 B')
    """
    exact, short = f"{num_bytes:,} B", short or format_bytes(num_bytes)
    return exact if short == exact else f"{exact} ({short})"


def format_tokens(num_tokens: int) -> str:
    """Token count as on an axis: 1024 → 1K.

    >>> format_tokens(131_072), format_tokens(1_048_576), format_tokens(30_000)
    ('128K', '1M', '30,000')
    """
    if num_tokens >= 2**20 and num_tokens % 2**20 == 0:
        return f"{num_tokens // 2**20}M"
    if num_tokens >= 1024 and num_tokens % 1024 == 0:
        return f"{num_tokens // 1024}K"
    return f"{num_tokens:,}"


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "token"), counted(8192, "token")
    ('1 token', '8,192 tokens')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def parse_tokens(field: str, text: object) -> int:
    """A token count as people type it: 8192, 8_192, 8,192, 8k (1024), 1m (1024²).

    >>> parse_tokens("context", "128k"), parse_tokens("context", "8,192")
    (131072, 8192)
    """
    if isinstance(text, int):
        return checked_int(field, text, at_most=MAX_TOKENS)
    found = re.fullmatch(rf"({WHOLE})\s*([km]?)", str(text).strip().lower(), re.ASCII)
    if not found:
        raise InvalidInput(
            f"{field} is {shown(text)}; expected a token count such as 8192, 8k or 128k.",
            field=field,
        )
    factor = {"": 1, "k": 1024, "m": 1024**2}[found[2]]
    return checked_int(field, _digits(found[1]) * factor, at_most=MAX_TOKENS)


def parse_count(field: str, text: object, *, at_most: int = MAX_COUNT) -> int:
    """A whole number from text, at least 1."""
    if isinstance(text, int):
        return checked_int(field, text, at_most=at_most)
    if not re.fullmatch(WHOLE, str(text).strip(), re.ASCII):
        raise InvalidInput(
            f"{field} is {shown(text)}; expected a whole number of at least 1.", field=field
        )
    return checked_int(field, _digits(str(text).strip()), at_most=at_most)


def parse_bytes(field: str, text: object, *, typed: object = None) -> int:
    """A size with or without unit, meaning what it says: 40GB is 40 × 10⁹, 40GiB is 40 × 2³⁰.

    A few bytes without a unit are refused: who types 6 means GiB. `typed` is all that was typed,
    where `text` is a part of it.

    >>> parse_bytes("memory", "80 GiB"), parse_bytes("memory", "40e9"), parse_bytes("m", "1.5GB")
    (85899345920, 40000000000, 1500000000)
    """
    if isinstance(text, int):
        return checked_int(field, text, at_most=MAX_BYTES)
    given = shown(typed or text)
    found = re.fullmatch(_NUMBER, str(text).strip().lower(), re.ASCII)
    if not found or found[3] not in _BYTE_UNITS:
        raise InvalidInput(
            f"{field} is {given}; expected a size such as 80GB, 74.5GiB or 40e9.", field=field
        )
    whole, _, fraction = found[1].replace(",", "").replace("_", "").partition(".")
    if len(whole) + len(fraction) > 40:
        raise InvalidInput(f"{field} is {given}; too many digits.", field=field)
    scaled = int(whole + fraction) * 10 ** int(found[2] or 0) * _BYTE_UNITS[found[3]]
    num_bytes = scaled // 10 ** len(fraction)
    if scaled and num_bytes < MIB and not found[3]:
        raise InvalidInput(
            f"{field} is {given}; {found[0]} without a unit is bytes: write {found[0]}GiB for GiB, "
            f"{found[0]}B for bytes.",
            field=field,
        )
    return checked_int(field, num_bytes, at_most=MAX_BYTES)


def _digits(text: str) -> int:
    return int(text.replace(",", "").replace("_", ""))
