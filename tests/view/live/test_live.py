"""Moving a mechanism keeps its loops closed, and the server answers only what was meant for it."""

import http.client
import json
import socket
import threading
import time
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import urlopen

import numpy as np
import pytest

import catena as ct
from catena.mechanism import generators
from catena.view.live.moving import Mover
from catena.view.live.questions import Questions
from catena.view.live.view import view
from catena.view.scene import scene


@pytest.fixture(scope="module")
def stewart():
    return generators.stewart().system()


@pytest.fixture(scope="module")
def bars():
    return generators.four_bar().system()


@pytest.fixture
def opened(bars):
    with view(bars, show=False) as made:
        yield made


def ask(made, path="pose", body=None, method="POST", headers=None):
    """One request to the server of a view; its code and what it said."""
    url = urlsplit(made.url)
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=300)
    try:
        content = json.dumps(body) if not isinstance(body, bytes | str) else body
        connection.request(method, f"{url.path}{path}", content, headers or {})
        reply = connection.getresponse()
        return reply.status, reply.read()
    finally:
        connection.close()


def test_a_dragged_platform_goes_where_it_is_pulled_and_stays_closed(stewart):
    q = stewart.assemble({})
    mover = Mover(stewart, 1.5)
    point = np.array([0.1, 0.0, 0.0])
    to = stewart.pose(q, "platform") * point + (0.04, -0.03, 0.02)
    moved = mover.drag(q, "platform", point, to)
    np.testing.assert_allclose(stewart.pose(moved.q, "platform") * point, to, atol=1e-6)
    assert np.abs(stewart.closure(moved.q)[0]).max() < 1e-12


def test_a_crank_that_is_dragged_away_points_at_where_it_is_pulled(bars):
    q = bars.assemble({"A": 0.3})
    mover = Mover(bars, 1.0)
    tip = np.array([0.4, 0.0, 0.0])
    far = np.array([0.0, 0.0, 3.0])
    for _ in range(30):
        q = mover.drag(q, "crank", tip, far).q
    direction = bars.pose(q, "crank").R[:, 0]
    np.testing.assert_allclose(direction, [0.0, 0.0, 1.0], atol=1e-3)
    assert np.abs(bars.closure(q)[0]).max() < 1e-12


def test_a_joint_goes_to_its_value_and_the_loop_follows(bars):
    q = bars.assemble({"A": 0.3})
    moved = Mover(bars, 1.0).slide(q, "A", 0, 0.6)
    assert moved.note == "" and moved.q[bars.slice_q("A")] == pytest.approx(0.6, abs=1e-8)
    np.testing.assert_allclose(moved.q, bars.assemble({"A": 0.6}, guess=q), atol=1e-7)


def test_a_joint_stops_at_a_dead_point_and_is_marked_there(bars):
    q = bars.assemble({"A": 0.3})
    mover = Mover(bars, 1.0)
    assert "D 0" not in mover.marks(q)
    for _ in range(6):
        moved = mover.slide(q, "D", 0, 3.0)
        q = moved.q
    assert "dead point" in moved.note
    assert mover.marks(q)["D 0"] == "dead" and "A 0" not in mover.marks(q)
    assert np.abs(bars.closure(q)[0]).max() < 1e-12


def test_limits_stop_a_joint_and_a_drag():
    m = ct.Mechanism("arm")
    m.add_body("rod", 1.0, (0.5, 0, 0), 0.1)
    m.add_joint("pin", "ground", "rod", ct.Revolute("y"), limits=(-0.5, 0.5))
    s = m.system()
    mover = Mover(s, 1.0)
    moved = mover.slide(np.zeros(1), "pin", 0, 2.0)
    assert moved.q[0] == 0.5 and mover.marks(moved.q) == {"pin 0": "limit"}
    q = np.zeros(1)
    for _ in range(30):
        q = mover.drag(q, "rod", np.array([1.0, 0, 0]), np.array([0.0, 0, 2.0])).q
    assert q[0] == pytest.approx(-0.5, abs=1e-9)


