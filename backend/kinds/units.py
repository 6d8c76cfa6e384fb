"""Units: UCUM, the codes of UN/CEFACT that FIWARE uses, and what people write; exact.

A unit is a factor to base units, an offset (of temperatures) and exponents of its dimensions.
Source: UCUM, section 4; UNECE Recommendation 20.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

Dimensions = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit: `value × factor + offset` is in base units."""

    factor: Fraction
    dimensions: Dimensions
    offset: Fraction = Fraction(0)


class UnitError(ValueError):
    """A unit is unknown, or not one of the same thing."""


_PREFIXES = {
    "Y": 24, "Z": 21, "E": 18, "P": 15, "T": 12, "G": 9, "M": 6, "k": 3, "h": 2, "da": 1,
    "d": -1, "c": -2, "m": -3, "u": -6, "n": -9, "p": -12, "f": -15,
}  # fmt: skip
_METRIC = {
    "m": ("1", "m"), "g": ("1", "g"), "s": ("1", "s"), "K": ("1", "K"), "Cel": ("1", "K"),
    "rad": ("1", "rad"), "cd": ("1", "cd"), "C": ("1", "C"), "mol": ("1", "mol"),
    "Pa": ("1000", "g m-1 s-2"), "bar": ("100000000", "g m-1 s-2"), "N": ("1000", "g m s-2"),
    "J": ("1000", "g m2 s-2"), "W": ("1000", "g m2 s-3"), "A": ("1", "C s-1"),
    "V": ("1000", "g m2 s-2 C-1"), "Ohm": ("1000", "g m2 s-1 C-2"), "F": ("0.001", "C2 s2 g-1 m-2"),
    "Hz": ("1", "s-1"), "Bq": ("1", "s-1"), "Sv": ("1", "m2 s-2"), "Gy": ("1", "m2 s-2"),
    "lm": ("1", "cd"), "lx": ("1", "cd m-2"), "L": ("0.001", "m3"), "l": ("0.001", "m3"),
    "B": ("1", "bel"), "t": ("1000000", "g"), "m[H2O]": ("9806650", "g m-1 s-2"),
    "m[Hg]": ("133322387", "g m-1 s-2"), "S": ("0.001", "C2 s g-1 m-2"),
}  # fmt: skip
_PLAIN = {
    "%": ("0.01", ""), "[ppth]": ("0.001", ""), "[ppm]": ("0.000001", ""), "[pptr]": ("1e-12", ""),
    "[ppb]": ("1e-9", ""), "min": ("60", "s"), "h": ("3600", "s"), "d": ("86400", "s"),
    "wk": ("604800", "s"), "mo": ("2629800", "s"), "a": ("31557600", "s"),
    "[degF]": ("5/9", "K"), "[in_i]": ("0.0254", "m"), "[ft_i]": ("0.3048", "m"),
    "[yd_i]": ("0.9144", "m"), "[mi_i]": ("1609.344", "m"), "[nmi_i]": ("1852", "m"),
    "[kn_i]": ("1852/3600", "m s-1"), "[lb_av]": ("453.59237", "g"),
    "atm": ("101325000", "g m-1 s-2"),
    "[psi]": ("6894757.293168361", "g m-1 s-2"), "[in_i'Hg]": ("3386388.6298", "g m-1 s-2"),
    "deg": ("0.017453292519943295", "rad"), "ar": ("100", "m2"),
    "[acr_us]": ("4046.872609874252", "m2"),
}  # fmt: skip
_OFFSETS = {"Cel": Fraction("273.15"), "[degF]": Fraction("459.67") * Fraction(5, 9)}

