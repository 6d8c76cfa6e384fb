"""The languages that programs may be written in, a folder each, from text to what engines evaluate.

The face of each is its module `language`, which the table `run.language.LANGUAGES` names. What
several languages share is below them: `asp` for clingo's syntax, `model` for rules, `rdf`.
"""