def limited_four_bar():
    """A four-bar whose joint that closes the loop, "D", may turn by 0.2 rad to either side of where it starts."""
    m = ct.generators.four_bar()
    free = m.system()
    at = free.joint_position(free.assemble({"A": 1.0}), free.loops[0])[0]
    m = m.with_joint(free.loops[0], limits=(at - 0.2, at + 0.2))
    s = m.system()
    return s, s.assemble({"A": 1.0}), s.loops[0], at


def test_a_joint_that_closes_a_loop_is_moved_and_has_limits_as_others_have():
    s, q, loop, at = limited_four_bar()
    mover = Mover(s, 1.0)
    moved = mover.slide(q, loop, 0, at + 0.1).q
    assert s.joint_position(moved, loop)[0] == pytest.approx(at + 0.1, abs=1e-8)
    assert np.abs(s.closure(moved)[0]).max() < 1e-12
    for side in (1.0, -1.0):
        far = mover.slide(q, loop, 0, at + side).q
        assert s.joint_position(far, loop)[0] == pytest.approx(at + 0.2 * side, abs=1e-6)
        assert mover.marks(far)[f"{loop} 0"] == "limit"
    # A joint of the tree stops where the loop joint is at its limit.
    far = q
    for _ in range(20):
        far = mover.slide(far, "A", 0, 3.0).q
    assert abs(s.joint_position(far, loop)[0] - at) == pytest.approx(0.2, abs=1e-4)
    told = {row["label"]: row for row in Questions(scene(s, q), q).first()["joints"]}
    assert told[loop]["loop"] and told[loop]["limited"] and not told["A"]["loop"]
    assert told[loop]["low"] == pytest.approx(at - 0.2)


def test_mobility_is_told(stewart, bars):
    assert "in 6 independent ways" in Mover(stewart, 1.0).marks(stewart.assemble({}))["state"]
    assert "in one way" in Mover(bars, 1.0).marks(bars.assemble({"A": 0.4}))["state"]


def test_a_light_joint_that_drives_heavy_bodies_is_at_no_dead_point():
    """A shaft of 1e-4 kg m^2 geared to a wheel of 10 kg m^2 moves it all the same."""
    m = ct.Mechanism("geared", gravity=(0, 0, 0))
    m.add_body("shaft", 0.1, inertia=1e-4)
    m.add_body("wheel", 10.0, inertia=10.0)
    for name, x in (("shaft", 0.0), ("wheel", 1.0)):
        m.add_joint(name, "ground", name, ct.Revolute("y"), in_parent=ct.Pose(p=(x, 0, 0)))
    m.add_coupling("gear", {"shaft": 1.0, "wheel": 2.0})
    s = m.system()
    marks = Mover(s, 1.0).marks(s.assemble({"shaft": 0.2}))
    assert marks == {"state": "It can move in one way."}


def test_bodies_without_mass_can_be_dragged():
    m = ct.Mechanism("light")
    m.add_body("rod")
    m.add_joint("pin", "ground", "rod", ct.Revolute("y"))
    s = m.system()
    q = np.zeros(1)
    for _ in range(30):
        q = Mover(s, 1.0).drag(q, "rod", np.array([1.0, 0, 0]), np.array([0.0, 0, -1.0])).q
    assert q[0] == pytest.approx(np.pi / 2, abs=1e-2)


def test_an_answer_has_the_poses_of_its_configuration(bars):
    q = bars.assemble({"A": 0.3})
    questions = Questions(scene(bars, q), q)
    answer = questions.answer({"q": list(q), "joint": "A", "component": 0, "value": 0.5})
    poses = np.reshape(answer["poses"], (-1, 7))
    for k, name in enumerate(bars.mechanism.bodies):
        np.testing.assert_allclose(poses[k, :3], bars.pose(np.array(answer["q"]), name).p, atol=1e-8)
    assert answer["values"]["A 0"] == pytest.approx(0.5, abs=1e-8)


def test_a_pinned_root_can_be_viewed():
    s = generators.free_flyer(arms=1, wheels=0).system()
    questions = Questions(scene(s, s.neutral()), s.neutral())
    body = questions.scene.bodies[1]
    q = list(s.neutral())
    assert questions.answer({"q": q, "body": body, "point": [0, 0, 0], "to": [0.1, 0, 0]})["note"] == ""


