"""DistributedInfer: programs that looked up rows on parameter servers, run where all parameters are."""

from proa import _C

__all__ = ["DistributedInfer"]


class DistributedInfer:
    """What a program is run with for inference when parameter servers held its tables; here the process holds them itself.

    Args:
        main_program (static.Program, optional): what is run; the default program unless given.
        startup_program (static.Program, optional): what made its parameters; the default one unless given.

    Examples:
        >>> main, startup = proa.static.Program(), proa.static.Program()
        >>> infer = proa.distributed.fleet.utils.DistributedInfer(main, startup)
        >>> type(infer.get_dist_infer_program()).__name__
        'Program'
    """

    def __init__(self, main_program=None, startup_program=None):
        from proa import static

        main_program = static.default_main_program() if main_program is None else main_program
        for program in (main_program, startup_program):
            if program is not None and not isinstance(program, static.Program):
                raise _C.located(TypeError(f"DistributedInfer: a Program is needed, not {type(program).__name__}"))
        self.origin_main_program = main_program.clone()
        self.origin_startup_program = static.default_startup_program() if startup_program is None else startup_program

    def init_distributed_infer_env(self, exe, loss, role_maker=None, dirname=None):
        """Makes the parameters: runs the startup program, or reads what `static.save_vars` and its kind wrote.

        Args:
            exe (static.Executor): what runs it.
            loss (Tensor): accepted; no optimizer is needed to find tables.
            role_maker (optional): given to `fleet.init` if fleet is not started.
            dirname (str, optional): a folder of parameters.
        """
        from proa import static
        from proa.distributed.fleet.base.fleet_base import fleet

        if fleet._role_maker is None:
            fleet.init(role_maker)
        if dirname is None:
            exe.run(self.origin_startup_program)
        else:
            static.load_vars(exe, dirname, self.origin_main_program, predicate=lambda value: value.persistable)

    def get_dist_infer_program(self):
        """The program, with all its lookups in this process."""
        return self.origin_main_program
