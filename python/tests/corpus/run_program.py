"""Runs one program of the corpus with the weights of same_weights.py.

python -m proa.as_paddle run_program.py programs/lenet.py      # as the test does
python run_program.py programs/lenet.py                        # where paddle is the reference
"""

import os
import runpy
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import paddle
import same_weights

if __name__ == "__main__":
    program = os.path.abspath(sys.argv[1])
    same_weights.install(paddle)
    sys.argv = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # Programs save files.
        try:
            runpy.run_path(program, run_name="__main__")
        finally:
            os.chdir("/")
