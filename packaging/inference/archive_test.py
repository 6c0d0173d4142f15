"""The archive of the inference library, unpacked into an empty folder: its samples build and run there."""

import glob
import importlib.util
import os
import re
import shutil
import subprocess
import tarfile

import numpy as np
import pytest

import proa

ARCHIVE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "proa_inference.tar.gz")
# Nothing of the build is in reach.
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C"}


@pytest.fixture(scope="module", name="root")
def _root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clean")
    with tarfile.open(ARCHIVE) as tar:
        tar.extractall(folder, filter="data") if hasattr(tarfile, "data_filter") else tar.extractall(folder)
    return folder / "proa_inference"


@pytest.fixture(scope="module", name="model")
def _model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    net = proa.nn.Sequential(
        proa.nn.Conv2D(1, 4, 3), proa.nn.BatchNorm2D(4), proa.nn.ReLU(), proa.nn.Flatten(), proa.nn.Linear(144, 3)
    )
    net.eval()
    proa.jit.save(net, str(folder / "net"), [proa.static.InputSpec([None, 1, 8, 8], "float32", "x")])
    return str(folder / "net"), net(proa.ones([2, 1, 8, 8])).numpy()


def _run(*command, **keywords):
    return subprocess.run(
        [str(part) for part in command], env=ENVIRONMENT, capture_output=True, text=True, check=False, **keywords
    )


def _built(*command, **keywords):
    done = _run(*command, **keywords)
    assert done.returncode == 0, done.stdout + done.stderr


def _predicts(program, model):
    prefix, want = model
    done = _run(program, prefix + ".pdmodel", prefix + ".pdiparams", 2)
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(np.fromstring(done.stdout, sep="\n").reshape(2, 3), want, rtol=1e-4, atol=1e-5)
    done = _run(program, "/nowhere.pdmodel", "/nowhere.pdiparams")
    assert done.returncode == 1 and "/nowhere.pdmodel" in done.stderr


def test_the_library_is_small(root):
    """It does without the names of what it does not export; oneDNN is a library beside it."""
    assert (root / "lib/libproa_inference.so").stat().st_size < 25e6


def test_c_by_pkg_config(root, model, tmp_path):
    keywords = {"cwd": tmp_path}
    environment = {**ENVIRONMENT, "PKG_CONFIG_PATH": str(root / "lib/pkgconfig")}
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "proa_inference"],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    _built(
        "gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", root / "samples/c/predict.c", *flags,
        f"-Wl,-rpath,{root}/lib", "-o", "predict", **keywords,
    )  # fmt: skip
    _predicts(tmp_path / "predict", model)


@pytest.mark.skipif(not shutil.which("cmake", path=ENVIRONMENT["PATH"]), reason="cmake is not installed")
@pytest.mark.parametrize("language", ["c", "cpp"])
def test_samples_by_cmake(root, model, tmp_path, language):
    _built("cmake", "-S", root / "samples" / language, "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={root}")
    _built("cmake", "--build", tmp_path)
    _predicts(tmp_path / "predict", model)


def test_cpp_by_the_compiler_alone(root, model, tmp_path):
    _built(
        "g++", "-std=c++17", "-Wall", "-Wextra", root / "samples/cpp/predict.cc", f"-I{root}/include", f"-L{root}/lib",
        "-lproa_inference", f"-Wl,-rpath,{root}/lib", "-o", tmp_path / "predict",
    )  # fmt: skip
    _predicts(tmp_path / "predict", model)


_ENCRYPTED = """
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include "paddle_inference_api.h"
static std::string Read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
int main(int, char** argv) {
  const auto cipher = paddle_infer::MakeCipher("");
  const std::string key = paddle_infer::CipherUtils::GenKeyToFile(256, "key");
  std::string plain[2];
  for (int i = 0; i < 2; ++i) {
    cipher->EncryptToFile(Read(argv[1 + i]), key, "encrypted");
    plain[i] = cipher->DecryptFromFile(paddle_infer::CipherUtils::ReadKeyFromFile("key"), "encrypted");
  }
  try {
    cipher->DecryptFromFile(paddle_infer::CipherUtils::GenKey(256), "encrypted");
    return 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\\n", e.what());
  }
  paddle_infer::Config config;
  config.SetModelBuffer(plain[0].data(), plain[0].size(), plain[1].data(), plain[1].size());
  return paddle_infer::CreatePredictor(config)->GetInputNames().size() == 1 ? 0 : 1;
}
"""


