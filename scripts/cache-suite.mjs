// Runs the tests of the public HTTP cache suite that concern a private or a shared cache against a proxy, and holds the
// results against the list of those that have passed before. A test that doesn't pass needs a reason below. Called by
// scripts/test-cache-suite.
//
//   node cache-suite.mjs SUITE PROXY GOLDEN private|shared [--write]
//
// SUITE is the suite's folder, PROXY the proxy's address, GOLDEN the list; --write writes the list anew.
import fs from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

const [suite, proxy, golden, kindOfCache, option] = process.argv.slice(2)
const load = file => import(pathToFileURL(path.join(path.resolve(suite), file)).href)
const { default: suites } = await load('tests/index.mjs')
const { runTests, getResults } = await load('test-engine/client/runner.mjs')
const { determineTestResult, resultTypes } = await load('test-engine/lib/results.mjs')

// For a private cache, what is meant for browsers and the caches in them, whoever the client is. For a shared one, what
// is meant for proxies.
const concerns = kindOfCache === 'shared'
  ? test => !test.browser_only && !test.cdn_only
  : test => !test.browser_skip && !test.cdn_only
const selected = suites.map(group => ({
  ...group,
  tests: group.tests.filter(concerns).map(test => ({ ...test, browser_only: false }))
}))
// The reasons for the tests that are not to pass.
const short = 'its Content-Range names six bytes and the body has five, so the part is damaged and is not kept'
const reasons = {
  'partial-store-partial-reuse-partial': short,
  'partial-store-partial-reuse-partial-byterange': short,
  'partial-store-partial-reuse-partial-absent': short,
  'partial-store-partial-reuse-partial-suffix': short,
  'partial-store-partial-complete':
    'the part has no strong validator, without which parts may not be combined (RFC 9110, 15.3.7.3)',
  'cc-resp-immutable-stale': 'it is for browsers: the suite says of Node that its own setup failed',
  ...(kindOfCache === 'shared' && {
    'headers-store-Set-Cookie': 'a cookie is for the client that received it',
    'headers-store-Set-Cookie2': 'a cookie is for the client that received it',
    'other-set-cookie': 'a cookie is for the client that received it',
    'other-cookie': 'a response to credentials of one user is not for the others',
    'other-authorization-public': 'a response to credentials of one user is not for the others',
    'other-authorization-must-revalidate': 'a response to credentials of one user is not for the others',
    'other-authorization-smaxage': 'a response to credentials of one user is not for the others',
    'conditional-lm-fresh-no-lm': 'without Last-Modified nothing says when the content changed',
    'interim-102': 'the loader does not show interim responses',
    'interim-103': 'the loader does not show interim responses',
    'interim-not-cached': 'it needs interim responses, which the loader does not show',
    'interim-no-header-reuse': 'it needs interim responses, which the loader does not show'
  })
}
await runTests(selected, false, proxy)
const results = getResults()

const tally = { required: [0, 0], optimal: [0, 0], check: [0, 0] }
const passed = []
const unexplained = []
for (const group of selected) {
  for (const test of group.tests) {
    const kind = test.kind ?? 'required'
    const result = determineTestResult(selected, test.id, results)
    const good = result === resultTypes.pass || result === resultTypes.yes
    tally[kind][0] += good ? 1 : 0
    tally[kind][1] += 1
    if (kind === 'check') continue
    if (good) {
      passed.push(test.id)
    } else {
      const why = result === resultTypes.dependency_fail ? `needs ${test.depends_on}` : String(results[test.id])
      if (why.includes("Cannot find package 'undici'")) {
        console.log(`NOT RUN: ${group.id} ${kind} ${test.id}: the suite's folder has no undici`)
        continue
      }
      const reason = reasons[test.id] ?? 'NOT EXPLAINED'
      if (!(test.id in reasons)) unexplained.push(test.id)
      console.log(`not passed: ${group.id} ${kind} ${test.id}: ${why} (${reason})`)
    }
  }
}
console.log(`required ${tally.required.join(' of ')}, optimal ${tally.optimal.join(' of ')}, ` +
  `behaviours shown ${tally.check.join(' of ')}`)

if (option === '--write') {
  fs.writeFileSync(golden, passed.sort().join('\n') + '\n')
} else {
  const lost = fs.readFileSync(golden, 'utf8').split('\n').filter(id => id !== '' && !passed.includes(id))
  for (const id of lost) console.log(`lost: ${id} has passed before`)
  if (lost.length > 0) process.exitCode = 1
}
const idle = Object.keys(reasons).filter(id => passed.includes(id))
if (idle.length > 0) {
  console.log(`Tests pass that have a reason not to in scripts/cache-suite.mjs: ${idle.join(', ')}. Remove the reason.`)
  process.exitCode = 1
}
if (unexplained.length > 0) {
  console.log(`Tests don't pass and have no reason in scripts/cache-suite.mjs: ${unexplained.join(', ')}.`)
  process.exitCode = 1
}
if (kindOfCache === 'private' && (tally.required[0] < 136 || tally.optimal[0] < 72)) {
  console.log('Too few: at least 136 of the required and 72 of the optimal tests are to pass.')
  process.exitCode = 1
}
