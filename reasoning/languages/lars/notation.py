"""How explanations over an encoding are written: in the notation of LARS.

Rules are named and shown as they stand in the program. What the encoding has added goes:
rules that say what a window sees become nodes of their own kind (`window`), with the atom
that holds, or fall away where they only say that something holds now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import repeat

from clingo import Symbol, SymbolType, parse_term
from clingo.ast import AST, ASTType, BinaryOperator, ComparisonOperator, Sign, Transformer
from clingo.ast import Variable as Named

from citywise.reasoning.errors import ItemError
from citywise.reasoning.explain.model import Model
from citywise.reasoning.explain.notation import Bindings, Notation, Role, Substitution
from citywise.reasoning.explain.tree import TOLD, RuleText, TreeNode, listed
from citywise.reasoning.languages.lars.encoding import (
    ANY,
    CAUGHT,
    FIRST,
    LAST,
    NOW,
    START,
    Encoding,
    Seen,
)
from citywise.reasoning.languages.lars.program import (
    Atom,
    LarsRule,
    Since,
    TimeSpan,
    atom_text,
    formula_text,
    unparse,
    window_text,
)
from citywise.reasoning.languages.lars.solver import GroundAtom, History, split
from citywise.reasoning.model.atoms import call, ground
from citywise.reasoning.model.request import Signature
from citywise.reasoning.model.values import Compound, Term, Variable, with_terms
from citywise.reasoning.run.recorded import Recorded

_WORDS: dict[int, str] = {
    ComparisonOperator.LessEqual: "{} at least {}",
    ComparisonOperator.GreaterEqual: "{} at most {}",
    ComparisonOperator.Equal: "{} count {}",
    ComparisonOperator.GreaterThan: "not {} at least {}",
    ComparisonOperator.LessThan: "not {} at most {}",
    ComparisonOperator.NotEqual: "not {} count {}",
}
"""What a number says that is compared with a count."""
_SIGNS: dict[int, str] = {Sign.NoSign: "", Sign.Negation: "not ", Sign.DoubleNegation: "not not "}


class LarsNotation(Notation):
    """Writes what is explained over `encoding` at the point of time where `history` stands, with
    times as the recording of `run` has them."""

    def __init__(self, encoding: Encoding, history: History, run: Recorded) -> None:
        super().__init__()
        self._encoding, self._history, self._run = encoding, history, run
        self._views = {name: seen for seen, name in encoding.seen.items()}
        self._predicates = {
            name: signature
            for names in (encoding.placed, encoding.background)
            for signature, name in names.items()
        }
        self._clock = {NOW, FIRST, *encoding.ranges.values()}

    def asked(self, atom: str) -> str:
        """See `Notation`; `@T p` is asked of what heads place at `T`."""
        if not atom.lstrip().startswith("@"):
            return ground(atom)
        written, _space, rest = atom.strip()[1:].partition(" ")
        time, placed = self._time(written), split(ground(rest))
        if time == self._history.now:
            return placed.text
        name = self._encoding.placed.get(placed.signature)
        if name is None:
            raise ItemError(
                f"no head places `{placed.signature}` at another point of time; ask about "
                f"`{placed.text}` at the evaluation of {written}"
            )
        return call(name, [*([placed.arguments] if placed.arguments else []), str(time)])

    def _time(self, written: str) -> int:
        given: int | str = int(written) if written.removeprefix("-").isdigit() else written
        time = self._run.parse_time("@", given)
        assert time is not None
        return time

    # -- texts ------------------------------------------------------------------------------

    def atom(self, atom: Symbol) -> str:
        """See `Notation`; times go without saying."""
        if atom.type != SymbolType.Function or not self._is_ours(atom.name):
            return str(atom)
        return self._formula(atom.name, list(map(str, atom.arguments)))

    def literal(self, node: AST, values: Bindings) -> str:
        """See `Notation`; times go without saying."""
        return self._written(_Plain().visit(Substitution(values).visit(node)))

    def _written(self, node: AST) -> str:
        if node.ast_type == ASTType.Literal:
            text = self._written(node.atom)
            return text and f"{_SIGNS[node.sign]}{text}"
        if node.ast_type == ASTType.BodyAggregate:
            return self._counted(node)
        if node.ast_type == ASTType.SymbolicAtom:
            return self._written(node.symbol)
        if node.ast_type == ASTType.Function and self._is_ours(node.name):
            return self._formula(node.name, list(map(str, node.arguments)))
        return str(node)

    def _is_ours(self, name: str) -> bool:
        """Whether it is a relation of the encoding."""
        return any(
            name in ours
            for ours in (self._views, self._predicates, self._clock, self._encoding.since)
        )

    def _formula(self, name: str, arguments: list[str]) -> str:
        """An atom of a relation of the encoding."""
        if name in self._clock:
            return ""
        if name in self._encoding.since:
            since = self._encoding.since[name]
            held, begun = (_filled(each, arguments) for each in (since.held, since.atom))
            return formula_text(replace(since, held=held, atom=begun))
        seen = self._views.get(name)
        if seen is None:
            signature = self._predicates[name]
            time = f"@{arguments.pop()} " if len(arguments) > signature.arity else ""
            return time + call(signature.name, arguments)
        if seen.view == "lasting":
            *arguments, time = arguments
            start = self._run.format_time(int(time)) if time.lstrip("-").isdigit() else time
            return f"{call(seen.signature.name, arguments)} at every point from {start}"
        operator = {"some": "<>", "every": "[]", "timed": "@"}[seen.view]
        if seen.view == "timed":
            time = arguments.pop()
            operator = "<>" if time == "_" else f"@{time}"
        return f"{operator} {call(seen.signature.name, arguments)}{window_text(seen.window)}"

    def _counted(self, aggregate: AST) -> str:
        """At how many points of time a window shows an atom."""
        atom = aggregate.elements[0].condition[0].atom.symbol
        seen, guard = self._views[atom.name], aggregate.left_guard
        text = call(seen.signature.name, list(map(str, atom.arguments[:-1])))
        return _WORDS[guard.comparison].format(text, guard.term) + window_text(seen.window)

    def rule(self, statement: AST) -> RuleText:
        """See `Notation`."""
        source = self._source(statement)
        if not isinstance(source, LarsRule):
            return RuleText(0, "")
        return RuleText(source.line, unparse(replace(source, label="")), source.label or None)

    def _source(self, statement: AST) -> LarsRule | Seen | Since | Signature | None:
        line: int = statement.location.begin.line
        return self._encoding.lines[line - 1].source

    def role(self, statement: AST) -> Role:
        """See `Notation`."""
        match self._source(statement):
            case Seen() | Since():
                return "view"
            case Signature():
                return "same"
        return "told"

    def unknown(self, predicate: Signature) -> str:
        """See `Notation`."""
        return "no item gives it there" if self._is_ours(predicate.name) else ""

    def forbids(self, statement: AST) -> str:
        """See `Notation`: what a rule is in a conflict for where its head is."""
        source = self._source(statement)
        if not isinstance(source, LarsRule) or source.head is None:
            return ""
        first, now = map(self._run.format_time, (self._history.first or 0, self._history.now))
        return f"  places an atom outside of the timeline [{first}, {now}]"

    # -- nodes ------------------------------------------------------------------------------

    def derived(self, node: TreeNode, statement: AST, atoms: Sequence[Symbol]) -> TreeNode:
        """See `Notation`: a rule with its body, what a window sees, or what says the same."""
        source = self._source(statement)
        if isinstance(source, LarsRule):  # what comes after its body only gives variables values
            return replace(node, children=node.children[: len(source.body)])
        first = node.children[0]
        if isinstance(source, Since):
            return self._beginning(node, atoms)
        if isinstance(source, Seen) and source.view == "lasting":
            return self._lasting(node)
        if isinstance(source, Seen) and source.view != "timed" and first.kind != "knowledge":
            return self._window(node, source, atoms)
        rest = first.text.removeprefix(first.atom or "")
        return replace(first, text=f"{node.atom}{rest}", atom=node.atom)

    def _window(self, node: TreeNode, seen: Seen, atoms: Sequence[Symbol]) -> TreeNode:
        """What a window sees of derived atoms."""
        below, shown = node.children, self._run.format_time
        if seen.view == "every":
            points = self._history.timeline(seen.window)
            held = f"at every point from {shown(points[0])} to {shown(points[-1])}"
            below = below[0].children
        else:
            placed = atoms[0].name in self._encoding.placed.values()
            held = f"at {shown(atoms[0].arguments[-1].number if placed else self._history.now)}"
        return TreeNode("window", f"{node.atom}  holds {held}", atom=node.atom, children=below)

    def _beginning(self, node: TreeNode, atoms: Sequence[Symbol]) -> TreeNode:
        """What `since` says: when it began, and what has held after that."""
        begun, children = atoms[0].arguments[-1].number, node.children[:1]
        if len(atoms) > 1 and self._is_lasting(atoms[1].name):
            lasting, more = node.children[1], self._history.now - begun - TOLD
            if lasting.kind == "window" and more > 0:
                rest = TreeNode("cut", f"… and {more} more")
                lasting = replace(lasting, children=(*lasting.children[:TOLD], rest))
            children = (*children, lasting)
        text = f"{node.atom}  holds since {self._run.format_time(begun)}"
        return TreeNode("window", text, atom=node.atom, children=children)

    def _is_lasting(self, name: str) -> bool:
        seen = self._views.get(name)
        return seen is not None and seen.view == "lasting"

    @staticmethod
    def _lasting(node: TreeNode) -> TreeNode:
        """What has held from point to point, without what says so of the rest of them."""
        first, *rest = node.children
        after = (each.children if each.kind == "window" else (each,) for each in rest)
        children = (first, *(child for children in after for child in children))
        return TreeNode("window", node.atom or "", atom=node.atom, children=children)

    def hints(self, atom: Symbol, model: Model) -> Sequence[TreeNode]:
        """See `Notation`: where an atom holds that a window does not show."""
        if atom.name in self._encoding.since:
            return [self._interrupted(self._encoding.since[atom.name], atom, model)]
        seen = self._views.get(atom.name)
        if seen is None or seen.view == "lasting":
            return ()
        arguments = atom.arguments[:-1] if seen.view == "timed" else atom.arguments
        about = GroundAtom(seen.signature, ",".join(map(str, arguments)))
        if seen.view == "every":
            return [self._gaps(seen, about, model)]
        if not self._encoding.is_derived(seen):
            return ()
        points, shown = self._history.timeline(seen.window), self._run.format_time
        missed = [time for time in sorted(self._places(about, model)) if time not in points]
        if seen.view == "timed":
            missed = [time for time in missed if time == atom.arguments[-1].number]
        if not missed:
            return ()
        before = all(time < points.start for time in missed)
        where = "before the window" if before else "outside of the window"
        window = f"[{shown(points[0])}, {shown(points[-1])}]" if points else ""
        times = listed([str(shown(time)) for time in missed])
        text = f"{about.text} holds at {times}, " + (
            f"{where} {window}" if points else "and the window has no point of time yet"
        )
        count = 0 if seen.view == "timed" else len(missed)
        return [TreeNode("hint", text, atom=about.text, count=count)]

    def _gaps(self, seen: Seen, about: GroundAtom, model: Model) -> TreeNode:
        """Where an atom holds that should hold at every point of a window, and where not."""
        held = {each.time for each in self._history.within(seen.window) if each.atom == about}
        points, word = self._history.timeline(seen.window), "is given"
        if not points:
            text = f"the window{window_text(seen.window)} has no point of time yet"
            return TreeNode("hint", text, atom=about.text)
        if self._encoding.is_derived(seen):
            word = "holds"
            held |= set(points).intersection(self._places(about, model))
        gaps = [str(self._run.format_time(time)) for time in points if time not in held]
        text = f"{about.text} {word} at {len(held)} of {len(points)} points of the window"
        return TreeNode("hint", f"{text}, not at {listed(gaps)}", atom=about.text, count=len(gaps))

    def _interrupted(self, since: Since, atom: Symbol, model: Model) -> TreeNode:
        """When something began, and when it did not last; or that it did not begin."""
        arguments, shown = list(map(str, atom.arguments)), self._run.format_time
        held, begun = (atom_text(_filled(each, arguments)) for each in (since.held, since.atom))
        points = self._history.timeline(since.window)
        began = self._moments(since.atom, since.window, atom, model)
        if not points:
            text = f"the window{window_text(since.window)} has no point of time yet"
        elif not began:
            span = f"[{shown(points[0])}, {shown(points[-1])}]"
            text = f"{begun} holds at no point of the window {span}"
        else:
            after = range(max(began) + 1, self._history.now + 1)
            lasting = TimeSpan(since.window.size - 1)
            there = self._moments(since.held, lasting, atom, model)
            gaps = [str(shown(time)) for time in after if time not in there]
            text = (
                f"{begun} holds at {shown(max(began))}, but after it {held} not at {listed(gaps)}"
            )
        return TreeNode("hint", text, atom=self.atom(atom), count=0 if began else 1)

    def _moments(self, about: Atom, window: TimeSpan, since: Symbol, model: Model) -> set[int]:
        """The points of time of a window at which an atom of a `since` holds."""
        name = self._encoding.seen.get(Seen(about.signature, window, "timed"))
        atoms = model.by_predicate.get(Signature(name or "", len(about.terms) + 1), ())
        found = [(atom.arguments[:-1], atom.arguments[-1].number) for atom in atoms]
        found += [
            (parse_term(each.atom.text).arguments, each.time)
            for each in self._history.within(window)
            if each.atom.signature == about.signature
        ]
        known = {f"{CAUGHT}{n}": argument for n, argument in enumerate(since.arguments)}
        return {time for row, time in found if all(map(_fits, about.terms, row, repeat(known)))}

    def _places(self, about: GroundAtom, model: Model) -> set[int]:
        """The points of time at which it holds, now or because a head says so."""
        now = about.text in model.texts(about.signature).values()
        found = {self._history.now} if now else set[int]()
        name = self._encoding.placed.get(about.signature)
        if name is not None:
            placed = model.by_predicate.get(Signature(name, about.signature.arity + 1), ())
            for atom in placed:
                *arguments, time = atom.arguments
                if ",".join(map(str, arguments)) == about.arguments:
                    found.add(time.number)
        return found


def _filled(atom: Atom, arguments: Sequence[str]) -> Atom:
    """An atom of a `since` with arguments, as they are written, in the place of its variables."""
    written = {f"{CAUGHT}{number}": Variable(text) for number, text in enumerate(arguments)}
    terms = (with_terms(term, lambda v: written.get(v.name, v)) for term in atom.terms)
    return replace(atom, terms=tuple(terms))


def _fits(term: Term, value: Symbol, known: Mapping[str, Symbol]) -> bool:
    """Whether a value is what a term of `since` stands for."""
    if isinstance(term, Compound):
        same = value.type == SymbolType.Function and value.name == term.name
        return (
            same
            and len(value.arguments) == len(term.arguments)
            and all(map(_fits, term.arguments, value.arguments, repeat(known)))
        )
    return not isinstance(term, Variable) or known.get(term.name, value) == value


class _Plain(Transformer):
    """Writes what the encoding has done to terms as it is to be read."""

    def visit_Variable(self, node: AST) -> AST:  # noqa: N802 - clingo's name
        """The ends of the timeline, and `_`, by their names."""
        name = "_" if node.name.startswith(ANY) else {START: "t1", LAST: "now"}.get(node.name)
        return Named(node.location, name) if name else node

    def visit_BinaryOperation(self, node: AST) -> AST:  # noqa: N802 - clingo's name
        """A time to which 0 was added to make it a number."""
        if node.operator_type == BinaryOperator.Plus and str(node.right) == "0":
            changed: AST = self.visit(node.left)
        else:
            changed = node.update(**self.visit_children(node))
        return changed
