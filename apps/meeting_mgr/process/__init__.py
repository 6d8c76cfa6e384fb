"""The app's own process: readings come in, what people can do and other agendas go out."""
