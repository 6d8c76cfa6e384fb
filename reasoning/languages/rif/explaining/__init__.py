"""Why a fact is entailed by a document of RIF, and why not: its justifications, as minimal sets of
instances (`justifications`), and where rules for it break (`absence`). Answers are computed
elsewhere; this looks at one instant again, with all its rules apart."""
