"""Programs over streams from end to end: `reasoner` pushes items through windows into an engine,
`recorded` does so with recordings for the command line, `explained` asks why. What a window is
lies in `streams`; which engine answers is chosen in `engines`."""