_CODES = {
    "CEL": "Cel", "FAH": "[degF]", "KEL": "K", "P1": "%", "C62": "1", "KMH": "km/h", "MTS": "m/s",
    "HM": "[mi_i]/h", "KNT": "[kn_i]", "A97": "hPa", "MBR": "mbar", "BAR": "bar", "PAL": "Pa",
    "KPA": "kPa", "GP": "mg/m3", "GQ": "ug/m3", "59": "[ppm]", "61": "[ppb]", "MTR": "m",
    "CMT": "cm", "MMT": "mm", "KMT": "km", "2N": "dB", "LUX": "lx", "LUM": "lm", "SEC": "s",
    "MIN": "min", "HUR": "h", "DAY": "d", "KWH": "kW.h", "WTT": "W", "KWT": "kW", "VLT": "V",
    "2Z": "mV", "AMP": "A", "H67": "mm/h", "5K": "1/min", "LTR": "L", "DD": "deg", "D54": "W/m2",
}  # fmt: skip
CODES_OF = {unit: code for code, unit in reversed(_CODES.items())}
"""Codes of UN/CEFACT by UCUM."""
_WORDS = {
    "°c": "Cel", "℃": "Cel", "degc": "Cel", "celsius": "Cel", "centigrade": "Cel", "c": "Cel",
    "degreecelsius": "Cel", "degreescelsius": "Cel", "deg_c": "Cel", "cels": "Cel",
    "°f": "[degF]", "℉": "[degF]", "degf": "[degF]", "fahrenheit": "[degF]", "f": "[degF]",
    "degreefahrenheit": "[degF]", "degreesfahrenheit": "[degF]", "kelvin": "K",
    "percent": "%", "%rh": "%", "pct": "%", "%r.h.": "%", "%r.f.": "%", "% rh": "%",
    "kmh": "km/h", "km/h": "km/h", "kph": "km/h", "kmph": "km/h", "km/hr": "km/h",
    "kilometerperhour": "km/h", "kilometreperhour": "km/h", "meterpersecond": "m/s",
    "metrepersecond": "m/s", "mph": "[mi_i]/h", "mi/h": "[mi_i]/h", "kn": "[kn_i]", "kt": "[kn_i]",
    "kts": "[kn_i]", "knots": "[kn_i]", "ft/s": "[ft_i]/s", "mps": "m/s", "ms-1": "m/s",
    "m s-1": "m/s", "in": "[in_i]", "inch": "[in_i]", "inches": "[in_i]", "ft": "[ft_i]",
    "in/h": "[in_i]/h", "mi": "[mi_i]", "inhg": "[in_i'Hg]", "mmhg": "mm[Hg]", "psi": "[psi]",
    "millibar": "mbar", "hectopascal": "hPa", "pascal": "Pa", "kilopascal": "kPa", "mb": "mbar",
    "ppm": "[ppm]", "ppb": "[ppb]", "db(a)": "dB", "dba": "dB", "db[spl]": "dB", "decibel": "dB",
    "db(c)": "dB", "db(z)": "dB", "dbspl": "dB", "db": "dB", "lux": "lx",
    "millimeter": "mm", "millimetre": "mm",
    "l/m2": "mm", "l/m^2": "mm", "°": "deg", "degrees": "deg", "µg/m³": "ug/m3",
    "microgrampercubicmeter": "ug/m3", "microgrampercubicmetre": "ug/m3",
    "micrograms per cubic meter": "ug/m3", "ug/m^3": "ug/m3", "ugm3": "ug/m3", "ug/m3": "ug/m3",
    "milligrampercubicmeter": "mg/m3", "milligrampercubicmetre": "mg/m3", "mg/m^3": "mg/m3",
}  # fmt: skip
_SIGNS = str.maketrans(
    {"µ": "u", "μ": "u", "²": "2", "³": "3", "⁻": "-", "¹": "1", "·": ".", "\u00a0": " "}
)
_TERM = re.compile(r"([A-Za-z%\[][A-Za-z%\[\]_0-9']*?|\d+)(\^?[+-]?\d+)?(\{[^}]*\})?")
_MOST = 60
"""Characters of a unit that is looked at."""


