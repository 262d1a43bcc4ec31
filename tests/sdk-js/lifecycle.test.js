// A sandbox is made, found, looked at, reached again and ended.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { AuthenticationError, NotFoundError, Sandbox, SandboxNotFoundError } from 'e2b'
import { create, interpret, sleep, until } from './support.js'

test('create, run, kill', async (t) => {
  const sandbox = await create(t)
  assert.equal(await sandbox.isRunning(), true)
  assert.equal((await sandbox.commands.run('echo hello')).stdout, 'hello\n')
  assert.equal(await sandbox.kill(), true)
  assert.equal(await sandbox.isRunning(), false)
  assert.equal(await Sandbox.kill(sandbox.sandboxId), false)
})

test('info', async (t) => {
  const sandbox = await create(t, { metadata: { who: 'tests' }, timeoutMs: 77_000 })
  const info = await sandbox.getInfo()
  assert.equal(info.sandboxId, sandbox.sandboxId)
  assert.equal(info.state, 'running')
  assert.deepEqual(info.metadata, { who: 'tests' })
  assert.ok(Math.abs(info.endAt - info.startedAt - 77_000) < 2000)
})

test('connect to the same sandbox', async (t) => {
  const sandbox = await create(t)
  await sandbox.files.write('kept.txt', 'yes')
  const again = await Sandbox.connect(sandbox.sandboxId)
  assert.equal(await again.files.read('kept.txt'), 'yes')
})

test('nobody is not found', async () => {
  await assert.rejects(Sandbox.connect('inobody0000000000000'), NotFoundError)
  await assert.rejects(Sandbox.getInfo('inobody0000000000000'), SandboxNotFoundError)
})

test('a wrong key', async () => {
  for (let i = 0; i < 10; i++) {
    await assert.rejects(Sandbox.create({ apiKey: 'e2b_' + '0'.repeat(40) }), AuthenticationError)
  }
})

test('an unknown template is named', async () => {
  await assert.rejects(Sandbox.create('no-such-template'), /no-such-template/)
})

test('list with a filter of odd characters, by pages', async (t) => {
  const metadata = { test: randomUUID(), 'a b': 'c&d=e+f%20 ü😀' }
  const ids = []
  for (let i = 0; i < 3; i++) ids.push((await create(t, { metadata })).sandboxId)
  await create(t, { metadata: { test: metadata.test } })
  const pages = []
  const paginator = Sandbox.list({ query: { metadata, state: ['running'] }, limit: 2, order: 'asc' })
  while (paginator.hasNext) pages.push((await paginator.nextItems()).map((info) => info.sandboxId))
  assert.deepEqual(pages, [ids.slice(0, 2), ids.slice(2)])
})

test('it ends when its time is over', async (t) => {
  const sandbox = await create(t, { timeoutMs: 3000 })
  const { endAt } = await sandbox.getInfo()
  assert.ok(await until(async () => !(await sandbox.isRunning()), 6))
  assert.ok(Math.abs(Date.now() - endAt) < 1000)
})

test('set timeout', async (t) => {
  const sandbox = await create(t, { timeoutMs: 2000 })
  await sandbox.setTimeout(60_000)
  await sleep(3000)
  assert.equal(await sandbox.isRunning(), true)
  await sandbox.setTimeout(0)
  assert.ok(await until(async () => !(await sandbox.isRunning()), 2))
})

test('connect never shortens', async (t) => {
  const sandbox = await create(t)
  const before = (await sandbox.getInfo()).endAt
  await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 5000 })
  assert.deepEqual((await sandbox.getInfo()).endAt, before)
})

test('environment of the sandbox', async (t) => {
  const sandbox = await interpret(t, { envs: { ODD: 'it\'s "odd"\n$HOME' } })
  assert.equal((await sandbox.commands.run('printf %s "$ODD"')).stdout, 'it\'s "odd"\n$HOME')
  const execution = await sandbox.runCode('import os\nprint(os.environ["ODD"], end="")')
  assert.equal(execution.logs.stdout.join(''), 'it\'s "odd"\n$HOME')
})

test('metrics', async (t) => {
  const sandbox = await create(t)
  const metrics = await until(async () => {
    const points = await sandbox.getMetrics()
    return points.length > 0 && points
  }, 30)
  assert.ok(metrics[0].memTotal >= metrics[0].memUsed && metrics[0].cpuCount >= 1)
})
