"""Statements whose way depends on truth values: their blocks become functions, which the runtime calls or records.

    if c:                      def _proa_then_1():
        y = a        ->            nonlocal y
    else:                          y = a
        y = b                  ...
                               _proa_.if_(c, _proa_then_1, _proa_else_1, site)

A block that leaves says so by what its function gives: BREAK, CONTINUE or a Returned; None at its end. What follows a
statement that may leave becomes a function, too, `rest`, which runs if it did not:

    if c:                      def _proa_then_1():
        return a     ->            return _proa_.Returned(a)
    return b                   def _proa_rest_1():
                                   return _proa_.Returned(b)
                               return _proa_.result(_proa_.if_(c, _proa_then_1, None, site, _proa_rest_1))

What the names of a block were before and after, the runtime finds in the cells of these functions. A site says of a
statement: its line, the names that it binds, attributes that it assigns, what it changes in place, lists that it may
change, names whose reads ask whether they have a value (maybe.py), and how its blocks leave (of an `if`: the first always, the second always, any; of a loop: the kinds).
"""

import ast

from proa.jit.dy2static import rewrites, scopes, source, unbound
from proa.jit.dy2static.expressions import RUNTIME, Expressions, is_of_runtime, later, placed, runtime


class NotConverted(Exception):
    """Why a function stays as it is written."""


