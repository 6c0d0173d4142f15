"""@local_python: interpreter, headers and pinned packages of the build.

The interpreter is that of the virtual environment which ./dev makes from
requirements.txt (<workspace>/.venv, or the folder named by PROA_VENV). It finds
its own site-packages, so the package targets below add no files to a test but
one stamp: when a version changes, what used it runs again.
"""

load("//third_party:system.bzl", "fail_missing")

# Targets that name an import, each with the module that has to be there.
_PACKAGES = {
    "hypothesis": "hypothesis",
    "matplotlib": "matplotlib",
    "mpmath": "mpmath",
    "mypy": "mypy",
    "numpy": "numpy",
    "pytest": "pytest",
    "scipy": "scipy",
    "sklearn": "sklearn",
    "yaml": "yaml",
}

_PROBE = """
import importlib.metadata as m, importlib.util as u, os, sys, sysconfig
print(sysconfig.get_paths()["include"])
print(sysconfig.get_config_var("EXT_SUFFIX"))
print("%d.%d" % sys.version_info[:2])
spec = u.find_spec("numpy")
root = os.path.dirname(spec.origin) if spec else ""
print(next((p for p in (root + "/_core/include", root + "/core/include") if os.path.isdir(p)), ""))
print(" ".join(n for n in sys.argv[1:] if u.find_spec(n) is None))
for line in sorted({"%s==%s" % (d.metadata["Name"], d.version) for d in m.distributions()}):
    print(line)
"""

def _impl(rctx):
    venv = rctx.os.environ.get("PROA_VENV", "")
    if not venv:
        venv = str(rctx.path(Label("//:WORKSPACE")).dirname) + "/.venv"
    python = venv + "/bin/python"
    if not rctx.path(python).exists:
        fail("\n\n@%s: %s is missing; make it with: ./dev setup\n" % (rctx.name, python))
    rctx.path(Label("//:requirements.txt"))  # A new pin fetches this repository anew.
    probe = rctx.execute([python, "-c", _PROBE] + _PACKAGES.values())
    if probe.return_code:
        fail("@%s: %s does not run: %s" % (rctx.name, python, probe.stderr))
    lines = probe.stdout.split("\n")
    include, suffix, version, numpy_include, missing = lines[:5]
    if missing:
        fail("\n\n@%s: the Python packages %s are missing in %s; install them with: ./dev setup\n" % (rctx.name, missing, venv))
    if not rctx.path(include + "/Python.h").exists:
        fail_missing(rctx, include + "/Python.h", "python3-dev")

    rctx.symlink(include, "include/python")
    multiarch = "/usr/include/x86_64-linux-gnu/python" + version
    if include.startswith("/usr/include/") and rctx.path(multiarch).exists:
        # Debian's pyconfig.h includes <x86_64-linux-gnu/python3.N/pyconfig.h>.
        rctx.symlink(multiarch, "include/multiarch/x86_64-linux-gnu/python" + version)
    rctx.symlink(numpy_include + "/numpy", "include/numpy_include/numpy")
    rctx.file("installed.txt", "\n".join(lines[5:]))
    rctx.file("info.bzl", """# Facts about the interpreter, for macros.
PYTHON = %r
EXT_SUFFIX = %r
PY_VERSION = %r
""" % (python, suffix, version))
    rctx.template("BUILD.bazel", rctx.attr._template, {
        "%{packages}": repr(_PACKAGES.keys()),
        "%{python}": python,
    })

python_repository = repository_rule(
    implementation = _impl,
    configure = True,
    environ = ["PROA_VENV"],
    attrs = {"_template": attr.label(default = "//third_party/python:python.BUILD")},
)
