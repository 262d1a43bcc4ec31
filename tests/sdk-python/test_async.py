"""The main paths once more with the asynchronous packages."""

import asyncio

import pytest
from e2b import (
    AsyncSandbox,
    CommandExitException,
    FilesystemEventType,
    PtySize,
    SandboxNotRunningException,
    SandboxQuery,
    TimeoutException,
)


async def until(condition, seconds=5.0):
    end = asyncio.get_running_loop().time() + seconds
    while not condition() and asyncio.get_running_loop().time() < end:
        await asyncio.sleep(0.05)
    return condition()


async def test_life(async_sandbox):
    assert await async_sandbox.is_running()
    info = await async_sandbox.get_info()
    assert info.sandbox_id == async_sandbox.sandbox_id
    again = await AsyncSandbox.connect(async_sandbox.sandbox_id)
    assert (await again.commands.run("echo hi")).stdout == "hi\n"
    assert await async_sandbox.kill() is True
    assert not await async_sandbox.is_running()
    assert await async_sandbox.kill() is False


async def test_list(async_sandbox):
    tagged = await AsyncSandbox.create(timeout=60, metadata={"only": async_sandbox.sandbox_id})
    found = await AsyncSandbox.list(query=SandboxQuery(metadata={"only": async_sandbox.sandbox_id})).next_items()
    assert [info.sandbox_id for info in found] == [tagged.sandbox_id]
    await tagged.kill()


async def test_cells(async_interpreter):
    heard = []
    await async_interpreter.run_code("x = 41")
    execution = await async_interpreter.run_code("print('said')\nx + 1", on_stdout=lambda m: heard.append(m.line))
    assert execution.text == "42" and "".join(heard) == "said\n"
    assert (await async_interpreter.run_code("1/0")).error.name == "ZeroDivisionError"
    context = await async_interpreter.create_code_context(cwd="/tmp")
    assert (await async_interpreter.run_code("import os\nos.getcwd()", context=context)).text == "/tmp"
    await async_interpreter.remove_code_context(context)


async def test_contexts_in_parallel(async_interpreter):
    contexts = [await async_interpreter.create_code_context() for _ in range(3)]
    executions = await asyncio.gather(
        *(async_interpreter.run_code(f"import time; time.sleep(0.2); {i}", context=c) for i, c in enumerate(contexts))
    )
    assert [e.text for e in executions] == ["0", "1", "2"]


async def test_cell_timeout(async_interpreter):
    await async_interpreter.run_code("kept = 7")
    with pytest.raises(TimeoutException):
        await async_interpreter.run_code("import time\ntime.sleep(300)", timeout=2)
    assert (await async_interpreter.run_code("kept", timeout=10)).text == "7"


async def test_cancelled_task_interrupts_the_cell(async_interpreter):
    await async_interpreter.run_code("kept = 7")
    task = asyncio.create_task(async_interpreter.run_code("import time\ntime.sleep(300)"))
    await asyncio.sleep(1)
    task.cancel()
    assert (await async_interpreter.run_code("kept", timeout=10)).text == "7"


async def test_commands(async_sandbox):
    assert (await async_sandbox.commands.run("echo out")).stdout == "out\n"
    with pytest.raises(CommandExitException):
        await async_sandbox.commands.run("exit 3")
    handle = await async_sandbox.commands.run("cat", background=True, stdin=True)
    await handle.send_stdin("typed\n")
    async with async_sandbox.commands.stream_input(handle.pid) as stdin:
        await stdin.send("streamed\n")
    await handle.close_stdin()
    assert (await handle.wait()).stdout == "typed\nstreamed\n"


async def test_many_commands_at_once(async_sandbox):
    results = await asyncio.gather(*(async_sandbox.commands.run(f"sleep 0.2; echo {i}") for i in range(30)))
    assert [r.stdout for r in results] == [f"{i}\n" for i in range(30)]