class Statements:
    """Rewrites the statements of one function.

    Args:
        node (ast.FunctionDef): it.
        numbers: gives numbers for the names of functions that are made.
        properties (set): names of attributes that may be properties of users' classes.
        around (frozenset): names of the functions around it whose reads ask whether they have a value.
    """

    def __init__(self, node, numbers, properties, around=frozenset()):
        arguments = node.args
        self._numbers = numbers
        first = next((a.arg for a in (*arguments.posonlyargs, *arguments.args)), None)
        self._parameters = {a.arg for a in ast.walk(arguments) if isinstance(a, ast.arg)}
        self._globals = scopes.declared(node.body, ast.Global)
        self._nonlocals = scopes.declared(node.body, ast.Nonlocal)
        nested = lambda inner: converted(inner, numbers, properties, self._expressions.maybe)
        self._expressions = Expressions(first, nested, properties, self._operand)
        self._around = around

    def rewrite(self, node):
        """The function, changed in place."""
        node.body = rewrites.simplified(node.body, self._numbers)
        of_others = self._parameters | self._globals | self._nonlocals
        own = self._parameters | (set(scopes.bound(node.body)) - self._nonlocals)
        local = [name for name in scopes.bound(node.body) if name not in of_others]
        self._expressions.maybe = unbound.names(node.body, local) | (self._around - own)
        node.body = rewrites.asking(node.body, self._expressions.maybe, self._numbers)
        local = [name for name in scopes.bound(node.body) if name not in of_others]
        start = []
        if node.body and isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant):
            start.append(node.body.pop(0))  # the docstring
        # Names without a value make them the function's, wherever they are bound.
        start += [placed(_local(name), node) for name in local]
        node.body = start + self._block(node.body, True) or [placed(ast.Pass(), node)]
        return node

    # Blocks ------------------------------------------------------------------------------------------------------------

    def _block(self, statements, top):
        """Rewritten statements of a block; `top`: of the function itself, where `return` returns."""
        out = []
        for k, statement in enumerate(statements):
            out += self._asked(statement)
            outer, self._expressions.before = self._expressions.before, []
            made, is_last = self._statement(statement, statements[k + 1 :], top)
            out += self._expressions.before + made
            self._expressions.before = outer
            if is_last:
                break
        return out

    def _asked(self, statement):
        """What comes before a statement that changes a name in place which may have no value: it has one from here on."""
        if scopes.blocks(statement):
            return []
        return [
            placed(
                ast.Assign([ast.Name(n, ast.Store())], runtime("own", _name(n), _constant(n), at=statement)), statement
            )
            for n in scopes.asked(statement, self._expressions.maybe)
        ]

    def _statement(self, statement, rest, top):
        """(what a statement becomes, whether `rest`, what follows it in its block, is part of that)."""
        if isinstance(statement, ast.Try) and statement.finalbody:
            last = ast.With([ast.withitem(runtime("finishing", at=statement), None)], statement.finalbody)
            statement.finalbody = [placed(last, statement.finalbody[0])]
        if isinstance(statement, ast.Try) and statement.handlers:
            for handler in statement.handlers:
                kinds = [handler.type] if handler.type is not None else []
                handler.type = runtime("handled", *kinds, at=handler)
            kinds = ast.Tuple([source.copied(handler.type) for handler in statement.handlers], ast.Load())
            guard = ast.withitem(runtime("guarded", later(placed(kinds, statement)), at=statement), None)
            statement.body = [placed(ast.With([guard], statement.body), statement.body[0])]
        leaves = bool(scopes.jumps(statement)) and _leaps(statement)
        if isinstance(statement, ast.If):
            if not leaves and scopes.is_plain(statement.test):
                return [self._kept(statement, top)], False
            made, value = self._if(statement, rest if leaves else None)
        elif isinstance(statement, ast.While):
            made, value = self._while(statement)
        elif isinstance(statement, ast.For):
            made, value = self._for(statement)
        elif leaves:
            made, value = self._framed(statement)
        else:
            return self._simple(statement, top), False
        if not leaves:
            return made if value is None else [*made, placed(ast.Expr(value), statement)], False
        if not isinstance(statement, ast.If) and rest:
            site = self._site(rest)
            after = self._function("rest", rest, statement)
            made.append(after)
            value = runtime("after", value, _name(after.name), _constant(site), at=statement)
        if top:
            value = runtime("result", value, at=statement)
        return [*made, placed(ast.Return(value), statement)], True

    def _simple(self, statement, top):
        """A statement that has no blocks, or whose blocks stay where they are."""
        if isinstance(statement, ast.Return):
            value = statement.value and self._expression(statement.value)
            if not top:
                value = runtime("Returned", value or ast.Constant(None), at=statement)
            elif is_of_runtime(value, "or_none"):  # of several kinds: whoever called may go on with one
                value = runtime("result", runtime("Returned", value, at=statement), at=statement)
            return [placed(ast.Return(value), statement)]
        if isinstance(statement, (ast.Break, ast.Continue)):
            name = "BREAK" if isinstance(statement, ast.Break) else "CONTINUE"
            value = ast.Attribute(ast.Name(RUNTIME, ast.Load()), name, ast.Load())
            return [placed(ast.Return(value), statement)]
        if isinstance(statement, (ast.Global, ast.Nonlocal)):
            return [statement] if top else []
        if isinstance(statement, ast.Raise):
            statement = self._expression(statement)
            if statement.exc is not None:
                statement.exc = runtime("raised", statement.exc, at=statement)
            return [statement]
        if isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete)):
            made = [*_announced(statement), *rewrites.written(statement, self._numbers)]
            return [self._expression(part) for part in made]
        if scopes.blocks(statement) and not isinstance(statement, (*scopes.FUNCTIONS, ast.ClassDef)):
            return [self._kept(statement, top)]
        return [self._expression(statement)]

    def _kept(self, statement, top):
        """A compound statement that stays, with its blocks rewritten."""
        for name, value in ast.iter_fields(statement):
            if name in ("body", "orelse", "finalbody"):
                setattr(statement, name, self._block(value, top))
            elif name in ("handlers", "cases"):
                for part in value:
                    part.body = self._block(part.body, top) or [placed(ast.Pass(), statement)]
                    if isinstance(part, ast.ExceptHandler) and part.type is not None:
                        part.type = self._expression(part.type)
                    elif isinstance(part, ast.match_case) and part.guard is not None:
                        part.guard = self._expression(part.guard)
            elif name == "items":
                for item in value:
                    item.context_expr = self._expression(item.context_expr)
            elif isinstance(value, ast.expr):
                setattr(statement, name, self._expression(value))
        if getattr(statement, "body", None) == []:
            statement.body = [placed(ast.Pass(), statement)]
        return statement

    def _expression(self, node):
        return self._expressions.visit(node)

    # Compound statements ------------------------------------------------------------------------------------------------

    def _if(self, statement, rest):
        site = self._site(statement.body + statement.orelse + (rest or []), statement)
        then = self._function("then", statement.body, statement)
        made, otherwise = [then], _constant(None)
        if statement.orelse:
            made.append(self._function("else", statement.orelse, statement))
            otherwise = _name(made[-1].name)
        args = [self._expression(statement.test), _name(then.name), otherwise, _constant(site)]
        if rest:
            made.append(self._function("rest", rest, statement))
            args.append(_name(made[-1].name))
        return made, runtime("if_", *args, at=statement)

    def _while(self, statement):
        if any(isinstance(n, ast.NamedExpr) for n in scopes.own(statement.test)):
            # What the condition binds belongs to the body.
            leave = placed(ast.Break(), statement)
            choice = placed(ast.If(statement.test, statement.body, [*statement.orelse, leave]), statement)
            always = ast.copy_location(ast.Constant(True), statement.test)
            statement = placed(ast.While(always, [choice], []), statement)
        site = self._site(statement.body, statement)
        made = [
            self._made("test", [placed(ast.Return(self._expression(statement.test)), statement.test)], [], statement),
            self._function("turn", statement.body, statement),
        ]
        args = [_name(f.name) for f in made]
        return self._loop("while_", statement, made, args, site)

    def _for(self, statement):
        site = self._site([*statement.body, _Bound(statement.target)], statement)
        item = f"_proa_item_{next(self._numbers)}"
        take = placed(ast.Assign([statement.target], ast.Name(item, ast.Load())), statement.target)
        turn = self._function("turn", statement.body, statement, [take], item)
        args = [self._expression(statement.iter), _name(turn.name)]
        return self._loop("for_", statement, [turn], args, site)

    def _loop(self, name, statement, made, args, site):
        args.append(_constant(site))
        if statement.orelse:
            made.append(self._function("else", statement.orelse, statement))
            args.append(_name(made[-1].name))
        return made, runtime(name, *args, at=statement)

    def _framed(self, statement):
        """`with`, `try`, `match` with a block that leaves: its signal is kept in a name until the statement is over."""
        if jumps_of_finally := scopes.jumps(getattr(statement, "finalbody", [])):
            raise NotConverted(f"{min(jumps_of_finally)} in finally")
        signal = f"_proa_signal_{next(self._numbers)}"
        made = [placed(ast.Assign([ast.Name(signal, ast.Store())], ast.Constant(None)), statement)]

        def framed(block):
            function = self._function("block", block, statement)
            made.insert(0, function)
            call = placed(ast.Call(_name(function.name), [], []), statement)
            return [placed(ast.Assign([ast.Name(signal, ast.Store())], call), statement)]

        parts = [*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())]
        for part in parts:
            block, part.body = part.body, []
            part.body = framed(block)
        final = getattr(statement, "finalbody", [])
        body, orelse = getattr(statement, "body", []), getattr(statement, "orelse", [])
        if body:
            statement.body = []
        if orelse:
            statement.orelse = []
        if final:
            statement.finalbody = []
        guards = [(part, name) for part in parts for name in ("type", "guard") if getattr(part, name, None) is not None]
        for part, name in guards:
            setattr(part, name, self._expression(getattr(part, name)))
        for item in getattr(statement, "items", ()):
            item.context_expr = self._expression(item.context_expr)
        if isinstance(statement, ast.Match):
            statement.subject = self._expression(statement.subject)
        if body:
            statement.body = framed(body)
        if orelse:
            site = self._site(orelse)
            function = self._function("block", orelse, statement)
            made.insert(0, function)
            value = runtime("after", _name(signal), _name(function.name), _constant(site), at=statement)
            statement.orelse = [placed(ast.Assign([ast.Name(signal, ast.Store())], value), statement)]
        if final:
            statement.finalbody = self._block(final, False)
        return [*made, statement], _name(signal)

    # Functions of blocks ------------------------------------------------------------------------------------------------

    def _function(self, what, block, at, before=(), parameter=None):
        names = self._bound([*block, *(node for node in before)])
        begin = [made for statement in before for made in self._simple(statement, False)]
        return self._made(what, [*begin, *self._block(block, False)], names, at, parameter)

    def _bound(self, block):
        """The names that the statements of a block bind, with those that `_asked` does."""
        changed = [name for name in scopes.changed_names(block) if name in self._expressions.maybe]
        return list(dict.fromkeys([*scopes.bound(block), *changed]))

    def _operand(self, expression, names):
        """A function that gives the value of an expression which binds these names."""
        return self._made("operand", [placed(ast.Return(expression), expression)], names, expression)

    def _made(self, what, body, names, at, parameter=None):
        outer = [name for name in names if name in self._globals]
        inner = [name for name in names if name not in self._globals]
        head = ([ast.Global(outer)] if outer else []) + ([ast.Nonlocal(inner)] if inner else [])
        arguments = ast.arguments([], [ast.arg(parameter)] if parameter else [], None, [], [], None, [])
        name = f"_proa_{what}_{next(self._numbers)}"
        function = ast.FunctionDef(name, arguments, [*head, *body] or [ast.Pass()], [], None)
        for statement in head:
            placed(statement, at)
        return placed(function, at)

    def _site(self, statements, whole=None):
        block = list(statements)
        attributes, items = scopes.changed(block)
        parts = [block] if whole is None else [block, *scopes.blocks(whole), _conditions(whole)]
        chains = list(dict.fromkeys(chain for part in parts for chain in scopes.chains(part)))
        names = self._bound(block)
        leaves = tuple(sorted(scopes.jumps(whole.body))) if isinstance(whole, (ast.For, ast.While)) else ()
        if isinstance(whole, ast.If):
            leaves = scopes.always_leaves(whole.body), scopes.always_leaves(whole.orelse), bool(scopes.jumps(whole))
        line = whole.lineno if whole is not None else block[0].lineno
        maybe = tuple(sorted(self._expressions.maybe))
        return (line, tuple(names), tuple(attributes), tuple(items), tuple(chains), maybe, leaves)


