"""The passes of a BuildStrategy: what runs over the program of a `CompiledProgram` before it is executed."""

from proa import _C

__all__ = ["Pass", "PassBuilder"]

# Draws the program, by the name that programs of 1.x and 2.x give it.
_DRAWS = "graph_viz_pass"


class Pass:
    """One pass of the list, with attributes; `graph_viz_pass` writes the program as a graph (DOT) to its `graph_viz_path`.

    Examples:
        >>> chosen = proa.static.BuildStrategy()._finalize_strategy_and_create_passes().append_pass("dead_code")
        >>> chosen.type()
        'dead_code'
    """

    def __init__(self, kind):
        self._kind, self._attributes = kind, {}

    def type(self):
        """Its name."""
        return self._kind

    def set(self, name, value):
        """Gives an attribute a value."""
        self._attributes[name] = value

    set_not_owned = set

    def has(self, name):
        """Whether the attribute has a value."""
        return name in self._attributes

    def get(self, name):
        """The value of an attribute.

        Raises:
            KeyError: it has none.
        """
        return self._attributes[name]


class PassBuilder:
    """The passes that run over a program before it is executed, in order: at first the executor's own.

    `BuildStrategy._finalize_strategy_and_create_passes()` gives it. Passes are those of Proa, and `graph_viz_pass`.

    Examples:
        >>> passes = proa.static.BuildStrategy()._finalize_strategy_and_create_passes()
        >>> [one.type() for one in passes.all_passes()]
        ['identities', 'constant_folding', 'common_subexpressions', 'fuse_norm', 'pool_before_relu', 'dead_code',
        'early_exchange', 'fuse_pointwise']
        >>> drawn = passes.append_pass("graph_viz_pass")
        >>> folded = passes.insert_pass(0, "fold_parameters")
        >>> passes.delete_pass("fuse_pointwise")
        >>> passes.remove_pass(6)
        >>> [one.type() for one in passes.all_passes()]
        ['fold_parameters', 'identities', 'constant_folding', 'common_subexpressions', 'fuse_norm', 'pool_before_relu',
        'early_exchange', 'graph_viz_pass']
    """

    def __init__(self):
        self._passes = [Pass(name) for name in _C.default_passes()]

    def all_passes(self):
        """The passes, in order."""
        return list(self._passes)

    def append_pass(self, pass_type):
        """Puts a pass at the end, and gives it.

        Raises:
            ValueError: no pass has this name.
        """
        return self.insert_pass(len(self._passes), pass_type)

    def insert_pass(self, idx, pass_type):
        """Puts a pass at a place of the list, and gives it.

        Raises:
            ValueError: no pass has this name.
            IndexError: the place is behind the end.
        """
        known = {*_C.passes(), _DRAWS}
        if pass_type not in known:
            raise _C.located(
                ValueError(f"insert_pass: no pass is named {pass_type!r}; there are {', '.join(sorted(known))}")
            )
        if not 0 <= idx <= len(self._passes):
            raise _C.located(
                IndexError(f"insert_pass: there are {len(self._passes)} passes; a pass cannot stand at {idx}")
            )
        self._passes.insert(idx, Pass(pass_type))
        return self._passes[idx]

    def remove_pass(self, idx):
        """Takes out the pass of this number.

        Raises:
            IndexError: there is none.
        """
        if not 0 <= idx < len(self._passes):
            raise _C.located(
                IndexError(f"remove_pass: there are {len(self._passes)} passes; none has the number {idx}")
            )
        del self._passes[idx]

    def delete_pass(self, pass_type):
        """Takes out the passes of this name. A name that is not in the list is nothing: programs delete passes of the
        reference, which are not here."""
        self._passes = [one for one in self._passes if one.type() != pass_type]

    def draw(self, program):
        """Writes the graph of a program where passes that draw say."""
        for one in self._passes:
            if one.type() == _DRAWS and one.has("graph_viz_path"):
                with open(one.get("graph_viz_path"), "w") as file:
                    file.write(program.graph())

    def _names(self):
        return [one.type() for one in self._passes if one.type() != _DRAWS]

    def choose(self, recorded):
        """Runs the recorded program with these passes from now on."""
        if self._names() != _C.default_passes():
            recorded.choose_passes(self._names())

    def compiled(self, recorded, known):
        """The recorded program for these passes: itself where they are the executor's own, else a copy that is run with them;
        values of the program name those of the copy.

        Args:
            recorded: a _C.Program.
            known (dict): the copy that was made last.
        """
        names = self._names()
        if names == _C.default_passes():
            return recorded
        key = (id(recorded), recorded.num_operations, *names)
        if key not in known:
            copy = recorded.clone()
            copy.choose_passes(names)
            known.clear()  # of the last program alone
            known[key] = recorded, copy
        return known[key][1]