def test_an_encrypted_model(root, model, tmp_path):
    (tmp_path / "main.cc").write_text(_ENCRYPTED)
    _built(
        "g++", "-std=c++17", "main.cc", f"-I{root}/include", f"-L{root}/lib", "-lproa_inference",
        f"-Wl,-rpath,{root}/lib", "-o", "main", cwd=tmp_path,
    )  # fmt: skip
    prefix, _ = model
    done = _run(tmp_path / "main", prefix + ".pdmodel", prefix + ".pdiparams", cwd=tmp_path)
    assert done.returncode == 0 and "another one than that of Encrypt" in done.stderr, done.stderr


@pytest.fixture(scope="module", name="onnx")
def _onnx(tmp_path_factory):
    """The library of ONNX Runtime, a model of ONNX that doubles floats [n, 2], and what it says of the first."""
    package = importlib.util.find_spec("onnxruntime")
    folder = os.path.dirname(package.origin) if package else ""
    libraries = glob.glob(folder + "/capi/libonnxruntime.so*")
    if not libraries or not importlib.util.find_spec("onnx"):
        pytest.skip("the packages onnxruntime and onnx are not installed")
    path = str(tmp_path_factory.mktemp("onnx") / "twice")
    proa.onnx.export(_Double(), path, [proa.static.InputSpec([None, 2], "float32", "x")])
    return libraries[0], path + ".onnx"


class _Double(proa.nn.Layer):
    def forward(self, x):
        return x + x


_BY_ONNX_RUNTIME = """
#include <cstdio>
#include <vector>
#include "paddle_inference_api.h"
int main(int argc, char** argv) {
  paddle_infer::Config config(argv[1]);
  config.EnableONNXRuntime(argc > 2 ? argv[2] : "");
  try {
    const auto predictor = paddle_infer::CreatePredictor(config);
    const auto in = predictor->GetInputHandle("x");
    in->Reshape({1, 2});
    const float x[2] = {1, 2};
    in->CopyFromCpu(x);
    predictor->Run();
    float y[2];
    predictor->GetOutputHandle(predictor->GetOutputNames()[0])->CopyToCpu(y);
    std::printf("%g %g", y[0], y[1]);
  } catch (const std::exception& e) {
    std::printf("%s", e.what());
  }
}
"""
_IN_C = """
#include <stdio.h>
#include "pd_inference_api.h"
int main(int argc, char** argv) {
  PD_Config* config = PD_ConfigCreate();
  PD_ConfigSetModel(config, argv[1], NULL);
  PD_ConfigEnableONNXRuntime(config);
  if (argc > 2) PD_ConfigSetONNXRuntimeLibrary(config, argv[2]);
  PD_Predictor* predictor = PD_PredictorCreate(config);
  if (predictor == NULL) return printf("%s", PD_LastErrorMessage()), 0;
  const float x[2] = {1, 2};
  const int64_t shape[2] = {1, 2};
  const PD_Array in = {sizeof(PD_Array), NULL, PD_DATA_FLOAT32, 2, shape, x, sizeof(x)};
  PD_Results* results;
  if (PD_PredictorRunArrays(predictor, &in, 1, &results) != PD_OK) return printf("%s", PD_LastErrorMessage()), 0;
  PD_Array out = {.struct_size = sizeof(PD_Array)};
  PD_ResultsGet(results, 0, &out);
  printf("%g %g", ((const float*)out.data)[0], ((const float*)out.data)[1]);
  PD_ResultsDestroy(results);
  PD_PredictorDestroy(predictor);
  return 0;
}
"""


@pytest.mark.parametrize(
    "compiler, source", [("g++ -std=c++17 -x c++", _BY_ONNX_RUNTIME), ("gcc -std=c99 -x c", _IN_C)], ids=["c++", "c"]
)
def test_onnx_runtime(root, model, onnx, tmp_path, compiler, source):
    (tmp_path / "main").write_text(source)
    _built(
        *compiler.split(), "-Wall", "main", f"-I{root}/include", f"-I{root}/include/inference/c", f"-L{root}/lib",
        "-lproa_inference", f"-Wl,-rpath,{root}/lib", "-o", "run", cwd=tmp_path,
    )  # fmt: skip
    library, path = onnx
    assert _run(tmp_path / "run", path, library).stdout == "2 4"
    assert "PROA_ONNXRUNTIME_LIBRARY" in _run(tmp_path / "run", path).stdout
    assert "reads files of ONNX" in _run(tmp_path / "run", model[0] + ".pdmodel", library).stdout


