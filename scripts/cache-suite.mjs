// Runs the tests of the public HTTP cache suite that concern a private or a shared cache against a proxy, and holds the
// results against the list of those that have passed before. Called by scripts/test-cache-suite.
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
await runTests(selected, false, proxy)
const results = getResults()

const tally = { required: [0, 0], optimal: [0, 0], check: [0, 0] }
const passed = []
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
      console.log(`not passed: ${group.id} ${kind} ${test.id}: ${why}`)
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
if (kindOfCache === 'private' && (tally.required[0] < 130 || tally.optimal[0] < 60)) {
  console.log('Too few: at least 130 of the required and 60 of the optimal tests are to pass.')
  process.exitCode = 1
}
