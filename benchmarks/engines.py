"""The two engines, under one interface, so that a case is written once."""

import inspect
from collections.abc import Callable
from contextlib import nullcontext


class TorchDynamo:
    name = "torchdynamo"

    def __init__(self):
        import torch._dynamo

        self._dynamo = torch._dynamo
        self._torch = torch
        # Of the configurations, guard_eval needs the most entries on one function: ten.
        torch._dynamo.config.recompile_limit = 16
        self.graph_break = torch._dynamo.graph_break

    def compile(self, fn, fullgraph=False, dynamic=None):
        return self._torch.compile(fn, backend="eager", fullgraph=fullgraph, dynamic=dynamic)

    def reset(self):
        self._dynamo.reset()

    def explain(self, fn, run):
        """Graphs, operations and reasons of breaks of `run(compiled)`, and how much its third run
        compiled."""
        graphs = []

        def count(module, _):
            operations = [n for n in module.graph.nodes if n.op not in ("placeholder", "output")]
            graphs.append(len(operations))
            return module.forward

        self.reset()
        self._dynamo.utils.counters.clear()
        compiled = self._torch.compile(fn, backend=count)
        run(compiled)
        breaks = dict(self._dynamo.utils.counters["graph_break"])
        first, operations = len(graphs), sum(graphs)
        run(compiled)
        second = len(graphs)
        run(compiled)
        return {
            "graphs": first,
            "operations": operations,
            "breaks": [reason.splitlines()[0] for reason in breaks],
            "recompiles": len(graphs) - second,
        }

    def guard_check(self, compiled, code_owner, frame_locals) -> Callable[[], bool]:
        """What checks the newest entry's guards, and does nothing else."""
        from torch._dynamo.eval_frame import _debug_get_cache_entry_list

        check = _debug_get_cache_entry_list(code_owner)[0].guard_manager.check
        return lambda: check(frame_locals)

    def nested_graph_breaks(self, enabled: bool):
        return self._dynamo.config.patch(nested_graph_breaks=enabled)


class Armature:
    name = "armature"

    def __init__(self):
        import armature
        import torch

        self._armature = armature
        self.graph_break = getattr(armature, "graph_break", torch._dynamo.graph_break)
        self._accepts = set(inspect.signature(armature.compile).parameters)
        config = getattr(armature, "config", None)
        if hasattr(config, "recompile_limit"):
            config.recompile_limit = 16

    def compile(self, fn, fullgraph=False, dynamic=None):
        options = {"dynamic": dynamic} if "dynamic" in self._accepts else {}
        return self._armature.compile(fn, backend="eager", fullgraph=fullgraph, **options)

    def reset(self):
        self._armature.reset()

    def explain(self, fn, run):
        """As TorchDynamo's; what failed inside of the engine is a reason, too."""
        explained = self._armature.explain(fn)
        found = []

        def call(**inputs):
            found.append(explained(**inputs))
            return found[-1].result

        run(call)
        self.reset()
        compiled = self._armature.compile(fn)
        translations = []
        for _ in range(3):
            run(compiled)
            translations.append(len(self._entries(compiled)))
        reasons = [f"{r.gb_type}: {r.context}" for r in found[0].break_reasons]
        return {
            "graphs": found[0].graph_count,
            "operations": found[0].op_count,
            "breaks": reasons + [f"internal error: {e}" for e in found[0].internal_errors],
            "recompiles": translations[2] - translations[1],
        }

    def _entries(self, compiled):
        function, _, _ = self._armature._compile._functions(compiled)
        return self._armature._C.entries(function)

    def guard_check(self, compiled, code_owner, frame_locals) -> Callable[[], bool] | None:
        """As TorchDynamo's; None while Armature offers no way to check guards alone."""
        check = getattr(self._armature, "guard_check", None)
        if check is None:
            return None
        arguments = [value for name, value in frame_locals.items() if name != "self"]
        return lambda: check(compiled, *arguments)

    def nested_graph_breaks(self, enabled: bool):
        return nullcontext()  # Armature's breaks always nest


ENGINES = {engine.name: engine for engine in (Armature, TorchDynamo)}
