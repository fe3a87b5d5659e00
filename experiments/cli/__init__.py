"""The command line: one file per verb, loaded when the verb is used."""
