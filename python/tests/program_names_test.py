"""Names of static programs and of recorded functions that programs of 2.x use: settings, members of variables, the translator."""

import numpy as np
import pytest

import proa
from proa import _C, jit, static


def _settings(kind):
    from proa.static.strategies import Setting

    return [(name, setting) for name, setting in vars(kind).items() if isinstance(setting, Setting)]


@pytest.mark.parametrize("kind", [static.BuildStrategy, static.ExecutionStrategy])
def test_every_setting_has_a_kind_a_meaning_and_a_check(kind):
    assert len(_settings(kind)) >= 9
    for name, setting in _settings(kind):
        strategy = kind()
        assert setting.__doc__ and getattr(strategy, name) == setting.default
        setattr(strategy, name, setting.default)
        assert f"{name}={setting.default!r}" in repr(strategy)
        with pytest.raises(TypeError, match=f"{kind.__name__}.{name}: must be"):
            setattr(strategy, name, 1.5)
        assert getattr(kind(), name) == setting.default  # of another strategy


def test_choices_of_settings():
    build = static.BuildStrategy()
    build.reduce_strategy = static.BuildStrategy.ReduceStrategy.Reduce
    build.gradient_scale_strategy = static.BuildStrategy.GradientScaleStrategy.One
    assert (build.reduce_strategy, build.gradient_scale_strategy) == (1, 1)
    with pytest.raises(ValueError, match="reduce_strategy: must be one of 0, 1, 2, not 7"):
        build.reduce_strategy = 7
    with pytest.raises(AttributeError, match="BuildStrategy has no setting 'fuse_everything'"):
        build.fuse_everything = True


def _counting():
    """A program that adds x to a sum in each run: (program, sum)."""
    main = static.Program()
    with static.program_guard(main):
        total = static.create_global_var([1], 0.0, "float32", persistable=True)
        proa.assign(total + static.data("x", [1]), total)
    return main, total


def test_iterations_of_a_run_and_the_graph(tmp_path):
    main, total = _counting()
    build, execution = static.BuildStrategy(), static.ExecutionStrategy()
    build.debug_graphviz_path, execution.num_iteration_per_run = str(tmp_path / "graph.dot"), 3
    compiled = static.CompiledProgram(main, build).with_data_parallel(exec_strategy=execution)
    feed = {"x": np.ones([1], "float32")}
    assert static.Executor().run(compiled, feed=feed, fetch_list=[total])[0].tolist() == [3.0]
    text = (tmp_path / "graph.dot").read_text()
    assert text.startswith("digraph program {") and 'label="add"' in text and "-> op0;" in text
    with pytest.raises(TypeError, match="CompiledProgram: takes a Program, not int"):
        static.CompiledProgram(3)


def test_parallel_executor_of_one_device():
    main, total = _counting()
    first = static.ParallelExecutor(False, main_program=main)
    second = static.ParallelExecutor(False, main_program=main, share_vars_from=first)
    feed = {"x": np.ones([1], "float32")}
    assert first.run([total], [feed])[0].tolist() == [1.0] and second.run([total], feed_dict=feed)[0].tolist() == [2.0]
    with pytest.raises(ValueError, match="feed holds 2 dicts"):
        first.run([total], [feed, feed])
    with pytest.raises(TypeError, match="share_vars_from must be a ParallelExecutor, not int"):
        static.ParallelExecutor(False, main_program=main, share_vars_from=3)


@pytest.mark.parametrize(
    "call",
    [
        static.IpuStrategy,
        static.IpuCompiledProgram,
        static.ipu_shard_guard,
        lambda: static.set_ipu_shard(lambda: 0),
        lambda: static.IpuStrategy.set_options(None, {}),
        lambda: static.IpuStrategy.num_ipus.__get__(object()),
    ],
)
def test_what_needs_an_ipu_says_so(call):
    with pytest.raises(NotImplementedError, match="has no IPU backend"):
        call()


def test_members_of_variables():
    with static.program_guard(static.Program()):
        x = static.data("x", [None, 3], lod_level=1)
        y = static.nn.fc(x, 2, weight_attr="weight_of_members")
        assert x.to_string(True) == "var x : LOD_TENSOR.shape(-1, 3).dtype(float32).stop_gradient(True)"
        assert (x.lod_level, y.lod_level, static.data("z", [2]).lod_level) == (1, 1, 0)
        with pytest.raises(RuntimeError, match="no number until it runs; fetch it"):
            y.get_value()
        scope = static.global_scope()
        weight = static.default_main_program().var("weight_of_members")
        weight.set_value(np.ones([3, 2], "float32"), scope)
        assert np.array(weight.get_value(scope)).tolist() == [[1.0, 1.0]] * 3
        weight.set_value(np.zeros([3, 2], "float32"))
        assert weight.get_value().numpy().sum() == 0
        with pytest.raises(ValueError, match="the scope has no variable "):
            proa.ones([2]).get_value(static.Scope())
    assert proa.ones([2]).lod_level == 0 and "shape=[2]" in proa.ones([2]).to_string()


