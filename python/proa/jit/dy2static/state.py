"""What a block may change: names, attributes, contents of lists; read before and after it, and put back.

state = State(functions, site)
state.enter()          # all as it was; tensors that are changed in place are copies
...                    # the block runs
found = state.leave()  # what it made of it, by key; all as it was again
state.put(key, value)
"""

import contextlib
import threading
import types

from proa import _C
from proa.jit import structure
from proa.jit.dy2static import arrays, checks, lifetimes, properties, wishes, writes
from proa.jit.dy2static.item_kinds import COPIES
from proa.jit.dy2static.maybe import Maybe, plain
from proa.jit.dy2static.slots import Attribute, Contents, Global, Rows, Variable
from proa.jit.dy2static.writes import CONTAINERS, UNDEFINED

_DEPTH = 4
_thread = threading.local()


@contextlib.contextmanager
def recording_of(function, arguments):
    """Inside, a call of this function is recorded: variables of functions around it are no part of it, arguments are the caller's."""
    before, given = (getattr(_thread, name, ()) for name in ("outside", "given"))
    found, waiting = {}, [getattr(function, "__func__", function)]
    while waiting:
        inner = waiting.pop()
        for cell in getattr(inner, "__closure__", None) or ():
            if id(cell) not in found:
                found[id(cell)] = cell
                with contextlib.suppress(ValueError):
                    waiting += [cell.cell_contents] if isinstance(cell.cell_contents, types.FunctionType) else []
    _thread.outside, _thread.given = found, []
    structure.flatten(arguments, _thread.given)
    try:
        yield
    finally:
        _thread.outside, _thread.given = before, given


def is_argument(tensor):
    """Whether it is one that the function which is recorded was called with, or stands for one in a block."""
    return any(t is tensor for t in getattr(_thread, "given", ()))


