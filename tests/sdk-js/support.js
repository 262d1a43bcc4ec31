// End-to-end tests with E2B's official JavaScript packages and command line, unmodified, as a user would write them:
// node's own test runner, and a server that the environment names (`eval "$(hood env)"; npm ci; npm test`, or
// `../lib/hood_server.py npm test` for a server of their own). Each test makes its own sandboxes; they end with it.
import assert from 'node:assert/strict'
import { Sandbox } from 'e2b'
import { Sandbox as Interpreter } from '@e2b/code-interpreter'

for (const name of ['E2B_API_URL', 'E2B_SANDBOX_URL', 'E2B_API_KEY']) {
  assert.ok(process.env[name], `${name} is not set; run: eval "$(hood env)"`)
}

/** How long a test's sandbox lives if nobody ends it. */
export const LIFE = 120_000

/** A sandbox of the template `base` that ends with the test `t`. */
export const create = (t, ...more) => made(t, Sandbox, ...more)

/** A sandbox that runs code, and that ends with the test `t`. */
export const interpret = (t, ...more) => made(t, Interpreter, ...more)

async function made(t, kind, options = {}) {
  const sandbox = await kind.create({ timeoutMs: LIFE, ...options })
  t.after(() => sandbox.kill())
  return sandbox
}

/** Waits until `condition` holds, and hands back what it said. */
export async function until(condition, seconds = 5) {
  const end = Date.now() + seconds * 1000
  for (;;) {
    const said = await condition()
    if (said || Date.now() > end) return said
    await sleep(50)
  }
}

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms))

/** An execution that must have raised nothing. */
export function ok(execution) {
  assert.equal(execution.error, undefined, execution.error?.traceback)
  return execution
}
