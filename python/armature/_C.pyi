"""The engine. What users call is in the package; the rest of this serves it and the tests."""

from collections.abc import Callable, Iterable, Sequence
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypedDict, TypeVar, overload

F = TypeVar("F", bound=Callable[..., Any])

# --- cpython/

def assumptions() -> list[str]:
    """The names of what an import tests of the interpreter.

    With one of them in the environment as ARMATURE_FAIL_ASSUMPTION, that test fails.
    """

# --- runtime/

class BreakReasonFields(TypedDict):
    gb_type: str
    context: str
    explanation: str
    hints: list[str]
    filename: str
    function: str
    line: int
    stack: list[tuple[str, int, str]]  # the file, line and function of each frame, that one last

class BreakStatistics:
    """How often a graph break was hit, and how long Python took because of it."""

    @property
    def hits(self) -> int: ...
    @property
    def seconds(self) -> float: ...

class Entry(TypedDict):
    """One translation."""

    name: str
    filename: str
    line: int
    resumes_at: int  # the number of the canonical instruction at which it starts
    graph: str
    operations: int
    guards: str  # one a line
    guard_count: int
    guard_program: str
    bytecode: str
    break_reason: BreakReasonFields | None
    break_statistics: BreakStatistics | None  # None: the break is not measured
    recompile_reason: str
    trace_seconds: float
    backend_seconds: float
    instructions: int
    valid: bool  # False once an object that it knows by identity has died

class CompiledFunction:
    """A function that is captured when it is called."""

    def __init__(
        self,
        function: FunctionType,
        backend: Callable[[Any, list[Any]], Callable[..., Any]] | None = ...,
        fullgraph: bool = ...,
        recompile_limit: int = ...,
        settings: Any = ...,
        measures_breaks: bool = ...,
        sharing_key: object = ...,
        mixed_backend: Callable[[Any, list[Any], Any], Callable[..., Any] | None] | None = ...,
    ) -> None: ...
    @property
    def function(self) -> FunctionType:
        """The function that this one stands for; all other attributes are its own."""
    @property
    def _armature_settings(self) -> Any:
        """What was given as `settings`."""
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __get__(self, instance: object, owner: type | None = ..., /) -> Any: ...

class CompiledCallable:
    """Stands for an object; ``transform(function)`` runs when it is called, where ``function`` is
    what a call of the object comes to, or None where that is no Python function.

    ``rebuild(copy_of_original)`` makes another one like it. Where ``captured`` names a method that
    is a Python function, ``transform`` of that runs when the method is called.
    """

    def __init__(
        self,
        original: Any,
        transform: Callable[[Any], Callable[..., Any]],
        rebuild: Callable[[Any], Any],
        captured: Iterable[str] = ...,
    ) -> None: ...
    @property
    def _orig_mod(self) -> Any:
        """The object that this one stands for."""
    @property
    def _armature_call(self) -> Callable[..., Any]:
        """What a call runs, with the original first."""
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

class DisabledFunction:
    """A function that is never captured, nor, if that is recursive, any compiled function that it
    calls."""

    def __init__(
        self, function: Callable[..., Any], recursive: bool = ..., reason: str | None = ...
    ) -> None: ...
    @property
    def recursive(self) -> bool:
        """Whether compiled functions that it calls run plainly, too."""
    @property
    def reason(self) -> str | None:
        """Why it is disabled, for explain() and the logs."""
    @property
    def function(self) -> Callable[..., Any]:
        """The function that this one stands for."""
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __get__(self, instance: object, owner: type | None = ..., /) -> Any: ...

class FrameHook:
    """Captures the Python frames of a thread."""

    def __init__(
        self,
        backend: Callable[[Any, list[Any]], Callable[..., Any]] | None = ...,
        recompile_limit: int = ...,
        sharing_key: object = ...,
        standard_library: bool = ...,
        mixed_backend: Callable[[Any, list[Any], Any], Callable[..., Any] | None] | None = ...,
    ) -> None: ...
    def start(self) -> None:
        """Captures the frames that begin in this thread, from here on."""
    def stop(self) -> None:
        """Ends it."""
    def counts(self) -> dict[str, Any]:
        """What became of the frames: whole, broken, excluded (by reason), break_reasons."""
    def reset(self) -> None:
        """Drops its translations."""

def graph_break_kinds() -> list[tuple[str, str, str, list[str]]]:
    """The identifier, gb_type, explanation and hints of each kind of graph break."""

def entries(compiled: CompiledFunction | CompiledCallable, /) -> list[Entry]:
    """A dict for each translation of a compiled function."""

def internal_errors(compiled: CompiledFunction | CompiledCallable, /) -> list[str]:
    """What went wrong in compilations of a function that failed by an error of the engine."""

def graph_modules(compiled: CompiledFunction | CompiledCallable, /) -> list[Any]:
    """The graphs of all translations, each as a torch.fx.GraphModule."""

def reset(compiled: CompiledFunction | CompiledCallable, /) -> None:
    """Drops all translations of a function."""

def skip_always(modules: Iterable[ModuleType], /) -> None:
    """Modules of which no function is captured, whatever set_skip_modules() is told."""

def capture_whole(modules: Iterable[ModuleType], /) -> None:
    """Modules of which each function is captured whole or not at all."""

def forget_unused(keep_more: bool, /) -> None:
    """Drops the translations of functions that are no more, which are kept for the next time that
    their code is compiled; and whether to keep any from here on."""

