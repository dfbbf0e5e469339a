"""A repository for the CPython we build for: what the interpreter says of itself.

  :headers  Python.h and CPython's internal headers
  :embed    libpython, for programs that embed Python
  :location python_location.h, which says where the interpreter is

The interpreter is $ARMATURE_PYTHON if set, else that of .venv, else python3.11 of the PATH.
"""

_BUILD = """
load("@rules_cc//cc:defs.bzl", "cc_library")

package(default_visibility = ["//visibility:public"])

cc_library(
    name = "headers",
    hdrs = glob(["include/**/*.h"]),
    includes = ["include", "include/internal"],
)

cc_library(
    name = "embed",
    linkopts = {linkopts},
    deps = [":headers"],
)

cc_library(
    name = "location",
    hdrs = ["location/python_location.h"],
    includes = ["location"],
)
"""

# Prints the include folder, then one linker option a line.
_ASK = """
import os, sysconfig
var = lambda name: sysconfig.get_config_var(name) or ""
print(sysconfig.get_path("include"))
folders = [var("LIBDIR"), os.path.join(var("LIBDIR"), var("MULTIARCH")), var("LIBPL")]
def find(name):
    return next((d for d in folders if name and os.path.isfile(os.path.join(d, name))), None)
shared, static = var("INSTSONAME"), var("LIBRARY")
if var("Py_ENABLE_SHARED") and find(shared):
    print(os.path.join(find(shared), shared))
    print("-Wl,-rpath," + find(shared))
elif find(static):
    print("-Wl,--export-dynamic")
    print("-no-pie") # a static libpython is seldom position independent
    print("-Wl,--whole-archive," + os.path.join(find(static), static) + ",--no-whole-archive")
    print("\\n".join(var("MODLIBS").split()))
else:
    raise SystemExit("no %s or %s in %s" % (shared, static, folders))
print("\\n".join((var("LIBS") + " " + var("SYSLIBS")).split()))
"""

def _interpreter(ctx):
    if "ARMATURE_PYTHON" in ctx.os.environ:
        return ctx.path(ctx.os.environ["ARMATURE_PYTHON"])
    venv = ctx.path(str(ctx.path(Label("@//:WORKSPACE")).dirname) + "/.venv/bin/python")
    return venv if venv.exists else ctx.which("python3.11")

def _python_repository(ctx):
    interpreter = _interpreter(ctx)
    if not interpreter:
        fail("no Python: make .venv with ./dev build, or set ARMATURE_PYTHON")
    answer = ctx.execute([interpreter, "-c", _ASK])
    if answer.return_code != 0:
        fail("%s does not say where its headers and library are: %s" % (interpreter, answer.stderr))
    lines = [line for line in answer.stdout.split("\n") if line]
    if not ctx.path(lines[0] + "/Python.h").exists:
        fail("no Python.h in %s: on Debian, apt-get install python3.11-dev" % lines[0])
    ctx.symlink(lines[0], "include")
    ctx.file(
        "location/python_location.h",
        "#define ARMATURE_PYTHON_EXECUTABLE \"%s\"\n" % interpreter,
        executable = False,
    )
    ctx.file("BUILD", _BUILD.format(linkopts = repr(lines[1:])), executable = False)

python_repository = repository_rule(
    implementation = _python_repository,
    configure = True,
    environ = ["ARMATURE_PYTHON"],
    local = True,
)
