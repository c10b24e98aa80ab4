import numpy as np
import pytest

from gym_attrplan.envs.grids import Layout, Rooms
from gym_attrplan.error import InvalidEnvironment

RNG = np.random.default_rng


def walkable(size, walls, start):
    """Cells reached by a plain search: the generator's flood fill, done otherwise."""
    reached, frontier = {start}, [start]
    while frontier:
        y, x = divmod(frontier.pop(), size)
        for ny, nx in ((y, x + 1), (y + 1, x), (y, x - 1), (y - 1, x)):
            inside = 0 < ny < size - 1 and 0 < nx < size - 1
            near = ny * size + nx
            if inside and near not in walls and near not in reached:
                reached.add(near)
                frontier.append(near)
    return reached


@pytest.mark.parametrize(("size", "n_walls"), [(8, 4), (6, 6), (9, 20)])
def test_every_object_can_be_walked_to(size, n_walls):
    rooms = Layout(size, 4, n_walls).generate(300, RNG(0))
    for agent, objects, walls in zip(rooms.agents, rooms.objects, rooms.walls, strict=True):
        reached = walkable(size, set(walls.tolist()), int(agent))
        assert reached.issuperset(objects.tolist())


def test_nothing_shares_a_cell_and_nothing_stands_in_the_surrounding_wall():
    rooms = Layout(5, 4, 2).generate(500, RNG(1))
    cells = np.concatenate([rooms.agents[:, None], rooms.objects, rooms.walls], axis=1)
    assert all(len(set(row)) == 7 for row in cells.tolist())
    rows, columns = np.divmod(cells, 5)
    assert rows.min() == columns.min() == 1
    assert rows.max() == columns.max() == 3


def test_every_cell_and_every_state_is_drawn():
    rooms = Layout(6, 2, 2, n_states=3).generate(2000, RNG(2))
    assert len(set(rooms.agents.tolist())) == 16
    assert set(rooms.states.ravel().tolist()) == {0, 1, 2}


def test_the_same_seed_draws_the_same_rooms():
    layout = Layout(8, 4, 4, n_states=4)
    one, other = layout.generate(50, RNG(3)), layout.generate(50, RNG(3))
    assert all(
        np.array_equal(getattr(one, part), getattr(other, part))
        for part in ("agents", "objects", "walls", "states")
    )


def test_walls_that_often_cut_the_room_apart_are_drawn_again():
    # Of rooms with 7 obstacles among 16 cells, most are not solvable: a single draw would show it.
    layout = Layout(6, 3, 7)
    draws = layout._draw_cells(1000, RNG(4))
    assert layout._solvable(draws).mean() < 0.5
    assert len(layout.generate(1000, RNG(4))) == 1000


def test_batches_are_cut_and_put_together():
    rooms = Layout(8, 4, 4).generate(3, RNG(5))
    again = Rooms.stack([rooms[2], rooms[0]])
    assert again.agents.tolist() == rooms.agents[[2, 0]].tolist()
    assert len(rooms[1]) == 1


@pytest.mark.parametrize(
    ("layout", "words"),
    [
        ({"size": 3, "n_objects": 1, "n_walls": 0}, "at least 4; received 3"),
        ({"size": 8, "n_objects": 4, "n_walls": -1}, "n_walls must be at least 0"),
        ({"size": 4, "n_objects": 4, "n_walls": 0}, "leaves 4 cells"),
        ({"size": 20, "n_objects": 20, "n_walls": 280}, "none of 200 rooms drawn was solvable"),
    ],
)
def test_rooms_that_cannot_be_are_refused(layout, words):
    with pytest.raises(InvalidEnvironment, match=words):
        Layout(**layout)
