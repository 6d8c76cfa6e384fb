"""Programs of plain LARS as text that reads back as the same program."""

from __future__ import annotations

from collections.abc import Iterator

from reasoning.engines.incremental import values
from reasoning.engines.incremental.terms import Compound, Computed, Constant, Term, Variable
from reasoning.lars.program import (
    At,
    Atom,
    Box,
    Comparison,
    Counted,
    Diamond,
    Element,
    Formula,
    LarsProgram,
    LastTuples,
    Now,
    Rule,
    Window,
)
from reasoning.program import Request

_BINDS = {"^": 1, "?": 2, "&": 3, "+": 4, "-": 4, "*": 5, "/": 5, "\\": 5, "**": 6}
"""How tightly clingo's operators bind their sides; all but `**` group to the left."""
_UNARY, _TIGHTEST = 7, 8
_SIGNS = {"neg": "-", "~": "~"}
_COUNTING = {">=": "at least", "<=": "at most", "=": "count"}
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def program_text(program: LarsProgram, *, pretty: bool = False) -> str:
    """The directives and rules of a program, a statement a line; constants are resolved."""
    lines = [*_directives(program.request)]
    if program.shows is not None:
        lines += [f"#show {signature}." for signature in sorted(program.shows)] or ["#show."]
    lines += [f"#stream {signature}." for signature in sorted(program.streamed)]
    lines += [unparse(rule, pretty=pretty) for rule in program.rules]
    return "".join(f"{line}\n" for line in lines)


def _directives(request: Request) -> Iterator[str]:
    for name, iri in request.prefixes.items():
        yield f"#prefix {name} : <{iri}>."
    for stream in request.streams:
        if stream.iri:
            yield f"#from stream <{stream.iri}>."
    for source in request.knowledge:
        regime = f" [{source.entailment}]" if source.entailment else ""
        yield f"#from <{source.written or source.path}>{regime}."
    for signature in sorted(request.inputs):
        yield f"#input {signature}."
    for name, scale in request.scales.items():
        yield f"#scale {name} {scale}."
    if request.timezone is not None:
        yield f'#timezone "{request.timezone.key}".'


def unparse(rule: Rule, *, pretty: bool = False) -> str:
    """A rule as text, its label included; `pretty` writes the operators as papers do
    (`⊞³◇ a(X)`), which the parser does not read."""
    label = f"({rule.label}) " if rule.label else ""
    head = "" if rule.head is None else atom_text(rule.head)
    if rule.time is not None:
        head = f"@{time_text(rule.time)} {head}"
    body = ", ".join(element_text(element, pretty=pretty) for element in rule.body)
    arrow = "←" if pretty else ":-"
    implied = f"{arrow} {body}" if body or not head else ""
    return f"{label}{' '.join(filter(None, (head, implied)))}."


def element_text(element: Element, *, pretty: bool = False) -> str:
    """An element of a body."""
    return ("not " if element.negated else "") + formula_text(element.formula, pretty=pretty)


def formula_text(formula: Formula, *, pretty: bool = False) -> str:
    """A formula of a body."""
    match formula:
        case Now(atom):
            return atom_text(atom)
        case Comparison(comparator, left, right):
            return f"{term_text(left)} {comparator} {term_text(right)}"
        case At(time, atom, window):
            return _windowed(f"@{time_text(time)}", atom_text(atom), window, pretty)
        case Diamond(atom, window):
            return _windowed("◇" if pretty else "<>", atom_text(atom), window, pretty)
        case Box(atom, window):
            return _windowed("□" if pretty else "[]", atom_text(atom), window, pretty)
        case Counted(atom, comparator, number, window):
            counted = f"{atom_text(atom)} {_COUNTING[comparator]} {term_text(number)}"
            return _windowed("", counted, window, pretty)


def _windowed(operator: str, text: str, window: Window | None, pretty: bool) -> str:
    formula = f"{operator} {text}".strip()
    if window is None:
        return formula
    tuples = "#" if isinstance(window, LastTuples) else ""
    if pretty:
        between = "" if operator else " "
        return f"⊞{tuples}{str(window.size).translate(_RAISED)}{between}{formula}"
    return f"{formula} [{tuples}{window.size}]"


def atom_text(atom: Atom) -> str:
    """An atom."""
    return f"{atom.name}({_listed(atom.terms)})" if atom.terms else atom.name


def time_text(time: Term) -> str:
    """A term as it stands behind `@`: in brackets, unless it is a variable or a number."""
    text = term_text(time)
    return text if text.isalnum() or isinstance(time, Variable) else f"({text})"


def term_text(term: Term) -> str:
    """A term, with no more brackets than it needs to read back."""
    return _term(term)[0]


def _term(term: Term) -> tuple[str, int]:
    """A term's text, and how tightly it holds together."""
    match term:
        case Variable(name):
            return ("_" if name[1:].isdigit() and name[0] == "_" else name), _TIGHTEST
        case Constant(value):
            text = values.text(value)
            return text, _UNARY if text.startswith("-") else _TIGHTEST
        case Compound("", (only,)):
            return f"({term_text(only)},)", _TIGHTEST
        case Compound(name, arguments):
            return f"{name}({_listed(arguments)})", _TIGHTEST
        case Computed("|", (argument,)):
            text = term_text(argument)
            return (f"|({text})|" if "|" in text else f"|{text}|"), _UNARY
        case Computed(operation, (argument,)):
            return f"{_SIGNS[operation]}{_bracketed(argument, _TIGHTEST)}", _UNARY
        case Computed(operation, (left, right)):
            binds = _BINDS[operation]
            to_right = operation == "**"
            first = _bracketed(left, binds + to_right)
            return f"{first}{operation}{_bracketed(right, binds + (not to_right))}", binds
    raise AssertionError(f"no term: {term}")


def _bracketed(term: Term, least: int) -> str:
    """A term's text, in brackets if it holds together less tightly than needed."""
    text, binds = _term(term)
    tight = binds >= least and not text.startswith("-")
    return text if tight else f"({text})"


def _listed(terms: tuple[Term, ...]) -> str:
    return ",".join(map(term_text, terms))