def converted(node, numbers, properties, maybe=frozenset()):
    """A function that stands in one that is converted."""
    kinds = (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith)
    if any(isinstance(n, kinds) for n in scopes.own(node.body)):
        return node
    return Statements(node, numbers, properties, maybe).rewrite(node)


def _announced(statement):
    """Calls that say which items a statement is about to write; attributes are written by calls (rewrites.py)."""
    made = []
    targets = getattr(statement, "targets", None) or [statement.target]
    for target in targets:
        for part in ast.walk(target):
            if isinstance(part, ast.Subscript) and not isinstance(part.ctx, ast.Load):
                owner = part.value
            elif isinstance(part, ast.Name) and isinstance(statement, ast.AugAssign) and part is target:
                owner = part
            else:
                continue
            if scopes.dotted(owner) is not None:
                owner = source.copied(owner)
                for name in ast.walk(owner):
                    if hasattr(name, "ctx"):
                        name.ctx = ast.Load()
                made.append(placed(ast.Expr(runtime("writing", owner, at=statement)), statement))
    return made


def _leaps(statement):
    """Whether it leaves from inside of a statement whose blocks become functions."""
    if not scopes.jumps(statement):
        return False
    if isinstance(statement, (ast.For, ast.While)):
        return True
    if isinstance(statement, ast.If) and not scopes.is_plain(statement.test):
        return True
    return any(_leaps(inner) for block in scopes.blocks(statement) for inner in block)


def _conditions(statement):
    return [node for node in (getattr(statement, "test", None), getattr(statement, "iter", None)) if node is not None]


def _Bound(target):
    return placed(ast.Expr(target), target)


def _local(name):
    return ast.AnnAssign(ast.Name(name, ast.Store()), ast.Constant(None), None, 1)


def _name(name):
    return ast.Name(name, ast.Load())


def _constant(value):
    return ast.Constant(value)
