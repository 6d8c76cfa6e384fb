"""Items of streams (`items`), the windows that hold them (`windows`, `contents`), how they become
facts (`encoding`), recordings of them, and evaluations as results and streams again.
Which program looks at them, and how it is evaluated, is not known here."""
