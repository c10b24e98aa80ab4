"""What a fault campaign counts: how many faults, what each led to, and what must never happen."""

from __future__ import annotations

import os
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from gym_attrplan.error import AttrPlanError

FULL = os.environ.get("ATTRPLAN_FAULTS") == "full"
"""``make faults`` sets it; without it every campaign is small enough for the ordinary tests."""

TALLIES: list[Tally] = []
"""Every campaign of this process, for the table at the end."""


def sized(small: int, full: int) -> int:
    """How many faults to try: few in the ordinary tests, many in ``make faults``."""
    return full if FULL else small


@dataclass
class Tally:
    """One campaign's outcomes.

    Attributes:
        name: A row of the table.
        allowed: The errors that this kind of fault may end in, and no others.
        outcomes: ``"accepted"`` or the error's name → how often.
        wrong: What must not happen, in words: an unnamed error, an altered file, executed code.
    """

    name: str
    allowed: tuple[type[Exception], ...] = (AttrPlanError,)
    outcomes: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        TALLIES.append(self)

    @property
    def n(self) -> int:
        """Faults tried."""
        return self.outcomes.total()

    @contextmanager
    def fault(self, what: Callable[[], str] | str) -> Any:
        """Try one fault: an allowed error or none is fine, any other is noted as wrong."""
        try:
            yield
        except self.allowed as error:
            self.outcomes[type(error).__name__] += 1
        except Exception as error:
            self.outcomes[f"{type(error).__name__} (!)"] += 1
            said = what if isinstance(what, str) else what()
            at = traceback.extract_tb(error.__traceback__)[-1]
            self.wrong.append(f"{said[:300]}: {error!r:.300} at {at.filename}:{at.lineno}")
        else:
            self.outcomes["accepted"] += 1

    def must(self, holds: bool, what: str) -> None:
        """Note what went wrong unless it holds."""
        if not holds:
            self.wrong.append(what[:600])

    def settle(self) -> None:
        """Fail the test if anything went wrong."""
        shown = "\n".join(self.wrong[:20])
        assert not self.wrong, f"{self.name}: {len(self.wrong)} of {self.n} wrong:\n{shown}"


def table() -> str:
    """One row a campaign."""
    rows = [("campaign", "faults", "wrong", "outcomes")]
    for tally in TALLIES:
        outcomes = ", ".join(f"{name} {n:,}" for name, n in tally.outcomes.most_common())
        rows.append((tally.name, f"{tally.n:,}", str(len(tally.wrong)), outcomes))
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    return "\n".join(
        f"{name:<{widths[0]}}  {n:>{widths[1]}}  {wrong:>{widths[2]}}  {outcomes}"
        for name, n, wrong, outcomes in rows
    )
