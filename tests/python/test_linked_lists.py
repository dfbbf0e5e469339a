"""Lists of linked objects that a dict holds as well: walked and emptied, of other lengths and
with other numbers in each call. Each object dies when plain Python lets go of it.
"""

import weakref

import armature
import pytest
from differential import breaking_every

LOG = []


class Link:
    __slots__ = ("__weakref__", "key", "next", "prev")


class Heard(Link):
    __slots__ = ()

    def __del__(self):
        LOG.append(self.key)


class Open:  # with a dict
    def __init__(self):
        self.key = self.next = self.prev = None


def make(kind, keys):
    links, root = {}, kind()
    root.key = None
    root.next = root.prev = root
    for key in keys:
        link = links[key] = kind()
        link.key, link.prev, link.next = key, root.prev, root
        root.prev.next = root.prev = link
    return links, root


def expire(links, root):
    current = root.next
    found = []
    while current is not root:
        found.append(current.key)
        del links[current.key]
        following = current.next
        current.next.prev = current.prev
        current.prev.next = current.next
        current = following
    return found


def expire_odd(links, root):
    current = root.next
    found = []
    while current is not root:
        following = current.next
        if current.key % 2:
            found.append(current.key * 2)
            links.pop(current.key)
            following.prev, current.prev.next = current.prev, following
            current.next = current.prev = None
        current = following
    return found


def total(links, root):
    result, current = 0, root.prev
    while current is not root:
        result = result * 3 + current.key
        current = current.prev
    return result, len(links)


def refill(links, root):
    current = root.next
    while current is not root:
        current.key += 1
        current = current.next
    return [link.key for link in links.values()]


# Shorter than in the call before, longer, with other keys, empty.
CALLS = [range(5), range(5), range(3), range(40), range(100, 105), [], range(7, 0, -1), range(5)]


def run(fn, kind):
    """What each call gives and leaves, and how many of its links live after it."""
    outcomes = []
    LOG.clear()
    for keys in CALLS:
        links, root = make(kind, keys)
        references = [weakref.ref(link) for link in links.values()] if kind is not Open else []
        result = fn(links, root)
        alive = [reference() is not None for reference in references]
        order, current = [], root.next
        while current is not root:
            order.append(current.key)
            current = current.next
        current = None
        outcomes.append((result, alive, list(links), order, list(LOG)))
        root.next = root.prev = None
        for link in links.values():
            link.next = link.prev = None
        links.clear()
        LOG.clear()
    return outcomes


@pytest.mark.parametrize("every", [0, 1, 2, 7])
@pytest.mark.parametrize("kind", [Link, Heard, Open])
@pytest.mark.parametrize("fn", [expire, expire_odd, total, refill])
def test_linked_list(fn, kind, every):
    expected = run(fn, kind)
    armature.reset()
    with breaking_every(every):
        assert run(armature.compile(fn), kind) == expected
