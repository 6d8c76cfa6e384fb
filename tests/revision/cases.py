"""Random programs of every fragment and language, with streams that are late, corrected and
withdrawn."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

POSITIVE = ("q(X,Z) :- e(X,Y), e(Y,Z).", "q(X,Y) :- e(X,Y), d(Y).", "r(X) :- n(X,V), V > 1.",
            "tr(X,Y) :- e(X,Y). tr(X,Z) :- tr(X,Y), e(Y,Z).")  # fmt: skip
NEGATION = ("u(X) :- d(X), not e(X,X).", "none :- not d(1).", "v(X) :- e(X,_), not n(X,_).",
            "w(X) :- d(X), not e(X,1), not e(X,2).")  # fmt: skip
AGGREGATES = ("c(N) :- N = #count{X : d(X)}.", "m(X,S) :- d(X), S = #sum{V,Y : n(Y,V), e(X,Y)}.",
              "top(M) :- M = #max{V : n(_,V)}, d(_).")  # fmt: skip
FEEDBACK = ("#feedback on/1. on(X) :- d(X). on(X) :- prev_on(X), not e(X,X).",
            "#feedback k/1. k(1) :- d(1). k((N+1)\\7) :- prev_k(N), n(_,_).",
            "#feedback on/1. on(X) :- e(X,Y), not prev_on(Y).")  # fmt: skip
CHOICE = ("{ch(X)} :- d(X). :~ ch(X), not e(X,X). [-1@2,X] :~ ch(X), e(X,X). [1@1,X]",
          "1 {pick(X) : d(X)} 1 :- d(_). :~ pick(X), n(X,V). [V@1,X] :~ pick(X). [X@2]",
          "a(X) ; b(X) :- d(X).")  # fmt: skip
BEST = (
    (
        "#feedback best/1. 1 {best(X) : d(X)} 1 :- d(_). "
        ":~ best(X), not prev_best(X). [1@2] :~ best(X). [X@1]"
    ),
)
CONSTRAINT = (":- e(X,X), d(X).",)
TIMED = (
    "#held d/1. long(X) :- since_d(X,T), now(N), N - T >= 3.",
    "#held u/1. h(X,T) :- since_u(X,T).",
    "#last d/1. ago(X,N-T) :- last_d(X,T), now(N). u(X) :- d(X), not e(X,X).",
    "#last on/1 4s. on(X) :- d(X), not last_on(X,_). on(X) :- e(X,X).",
)
FRAGMENTS = {
    "timed": (POSITIVE, NEGATION, TIMED),
    "everything": (POSITIVE, FEEDBACK, TIMED),
    "positive": (POSITIVE,),
    "negation": (POSITIVE, NEGATION),
    "aggregates": (POSITIVE, NEGATION, AGGREGATES),
    "feedback": (POSITIVE, NEGATION, FEEDBACK),
    "constraint": (POSITIVE, NEGATION, CONSTRAINT),
    "choice": (POSITIVE, CHOICE),
    "best": (POSITIVE, BEST),
    "all": (POSITIVE, NEGATION, AGGREGATES, FEEDBACK, CONSTRAINT),
}
LARS = (
    "q(X,Z) :- <> e(X,Y) [{n}], <> e(Y,Z) [{m}].", "b(X) :- [] d(X) [{k}].",
    "u(X) :- <> d(X) [{n}], not <> e(X,X) [{m}].", "@T at(X) :- @T d(X) [{n}], n(X,V), V > 1.",
    "late(X) :- <> d(X) [{k}..{n}].", "c(X) :- d(X) at least 2 [{n}].",
    "w(X) :- d(X) since e(X,_) [{n}].", "z(X) :- <> d(X) [{n}], not at(X) since d(X) [{m}].",
    "seen(X) :- <> at(X) [{m}]. @T at(X) :- @T d(X) [{m}].",
)  # fmt: skip
LARS_MORE = (
    "last(X,Y) :- <> e(X,Y) [#{k1}].", "#stream s/1. s(X) :- d(X), not <> s(X) [{n}].",
    "#stream on/1. on(X) :- d(X). on(X) :- <> on(X) [1], not e(X,X).",
    "loop(X) :- d(X), not other(X). other(X) :- d(X), not loop(X).",
    "ever(X) :- @_ d(X).",
)  # fmt: skip
RIF = (
    "Forall ?x ?y ?z (e:q(?x ?z) :- And(e:e(?x ?y) e:e(?y ?z)))",
    (
        "Forall ?x ?y (e:t(?x ?y) :- e:e(?x ?y)) "
        "Forall ?x ?y ?z (e:t(?x ?z) :- And(e:t(?x ?y) e:e(?y ?z)))"
    ),
    "Forall ?x ?v (e:big(?x) :- And(e:n(?x ?v) External(pred:numeric-greater-than(?v 1))))",
)


@dataclass
class Case:
    """A program over a stream that is revised."""

    program: str
    suffix: str
    lines: list[dict[str, Any]]
    horizon: int
    start: int
    until: int | None = None
    engines: tuple[str, ...] = ("auto",)
    streams: list[str] = field(default_factory=list)


def casp(chance: Random, fragment: str = "") -> Case:
    """A random case of C-ASP."""
    pools = FRAGMENTS[fragment or chance.choice(sorted(FRAGMENTS))]
    rules = [chance.choice(pool) for pool in pools]
    names = [f"http://e/s{number}" for number in range(chance.choice((1, 1, 2, 3)))]
    windows = [f"#from stream <{name}> {_window(chance)}." for name in names]
    late = [f"#lateness {chance.randrange(4)}s."] if chance.random() < 0.3 else []
    split = [part for rule in rules for part in _statements(rule)]
    lines = stream(chance, names, intervals=True)
    horizon, start, until = _span(chance)
    engines: tuple[str, ...] = ("auto", "solver")
    if fragment not in ("choice", "best"):
        engines = ("auto", "solver", "incremental")
    listed = ["#input d/1.", "#input e/2."] if chance.random() < 0.25 else []
    text = "\n".join(dict.fromkeys((*windows, *late, *listed, *split)))
    return Case(text, ".casp", lines, horizon, start, until, engines, names)


def lars(chance: Random) -> Case:
    """A random case of plain LARS."""
    pool = LARS + LARS_MORE if chance.random() < 0.4 else LARS
    rules = []
    for rule in chance.sample(pool, chance.randint(1, 3)):
        k = chance.randint(0, 2)
        rules += rule.format(
            n=k + chance.randint(0, 3), m=chance.randint(0, 4), k=k, k1=k + 1
        ).split("\n")
    horizon, start, until = _span(chance)
    lines = stream(chance, [""], intervals=chance.random() < 0.3)
    return Case("\n".join(rules), ".lars", lines, horizon, start, until, ("auto", "solver"), [""])


PAST = (
    *LARS[:1], *LARS[2:4], *LARS[5:],
    "tr(X,Y) :- <> e(X,Y) [{n}]. tr(X,Z) :- tr(X,Y), <> e(Y,Z) [{m}].",
    "odd(X) :- <> d(X) [{n}], not tr(X,X). tr(X,Y) :- e(X,Y). tr(X,Z) :- tr(X,Y), e(Y,Z).",
    "@T on(X) :- @T d(X) [{n}], not e(X,X). all(X) :- [] on(X) [{k}].",
    "few(X) :- d(X) at most 1 [{n}], <> e(X,_) [{m}].",
    "some(X) :- <> at(X) [{k}]. @T at(X) :- @T n(X,V) [{n}], V > 1, not d(X).",
    "next(X,T+1) :- @T d(X) [{n}].",
)  # fmt: skip
"""Rules of plain LARS whose past is amended, not evaluated again."""


def lars_past(chance: Random) -> Case:
    """A random case of plain LARS without intervals, of which much comes late."""
    k = chance.randint(0, 2)
    rules = [
        rule.format(n=k + chance.randint(0, 4), m=chance.randint(0, 4), k=k)
        for rule in chance.sample(PAST, chance.randint(1, 4))
    ]
    lines = [line for _ in range(3) for line in stream(chance, [""], intervals=False)]
    for number, line in enumerate(lines):
        if "t" in line:
            line["t"] = min(line["t"], number)
    return Case("\n".join(rules), ".lars", lines, chance.choice((5, 20)), 0, None, ("auto",), [""])


def casp_past(chance: Random) -> Case:
    """A random case of C-ASP of time windows, of which much comes late."""
    pools = (*POSITIVE, *NEGATION, *AGGREGATES)
    rules = chance.sample(pools, chance.randint(1, 4))
    names = [f"http://e/s{number}" for number in range(chance.choice((1, 1, 2)))]
    windows = [
        f"#from stream <{n}> [time {chance.randint(0, 8)}s step {chance.randint(1, 3)}s]."
        for n in names
    ]
    lasting = chance.random() < 0.3
    lines = [line for _ in range(3) for line in stream(chance, names, intervals=lasting)]
    for number, line in enumerate(lines):
        if "t" in line:
            line["t"] = min(line["t"], number)
        if "until" in line:
            line["until"] = max(line["until"], line["t"])
    horizon, start = chance.choice((5, 20)), chance.choice((0, 3))
    text = "\n".join((*windows, *rules))
    return Case(text, ".casp", lines, horizon, start, None, ("auto", "incremental"), names)


def rif(chance: Random) -> Case:
    """A random case of RIF."""
    rules = chance.sample(RIF, chance.randint(1, 2))
    window = f"{chance.randint(1, 6)} s" if chance.random() < 0.85 else ""
    text = f"Document(Prefix(e <http://e/>) {window} Group({' '.join(rules)}))"
    lines = stream(chance, [""], intervals=chance.random() < 0.3)
    for line in lines:
        if "atom" in line:
            line["atom"] = "e_" + line["atom"]
            if line["atom"].startswith("e_d"):
                line["atom"] = line["atom"].replace("e_d(", "e_e(1,")
    horizon, start, until = _span(chance)
    return Case(text, ".rifps", lines, horizon, start, until, ("auto",), [""])


def _span(chance: Random) -> tuple[int, int, int | None]:
    until = chance.randint(3, 30) if chance.random() < 0.15 else None
    return chance.choice((0, 2, 5, 5, 8, 8, 12, 100)), chance.choice((0, 0, 0, 2, 5)), until


def _statements(rule: str) -> list[str]:
    found, rest = [], rule
    while rest.startswith("#"):
        head, _, rest = rest.partition(". ")
        found.append(head + ".")
    return [*found, rest]


def _window(chance: Random) -> str:
    if chance.random() < 0.15:
        width = chance.randint(1, 5)  # tumbling
        return chance.choice((f"[time {width}s step {width}s]", f"[count {width} step {width}]"))
    if chance.random() < 0.65:
        return f"[time {chance.randint(0, 6)}s step {chance.randint(1, 4)}s]"
    return f"[count {chance.randint(1, 4)} step {chance.randint(1, 3)}]"


def stream(chance: Random, names: list[str], *, intervals: bool) -> list[dict[str, Any]]:
    """Random lines: late, corrected, withdrawn, and given again."""
    lines: list[dict[str, Any]] = []
    time, known = chance.randint(0, 3), list[tuple[str, str]]()
    late = chance.choice((0, 0.1, 0.3, 0.6))
    changed = chance.choice((0, 0.1, 0.3, 0.5))
    for number in range(chance.randint(1, 25)):
        time += chance.choice((0, 0, 1, 1, 1, 2, 5)) if chance.random() < 0.9 else 0
        at = time - chance.randint(0, 9) if chance.random() < late else time
        at = max(0, at)
        name, given = chance.choice(names), None
        if known and chance.random() < changed:
            name, given = chance.choice(known)
            if chance.random() < 0.4:
                lines.append({"withdraw": given})
                if name:
                    lines[-1]["stream"] = name
                continue
            at = max(0, time - chance.randint(0, 9))
        elif chance.random() < 0.7:
            given = f"i{number}"
            known.append((name, given))
        line: dict[str, Any] = {"t": at, "atom": _atom(chance)}
        if name:
            line["stream"] = name
        if given is not None:
            line["id"] = given
        if intervals and chance.random() < 0.15:
            line["until"] = at + chance.randint(0, 6)
        lines.append(line)
        time = max(time, at)
    return lines


def _atom(chance: Random) -> str:
    kind, x, y = chance.choice("eeddn"), chance.randint(1, 3), chance.randint(1, 3)
    return f"d({x})" if kind == "d" else f"{kind}({x},{y})"
