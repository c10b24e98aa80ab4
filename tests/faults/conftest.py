"""Prints the table of all fault campaigns at the end of a run."""

from campaign import TALLIES, table


def pytest_terminal_summary(terminalreporter):
    if TALLIES:
        terminalreporter.section("fault campaigns")
        terminalreporter.write_line(table())
