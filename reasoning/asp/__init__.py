"""Answer set programs as clingo reads them: statements, syntax trees, predicates and how they
depend on each other, and which rules the incremental engine can take over (`translation`).
Of streams, windows and directives nothing is known here: that is `languages.casp`."""

from citywise.reasoning.asp.dependencies import Dependencies
from citywise.reasoning.asp.rules import Statements, atom_signatures, body_atoms, head_atoms
from citywise.reasoning.asp.syntax import Constants, Node, variables

__all__ = [
    "Constants",
    "Dependencies",
    "Node",
    "Statements",
    "atom_signatures",
    "body_atoms",
    "head_atoms",
    "variables",
]