class State:
    """What the functions of a statement's blocks may change.

    Args:
        functions: of the blocks; None among them are passed over.
        site: of the statement (statements.py).
        containers (set): ids of lists and dicts, and keys of names, that are known to be changed by what is called.
        watched (dict): objects and lists that the functions called write to, (object, name of the attribute or None) by
            key; grows by what is found.
        made (dict): by the ids of lists that become TensorArrays, the Kind of what they will hold.
    """

    def __init__(self, functions, site, containers=(), made=None, watched=None):
        self.line, names, attributes, items, chains, self._maybe, _ = site
        functions = [f for f in functions if f is not None]
        self.file = functions[0].__code__.co_filename
        self._cells = {}
        for function in functions:
            self._reach(function, 0)
        self._globals = functions[0].__globals__
        self._slots = {("name", name): self._variable(name) for name in names if not name.startswith("_proa_")}
        for path in (*attributes, *items):
            slot = self._slot(path, names)
            if slot is not None:
                self._slots.setdefault(("name", *path), slot)
        self.in_place = [("name", *path) for path in items if ("name", *path) in self._slots]
        self.before = {key: slot.get() for key, slot in self._slots.items()}
        self._roots = []  # (slot, value) of names and attributes
        self._seen = self._containers(chains)
        self._watched = {} if watched is None else watched
        for key, (thing, name, _) in self._watched.items():
            self._watch(key, thing, name)
        self._originals = []  # (slot, list) of what becomes an array here
        for number, kind in (made or {}).items():
            self._as_array(number, kind)
        for slot, _ in self._roots:
            array = slot.get()
            if isinstance(array, arrays.TensorArray):
                key = "contents", id(array)
                self._slots[key], self.before[key] = Rows(array, slot.name), array.contents
        for number in containers:
            if number in self._seen:
                self._note(self._seen[number][0])
        for slot, value in self._roots:
            if self._key(slot) in containers:
                self._slots[self._key(slot)], self.before[self._key(slot)] = slot, value
        # Names that have no value, as ways gave them values of several kinds; those that a block left so.
        self._open_before = {k for k, slot in self._slots.items() if isinstance(slot, Variable) and slot.is_open()}
        self.open = set()
        self._aliases = {}
        self._numbers = self._handles()

    def _reach(self, function, depth):
        """The variables of a function, and of those that they hold: these may change theirs."""
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            if name.startswith("_proa_") or any(cell is known for known in self._cells.values()):
                continue
            while name in self._cells:
                name += "'"
            self._cells[name] = cell
            value = Variable(name, cell).get()
            if isinstance(value, types.FunctionType) and depth < _DEPTH and value.__closure__:
                self._reach(value, depth + 1)

    # What there is -----------------------------------------------------------------------------------------------------

    def _variable(self, name):
        cell = self._cells.get(name)
        return Variable(name, cell) if cell is not None else Global(name, self._globals)

    def _slot(self, path, names):
        """The slot of a dotted name; None where it begins at what the block makes itself."""
        if len(path) == 1:
            slot = self._variable(path[0])
            return slot if slot.get() is not UNDEFINED else None
        if path[0] in names:
            return None
        owner = self._reached(path[:-1])
        if owner is UNDEFINED or not hasattr(owner, "__dict__") or properties.property_of(owner, path[-1]) is not None:
            return None  # what a property's functions write stands in the log
        return Attribute(owner, path)

    def _reached(self, path):
        value = self._variable(path[0]).get()
        for name in path[1:]:
            if value is UNDEFINED or properties.property_of(value, name) is not None:
                return UNDEFINED
            value = getattr(value, name, UNDEFINED)
        return value

    def _containers(self, chains):
        """{id: (slot, contents)} of lists and dicts that names and attributes lead to."""
        found = {}
        slots = [self._variable(name) for name in self._cells if not name.startswith("_proa_")]
        for path in chains:
            owner = self._reached(path[:-1])
            if path[-1] in getattr(owner, "__dict__", ()):
                slots.append(Attribute(owner, path))
        failure = checks.failure()
        if failure is not None:
            slots.append(failure)
        self._roots = [(slot, slot.get()) for slot in slots]
        waiting = [(slot.name, plain(value), _DEPTH) for slot, value in self._roots]
        while waiting:
            name, value, depth = waiting.pop()
            if not isinstance(value, (*CONTAINERS, tuple)) or id(value) in found or not depth:
                continue
            if not isinstance(value, (tuple, *COPIES)):
                slot = Contents(value, name)
                found[id(value)] = slot, slot.get()
            inner = value.values() if isinstance(value, dict) else value
            waiting += [(name, item, depth - 1) for item in inner if isinstance(item, (*CONTAINERS, tuple))]
        return found

    def _watch(self, key, thing, name):
        if name is not None:
            self._slots[key] = slot = Attribute(thing, (type(thing).__name__, name))
            self.before[key] = slot.get()
        elif id(thing) not in self._seen:
            slot = Contents(thing, f"a {type(thing).__name__}")
            self._seen[id(thing)] = slot, slot.get()

    def _found_by_log(self, log):
        """Keys of what functions that were called wrote to and what was there before the region; all as it was."""
        new = {}
        unknown = [
            (("attribute", *key), owner, name, before)
            for key, (owner, name, before) in log.attributes.items()
            if not any(isinstance(slot, Attribute) and slot.is_of(owner, name) for slot in self._slots.values())
        ]
        unknown += [
            (("contents", number), container, None, before)
            for number, (container, before) in log.containers.items()
            if number not in self._seen
        ]
        while unknown:
            roots = [value for _, value in self._roots] + [owner for owner in log.globals.values()]
            there = writes.reached(roots)
            known = [entry for entry in unknown if id(entry[1]) in there]
            # What an attribute holds now may be of the region: it is put back before lists are looked for.
            known = [entry for entry in known if entry[2] is not None] or known
            if not known:
                break  # what is left was made in the region
            for key, thing, name, before in known:
                slot = Attribute(thing, ("", name)) if name is not None else Contents(thing, "")
                new[key] = thing, name, slot.get()
                slot.put(before)
            unknown = [entry for entry in unknown if entry not in known]
        for key, (thing, name, _) in new.items():
            self._watch(key, thing, name)
            self._watched[key] = thing, name, None
        return {key: value for key, (_, _, value) in new.items()}

    def _as_array(self, number, kind):
        """A list that grows: what the names for it hold is a TensorArray."""
        bound = [slot for slot, value in self._roots if id(value) == number]
        if not bound:
            name = self._seen[number][0].name
            raise _C.located(
                NotImplementedError(
                    f"{self.where()}: {name} has a list that grows by what depends on a tensor; append to it where it has a "
                    "name, or is an attribute of what has one"
                )
            )
        self._refuse_outside(bound)
        wish = self.file, bound[0].name
        axis = wishes.axis_of(*wish)
        array = arrays.of_list(self._seen[number][1], kind if axis is None else kind.along(axis), wish)
        for slot in bound:
            self._originals.append((slot, slot.get()))
            slot.put(array)
            self._roots = [(s, array if s is slot else v) for s, v in self._roots]
            key = self._key(slot)
            if key in self._slots:
                self.before[key] = array

    def _refuse_outside(self, slots):
        """A variable of a function that is not converted would keep the TensorArray when all is recorded."""
        for slot in slots:
            if isinstance(slot, Variable) and slot.is_one_of(getattr(_thread, "outside", ())):
                raise _C.located(
                    NotImplementedError(
                        f"{self.where()}: how many items {slot.name} has depends on a tensor, and it is a list of the function "
                        "around the converted one, which is not converted; make the list in the converted function and return it"
                    )
                )

    def settle_arrays(self):
        """After a statement of which lists became arrays: who holds such a list otherwise cannot take it for what it was."""
        for slot, original in self._originals:
            array = slot.get()
            if isinstance(array, arrays.TensorArray):
                original[:] = [arrays.Moved(array.kind)]

    def reset(self):
        """All as it was before there was this state."""
        self.restore()
        for slot, original in self._originals:
            slot.put(original)

    def _handles(self):
        """The values of the program that the tensors of names, and in lists, are now."""
        found = {}
        for name in self._cells:
            self._note_handles(name, self._variable(name).get(), found)
        for slot, contents in self._seen.values():
            self._note_handles(slot.name, contents, found)
        return found

    def _note_handles(self, name, value, found):
        leaves = []
        if isinstance(value, (_C.Tensor, list, tuple, dict, Maybe)):
            structure.flatten(value, leaves)
        for t in leaves:
            if id(t) not in found and _C.is_symbolic(t):
                found[id(t)] = name, t, _C.program_of(t), _C.program_of(t).value_number(t)

    @staticmethod
    def _key(slot):
        return ("name", *slot.name.split("."))

    def _note(self, slot):
        key = "contents", id(slot.container)
        if key not in self._slots:
            self._slots[key] = slot
            self.before[key] = self._seen[id(slot.container)][1]

    # In and out ---------------------------------------------------------------------------------------------------------

    def name(self, key):
        """How a text calls what is kept by a key."""
        slot = self._slots[key]
        return f"the contents of {slot.name}" if key[0] == "contents" else slot.name

    def keys(self):
        return list(self._slots)

    def put(self, key, value):
        self._slots[key].put(value)

    def leave_open(self, key):
        """A name has no value, as the ways of the statement give it values of several kinds."""
        slot = self._slots[key]
        slot.leave_open() if isinstance(slot, Variable) else slot.put(UNDEFINED)

    def get(self, key):
        return self._slots[key].get()

    def restore(self):
        """All as it was."""
        for key, slot in self._slots.items():
            slot.leave_open() if key in self._open_before else slot.put(self.before[key])
        for slot, value in self._roots:
            if slot.get() is not value and self._key(slot) not in self._slots:
                slot.put(value)
        for slot, contents in self._seen.values():
            if not _same(slot.get(), contents):
                slot.put(contents)

    def enter(self):
        """All as it was, for a block; what it changes in place are copies."""
        self.restore()
        self._aliases = {}
        for key in self.in_place:
            value = self.before[key]
            if isinstance(value, _C.Tensor) and _C.is_symbolic(value):  # constants too: they are changed in each run
                copy = _C.ops.assign(value)
                program = _C.program_of(copy)
                self._aliases[key] = copy, program, program.value_number(copy)
                if is_argument(value):
                    _thread.given.append(copy)
                self.put(key, copy)

    def leave(self, log=None):
        """({key: value} of what is defined after a block, what else it changed: ids of lists, keys of names); all as it was."""
        after = {key: slot.get() for key, slot in self._slots.items()}
        self.open = {key for key, slot in self._slots.items() if isinstance(slot, Variable) and slot.is_open()}
        for key, (copy, program, number) in self._aliases.items():
            if after[key] is copy and program.value_number(copy) == number:
                after[key] = self.before[key]
        changed = [
            number
            for number, (slot, contents) in self._seen.items()
            if ("contents", number) not in self._slots and not _same(slot.get(), contents)
        ]
        for slot, value in self._roots:
            now = slot.get()
            if now is not value and self._key(slot) not in self._slots and not isinstance(now, arrays.TensorArray):
                changed.append(self._key(slot))
                self._slots[self._key(slot)] = slot
                self.before[self._key(slot)] = value
                after[self._key(slot)] = now
        self._refuse_changed_handles()
        for number in changed:
            if number in self._seen:
                after["contents", number] = self._seen[number][0].get()
                self._note(self._seen[number][0])
        self.restore()
        if log is not None:
            found = self._found_by_log(log)
            for key, value in found.items():
                after[key] = value
                changed.append(key[1] if key[0] == "contents" else key)
                if key[0] == "contents":
                    self._note(self._seen[key[1]][0])
        return {key: value for key, value in after.items() if value is not UNDEFINED}, changed

    def is_alias(self, key, value):
        """Whether it is the copy that the block that runs got for a tensor, changed in place."""
        return key in self._aliases and self._aliases[key][0] is value

    def slot(self, key):
        """The place that a key stands for."""
        return self._slots[key]

    def container(self, number):
        """(slot, contents before) of a list or dict."""
        return self._seen[number]

    def is_seen(self, value):
        """Whether it is a list or dict whose contents are watched."""
        return (
            id(value) in self._seen or isinstance(value, arrays.TensorArray) and ("contents", id(value)) in self._slots
        )

    def holds(self, value):
        """Whether it is a list or dict whose contents are a thing of their own that blocks change: who holds it holds it still."""
        return id(value) in self._seen and ("contents", id(value)) in self._slots

    def ends_with_call(self, key, given):
        """Whether nobody has the list, dict or object of a key when the call of the function is over, which gives some objects."""
        slot = self._slots.get(key) or self._seen[key[1]][0]
        thing = getattr(slot, "container", None)
        if isinstance(slot, Attribute):
            thing = slot.owner
        return thing is not None and lifetimes.ends_with_call(slot.name.partition(".")[0], thing, given)

    def may_be_unbound(self, key):
        """Whether reads of the name of a key ask whether it has a value."""
        return key[0] == "name" and len(key) == 2 and key[1] in self._maybe and isinstance(self._slots[key], Variable)

    def asks(self, name):
        """Whether reads of a name ask whether it has a value, in the function of the statement."""
        return name in self._maybe

    def wish(self, key):
        """The wish for the value of a name after the statement; for a name whose reads ask, in all statements of the file."""
        return (self.file, None if self.may_be_unbound(key) else self.line, key[-1])

    def is_list(self, key):
        """Whether the key is that of the contents of a list or dict."""
        return key[0] == "contents" and key[1] in self._seen

    def _refuse_changed_handles(self):
        for name, t, program, number in self._numbers.values():
            # A constant may have left the program meanwhile.
            if _C.is_symbolic(t) and program.value_number(t) != number:
                raise _C.located(
                    NotImplementedError(
                        f"{self.where()}: {name} is changed in place in a block that depends on a tensor, by a call "
                        f"that does not show it; write {name} = ... with the changed tensor"
                    )
                )

    def where(self):
        """`file.py:12`."""
        return f"{self.file.rsplit('/', 1)[-1]}:{self.line}"


def _same(a, b):
    if len(a) != len(b):
        return False
    if isinstance(a, dict):
        return all(k in b and b[k] is v for k, v in a.items()) and list(a) == list(b)
    return all(x is y for x, y in zip(a, b, strict=True))