def test_a_view_is_on_this_computer_only_and_its_address_has_a_secret(opened):
    assert urlsplit(opened.url).hostname == "127.0.0.1"
    assert opened.server.address[0] == "127.0.0.1"
    status, text = ask(opened, "", method="GET")
    assert status == 200 and b"<!DOCTYPE html>" in text
    assert ask(opened, "../", method="GET")[0] == 404


@pytest.mark.parametrize(
    "path", ["../../../etc/passwd", "pyproject.toml", "..%2f..%2fetc%2fpasswd", "player.js", "pose"]
)
def test_no_file_is_served(opened, path):
    assert ask(opened, path, method="GET")[0] == 404


def test_other_hosts_and_sites_are_refused(opened):
    port = urlsplit(opened.url).port
    for host in ("evil.example", f"evil.example:{port}", "10.0.0.1", f"127.0.0.1.evil.example:{port}"):
        assert ask(opened, "", method="GET", headers={"Host": host})[0] == 403
    assert ask(opened, "", method="GET", headers={"Host": f"localhost:{port}"})[0] == 200
    question = {"q": [0.0, 0.0, 0.0]}
    assert ask(opened, body=question, headers={"Origin": "http://evil.example"})[0] == 403
    assert ask(opened, body=question, headers={"Origin": f"http://127.0.0.1:{port}"})[0] == 200


@pytest.mark.parametrize(
    "body",
    [
        "", "{", "[1, 2", "null", "3", '"q"', "{}", '{"q": null}', '{"q": [1, 2]}', '{"q": [NaN, 0, 0]}',
        '{"q": [1e999, 0, 0]}', '{"q": "abc"}', '{"q": [[0, 0, 0]]}',
        '{"q": [0, 0, 0], "joint": "nobody", "component": 0, "value": 1}',
        '{"q": [0, 0, 0], "joint": "A", "component": 7, "value": 1}',
        '{"q": [0, 0, 0], "joint": ["A"], "component": 0, "value": 1}',
        '{"q": [0, 0, 0], "joint": "A", "component": 0, "value": "x"}',
        '{"q": [0, 0, 0], "body": "ground", "point": [0,0,0], "to": [0,0,0]}',
        '{"q": [0, 0, 0], "body": "crank", "point": [0, 0], "to": [0, 0, 0]}', "[" * 100_000, b"\xff\xfe\x00",
        f'{{"q": [{10**400}, 0, 0]}}', f'{{"q": [{"9" * 5000}, 0, 0]}}', f'{{"q": {10**400}}}',
        f'{{"q": [0, 0, 0], "joint": "A", "component": {10**400}, "value": 1}}',
        f'{{"q": [0, 0, 0], "joint": "A", "component": 0, "value": {10**400}}}',
        f'{{"q": [0, 0, 0], "body": "crank", "point": [0, 0, 0], "to": [{10**400}, 0, 0]}}',
    ],
    ids=range(27),
)  # fmt: skip
def test_malformed_questions_are_refused_with_a_reason_and_nothing_breaks(opened, body):
    status, text = ask(opened, body=body)
    assert status == 400 and json.loads(text)["error"]
    assert ask(opened, body={"q": [0.0, 0.0, 0.0]})[0] == 200


def test_long_and_unfinished_requests_do_not_block_others(opened):
    url = urlsplit(opened.url)
    assert ask(opened, headers={"Content-Length": str(1 << 30)}, body="")[0] == 413
    with (
        socket.create_connection((url.hostname, url.port)) as silent,
        socket.create_connection((url.hostname, url.port)) as noisy,
    ):
        silent.sendall(b"POST / HTTP/1.1\r\n")
        noisy.sendall(bytes(range(256)) * 10 + b"\r\n\r\n")
        assert ask(opened, body={"q": [0.0, 0.0, 0.0]})[0] == 200


def test_lengths_without_end_are_answered(opened):
    for length in ("9" * 5000, "-1", "\u0663", "1e3"):
        assert ask(opened, headers={"Content-Length": length.encode()}, body="")[0] == 413


