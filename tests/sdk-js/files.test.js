// Files, directories, addresses of files, and what changes.
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { FileNotFoundError, FilesystemEventType, FileType, InvalidArgumentError } from 'e2b'
import { create, sleep, until } from './support.js'

test('text, bytes, streams', async (t) => {
  const sandbox = await create(t)
  const info = await sandbox.files.write('dir/note.txt', 'héllo\n漢字 😀')
  assert.deepEqual([info.path, info.name, info.type], ['/home/user/dir/note.txt', 'note.txt', FileType.FILE])
  assert.equal(await sandbox.files.read('dir/note.txt'), 'héllo\n漢字 😀')
  const data = randomBytes(5 << 20)
  await sandbox.files.write('big.bin', new Blob([data]))
  const digest = createHash('sha256').update(data).digest('hex')
  assert.ok((await sandbox.commands.run('sha256sum big.bin')).stdout.startsWith(digest))
  assert.ok(data.equals(Buffer.from(await sandbox.files.read('big.bin', { format: 'bytes' }))))
  const hash = createHash('sha256')
  for await (const chunk of await sandbox.files.read('big.bin', { format: 'stream' })) hash.update(chunk)
  assert.equal(hash.digest('hex'), digest)
})

test('several files in one call', async (t) => {
  const sandbox = await create(t)
  const infos = await sandbox.files.write([{ path: 'a.txt', data: 'a' }, { path: 'sub/b.txt', data: 'b' }])
  assert.deepEqual(infos.map((info) => info.path), ['/home/user/a.txt', '/home/user/sub/b.txt'])
  assert.equal(await sandbox.files.read('sub/b.txt'), 'b')
})

test('metadata and compression', async (t) => {
  const sandbox = await create(t)
  await sandbox.files.write('m.txt', 'again '.repeat(10_000), { metadata: { origin: 'tests' }, gzip: true })
  assert.equal((await sandbox.files.read('m.txt', { gzip: true })).length, 60_000)
  assert.deepEqual((await sandbox.files.getInfo('m.txt')).metadata, { origin: 'tests' })
})

test('directories', async (t) => {
  const sandbox = await create(t)
  assert.equal(await sandbox.files.makeDir('d'), true)
  assert.equal(await sandbox.files.makeDir('d'), false)
  await sandbox.files.write('d/e/f.txt', 'x')
  assert.deepEqual((await sandbox.files.list('d', { depth: 2 })).map((entry) => entry.name), ['e', 'f.txt'])
  await sandbox.files.rename('d/e/f.txt', 'd/g.txt')
  const info = await sandbox.files.getInfo('d/g.txt')
  assert.deepEqual([info.size, info.owner, info.permissions], [1, 'user', '-rw-r--r--'])
  await sandbox.files.remove('d')
  assert.equal(await sandbox.files.exists('d'), false)
})

for (const name of ['with space', 'emoji 😀', 'new\nline', '-rf', '%2e%2e%2f', '\u202ertl', 'quote\'"', 'a+b=c&d?e#f']) {
  test(`the name ${JSON.stringify(name)}`, async (t) => {
    const sandbox = await create(t)
    await sandbox.files.write(`odd/${name}`, name)
    assert.equal(await sandbox.files.read(`odd/${name}`), name)
    assert.deepEqual((await sandbox.files.list('odd')).map((entry) => entry.name), [name])
  })
}

test('what is not there, and what is no file', async (t) => {
  const sandbox = await create(t)
  await assert.rejects(sandbox.files.read('missing'), FileNotFoundError)
  await assert.rejects(sandbox.files.list('missing'), FileNotFoundError)
  await assert.rejects(sandbox.files.read('/tmp'), InvalidArgumentError)
  await assert.rejects(sandbox.files.write('nul\0byte', 'x'), /NUL/)
})

test('addresses for anybody', async (t) => {
  const sandbox = await create(t)
  const form = new FormData()
  form.append('file', new Blob(['uploaded']), 'any.txt')
  const up = await fetch(await sandbox.uploadUrl('in.txt'), { method: 'POST', body: form })
  assert.equal(up.status, 200)
  assert.equal(await (await fetch(await sandbox.downloadUrl('in.txt'))).text(), 'uploaded')
  const expired = await fetch(await sandbox.downloadUrl('in.txt', { useSignatureExpiration: -1 }))
  assert.equal(expired.status, 401)
  assert.equal((await expired.text()).trim(), '{"code":401,"message":"signature is already expired"}')
})

test('watch', async (t) => {
  const sandbox = await create(t)
  await sandbox.files.makeDir('w/sub')
  const events = []
  const handle = await sandbox.files.watchDir('w', (event) => { events.push([event.name, event.type]) }, { recursive: true, timeoutMs: 0 })
  await sandbox.files.write('w/sub/f', 'x')
  await until(() => events.length >= 3)
  await sleep(200)
  assert.deepEqual(events, [
    ['sub/f', FilesystemEventType.CREATE],
    ['sub/f', FilesystemEventType.CHMOD],
    ['sub/f', FilesystemEventType.WRITE],
  ])
  await handle.stop()
  await sandbox.files.write('w/later', 'x')
  await sleep(300)
  assert.equal(events.length, 3)
})
