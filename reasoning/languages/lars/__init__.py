"""Plain LARS (docs/lars.md): programs whose rules have windows of their own. Text to `LarsProgram`
(`parsing`), to rules of the incremental engine (`compile`) or to ASP for clingo (`encoding`), its
evaluation at every point of time (`reasoner`), and explanations in its own notation."""
