"""What tests of contacts share."""

import pytest

import catena as ct


@pytest.fixture(params=[1, 2], ids=["one thread", "two threads"])
def threads(request):
    before = ct.threads()
    ct.set_threads(request.param)
    yield request.param
    ct.set_threads(before)
