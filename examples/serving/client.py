"""Asks a server of `python -m proa.inference.serve` for results, in JSON and in binary, with the standard library and NumPy.

python -m proa.inference.serve digits --port 8000 &
python client.py --url http://127.0.0.1:8000 --model digits --rows 4
"""

import argparse
import json
import urllib.error
import urllib.request

import numpy as np

HEADER = "Inference-Header-Content-Length"
DTYPES = {"BOOL": "?", "UINT8": "u1", "INT8": "i1", "INT16": "<i2", "INT32": "<i4", "INT64": "<i8", "FP16": "<f2",
          "FP32": "<f4", "FP64": "<f8"}  # fmt: skip


class Client:
    """A model on a server.

    Args:
        url (str): of the server.
        model (str): what it calls the model.
    """

    def __init__(self, url, model, timeout=30.0):
        self._model, self._timeout = f"{url.rstrip('/')}/v2/models/{model}", timeout
        self.metadata = json.loads(self._ask("")[0])

    def _ask(self, path, body=None, headers=None):
        request = urllib.request.Request(self._model + path, body, headers or {})
        try:
            with urllib.request.urlopen(request, timeout=self._timeout) as answer:
                return answer.read(), answer.headers
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"the server says ({error.code}): {json.loads(error.read())['error']}") from None

    def infer(self, arrays, binary=True):
        """The results by name, of arrays by name."""
        inputs, data = [], []
        for declared in self.metadata["inputs"]:
            array = np.ascontiguousarray(arrays[declared["name"]], DTYPES[declared["datatype"]])
            part = {"name": declared["name"], "datatype": declared["datatype"], "shape": list(array.shape)}
            if binary:
                data.append(array.tobytes())
                part["parameters"] = {"binary_data_size": len(data[-1])}
            else:
                part["data"] = array.ravel().tolist()
            inputs.append(part)
        head = json.dumps({"inputs": inputs, "parameters": {"binary_data_output": binary}}).encode()
        body, headers = self._ask("/infer", b"".join([head, *data]), {HEADER: str(len(head))})
        size = int(headers.get(HEADER, len(body)))
        results, at = {}, size
        for output in json.loads(body[:size])["outputs"]:
            if "data" in output:
                array = np.array(output["data"], DTYPES[output["datatype"]])
            else:
                end = at + output["parameters"]["binary_data_size"]
                array = np.frombuffer(body[at:end], DTYPES[output["datatype"]])
                at = end
            results[output["name"]] = array.reshape(output["shape"])
        return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", default="http://127.0.0.1:8000")
    parser.add_argument("--model", required=True)
    parser.add_argument("--rows", type=int, default=1, help="size of open dims")
    arguments = parser.parse_args()
    client = Client(arguments.url, arguments.model)
    random = np.random.default_rng(0)
    arrays = {
        part["name"]: random.random([arguments.rows if n < 0 else n for n in part["shape"]])
        for part in client.metadata["inputs"]
    }
    in_binary, in_json = client.infer(arrays), client.infer(arrays, binary=False)
    for name, result in in_binary.items():
        np.testing.assert_array_equal(result, in_json[name])
        print(f"{name} {list(result.shape)}: {np.array2string(result.ravel()[:4], precision=4)}")


if __name__ == "__main__":
    main()
