"""The promise of SPECIFICATION.md: whatever happens to the server, the host has nothing more than before."""

from concurrent.futures import ThreadPoolExecutor

from host import table

BATCHES, BATCH = 10, 20
ALIVE = 10  # at the moment of the crash
AT_ONCE = 8
PATIENCE = 30  # seconds for removals, which happen off the request path


def test_two_hundred_sandboxes_and_two_crashes_leave_nothing(place, capsys):
    host = place.host
    cold = host.stable(PATIENCE)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        # The template's builder is started by its first sandbox, and stays.
        place.end(place.create())
        warm = host.stable(PATIENCE)
        for batch in range(1, BATCHES + 1):
            alive = list(pool.map(lambda _: place.create(), range(BATCH)))
            assert place.running() == set(alive)
            if batch < BATCHES:
                list(pool.map(place.end, alive))
            else:
                list(pool.map(place.end, alive[ALIVE:]))
    full = host.stable(PATIENCE)
    assert len(place.running()) == ALIVE
    columns = {"before": cold, "one created, killed": warm, f"190 killed, {ALIVE} alive": full}
    for restart in ["first", "second"]:
        place.kill()
        place.start()
        assert place.running() == set()
        took = host.settle(cold, PATIENCE)
        columns[f"kill -9, {restart} start"] = host.counts()
        columns[f"kill -9, {restart} start"]["settled after"] = f"{took:.1f} s"
    with capsys.disabled():
        print(f"\n{BATCHES * BATCH} sandboxes:\n" + table(columns))


def test_killed_sandboxes_leave_a_living_server_as_it_was(place):
    host = place.host
    with ThreadPoolExecutor(AT_ONCE) as pool:

        def batch():
            list(pool.map(place.end, pool.map(lambda _: place.create(), range(BATCH))))
            counts = host.stable(PATIENCE)
            # One for each connection of this pool is the tests' own.
            return counts, host.descriptors()

        batch()
        before, descriptors = batch()
        for _ in range(3):
            after, now = batch()
            assert after == before
            assert abs(now - descriptors) <= AT_ONCE
