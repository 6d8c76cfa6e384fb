"""Front ends: one module a language, each from text to `reasoning.program.Request`."""
