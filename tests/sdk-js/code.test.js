// Code runs cell after cell, and everything it shows comes back.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TimeoutError } from '@e2b/code-interpreter'
import { interpret, ok } from './support.js'

const PLOT = 'import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\n'

test('state over cells', async (t) => {
  const sandbox = await interpret(t)
  ok(await sandbox.runCode('x = 41'))
  const execution = ok(await sandbox.runCode('print("said")\nx + 1'))
  assert.equal(execution.text, '42')
  assert.deepEqual(execution.logs.stdout, ['said\n'])
  assert.equal(execution.executionCount, 2)
})

test('a picture and its numbers', async (t) => {
  const sandbox = await interpret(t)
  const { results } = ok(await sandbox.runCode(PLOT + 'ax.bar(["а", "б"], [1, 2])\nax.set_title("Имя")\nplt.show()'))
  const png = Buffer.from(results[0].png, 'base64')
  assert.equal(png.subarray(1, 4).toString(), 'PNG')
  assert.ok(png.readUInt32BE(16) > 300 && png.readUInt32BE(20) > 200)
  assert.equal(results[0].chart.type, 'bar')
  assert.equal(results[0].chart.title, 'Имя')
  assert.deepEqual(results[0].chart.elements.map((e) => [e.label, e.value]), [['а', 1], ['б', 2]])
})

test('a table', async (t) => {
  const sandbox = await interpret(t)
  const { results } = ok(await sandbox.runCode('import pandas as pd\npd.DataFrame({"n": [1, 2], "s": ["a", "b"]})'))
  assert.deepEqual(results[0].data, { n: [1, 2], s: ['a', 'b'] })
  assert.match(results[0].html, /<table/)
  assert.ok(results[0].formats().includes('data'))
})

test('several results', async (t) => {
  const sandbox = await interpret(t)
  const { results } = ok(await sandbox.runCode('from IPython.display import HTML, Markdown\ndisplay(HTML("<b>h</b>"))\ndisplay(Markdown("# m"))\n{"j": 1}'))
  assert.deepEqual([results[0].html, results[1].markdown, results[2].json], ['<b>h</b>', '# m', { j: 1 }])
  assert.deepEqual(results.map((r) => r.isMainResult), [false, false, true])
})

test('an error and its mending', async (t) => {
  const sandbox = await interpret(t)
  const { error } = await sandbox.runCode('total = ammount + 1')
  assert.equal(error.name, 'NameError')
  assert.match(error.traceback, /total = ammount \+ 1/)
  assert.equal(ok(await sandbox.runCode('amount = 1\namount + 1')).text, '2')
})

test('callbacks', async (t) => {
  const sandbox = await interpret(t)
  const heard = []
  await sandbox.runCode('import sys\nprint("o", flush=True)\nprint("e", file=sys.stderr, flush=True)\ndisplay(7)\n1/0', {
    onStdout: (m) => heard.push(m.line),
    onStderr: (m) => heard.push(m.line),
    onResult: (r) => heard.push(r.text),
    onError: (e) => heard.push(e.name),
  })
  assert.deepEqual([...heard].sort(), ['7', 'ZeroDivisionError', 'e\n', 'o\n'].sort())
})

test('top-level await and envs of one call', async (t) => {
  const sandbox = await interpret(t)
  const code = 'import asyncio, os\nawait asyncio.sleep(0.01, result=os.environ["ONCE"])'
  assert.equal(ok(await sandbox.runCode(code, { envs: { ONCE: 'yes' } })).text, 'yes')
})

test('contexts', async (t) => {
  const sandbox = await interpret(t)
  const context = await sandbox.createCodeContext({ cwd: '/tmp' })
  assert.equal(ok(await sandbox.runCode('import os\nx = 1\nos.getcwd()', { context })).text, '/tmp')
  assert.equal((await sandbox.runCode('x')).error.name, 'NameError')
  assert.ok((await sandbox.listCodeContexts()).some((c) => c.id === context.id))
  await sandbox.restartCodeContext(context)
  assert.equal((await sandbox.runCode('x', { context })).error.name, 'NameError')
  await sandbox.removeCodeContext(context)
  assert.ok(!(await sandbox.listCodeContexts()).some((c) => c.id === context.id))
})

test('bash', async (t) => {
  const sandbox = await interpret(t)
  const { logs } = ok(await sandbox.runCode('echo $((6 * 7))', { language: 'bash' }))
  assert.equal(logs.stdout.join(''), '42\n')
})

test('a timeout, and the next cell answers', async (t) => {
  const sandbox = await interpret(t)
  ok(await sandbox.runCode('kept = 7'))
  await assert.rejects(sandbox.runCode('import time\ntime.sleep(300)', { timeoutMs: 2000 }), TimeoutError)
  assert.equal(ok(await sandbox.runCode('kept', { timeoutMs: 10_000 })).text, '7')
})

test('a Python that dies', async (t) => {
  const sandbox = await interpret(t)
  const { error } = await sandbox.runCode('import os\nos._exit(1)')
  assert.equal(error.name, 'KernelExited')
  assert.equal(ok(await sandbox.runCode('1 + 1')).text, '2')
})

test('killed during a cell', async (t) => {
  const sandbox = await interpret(t)
  const running = sandbox.runCode('import time\ntime.sleep(60)')
  setTimeout(() => sandbox.kill(), 1000)
  await assert.rejects(running, (error) => error instanceof TimeoutError && /sandbox was killed while the request was in progress/.test(error.message))
})
