"""The version of the package, as `proa.version.full_version` and parts of it."""

full_version = "0.1.0"
major, minor, patch = full_version.split(".")
rc = "0"
istaged = True
commit = __git_commit__ = "unknown"
with_mkl = "OFF"


def mkl():
    """ "OFF": matrix products run on oneDNN.

    Examples:
        >>> type(proa.version.mkl()).__name__
        'str'
    """
    return with_mkl


def cuda():
    """Version of CUDA that the package was built with, or "False".

    Examples:
        >>> proa.version.cuda()
        'False'
    """
    return "False"


def cudnn():
    """Version of cuDNN that the package was built with, or "False".

    Examples:
        >>> proa.version.cudnn()
        'False'
    """
    return "False"


def show():
    """Prints the version, a line for each part.

    Examples:
        >>> proa.version.show()  # doctest: +ELLIPSIS
        full_version:...
    """
    print("full_version:", full_version)
    print("major:", major)
    print("minor:", minor)
    print("patch:", patch)
    print("commit:", commit)
    print("cuda:", cuda())
    print("cudnn:", cudnn())
