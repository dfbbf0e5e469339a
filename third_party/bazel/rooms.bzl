"""Which room may include which: the table of docs/architecture. An edge that isn't here does not build."""

_FOUNDATION = ["cpython", "core", "bytecode", "sources"]
_MODEL = _FOUNDATION + ["graph", "shapes", "heap", "variables"]
_ENGINE = _MODEL + ["guards", "interpreter", "codegen"]

ROOMS = {
    "cpython": [],  # and core/ref.h
    "core": ["cpython"],
    "bytecode": ["cpython", "core"],
    "sources": ["cpython", "core", "bytecode"],
    "shapes": _FOUNDATION,
    "graph": _FOUNDATION + ["shapes"],
    "variables": _FOUNDATION + ["graph", "shapes", "guards", "heap"],
    "guards": _FOUNDATION + ["graph", "shapes"],
    "heap": _FOUNDATION + ["graph", "shapes", "guards"],
    "interpreter": _MODEL + ["guards"],
    "codegen": _MODEL + ["guards", "interpreter"],
    "libraries": _MODEL + ["guards"],
    "libraries/torch": _MODEL + ["guards", "libraries"],
    "libraries/numpy": _MODEL + ["guards", "libraries"],
    "runtime": _ENGINE + ["libraries", "libraries/torch", "libraries/numpy"],
    "engine": _ENGINE + ["runtime"],
}

# Not rooms of the engine, but they stand on it.
_OUTSIDE = ["python", "cli", "tests", "benchmarks", "include"]

def room_label(room):
    return "//{}:{}".format(room, room.split("/")[-1])

def room_deps(room):
    return [room_label(below) for below in ROOMS[room]]

def room_visibility(room):
    users = [user for user, below in ROOMS.items() if room in below] + _OUTSIDE
    return ["//{}:__subpackages__".format(user) for user in users]
