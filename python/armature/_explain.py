"""explain(): what compile() would make of a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from armature import _C
from armature._compile import Settings, _compile_any, _functions
from armature.backends import BackendFunction
from armature.logging import format_break, format_calls, format_hits


class GraphBreakKind(NamedTuple):
    """A kind of graph break. A break may have a more special explanation than its kind."""

    name: str
    gb_type: str
    explanation: str
    hints: list[str]


def graph_break_kinds() -> list[GraphBreakKind]:
    """Every kind of graph break that there is."""
    return [GraphBreakKind(*kind) for kind in _C.graph_break_kinds()]


class FrameLine(NamedTuple):
    """A frame as a traceback shows it."""

    filename: str
    line: int
    function: str


@dataclass(frozen=True)
class BreakReason:
    """Why a graph ended, and where: ``stack`` has the frames from that in which the graph began to
    that which broke."""

    gb_type: str
    context: str
    explanation: str
    hints: list[str]
    filename: str
    function: str
    line: int
    stack: list[FrameLine]
    hits: int = 0  # how often it was hit in the call
    seconds: float = 0.0  # that Python took because of it, in what was called meanwhile, too

    def __str__(self) -> str:
        return format_break(vars(self))


@dataclass(frozen=True)
class Translation:
    """A stretch of a function, from its start or from a graph break on, as it was compiled."""

    name: str
    filename: str
    line: int
    graph: str  # as torch.fx prints it; empty where nothing was computed
    operations: int
    guards: list[str]
    guard_program: str
    bytecode: str  # of the generated code; empty where the stretch runs as it is
    break_reason: BreakReason | None  # None where the function returns
    recompile_reason: str
    instructions: int  # that were interpreted
    trace_seconds: float
    backend_seconds: float


@dataclass
class Explanation:
    """What armature.explain() found out. ``print`` shows it all but the bytecode."""

    translations: list[Translation]
    internal_errors: list[str]  # of compilations that failed, after which plain Python ran
    result: Any = field(repr=False)
    _function: Any = field(repr=False)

    @property
    def graphs(self) -> list[str]:
        """The text of each graph."""
        return [t.graph for t in self.translations if t.graph]

    @property
    def graph_modules(self) -> list[Any]:
        """The graphs as torch.fx.GraphModules."""
        return _C.graph_modules(self._function) if self._function else []

    @property
    def graph_count(self) -> int:
        return len(self.graphs)

    @property
    def graph_break_count(self) -> int:
        return len(self.break_reasons)

    @property
    def op_count(self) -> int:
        """The number of calls in all graphs."""
        return sum(t.operations for t in self.translations)

    @property
    def break_reasons(self) -> list[BreakReason]:
        return [t.break_reason for t in self.translations if t.break_reason]

    @property
    def guards(self) -> list[str]:
        """The guards of all translations."""
        return [guard for t in self.translations for guard in t.guards]

    @property
    def compile_seconds(self) -> float:
        return sum(t.trace_seconds + t.backend_seconds for t in self.translations)

    def __str__(self) -> str:
        lines = [
            f"Graph Count: {self.graph_count}",
            f"Graph Break Count: {self.graph_break_count}",
            f"Op Count: {self.op_count}",
            "Break Reasons:",
        ]
        for number, reason in enumerate(self.break_reasons, 1):
            context = f": {reason.context}" if reason.context else ""
            lines += [
                f"  Break Reason {number}:",
                f"    Reason: {reason.gb_type}{context}",
                f"    Explanation: {reason.explanation}",
                *(f"    Hint: {hint}" for hint in reason.hints),
                f'    At: File "{reason.filename}", line {reason.line}, in {reason.function}',
                *(f"    {line}" for line in format_calls(reason.stack)),
                f"    Hit: {format_hits(reason.hits, reason.seconds)}",
            ]
        if self.internal_errors:
            lines.append(f"Internal Errors: {len(self.internal_errors)}")
            lines += ["  " + error for error in self.internal_errors]
        lines.append("Graphs:")
        for number, graph in enumerate(self.graphs, 1):
            lines.append(f"  Graph {number}:")
            lines += ["    " + line if line else "" for line in graph.rstrip().split("\n")]
        lines.append("Guards:")
        lines += ["  " + guard for guard in self.guards]
        trace = sum(t.trace_seconds for t in self.translations)
        backend = sum(t.backend_seconds for t in self.translations)
        lines.append(f"Compile Times: trace {1e3 * trace:.3f} ms, backend {1e3 * backend:.3f} ms")
        return "\n".join(lines)


def explain(
    fn: Callable[..., Any], *, backend: str | BackendFunction = "eager"
) -> Callable[..., Explanation]:
    """Returns a function that calls ``fn`` once and explains: ``explain(fn)(*args, **kwargs)``.

    The call runs ``fn`` with all its effects, compiled afresh: what compile() made before is
    neither used nor changed. Its graphs, graph breaks, guards and times are in the Explanation, and
    what it returned is in the Explanation's ``result``. Takes and refuses what compile() does; for
    functions that are not captured (generator functions), there are no translations.
    """
    compiled = _compile_any(fn, Settings(backend, measures_breaks=True))

    def call(*args: Any, **kwargs: Any) -> Explanation:
        try:
            function, _, _ = _functions(compiled)
        except TypeError:
            return Explanation([], [], compiled(*args, **kwargs), None)
        _C.reset(function)
        result = compiled(*args, **kwargs)
        translations = [_translation(entry) for entry in _C.entries(function)]
        return Explanation(translations, _C.internal_errors(function), result, function)

    return call


def _translation(entry: dict[str, Any]) -> Translation:
    reason: dict[str, Any] | None = entry["break_reason"]
    if reason:
        statistics = entry["break_statistics"]
        reason = {
            **reason,
            "stack": [FrameLine(*frame) for frame in reason["stack"]],
            "hits": statistics.hits,
            "seconds": statistics.seconds,
        }
    return Translation(
        name=entry["name"],
        filename=entry["filename"],
        line=entry["line"],
        graph=entry["graph"],
        operations=entry["operations"],
        guards=entry["guards"].rstrip("\n").split("\n") if entry["guards"] else [],
        guard_program=entry["guard_program"],
        bytecode=entry["bytecode"],
        break_reason=BreakReason(**reason) if reason else None,
        recompile_reason=entry["recompile_reason"],
        instructions=entry["instructions"],
        trace_seconds=entry["trace_seconds"],
        backend_seconds=entry["backend_seconds"],
    )
