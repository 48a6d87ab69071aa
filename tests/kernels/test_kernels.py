"""Every kernel is compared with plain Python by some test."""

from support.kernel_oracles import SOURCE, TESTS, judged_in, kernels_of


def test_every_kernel_has_an_oracle():
    """Each kernel is called by a test that says by `@oracle_of(...)` that it judges it."""
    kernels = {
        (".".join(path.relative_to(SOURCE).with_suffix("").parts), name)
        for path in SOURCE.rglob("*.py")
        for name in kernels_of(path.read_text(encoding="utf-8"))
    }

    judged = {
        each for path in TESTS.rglob("test_*.py") for each in judged_in(path.read_text(encoding="utf-8"))
    }

    assert len(kernels) > 90
    assert sorted(kernels - judged) == []
    assert sorted(judged - kernels) == []


def test_kernels_are_known_by_their_decorator():
    """Our own decorator and Numba's make a kernel, with or without options; parts of kernels are none."""
    text = "@kernel\ndef a(): ...\n@njit(cache=True)\ndef b(): ...\n@inlined\ndef c(): ...\ndef d(): ...\n"

    assert list(kernels_of(text)) == ["a", "b"]


def test_a_kernel_that_is_only_named_is_not_judged():
    """A file that names a kernel for an oracle must also use it."""
    head = "from tidelog.x import one as first, two\n@oracle_of(first, two)\ndef test(): "

    assert list(judged_in(head + "first(1)")) == [("tidelog.x", "one")]
