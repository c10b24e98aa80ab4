"""The environments of the paper: registered on import, loaded when they are made."""
