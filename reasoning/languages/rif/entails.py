"""Whether a theory entails a conclusion (W3C RIF BLD, 3.6; RIF RDF and OWL Compatibility, 3.2
and 4.2): the conclusion is asked for as the body of one more rule. `answer` is what `citywise
entails` says of files (docs/rif.md)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from citywise.reasoning.engines.clingo.guard import limited
from citywise.reasoning.errors import Location, RequestError, SolvingError
from citywise.reasoning.languages.rif.document import (
    PRED,
    And,
    Equal,
    Exists,
    Frame,
    Local,
    Or,
    RifAtom,
    RifComputed,
    RifConstant,
    RifFormula,
    RifRule,
    RifTerm,
    RifVariable,
    Test,
    apart,
    conjuncts,
    free,
    local_names,
    renamed,
    terms,
)
from citywise.reasoning.languages.rif.evaluation import WindowedEvaluation
from citywise.reasoning.languages.rif.parsing import (
    SUFFIXES,
    parse_file,
    parse_formula_file,
    unbound,
)
from citywise.reasoning.languages.rif.theory import Theory, theory
from citywise.reasoning.limits import Limits
from citywise.reasoning.model.request import KnowledgeSource
from citywise.reasoning.model.values import Row
from citywise.reasoning.rdf import knowledge, ntriples, parsing
from citywise.reasoning.rdf.entailment import follows
from citywise.reasoning.rdf.mapping import OWL, XSD, Blank, Iri, Literal, Triple
from citywise.reasoning.rdf.mapping import Term as RdfTerm

_DOCUMENTS = " or ".join(SUFFIXES)
_GRAPHS = ", ".join(f".{name}" for name in parsing.FORMATS)
_BOUNDS = (10**3, 10**6, 10**9)
_SAME = RifConstant(Iri(OWL + "sameAs"))
_WHICH = RifVariable("^")
"""No blank node has this label."""


@dataclass(frozen=True)
class Verdict:
    """Whether a conclusion is entailed."""

    holds: bool
    missing: tuple[Triple, ...] = ()
    """Triples of a graph that are not entailed, where that is known."""

    def lines(self) -> Iterator[str]:
        """`yes`, or `no` and the missing triples as N-Triples."""
        yield "yes" if self.holds else "no"
        for triple in self.missing:
            yield f"missing: {' '.join(map(ntriples.write, triple))} ."


def answer(document: Path, conclusion: Path, kbs: Sequence[Path], limits: Limits) -> Verdict:
    """Whether a document, with what it imports and knowledge bases, entails what a file says.

    That is a condition, with the document's prefixes, or an RDF graph. Raises `RequestError`
    for a file at fault, and `SolvingError` where nothing was found within `limits`.
    """
    if document.suffix not in SUFFIXES:
        raise _misnamed(document, f"no document of RIF ({_DOCUMENTS})")
    what = theory(parse_file(document), [KnowledgeSource(str(path)) for path in kbs])
    if conclusion.suffix in SUFFIXES:
        condition = parse_formula_file(conclusion, what.document.prefixes)
        return Verdict(entails(what, condition, limits, file=str(conclusion)))
    return _graph_answer(what, _graph(conclusion), limits)


def _graph_answer(what: Theory, graph: tuple[Triple, ...], limits: Limits) -> Verdict:
    if entails_graph(what, graph, limits):
        return Verdict(holds=True)
    if what.regime != "owl-rl":
        return Verdict(holds=False, missing=missing(what, graph, limits))
    # What OWL 2 RL only refutes, no rule derives.
    return Verdict(limited(lambda: follows(what.triples, graph, "owl-rl"), limits, "refuting"))


def _graph(path: Path) -> tuple[Triple, ...]:
    if path.name.lower().removesuffix(".gz").rpartition(".")[2] not in parsing.FORMATS:
        raise _misnamed(path, f"neither a condition ({_DOCUMENTS}) nor a graph ({_GRAPHS})")
    return knowledge.read(KnowledgeSource(str(path)), "c").triples


def _misnamed(path: Path, message: str) -> RequestError:
    return RequestError(Location(str(path), 1, 1), "file", f"by its name this is {message}")


def entails(
    theory: Theory,
    conclusion: RifFormula,
    limits: Limits | None = None,
    *,
    file: str = "<conclusion>",
) -> bool:
    """Whether the conclusion holds in all models of the theory, without any stream.

    Local names of the conclusion are its own. A theory that contradicts itself entails
    everything. Where rules compute new numbers for ever, the conclusion is looked for among
    ever greater ones. Raises `RequestError` for a conclusion, written in `file`, with free
    variables, or one that is not safe, and `SolvingError` where it was not found within `limits`.
    """
    if message := _fault(conclusion):
        raise RequestError(Location(file, 1, 1), "conclusion", message)
    return _is_entailed(theory, _goal(theory, conclusion), limits or Limits())


def _fault(conclusion: RifFormula) -> str | None:
    """What is wrong with a condition that is to be a conclusion."""
    if names := _named(free(conclusion)):
        return f"{names} is free; bind it by `Exists`"
    if names := _named(unbound(RifRule((), conclusion))):
        return f"nothing gives {names} a value; add an atom or a frame that holds it"
    return None


def _named(variables: Iterable[str]) -> str:
    return ", ".join(f"?{name}" for name in sorted(set(variables)))


def entails_graph(theory: Theory, graph: Iterable[Triple], limits: Limits | None = None) -> bool:
    """Whether the theory entails an RDF graph, whose blank nodes are existential.

    Raises `SolvingError` as `entails`.
    """
    open_, ground = list[Triple](), list[tuple[Triple, ...]]()
    for triple in graph:
        if any(isinstance(term, Blank) for term in triple):
            open_.append(triple)
        else:
            ground.append((triple,))
    parts = [*ground, tuple(open_)]  # each by itself: a join of all takes long to plan
    return _is_entailed(theory, _numbered(theory, parts), limits or Limits(), len(parts))


def _is_entailed(theory: Theory, goal: RifRule, limits: Limits, count: int = 1) -> bool:
    """Whether the goal is derived for so many arguments, if need be among bounded numbers."""
    try:
        return _holds(theory, goal, limits, count)
    except SolvingError:
        if any(_is_found(_bounded(theory, most), goal, limits, count) for most in _BOUNDS):
            return True
        raise


def missing(
    theory: Theory, graph: Sequence[Triple], limits: Limits | None = None
) -> tuple[Triple, ...]:
    """The triples of a graph that the theory does not entail, each for itself, by one evaluation.

    Raises `SolvingError` where it did not end within `limits`.
    """
    found = _derived(theory, _numbered(theory, [(t,) for t in graph]), limits or Limits())
    if found is None:
        return ()
    return tuple(t for number, t in enumerate(graph) if (number,) not in found)


def _numbered(theory: Theory, graphs: Sequence[Sequence[Triple]]) -> RifRule:
    """A goal for the number of each graph that holds."""
    numbers = [RifConstant(Literal(str(n), XSD + "integer")) for n in range(len(graphs))]
    parts = zip(numbers, graphs, strict=True)
    holding = Or(tuple(And((Equal(_WHICH, n), _pattern(g))) for n, g in parts))
    return _goal(theory, holding, _WHICH)


def _pattern(graph: Sequence[Triple]) -> RifFormula:
    """A condition that holds where a graph does."""
    labels = sorted({term.label for t in graph for term in t if isinstance(term, Blank)})
    frames = tuple(
        Frame(_open(t.subject), ((RifConstant(t.predicate), _open(t.object)),)) for t in graph
    )
    return Exists(tuple(map(RifVariable, labels)), And(frames))


def _holds(theory: Theory, goal: RifRule, limits: Limits, count: int) -> bool:
    found = _derived(theory, goal, limits)
    return found is None or len(found) == count


def _derived(theory: Theory, goal: RifRule, limits: Limits) -> Collection[Row] | None:
    """For which arguments the goal holds; None where the theory contradicts itself."""
    evaluation = WindowedEvaluation(replace(theory, rules=(*theory.rules, goal)), limits=limits)
    evaluation.step(0)
    if evaluation.inconsistencies():
        return None
    (head,) = goal.heads
    assert isinstance(head, RifAtom)
    assert isinstance(head.predicate, Local)
    wanted = f"_{head.predicate.name}/{len(head.arguments)}"
    return {row for relation, row in evaluation.shown() if relation == wanted}


def _is_found(theory: Theory, goal: RifRule, limits: Limits, count: int) -> bool:
    try:
        return _holds(theory, goal, limits, count)
    except SolvingError:
        return False


def _bounded(theory: Theory, most: int) -> Theory:
    """The theory without the instances of rules that compute numbers beyond a bound: what it
    entails, the theory does, for rules without negation are monotone."""
    rules = tuple(
        replace(rule, body=And((*conjuncts(rule.body), *(_within(term, most) for term in found))))
        if (found := tuple(_computed(rule)))
        else rule
        for rule in theory.rules
    )
    return replace(theory, rules=rules)


def _computed(rule: RifRule) -> Iterator[RifTerm]:
    """What a rule computes, but for what it does within alternatives."""
    for formula in (*rule.heads, *conjuncts(rule.body)):
        yield from (term for term in terms(formula) if isinstance(term, RifComputed))


def _within(term: RifTerm, most: int) -> RifFormula:
    least, greatest = (RifConstant(Literal(str(n), XSD + "integer")) for n in (-most, most))
    return Or(
        (
            And(
                (
                    _test("numeric-less-than", least, term),
                    _test("numeric-less-than", term, greatest),
                )
            ),
            _test("is-literal-not-decimal", term),
        )
    )


def _test(name: str, *arguments: RifTerm) -> Test:
    return Test(Iri(PRED + name), arguments)


def _goal(theory: Theory, conclusion: RifFormula, *arguments: RifVariable) -> RifRule:
    """A rule that derives a name of its own, with some variables, where the conclusion holds."""
    names = {"conclusion", *local_names(conclusion)}
    own = apart(names, names.union(local_names(theory.rules)))
    body = renamed(conclusion, own)
    if theory.regime == "owl-rl":
        body = _up_to_sameness(body)
    return RifRule((RifAtom(Local(own["conclusion"]), arguments),), body, arguments)


def _up_to_sameness(formula: RifFormula) -> RifFormula:
    """What is `owl:sameAs` is equal (RIF RDF and OWL Compatibility, 4.2)."""
    match formula:
        case And(parts):
            return And(tuple(map(_up_to_sameness, parts)))
        case Or(parts):
            return Or(tuple(map(_up_to_sameness, parts)))
        case Exists(variables, part):
            return Exists(variables, _up_to_sameness(part))
        case Equal(RifConstant() | RifVariable() as left, RifConstant() | RifVariable() as right):
            return Or((formula, Frame(left, ((_SAME, right),))))
    return formula


def _open(term: RdfTerm) -> RifTerm:
    return RifVariable(term.label) if isinstance(term, Blank) else RifConstant(term)