def convert(value: Fraction, unit: str, wanted: str) -> Fraction:
    """A value in another unit; raises `UnitError` if the units are not of the same thing.

    `unit` is UCUM, a code of UN/CEFACT, or what people write; `wanted` is UCUM.
    """
    target = ucum(wanted)
    for meaning in meant(unit):
        try:
            found = ucum(meaning)
        except UnitError:
            continue
        if found.dimensions == target.dimensions:
            return (value * found.factor + found.offset - target.offset) / target.factor
    raise UnitError(
        f"found the unit {unit[:_MOST]!r}, expected one that is convertible to {wanted}"
    )


@lru_cache(maxsize=1_000)
def meant(unit: str) -> tuple[str, ...]:
    """What a unit may mean, the likeliest first."""
    if len(unit) > _MOST * 5:
        return ()
    last = re.split(r"[#/]", unit)[-1] if "://" in unit else unit  # as QUDT's and UCUM's IRIs end
    last = last.removeprefix("ucum:").strip().translate(_SIGNS)
    lower = last.lower()
    found = (_CODES.get(last), last, _WORDS.get(unit.strip().lower()), _WORDS.get(lower))
    return tuple(dict.fromkeys(meaning for meaning in found if meaning))


@lru_cache(maxsize=1_000)
def ucum(text: str) -> Unit:
    """The unit that a text of UCUM names; raises `UnitError` if it names none."""
    if len(text) > _MOST:
        raise UnitError(f"found the unit {text[:_MOST]!r}, expected one of UCUM")
    factor, powers = Fraction(1), dict[str, int]()
    pieces = re.split(r"([./])", re.sub(r"^\{[^}]*\}$|^$", "1", text))
    sign, terms = 1, 0
    if pieces[0] == "" and pieces[1:2] == ["/"]:
        pieces[0] = "1"
    for piece in pieces:
        if piece in (".", "/"):
            sign = -1 if piece == "/" else 1
            continue
        atom, exponent = _term(piece, text)
        terms += 1
        factor *= atom.factor ** (sign * exponent)
        for dimension, power in atom.dimensions:
            powers[dimension] = powers.get(dimension, 0) + sign * exponent * power
    dimensions = tuple(sorted((name, power) for name, power in powers.items() if power))
    offset = _OFFSETS.get(text, Fraction(0)) if terms == 1 else Fraction(0)
    return Unit(factor, dimensions, offset)


def _term(piece: str, text: str) -> tuple[Unit, int]:
    if piece.startswith("{") and piece.endswith("}"):
        return Unit(Fraction(1), ()), 1
    found = _TERM.fullmatch(piece)
    if found is None:
        raise UnitError(f"found the unit {text!r}, expected one of UCUM")
    atom, power, _note = found.groups()
    exponent = int(power.removeprefix("^")) if power else 1
    if abs(exponent) > 9:
        raise UnitError(f"found the unit {text!r}, expected one of UCUM")
    return _atom(atom, text), exponent


def _atom(atom: str, text: str) -> Unit:
    if atom.isdigit():
        if not int(atom):
            raise UnitError(f"found the unit {text!r}, expected one of UCUM")
        return Unit(Fraction(int(atom)), ())
    if known := _PLAIN.get(atom) or _METRIC.get(atom):
        return _unit(*known)
    for length in (1, 2):
        prefix, rest = atom[:length], atom[length:]
        if prefix in _PREFIXES and rest in _METRIC:
            unit = _unit(*_METRIC[rest])
            return Unit(unit.factor * Fraction(10) ** _PREFIXES[prefix], unit.dimensions)
    raise UnitError(f"found the unit {text!r}, expected one of UCUM")


def _unit(factor: str, written: str) -> Unit:
    powers = (re.fullmatch(r"([A-Za-z]+)(-?\d*)", part) for part in written.split())
    found = [(part[1], int(part[2] or 1)) for part in powers if part]
    return Unit(Fraction(factor), tuple(sorted(found)))
