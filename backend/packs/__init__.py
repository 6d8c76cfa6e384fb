"""App packs: manifests, templates of rules with typed parameters, their checks and scenarios.

`manifest.load` reads a folder into a `Pack`, whose templates become `TemplateVersion`s;
`run.TemplateRun` evaluates one of these for all its instances (see docs/apps.md).
"""