JAVAC = shutil.which("javac", path=ENVIRONMENT["PATH"])
JAVA_HOME = os.path.dirname(os.path.dirname(os.path.realpath(JAVAC))) if JAVAC else ""


@pytest.mark.skipif(not os.path.exists(JAVA_HOME + "/include/jni.h"), reason="there is no JDK")
def test_java(root, model, tmp_path, request):
    """As its README says."""
    sources = sorted((root / "java/src").rglob("*.java"))
    assert len(sources) == 4
    _built("javac", "-Xlint:all", "-Werror", "-d", tmp_path / "classes", *sources)
    _built("jar", "--create", "--file", tmp_path / "proa-inference.jar", "-C", tmp_path / "classes", ".")
    _built(
        "gcc", "-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{root}/include", f"-I{JAVA_HOME}/include",
        f"-I{JAVA_HOME}/include/linux", root / "java/src/main/native/proa_inference_jni.c", f"-L{root}/lib",
        "-lproa_inference", f"-Wl,-rpath,{root}/lib", "-o", tmp_path / "libproa_inference_jni.so",
    )  # fmt: skip
    programs = [root / "java/sample/Predict.java", os.path.join(os.path.dirname(ARCHIVE), "java/test/Check.java")]
    _built("javac", "-cp", tmp_path / "proa-inference.jar", "-d", tmp_path, *programs)
    start = ["java", "-Xcheck:jni", "-cp", f"{tmp_path}/proa-inference.jar:{tmp_path}"]
    start.append(f"-Dproa.inference.library.path={tmp_path}")
    prefix, want = model
    done = _run(*start, "Predict", prefix + ".pdmodel", prefix + ".pdiparams", 2)
    assert done.returncode == 0, done.stdout + done.stderr
    np.testing.assert_allclose(np.fromstring(done.stdout, sep="\n").reshape(2, 3), want, rtol=1e-4, atol=1e-5)

    twice = str(tmp_path / "twice")
    proa.jit.save(_Double(), twice, [proa.static.InputSpec([None, 2], "float32", "x")])
    done = _run(*start, "Check", twice + ".pdmodel", twice + ".pdiparams")
    assert done.returncode == 0 and done.stdout == "java: all right\n", done.stdout + done.stderr
    said = "".join(f"proa: {name} changes nothing: .*\n" for name in ("EnableUseGpu", "EnableProfile"))
    assert re.fullmatch(said, done.stderr), done.stderr
    done = _run(*start, "Check", *request.getfixturevalue("onnx"))
    assert done.returncode == 0 and done.stdout == "java: by ONNX Runtime\n", done.stdout + done.stderr


def test_headers_stand_alone(root, tmp_path):
    """Each compiles by itself, and names no library but the standard one."""
    headers = sorted((root / "include").rglob("*.h"))
    assert len(headers) >= 12
    for header in headers:
        in_c = header.name.startswith("pd_")
        _built("gcc" if in_c else "g++", "-std=c99" if in_c else "-std=c++17", "-fsyntax-only", "-Wall", "-Werror",
               "-x", "c" if in_c else "c++", header, f"-I{root}/include")  # fmt: skip
        for name in re.findall(r"#include [<\"](.*)[>\"]", header.read_text()):
            assert "/" not in name or name.startswith("inference/"), (header, name)


def test_nothing_else_of_the_system_is_needed(root):
    """The library finds what it needs in the archive, and exports its own names only."""
    listing = _run("ldd", root / "lib/libproa_inference.so").stdout
    runtime = re.compile(r"(linux-vdso|ld-linux|libc\.|libm\.|libstdc\+\+|libgcc_s|libpthread|libdl|librt)")
    for line in listing.splitlines():
        assert runtime.search(line) or str(root) in os.path.realpath(line.split("=>")[-1].split()[0]), line
    names = _run("nm", "-D", "--defined-only", "--format=posix", root / "lib/libproa_inference.so").stdout
    foreign = [
        line for line in names.splitlines()
        if not re.match(r"(PD_|_Z(N|NK|T[ISV]N)4proa2v09inference)", line) and line.split()[1] != "A"
    ]  # fmt: skip
    assert not foreign, foreign[:10]
    declared = set()
    for header in (root / "include/inference/c").glob("*.h"):
        declared |= set(re.findall(r"PD_CAPI [\w ]+\*? ?(PD_\w+)\(", header.read_text()))
    assert len(declared) > 60 and declared <= {line.split()[0] for line in names.splitlines()}
