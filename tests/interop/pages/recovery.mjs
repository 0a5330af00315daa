// Passkeys at the default address, and the way back of an owner who has lost them or has stopped the agents.
import path from 'node:path'
import { check, until } from './browser.mjs'
import { assertNotReloaded, confirmIfAsked, mark, ownersAct, signIn } from './people.mjs'
import { Agent } from './service.mjs'

// The default: programs call 127.0.0.1, and the pages are at localhost.
export const settings = { PURSER_SERVER__PUBLIC_URL: '' }

const calledAt = (service) => service.url.replace('localhost', '127.0.0.1')

/** An agent that calls the service where it says it is called. */
function agentOf(service, name) {
  const called = {
    url: calledAt(service),
    folder: service.folder,
    cli: (args) => service.cli(args),
    get: (...args) => service.get(...args),
    post: (...args) => service.post(...args),
  }
  return new Agent(called, name)
}

/** The wallet's side, as `purser recover` has it. */
async function recover(service, name) {
  const wallet = path.join(service.folder, `${name}.json`)
  return JSON.parse(await service.cli(['recover', calledAt(service), '--json', '--wallet', wallet]))
}

async function advance(service, seconds) {
  const moved = await service.post('/sandbox/time', { advance_seconds: seconds })
  check(moved.status === 200, moved.text)
}

async function addPasskey(visitor, device, service) {
  await visitor.open(`${service.url}/dashboard/settings`)
  await visitor.press('button', 'Add a passkey')
  await visitor.press('dialog button', 'Add passkey')
  await until('the passkey', async () => ((await device.credentials()).length === 1) || null)
  await visitor.sees('#passkeys', 'Passkey, on')
}

export const scenarios = {
  async 'a newcomer adds a passkey at the default address'({ browser, service }) {
    const agent = agentOf(service, 'newcomer')
    await agent.pay('/get-card?amount=20')
    const visitor = await browser.visitor()
    const device = await visitor.passkeyDevice()
    // A person who types the address that programs call is led to the pages.
    visitor.expects(/status of 401/)
    await visitor.open(`${calledAt(service)}/dashboard/cards`)
    await visitor.sees('h1', 'Sign in')
    check((await visitor.page.url()) === `${service.url}/dashboard/cards`, `it is at ${await visitor.page.url()}`)
    await signIn(visitor, agent)
    await visitor.open(`${service.url}/dashboard`)
    await visitor.sees('#needs-you', 'Add a passkey')
    await visitor.inspect('holder-home-passkey-offer')
    await addPasskey(visitor, device, service)
    await visitor.open(`${service.url}/dashboard`)
    await visitor.sees('.connection', 'Live')
    check(!(await visitor.text('main')).includes('Add a passkey'), 'it is offered no more')
    await visitor.page.evaluate(() => fetch('/account/sign-out', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }))
    await visitor.open(`${service.url}/dashboard`)
    await visitor.press('button', 'Sign in with a passkey')
    await visitor.sees('.connection', 'Live')
    await visitor.close()
  },

  async 'a recovery is seen at once and cancelled with a passkey'({ browser, service }) {
    const agent = agentOf(service, 'careful')
    await agent.pay('/get-card?amount=20')
    const visitor = await browser.visitor()
    const device = await visitor.passkeyDevice()
    await signIn(visitor, agent)
    await addPasskey(visitor, device, service)
    await visitor.open(`${service.url}/dashboard`)
    await visitor.sees('.connection', 'Live')
    await mark(visitor)
    const begun = await recover(service, 'careful')
    check(begun.status === 'waiting' && !begun.auth_url, JSON.stringify(begun))
    await visitor.sees('.before-hero', 'Your wallet asked to recover this account')
    await assertNotReloaded(visitor)
    await visitor.inspect('holder-home-recovery')
    await visitor.open(`${service.url}/dashboard/settings`)
    await visitor.sees('main', 'Your wallet asked to recover this account')
    visitor.expects(/status of 403/)
    await visitor.press('main button', 'Cancel the recovery')
    await confirmIfAsked(visitor, 'body', 'The recovery is cancelled')
    await until('the note is gone', async () => !(await visitor.text('main')).includes('asked to recover'))
    visitor.assertClean(service.url)
    await visitor.close()
  },

  async 'an owner who lost the passkey returns after a day'({ browser, service }) {
    const agent = agentOf(service, 'forgetful')
    await agent.pay('/get-card?amount=20')
    const lost = await browser.visitor()
    await signIn(lost, agent)
    await addPasskey(lost, await lost.passkeyDevice(), service)
    await lost.close()

    const visitor = await browser.visitor()
    const device = await visitor.passkeyDevice()
    // The page asks without a signature where the service is called.
    visitor.expects(/status of 40[12]/)
    await visitor.open(`${service.url}/dashboard`)
    await visitor.press('button', 'I lost my passkeys')
    await visitor.sees('.sheet', `purser recover ${calledAt(service)}`)
    await visitor.inspect('holder-sign-in-lost-passkeys')
    await recover(service, 'forgetful')
    await advance(service, 86_400)
    const { auth_url: link } = await until('the link', async () => {
      const answer = await recover(service, 'forgetful')
      return answer.auth_url ? answer : null
    })
    check(link.startsWith(`${service.url}/login?code=`), link)
    visitor.expects(/status of 4(04|12)/)
    await visitor.open(link)
    await visitor.sees('#needs-you', 'Add a passkey')
    await addPasskey(visitor, device, service)
    check(!(await visitor.kept()).includes(link.split('code=')[1]), 'the code stays nowhere')
    await visitor.close()
  },

  async 'the stop offers a passkey first, and the wallet brings back its owner'({ browser, service }) {
    const agent = agentOf(service, 'stopper')
    await agent.pay('/get-card?amount=20')
    const visitor = await browser.visitor()
    const device = await visitor.passkeyDevice()
    await signIn(visitor, agent)
    await visitor.open(`${service.url}/dashboard`)
    await visitor.sees('.connection', 'Live')
    await visitor.press('#stop-agents')
    await visitor.sees('dialog', 'This account has no passkey')
    await visitor.inspect('holder-stop-without-passkey')
    await visitor.press('dialog button', 'Add one first')
    await visitor.press('dialog button', 'Add passkey')
    await until('the passkey', async () => ((await device.credentials()).length === 1) || null)
    await until('the stop is asked again', async () => (await visitor.text('dialog')).includes('Stop all your agents?'))
    await until('it is offered no more', async () => !(await visitor.text('dialog')).includes('This account has no passkey'))
    await visitor.close()

    // Another owner stops without one, loses the session, and returns by a link that the wallet asks for.
    const other = agentOf(service, 'plain')
    await other.pay('/get-card?amount=20')
    const owner = await browser.visitor()
    await signIn(owner, other)
    const stopped = await ownersAct(owner, '/account/stop-agents', {})
    check(stopped.status === 200, JSON.stringify(stopped))
    await owner.close()
    const { auth_url: link } = await recover(service, 'plain')
    const back = await browser.visitor()
    back.expects(/status of 40[1234]|status of 412/)
    await back.open(link)
    await back.sees('.before-hero', 'Your agents were stopped')
    await back.press('button', 'Let them act again')
    await back.sees('body', 'Your agents may act again')
    await back.close()
  },
}