def test_no_other_page_frames_a_view_unless_a_notebook_shows_it(opened):
    def headers():
        url = urlsplit(opened.url)
        connection = http.client.HTTPConnection(url.hostname, url.port, timeout=300)
        connection.request("GET", url.path)
        reply = connection.getresponse()
        assert reply.read()
        connection.close()
        return reply.headers

    assert headers()["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in headers()["Content-Security-Policy"]
    assert opened._repr_html_().startswith("<iframe")
    assert headers()["X-Frame-Options"] is None


def test_many_silent_connections_do_not_keep_others_out(opened):
    url = urlsplit(opened.url)
    before = threading.active_count()
    silent = []
    try:
        for _ in range(150):
            silent.append(socket.create_connection((url.hostname, url.port), timeout=60))
            silent[-1].sendall(b"POST / HTTP/1.1\r\n")
        assert ask(opened, body={"q": [0.0, 0.0, 0.0]})[0] == 200
        # The first ones were hung up on, and the threads that served them end.
        assert silent[0].recv(1) == b""
        end = time.monotonic() + 60.0
        while threading.active_count() - before > 70 and time.monotonic() < end:
            time.sleep(0.05)
        assert threading.active_count() - before <= 70
    finally:
        for connection in silent:
            connection.close()


def test_the_browser_is_started_with_an_address_that_leads_there_once(opened, monkeypatch):
    started = []
    monkeypatch.setattr("webbrowser.open", lambda url: started.append(url) or True)
    opened.show()
    (address,) = started
    secret = urlsplit(opened.url).path.strip("/")
    assert secret not in address
    assert urlopen(address).read().startswith(b"<!DOCTYPE html>")
    with pytest.raises(HTTPError, match="404"):
        urlopen(address)
    assert ask(opened, "", method="GET")[0] == 200


def test_two_browsers_do_not_disturb_each_other(opened, bars):
    """Questions from many threads at once get the answers that they get alone."""
    starts = [bars.assemble({"A": x}) for x in np.linspace(0.2, 0.9, 6)]
    questions = [{"q": list(q), "joint": "A", "component": 0, "value": float(q[0] + 0.1)} for q in starts]
    alone = [json.loads(ask(opened, body=question)[1])["q"] for question in questions]
    found = {}
    threads = [
        threading.Thread(
            target=lambda k=k: found.update({k: json.loads(ask(opened, body=questions[k % 6])[1])["q"]})
        )
        for k in range(24)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 24
    for k, q in found.items():
        np.testing.assert_allclose(q, alone[k % 6], atol=1e-12)


def test_a_closed_view_hangs_up_on_browsers_that_keep_their_connection(bars):
    made = view(bars, show=False)
    url = urlsplit(made.url)
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=300)
    question = json.dumps({"q": [0.0, 0.0, 0.0]})
    connection.request("POST", f"{url.path}pose", question)
    assert connection.getresponse().read()
    kept = connection.sock
    made.close()
    assert kept is not None and kept.recv(1) == b""
    connection.close()


def test_a_closed_view_says_so_and_frees_its_port(bars):
    made = view(bars, show=False)
    port = urlsplit(made.url).port
    made.close()
    made.close()
    with pytest.raises(ct.StateError, match="closed"):
        _ = made.url
    with view(bars, show=False, port=port) as again:
        assert urlsplit(again.url).port == port
        with pytest.raises(ct.StateError, match=f"{port} cannot be listened on"):
            view(bars, show=False, port=port)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"port": -1}, "port is -1"), ({"port": True}, "port is True"), ({"host": ""}, "host is ''"),
        ({"q": [1.0]}, r"q has shape \(1,\), give \(3,\)"), ({"ghost": 1}, "ghost: these options are for runs"),
    ],
)  # fmt: skip
def test_bad_arguments_of_a_view_are_named(bars, options, words):
    with pytest.raises(ct.StateError, match=words):
        view(bars, show=False, **options)


