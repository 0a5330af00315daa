// What scenarios have in common: how people sign in and act, and texts of attackers.
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
  await until(text, async () => {
    if ((await visitor.text(selector)).replaceAll(/\s+/g, ' ').includes(text)) return true
    if ((await visitor.text('dialog button')).includes('Continue with passkey')) await visitor.press('dialog button', 'Continue with passkey')
    return null
  })
}
