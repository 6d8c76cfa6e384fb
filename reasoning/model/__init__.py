"""What a program is: terms, atoms, rules, strata, requests, and what engines are given and give
(`engine`). It knows no language, engine or stream, and of clingo only how it writes terms."""
