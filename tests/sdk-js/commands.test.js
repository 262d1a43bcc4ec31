// Commands and terminals.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CommandExitError, InvalidArgumentError, NotFoundError, SandboxNotFoundError, TimeoutError } from 'e2b'
import { create, until } from './support.js'

test('output and exit', async (t) => {
  const sandbox = await create(t)
  const { stdout, stderr, exitCode } = await sandbox.commands.run('echo out; echo err >&2')
  assert.deepEqual([stdout, stderr, exitCode], ['out\n', 'err\n', 0])
  await assert.rejects(sandbox.commands.run('echo some; exit 42'), (error) => {
    assert.ok(error instanceof CommandExitError)
    assert.deepEqual([error.exitCode, error.stdout], [42, 'some\n'])
    return true
  })
})

test('users, directory, environment, special characters', async (t) => {
  const sandbox = await create(t)
  const said = async (command, options) => (await sandbox.commands.run(command, options)).stdout.trim()
  assert.equal(await said('whoami'), 'user')
  assert.equal(await said('whoami', { user: 'root' }), 'root')
  assert.equal(await said('sudo whoami'), 'root')
  assert.equal(await said('pwd', { cwd: '/tmp' }), '/tmp')
  assert.equal(await said('echo "$A"', { envs: { A: '$HOME \'"' } }), '$HOME \'"')
  assert.equal(await said("printf %s '漢字 😀 `id` $(id)'"), '漢字 😀 `id` $(id)')
  await assert.rejects(sandbox.commands.run('pwd', { cwd: '/no/such/place' }), InvalidArgumentError)
})

test('background, list, connect, kill', async (t) => {
  const sandbox = await create(t)
  const handle = await sandbox.commands.run('for i in $(seq 100); do echo tick $i; sleep 0.1; done', { background: true })
  assert.ok((await sandbox.commands.list()).some((p) => p.pid === handle.pid))
  await handle.disconnect()
  let seen = ''
  const again = await sandbox.commands.connect(handle.pid, { onStdout: (text) => { seen += text } })
  assert.ok(await until(() => seen.includes('tick')))
  assert.equal(await again.kill(), true)
  await assert.rejects(again.wait(), CommandExitError)
  assert.equal(await sandbox.commands.kill(handle.pid), false)
  await assert.rejects(sandbox.commands.connect(999_999), NotFoundError)
})

test('stdin', async (t) => {
  const sandbox = await create(t)
  const handle = await sandbox.commands.run('while read -r line; do echo "got $line"; done; echo end', { background: true, stdin: true })
  await sandbox.commands.sendStdin(handle.pid, 'one\ntwo $HOME\n')
  await handle.sendStdin('три\n')
  await handle.closeStdin()
  assert.equal((await handle.wait()).stdout, 'got one\ngot two $HOME\ngot три\nend\n')
})

test('callbacks, and characters that are never cut', async (t) => {
  const sandbox = await create(t)
  const pieces = []
  const code = "import sys, time\nfor b in 'é漢😀'.encode() * 10:\n    sys.stdout.buffer.write(bytes([b])); sys.stdout.flush(); time.sleep(0.003)"
  await sandbox.commands.run(`python3 -c "${code}"`, { onStdout: (text) => { pieces.push(text) } })
  assert.equal(pieces.join(''), 'é漢😀'.repeat(10))
  assert.ok(!pieces.some((piece) => piece.includes('\ufffd')))
})

test('a timeout ends the whole tree', async (t) => {
  const sandbox = await create(t)
  await assert.rejects(sandbox.commands.run('setsid sleep 4250 & sleep 4250', { timeoutMs: 1000 }), TimeoutError)
  const left = async () => (await sandbox.commands.run("pgrep -f 'sleep 425[0]' | wc -l")).stdout.trim()
  assert.ok(await until(async () => (await left()) === '0', 3))
})

test('a child that holds the pipe does not hold the answer', async (t) => {
  const sandbox = await create(t)
  const began = Date.now()
  assert.equal((await sandbox.commands.run('sleep 60 & echo hi')).stdout, 'hi\n')
  assert.ok(Date.now() - began < 3000)
})

test('a terminal', async (t) => {
  const sandbox = await create(t)
  let screen = ''
  const decoder = new TextDecoder()
  const type = (text) => sandbox.pty.sendInput(handle.pid, new TextEncoder().encode(text))
  const shows = (text) => until(() => screen.includes(text))
  const handle = await sandbox.pty.create({
    rows: 24, cols: 80, envs: { MINE: 'its value' }, cwd: '/tmp',
    onData: (data) => { screen += decoder.decode(data, { stream: true }) },
  })
  await type('echo "[$MINE]" $(pwd) $(stty size | tr " " x)\n')
  assert.ok(await shows('[its value] /tmp 24x80'), screen)
  await sandbox.pty.resize(handle.pid, { rows: 50, cols: 132 })
  await type('echo cols=$(tput cols)=\n')
  assert.ok(await shows('cols=132='), screen)
  await type('exit 5\n')
  await assert.rejects(handle.wait(), (error) => error.exitCode === 5)
  assert.equal(await sandbox.pty.kill(handle.pid), false)
})

test('killed during a command', async (t) => {
  const sandbox = await create(t)
  const running = sandbox.commands.run('sleep 60')
  setTimeout(() => sandbox.kill(), 1000)
  await assert.rejects(running, (error) => error instanceof TimeoutError && /killed or reached its end of life/.test(error.message))
})

test('a dead sandbox', async (t) => {
  const sandbox = await create(t)
  await sandbox.kill()
  await assert.rejects(sandbox.commands.run('true'), SandboxNotFoundError)
  await assert.rejects(sandbox.files.list('/'), TimeoutError)
  await assert.rejects(sandbox.files.read('/etc/hostname'), TimeoutError)
  // The answer must reach a client that is still sending.
  for (const size of [1, 1_000_000, 20_000_000]) {
    await assert.rejects(sandbox.files.write('f', 'x'.repeat(size)), TimeoutError)
  }
})

test('thirty at once', async (t) => {
  const sandbox = await create(t)
  const results = await Promise.all(Array.from({ length: 30 }, (_, i) => sandbox.commands.run(`sleep 0.2; echo ${i}`)))
  assert.deepEqual(results.map((r) => r.stdout), Array.from({ length: 30 }, (_, i) => `${i}\n`))
})