def test_mechanisms_systems_and_runs_have_views(bars, monkeypatch):
    run = ct.simulate(bars, bars.assemble({"A": 0.3}), None, 0.1, integrator="rk4", step=1e-2)
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda url: opened.append(url) or True)
    for made in (
        generators.four_bar().view(show=False),
        bars.view(bars.assemble({"A": 0.3}), show=False),
        run.view(show=True),
    ):
        with made:
            assert "<iframe" in made._repr_html_() and "View of 'four-bar'" in repr(made)
    assert len(opened) == 1


def test_nothing_of_a_view_is_imported_before_it_is_made():
    import subprocess
    import sys

    code = "import sys, catena; sys.exit(any(n.startswith('catena.view') or n == 'http.server' for n in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_view_shows_itself_inside_a_notebook(bars, monkeypatch):
    from types import ModuleType

    displayed = []
    shell = type("ZMQInteractiveShell", (), {})
    notebook, display = ModuleType("IPython"), ModuleType("IPython.display")
    notebook.get_ipython = shell
    display.HTML, display.display = str, displayed.append
    monkeypatch.setitem(__import__("sys").modules, "IPython", notebook)
    monkeypatch.setitem(__import__("sys").modules, "IPython.display", display)
    monkeypatch.setattr("webbrowser.open", lambda url: pytest.fail("no browser is opened"))
    run = ct.simulate(bars, bars.assemble({"A": 0.3}), None, 0.1, integrator="rk4", step=1e-2)
    with view(bars) as moved, view(run) as played:
        moved.show()
        played.show(height=300)
        assert f'src="{moved.url}"' in displayed[0]
        # A run is part of the notebook and needs no server.
        assert (
            "srcdoc=" in displayed[1] and "height: 300px" in displayed[1] and played.url not in displayed[1]
        )


def test_bodies_that_stand_still_for_a_moment_are_told_with_what_drives_instead():
    """The seven-body mechanism starts where only two bodies move: the others were said to be unable to."""
    s = generators.andrews().system()
    q = s.assemble(s.mechanism.initial.q)
    v = s.velocity(q, {"beta": 1.0})
    shape = scene(s, q)
    with view(s, q, show=False) as made:
        answer = made.questions.answer
        for body in shape.bodies[1:]:
            place = s.pose(q, body).p
            asked = {
                "body": body,
                "point": [0.01, 0.0, 0.0],
                "to": [float(x) for x in place + [0.003, 0.002, 0]],
            }
            told = answer({"q": list(q), **asked})
            stands = np.linalg.norm(s.twist(q, v, body)) < 1e-9
            assert ("stands still" in told["note"] and "move beta" in told["note"]) == stands
            assert (np.abs(np.array(told["q"]) - q).max() < 1e-9) == stands
    assert {key.split()[0] for key, mark in told["marks"].items() if mark == "dead"} == {
        name for name in s.joints if abs(v[s.slice_v(name)][0]) < 1e-9
    }


def test_a_rocker_that_is_dragged_beyond_its_dead_point_stays_there_and_says_what_drives_on():
    """At the end of its way crank and coupler are one line: |AC| is their sum."""
    drawn = ct.Linkage("crank-rocker", {"A": (0, 0), "D": (1, 0)}, gravity=0.0)
    drawn.bars({"A-B": 0.4, "B-C": 1.0, "C-D": 0.8}).sketch({"B": (0, 0.4), "C": (0.9, 0.8)})
    system = drawn.mechanism().system()
    q = system.assemble()
    mover = Mover(system, 1.0)
    point = np.linalg.inv(system.body_poses(q)["C-D"]) @ [*system.pose(q, "C").p, 1.0]
    for k in range(25):
        moved = mover.drag(q, "C-D", point[:3], np.array([0.9 + 0.1 * k, 0.0, 0.8 - 0.1 * k]))
        q = moved.q
    A, C = (np.asarray(system.pose(q, name).p) for name in ("A", "C"))
    assert np.linalg.norm(C - A) == pytest.approx(1.4, abs=1e-5)
    assert "dead point" in moved.note and "A, which can drive" in moved.note
    assert np.abs(system.closure(q)[0]).max() < 1e-9
