"""``attrplan play``: a page on which to pick a goal, see the plan and watch it run.

What happens is in files that know no page (``setup``, ``player``, ``session``, ``suggestions``,
``surroundings``, ``known``, ``quick_training``); ``server``, ``page`` and the panels show it with
NiceGUI, an optional package.
"""
