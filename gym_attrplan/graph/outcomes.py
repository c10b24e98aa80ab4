"""HopOutcomes: table of the changes that hops attempted, and of their outcomes."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from gym_attrplan.attributes import FREE, AttributeSpace
from gym_attrplan.error import InvalidGraph
from gym_attrplan.graph.counted_rows import Arrays, CountedRows, FloatArray, Places
from gym_attrplan.graph.counts import TransitionCounts
from gym_attrplan.graph.index import NodeIndex
from gym_attrplan.graph.merging import Merged, merged
from gym_attrplan.graph.ragged import first_of_each
from gym_attrplan.graph.reliability import Reliability

IntArray: TypeAlias = npt.NDArray[np.integer[Any]]

_COUNTED = ("weight", "attempts", "successes", "paid")

PRIOR = 2.0
"""Number of attempts with which a change's results elsewhere are weighted here."""

NEEDLESS = 0.5
"""Maximum reduction of the reward of a change that ended the episode without need."""

_MAX_WEIGHT = 1e100
"""Maximum weight of newer attempts relative to older ones, before all are rescaled."""


class OutcomeTable(NamedTuple):
    """Everything counted, as arrays: a row for each description and change attempted there.

    Attributes:
        node: ``(n_rows,)`` the description at the start of the hops.
        change: ``(n_rows,)`` their change.
        attempts: ``(n_rows,)`` number of attempts, with lower weights of older ones.
        successes: ``(n_rows,)`` number of times the change was made.
        probs: ``(n_rows,)`` success probabilities, see :meth:`HopOutcomes.success_probs`.
        n_steps: ``(n_rows,)`` mean length of the hops in steps.
        end_row: ``(n_ends,)`` for each different outcome of a row: the row.
        end_node: ``(n_ends,)`` the description.
        end_made: ``(n_ends,)`` whether the change was made.
        end_over: ``(n_ends,)`` whether the episode ended there.
        end_count: ``(n_ends,)`` how often.
    """

    node: Places
    change: Places
    attempts: FloatArray
    successes: FloatArray
    probs: FloatArray
    n_steps: FloatArray
    end_row: Places
    end_node: Places
    end_made: npt.NDArray[np.bool_]
    end_over: npt.NDArray[np.bool_]
    end_count: FloatArray


