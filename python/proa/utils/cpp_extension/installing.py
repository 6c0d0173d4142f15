"""Extensions that are built ahead and installed: `setup`, on setuptools."""

import os

from proa import _C
from proa.utils.cpp_extension import compiling

__all__ = ["CUDAExtension", "CppExtension", "setup"]

_MODULE = '''"""Custom operators; built by proa.utils.cpp_extension."""

import os

from proa.utils.cpp_extension import load_library

_library = load_library(os.path.join(os.path.dirname(os.path.abspath(__file__)), {library!r}), __name__)
__all__ = list(_library.__all__)
globals().update({{name: getattr(_library, name) for name in dir(_library) if not name.startswith("_")}})
'''


def _setuptools():
    try:
        import setuptools  # type: ignore[import-untyped]  # its stubs are a package of their own
        from setuptools.command import build_ext  # type: ignore[import-untyped]
    except ImportError:
        raise _C.located(ImportError("cpp_extension.setup: setuptools is needed; pip install setuptools")) from None
    return setuptools, build_ext.build_ext


def CppExtension(sources, *args, **kwargs):
    """A setuptools.Extension of C++ sources; `setup` gives it its name.

    Args:
        sources (list[str]): C++ files.
        args, kwargs: as of setuptools.Extension: `include_dirs`, `extra_compile_args` (a list, or {"cxx": [...]}),
            `extra_link_args`, `libraries`, `library_dirs`, `define_macros`.
    """
    setuptools, _ = _setuptools()
    name = kwargs.pop("name", None) or "_".join(
        dict.fromkeys(os.path.splitext(os.path.basename(s))[0] for s in sources)
    )
    flags = kwargs.get("extra_compile_args")
    if isinstance(flags, dict):
        if flags.get("nvcc"):
            _no_cuda("CppExtension")
        kwargs["extra_compile_args"] = list(flags.get("cxx", []))
    return setuptools.Extension(name, list(sources), *args, **kwargs)


def _no_cuda(what):
    raise _C.located(
        NotImplementedError(f"{what}: this build of Proa has no CUDA; give the C++ sources to CppExtension")
    )


def CUDAExtension(sources, *args, **kwargs):
    """For sources of CUDA, which this build cannot compile.

    Raises:
        NotImplementedError: always.

    Examples:
        >>> proa.utils.cpp_extension.CUDAExtension(["a.cc", "a.cu"])
        Traceback (most recent call last):
            ...
        NotImplementedError: ...CUDAExtension: this build of Proa has no CUDA; give the C++ sources to CppExtension...
    """
    _no_cuda("CUDAExtension")


def _flags(extension):
    flags = [f"-D{n}" if v is None else f"-D{n}={v}" for n, v in extension.define_macros]
    flags += [f"-U{n}" for n in extension.undef_macros]
    flags += list(extension.extra_compile_args or [])
    link = [f"-L{d}" for d in extension.library_dirs] + [f"-l{n}" for n in extension.libraries]
    link += [f"-Wl,-rpath,{d}" for d in extension.runtime_library_dirs]
    return flags, link + list(extension.extra_link_args or [])


def _build_extension_class():
    _, base = _setuptools()

    class BuildExtension(base):
        """The command build_ext of setuptools, for extensions of ops: a shared library, and a module that loads it.

        It needs no headers of Python, and builds what has not changed no second time.
        """

        @classmethod
        def with_options(cls, **options):
            """A class with these options, which have no effect: there is one form of a library."""
            return cls

        def get_ext_filename(self, fullname):
            return fullname.replace(".", os.sep) + ".py"

        def build_extension(self, ext):
            target = self.get_ext_fullpath(ext.name)
            folder = os.path.dirname(os.path.abspath(target))
            os.makedirs(folder, exist_ok=True)
            flags, link = _flags(ext)
            library = compiling.compile_library(
                ext.name, ext.sources, os.path.abspath(os.path.join(self.build_temp, ext.name)), flags, link,
                [os.path.abspath(d) for d in ext.include_dirs], verbose=bool(self.verbose),
            )  # fmt: skip
            name = f"{ext.name.rpartition('.')[2]}_ops.so"
            self.copy_file(library, os.path.join(folder, name))
            with open(target, "w") as f:
                f.write(_MODULE.format(library=name))

        def get_outputs(self):
            outputs = super().get_outputs()
            return outputs + [o[: -len(".py")] + "_ops.so" for o in outputs]

        def copy_extensions_to_source(self):
            build = self.get_finalized_command("build_py")
            for ext in self.extensions:
                built = os.path.join(self.build_lib, self.get_ext_filename(ext.name))
                package = ext.name.rpartition(".")[0]
                folder = os.path.abspath(build.get_package_dir(package)) if package else os.getcwd()
                for path in (built, built[: -len(".py")] + "_ops.so"):
                    self.copy_file(path, os.path.join(folder, os.path.basename(path)))

    return BuildExtension


def __getattr__(name):
    if name == "BuildExtension":
        globals()["BuildExtension"] = found = _build_extension_class()
        return found
    from proa.framework.names import MissingName

    raise MissingName(__name__, name)


def setup(**attr):
    """setuptools.setup for ops: builds the extension ahead and installs a module of its name.

        from paddle.utils.cpp_extension import CppExtension, setup

        setup(name="my_ops", ext_modules=CppExtension(sources=["my_ops.cc"]))

    and then `import my_ops; my_ops.my_relu(x)`.

    Args:
        name (str): of the package and module.
        ext_modules (Extension): one; the sources of all ops belong into it.
        attr: as of setuptools.setup.

    Raises:
        ValueError: without a name, or with several extensions.
    """
    setuptools, _ = _setuptools()
    name = attr.get("name")
    if not name:
        raise _C.located(ValueError("cpp_extension.setup: name is needed; it is what the ops are imported from"))
    extensions = attr.get("ext_modules") or []
    extensions = list(extensions) if isinstance(extensions, (list, tuple)) else [extensions]
    if len(extensions) != 1:
        raise _C.located(
            ValueError(
                f"cpp_extension.setup: one extension is expected, not {len(extensions)}; put all sources into it"
            )
        )
    extensions[0].name = extensions[0]._full_name = name
    command = dict(attr.pop("cmdclass", None) or {})
    command.setdefault("build_ext", __getattr__("BuildExtension"))
    attr.update(ext_modules=extensions, zip_safe=False)
    attr.setdefault("py_modules", [])
    setuptools.setup(cmdclass=command, **attr)
