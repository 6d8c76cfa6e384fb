"""RIF's built-in functions and predicates, a module for each kind of value; `registry` finds them
by their IRIs. They are pure functions of `model.terms.Value`; how rules call them is `bodies`."""
