"""The server of the studio answers its own page and nobody else, and what comes from a page does no harm."""

import base64
import hashlib
import http.client
import json
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files

import pytest

import catena as ct
from catena.mechanism import generators
from catena.studio import studio


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    with studio(folder=tmp_path_factory.mktemp("files"), show=False) as opened:
        yield opened


def send(made, method, path, body=None, **headers):
    host, port = made.server.address
    connection = http.client.HTTPConnection(host, port, timeout=60)
    own = {"Cookie": f"{made.server.cookie}={made.server.secret}"}
    if method == "POST":
        own |= {"Content-Type": "application/json", "X-Catena": "1"}
    own |= {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(
        method, path, body=body, headers={name: value for name, value in own.items() if value is not None}
    )
    answer = connection.getresponse()
    found = answer.status, dict(answer.getheaders()), answer.read()
    connection.close()
    return found


def ask(made, what, **question):
    code, _, content = send(made, "POST", f"/ask/{what}", json.dumps(question))
    return code, json.loads(content)


def exported(made, ending):
    content = send(made, "POST", "/ask/export", json.dumps({"ending": ending}))[2]
    answers = [json.loads(line) for line in content.decode().splitlines()]
    assert {answer["kind"] for answer in answers[:-1]} <= {"progress"} and answers[-1]["kind"] == "done"
    return base64.b64decode(answers[-1]["content"])


def test_the_secret_becomes_a_cookie_that_no_other_site_sends(made):
    code, headers, _ = send(made, "GET", f"/{made.server.secret}/", Cookie=None)
    assert code == 302 and headers["Location"] == "/"
    assert "SameSite=Strict" in headers["Set-Cookie"] and "HttpOnly" in headers["Set-Cookie"]
    code, headers, page = send(made, "GET", "/")
    assert code == 200 and b"studio.js" in page
    assert (
        "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        and headers["X-Frame-Options"] == "DENY"
    )
    assert "script-src 'self'" in send(made, "GET", "/")[1]["Content-Security-Policy"]


@pytest.mark.parametrize(
    "headers",
    [
        {"Cookie": None}, {"Cookie": "catena=x"}, {"Host": "example.org"}, {"Origin": "http://example.org"},
        {"X_Catena": None}, {"Content_Type": "text/plain"}, {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
    ids=lambda given: "-".join(map(str, given)),
)  # fmt: skip
def test_what_does_not_come_from_the_page_is_refused(made, headers):
    before = made.session.text
    edit = {"name": "add bar", "arguments": {"start": [0, 0], "end": [1, 0]}, "base": made.session.revision}
    assert send(made, "POST", "/ask/act", json.dumps(edit), **headers)[0] == 403
    assert made.session.text == before


def test_malformed_and_huge_questions_are_answered_without_harm(made):
    before = made.session.text
    for body, code in (
        (b"", 400), (b"{", 400), (b"[]", 400), (b'"x"', 400), (b"[" * 100_000, 400), (b"{}", 400),
        (b'{"base": true}', 400),
        (b'{"base": 0, "name": "add bar", "arguments": [1]}', 400), (b"\xff\xfe", 400),
    ):  # fmt: skip
        assert send(made, "POST", "/ask/act", body)[0] == code
    assert send(made, "POST", "/ask/act", b"{}", Content_Length="99999999999")[0] == 413
    assert send(made, "POST", "/ask/nothing", b"{}")[0] == 404
    for path in ("/../pyproject.toml", "/vendor/../studio.js", "/%2e%2e/secret", "/vendor/", "/worker.py"):
        assert send(made, "GET", path)[0] == 404
    assert made.session.text == before
    for name in ("../x.toml", "/etc/passwd", "x" * 5000):
        assert ask(made, "open", file=name, base=made.session.revision)[0] == 400


def test_a_gallery_file_is_opened_and_a_run_comes_in_pieces(made):
    code, told = ask(made, "gallery")
    assert code == 200 and {"four_bar", "stewart", "hslm"} <= {one["name"] for one in told["gallery"]}
    assert ask(made, "open", generator="four_bar", base=made.session.revision)[0] == 200
    code, headers, content = send(made, "POST", "/ask/run", "{}")
    last = json.loads(content.decode().splitlines()[-1])
    assert code == 200 and headers["Transfer-Encoding"] == "chunked" and last["kind"] == "done", last.get(
        "error"
    )
    assert last["movie"]["segments"] and last["told"]["accuracy"] == "fine"
    page = exported(made, ".html").decode()
    assert page.startswith("<!DOCTYPE html>") and "http://" not in page.replace("http://www.w3.org", "")


def test_models_that_are_dropped_become_texts_and_broken_ones_are_told(made, tmp_path):
    generators.chain(3).save(tmp_path / "chain.urdf")
    content = (tmp_path / "chain.urdf").read_text()
    code, state = ask(made, "bring", name="../chain.urdf", content=content, base=made.session.revision)
    assert code == 200 and state["name"] == "chain.toml" and len(state["parts"]["bodies"]) == 3
    before = made.session.text
    for broken in (content[:200], content.replace("</robot>", ""), "", "<robot/>"):
        code, told = ask(made, "bring", name="x.urdf", content=broken, base=made.session.revision)
        assert code == 400 and "x.urdf" in told["error"] and "/tmp" not in told["error"]
    assert made.session.text == before


def test_runs_are_handed_out_as_tables_and_whole(made, tmp_path):
    assert ask(made, "open", generator="four_bar", base=made.session.revision)[0] == 200
    run = made.session.reading.scenario.run()
    table = exported(made, ".csv").decode().splitlines()
    assert len(table) - 1 == len(run.t) and table[0].startswith("t")
    (tmp_path / "run.nc").write_bytes(exported(made, ".nc"))
    assert (ct.load_run(tmp_path / "run.nc").q == run.q).all()
    code, told = ask(made, "export", ending=".exe")
    assert code == 400 and ".csv" in told["error"]


def test_a_link_leads_back_to_the_text_that_it_was_made_of(made):
    code, told = ask(made, "link")
    name = told["link"].rpartition("=")[2]
    text = made.session.text
    assert code == 200 and told["link"].startswith(made.url)
    assert (
        ask(made, "act", name="set run", arguments={"duration": "3 s"}, base=made.session.revision)[0] == 200
    )
    assert made.session.text != text
    assert ask(made, "follow", link=name, base=made.session.revision)[0] == 200 and made.session.text == text
    for wrong in ("nothing", "", None, 3, "../x"):
        assert ask(made, "follow", link=wrong, base=made.session.revision)[0] == 400
    assert send(made, "GET", f"/{made.server.secret}/?link={name}")[1]["Location"] == f"/?link={name}"
    assert send(made, "GET", f"/{made.server.secret}/?link=%0d%0aX:1")[1]["Location"] == "/"


def test_meshes_are_kept_in_the_folder_only_and_replace_nothing(made):
    content = base64.b64encode(b"v 0 0 0\n").decode()
    assert ask(made, "mesh", name="../../part.obj", content=content)[1] == {"path": "part.obj"}
    assert (made.session.folder / "part.obj").read_bytes() == b"v 0 0 0\n"
    other = base64.b64encode(b"v 1 1 1\n").decode()
    for name, given in (("part.obj", other), ("x.py", content), (".obj", content), ("x.stl", ""), ("x.stl", "%%"),
                        ("x.stl", 3), (None, content), ("a\0.stl", content),
                        ("x" * 300 + ".stl", content)):  # fmt: skip
        assert ask(made, "mesh", name=name, content=given)[0] == 400
    assert sorted(
        file.name for file in made.session.folder.glob("*.*") if file.suffix in (".obj", ".stl", ".py")
    ) == ["part.obj"]


def test_it_listens_on_this_computer_only_and_no_python_comes_from_a_page(made, tmp_path):
    assert made.server.address[0] == "127.0.0.1"
    mark = tmp_path / "ran"
    (made.session.folder / "evil.py").write_text(f"open({str(mark)!r}, 'w')\nclass Kind: pass\n")
    before = made.session.text
    text = before + '\n[[joint]]\nname = "x"\nkind = "evil:Kind"\nparent = "ground"\nchild = "crank"\n'
    code, state = ask(made, "text", text=text, base=made.session.revision)
    assert code == 200 and state["fault"] and not mark.exists()
    assert ask(made, "undo", base=made.session.revision)[0] == 200
    for formula in ("__import__('os').system('true')", "open('x')", "(lambda: 1)()"):
        fields = {"name": "set run", "arguments": {"duration": formula}, "base": made.session.revision}
        assert ask(made, "act", **fields)[0] == 400
    assert made.session.text == before


def test_twenty_windows_are_answered_at_a_time_and_all_see_an_edit(made):
    def window(_):
        return [ask(made, "wait", revision=seen)[1] for seen in (made.session.revision, -1)]

    with ThreadPoolExecutor(20) as windows:
        for same, other in windows.map(window, range(20)):
            assert same == {"revision": made.session.revision} and other["text"] == made.session.text
        before = made.session.revision
        ask(made, "act", name="set run", arguments={"duration": "4 s"}, base=before)
        found = list(windows.map(lambda _: ask(made, "wait", revision=before)[1], range(20)))
    assert {state["revision"] for state in found} == {before + 1}
    assert all('duration = "4 s"' in state["text"] for state in found)


def test_texts_are_written_in_the_folder_only_and_complete_or_not_at_all(made, tmp_path, monkeypatch):
    session, outside = made.session, tmp_path / "outside.toml"
    outside.write_text("theirs")
    (session.folder / "linked.toml").symlink_to(outside)
    for name in (
        "../x.toml",
        str(tmp_path / "x.toml"),
        "a/../../x.toml",
        "linked.toml",
        "x\0.toml",
        "",
        None,
        3,
    ):
        assert ask(made, "save", name=name, base=session.revision)[0] == 400, name
    assert outside.read_text() == "theirs" and not (session.folder.parent / "x.toml").exists()
    assert ask(made, "save", name="kept.toml", base=session.revision)[0] == 200
    file = session.folder / "kept.toml"
    before, revision = file.read_text(), session.revision
    assert ask(made, "act", name="set run", arguments={"duration": "7 s"}, base=revision)[0] == 200

    def ends_on_the_way(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr("os.replace", ends_on_the_way)
    monkeypatch.setattr("pathlib.Path.replace", ends_on_the_way)
    code, told = ask(made, "save", name="kept.toml", base=session.revision)
    assert code == 400 and "full" in told["error"] and file.read_text() == before
    assert [each.name for each in session.folder.glob("*kept*") if each.suffix not in (".toml",)] == []


@pytest.mark.parametrize(
    ("package", "names"),
    [
        ("catena.studio.page.vendor", ("preact ", "@preact/signals ", "htm ", "@codemirror/view ")),
        ("catena.view.player.vendor", ("uplot ",)),
    ],
)
def test_what_is_taken_from_others_is_what_was_written_down(package, names):
    room, *path = package.removeprefix("catena.").split(".")
    folder = files(f"catena.{room}").joinpath(*path)
    lines = folder.joinpath("DIGESTS.txt").read_text(encoding="utf-8").split("\n")
    told = dict(reversed(line.split()) for line in lines if line)
    found = {file.name: file.read_bytes() for file in folder.iterdir() if file.name.endswith((".js", ".css"))}
    assert {name: hashlib.sha256(content).hexdigest() for name, content in found.items()} == told
    licences = folder.joinpath("LICENCES.txt").read_text(encoding="utf-8")
    assert all(name in licences for name in names)


def test_a_saved_page_has_the_licence_of_what_draws_its_plots(tmp_path):
    """A page is a copy of uPlot, whose licence wants to be in every copy; a page without plots is none."""
    s = ct.generators.four_bar().system()
    run = ct.simulate(s, s.assemble({"A": 0.5}), None, 0.1, integrator="rk4", step=1e-2)
    words = files("catena.view.player").joinpath("vendor", "LICENCES.txt").read_text(encoding="utf-8").split()
    for name, plots in (("with.html", True), ("without.html", False)):
        run.save_html(tmp_path / name, plots=plots)
        assert (" ".join(words) in " ".join((tmp_path / name).read_text(encoding="utf-8").split())) == plots
