"""The environments of the paper. Each registers on import and loads what it is built on when it is made."""
