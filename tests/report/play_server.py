"""Serves the page of the counter at a port, for the tests in a browser."""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path += [str(Path(__file__).parent), str(Path(__file__).parent.parent)]
    from play_worlds import counting_setup

    from gym_attrplan.report.play.lobby import Lobby
    from gym_attrplan.report.play.server import serve

    setup = counting_setup(hops="neighbours")
    serve(Lobby(setup), host="127.0.0.1", port=int(sys.argv[1]), show=False)
