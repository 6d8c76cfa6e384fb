"""The solver: clingo in this process (`solver`), or in one that is ended at limits (`guard`, with
`messages` between the two). `anytime` gives the best answer within a time.
It knows programs and facts as text only; rules are read in `asp`."""
