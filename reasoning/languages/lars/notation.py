"""Explanations over an encoding, written in the notation of LARS again.

Rules are named and shown as they stand in the program. What the encoding has added goes:
rules that say what a window sees become nodes of their own kind (`window`), with the atom
that holds, or fall away where they only say that something holds now.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from reasoning.explain.tree import Explanation, RuleText, TreeNode
from reasoning.explain.why import listed
from reasoning.languages.lars.encoding import COUNTED, LAST, START, Encoding
from reasoning.languages.lars.history import GroundAtom, History
from reasoning.languages.lars.program import LarsRule, LastTuples, Window
from reasoning.languages.lars.relations import Line, Seen, call
from reasoning.languages.lars.unparse import unparse
from reasoning.model.engine import OURS
from reasoning.model.request import Signature

_NAME = re.compile(rf'"(?:[^"\\]|\\.)*"|\b({OURS}(?:w|at|b)\d+)(/\d+)?')
_RULE = re.compile(r"rule line (\d+)")
_FACT = re.compile(r"fact, line \d+")
_COUNT = re.compile(
    rf"([^;]+?) (<=|>=|!=|=|<|>) #count \{{ {COUNTED}: @{COUNTED} (.*?)( \[#?\d+\])? \}}"
)
_CLOCK = re.compile(rf"{OURS}(?:now|first)\((?:-?\d+|{START}|{LAST})\)(?:; )?")
_PLAIN = (
    (re.compile(rf"{OURS.capitalize()}Any\d+_\d+"), "_"),
    (re.compile(START), "t1"),
    (re.compile(LAST), "now"),
    (re.compile(r"\(([^()]*|\([^()]*\))\+0\)"), r"\1"),
)
"""What the encoding writes, and how it is to be read."""
_WORDS = {
    "<=": "{} at least {}", ">=": "{} at most {}", "=": "{} count {}",
    ">": "not {} at least {}", "<": "not {} at most {}", "!=": "not {} count {}",
}  # fmt: skip
_TIMES = (f"{OURS}now", f"{OURS}first", f"{OURS}in")


class Notation:
    """Writes explanations over `encoding` at the point of time where `history` stands;
    `shown` writes points of time as the recording does, `places` says when derived atoms
    hold."""

    def __init__(
        self,
        encoding: Encoding,
        history: History,
        shown: Callable[[int], int | str],
        places: Callable[[GroundAtom], Collection[int]],
    ) -> None:
        self._lines: Sequence[Line] = encoding.lines
        self._history, self._shown, self._places = history, shown, places
        self._is_derived = encoding.is_derived
        self._views = {name: seen for seen, name in encoding.seen.items()}
        self._predicates = {
            name: signature
            for names in (encoding.placed, encoding.background)
            for signature, name in names.items()
        }

    def explanation(self, found: Explanation) -> Explanation:
        """The explanation with its tree rewritten."""
        return replace(found, tree=self._node(found.tree))

    # -- texts ------------------------------------------------------------------------------

    def text(self, text: str) -> str:
        """A text in which relations of the encoding are formulas of LARS."""
        text = _CLOCK.sub("", text)
        found, end = [], 0
        for match in _NAME.finditer(text):
            name, arity = match.groups()
            if name is None or match.start() < end:
                continue
            found.append(text[end : match.start()])
            arguments, end = _arguments(text, match.end())
            found.append(self._predicate(name) if arity else self._formula(name, arguments))
        return _plain("".join(found) + text[end:])

    def _predicate(self, name: str) -> str:
        seen = self._views.get(name)
        signature = seen.signature if seen else self._predicates[name]
        return str(signature) if seen is None else _operator(seen, "T", str(signature))

    def _formula(self, name: str, arguments: list[str]) -> str:
        seen = self._views.get(name)
        if seen is not None:
            time = arguments.pop() if seen.view == "timed" else ""
            return _operator(seen, time, call(seen.signature.name, arguments))
        signature = self._predicates[name]
        time = f"@{arguments.pop()} " if len(arguments) > signature.arity else ""
        return time + call(signature.name, arguments)

    def _rule(self, rule: RuleText) -> RuleText | None:
        """A rule of the program; None for one of the encoding."""
        source = self._source(rule)
        if not isinstance(source, LarsRule):
            return None
        return RuleText(source.line, unparse(replace(source, label="")), source.label or None)

    def _source(self, rule: RuleText | None) -> LarsRule | Seen | Signature | None:
        if rule is None or not 0 < rule.line <= len(self._lines):
            return None
        return self._lines[rule.line - 1].source

    def _said(self, node: TreeNode) -> str:
        """The text of a node, with the rule as the program has it."""
        rule = node.rule and self._rule(node.rule)
        if node.rule is None or rule is None:
            return self.text(node.text)
        before, written, after = node.text.partition(f": {node.rule.text}")
        before = _RULE.sub(lambda _found: rule.name, before)
        before = _FACT.sub(f"fact, line {rule.line}", before)
        said = self.text(before) + (f": {rule.text}" if written else "") + self.text(after)
        return said + self._outside(node)

    def _outside(self, node: TreeNode) -> str:
        """Words for a rule that is in a conflict for where its head is."""
        source = self._source(node.rule)
        if node.kind != "constraint" or not isinstance(source, LarsRule) or source.head is None:
            return ""
        first, now = map(self._shown, (self._history.first or 0, self._history.now))
        return f"  places an atom outside of the timeline [{first}, {now}]"

    # -- nodes ------------------------------------------------------------------------------

    def _node(self, node: TreeNode) -> TreeNode:
        source = self._source(node.rule)
        if node.kind == "derived" and isinstance(source, Signature):
            return self._renamed(node, self._node(node.children[0]))
        if node.kind == "derived" and isinstance(source, Seen):
            return self._window(node, source)
        hints = [*self._gaps(node), *self._apart(node)]
        asked = bool(hints) and hints[0].count == 0  # it says all about the point asked for
        children = hints if asked else [*self._children(node), *hints]
        return replace(
            node,
            text=self._unknown(node) or self._said(node),
            atom=node.atom and self.text(node.atom),
            literal=node.literal and self.text(node.literal),
            rule=node.rule and self._rule(node.rule),
            values=tuple({k: self.text(v) for k, v in each.items()} for each in node.values),
            children=tuple(children),
        )

    def _children(self, node: TreeNode) -> Iterator[TreeNode]:
        own = self._source(node.rule)
        children = node.children
        if node.kind == "derived" and isinstance(own, LarsRule):
            children = children[: len(own.body)]  # others only give variables values
        for child in children:
            if child.atom is not None and child.atom.startswith(_TIMES):
                continue
            source = self._source(child.rule)
            if child.kind == "rule" and isinstance(source, Seen | Signature):
                yield from self._through(child)
            else:
                yield self._node(child)

    def _through(self, rule: TreeNode) -> Iterator[TreeNode]:
        """What a rule of the encoding that fails rests on, in its place."""
        for step in rule.children:
            if step.kind == "fails":
                below = [n for n in step.children if not (n.atom or "").startswith(_TIMES)]
                for node in below:
                    yield from self._taken_apart(node, self._source(rule.rule))

    def _taken_apart(self, node: TreeNode, source: object) -> Iterator[TreeNode]:
        """A missing atom; only what it rests on where it is the atom asked about, placed in
        time."""
        if isinstance(source, Signature) and node.kind == "missing":
            yield from self._children(node)
        elif node.kind == "rule" and not isinstance(self._source(node.rule), LarsRule):
            yield from self._through(node)
        else:
            yield self._node(node)

    def _renamed(self, node: TreeNode, child: TreeNode) -> TreeNode:
        """The node of an atom that holds for what the node of another says."""
        head = self.text(node.text.partition("  ")[0])
        rest = child.text[len(child.atom or "") :]
        return replace(child, text=head + rest, atom=self._atom(node))

    def _window(self, node: TreeNode, seen: Seen) -> TreeNode:
        """What a window sees of derived atoms or of knowledge."""
        first = node.children[0]
        if first.kind == "knowledge" or seen.view == "timed":
            return self._renamed(node, self._node(first))
        children = [first]
        if seen.view == "every":
            children = [n for n in first.children if not (n.atom or "").startswith(_TIMES)]
            points = (self._history.timeline(seen.window)[place] for place in (0, -1))
            held = "at every point from {} to {}".format(*map(self._shown, points))
        else:
            held = f"at {self._shown(self._time(first.atom or ''))}"
        text = self.text(node.text.partition("  ")[0])
        below = tuple(map(self._node, children))
        return TreeNode("window", f"{text}  holds {held}", atom=self._atom(node), children=below)

    def _atom(self, node: TreeNode) -> str:
        assert node.atom is not None
        return self.text(node.atom)

    def _time(self, atom: str) -> int:
        """When an atom of the encoding holds."""
        if atom.startswith(f"{OURS}at"):
            return int(_arguments(atom, atom.index("("))[0][-1])
        return self._history.now

    def _unknown(self, node: TreeNode) -> str:
        """Words for an atom of the data that no window shows."""
        if node.kind == "unknown" and OURS in node.text:
            return "no item gives it there"
        return ""

    def _gaps(self, node: TreeNode) -> Iterator[TreeNode]:
        """Where an atom holds that should hold at every point of a window, and where not."""
        seen, arguments = self._missing(node)
        if seen is None or seen.view != "every":
            return
        atom = GroundAtom(seen.signature, ",".join(arguments))
        held = {each.time for each in self._history.within(seen.window) if each.atom == atom}
        points = self._history.timeline(seen.window)
        word = "is given"
        if self._is_derived(seen):
            word = "holds"
            held |= set(points).intersection(self._places(atom))
        gaps = [str(self._shown(t)) for t in points if t not in held]
        text = f"{atom.text} {word} at {len(held)} of {len(points)} points of the window"
        yield TreeNode("hint", f"{text}, not at {listed(gaps)}", atom=atom.text, count=len(gaps))

    def _apart(self, node: TreeNode) -> Iterator[TreeNode]:
        """Where an atom holds that rules have placed outside of a window."""
        seen, arguments = self._missing(node)
        if seen is None or seen.view == "every" or not self._is_derived(seen):
            return
        time = arguments.pop() if seen.view == "timed" else ""
        atom = GroundAtom(seen.signature, ",".join(arguments))
        points = self._history.timeline(seen.window)
        before = [t for t in sorted(self._places(atom)) if t < points.start]
        if time.removeprefix("-").isdigit():
            before = [t for t in before if t == int(time)]
        if before:
            window = "[{}, {}]".format(*map(self._shown, (points[0], points[-1])))
            times = listed([str(self._shown(t)) for t in before])
            text = f"{atom.text} holds at {times}, before the window {window}"
            count = 0 if time else len(before)
            yield TreeNode("hint", text, atom=atom.text, count=count)

    def _missing(self, node: TreeNode) -> tuple[Seen | None, list[str]]:
        """What a window does not show, and its arguments."""
        name = (node.atom or "").partition("(")[0]
        if node.kind != "missing":
            return None, []
        return self._views.get(name), _arguments(node.atom or "", len(name))[0]


def _plain(text: str) -> str:
    text = _COUNT.sub(_counted, text)
    for pattern, words in _PLAIN:
        text = pattern.sub(words, text)
    return text


def _operator(seen: Seen, time: str, atom: str) -> str:
    sign = {"some": "<>", "every": "[]", "timed": f"@{time}"}[seen.view]
    if time == "_":
        sign = "<>"
    return f"{sign} {atom}{_bracket(seen.window)}"


def _bracket(window: Window | None) -> str:
    if window is None:
        return ""
    return f" [{'#' if isinstance(window, LastTuples) else ''}{window.size}]"


def _counted(found: re.Match[str]) -> str:
    number, comparator, atom, window = found.groups()
    return _WORDS[comparator].format(atom, number) + (window or "")


def _arguments(text: str, start: int) -> tuple[list[str], int]:
    """The arguments in the brackets that open at `start`, if any do, and where they end."""
    if text[start : start + 1] != "(":
        return [], start
    found, depth, begin, quoted = [], 0, start + 1, False
    for place in range(start, len(text)):
        sign = text[place]
        if quoted or sign == '"':
            quoted = not _closes(text, place) if quoted else True
        elif sign == "(":
            depth += 1
        elif sign in "),":
            depth -= sign == ")"
            if depth == 0 or (depth == 1 and sign == ","):
                found.append(text[begin:place])
                begin = place + 1
            if depth == 0:
                return found, place + 1
    return [], start


def _closes(text: str, place: int) -> bool:
    """Whether the sign there ends a string."""
    if text[place] != '"':
        return False
    before = text[:place]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 0