async def test_command_timeout(async_sandbox):
    with pytest.raises(TimeoutException):
        await async_sandbox.commands.run("setsid sleep 4249 & sleep 4249", timeout=1)
    await asyncio.sleep(1)
    assert (await async_sandbox.commands.run("pgrep -f 'sleep 424[9]' | wc -l")).stdout.strip() == "0"


async def test_terminal(async_sandbox):
    seen = bytearray()
    handle = await async_sandbox.pty.create(PtySize(24, 80), on_data=seen.extend)
    await async_sandbox.pty.send_stdin(handle.pid, b"stty size; echo re''ady\n")
    assert await until(lambda: b"ready" in seen) and b"24 80" in seen
    await async_sandbox.pty.resize(handle.pid, PtySize(40, 100))
    await async_sandbox.pty.send_stdin(handle.pid, b"stty size; echo a''gain\n")
    assert await until(lambda: b"again" in seen) and b"40 100" in seen
    assert await handle.kill()


async def test_files(async_sandbox):
    await async_sandbox.files.write_files([{"path": f"{i}.txt", "data": str(i)} for i in range(5)])
    assert [e.name for e in await async_sandbox.files.list(".") if e.name.endswith(".txt")] == [
        f"{i}.txt" for i in range(5)
    ]
    texts = await asyncio.gather(*(async_sandbox.files.read(f"{i}.txt") for i in range(5)))
    assert texts == ["0", "1", "2", "3", "4"]
    await async_sandbox.files.write("big", b"x" * 3_000_000)
    stream = await async_sandbox.files.read("big", format="stream")
    assert sum([len(chunk) async for chunk in stream]) == 3_000_000
    assert await async_sandbox.files.make_dir("d") and not await async_sandbox.files.make_dir("d")
    await async_sandbox.files.rename("d", "e")
    await async_sandbox.files.remove("e")
    assert not await async_sandbox.files.exists("e")


async def test_watch(async_sandbox):
    events, ended = [], []
    await async_sandbox.files.make_dir("w/sub")
    handle = await async_sandbox.files.watch_dir("w", events.append, on_exit=ended.append, recursive=True, timeout=0)
    await async_sandbox.files.write("w/sub/f", "x")
    assert await until(lambda: len(events) >= 3)
    await asyncio.sleep(0.2)
    assert [(e.name, e.type) for e in events] == [
        ("sub/f", FilesystemEventType.CREATE),
        ("sub/f", FilesystemEventType.CHMOD),
        ("sub/f", FilesystemEventType.WRITE),
    ]
    await handle.stop()
    await async_sandbox.files.write("w/later", "x")
    await asyncio.sleep(0.3)
    assert len(events) == 3 and ended == [None]


async def test_killed_during_a_command(async_sandbox):
    task = asyncio.create_task(async_sandbox.commands.run("sleep 60"))
    await asyncio.sleep(1)
    await AsyncSandbox.kill(async_sandbox.sandbox_id)
    with pytest.raises(SandboxNotRunningException) as caught:
        await task
    assert "killed or reached its end of life" in str(caught.value)


async def test_killed_during_a_cell(async_interpreter):
    task = asyncio.create_task(async_interpreter.run_code("import time\ntime.sleep(60)"))
    await asyncio.sleep(1)
    await AsyncSandbox.kill(async_interpreter.sandbox_id)
    with pytest.raises(TimeoutException) as caught:
        await task
    assert "sandbox was killed while the request was in progress" in str(caught.value)


async def test_twenty_at_once():
    boxes = await asyncio.gather(*(AsyncSandbox.create(timeout=60) for _ in range(20)))
    try:
        said = await asyncio.gather(*(box.commands.run("echo $E2B_SANDBOX_ID") for box in boxes))
        assert [r.stdout.strip() for r in said] == [box.sandbox_id for box in boxes]
    finally:
        assert all(await asyncio.gather(*(box.kill() for box in boxes)))
