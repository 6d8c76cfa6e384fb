"""A city that is tormented, and compared with what the definitions say of an undisturbed one."""
