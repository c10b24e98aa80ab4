"""``attrplan play``: a page on which to pick a goal, see the plan and watch it run.

What happens is in files that know no page, from ``setup`` and ``player`` to ``session`` and
``lobby``. ``server``, ``page`` and the panels show it with NiceGUI, an optional package.
"""
