// The official command line as a user types it, with nothing but the three variables that `hood env` prints.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Sandbox } from 'e2b'
import { create, until } from './support.js'

const CLI = fileURLToPath(new URL('node_modules/@e2b/cli/dist/index.js', import.meta.url))
let home

// A home without a login.
before(async () => { home = await mkdtemp(path.join(tmpdir(), 'hood-cli-')) })
after(() => rm(home, { recursive: true }))

/** What `e2b …` says, and its exit. */
function e2b(words, input) {
  const { PATH, E2B_API_URL, E2B_SANDBOX_URL, E2B_API_KEY } = process.env
  const env = { PATH, HOME: home, NO_UPDATE_NOTIFIER: '1', E2B_API_URL, E2B_SANDBOX_URL, E2B_API_KEY }
  return new Promise((done) => {
    const child = execFile(process.execPath, [CLI, ...words], { env, timeout: 60_000 }, (error, stdout, stderr) => {
      done({ code: error ? error.code : 0, stdout, stderr })
    })
    child.stdin.end(input)
  })
}

/** What it says when it must succeed. */
async function said(...words) {
  const { code, stdout, stderr } = await e2b(words)
  assert.equal(code, 0, stdout + stderr)
  return stdout
}

test('create, list, info, kill', async (t) => {
  const created = await said('sandbox', 'create', 'base', '--detach')
  const [id] = created.match(/\bi[a-z0-9]{19,20}\b/)
  t.after(() => Sandbox.kill(id))
  assert.match(await said('sandbox', 'list'), new RegExp(id))
  const listed = JSON.parse(await said('sandbox', 'list', '--format', 'json'))
  assert.ok(listed.some((entry) => entry.sandboxId === id))
  const info = await said('sandbox', 'info', id)
  assert.match(info, new RegExp(id))
  assert.match(info, /base/)
  assert.equal(JSON.parse(await said('sandbox', 'info', id, '--format', 'json')).sandboxId, id)
  await said('sandbox', 'kill', id)
  const after = JSON.parse(await said('sandbox', 'list', '--format', 'json'))
  assert.ok(!after.some((entry) => entry.sandboxId === id))
})

test('list with filters', async (t) => {
  const sandbox = await create(t, { metadata: { cli: 'yes' } })
  const filtered = JSON.parse(await said('sandbox', 'list', '--metadata', 'cli=yes', '--template', 'base', '--format', 'json'))
  assert.deepEqual(filtered.map((entry) => entry.sandboxId), [sandbox.sandboxId])
})

test('exec', async (t) => {
  const { sandboxId } = await create(t)
  assert.equal(await said('sandbox', 'exec', sandboxId, 'echo', 'from inside'), 'from inside\n')
  assert.equal(await said('sandbox', 'exec', '-u', 'root', '-c', '/tmp', '-e', 'A=b c', sandboxId, 'sh', '-c', 'echo "$(whoami) $(pwd) $A"'), 'root /tmp b c\n')
  const failed = await e2b(['sandbox', 'exec', sandboxId, 'sh', '-c', 'echo out; echo err >&2; exit 7'])
  assert.deepEqual([failed.code, failed.stdout], [7, 'out\n'])
  assert.match(failed.stderr, /err/)
})

test('exec with something piped in', async (t) => {
  const { sandboxId } = await create(t)
  const { code, stdout } = await e2b(['sandbox', 'exec', sandboxId, 'wc', '-l'], 'one\ntwo\n')
  assert.deepEqual([code, stdout.trim()], [0, '2'])
})

test('exec in the background', async (t) => {
  const sandbox = await create(t)
  await said('sandbox', 'exec', '--background', sandbox.sandboxId, 'sh', '-c', 'sleep 0.5; echo done > /tmp/proof')
  assert.ok(await until(() => sandbox.files.exists('/tmp/proof')))
})

test('metrics', async (t) => {
  const sandbox = await create(t)
  assert.ok(await until(async () => (await sandbox.getMetrics()).length > 0, 30))
  assert.match(await said('sandbox', 'metrics', sandbox.sandboxId), /cpu/i)
  const [line] = (await said('sandbox', 'metrics', '--format', 'json', sandbox.sandboxId)).trim().split('\n').filter((l) => l.startsWith('{'))
  assert.ok(JSON.parse(line))
})

test('logs', async (t) => {
  const sandbox = await create(t)
  await sandbox.commands.run('echo something')
  await said('sandbox', 'logs', sandbox.sandboxId)
  await said('sandbox', 'logs', '--format', 'json', '--level', 'DEBUG', sandbox.sandboxId)
})

test('nobody', async () => {
  for (const words of [['info', 'inobody0000000000000'], ['exec', 'inobody0000000000000', 'true'], ['logs', 'inobody0000000000000']]) {
    const { code, stdout, stderr } = await e2b(['sandbox', ...words])
    assert.notEqual(code, 0, `${words}: ${stdout}${stderr}`)
  }
})

test('a wrong key', async () => {
  const key = process.env.E2B_API_KEY
  process.env.E2B_API_KEY = 'e2b_' + '0'.repeat(40)
  const { code } = await e2b(['sandbox', 'list'])
  process.env.E2B_API_KEY = key
  assert.notEqual(code, 0)
})

test('templates', async () => {
  const listed = JSON.parse(await said('template', 'list', '--format', 'json'))
  assert.ok(['base', 'code-interpreter-v1'].every((name) => listed.some((template) => template.aliases.includes(name))))
})
