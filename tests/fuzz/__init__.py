"""Random programs in a changing world, run plainly and captured: ``./dev fuzz``.

A seed gives a program and a list of steps (``program.py``), written by the grammar
(``grammar/``): calls of its entry function, and changes of the world between them. The steps run
in a world of plain Python and in one where the entry is captured (``world.py``); each leaves a
transcript of all that can be seen (``canonical.py``), and the transcripts must be the same
(``differences.py``). A program that differs is made small (``shrinker.py``) and written to a file
that shows the difference by itself (``reproducer.py``).
"""
