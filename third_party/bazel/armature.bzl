"""The rules of this project: a room, a library, a test, with one set of compiler flags."""

load("@rules_cc//cc:defs.bzl", "cc_library", "cc_test")
load(":rooms.bzl", "room_deps", "room_label", "room_visibility")

COPTS = [
    "-Wall",
    "-Wextra",
    "-Werror",
    # PyTypeObject and its like are filled in by name, and the rest is zero.
    "-Wno-missing-field-initializers",
    # These two err on correct code once g++ 12 has inlined it.
    "-Wno-error=maybe-uninitialized",
    "-Wno-error=stringop-overflow",
    # CPython is written for it: PyObject is a prefix of every object.
    "-fno-strict-aliasing",
    "-fvisibility=hidden",
]

def armature_library(name, copts = [], **attributes):
    """A C++ library. Files include each other from the workspace's root: "core/ref.h"."""
    cc_library(
        name = name,
        copts = COPTS + copts,
        linkstatic = True,
        **attributes
    )

def armature_room(room, deps = [], **attributes):
    """The library of a room: all its files; what it may include and who may include it by the table.

    alwayslink, because files register handlers by static initializers.

    Args:
      room: the folder's name, as in rooms.bzl
      deps: other libraries (@nlohmann_json//:json, ...)
      **attributes: as for cc_library
    """
    armature_library(
        name = room.split("/")[-1],
        srcs = native.glob(["**/*.cc"], allow_empty = True),
        hdrs = native.glob(["**/*.h"], allow_empty = True),
        textual_hdrs = native.glob(["**/*.def"], allow_empty = True),
        visibility = room_visibility(room),
        deps = room_deps(room) + ["@llvm//:support", "@python3//:headers"] + deps,
        alwayslink = True,
        **attributes
    )

def armature_test(name, python = True, size = "small", copts = [], deps = [], **attributes):
    """A GoogleTest program; with python, CPython is initialized before the tests run."""
    cc_test(
        name = name,
        size = size,
        copts = COPTS + copts,
        deps = deps + ["//tests:python_main" if python else "@gtest//:gtest_main"],
        linkstatic = True,
        **attributes
    )

def armature_room_tests(room, deps = [], **attributes):
    """One test for each *_test.cc of this folder; its other files are helpers that all of them share.

    Args:
      room: whose tests these are; they may include it and everything below it
      deps: other libraries
      **attributes: as for cc_test
    """
    helpers = "helpers"
    armature_library(
        name = helpers,
        testonly = True,
        srcs = native.glob(["*.cc"], exclude = ["*_test.cc"], allow_empty = True),
        hdrs = native.glob(["*.h"], allow_empty = True),
        deps = deps + [room_label(room), "@gtest//:gtest"],
    )
    for source in native.glob(["*_test.cc"], allow_empty = True):
        armature_test(
            name = source[:-len(".cc")],
            srcs = [source],
            data = native.glob(["data/**"], allow_empty = True),
            deps = [":" + helpers],
            **attributes
        )
