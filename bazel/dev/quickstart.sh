#!/bin/bash
# The part of ./dev quickstart after the wheel is built: a fresh environment, the
# digits example in it, and the saved model from C++. Run from the repository root.
set -euo pipefail
readonly FOLDER=dist/quickstart
readonly PYTHON="$FOLDER/env/bin/python"

say() { printf '\n== %s\n' "$*"; }

say "Installing the wheel into $FOLDER/env"
rm -rf "$FOLDER"
mkdir -p "$FOLDER"
"${PROA_PYTHON:-python3}" -m venv "$FOLDER/env"
# The example's own needs, in the versions of requirements.txt.
"$PYTHON" -m pip install -q --disable-pip-version-check -c requirements.txt dist/proa-*.whl scikit-learn matplotlib

say "Training on handwritten digits"
"$PYTHON" examples/digits/train.py --out "$FOLDER/digits"

say "Running the saved model from C++"
bazel build --ui_event_filters=-info --noshow_progress //examples/digits:predict
bazel-bin/examples/digits/predict "$FOLDER/digits/digits" "$FOLDER/digits/samples.bin" | tee "$FOLDER/cpp.txt"
if ! grep -qF "$(cat "$FOLDER/digits/samples.txt")" "$FOLDER/cpp.txt"; then
  echo "quickstart: C++ and Python disagree; see $FOLDER/digits/samples.txt" >&2
  exit 1
fi
echo "C++ and Python agree. The learning curve is in $FOLDER/digits/digits.png"
