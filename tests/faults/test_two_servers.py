"""A data directory belongs to one server; a host may have several."""

import subprocess


def test_the_second_server_on_a_directory_is_refused(place):
    command = [place.program, "serve", "--data-dir", place.data_dir, "--listen", "127.0.0.1:0"]
    second = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert second.returncode != 0
    assert f"another server runs on {place.data_dir}" in second.stderr.replace("`", "")
    assert "--data-dir" in second.stderr
    sandbox = place.create()
    assert place.running() == {sandbox}


def test_two_directories_have_two_servers(places, sdk):
    first, second = places().start(), places().start()
    mine, theirs = first.create(), second.create()
    assert first.running() == {mine} and second.running() == {theirs}
    assert first.host.instance() != second.host.instance()
    assert "not found" in first.said_of(theirs) or "no sandbox" in first.said_of(theirs)
    first.kill()
    assert second.reach(theirs).status_code == 204, "a crash of one is nothing to the other"
    assert sdk(second).connect(theirs).commands.run("echo alive").stdout == "alive\n"
    first.start()
    assert first.running() == set() and second.running() == {theirs}
