// Passkeys by the browser's virtual device: adding one, signing in with it, and confirming what matters.
import { check, until } from './browser.mjs'
import { confirmIfAsked, signIn } from './people.mjs'

export const settings = {}

async function addPasskey(visitor, service) {
  await visitor.open(`${service.url}/dashboard/settings`)
  await visitor.press('button', 'Add a passkey')
  await visitor.press('dialog button', 'Add passkey')
}

export const scenarios = {
  async 'an owner adds a passkey, returns with it, and reveals a card'({ browser, service }) {
    const agent = service.agent('keyholder')
    const bought = await agent.pay('/get-card?amount=20')
    const visitor = await browser.visitor()
    const device = await visitor.passkeyDevice()
    await signIn(visitor, agent)
    await addPasskey(visitor, service)
    await until('the passkey', async () => ((await device.credentials()).length === 1) || null)
    await visitor.sees('#passkeys', 'Passkey, on')
    await visitor.inspect('holder-settings-passkey')
    // A link counts no more once there is a passkey.
    visitor.expects(/status of 403/)
    await visitor.open(`${service.url}/dashboard/cards/${bought.card_id}`)
    await visitor.press('main button', 'Show number')
    await visitor.sees('dialog', 'Only a person may do this')
    await visitor.inspect('holder-confirm')
    await visitor.press('dialog button', 'Cancel')

    // Signed out, the dashboard asks for the passkey, and no link is needed.
    visitor.expects(/status of 401/)
    const out = await visitor.page.evaluate(() => fetch('/account/sign-out', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }).then((answer) => answer.status))
    check(out < 400, `sign-out: ${out}`)
    await visitor.open(`${service.url}/dashboard`)
    await visitor.sees('h1', 'Sign in')
    await visitor.inspect('holder-sign-in')
    await visitor.press('button', 'Sign in with a passkey')
    await visitor.sees('.connection', 'Live')

    // The number is shown after a confirmation, and hidden when the page is left.
    await visitor.open(`${service.url}/dashboard/cards/${bought.card_id}`)
    await visitor.sees('main', 'Ready')
    visitor.expects(/status of 403/)
    await visitor.press('main button', 'Show number')
    await confirmIfAsked(visitor, 'main', 'Hidden again in')
    await visitor.sees('main', 'Hidden again in')
    const number = /\b(\d{4} ?){4}\b/.exec(await visitor.text('main'))?.[0].replaceAll(' ', '')
    check(number?.length === 16, 'the number is shown')
    await visitor.inspect('holder-card-revealed')
    await visitor.press('main button', 'Hide')
    const kept = (await visitor.kept()).replaceAll(/[ \u00a0]/g, '')
    check(!kept.includes(number), 'the number stays nowhere')
    visitor.assertClean(service.url)
    await visitor.close()
  },

  async 'without the person, a passkey confirms nothing'({ browser, service }) {
    const agent = service.agent('absent')
    await agent.pay('/get-card?amount=20')
    const visitor = await browser.visitor()
    const device = await visitor.passkeyDevice()
    await signIn(visitor, agent)
    await addPasskey(visitor, service)
    await until('the passkey', async () => ((await device.credentials()).length === 1) || null)
    await visitor.page.evaluate(() => fetch('/account/sign-out', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }))
    await device.refuse(true)
    visitor.expects(/status of 40[13]|NotAllowedError/)
    await visitor.open(`${service.url}/dashboard`)
    await visitor.press('button', 'Sign in with a passkey')
    await visitor.sees('.sheet', 'No passkey was used')
    check((await visitor.page.evaluate(() => fetch('/account').then((answer) => answer.status))) === 401, 'no session')
    await visitor.close()
  },
}