class HopOutcomes:
    """Counts attempts to make a change, by the description at their start.

    A *change* is written as a goal: the wanted values, and -1 for attributes that are free. All
    other changes on the way are part of the outcome, the description at the end.

    Args:
        space: The attributes.

    Example:
        >>> outcomes = HopOutcomes(AttributeSpace(["key", "door"]))
        >>> outcomes.record([[0, 0]] * 3, [[1, -1]] * 3, [[1, 0], [1, 0], [0, 0]],
        ...                 made=[True, True, False], n_steps=[4, 6, 50])
        >>> outcomes.success_rates([[0, 0], [1, 1]], [[1, -1], [1, -1]]).round(2)
        array([0.64, 0.6 ])
    """

    def __init__(self, space: AttributeSpace) -> None:
        self.space = space
        self.index = NodeIndex(space)
        self.version = 0  # changes with every change of the table, for a planner's cache
        self._epoch = 0
        self._decay = 1.0
        self._reliability = Reliability()
        n_change_words = space.n_words + -(-len(space) // 64)
        self._changes = CountedRows(n_change_words, (*_COUNTED, "alive", "epoch"))
        self._rows = CountedRows(2, (*_COUNTED, "steps", "epoch"))
        self._ends = CountedRows(3, ("count",))

    # --- writing ----------------------------------------------------------------------------

    def record(
        self,
        starts: npt.ArrayLike,
        changes: npt.ArrayLike,
        ends: npt.ArrayLike,
        *,
        made: npt.ArrayLike,
        n_steps: npt.ArrayLike,
        over: npt.ArrayLike = False,
    ) -> None:
        """Count finished hops.

        Args:
            starts: ``(n, n_attributes)`` descriptions at their start.
            changes: ``(n, n_attributes)`` their changes; -1 is free.
            ends: ``(n, n_attributes)`` descriptions at their end.
            made: ``(n,)`` whether the change was made.
            n_steps: ``(n,)`` their lengths in steps.
            over: ``(n,)`` whether the episode ended with them.

        Raises:
            InvalidAttributes: If a description does not belong to the space.
            InvalidGoal: If a change does not.
        """
        node = self.index.add(starts).astype(np.int64)
        end = self.index.add(ends).astype(np.int64)
        made = np.broadcast_to(np.asarray(made, np.bool_), len(node))
        over = np.broadcast_to(np.asarray(over, np.bool_), len(node))
        paid = self.pay(changes, made=made, over=over)
        change = self._changes.add(self._pack_changes(changes))
        row = self._rows.add(np.stack([node, change], axis=1).astype(np.uint64))
        self._reliability.add(self._expected(row, change, "successes"), made)
        how = made + 2 * over
        ended = self._ends.add(np.stack([row, end, how], axis=1).astype(np.uint64))
        for counted, numbers in ((self._changes, change), (self._rows, row)):
            weight = self._weights(counted, numbers)
            np.add.at(counted["attempts"], numbers, weight)
            np.add.at(counted["successes"], numbers, weight * made)
            np.add.at(counted["paid"], numbers, weight * paid)
            if counted is self._changes:
                np.add.at(counted["alive"], numbers, weight * (made & ~over))
        np.add.at(self._rows["steps"], row, weight * np.asarray(n_steps, np.float64))
        np.add.at(self._ends["count"], ended, weight)
        self.version += 1

    def start_epoch(self, decay: float) -> None:
        """Begin an epoch in which older attempts count less.

        At the *first* attempt of a row in the epoch its counts are multiplied by
        ``decay``; a row that is not attempted again keeps its counts.

        Raises:
            InvalidGraph: If ``decay`` is not above 0 and at most 1.
        """
        if not 0.0 < decay <= 1.0:
            raise InvalidGraph(f"a decay is above 0 and at most 1 (keep); received {decay}.")
        self._decay = float(decay)
        self._epoch += 1
        self._reliability.start_epoch()

    def _weights(self, counted: CountedRows, numbers: Places) -> FloatArray:
        """Return the current weights of attempts: newer ones weigh more, so older ones decay."""
        tried = np.unique(numbers)
        weight, epoch = counted["weight"], counted["epoch"]
        weight[tried[weight[tried] == 0]] = 1.0
        fresh = tried[epoch[tried] < self._epoch]
        weight[fresh] /= self._decay
        epoch[tried] = self._epoch
        heavy = tried[weight[tried] > _MAX_WEIGHT]
        if len(heavy):
            self._rescale(counted, heavy)
        return weight[numbers]

    def _rescale(self, counted: CountedRows, numbers: Places) -> None:
        factors = np.ones(len(counted))
        factors[numbers] = 1.0 / counted["weight"][numbers]
        for name in counted.names:
            if name != "epoch":
                counted[name][:] *= factors
        if counted is self._rows:
            self._ends["count"][:] *= factors[self._ends.keys[:, 0].astype(np.int64)]

    # --- reading ----------------------------------------------------------------------------

    @property
    def epoch(self) -> int:
        """Number of epochs begun."""
        return self._epoch

    @property
    def n_changes(self) -> int:
        """Number of different changes attempted."""
        return len(self._changes)

    def __len__(self) -> int:
        return len(self._rows)

    def changes(self, numbers: npt.ArrayLike | None = None) -> IntArray:
        """Return ``(n, n_attributes)`` changes by their numbers, or all."""
        keys = self._changes.keys
        keys = keys if numbers is None else keys[np.asarray(numbers)]
        values = self.space.unpack(keys[:, : self.space.n_words])
        wanted = np.unpackbits(
            np.ascontiguousarray(keys[:, self.space.n_words :]).view(np.uint8),
            axis=1,
            count=len(self.space),
            bitorder="little",
        )
        return np.where(wanted.astype(np.bool_), values, FREE).astype(self.space.dtype)

    def singles(self, columns: npt.ArrayLike, values: npt.ArrayLike) -> IntArray:
        """Return ``(n, n_attributes)`` changes of one attribute each to one value.

        Example:
            >>> HopOutcomes(AttributeSpace({"key": 2, "ore": 4})).singles([1, 0], [3, 1]).tolist()
            [[-1, 3], [1, -1]]
        """
        columns = np.asarray(columns, np.int64)
        changes = np.full((len(columns), len(self.space)), FREE, self.space.dtype)
        changes[np.arange(len(columns)), columns] = values
        return changes

    def find_changes(self, changes: npt.ArrayLike) -> Places:
        """Return ``(n,)`` numbers of changes, -1 for one that was never attempted."""
        return self._changes.find(self._pack_changes(changes))

    def success_rates(self, descriptions: npt.ArrayLike, changes: npt.ArrayLike) -> FloatArray:
        """Return ``(n,)`` success rates of changes from descriptions, from the counts.

        Missing data of a description are filled in by the change's results elsewhere. A change that
        was never attempted has 0.5.
        """
        return self._expected(*self._find(descriptions, changes), "paid")

    def success_probs(self, descriptions: npt.ArrayLike, changes: npt.ArrayLike) -> FloatArray:
        """Return ``(n,)`` current success probabilities of changes from descriptions.

        These are :meth:`success_rates`, corrected by the recent reliability of such predictions.
        """
        return self._corrected(*self._find(descriptions, changes))

    def _find(self, descriptions: npt.ArrayLike, changes: npt.ArrayLike) -> tuple[Places, Places]:
        """Return ``(n,)`` rows and changes, -1 for those never attempted."""
        node = self.index.find(descriptions).astype(np.int64)
        change = self.find_changes(changes)
        known = (node >= 0) & (change >= 0)
        row = np.full(len(node), -1)
        row[known] = self._rows.find(np.stack([node, change], axis=1)[known].astype(np.uint64))
        return row, change

    def _expected(self, row: Places, change: Places, counted: str) -> FloatArray:
        here = self._rows.get(row)
        return _filled_in(here["attempts"], here[counted], self._changes.get(change), counted)

    def _corrected(self, row: Places, change: Places) -> FloatArray:
        return self._reliability.correct(self._expected(row, change, "successes"))

    def corrected(self, attempts: FloatArray, successes: FloatArray, change: Places) -> FloatArray:
        """Return ``(n,)`` success probabilities as :meth:`success_probs` does, from other counts.

        Args:
            attempts: ``(n,)`` numbers of attempts.
            successes: ``(n,)`` numbers of those that made their change.
            change: ``(n,)`` numbers of the changes.
        """
        rates = _filled_in(attempts, successes, self._changes.get(change), "successes")
        return self._reliability.correct(rates)

    def pay(
        self,
        changes: npt.ArrayLike,
        *,
        made: npt.NDArray[np.bool_],
        over: npt.NDArray[np.bool_],
    ) -> FloatArray:
        """Return ``(n,)`` rewards of hops: 1 for a change made, 0 for one that was not.

        A change that ended the episode has a lower reward, the more often it is made without ending
        it: an agent that falls into a hole in row 3 has reached row 3 in the wrong way. The reward
        is at least half, since in some states there may be no other way.

        Example:
            >>> outcomes, yes = HopOutcomes(AttributeSpace({"row": 4})), np.array([True])
            >>> outcomes.pay([[3]], made=yes, over=yes)
            array([1.])
            >>> outcomes.record([[2]] * 8, [[3]] * 8, [[3]] * 8, made=True, n_steps=4)
            >>> outcomes.pay([[3]], made=yes, over=yes)
            array([0.6])
        """
        tried = self._changes.get(self.find_changes(changes))
        alive_share = tried["alive"] / (tried["successes"] + 2.0)
        lost = NEEDLESS * alive_share
        paid: FloatArray = np.where(over, 1.0 - lost, 1.0) * made.astype(np.float64)
        return paid

    def attempts_at(self, changes: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return ``(n,)`` numbers of attempts at changes anywhere, and of successes."""
        tried = self._changes.get(self.find_changes(changes))
        return tried["attempts"], tried["successes"]

    def attempts_from(self) -> FloatArray:
        """Return ``(n_nodes,)`` numbers of attempts that began at each description."""
        node = self._rows.keys[:, 0].astype(np.int64)
        attempts = self._rows["attempts"] / self._rows["weight"]
        return np.asarray(np.bincount(node, attempts, len(self.index)), np.float64)

    def table(self) -> OutcomeTable:
        """Return everything counted."""
        keys, ends = self._rows.keys.astype(np.int64), self._ends.keys.astype(np.int64)
        scale = 1.0 / self._rows["weight"]
        attempts = self._rows["attempts"] * scale
        return OutcomeTable(
            node=keys[:, 0],
            change=keys[:, 1],
            attempts=attempts,
            successes=self._rows["successes"] * scale,
            probs=self._corrected(np.arange(len(keys)), keys[:, 1]),
            n_steps=self._rows["steps"] * scale / attempts,
            end_row=ends[:, 0],
            end_node=ends[:, 1],
            end_made=(ends[:, 2] & 1).astype(np.bool_),
            end_over=(ends[:, 2] & 2).astype(np.bool_),
            end_count=self._ends["count"] * scale[ends[:, 0]],
        )

    def hop_graph(self) -> TransitionCounts:
        """Return the hops as a graph of descriptions with the same numbers: an edge per outcome.

        If several changes lead along an edge, the attempts and successes are those of the one
        with the highest probability.
        """
        table = self.table()
        row, target = table.end_row, table.end_node
        kept = np.flatnonzero(table.end_made & (target != table.node[row]))
        source, target = table.node[row[kept]], target[kept]
        attempts, arrived = table.attempts[row[kept]], table.end_count[kept]
        order = np.lexsort([-arrived / attempts, target, source])
        source, target = source[order], target[order]
        first = first_of_each(source, target)
        n_ways = np.bincount(source[first], minlength=len(self.index))
        successes = arrived[order][first].astype(np.float32)
        arrays: dict[str, npt.NDArray[Any]] = {
            "nodes": np.ascontiguousarray(self.index.packed),
            "indptr": np.concatenate([[0], np.cumsum(n_ways)]).astype(np.int32),
            "target": target[first].astype(np.int32),
            "visits": successes.astype(np.float64),
            "attempts": np.maximum(attempts[order][first].astype(np.float32), successes),
            "successes": successes,
            "total": np.array(float(successes.sum())),
            "decay": np.array(1.0),
        }
        return TransitionCounts.from_arrays(self.space, arrays)

    def merge(self, merges: Merged) -> HopOutcomes:
        """Return the outcomes between descriptions with merged values.

        Hops that asked for an attribute that is left out are not counted.

        Args:
            merges: The merged values.

        Example:
            >>> outcomes = HopOutcomes(AttributeSpace(["door", "lamp"]))
            >>> starts, ends = [[0, 0], [0, 1]], [[1, 0], [1, 1]]
            >>> outcomes.record(starts, [[1, -1]] * 2, ends, made=True, n_steps=[3, 5])
            >>> outcomes.merge(((1, ()),)).table().n_steps
            array([4.])
        """
        left_out = [column for column, splits in merges if not splits]
        fewer = HopOutcomes(self.space)
        fewer._reliability = self._reliability
        vectors = self.index.vectors(np.arange(len(self.index)))
        nodes = fewer.index.add(merged(vectors, merges)).astype(np.int64)
        kept = (self.changes()[:, left_out] == FREE).all(axis=1)
        changes = fewer._changes.add_counts(self._changes, kept, self._changes.keys)
        start, change = self._rows.keys.astype(np.int64).T
        kept, keys = changes[change] >= 0, np.stack([nodes[start], changes[change]], axis=1)
        rows = fewer._rows.add_counts(self._rows, kept, keys.astype(np.uint64))
        row, end, how = self._ends.keys.astype(np.int64).T
        kept, keys = rows[row] >= 0, np.stack([rows[row], nodes[end], how], axis=1)
        ends = fewer._ends.add(keys[kept].astype(np.uint64))
        counts = self._ends["count"] / self._rows["weight"][row]
        np.add.at(fewer._ends["count"], ends, counts[kept])
        return fewer

    def _pack_changes(self, changes: npt.ArrayLike) -> npt.NDArray[np.uint64]:
        """Return ``(n, n_words)``: the wanted values, and the mask of their attributes."""
        goals = np.atleast_2d(np.asarray(changes, self.space.dtype))
        self.space.check_goals(goals)
        free = goals == FREE
        wanted = np.zeros((len(goals), self._changes.n_words - self.space.n_words), np.uint64)
        bits = np.packbits(~free, axis=1, bitorder="little")
        wanted.view(np.uint8)[:, : bits.shape[1]] = bits
        return np.concatenate([self.space.pack(np.where(free, 0, goals)), wanted], axis=1)

    # --- files ------------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return everything counted as plain arrays, for :meth:`restore`."""
        arrays: dict[str, npt.NDArray[Any]] = {"nodes": np.ascontiguousarray(self.index.packed)}
        for name, rows in self._parts().items():
            arrays[f"{name}/keys"] = np.ascontiguousarray(rows.keys)
            arrays |= {f"{name}/{column}": rows[column].copy() for column in rows.names}
        own = {"epoch": np.array(self._epoch), "decay": np.array(self._decay)}
        return {**arrays, **own, "reliability": self._reliability.counts.copy()}

    def restore(self, arrays: Arrays) -> None:
        """Replace all counts by those of :meth:`to_arrays`.

        Raises:
            InvalidGraph: If an array is missing or the arrays are not outcomes over the space.
        """
        fresh = HopOutcomes(self.space)
        try:
            fresh.index = NodeIndex.from_packed(self.space, arrays["nodes"])
            fresh._epoch, fresh._decay = int(arrays["epoch"]), float(arrays["decay"])
            if "reliability" in arrays:  # older files do not have it
                fresh._reliability.restore(arrays["reliability"])
            for name, rows in fresh._parts().items():
                rows.restore({key: arrays[f"{name}/{key}"] for key in ("keys", *rows.names)})
        except KeyError as error:
            raise InvalidGraph(f"outcomes are missing their array {error}.") from error
        fresh._check()
        vars(self).update(vars(fresh), version=self.version + 1)

    def _parts(self) -> dict[str, CountedRows]:
        return {"changes": self._changes, "rows": self._rows, "ends": self._ends}

    def _check(self) -> None:
        """Check that every row refers to existing descriptions, changes and rows."""
        limits = (
            (self._rows, (len(self.index), len(self._changes))),
            (self._ends, (len(self._rows), len(self.index), 4)),
        )
        for rows, sizes in limits:
            if (rows.keys >= np.array(sizes, np.uint64)).any():
                raise InvalidGraph("outcomes name a description or a change that is not there.")
        if not (0.0 < self._decay <= 1.0 and self._epoch >= 0):
            raise InvalidGraph(f"epoch {self._epoch} or decay {self._decay} out of range.")


def _filled_in(
    attempts: FloatArray, counts: FloatArray, anywhere: dict[str, FloatArray], counted: str
) -> FloatArray:
    """Return ``(n,)`` rates, with a change's results anywhere as a few more attempts."""
    usual = (anywhere[counted] + 1.0) / (anywhere["attempts"] + 2.0)
    rates: FloatArray = (counts + PRIOR * usual) / (attempts + PRIOR)
    return rates
