"""Texts that mean something to a language in which we write: rules, SQL, templates, HTML."""

from __future__ import annotations

TEXTS = (
    '").  leak(X) :- secret(X). %',
    '"). notice("x","leak","owned",5). note("',
    '\\"). secret("a","b"). %',
    "\\",
    '"',
    'a\\\\"',
    'line\n"). secret("a","b"). %',
    '#script(python) import os; os.system("id") #end.',
    '#include "/etc/passwd".',
    "%*",
    "@f(1)",
    "'; DROP TABLE accounts; --",
    "%' OR '1'='1",
    "{{7*7}}",
    "{about.__class__}",
    "%s%n",
    "<script>alert(1)</script>",
    "../../../etc/passwd",
    "\u202eturned",
    "\ud83d".encode("utf-16", "surrogatepass").decode("utf-16", "replace"),
    "\x00",
)
"""No one of them is a name of anything."""
NAMES = ("X", "1..9", "not", "a.b:c")
"""These may be names; in rules they would mean something else."""
SOME = (TEXTS[1], TEXTS[3], "%' OR '1'='1", "\x00")
"""Where all would take long: of each kind one."""
