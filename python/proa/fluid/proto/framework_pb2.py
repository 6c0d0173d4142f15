"""Kinds of variables in files of the reference, by number."""

__all__ = ["VarType"]


class VarType:
    """Numbers of kinds."""

    BOOL, INT16, INT32, INT64, FP16, FP32, FP64 = range(7)
    LOD_TENSOR, SELECTED_ROWS, FEED_MINIBATCH, FETCH_LIST, STEP_SCOPES = 7, 8, 9, 10, 11
    LOD_RANK_TABLE, LOD_TENSOR_ARRAY, PLACE_LIST, READER, RAW, TUPLE, SIZE_T = 12, 13, 14, 15, 17, 18, 19
    UINT8, INT8, BF16, COMPLEX64, COMPLEX128, STRING, STRINGS = 20, 21, 22, 23, 24, 25, 26

    class TensorDesc:
        """Dims and dtype of a tensor."""

        def __init__(self, data_type=5, dims=()):
            self.data_type, self.dims = data_type, list(dims)