def test_a_program_of_bytes():
    main = static.Program()
    with static.program_guard(main):
        y = static.nn.fc(static.data("x", [None, 2]), 3)
        data, parameters = (
            static.serialize_program([main.var("x")], [y]),
            static.serialize_persistables([main.var("x")], [y]),
        )
    loaded = static.deserialize_persistables(static.Program.parse_from_string(data), parameters)
    x = np.ones([1, 2], "float32")
    executor = static.Executor()
    want = executor.run(main, feed={"x": x}, fetch_list=[y])[0]
    np.testing.assert_array_equal(executor.run(loaded, feed={"x": x}, fetch_list=loaded.fetch_targets())[0], want)
    with pytest.raises(TypeError, match="must be bytes, not str"):
        static.Program.parse_from_string("text")


class _Net(proa.nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = proa.nn.Linear(3, 2)

    def forward(self, x):
        return self.linear(x)


def test_the_translator():
    translator, net, x = jit.ProgramTranslator.get_instance(), _Net(), proa.ones([4, 3])
    assert translator is jit.ProgramTranslator()
    np.testing.assert_array_equal(translator.get_output(net, x).numpy(), net(x).numpy())
    converted = translator.get_func(lambda v: v * 2)
    assert (
        isinstance(converted, proa.jit.static_function.StaticFunction) and translator.get_func(converted) is converted
    )
    assert converted(x).tolist() == (x * 2).tolist()
    main, startup, inputs, outputs = translator.get_program(net, x)
    assert [t.name for t in main.all_parameters()] == [p.name for p in net.parameters()]
    assert startup.num_operations == 0 and inputs[0].shape == [4, 3] and outputs[0].shape == [4, 2]
    (got,) = static.Executor().run(main, feed={inputs[0].name: np.ones([4, 3], "float32")}, fetch_list=outputs)
    np.testing.assert_allclose(got, net(x).numpy(), rtol=1e-6)
    main, _, inputs, _ = translator.get_program(lambda a, b: a + b, static.InputSpec([None, 3]), b=x)
    assert [list(t.shape) for t in inputs] == [[-1, 3], [4, 3]]
    assert "return _proa_.call(self.linear)(x)" in translator.get_code(net)
    with pytest.raises(TypeError, match="get_func: takes a function or layer, not int"):
        translator.get_func(3)
    before = len(translator.get_program_cache())
    converted(proa.ones([2, 2, 2]))
    assert len(translator.get_program_cache().concrete_programs()) == before + 1
    translator.enable(False)
    try:
        assert translator.get_func(len) is len and translator.get_output(lambda v: v + 1, 1) == 2
    finally:
        translator.enable(True)


def test_names_of_recorded_functions(tmp_path):
    @jit.not_to_static
    def one(x):
        return x + 1

    assert jit.not_to_static(function=one) is one and jit.not_to_static()(one) is one
    prefix = str(tmp_path / "net")
    jit.save(_Net(), prefix, [static.InputSpec([None, 3])])
    loaded = jit.load(prefix)
    again = jit.TranslatedLayer({"forward": loaded._module}, dict(loaded.named_parameters()))
    x = proa.ones([2, 3])
    np.testing.assert_array_equal(again(x).numpy(), loaded(x).numpy())
    with pytest.raises(ValueError, match="there is 'forward', but no 'backward'"):
        loaded.program("backward")


def test_print_shows_values_of_each_run(capsys):
    main, startup = static.Program(), static.Program()
    with static.scope_guard(static.Scope()), static.program_guard(main, startup):
        x = static.data("x", [None, 2])
        y = static.Print(static.nn.fc(x, 2, weight_attr=proa.nn.initializer.Constant(1.0), bias_attr=False) * 1.5,
                         message="y of", summarize=3)  # fmt: skip
        once = static.Print(
            y * 2.0, first_n=1, print_phase="forward", print_tensor_name=False, print_tensor_shape=False
        )
        loss = (once * static.data("w", [None, 2])).sum()
        proa.optimizer.SGD(0.0).minimize(loss)
        test = main.clone(for_test=True)
        executor = static.Executor()
        executor.run(startup)
        feed = {"x": np.float32([[1, 2], [3, 4]]), "w": np.full([2, 2], 0.5, "float32")}
        (got,) = executor.run(main, feed=feed, fetch_list=[loss])
        assert got.item() == 30.0
        text = capsys.readouterr().out
        assert "Variable: " in text and "  - message: y of\n" in text and "  - data: [4.5 4.5 10.5 ...]" in text
        assert "  - dtype: float32\n  - data: [9 9 21 21]" in text
        executor.run(main, feed=feed, fetch_list=[loss])
        assert "[9 9 21 21]" not in capsys.readouterr().out  # first_n
        # A test is fed less: what it does not compute is not shown.
        assert executor.run(test, feed={"x": feed["x"]}, fetch_list=[y])[0].shape == (2, 2)
        assert "[4.5 4.5 10.5 ...]" in capsys.readouterr().out
        with pytest.raises(ValueError, match="print_phase must be 'forward', 'backward' or 'both', not 'never'"):
            static.Print(x, print_phase="never")
        with pytest.raises(NotImplementedError, match="fetch what static.gradients or append_backward gives"):
            static.Print(x, print_phase="backward")


def _trained(build=None):
    """(program, its loss, as it is run) of a program in which one call is made twice."""
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", [None, 2])
        attr = proa.ParamAttr(initializer=proa.nn.initializer.Constant(0.5))
        y = static.nn.fc(x, 3, weight_attr=attr)
        loss = proa.mean(proa.exp(y) + proa.exp(y))
        proa.optimizer.SGD(0.1).minimize(loss)
    static.Executor().run(startup)
    return main, loss, main if build is None else static.CompiledProgram(main, build_strategy=build)


def types_of(builder):
    return [one.type() for one in builder.all_passes()]


def test_the_passes_of_a_build_strategy(tmp_path):
    build, feed = static.BuildStrategy(), {"x": np.ones([2, 2], "float32")}
    builder = build._finalize_strategy_and_create_passes()
    assert builder is build._finalize_strategy_and_create_passes() and types_of(builder) == _C.default_passes()
    drawn = builder.append_pass("graph_viz_pass")
    drawn.set("graph_viz_path", str(tmp_path / "graph.dot"))
    assert builder.insert_pass(0, "common_subexpressions").type() == "common_subexpressions"
    builder.append_pass("dead_code")
    own = _C.default_passes()
    assert types_of(builder) == ["common_subexpressions", *own, "graph_viz_pass", "dead_code"]
    builder.remove_pass(len(own) + 2)
    for name in own[1:]:
        builder.delete_pass(name)
    builder.delete_pass("a pass of the reference")
    assert types_of(builder) == ["identities", "graph_viz_pass"]
    builder.insert_pass(1, "common_subexpressions")
    with static.scope_guard(static.Scope()):
        main, loss, compiled = _trained(build)
        losses = [static.Executor().run(compiled, feed=feed, fetch_list=[loss])[0].item() for _ in range(3)]
    ((_, changed),) = compiled._changed.values()  # made once
    plan = changed.plan([changed.value(main._program.value_number(loss))])
    assert plan.count("exp(") == 1 and str(main).count("exp(") == 2
    assert (tmp_path / "graph.dot").read_text().startswith("digraph")
    with static.scope_guard(static.Scope()):
        main, loss, program = _trained()
        plain = [static.Executor().run(program, feed=feed, fetch_list=[loss])[0].item() for _ in range(3)]
    assert losses == plain and losses[2] < losses[0]
    with pytest.raises(ValueError, match="no pass is named 'fuse_all'"):
        builder.append_pass("fuse_all")
    for call in (lambda: builder.insert_pass(9, "dead_code"), lambda: builder.remove_pass(9)):
        with pytest.raises(IndexError, match="there are 3 passes"):
            call()


def test_passes_of_a_converted_function():
    build = static.BuildStrategy()
    plain = jit.to_static(lambda x: proa.exp(x) + proa.exp(x))
    chosen = jit.to_static(lambda x: proa.exp(x) + proa.exp(x), build_strategy=build)
    builder = build._finalize_strategy_and_create_passes()
    builder.delete_pass("common_subexpressions")
    builder.delete_pass("fuse_pointwise")
    x, plans = proa.ones([2]), []
    for function in (plain, chosen):
        np.testing.assert_allclose(function(x).numpy(), 2 * np.e * np.ones(2), rtol=1e-6)
        plans.append(function._recordings[0].module.plan)
    assert [plan.count("exp(") for plan in plans] == [1, 2]


def test_passes_that_are_taken_out_do_not_run():
    build, feed = static.BuildStrategy(), {"x": np.ones([2, 2], "float32")}
    builder = build._finalize_strategy_and_create_passes()
    with static.scope_guard(static.Scope()):
        main, loss, compiled = _trained(build)
        executor, plans = static.Executor(), []
        for name in (None, "common_subexpressions", *_C.default_passes()):
            if name is not None:
                builder.delete_pass(name)
            executor.run(compiled, feed=feed, fetch_list=[loss])
            copies = [copy for _, copy in compiled._changed.values()] or [main._program]
            assert len(copies) == 1
            plans.append(copies[0].plan([copies[0].value(main._program.value_number(loss))]))
    assert plans[0].count("exp(") == 1 and plans[1].count("exp(") == 2
    assert "pointwise(" in plans[0] and "pointwise(" not in plans[-1]
    assert builder.all_passes() == []


def test_parameters_are_in_the_order_in_which_they_were_made():
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", [None, 2])
        made = [static.create_parameter([2], "float32", name=f"of_order_{n}") for n in "cab"]
        loss = proa.mean(made[2] * x + made[0] * made[1])  # captured in another order
        proa.optimizer.Momentum(0.1).minimize(loss)
    names = [p.name for p in made]
    assert [p.name for p in main.all_parameters()] == names
    for program in (main.clone(), main.clone(for_test=True), static.normalize_program(main, [x], [loss])):
        assert [p.name for p in program.all_parameters()] == names