def on_collection(phase: str, info: dict[str, int], /) -> None:
    """For gc.callbacks: what nobody uses any more dies with a full collection."""

def accepts(compiled: CompiledFunction, /, *args: Any, **kwargs: Any) -> bool:
    """Whether a call with these arguments would run a translation that exists."""

def is_compiling() -> bool:
    """True in code that is being captured, and False in code that Python runs as it is."""

def graph_break(msg: str = ...) -> None:
    """Ends the graph in code that is being captured; elsewhere does nothing. explain() and the logs
    tell the message."""

@overload
def skip_frame(msg: str = ...) -> None:
    """Leaves the function that calls it to Python, from its beginning or from its last graph break
    on; what it calls is captured. In code that is not being captured, does nothing.

    @skip_frame is disable(recursive=False).
    """

@overload
def skip_frame(msg: F) -> F: ...
def is_error_on_graph_break() -> bool:
    """Whether a graph break is an error in this thread."""

def set_error_on_graph_break(value: bool, /) -> None:
    """Makes a graph break an error in this thread, or not."""

def model_error_on_graph_break(type: type, /) -> None:
    """Names the class whose with statements set it, so that traces need not go into its methods."""

def set_verifies_translations(value: bool, /) -> None:
    """Whether each call that a translation is found for is traced once more from now on; where
    something else comes of it, a guard is missing, which is reported as an internal error."""

def set_measures_breaks(value: bool, /) -> None:
    """Whether all that is compiled from now on counts its graph breaks."""

def set_logging_functions(
    ignored: Sequence[Callable[..., object]], kept: Sequence[Callable[..., object]], /
) -> None:
    """The functions of which calls are left out, and of which they are made when the graph has run;
    drops no translation."""

def add_stand_ins(functions: dict[Callable[..., Any], FunctionType], /) -> None:
    """Python functions of one module that traces call in the place of others, by those."""

def set_skip_modules(names: Sequence[str], /) -> None:
    """The modules of which no function is captured; drops no translation."""

def set_hooks(
    compiled: Callable[[Entry], object] | None = ...,
    recompile_limit: Callable[[str, str, str, int, int], object] | None = ...,
    unsupported: Callable[[BreakReasonFields], BaseException] | None = ...,
    internal_error: Callable[[CodeType, str, str, bool], object] | None = ...,
) -> None:
    """Sets what is called when a translation is finished, when a function reaches its recompile
    limit (name, reason, filename, line, limit), to make the exception of fullgraph=True, and when
    a compilation fails (code, name, message, whether it is an error and no known limit)."""

def set_compile_while_tracing(value: bool, /) -> None:
    """Whether compiled functions are captured although a trace or profile function is set."""

def inject_fault(kind: str, number: int, /) -> None:
    """Makes the number-th site from here fail, once.

    By 'error', 'break', 'MemoryError' or 'out of memory' (core/fault_injection.h).
    """

def clear_fault() -> tuple[bool, int]:
    """Takes inject_fault() back. Whether the site was reached, and how many were passed."""

# --- bytecode/

def round_trip(code: CodeType, stretch: bool = ...) -> CodeType:
    """The code object, and those among its constants, lifted and lowered again; with `stretch`, at
    greater length, but to the same effect."""

def disassemble(code: CodeType, /) -> str:
    """The canonical form of the code object."""

# --- guards/

class GuardManager:
    """Compiled guards over described sources; for tests."""

    def __init__(
        self,
        guards: Sequence[Any],
        captures: Sequence[Any],
        example: Sequence[Any],
        cells: Sequence[int] = ...,
    ) -> None: ...
    def check(self, *locals: Any) -> tuple[Any, ...] | None:
        """The captures, or None if a guard does not hold."""
    def check_verbose(self, *locals: Any) -> tuple[bool, str, str]:
        """Whether the guards hold, the first that does not, and what was found instead."""
    def measure(self, repetitions: int, *locals: Any) -> float:
        """Nanoseconds of one check."""
    @property
    def program(self) -> str:
        """The instructions, one a line."""
    @property
    def valid(self) -> bool:
        """False once an object known by identity has died."""

def tensor_metadata(array: Any, /) -> dict[str, Any]:
    """What is known of an array."""

def tensor_matches(array: Any, example: Any, observed: int, /) -> bool:
    """Whether an array has the example's metadata, as far as `observed` (bits) goes."""

def set_tensor_access(name: str, /) -> str:
    """Chooses how tensors are read: "layout", "functions" or "attributes". Returns the fastest
    way that was verified."""

def distrust(way: str) -> None: ...
def torch_queries() -> list[tuple[str, list[str]]]: ...
def global_state() -> bytes:
    """Torch's global state."""

def global_state_difference(state: bytes, /) -> tuple[bool, str]:
    """Whether the state is still this, and how it differs."""

# --- graph/ and libraries/torch/: a graph is described by a dict, see graph_binding.cc.

def graph_text(description: dict[str, Any], /) -> str: ...
def graph_json(description: dict[str, Any], /) -> str: ...
def graph_to_torch(description: dict[str, Any], /) -> Any: ...
def graph_to_function(description: dict[str, Any], /) -> Callable[..., Any]: ...
def torch_rule(description: dict[str, Any], use_torch: bool, /) -> Any:
    """What the last node returns by our rule (None: there is none), or as torch says."""

def torch_classify(callable: Any, /) -> dict[str, Any]:
    """What a callable of torch is to a trace."""

def torch_classify_method(name: str, /) -> dict[str, Any]:
    """The same for the name of a tensor's method."""
