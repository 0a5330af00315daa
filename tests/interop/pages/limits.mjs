// Limits that an owner sets for agents on the dashboard, and what then waits for the owner's yes.
import { check, until } from './browser.mjs'
import { HOSTILE, assertNotOwned, assertNotReloaded, confirmIfAsked, mark, ownersAct, signIn } from './people.mjs'

export const settings = {}

async function agentsPage({ browser, service }, agent) {
  const visitor = await browser.visitor()
  await signIn(visitor, agent)
  await visitor.open(`${service.url}/dashboard/agents`)
  await visitor.sees('.connection', 'Live')
  await until('the page', async () => (await visitor.count('[aria-busy=true]')) === 0)
  return visitor
}

/** An agent whose declined card left 6.66 on the balance. */
async function withBalance(service, name) {
  const agent = service.agent(name)
  await agent.pay('/get-card?amount=6.66')
  await until('the credit', async () => (await agent.get('/get-account-balance')).body.balance === 6.66 || null)
  return agent
}

export const scenarios = {
  async 'a withdrawal over a limit waits for a yes, and passes once'({ browser, service }) {
    const agent = await withBalance(service, 'withdrawer')
    const visitor = await agentsPage({ browser, service }, agent)
    await visitor.sees('main', 'Nothing waits for you')
    await visitor.sees('main', 'Nothing decided yet')
    await mark(visitor)
    await visitor.fill('#balance-limits input', '2')
    await visitor.press('#balance-limits input[type=checkbox]')
    await visitor.press('#balance-limits button', 'Save')
    await confirmIfAsked(visitor, '.toasts, .toast, [role=status]', 'Limits saved')
    const asked = await agent.post('/withdraw', { amount: 3 })
    check(asked.status === 202 && asked.body.status === 'approval_required', asked.text)
    await visitor.sees('main li', 'wants to withdraw $3.00')
    await visitor.sees('main li', 'Over your limit of $2.00 at once from your balance.')
    await visitor.inspect('holder-approval-waits')
    await visitor.press('main li button', 'Look at it')
    await visitor.sees('dialog', 'once?')
    await visitor.sees('dialog', 'your balance')
    await visitor.inspect('holder-approval-dialog')
    await visitor.press('dialog button', 'Approve once')
    await confirmIfAsked(visitor, 'main', 'Not done yet.')
    const made = await agent.post('/withdraw', { amount: 3 })
    check(made.status === 202 && made.body.success === true, made.text)
    await visitor.sees('main', 'It was done, once.')
    await visitor.sees('#balance-limits', '$3.00 taken today')
    // The same again is another question, and a no is final for a day.
    const again = await agent.post('/withdraw', { amount: 3 })
    check(again.status === 202 && again.body.approval_id !== asked.body.approval_id, again.text)
    await visitor.press('main li button', 'Decline')
    await visitor.sees('dialog', 'Decline to let')
    await visitor.press('dialog button', 'Decline it')
    await visitor.sees('main', 'Nothing waits for you')
    const refused = await agent.post('/withdraw', { amount: 3 })
    check(refused.body.code === 'approval_declined', refused.text)
    await assertNotReloaded(visitor)
    await visitor.inspect('holder-approvals-decided')
    visitor.assertClean(service.url)
    await visitor.close()
  },

  async 'merchants have limits, and a name that is no host is said at its field'({ browser, service }) {
    const agent = service.agent('merchant')
    await agent.token()
    const made = await agent.post('/createAgentWallet', { data: {} })
    check(made.status === 200, made.text)
    const visitor = await agentsPage({ browser, service }, agent)
    await visitor.press('#merchant-limits button', 'Add a merchant')
    await visitor.fill('#merchant-limits li input', HOSTILE)
    await visitor.fill('#merchant-limits li input[inputmode=decimal]', '5')
    visitor.expects(/status of 400/)
    await visitor.press('#merchant-limits button', 'Save')
    await confirmIfAsked(visitor, '#merchant-limits', 'Not a host')
    await assertNotOwned(visitor)
    await visitor.fill('#merchant-limits li input', 'Shop.Example.com')
    await visitor.fill('#merchant-limits select', 'none')
    await visitor.press('#merchant-limits button', 'Save')
    await confirmIfAsked(visitor, '.toasts, .toast, [role=status]', 'Limits saved')
    await until('the host as it is called', async () => {
      const value = await visitor.page.$eval('#merchant-limits li input', (field) => field.value)
      return value === 'shop.example.com' || null
    })
    await visitor.inspect('holder-merchant-limits')
    const bought = await agent.post('/agentX402Pay', { data: { route: '/get-card', params: { amount: '5' } } })
    check(bought.status === 200, bought.text)
    await visitor.sees('#merchant-limits', 'this service')
    // The service is named, not by the word of the API.
    await visitor.press('#merchant-limits button', 'Set a limit for Purser (this service)')
    await visitor.sees('#merchant-limits li', 'In a day at Purser (this service)')
    check(!(await visitor.page.$$eval('#merchant-limits li', (rows) => rows.some((row) => row.innerText.includes('route') || [...row.querySelectorAll('input')].some((field) => field.value === 'route')))), 'a row is named by the word of the API')
    await visitor.press('#merchant-limits li button', 'Remove the limit of Purser (this service)')
    // A purchase over a limit says what it buys.
    const set = await ownersAct(visitor, '/account/spending', { per_call_usd: 1, approvals: true })
    check(set.status === 200, JSON.stringify(set))
    const asked = await agent.post('/agentX402Pay', { data: { route: '/get-card', params: { amount: '20' } } })
    check(asked.status === 202, asked.text)
    await visitor.sees('main li', 'wants to buy a $20.00 US card')
    await visitor.sees('main li', 'Over your limit of $1.00 a payment.')
    visitor.assertClean(service.url)
    await visitor.close()
  },
}
