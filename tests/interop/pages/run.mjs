// Runs one file of scenarios: `node run.mjs PURSER CHROMIUM FILE`. They share a service and a browser, and each says its name
// and its time. Fails with every scenario that failed.
import { Browser } from './browser.mjs'
import { Service } from './service.mjs'

const [program, chromium, name, only] = process.argv.slice(2)
const { scenarios, settings = {} } = await import(`./${name}.mjs`)
const browser = await Browser.start(chromium)
const service = await Service.start(program, settings)
const failed = []
for (const [title, scenario] of Object.entries(scenarios)) {
  if (only && !title.includes(only)) continue
  const begin = Date.now()
  try {
    await scenario({ browser, service })
    console.log(`passed in ${Date.now() - begin} ms: ${title}`)
  } catch (error) {
    console.log(`FAILED in ${Date.now() - begin} ms: ${title}`)
    failed.push(`${title}: ${error?.stack ?? error}\n${await browser.shows()}`)
  }
}
await browser.close()
await service.close()
for (const one of failed) console.error(one)
process.exit(failed.length === 0 ? 0 : 1)
