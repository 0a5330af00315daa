// What scenarios have in common: how people sign in and act, and texts of attackers.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { check, until } from './browser.mjs'

/** What an attacker would put into every field. */
export const HOSTILE = `"><img src=x onerror="window.owned=1"><script>window.owned=1</script>'&lt;`

export async function assertNotOwned(visitor) {
  check(!(await visitor.page.evaluate(() => 'owned' in window)), 'a text ran as a script')
}

/** Opens a login link of the agent's wallet and waits for the session. */
export async function signIn(visitor, agent, network) {
  // Without a session the dashboard's first question is answered by 401. Nothing else is asked for that an account lacks.
  visitor.expects(/status of 401/)
  await visitor.open(await agent.link(network))
  await until('the session', async () => {
    const asked = () => fetch('/account').then((answer) => answer.ok, () => false)
    return (await visitor.page.evaluate(asked).catch(() => false)) || null
  })
}

/** An act of the owner, as the dashboard's pages send it. */
export async function ownersAct(visitor, path, body) {
  return visitor.page.evaluate(
    async (path, body) => {
      const request = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
      const answer = await fetch(path, request)
      return { status: answer.status, ...(await answer.json()) }
    },
    path,
    body,
  )
}

/** Marks the page, so that a reload is noticed. */
export async function mark(visitor) {
  await visitor.page.evaluate(() => { window.unloaded = false })
}

export async function assertNotReloaded(visitor) {
  check(await visitor.page.evaluate(() => window.unloaded === false), 'the page was loaded again')
}

/** Confirms with the passkey if the page asks for it, until it shows this. A sign-in counts as a confirmation for a while. */
export async function confirmIfAsked(visitor, selector, text) {
  let confirmed = false
  await until(text, async () => {
    if ((await visitor.text(selector)).replaceAll(/\s+/g, ' ').includes(text)) return true
    // Once: the dialog is shown until the passkey has answered.
    if (!confirmed && (await visitor.text('dialog button')).includes('Continue with passkey')) {
      await visitor.press('dialog button', 'Continue with passkey')
      confirmed = true
    }
    return null
  })
}

/** The dashboard of the agent's owner, in a browser of its own. */
export async function dashboard({ browser, service }, agent, page = '', options = {}) {
  const visitor = await browser.visitor(options)
  await signIn(visitor, agent)
  await visitor.open(`${service.url}/dashboard${page}`)
  await visitor.sees('.connection', 'Live')
  return visitor
}

/** The token of the operator that a new service has. */
export function operatorToken(service) {
  return readFileSync(path.join(service.data, 'operator.token'), 'utf8').trim()
}

/** Passkeys of the operator of a service, for the next browser of the same person. */
const operatorsPasskeys = new WeakMap()

/** An operator who signed in with the token of a new service, and has a passkey. */
export async function asOperator({ browser, service }, token = operatorToken(service)) {
  const visitor = await browser.visitor()
  const device = await visitor.passkeyDevice(operatorsPasskeys.get(service) ?? [])
  const remember = async () => { operatorsPasskeys.set(service, await device.credentials()) }
  // Each use counts, and an older count is rejected.
  visitor.cdp.on('WebAuthn.credentialAsserted', remember)
  visitor.expects(/status of 40[13]/)
  await visitor.open(`${service.deskUrl}/desk`)
  await visitor.sees('h1', 'Sign in')
  await visitor.page.$eval('details', (details) => { details.open = true })
  await visitor.fill('input[type=password]', token)
  await visitor.press('button', 'Sign in with token')
  // The first time the operator has to add a passkey.
  const title = await until('the desk', async () => /Add your passkey|Home/.exec(await visitor.text('h1'))?.[0])
  if (title === 'Add your passkey') {
    await visitor.inspect('desk-add-passkey')
    await visitor.press('button', 'Add passkey')
  }
  await visitor.sees('.connection', 'Live')
  await remember()
  check(!(await visitor.kept()).includes(token), 'the token stays nowhere')
  return { visitor, device }
}

/** Another operator: what the API answers to their requests. Tokens confirm nothing, so they act without a passkey. */
export async function colleague(service, name, role = 'operator') {
  const ask = async (token, route, body) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const answer = await fetch(service.deskUrl + route, { method: 'POST', headers, body: JSON.stringify(body) })
    const text = await answer.text()
    check(answer.ok, `${route}: ${answer.status} ${text}`)
    return JSON.parse(text)
  }
  const { token } = await ask(operatorToken(service), '/admin/tokens', { name, role })
  return { token, post: (route, body) => ask(token, route, body) }
}

/** Fills the field of a form that has this label. */
export async function fillLabelled(visitor, label, text, form = 'form, main, dialog') {
  const id = await until(`a field "${label}"`, () =>
    visitor.page.evaluate(
      (form, label) => {
        const labels = [...document.querySelectorAll(form)].flatMap((one) => [...one.querySelectorAll('label[for]')])
        return labels.find((one) => one.innerText.trim().startsWith(label) && one.checkVisibility())?.htmlFor ?? null
      },
      form,
      label,
    ),
  )
  // Ids of the parts may have characters that a selector does not.
  await visitor.fill(`[id="${id}"]`, text)
}

/** Waits until nothing of the page is being loaded, and checks that all of it could be. */
export async function loaded(visitor) {
  await until('the page', async () => (await visitor.count('main')) === 1 && (await visitor.count('[aria-busy=true]')) === 0)
  const shown = await visitor.text('main')
  check(!/could not (be loaded|load)/i.test(shown), `${visitor.page.url()} shows:\n${shown}`)
}
